//! Thinking runs: four stages, one after the other, each with outputs, three tries and a person's
//! override.

mod catalogue;
mod feedback;
mod refusal;
mod scores;
mod step;
#[cfg(test)]
mod tests;

pub use feedback::{AppliedLesson, Execution, Feedback, Lesson};
pub use refusal::{Refusal, Way};
pub use scores::{Evaluation, Metric, Metrics, Score, Weights};
pub use step::ThinkingMachine;

use crate::kernel::{Actor, Timestamp};

/// Number of tries of a stage before a person must act.
pub const RETRIES_MAX: u32 = 3;

named! {
    /// A stage of thinking. The order is the order of work.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Stage {
        /// Divergent: look for ideas.
        Planning = "planning",
        /// Convergent: choose one.
        Selection = "selection",
        /// Generative: make it.
        Creation = "creation",
        /// Critical: judge it.
        Reflection = "reflection",
    }
}

impl Stage {
    /// Returns the kind of thinking, as the state file names it.
    pub const fn thinking_type(self) -> &'static str {
        match self {
            Stage::Planning => "divergent",
            Stage::Selection => "convergent",
            Stage::Creation => "generative",
            Stage::Reflection => "critical",
        }
    }

    /// Returns the stage that must be completed first.
    pub const fn dependency(self) -> Option<Stage> {
        match self {
            Stage::Planning => None,
            Stage::Selection => Some(Stage::Planning),
            Stage::Creation => Some(Stage::Selection),
            Stage::Reflection => Some(Stage::Creation),
        }
    }

    /// Returns the file or pattern that must exist before the stage is complete, if it is a fixed
    /// one.
    pub const fn required(self) -> Option<&'static str> {
        match self {
            Stage::Planning | Stage::Reflection => None,
            Stage::Selection => Some("thinking/selection/selected.json"),
            Stage::Creation => Some("drafts/draft_v*.md"),
        }
    }

    /// Returns the position in [`Stage::ALL`].
    pub const fn index(self) -> usize {
        match self {
            Stage::Planning => 0,
            Stage::Selection => 1,
            Stage::Creation => 2,
            Stage::Reflection => 3,
        }
    }
}

named! {
    /// The status of a stage, or of a whole run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Status {
        /// Work has not begun.
        Pending = "pending",
        /// A try is in progress.
        InProgress = "in_progress",
        /// The work is done and its outputs exist.
        Completed = "completed",
        /// The latest try failed; of a run: a stage failed for good until a person acts.
        Failed = "failed",
    }
}

/// The error of a failed stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageError {
    /// A code for programs, chosen freely (`quality_check_failed`, `draft_too_short`, `timeout`).
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// Time of the failure.
    pub at: Timestamp,
}

/// The state of one stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageState {
    /// Current status of the stage.
    pub status: Status,
    /// Start of the latest try.
    pub started_at: Option<Timestamp>,
    /// End of the latest try, completed or failed.
    pub completed_at: Option<Timestamp>,
    /// Whole minutes of the latest try.
    pub duration_minutes: Option<i64>,
    /// Files made, relative to the task folder.
    pub outputs: Vec<String>,
    /// The error, set while the stage is failed.
    pub error: Option<StageError>,
    /// Number of failed tries since the stage was last reopened.
    pub retry_count: u32,
}

impl StageState {
    /// Makes a stage that has not begun.
    pub const fn pending() -> Self {
        StageState {
            status: Status::Pending,
            started_at: None,
            completed_at: None,
            duration_minutes: None,
            outputs: Vec::new(),
            error: None,
            retry_count: 0,
        }
    }

    /// True if the stage failed as often as it may.
    pub fn exhausted(&self) -> bool {
        self.status == Status::Failed && self.retry_count >= RETRIES_MAX
    }
}

/// The state of a whole thinking run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The four stages, in the order of [`Stage::ALL`].
    pub stages: [StageState; 4],
    /// The stage started last.
    pub current: Stage,
    /// Scores against the core values.
    pub evaluation: Evaluation,
    /// Quality metrics of the result.
    pub metrics: Metrics,
    /// Lessons from and for other tasks.
    pub feedback: Feedback,
}

impl Default for Run {
    fn default() -> Self {
        Run::new()
    }
}

