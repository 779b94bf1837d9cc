//! Why a command on the tasks is refused.

use super::{StepStatus, TRIES_MAX, TaskStatus};
use crate::kernel::Refuse;

/// Why a command on the tasks is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing is being worked on.
    #[error("there is no current task")]
    NoTask,
    /// The task is in a state in which this cannot be done.
    #[error("task '{id}' is {}; cannot {verb}", status.name())]
    TaskState {
        /// Which.
        id: String,
        /// Where it stands.
        status: TaskStatus,
        /// What was asked for.
        verb: &'static str,
    },
    /// The step is in a state in which this cannot be done.
    #[error("step {id} is {}; cannot {verb}", status.name())]
    StepState {
        /// Which.
        id: u32,
        /// Where it stands.
        status: StepStatus,
        /// What was asked for.
        verb: &'static str,
    },
    /// No step has that number.
    #[error("task '{task}' has no step {id}")]
    NoStep {
        /// The task.
        task: String,
        /// The number.
        id: u32,
    },
    /// Steps before this one are not completed.
    #[error("cannot start step {id}: {} not completed", steps(missing))]
    DependencyNotCompleted {
        /// The wanted step.
        id: u32,
        /// Those before it.
        missing: Vec<u32>,
    },
    /// All tries are used up.
    #[error("step {id} failed {TRIES_MAX} times; a person has to decide")]
    RetriesExhausted {
        /// Which.
        id: u32,
    },
    /// Two steps, or two tasks, would have one id.
    #[error("{what} '{id}' is there already")]
    DuplicateId {
        /// Step or task.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// A step depends on one that does not exist.
    #[error("step {id} depends on step {missing}, which does not exist")]
    MissingDependency {
        /// Which.
        id: u32,
        /// The one that is not there.
        missing: u32,
    },
    /// Steps depend on each other in a circle.
    #[error("steps depend on each other: {}", path.iter().map(u32::to_string).collect::<Vec<_>>().join(" -> "))]
    CircularDependency {
        /// From a step back to itself; each depends on the next.
        path: Vec<u32>,
    },
    /// A step id that cannot be one.
    #[error("step ids start at 1")]
    BadStepId,
    /// More of something than is allowed.
    #[error("a plan holds at most {max} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        max: usize,
    },
    /// A name, message or reason that says nothing.
    #[error("{what} must not be empty")]
    Empty {
        /// Which text.
        what: &'static str,
    },
    /// A task that waits for a person cannot be called a success.
    #[error("task '{id}' failed at step {step}; it is no success")]
    UnresolvedIssue {
        /// Which.
        id: String,
        /// Where.
        step: u32,
    },
    /// An agent asked for a person's move.
    #[error("only a person may recover task '{id}'")]
    NeedsPerson {
        /// Which.
        id: String,
    },
    /// No such task waits.
    #[error("task '{id}' does not wait in the queue")]
    NotQueued {
        /// Which.
        id: String,
    },
}

fn steps(ids: &[u32]) -> String {
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    let word = if ids.len() == 1 { "step" } else { "steps" };
    format!("{word} {}", ids.join(", "))
}

impl Refuse for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Refusal::NoTask => "no_task",
            Refusal::TaskState { status, .. } => match status {
                TaskStatus::Pending => "task_pending",
                TaskStatus::InProgress => "task_in_progress",
                TaskStatus::Completed | TaskStatus::Cancelled => "task_closed",
                TaskStatus::Failed => "task_failed",
                TaskStatus::Paused => "task_paused",
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
