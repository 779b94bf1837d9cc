//! Why a run refuses a command.

use super::{COMMIT_CHARS, Id, Status};
use crate::kernel::Refuse;
use std::sync::Arc;

/// Why a run refuses a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No task has that id.
    #[error("there is no task '{id}'")]
    NoTask {
        /// The id.
        id: Id,
    },
    /// The task waits for others, or for its phase.
    #[error("task '{id}' is not ready: it waits for {}", reasons(waits_for, phase.as_ref()))]
    NotReady {
        /// Which.
        id: Id,
        /// Dependencies that are not completed.
        waits_for: Vec<Id>,
        /// Its own phase and the current one, when they differ.
        phase: Option<(u32, u32)>,
    },
    /// The task waits for one that failed.
    #[error("task '{id}' is blocked by {}", by.join(", "))]
    Blocked {
        /// Which.
        id: Id,
        /// Dependencies that failed or are blocked.
        by: Vec<Id>,
    },
    /// The task is in a state in which this cannot be done.
    #[error("task '{id}' is {}; cannot {verb}", status.name())]
    TaskState {
        /// Which.
        id: Id,
        /// Where it stands.
        status: Status,
        /// What was asked for.
        verb: &'static str,
    },
    /// There is nothing to retry.
    #[error("task '{id}' has not failed; it is {}", status.name())]
    NotFailed {
        /// Which.
        id: Id,
        /// Where it stands.
        status: Status,
    },
    /// As many tasks are in progress as may be.
    #[error("{max} tasks are in progress, as many as may be")]
    NoFreePlace {
        /// The limit.
        max: u32,
    },
    /// An agent asked for a person's move.
    #[error("only a person may force task '{id}' to completed")]
    NeedsPerson {
        /// Which.
        id: Id,
    },
    /// No phase has that number.
    #[error("there is no phase {phase}")]
    NoPhase {
        /// The number.
        phase: u32,
    },
    /// The phase is over.
    #[error("phase {phase} is finished already")]
    PhaseFinished {
        /// Which.
        phase: u32,
    },
    /// Another phase comes first.
    #[error("phase {phase} is not current; phase {current} is")]
    PhaseNotCurrent {
        /// Which.
        phase: u32,
        /// The one that is.
        current: u32,
    },
    /// The phase has tasks that are not completed.
    #[error("phase {phase} has {} of {total} tasks completed", total - open)]
    PhaseIncomplete {
        /// Which.
        phase: u32,
        /// Tasks not completed.
        open: usize,
        /// All its tasks.
        total: usize,
    },
    /// A commit that is none.
    #[error("'{commit}' is not the first {COMMIT_CHARS} characters of a commit")]
    BadCommit {
        /// What was given.
        commit: Arc<str>,
    },
    /// A path that says nothing.
    #[error("{what} must not be empty")]
    Empty {
        /// Which text.
        what: &'static str,
    },
}

fn reasons(waits_for: &[Id], phase: Option<&(u32, u32)>) -> String {
    let mut parts: Vec<String> = waits_for.iter().map(ToString::to_string).collect();
    if let Some((own, current)) = phase {
        parts.push(format!("phase {own} (phase {current} is current)"));
    }
    parts.join(", ")
}

impl Refuse for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Refusal::NoTask { .. } => "no_task",
            Refusal::NotReady { .. } => "not_ready",
            Refusal::Blocked { .. } => "blocked",
            Refusal::TaskState { status, .. } => match status {
                Status::InProgress => "already_in_progress",
                Status::Completed => "already_completed",
                Status::Failed => "task_failed",
                Status::Pending | Status::Ready | Status::Blocked => "not_in_progress",
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
