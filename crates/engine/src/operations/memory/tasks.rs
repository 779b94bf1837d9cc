//! Verbs of the current task and its steps.

use super::MemoryFolder;
use super::value_input::check_size;
use crate::context::Context;
use crate::error::Error;
use crate::files::ChangeOutcome;
use bowline_formats::time;
use bowline_machines::plan::{
    Command, FailureKind, NewStep, NewTask, PlanTaskStatus, TaskArtifact, TaskMemory, TaskResult,
    next_id,
};
use bowline_words::message as words;
use serde_json::{Value, json};
use std::cell::RefCell;

/// Result of requesting a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedTask {
    pub id: String,
    /// True if it waits behind the current task.
    pub queued: bool,
}

/// End of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FinishReport {
    /// Result; derived from the steps if not given.
    pub result: Option<TaskResult>,
    /// Work that was done, in a sentence or two.
    pub summary: Option<String>,
    /// Improvements for next time.
    pub lessons: Vec<String>,
    pub tokens: Option<u64>,
}

/// Result of a failed try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepFailed {
    /// Failed tries of the step so far.
    pub tries: u32,
    /// True if a person has to decide.
    pub escalated: bool,
}

impl MemoryFolder {
    /// Begins a task, or queues it behind the current one.
    pub fn task_new(
        &self,
        context: &Context,
        new: &NewTask,
    ) -> Result<ChangeOutcome<RequestedTask>, Error> {
        let given = [("name", &new.name), ("goal", &new.goal)];
        let request = ("user_request", &new.context.user_request);
        for (what, text) in given.into_iter().chain([request]) {
            check_size(what, text)?;
        }
        self.make_missing(context)?;
        let today = time::format_utc(context.now());
        let day = today.split('T').next().unwrap_or_default().to_owned();
        let given = RefCell::new(String::new());
        let mut changed = self.on_task(
            context,
            "task",
            "NEW",
            json!({ "name": new.name }),
            |memory| {
                let known = memory.current.iter().map(|task| task.id.as_str());
                let known = known.chain(memory.queue.iter().map(|queued| queued.id.as_str()));
                // Read under the lock: a task may have ended since this command began.
                let past = self.given_ids(context)?;
                let id = next_id("task", &day, known.chain(past.iter().map(String::as_str)));
                given.replace(id.clone());
                Ok(Command::NewTask(NewTask { id, ..new.clone() }))
            },
        )?;
        // The status of the current task is not that of the new one.
        changed.moved.from = None;
        let id = given.into_inner();
        let queued = changed.state.queue.iter().any(|task| task.id == id);
        Ok(changed.with_state(RequestedTask { id, queued }))
    }

    pub fn task_pause(&self, context: &Context) -> Result<ChangeOutcome<TaskMemory>, Error> {
        self.on_current(context, "PAUSE", json!({}), &Command::TaskPause)
    }

    pub fn task_resume(&self, context: &Context) -> Result<ChangeOutcome<TaskMemory>, Error> {
        self.on_current(context, "RESUME", json!({}), &Command::TaskResume)
    }

    /// Cancels the task.
    pub fn task_cancel(&self, context: &Context) -> Result<ChangeOutcome<TaskMemory>, Error> {
        self.on_current(context, "CANCEL", json!({}), &Command::TaskCancel)
    }

    pub fn task_finish(
        &self,
        context: &Context,
        finish: FinishReport,
    ) -> Result<ChangeOutcome<TaskMemory>, Error> {
        check_size("summary", finish.summary.as_deref().unwrap_or_default())?;
        let command = Command::TaskFinish {
            result: finish.result,
            summary: finish.summary,
            lessons: finish.lessons,
            tokens: finish.tokens,
        };
        self.on_current(context, "FINISH", json!({}), &command)
    }

    /// Resumes a task that failed. Needs a person.
    pub fn task_recover(
        &self,
        context: &Context,
        reason: Option<&str>,
    ) -> Result<ChangeOutcome<TaskMemory>, Error> {
        let command = Command::TaskRecover {
            by: context.actor(),
            reason: reason.map(str::to_owned),
        };
        self.on_current(context, "RECOVER", json!({ "reason": reason }), &command)
    }

