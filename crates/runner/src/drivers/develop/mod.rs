//! Runs develop checkpoints one after the other, each until its command is green or a person is
//! asked. With `auto`, also the phases around them, as far as the sealed commands of the gates
//! allow.
//!
//! Everything here has the rights of an agent: no gate is opened by a claim alone, and none is
//! reopened.

mod prompt;

use super::prompts::{failure, texts};
use super::{Would, client, parts, settings_at, would_start};
use crate::core::clients::Client;
use crate::core::crew::{
    After, Brief, Job, Outcome, Over, Report, Rules, Screen, Unit, Work, run as crew,
};
use crate::core::note::{Note, Reply};
use crate::core::stopper::Stopper;
use crate::core::why::Why;
use bowline_engine::develop::evidence::CommandObserver;
use bowline_engine::formats::develop::evidence::EvidenceRecord;
use bowline_engine::machines::develop::{Command, DevelopMachine, Refusal};
use bowline_engine::machines::{Actor, Machine as _};
use bowline_engine::operations::develop::{
    CheckpointStatus, DevelopCheckpoint, DevelopPhase, DevelopRun, DevelopRunState, FailureClass,
    Gate, GateProof, PassOutcome, PlannedCheckpoint,
};
use bowline_engine::{Context, Error, MachineRefusal as Refused};
use bowline_formats::settings::BowlineSettings;
use bowline_words::message::Reason;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Tries of work that is no checkpoint: a design, a review, a gate that stays red.
const TRIES_MAX: u32 = 3;
/// Path of the design if its agent does not name one.
const DESIGN: &str = "docs/design.md";

/// Options of a develop run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Name of the agent for all work.
    pub agent: Option<String>,
    /// Runs every phase, as far as the gates allow.
    pub auto: bool,
    /// Most agents that the run starts.
    pub iterations: Option<u32>,
}

/// Runs agents on a develop run until nothing is left that they may do.
pub fn run(
    context: &Context,
    run: &DevelopRun,
    options: &Options,
    screen: &mut dyn Screen,
    begun: impl FnOnce(Stopper),
) -> Result<Report, Error> {
    let develop = Develop::new(context, run, options)?;
    let feature = develop.now()?.feature;
    let names = (run.run_key(context)?, feature);
    let rules = Rules {
        parallel: 1,
        starts_max: options.iterations,
    };
    let parts = parts(context, run.file(), names, &develop.settings, rules, screen)?;
    crew(parts, develop, begun)
}

/// Returns the units that a run would start.
pub fn rehearse(
    context: &Context,
    run: &DevelopRun,
    options: &Options,
) -> Result<Vec<Would>, Error> {
    let develop = Develop::new(context, run, options)?;
    develop.now()?;
    would_start(develop, 1)
}

/// Kind of work that an agent is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Task {
    Design,
    Checkpoint(String),
    Gate(Gate),
    PullRequest,
}

/// Result of a gate's or checkpoint's command.
pub(super) struct Found {
    result: Result<PassOutcome, Error>,
    evidence: Option<EvidenceRecord>,
}

/// Keeps the last evidence: a refusal does not contain the command's output.
#[derive(Default)]
struct Keep(Mutex<Option<EvidenceRecord>>);

impl CommandObserver for Keep {
    fn on_started(&self, _: &str) {}
    fn on_tick(&self, _: &str, _: Duration) {}
    fn on_ended(&self, evidence: &EvidenceRecord) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(evidence.clone());
    }
}

impl Keep {
    fn of(pass: impl FnOnce(&Keep) -> Result<PassOutcome, Error>) -> Found {
        let keep = Keep::default();
        let result = pass(&keep);
        let evidence = keep.0.into_inner();
        Found {
            result,
            evidence: evidence.unwrap_or_else(PoisonError::into_inner),
        }
    }
}

struct Develop {
    context: Context,
    run: DevelopRun,
    options: Options,
    settings: BowlineSettings,
    tries: BTreeMap<String, u32>,
    /// Units that only others can continue, with the error to report.
    given_up: BTreeMap<String, Option<Error>>,
    /// Gates whose command ran once before any agent was asked to repair something.
    tried: BTreeSet<Gate>,
}

