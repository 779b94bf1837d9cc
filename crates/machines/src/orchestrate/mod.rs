//! Orchestrations: a graph of tasks, executed phase by phase, with as many at once as its limits
//! allow.
//!
//! A run may have 100,000 tasks. Its state shares structure with the state before it, so that a
//! command costs work in proportion to the dependencies it touches and not to the size of the run.

mod catalogue;
mod check;
mod facts;
mod graph;
mod next_work;
#[cfg(test)]
mod properties;
mod refusal;
mod run;
mod step;
#[cfg(test)]
mod tests;

pub use facts::{PhaseFacts, RunFacts, TaskFacts};
pub use graph::{GraphError, NODES_MAX, NodeSpec, TaskGraph};
pub use next_work::{NextWork, next_work};
pub use refusal::Refusal;
pub use run::{OrchestrationState, PhaseState, RunMetrics, TaskNode, TaskTime};
pub use step::OrchestrateMachine;

use crate::kernel::Actor;
use std::sync::Arc;

/// The id of a task, shared and never copied.
pub type NodeId = Arc<str>;

/// Number of characters of a commit that are kept.
pub const COMMIT_CHARS: usize = 7;

named! {
    /// The status of a task.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum NodeStatus {
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

impl NodeStatus {
    /// True if the status follows from the other tasks: pending, ready or blocked.
    pub const fn is_derived(self) -> bool {
        match self {
            NodeStatus::Pending | NodeStatus::Ready | NodeStatus::Blocked => true,
            NodeStatus::InProgress | NodeStatus::Completed | NodeStatus::Failed => false,
        }
    }

    /// True if the status keeps dependents from ever being ready as things stand.
    pub(crate) const fn obstructs_dependents(self) -> bool {
        match self {
            NodeStatus::Failed | NodeStatus::Blocked => true,
            NodeStatus::Pending
            | NodeStatus::Ready
            | NodeStatus::InProgress
            | NodeStatus::Completed => false,
        }
    }

    pub(crate) const fn count_index(self) -> usize {
        match self {
            NodeStatus::Pending => 0,
            NodeStatus::Ready => 1,
            NodeStatus::InProgress => 2,
            NodeStatus::Completed => 3,
            NodeStatus::Failed => 4,
            NodeStatus::Blocked => 5,
        }
    }
}

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrchestrationLimits {
    /// Number of tasks in progress at once; 0 sets no limit.
    pub max_parallel: u32,
    /// Number of runs of one task before it fails for good; at least one is always made.
    pub retry_limit: u32,
}

impl Default for OrchestrationLimits {
    fn default() -> Self {
        OrchestrationLimits {
            max_parallel: 0,
            retry_limit: 10,
        }
    }
}

/// The outcome of landing a complete phase on the main line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingOutcome {
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

impl LandingOutcome {
    /// True if the next phase may begin.
    pub const fn has_landed(&self) -> bool {
        match self {
            LandingOutcome::Merged { .. } | LandingOutcome::WithoutMerge => true,
            LandingOutcome::Unmerged => false,
        }
    }
}

/// The outcome of the checks and the merge that end a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub enum PhaseEnd {
    /// Checks are green and the merge is verified.
    #[cfg_attr(feature = "serde", serde(rename = "merged"))]
    Merged {
        /// The first [`COMMIT_CHARS`] characters of the merge commit.
        #[cfg_attr(feature = "serde", serde(rename = "commit"))]
        commit: Arc<str>,
    },
    /// Checks are green and there is no git to merge with.
    #[cfg_attr(feature = "serde", serde(rename = "no_git"))]
    NoGit,
    /// The phase's tests or build failed.
    #[cfg_attr(feature = "serde", serde(rename = "checks_red"))]
    ChecksRed,
    /// The merge met a conflict.
    #[cfg_attr(feature = "serde", serde(rename = "conflict"))]
    Conflict,
}

