//! The changes that a review is about, as `bowline task` prints them.

use super::remote::RemoteServer;
use crate::output::TextTone;
use bowline_engine::formats::rest::routes::{DiffQuery, get_review_diff};
use bowline_engine::formats::rest::{FileChange, FileDiff, sent_name};
use bowline_engine::formats::visible;
use bowline_server::client::RequestError;
use bowline_words::message::TaskOutput;

/// Most files that are named.
const NAMED_MAX: usize = 20;

/// Selects the files of a review that are named.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum NamedFiles {
    Deleted,
    All,
}

/// Returns lines about the changes: how many, which files, and in red that they cannot be shown.
pub(super) fn change_lines(
    remote: &RemoteServer<'_>,
    review: &str,
    named: NamedFiles,
) -> Vec<String> {
    let output = remote.output;
    let diff = match remote
        .client
        .call(&get_review_diff(review, &DiffQuery::default()))
    {
        Ok(diff) => diff,
        Err(RequestError::Refused { error, .. }) => {
            let refusal = format!("{}; {}", error.message, error.hint);
            return vec![output.colour_text(TextTone::Bad, &visible::escape_title(&refusal))];
        }
        Err(RequestError::Trouble(trouble)) => {
            return vec![output.colour_text(TextTone::Bad, &trouble.say(output.lang).0)];
        }
    };
    let changes = TaskOutput::Changes {
        files: diff.files_total,
        added: diff.added,
        removed: diff.removed,
    };
    let mut lines = vec![changes.say(output.lang)];
    let files = diff.files.iter();
    let files: Vec<&FileDiff> = files
        .filter(|file| named == NamedFiles::All || file.change == FileChange::Deleted)
        .collect();
    for file in files.iter().take(NAMED_MAX) {
        let path = visible::escape_name(&file.path);
        lines.push(match file.change {
            FileChange::Deleted => {
                let deleted = TaskOutput::DeletedFile { path };
                output.colour_text(TextTone::Bad, &deleted.say(output.lang))
            }
            change => {
                let change = sent_name(&change);
                format!("{change}: {path}{}{}", mode_note(file), line_counts(file))
            }
        });
    }
    // If all files are named, those that the server does not list count too.
    let all = match named {
        NamedFiles::All => usize::try_from(diff.files_total).unwrap_or(usize::MAX),
        NamedFiles::Deleted => files.len(),
    };
    if all > NAMED_MAX {
        let more = TaskOutput::MoreFiles {
            count: all - NAMED_MAX,
        };
        lines.push(more.say(output.lang));
    }
    lines
}

fn line_counts(file: &FileDiff) -> String {
    match (file.added, file.removed) {
        (Some(added), Some(removed)) => format!("  +{added} −{removed}"),
        _ => String::new(),
    }
}

/// Returns the mode of a file if it is not the plain one or has changed; else an empty text.
fn mode_note(file: &FileDiff) -> String {
    let old = file.old_mode.as_deref().unwrap_or_default();
    match (old, file.new_mode.as_deref().unwrap_or_default()) {
        ("" | "100644", "100644") => String::new(),
        ("", mode) => format!("  {mode}"),
        (old, new) if old == new => format!("  {new}"),
        (old, new) => format!("  {old} → {new}"),
    }
}
