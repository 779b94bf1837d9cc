//! The history of finished tasks: its entries, their pruning, and statistics.

use super::TaskArtifact;
use crate::kernel::Timestamp;
use std::collections::BTreeSet;
use std::fmt;

/// Number of tasks that the history keeps, the newest.
pub const HISTORY_TASKS_MAX: usize = 100;
/// Age in days at which an entry is reduced to its summary.
pub const HISTORY_DAYS_FULL: i64 = 30;

const DAY_SECONDS: i64 = 24 * 60 * 60;
/// Fewest letters of a search term; shorter words are in every text.
const TERM_LETTERS_MIN: usize = 4;

named! {
    /// The result of a finished task.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TaskResult {
        /// Every step was completed.
        Success = "success",
        /// No step was completed.
        Failure = "failure",
        /// Some steps were completed.
        Partial = "partial",
    }
}

impl TaskResult {
    /// Derives the result from the steps: all completed is success, some partial, none failure. A
    /// plan without steps is a success.
    pub const fn of_steps(completed: usize, total: usize) -> TaskResult {
        if completed == total {
            TaskResult::Success
        } else if completed > 0 {
            TaskResult::Partial
        } else {
            TaskResult::Failure
        }
    }
}

/// Figures of one task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryMetrics {
    /// Number of steps of the plan.
    pub steps_total: usize,
    /// Number of completed steps.
    pub steps_completed: usize,
    /// Number of failed tries of all steps.
    pub retries: u32,
    /// Tokens used, if they were reported.
    pub tokens_used: Option<u64>,
}

/// The part of an entry that is removed with age.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryDetails {
    /// Files and data that the task made.
    pub artifacts: Vec<TaskArtifact>,
    /// Figures of the task.
    pub metrics: HistoryMetrics,
    /// Lessons for later tasks.
    pub lessons: Vec<String>,
}

/// A finished task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Id of the task.
    pub id: String,
    /// Name of the task.
    pub name: String,
    /// Result of the task.
    pub result: TaskResult,
    /// Time at which it became the current task.
    pub started_at: Timestamp,
    /// Time at which the task was finished.
    pub completed_at: Timestamp,
    /// Whole seconds from start to finish.
    pub duration_seconds: i64,
    /// Summary of the work.
    pub summary: String,
    /// Further details; removed from old entries.
    pub details: Option<HistoryDetails>,
}

/// The summary of a task that was finished without one. An entry stores its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultSummary {
    /// Some steps, or all, are completed.
    Steps {
        /// Number of completed steps.
        completed: usize,
        /// Number of all steps.
        total: usize,
    },
    /// The task was cancelled.
    Cancelled,
}

impl DefaultSummary {
    /// Reads a stored summary; `None` if a person or an agent wrote it.
    pub fn parse(summary: &str) -> Option<DefaultSummary> {
        let read = match summary.split_once(" of ") {
            Some((completed, rest)) => DefaultSummary::Steps {
                completed: completed.parse().ok()?,
                total: rest.split(' ').next()?.parse().ok()?,
            },
            None => DefaultSummary::Cancelled,
        };
        (read.to_string() == summary).then_some(read)
    }
}

impl fmt::Display for DefaultSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefaultSummary::Steps { completed, total } => {
                write!(f, "{completed} of {total} steps completed")
            }
            DefaultSummary::Cancelled => f.write_str("cancelled"),
        }
    }
}

