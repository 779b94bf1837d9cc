//! The verbs of `bowline develop`.

mod bundle;
mod gates;
mod verify;

pub use bowline_formats::develop::contract::Planned;
pub use bowline_machines::develop::{
    ATTEMPTS_MAX, Checkpoint, CheckpointStatus, FailureClass, Gate, Phase, Run,
};
pub use bundle::{Fault, Shown, verify_file};
pub use gates::{Passed, Proof};
pub use verify::Verified;

use crate::context::Context;
use crate::develop::advice::Next;
use crate::develop::evidence::{Scene, Watch};
use crate::develop::seal::{self, SealState};
use crate::develop::{
    ADOPT, Ledger, RunFolder, START, contract_of, evidence, keep_contract, new_id,
};
use crate::error::{Error, Refusal};
use crate::files::{Changed, KnownFile, Moved, Notice, View};
use crate::kinds::{Develop, FileKind};
use crate::words::{cannot_be_read, contract_fault, shown, system};
use crate::{develop, tree, workspace};
use bowline_formats::StateFormat as _;
use bowline_formats::develop::contract;
use bowline_formats::develop::evidence::Evidence as Record;
use bowline_formats::develop::settings::{self, Settings};
use bowline_formats::develop::{DevelopFile, new_document};
use bowline_formats::json::JsonDocument;
use bowline_gate::locate;
use bowline_machines::Machine as _;
use bowline_machines::develop::{Choice, Command, DevelopMachine, Effect, Strategy, StrategyFacts};
use bowline_statefiles::StateFile;
use bowline_words::message::{Advice, Why, Wrong};
use serde_json::{Value, json};
use std::path::Path;

/// Says that the client can run teams of agents.
const AGENT_TEAMS_VARIABLE: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";

/// The develop run of a project.
#[derive(Debug, Clone)]
pub struct DevelopRun {
    file: KnownFile,
}

/// A run that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// The one before it was done.
    pub after_done: bool,
}

/// What the journal and the side folder know of the run there is now.
struct Known {
    ledger: Ledger,
    folder: RunFolder,
    seal: SealState,
}

impl Known {
    fn scene<'s>(
        &'s self,
        context: &'s Context,
        file: &'s Path,
        watch: &'s dyn Watch,
    ) -> Scene<'s> {
        let seal = self.seal.seal();
        Scene {
            context,
            run: &self.folder,
            file,
            seal,
            timeout_seconds: self.timeout_seconds(file),
            watch,
        }
    }

    /// The sealed limit; where nothing is sealed, the project's, if it can be read.
    fn timeout_seconds(&self, file: &Path) -> u64 {
        match self.seal.seal() {
            Some(seal) => seal.rules.timeout_seconds,
            None => {
                seal::policy_of(locate::root_of(file))
                    .unwrap_or_default()
                    .timeout_seconds
            }
        }
    }

    fn sealed(&self) -> Result<(), Error> {
        match self.seal.changes() {
            changes if changes.is_empty() => Ok(()),
            changes => Err(Error::StaleEvidence {
                changes,
                tree_only: false,
            }),
        }
    }

    fn evidence_of(&self, gate: Gate) -> Result<Option<Record>, Error> {
        let rests_on = self
            .ledger
            .passed
            .iter()
            .find(|(name, _)| name == gate.name());
        let Some((_, id)) = rests_on else {
            return Ok(None);
        };
        let all = evidence::all(&self.folder)?;
        Ok(all.into_iter().rfind(|one| one.id == *id))
    }
}

impl DevelopRun {
    /// The run seen from a folder.
    pub fn at(context: &Context, folder: &Path) -> Self {
        let path = workspace::locate(context, FileKind::Develop, folder);
        DevelopRun {
            file: KnownFile::new(context, FileKind::Develop, &path),
        }
    }

    /// The state file.
    pub fn file(&self) -> &KnownFile {
        &self.file
    }

    /// The folder whose work it is: commands run here.
    pub fn root(&self) -> &Path {
        locate::root_of(&self.file.path)
    }

