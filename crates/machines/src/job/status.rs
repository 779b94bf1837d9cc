//! Status names of task and agent, derived from the one state of the job.

use super::{Job, Life};

named! {
    /// The status of a task.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum TaskStatus {
        /// The task is a draft.
        Draft = "draft",
        /// The task is queued.
        Pending = "pending",
        /// Its agent works, or is stopped.
        #[default]
        InProgress = "in_progress",
        /// A person reviews a phase.
        Review = "review",
        /// The task is finished.
        Completed = "completed",
        /// The task ended without success.
        Failed = "failed",
    }
}

named! {
    /// The status of an agent.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum AgentStatus {
        /// No process was ever started.
        Idle = "idle",
        /// The agent is working.
        Running = "running",
        /// Stopped by a person, a rate limit or a breaker.
        Paused = "paused",
        /// Stopped until a dependency is settled.
        WaitingDependency = "waiting_dependency",
        /// Stopped until a question is answered.
        WaitingQuestion = "waiting_question",
        /// Stopped while its phase is verified or reviewed.
        WaitingReview = "waiting_review",
        /// The agent ended and its task is completed.
        Completed = "completed",
        /// The agent ended and its task failed.
        Failed = "failed",
    }
}

named! {
    /// The thing that a stopped agent waits for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum BlockedBy {
        /// A person's value.
        Dependency = "dependency",
        /// A person's answer.
        Question = "question",
        /// A verification or a review.
        Review = "review",
    }
}

impl Job {
    /// Returns the status of the task.
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

    /// Returns the status of the agent.
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

    /// Returns the thing that the agent waits for.
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
