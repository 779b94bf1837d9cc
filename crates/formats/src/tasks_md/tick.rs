//! Ticks tasks: changes the mark of a task in its own form, and nothing else.

use super::parse::parse_plan;
use super::status::{ProgressMark, TaskProgress};

/// Maximum distance of a status word behind its box to be changed with it: `[x] **DONE**`.
const JOINED_BYTES_MAX: usize = 4;

/// Reasons why a task cannot be ticked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TickError {
    /// The file has no task with this id.
    #[error("no task `{id}`")]
    UnknownTask { id: String },
    /// The plan has no mark that could state its progress.
    #[error("task `{id}` on line {line} has no tick box")]
    NoTickBox {
        id: String,
        /// Line number of its header.
        line: usize,
    },
}

impl TickError {
    /// Returns the stable error code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownTask { .. } => "unknown_task",
            Self::NoTickBox { .. } => "no_tick_box",
        }
    }
}

/// Returns the text with the box of one task ticked (`x`) or cleared (a space). A box in that state
/// is left unchanged.
///
/// # Errors
/// Fails with [`TickError`] if the task is unknown or has no box.
pub fn set_tick(text: &str, id: &str, done: bool) -> Result<String, TickError> {
    set_ticks(text, [(id, done)])
}

/// Returns the text with the boxes of several tasks set; the file is parsed once. On an error
/// nothing is changed.
///
/// # Errors
/// Fails with [`TickError`] if one of the tasks is unknown or has no box.
pub fn set_ticks<'a>(
    text: &str,
    changes: impl IntoIterator<Item = (&'a str, bool)>,
) -> Result<String, TickError> {
    let file = parse_plan(text);
    let mut marks = std::collections::BTreeMap::new();
    for (id, done) in changes {
        let task = file
            .task(id)
            .ok_or_else(|| TickError::UnknownTask { id: id.to_owned() })?;
        if task.marks.is_empty() {
            return Err(TickError::NoTickBox {
                id: id.to_owned(),
                line: task.line,
            });
        }
        for mark in &task.marks {
            marks.remove(&mark.at.start);
        }
        if task.done == done {
            continue;
        }
        // To mark a task done, one mark and the word beside its box change; to clear it, all marks
        // for done do.
        let says_done = |mark: &&ProgressMark| mark.says == TaskProgress::Done;
        let first = task.marks.first().map_or(0, |mark| mark.at.end);
        let beside = |mark: &&ProgressMark| {
            mark.at.start >= first && mark.at.start - first <= JOINED_BYTES_MAX
        };
        let changed: Vec<&ProgressMark> = match done {
            true => {
                let (first, more) = task.marks.split_at(1);
                first.iter().chain(more.iter().filter(beside)).collect()
            }
            false => task.marks.iter().filter(says_done).collect(),
        };
        for mark in changed {
            let written = if done { mark.when_done } else { mark.when_open };
            marks.insert(mark.at.start, (mark.at.end, written));
        }
    }
    let mut changed = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, (end, written)) in marks {
        changed.push_str(&text[copied..start]);
        changed.push_str(written);
        copied = end;
    }
    changed.push_str(&text[copied..]);
    Ok(changed)
}
