//! The next command of a run, as it can be typed, and whether it takes a person.

use crate::locate;
use crate::sealed::is_stale;
pub use bowline_formats::client_hooks::quoted;
use bowline_formats::develop::contract::{self, Planned};
use bowline_formats::develop::seal::{self, Seal};
use bowline_formats::transition::Transition;
use bowline_machines::develop::{Gate, Phase, Resume, Run, resume};
use bowline_statefiles::StateFile;
use std::path::{Path, PathBuf};

/// A command that makes sense now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The kind of work it is for, as on the command line.
    pub noun: &'static str,
    /// The words after the noun.
    pub verb: &'static str,
    /// What it applies to.
    pub target: Option<String>,
    /// What else has to be given, as it is typed. What only the caller can know stands in capitals.
    pub options: String,
    /// Only a person may.
    pub person: bool,
    /// It comes before everything else because a sealed file is another now.
    pub stale: bool,
}

impl Next {
    /// A move on something, with what has to be given beside it.
    pub fn new(noun: &'static str, verb: &'static str, target: Option<String>) -> Self {
        Next {
            noun,
            verb,
            target,
            options: String::new(),
            person: false,
            stale: false,
        }
    }

    fn develop(verb: &'static str) -> Self {
        Next::new("develop", verb, None)
    }

    fn on(verb: &'static str, target: &str) -> Self {
        Next::new("develop", verb, Some(target.to_owned()))
    }

    fn with(self, options: impl Into<String>) -> Self {
        Next {
            options: options.into(),
            ..self
        }
    }

    fn by_person(self) -> Self {
        Next {
            person: true,
            ..self
        }
    }

    /// As it is typed where the work is.
    pub fn command(&self) -> String {
        self.command_with("", "")
    }

    /// As it is typed elsewhere: with options of the program, and with some of the noun.
    pub fn command_with(&self, before: &str, behind: &str) -> String {
        let target = self.target.as_deref().map(quoted).unwrap_or_default();
        let words = [
            "bowline",
            before,
            self.noun,
            behind,
            self.verb,
            &target,
            &self.options,
        ];
        let words = words.into_iter().filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    }
}

/// What can be done next in the run whose file is at a path, with what its side folder knows.
pub fn next_in(path: &Path, run: &Run) -> Vec<Next> {
    let folder = run_folder(path);
    let kept = |name: &str| folder.as_deref().and_then(|folder| kept(folder, name));
    let seal = kept(seal::FILE_NAME).and_then(|it| serde_json::from_str(&it).ok());
    let contract = kept(contract::FILE_NAME).and_then(|it| serde_json::from_str(&it).ok());
    let contract: Vec<Planned> = contract.unwrap_or_default();
    let is_stale = |seal: &Seal| is_stale(locate::root_of(path), seal);
    next(Some(run), seal.as_ref(), is_stale, &contract)
}

/// The seal of the run whose file is at a path.
pub(crate) fn seal_of(path: &Path) -> Option<Seal> {
    serde_json::from_str(&kept(&run_folder(path)?, seal::FILE_NAME)?).ok()
}

/// A file of a run. One that cannot be read is as good as none here: whoever runs the command is told.
pub(crate) fn kept(folder: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.join(name)).ok()
}

/// The folder of the run that the last transition with a name names.
fn run_folder(path: &Path) -> Option<PathBuf> {
    let history = StateFile::new(locate::layout(path)).history().ok()?;
    let id = history.lines().rev().find_map(|line| {
        let raw = line.transition.as_ref()?;
        let moved: Transition = serde_json::from_str(raw.get()).ok()?;
        Some(moved.metadata.get("run")?.as_str()?.to_owned())
    })?;
    Some(locate::runs_folder(path).join(id))
}

/// What can be done next, the most useful first.
pub fn next(
    run: Option<&Run>,
    seal: Option<&Seal>,
    is_stale: impl Fn(&Seal) -> bool,
    contract: &[Planned],
) -> Vec<Next> {
    let Some(run) = run else {
        return vec![Next::develop("start").with("FEATURE")];
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
    if by_gate && seal.is_some_and(is_stale) {
        return vec![Next {
            stale: true,
            ..Next::develop("seal").by_person()
        }];
    }
    match resume {
        Resume::Design => vec![Next::develop("review")],
        Resume::ReviewAgain => vec![gate(Gate::ReviewCleanPass, seal)],
        Resume::Implement => vec![Next::develop("implement")],
        Resume::Checkpoint { id, iteration: 0 } => vec![Next::on("checkpoint start", &id)],
        Resume::Checkpoint { id, .. } => {
            let planned = contract.iter().find(|one| one.id == id);
            let command = planned.and_then(|one| one.command.as_deref());
            let run = command.map(|command| format!("--run {}", quoted(command)));
            vec![
                Next::on("checkpoint pass", &id).with(run.unwrap_or_default()),
                Next::on("checkpoint fail", &id),
            ]
        }
        Resume::AskPerson { checkpoints } => checkpoints
            .iter()
            .map(|id| {
                let again = Next::on("checkpoint start", id);
                again.with("--override REASON").by_person()
            })
            .collect(),
        Resume::VerifyAll => vec![gate(Gate::ArchitectVerified, seal)],
        Resume::Pr => vec![Next::develop("pr")],
        Resume::ReReview => vec![gate(Gate::ReReviewClean, seal)],
        Resume::Done => vec![Next::develop("done")],
        Resume::Back { phase } => vec![back(phase)],
        Resume::Over => vec![Next::develop("start").with("FEATURE")],
    }
}

/// A gate with a sealed command opens by it; any other only by a person.
pub(crate) fn gate(gate: Gate, seal: Option<&Seal>) -> Next {
    let pass = Next::on("gate pass", gate.name());
    match seal.and_then(|seal| seal.rules.command(gate)) {
        Some(_) => pass,
        None => pass.with("--by-hand REASON").by_person(),
    }
}

/// An agent may go back to work, not to what people decided.
pub(crate) fn back(phase: Phase) -> Next {
    let back = Next::on("back", phase.name());
    match phase {
        Phase::Design | Phase::Review => back.by_person(),
        Phase::Implement | Phase::Pr | Phase::Done => back,
    }
}
