//! Parses the output of an agent into signals that matter for every kind of work, and replies to
//! its requests when no person is present.

use super::attempts::{AgentMessage, AttemptLoop};
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
    pub fn start_wait(now_ms: i64) -> FirstMessage {
        FirstMessage {
            since_ms: Some(now_ms),
        }
    }

    /// Starts the wait, except for plain text, which has no valid messages.
    pub fn start_wait_for(protocol: AgentProtocol, now_ms: i64) -> FirstMessage {
        FirstMessage {
            since_ms: Some(now_ms).filter(|_| protocol != AgentProtocol::Markers),
        }
    }

    /// Returns a wait that is over, for an attempt whose output is known already.
    pub fn already_received() -> FirstMessage {
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
pub fn is_valid_message(event: &AgentEvent<'_>) -> bool {
    !matches!(
        event.what,
        AgentEventKind::Malformed(_) | AgentEventKind::ProtocolError(_)
    )
}

/// Signal in an agent's output.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputSignal {
    /// Any output at all.
    AnyOutput,
    /// A message that its protocol knows.
    ValidMessage,
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
    RateLimited(LimitEnd),
    /// The turn ended, and the client waits for input.
    TurnEnded,
    /// Usage since the last report.
    UsageReported {
        /// Tokens of this turn.
        tokens: u64,
        /// Dollars of the whole attempt so far.
        usd: f64,
    },
}

/// End of a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitEnd {
    /// At this time, in milliseconds since 1970.
    At(i64),
    /// After so many seconds.
    After(i64),
    /// The client did not say.
    Unknown,
}

impl LimitEnd {
    /// Returns the end in milliseconds. A client that does not say keeps the `known` end, else the
    /// limit lasts `usual_ms` from now.
    pub fn end_ms(self, now: i64, known: Option<i64>, usual_ms: i64) -> i64 {
        match self {
            LimitEnd::At(ms) => ms,
            LimitEnd::After(seconds) => now + seconds.saturating_mul(1_000),
            LimitEnd::Unknown => known.unwrap_or(now + usual_ms),
        }
    }
}

/// Parses the output of one attempt.
#[derive(Debug)]
pub struct OutputParser {
    protocol: AgentProtocol,
    line: Vec<u8>,
    tail: String,
}

impl OutputParser {
    /// Creates a parser for a protocol.
    pub fn new(protocol: AgentProtocol) -> OutputParser {
        OutputParser {
            protocol,
            line: Vec::new(),
            tail: String::new(),
        }
    }

    /// Returns the end of the agent's own text.
    pub fn text_tail(&self) -> &str {
        &self.tail
    }

    /// Returns the signals in a piece of output and its events.
    pub fn parse_output(&mut self, bytes: &[u8], events: &[AgentEvent<'_>]) -> Vec<OutputSignal> {
        let mut words = vec![OutputSignal::AnyOutput];
        if self.protocol == AgentProtocol::Markers {
            self.split_lines(bytes, &mut words);
        }
        if events.iter().any(is_valid_message) {
            words.push(OutputSignal::ValidMessage);
        }
        for event in events {
            self.push_event(&event.what, &mut words);
        }
        words
    }

    /// Parses the last line, which may lack a line end, when the output is over.
    pub fn finish_output(&mut self) -> Vec<OutputSignal> {
        let mut words = Vec::new();
        let line = std::mem::take(&mut self.line);
        self.push_line(&String::from_utf8_lossy(&line), &mut words);
        words
    }

    fn split_lines(&mut self, bytes: &[u8], words: &mut Vec<OutputSignal>) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() < LINE_BYTES_MAX {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.push_line(&String::from_utf8_lossy(&line), words);
            }
        }
    }

    fn push_line(&mut self, line: &str, words: &mut Vec<OutputSignal>) {
        let line = line.trim();
        if !line.is_empty() {
            self.append_tail(line);
            words.push(OutputSignal::Line(line.to_owned()));
        }
    }

    fn append_tail(&mut self, line: &str) {
        self.tail.push_str(line);
        self.tail.push('\n');
        let from = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..self.tail.ceil_char_boundary(from));
    }

    fn push_event(&mut self, what: &AgentEventKind<'_>, words: &mut Vec<OutputSignal>) {
        match what {
            AgentEventKind::Session { id, .. } => words.push(OutputSignal::Session(id.to_string())),
            // Plain text was parsed from the bytes.
            AgentEventKind::Said(_) if self.protocol == AgentProtocol::Markers => {}
            AgentEventKind::Said(text) => {
                for line in text.lines() {
                    self.push_line(line, words);
                }
            }
            AgentEventKind::TaskComplete { .. } => words.push(OutputSignal::Complete),
            AgentEventKind::Limit {
                until,
                retry_after_s,
                ..
            } => {
                let after = retry_after_s.and_then(|seconds| i64::try_from(seconds).ok());
                words.push(OutputSignal::RateLimited(match (until, after) {
                    (Some(until), _) => LimitEnd::At(until.as_millisecond()),
                    (None, Some(seconds)) => LimitEnd::After(seconds),
                    (None, None) => LimitEnd::Unknown,
                }));
            }
            AgentEventKind::Usage(usage) => {
                let tokens = match usage.since {
                    UsagePeriod::Turn => usage.input + usage.output,
                    UsagePeriod::Session => 0,
                };
                words.push(OutputSignal::UsageReported {
                    tokens,
                    usd: usage.cost_usd.unwrap_or(0.0),
                });
            }
            AgentEventKind::TurnEnded(_) => words.push(OutputSignal::TurnEnded),
            AgentEventKind::Failed { message, .. } => {
                self.append_tail(message);
                words.push(OutputSignal::Failed(message.to_string()));
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
pub fn reply_unattended(attempts: &AttemptLoop, attempt: &str, event: &AgentEvent<'static>) {
    let say = |message: AgentMessage| attempts.send_message(attempt, None, false, message);
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
