//! What an agent says that matters whatever it works on, and what it is answered while nobody is there.

use super::attempts::{Attempts, Message};
use bowline_formats::agents::{Event, Protocol, ProtocolError, Since, ToAgent, What};

/// The end of an agent's words that is kept, for whoever asks why it failed.
const TAIL_BYTES: usize = 2 << 10;
/// A line that is longer says nothing.
const LINE_BYTES_MAX: usize = 64 << 10;

/// How long a client that speaks a protocol may take to send its first valid message before people are told.
const FIRST_MESSAGE_MS_MAX: i64 = 30_000;

/// Waits for the first valid message of an attempt; people are told once when it is late.
#[derive(Debug, Clone, Copy)]
pub struct FirstMessage {
    /// Since when it is awaited; nothing when it came, or people were told.
    since_ms: Option<i64>,
}

impl FirstMessage {
    /// Of an attempt that begins now.
    pub fn awaited(now_ms: i64) -> FirstMessage {
        FirstMessage {
            since_ms: Some(now_ms),
        }
    }

    /// The same for a client with this protocol: plain text has no valid messages to wait for.
    pub fn awaited_from(protocol: Protocol, now_ms: i64) -> FirstMessage {
        FirstMessage {
            since_ms: Some(now_ms).filter(|_| protocol != Protocol::Markers),
        }
    }

    /// Of an attempt that is heard already.
    pub fn arrived() -> FirstMessage {
        FirstMessage { since_ms: None }
    }

    /// When it is late.
    pub fn due_ms(&self) -> Option<i64> {
        Some(self.since_ms?.saturating_add(FIRST_MESSAGE_MS_MAX))
    }

    /// The seconds without a message, once, when it is late.
    pub fn overdue_s(&mut self, now_ms: i64) -> Option<i64> {
        self.due_ms().filter(|due| *due <= now_ms)?;
        self.since_ms = None;
        Some(FIRST_MESSAGE_MS_MAX / 1_000)
    }
}

/// Whether an event is a message that its protocol knows.
pub fn is_valid(event: &Event<'_>) -> bool {
    !matches!(event.what, What::Malformed(_) | What::ProtocolError(_))
}

/// What of an agent's output counts.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// Anything at all.
    Something,
    /// A message that its protocol knows.
    Valid,
    /// A line of its own words.
    Line(String),
    /// It says that its whole work is done.
    Complete,
    /// What an agent that repeats its work was asked to say at the end of all of it.
    Promise,
    /// An error it cannot get over.
    Failed(String),
    /// Its conversation.
    Session(String),
    /// It met a limit.
    Limit(Lifted),
    /// Its turn ended, and it waits for more.
    TurnEnded,
    /// What it used since it was last told.
    Used {
        /// Tokens.
        tokens: u64,
        /// Dollars, all of this attempt.
        usd: f64,
    },
}

/// When a limit is lifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifted {
    /// At this time, in milliseconds since 1970.
    At(i64),
    /// After so many seconds.
    After(i64),
    /// That was not said.
    Unsaid,
}

impl Lifted {
    /// The time in milliseconds, `usual_ms` from now where it was not said. One without a time never shortens one with a time.
    pub fn ms(self, now: i64, known: Option<i64>, usual_ms: i64) -> i64 {
        match self {
            Lifted::At(ms) => ms,
            Lifted::After(seconds) => now + seconds.saturating_mul(1_000),
            Lifted::Unsaid => known.unwrap_or(now + usual_ms),
        }
    }
}

/// Listens to one attempt.
#[derive(Debug)]
pub struct Hearing {
    protocol: Protocol,
    line: Vec<u8>,
    tail: String,
}

impl Hearing {
    /// Listens to an agent that speaks so.
    pub fn new(protocol: Protocol) -> Hearing {
        Hearing {
            protocol,
            line: Vec::new(),
            tail: String::new(),
        }
    }

    /// The end of its words.
    pub fn tail(&self) -> &str {
        &self.tail
    }