/// Returns finished tasks with lessons for work on `text`: those that share the most words with it
/// first, the newest of equals first.
pub fn find_similar<'h>(entries: &'h [HistoryEntry], text: &str) -> Vec<&'h HistoryEntry> {
    let wanted = search_terms(text);
    let shared = |entry: &HistoryEntry| {
        let own = search_terms(&format!("{} {}", entry.name, entry.summary));
        wanted.intersection(&own).count()
    };
    let teaches = |entry: &&HistoryEntry| {
        let details = entry.details.as_ref();
        details.is_some_and(|details| !details.lessons.is_empty())
    };
    let mut found: Vec<(usize, &HistoryEntry)> = entries
        .iter()
        .filter(teaches)
        .map(|entry| (shared(entry), entry))
        .filter(|(count, _)| *count > 0)
        .collect();
    found.sort_by_key(|(count, entry)| std::cmp::Reverse((*count, entry.completed_at)));
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// Returns the search terms of a text: long ASCII words as they are, and pairs of letters of other
/// words, because those may carry endings, as in Korean.
fn search_terms(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    let mut terms = BTreeSet::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        if word.is_ascii() {
            if word.len() >= TERM_LETTERS_MIN {
                terms.insert(word.to_owned());
            }
            continue;
        }
        let letters: Vec<char> = word.chars().collect();
        terms.extend(
            letters
                .windows(2)
                .map(|pair| pair.iter().collect::<String>()),
        );
    }
    terms
}

/// Statistics of the history. They cover exactly the entries that are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HistoryStatistics {
    /// Number of entries.
    pub total_tasks: usize,
    /// Share of successes, from 0 to 1; 0 without entries.
    pub success_rate: f64,
    /// Mean duration, rounded to whole seconds; 0 without entries.
    pub avg_duration_seconds: i64,
}

/// Computes the statistics of a history.
pub fn compute_statistics(entries: &[HistoryEntry]) -> HistoryStatistics {
    let total = entries.len();
    if total == 0 {
        return HistoryStatistics::default();
    }
    let successes = entries
        .iter()
        .filter(|entry| entry.result == TaskResult::Success)
        .count();
    // Sums of hand-written durations may not fit 64 bits.
    let seconds: i128 = entries
        .iter()
        .map(|entry| i128::from(entry.duration_seconds.max(0)))
        .sum();
    let count = total as i128;
    HistoryStatistics {
        total_tasks: total,
        success_rate: successes as f64 / total as f64,
        avg_duration_seconds: i64::try_from((seconds + count / 2) / count).unwrap_or(i64::MAX),
    }
}

/// Adds an entry, unless one with its id exists, because the effect may run twice. Returns true if
/// it was added.
pub fn push_entry(entries: &mut Vec<HistoryEntry>, entry: HistoryEntry) -> bool {
    let fresh = entries.iter().all(|known| known.id != entry.id);
    if fresh {
        entries.push(entry);
    }
    fresh
}

/// The outcome of pruning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrunedHistory {
    /// Ids of removed entries.
    pub removed: Vec<String>,
    /// Ids of entries reduced to their summary.
    pub summarised: Vec<String>,
}

/// Keeps the newest [`HISTORY_TASKS_MAX`] entries, and only the summary of those that ended
/// [`HISTORY_DAYS_FULL`] days ago or earlier. The order of the rest does not change.
pub fn prune_history(entries: &mut Vec<HistoryEntry>, at: Timestamp) -> PrunedHistory {
    let mut pruned = PrunedHistory::default();
    let mut newest: Vec<usize> = (0..entries.len()).collect();
    // Of two that ended at the same time the later one in the file is the newer.
    newest.sort_by_key(|&place| std::cmp::Reverse((entries[place].completed_at, place)));
    let mut kept = vec![false; entries.len()];
    for &place in newest.iter().take(HISTORY_TASKS_MAX) {
        kept[place] = true;
    }
    let mut place = 0;
    entries.retain(|entry| {
        let keep = kept[place];
        place += 1;
        if !keep {
            pruned.removed.push(entry.id.clone());
        }
        keep
    });
    for entry in entries {
        let age = at.seconds_since(entry.completed_at);
        if age >= HISTORY_DAYS_FULL * DAY_SECONDS && entry.details.take().is_some() {
            pruned.summarised.push(entry.id.clone());
        }
    }
    pruned
}
