//! Runs thinking stages, each by an agent, judged by its files and by the standards of the project.

mod prompt;

use super::prompts::{failure, numbers, texts};
use super::{Would, client, parts, settings_at, would_start};
use crate::core::clients::Client;
use crate::core::crew::{
    After, Brief, Outcome, Over, Report, Rules, Screen, Unit, Work, run as crew,
};
use crate::core::note::{Note, Reply};
use crate::core::stopper::Stopper;
use crate::core::why::Why;
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
pub struct Options {
    /// Name of the agent for all stages.
    pub agent: Option<String>,
    /// Runs only this stage; all if none.
    pub stage: Option<ThinkingStage>,
}

/// Runs agents on the stages of a thinking task.
pub fn run(
    context: &Context,
    run: &ThinkingRun,
    options: &Options,
    screen: &mut dyn Screen,
    begun: impl FnOnce(Stopper),
) -> Result<Report, Error> {
    let thinking = Thinking::new(context, run, options)?;
    let sheet = run.read_sheet(context)?;
    let created = run.file().read_view(context)?.document.value()["created_at"].to_string();
    let names = (format!("{} {created}", sheet.task_id), sheet.task_id);
    let rules = Rules {
        parallel: 1,
        starts_max: None,
    };
    let parts = parts(
        context,
        run.file(),
        names,
        &thinking.settings,
        rules,
        screen,
    )?;
    crew(parts, thinking, begun)
}

/// Returns the units that a run would start.
pub fn rehearse(
    context: &Context,
    run: &ThinkingRun,
    options: &Options,
) -> Result<Vec<Would>, Error> {
    would_start(Thinking::new(context, run, options)?, 1)
}

struct Thinking {
    context: Context,
    run: ThinkingRun,
    options: Options,
    settings: BowlineSettings,
}

impl Thinking {
    fn new(context: &Context, run: &ThinkingRun, options: &Options) -> Result<Thinking, Error> {
        let settings = settings_at(run.folder())?;
        // An unknown agent is refused before anything is started.
        client(&settings, options.agent.as_deref(), None)?;
        Ok(Thinking {
            context: context.clone(),
            run: run.clone(),
            options: options.clone(),
            settings,
        })
    }

    fn sheet(&self) -> Result<ThinkingSheet, Error> {
        self.run.read_sheet(&self.context)
    }

    /// Returns the stage to work on: the one asked for, else the first that is not completed.
    fn stage(&self, run: &ThinkingRunState) -> Option<ThinkingStage> {
        let open = |stage: &ThinkingStage| run.stage(*stage).status != StageStatus::Completed;
        match self.options.stage {
            Some(stage) => Some(stage).filter(open),
            None => ThinkingStage::ALL.into_iter().find(open),
        }
    }

    fn fail(&self, stage: ThinkingStage, code: &str, why: Why) -> Result<After<()>, Error> {
        let message = why.line(Lang::En);
        let changed = self.run.fail_stage(&self.context, stage, code, &message)?;
        Ok(after_failure(&changed.state, stage, why.coded(code)))
    }

    fn judge(&self, stage: ThinkingStage, reply: &Reply) -> Result<After<()>, Error> {
        let sheet = self.sheet()?;
        // The agent may have moved the stage by itself.
        match sheet.run.stage(stage).status {
            StageStatus::Completed => return Ok(After::Done),
            StageStatus::Failed => {
                let error = sheet.run.stage(stage).error.as_ref();
                let why = error.map(|error| Why::said(&error.message).coded(&error.code));
                let why = why.unwrap_or_else(|| Reason::Nothing.into());
                return Ok(after_failure(&sheet.run, stage, why));
            }
            StageStatus::Pending | StageStatus::InProgress => {}
        }
        let result = reply.result.as_ref();
        if let Some(why) = failure(result) {
            return self.fail(stage, "agent_failed", why);
        }
        let part = |name: &str| result.and_then(|result| result.get(name));
        let mut outputs = texts(part("outputs"));
        for path in self.run.files_of(stage) {
            if !outputs.contains(&path) {
                outputs.push(path);
            }
        }
        match self.record(stage, &outputs, part("scores"), part("metrics")) {
            Ok(()) => Ok(After::Done),
            Err(error) => match &error {
                Error::Refused(Refused::Thinking(Refusal::BelowThreshold { .. })) => {
                    self.fail(stage, "quality_check_failed", Why::from(&error))
                }
                Error::Refused(Refused::Thinking(
                    Refusal::OutputsMissing { .. }
                    | Refusal::NoOutput { .. }
                    | Refusal::PathEscapes { .. }
                    | Refusal::OutOfRange { .. }
                    | Refusal::UnknownName { .. },
                ))
                | Error::BadInput { .. } => self.fail(stage, error.code(), Why::from(&error)),
                _ => Err(error),
            },
        }
    }

