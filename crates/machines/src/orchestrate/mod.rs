//! Orchestrations: a graph of tasks, executed phase by phase, with as many at once as its limits
//! allow.
//!
//! A run may have 100,000 tasks. Its state shares structure with the state before it, so that a
//! command costs work in proportion to the dependencies it touches and not to the size of the run.

mod catalogue;
mod check;
mod facts;
mod graph;
mod next;
#[cfg(test)]
mod properties;
mod refusal;
mod run;
mod step;
#[cfg(test)]
mod tests;

pub use facts::{Facts, PhaseFacts, Trace};
pub use graph::{Graph, GraphError, NODES_MAX, NodeSpec};
pub use next::{Next, next};
pub use refusal::Refusal;
pub use run::{Metrics, Node, Phase, Run, TaskTime};
pub use step::OrchestrateMachine;

use crate::kernel::Actor;
use std::sync::Arc;

/// The id of a task, shared and never copied.
pub type Id = Arc<str>;

/// Number of characters of a commit that are kept.
pub const COMMIT_CHARS: usize = 7;

named! {
    /// The status of a task.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Status {
        /// Waits for other tasks, or for its phase.
        Pending = "pending",
        /// The task may be started.
        Ready = "ready",
        /// The task is being worked on.
        InProgress = "in_progress",
        /// The task is completed.
        Completed = "completed",
        /// Failed for good, unless it is retried.
        Failed = "failed",
        /// Waits for a task that failed.
        Blocked = "blocked",
    }
}

impl Status {
    /// True if the status follows from the other tasks: pending, ready or blocked.
    pub const fn is_derived(self) -> bool {
        match self {
            Status::Pending | Status::Ready | Status::Blocked => true,
            Status::InProgress | Status::Completed | Status::Failed => false,
        }
    }

    /// True if the status keeps dependents from ever being ready as things stand.
    pub(crate) const fn obstructs(self) -> bool {
        match self {
            Status::Failed | Status::Blocked => true,
            Status::Pending | Status::Ready | Status::InProgress | Status::Completed => false,
        }
    }

    pub(crate) const fn index(self) -> usize {
        match self {
            Status::Pending => 0,
            Status::Ready => 1,
            Status::InProgress => 2,
            Status::Completed => 3,
            Status::Failed => 4,
            Status::Blocked => 5,
        }
    }
}

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Number of tasks in progress at once; 0 sets no limit.
    pub max_parallel: u32,
    /// Number of runs of one task before it fails for good; at least one is always made.
    pub retry_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            max_parallel: 0,
            retry_limit: 10,
        }
    }
}

/// The outcome of landing a complete phase on the main line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// The phase was merged.
    Merged {
        /// The first [`COMMIT_CHARS`] characters of the merge commit.
        commit: Arc<str>,
    },
    /// Nothing was merged: the work is not under git, or was finished before landings were
    /// recorded.
    WithoutMerge,
    /// Landing was tried without success.
    Unmerged,
}

impl Landing {
    /// True if the next phase may begin.
    pub const fn landed(&self) -> bool {
        match self {
            Landing::Merged { .. } | Landing::WithoutMerge => true,
            Landing::Unmerged => false,
        }
    }
}

/// The outcome of the checks and the merge that end a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseEnd {
    /// Checks are green and the merge is verified.
    Merged {
        /// The first [`COMMIT_CHARS`] characters of the merge commit.
        commit: Arc<str>,
    },
    /// Checks are green and there is no git to merge with.
    NoGit,
    /// The phase's tests or build failed.
    ChecksRed,
    /// The merge met a conflict.
    Conflict,
}

/// A command for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begins a ready task.
    Start {
        /// Id of the task.
        id: Id,
    },
    /// Begins a task of the current phase on top of unlanded work: all tasks it needs are in
    /// progress or completed.
    StartAhead {
        /// Id of the task.
        id: Id,
    },
    /// Takes back a task that was begun ahead and whose dependencies are still open, because the
    /// work below it came to nothing. Does not count as a run.
    Recall {
        /// Id of the task.
        id: Id,
    },
    /// Completes a task in progress.
    Complete {
        /// Id of the task.
        id: Id,
    },
    /// Ends a run of a task as failed.
    Fail {
        /// Id of the task.
        id: Id,
        /// The error message.
        reason: Option<Arc<str>>,
        /// True to try again as long as the limit allows; otherwise the task fails for good.
        retry: bool,
    },
    /// Completes a task in any state; reserved for a person.
    ForceComplete {
        /// Id of the task.
        id: Id,
        /// The actor who gives the command.
        by: Actor,
        /// The person's reason.
        reason: Option<Arc<str>>,
    },
    /// Resets a failed task so that it may start again.
    Retry {
        /// Id of the task.
        id: Id,
    },
    /// Reports tasks whose process is gone without a result: each counts one run, and is ready
    /// again while the limit allows. Tasks not in progress are ignored.
    Lost {
        /// Ids of the tasks.
        gone: Vec<Id>,
    },
    /// Ends the current phase.
    PhaseFinish {
        /// Number of the phase.
        phase: u32,
        /// Outcome of checks and merge.
        end: PhaseEnd,
        /// Path of the worktree of the next phase, used if this one lands.
        worktree: Option<Arc<str>>,
    },
    /// Records the worktree of the current phase.
    SetWorktree {
        /// Path of the worktree; absent for the main checkout.
        path: Option<Arc<str>>,
    },
}

/// An event that people are notified of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A task is completed.
    TaskDone(Id),
    /// A task failed for good.
    TaskFailed(Id),
    /// A phase is complete and landed.
    PhaseDone(u32),
    /// A phase is complete but did not land.
    PhaseNotLanded(u32),
    /// Every phase is finished.
    AllDone,
    /// No task can run until a person acts.
    Stalled,
}

/// An effect to execute once the next state is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Ticks the task in the task file.
    TickTask(Id),
    /// Reports tasks that may be started now.
    BecameReady(Vec<Id>),
    /// Reports tasks that are blocked by a failed one.
    Blocked(Vec<Id>),
    /// Reports that this phase is now the current one.
    PhaseReached(u32),
    /// Notifies people of the event.
    Notify(Event),
}
