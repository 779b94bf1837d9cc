//! The words of task and agent, read off the one state both share.

use super::{Job, Life};

/// The task's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskStatus {
    /// Being written.
    Draft,
    /// In the queue.
    Pending,
    /// Its agent works or waits.
    InProgress,
    /// A person looks at a phase.
    Review,
    /// Done.
    Completed,
    /// Over.
    Failed,
}

impl TaskStatus {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            TaskStatus::Draft => "draft",
            TaskStatus::Pending => "pending",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Review => "review",
            TaskStatus::Completed => "completed",
            TaskStatus::Failed => "failed",
        }
    }
}

/// The agent's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentStatus {
    /// Never started.
    Idle,
    /// At work.
    Running,
    /// Stopped by a person, a rate limit or a breaker.
    Paused,
    /// Stopped until a dependency is settled.
    WaitingDependency,
    /// Stopped until a question is answered.
    WaitingQuestion,
    /// Stopped while its phase is verified or reviewed.
    WaitingReview,
    /// Ended, its work done.
    Completed,
    /// Ended otherwise.
    Failed,
}

impl AgentStatus {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            AgentStatus::Idle => "idle",
            AgentStatus::Running => "running",
            AgentStatus::Paused => "paused",
            AgentStatus::WaitingDependency => "waiting_dependency",
            AgentStatus::WaitingQuestion => "waiting_question",
            AgentStatus::WaitingReview => "waiting_review",
            AgentStatus::Completed => "completed",
            AgentStatus::Failed => "failed",
        }
    }
}

/// What a stopped agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockedBy {
    /// A dependency.
    Dependency,
    /// An answer.
    Question,
    /// A verification or a review.
    Review,
}

impl BlockedBy {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            BlockedBy::Dependency => "dependency",
            BlockedBy::Question => "question",
            BlockedBy::Review => "review",
        }
    }
}

impl Job {
    /// The task's status.
    pub fn task_status(&self) -> TaskStatus {
        match self.life {
            Life::Draft => TaskStatus::Draft,
            Life::Pending => TaskStatus::Pending,
            Life::Running
            | Life::Paused(_)
            | Life::Asking
            | Life::Needing
            | Life::Permitting
            | Life::Verifying { .. } => TaskStatus::InProgress,
            Life::Reviewing => TaskStatus::Review,
            Life::Completed { .. } => TaskStatus::Completed,
            Life::Failed(_) => TaskStatus::Failed,
        }
    }

    /// The agent's status.
    pub fn agent_status(&self) -> AgentStatus {
        match self.life {
            Life::Draft | Life::Pending => AgentStatus::Idle,
            Life::Running => AgentStatus::Running,
            Life::Paused(_) => AgentStatus::Paused,
            Life::Asking | Life::Permitting => AgentStatus::WaitingQuestion,
            Life::Needing => AgentStatus::WaitingDependency,
            Life::Verifying { .. } | Life::Reviewing => AgentStatus::WaitingReview,
            Life::Completed { .. } => AgentStatus::Completed,
            Life::Failed(_) if self.attempt == 0 => AgentStatus::Idle,
            Life::Failed(_) => AgentStatus::Failed,
        }
    }

    /// What the agent waits for.
    pub fn blocked_by(&self) -> Option<BlockedBy> {
        match self.life {
            Life::Asking | Life::Permitting => Some(BlockedBy::Question),
            Life::Needing => Some(BlockedBy::Dependency),
            Life::Verifying { .. } | Life::Reviewing => Some(BlockedBy::Review),
            Life::Draft
            | Life::Pending
            | Life::Running
            | Life::Paused(_)
            | Life::Completed { .. }
            | Life::Failed(_) => None,
        }
    }
}
