//! A structured protocol: one JSON object per line, whatever the client calls things.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::{Event, ProtocolError, Resume, TurnEnd, What};
use super::lines::{Line, Lines};
use super::words::Words;
use super::{acp, claude, codex};

/// Characters of an unreadable line that are repeated in the report about it.
const SHOWN_CHARS_MAX: usize = 120;

/// Which client's words for things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Claude,
    Codex,
    Acp,
}

impl Dialect {
    /// How lines begin that say nothing we report. They are the long ones: tool output, and pieces of what comes whole later.
    fn dull(self) -> &'static [&'static [u8]] {
        match self {
            Self::Claude => &[br#"{"type":"user","#, br#"{"type":"stream_event","#],
            Self::Codex => &[br#"{"type":"item.updated","#],
            Self::Acp => &[],
        }
    }
}

/// Reads one client's output.
#[derive(Debug)]
pub(super) struct Stream {
    dialect: Dialect,
    lines: Lines,
    words: Words,
    talk: acp::Talk,
    position: Position,
}

/// Which event comes next.
#[derive(Debug)]
struct Position {
    /// Where reading can begin again, and how many events behind it have been reported.
    resume: Resume,
    /// Events still to be passed over, because an earlier adapter reported them.
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
            // Nothing is resumed within what comes before a conversation, see `is_open`.
            talk: acp::Talk::new(dialect != Dialect::Acp || resume.at.offset > 0),
            position: Position {
                resume: Resume { skip: 0, ..resume },
                skip: resume.skip,
            },
        }
    }

    pub(super) fn resume(&self) -> Resume {
        // Between two texts nothing before the line being read matters any more, unless that line was reported itself.
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

/// What was read already is needed to understand what comes.
fn is_open(words: &Words, talk: &acp::Talk) -> bool {
    words.is_open() || talk.is_open()
}

/// Where reading can begin again moves to this line, unless something is open that began before it.
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

/// A JSON string, borrowed if nothing in it is escaped.
///
/// A plain `Cow` inside an `Option` or a list would always be copied. A struct of such texts has to say, once, that it lives as
/// long as the line it is read from.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl Text<'_> {
    pub(super) fn is(&self, word: &str) -> bool {
        self.0 == word
    }
}

/// The words in `text`, or nothing.
pub(super) fn or_empty(text: Option<Text<'_>>) -> Cow<'_, str> {
    text.map(|text| text.0).unwrap_or_default()
}

/// A value as JSON; one that is not there is `null`.
pub(super) fn raw(value: Option<&RawValue>) -> &str {
    value.map_or("null", RawValue::get)
}

/// What a client says of something that went wrong.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    pub(super) message: Option<Text<'a>>,
}

/// Whether a client's words are about a limit that is lifted by itself. They are all some clients give.
fn speaks_of_a_limit(message: &str) -> bool {
    let message = message.to_lowercase();
    ["usage limit", "rate limit", "429", "too many requests"]
        .iter()
        .any(|words| message.contains(words))
}

/// The end of a turn that broke off with these words.
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
