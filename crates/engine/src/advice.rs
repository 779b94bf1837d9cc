//! Suggested next commands, ready to paste.

use crate::context::Context;
use crate::files::FileView;
use crate::kinds::{DocumentState, FileKind};
use crate::workspace;
pub use bowline_gate::advice::{NextCommand, quote_word};
use bowline_machines::CommandAdvice;
use bowline_machines::thinking::{QualityMetric, ThinkingStage};
use bowline_words::Lang;
use std::path::{Path, PathBuf};

/// Completes a machine's advice with required options. Values that only the caller knows are
/// placeholders in capitals.
pub(crate) fn complete_advice(
    kind: FileKind,
    state: &DocumentState,
    advice: CommandAdvice,
) -> NextCommand {
    let more = match state {
        DocumentState::Thinking(sheet) => of_thinking(&sheet.run, &advice),
        DocumentState::TaskState(_) => match advice.verb {
            "task new" => "NAME --goal GOAL".into(),
            "step fail" => "--message MESSAGE".into(),
            "step add" => "name=NAME".into(),
            _ => String::new(),
        },
        DocumentState::TaskHistory(_)
        | DocumentState::SharedContext(_)
        | DocumentState::AgentMemory(_)
        | DocumentState::Develop(_)
        | DocumentState::Orchestrate => String::new(),
    };
    let options = [advice.options, &more];
    let options: Vec<&str> = options.into_iter().filter(|it| !it.is_empty()).collect();
    NextCommand {
        options: options.join(" "),
        ..NextCommand::new(kind.command_noun(), advice.verb, advice.target)
    }
}

fn of_thinking(
    run: &bowline_machines::thinking::ThinkingRunState,
    advice: &CommandAdvice,
) -> String {
    let named = |names: Vec<&str>, word: &str| match names.is_empty() {
        true => format!("NAME={word}"),
        false => {
            let pairs: Vec<String> = names.iter().map(|name| format!("{name}={word}")).collect();
            pairs.join(" ")
        }
    };
    match advice.verb {
        "complete" => {
            let stage = advice.target.as_deref().and_then(ThinkingStage::from_name);
            // Only the planning stage has no output file that is found by name.
            let planning = stage.filter(|stage| *stage == ThinkingStage::Planning);
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
            let open = QualityMetric::ALL.into_iter();
            let open = open.filter(|metric| run.metrics.get(*metric).is_none());
            named(open.map(QualityMetric::name).collect(), "VALUE")
        }
        "feedback record" => "--metric NAME=VALUE --target VALUE".into(),
        _ => String::new(),
    }
}

/// Renders the resume card of a folder: a summary of its work for an agent that has lost its
/// context.
pub fn resume_card(folder: &Path, lang: Lang) -> Option<String> {
    let trust = bowline_gate::run_trust::assess_folder(folder);
    bowline_gate::hook::render_card(&trust, folder, lang)
}

/// Returns the suggested commands of a view as they work in the caller's folder. For a file that is
/// not found from there, they name its folder.
pub fn suggested_commands(context: &Context, view: &FileView) -> Vec<String> {
    if view.examined.next.is_empty() {
        return Vec::new();
    }
    let (before, behind) = locating_options(context, view).unwrap_or_default();
    let next = view.examined.next.iter();
    next.map(|one| one.command_with(&before, &behind)).collect()
}

/// Returns the suggested commands for a reader in any folder: all of them name the whole path of
/// the file's folder.
pub fn commands_anywhere(view: &FileView) -> Vec<String> {
    let (before, behind) = naming_options(view, None).unwrap_or_default();
    let next = view.examined.next.iter();
    next.map(|one| one.command_with(&before, &behind)).collect()
}

/// Returns the program's and the noun's options that locate a file from the caller's folder; `None`
/// if none are needed.
fn locating_options(context: &Context, view: &FileView) -> Option<(String, String)> {
    let here = &context.here;
    if workspace::locate_file(context, view.kind, here) == view.path {
        return None;
    }
    naming_options(view, Some(here))
}

fn naming_options(view: &FileView, here: Option<&Path>) -> Option<(String, String)> {
    let word = |folder: &Path| {
        let near = here.and_then(|here| folder.strip_prefix(here).ok());
        let near = near.unwrap_or(folder);
        // Strips a trailing slash.
        let near: PathBuf = near.components().collect();
        match near.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => quote_word(&near.display().to_string()),
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
