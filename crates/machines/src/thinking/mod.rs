//! Thinking runs: four stages, one after the other, each with outputs, three tries and a person's override.

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

/// Tries a stage has before a person must step in.
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
    /// The kind of thinking, as the state file calls it.
    pub const fn thinking_type(self) -> &'static str {
        match self {
            Stage::Planning => "divergent",
            Stage::Selection => "convergent",
            Stage::Creation => "generative",
            Stage::Reflection => "critical",
        }
    }

    /// The stage that must be completed first.
    pub const fn dependency(self) -> Option<Stage> {
        match self {
            Stage::Planning => None,
            Stage::Selection => Some(Stage::Planning),
            Stage::Creation => Some(Stage::Selection),
            Stage::Reflection => Some(Stage::Creation),
        }
    }

    /// What must be there before it is complete, where that has a name.
    pub const fn required(self) -> Option<&'static str> {
        match self {
            Stage::Planning | Stage::Reflection => None,
            Stage::Selection => Some("thinking/selection/selected.json"),
            Stage::Creation => Some("drafts/draft_v*.md"),
        }
    }

    /// Position in [`Stage::ALL`].
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
    /// Where a stage, or the whole run, stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Status {
        /// Not begun.
        Pending = "pending",
        /// Being worked on.
        InProgress = "in_progress",
        /// Done, with its outputs.
        Completed = "completed",
        /// Failed; for a run: failed for good until a person steps in.
        Failed = "failed",
    }
}

/// Why a stage failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageError {
    /// A word for programs, free (`quality_check_failed`, `draft_too_short`, `timeout`).
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// When.
    pub at: Timestamp,
}

/// One stage of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageState {
    /// Where it stands.
    pub status: Status,
    /// Start of the latest try.
    pub started_at: Option<Timestamp>,
    /// End of the latest try, completed or failed.
    pub completed_at: Option<Timestamp>,
    /// Whole minutes of the latest try.
    pub duration_minutes: Option<i64>,
    /// Files made, relative to the task folder.
    pub outputs: Vec<String>,
    /// Set while failed.
    pub error: Option<StageError>,
    /// Failed tries so far.
    pub retry_count: u32,
}

impl StageState {
    /// A stage nobody has begun.
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

    /// Failed as often as it may.
    pub fn exhausted(&self) -> bool {
        self.status == Status::Failed && self.retry_count >= RETRIES_MAX
    }
}

/// A whole thinking run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The four stages, in the order of [`Stage::ALL`].
    pub stages: [StageState; 4],
    /// The stage started last.
    pub current: Stage,
    /// Scores against the core values.
    pub evaluation: Evaluation,
    /// Quality metrics.
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
    /// A run nobody has begun.
    pub fn new() -> Self {
        Run {
            stages: std::array::from_fn(|_| StageState::pending()),
            current: Stage::Planning,
            evaluation: Evaluation::default(),
            metrics: Metrics::default(),
            feedback: Feedback::default(),
        }
    }

    /// One stage.
    pub fn stage(&self, stage: Stage) -> &StageState {
        &self.stages[stage.index()]
    }

    pub(crate) fn stage_mut(&mut self, stage: Stage) -> &mut StageState {
        &mut self.stages[stage.index()]
    }

    /// Where the whole run stands, derived from its stages.
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

    /// Completed stages in percent.
    pub fn progress_percentage(&self) -> u32 {
        let completed = self
            .stages
            .iter()
            .filter(|stage| stage.status == Status::Completed);
        completed.map(|_| 25).sum()
    }
}

/// The output files that were looked for on disk and found, relative to the task folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen(pub std::collections::BTreeSet<String>);

impl Seen {
    /// A set of paths.
    pub fn of<I: IntoIterator<Item = S>, S: Into<String>>(paths: I) -> Self {
        Seen(paths.into_iter().map(Into::into).collect())
    }
}

/// What a threshold is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Criterion {
    /// Something the project has a name for.
    Named(String),
    /// How many words a draft has.
    Words {
        /// Its file.
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

/// A configured quality threshold and what was measured against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What is measured.
    pub criterion: Criterion,
    /// What was measured; `None` when nothing was.
    pub value: Option<f64>,
    /// What is needed.
    pub threshold: f64,
}

impl Check {
    fn is_met(&self) -> bool {
        self.value.is_some_and(|value| value >= self.threshold)
    }
}

/// How it falls short.
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

/// What somebody wants of a thinking run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Begin a stage, or try a failed one again.
    Start {
        /// Which.
        stage: Stage,
        /// The reason a person gives for reopening an exhausted stage.
        override_reason: Option<String>,
        /// Who asks.
        by: Actor,
        /// Output files found on disk.
        seen: Seen,
    },
    /// Record files made so far.
    Output {
        /// Which.
        stage: Stage,
        /// Paths relative to the task folder.
        paths: Vec<String>,
    },
    /// End a stage well.
    Complete {
        /// Which.
        stage: Stage,
        /// Further outputs.
        outputs: Vec<String>,
        /// Output files found on disk.
        seen: Seen,
        /// Configured thresholds for this stage.
        checks: Vec<Check>,
    },
    /// End a stage badly.
    Fail {
        /// Which.
        stage: Stage,
        /// A word for programs.
        code: String,
        /// A sentence for people.
        message: String,
    },
    /// Score against the core values.
    Evaluate {
        /// Name and score.
        scores: Vec<(String, f64)>,
        /// Weights in force.
        weights: Weights,
    },
    /// Record quality metrics.
    Measure {
        /// Name and value.
        metrics: Vec<(String, f64)>,
    },
    /// Record what came of the work.
    RecordFeedback(Execution),
    /// Take over what an earlier task learnt.
    ApplyFeedback(AppliedLesson),
}

/// What must follow a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The stage used up its tries: tell a person.
    AskPerson(Stage),
}
