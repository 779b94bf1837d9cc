//! Events that an agent's client reports, the same closed set for every protocol.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::markers::{
    self, CriterionResult, DependencyRequest, IgnoredReason, MalformedMarker, MarkerName,
    UserQuestion,
};

/// One event and its position in the output.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEvent<'a> {
    /// Absolute offset of the line or marker that reports it.
    pub start: u64,
    /// Position at which a new adapter continues after this event has been handled.
    pub resume: ResumePoint,
    /// The event itself.
    pub what: AgentEventKind<'a>,
}

/// A position in the output and the little state needed to continue there.
///
/// An adapter made with [`AgentAdapter::resume_at`](super::AgentAdapter::resume_at) and fed the
/// bytes from the offset on reports exactly the events that the first one had not reported yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumePoint {
    /// The offset and the state of the marker parser there.
    pub at: markers::ParserResumePoint,
    /// Events behind the offset that were already reported. One line can hold several.
    pub skip: u32,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEventKind<'a> {
    /// The client answered the handshake: a session can be opened now.
    Initialized,
    /// The client has opened a session, which can be resumed by its id.
    Session {
        /// The client's id of the session.
        id: Cow<'a, str>,
        /// The model, if the client names it.
        model: Option<Cow<'a, str>>,
    },
    /// Text of the agent, or a chunk of it.
    ///
    /// Not reported for the protocol `markers`, whose output is nothing else.
    Said(Cow<'a, str>),
    /// The agent uses a tool.
    ToolUsed {
        /// The client's id of the tool call.
        id: Cow<'a, str>,
        /// Name of the tool.
        name: Cow<'a, str>,
        /// Input of the tool as JSON.
        input: Cow<'a, str>,
    },
    /// The agent asks a person.
    Asks {
        /// The request to reply to, if the client waits for one in its own way. Without it, the
        /// answer is sent as a prompt.
        request: Option<ClientRequest<'a>>,
        /// The questions, in most cases one.
        questions: Vec<UserQuestion>,
    },
    /// The client asks whether a tool may be used, and waits for the reply.
    WantsPermission {
        /// The request to reply to.
        request: ClientRequest<'a>,
        /// Name of the tool.
        tool: Cow<'a, str>,
        /// Intended input of the tool as JSON.
        input: Cow<'a, str>,
    },
    /// The client withdraws a request: it needs no reply any more.
    Withdrawn {
        /// The [`ClientRequest::id`] of the request.
        request: Cow<'a, str>,
    },
    /// The agent needs something from a person.
    Needs(DependencyRequest),
    /// The agent reports that a phase is complete.
    PhaseComplete {
        /// Number of the phase, from 1.
        phase: u32,
        /// The reported name, else `Phase N`.
        name: String,
        /// The reported files, as written.
        deliverables: Vec<String>,
    },
    /// The agent reports that a task without phases is complete.
    TaskComplete {
        /// Name of the task.
        task: Option<String>,
        /// Summary of the work.
        summary: Option<String>,
    },
    /// The findings of a verifying agent.
    Verified {
        /// The criteria and their results.
        criteria: Vec<CriterionResult>,
    },
    /// The agent starts a step.
    Step {
        /// Number of the step.
        step: u32,
        /// Total number of steps.
        of: u32,
        /// Name of the step.
        name: String,
    },
    /// The agent starts a phase.
    PhaseStarting {
        /// Number of the phase.
        phase: u32,
        /// Name of the phase.
        name: String,
    },
    /// A rate limit was reached: nothing continues before it is lifted.
    ///
    /// The same limit may be reported twice. A report without a time never shortens one with a
    /// time.
    Limit {
        /// Time at which the limit is lifted.
        until: Option<jiff::Timestamp>,
        /// Seconds after which the limit is lifted.
        retry_after_s: Option<u64>,
        /// Message of the client.
        message: Cow<'a, str>,
    },
    /// The client could not reach its model and retries by itself.
    Retrying {
        /// Milliseconds until the retry, if the client says so.
        delay_ms: Option<u64>,
        /// The cause given by the client.
        message: Cow<'a, str>,
    },
    /// Tokens and money that were used.
    Usage(TokenUsage),
    /// The turn ended: the client waits for the next prompt or exits.
    TurnEnded(TurnEnd),
    /// The agent cannot continue.
    Failed {
        /// The cause of the failure.
        message: Cow<'a, str>,
        /// Details of the failure.
        details: Option<Cow<'a, str>>,
    },
    /// Information for a person; the agent continues.
    Noticed {
        /// The information itself.
        message: Cow<'a, str>,
        /// Details of the information.
        details: Option<Cow<'a, str>>,
    },
    /// A marker that breaks the grammar. It changes no state and is answered with an error.
    Malformed(MalformedMarker),
    /// A well-formed marker that is not honoured.
    Ignored {
        /// The marker that was ignored.
        marker: MarkerName,
        /// The reason for ignoring it.
        reason: IgnoredReason,
    },
    /// The output violates the protocol. It changes no state.
    ProtocolError(ProtocolError<'a>),
}

/// A request of the client that waits for a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRequest<'a> {
    /// The client's id of the request, as JSON.
    pub id: Cow<'a, str>,
    /// The part that the reply must repeat or choose from, as JSON.
    pub body: Cow<'a, str>,
}

