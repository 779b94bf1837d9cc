//! Plans: one task at a time with its steps, the queue of tasks behind it, and the history of
//! finished ones.

mod catalogue;
mod check;
mod history;
mod ids;
mod refusal;
mod statuses;
mod step;
#[cfg(test)]
mod tests;

pub use check::PLAN_HAS_NO_CYCLE;
pub use history::{
    DefaultSummary, HISTORY_DAYS_FULL, HISTORY_TASKS_MAX, HistoryDetails, HistoryEntry,
    HistoryMetrics, HistoryStatistics, PrunedHistory, TaskResult, compute_statistics, find_similar,
    prune_history, push_entry,
};
pub use ids::next_id;
pub use refusal::Refusal;
pub use statuses::{FailureKind, IssueResolution, PlanTaskStatus, StepStatus};
pub use step::PlanMachine;

use crate::kernel::{Actor, Timestamp};

/// Number of tries of a step before it is escalated to a person.
pub const TRIES_MAX: u32 = 3;
/// Delay before the retry after the first failure; it doubles with every further one.
pub const RETRY_BASE_SECONDS: u32 = 2;
/// Number of steps that one plan may have.
pub const STEPS_MAX: usize = 1_000;
/// Number of tasks that may be queued behind the current one.
pub const QUEUE_MAX: usize = 1_000;
/// The orchestrator of a task that names none.
pub const ORCHESTRATOR_DEFAULT: &str = "orchestrator";

/// The error of the latest try of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError {
    /// The kind of failure.
    pub kind: FailureKind,
    /// A sentence for people.
    pub message: String,
    /// Time of the failure.
    pub at: Timestamp,
    /// Number of failed tries of the step, this one included.
    pub retries: u32,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// Number of the step, from 1.
    pub id: u32,
    /// Description of the work.
    pub name: String,
    /// Name of the agent that does it.
    pub agent: String,
    /// The group of agents it belongs to, as free text.
    pub cluster: String,
    /// Current status of the step.
    pub status: StepStatus,
    /// Ids of the steps that must be completed first.
    pub dependencies: Vec<u32>,
    /// Start of the latest try.
    pub started_at: Option<Timestamp>,
    /// Time of its completion.
    pub completed_at: Option<Timestamp>,
    /// Output of the step, as JSON text that is not parsed here.
    pub output: Option<String>,
    /// The error, set while the step is failed.
    pub error: Option<StepError>,
    /// Number of failed tries since it was last reopened.
    pub retries: u32,
    /// Number of failed tries before a person reopened it; they count in the history, not against
    /// the limit.
    pub earlier_retries: u32,
}

/// The goal, success criteria and steps of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPlan {
    /// The goal of the task.
    pub goal: String,
    /// Criteria by which success is judged.
    pub success_criteria: Vec<String>,
    /// The steps, in the order of the file.
    pub steps: Vec<PlanStep>,
}

impl TaskPlan {
    /// Returns the step with that id.
    pub fn find_step(&self, id: u32) -> Option<&PlanStep> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// Returns the lowest id not completed; the last id when all are; `None` for a plan without
    /// steps.
    pub fn current_step(&self) -> Option<u32> {
        let open = self
            .steps
            .iter()
            .filter(|step| step.status != StepStatus::Completed);
        open.map(|step| step.id)
            .min()
            .or_else(|| self.steps.iter().map(|step| step.id).max())
    }

    /// Returns the number of completed steps.
    pub fn completed_steps(&self) -> usize {
        let completed = |step: &&PlanStep| step.status == StepStatus::Completed;
        self.steps.iter().filter(completed).count()
    }

    /// Returns the dependencies of a step that are not completed yet.
    pub fn missing_dependencies(&self, step: &PlanStep) -> Vec<u32> {
        let completed = |id: u32| {
            self.find_step(id)
                .is_some_and(|it| it.status == StepStatus::Completed)
        };
        let mut missing = step.dependencies.clone();
        missing.retain(|&id| !completed(id));
        missing
    }

    /// Returns the steps that could be started now, side by side, lowest id first.
    pub fn ready_steps(&self) -> Vec<u32> {
        let startable = |step: &&PlanStep| match step.status {
            StepStatus::Pending => true,
            StepStatus::Failed => step.retries < TRIES_MAX,
            StepStatus::InProgress | StepStatus::Completed => false,
        };
        let free = |step: &&PlanStep| self.missing_dependencies(step).is_empty();
        let ready = self.steps.iter().filter(startable).filter(free);
        let mut ids: Vec<u32> = ready.map(|step| step.id).collect();
        ids.sort_unstable();
        ids
    }
}

/// The request behind a task, with its constraints and resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskContext {
    /// The request in the user's words.
    pub user_request: String,
    /// Constraints to respect.
    pub constraints: Vec<String>,
    /// Resources that may be used.
    pub resources: Vec<String>,
}

/// A file or data that a task made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskArtifact {
    /// The kind: `file` or `data`.
    pub kind: String,
    /// Path of the artifact.
    pub path: String,
    /// Description of its content.
    pub description: String,
}

