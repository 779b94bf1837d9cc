//! Reasons why a command on the tasks is refused.

use super::{PlanTaskStatus, StepStatus, TRIES_MAX};
use crate::kernel::{CodedRefusal, RefusalSubject};

/// The reason why a command on the tasks is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no current task.
    #[error("there is no current task")]
    NoTask,
    /// The status of the task does not allow the command.
    #[error("task '{id}' is {}; cannot {verb}", status.name())]
    TaskState {
        /// Id of the task.
        id: String,
        /// Its current status.
        status: PlanTaskStatus,
        /// The refused verb.
        verb: &'static str,
    },
    /// The status of the step does not allow the command.
    #[error("step {id} is {}; cannot {verb}", status.name())]
    StepState {
        /// Id of the step.
        id: u32,
        /// Its current status.
        status: StepStatus,
        /// The refused verb.
        verb: &'static str,
    },
    /// No step has that number.
    #[error("task '{task}' has no step {id}")]
    NoStep {
        /// Id of the task.
        task: String,
        /// The unknown number.
        id: u32,
    },
    /// Steps before this one are not completed.
    #[error("cannot start step {id}: {} not completed", join_steps(missing))]
    DependencyNotCompleted {
        /// Id of the step.
        id: u32,
        /// Ids of its open dependencies.
        missing: Vec<u32>,
    },
    /// The step failed as often as it may.
    #[error("step {id} failed {TRIES_MAX} times; a person has to decide")]
    RetriesExhausted {
        /// Id of the step.
        id: u32,
    },
    /// Two steps, or two tasks, would have one id.
    #[error("{} '{id}' is there already", what.name())]
    DuplicateId {
        /// The kind, step or task.
        what: RefusalSubject,
        /// The repeated id.
        id: String,
    },
    /// A step depends on one that does not exist.
    #[error("step {id} depends on step {missing}, which does not exist")]
    MissingDependency {
        /// Id of the step.
        id: u32,
        /// The missing id.
        missing: u32,
    },
    /// Steps depend on each other in a cycle.
    #[error("steps depend on each other: {}", path.iter().map(u32::to_string).collect::<Vec<_>>().join(" -> "))]
    CircularDependency {
        /// Ids from a step back to itself; each depends on the next.
        path: Vec<u32>,
    },
    /// The id is 0, but ids start at 1.
    #[error("step ids start at 1")]
    BadStepId,
    /// A limit of the plan is exceeded.
    #[error("a plan holds at most {max} {}", what.name())]
    TooMany {
        /// Name of the limited items.
        what: RefusalSubject,
        /// The limit in force.
        max: usize,
    },
    /// A required text is empty.
    #[error("{} must not be empty", what.name())]
    Empty {
        /// The name of the text.
        what: RefusalSubject,
    },
    /// A task with an open issue for a person cannot be a success.
    #[error("task '{id}' failed at step {step}; it is no success")]
    UnresolvedIssue {
        /// Id of the task.
        id: String,
        /// Number of the step with the issue.
        step: u32,
    },
    /// The command is reserved for a person, but an agent gave it.
    #[error("only a person may recover task '{id}'")]
    NeedsPerson {
        /// Id of the task.
        id: String,
    },
    /// No queued task has that id.
    #[error("task '{id}' does not wait in the queue")]
    NotQueued {
        /// The unknown id.
        id: String,
    },
}

fn join_steps(ids: &[u32]) -> String {
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    let word = if ids.len() == 1 { "step" } else { "steps" };
    format!("{word} {}", ids.join(", "))
}

impl CodedRefusal for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Refusal::NoTask => "no_task",
            Refusal::TaskState { status, .. } => match status {
                PlanTaskStatus::Pending => "task_pending",
                PlanTaskStatus::InProgress => "task_in_progress",
                PlanTaskStatus::Completed | PlanTaskStatus::Cancelled => "task_closed",
                PlanTaskStatus::Failed => "task_failed",
                PlanTaskStatus::Paused => "task_paused",
            },
            Refusal::StepState { status, .. } => match status {
                StepStatus::Pending | StepStatus::Failed => "not_in_progress",
                StepStatus::InProgress => "already_in_progress",
                StepStatus::Completed => "already_completed",
            },
            Refusal::NoStep { .. } => "no_step",
            Refusal::DependencyNotCompleted { .. } => "dependency_not_completed",
            Refusal::RetriesExhausted { .. } => "retries_exhausted",
            Refusal::DuplicateId { .. } => "duplicate_id",
            Refusal::MissingDependency { .. } => "missing_dependency",
            Refusal::CircularDependency { .. } => "circular_dependency",
            Refusal::BadStepId => "bad_step_id",
            Refusal::TooMany { .. } => "too_many",
            Refusal::Empty { .. } => "empty_text",
            Refusal::UnresolvedIssue { .. } => "unresolved_issue",
            Refusal::NeedsPerson { .. } => "needs_person",
            Refusal::NotQueued { .. } => "not_queued",
        }
    }
}
