//! Runs thinking stages, each by an agent, judged by its files and by the standards of the project.

mod prompt;

use super::prompts::{number_members, reported_failure, string_list};
use super::{PlannedStart, choose_client, planned_units, runner_parts, settings_at};
use crate::core::attempt_record::{AgentReply, AttemptRecord};
use crate::core::clients::ClientProgram;
use crate::core::failure::FailureReason;
use crate::core::state_file_runner::{
    AttemptBrief, AttemptOutcome, IdleReason, NextStep, StateFileWork, WorkLimits, WorkReport,
    WorkScreen, WorkUnit, run_work,
};
use crate::core::stop_handle::StopHandle;
use bowline_engine::operations::thinking::{
    Refusal, StageStatus, ThinkingRun, ThinkingRunState, ThinkingSheet, ThinkingStage,
};
use bowline_engine::{Context, Error, MachineRefusal as Refused};
use bowline_formats::settings::{BowlineSettings, Seconds};
use bowline_words::Lang;
use bowline_words::message::Reason;

/// Time that a stage may take, unless the settings say otherwise.
const STAGE_TIMEOUT: Seconds = Seconds(60 * 60);

/// Options of a thinking run.
#[derive(Debug, Clone, Default)]
pub struct ThinkingOptions {
    /// Name of the agent for all stages.
    pub agent: Option<String>,
    /// Runs only this stage; all if none.
    pub stage: Option<ThinkingStage>,
}

/// Runs agents on the stages of a thinking task.
pub fn run(
    context: &Context,
    run: &ThinkingRun,
    options: &ThinkingOptions,
    screen: &mut dyn WorkScreen,
    begun: impl FnOnce(StopHandle),
) -> Result<WorkReport, Error> {
    let thinking = ThinkingWork::new(context, run, options)?;
    let sheet = run.read_sheet(context)?;
    let created = run.file().read_view(context)?.document.value()["created_at"].to_string();
    let names = (format!("{} {created}", sheet.task_id), sheet.task_id);
    let rules = WorkLimits {
        parallel: 1,
        starts_max: None,
    };
    let parts = runner_parts(
        context,
        run.file(),
        names,
        &thinking.settings,
        rules,
        screen,
    )?;
    run_work(parts, thinking, begun)
}

/// Returns the unit that a run would start now, if any. Changes nothing.
pub fn planned_starts(
    context: &Context,
    run: &ThinkingRun,
    options: &ThinkingOptions,
) -> Result<Vec<PlannedStart>, Error> {
    planned_units(ThinkingWork::new(context, run, options)?, 1)
}

struct ThinkingWork {
    context: Context,
    run: ThinkingRun,
    options: ThinkingOptions,
    settings: BowlineSettings,
}

impl ThinkingWork {
    fn new(
        context: &Context,
        run: &ThinkingRun,
        options: &ThinkingOptions,
    ) -> Result<ThinkingWork, Error> {
        let settings = settings_at(run.folder())?;
        // An unknown agent is refused before anything is started.
        choose_client(&settings, options.agent.as_deref(), None)?;
        Ok(ThinkingWork {
            context: context.clone(),
            run: run.clone(),
            options: options.clone(),
            settings,
        })
    }

    fn read_sheet(&self) -> Result<ThinkingSheet, Error> {
        self.run.read_sheet(&self.context)
    }

    /// Returns the stage to work on: the one asked for, else the first that is not completed.
    fn next_stage(&self, run: &ThinkingRunState) -> Option<ThinkingStage> {
        let open = |stage: &ThinkingStage| run.stage(*stage).status != StageStatus::Completed;
        match self.options.stage {
            Some(stage) => Some(stage).filter(open),
            None => ThinkingStage::ALL.into_iter().find(open),
        }
    }

    fn fail_stage(
        &self,
        stage: ThinkingStage,
        code: &str,
        why: FailureReason,
    ) -> Result<NextStep<()>, Error> {
        let message = why.render_line(Lang::En);
        let changed = self.run.fail_stage(&self.context, stage, code, &message)?;
        Ok(step_after_failure(
            &changed.state,
            stage,
            why.with_code(code),
        ))
    }

    fn judge_reply(&self, stage: ThinkingStage, reply: &AgentReply) -> Result<NextStep<()>, Error> {
        let sheet = self.read_sheet()?;
        // The agent may have moved the stage by itself.
        match sheet.run.stage(stage).status {
            StageStatus::Completed => return Ok(NextStep::Done),
            StageStatus::Failed => {
                let error = sheet.run.stage(stage).error.as_ref();
                let why = error
                    .map(|error| FailureReason::from_text(&error.message).with_code(&error.code));
                let why = why.unwrap_or_else(|| Reason::Nothing.into());
                return Ok(step_after_failure(&sheet.run, stage, why));
            }
            StageStatus::Pending | StageStatus::InProgress => {}
        }
        let result = reply.result.as_ref();
        if let Some(why) = reported_failure(result) {
            return self.fail_stage(stage, "agent_failed", why);
        }
        let part = |name: &str| result.and_then(|result| result.get(name));
        let mut outputs = string_list(part("outputs"));
        for path in self.run.files_of(stage) {
            if !outputs.contains(&path) {
                outputs.push(path);
            }
        }
        match self.record_result(stage, &outputs, part("scores"), part("metrics")) {
            Ok(()) => Ok(NextStep::Done),
            Err(error) => match &error {
                Error::Refused(Refused::Thinking(Refusal::BelowThreshold { .. })) => {
                    self.fail_stage(stage, "quality_check_failed", FailureReason::from(&error))
                }
                Error::Refused(Refused::Thinking(
                    Refusal::OutputsMissing { .. }
                    | Refusal::NoOutput { .. }
                    | Refusal::PathEscapes { .. }
                    | Refusal::OutOfRange { .. }
                    | Refusal::UnknownName { .. },
                ))
                | Error::BadInput { .. } => {
                    self.fail_stage(stage, error.code(), FailureReason::from(&error))
                }
                _ => Err(error),
            },
        }
    }

