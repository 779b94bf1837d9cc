//! Parser for the structured protocols: one JSON object per line.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::agent_text::AgentText;
use super::event::{AgentEvent, AgentEventKind, ProtocolError, ResumePoint, TurnEnd};
use super::line_splitter::{LineSplitter, OutputLine};
use super::{acp, claude, codex};

/// Characters of an unreadable line that its error report repeats.
const SHOWN_CHARS_MAX: usize = 120;

/// The structured protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StructuredProtocol {
    Claude,
    Codex,
    Acp,
}

impl StructuredProtocol {
    /// Returns the prefixes of lines that carry no event. These are the long ones: tool output, and
    /// chunks of text that is sent whole later.
    fn skipped_prefixes(self) -> &'static [&'static [u8]] {
        match self {
            Self::Claude => &[br#"{"type":"user","#, br#"{"type":"stream_event","#],
            Self::Codex => &[br#"{"type":"item.updated","#],
            Self::Acp => &[],
        }
    }
}

/// Parser for the output of one client.
#[derive(Debug)]
pub(super) struct StructuredParser {
    dialect: StructuredProtocol,
    lines: LineSplitter,
    words: AgentText,
    talk: acp::AcpConnection,
    position: EventPosition,
}

/// Position of the next event.
#[derive(Debug)]
struct EventPosition {
    /// Position at which parsing can restart, with the number of events reported since.
    resume: ResumePoint,
    /// Events still to be suppressed, because an earlier adapter reported them.
    skip: u32,
}

impl EventPosition {
    fn report_event(
        &mut self,
        start: u64,
        what: AgentEventKind<'_>,
        sink: &mut impl FnMut(AgentEvent<'_>),
    ) {
        self.resume.skip += 1;
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        sink(AgentEvent {
            start,
            resume: self.resume,
            what,
        });
    }
}

impl StructuredParser {
    pub(super) fn new(
        dialect: StructuredProtocol,
        nonce: Option<String>,
        resume: ResumePoint,
    ) -> Self {
        Self {
            dialect,
            lines: LineSplitter::starting_at(resume.at.offset, dialect.skipped_prefixes()),
            words: AgentText::new(nonce, resume.at.nonce_used),
            // No resume position lies before the session is open, see `is_open`.
            talk: acp::AcpConnection::new(
                dialect != StructuredProtocol::Acp || resume.at.offset > 0,
            ),
            position: EventPosition {
                resume: ResumePoint { skip: 0, ..resume },
                skip: resume.skip,
            },
        }
    }

    pub(super) fn resume_point(&self) -> ResumePoint {
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

    fn between_texts(&self) -> ResumePoint {
        let mut resume = ResumePoint::default();
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

    pub(super) fn push(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(AgentEvent<'_>)) {
        loop {
            let before = self.between_texts();
            let Self {
                dialect,
                lines,
                words,
                talk,
                position,
            } = self;
            let more = lines.consume_line_part(&mut bytes, |start, line| {
                parse_protocol_line(*dialect, (words, talk), position, before, start, line, sink);
            });
            if !more {
                return;
            }
        }
    }

    pub(super) fn finish(&mut self, sink: &mut impl FnMut(AgentEvent<'_>)) {
        let before = self.between_texts();
        let Self {
            dialect,
            lines,
            words,
            talk,
            position,
        } = self;
        if let Some((start, line)) = lines.last_line() {
            if serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok() {
                parse_protocol_line(
                    *dialect,
                    (words, talk),
                    position,
                    before,
                    start,
                    OutputLine::Whole(&line),
                    sink,
                );
            } else {
                begin_line(words, talk, position, before);
                position.report_event(
                    start,
                    AgentEventKind::ProtocolError(ProtocolError::Cut),
                    sink,
                );
            }
        }
        let start = lines.line_start();
        words.end_text(&mut |what| position.report_event(start, what, sink));
        talk.report_held_calls(&mut |what| position.report_event(start, what, sink));
    }
}

/// True if earlier lines are needed to understand the next ones.
fn is_open(words: &AgentText, talk: &acp::AcpConnection) -> bool {
    words.is_open() || talk.is_open()
}

/// Moves the resume position to this line, unless state from an earlier line is still open.
fn begin_line(
    words: &AgentText,
    talk: &acp::AcpConnection,
    position: &mut EventPosition,
    before: ResumePoint,
) {
    if !is_open(words, talk) && position.skip == 0 {
        position.resume = before;
    }
}

fn parse_protocol_line(
    dialect: StructuredProtocol,
    (words, talk): (&mut AgentText, &mut acp::AcpConnection),
    position: &mut EventPosition,
    before: ResumePoint,
    start: u64,
    line: OutputLine<'_>,
    sink: &mut impl FnMut(AgentEvent<'_>),
) {
    begin_line(words, talk, position, before);
    let mut emit = |what: AgentEventKind<'_>| position.report_event(start, what, sink);
    let line = match line {
        OutputLine::Whole(line) => line.trim_ascii(),
        OutputLine::TooLong => {
            return emit(AgentEventKind::ProtocolError(ProtocolError::LineTooLong));
        }
    };
    if line.is_empty() {
        return;
    }
    let outcome = match dialect {
        StructuredProtocol::Claude => claude::parse_line(line, words, &mut emit),
        StructuredProtocol::Codex => codex::parse_line(line, words, &mut emit),
        StructuredProtocol::Acp => acp::parse_line(line, words, talk, &mut emit),
    };
    if let Err(error) = outcome {
        let problem = error.to_string();
        let line = String::from_utf8_lossy(line)
            .chars()
            .take(SHOWN_CHARS_MAX)
            .collect();
        emit(AgentEventKind::ProtocolError(ProtocolError::Unreadable {
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
pub(super) struct JsonText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl JsonText<'_> {
    pub(super) fn is(&self, word: &str) -> bool {
        self.0 == word
    }
}

/// Returns the text, or an empty one.
pub(super) fn or_empty(text: Option<JsonText<'_>>) -> Cow<'_, str> {
    text.map(|text| text.0).unwrap_or_default()
}

/// Returns a value as JSON; `null` for an absent one.
pub(super) fn raw_json(value: Option<&RawValue>) -> &str {
    value.map_or("null", RawValue::get)
}

/// The error object of a client.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct ClientFailure<'a> {
    pub(super) message: Option<JsonText<'a>>,
}

/// True if the message describes a limit that is lifted by itself. Some clients give nothing but
/// text.
fn mentions_limit(message: &str) -> bool {
    let message = message.to_lowercase();
    ["usage limit", "rate limit", "429", "too many requests"]
        .iter()
        .any(|words| message.contains(words))
}

/// Reports the end of a turn that broke off with this message.
pub(super) fn emit_failed_turn(message: Cow<'_, str>, emit: &mut impl FnMut(AgentEventKind<'_>)) {
    let end = if mentions_limit(&message) {
        emit(AgentEventKind::Limit {
            until: None,
            retry_after_s: None,
            message,
        });
        TurnEnd::Limited
    } else {
        emit(AgentEventKind::Failed {
            message,
            details: None,
        });
        TurnEnd::Failed
    };
    emit(AgentEventKind::TurnEnded(end));
}
