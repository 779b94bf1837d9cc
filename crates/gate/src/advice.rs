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
    /// It comes before everything else because a sealed file is another now.
    pub stale: bool,
}

impl Next {
    fn agent(words: impl AsRef<str>) -> Self {
        Next {
            command: format!("bowline develop {}", words.as_ref()),
            person: false,
            stale: false,
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
    let seal = seal_of(path);
    let contract = kept(path, contract::FILE_NAME).and_then(|it| serde_json::from_str(&it).ok());
    let contract: Vec<Planned> = contract.unwrap_or_default();
    next(Some(run), seal.as_ref(), locate::root_of(path), &contract)
}

/// The seal of the run whose file is at a path.
pub(crate) fn seal_of(path: &Path) -> Option<Seal> {
    serde_json::from_str(&kept(path, seal::FILE_NAME)?).ok()
}

/// A file of the run. One that cannot be read is as good as none here: whoever runs the command is told.
fn kept(path: &Path, name: &str) -> Option<String> {
    let folder = locate::runs_folder(path).join(run_id(path)?);
    std::fs::read_to_string(folder.join(name)).ok()
}

/// The run that the last transition with a name names.
fn run_id(path: &Path) -> Option<String> {
    let history = StateFile::new(locate::layout(path)).history().ok()?;
    history.lines().rev().find_map(|line| {
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
        return vec![Next {
            stale: true,
            ..Next::person("seal")
        }];
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
            vec![back(phase)]
        }
        Resume::Over => vec![Next::agent("start FEATURE")],
    }
}

/// A gate with a sealed command opens by it; any other only by a person.
pub(crate) fn gate(gate: Gate, seal: Option<&Seal>) -> Next {
    let words = format!("gate pass {}", gate.name());
    match seal.and_then(|seal| seal.rules.command(gate)) {
        Some(_) => Next::agent(words),
        None => Next::person(format!("{words} --by-hand REASON")),
    }
}

/// An agent may go back to work, not to what people decided.
pub(crate) fn back(phase: Phase) -> Next {
    let words = format!("back {}", phase.name());
    match phase {
        Phase::Design | Phase::Review => Next::person(words),
        Phase::Implement | Phase::Pr | Phase::Done => Next::agent(words),
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
