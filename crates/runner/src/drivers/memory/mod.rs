//! Runs the current task of a memory: its steps in the order of their dependencies, several at
//! once, each by the agent it names.

mod prompt;

use super::prompts::{reported_failure, string_list};
use super::{PlannedStart, choose_client, planned_units, runner_parts, settings_at};
use crate::core::attempt_record::{AgentReply, AttemptRecord};
use crate::core::clients::ClientProgram;
use crate::core::failure::FailureReason;
use crate::core::state_file_runner::{
    AttemptBrief, AttemptOutcome, IdleReason, NextStep, StateFileWork, WorkLimits, WorkReport,
    WorkScreen, WorkUnit, run_work,
};
use crate::core::stop_handle::StopHandle;
use crate::core::text::last_chars;
use bowline_engine::kinds::MEMORY_FOLDER;
use bowline_engine::machines::Machine as _;
use bowline_engine::machines::plan::{Command, PlanMachine, RETRY_BASE_SECONDS, Refusal};
use bowline_engine::operations::memory::{
    ActiveTask, FailureKind, MemoryFolder, PlanStep, PlanTaskStatus, StepStatus, TRIES_MAX,
    TaskArtifact,
};
use bowline_engine::{Context, Error, MachineRefusal as Refused};
use bowline_formats::settings::BowlineSettings;
use bowline_words::Lang;
use bowline_words::message::Reason;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Steps run at once, unless the options say otherwise.
pub const DEFAULT_PARALLEL: usize = 4;
/// Characters of the agent's own text that are recorded if it hands back no result.
const WORDS_CHARS_MAX: usize = 1_000;

/// Options of a memory run.
#[derive(Debug, Clone, Default)]
pub struct MemoryOptions {
    /// Name of the agent for all steps.
    pub agent: Option<String>,
    /// Steps run at once; [`DEFAULT_PARALLEL`] if none.
    pub parallel: Option<usize>,
}

impl MemoryOptions {
    fn parallel_steps(&self) -> usize {
        self.parallel.unwrap_or(DEFAULT_PARALLEL).max(1)
    }
}

/// Runs agents on the steps of the current task.
pub fn run(
    context: &Context,
    folder: &MemoryFolder,
    options: &MemoryOptions,
    screen: &mut dyn WorkScreen,
    begun: impl FnOnce(StopHandle),
) -> Result<WorkReport, Error> {
    let memory = MemoryWork::new(context, folder, options)?;
    let task = memory.current_task()?;
    let names = (task.id.clone(), task.id);
    let rules = WorkLimits {
        parallel: options.parallel_steps(),
        starts_max: None,
    };
    let file = folder.state_file();
    let parts = runner_parts(context, file, names, &memory.settings, rules, screen)?;
    run_work(parts, memory, begun)
}

/// Returns the units that a run would start.
pub fn planned_starts(
    context: &Context,
    folder: &MemoryFolder,
    options: &MemoryOptions,
) -> Result<Vec<PlannedStart>, Error> {
    let memory = MemoryWork::new(context, folder, options)?;
    memory.current_task()?;
    planned_units(memory, options.parallel_steps())
}

struct MemoryWork {
    context: Context,
    folder: MemoryFolder,
    root: PathBuf,
    options: MemoryOptions,
    settings: BowlineSettings,
}

impl MemoryWork {
    fn new(
        context: &Context,
        folder: &MemoryFolder,
        options: &MemoryOptions,
    ) -> Result<MemoryWork, Error> {
        let root = project_root(context, folder.folder());
        let settings = settings_at(&root)?;
        // An unknown agent is refused before anything is started.
        choose_client(&settings, options.agent.as_deref(), None)?;
        Ok(MemoryWork {
            context: context.clone(),
            folder: folder.clone(),
            root,
            options: options.clone(),
            settings,
        })
    }

    fn current_task(&self) -> Result<ActiveTask, Error> {
        let memory = self.folder.read_memory(&self.context)?;
        memory.current.ok_or_else(|| refusal_error(Refusal::NoTask))
    }

    fn unit_step(&self, unit: &WorkUnit) -> Result<(ActiveTask, PlanStep), Error> {
        let (task, id) = (self.current_task()?, step_id(unit));
        let step = task.plan.find_step(id).cloned();
        let missing = || {
            let task = task.id.clone();
            refusal_error(Refusal::NoStep { task, id })
        };
        let step = step.ok_or_else(missing)?;
        Ok((task, step))
    }

    fn fail_step(
        &self,
        id: u32,
        kind: FailureKind,
        why: FailureReason,
    ) -> Result<NextStep<()>, Error> {
        let message = why.render_line(Lang::En);
        let failed = self.folder.step_fail(&self.context, id, kind, &message)?;
        let why = why.with_code(kind.name());
        Ok(match failed.state.escalated {
            true => NextStep::GaveUp { why },
            false => NextStep::Retry {
                wait_ms: retry_wait_ms(failed.state.tries),
                why,
            },
        })
    }

