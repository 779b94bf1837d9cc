//! The words of task and agent, read off the one state both share.

use super::{Job, Life};

named! {
    /// The task's word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum TaskStatus {
        /// Being written.
        Draft = "draft",
        /// In the queue.
        Pending = "pending",
        /// Its agent works or waits.
        InProgress = "in_progress",
        /// A person looks at a phase.
        Review = "review",
        /// Done.
        Completed = "completed",
        /// Over.
        Failed = "failed",
    }
}

named! {
    /// The agent's word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum AgentStatus {
        /// Never started.
        Idle = "idle",
        /// At work.
        Running = "running",
        /// Stopped by a person, a rate limit or a breaker.
        Paused = "paused",
        /// Stopped until a dependency is settled.
        WaitingDependency = "waiting_dependency",
        /// Stopped until a question is answered.
        WaitingQuestion = "waiting_question",
        /// Stopped while its phase is verified or reviewed.
        WaitingReview = "waiting_review",
        /// Ended, its work done.
        Completed = "completed",
        /// Ended otherwise.
        Failed = "failed",
    }
}

named! {
    /// What a stopped agent waits for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum BlockedBy {
        /// A dependency.
        Dependency = "dependency",
        /// An answer.
        Question = "question",
        /// A verification or a review.
        Review = "review",
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
