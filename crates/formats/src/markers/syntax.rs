//! The grammar of single lines. Every function takes one line without its line end and copies
//! nothing.

use super::event::{Fence, Marker};

/// A line that begins a message, if its nonce is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening<'a> {
    pub(super) head: Head<'a>,
    pub(super) nonce: Option<&'a [u8]>,
}

/// The kind of message that a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head<'a> {
    /// `=== PHASE N COMPLETE ===`; `None` if the number is out of range.
    Phase(Option<u32>),
    /// `=== CUSTOM TASK COMPLETE ===`
    Custom,
    /// `=== VERIFICATION_RESULT ===`
    Verification,
    /// `[NAME]` or `[NAME_JSON]`, with the text after the tag if the message begins on that line.
    Block {
        block: Block,
        json: bool,
        rest: &'a [u8],
    },
    /// `[NAME] field: value, …`, or a whole JSON message on one line.
    OneLine {
        block: Block,
        json: bool,
        text: &'a [u8],
        closed: bool,
    },
}

impl Head<'_> {
    pub(super) fn marker(&self) -> Marker {
        match self {
            Self::Phase(_) => Marker::PhaseComplete,
            Self::Custom => Marker::CustomComplete,
            Self::Verification => Marker::VerificationResult,
            Self::Block { block, .. } | Self::OneLine { block, .. } => block.marker(),
        }
    }

    /// Returns the spelling used in an error about the message that this opening interrupted.
    pub(super) fn spelled(&self) -> &'static str {
        match self {
            Self::Phase(_) => "=== PHASE N COMPLETE ===",
            Self::Custom => "=== CUSTOM TASK COMPLETE ===",
            Self::Verification => "=== VERIFICATION_RESULT ===",
            Self::Block { block, .. } | Self::OneLine { block, .. } => block.tag(),
        }
    }
}

/// The messages in square brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    DependencyRequest,
    UserQuestion,
    Error,
}

impl Block {
    const ALL: [Self; 3] = [Self::DependencyRequest, Self::UserQuestion, Self::Error];

    pub(super) fn marker(self) -> Marker {
        match self {
            Self::DependencyRequest => Marker::DependencyRequest,
            Self::UserQuestion => Marker::UserQuestion,
            Self::Error => Marker::Error,
        }
    }

    fn name(self) -> &'static str {
        self.marker().name()
    }

    fn tag(self) -> &'static str {
        match self {
            Self::DependencyRequest => "[DEPENDENCY_REQUEST]",
            Self::UserQuestion => "[USER_QUESTION]",
            Self::Error => "[ERROR]",
        }
    }

    /// Returns the field names of this message, at most [`KEYS_MAX`].
    pub(super) fn keys(self) -> &'static [Key] {
        match self {
            Self::DependencyRequest => &[
                Key::Type,
                Key::Name,
                Key::Description,
                Key::Required,
                Key::Default,
            ],
            Self::UserQuestion => &[
                Key::Category,
                Key::Question,
                Key::Options,
                Key::Default,
                Key::Required,
            ],
            Self::Error => &[
                Key::Type,
                Key::Message,
                Key::Details,
                Key::Recovery,
                Key::RetryAfter,
                Key::ResetAt,
            ],
        }
    }
}

/// Maximum number of fields of a message.
pub(super) const KEYS_MAX: usize = 6;

/// The field names of all messages in square brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Category,
    Default,
    Description,
    Details,
    Message,
    Name,
    Options,
    Question,
    Recovery,
    Required,
    ResetAt,
    RetryAfter,
    Type,
}

impl Key {
    /// Returns the name in lower case; agents may write it in any case.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Category => "category",
            Self::Default => "default",
            Self::Description => "description",
            Self::Details => "details",
            Self::Message => "message",
            Self::Name => "name",
            Self::Options => "options",
            Self::Question => "question",
            Self::Recovery => "recovery",
            Self::Required => "required",
            Self::ResetAt => "reset_at",
            Self::RetryAfter => "retry_after",
            Self::Type => "type",
        }
    }
}

/// Parses `line` as the beginning of a message.
pub(super) fn opening(line: &[u8]) -> Option<Opening<'_>> {
    match line.first()? {
        b'[' => bracket_opening(line),
        b'=' => banner(line),
        _ => None,
    }
}

fn banner(line: &[u8]) -> Option<Opening<'_>> {
    let inner = line
        .trim_ascii_end()
        .strip_prefix(b"=== ")?
        .strip_suffix(b" ===")?;
    let mut words = words(inner);
    let head = match words.next()? {
        b"PHASE" => {
            let digits = words.next()?;
            if !digits.iter().all(u8::is_ascii_digit) || words.next()? != b"COMPLETE" {
                return None;
            }
            Head::Phase(number(digits).filter(|n| *n > 0))
        }
        b"CUSTOM" if words.next()? == b"TASK" && words.next()? == b"COMPLETE" => Head::Custom,
        b"VERIFICATION_RESULT" => Head::Verification,
        _ => return None,
    };
    let nonce = attributes(words)?;
    Some(Opening { head, nonce })
}

