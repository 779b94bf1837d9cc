//! Task ids: words that may name a task, and the phase that an id implies.

use std::borrow::Borrow;
use std::fmt;

use serde::Serialize;

/// Maximum length of a task id.
pub const ID_BYTES_MAX: usize = 64;

/// Maximum digits of a number; any such number fits a `u32`.
const PHASE_DIGITS_MAX: usize = 9;

/// The id of a task: one word, safe inside every line of the wire protocol.
///
/// It has letters and digits of any script, `_`, `-` and `.`; it starts with a letter or digit,
/// ends with one (or `_`), has no two dots in a row and at most [`ID_BYTES_MAX`] bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct TaskId(Box<str>);

/// The error for a text that is not a task id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a task id")]
pub struct BadTaskId {
    /// The text, cut to [`ID_BYTES_MAX`] characters.
    pub text: String,
}

impl BadTaskId {
    /// Returns the stable error code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "bad_task_id"
    }
}

impl TaskId {
    /// Creates an id if `text` may name a task.
    ///
    /// # Errors
    /// Fails with [`BadTaskId`] if it is empty, too long, or has a character that an id may not
    /// have.
    pub fn new(text: &str) -> Result<Self, BadTaskId> {
        if is_token(text) {
            Ok(Self(text.into()))
        } else {
            Err(BadTaskId {
                text: text.chars().take(ID_BYTES_MAX).collect(),
            })
        }
    }

    /// Returns the id as written in the file.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first number in the id, which is its phase if no heading gives one.
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

/// Returns the phase that an id itself states: `T1.3`, `P1-R2-T3`, `M0-T1`. A number alone (`T005`)
/// counts tasks, not phases.
pub(crate) fn phase_of_id(text: &str) -> Option<u32> {
    if id_certainty(text) != Some(IdCertainty::Strong) {
        return None;
    }
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (number, length) = leading_number(&text[letters..])?;
    let rest = &text[letters + length..];
    let counts_phases = match &text[..letters] {
        "T" => length < 3,
        "P" | "M" => rest.starts_with(['-', '.']),
        _ => false,
    };
    counts_phases.then_some(number)
}

/// Returns the id at the start of a longer text: `T1.1: title`.
pub(crate) fn id_at_start(text: &str) -> Option<&str> {
    let id = leading_id(text);
    let ends = !text[id.len()..].starts_with(|c: char| c.is_alphanumeric());
    (ends && id_certainty(id) == Some(IdCertainty::Strong)).then_some(id)
}

/// The certainty with which a word names a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IdCertainty {
    /// Numbers alone, `1.1`: an id only behind a box or the word "Task".
    Number,
    /// Letters and digits (`F12`, `AUTH-12`, `task-01`): an id if its position says so.
    Loose,
    /// An id in any position: `T1.3`, `P1-R2-T3`, `P5-Integration-T1`, `A0-1`.
    Strong,
}

/// True for characters that may stand inside an id.
pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Returns the longest run of id characters at the start of `text`.
pub(super) fn leading_word(text: &str) -> &str {
    let end = text.find(|c| !is_word_char(c)).unwrap_or(text.len());
    &text[..end]
}

/// Returns the run of ASCII id characters at the start of `text`, without trailing separators;
/// empty if it has no such start.
pub(super) fn leading_id(text: &str) -> &str {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    // Longer runs are no ids, and must not be scanned again from each of their parts.
    let near = text.bytes().take(2 * ID_BYTES_MAX);
    let length = near.take_while(inside).count();
    let word = &text[..length];
    // `T1.1..T1.3` is a range: the id ends before it.
    let word = word.split("..").next().unwrap_or_default();
    word.trim_end_matches(['.', '-', '_'])
}

/// True if `text` as a whole may name a task.
pub(super) fn is_token(text: &str) -> bool {
    text.len() <= ID_BYTES_MAX
        && text.starts_with(char::is_alphanumeric)
        && text.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        && text.chars().all(is_word_char)
        && !text.contains("..")
}

/// Returns the certainty with which `text` as a whole names a task; `None` for other words. `P0`
/// and `M1.5` are phases.
pub(super) fn id_certainty(text: &str) -> Option<IdCertainty> {
    let digits = text.bytes().any(|byte| byte.is_ascii_digit());
    if !digits || !text.is_ascii() || !is_token(text) {
        return None;
    }
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    if letters == 0 {
        let number = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
        return number.then_some(IdCertainty::Number);
    }
    let (name, rest) = text.split_at(letters);
    let number = rest.bytes().take_while(u8::is_ascii_digit).count();
    let dotted = dotted_numbers(&rest[number..]);
    let rest = &rest[number + dotted..];
    let phase = matches!(name, "P" | "M");
    let segments = rest
        .strip_prefix('-')
        .is_some_and(|it| strong_segments(it, phase));
    match name {
        "T" if number > 0 && (rest.is_empty() || one_letter(rest) || segments) => {
            Some(IdCertainty::Strong)
        }
        _ if phase && number > 0 && rest.is_empty() => None,
        _ if number > 0
            && letters <= 3
            && name.bytes().all(|it| it.is_ascii_uppercase())
            && segments =>
        {
            Some(IdCertainty::Strong)
        }
        _ => {
            let numbered = |word: &str| word.eq_ignore_ascii_case("task") || word == "T";
            let counted = number == 0
                && numbered(name)
                && rest
                    .strip_prefix(['-', '_'])
                    .is_some_and(|it| leading_number(it).is_some());
            Some(if counted {
                IdCertainty::Strong
            } else {
                IdCertainty::Loose
            })
        }
    }
}

/// True for segments such as `T3`, `S2-V`, `Integration-T1`, `E2E` and `1`. Each begins with a
/// capital or a digit. The last has a digit or is one letter; below a phase it may be a word.
fn strong_segments(text: &str, word_at_end: bool) -> bool {
    let begins = |it: &str| it.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit());
    let last = text.rsplit('-').next().unwrap_or_default();
    let ends = last.len() == 1 || last.bytes().any(|it| it.is_ascii_digit());
    text.split('-').all(begins) && (ends || word_at_end)
}

fn one_letter(text: &str) -> bool {
    text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// True if `longer` continues the id `shorter` with this character.
pub(super) fn continues_id(longer: &str, shorter: &str, by: char) -> bool {
    longer
        .strip_prefix(shorter)
        .is_some_and(|rest| rest.starts_with(by))
}

/// Splits off the last number of an id; returns the part before it, the number, and its digit
/// count.
pub(super) fn last_number(id: &str) -> Option<(&str, u32, usize)> {
    let digits = id.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, number) = id.split_at(id.len() - digits);
    leading_number(number).map(|(number, length)| (stem, number, length))
}

/// Parses the decimal number at the start of `text`, and returns its length too; `None` if it has
/// more than nine digits.
pub(super) fn leading_number(text: &str) -> Option<(u32, usize)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 || length > PHASE_DIGITS_MAX {
        return None;
    }
    Some((text[..length].parse().ok()?, length))
}

/// Returns the length of the `.1.2` at the start of `text`.
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
