//! Why a thinking run refuses a command.

use super::{Check, RETRIES_MAX, Stage};
use crate::kernel::Refuse;

/// How the stage to work on goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It is begun, or tried again.
    Start,
    /// It is under way.
    Complete,
    /// Its tries are used up: a person reopens it.
    Reopen,
}

/// Why a thinking run refuses a command.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The stage before this one is not completed.
    #[error("cannot start '{}': dependency '{}' not completed", stage.name(), dependency.name())]
    DependencyNotCompleted {
        /// Wanted stage.
        stage: Stage,
        /// The one before.
        dependency: Stage,
    },
    /// Files that must exist do not.
    #[error("'{}' lacks required outputs: {}", stage.name(), missing.join(", "))]
    OutputsMissing {
        /// The stage that should have made them.
        stage: Stage,
        /// What is missing.
        missing: Vec<String>,
    },
    /// A stage that may leave any files left none.
    #[error("'{}' lacks required outputs: at least one output", stage.name())]
    NoOutput {
        /// The stage.
        stage: Stage,
    },
    /// The stage is being worked on already.
    #[error("stage '{}' is already in progress", stage.name())]
    AlreadyInProgress {
        /// Which.
        stage: Stage,
    },
    /// The stage is done.
    #[error("stage '{}' is already completed", stage.name())]
    AlreadyCompleted {
        /// Which.
        stage: Stage,
    },
    /// The stage is not being worked on.
    #[error("stage '{}' is not in progress, it is {status}; current stage is '{}'", stage.name(), current.name())]
    NotInProgress {
        /// Which.
        stage: Stage,
        /// Where it stands.
        status: &'static str,
        /// The stage to work on.
        current: Stage,
        /// What goes on there.
        way: Way,
    },
    /// Every stage is done.
    #[error("stage '{}' is not in progress: all stages are completed", stage.name())]
    AllCompleted {
        /// Which.
        stage: Stage,
    },
    /// All tries are used up.
    #[error("stage '{}' failed {RETRIES_MAX} times; a person has to decide", stage.name())]
    RetriesExhausted {
        /// Which.
        stage: Stage,
    },
    /// An agent asked for a person's move.
    #[error("only a person may override stage '{}'", stage.name())]
    NeedsPerson {
        /// Which.
        stage: Stage,
    },
    /// An override that nothing calls for.
    #[error("stage '{}' needs no override; it is {status}", stage.name())]
    OverrideNotNeeded {
        /// Which.
        stage: Stage,
        /// Where it stands.
        status: &'static str,
    },
    /// A reason, code or message that says nothing.
    #[error("{what} must not be empty")]
    Empty {
        /// Which text.
        what: &'static str,
    },
    /// An output outside the task folder.
    #[error("output '{path}' is not a path inside the task folder")]
    PathEscapes {
        /// The path.
        path: String,
    },
    /// A configured threshold is not met.
    #[error("'{}' is below its quality thresholds: {}", stage.name(), listed(checks))]
    BelowThreshold {
        /// Which.
        stage: Stage,
        /// Which, with what was measured.
        checks: Vec<Check>,
    },
    /// A core value or metric nobody knows.
    #[error("unknown {what} '{name}'; known are {}", known.join(", "))]
    UnknownName {
        /// Core value or metric.
        what: &'static str,
        /// The name.
        name: String,
        /// What is known.
        known: Vec<String>,
    },
    /// A number outside its range.
    #[error("{name} is {value}, but must be between 0 and {max}")]
    OutOfRange {
        /// Of what.
        name: String,
        /// The number.
        value: f64,
        /// The largest allowed.
        max: f64,
    },
    /// A target that nothing can be measured against.
    #[error("target of '{metric}' must be above 0, and not next to nothing")]
    BadTarget {
        /// Of what.
        metric: String,
    },
    /// That task's lessons are here already.
    #[error("feedback of '{task_id}' was already applied")]
    AlreadyApplied {
        /// The task.
        task_id: String,
    },
    /// That task has nothing to teach yet.
    #[error("'{task_id}' has recorded no lessons")]
    NoLessons {
        /// The task.
        task_id: String,
    },
}

impl Refuse for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Refusal::DependencyNotCompleted { .. } => "dependency_not_completed",
            Refusal::OutputsMissing { .. } | Refusal::NoOutput { .. } => "outputs_missing",
            Refusal::AlreadyInProgress { .. } => "already_in_progress",
            Refusal::AlreadyCompleted { .. } => "already_completed",
            Refusal::NotInProgress { .. } | Refusal::AllCompleted { .. } => "not_in_progress",
            Refusal::RetriesExhausted { .. } => "retries_exhausted",
            Refusal::NeedsPerson { .. } => "needs_person",
            Refusal::OverrideNotNeeded { .. } => "override_not_needed",
            Refusal::Empty { .. } => "empty_text",
            Refusal::PathEscapes { .. } => "path_escapes",
            Refusal::BelowThreshold { .. } => "below_threshold",
            Refusal::UnknownName { .. } => "unknown_name",
            Refusal::OutOfRange { .. } => "out_of_range",
            Refusal::BadTarget { .. } => "bad_target",
            Refusal::AlreadyApplied { .. } => "already_applied",
            Refusal::NoLessons { .. } => "no_lessons",
        }
    }
}

fn listed(checks: &[Check]) -> String {
    let listed: Vec<String> = checks.iter().map(ToString::to_string).collect();
    listed.join(", ")
}
