//! The closed sets of words that the state file uses for tasks, steps and trouble.

named! {
    /// Where a task stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TaskStatus {
        /// Planned; no step was started.
        Pending = "pending",
        /// Being worked on.
        InProgress = "in_progress",
        /// Over. No command leads here, because a finished task moves to the history; a file may say it.
        Completed = "completed",
        /// A step was escalated: waits for a person.
        Failed = "failed",
        /// Set aside; steps stay as they are.
        Paused = "paused",
        /// Given up. No command leads here, as with [`TaskStatus::Completed`].
        Cancelled = "cancelled",
    }
}

named! {
    /// Where a step stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum StepStatus {
        /// Not begun.
        Pending = "pending",
        /// Being worked on.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
        /// The latest try failed.
        Failed = "failed",
    }
}

named! {
    /// What kind of failure a step met; it decides what comes next.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FailureKind {
        /// May go away by itself.
        Transient = "transient",
        /// The result was not good enough.
        Validation = "validation",
        /// Something the step builds on was wrong.
        Dependency = "dependency",
        /// Something the step needs was not there.
        Resource = "resource",
        /// The plan itself is wrong: trying again cannot help.
        Structural = "structural",
        /// Nothing may go on without a person.
        Critical = "critical",
    }
}

named! {
    /// How an issue is to be, or was, dealt with.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Resolution {
        /// Try the same again.
        Retry = "retry",
        /// Ask for a better result.
        Revision = "revision",
        /// Mend what the step builds on.
        Dependency = "dependency",
        /// Take another way.
        Alternative = "alternative",
        /// Change the plan; waits for a person.
        Replan = "replan",
        /// Waits for a person.
        Escalate = "escalate",
    }
}

impl Resolution {
    /// A person has to act.
    pub const fn needs_person(self) -> bool {
        match self {
            Resolution::Replan | Resolution::Escalate => true,
            Resolution::Retry
            | Resolution::Revision
            | Resolution::Dependency
            | Resolution::Alternative => false,
        }
    }
}
