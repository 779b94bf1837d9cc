//! Parser for the structured protocols: one JSON object per line.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::{Event, ProtocolError, Resume, TurnEnd, What};
use super::lines::{Line, Lines};
use super::words::Words;
use super::{acp, claude, codex};

/// Characters of an unreadable line that its error report repeats.
const SHOWN_CHARS_MAX: usize = 120;

/// The structured protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Claude,
    Codex,
    Acp,
}

impl Dialect {
    /// Returns the prefixes of lines that carry no event. These are the long ones: tool output, and
    /// chunks of text that is sent whole later.
    fn dull(self) -> &'static [&'static [u8]] {
        match self {
            Self::Claude => &[br#"{"type":"user","#, br#"{"type":"stream_event","#],
            Self::Codex => &[br#"{"type":"item.updated","#],
            Self::Acp => &[],
        }
    }
}

/// Parser for the output of one client.
#[derive(Debug)]
pub(super) struct Stream {
    dialect: Dialect,
    lines: Lines,
    words: Words,
    talk: acp::Talk,
    position: Position,
}

/// Position of the next event.
#[derive(Debug)]
struct Position {
    /// Position at which parsing can restart, with the number of events reported since.
    resume: Resume,
    /// Events still to be suppressed, because an earlier adapter reported them.
    skip: u32,
}

impl Position {
    fn report(&mut self, start: u64, what: What<'_>, sink: &mut impl FnMut(Event<'_>)) {
        self.resume.skip += 1;
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        sink(Event {
            start,
            resume: self.resume,
            what,
        });
    }
}

impl Stream {
    pub(super) fn new(dialect: Dialect, nonce: Option<String>, resume: Resume) -> Self {
        Self {
            dialect,
            lines: Lines::at(resume.at.offset, dialect.dull()),
            words: Words::new(nonce, resume.at.nonce_used),
            // No resume position lies before the session is open, see `is_open`.
            talk: acp::Talk::new(dialect != Dialect::Acp || resume.at.offset > 0),
            position: Position {
                resume: Resume { skip: 0, ..resume },
                skip: resume.skip,
            },
        }
    }

    pub(super) fn resume(&self) -> Resume {
        // Between two texts, lines before the current one are not needed any more, unless the
        // current line was already reported.
        let reported = self.position.resume.at.offset == self.lines.line_start();
        if !is_open(&self.words, &self.talk) && self.position.skip == 0 && !reported {
            return self.between_texts();
        }
        let mut resume = self.position.resume;
        resume.skip += self.position.skip;
        resume
    }

    fn between_texts(&self) -> Resume {
        let mut resume = Resume::default();
        resume.at.offset = self.lines.line_start();
        resume.at.nonce_used = self.words.nonce_used();
        resume
    }

    pub(super) fn offset(&self) -> u64 {
        self.lines.offset()
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        self.lines.buffered_bytes() + self.words.buffered_bytes() + self.talk.buffered_bytes()
    }

    pub(super) fn push(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        loop {
            let before = self.between_texts();
            let Self {
                dialect,
                lines,
                words,
                talk,
                position,
            } = self;
            let more = lines.next(&mut bytes, |start, line| {
                read(*dialect, (words, talk), position, before, start, line, sink);
            });
            if !more {
                return;
            }
        }
    }

    pub(super) fn finish(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        let before = self.between_texts();
        let Self {
            dialect,
            lines,
            words,
            talk,
            position,
        } = self;
        if let Some((start, line)) = lines.last() {
            if serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok() {
                read(
                    *dialect,
                    (words, talk),
                    position,
                    before,
                    start,
                    Line::Whole(&line),
                    sink,
                );
            } else {
                begin_line(words, talk, position, before);
                position.report(start, What::ProtocolError(ProtocolError::Cut), sink);
            }
        }
        let start = lines.line_start();
        words.end(&mut |what| position.report(start, what, sink));
        talk.over(&mut |what| position.report(start, what, sink));
    }
}

/// True if earlier lines are needed to understand the next ones.
fn is_open(words: &Words, talk: &acp::Talk) -> bool {
    words.is_open() || talk.is_open()
}

/// Moves the resume position to this line, unless state from an earlier line is still open.
fn begin_line(words: &Words, talk: &acp::Talk, position: &mut Position, before: Resume) {
    if !is_open(words, talk) && position.skip == 0 {
        position.resume = before;
    }
}

fn read(
    dialect: Dialect,
    (words, talk): (&mut Words, &mut acp::Talk),
    position: &mut Position,
    before: Resume,
    start: u64,
    line: Line<'_>,
    sink: &mut impl FnMut(Event<'_>),
) {
    begin_line(words, talk, position, before);
    let mut emit = |what: What<'_>| position.report(start, what, sink);
    let line = match line {
        Line::Whole(line) => line.trim_ascii(),
        Line::TooLong => return emit(What::ProtocolError(ProtocolError::LineTooLong)),
    };
    if line.is_empty() {
        return;
    }
    let outcome = match dialect {
        Dialect::Claude => claude::read(line, words, &mut emit),
        Dialect::Codex => codex::read(line, words, &mut emit),
        Dialect::Acp => acp::read(line, words, talk, &mut emit),
    };
    if let Err(error) = outcome {
        let problem = error.to_string();
        let line = String::from_utf8_lossy(line)
            .chars()
            .take(SHOWN_CHARS_MAX)
            .collect();
        emit(What::ProtocolError(ProtocolError::Unreadable {
            problem,
            line,
        }));
    }
}

/// A JSON string, borrowed if it contains no escape.
///
/// A plain `Cow` inside an `Option` or a list would always be copied. A struct of such texts has to
/// declare once that it lives as long as its line.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl Text<'_> {
    pub(super) fn is(&self, word: &str) -> bool {
        self.0 == word
    }
}

/// Returns the text, or an empty one.
pub(super) fn or_empty(text: Option<Text<'_>>) -> Cow<'_, str> {
    text.map(|text| text.0).unwrap_or_default()
}

/// Returns a value as JSON; `null` for an absent one.
pub(super) fn raw(value: Option<&RawValue>) -> &str {
    value.map_or("null", RawValue::get)
}

/// The error object of a client.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    pub(super) message: Option<Text<'a>>,
}

/// True if the message describes a limit that is lifted by itself. Some clients give nothing but
/// text.
fn speaks_of_a_limit(message: &str) -> bool {
    let message = message.to_lowercase();
    ["usage limit", "rate limit", "429", "too many requests"]
        .iter()
        .any(|words| message.contains(words))
}

/// Reports the end of a turn that broke off with this message.
pub(super) fn broke_off(message: Cow<'_, str>, emit: &mut impl FnMut(What<'_>)) {
    let end = if speaks_of_a_limit(&message) {
        emit(What::Limit {
            until: None,
            retry_after_s: None,
            message,
        });
        TurnEnd::Limited
    } else {
        emit(What::Failed {
            message,
            details: None,
        });
        TurnEnd::Failed
    };
    emit(What::TurnEnded(end));
}
