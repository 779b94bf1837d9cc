//! Conversions of events to ones that outlive the bytes they were parsed from.

use super::event::{Event, ProtocolError, What};
use std::borrow::Cow;

impl Event<'_> {
    /// Copies the borrowed text so that the event outlives the output.
    pub fn into_owned(self) -> Event<'static> {
        Event {
            start: self.start,
            resume: self.resume,
            what: self.what.into_owned(),
        }
    }
}

impl What<'_> {
    /// Copies the borrowed text so that the event outlives the output.
    pub fn into_owned(self) -> What<'static> {
        match self {
            What::Initialized => What::Initialized,
            What::Session { id, model } => What::Session {
                id: own(id),
                model: model.map(own),
            },
            What::Said(words) => What::Said(own(words)),
            What::ToolUsed { id, name, input } => What::ToolUsed {
                id: own(id),
                name: own(name),
                input: own(input),
            },
            What::Asks { request, questions } => What::Asks {
                request: request.map(super::Request::into_owned),
                questions,
            },
            What::WantsPermission {
                request,
                tool,
                input,
            } => What::WantsPermission {
                request: request.into_owned(),
                tool: own(tool),
                input: own(input),
            },
            What::Withdrawn { request } => What::Withdrawn {
                request: own(request),
            },
            What::Needs(request) => What::Needs(request),
            What::PhaseComplete {
                phase,
                name,
                deliverables,
            } => What::PhaseComplete {
                phase,
                name,
                deliverables,
            },
            What::TaskComplete { task, summary } => What::TaskComplete { task, summary },
            What::Verified { criteria } => What::Verified { criteria },
            What::Step { step, of, name } => What::Step { step, of, name },
            What::PhaseStarting { phase, name } => What::PhaseStarting { phase, name },
            What::Limit {
                until,
                retry_after_s,
                message,
            } => What::Limit {
                until,
                retry_after_s,
                message: own(message),
            },
            What::Retrying { delay_ms, message } => What::Retrying {
                delay_ms,
                message: own(message),
            },
            What::Usage(usage) => What::Usage(usage),
            What::TurnEnded(end) => What::TurnEnded(end),
            What::Failed { message, details } => What::Failed {
                message: own(message),
                details: details.map(own),
            },
            What::Noticed { message, details } => What::Noticed {
                message: own(message),
                details: details.map(own),
            },
            What::Malformed(malformed) => What::Malformed(malformed),
            What::Ignored { marker, reason } => What::Ignored { marker, reason },
            What::ProtocolError(error) => What::ProtocolError(error.into_owned()),
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
                message: own(message),
            },
            ProtocolError::Unsupported { request, method } => ProtocolError::Unsupported {
                request: request.into_owned(),
                method: own(method),
            },
        }
    }
}

fn own(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}
