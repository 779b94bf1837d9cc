//! The grammar of single lines. Every function takes one line without its line end and copies
//! nothing.

use super::event::{CodeFence, MarkerName};

/// A line that begins a message, if its nonce is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkerOpening<'a> {
    pub(super) head: MessageHead<'a>,
    pub(super) nonce: Option<&'a [u8]>,
}

/// The kind of message that a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageHead<'a> {
    /// `=== PHASE N COMPLETE ===`; `None` if the number is out of range.
    Phase(Option<u32>),
    /// `=== CUSTOM TASK COMPLETE ===`
    Custom,
    /// `=== VERIFICATION_RESULT ===`
    Verification,
    /// `[NAME]` or `[NAME_JSON]`, with the text after the tag if the message begins on that line.
    Block {
        block: BracketMessage,
        json: bool,
        rest: &'a [u8],
    },
    /// `[NAME] field: value, …`, or a whole JSON message on one line.
    OneLine {
        block: BracketMessage,
        json: bool,
        text: &'a [u8],
        closed: bool,
    },
}

impl MessageHead<'_> {
    pub(super) fn marker(&self) -> MarkerName {
        match self {
            Self::Phase(_) => MarkerName::PhaseComplete,
            Self::Custom => MarkerName::CustomComplete,
            Self::Verification => MarkerName::VerificationResult,
            Self::Block { block, .. } | Self::OneLine { block, .. } => block.marker(),
        }
    }

    /// Returns the spelling used in an error about the message that this opening interrupted.
    pub(super) fn error_spelling(&self) -> &'static str {
        match self {
            Self::Phase(_) => "=== PHASE N COMPLETE ===",
            Self::Custom => "=== CUSTOM TASK COMPLETE ===",
            Self::Verification => "=== VERIFICATION_RESULT ===",
            Self::Block { block, .. } | Self::OneLine { block, .. } => block.opening_tag(),
        }
    }
}

/// The messages in square brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BracketMessage {
    DependencyRequest,
    UserQuestion,
    Error,
}

impl BracketMessage {
    const ALL: [Self; 3] = [Self::DependencyRequest, Self::UserQuestion, Self::Error];

    pub(super) fn marker(self) -> MarkerName {
        match self {
            Self::DependencyRequest => MarkerName::DependencyRequest,
            Self::UserQuestion => MarkerName::UserQuestion,
            Self::Error => MarkerName::Error,
        }
    }

    fn name(self) -> &'static str {
        self.marker().name()
    }

    fn opening_tag(self) -> &'static str {
        match self {
            Self::DependencyRequest => "[DEPENDENCY_REQUEST]",
            Self::UserQuestion => "[USER_QUESTION]",
            Self::Error => "[ERROR]",
        }
    }

    /// Returns the field names of this message, at most [`KEYS_MAX`].
    pub(super) fn field_keys(self) -> &'static [FieldKey] {
        match self {
            Self::DependencyRequest => &[
                FieldKey::Type,
                FieldKey::Name,
                FieldKey::Description,
                FieldKey::Required,
                FieldKey::Default,
            ],
            Self::UserQuestion => &[
                FieldKey::Category,
                FieldKey::Question,
                FieldKey::Options,
                FieldKey::Default,
                FieldKey::Required,
            ],
            Self::Error => &[
                FieldKey::Type,
                FieldKey::Message,
                FieldKey::Details,
                FieldKey::Recovery,
                FieldKey::RetryAfter,
                FieldKey::ResetAt,
            ],
        }
    }
}

/// Maximum number of fields of a message.
pub(super) const KEYS_MAX: usize = 6;

/// The field names of all messages in square brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldKey {
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

impl FieldKey {
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
pub(super) fn parse_opening(line: &[u8]) -> Option<MarkerOpening<'_>> {
    match line.first()? {
        b'[' => bracket_opening(line),
        b'=' => parse_banner(line),
        _ => None,
    }
}

fn parse_banner(line: &[u8]) -> Option<MarkerOpening<'_>> {
    let inner = line
        .trim_ascii_end()
        .strip_prefix(b"=== ")?
        .strip_suffix(b" ===")?;
    let mut words = split_words(inner);
    let head = match words.next()? {
        b"PHASE" => {
            let digits = words.next()?;
            if !digits.iter().all(u8::is_ascii_digit) || words.next()? != b"COMPLETE" {
                return None;
            }
            MessageHead::Phase(parse_number(digits).filter(|n| *n > 0))
        }
        b"CUSTOM" if words.next()? == b"TASK" && words.next()? == b"COMPLETE" => {
            MessageHead::Custom
        }
        b"VERIFICATION_RESULT" => MessageHead::Verification,
        _ => return None,
    };
    let nonce = parse_nonce(words)?;
    Some(MarkerOpening { head, nonce })
}