fn bracket_opening(line: &[u8]) -> Option<Opening<'_>> {
    // The name follows the bracket directly: `[ ERROR]` is prose, and `[/ERROR]` opens nothing.
    if !line.get(1)?.is_ascii_uppercase() {
        return None;
    }
    let close = memchr::memchr(b']', line)?;
    let mut words = words(&line[1..close]);
    let name = words.next()?;
    let (block, json) = Block::ALL.into_iter().find_map(|block| {
        match name.strip_prefix(block.name().as_bytes())? {
            b"" => Some((block, false)),
            b"_JSON" => Some((block, true)),
            _ => None,
        }
    })?;
    let nonce = attributes(words)?;
    let rest = line[close + 1..].trim_ascii();
    let begins_here = if json {
        rest.starts_with(b"{")
    } else {
        known_key(rest, block.keys()).is_some()
    };
    let head = if rest.is_empty() {
        Head::Block { block, json, rest }
    } else if !begins_here {
        // `[ERROR] could not connect` is a log line, not a marker.
        return None;
    } else {
        let unclosed = strip_closing(rest, block);
        match (unclosed, json) {
            (None, true) => Head::Block { block, json, rest },
            (text, _) => Head::OneLine {
                block,
                json,
                text: text.unwrap_or(rest),
                closed: text.is_some(),
            },
        }
    };
    Some(Opening { head, nonce })
}

/// Returns `text` without the closing tag of `block` at its end, or `None` if there is none.
fn strip_closing(text: &[u8], block: Block) -> Option<&[u8]> {
    let tag = memchr::memrchr(b'[', text)?;
    (closes(&text[tag..], block) && text.ends_with(b"]")).then(|| text[..tag].trim_ascii_end())
}

/// True if `line` begins with the closing tag of `block`. Either spelling closes either form.
pub(super) fn closes(line: &[u8], block: Block) -> bool {
    let Some(rest) = line
        .strip_prefix(b"[/")
        .and_then(|rest| rest.strip_prefix(block.name().as_bytes()))
    else {
        return false;
    };
    let rest = rest.strip_prefix(b"_JSON").unwrap_or(rest);
    memchr::memchr(b']', rest).is_some_and(|close| {
        rest[..close].is_empty()
            || (rest[0].is_ascii_whitespace() && attributes(words(&rest[..close])).is_some())
    })
}

/// Parses the rest of a marker's tag: nothing, or `nonce=VALUE`. Returns `None` for anything else.
fn attributes<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Option<Option<&'a [u8]>> {
    let Some(word) = words.next() else {
        return Some(None);
    };
    let nonce = word.strip_prefix(b"nonce=")?;
    words.next().is_none().then_some(Some(nonce))
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

/// Finds the key of `keys` with which `text` begins, in any case; returns its index and the text
/// after its colon.
pub(super) fn known_key<'a>(text: &'a [u8], keys: &[Key]) -> Option<(usize, &'a [u8])> {
    let first = text.first()?.to_ascii_lowercase();
    let at = keys.iter().position(|key| {
        let key = key.as_str().as_bytes();
        // Most lines of a message differ from most keys in the first byte.
        key[0] == first
            && text.get(key.len()) == Some(&b':')
            && text[..key.len()].eq_ignore_ascii_case(key)
    })?;
    Some((at, &text[keys[at].as_str().len() + 1..]))
}

/// A progress line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress<'a> {
    Step { step: u32, of: u32, name: &'a [u8] },
    PhaseStarting { phase: u32, name: &'a [u8] },
}

/// Parses `Step 3/9: name`, `Step 3 of 9: name` or `Starting Phase 2: name`.
pub(super) fn progress(line: &[u8]) -> Option<Progress<'_>> {
    if let Some(rest) = line.strip_prefix(b"Step ") {
        let (step, rest) = leading_number(rest)?;
        let rest = rest
            .strip_prefix(b"/")
            .or_else(|| rest.strip_prefix(b" of "))?;
        let (of, rest) = leading_number(rest)?;
        let name = rest.strip_prefix(b":")?.trim_ascii();
        (!name.is_empty()).then_some(Progress::Step { step, of, name })
    } else {
        let rest = line.strip_prefix(b"Starting Phase ")?;
        let (phase, rest) = leading_number(rest)?;
        let name = rest.strip_prefix(b":")?.trim_ascii();
        (!name.is_empty()).then_some(Progress::PhaseStarting { phase, name })
    }
}

fn leading_number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    Some((number(&text[..digits])?, &text[digits..]))
}

fn number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Parses `line` as the opening of a code fence.
pub(super) fn fence_opening(line: &[u8]) -> Option<Fence> {
    let (fence, rest) = fence_run(line)?;
    // A backtick in the info string makes it inline code: ```` ```like this``` ````.
    (fence.tilde || memchr::memchr(b'`', rest).is_none()).then_some(fence)
}

/// True if `line` closes `fence`.
pub(super) fn fence_closing(line: &[u8], fence: Fence) -> bool {
    fence_run(line).is_some_and(|(run, rest)| {
        run.tilde == fence.tilde
            && run.length >= fence.length
            && rest.iter().all(u8::is_ascii_whitespace)
    })
}

fn fence_run(line: &[u8]) -> Option<(Fence, &[u8])> {
    let indent = line.iter().take(4).take_while(|b| **b == b' ').count();
    let line = &line[indent..];
    let mark = *line.first().filter(|b| matches!(b, b'`' | b'~'))?;
    let length = line.iter().take_while(|b| **b == mark).count();
    if indent > 3 || length < 3 {
        return None;
    }
    let fence = Fence {
        tilde: mark == b'~',
        length: u32::try_from(length).unwrap_or(u32::MAX),
    };
    Some((fence, &line[length..]))
}