/// An issue with a step that needs a resolution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepIssue {
    /// Id of the step.
    pub step_id: u32,
    /// The kind of failure.
    pub kind: FailureKind,
    /// A sentence for people.
    pub message: String,
    /// The resolution that is needed.
    pub resolution: IssueResolution,
    /// True once the issue is resolved.
    pub resolved: bool,
    /// Time of the resolution.
    pub resolved_at: Option<Timestamp>,
}

impl StepIssue {
    /// True while the issue needs a person who has not acted yet.
    pub fn waits_for_person(&self) -> bool {
        !self.resolved && self.resolution.needs_person()
    }
}

/// The task that is being worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveTask {
    /// `task-YYYY-MM-DD-NNN`.
    pub id: String,
    /// Name of the task.
    pub name: String,
    /// Current status of the task.
    pub status: PlanTaskStatus,
    /// Time at which it became the current task.
    pub started_at: Timestamp,
    /// Time of the latest change.
    pub updated_at: Timestamp,
    /// Name of the lead agent.
    pub orchestrator: String,
    /// Goal and steps of the task.
    pub plan: TaskPlan,
    /// The request behind it.
    pub context: TaskContext,
    /// Artifacts made so far.
    pub artifacts: Vec<TaskArtifact>,
    /// Issues, resolved and open.
    pub issues: Vec<StepIssue>,
}

/// A task in the queue behind the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedTask {
    /// `task-YYYY-MM-DD-NNN`.
    pub id: String,
    /// Name of the task.
    pub name: String,
    /// Name of the lead agent.
    pub orchestrator: String,
    /// Goal and steps of the task.
    pub plan: TaskPlan,
    /// The request behind it.
    pub context: TaskContext,
    /// Time of the request.
    pub created_at: Timestamp,
}

/// All open tasks: at most one current task, and the queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskMemory {
    /// The current task, if there is one.
    pub current: Option<ActiveTask>,
    /// The queued tasks, the next first.
    pub queue: Vec<QueuedTask>,
}

impl TaskMemory {
    /// Removes a current task that the history already has and promotes the next one; `None` if the
    /// history does not have it.
    pub fn without_finished(&self, history: &[HistoryEntry], at: Timestamp) -> Option<TaskMemory> {
        let current = self.current.as_ref()?;
        history
            .iter()
            .any(|entry| entry.id == current.id)
            .then(|| step::promote_next(self, at))
    }
}

/// A request for a new step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewStep {
    /// Number of the step; the next free one when absent.
    pub id: Option<u32>,
    /// Description of the work.
    pub name: String,
    /// Name of the agent that does it.
    pub agent: String,
    /// The group of agents it belongs to.
    pub cluster: String,
    /// Ids of the steps that must be completed first.
    pub dependencies: Vec<u32>,
}

/// A request for a new task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTask {
    /// A fresh id, see [`next_id`].
    pub id: String,
    /// Name of the task.
    pub name: String,
    /// Name of the lead agent; [`ORCHESTRATOR_DEFAULT`] when absent.
    pub orchestrator: Option<String>,
    /// The goal of the task.
    pub goal: String,
    /// Criteria by which success is judged.
    pub success_criteria: Vec<String>,
    /// Steps of the plan.
    pub steps: Vec<NewStep>,
    /// The request behind it.
    pub context: TaskContext,
}

/// A command on the tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begins a task, or queues it behind the current one.
    NewTask(NewTask),
    /// Adds a step to the current task.
    StepAdd(NewStep),
    /// Begins a step, or tries a failed one again.
    StepStart {
        /// Id of the step.
        id: u32,
    },
    /// Completes a step in progress.
    StepComplete {
        /// Id of the step.
        id: u32,
        /// Output of the step, as JSON text.
        output: Option<String>,
        /// Artifacts made by the step.
        artifacts: Vec<TaskArtifact>,
    },
    /// Ends a try of a step as failed.
    StepFail {
        /// Id of the step.
        id: u32,
        /// The kind of failure; it decides if the step is tried again.
        kind: FailureKind,
        /// A sentence for people.
        message: String,
    },
    /// Pauses the current task.
    TaskPause,
    /// Resumes a paused task.
    TaskResume,
    /// Cancels the current task.
    TaskCancel,
    /// Finishes the current task.
    TaskFinish {
        /// Result of the task; derived from the steps when absent.
        result: Option<TaskResult>,
        /// Summary in a sentence or two; a count of the steps when absent.
        summary: Option<String>,
        /// Lessons for later tasks.
        lessons: Vec<String>,
        /// Tokens used, if known.
        tokens: Option<u64>,
    },
    /// Reopens a failed task; reserved for a person.
    TaskRecover {
        /// The actor who gives the command.
        by: Actor,
        /// The person's reason.
        reason: Option<String>,
    },
    /// Removes a task from the queue.
    TaskDrop {
        /// Id of the task.
        id: String,
    },
}

/// An effect to execute once the next state is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Keeps the version of the file from before this important change.
    Backup,
    /// Writes the task to the history with [`push_entry`], unless it is there already.
    PushHistory(Box<HistoryEntry>),
    /// Notifies a person that a step needs them.
    Escalate {
        /// Id of the step.
        step: u32,
        /// The resolution that the person is asked for.
        resolution: IssueResolution,
    },
    /// Tries the step again after a delay; a person need not wait for it.
    RetryAfter {
        /// Id of the step.
        step: u32,
        /// Delay in seconds.
        seconds: u32,
    },
}