fn bracket_opening(line: &[u8]) -> Option<MarkerOpening<'_>> {
    // The name follows the bracket directly: `[ ERROR]` is prose, and `[/ERROR]` opens nothing.
    if !line.get(1)?.is_ascii_uppercase() {
        return None;
    }
    let close = memchr::memchr(b']', line)?;
    let mut words = split_words(&line[1..close]);
    let name = words.next()?;
    let (block, json) = BracketMessage::ALL.into_iter().find_map(|block| {
        match name.strip_prefix(block.name().as_bytes())? {
            b"" => Some((block, false)),
            b"_JSON" => Some((block, true)),
            _ => None,
        }
    })?;
    let nonce = parse_nonce(words)?;
    let rest = line[close + 1..].trim_ascii();
    let begins_here = if json {
        rest.starts_with(b"{")
    } else {
        known_key(rest, block.field_keys()).is_some()
    };
    let head = if rest.is_empty() {
        MessageHead::Block { block, json, rest }
    } else if !begins_here {
        // `[ERROR] could not connect` is a log line, not a marker.
        return None;
    } else {
        let unclosed = strip_closing(rest, block);
        match (unclosed, json) {
            (None, true) => MessageHead::Block { block, json, rest },
            (text, _) => MessageHead::OneLine {
                block,
                json,
                text: text.unwrap_or(rest),
                closed: text.is_some(),
            },
        }
    };
    Some(MarkerOpening { head, nonce })
}

/// Returns `text` without the closing tag of `block` at its end, or `None` if there is none.
fn strip_closing(text: &[u8], block: BracketMessage) -> Option<&[u8]> {
    let tag = memchr::memrchr(b'[', text)?;
    (closes_message(&text[tag..], block) && text.ends_with(b"]"))
        .then(|| text[..tag].trim_ascii_end())
}

/// True if `line` begins with the closing tag of `block`. Either spelling closes either form.
pub(super) fn closes_message(line: &[u8], block: BracketMessage) -> bool {
    let Some(rest) = line
        .strip_prefix(b"[/")
        .and_then(|rest| rest.strip_prefix(block.name().as_bytes()))
    else {
        return false;
    };
    let rest = rest.strip_prefix(b"_JSON").unwrap_or(rest);
    memchr::memchr(b']', rest).is_some_and(|close| {
        rest[..close].is_empty()
            || (rest[0].is_ascii_whitespace() && parse_nonce(split_words(&rest[..close])).is_some())
    })
}

/// Parses the rest of a marker's tag: nothing, or `nonce=VALUE`. Returns `None` for anything else.
fn parse_nonce<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Option<Option<&'a [u8]>> {
    let Some(word) = words.next() else {
        return Some(None);
    };
    let nonce = word.strip_prefix(b"nonce=")?;
    words.next().is_none().then_some(Some(nonce))
}

fn split_words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

/// Finds the key of `keys` with which `text` begins, in any case; returns its index and the text
/// after its colon.
pub(super) fn known_key<'a>(text: &'a [u8], keys: &[FieldKey]) -> Option<(usize, &'a [u8])> {
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
pub(super) enum ProgressLine<'a> {
    Step { step: u32, of: u32, name: &'a [u8] },
    PhaseStarting { phase: u32, name: &'a [u8] },
}

/// Parses `Step 3/9: name`, `Step 3 of 9: name` or `Starting Phase 2: name`.
pub(super) fn parse_progress(line: &[u8]) -> Option<ProgressLine<'_>> {
    if let Some(rest) = line.strip_prefix(b"Step ") {
        let (step, rest) = leading_number(rest)?;
        let rest = rest
            .strip_prefix(b"/")
            .or_else(|| rest.strip_prefix(b" of "))?;
        let (of, rest) = leading_number(rest)?;
        let name = rest.strip_prefix(b":")?.trim_ascii();
        (!name.is_empty()).then_some(ProgressLine::Step { step, of, name })
    } else {
        let rest = line.strip_prefix(b"Starting Phase ")?;
        let (phase, rest) = leading_number(rest)?;
        let name = rest.strip_prefix(b":")?.trim_ascii();
        (!name.is_empty()).then_some(ProgressLine::PhaseStarting { phase, name })
    }
}

fn leading_number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    Some((parse_number(&text[..digits])?, &text[digits..]))
}

fn parse_number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Parses `line` as the opening of a code fence.
pub(super) fn fence_opening(line: &[u8]) -> Option<CodeFence> {
    let (fence, rest) = fence_run(line)?;
    // A backtick in the info string makes it inline code: ```` ```like this``` ````.
    (fence.tilde || memchr::memchr(b'`', rest).is_none()).then_some(fence)
}

/// True if `line` closes `fence`.
pub(super) fn fence_closing(line: &[u8], fence: CodeFence) -> bool {
    fence_run(line).is_some_and(|(run, rest)| {
        run.tilde == fence.tilde
            && run.length >= fence.length
            && rest.iter().all(u8::is_ascii_whitespace)
    })
}

fn fence_run(line: &[u8]) -> Option<(CodeFence, &[u8])> {
    let indent = line.iter().take(4).take_while(|b| **b == b' ').count();
    let line = &line[indent..];
    let mark = *line.first().filter(|b| matches!(b, b'`' | b'~'))?;
    let length = line.iter().take_while(|b| **b == mark).count();
    if indent > 3 || length < 3 {
        return None;
    }
    let fence = CodeFence {
        tilde: mark == b'~',
        length: u32::try_from(length).unwrap_or(u32::MAX),
    };
    Some((fence, &line[length..]))
}
