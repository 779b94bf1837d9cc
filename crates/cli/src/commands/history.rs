//! `bowline history`, `undo` and `restore`.

use crate::commands::here::{pad, status_word};
use crate::output::Output;
use bowline_engine::files::KnownFile;
use bowline_engine::{Context, Error, history, workspace};
use bowline_words::message::{Advice, Wrong};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn list(
    context: &Context,
    output: &Output,
    folder: &Path,
    what: Option<&str>,
    last: Option<usize>,
) -> Result<ExitCode, Error> {
    let file = named(context, folder, what)?;
    let transitions = history::transitions(&file)?;
    if transitions.is_empty() {
        // No journal: either nobody has changed the file through Bowline yet, or there is no file.
        file.view(context)?;
        output.talk(output.say(
            "no transitions yet: the journal begins with the first change made by Bowline",
            "아직 전이가 없습니다. 저널은 Bowline으로 처음 변경할 때 시작됩니다",
        ));
    }
    let skip = last.map_or(0, |last| transitions.len().saturating_sub(last));
    for one in transitions.iter().skip(skip) {
        if output.json {
            output.line(&serde_json::to_string(one).unwrap_or_default());
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
            pad(&one.trigger, 14),
            pad(&from, 11),
            pad(&status_word(output, &one.to), 11),
        );
        output.line(line.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn undo(
    context: &Context,
    output: &Output,
    folder: &Path,
    what: Option<&str>,
    state_only: bool,
) -> Result<ExitCode, Error> {
    let file = named(context, folder, what)?;
    let changed = history::undo(context, &file, state_only)?;
    let undone = changed.moved.metadata["undone"].to_string();
    // Several files may be meant by where one stands: the one that was taken is named.
    let text = output
        .say(
            "✓ Transition {} of {file} undone",
            "✓ {file}의 전이 {}번을 되돌렸습니다",
        )
        .replace("{}", &undone)
        .replace("{file}", &name(&file));
    output.changed(&changed, &text);
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn restore(
    context: &Context,
    output: &Output,
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
    let file = named(context, folder, named_file)?;
    let changed = history::restore(context, &file, sequence, state_only)?;
    let text = output
        .say(
            "✓ {file} restored as after transition {}",
            "✓ {file}을(를) 전이 {}번 직후로 복원했습니다",
        )
        .replace("{}", number)
        .replace("{file}", &name(&file));
    output.changed(&changed, &text);
    Ok(ExitCode::SUCCESS)
}

fn named(context: &Context, folder: &Path, what: Option<&str>) -> Result<KnownFile, Error> {
    match workspace::resolve(context, folder, what) {
        Ok((kind, path)) => Ok(KnownFile::new(context, kind, &path)),
        // A file that was thrown away still has its past.
        Err(Error::NoFile { kind, path }) => {
            let file = KnownFile::new(context, kind, &path);
            match history::transitions(&file)?.is_empty() {
                true => Err(Error::NoFile { kind, path }),
                false => Ok(file),
            }
        }
        Err(error) => Err(error),
    }
}

fn name(file: &KnownFile) -> String {
    let name = file.path.file_name().unwrap_or(file.path.as_os_str());
    name.to_string_lossy().into_owned()
}