impl Develop {
    fn new(context: &Context, run: &DevelopRun, options: &Options) -> Result<Develop, Error> {
        let settings = settings_at(run.root())?;
        // An unknown agent is refused before anything is started.
        client(&settings, options.agent.as_deref(), None)?;
        Ok(Develop {
            context: Context {
                actor: Some(Actor::Agent),
                ..context.clone()
            },
            run: run.clone(),
            options: options.clone(),
            settings,
            tries: BTreeMap::new(),
            given_up: BTreeMap::new(),
            tried: BTreeSet::new(),
        })
    }

    fn now(&self) -> Result<DevelopRunState, Error> {
        let run = self.run.read_run(&self.context)?;
        run.ok_or_else(|| refused(Refusal::NoRun))
    }

    /// Returns the work for the present phase.
    fn task(&self, run: &DevelopRunState) -> Result<Option<Task>, Error> {
        let auto = self.options.auto;
        Ok(match run.phase {
            DevelopPhase::Design if auto => Some(Task::Design),
            DevelopPhase::Review if auto => Some(Task::Gate(Gate::ReviewCleanPass)),
            DevelopPhase::Implement => match self.checkpoint(run)? {
                Some(one) => Some(Task::Checkpoint(one.id.clone())),
                None if auto && run.unpassed_checkpoints().is_empty() => {
                    Some(Task::Gate(Gate::ArchitectVerified))
                }
                None => None,
            },
            DevelopPhase::Pr if auto && run.gates.is_open(Gate::ReReviewClean) => {
                Some(Task::PullRequest)
            }
            DevelopPhase::Pr if auto => Some(Task::Gate(Gate::ReReviewClean)),
            DevelopPhase::Design | DevelopPhase::Review | DevelopPhase::Pr | DevelopPhase::Done => {
                None
            }
        })
    }

