//! The next commands of a run as they are typed, with a note on those that need a person.

use crate::locate;
use crate::sealed::is_stale;
pub use bowline_formats::client_hooks::quoted;
use bowline_formats::develop::contract::{self, Planned};
use bowline_formats::develop::seal::{self, Seal};
use bowline_formats::transition::Transition;
use bowline_machines::develop::{Gate, Phase, Resume, Run, resume};
use bowline_statefiles::StateFile;
use std::path::{Path, PathBuf};

/// A `bowline` command that makes sense as the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The kind of work it is for, as on the command line: `develop`.
    pub noun: &'static str,
    /// The words after the noun: `gate pass`.
    pub verb: &'static str,
    /// The checkpoint, gate or phase that the verb applies to.
    pub target: Option<String>,
    /// Further options, as typed. Values that only the caller knows are in capitals: `REASON`.
    pub options: String,
    /// True if only a person may give the command.
    pub person: bool,
    /// True if it comes before everything else because a sealed file has changed.
    pub stale: bool,
}

impl Next {
    /// Creates a command without options that an agent may give.
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

    /// Renders the command as it is typed in the workspace.
    pub fn command(&self) -> String {
        self.command_with("", "")
    }

    /// Renders the command as it is typed elsewhere: `before` holds options of the program,
    /// `behind` options of the noun.
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

/// Returns the next commands of the run whose file is at `path`, reading its seal and contract from
/// the side folder.
pub fn next_in(path: &Path, run: &Run) -> Vec<Next> {
    let folder = run_folder(path);
    let kept = |name: &str| folder.as_deref().and_then(|folder| kept(folder, name));
    let seal = kept(seal::FILE_NAME).and_then(|it| serde_json::from_str(&it).ok());
    let contract = kept(contract::FILE_NAME).and_then(|it| serde_json::from_str(&it).ok());
    let contract: Vec<Planned> = contract.unwrap_or_default();
    let is_stale = |seal: &Seal| is_stale(locate::root_of(path), seal);
    next(Some(run), seal.as_ref(), is_stale, &contract)
}

/// Reads the seal of the run whose file is at `path`.
pub(crate) fn seal_of(path: &Path) -> Option<Seal> {
    serde_json::from_str(&kept(&run_folder(path)?, seal::FILE_NAME)?).ok()
}

/// Reads a file of a run's own folder. An unreadable file counts as absent here: the command itself
/// reports the error.
pub(crate) fn kept(folder: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.join(name)).ok()
}

/// Returns the folder of the run that the newest transition with a run id names.
fn run_folder(path: &Path) -> Option<PathBuf> {
    let history = StateFile::new(locate::layout(path)).history().ok()?;
    let id = history.lines().rev().find_map(|line| {
        let raw = line.transition.as_ref()?;
        let moved: Transition = serde_json::from_str(raw.get()).ok()?;
        Some(moved.metadata.get("run")?.as_str()?.to_owned())
    })?;
    Some(locate::runs_folder(path).join(id))
}

/// Returns the commands that can come next, the most useful first.
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
    // Nothing that rests on gates goes on before a person has looked at the sealed files.
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

/// Returns the command that opens a gate: with a sealed command the agent runs it, otherwise a
/// person decides.
pub(crate) fn gate(gate: Gate, seal: Option<&Seal>) -> Next {
    let pass = Next::on("gate pass", gate.name());
    match seal.and_then(|seal| seal.rules.command(gate)) {
        Some(_) => pass,
        None => pass.with("--by-hand REASON").by_person(),
    }
}

/// Returns the command that goes back to a phase. An agent may go back to work, but not to the
/// phases that people decide.
pub(crate) fn back(phase: Phase) -> Next {
    let back = Next::on("back", phase.name());
    match phase {
        Phase::Design | Phase::Review => back.by_person(),
        Phase::Implement | Phase::Pr | Phase::Done => back,
    }
}
