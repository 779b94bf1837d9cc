//! What the events of an attempt say about its client.

use super::AttemptEventKind;
use crate::core::error_chain;
use bowline_formats::agents::AgentEventKind;
use bowline_supervisor::SupervisorError;

/// True if a piece of output reports that the client is ready.
pub(super) fn is_initialized(what: &AttemptEventKind) -> bool {
    let AttemptEventKind::Output { events, .. } = what else {
        return false;
    };
    events
        .iter()
        .any(|event| event.what == AgentEventKind::Initialized)
}

/// Returns the session that a piece of output reports; messages may wait for it.
pub(super) fn session_in(what: &AttemptEventKind) -> Option<String> {
    let AttemptEventKind::Output { events, .. } = what else {
        return None;
    };
    events.iter().rev().find_map(|event| match &event.what {
        AgentEventKind::Session { id, .. } => Some(id.to_string()),
        _ => None,
    })
}

pub(super) fn never_started(error: &SupervisorError) -> AttemptEventKind {
    AttemptEventKind::NeverStarted {
        message: Some(error_chain(error)),
    }
}
