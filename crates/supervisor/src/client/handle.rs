//! A blocking connection to one shim: a [`Dialogue`] with a socket and timeouts.

use super::dialogue::{Dialogue, Event, Sent};
use crate::attempt::Attempt;
use crate::error::{Error, Refused};
use crate::protocol::{Environment, Hello, RawEnvironment, State, Status, Want};
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
pub struct Handle {
    attempt: Attempt,
    wire: Wire,
    hello: Hello,
    status: Status,
}

impl Handle {
    /// Connects to the shim of an attempt, with the fencing number under which orders are given.
    pub fn attach(attempt: &Attempt, fence: u64) -> Result<Handle, Error> {
        let unreachable = |source| Error::unreachable(attempt.id(), source);
        let stream = attempt.connect()?;
        let timeout = Some(Duration::from_millis(ANSWER_MS_MAX));
        stream.set_write_timeout(timeout).map_err(unreachable)?;
        let mut wire = Wire {
            stream,
            dialogue: Dialogue::new(attempt.id(), fence),
            events: VecDeque::new(),
        };
        match wire.next(soon()).map_err(unreachable)? {
            Event::Greeted { hello, status } => Ok(Handle {
                attempt: attempt.clone(),
                wire,
                hello,
                status,
            }),
            Event::Refused { why, message, .. } => Err(Error::Refused { why, message }),
            Event::Broken { message } => Err(Error::protocol(attempt.id(), message)),
            Event::Done { .. } => Err(Error::protocol(attempt.id(), "an answer".into())),
        }
    }

    /// Gives orders under another fencing number from now on.
    pub fn set_fence(&mut self, fence: u64) {
        self.wire.dialogue.set_fence(fence);
    }

    /// Returns identity and features of the shim.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Returns the last status received, without a request.
    pub fn last_status(&self) -> &Status {
        &self.status
    }

    /// Starts the agent with this environment and nothing else, unless it has been started.
    pub fn go(&mut self, environment: &Environment) -> Result<&Status, Error> {
        let asked = self.wire.dialogue.go(environment);
        self.answer(asked, soon())?;
        Ok(&self.status)
    }

    /// Like [`Handle::go`], with an environment that may hold values that are not UTF-8. An error
    /// without a request if the shim is too old.
    pub fn go_raw(&mut self, environment: &RawEnvironment) -> Result<&Status, Error> {
        let asked = self.wire.dialogue.go_raw(environment);
        self.answer(asked, soon())?;
        Ok(&self.status)
    }

    /// Sets the wanted state of the agent. Returns before the state is reached: see
    /// [`Handle::wait`]. An agent that has ended meanwhile can only be wanted as ended.
    pub fn want(&mut self, state: Want, generation: u64) -> Result<&Status, Error> {
        let asked = self.wire.dialogue.want(state, generation);
        match state {
            Want::Ended => self.told(asked),
            Want::Running | Want::Paused => {
                self.sent(asked)?;
                Ok(&self.status)
            }
        }
    }

    /// Sends message `seq` to the agent, at most 1 MiB. `last` closes its standard input behind it.
    pub fn send(&mut self, seq: u64, bytes: &[u8], last: bool) -> Result<Sent, Error> {
        let asked = self.wire.dialogue.input(seq, bytes, last);
        self.sent(asked)
    }

    /// Interrupts the agent (SIGINT to its own process group, as a terminal does) under this
    /// number, from 1 and growing. A paused agent receives it when it is resumed. An error without
    /// a request if the shim is too old.
    pub fn interrupt(&mut self, seq: u64) -> Result<Sent, Error> {
        let asked = self.wire.dialogue.interrupt(seq);
        self.sent(asked)
    }

    /// Waits for the response to a request that only a running agent can take.
    fn sent(&mut self, asked: Result<u64, Error>) -> Result<Sent, Error> {
        self.answer(asked, soon())
            .map_err(|error| self.not_running_or(error))
    }

    /// Acknowledges output up to these offsets as processed.
    pub fn acknowledge(&mut self, out: u64, err: u64) -> Result<&Status, Error> {
        let asked = self.wire.dialogue.acknowledge(out, err);
        self.told(asked)
    }

    /// Returns the current status. After the end of the attempt, when its shim is gone, the status
    /// is made from `exit.json`.
    pub fn status(&mut self) -> Result<&Status, Error> {
        let asked = self.wire.dialogue.status();
        self.told(asked)
    }

    /// Waits for the response to a request that is also valid after the agent has ended.
    fn told(&mut self, asked: Result<u64, Error>) -> Result<&Status, Error> {
        match self.answer(asked, soon()) {
            Ok(_) => Ok(&self.status),
            Err(error) => self.ended_or(error),
        }
    }

