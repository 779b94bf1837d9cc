//! `bowline history`, `undo` and `restore`.

use crate::commands::status::{pad_text, status_word};
use crate::output::CommandOutput;
use bowline_engine::files::KnownFile;
use bowline_engine::history::RestoreOptions;
use bowline_engine::{Context, Error, history, workspace};
use bowline_words::message::{Advice, Confirmation, OutputNote, Wrong};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn print_history(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    what: Option<&str>,
    last: Option<usize>,
) -> Result<ExitCode, Error> {
    let file = resolve_file(context, folder, what)?;
    let recent = history::last_transitions(&file, last)?;
    let transitions = recent.transitions;
    if transitions.is_empty() && last != Some(0) {
        // No journal: the file was never changed through Bowline, or does not exist.
        file.read_view(context)?;
        output.print_stderr(&OutputNote::NoTransitions.say(output.lang));
    }
    if let Some(first) = recent.begins {
        let begins = OutputNote::HistoryBegins {
            first: first.sequence,
            at: first.at,
        };
        output.print_stderr(&begins.say(output.lang));
    }
    for one in &transitions {
        if output.json {
            output.print_line(&serde_json::to_string(one).unwrap_or_default());
            continue;
        }
        let from = one
            .from
            .as_deref()
            .map_or_else(|| "-".to_owned(), |word| status_word(output, word));
        let facts = if one
            .metadata
            .as_object()
            .is_none_or(serde_json::Map::is_empty)
        {
            String::new()
        } else {
            one.metadata.to_string()
        };
        let line = format!(
            "{:>5}  {}  {}  {} → {}  {facts}",
            one.sequence,
            one.timestamp,
            pad_text(&one.trigger, 14),
            pad_text(&from, 11),
            pad_text(&status_word(output, &one.to), 11),
        );
        output.print_line(line.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn undo_transition(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    what: Option<&str>,
    state_only: bool,
) -> Result<ExitCode, Error> {
    if let Some(number) = what.and_then(|what| what.parse().ok()) {
        return Err(Error::BadInput {
            message: Wrong::UndoByNumber { number },
            hint: Advice::RestoreTo { number },
        });
    }
    let file = resolve_file(context, folder, what)?;
    let changed = history::undo_transition(context, &file, RestoreOptions::from_now(state_only))?;
    // The folder may have several files, so the confirmation names the one that was changed.
    let did = Confirmation::Undone {
        file: file_name(&file),
        number: changed.state,
    };
    Ok(output.print_change(context, &changed, &did))
}

pub(crate) fn restore_transition(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    what: &[String],
    state_only: bool,
) -> Result<ExitCode, Error> {
    let (named_file, number) = match what {
        [number] => (None, number),
        [what, number] => (Some(what.as_str()), number),
        _ => (None, &what[0]),
    };
    let sequence: u64 = number.parse().map_err(|_| Error::BadInput {
        message: Wrong::NotATransition {
            number: number.clone(),
        },
        hint: Advice::ListTransitions,
    })?;
    let file = resolve_file(context, folder, named_file)?;
    let changed = history::restore_version(
        context,
        &file,
        sequence,
        RestoreOptions::from_now(state_only),
    )?;
    let did = Confirmation::RestoredAs {
        file: file_name(&file),
        number: sequence,
    };
    Ok(output.print_change(context, &changed, &did))
}

fn resolve_file(context: &Context, folder: &Path, what: Option<&str>) -> Result<KnownFile, Error> {
    match workspace::resolve_file(context, folder, what) {
        Ok((kind, path)) => Ok(KnownFile::new(context, kind, &path)),
        // A deleted file still has its history.
        Err(Error::NoFile { kind, path }) => {
            let file = KnownFile::new(context, kind, &path);
            match history::read_transitions(&file)?.is_empty() {
                true => Err(Error::NoFile { kind, path }),
                false => Ok(file),
            }
        }
        Err(error) => Err(error),
    }
}

fn file_name(file: &KnownFile) -> String {
    let name = file.path.file_name().unwrap_or(file.path.as_os_str());
    name.to_string_lossy().into_owned()
}