/// A command for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub enum Command {
    /// Begins a ready task.
    #[cfg_attr(feature = "serde", serde(rename = "start"))]
    Start {
        /// Id of the task.
        #[cfg_attr(feature = "serde", serde(rename = "id"))]
        id: NodeId,
    },
    /// Begins a task of the current phase on top of unlanded work: all tasks it needs are in
    /// progress or completed.
    #[cfg_attr(feature = "serde", serde(rename = "start_ahead"))]
    StartAhead {
        /// Id of the task.
        #[cfg_attr(feature = "serde", serde(rename = "id"))]
        id: NodeId,
    },
    /// Takes back a task that was begun ahead and whose dependencies are still open, because the
    /// work below it came to nothing. Does not count as a run.
    #[cfg_attr(feature = "serde", serde(rename = "recall"))]
    Recall {
        /// Id of the task.
        #[cfg_attr(feature = "serde", serde(rename = "id"))]
        id: NodeId,
    },
    /// Completes a task in progress.
    #[cfg_attr(feature = "serde", serde(rename = "complete"))]
    Complete {
        /// Id of the task.
        #[cfg_attr(feature = "serde", serde(rename = "id"))]
        id: NodeId,
    },
    /// Ends a run of a task as failed.
    #[cfg_attr(feature = "serde", serde(rename = "fail"))]
    Fail {
        /// Id of the task.
        #[cfg_attr(feature = "serde", serde(rename = "id"))]
        id: NodeId,
        /// The error message.
        #[cfg_attr(feature = "serde", serde(rename = "reason"))]
        reason: Option<Arc<str>>,
        /// True to try again as long as the limit allows; otherwise the task fails for good.
        #[cfg_attr(feature = "serde", serde(rename = "retry"))]
        retry: bool,
    },
    /// Completes a task in any state; reserved for a person.
    #[cfg_attr(feature = "serde", serde(rename = "force_complete"))]
    ForceComplete {
        /// Id of the task.
        #[cfg_attr(feature = "serde", serde(rename = "id"))]
        id: NodeId,
        /// The actor who gives the command.
        #[cfg_attr(feature = "serde", serde(rename = "by"))]
        by: Actor,
        /// The person's reason.
        #[cfg_attr(feature = "serde", serde(rename = "reason"))]
        reason: Option<Arc<str>>,
    },
    /// Resets a failed task so that it may start again.
    #[cfg_attr(feature = "serde", serde(rename = "retry"))]
    Retry {
        /// Id of the task.
        #[cfg_attr(feature = "serde", serde(rename = "id"))]
        id: NodeId,
    },
    /// Reports tasks whose process is gone without a result: each counts one run, and is ready
    /// again while the limit allows. Tasks not in progress are ignored.
    #[cfg_attr(feature = "serde", serde(rename = "lost"))]
    Lost {
        /// Ids of the tasks.
        #[cfg_attr(feature = "serde", serde(rename = "gone"))]
        gone: Vec<NodeId>,
    },
    /// Ends the current phase.
    #[cfg_attr(feature = "serde", serde(rename = "phase_finish"))]
    PhaseFinish {
        /// Number of the phase.
        #[cfg_attr(feature = "serde", serde(rename = "phase"))]
        phase: u32,
        /// Outcome of checks and merge.
        #[cfg_attr(feature = "serde", serde(rename = "end"))]
        end: PhaseEnd,
        /// Path of the worktree of the next phase, used if this one lands.
        #[cfg_attr(feature = "serde", serde(rename = "worktree"))]
        worktree: Option<Arc<str>>,
    },
    /// Records the worktree of the current phase.
    #[cfg_attr(feature = "serde", serde(rename = "set_worktree"))]
    SetWorktree {
        /// Path of the worktree; absent for the main checkout.
        #[cfg_attr(feature = "serde", serde(rename = "path"))]
        path: Option<Arc<str>>,
    },
}

/// An event that people are notified of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrchestrationEvent {
    /// A task is completed.
    TaskDone(NodeId),
    /// A task failed for good.
    TaskFailed(NodeId),
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
    TickTask(NodeId),
    /// Reports tasks that may be started now.
    BecameReady(Vec<NodeId>),
    /// Reports tasks that are blocked by a failed one.
    Blocked(Vec<NodeId>),
    /// Reports that this phase is now the current one.
    PhaseReached(u32),
    /// Notifies people of the event.
    Notify(OrchestrationEvent),
}