    /// Returns the checkpoint to work on: the one in progress, else the first whose dependencies
    /// have passed. One that waits for a person holds up only those that depend on it.
    fn checkpoint<'r>(
        &self,
        run: &'r DevelopRunState,
    ) -> Result<Option<&'r DevelopCheckpoint>, Error> {
        let contract = self.run.run_contract(&self.context)?;
        let passed = |id: &String| {
            let known = run.find_checkpoint(id);
            known.is_none_or(|known| known.status == CheckpointStatus::Passed)
        };
        let free = |one: &&DevelopCheckpoint| {
            let planned = contract.iter().find(|planned| planned.id == one.id);
            planned.is_none_or(|planned| planned.dependencies.iter().all(passed))
        };
        let with = |status: CheckpointStatus| {
            let mut all = run.checkpoints.iter();
            all.find(|one| one.status == status && free(one))
        };
        Ok(with(CheckpointStatus::InProgress).or_else(|| with(CheckpointStatus::Pending)))
    }

    fn planned(&self, id: &str) -> Result<Option<PlannedCheckpoint>, Error> {
        let contract = self.run.run_contract(&self.context)?;
        Ok(contract.into_iter().find(|planned| planned.id == id))
    }

    /// Moves to the next phase if its gate is open, which needs no agent. True if it moved.
    fn move_on(&self, run: &DevelopRunState) -> Result<bool, Error> {
        if !self.options.auto || self.context.dry_run {
            return Ok(false);
        }
        let open = |gate| run.gates.is_open(gate);
        match run.phase {
            DevelopPhase::Review if open(Gate::ReviewCleanPass) => {
                self.run.enter_implement(&self.context, None).map(|_| true)
            }
            DevelopPhase::Implement if open(Gate::ArchitectVerified) => {
                self.run.enter_pr(&self.context).map(|_| true)
            }
            DevelopPhase::Design
            | DevelopPhase::Review
            | DevelopPhase::Implement
            | DevelopPhase::Pr
            | DevelopPhase::Done => Ok(false),
        }
    }

    fn task_of(&self, unit: &Unit) -> Result<Task, Error> {
        let run = self.now()?;
        if run.find_checkpoint(&unit.id).is_some() {
            return Ok(Task::Checkpoint(unit.id.clone()));
        }
        Ok(match Gate::from_name(&unit.id) {
            Some(gate) => Task::Gate(gate),
            None if unit.id == DevelopPhase::Design.name() => Task::Design,
            None => Task::PullRequest,
        })
    }

    /// Retries work that is no checkpoint, or gives it up after [`TRIES_MAX`] failures.
    fn again(&mut self, unit: &Unit, why: Why, error: Option<Error>) -> After<Found> {
        let tries = self.tries.entry(unit.id.clone()).or_default();
        *tries += 1;
        match *tries >= TRIES_MAX {
            true => {
                self.given_up.insert(unit.id.clone(), error);
                After::GaveUp { why }
            }
            false => After::Again { wait_ms: 0, why },
        }
    }

    fn try_gate(&self, gate: Gate) -> Job<Found> {
        let (run, context) = (self.run.clone(), self.context.clone());
        Box::new(move || Keep::of(|keep| run.gate_pass(&context, gate, GateProof::default(), keep)))
    }

    fn failed_checkpoint(&mut self, unit: &Unit, why: Why) -> Result<After<Found>, Error> {
        // An agent may name the kind of failure: `FAIL:cp-1:DESIGN_MISMATCH: no such table`.
        let word = why.own_words().split([':', ' ']).next().unwrap_or_default();
        let class = FailureClass::from_name(word).unwrap_or(FailureClass::NotImplemented);
        let changed = self.run.checkpoint_fail(&self.context, &unit.id, class)?;
        Ok(after_attempt(changed.state.as_ref(), unit, why))
    }

    fn designed(&mut self, unit: &Unit, reply: &Reply) -> Result<After<Found>, Error> {
        let path = part(reply, "contract")
            .and_then(Value::as_str)
            .unwrap_or(DESIGN);
        match self.hand_in(path) {
            Ok(()) => Ok(After::Done),
            Err(error @ (Error::BadInput { .. } | Error::NoValidation { .. })) => {
                Ok(self.again(unit, Why::from(&error), Some(error)))
            }
            Err(error) => Err(error),
        }
    }

    /// Adopts a contract. It is refused if a checkpoint has no command, which would stop the run
    /// later.
    fn hand_in(&self, path: &str) -> Result<(), Error> {
        let path = self.run.root().join(path);
        let changed = self.run.enter_review(&self.context, &[], Some(&path))?;
        let contract = self.run.run_contract(&self.context)?;
        let known = changed.state.iter().flat_map(|run| &run.checkpoints);
        for one in known {
            let planned = contract.iter().find(|planned| planned.id == one.id);
            if planned.is_none_or(|planned| planned.command.is_none()) {
                return Err(Error::NoValidation { id: one.id.clone() });
            }
        }
        Ok(())
    }

    fn reviewed(&mut self, unit: &Unit, gate: Gate, reply: &Reply) -> Result<After<Found>, Error> {
        if let (Gate::ReviewCleanPass, Some(path)) =
            (gate, part(reply, "contract").and_then(Value::as_str))
        {
            match self.hand_in(path) {
                Ok(()) => {}
                Err(error @ (Error::BadInput { .. } | Error::NoValidation { .. })) => {
                    return Ok(self.again(unit, Why::from(&error), Some(error)));
                }
                Err(error) => return Err(error),
            }
        }
        let blocking = part(reply, "blocking").and_then(Value::as_u64).unwrap_or(0);
        if blocking > 0 {
            let issues = texts(part(reply, "issues")).join("\n");
            let why = Why::with(Reason::Blocking { count: blocking }, &issues);
            return Ok(self.again(unit, why, None));
        }
        Ok(After::Check(self.try_gate(gate)))
    }
}

fn refused(refusal: Refusal) -> Error {
    Error::Refused(refusal.into())
}

fn part<'r>(reply: &'r Reply, name: &str) -> Option<&'r Value> {
    reply.result.as_ref().and_then(|result| result.get(name))
}

