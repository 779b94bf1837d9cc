//! The next commands of a run as they are typed, with a note on those that need a person.

use crate::locate;
use crate::sealed::is_stale;
pub use bowline_formats::client_hooks::quote_word;
use bowline_formats::develop::contract::{self, PlannedCheckpoint};
use bowline_formats::develop::seal::{self, Seal};
use bowline_formats::transition::Transition;
use bowline_machines::develop::{DevelopPhase, DevelopRunState, Gate, NextAction, next_action};
use bowline_statefiles::StateFile;
use std::path::{Path, PathBuf};

/// A `bowline` command that makes sense as the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextCommand {
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

impl NextCommand {
    /// Creates a command without options that an agent may give.
    pub fn new(noun: &'static str, verb: &'static str, target: Option<String>) -> Self {
        NextCommand {
            noun,
            verb,
            target,
            options: String::new(),
            person: false,
            stale: false,
        }
    }

    fn develop_command(verb: &'static str) -> Self {
        NextCommand::new("develop", verb, None)
    }

    fn on_target(verb: &'static str, target: &str) -> Self {
        NextCommand::new("develop", verb, Some(target.to_owned()))
    }

    fn with_options(self, options: impl Into<String>) -> Self {
        NextCommand {
            options: options.into(),
            ..self
        }
    }

    fn by_person(self) -> Self {
        NextCommand {
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
        let target = self.target.as_deref().map(quote_word).unwrap_or_default();
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
pub fn next_commands_in(path: &Path, run: &DevelopRunState) -> Vec<NextCommand> {
    let folder = run_folder(path);
    let kept = |name: &str| {
        folder
            .as_deref()
            .and_then(|folder| read_run_file(folder, name))
    };
    let seal = kept(seal::FILE_NAME).and_then(|it| serde_json::from_str(&it).ok());
    let contract = kept(contract::FILE_NAME).and_then(|it| serde_json::from_str(&it).ok());
    let contract: Vec<PlannedCheckpoint> = contract.unwrap_or_default();
    let is_stale = |seal: &Seal| is_stale(locate::root_of(path), seal);
    next_commands(Some(run), seal.as_ref(), is_stale, &contract)
}

/// Reads the seal of the run whose file is at `path`.
pub(crate) fn read_seal(path: &Path) -> Option<Seal> {
    serde_json::from_str(&read_run_file(&run_folder(path)?, seal::FILE_NAME)?).ok()
}

/// Reads a file of a run's own folder. An unreadable file counts as absent here: the command itself
/// reports the error.
pub(crate) fn read_run_file(folder: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.join(name)).ok()
}

/// Returns the folder of the run that the newest transition with a run id names.
fn run_folder(path: &Path) -> Option<PathBuf> {
    let history = StateFile::new(locate::run_layout(path))
        .read_history()
        .ok()?;
    let id = history.effective_lines().rev().find_map(|line| {
        let raw = line.transition.as_ref()?;
        let moved: Transition = serde_json::from_str(raw.get()).ok()?;
        Some(moved.metadata.get("run")?.as_str()?.to_owned())
    })?;
    Some(locate::runs_folder(path).join(id))
}

/// Returns the commands that can come next, the most useful first.
pub fn next_commands(
    run: Option<&DevelopRunState>,
    seal: Option<&Seal>,
    is_stale: impl Fn(&Seal) -> bool,
    contract: &[PlannedCheckpoint],
) -> Vec<NextCommand> {
    let Some(run) = run else {
        return vec![NextCommand::develop_command("start").with_options("FEATURE")];
    };
    let resume = next_action(run);
    let by_gate = matches!(
        resume,
        NextAction::ReviewAgain
            | NextAction::Implement
            | NextAction::VerifyAll
            | NextAction::Pr
            | NextAction::ReReview
            | NextAction::Done
    );
    // Nothing that rests on gates goes on before a person has looked at the sealed files.
    if by_gate && seal.is_some_and(is_stale) {
        return vec![NextCommand {
            stale: true,
            ..NextCommand::develop_command("seal").by_person()
        }];
    }
    match resume {
        NextAction::Design => vec![NextCommand::develop_command("review")],
        NextAction::ReviewAgain => vec![gate_command(Gate::ReviewCleanPass, seal)],
        NextAction::Implement => vec![NextCommand::develop_command("implement")],
        NextAction::Checkpoint { id, iteration: 0 } => {
            vec![NextCommand::on_target("checkpoint start", &id)]
        }
        NextAction::Checkpoint { id, .. } => {
            let planned = contract.iter().find(|one| one.id == id);
            let command = planned.and_then(|one| one.command.as_deref());
            let run = command.map(|command| format!("--run {}", quote_word(command)));
            vec![
                NextCommand::on_target("checkpoint pass", &id)
                    .with_options(run.unwrap_or_default()),
                NextCommand::on_target("checkpoint fail", &id),
            ]
        }
        NextAction::AskPerson { checkpoints } => checkpoints
            .iter()
            .map(|id| {
                let again = NextCommand::on_target("checkpoint start", id);
                again.with_options("--override REASON").by_person()
            })
            .collect(),
        NextAction::VerifyAll => vec![gate_command(Gate::ArchitectVerified, seal)],
        NextAction::Pr => vec![NextCommand::develop_command("pr")],
        NextAction::ReReview => vec![gate_command(Gate::ReReviewClean, seal)],
        NextAction::Done => vec![NextCommand::develop_command("done")],
        NextAction::Back { phase } => vec![back_command(phase)],
        NextAction::Over => vec![NextCommand::develop_command("start").with_options("FEATURE")],
    }
}

/// Returns the command that opens a gate: with a sealed command the agent runs it, otherwise a
/// person decides.
pub(crate) fn gate_command(gate: Gate, seal: Option<&Seal>) -> NextCommand {
    let pass = NextCommand::on_target("gate pass", gate.name());
    match seal.and_then(|seal| seal.rules.gate_command(gate)) {
        Some(_) => pass,
        None => pass.with_options("--by-hand REASON").by_person(),
    }
}

/// Returns the command that goes back to a phase. An agent may go back to work, but not to the
/// phases that people decide.
pub(crate) fn back_command(phase: DevelopPhase) -> NextCommand {
    let back = NextCommand::on_target("back", phase.name());
    match phase {
        DevelopPhase::Design | DevelopPhase::Review => back.by_person(),
        DevelopPhase::Implement | DevelopPhase::Pr | DevelopPhase::Done => back,
    }
}
