//! Connections to the shim: requests in, responses out, with bounded memory for each.

use crate::error::Refused;
use crate::process::{Descent, Process, descent, was_given};
use crate::protocol::{Answer, BODY_BYTES_MAX, Envelope, Lines, No, Status};
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
pub(super) struct Client {
    pub(super) stream: UnixStream,
    lines: Lines,
    /// A request whose body is incomplete.
    open: Option<Envelope>,
    answers: Vec<u8>,
    /// A `wait` without a response yet: its number, and version, output and error already seen.
    waiting: Option<(u64, u64, u64, u64)>,
    gone: bool,
    heard: Instant,
}

/// A request with its complete body.
pub(super) type Received = (Envelope, Vec<u8>);

impl Client {
    fn new(stream: UnixStream) -> Client {
        Client {
            stream,
            lines: Lines::default(),
            open: None,
            answers: Vec::new(),
            waiting: None,
            gone: false,
            heard: Instant::now(),
        }
    }

    pub(super) fn wants_to_write(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Reads what is available and returns the next complete request.
    pub(super) fn receive(&mut self) -> Option<Received> {
        loop {
            match self.next() {
                Ok(Some(received)) => return Some(received),
                Ok(None) => {}
                Err(told) => {
                    self.refuse(0, Refused::BadRequest, &told);
                    self.flush();
                    self.gone = true;
                    return None;
                }
            }
            match self.lines.fill(&mut self.stream) {
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

    fn next(&mut self) -> Result<Option<Received>, String> {
        if self.open.is_none() {
            let line = self.lines.line().map_err(|error| error.to_string())?;
            let Some(line) = line else {
                return Ok(None);
            };
            let envelope: Envelope =
                serde_json::from_slice(&line).map_err(|error| error.to_string())?;
            if envelope.request.body_bytes() > BODY_BYTES_MAX {
                return Err(format!("more than {BODY_BYTES_MAX} bytes at once"));
            }
            self.open = Some(envelope);
        }
        let bytes = self.open.as_ref().map_or(0, |one| one.request.body_bytes());
        let Some(body) = self.lines.body(bytes) else {
            return Ok(None);
        };
        Ok(self.open.take().map(|envelope| (envelope, body)))
    }

    pub(super) fn refuse(&mut self, id: u64, why: Refused, told: &str) {
        self.answer(&Answer {
            id,
            no: Some(No {
                code: why.code().into(),
                message: told.into(),
            }),
            ..Answer::default()
        });
    }

    pub(super) fn answer(&mut self, answer: &Answer) {
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
    pub(super) fn wait(&mut self, id: u64, version: u64, out: u64, err: u64, status: &Status) {
        if let Some((earlier, ..)) = self.waiting.replace((id, version, out, err)) {
            self.answer_with(earlier, status);
        }
    }

    fn look(&mut self, status: &Status) {
        if let Some((id, version, out, err)) = self.waiting
            && (status.version > version || status.out.end > out || status.err.end > err)
        {
            self.waiting = None;
            self.answer_with(id, status);
        }
    }

    fn answer_with(&mut self, id: u64, status: &Status) {
        self.answer(&Answer {
            id,
            status: Some(status.clone()),
            ..Answer::default()
        });
    }

    pub(super) fn flush(&mut self) {
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
pub(super) struct Clients {
    pub(super) all: Vec<Client>,
}

impl Clients {
    /// Returns the next complete request of a connection, if it is there.
    pub(super) fn receive(&mut self, index: usize) -> Option<Received> {
        let client = self.all.get_mut(index)?;
        let received = client.receive()?;
        client.heard = Instant::now();
        Some(received)
    }

    pub(super) fn are_full(&self) -> bool {
        self.all.len() >= CLIENTS_MAX
    }

    /// True if another connection may be accepted now.
    pub(super) fn have_room(&self, now: Instant) -> bool {
        !self.are_full() || self.idle(now).is_some()
    }

    /// Returns the idle connection that is best dropped, preferably one without a `wait`: clients
    /// that wait reconnect.
    fn idle(&self, now: Instant) -> Option<usize> {
        let idle = Duration::from_millis(IDLE_MS);
        let silent = self.all.iter().enumerate();
        let silent = silent.filter(|(_, one)| now.duration_since(one.heard) >= idle);
        let (index, _) = silent.min_by_key(|(_, one)| (one.waiting.is_some(), one.heard))?;
        Some(index)
    }

    /// Accepts a connection and greets it, unless it comes from another user or from a descendant
    /// of this shim: an agent must not control its own shim. A peer whose ancestors are unknown
    /// counts as an agent: it may have passed the connection on and ended. So does a peer that
    /// carries the agent's `mark` in its environment, wherever it is.
    ///
    /// A peer that is older than the shim, by its start time `born`, is never an agent of this
    /// shim.
    pub(super) fn welcome(&mut self, stream: UnixStream, born: u64, mark: &str, greeting: &Answer) {
        let Ok(peer) = socket_peercred(&stream) else {
            return;
        };
        let same_user = peer.uid == getuid() || peer.uid.is_root();
        if !same_user || stream.set_nonblocking(true).is_err() {
            return;
        }
        let mut client = Client::new(stream);
        let me = getpid().as_raw_nonzero().get();
        let pid = peer.pid.as_raw_nonzero().get();
        let older = Process::look(pid).is_some_and(|peer| peer.start < born);
        if !older && (descent(pid, me) != Descent::Elsewhere || was_given(pid, mark.as_bytes())) {
            // Without a file it could open, the shim cannot tell any peer from an agent.
            match std::fs::File::open("/proc/self/stat") {
                Err(error) => {
                    let told = format!("the shim cannot tell who asks: {error}");
                    client.refuse(0, Refused::NoDescriptors, &told);
                }
                Ok(_) => {
                    let told = "an agent cannot control its own shim";
                    client.refuse(0, Refused::AgentPeer, told);
                }
            }
            client.flush();
            return;
        }
        client.answer(greeting);
        client.flush();
        if self.are_full()
            && let Some(index) = self.idle(Instant::now())
        {
            self.all.remove(index);
        }
        self.all.push(client);
    }

    /// Answers each `wait` whose condition has become true, and removes clients that have left.
    pub(super) fn serve(&mut self, status: &Status) {
        for client in &mut self.all {
            client.look(status);
            client.flush();
        }
        self.all.retain(|client| !client.gone);
    }

    /// Sends the final status to all clients and disconnects them.
    pub(super) fn farewell(&mut self, status: &Status) {
        for client in &mut self.all {
            // Requests of the last moment are answered too, all with the final status.
            while let Some((envelope, _)) = client.receive() {
                client.answer_with(envelope.id, status);
            }
            client.look(status);
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
