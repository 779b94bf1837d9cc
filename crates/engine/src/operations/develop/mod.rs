//! Verbs of `bowline develop`.

mod bundle;
mod gates;
mod verify;

pub use bowline_formats::develop::contract::PlannedCheckpoint;
pub use bowline_machines::develop::{
    ATTEMPTS_MAX, CheckpointStatus, DevelopCheckpoint, DevelopPhase, DevelopRunState, FailureClass,
    Gate,
};
pub(crate) use bundle::trouble_code as evidence_code;
pub use bundle::{VerifiedBundle, verify_file};
pub use gates::{GateProof, PassOutcome};
pub use verify::VerifiedGate;

use crate::context::Context;
use crate::develop::seal::{self, SealState};
use crate::develop::{
    ADOPT, BACK, DONE, JournalFacts, RunFolder, RunRecords, START, contract_of, keep_contract,
    new_id,
};
use crate::error::{Error, MachineRefusal};
use crate::files::{ChangeOutcome, ChangeRecord, FileNotice, FileView, KnownFile};
use crate::kinds::{DevelopKind, FileKind};
use crate::words::{cannot_be_read, contract_fault, system_cause};
use crate::{tree, workspace};
use bowline_formats::StateFormat as _;
use bowline_formats::develop::contract;
use bowline_formats::develop::seal::Seal;
use bowline_formats::develop::settings::{self, DevelopSettings};
use bowline_formats::develop::{DevelopFile, new_document};
use bowline_formats::json::JsonDocument;
use bowline_gate::locate;
use bowline_machines::Machine as _;
use bowline_machines::develop::{
    Command, DevelopMachine, Effect, ImplementationStrategy, StrategyChoice, StrategyFacts,
};
use bowline_words::message::{Advice, Why, Wrong};
use serde_json::{Value, json};
use std::path::Path;

/// Variable that declares that the client can run teams of agents.
const AGENT_TEAMS_VARIABLE: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";

#[derive(Debug, Clone)]
pub struct DevelopRun {
    file: KnownFile,
}

/// Result of beginning a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedRun {
    /// True if the previous run was done.
    pub after_done: bool,
    /// Seal of the run; `None` if nothing was sealed.
    pub seal: Option<Seal>,
}

impl DevelopRun {
    /// Returns the run seen from a folder.
    pub fn in_folder(context: &Context, folder: &Path) -> Self {
        let path = workspace::locate_file(context, FileKind::Develop, folder);
        DevelopRun {
            file: KnownFile::new(context, FileKind::Develop, &path),
        }
    }

    pub fn file(&self) -> &KnownFile {
        &self.file
    }

    /// Returns the root of the work: commands run there.
    pub fn root(&self) -> &Path {
        locate::root_of(&self.file.path)
    }

