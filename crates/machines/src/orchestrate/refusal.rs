//! Reasons why a run refuses a command.

use super::{COMMIT_CHARS, NodeId, NodeStatus};
use crate::kernel::{CodedRefusal, RefusalSubject};
use std::sync::Arc;

/// The reason why a run refuses a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No task has that id.
    #[error("there is no task '{id}'")]
    NoTask {
        /// The unknown id.
        id: NodeId,
    },
    /// The task waits for others, or for its phase.
    #[error("task '{id}' is not ready: it waits for {}", join_reasons(waits_for, phase.as_ref()))]
    NotReady {
        /// Id of the task.
        id: NodeId,
        /// Dependencies that are not completed.
        waits_for: Vec<NodeId>,
        /// The task's own phase and the current one, when they differ.
        phase: Option<(u32, u32)>,
    },
    /// The task waits for one that failed.
    #[error("task '{id}' is blocked by {}", by.join(", "))]
    Blocked {
        /// Id of the task.
        id: NodeId,
        /// Dependencies that failed or are blocked.
        by: Vec<NodeId>,
    },
    /// The status of the task does not allow the command.
    #[error("task '{id}' is {}; cannot {verb}", status.name())]
    TaskState {
        /// Id of the task.
        id: NodeId,
        /// Its current status.
        status: NodeStatus,
        /// The refused verb.
        verb: &'static str,
    },
    /// The task has not failed, so that there is nothing to retry.
    #[error("task '{id}' has not failed; it is {}", status.name())]
    NotFailed {
        /// Id of the task.
        id: NodeId,
        /// Its current status.
        status: NodeStatus,
    },
    /// The limit of tasks in progress is reached.
    #[error("{max} tasks are in progress, as many as may be")]
    NoFreePlace {
        /// The limit in force.
        max: u32,
    },
    /// The command is reserved for a person, but an agent gave it.
    #[error("only a person may force task '{id}' to completed")]
    NeedsPerson {
        /// Id of the task.
        id: NodeId,
    },
    /// No phase has that number.
    #[error("there is no phase {phase}")]
    NoPhase {
        /// The unknown number.
        phase: u32,
    },
    /// The phase is finished already.
    #[error("phase {phase} is finished already")]
    PhaseFinished {
        /// Number of the phase.
        phase: u32,
    },
    /// Another phase is current.
    #[error("phase {phase} is not current; phase {current} is")]
    PhaseNotCurrent {
        /// Number of the phase.
        phase: u32,
        /// Number of the current phase.
        current: u32,
    },
    /// The phase has tasks that are not completed.
    #[error("phase {phase} has {} of {total} tasks completed", total - open)]
    PhaseIncomplete {
        /// Number of the phase.
        phase: u32,
        /// Number of tasks not completed.
        open: usize,
        /// Number of all its tasks.
        total: usize,
    },
    /// The text is not the beginning of a commit.
    #[error("'{commit}' is not the first {COMMIT_CHARS} characters of a commit")]
    BadCommit {
        /// The text given.
        commit: Arc<str>,
    },
    /// A required text is empty.
    #[error("{} must not be empty", what.name())]
    Empty {
        /// The name of the text.
        what: RefusalSubject,
    },
}

fn join_reasons(waits_for: &[NodeId], phase: Option<&(u32, u32)>) -> String {
    let mut parts: Vec<String> = waits_for.iter().map(ToString::to_string).collect();
    if let Some((own, current)) = phase {
        parts.push(format!("phase {own} (phase {current} is current)"));
    }
    parts.join(", ")
}

impl CodedRefusal for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Refusal::NoTask { .. } => "no_task",
            Refusal::NotReady { .. } => "not_ready",
            Refusal::Blocked { .. } => "blocked",
            Refusal::TaskState { status, .. } => match status {
                NodeStatus::InProgress => "already_in_progress",
                NodeStatus::Completed => "already_completed",
                NodeStatus::Failed => "task_failed",
                NodeStatus::Pending | NodeStatus::Ready | NodeStatus::Blocked => "not_in_progress",
            },
            Refusal::NotFailed { .. } => "not_failed",
            Refusal::NoFreePlace { .. } => "no_free_place",
            Refusal::NeedsPerson { .. } => "needs_person",
            Refusal::NoPhase { .. } => "no_phase",
            Refusal::PhaseFinished { .. } => "phase_finished",
            Refusal::PhaseNotCurrent { .. } => "phase_not_current",
            Refusal::PhaseIncomplete { .. } => "phase_incomplete",
            Refusal::BadCommit { .. } => "bad_commit",
            Refusal::Empty { .. } => "empty_text",
        }
    }
}