impl ClientRequest<'_> {
    /// Copies the borrowed text so that the value outlives the line.
    pub fn into_owned(self) -> ClientRequest<'static> {
        ClientRequest {
            id: self.id.into_owned().into(),
            body: self.body.into_owned().into(),
        }
    }
}

/// Token and cost figures.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TokenUsage {
    /// Start of the period in which the tokens are counted.
    pub since: UsagePeriod,
    /// Tokens read, without those from a cache.
    pub input: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Total cost in dollars, if the client reports it: since the process started, for `acp` since
    /// the session was opened.
    pub cost_usd: Option<f64>,
}

/// Start of the period in which tokens are counted. Only figures of [`UsagePeriod::Turn`] may be
/// added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UsagePeriod {
    /// Since the previous turn ended.
    #[default]
    Turn,
    /// Since the session was opened, earlier processes included.
    Session,
}

/// Outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent finished by itself.
    Completed,
    /// The turn was interrupted by us.
    Interrupted,
    /// A limit was reached; [`AgentEventKind::Limit`] was reported before.
    Limited,
    /// The tokens, turns or money allowed for one turn are used up.
    OutOfBudget,
    /// The model refused to answer.
    Refused,
    /// The turn broke off; [`AgentEventKind::Failed`] was reported before.
    Failed,
}

/// Violations of the protocol in the output.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProtocolError<'a> {
    /// A line exceeds the size limit and was skipped.
    #[error("a line of the client exceeds {LINE_BYTES_MAX} bytes", LINE_BYTES_MAX = super::LINE_BYTES_MAX)]
    LineTooLong,
    /// A line is not a JSON object, or has an unexpected shape.
    #[error("a line of the client cannot be read: {problem}: {line}")]
    Unreadable {
        /// Message of the JSON parser.
        problem: String,
        /// Beginning of the line.
        line: String,
    },
    /// The output ends inside a line.
    #[error("the output of the client ends inside a line")]
    Cut,
    /// The client refused one of our requests.
    #[error("the client refused a request: {message}")]
    Refused {
        /// Message of the client.
        message: Cow<'a, str>,
    },
    /// The client requests something that is not offered, and waits. Answer it with
    /// [`ToAgent::Unsupported`](super::ToAgent::Unsupported).
    #[error("the client asks for {method}, which is not offered")]
    Unsupported {
        /// The request to reply to.
        request: ClientRequest<'a>,
        /// Name of the requested method.
        method: Cow<'a, str>,
    },
}

impl ProtocolError<'_> {
    /// Returns the stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::LineTooLong => "agent_line_too_long",
            Self::Unreadable { .. } => "agent_line_unreadable",
            Self::Cut => "agent_line_cut",
            Self::Refused { .. } => "agent_request_refused",
            Self::Unsupported { .. } => "agent_request_unsupported",
        }
    }
}