fn after_attempt(run: Option<&DevelopRunState>, unit: &Unit, why: Why) -> After<Found> {
    let status = run
        .and_then(|run| run.find_checkpoint(&unit.id))
        .map(|one| one.status);
    match status {
        Some(CheckpointStatus::Passed) => After::Done,
        Some(CheckpointStatus::InProgress) => After::Again { wait_ms: 0, why },
        Some(
            CheckpointStatus::Pending | CheckpointStatus::Escalated | CheckpointStatus::Failed,
        )
        | None => After::GaveUp { why },
    }
}

/// Returns the reason for a red command with its output, for the next attempt.
fn told(evidence: Option<&EvidenceRecord>) -> Why {
    let Some(evidence) = evidence else {
        return Reason::CommandRed.into();
    };
    let command = evidence.command.clone().unwrap_or_default();
    let code = evidence.exit_code;
    Why::with(
        Reason::CommandEnded { command, code },
        &evidence.output_tail,
    )
}

impl Work for Develop {
    type Checked = Found;

    fn ready(&mut self) -> Result<Vec<Unit>, Error> {
        let mut run = self.now()?;
        while self.move_on(&run)? {
            run = self.now()?;
        }
        let unit = |task: Task| match task {
            Task::Checkpoint(id) => {
                let one = run.find_checkpoint(&id);
                Unit {
                    round: one.map_or(0, |one| one.iteration),
                    begun: one.is_some_and(|one| one.status == CheckpointStatus::InProgress),
                    id,
                }
            }
            // The state file does not count the tries of these: they have one round, always in
            // progress.
            Task::Design => whole(DevelopPhase::Design.name()),
            Task::Gate(gate) => whole(gate.name()),
            Task::PullRequest => whole("pull-request"),
        };
        let units = self.task(&run)?.map(unit).into_iter();
        Ok(units
            .filter(|unit| !self.given_up.contains_key(&unit.id))
            .collect())
    }

    fn client(&mut self, _: &Unit) -> Result<Client, Error> {
        client(&self.settings, self.options.agent.as_deref(), None)
    }

    fn before(&mut self, unit: &Unit) -> Result<Option<Job<Found>>, Error> {
        match self.task_of(unit)? {
            Task::Gate(gate @ Gate::ArchitectVerified) if self.tried.insert(gate) => {
                Ok(Some(self.try_gate(gate)))
            }
            Task::Checkpoint(id) => match self.planned(&id)?.and_then(|planned| planned.command) {
                Some(_) => Ok(None),
                None => Err(Error::NoValidation { id }),
            },
            Task::Gate(_) | Task::Design | Task::PullRequest => Ok(None),
        }
    }

    fn start(&mut self, unit: &Unit) -> Result<Unit, Error> {
        let changed = self.run.checkpoint_start(&self.context, &unit.id, None)?;
        let one = changed
            .state
            .as_ref()
            .and_then(|run| run.find_checkpoint(&unit.id));
        Ok(Unit {
            id: unit.id.clone(),
            round: one.map_or(1, |one| one.iteration),
            begun: true,
        })
    }

    fn brief(&mut self, unit: &Unit, note: &Note) -> Result<Brief, Error> {
        let (run, task) = (self.now()?, self.task_of(unit)?);
        let contract = self.run.run_contract(&self.context)?;
        let number = run.checkpoints.iter().position(|one| one.id == unit.id);
        Ok(Brief {
            prompt: prompt::prompt(self.run.root(), &run, &task, &contract, note),
            folder: std::path::absolute(self.run.root())
                .unwrap_or_else(|_| self.run.root().to_owned()),
            number: number
                .and_then(|at| u32::try_from(at + 1).ok())
                .unwrap_or(0),
            variables: match task {
                Task::Checkpoint(id) => vec![("BOWLINE_CHECKPOINT", id)],
                Task::Design | Task::Gate(_) | Task::PullRequest => Vec::new(),
            },
            time_ms: None,
        })
    }

