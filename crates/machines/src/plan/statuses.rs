//! The statuses, failure kinds and resolutions of the state file.

named! {
    /// The status of a task.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum PlanTaskStatus {
        /// Planned; no step was started.
        Pending = "pending",
        /// At least one step was started.
        InProgress = "in_progress",
        /// The task is finished. No command leads here, because a finished task moves to the
        /// history; a file may contain it.
        Completed = "completed",
        /// A step was escalated, and a person has to act.
        Failed = "failed",
        /// Paused; steps stay as they are.
        Paused = "paused",
        /// The task is cancelled. No command leads here, as with [`PlanTaskStatus::Completed`].
        Cancelled = "cancelled",
    }
}

named! {
    /// The status of a step.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum StepStatus {
        /// Work has not begun.
        Pending = "pending",
        /// A try is in progress.
        InProgress = "in_progress",
        /// The step is completed.
        Completed = "completed",
        /// The latest try failed.
        Failed = "failed",
    }
}

named! {
    /// The kind of failure of a step; it decides the resolution.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FailureKind {
        /// The failure may go away by itself.
        Transient = "transient",
        /// The result was not good enough.
        Validation = "validation",
        /// Something that the step builds on was wrong.
        Dependency = "dependency",
        /// Something that the step needs was missing.
        Resource = "resource",
        /// The plan itself is wrong, so that trying again cannot help.
        Structural = "structural",
        /// Work must not continue without a person.
        Critical = "critical",
    }
}

named! {
    /// The way in which an issue is, or was, resolved.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum IssueResolution {
        /// Try the same again.
        Retry = "retry",
        /// Ask for a better result.
        Revision = "revision",
        /// Repair what the step builds on.
        Dependency = "dependency",
        /// Try another approach.
        Alternative = "alternative",
        /// Change the plan; a person has to act.
        Replan = "replan",
        /// A person has to act.
        Escalate = "escalate",
    }
}

impl IssueResolution {
    /// True if a person has to act.
    pub const fn needs_person(self) -> bool {
        match self {
            IssueResolution::Replan | IssueResolution::Escalate => true,
            IssueResolution::Retry
            | IssueResolution::Revision
            | IssueResolution::Dependency
            | IssueResolution::Alternative => false,
        }
    }
}
