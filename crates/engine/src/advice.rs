//! Suggested next commands, ready to paste.

use crate::context::Context;
use crate::files::View;
use crate::kinds::{FileKind, State};
use crate::workspace;
pub use bowline_gate::advice::{Next, quoted};
use bowline_machines::Advice;
use bowline_machines::thinking::{Metric, Stage};
use bowline_words::Lang;
use std::path::{Path, PathBuf};

/// Completes a machine's advice with required options. Values that only the caller knows are
/// placeholders in capitals.
pub(crate) fn next(kind: FileKind, state: &State, advice: Advice) -> Next {
    let more = match state {
        State::Thinking(sheet) => of_thinking(&sheet.run, &advice),
        State::TaskState(_) => match advice.verb {
            "task new" => "NAME --goal GOAL".into(),
            "step fail" => "--message MESSAGE".into(),
            "step add" => "name=NAME".into(),
            _ => String::new(),
        },
        State::TaskHistory(_)
        | State::SharedContext(_)
        | State::AgentMemory(_)
        | State::Develop(_)
        | State::Orchestrate => String::new(),
    };
    let options = [advice.options, &more];
    let options: Vec<&str> = options.into_iter().filter(|it| !it.is_empty()).collect();
    Next {
        options: options.join(" "),
        ..Next::new(kind.noun(), advice.verb, advice.target)
    }
}

fn of_thinking(run: &bowline_machines::thinking::Run, advice: &Advice) -> String {
    let named = |names: Vec<&str>, word: &str| match names.is_empty() {
        true => format!("NAME={word}"),
        false => {
            let pairs: Vec<String> = names.iter().map(|name| format!("{name}={word}")).collect();
            pairs.join(" ")
        }
    };
    match advice.verb {
        "complete" => {
            let stage = advice.target.as_deref().and_then(Stage::from_name);
            // Only the planning stage has no output file that is found by name.
            let planning = stage.filter(|stage| *stage == Stage::Planning);
            match planning.is_some_and(|stage| run.stage(stage).outputs.is_empty()) {
                true => "--output PATH".into(),
                false => String::new(),
            }
        }
        "output" => "PATH".into(),
        "fail" => "--code CODE --message MESSAGE".into(),
        "evaluate" => {
            let open = run.evaluation.scores.iter();
            let open = open.filter(|score| score.value.is_none());
            named(open.map(|score| score.name.as_str()).collect(), "SCORE")
        }
        "quality" => {
            let open = Metric::ALL.into_iter();
            let open = open.filter(|metric| run.metrics.get(*metric).is_none());
            named(open.map(Metric::name).collect(), "VALUE")
        }
        "feedback record" => "--metric NAME=VALUE --target VALUE".into(),
        _ => String::new(),
    }
}

/// Renders the resume card of a folder: a summary of its work for an agent that has lost its
/// context.
pub fn card(folder: &Path, lang: Lang) -> Option<String> {
    let belief = bowline_gate::belief::of_folder(folder);
    bowline_gate::hook::card(&belief, folder, lang)
}

/// Returns the suggested commands of a view as they work in the caller's folder. For a file that is
/// not found from there, they name its folder.
pub fn commands(context: &Context, view: &View) -> Vec<String> {
    if view.examined.next.is_empty() {
        return Vec::new();
    }
    let (before, behind) = reach(context, view).unwrap_or_default();
    let next = view.examined.next.iter();
    next.map(|one| one.command_with(&before, &behind)).collect()
}

/// Returns the suggested commands for a reader in any folder: all of them name the whole path of
/// the file's folder.
pub fn commands_anywhere(view: &View) -> Vec<String> {
    let (before, behind) = naming(view, None).unwrap_or_default();
    let next = view.examined.next.iter();
    next.map(|one| one.command_with(&before, &behind)).collect()
}

/// Returns the program's and the noun's options that locate a file from the caller's folder; `None`
/// if none are needed.
fn reach(context: &Context, view: &View) -> Option<(String, String)> {
    let here = &context.here;
    if workspace::locate(context, view.kind, here) == view.path {
        return None;
    }
    naming(view, Some(here))
}

fn naming(view: &View, here: Option<&Path>) -> Option<(String, String)> {
    let word = |folder: &Path| {
        let near = here.and_then(|here| folder.strip_prefix(here).ok());
        let near = near.unwrap_or(folder);
        // Strips a trailing slash.
        let near: PathBuf = near.components().collect();
        match near.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => quoted(&near.display().to_string()),
        }
    };
    let root = view.path.to_str();
    match root.and_then(|path| path.strip_suffix(view.kind.relative_path())) {
        Some(root) => Some((format!("-C {}", word(Path::new(root))), String::new())),
        // A memory in a folder of another name: only that folder can be named.
        None => Some((
            String::new(),
            format!("--dir {}", word(view.path.parent()?)),
        )),
    }
}