    fn judge_reply(&self, unit: &WorkUnit, reply: &AgentReply) -> Result<NextStep<()>, Error> {
        let (task, step) = self.unit_step(unit)?;
        // The agent may have moved the step by itself.
        match step.status {
            StepStatus::Completed => return Ok(NextStep::Done),
            StepStatus::Failed => {
                let why = FailureReason::from_text(
                    &step.error.map(|error| error.message).unwrap_or_default(),
                );
                return Ok(match task.status {
                    PlanTaskStatus::Failed => NextStep::GaveUp { why },
                    _ => NextStep::Retry {
                        wait_ms: retry_wait_ms(step.retries),
                        why,
                    },
                });
            }
            StepStatus::Pending | StepStatus::InProgress => {}
        }
        let result = reply.result.as_ref();
        if let Some(why) = reported_failure(result) {
            let kind = result.and_then(|it| it.get("type")).and_then(Value::as_str);
            let kind = kind.and_then(FailureKind::from_name);
            return self.fail_step(step.id, kind.unwrap_or(FailureKind::Transient), why);
        }
        match self.record_result(&step, reply) {
            Ok(()) => Ok(NextStep::Done),
            // The result cannot be recorded as it is: the next attempt learns why.
            Err(
                error @ (Error::Path(_)
                | Error::BadInput { .. }
                | Error::Refused(Refused::Plan(Refusal::Empty { .. }))),
            ) => self.fail_step(step.id, FailureKind::Validation, error.into()),
            Err(error) => Err(error),
        }
    }

    /// Records a result: shared values, then the agent's own memory, and the step's output last.
    fn record_result(&self, step: &PlanStep, reply: &AgentReply) -> Result<(), Error> {
        let result = reply.result.as_ref();
        let members = |name: &str| -> Map<String, Value> {
            let part = result.and_then(|result| result.get(name));
            part.and_then(Value::as_object).cloned().unwrap_or_default()
        };
        for (path, value) in members("share") {
            self.folder.context_set(&self.context, &path, &value)?;
        }
        for (path, value) in members("remember") {
            let (name, path) = (&step.agent, path.as_str());
            self.folder.agent_set(&self.context, name, path, &value)?;
        }
        let output = step_output(reply);
        let artifacts = parse_artifacts(result.and_then(|result| result.get("artifacts")));
        let output = Some(&output).filter(|it| !it.is_null());
        self.folder
            .step_complete(&self.context, step.id, output, artifacts)?;
        Ok(())
    }
}

/// Returns the folder that agents of a memory work in: the project it belongs to.
fn project_root(context: &Context, folder: &Path) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let project = folder.ends_with(MEMORY_FOLDER);
    let root = folder.ancestors().nth(2).filter(|_| project);
    root.map_or_else(|| context.here.clone(), Path::to_owned)
}

fn refusal_error(refusal: Refusal) -> Error {
    Error::Refused(refusal.into())
}

fn step_id(unit: &WorkUnit) -> u32 {
    unit.id.parse().unwrap_or(0)
}

/// Returns the wait after so many failed tries: 2 s, then 4 s.
fn retry_wait_ms(tries: u32) -> i64 {
    let doublings = tries.saturating_sub(1).min(TRIES_MAX);
    i64::from(RETRY_BASE_SECONDS << doublings) * 1_000
}

fn step_unit(step: &PlanStep) -> WorkUnit {
    WorkUnit {
        id: step.id.to_string(),
        round: step.retries,
        in_progress: step.status == StepStatus::InProgress,
    }
}

/// Returns the output of a step: the result's `output`, else the whole result, else the end of the
/// agent's own text.
fn step_output(reply: &AgentReply) -> Value {
    match &reply.result {
        Some(Value::Object(members)) => match members.get("output") {
            Some(output) => output.clone(),
            None => {
                let meant = ["status", "artifacts", "share", "remember"];
                let own = members
                    .iter()
                    .filter(|(name, _)| !meant.contains(&name.as_str()));
                let own: Map<String, Value> = own
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect();
                match own.is_empty() {
                    true => Value::Null,
                    false => Value::Object(own),
                }
            }
        },
        Some(other) => other.clone(),
        None => match reply.words.trim() {
            "" => Value::Null,
            words => json!({ "type": "text", "summary": last_chars(words, WORDS_CHARS_MAX) }),
        },
    }
}

fn parse_artifacts(value: Option<&Value>) -> Vec<TaskArtifact> {
    let paths = string_list(value).into_iter().map(|path| TaskArtifact {
        kind: "file".into(),
        path,
        description: String::new(),
    });
    let items = value.and_then(Value::as_array).into_iter().flatten();
    let described = items.filter(|item| item.is_object()).map(|item| {
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        TaskArtifact {
            kind: Some(text("type"))
                .filter(|it| it == "data")
                .unwrap_or_else(|| "file".into()),
            path: text("path"),
            description: text("description"),
        }
    });
    paths.chain(described).collect()
}

impl StateFileWork for MemoryWork {
    type Checked = ();

