//! The closed sets of words that the state file uses for tasks, steps and trouble.

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskStatus {
    /// Planned; no step was started.
    Pending,
    /// Being worked on.
    InProgress,
    /// Over. No command leads here, because a finished task moves to the history; a file may say it.
    Completed,
    /// A step was escalated: waits for a person.
    Failed,
    /// Set aside; steps stay as they are.
    Paused,
    /// Given up. No command leads here, as with [`TaskStatus::Completed`].
    Cancelled,
}

impl TaskStatus {
    /// All words, in the order of life.
    pub const ALL: [TaskStatus; 6] = [
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Paused,
        TaskStatus::Cancelled,
    ];

    /// The word in the state file.
    pub const fn name(self) -> &'static str {
        match self {
            TaskStatus::Pending => "pending",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Completed => "completed",
            TaskStatus::Failed => "failed",
            TaskStatus::Paused => "paused",
            TaskStatus::Cancelled => "cancelled",
        }
    }

    /// The status with that name.
    pub fn from_name(name: &str) -> Option<TaskStatus> {
        TaskStatus::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// The latest try failed.
    Failed,
}

impl StepStatus {
    /// All words, in the order of life.
    pub const ALL: [StepStatus; 4] = [
        StepStatus::Pending,
        StepStatus::InProgress,
        StepStatus::Completed,
        StepStatus::Failed,
    ];

    /// The word in the state file.
    pub const fn name(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::InProgress => "in_progress",
            StepStatus::Completed => "completed",
            StepStatus::Failed => "failed",
        }
    }

    /// The status with that name.
    pub fn from_name(name: &str) -> Option<StepStatus> {
        StepStatus::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// What kind of failure a step met; it decides what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// May go away by itself.
    Transient,
    /// The result was not good enough.
    Validation,
    /// Something the step builds on was wrong.
    Dependency,
    /// Something the step needs was not there.
    Resource,
    /// The plan itself is wrong: trying again cannot help.
    Structural,
    /// Nothing may go on without a person.
    Critical,
}

impl FailureKind {
    /// All kinds, the mildest first.
    pub const ALL: [FailureKind; 6] = [
        FailureKind::Transient,
        FailureKind::Validation,
        FailureKind::Dependency,
        FailureKind::Resource,
        FailureKind::Structural,
        FailureKind::Critical,
    ];

    /// The word in the state file.
    pub const fn name(self) -> &'static str {
        match self {
            FailureKind::Transient => "transient",
            FailureKind::Validation => "validation",
            FailureKind::Dependency => "dependency",
            FailureKind::Resource => "resource",
            FailureKind::Structural => "structural",
            FailureKind::Critical => "critical",
        }
    }

    /// The kind with that name.
    pub fn from_name(name: &str) -> Option<FailureKind> {
        FailureKind::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// How an issue is to be, or was, dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// Try the same again.
    Retry,
    /// Ask for a better result.
    Revision,
    /// Mend what the step builds on.
    Dependency,
    /// Take another way.
    Alternative,
    /// Change the plan; waits for a person.
    Replan,
    /// Waits for a person.
    Escalate,
}

impl Resolution {
    /// All words, the mildest first.
    pub const ALL: [Resolution; 6] = [
        Resolution::Retry,
        Resolution::Revision,
        Resolution::Dependency,
        Resolution::Alternative,
        Resolution::Replan,
        Resolution::Escalate,
    ];

    /// The word in the state file.
    pub const fn name(self) -> &'static str {
        match self {
            Resolution::Retry => "retry",
            Resolution::Revision => "revision",
            Resolution::Dependency => "dependency",
            Resolution::Alternative => "alternative",
            Resolution::Replan => "replan",
            Resolution::Escalate => "escalate",
        }
    }

    /// The resolution with that name.
    pub fn from_name(name: &str) -> Option<Resolution> {
        Resolution::ALL.into_iter().find(|it| it.name() == name)
    }

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
