//! Connections to the shim: requests in, responses out, with bounded memory for each.

use crate::error::ShimRefusal;
use crate::process::{ProcessRelation, ProcessSnapshot, process_relation, was_started_with};
use crate::protocol::{
    BODY_BYTES_MAX, LineBuffer, ObservedStatus, RefusalBody, RequestEnvelope, ShimResponse,
};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{getpid, getuid};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Connections at once; further ones wait in the kernel's queue until one leaves, or has been idle
/// for a while.
const CLIENTS_MAX: usize = 64;
/// A connection that was idle for so long may be replaced: idle ones must not block a client that
/// wants to end the agent.
pub(super) const IDLE_MS: u64 = 1_000;
/// Unread responses after which a client is dropped.
const ANSWERS_BYTES_MAX: usize = 256 << 10;
/// Time the last response may take.
const FAREWELL_MS: u64 = 200;

/// One connection to the shim.
#[derive(Debug)]
pub(super) struct ClientConnection {
    pub(super) stream: UnixStream,
    lines: LineBuffer,
    /// A request whose body is incomplete.
    open: Option<RequestEnvelope>,
    answers: Vec<u8>,
    /// A `wait` without a response yet: its number, and version, output and error already seen.
    waiting: Option<(u64, u64, u64, u64)>,
    gone: bool,
    last_request_at: Instant,
}

/// A request with its complete body.
pub(super) type ReceivedRequest = (RequestEnvelope, Vec<u8>);

impl ClientConnection {
    fn new(stream: UnixStream) -> ClientConnection {
        ClientConnection {
            stream,
            lines: LineBuffer::default(),
            open: None,
            answers: Vec::new(),
            waiting: None,
            gone: false,
            last_request_at: Instant::now(),
        }
    }

    pub(super) fn wants_to_write(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Reads what is available and returns the next complete request.
    pub(super) fn receive_request(&mut self) -> Option<ReceivedRequest> {
        loop {
            match self.next_request() {
                Ok(Some(received)) => return Some(received),
                Ok(None) => {}
                Err(message) => {
                    self.queue_refusal(0, ShimRefusal::BadRequest, &message);
                    self.flush_responses();
                    self.gone = true;
                    return None;
                }
            }
            match self.lines.read_more(&mut self.stream) {
                Ok(true) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Ok(false) | Err(_) => {
                    self.gone = true;
                    return None;
                }
            }
        }
    }

    fn next_request(&mut self) -> Result<Option<ReceivedRequest>, String> {
        if self.open.is_none() {
            let line = self.lines.next_line().map_err(|error| error.to_string())?;
            let Some(line) = line else {
                return Ok(None);
            };
            let envelope: RequestEnvelope =
                serde_json::from_slice(&line).map_err(|error| error.to_string())?;
            if envelope.request.body_bytes() > BODY_BYTES_MAX {
                return Err(format!("more than {BODY_BYTES_MAX} bytes at once"));
            }
            self.open = Some(envelope);
        }
        let bytes = self.open.as_ref().map_or(0, |one| one.request.body_bytes());
        let Some(body) = self.lines.take_body(bytes) else {
            return Ok(None);
        };
        Ok(self.open.take().map(|envelope| (envelope, body)))
    }

    pub(super) fn queue_refusal(&mut self, id: u64, why: ShimRefusal, message: &str) {
        self.queue_response(&ShimResponse {
            id,
            no: Some(RefusalBody {
                code: why.code().into(),
                message: message.into(),
            }),
            ..ShimResponse::default()
        });
    }

    pub(super) fn queue_response(&mut self, answer: &ShimResponse) {
        // Our own types always become JSON; otherwise the connection is closed.
        match serde_json::to_vec(answer) {
            Ok(text) => self.answers.extend_from_slice(&text),
            Err(_) => self.gone = true,
        }
        self.answers.push(b'\n');
    }

    /// Registers a `wait`. It is answered when there is something newer than the client has seen,
    /// at the end of this round at the earliest, so that several changes (an end often follows) are
    /// reported at once. An earlier `wait` is answered now.
    pub(super) fn register_wait(
        &mut self,
        id: u64,
        version: u64,
        out: u64,
        err: u64,
        status: &ObservedStatus,
    ) {
        if let Some((earlier, ..)) = self.waiting.replace((id, version, out, err)) {
            self.answer_with(earlier, status);
        }
    }

    fn answer_wait_if_due(&mut self, status: &ObservedStatus) {
        if let Some((id, version, out, err)) = self.waiting
            && (status.version > version || status.out.end > out || status.err.end > err)
        {
            self.waiting = None;
            self.answer_with(id, status);
        }
    }

    fn answer_with(&mut self, id: u64, status: &ObservedStatus) {
        self.queue_response(&ShimResponse {
            id,
            status: Some(status.clone()),
            ..ShimResponse::default()
        });
    }

    pub(super) fn flush_responses(&mut self) {
        while !self.answers.is_empty() {
            match self.stream.write(&self.answers) {
                Ok(count) => drop(self.answers.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.gone = true;
                    return;
                }
            }
        }
        self.gone |= self.answers.len() > ANSWERS_BYTES_MAX;
    }
}

/// All connections to the shim.
#[derive(Debug, Default)]
pub(super) struct ClientConnections {
    pub(super) all: Vec<ClientConnection>,
}

impl ClientConnections {
    /// Returns the next complete request of a connection, if it is there.
    pub(super) fn receive_from(&mut self, index: usize) -> Option<ReceivedRequest> {
        let client = self.all.get_mut(index)?;
        let received = client.receive_request()?;
        client.last_request_at = Instant::now();
        Some(received)
    }

    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= CLIENTS_MAX
    }

