//! Status names of task and agent, derived from the one state of the job.

use super::{Job, JobState};

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
        match self.state {
            JobState::Draft => TaskStatus::Draft,
            JobState::Pending => TaskStatus::Pending,
            JobState::Running
            | JobState::Paused(_)
            | JobState::Asking
            | JobState::Needing
            | JobState::Permitting
            | JobState::Verifying { .. } => TaskStatus::InProgress,
            JobState::Reviewing => TaskStatus::Review,
            JobState::Completed { .. } => TaskStatus::Completed,
            JobState::Failed(_) => TaskStatus::Failed,
        }
    }

    /// Returns the status of the agent.
    pub fn agent_status(&self) -> AgentStatus {
        match self.state {
            JobState::Draft | JobState::Pending => AgentStatus::Idle,
            JobState::Running => AgentStatus::Running,
            JobState::Paused(_) => AgentStatus::Paused,
            JobState::Asking | JobState::Permitting => AgentStatus::WaitingQuestion,
            JobState::Needing => AgentStatus::WaitingDependency,
            JobState::Verifying { .. } | JobState::Reviewing => AgentStatus::WaitingReview,
            JobState::Completed { .. } => AgentStatus::Completed,
            JobState::Failed(_) if self.attempt == 0 => AgentStatus::Idle,
            JobState::Failed(_) => AgentStatus::Failed,
        }
    }

    /// Returns the thing that the agent waits for.
    pub fn blocked_by(&self) -> Option<BlockedBy> {
        match self.state {
            JobState::Asking | JobState::Permitting => Some(BlockedBy::Question),
            JobState::Needing => Some(BlockedBy::Dependency),
            JobState::Verifying { .. } | JobState::Reviewing => Some(BlockedBy::Review),
            JobState::Draft
            | JobState::Pending
            | JobState::Running
            | JobState::Paused(_)
            | JobState::Completed { .. }
            | JobState::Failed(_) => None,
        }
    }
}