    /// Waits until there is a newer status than the last one received, or more output than `out`
    /// and `err`. `None` on a timeout.
    pub fn wait(
        &mut self,
        out: u64,
        err: u64,
        timeout: Duration,
    ) -> Result<Option<&Status>, Error> {
        let asked = self.wire.dialogue.wait(self.status.version, out, err);
        match self.answer(asked, Instant::now() + timeout) {
            Ok(_) => Ok(Some(&self.status)),
            Err(Error::Unreachable { source, .. }) if source.kind() == io::ErrorKind::TimedOut => {
                Ok(None)
            }
            Err(error) => self.ended_or(error).map(Some),
        }
    }

    /// Subscribes to news as [`Handle::wait`] does, without waiting for them: one thread can poll a
    /// few handles, and call [`Handle::heard`] for those that are readable. A loop over many has a
    /// [`Dialogue`] for each.
    pub fn listen(&mut self, out: u64, err: u64) -> Result<(), Error> {
        let asked = self.wire.dialogue.wait(self.status.version, out, err);
        self.say(asked).map(drop)
    }

    /// Returns the newest status that has arrived, without waiting; `None` when none has.
    pub fn heard(&mut self) -> Result<Option<&Status>, Error> {
        let mut news = false;
        loop {
            match self.wire.next(Instant::now()) {
                Ok(Event::Done { status, .. }) => news |= self.learn(status),
                Ok(Event::Greeted { .. } | Event::Refused { .. }) => {}
                Ok(Event::Broken { message }) => {
                    return Err(Error::protocol(self.attempt.id(), message));
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => break,
                // A last status comes before the end of the connection.
                Err(_) if news => break,
                Err(source) => {
                    let error = Error::unreachable(self.attempt.id(), source);
                    return self.ended_or(error).map(Some);
                }
            }
        }
        Ok(news.then_some(&self.status))
    }

    fn learn(&mut self, status: Option<Status>) -> bool {
        let news = status.is_some();
        if let Some(status) = status {
            self.status = status;
        }
        news
    }

    /// Replaces the error of an unreachable shim by the final status if the attempt has ended.
    fn ended_or(&mut self, error: Error) -> Result<&Status, Error> {
        let gone = matches!(error, Error::Unreachable { .. });
        let Some(exit) = self.attempt.exit().ok().flatten().filter(|_| gone) else {
            return Err(error);
        };
        self.status.version += 1;
        self.status.state = State::Ended;
        self.status.out.end = exit.out;
        self.status.err.end = exit.err;
        self.status.exit = Some(exit);
        Ok(&self.status)
    }

    /// Like `ended_or`, for requests that are invalid after the end.
    fn not_running_or(&mut self, error: Error) -> Error {
        match self.ended_or(error) {
            Ok(_) => Error::Refused {
                why: Refused::NotRunning,
                message: format!("the agent of attempt {} has ended", self.attempt.id()),
            },
            Err(error) => error,
        }
    }

    fn say(&mut self, asked: Result<u64, Error>) -> Result<u64, Error> {
        let said = self.wire.say();
        said.map_err(|source| Error::unreachable(self.attempt.id(), source))
            .and(asked)
    }

    /// Sends the request and waits for its response. Late responses to earlier waits only update
    /// the status.
    fn answer(&mut self, asked: Result<u64, Error>, end: Instant) -> Result<Sent, Error> {
        let asked = self.say(asked)?;
        loop {
            let event = self.wire.next(end);
            match event.map_err(|source| Error::unreachable(self.attempt.id(), source))? {
                Event::Done { id, sent, status } => {
                    self.learn(status);
                    if id == asked {
                        return Ok(sent);
                    }
                }
                Event::Refused { id, why, message } if [0, asked].contains(&id) => {
                    return Err(Error::Refused { why, message });
                }
                Event::Refused { .. } | Event::Greeted { .. } => {}
                Event::Broken { message } => {
                    return Err(Error::protocol(self.attempt.id(), message));
                }
            }
        }
    }
}

/// For polling several handles: readable when a response has arrived.
impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wire.stream.as_fd()
    }
}

/// Returns the deadline for a request sent now.
fn soon() -> Instant {
    Instant::now() + Duration::from_millis(ANSWER_MS_MAX)
}

/// A dialogue over a socket.
#[derive(Debug)]
struct Wire {
    stream: UnixStream,
    dialogue: Dialogue,
    events: VecDeque<Event>,
}

impl Wire {
    /// Writes all outgoing bytes.
    fn say(&mut self) -> io::Result<()> {
        let said = self.stream.write_all(self.dialogue.outgoing());
        // Half a request cannot be repeated: a connection that failed here is unusable.
        self.dialogue.written(self.dialogue.outgoing().len());
        said
    }

    /// Returns the next event, if it comes before `end`.
    fn next(&mut self, end: Instant) -> io::Result<Event> {
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