    /// What bytes of the output and their events say.
    pub fn hear(&mut self, bytes: &[u8], events: &[Event<'_>]) -> Vec<Word> {
        let mut words = vec![Word::Something];
        if self.protocol == Protocol::Markers {
            self.bytes(bytes, &mut words);
        }
        if events.iter().any(is_valid) {
            words.push(Word::Valid);
        }
        for event in events {
            self.event(&event.what, &mut words);
        }
        words
    }

    /// The output is over: a last line needs no end.
    pub fn over(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        let line = std::mem::take(&mut self.line);
        self.line(&String::from_utf8_lossy(&line), &mut words);
        words
    }

    fn bytes(&mut self, bytes: &[u8], words: &mut Vec<Word>) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() < LINE_BYTES_MAX {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.line(&String::from_utf8_lossy(&line), words);
            }
        }
    }

    fn line(&mut self, line: &str, words: &mut Vec<Word>) {
        let line = line.trim();
        if !line.is_empty() {
            self.keep(line);
            words.push(Word::Line(line.to_owned()));
        }
    }

    fn keep(&mut self, line: &str) {
        self.tail.push_str(line);
        self.tail.push('\n');
        let from = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..self.tail.ceil_char_boundary(from));
    }

    fn event(&mut self, what: &What<'_>, words: &mut Vec<Word>) {
        match what {
            What::Session { id, .. } => words.push(Word::Session(id.to_string())),
            // The bytes of a plain agent were heard already.
            What::Said(_) if self.protocol == Protocol::Markers => {}
            What::Said(text) => {
                for line in text.lines() {
                    self.line(line, words);
                }
            }
            What::TaskComplete { .. } => words.push(Word::Complete),
            What::Limit {
                until,
                retry_after_s,
                ..
            } => {
                let after = retry_after_s.and_then(|seconds| i64::try_from(seconds).ok());
                words.push(Word::Limit(match (until, after) {
                    (Some(until), _) => Lifted::At(until.as_millisecond()),
                    (None, Some(seconds)) => Lifted::After(seconds),
                    (None, None) => Lifted::Unsaid,
                }));
            }
            What::Usage(usage) => {
                let tokens = match usage.since {
                    Since::Turn => usage.input + usage.output,
                    Since::Session => 0,
                };
                words.push(Word::Used {
                    tokens,
                    usd: usage.cost_usd.unwrap_or(0.0),
                });
            }
            What::TurnEnded(_) => words.push(Word::TurnEnded),
            What::Failed { message, .. } => {
                self.keep(message);
                words.push(Word::Failed(message.to_string()));
            }
            What::ToolUsed { .. }
            | What::Initialized
            | What::Asks { .. }
            | What::WantsPermission { .. }
            | What::Withdrawn { .. }
            | What::Needs(_)
            | What::PhaseComplete { .. }
            | What::Verified { .. }
            | What::Step { .. }
            | What::PhaseStarting { .. }
            | What::Retrying { .. }
            | What::Noticed { .. }
            | What::Malformed(_)
            | What::Ignored { .. }
            | What::ProtocolError(_) => {}
        }
    }
}

/// Answers what a client asks while nobody is there: tools may be used where it works, and questions it decides itself.
pub fn reply(attempts: &Attempts, attempt: &str, event: &Event<'static>) {
    let say = |message: Message| attempts.say(attempt, None, false, message);
    match &event.what {
        What::WantsPermission { request, .. } => {
            let request = request.clone();
            say(Box::new(move |writer| {
                writer.write(ToAgent::Permit { request: &request })
            }));
        }
        What::Asks {
            request: Some(request),
            ..
        } => {
            let request = request.clone();
            say(Box::new(move |writer| {
                writer.write(ToAgent::Deny {
                    request: &request,
                    reason: "nobody is here to answer; decide yourself and say what you assumed",
                })
            }));
        }
        What::ProtocolError(ProtocolError::Unsupported { request, .. }) => {
            let request = request.clone();
            say(Box::new(move |writer| {
                writer.write(ToAgent::Unsupported { request: &request })
            }));
        }
        _ => {}
    }
}
