//! Thinking runs: four stages, one after the other, each with outputs, three tries and a person's
//! override.

mod catalogue;
mod feedback;
mod refusal;
mod scores;
mod step;
#[cfg(test)]
mod tests;

pub use feedback::{AppliedLesson, Lesson, MeasuredOutcome, RunFeedback};
pub use refusal::{Refusal, StageAction};
pub use scores::{Evaluation, QualityMetric, QualityMetrics, ValueScore, ValueWeights};
pub use step::ThinkingMachine;

use crate::kernel::{Actor, Timestamp};

/// Number of tries of a stage before a person must act.
pub const RETRIES_MAX: u32 = 3;

named! {
    /// A stage of thinking. The order is the order of work.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ThinkingStage {
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

impl ThinkingStage {
    /// Returns the kind of thinking, as the state file names it.
    pub const fn thinking_type(self) -> &'static str {
        match self {
            ThinkingStage::Planning => "divergent",
            ThinkingStage::Selection => "convergent",
            ThinkingStage::Creation => "generative",
            ThinkingStage::Reflection => "critical",
        }
    }

    /// Returns the stage that must be completed first.
    pub const fn dependency(self) -> Option<ThinkingStage> {
        match self {
            ThinkingStage::Planning => None,
            ThinkingStage::Selection => Some(ThinkingStage::Planning),
            ThinkingStage::Creation => Some(ThinkingStage::Selection),
            ThinkingStage::Reflection => Some(ThinkingStage::Creation),
        }
    }

    /// Returns the file or pattern that must exist before the stage is complete, if it is a fixed
    /// one.
    pub const fn required_output(self) -> Option<&'static str> {
        match self {
            ThinkingStage::Planning | ThinkingStage::Reflection => None,
            ThinkingStage::Selection => Some("thinking/selection/selected.json"),
            ThinkingStage::Creation => Some("drafts/draft_v*.md"),
        }
    }

    /// Returns the position in [`ThinkingStage::ALL`].
    pub const fn index(self) -> usize {
        match self {
            ThinkingStage::Planning => 0,
            ThinkingStage::Selection => 1,
            ThinkingStage::Creation => 2,
            ThinkingStage::Reflection => 3,
        }
    }
}

named! {
    /// The status of a stage, or of a whole run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum StageStatus {
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
    pub status: StageStatus,
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
            status: StageStatus::Pending,
            started_at: None,
            completed_at: None,
            duration_minutes: None,
            outputs: Vec::new(),
            error: None,
            retry_count: 0,
        }
    }

    /// True if the stage failed as often as it may.
    pub fn is_exhausted(&self) -> bool {
        self.status == StageStatus::Failed && self.retry_count >= RETRIES_MAX
    }
}

/// The state of a whole thinking run.
#[derive(Debug, Clone, PartialEq)]
pub struct ThinkingRunState {
    /// The four stages, in the order of [`ThinkingStage::ALL`].
    pub stages: [StageState; 4],
    /// The stage started last.
    pub current: ThinkingStage,
    /// Scores against the core values.
    pub evaluation: Evaluation,
    /// Quality metrics of the result.
    pub metrics: QualityMetrics,
    /// Lessons from and for other tasks.
    pub feedback: RunFeedback,
}

impl Default for ThinkingRunState {
    fn default() -> Self {
        ThinkingRunState::new()
    }
}

impl ThinkingRunState {
    /// Makes a run in which no stage has begun.
    pub fn new() -> Self {
        ThinkingRunState {
            stages: std::array::from_fn(|_| StageState::pending()),
            current: ThinkingStage::Planning,
            evaluation: Evaluation::default(),
            metrics: QualityMetrics::default(),
            feedback: RunFeedback::default(),
        }
    }

    /// Returns the state of one stage.
    pub fn stage(&self, stage: ThinkingStage) -> &StageState {
        &self.stages[stage.index()]
    }

    pub(crate) fn stage_mut(&mut self, stage: ThinkingStage) -> &mut StageState {
        &mut self.stages[stage.index()]
    }

    /// Derives the status of the whole run from its stages.
    pub fn overall_status(&self) -> StageStatus {
        let all = |status| self.stages.iter().all(|stage| stage.status == status);
        if all(StageStatus::Pending) {
            StageStatus::Pending
        } else if all(StageStatus::Completed) {
            StageStatus::Completed
        } else if self.stages.iter().any(StageState::is_exhausted) {
            StageStatus::Failed
        } else {
            StageStatus::InProgress
        }
    }

    /// Returns the share of completed stages, in percent.
    pub fn progress_percentage(&self) -> u32 {
        let completed = self
            .stages
            .iter()
            .filter(|stage| stage.status == StageStatus::Completed);
        completed.map(|_| 25).sum()
    }
}

/// The output files found on disk, relative to the task folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputFiles(pub std::collections::BTreeSet<String>);

impl OutputFiles {
    /// Makes the set from paths.
    pub fn from_paths<I: IntoIterator<Item = S>, S: Into<String>>(paths: I) -> Self {
        OutputFiles(paths.into_iter().map(Into::into).collect())
    }
}

/// The quantity that a threshold limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThresholdQuantity {
    /// A quantity that the project named.
    Named(String),
    /// The number of words of a draft.
    Words {
        /// Path of the draft.
        draft: String,
    },
}

impl std::fmt::Display for ThresholdQuantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ThresholdQuantity::Named(name) => f.write_str(name),
            ThresholdQuantity::Words { draft } => write!(f, "words of {draft}"),
        }
    }
}

/// A configured quality threshold and the measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdCheck {
    /// The measured quantity.
    pub criterion: ThresholdQuantity,
    /// The measured value; `None` if nothing was measured.
    pub value: Option<f64>,
    /// The smallest value that is good enough.
    pub threshold: f64,
}

impl ThresholdCheck {
    fn is_met(&self) -> bool {
        self.value.is_some_and(|value| value >= self.threshold)
    }
}

/// Writes the value and the threshold it is below.
impl std::fmt::Display for ThresholdCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ThresholdCheck {
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
        stage: ThinkingStage,
        /// The reason a person gives for reopening an exhausted stage.
        override_reason: Option<String>,
        /// The actor who gives the command.
        by: Actor,
        /// Output files found on disk.
        seen: OutputFiles,
    },
    /// Records files made so far.
    Output {
        /// The stage that made them.
        stage: ThinkingStage,
        /// Paths relative to the task folder.
        paths: Vec<String>,
    },
    /// Completes a stage in progress.
    Complete {
        /// The stage to complete.
        stage: ThinkingStage,
        /// Further outputs, relative to the task folder.
        outputs: Vec<String>,
        /// Output files found on disk.
        seen: OutputFiles,
        /// Configured thresholds of this stage.
        checks: Vec<ThresholdCheck>,
    },
    /// Ends a try of a stage as failed.
    Fail {
        /// The stage that failed.
        stage: ThinkingStage,
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
        weights: ValueWeights,
    },
    /// Records quality metrics.
    Measure {
        /// Names and values.
        metrics: Vec<(String, f64)>,
    },
    /// Records a measured outcome of the work.
    RecordFeedback(MeasuredOutcome),
    /// Takes over the lessons of an earlier task.
    ApplyFeedback(AppliedLesson),
}

/// An effect to execute once the next state is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Notifies a person that the stage used up its tries.
    AskPerson(ThinkingStage),
}