    fn ready_units(&mut self) -> Result<Vec<WorkUnit>, Error> {
        let Some(task) = self.folder.read_memory(&self.context)?.current else {
            return Ok(Vec::new());
        };
        match task.status {
            PlanTaskStatus::Pending | PlanTaskStatus::InProgress => {}
            PlanTaskStatus::Completed
            | PlanTaskStatus::Failed
            | PlanTaskStatus::Paused
            | PlanTaskStatus::Cancelled => return Ok(Vec::new()),
        }
        let ready = task.plan.ready_steps();
        let open =
            |step: &&PlanStep| step.status == StepStatus::InProgress || ready.contains(&step.id);
        let mut units: Vec<WorkUnit> = task.plan.steps.iter().filter(open).map(step_unit).collect();
        // Steps in progress continue before another one starts.
        units.sort_by_key(|unit| (!unit.in_progress, step_id(unit)));
        Ok(units)
    }

    fn unit_client(&mut self, unit: &WorkUnit) -> Result<ClientProgram, Error> {
        let (_, step) = self.unit_step(unit)?;
        let named = self.options.agent.as_deref();
        choose_client(&self.settings, named, Some(&step.agent))
    }

    fn start_unit(&mut self, unit: &WorkUnit) -> Result<WorkUnit, Error> {
        self.folder.step_start(&self.context, step_id(unit))?;
        let (_, step) = self.unit_step(unit)?;
        Ok(self::step_unit(&step))
    }

    fn attempt_brief(
        &mut self,
        unit: &WorkUnit,
        note: &AttemptRecord,
    ) -> Result<AttemptBrief, Error> {
        let (task, step) = self.unit_step(unit)?;
        Ok(AttemptBrief {
            prompt: prompt::build_prompt(&self.context, &self.folder, &task, &step, note)?,
            folder: self.root.clone(),
            number: step.id,
            variables: vec![
                ("BOWLINE_STEP", step.id.to_string()),
                ("BOWLINE_STEP_AGENT", step.agent.clone()),
            ],
            time_ms: None,
        })
    }

    fn judge_attempt(
        &mut self,
        unit: &WorkUnit,
        _: &AttemptRecord,
        outcome: AttemptOutcome,
    ) -> Result<NextStep<()>, Error> {
        match outcome {
            AttemptOutcome::Ended(reply) => self.judge_reply(unit, &reply),
            AttemptOutcome::Failed(why) => {
                // An agent may name the kind of failure: `FAIL:2:critical: no key`.
                let said = why.untranslated_text().split_once(':');
                let said = said.and_then(|(word, rest)| {
                    let kind = FailureKind::from_name(word.trim())?;
                    Some((kind, FailureReason::from_text(rest)))
                });
                let kind = match why.reason {
                    Reason::Breaker { .. } | Reason::NotBegun | Reason::NotRun { .. } => {
                        FailureKind::Resource
                    }
                    _ => FailureKind::Transient,
                };
                let (kind, why) = said.unwrap_or((kind, why));
                self.fail_step(step_id(unit), kind, why)
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
        let memory = self.folder.read_memory(&self.context)?;
        let stopped = |refusal| Ok(IdleReason::Stopped(Box::new(refusal_error(refusal))));
        let Some(task) = &memory.current else {
            return stopped(Refusal::NoTask);
        };
        let open = |step: &&PlanStep| step.status != StepStatus::Completed;
        let Some(first) = task.plan.steps.iter().find(open) else {
            return Ok(IdleReason::Done);
        };
        let spent =
            |step: &&PlanStep| step.status == StepStatus::Failed && step.retries >= TRIES_MAX;
        if let Some(step) = task.plan.steps.iter().find(spent) {
            return stopped(Refusal::RetriesExhausted { id: step.id });
        }
        // The rules explain what forbids the start.
        let start = Command::StepStart { id: first.id };
        match PlanMachine::step(&memory, start, self.context.now()) {
            Err(refusal) => stopped(refusal),
            Ok(_) => Ok(IdleReason::Done),
        }
    }

    fn done_and_total(&mut self) -> (usize, usize) {
        let task = self.current_task().ok();
        task.map_or((0, 0), |task| {
            (task.plan.completed_steps(), task.plan.steps.len())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_back_becomes_the_output() {
        let of = |result: Option<Value>, words: &str| {
            step_output(&AgentReply {
                words: words.into(),
                result,
            })
        };
        let result = json!({ "summary": "three boats", "output": { "boats": 3 }, "share": {} });
        assert_eq!(of(Some(result), "x"), json!({ "boats": 3 }));
        let plain = json!({ "summary": "three boats", "artifacts": ["a.md"], "status": "success" });
        assert_eq!(of(Some(plain), "x"), json!({ "summary": "three boats" }));
        assert_eq!(
            of(None, "I am done\n"),
            json!({ "type": "text", "summary": "I am done" })
        );
        assert_eq!(of(None, ""), Value::Null);
        let made = json!(["a.md", { "path": "b", "type": "data", "description": "times" }]);
        let made = parse_artifacts(Some(&made));
        assert_eq!(
            (made[0].path.as_str(), made[1].kind.as_str()),
            ("a.md", "data")
        );
    }

    #[test]
    fn tries_are_two_and_four_seconds_apart() {
        assert_eq!((retry_wait_ms(1), retry_wait_ms(2)), (2_000, 4_000));
    }
}