impl Run {
    /// Makes a run in which no stage has begun.
    pub fn new() -> Self {
        Run {
            stages: std::array::from_fn(|_| StageState::pending()),
            current: Stage::Planning,
            evaluation: Evaluation::default(),
            metrics: Metrics::default(),
            feedback: Feedback::default(),
        }
    }

    /// Returns the state of one stage.
    pub fn stage(&self, stage: Stage) -> &StageState {
        &self.stages[stage.index()]
    }

    pub(crate) fn stage_mut(&mut self, stage: Stage) -> &mut StageState {
        &mut self.stages[stage.index()]
    }

    /// Derives the status of the whole run from its stages.
    pub fn overall(&self) -> Status {
        let all = |status| self.stages.iter().all(|stage| stage.status == status);
        if all(Status::Pending) {
            Status::Pending
        } else if all(Status::Completed) {
            Status::Completed
        } else if self.stages.iter().any(StageState::exhausted) {
            Status::Failed
        } else {
            Status::InProgress
        }
    }

    /// Returns the share of completed stages, in percent.
    pub fn progress_percentage(&self) -> u32 {
        let completed = self
            .stages
            .iter()
            .filter(|stage| stage.status == Status::Completed);
        completed.map(|_| 25).sum()
    }
}

/// The output files found on disk, relative to the task folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen(pub std::collections::BTreeSet<String>);

impl Seen {
    /// Makes the set from paths.
    pub fn of<I: IntoIterator<Item = S>, S: Into<String>>(paths: I) -> Self {
        Seen(paths.into_iter().map(Into::into).collect())
    }
}

/// The quantity that a threshold limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Criterion {
    /// A quantity that the project named.
    Named(String),
    /// The number of words of a draft.
    Words {
        /// Path of the draft.
        draft: String,
    },
}

impl std::fmt::Display for Criterion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Criterion::Named(name) => f.write_str(name),
            Criterion::Words { draft } => write!(f, "words of {draft}"),
        }
    }
}

/// A configured quality threshold and the measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The measured quantity.
    pub criterion: Criterion,
    /// The measured value; `None` if nothing was measured.
    pub value: Option<f64>,
    /// The smallest value that is good enough.
    pub threshold: f64,
}

impl Check {
    fn is_met(&self) -> bool {
        self.value.is_some_and(|value| value >= self.threshold)
    }
}

/// Writes the value and the threshold it is below.
impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Check {
            criterion,
            value,
            threshold,
        } = self;
        match value {
            Some(value) => write!(f, "{criterion} {value} of {threshold}"),
            None => write!(f, "{criterion} not measured, {threshold} needed"),
        }
    }
}

/// A command for a thinking run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Begins a stage, or tries a failed one again.
    Start {
        /// The stage to begin.
        stage: Stage,
        /// The reason a person gives for reopening an exhausted stage.
        override_reason: Option<String>,
        /// The actor who gives the command.
        by: Actor,
        /// Output files found on disk.
        seen: Seen,
    },
    /// Records files made so far.
    Output {
        /// The stage that made them.
        stage: Stage,
        /// Paths relative to the task folder.
        paths: Vec<String>,
    },
    /// Completes a stage in progress.
    Complete {
        /// The stage to complete.
        stage: Stage,
        /// Further outputs, relative to the task folder.
        outputs: Vec<String>,
        /// Output files found on disk.
        seen: Seen,
        /// Configured thresholds of this stage.
        checks: Vec<Check>,
    },
    /// Ends a try of a stage as failed.
    Fail {
        /// The stage that failed.
        stage: Stage,
        /// A code for programs.
        code: String,
        /// A sentence for people.
        message: String,
    },
    /// Scores the work against the core values.
    Evaluate {
        /// Names and scores.
        scores: Vec<(String, f64)>,
        /// The weights in force.
        weights: Weights,
    },
    /// Records quality metrics.
    Measure {
        /// Names and values.
        metrics: Vec<(String, f64)>,
    },
    /// Records a measured outcome of the work.
    RecordFeedback(Execution),
    /// Takes over the lessons of an earlier task.
    ApplyFeedback(AppliedLesson),
}

/// An effect to execute once the next state is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Notifies a person that the stage used up its tries.
    AskPerson(Stage),
}