    /// True if another connection may be accepted now.
    pub(super) fn has_room(&self, now: Instant) -> bool {
        !self.is_full() || self.idle_connection(now).is_some()
    }

    /// Returns the idle connection that is best dropped, preferably one without a `wait`: clients
    /// that wait reconnect.
    fn idle_connection(&self, now: Instant) -> Option<usize> {
        let idle = Duration::from_millis(IDLE_MS);
        let silent = self.all.iter().enumerate();
        let silent = silent.filter(|(_, one)| now.duration_since(one.last_request_at) >= idle);
        let (index, _) =
            silent.min_by_key(|(_, one)| (one.waiting.is_some(), one.last_request_at))?;
        Some(index)
    }

    /// Accepts a connection and greets it, unless it comes from another user or from a descendant
    /// of this shim: an agent must not control its own shim. A peer whose ancestors are unknown
    /// counts as an agent: it may have passed the connection on and ended. So does a peer that
    /// carries the agent's `mark` in its environment, wherever it is.
    ///
    /// A peer that is older than the shim, by its start time `born`, is never an agent of this
    /// shim.
    pub(super) fn accept_client(
        &mut self,
        stream: UnixStream,
        born: u64,
        mark: &str,
        greeting: &ShimResponse,
    ) {
        let Ok(peer) = socket_peercred(&stream) else {
            return;
        };
        let same_user = peer.uid == getuid() || peer.uid.is_root();
        if !same_user || stream.set_nonblocking(true).is_err() {
            return;
        }
        let mut client = ClientConnection::new(stream);
        let me = getpid().as_raw_nonzero().get();
        let pid = peer.pid.as_raw_nonzero().get();
        let older = ProcessSnapshot::read_process(pid).is_some_and(|peer| peer.start < born);
        if !older
            && (process_relation(pid, me) != ProcessRelation::Elsewhere
                || was_started_with(pid, mark.as_bytes()))
        {
            // Without a file it could open, the shim cannot tell any peer from an agent.
            match std::fs::File::open("/proc/self/stat") {
                Err(error) => {
                    let message = format!("the shim cannot tell who asks: {error}");
                    client.queue_refusal(0, ShimRefusal::NoDescriptors, &message);
                }
                Ok(_) => {
                    let message = "an agent cannot control its own shim";
                    client.queue_refusal(0, ShimRefusal::AgentPeer, message);
                }
            }
            client.flush_responses();
            return;
        }
        client.queue_response(greeting);
        client.flush_responses();
        if self.is_full()
            && let Some(index) = self.idle_connection(Instant::now())
        {
            self.all.remove(index);
        }
        self.all.push(client);
    }

    /// Answers each `wait` whose condition has become true, and removes clients that have left.
    pub(super) fn answer_due_waits(&mut self, status: &ObservedStatus) {
        for client in &mut self.all {
            client.answer_wait_if_due(status);
            client.flush_responses();
        }
        self.all.retain(|client| !client.gone);
    }

    /// Sends the final status to all clients and disconnects them.
    pub(super) fn send_final_status(&mut self, status: &ObservedStatus) {
        for client in &mut self.all {
            // Requests of the last moment are answered too, all with the final status.
            while let Some((envelope, _)) = client.receive_request() {
                client.answer_with(envelope.id, status);
            }
            client.answer_wait_if_due(status);
            let patient = client.stream.set_nonblocking(false).is_ok()
                && client
                    .stream
                    .set_write_timeout(Some(Duration::from_millis(FAREWELL_MS)))
                    .is_ok();
            if patient {
                // A client that does not read finds `exit.json`.
                let _ = client.stream.write_all(&client.answers);
            }
        }
        self.all.clear();
    }
}
