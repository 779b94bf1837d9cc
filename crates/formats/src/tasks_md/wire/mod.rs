//! The one-line protocol between the main agent, the resolver (which selects the next task) and the
//! executor (which does it).
//!
//! Every message is a type with `FromStr` and `Display`; printed messages parse to the same value,
//! and no value can print a line break into a one-line message.

mod reply;
mod task;

pub use reply::{ErrorCode, ReadyGroups, ReadyTask, ResolveReply};
pub use task::{REASON_CHARS_MAX, TaskReply, TaskRequest, TaskStat};

use std::fmt;

use super::id::{BadTaskId, TaskId};

/// Maximum length of the detail of an `ERROR:` line.
pub const DETAIL_CHARS_MAX: usize = 500;

/// Maximum length of the part of an invalid message that its error quotes.
const QUOTE_CHARS_MAX: usize = 80;

/// Reasons why a message is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The text does not start with the word of this kind of message, or has unexpected parts.
    #[error("`{text}` is not {expected}")]
    NotThis {
        /// The message, shortened.
        text: String,
        /// Description of valid messages.
        expected: &'static str,
    },
    /// An id in the message is invalid.
    #[error("bad id in a message")]
    BadId(#[source] BadTaskId),
    /// The `META:` line is not a JSON object on one line.
    #[error("metadata is not a JSON object on one line: `{text}`")]
    BadMeta {
        /// The metadata, shortened.
        text: String,
    },
    /// The path has a control character, or starts or ends with a space.
    #[error("worktree path does not fit one line: `{text}`")]
    BadWorktree {
        /// The path, shortened.
        text: String,
    },
}

impl WireError {
    /// Returns the stable error code.
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
            text: quote_text(text),
            expected,
        }
    }
}

fn quote_text(text: &str) -> String {
    OneLine::new(text, QUOTE_CHARS_MAX).0
}

fn parse_id(text: &str) -> Result<TaskId, WireError> {
    TaskId::new(text.trim()).map_err(WireError::BadId)
}

/// Text that fits one line: no control characters, trimmed.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OneLine(String);

impl OneLine {
    /// Creates a line from `text`: control characters and line breaks become spaces, outer white
    /// space is removed, and the rest is cut to `chars_max` characters.
    #[must_use]
    pub fn new(text: &str, chars_max: usize) -> Self {
        let flat: String = text
            .chars()
            .map(|c| if is_break(c) { ' ' } else { c })
            .collect();
        let cut: String = flat.trim().chars().take(chars_max).collect();
        Self(cut.trim_end().to_owned())
    }

    /// Returns the text of the line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

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

/// True for characters that end a line somewhere, or that terminals interpret.
fn is_break(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Prints entries separated by commas.
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
