//! Runs develop checkpoints one after the other, each until its command is green or a person is
//! asked. With `auto`, also the phases around them, as far as the sealed commands of the gates
//! allow.
//!
//! Everything here has the rights of an agent: no gate is opened by a claim alone, and none is
//! reopened.

mod prompt;

use super::prompts::{reported_failure, string_list};
use super::{PlannedStart, choose_client, planned_units, runner_parts, settings_at};
use crate::core::attempt_record::{AgentReply, AttemptRecord};
use crate::core::clients::ClientProgram;
use crate::core::failure::FailureReason;
use crate::core::state_file_runner::{
    AttemptBrief, AttemptOutcome, CheckJob, IdleReason, NextStep, StateFileWork, WorkLimits,
    WorkReport, WorkScreen, WorkUnit, run_work,
};
use crate::core::stop_handle::StopHandle;
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
const DESIGN_PATH: &str = "docs/design.md";

/// Options of a develop run.
#[derive(Debug, Clone, Default)]
pub struct DevelopOptions {
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
    options: &DevelopOptions,
    screen: &mut dyn WorkScreen,
    begun: impl FnOnce(StopHandle),
) -> Result<WorkReport, Error> {
    let develop = DevelopWork::new(context, run, options)?;
    let feature = develop.current_run()?.feature;
    let names = (run.run_key(context)?, feature);
    let rules = WorkLimits {
        parallel: 1,
        starts_max: options.iterations,
    };
    let parts = runner_parts(context, run.file(), names, &develop.settings, rules, screen)?;
    run_work(parts, develop, begun)
}

/// Returns the units that a run would start.
pub fn planned_starts(
    context: &Context,
    run: &DevelopRun,
    options: &DevelopOptions,
) -> Result<Vec<PlannedStart>, Error> {
    let develop = DevelopWork::new(context, run, options)?;
    develop.current_run()?;
    planned_units(develop, 1)
}

/// Kind of work that an agent is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DevelopTask {
    Design,
    Checkpoint(String),
    Gate(Gate),
    PullRequest,
}

/// Result of a gate's or checkpoint's command.
pub(super) struct CommandCheck {
    result: Result<PassOutcome, Error>,
    evidence: Option<EvidenceRecord>,
}

/// Keeps the last evidence: a refusal does not contain the command's output.
#[derive(Default)]
struct EvidenceKeeper(Mutex<Option<EvidenceRecord>>);

impl CommandObserver for EvidenceKeeper {
    fn on_started(&self, _: &str) {}
    fn on_tick(&self, _: &str, _: Duration) {}
    fn on_ended(&self, evidence: &EvidenceRecord) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(evidence.clone());
    }
}

impl EvidenceKeeper {
    fn run_keeping_evidence(
        pass: impl FnOnce(&EvidenceKeeper) -> Result<PassOutcome, Error>,
    ) -> CommandCheck {
        let keep = EvidenceKeeper::default();
        let result = pass(&keep);
        let evidence = keep.0.into_inner();
        CommandCheck {
            result,
            evidence: evidence.unwrap_or_else(PoisonError::into_inner),
        }
    }
}

struct DevelopWork {
    context: Context,
    run: DevelopRun,
    options: DevelopOptions,
    settings: BowlineSettings,
    tries: BTreeMap<String, u32>,
    /// Units that only others can continue, with the error to report.
    given_up: BTreeMap<String, Option<Error>>,
    /// Gates whose command ran once before any agent was asked to repair something.
    tried: BTreeSet<Gate>,
}

