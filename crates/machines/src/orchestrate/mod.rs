//! Orchestrations: a graph of tasks, worked off phase by phase, with as many at once as its limits allow.
//!
//! A run may have 100,000 tasks. Its state shares structure with the state before it, so that a command costs work in
//! proportion to the dependencies it touches and not to the size of the run.

mod catalogue;
mod check;
mod facts;
mod graph;
mod index;
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

/// Characters of a commit that are kept.
pub const COMMIT_CHARS: usize = 7;

named! {
    /// Where a task stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Status {
        /// Waits for other tasks, or for its phase.
        Pending = "pending",
        /// May be started.
        Ready = "ready",
        /// Being worked on.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
        /// Failed for good, until somebody retries it.
        Failed = "failed",
        /// Waits for a task that failed.
        Blocked = "blocked",
    }
}

impl Status {
    /// Nobody has its fate in hand: whether it is pending, ready or blocked follows from the other tasks.
    pub const fn is_derived(self) -> bool {
        match self {
            Status::Pending | Status::Ready | Status::Blocked => true,
            Status::InProgress | Status::Completed | Status::Failed => false,
        }
    }

    /// Keeps the tasks that depend on it from ever being ready as things stand.
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

/// Limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Tasks in progress at once; 0 sets no limit.
    pub max_parallel: u32,
    /// Runs of one task in all before it fails for good; at least one is always made.
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

/// How a phase that is complete came to the main line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// Merged.
    Merged {
        /// The first [`COMMIT_CHARS`] characters of the merge commit.
        commit: Arc<str>,
    },
    /// There was nothing to merge: the work is not under git, or was passed before anybody kept account.
    WithoutMerge,
    /// Tried, and did not land.
    Unmerged,
}

impl Landing {
    /// The next phase may begin.
    pub const fn landed(&self) -> bool {
        match self {
            Landing::Merged { .. } | Landing::WithoutMerge => true,
            Landing::Unmerged => false,
        }
    }
}

/// What came of the attempt to end a phase.
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

/// What somebody wants of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begin a ready task.
    Start {
        /// Which.
        id: Id,
    },
    /// Begin a task of the current phase on the work of those it needs, all of them in progress or completed, before that work
    /// has landed.
    StartAhead {
        /// Which.
        id: Id,
    },
    /// Take such a task back, whose needs are still open: what it was begun on came to nothing. Counts no run.
    Recall {
        /// Which.
        id: Id,
    },
    /// End it well.
    Complete {
        /// Which.
        id: Id,
    },
    /// End it badly.
    Fail {
        /// Which.
        id: Id,
        /// Why.
        reason: Option<Arc<str>>,
        /// Count one run and try again, as long as the limit allows; otherwise it fails for good.
        retry: bool,
    },
    /// Call a task done whatever its state: a person's move.
    ForceComplete {
        /// Which.
        id: Id,
        /// Who asks.
        by: Actor,
        /// Why.
        reason: Option<Arc<str>>,
    },
    /// Give a failed task a fresh start.
    Retry {
        /// Which.
        id: Id,
    },
    /// Tasks whose process is really gone without a word: each counts one run, and is ready again while the limit allows.
    /// Those not in progress are left alone.
    Lost {
        /// Which.
        gone: Vec<Id>,
    },
    /// End the current phase.
    PhaseFinish {
        /// Which.
        phase: u32,
        /// What came of checks and merge.
        end: PhaseEnd,
        /// The worktree of the phase that follows, when this one lands.
        worktree: Option<Arc<str>>,
    },
    /// Record where the current phase is worked on.
    SetWorktree {
        /// Where; nothing for the main checkout.
        path: Option<Arc<str>>,
    },
}

/// Something people want to hear about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A task is done.
    TaskDone(Id),
    /// A task failed for good.
    TaskFailed(Id),
    /// A phase is done and on the main line.
    PhaseDone(u32),
    /// A phase is complete but did not land.
    PhaseNotLanded(u32),
    /// Everything is done.
    AllDone,
    /// Nothing can go on without somebody.
    Stalled,
}

/// What must follow a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Tick the task in the task file.
    TickTask(Id),
    /// These tasks may be started now.
    BecameReady(Vec<Id>),
    /// These tasks wait for one that failed.
    Blocked(Vec<Id>),
    /// This phase is now the current one.
    PhaseReached(u32),
    /// Tell whoever listens.
    Notify(Event),
}