    /// Returns the run, limited to trusted contents; `None` if there is none.
    pub fn read_run(&self, context: &Context) -> Result<Option<DevelopRunState>, Error> {
        match self.file.read_bare_view(context) {
            Ok(view) => Ok(view.develop_run().cloned()),
            Err(Error::NoFile { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the run and its facts in one view.
    fn read_with_records(&self, context: &Context) -> Result<(FileView, RunRecords), Error> {
        let view = self.file.read_bare_view(context)?;
        let known = RunRecords::from_journal(context, &self.file, view.history.as_ref())?;
        Ok((view, known))
    }

    /// Returns the facts from the journal alone: the file may be gone or not trusted.
    fn read_records(&self, context: &Context) -> Result<RunRecords, Error> {
        RunRecords::from_journal(context, &self.file, None)
    }

    /// Returns a key that distinguishes this run from every other one in the same place.
    pub fn run_key(&self, context: &Context) -> Result<String, Error> {
        match self.read_records(context)?.ledger.run {
            Some(id) => Ok(id),
            None => Ok(self.read_run(context)?.map_or_else(String::new, |run| {
                format!("{} {}", run.started_at.0, run.feature)
            })),
        }
    }

    /// Returns the contract that was submitted with the design; empty if there is none.
    pub fn run_contract(&self, context: &Context) -> Result<Vec<PlannedCheckpoint>, Error> {
        contract_of(context, &self.read_records(context)?.folder)
    }

    /// Begins a run. If a person does, the policy is sealed.
    pub fn start_run(
        &self,
        context: &Context,
        feature: &str,
        fresh: bool,
    ) -> Result<ChangeOutcome<StartedRun>, Error> {
        let command = || Command::Start {
            feature: feature.to_owned(),
            fresh,
            by: context.actor(),
        };
        let at = context.now_for(FileKind::Develop);
        let decide = |state: &Option<DevelopRunState>| {
            DevelopMachine::step(state, command(), at).map_err(refusal_error)
        };
        // A refusal must not leave a seal behind.
        let effects = decide(&self.read_run(context)?)?.effects;
        let run = RunFolder::new(&self.file.path, &new_id(context, &self.file.path));
        let mut metadata = json!({ "run": run.id, "feature": feature });
        let mut seal = None;
        if effects.contains(&Effect::Seal) {
            // Before the run: a run that a crash left without its seal would open for nothing.
            let (sealed, hash) = seal::write_seal(context, &run, self.root())?;
            metadata["seal"] = hash.into();
            metadata["policy"] = sealed.policy.clone().into();
            seal = Some(sealed);
        }
        let changed = self.file.replace_document(context, |document| {
            let state = document.and_then(run_in);
            decide(&state)?;
            let from = state.map(|run| run.phase.name().to_owned());
            let moved = ChangeRecord::new("phase", START, from, DevelopPhase::Design.name());
            let document = new_document(feature, at);
            Ok((Some(document), moved.with_metadata(metadata.clone())))
        })?;
        self.update_markers(context, &changed)?;
        let mut changed = self.with_advice(context, changed, None)?;
        if tree::is_shown_by_git(&self.file.path) {
            changed.view.notices.push(FileNotice::NotIgnored);
        }
        let after_done = changed.moved.from.as_deref() == Some(DevelopPhase::Done.name());
        Ok(changed.with_state(StartedRun { after_done, seal }))
    }

    /// Enters REVIEW, with the checkpoints of the design.
    pub fn enter_review(
        &self,
        context: &Context,
        checkpoints: &[String],
        contract: Option<&Path>,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        let planned = contract.map(read_contract).transpose()?;
        let from_contract = planned.iter().flatten().map(|one| one.id.clone());
        let ids: Vec<String> = from_contract.chain(checkpoints.iter().cloned()).collect();
        let command = Command::Review {
            checkpoints: ids.clone(),
        };
        let (view, known) = self.read_with_records(context)?;
        self.check_command(context, &view, command.clone())?;
        if let Some(planned) = planned.filter(|_| !context.dry_run) {
            keep_contract(context, &known.folder, &planned)?;
        }
        let facts = json!({ "checkpoints": ids });
        let command = |_: &JournalFacts| Ok(command.clone());
        self.to_phase(context, &known, "REVIEW", facts, command, None)
    }

    /// Enters IMPLEMENT with the named strategy, the project's, or an automatic choice.
    pub fn enter_implement(
        &self,
        context: &Context,
        strategy: Option<&str>,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        let (view, known) = self.read_with_records(context)?;
        let settings = self.read_settings()?;
        let named = strategy.or(settings.strategy.as_deref());
        let choice =
            match named {
                None | Some("auto") => {
                    StrategyChoice::Auto(strategy_facts(context, view.develop_run(), &known)?)
                }
                Some(name) => StrategyChoice::Named(
                    ImplementationStrategy::from_name(name).ok_or_else(|| Error::BadInput {
                        message: Wrong::NoSuchStrategy { name: name.into() },
                        hint: Advice::Strategies,
                    })?,
                ),
            };
        let command = Command::Implement { choice };
        self.check_command(context, &view, command.clone())?;
        let seal = known.seal_state(context)?;
        seal.check_unchanged()?;
        let command = |_: &JournalFacts| Ok(command.clone());
        self.to_phase(
            context,
            &known,
            "IMPLEMENT",
            json!({}),
            command,
            Some(&seal),
        )
    }

    pub fn enter_pr(
        &self,
        context: &Context,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        self.enter_if_fresh(context, Gate::ArchitectVerified, "PR", Command::Pr)
    }

    pub fn finish_run(
        &self,
        context: &Context,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        self.enter_if_fresh(context, Gate::ReReviewClean, DONE, Command::Done)
    }

    /// Enters a phase if nothing has changed that the gate before it rests on.
    fn enter_if_fresh(
        &self,
        context: &Context,
        gate: Gate,
        trigger: &'static str,
        command: Command,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        let (view, known) = self.read_with_records(context)?;
        self.check_command(context, &view, command.clone())?;
        let seal = known.seal_state(context)?;
        seal.check_unchanged()?;
        let tree = self.is_fresh(context, gate, &known, &seal)?;
        let facts = match trigger {
            DONE => json!({ "tree": tree }),
            _ => json!({}),
        };
        let command = |_: &JournalFacts| Ok(command.clone());
        self.to_phase(context, &known, trigger, facts, command, Some(&seal))
    }

    /// Goes back to an earlier phase.
    pub fn go_back(
        &self,
        context: &Context,
        phase: DevelopPhase,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        let known = self.read_records(context)?;
        let command = Command::Back {
            phase,
            by: context.actor(),
        };
        let command = |_: &JournalFacts| Ok(command.clone());
        self.to_phase(context, &known, BACK, json!({}), command, None)
    }

    /// Discards the run. Its file is removed; the journal and the backup keep it.
    pub fn discard_run(&self, context: &Context) -> Result<ChangeOutcome, Error> {
        let at = context.now_for(FileKind::Develop);
        let by = context.actor();
        let changed = self.file.replace_seen(context, |document, snapshot| {
            let document = document.ok_or_else(|| self.file.no_file())?;
            let known = RunRecords::from_journal(context, &self.file, snapshot.history.as_ref())?;
            let run = known.folder.id;
            let state = run_in(document);
            DevelopMachine::step(&state, Command::Reset { by }, at).map_err(refusal_error)?;
            let from = phase_word(&state);
            let moved = ChangeRecord::new("phase", "RESET", Some(from), "none");
            Ok((None, moved.with_metadata(json!({ "run": run }))))
        })?;
        self.update_markers(context, &changed)?;
        self.with_advice(context, changed, None)
    }

    /// Updates the marker files: one for the journal's existence, and one in the repository while a
    /// run is open. See [`locate::opened`] and [`locate::witness`].
    fn update_markers<S>(
        &self,
        context: &Context,
        changed: &ChangeOutcome<S>,
    ) -> Result<(), Error> {
        if context.dry_run {
            return Ok(());
        }
        self.set_marker(context, &locate::journal_marker(&self.file.path), true)?;
        let over = [DevelopPhase::Done.name(), "none"].contains(&changed.moved.to.as_str());
        match locate::open_run_marker(&self.file.path) {
            Some(witness) => self.set_marker(context, &witness, !over),
            None => Ok(()),
        }
    }

    fn set_marker(&self, context: &Context, path: &Path, there: bool) -> Result<(), Error> {
        let (disk, folder) = (&context.disk, path.parent().unwrap_or(path));
        let (done, already) = match there {
            // Never by opening an existing path: it may be a link.
            true => (
                disk.create_folders(folder)
                    .and_then(|()| disk.create_new(path).map(drop)),
                std::io::ErrorKind::AlreadyExists,
            ),
            false => (disk.unlink(path), std::io::ErrorKind::NotFound),
        };
        match done {
            Err(error) if error.kind() != already => Err(Error::bad_file(
                path,
                Why::CannotBeWritten {
                    cause: system_cause(&error),
                },
                Advice::ChangeWasMade,
            )),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Takes over a run that another program began: from then on only Bowline moves its gates, and
    /// all are closed.
    pub fn adopt_run(
        &self,
        context: &Context,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        let known = self.read_records(context)?;
        let command = |ledger: &JournalFacts| {
            Ok(Command::Adopt {
                owned: ledger.adopted,
            })
        };
        self.to_phase(context, &known, ADOPT, json!({}), command, None)
    }

    /// Tries a command on the machine before anything costly is done.
    fn check_command(
        &self,
        context: &Context,
        view: &FileView,
        command: Command,
    ) -> Result<(), Error> {
        let at = context.now_for(FileKind::Develop);
        DevelopMachine::step(&view.develop_run().cloned(), command, at)
            .map(|_| ())
            .map_err(refusal_error)
    }

    /// Adds the commands that make sense after a change. `looked` is the state of the seal, if the
    /// verb has just checked it.
    fn with_advice<S>(
        &self,
        context: &Context,
        mut changed: ChangeOutcome<S>,
        looked: Option<&SealState>,
    ) -> Result<ChangeOutcome<S>, Error> {
        let known = RunRecords::from_journal(context, &self.file, changed.view.history.as_ref())?;
        changed.view.examined.next =
            known.next_commands(context, changed.view.develop_run(), looked)?;
        Ok(changed)
    }

    fn to_phase(
        &self,
        context: &Context,
        known: &RunRecords,
        trigger: &'static str,
        facts: Value,
        command: impl Fn(&JournalFacts) -> Result<Command, Error>,
        looked: Option<&SealState>,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        let what = ("phase", trigger);
        let changed = self.apply_command(context, known, what, facts, command, phase_word)?;
        self.update_markers(context, &changed)?;
        self.with_advice(context, changed, looked)
    }

    fn apply_command(
        &self,
        context: &Context,
        known: &RunRecords,
        (entity, trigger): (&'static str, &'static str),
        mut facts: Value,
        command: impl Fn(&JournalFacts) -> Result<Command, Error>,
        word: impl Fn(&Option<DevelopRunState>) -> String,
    ) -> Result<ChangeOutcome<Option<DevelopRunState>>, Error> {
        facts["run"] = known.folder.id.clone().into();
        self.file.execute_command_on::<DevelopKind>(
            context,
            |_, run| run,
            |_, _, snapshot| {
                // Facts read before the lock was taken belong to that run.
                let now = RunRecords::from_journal(context, &self.file, snapshot.history.as_ref())?;
                if now.ledger.run != known.ledger.run {
                    return Err(Error::RunChanged);
                }
                command(&now.ledger)
            },
            |before, after| {
                ChangeRecord::new(entity, trigger, Some(word(before)), word(after))
                    .with_metadata(facts.clone())
            },
        )
    }

    /// Returns the limit of attempts at a checkpoint: lower than the default if the project says
    /// so.
    fn attempts_max(&self) -> Result<u32, Error> {
        Ok(self.read_settings()?.max_retries.unwrap_or(ATTEMPTS_MAX))
    }

    fn read_settings(&self) -> Result<DevelopSettings, Error> {
        let path = self.root().join(settings::FILE_NAME);
        let bad = |why: Why| Error::bad_file(&path, why, Advice::MendSettings);
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                settings::parse_settings(&text).map_err(|text| bad(Why::Unreadable { text }))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(DevelopSettings::default())
            }
            Err(error) => Err(bad(cannot_be_read(&error))),
        }
    }
}

fn strategy_facts(
    context: &Context,
    run: Option<&DevelopRunState>,
    known: &RunRecords,
) -> Result<StrategyFacts, Error> {
    let mut planned = contract_of(context, &known.folder)?;
    // A contract of an earlier review may have other checkpoints.
    planned.retain(|one| run.is_some_and(|run| run.find_checkpoint(&one.id).is_some()));
    Ok(StrategyFacts {
        independent: contract::are_independent(&planned),
        shared_file: contract::share_a_file(&planned),
        communication: false,
        agent_teams_available: context
            .variables
            .get(AGENT_TEAMS_VARIABLE)
            .is_some_and(|value| value == "1"),
    })
}

fn read_contract(path: &Path) -> Result<Vec<PlannedCheckpoint>, Error> {
    let bad = |why: Why| Error::bad_file(path, why, Advice::ContractShape);
    let text = std::fs::read_to_string(path).map_err(|error| bad(cannot_be_read(&error)))?;
    contract::parse_contract(&text).map_err(|error| bad(contract_fault(error)))
}

/// Returns the run in a readable document.
pub(crate) fn run_in(document: &JsonDocument) -> Option<DevelopRunState> {
    DevelopFile::read_state(document)
        .ok()
        .and_then(|read| read.state)
}

fn refusal_error(refusal: bowline_machines::develop::Refusal) -> Error {
    Error::Refused(MachineRefusal::Develop(refusal))
}

fn phase_word(run: &Option<DevelopRunState>) -> String {
    DevelopMachine::status_name(run).to_owned()
}
