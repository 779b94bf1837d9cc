//! Ticking tasks: one byte per task changes, and nothing else.

use super::parse::parse;

/// Why a task cannot be ticked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TickError {
    /// The file has no task of this id.
    #[error("no task `{id}`")]
    UnknownTask {
        /// The id that was asked for.
        id: String,
    },
    /// The header has no tick box, or one that holds no single-byte mark.
    #[error("task `{id}` on line {line} has no tick box")]
    NoTickBox {
        /// The id that was asked for.
        id: String,
        /// The line of its header.
        line: usize,
    },
}

impl TickError {
    /// The stable name of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownTask { .. } => "unknown_task",
            Self::NoTickBox { .. } => "no_tick_box",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownTask { .. } => "list the ids with `bowline orchestrate status`",
            Self::NoTickBox { .. } => "write the header as `### [ ] ID: title`",
        }
    }
}

/// The text with the box of one task ticked (`x`) or cleared (a space). A box that already says so stays as it is.
///
/// # Errors
/// [`TickError`] when the task is unknown or has no box.
pub fn set_tick(text: &str, id: &str, done: bool) -> Result<String, TickError> {
    set_ticks(text, [(id, done)])
}

/// The text with the boxes of several tasks set; the file is read once. On an error nothing is changed.
///
/// # Errors
/// [`TickError`] when one of the tasks is unknown or has no box.
pub fn set_ticks<'a>(
    text: &str,
    changes: impl IntoIterator<Item = (&'a str, bool)>,
) -> Result<String, TickError> {
    let file = parse(text);
    let mut marks = std::collections::BTreeMap::new();
    for (id, done) in changes {
        let task = file
            .task(id)
            .ok_or_else(|| TickError::UnknownTask { id: id.to_owned() })?;
        let tick = task.tick.ok_or_else(|| TickError::NoTickBox {
            id: id.to_owned(),
            line: task.line,
        })?;
        if task.done == done {
            marks.remove(&tick);
        } else {
            marks.insert(tick, if done { "x" } else { " " });
        }
    }
    let mut changed = String::with_capacity(text.len());
    let mut copied = 0;
    for (tick, mark) in marks {
        changed.push_str(&text[copied..tick]);
        changed.push_str(mark);
        copied = tick + mark.len();
    }
    changed.push_str(&text[copied..]);
    Ok(changed)
}
