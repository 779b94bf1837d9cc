//! The next command of a run, as it can be typed, and whether it takes a person.

use crate::locate;
use crate::sealed::is_stale;
use bowline_formats::develop::contract::{self, Planned};
use bowline_formats::develop::seal::{self, Seal};
use bowline_formats::transition::Transition;
use bowline_machines::develop::{Gate, Phase, Resume, Run, resume};
use bowline_statefiles::StateFile;
use std::path::Path;

/// A command that makes sense now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// As it is typed.
    pub command: String,
    /// Only a person may.
    pub person: bool,
}

impl Next {
    fn agent(words: impl AsRef<str>) -> Self {
        Next {
            command: format!("bowline develop {}", words.as_ref()),
            person: false,
        }
    }

    fn person(words: impl AsRef<str>) -> Self {
        Next {
            person: true,
            ..Next::agent(words)
        }
    }
}

/// What can be done next in the run whose file is at a path, with what its side folder knows.
pub fn next_in(path: &Path, run: &Run) -> Vec<Next> {
    let folder = run_id(path).map(|id| locate::runs_folder(path).join(id));
    // A file that cannot be read is as good as none here: whoever runs the command is told.
    let text = |name: &str| {
        let folder = folder.as_ref();
        folder.and_then(|folder| std::fs::read_to_string(folder.join(name)).ok())
    };
    let seal: Option<Seal> = text(seal::FILE_NAME).and_then(|it| serde_json::from_str(&it).ok());
    let contract = text(contract::FILE_NAME).and_then(|it| serde_json::from_str(&it).ok());
    let contract: Vec<Planned> = contract.unwrap_or_default();
    next(Some(run), seal.as_ref(), locate::root_of(path), &contract)
}

/// Whether a command opens a gate of the run whose file is at a path, and not only a person's word.
pub fn has_command(path: &Path, gate: Gate) -> bool {
    let folder = run_id(path).map(|id| locate::runs_folder(path).join(id));
    folder
        .and_then(|folder| std::fs::read_to_string(folder.join(seal::FILE_NAME)).ok())
        .and_then(|text| serde_json::from_str::<Seal>(&text).ok())
        .is_some_and(|seal| seal.rules.command(gate).is_some())
}

/// The run that the last transition with a name names.
fn run_id(path: &Path) -> Option<String> {
    let history = StateFile::new(locate::layout(path)).history().ok()?;
    history.lines.iter().rev().find_map(|line| {
        let raw = line.transition.as_ref()?;
        let moved: Transition = serde_json::from_str(raw.get()).ok()?;
        Some(moved.metadata.get("run")?.as_str()?.to_owned())
    })
}

/// What can be done next, the most useful first.
pub fn next(
    run: Option<&Run>,
    seal: Option<&Seal>,
    root: &Path,
    contract: &[Planned],
) -> Vec<Next> {
    let Some(run) = run else {
        return vec![Next::agent("start FEATURE")];
    };
    let resume = resume(run);
    let by_gate = matches!(
        resume,
        Resume::ReviewAgain
            | Resume::Implement
            | Resume::VerifyAll
            | Resume::Pr
            | Resume::ReReview
            | Resume::Done
    );
    // Nothing that rests on gates goes on before a person has looked at what was sealed.
    if by_gate && seal.is_some_and(|seal| is_stale(root, seal)) {
        return vec![Next::person("seal")];
    }
    match resume {
        Resume::Design => vec![Next::agent("review")],
        Resume::ReviewAgain => vec![gate(Gate::ReviewCleanPass, seal)],
        Resume::Implement => vec![Next::agent("implement")],
        Resume::Checkpoint { id, iteration: 0 } => {
            vec![Next::agent(format!("checkpoint start {}", quoted(&id)))]
        }
        Resume::Checkpoint { id, .. } => {
            let planned = contract.iter().find(|one| one.id == id);
            let command = planned.and_then(|one| one.command.as_deref());
            let id = quoted(&id);
            let pass = match command {
                Some(command) => format!("checkpoint pass {id} --run {}", quoted(command)),
                None => format!("checkpoint pass {id}"),
            };
            vec![
                Next::agent(pass),
                Next::agent(format!("checkpoint fail {id}")),
            ]
        }
        Resume::AskPerson { checkpoints } => checkpoints
            .iter()
            .map(|id| Next::person(format!("checkpoint start {} --override REASON", quoted(id))))
            .collect(),
        Resume::VerifyAll => vec![gate(Gate::ArchitectVerified, seal)],
        Resume::Pr => vec![Next::agent("pr")],
        Resume::ReReview => vec![gate(Gate::ReReviewClean, seal)],
        Resume::Done => vec![Next::agent("done")],
        Resume::Back { phase } => {
            let words = format!("back {}", phase.name());
            match phase {
                Phase::Design | Phase::Review => vec![Next::person(words)],
                Phase::Implement | Phase::Pr | Phase::Done => vec![Next::agent(words)],
            }
        }
        Resume::Over => vec![Next::agent("start FEATURE")],
    }
}

/// A gate with a sealed command opens by it; any other only by a person.
fn gate(gate: Gate, seal: Option<&Seal>) -> Next {
    let words = format!("gate pass {}", gate.name());
    match seal.and_then(|seal| seal.rules.command(gate)) {
        Some(_) => Next::agent(words),
        None => Next::person(format!("{words} --by-hand REASON")),
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@:".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
