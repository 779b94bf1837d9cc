//! The changes that a review is about, as `bowline task` prints them.

use super::remote::{Remote, text};
use crate::output::Tone;
use bowline_engine::formats::visible;
use bowline_engine::webhook::encode_segment;
use bowline_words::message::Desk;
use serde_json::Value;

/// Most files that are named.
const NAMED_MAX: usize = 20;

/// Selects the files of a review that are named.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum NamedFiles {
    Deleted,
    All,
}

/// Returns lines about the changes: how many, which files, and in red that they cannot be shown.
pub(super) fn change_lines(remote: &Remote<'_>, review: &str, named: NamedFiles) -> Vec<String> {
    let output = remote.output;
    let path = format!("/api/reviews/{}/diff", encode_segment(review));
    let diff = match remote.client.ask("GET", &path, None, &[]) {
        Ok(answer) if answer.status == 200 => answer.json(),
        Ok(answer) => {
            let told = answer.json();
            let told = format!(
                "{}; {}",
                text(&told["error"], "message"),
                text(&told["error"], "hint")
            );
            return vec![output.tone(Tone::Bad, &visible::title(&told))];
        }
        Err(trouble) => return vec![output.tone(Tone::Bad, &trouble.say(output.lang).0)],
    };
    let count = |name: &str| diff[name].as_u64().unwrap_or(0);
    let changes = Desk::Changes {
        files: count("filesTotal"),
        added: count("added"),
        removed: count("removed"),
    };
    let mut lines = vec![changes.say(output.lang)];
    let files = diff["files"].as_array().into_iter().flatten();
    let files: Vec<&Value> = files
        .filter(|file| named == NamedFiles::All || file["change"] == "deleted")
        .collect();
    for file in files.iter().take(NAMED_MAX) {
        let path = visible::name(text(file, "path"));
        lines.push(match text(file, "change") {
            "deleted" => {
                let deleted = Desk::DeletedFile { path };
                output.tone(Tone::Bad, &deleted.say(output.lang))
            }
            change => format!("{change}: {path}{}{}", mode_note(file), line_counts(file)),
        });
    }
    // If all files are named, those that the server does not list count too.
    let all = match named {
        NamedFiles::All => usize::try_from(count("filesTotal")).unwrap_or(usize::MAX),
        NamedFiles::Deleted => files.len(),
    };
    if all > NAMED_MAX {
        let more = Desk::MoreFiles {
            count: all - NAMED_MAX,
        };
        lines.push(more.say(output.lang));
    }
    lines
}

fn line_counts(file: &Value) -> String {
    match (file["added"].as_u64(), file["removed"].as_u64()) {
        (Some(added), Some(removed)) => format!("  +{added} −{removed}"),
        _ => String::new(),
    }
}

/// Returns the mode of a file if it is not the plain one or has changed; else an empty text.
fn mode_note(file: &Value) -> String {
    match (text(file, "oldMode"), text(file, "newMode")) {
        ("" | "100644", "100644") => String::new(),
        ("", mode) => format!("  {mode}"),
        (old, new) if old == new => format!("  {new}"),
        (old, new) => format!("  {old} → {new}"),
    }
}