    fn record(
        &self,
        stage: ThinkingStage,
        outputs: &[String],
        scores: Option<&serde_json::Value>,
        metrics: Option<&serde_json::Value>,
    ) -> Result<(), Error> {
        let (scores, metrics) = (numbers(scores), numbers(metrics));
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

fn after_failure(run: &ThinkingRunState, stage: ThinkingStage, why: Why) -> After<()> {
    match run.stage(stage).is_exhausted() {
        true => After::GaveUp { why },
        false => After::Again { wait_ms: 0, why },
    }
}

fn unit(run: &ThinkingRunState, stage: ThinkingStage) -> Unit {
    let state = run.stage(stage);
    Unit {
        id: stage.name().to_owned(),
        round: state.retry_count,
        begun: state.status == StageStatus::InProgress,
    }
}

fn stage_of(unit: &Unit) -> Result<ThinkingStage, Error> {
    ThinkingStage::from_name(&unit.id).ok_or(Error::RunChanged)
}

impl Work for Thinking {
    type Checked = ();

    fn ready(&mut self) -> Result<Vec<Unit>, Error> {
        let run = self.sheet()?.run;
        let stage = self.stage(&run);
        let open = stage.filter(|stage| !run.stage(*stage).is_exhausted());
        Ok(open.map(|stage| unit(&run, stage)).into_iter().collect())
    }

    fn client(&mut self, _: &Unit) -> Result<Client, Error> {
        client(&self.settings, self.options.agent.as_deref(), None)
    }

    fn start(&mut self, unit: &Unit) -> Result<Unit, Error> {
        let stage = stage_of(unit)?;
        let changed = self.run.start_stage(&self.context, stage, None)?;
        Ok(self::unit(&changed.state, stage))
    }

    fn brief(&mut self, unit: &Unit, note: &Note) -> Result<Brief, Error> {
        let stage = stage_of(unit)?;
        let sheet = self.sheet()?;
        let timeout = self.settings.thinking.stage_timeout;
        Ok(Brief {
            prompt: prompt::prompt(&self.run, &sheet, stage, note)?,
            folder: std::path::absolute(self.run.folder())
                .unwrap_or_else(|_| self.run.folder().to_owned()),
            number: u32::try_from(stage.index() + 1).unwrap_or(1),
            variables: vec![("BOWLINE_STAGE", stage.name().to_owned())],
            time_ms: Some(timeout.unwrap_or(STAGE_TIMEOUT).as_ms()),
        })
    }

    fn ended(&mut self, unit: &Unit, _: &Note, outcome: Outcome) -> Result<After<()>, Error> {
        let stage = stage_of(unit)?;
        match outcome {
            Outcome::Ended(reply) => self.judge(stage, &reply),
            Outcome::Failed(why) => {
                let code = match why.reason {
                    Reason::Lost => "agent_lost",
                    Reason::NotBegun | Reason::NotRun { .. } => "agent_not_started",
                    Reason::Silent { .. } => "no_output",
                    Reason::TooLong { .. } => "timeout",
                    Reason::Breaker { .. } => "breaker",
                    _ => "agent_failed",
                };
                self.fail(stage, code, why)
            }
        }
    }

    fn checked(&mut self, _: &Unit, _: &Note, (): ()) -> Result<After<()>, Error> {
        Ok(After::Done)
    }

    fn over(&mut self) -> Result<Over, Error> {
        let run = self.sheet()?.run;
        let Some(stage) = self.stage(&run) else {
            return Ok(Over::Done);
        };
        let refusal = Refused::Thinking(Refusal::RetriesExhausted { stage });
        Ok(Over::Stopped(Box::new(Error::Refused(refusal))))
    }

    fn progress(&mut self) -> (usize, usize) {
        let run = self.sheet().map(|sheet| sheet.run).unwrap_or_default();
        let done = |stage: &ThinkingStage| run.stage(*stage).status == StageStatus::Completed;
        (
            ThinkingStage::ALL.into_iter().filter(done).count(),
            ThinkingStage::ALL.len(),
        )
    }
}