    /// Removes a waiting task from the queue, named by the beginning of its id. Returns the id.
    pub fn task_drop(
        &self,
        context: &Context,
        given: &str,
    ) -> Result<ChangeOutcome<String>, Error> {
        let id = self.waiting_id(context, given)?;
        let command = Command::TaskDrop { id: id.clone() };
        let on = ("queue", "DROP");
        let changed = self.execute_command(context, on, json!({ "task": id }), &command)?;
        Ok(changed.with_state(id))
    }

    /// Returns the id of the only waiting task whose id begins with `given`. A name without a match
    /// is left for the rules to refuse.
    fn waiting_id(&self, context: &Context, given: &str) -> Result<String, Error> {
        let view = self.state.view_or_empty(context)?;
        let queue = view.memory().map(|memory| memory.queue.as_slice());
        let ids = queue.into_iter().flatten().map(|task| task.id.as_str());
        let ids: Vec<&str> = ids.filter(|id| id.starts_with(given)).collect();
        match ids.as_slice() {
            [id] if !ids.contains(&given) => Ok((*id).to_owned()),
            [_, _, ..] if !ids.contains(&given) => Err(Error::BadInput {
                message: words::Wrong::SeveralIds {
                    given: given.into(),
                    ids: ids.join(", "),
                },
                hint: words::Advice::MoreLetters,
            }),
            _ => Ok(given.to_owned()),
        }
    }

    /// Adds a step to the current task.
    pub fn step_add(
        &self,
        context: &Context,
        new: NewStep,
    ) -> Result<ChangeOutcome<TaskMemory>, Error> {
        check_size("name", &new.name)?;
        let facts = json!({ "name": new.name });
        let command = Command::StepAdd(new);
        self.execute_command(context, ("plan", "STEP_ADD"), facts, &command)
    }

    /// Begins a step, or tries it again.
    pub fn step_start(
        &self,
        context: &Context,
        id: u32,
    ) -> Result<ChangeOutcome<TaskMemory>, Error> {
        let command = Command::StepStart { id };
        self.on_step(context, "STEP_START", id, json!({}), &command)
    }

    /// Ends a step well.
    pub fn step_complete(
        &self,
        context: &Context,
        id: u32,
        output: Option<&Value>,
        artifacts: Vec<TaskArtifact>,
    ) -> Result<ChangeOutcome<TaskMemory>, Error> {
        let output = output.map(Value::to_string);
        check_size("output", output.as_deref().unwrap_or_default())?;
        let command = Command::StepComplete {
            id,
            output,
            artifacts,
        };
        self.on_step(context, "STEP_COMPLETE", id, json!({}), &command)
    }

    /// Ends a try of a step badly.
    pub fn step_fail(
        &self,
        context: &Context,
        id: u32,
        kind: FailureKind,
        message: &str,
    ) -> Result<ChangeOutcome<StepFailed>, Error> {
        check_size("message", message)?;
        let command = Command::StepFail {
            id,
            kind,
            message: message.to_owned(),
        };
        let facts = json!({ "type": kind.name() });
        let changed = self.on_step(context, "STEP_FAIL", id, facts, &command)?;
        let task = changed.state.current.as_ref();
        let error = task.and_then(|task| task.plan.find_step(id)?.error.as_ref());
        let failed = StepFailed {
            tries: error.map_or(0, |error| error.retries),
            escalated: task.is_some_and(|task| task.status == PlanTaskStatus::Failed),
        };
        Ok(changed.with_state(failed))
    }

    fn on_current(
        &self,
        context: &Context,
        trigger: &'static str,
        facts: Value,
        command: &Command,
    ) -> Result<ChangeOutcome<TaskMemory>, Error> {
        self.execute_command(context, ("task", trigger), facts, command)
    }

    fn on_step(
        &self,
        context: &Context,
        trigger: &'static str,
        id: u32,
        mut facts: Value,
        command: &Command,
    ) -> Result<ChangeOutcome<TaskMemory>, Error> {
        facts["step"] = json!(id);
        self.execute_command(context, ("step", trigger), facts, command)
    }
}