    fn ended(&mut self, unit: &Unit, _: &Note, outcome: Outcome) -> Result<After<Found>, Error> {
        let task = self.task_of(unit)?;
        let outcome = match outcome {
            Outcome::Ended(reply) => match failure(reply.result.as_ref()) {
                Some(why) => Outcome::Failed(why),
                None => Outcome::Ended(reply),
            },
            failed @ Outcome::Failed(_) => failed,
        };
        match (task, outcome) {
            (Task::Checkpoint(_), Outcome::Failed(why)) => self.failed_checkpoint(unit, why),
            (Task::Checkpoint(id), Outcome::Ended(_)) => {
                let run = self.now()?;
                let status = run.find_checkpoint(&id).map(|one| one.status);
                // The agent may have moved the checkpoint by itself.
                if status != Some(CheckpointStatus::InProgress) {
                    let why = Reason::EndedItself.into();
                    return Ok(after_attempt(Some(&run), unit, why));
                }
                let (run, context) = (self.run.clone(), self.context.clone());
                Ok(After::Check(Box::new(move || {
                    Keep::of(|keep| run.checkpoint_pass(&context, &id, None, keep))
                })))
            }
            (Task::Design | Task::Gate(_) | Task::PullRequest, Outcome::Failed(why)) => {
                Ok(self.again(unit, why, None))
            }
            (Task::Design, Outcome::Ended(reply)) => self.designed(unit, &reply),
            (Task::Gate(gate), Outcome::Ended(reply)) => self.reviewed(unit, gate, &reply),
            (Task::PullRequest, Outcome::Ended(_)) => {
                self.run.finish_run(&self.context)?;
                Ok(After::Done)
            }
        }
    }

    fn checked(&mut self, unit: &Unit, _: &Note, found: Found) -> Result<After<Found>, Error> {
        let why = told(found.evidence.as_ref());
        match (self.task_of(unit)?, found.result) {
            (Task::Checkpoint(_), Ok(passed)) => {
                Ok(after_attempt(passed.changed.state.as_ref(), unit, why))
            }
            (_, Ok(_)) => Ok(After::Done),
            (_, Err(error)) => match &error {
                Error::Refused(Refused::Develop(Refusal::EvidenceRed { .. }))
                | Error::ChangedWhileRunning { .. } => Ok(self.again(unit, why, Some(error))),
                _ => Err(error),
            },
        }
    }

    fn over(&mut self) -> Result<Over, Error> {
        let run = self.now()?;
        let stopped = |error| Ok(Over::Stopped(Box::new(error)));
        if let Some(error) = self.given_up.values_mut().find_map(Option::take) {
            return stopped(error);
        }
        match run.phase {
            DevelopPhase::Done => Ok(Over::Done),
            DevelopPhase::Implement
                if run.unpassed_checkpoints().is_empty() && !self.options.auto =>
            {
                Ok(Over::Done)
            }
            DevelopPhase::Implement => {
                let waits = |one: &&DevelopCheckpoint| one.status != CheckpointStatus::Passed;
                let id = run.checkpoints.iter().find(waits).map(|one| one.id.clone());
                let start = Command::CheckpointStart {
                    id: id.unwrap_or_default(),
                    override_reason: None,
                    by: Actor::Agent,
                };
                // The rules explain what forbids the start.
                match DevelopMachine::step(&Some(run), start, self.context.now()) {
                    Err(refusal) => stopped(refused(refusal)),
                    Ok(_) => Ok(Over::Done),
                }
            }
            phase @ (DevelopPhase::Design | DevelopPhase::Review | DevelopPhase::Pr) => {
                stopped(refused(Refusal::WrongPhase {
                    what: "work on checkpoints",
                    phase,
                    wanted: DevelopPhase::Implement,
                }))
            }
        }
    }

    fn progress(&mut self) -> (usize, usize) {
        let run = self.now().ok();
        run.map_or((0, 0), |run| {
            let total = run.checkpoints.len();
            (total - run.unpassed_checkpoints().len(), total)
        })
    }
}

fn whole(id: &str) -> Unit {
    Unit {
        id: id.to_owned(),
        round: 1,
        begun: true,
    }
}