    fn record_result(
        &self,
        stage: ThinkingStage,
        outputs: &[String],
        scores: Option<&serde_json::Value>,
        metrics: Option<&serde_json::Value>,
    ) -> Result<(), Error> {
        let (scores, metrics) = (number_members(scores), number_members(metrics));
        if !scores.is_empty() {
            self.run.evaluate_work(&self.context, &scores)?;
        }
        // Before the end of the stage: its standards may be about the metrics.
        if !metrics.is_empty() {
            self.run.record_metrics(&self.context, &metrics)?;
        }
        self.run.complete_stage(&self.context, stage, outputs)?;
        Ok(())
    }
}

fn step_after_failure(
    run: &ThinkingRunState,
    stage: ThinkingStage,
    why: FailureReason,
) -> NextStep<()> {
    match run.stage(stage).is_exhausted() {
        true => NextStep::GaveUp { why },
        false => NextStep::Retry { wait_ms: 0, why },
    }
}

fn stage_unit(run: &ThinkingRunState, stage: ThinkingStage) -> WorkUnit {
    let state = run.stage(stage);
    WorkUnit {
        id: stage.name().to_owned(),
        round: state.retry_count,
        in_progress: state.status == StageStatus::InProgress,
    }
}

fn unit_stage(unit: &WorkUnit) -> Result<ThinkingStage, Error> {
    ThinkingStage::from_name(&unit.id).ok_or(Error::RunChanged)
}

impl StateFileWork for ThinkingWork {
    type Checked = ();

    fn ready_units(&mut self) -> Result<Vec<WorkUnit>, Error> {
        let run = self.read_sheet()?.run;
        let stage = self.next_stage(&run);
        let open = stage.filter(|stage| !run.stage(*stage).is_exhausted());
        Ok(open
            .map(|stage| stage_unit(&run, stage))
            .into_iter()
            .collect())
    }

    fn unit_client(&mut self, _: &WorkUnit) -> Result<ClientProgram, Error> {
        choose_client(&self.settings, self.options.agent.as_deref(), None)
    }

    fn start_unit(&mut self, unit: &WorkUnit) -> Result<WorkUnit, Error> {
        let stage = unit_stage(unit)?;
        let changed = self.run.start_stage(&self.context, stage, None)?;
        Ok(self::stage_unit(&changed.state, stage))
    }

    fn attempt_brief(
        &mut self,
        unit: &WorkUnit,
        note: &AttemptRecord,
    ) -> Result<AttemptBrief, Error> {
        let stage = unit_stage(unit)?;
        let sheet = self.read_sheet()?;
        let timeout = self.settings.thinking.stage_timeout;
        Ok(AttemptBrief {
            prompt: prompt::build_prompt(&self.run, &sheet, stage, note)?,
            folder: std::path::absolute(self.run.folder())
                .unwrap_or_else(|_| self.run.folder().to_owned()),
            number: u32::try_from(stage.index() + 1).unwrap_or(1),
            variables: vec![("BOWLINE_STAGE", stage.name().to_owned())],
            time_ms: Some(timeout.unwrap_or(STAGE_TIMEOUT).as_ms()),
        })
    }

    fn judge_attempt(
        &mut self,
        unit: &WorkUnit,
        _: &AttemptRecord,
        outcome: AttemptOutcome,
    ) -> Result<NextStep<()>, Error> {
        let stage = unit_stage(unit)?;
        match outcome {
            AttemptOutcome::Ended(reply) => self.judge_reply(stage, &reply),
            AttemptOutcome::Failed(why) => {
                let code = match why.reason {
                    Reason::Lost => "agent_lost",
                    Reason::NotBegun | Reason::NotRun { .. } => "agent_not_started",
                    Reason::Silent { .. } => "no_output",
                    Reason::TooLong { .. } => "timeout",
                    Reason::Breaker { .. } => "breaker",
                    _ => "agent_failed",
                };
                self.fail_stage(stage, code, why)
            }
        }
    }

    fn apply_check(
        &mut self,
        _: &WorkUnit,
        _: &AttemptRecord,
        (): (),
    ) -> Result<NextStep<()>, Error> {
        Ok(NextStep::Done)
    }

    fn idle_reason(&mut self) -> Result<IdleReason, Error> {
        let run = self.read_sheet()?.run;
        let Some(stage) = self.next_stage(&run) else {
            return Ok(IdleReason::Done);
        };
        let refusal = Refused::Thinking(Refusal::RetriesExhausted { stage });
        Ok(IdleReason::Stopped(Box::new(Error::Refused(refusal))))
    }

    fn done_and_total(&mut self) -> (usize, usize) {
        let run = self.read_sheet().map(|sheet| sheet.run).unwrap_or_default();
        let done = |stage: &ThinkingStage| run.stage(*stage).status == StageStatus::Completed;
        (
            ThinkingStage::ALL.into_iter().filter(done).count(),
            ThinkingStage::ALL.len(),
        )
    }
}