impl DevelopWork {
    fn new(
        context: &Context,
        run: &DevelopRun,
        options: &DevelopOptions,
    ) -> Result<DevelopWork, Error> {
        let settings = settings_at(run.root())?;
        // An unknown agent is refused before anything is started.
        choose_client(&settings, options.agent.as_deref(), None)?;
        Ok(DevelopWork {
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

    fn current_run(&self) -> Result<DevelopRunState, Error> {
        let run = self.run.read_run(&self.context)?;
        run.ok_or_else(|| refusal_error(Refusal::NoRun))
    }

    /// Returns the work for the present phase.
    fn next_task(&self, run: &DevelopRunState) -> Result<Option<DevelopTask>, Error> {
        let auto = self.options.auto;
        Ok(match run.phase {
            DevelopPhase::Design if auto => Some(DevelopTask::Design),
            DevelopPhase::Review if auto => Some(DevelopTask::Gate(Gate::ReviewCleanPass)),
            DevelopPhase::Implement => match self.next_checkpoint(run)? {
                Some(one) => Some(DevelopTask::Checkpoint(one.id.clone())),
                None if auto && run.unpassed_checkpoints().is_empty() => {
                    Some(DevelopTask::Gate(Gate::ArchitectVerified))
                }
                None => None,
            },
            DevelopPhase::Pr if auto && run.gates.is_open(Gate::ReReviewClean) => {
                Some(DevelopTask::PullRequest)
            }
            DevelopPhase::Pr if auto => Some(DevelopTask::Gate(Gate::ReReviewClean)),
            DevelopPhase::Design | DevelopPhase::Review | DevelopPhase::Pr | DevelopPhase::Done => {
                None
            }
        })
    }

    /// Returns the checkpoint to work on: the one in progress, else the first whose dependencies
    /// have passed. One that waits for a person holds up only those that depend on it.
    fn next_checkpoint<'r>(
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

    fn planned_checkpoint(&self, id: &str) -> Result<Option<PlannedCheckpoint>, Error> {
        let contract = self.run.run_contract(&self.context)?;
        Ok(contract.into_iter().find(|planned| planned.id == id))
    }

    /// Moves to the next phase if its gate is open, which needs no agent. True if it moved.
    fn advance_phase(&self, run: &DevelopRunState) -> Result<bool, Error> {
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

    fn unit_task(&self, unit: &WorkUnit) -> Result<DevelopTask, Error> {
        let run = self.current_run()?;
        if run.find_checkpoint(&unit.id).is_some() {
            return Ok(DevelopTask::Checkpoint(unit.id.clone()));
        }
        Ok(match Gate::from_name(&unit.id) {
            Some(gate) => DevelopTask::Gate(gate),
            None if unit.id == DevelopPhase::Design.name() => DevelopTask::Design,
            None => DevelopTask::PullRequest,
        })
    }

    /// Retries work that is no checkpoint, or gives it up after [`TRIES_MAX`] failures.
    fn retry_or_give_up(
        &mut self,
        unit: &WorkUnit,
        why: FailureReason,
        error: Option<Error>,
    ) -> NextStep<CommandCheck> {
        let tries = self.tries.entry(unit.id.clone()).or_default();
        *tries += 1;
        match *tries >= TRIES_MAX {
            true => {
                self.given_up.insert(unit.id.clone(), error);
                NextStep::GaveUp { why }
            }
            false => NextStep::Retry { wait_ms: 0, why },
        }
    }

    fn gate_check(&self, gate: Gate) -> CheckJob<CommandCheck> {
        let (run, context) = (self.run.clone(), self.context.clone());
        Box::new(move || {
            EvidenceKeeper::run_keeping_evidence(|keep| {
                run.gate_pass(&context, gate, GateProof::default(), keep)
            })
        })
    }

    fn fail_checkpoint(
        &mut self,
        unit: &WorkUnit,
        why: FailureReason,
    ) -> Result<NextStep<CommandCheck>, Error> {
        // An agent may name the kind of failure: `FAIL:cp-1:DESIGN_MISMATCH: no such table`.
        let word = why
            .untranslated_text()
            .split([':', ' '])
            .next()
            .unwrap_or_default();
        let class = FailureClass::from_name(word).unwrap_or(FailureClass::NotImplemented);
        let changed = self.run.checkpoint_fail(&self.context, &unit.id, class)?;
        Ok(step_after_attempt(changed.state.as_ref(), unit, why))
    }

    fn adopt_design(
        &mut self,
        unit: &WorkUnit,
        reply: &AgentReply,
    ) -> Result<NextStep<CommandCheck>, Error> {
        let path = result_part(reply, "contract")
            .and_then(Value::as_str)
            .unwrap_or(DESIGN_PATH);
        match self.adopt_contract(path) {
            Ok(()) => Ok(NextStep::Done),
            Err(error @ (Error::BadInput { .. } | Error::NoValidation { .. })) => {
                Ok(self.retry_or_give_up(unit, FailureReason::from(&error), Some(error)))
            }
            Err(error) => Err(error),
        }
    }

    /// Adopts a contract. It is refused if a checkpoint has no command, which would stop the run
    /// later.
    fn adopt_contract(&self, path: &str) -> Result<(), Error> {
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

    fn judge_review(
        &mut self,
        unit: &WorkUnit,
        gate: Gate,
        reply: &AgentReply,
    ) -> Result<NextStep<CommandCheck>, Error> {
        if let (Gate::ReviewCleanPass, Some(path)) =
            (gate, result_part(reply, "contract").and_then(Value::as_str))
        {
            match self.adopt_contract(path) {
                Ok(()) => {}
                Err(error @ (Error::BadInput { .. } | Error::NoValidation { .. })) => {
                    return Ok(self.retry_or_give_up(
                        unit,
                        FailureReason::from(&error),
                        Some(error),
                    ));
                }
                Err(error) => return Err(error),
            }
        }
        let blocking = result_part(reply, "blocking")
            .and_then(Value::as_u64)
            .unwrap_or(0);
        if blocking > 0 {
            let issues = string_list(result_part(reply, "issues")).join("\n");
            let why = FailureReason::with_detail(Reason::Blocking { count: blocking }, &issues);
            return Ok(self.retry_or_give_up(unit, why, None));
        }
        Ok(NextStep::Check(self.gate_check(gate)))
    }
}

fn refusal_error(refusal: Refusal) -> Error {
    Error::Refused(refusal.into())
}

fn result_part<'r>(reply: &'r AgentReply, name: &str) -> Option<&'r Value> {
    reply.result.as_ref().and_then(|result| result.get(name))
}

fn step_after_attempt(
    run: Option<&DevelopRunState>,
    unit: &WorkUnit,
    why: FailureReason,
) -> NextStep<CommandCheck> {
    let status = run
        .and_then(|run| run.find_checkpoint(&unit.id))
        .map(|one| one.status);
    match status {
        Some(CheckpointStatus::Passed) => NextStep::Done,
        Some(CheckpointStatus::InProgress) => NextStep::Retry { wait_ms: 0, why },
        Some(
            CheckpointStatus::Pending | CheckpointStatus::Escalated | CheckpointStatus::Failed,
        )
        | None => NextStep::GaveUp { why },
    }
}

/// Returns the reason for a red command with its output, for the next attempt.
fn command_failure(evidence: Option<&EvidenceRecord>) -> FailureReason {
    let Some(evidence) = evidence else {
        return Reason::CommandRed.into();
    };
    let command = evidence.command.clone().unwrap_or_default();
    let code = evidence.exit_code;
    FailureReason::with_detail(
        Reason::CommandEnded { command, code },
        &evidence.output_tail,
    )
}

impl StateFileWork for DevelopWork {
    type Checked = CommandCheck;

    fn ready_units(&mut self) -> Result<Vec<WorkUnit>, Error> {
        let mut run = self.current_run()?;
        while self.advance_phase(&run)? {
            run = self.current_run()?;
        }
        let unit = |task: DevelopTask| match task {
            DevelopTask::Checkpoint(id) => {
                let one = run.find_checkpoint(&id);
                WorkUnit {
                    round: one.map_or(0, |one| one.iteration),
                    in_progress: one.is_some_and(|one| one.status == CheckpointStatus::InProgress),
                    id,
                }
            }
            // The state file does not count the tries of these: they have one round, always in
            // progress.
            DevelopTask::Design => uncounted_unit(DevelopPhase::Design.name()),
            DevelopTask::Gate(gate) => uncounted_unit(gate.name()),
            DevelopTask::PullRequest => uncounted_unit("pull-request"),
        };
        let units = self.next_task(&run)?.map(unit).into_iter();
        Ok(units
            .filter(|unit| !self.given_up.contains_key(&unit.id))
            .collect())
    }

    fn unit_client(&mut self, _: &WorkUnit) -> Result<ClientProgram, Error> {
        choose_client(&self.settings, self.options.agent.as_deref(), None)
    }

    fn check_before_start(
        &mut self,
        unit: &WorkUnit,
    ) -> Result<Option<CheckJob<CommandCheck>>, Error> {
        match self.unit_task(unit)? {
            DevelopTask::Gate(gate @ Gate::ArchitectVerified) if self.tried.insert(gate) => {
                Ok(Some(self.gate_check(gate)))
            }
            DevelopTask::Checkpoint(id) => match self
                .planned_checkpoint(&id)?
                .and_then(|planned| planned.command)
            {
                Some(_) => Ok(None),
                None => Err(Error::NoValidation { id }),
            },
            DevelopTask::Gate(_) | DevelopTask::Design | DevelopTask::PullRequest => Ok(None),
        }
    }

    fn start_unit(&mut self, unit: &WorkUnit) -> Result<WorkUnit, Error> {
        let changed = self.run.checkpoint_start(&self.context, &unit.id, None)?;
        let one = changed
            .state
            .as_ref()
            .and_then(|run| run.find_checkpoint(&unit.id));
        Ok(WorkUnit {
            id: unit.id.clone(),
            round: one.map_or(1, |one| one.iteration),
            in_progress: true,
        })
    }

    fn attempt_brief(
        &mut self,
        unit: &WorkUnit,
        note: &AttemptRecord,
    ) -> Result<AttemptBrief, Error> {
        let (run, task) = (self.current_run()?, self.unit_task(unit)?);
        let contract = self.run.run_contract(&self.context)?;
        let number = run.checkpoints.iter().position(|one| one.id == unit.id);
        Ok(AttemptBrief {
            prompt: prompt::build_prompt(self.run.root(), &run, &task, &contract, note),
            folder: std::path::absolute(self.run.root())
                .unwrap_or_else(|_| self.run.root().to_owned()),
            number: number
                .and_then(|at| u32::try_from(at + 1).ok())
                .unwrap_or(0),
            variables: match task {
                DevelopTask::Checkpoint(id) => vec![("BOWLINE_CHECKPOINT", id)],
                DevelopTask::Design | DevelopTask::Gate(_) | DevelopTask::PullRequest => Vec::new(),
            },
            time_ms: None,
        })
    }

    fn judge_attempt(
        &mut self,
        unit: &WorkUnit,
        _: &AttemptRecord,
        outcome: AttemptOutcome,
    ) -> Result<NextStep<CommandCheck>, Error> {
        let task = self.unit_task(unit)?;
        let outcome = match outcome {
            AttemptOutcome::Ended(reply) => match reported_failure(reply.result.as_ref()) {
                Some(why) => AttemptOutcome::Failed(why),
                None => AttemptOutcome::Ended(reply),
            },
            failed @ AttemptOutcome::Failed(_) => failed,
        };
        match (task, outcome) {
            (DevelopTask::Checkpoint(_), AttemptOutcome::Failed(why)) => {
                self.fail_checkpoint(unit, why)
            }
            (DevelopTask::Checkpoint(id), AttemptOutcome::Ended(_)) => {
                let run = self.current_run()?;
                let status = run.find_checkpoint(&id).map(|one| one.status);
                // The agent may have moved the checkpoint by itself.
                if status != Some(CheckpointStatus::InProgress) {
                    let why = Reason::EndedItself.into();
                    return Ok(step_after_attempt(Some(&run), unit, why));
                }
                let (run, context) = (self.run.clone(), self.context.clone());
                Ok(NextStep::Check(Box::new(move || {
                    EvidenceKeeper::run_keeping_evidence(|keep| {
                        run.checkpoint_pass(&context, &id, None, keep)
                    })
                })))
            }
            (
                DevelopTask::Design | DevelopTask::Gate(_) | DevelopTask::PullRequest,
                AttemptOutcome::Failed(why),
            ) => Ok(self.retry_or_give_up(unit, why, None)),
            (DevelopTask::Design, AttemptOutcome::Ended(reply)) => self.adopt_design(unit, &reply),
            (DevelopTask::Gate(gate), AttemptOutcome::Ended(reply)) => {
                self.judge_review(unit, gate, &reply)
            }
            (DevelopTask::PullRequest, AttemptOutcome::Ended(_)) => {
                self.run.finish_run(&self.context)?;
                Ok(NextStep::Done)
            }
        }
    }

    fn apply_check(
        &mut self,
        unit: &WorkUnit,
        _: &AttemptRecord,
        found: CommandCheck,
    ) -> Result<NextStep<CommandCheck>, Error> {
        let why = command_failure(found.evidence.as_ref());
        match (self.unit_task(unit)?, found.result) {
            (DevelopTask::Checkpoint(_), Ok(passed)) => {
                Ok(step_after_attempt(passed.changed.state.as_ref(), unit, why))
            }
            (_, Ok(_)) => Ok(NextStep::Done),
            (_, Err(error)) => match &error {
                Error::Refused(Refused::Develop(Refusal::EvidenceRed { .. }))
                | Error::ChangedWhileRunning { .. } => {
                    Ok(self.retry_or_give_up(unit, why, Some(error)))
                }
                _ => Err(error),
            },
        }
    }

    fn idle_reason(&mut self) -> Result<IdleReason, Error> {
        let run = self.current_run()?;
        let stopped = |error| Ok(IdleReason::Stopped(Box::new(error)));
        if let Some(error) = self.given_up.values_mut().find_map(Option::take) {
            return stopped(error);
        }
        match run.phase {
            DevelopPhase::Done => Ok(IdleReason::Done),
            DevelopPhase::Implement
                if run.unpassed_checkpoints().is_empty() && !self.options.auto =>
            {
                Ok(IdleReason::Done)
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
                    Err(refusal) => stopped(refusal_error(refusal)),
                    Ok(_) => Ok(IdleReason::Done),
                }
            }
            phase @ (DevelopPhase::Design | DevelopPhase::Review | DevelopPhase::Pr) => {
                stopped(refusal_error(Refusal::WrongPhase {
                    what: "work on checkpoints",
                    phase,
                    wanted: DevelopPhase::Implement,
                }))
            }
        }
    }

    fn done_and_total(&mut self) -> (usize, usize) {
        let run = self.current_run().ok();
        run.map_or((0, 0), |run| {
            let total = run.checkpoints.len();
            (total - run.unpassed_checkpoints().len(), total)
        })
    }
}

fn uncounted_unit(id: &str) -> WorkUnit {
    WorkUnit {
        id: id.to_owned(),
        round: 1,
        in_progress: true,
    }
}