    /// The run as it stands, believed as far as it may be; `None` where there is none.
    pub fn run(&self, context: &Context) -> Result<Option<Run>, Error> {
        match self.file.look(context) {
            Ok(view) => Ok(view.run().cloned()),
            Err(Error::NoFile { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Commands that make sense now.
    pub fn next(&self, context: &Context, view: &View) -> Result<Vec<Next>, Error> {
        develop::next(context, &self.file.path, &self.file.file, view.run())
    }

    fn known(&self, context: &Context) -> Result<Known, Error> {
        known(context, &self.file.path, &self.file.file)
    }

    /// What tells this run from every other one in the same place.
    pub fn identity(&self, context: &Context) -> Result<String, Error> {
        match Ledger::read(&self.file.file)?.run {
            Some(id) => Ok(id),
            None => Ok(self.run(context)?.map_or_else(String::new, |run| {
                format!("{} {}", run.started_at.0, run.feature)
            })),
        }
    }

    /// The contract that was handed in with the design; empty where none was.
    pub fn contract(&self, context: &Context) -> Result<Vec<Planned>, Error> {
        contract_of(context, &self.known(context)?.folder)
    }

    /// Begins a run; the policy is sealed when a person does.
    pub fn start(
        &self,
        context: &Context,
        feature: &str,
        fresh: bool,
    ) -> Result<Changed<Started>, Error> {
        let command = || Command::Start {
            feature: feature.to_owned(),
            fresh,
            by: context.actor(),
        };
        let at = context.now_for(FileKind::Develop);
        let decide =
            |state: &Option<Run>| DevelopMachine::step(state, command(), at).map_err(refused);
        // A refusal must not leave a seal behind.
        let effects = decide(&self.run(context)?)?.effects;
        let run = RunFolder::new(&self.file.path, &new_id(context, &self.file.path));
        let mut metadata = json!({ "run": run.id, "feature": feature });
        if effects.contains(&Effect::Seal) {
            // Before the run: one that a crash leaves without its seal would open for nothing.
            let (seal, hash) = seal::write(context, &run, self.root())?;
            metadata["seal"] = hash.into();
            metadata["policy"] = seal.policy.into();
        }
        let mut changed = self.file.replace(context, |document| {
            let state = document.and_then(run_in);
            decide(&state)?;
            let from = state.map(|run| run.phase.name().to_owned());
            let moved = Moved::new("phase", START, from, Phase::Design.name());
            let document = new_document(feature, at);
            Ok((Some(document), moved.with(metadata.clone())))
        })?;
        self.bear_witness(context, &changed)?;
        if tree::is_shown_by_git(&self.file.path) {
            changed.view.notices.push(Notice::NotIgnored);
        }
        let after_done = changed.moved.from.as_deref() == Some(Phase::Done.name());
        Ok(changed.telling(Started { after_done }))
    }

    /// Enters REVIEW, with the checkpoints of the design.
    pub fn review(
        &self,
        context: &Context,
        checkpoints: &[String],
        contract: Option<&Path>,
    ) -> Result<Changed<Option<Run>>, Error> {
        let planned = contract.map(read_contract).transpose()?;
        let from_contract = planned.iter().flatten().map(|one| one.id.clone());
        let ids: Vec<String> = from_contract.chain(checkpoints.iter().cloned()).collect();
        let command = Command::Review {
            checkpoints: ids.clone(),
        };
        self.check(context, command.clone())?;
        let known = self.known(context)?;
        if let Some(planned) = planned.filter(|_| !context.dry_run) {
            keep_contract(context, &known.folder, &planned)?;
        }
        let facts = json!({ "checkpoints": ids });
        self.to_phase(context, &known, "REVIEW", facts, |_| Ok(command.clone()))
    }

    /// Enters IMPLEMENT with a strategy: the one named, the project's, or whichever fits.
    pub fn implement(
        &self,
        context: &Context,
        strategy: Option<&str>,
    ) -> Result<Changed<Option<Run>>, Error> {
        let known = self.known(context)?;
        let settings = self.settings()?;
        let named = strategy.or(settings.strategy.as_deref());
        let choice = match named {
            None | Some("auto") => Choice::Auto(self.facts(context, &known)?),
            Some(name) => {
                Choice::Named(Strategy::from_name(name).ok_or_else(|| Error::BadInput {
                    message: Wrong::NoSuchStrategy { name: name.into() },
                    hint: Advice::Strategies,
                })?)
            }
        };
        let command = Command::Implement { choice };
        self.check(context, command.clone())?;
        known.sealed()?;
        self.to_phase(context, &known, "IMPLEMENT", json!({}), |_| {
            Ok(command.clone())
        })
    }

    /// Enters PR.
    pub fn pr(&self, context: &Context) -> Result<Changed<Option<Run>>, Error> {
        self.check(context, Command::Pr)?;
        let known = self.fresh(context, Gate::ArchitectVerified)?;
        self.to_phase(context, &known, "PR", json!({}), |_| Ok(Command::Pr))
    }

    /// Enters DONE.
    pub fn done(&self, context: &Context) -> Result<Changed<Option<Run>>, Error> {
        self.check(context, Command::Done)?;
        let known = self.fresh(context, Gate::ReReviewClean)?;
        self.to_phase(context, &known, "DONE", json!({}), |_| Ok(Command::Done))
    }

    /// Goes back to an earlier phase.
    pub fn back(&self, context: &Context, phase: Phase) -> Result<Changed<Option<Run>>, Error> {
        let known = self.known(context)?;
        let command = Command::Back {
            phase,
            by: context.actor(),
        };
        self.to_phase(context, &known, "BACK", json!({}), |_| Ok(command.clone()))
    }

    /// Throws the run away. Its file is removed; the journal and the backup keep it.
    pub fn reset(&self, context: &Context) -> Result<Changed, Error> {
        let at = context.now_for(FileKind::Develop);
        let by = context.actor();
        let changed = self.file.replace(context, |document| {
            let document = document.ok_or_else(|| self.file.no_file())?;
            let run = self.known(context)?.folder.id;
            let state = run_in(document);
            DevelopMachine::step(&state, Command::Reset { by }, at).map_err(refused)?;
            let from = phase_word(&state);
            let moved = Moved::new("phase", "RESET", Some(from), "none");
            Ok((None, moved.with(json!({ "run": run }))))
        })?;
        self.bear_witness(context, &changed)?;
        Ok(changed)
    }

    /// Leaves marks that there is a journal, and in the repository while a run is open: see [`locate::opened`] and
    /// [`locate::witness`].
    fn bear_witness<S>(&self, context: &Context, changed: &Changed<S>) -> Result<(), Error> {
        if context.dry_run {
            return Ok(());
        }
        self.mark(context, &locate::opened(&self.file.path), true)?;
        let over = [Phase::Done.name(), "none"].contains(&changed.moved.to.as_str());
        match locate::witness(&self.file.path) {
            Some(witness) => self.mark(context, &witness, !over),
            None => Ok(()),
        }
    }

    fn mark(&self, context: &Context, path: &Path, there: bool) -> Result<(), Error> {
        let (disk, folder) = (&context.disk, path.parent().unwrap_or(path));
        let (done, already) = match there {
            // Not by opening what is there: it may be a link.
            true => (
                disk.create_folders(folder)
                    .and_then(|()| disk.create_new(path).map(drop)),
                std::io::ErrorKind::AlreadyExists,
            ),
            false => (disk.unlink(path), std::io::ErrorKind::NotFound),
        };
        match done {
            Err(error) if error.kind() != already => Err(Error::BadInput {
                message: Wrong::OfFile {
                    path: shown(path),
                    why: Why::CannotBeWritten {
                        cause: system(&error),
                    },
                },
                hint: Advice::ChangeWasMade,
            }),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Takes over a run that another program began: from here on only Bowline moves its gates, and all are closed.
    pub fn adopt(&self, context: &Context) -> Result<Changed<Option<Run>>, Error> {
        let known = self.known(context)?;
        let command = |ledger: &Ledger| {
            Ok(Command::Adopt {
                owned: ledger.adopted,
            })
        };
        self.to_phase(context, &known, ADOPT, json!({}), command)
    }

    /// What the machine would say, before anything costly is done.
    fn check(&self, context: &Context, command: Command) -> Result<(), Error> {
        let state = self.file.look(context)?.run().cloned();
        let at = context.now_for(FileKind::Develop);
        DevelopMachine::step(&state, command, at)
            .map(|_| ())
            .map_err(refused)
    }

    fn to_phase(
        &self,
        context: &Context,
        known: &Known,
        trigger: &'static str,
        facts: Value,
        command: impl Fn(&Ledger) -> Result<Command, Error>,
    ) -> Result<Changed<Option<Run>>, Error> {
        let changed = self.moves(
            context,
            known,
            ("phase", trigger),
            facts,
            command,
            phase_word,
        )?;
        self.bear_witness(context, &changed)?;
        Ok(changed)
    }

    fn moves(
        &self,
        context: &Context,
        known: &Known,
        (entity, trigger): (&'static str, &'static str),
        mut facts: Value,
        command: impl Fn(&Ledger) -> Result<Command, Error>,
        word: impl Fn(&Option<Run>) -> String,
    ) -> Result<Changed<Option<Run>>, Error> {
        facts["run"] = known.folder.id.clone().into();
        self.file.transact::<Develop>(
            context,
            |_, _| {
                // What was found out before the lock was about that run.
                let ledger = Ledger::read(&self.file.file)?;
                if ledger.run != known.ledger.run {
                    return Err(Error::RunChanged);
                }
                command(&ledger)
            },
            |before, after| {
                Moved::new(entity, trigger, Some(word(before)), word(after)).with(facts.clone())
            },
        )
    }

    fn facts(&self, context: &Context, known: &Known) -> Result<StrategyFacts, Error> {
        let run = self.run(context)?;
        let mut planned = contract_of(context, &known.folder)?;
        // A contract of an earlier review may know others.
        planned.retain(|one| {
            run.as_ref()
                .is_some_and(|run| run.checkpoint(&one.id).is_some())
        });
        Ok(StrategyFacts {
            independent: contract::independent(&planned),
            shared_file: contract::share_a_file(&planned),
            communication: false,
            agent_teams_available: context
                .variables
                .get(AGENT_TEAMS_VARIABLE)
                .is_some_and(|value| value == "1"),
        })
    }

    /// Attempts at a checkpoint: fewer than usual, where the project says so.
    fn attempts_max(&self) -> Result<u32, Error> {
        Ok(self.settings()?.max_retries.unwrap_or(ATTEMPTS_MAX))
    }

    fn settings(&self) -> Result<Settings, Error> {
        let path = self.root().join(settings::FILE_NAME);
        let bad = |why: Why| Error::BadInput {
            message: Wrong::OfFile {
                path: shown(&path),
                why,
            },
            hint: Advice::MendSettings,
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => settings::read(&text).map_err(|text| bad(Why::Unreadable { text })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
            Err(error) => Err(bad(cannot_be_read(&error))),
        }
    }
}

fn known(context: &Context, path: &Path, file: &StateFile) -> Result<Known, Error> {
    let ledger = Ledger::read(file)?;
    let id = ledger.run.clone();
    let folder = RunFolder::new(path, &id.unwrap_or_else(|| new_id(context, path)));
    let root = locate::root_of(path);
    let seal = seal::look(context, &folder, ledger.seal.as_deref(), root)?;
    Ok(Known {
        ledger,
        folder,
        seal,
    })
}

fn read_contract(path: &Path) -> Result<Vec<Planned>, Error> {
    let bad = |why: Why| Error::BadInput {
        message: Wrong::OfFile {
            path: shown(path),
            why,
        },
        hint: Advice::ContractShape,
    };
    let text = std::fs::read_to_string(path).map_err(|error| bad(cannot_be_read(&error)))?;
    contract::read(&text).map_err(|error| bad(contract_fault(error)))
}

/// The run a readable document tells of.
pub(crate) fn run_in(document: &JsonDocument) -> Option<Run> {
    DevelopFile::read(document).ok().and_then(|read| read.state)
}

fn refused(refusal: bowline_machines::develop::Refusal) -> Error {
    Error::Refused(Refusal::Develop(refusal))
}

fn phase_word(run: &Option<Run>) -> String {
    DevelopMachine::status(run).to_owned()
}
