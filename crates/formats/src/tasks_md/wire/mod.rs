//! The one-line protocol between the main agent, the resolver (which task next?) and the executor (do this task).
//!
//! Every message is a type with `FromStr` and `Display`; what is printed is read back as the same value, and no value can
//! print a line break into a one-line message.

mod reply;
mod task;

pub use reply::{ErrorCode, Ready, ReadyTask, ResolveReply};
pub use task::{REASON_CHARS_MAX, Stat, TaskReply, TaskRequest};

use std::fmt;

use super::id::{BadTaskId, TaskId};

/// Longest detail of an `ERROR:` line, in characters.
pub const DETAIL_CHARS_MAX: usize = 500;

/// Longest part of a refused message that its error repeats, in characters.
const QUOTE_CHARS_MAX: usize = 80;

/// Why a message was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It does not start with the word of this kind of message, or has parts that do not belong there.
    #[error("`{text}` is not {expected}")]
    NotThis {
        /// What was read, shortened.
        text: String,
        /// What would have been understood.
        expected: &'static str,
    },
    /// An id in it is none.
    #[error("bad id in a message")]
    BadId(#[source] BadTaskId),
    /// The `META:` line is not a JSON object on one line.
    #[error("metadata is not a JSON object on one line: `{text}`")]
    BadMeta {
        /// What was read, shortened.
        text: String,
    },
    /// The path has a control character, or starts or ends with a space.
    #[error("worktree path does not fit one line: `{text}`")]
    BadWorktree {
        /// What was given, shortened.
        text: String,
    },
}

impl WireError {
    /// The stable name of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotThis { .. } => "wire_unknown_message",
            Self::BadId(_) => "wire_bad_id",
            Self::BadMeta { .. } => "wire_bad_meta",
            Self::BadWorktree { .. } => "wire_bad_worktree",
        }
    }

    fn not_this(text: &str, expected: &'static str) -> Self {
        Self::NotThis {
            text: quote(text),
            expected,
        }
    }
}

fn quote(text: &str) -> String {
    OneLine::new(text, QUOTE_CHARS_MAX).0
}

fn id(text: &str) -> Result<TaskId, WireError> {
    TaskId::new(text.trim()).map_err(WireError::BadId)
}

/// Text that fits one line: no control characters, no outer space.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OneLine(String);

impl OneLine {
    /// Makes a line of `text`: control characters and line breaks become spaces, outer space goes, and what is beyond
    /// `chars_max` characters is cut off.
    #[must_use]
    pub fn new(text: &str, chars_max: usize) -> Self {
        let flat: String = text
            .chars()
            .map(|c| if is_break(c) { ' ' } else { c })
            .collect();
        let cut: String = flat.trim().chars().take(chars_max).collect();
        Self(cut.trim_end().to_owned())
    }

    /// The line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for OneLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Characters that end a line somewhere, or that a terminal acts upon.
fn is_break(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Prints ids with commas between them.
fn write_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, list: &[T]) -> fmt::Result {
    for (at, entry) in list.iter().enumerate() {
        if at > 0 {
            f.write_str(",")?;
        }
        write!(f, "{entry}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
