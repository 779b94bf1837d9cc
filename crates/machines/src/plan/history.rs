//! The history of tasks: what is kept of a task that is over, for how long, and what the whole of it says.

use super::Artifact;
use crate::kernel::Timestamp;
use std::collections::BTreeSet;

/// Tasks the history keeps, the newest.
pub const HISTORY_TASKS_MAX: usize = 100;
/// Days after which only the summary of a task is kept.
pub const HISTORY_DAYS_FULL: i64 = 30;

const DAY_SECONDS: i64 = 24 * 60 * 60;
/// Shorter words are in every text.
const TERM_LETTERS_MIN: usize = 4;

named! {
    /// What a task came to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TaskResult {
        /// Everything was done.
        Success = "success",
        /// Nothing was done.
        Failure = "failure",
        /// Some was done.
        Partial = "partial",
    }
}

impl TaskResult {
    /// What the steps say: all completed is success, some partial, none failure. A plan without steps left nothing open.
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

/// Numbers of one task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryMetrics {
    /// Steps of the plan.
    pub steps_total: usize,
    /// Those completed.
    pub steps_completed: usize,
    /// Failed tries of all steps.
    pub retries: u32,
    /// Tokens spent, where somebody said.
    pub tokens_used: Option<u64>,
}

/// The part of an entry that is dropped with age.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryDetails {
    /// What the task made.
    pub artifacts: Vec<Artifact>,
    /// Its numbers.
    pub metrics: HistoryMetrics,
    /// What to do better next time.
    pub lessons: Vec<String>,
}

/// A task that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Its id.
    pub id: String,
    /// What it was called.
    pub name: String,
    /// What it came to.
    pub result: TaskResult,
    /// When it became the current task.
    pub started_at: Timestamp,
    /// When it was over.
    pub completed_at: Timestamp,
    /// How long it took.
    pub duration_seconds: i64,
    /// What was done.
    pub summary: String,
    /// Everything else; gone from old entries.
    pub details: Option<HistoryDetails>,
}

/// Finished tasks that have something to teach whoever works on `text`: those that share the most words with it first, the
/// newest of equals first.
pub fn similar<'h>(entries: &'h [HistoryEntry], text: &str) -> Vec<&'h HistoryEntry> {
    let wanted = terms(text);
    let shared = |entry: &HistoryEntry| {
        let own = terms(&format!("{} {}", entry.name, entry.summary));
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

/// Words that say what a text is about: long ones as they are, and pairs of letters where words carry endings, as in Korean.
fn terms(text: &str) -> BTreeSet<String> {
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

/// What the whole history says. It covers exactly the entries that are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Statistics {
    /// Entries.
    pub total_tasks: usize,
    /// Successes among them, from 0 to 1; 0 without entries.
    pub success_rate: f64,
    /// Mean duration, rounded to whole seconds; 0 without entries.
    pub avg_duration_seconds: i64,
}

/// Numbers of a history.
pub fn statistics(entries: &[HistoryEntry]) -> Statistics {
    let total = entries.len();
    if total == 0 {
        return Statistics::default();
    }
    let successes = entries
        .iter()
        .filter(|entry| entry.result == TaskResult::Success)
        .count();
    // Sums of hand-made durations may not fit 64 bits.
    let seconds: i128 = entries
        .iter()
        .map(|entry| i128::from(entry.duration_seconds.max(0)))
        .sum();
    let count = total as i128;
    Statistics {
        total_tasks: total,
        success_rate: successes as f64 / total as f64,
        avg_duration_seconds: i64::try_from((seconds + count / 2) / count).unwrap_or(i64::MAX),
    }
}

/// Adds an entry, unless one with its id is there: the effect may come twice. Tells whether it was added.
pub fn push(entries: &mut Vec<HistoryEntry>, entry: HistoryEntry) -> bool {
    let fresh = entries.iter().all(|known| known.id != entry.id);
    if fresh {
        entries.push(entry);
    }
    fresh
}

/// What pruning did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Ids of entries that are gone.
    pub removed: Vec<String>,
    /// Ids of entries of which only the summary is left.
    pub summarised: Vec<String>,
}

/// Keeps the newest [`HISTORY_TASKS_MAX`] entries, and of those that ended [`HISTORY_DAYS_FULL`] days ago or earlier
/// only the summary. The order of the rest does not change.
pub fn prune(entries: &mut Vec<HistoryEntry>, at: Timestamp) -> Pruned {
    let mut pruned = Pruned::default();
    let mut newest: Vec<usize> = (0..entries.len()).collect();
    // Of two that ended together the later in the file is the newer.
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
