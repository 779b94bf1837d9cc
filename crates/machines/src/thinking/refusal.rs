//! Reasons why a thinking run refuses a command.

use super::{RETRIES_MAX, ThinkingStage, ThresholdCheck};
use crate::kernel::{CodedRefusal, RefusalSubject};

/// The next action on the stage to work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageAction {
    /// Start it, or try it again.
    Start,
    /// Complete it, because it is in progress.
    Complete,
    /// Reopen it by a person, because its tries are used up.
    Reopen,
}

/// The reason why a thinking run refuses a command.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The stage before this one is not completed.
    #[error("cannot start '{}': dependency '{}' not completed", stage.name(), dependency.name())]
    DependencyNotCompleted {
        /// The stage to start.
        stage: ThinkingStage,
        /// The stage that must be completed first.
        dependency: ThinkingStage,
    },
    /// Files that must exist do not.
    #[error("'{}' lacks required outputs: {}", stage.name(), missing.join(", "))]
    OutputsMissing {
        /// The stage that should have made them.
        stage: ThinkingStage,
        /// Paths of the missing files.
        missing: Vec<String>,
    },
    /// The stage has no output, but needs at least one.
    #[error("'{}' lacks required outputs: at least one output", stage.name())]
    NoOutput {
        /// The stage without output.
        stage: ThinkingStage,
    },
    /// The stage is already in progress.
    #[error("stage '{}' is already in progress", stage.name())]
    AlreadyInProgress {
        /// The stage to start.
        stage: ThinkingStage,
    },
    /// The stage is already completed.
    #[error("stage '{}' is already completed", stage.name())]
    AlreadyCompleted {
        /// The stage to start.
        stage: ThinkingStage,
    },
    /// The stage is not in progress.
    #[error("stage '{}' is not in progress, it is {status}; current stage is '{}'", stage.name(), current.name())]
    NotInProgress {
        /// The stage of the command.
        stage: ThinkingStage,
        /// Its current status.
        status: &'static str,
        /// The stage to work on.
        current: ThinkingStage,
        /// The next action on that stage.
        way: StageAction,
    },
    /// All stages are completed.
    #[error("stage '{}' is not in progress: all stages are completed", stage.name())]
    AllCompleted {
        /// The stage of the command.
        stage: ThinkingStage,
    },
    /// The stage failed as often as it may.
    #[error("stage '{}' failed {RETRIES_MAX} times; a person has to decide", stage.name())]
    RetriesExhausted {
        /// The stage to start.
        stage: ThinkingStage,
    },
    /// The command is reserved for a person, but an agent gave it.
    #[error("only a person may override stage '{}'", stage.name())]
    NeedsPerson {
        /// The stage to override.
        stage: ThinkingStage,
    },
    /// The stage needs no override.
    #[error("stage '{}' needs no override; it is {status}", stage.name())]
    OverrideNotNeeded {
        /// The stage to override.
        stage: ThinkingStage,
        /// Its current status.
        status: &'static str,
    },
    /// A required text is empty.
    #[error("{} must not be empty", what.name())]
    Empty {
        /// The name of the text.
        what: RefusalSubject,
    },
    /// An output is outside the task folder.
    #[error("output '{path}' is not a path inside the task folder")]
    PathEscapes {
        /// Path of the output.
        path: String,
    },
    /// A configured threshold is not met.
    #[error("'{}' is below its quality thresholds: {}", stage.name(), join_checks(checks))]
    BelowThreshold {
        /// The stage to complete.
        stage: ThinkingStage,
        /// The failed checks, with the measured values.
        checks: Vec<ThresholdCheck>,
    },
    /// The core value or metric is unknown.
    #[error("unknown {} '{name}'; known are {}", what.name(), known.join(", "))]
    UnknownName {
        /// The kind, core value or metric.
        what: RefusalSubject,
        /// The unknown name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// A number outside its range.
    #[error("{name} is {value}, but must be between 0 and {max}")]
    OutOfRange {
        /// Name of the number.
        name: String,
        /// The refused number.
        value: f64,
        /// The largest allowed number.
        max: f64,
    },
    /// The target is not above 0, or so small that the ratio is not finite.
    #[error("target of '{metric}' must be above 0, and not next to nothing")]
    BadTarget {
        /// Name of the metric.
        metric: String,
    },
    /// The lessons of that task were applied before.
    #[error("feedback of '{task_id}' was already applied")]
    AlreadyApplied {
        /// Id of the task.
        task_id: String,
    },
    /// The task has recorded no lessons.
    #[error("'{task_id}' has recorded no lessons")]
    NoLessons {
        /// Id of the task.
        task_id: String,
    },
}

impl CodedRefusal for Refusal {
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

fn join_checks(checks: &[ThresholdCheck]) -> String {
    let listed: Vec<String> = checks.iter().map(ToString::to_string).collect();
    listed.join(", ")
}
