//! A blocking connection to one shim: a [`ShimSession`] with a socket and timeouts.

use super::session::{SendOutcome, ShimEvent, ShimSession};
use crate::attempt::Attempt;
use crate::error::{ShimRefusal, SupervisorError};
use crate::protocol::{
    Environment, ObservedState, ObservedStatus, RawEnvironment, ShimGreeting, WantedState,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Time a shim may take to answer anything but `wait`.
const ANSWER_MS_MAX: u64 = 10_000;

/// Bytes read at once.
const CHUNK_BYTES: usize = 4 << 10;

/// A connection to the shim of one attempt. Attaching again works like attaching for the first
/// time.
#[derive(Debug)]
pub struct ShimHandle {
    attempt: Attempt,
    wire: ShimSocket,
    hello: ShimGreeting,
    status: ObservedStatus,
}

impl ShimHandle {
    /// Connects to the shim of an attempt, with the fencing number under which orders are given.
    pub fn attach(attempt: &Attempt, fence: u64) -> Result<ShimHandle, SupervisorError> {
        let unreachable = |source| SupervisorError::unreachable_shim(attempt.id(), source);
        let stream = attempt.connect_to_shim()?;
        let timeout = Some(Duration::from_millis(ANSWER_MS_MAX));
        stream.set_write_timeout(timeout).map_err(unreachable)?;
        let mut wire = ShimSocket {
            stream,
            dialogue: ShimSession::new(attempt.id(), fence),
            events: VecDeque::new(),
        };
        match wire.next_event(response_deadline()).map_err(unreachable)? {
            ShimEvent::Greeted { hello, status } => Ok(ShimHandle {
                attempt: attempt.clone(),
                wire,
                hello,
                status,
            }),
            ShimEvent::Refused { why, message, .. } => {
                Err(SupervisorError::Refused { why, message })
            }
            ShimEvent::Broken { message } => {
                Err(SupervisorError::protocol_mismatch(attempt.id(), message))
            }
            ShimEvent::Done { .. } => Err(SupervisorError::protocol_mismatch(
                attempt.id(),
                "an answer".into(),
            )),
        }
    }

    /// Gives orders under another fencing number from now on.
    pub fn set_fence(&mut self, fence: u64) {
        self.wire.dialogue.set_fence(fence);
    }

    /// Returns identity and features of the shim.
    pub fn greeting(&self) -> &ShimGreeting {
        &self.hello
    }

    /// Returns the last status received, without a request.
    pub fn last_status(&self) -> &ObservedStatus {
        &self.status
    }

    /// Starts the agent with this environment and nothing else, unless it has been started.
    pub fn start_agent(
        &mut self,
        environment: &Environment,
    ) -> Result<&ObservedStatus, SupervisorError> {
        let asked = self.wire.dialogue.request_start(environment);
        self.await_response(asked, response_deadline())?;
        Ok(&self.status)
    }

    /// Like [`ShimHandle::start_agent`], with an environment that may hold values that are not
    /// UTF-8. An error without a request if the shim is too old.
    pub fn start_agent_raw(
        &mut self,
        environment: &RawEnvironment,
    ) -> Result<&ObservedStatus, SupervisorError> {
        let asked = self.wire.dialogue.request_start_raw(environment);
        self.await_response(asked, response_deadline())?;
        Ok(&self.status)
    }

    /// Sets the wanted state of the agent. Returns before the state is reached: see
    /// [`ShimHandle::wait_for_change`]. An agent that has ended meanwhile can only be wanted as
    /// ended.
    pub fn set_wanted_state(
        &mut self,
        state: WantedState,
        generation: u64,
    ) -> Result<&ObservedStatus, SupervisorError> {
        let asked = self.wire.dialogue.request_state(state, generation);
        match state {
            WantedState::Ended => self.await_status(asked),
            WantedState::Running | WantedState::Paused => {
                self.await_running_response(asked)?;
                Ok(&self.status)
            }
        }
    }

    /// Sends message `seq` to the agent, at most 1 MiB. `last` closes its standard input behind it.
    pub fn send_input(
        &mut self,
        seq: u64,
        bytes: &[u8],
        last: bool,
    ) -> Result<SendOutcome, SupervisorError> {
        let asked = self.wire.dialogue.send_input(seq, bytes, last);
        self.await_running_response(asked)
    }

    /// Interrupts the agent (SIGINT to its own process group, as a terminal does) under this
    /// number, from 1 and growing. A paused agent receives it when it is resumed. An error without
    /// a request if the shim is too old.
    pub fn interrupt_agent(&mut self, seq: u64) -> Result<SendOutcome, SupervisorError> {
        let asked = self.wire.dialogue.request_interrupt(seq);
        self.await_running_response(asked)
    }

    /// Waits for the response to a request that only a running agent can take.
    fn await_running_response(
        &mut self,
        asked: Result<u64, SupervisorError>,
    ) -> Result<SendOutcome, SupervisorError> {
        self.await_response(asked, response_deadline())
            .map_err(|error| self.not_running_or(error))
    }

    /// Acknowledges output up to these offsets as processed.
    pub fn acknowledge_output(
        &mut self,
        out: u64,
        err: u64,
    ) -> Result<&ObservedStatus, SupervisorError> {
        let asked = self.wire.dialogue.acknowledge_output(out, err);
        self.await_status(asked)
    }

    /// Returns the current status. After the end of the attempt, when its shim is gone, the status
    /// is made from `exit.json`.
    pub fn fetch_status(&mut self) -> Result<&ObservedStatus, SupervisorError> {
        let asked = self.wire.dialogue.request_status();
        self.await_status(asked)
    }

    /// Waits for the response to a request that is also valid after the agent has ended.
    fn await_status(
        &mut self,
        asked: Result<u64, SupervisorError>,
    ) -> Result<&ObservedStatus, SupervisorError> {
        match self.await_response(asked, response_deadline()) {
            Ok(_) => Ok(&self.status),
            Err(error) => self.final_status_or(error),
        }
    }

    /// Waits until there is a newer status than the last one received, or more output than `out`
    /// and `err`. `None` on a timeout.
    pub fn wait_for_change(
        &mut self,
        out: u64,
        err: u64,
        timeout: Duration,
    ) -> Result<Option<&ObservedStatus>, SupervisorError> {
        let asked = self
            .wire
            .dialogue
            .request_status_change(self.status.version, out, err);
        match self.await_response(asked, Instant::now() + timeout) {
            Ok(_) => Ok(Some(&self.status)),
            Err(SupervisorError::Unreachable { source, .. })
                if source.kind() == io::ErrorKind::TimedOut =>
            {
                Ok(None)
            }
            Err(error) => self.final_status_or(error).map(Some),
        }
    }

    /// Subscribes to news as [`ShimHandle::wait_for_change`] does, without waiting for them: one
    /// thread can poll a few handles, and call [`ShimHandle::poll_status`] for those that are
    /// readable. A loop over many has a [`ShimSession`] for each.
    pub fn subscribe_to_changes(&mut self, out: u64, err: u64) -> Result<(), SupervisorError> {
        let asked = self
            .wire
            .dialogue
            .request_status_change(self.status.version, out, err);
        self.flush_request(asked).map(drop)
    }

    /// Returns the newest status that has arrived, without waiting; `None` when none has.
    pub fn poll_status(&mut self) -> Result<Option<&ObservedStatus>, SupervisorError> {
        let mut news = false;
        loop {
            match self.wire.next_event(Instant::now()) {
                Ok(ShimEvent::Done { status, .. }) => news |= self.update_status(status),
                Ok(ShimEvent::Greeted { .. } | ShimEvent::Refused { .. }) => {}
                Ok(ShimEvent::Broken { message }) => {
                    return Err(SupervisorError::protocol_mismatch(
                        self.attempt.id(),
                        message,
                    ));
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => break,
                // A last status comes before the end of the connection.
                Err(_) if news => break,
                Err(source) => {
                    let error = SupervisorError::unreachable_shim(self.attempt.id(), source);
                    return self.final_status_or(error).map(Some);
                }
            }
        }
        Ok(news.then_some(&self.status))
    }

    fn update_status(&mut self, status: Option<ObservedStatus>) -> bool {
        let news = status.is_some();
        if let Some(status) = status {
            self.status = status;
        }
        news
    }

    /// Replaces the error of an unreachable shim by the final status if the attempt has ended.
    fn final_status_or(
        &mut self,
        error: SupervisorError,
    ) -> Result<&ObservedStatus, SupervisorError> {
        let gone = matches!(error, SupervisorError::Unreachable { .. });
        let Some(exit) = self.attempt.read_exit().ok().flatten().filter(|_| gone) else {
            return Err(error);
        };
        self.status.version += 1;
        self.status.state = ObservedState::Ended;
        self.status.out.end = exit.out;
        self.status.err.end = exit.err;
        self.status.exit = Some(exit);
        Ok(&self.status)
    }

    /// Like `final_status_or`, for requests that are invalid after the end.
    fn not_running_or(&mut self, error: SupervisorError) -> SupervisorError {
        match self.final_status_or(error) {
            Ok(_) => SupervisorError::Refused {
                why: ShimRefusal::NotRunning,
                message: format!("the agent of attempt {} has ended", self.attempt.id()),
            },
            Err(error) => error,
        }
    }

    fn flush_request(
        &mut self,
        asked: Result<u64, SupervisorError>,
    ) -> Result<u64, SupervisorError> {
        let said = self.wire.flush_outgoing();
        said.map_err(|source| SupervisorError::unreachable_shim(self.attempt.id(), source))
            .and(asked)
    }

    /// Sends the request and waits for its response. Late responses to earlier waits only update
    /// the status.
    fn await_response(
        &mut self,
        asked: Result<u64, SupervisorError>,
        end: Instant,
    ) -> Result<SendOutcome, SupervisorError> {
        let asked = self.flush_request(asked)?;
        loop {
            let event = self.wire.next_event(end);
            match event
                .map_err(|source| SupervisorError::unreachable_shim(self.attempt.id(), source))?
            {
                ShimEvent::Done { id, sent, status } => {
                    self.update_status(status);
                    if id == asked {
                        return Ok(sent);
                    }
                }
                ShimEvent::Refused { id, why, message } if [0, asked].contains(&id) => {
                    return Err(SupervisorError::Refused { why, message });
                }
                ShimEvent::Refused { .. } | ShimEvent::Greeted { .. } => {}
                ShimEvent::Broken { message } => {
                    return Err(SupervisorError::protocol_mismatch(
                        self.attempt.id(),
                        message,
                    ));
                }
            }
        }
    }
}

/// For polling several handles: readable when a response has arrived.
impl AsFd for ShimHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wire.stream.as_fd()
    }
}

/// Returns the deadline for a request sent now.
fn response_deadline() -> Instant {
    Instant::now() + Duration::from_millis(ANSWER_MS_MAX)
}

/// A dialogue over a socket.
#[derive(Debug)]
struct ShimSocket {
    stream: UnixStream,
    dialogue: ShimSession,
    events: VecDeque<ShimEvent>,
}

impl ShimSocket {
    /// Writes all outgoing bytes.
    fn flush_outgoing(&mut self) -> io::Result<()> {
        let said = self.stream.write_all(self.dialogue.outgoing_bytes());
        // Half a request cannot be repeated: a connection that failed here is unusable.
        self.dialogue
            .mark_written(self.dialogue.outgoing_bytes().len());
        said
    }

    /// Returns the next event, if it comes before `end`.
    fn next_event(&mut self, end: Instant) -> io::Result<ShimEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            let left = end.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
            let mut fds = [PollFd::new(&self.stream, PollFlags::IN)];
            match poll(&mut fds, Some(&left)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let mut chunk = [0; CHUNK_BYTES];
            match recv(&self.stream, &mut chunk, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((count, _)) => self.events.extend(self.dialogue.receive(&chunk[..count])),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
