//! Task ids: which words may name a task, and what an id says about its phase.

use std::borrow::Borrow;
use std::fmt;

use serde::Serialize;

/// Longest task id that is accepted, in bytes.
pub const ID_BYTES_MAX: usize = 64;

/// Digits that still fit the number of a phase (`u32`) without a check for overflow.
const PHASE_DIGITS_MAX: usize = 9;

/// The name of a task: one word, safe inside every line of the wire protocol.
///
/// Letters and digits of any script, `_`, `-` and `.`; it starts with a letter or digit, ends with one (or `_`), has no
/// two dots in a row and at most [`ID_BYTES_MAX`] bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct TaskId(Box<str>);

/// The text is not a task id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a task id")]
pub struct BadTaskId {
    /// What was given.
    pub text: String,
}

impl BadTaskId {
    /// The stable name of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "bad_task_id"
    }
}

impl TaskId {
    /// Accepts `text` if it may name a task.
    ///
    /// # Errors
    /// [`BadTaskId`] when it is empty, too long, or holds a character that an id may not have.
    pub fn new(text: &str) -> Result<Self, BadTaskId> {
        if is_token(text) {
            Ok(Self(text.into()))
        } else {
            Err(BadTaskId {
                text: text.chars().take(ID_BYTES_MAX).collect(),
            })
        }
    }

    /// The id as it is written in the file.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the id has one of the shapes that are read as a task id wherever they stand: `T1.3`, `T0.5.2`, `P1-R2-T3`.
    #[must_use]
    pub fn has_known_shape(&self) -> bool {
        is_known(&self.0)
    }

    /// The first number in the id, which is the phase of an id of a known shape.
    #[must_use]
    pub fn first_number(&self) -> Option<u32> {
        let digits = self.0.trim_start_matches(|c: char| !c.is_ascii_digit());
        leading_number(digits).map(|(number, _)| number)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for TaskId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for TaskId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for TaskId {
    type Err = BadTaskId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.0.into()
    }
}

/// The phase that an id of a known shape tells by itself.
pub(crate) fn phase_told_by(text: &str) -> Option<u32> {
    is_known(text)
        .then(|| leading_number(&text[1..]))
        .flatten()
        .map(|(number, _)| number)
}

/// A character that may stand inside an id.
pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The longest run of id characters at the start of `text`.
pub(super) fn leading_word(text: &str) -> &str {
    let end = text.find(|c| !is_word_char(c)).unwrap_or(text.len());
    &text[..end]
}

/// Whether `text` as a whole may name a task.
pub(super) fn is_token(text: &str) -> bool {
    text.len() <= ID_BYTES_MAX
        && text.starts_with(char::is_alphanumeric)
        && text.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        && text.chars().all(is_word_char)
        && !text.contains("..")
}

/// Whether `text` as a whole has a known shape.
pub(super) fn is_known(text: &str) -> bool {
    known_prefix(text) == Some(text.len()) && text.len() <= ID_BYTES_MAX
}

/// Length of the longest prefix of a known shape: `T` number (`.` number)*, or `P` number (`-` part)+ with parts such as
/// `R2`, `T0.1`, `V`.
pub(super) fn known_prefix(text: &str) -> Option<usize> {
    if let Some(rest) = text.strip_prefix('T') {
        let (_, length) = leading_number(rest)?;
        return Some(1 + length + dotted_numbers(&rest[length..]));
    }
    let rest = text.strip_prefix('P')?;
    let (_, length) = leading_number(rest)?;
    let parts = dashed_parts(&rest[length..]);
    (parts > 0).then_some(1 + length + parts)
}

/// The decimal number at the start of `text`, and its length; none if it is absurdly long.
pub(super) fn leading_number(text: &str) -> Option<(u32, usize)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 || length > PHASE_DIGITS_MAX {
        return None;
    }
    Some((text[..length].parse().ok()?, length))
}

/// Length of the `.1.2` that `text` starts with.
pub(super) fn dotted_numbers(text: &str) -> usize {
    let mut taken = 0;
    while let Some(rest) = text[taken..].strip_prefix('.') {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            break;
        }
        taken += 1 + digits;
    }
    taken
}

/// Length of the `-R2-T3` that `text` starts with.
fn dashed_parts(text: &str) -> usize {
    let mut taken = 0;
    while let Some(rest) = text[taken..].strip_prefix('-') {
        let letters = rest.bytes().take_while(u8::is_ascii_uppercase).count();
        if letters == 0 {
            break;
        }
        let rest = &rest[letters..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let dotted = if digits == 0 {
            0
        } else {
            dotted_numbers(&rest[digits..])
        };
        taken += 1 + letters + digits + dotted;
    }
    taken
}
