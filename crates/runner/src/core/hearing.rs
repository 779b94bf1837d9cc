//! Parses the output of an agent into signals that matter for every kind of work, and replies to
//! its requests when no person is present.

use super::attempts::{Attempts, Message};
use bowline_formats::agents::{
    AgentEvent, AgentEventKind, AgentProtocol, ProtocolError, ToAgent, UsagePeriod,
};

/// Bytes of the agent's own text that are kept from its end, to explain a failure.
const TAIL_BYTES: usize = 2 << 10;
/// Bytes of one line; the rest of a longer one is dropped.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Time that a client with a protocol may take to send its first valid message before people are
/// notified.
const FIRST_MESSAGE_MS_MAX: i64 = 30_000;

/// Waits for the first valid message of an attempt; a late one is reported once.
#[derive(Debug, Clone, Copy)]
pub struct FirstMessage {
    /// Start of the wait; none once the message came or its delay was reported.
    since_ms: Option<i64>,
}

impl FirstMessage {
    /// Starts the wait for an attempt that begins now.
    pub fn awaited(now_ms: i64) -> FirstMessage {
        FirstMessage {
            since_ms: Some(now_ms),
        }
    }

    /// Starts the wait, except for plain text, which has no valid messages.
    pub fn awaited_from(protocol: AgentProtocol, now_ms: i64) -> FirstMessage {
        FirstMessage {
            since_ms: Some(now_ms).filter(|_| protocol != AgentProtocol::Markers),
        }
    }

    /// Returns a wait that is over, for an attempt whose output is known already.
    pub fn arrived() -> FirstMessage {
        FirstMessage { since_ms: None }
    }

    /// Returns the time from which on the message is late.
    pub fn due_ms(&self) -> Option<i64> {
        Some(self.since_ms?.saturating_add(FIRST_MESSAGE_MS_MAX))
    }

    /// Returns the seconds waited, once, when the message is late.
    pub fn overdue_s(&mut self, now_ms: i64) -> Option<i64> {
        self.due_ms().filter(|due| *due <= now_ms)?;
        self.since_ms = None;
        Some(FIRST_MESSAGE_MS_MAX / 1_000)
    }
}

/// True if an event is a message that its protocol knows.
pub fn is_valid(event: &AgentEvent<'_>) -> bool {
    !matches!(
        event.what,
        AgentEventKind::Malformed(_) | AgentEventKind::ProtocolError(_)
    )
}

/// Signal in an agent's output.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// Any output at all.
    Something,
    /// A message that its protocol knows.
    Valid,
    /// A line of the agent's own text.
    Line(String),
    /// The agent reports that all of its work is done.
    Complete,
    /// The phrase that an agent which repeats its work was asked to print when all of it is done.
    Promise,
    /// An error that the client cannot recover from.
    Failed(String),
    /// Id of the client's session.
    Session(String),
    /// A rate limit or usage limit was met.
    Limit(Lifted),
    /// The turn ended, and the client waits for input.
    TurnEnded,
    /// Usage since the last report.
    Used {
        /// Tokens of this turn.
        tokens: u64,
        /// Dollars of the whole attempt so far.
        usd: f64,
    },
}

/// End of a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifted {
    /// At this time, in milliseconds since 1970.
    At(i64),
    /// After so many seconds.
    After(i64),
    /// The client did not say.
    Unsaid,
}

impl Lifted {
    /// Returns the end in milliseconds. A client that does not say keeps the `known` end, else the
    /// limit lasts `usual_ms` from now.
    pub fn ms(self, now: i64, known: Option<i64>, usual_ms: i64) -> i64 {
        match self {
            Lifted::At(ms) => ms,
            Lifted::After(seconds) => now + seconds.saturating_mul(1_000),
            Lifted::Unsaid => known.unwrap_or(now + usual_ms),
        }
    }
}

/// Parses the output of one attempt.
#[derive(Debug)]
pub struct Hearing {
    protocol: AgentProtocol,
    line: Vec<u8>,
    tail: String,
}

impl Hearing {
    /// Creates a parser for a protocol.
    pub fn new(protocol: AgentProtocol) -> Hearing {
        Hearing {
            protocol,
            line: Vec::new(),
            tail: String::new(),
        }
    }

    /// Returns the end of the agent's own text.
    pub fn tail(&self) -> &str {
        &self.tail
    }

    /// Returns the signals in a piece of output and its events.
    pub fn hear(&mut self, bytes: &[u8], events: &[AgentEvent<'_>]) -> Vec<Word> {
        let mut words = vec![Word::Something];
        if self.protocol == AgentProtocol::Markers {
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

    /// Parses the last line, which may lack a line end, when the output is over.
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

    fn event(&mut self, what: &AgentEventKind<'_>, words: &mut Vec<Word>) {
        match what {
            AgentEventKind::Session { id, .. } => words.push(Word::Session(id.to_string())),
            // Plain text was parsed from the bytes.
            AgentEventKind::Said(_) if self.protocol == AgentProtocol::Markers => {}
            AgentEventKind::Said(text) => {
                for line in text.lines() {
                    self.line(line, words);
                }
            }
            AgentEventKind::TaskComplete { .. } => words.push(Word::Complete),
            AgentEventKind::Limit {
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
            AgentEventKind::Usage(usage) => {
                let tokens = match usage.since {
                    UsagePeriod::Turn => usage.input + usage.output,
                    UsagePeriod::Session => 0,
                };
                words.push(Word::Used {
                    tokens,
                    usd: usage.cost_usd.unwrap_or(0.0),
                });
            }
            AgentEventKind::TurnEnded(_) => words.push(Word::TurnEnded),
            AgentEventKind::Failed { message, .. } => {
                self.keep(message);
                words.push(Word::Failed(message.to_string()));
            }
            AgentEventKind::ToolUsed { .. }
            | AgentEventKind::Initialized
            | AgentEventKind::Asks { .. }
            | AgentEventKind::WantsPermission { .. }
            | AgentEventKind::Withdrawn { .. }
            | AgentEventKind::Needs(_)
            | AgentEventKind::PhaseComplete { .. }
            | AgentEventKind::Verified { .. }
            | AgentEventKind::Step { .. }
            | AgentEventKind::PhaseStarting { .. }
            | AgentEventKind::Retrying { .. }
            | AgentEventKind::Noticed { .. }
            | AgentEventKind::Malformed(_)
            | AgentEventKind::Ignored { .. }
            | AgentEventKind::ProtocolError(_) => {}
        }
    }
}

/// Replies to a client while no person is present: permits tools, and tells it to decide questions
/// itself.
pub fn reply(attempts: &Attempts, attempt: &str, event: &AgentEvent<'static>) {
    let say = |message: Message| attempts.say(attempt, None, false, message);
    match &event.what {
        AgentEventKind::WantsPermission { request, .. } => {
            let request = request.clone();
            say(Box::new(move |writer| {
                writer.encode_message(ToAgent::Permit { request: &request })
            }));
        }
        AgentEventKind::Asks {
            request: Some(request),
            ..
        } => {
            let request = request.clone();
            say(Box::new(move |writer| {
                writer.encode_message(ToAgent::Deny {
                    request: &request,
                    reason: "nobody is here to answer; decide yourself and say what you assumed",
                })
            }));
        }
        AgentEventKind::ProtocolError(ProtocolError::Unsupported { request, .. }) => {
            let request = request.clone();
            say(Box::new(move |writer| {
                writer.encode_message(ToAgent::Unsupported { request: &request })
            }));
        }
        _ => {}
    }
}
