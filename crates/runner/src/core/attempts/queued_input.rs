//! Messages that wait for their turn on the connection to a shim.

use super::{AgentMessage, AttemptEventKind};
use crate::core::error_chain;
use bowline_formats::agents::{AgentInputWriter, InputDelivery};
use bowline_supervisor::{ObservedStatus, ShimRefusal, ShimSession};
use std::collections::VecDeque;
use std::os::unix::net::UnixStream;

/// A queued message.
pub(super) struct QueuedMessage {
    pub(super) seq: Option<u64>,
    pub(super) last: bool,
    pub(super) message: AgentMessage,
    /// Numbers of the request and of the message once it is sent.
    pub(super) sent: Option<(u64, u64)>,
}

/// A connection to the shim.
pub(super) struct ShimConnection {
    pub(super) stream: UnixStream,
    pub(super) dialogue: ShimSession,
    pub(super) greeted: bool,
    /// Id of the request that waits for a change of the status.
    pub(super) wait_request: Option<u64>,
    /// Output and error offsets acknowledged on this connection.
    pub(super) acked: (u64, u64),
    /// Id of the request with the order that is not answered yet.
    pub(super) order_request: Option<u64>,
    /// Id of the `go` request that is not answered yet.
    pub(super) go_request: Option<u64>,
    /// Number of values to mask that were sent on this connection.
    pub(super) masked_count: usize,
    /// The shim cannot mask values, so nothing that could hold one is sent.
    pub(super) cannot_mask: bool,
}

/// Sends the message at the front, one at a time, so that numbers have no gaps.
pub(super) fn send_next_message(
    link: &mut ShimConnection,
    status: &ObservedStatus,
    messages: &mut VecDeque<QueuedMessage>,
    writer: &mut AgentInputWriter,
    tell: &mut dyn FnMut(AttemptEventKind),
) {
    while let Some(queued) = messages.front_mut() {
        if queued.sent.is_some() {
            return;
        }
        let text = match (queued.message)(writer) {
            InputDelivery::Input(text) => text,
            // Until the client has reported its session.
            InputDelivery::Later => return,
            // Its number is used up all the same: those behind it follow without a gap.
            InputDelivery::Nothing if queued.seq.is_some() => String::new(),
            other
            @ (InputDelivery::NextRun(_) | InputDelivery::EndRun | InputDelivery::Nothing) => {
                tell(AttemptEventKind::Undelivered(other));
                messages.pop_front();
                continue;
            }
        };
        let seq = queued.seq.unwrap_or(status.input.next);
        match link.dialogue.send_input(seq, text.as_bytes(), queued.last) {
            Ok(request) => queued.sent = Some((request, seq)),
            Err(error) if error.code() == ShimRefusal::InputFull.code() && text.len() < 1 << 20 => {
            }
            Err(error) => {
                tell(AttemptEventKind::Refused {
                    code: error.code(),
                    message: error_chain(&error),
                });
                messages.pop_front();
                continue;
            }
        }
        return;
    }
}
