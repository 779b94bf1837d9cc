//! Types of work as parameters: phases, reviews and limits.

/// A type of work.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum JobKind {
    /// One phase without verification or review.
    #[cfg_attr(feature = "serde", serde(rename = "custom"))]
    Custom,
    /// Phases one after the other, each verified.
    #[cfg_attr(feature = "serde", serde(rename = "phased"))]
    Phased {
        /// The phases in order; at least one.
        #[cfg_attr(feature = "serde", serde(rename = "phases", default))]
        phases: Vec<PhaseSpec>,
        /// True if a process that exits with 0 has completed its phase.
        #[cfg_attr(feature = "serde", serde(rename = "complete_on_exit", default))]
        complete_on_exit: bool,
    },
}

/// One phase of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PhaseSpec {
    /// Name of the phase.
    #[cfg_attr(feature = "serde", serde(rename = "name"))]
    pub name: String,
    /// True if a person approves it before the next one starts.
    #[cfg_attr(feature = "serde", serde(rename = "review", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub review: bool,
}

impl JobKind {
    /// Makes a type whose phases are all reviewed.
    pub fn with_reviewed_phases<I: IntoIterator<Item = S>, S: Into<String>>(names: I) -> Self {
        let spec = |name: S| PhaseSpec {
            name: name.into(),
            review: true,
        };
        JobKind::Phased {
            phases: names.into_iter().map(spec).collect(),
            complete_on_exit: false,
        }
    }

    /// Returns the number of phases; 1 for custom work.
    pub fn total_phases(&self) -> u32 {
        match self {
            JobKind::Custom => 1,
            JobKind::Phased { phases, .. } => u32::try_from(phases.len()).unwrap_or(u32::MAX),
        }
    }

    /// True if a person reviews that phase, counted from 1.
    pub fn requires_review(&self, phase: u32) -> bool {
        match self {
            JobKind::Custom => false,
            JobKind::Phased { phases, .. } => phase
                .checked_sub(1)
                .and_then(|index| phases.get(index as usize))
                .is_some_and(|spec| spec.review),
        }
    }

    /// True if an exit with 0 completes the phase.
    pub fn completes_on_exit(&self) -> bool {
        match self {
            JobKind::Custom => false,
            JobKind::Phased {
                complete_on_exit, ..
            } => *complete_on_exit,
        }
    }
}

named! {
    /// The urgency of a task, the most urgent first.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Priority {
        /// Runs before all others.
        Critical = "critical",
        /// Runs before most others.
        High = "high",
        /// The usual priority.
        #[default]
        Normal = "normal",
        /// Runs when nothing else waits.
        Low = "low",
    }
}

/// Limits of a job: numbers of tries, and times in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobLimits {
    /// Reworks of a phase; the failing verification after the last one fails the task.
    #[cfg_attr(feature = "serde", serde(rename = "reworks_max", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub reworks_max: u32,
    /// Time after which an optional question gets its default, and a required one is asked again.
    #[cfg_attr(feature = "serde", serde(rename = "question_timeout_s", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub question_timeout_s: i64,
    /// Time after which an open dependency is decided without a person.
    #[cfg_attr(feature = "serde", serde(rename = "dependency_timeout_s", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub dependency_timeout_s: i64,
    /// Time between two checkpoints of a running agent.
    #[cfg_attr(feature = "serde", serde(rename = "checkpoint_s", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub checkpoint_s: i64,
    /// Time without output after which an agent counts as stuck; 0 for never.
    #[cfg_attr(feature = "serde", serde(rename = "silence_s", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub silence_s: i64,
    /// Number of lost processes that are replaced without a sign of progress; then a person
    /// decides.
    #[cfg_attr(feature = "serde", serde(rename = "losses_max", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub losses_max: u32,
}

impl Default for JobLimits {
    fn default() -> Self {
        JobLimits {
            reworks_max: 3,
            question_timeout_s: 30 * 60,
            dependency_timeout_s: 60 * 60,
            checkpoint_s: 10 * 60,
            silence_s: 15 * 60,
            losses_max: 5,
        }
    }
}
