//! What an agent's client reports, whatever its protocol: one closed set.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::markers::{
    self, Criterion, DependencyRequest, IgnoredReason, Malformed, Marker, UserQuestion,
};

/// One thing that happened, and where in the output.
#[derive(Debug, Clone, PartialEq)]
pub struct Event<'a> {
    /// Absolute offset of the line, or of the marker, that says so.
    pub start: u64,
    /// Where a new adapter goes on after this event has been acted upon.
    pub resume: Resume,
    /// What happened.
    pub what: What<'a>,
}

/// A place in the output and the little that must be remembered there.
///
/// An adapter made with [`Adapter::resume_at`](super::Adapter::resume_at) and fed the bytes from the offset on reports exactly
/// the events the first one had still to report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// The offset, and what the marker parser knew there.
    pub at: markers::Resume,
    /// Events behind the offset that were reported before. One line can hold several.
    pub skip: u32,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum What<'a> {
    /// The client has answered the greeting of its protocol: a conversation can be opened now.
    Initialized,
    /// The client has a conversation, by whose id it can be resumed.
    Session {
        /// The id.
        id: Cow<'a, str>,
        /// The model, where the client says it.
        model: Option<Cow<'a, str>>,
    },
    /// The agent's own words, or a piece of them.
    ///
    /// Not reported for the protocol `markers`, whose output is nothing else.
    Said(Cow<'a, str>),
    /// The agent uses a tool.
    ToolUsed {
        /// The client's id of the use.
        id: Cow<'a, str>,
        /// The tool.
        name: Cow<'a, str>,
        /// What it is used with, as JSON.
        input: Cow<'a, str>,
    },
    /// The agent asks a person.
    Asks {
        /// What an answer must name, where the client waits for one in its own way. Without it, the answer is a prompt.
        request: Option<Request<'a>>,
        /// The questions; mostly one.
        questions: Vec<UserQuestion>,
    },
    /// The client asks whether a tool may be used, and waits.
    WantsPermission {
        /// What the reply must name.
        request: Request<'a>,
        /// The tool.
        tool: Cow<'a, str>,
        /// What it would be used with, as JSON.
        input: Cow<'a, str>,
    },
    /// A request of the client needs no reply any more.
    Withdrawn {
        /// The [`Request::id`].
        request: Cow<'a, str>,
    },
    /// The agent needs something from a person.
    Needs(DependencyRequest),
    /// A phase is complete, says the agent.
    PhaseComplete {
        /// The phase, from 1.
        phase: u32,
        /// The name given, else `Phase N`.
        name: String,
        /// The files listed, as written.
        deliverables: Vec<String>,
    },
    /// A task without phases is complete, says the agent.
    TaskComplete {
        /// Its name.
        task: Option<String>,
        /// What was done.
        summary: Option<String>,
    },
    /// A verifying agent's findings.
    Verified {
        /// What was looked at.
        criteria: Vec<Criterion>,
    },
    /// The agent begins a step.
    Step {
        /// Which.
        step: u32,
        /// Of how many.
        of: u32,
        /// Its name.
        name: String,
    },
    /// The agent begins a phase.
    PhaseStarting {
        /// Which.
        phase: u32,
        /// Its name.
        name: String,
    },
    /// A limit is reached: nothing goes on before it is lifted.
    ///
    /// The same limit may be reported twice. One without a time never shortens one with a time.
    Limit {
        /// When it is lifted.
        until: Option<jiff::Timestamp>,
        /// After how many seconds it is lifted.
        retry_after_s: Option<u64>,
        /// The client's words.
        message: Cow<'a, str>,
    },
    /// The client could not reach its model and tries again by itself.
    Retrying {
        /// Milliseconds until it does, where the client says it.
        delay_ms: Option<u64>,
        /// Why.
        message: Cow<'a, str>,
    },
    /// What was used.
    Usage(Usage),
    /// The client has done what it was told, or given up; it waits for the next prompt or ends.
    TurnEnded(TurnEnd),
    /// It cannot go on.
    Failed {
        /// Why.
        message: Cow<'a, str>,
        /// More about it.
        details: Option<Cow<'a, str>>,
    },
    /// Something a person should know; it goes on.
    Noticed {
        /// What.
        message: Cow<'a, str>,
        /// More about it.
        details: Option<Cow<'a, str>>,
    },
    /// A marker that breaks the grammar. It changes no state and is answered.
    Malformed(Malformed),
    /// A well-spelled marker that does not count.
    Ignored {
        /// Which.
        marker: Marker,
        /// Why.
        reason: IgnoredReason,
    },
    /// The output is not what the protocol says. It changes no state.
    ProtocolError(ProtocolError<'a>),
}

/// A request of the client that waits for a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// The client's id of it, as JSON.
    pub id: Cow<'a, str>,
    /// What the reply has to repeat or to choose from, as JSON.
    pub body: Cow<'a, str>,
}

impl Request<'_> {
    /// The same, for keeping.
    pub fn into_owned(self) -> Request<'static> {
        Request {
            id: self.id.into_owned().into(),
            body: self.body.into_owned().into(),
        }
    }
}

/// Tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Since when the tokens are counted.
    pub since: Since,
    /// Tokens read, those from a cache not included.
    pub input: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// Tokens written.
    pub output: u64,
    /// Dollars so far, where the client says it: since the process began, in `acp` since the conversation did.
    pub cost_usd: Option<f64>,
}

/// Since when tokens are counted. Only those of [`Since::Turn`] may be added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Since {
    /// Since the turn before ended.
    #[default]
    Turn,
    /// Since the conversation began, earlier processes included.
    Session,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent had no more to do or to say.
    Completed,
    /// We interrupted it.
    Interrupted,
    /// A limit was reached; a [`What::Limit`] came before.
    Limited,
    /// The tokens, turns or money allowed for one turn are used up.
    OutOfBudget,
    /// The model refused.
    Refused,
    /// It broke off; a [`What::Failed`] came before.
    Failed,
}

/// How the output differs from what the protocol says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProtocolError<'a> {
    /// A line is longer than any that can be read. It was passed over.
    #[error("a line of the client exceeds {LINE_BYTES_MAX} bytes", LINE_BYTES_MAX = super::LINE_BYTES_MAX)]
    LineTooLong,
    /// A line is no JSON object, or one of another shape.
    #[error("a line of the client cannot be read: {problem}: {line}")]
    Unreadable {
        /// What is wrong.
        problem: String,
        /// How the line begins.
        line: String,
    },
    /// The output ends inside a line.
    #[error("the output of the client ends inside a line")]
    Cut,
    /// The client refused something we sent.
    #[error("the client refused a request: {message}")]
    Refused {
        /// Its words.
        message: Cow<'a, str>,
    },
    /// The client asks for something we do not offer, and waits. Answer it with
    /// [`ToAgent::Unsupported`](super::ToAgent::Unsupported).
    #[error("the client asks for {method}, which is not offered")]
    Unsupported {
        /// What the reply must name.
        request: Request<'a>,
        /// What it asks for.
        method: Cow<'a, str>,
    },
}

impl ProtocolError<'_> {
    /// A stable word for this kind of error.
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
