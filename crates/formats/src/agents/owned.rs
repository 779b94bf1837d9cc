//! Conversions of events to ones that outlive the bytes they were parsed from.

use super::event::{AgentEvent, AgentEventKind, ProtocolError};
use std::borrow::Cow;

impl AgentEvent<'_> {
    /// Copies the borrowed text so that the event outlives the output.
    pub fn into_owned(self) -> AgentEvent<'static> {
        AgentEvent {
            start: self.start,
            resume: self.resume,
            what: self.what.into_owned(),
        }
    }
}

impl AgentEventKind<'_> {
    /// Copies the borrowed text so that the event outlives the output.
    pub fn into_owned(self) -> AgentEventKind<'static> {
        match self {
            AgentEventKind::Initialized => AgentEventKind::Initialized,
            AgentEventKind::Session { id, model } => AgentEventKind::Session {
                id: owned_text(id),
                model: model.map(owned_text),
            },
            AgentEventKind::Said(words) => AgentEventKind::Said(owned_text(words)),
            AgentEventKind::ToolUsed { id, name, input } => AgentEventKind::ToolUsed {
                id: owned_text(id),
                name: owned_text(name),
                input: owned_text(input),
            },
            AgentEventKind::Asks { request, questions } => AgentEventKind::Asks {
                request: request.map(super::ClientRequest::into_owned),
                questions,
            },
            AgentEventKind::WantsPermission {
                request,
                tool,
                input,
            } => AgentEventKind::WantsPermission {
                request: request.into_owned(),
                tool: owned_text(tool),
                input: owned_text(input),
            },
            AgentEventKind::Withdrawn { request } => AgentEventKind::Withdrawn {
                request: owned_text(request),
            },
            AgentEventKind::Needs(request) => AgentEventKind::Needs(request),
            AgentEventKind::PhaseComplete {
                phase,
                name,
                deliverables,
            } => AgentEventKind::PhaseComplete {
                phase,
                name,
                deliverables,
            },
            AgentEventKind::TaskComplete { task, summary } => {
                AgentEventKind::TaskComplete { task, summary }
            }
            AgentEventKind::Verified { criteria } => AgentEventKind::Verified { criteria },
            AgentEventKind::Step { step, of, name } => AgentEventKind::Step { step, of, name },
            AgentEventKind::PhaseStarting { phase, name } => {
                AgentEventKind::PhaseStarting { phase, name }
            }
            AgentEventKind::Limit {
                until,
                retry_after_s,
                message,
            } => AgentEventKind::Limit {
                until,
                retry_after_s,
                message: owned_text(message),
            },
            AgentEventKind::Retrying { delay_ms, message } => AgentEventKind::Retrying {
                delay_ms,
                message: owned_text(message),
            },
            AgentEventKind::Usage(usage) => AgentEventKind::Usage(usage),
            AgentEventKind::TurnEnded(end) => AgentEventKind::TurnEnded(end),
            AgentEventKind::Failed { message, details } => AgentEventKind::Failed {
                message: owned_text(message),
                details: details.map(owned_text),
            },
            AgentEventKind::Noticed { message, details } => AgentEventKind::Noticed {
                message: owned_text(message),
                details: details.map(owned_text),
            },
            AgentEventKind::Malformed(malformed) => AgentEventKind::Malformed(malformed),
            AgentEventKind::Ignored { marker, reason } => {
                AgentEventKind::Ignored { marker, reason }
            }
            AgentEventKind::ProtocolError(error) => {
                AgentEventKind::ProtocolError(error.into_owned())
            }
        }
    }
}

impl ProtocolError<'_> {
    /// Copies the borrowed text so that the error outlives the output.
    pub fn into_owned(self) -> ProtocolError<'static> {
        match self {
            ProtocolError::LineTooLong => ProtocolError::LineTooLong,
            ProtocolError::Unreadable { problem, line } => {
                ProtocolError::Unreadable { problem, line }
            }
            ProtocolError::Cut => ProtocolError::Cut,
            ProtocolError::Refused { message } => ProtocolError::Refused {
                message: owned_text(message),
            },
            ProtocolError::Unsupported { request, method } => ProtocolError::Unsupported {
                request: request.into_owned(),
                method: owned_text(method),
            },
        }
    }
}

fn owned_text(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}
