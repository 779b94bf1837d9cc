//! A connection to one shim, for whoever waits for each answer: a [`Dialogue`] with a socket and a clock.

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

/// How long a shim may take to answer anything but `wait`.
const ANSWER_MS_MAX: u64 = 10_000;

/// Read at once.
const CHUNK_BYTES: usize = 4 << 10;

/// A connection to the shim of one attempt. Attaching for the first time and again are the same.
#[derive(Debug)]
pub struct Handle {
    attempt: Attempt,
    wire: Wire,
    hello: Hello,
    status: Status,
}

impl Handle {
    /// Connects to the shim of an attempt, with the fencing number under which it is given orders.
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

    /// Who answers.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// The last status heard, without asking.
    pub fn last_status(&self) -> &Status {
        &self.status
    }

    /// Starts the agent with this environment and nothing else, unless it has been started.
    pub fn go(&mut self, environment: &Environment) -> Result<&Status, Error> {
        let asked = self.wire.dialogue.go(environment);
        self.answer(asked, soon())?;
        Ok(&self.status)
    }

    /// The same with an environment that may hold what is no text. Shims of older versions cannot take it and are not asked.
    pub fn go_raw(&mut self, environment: &RawEnvironment) -> Result<&Status, Error> {
        let asked = self.wire.dialogue.go_raw(environment);
        self.answer(asked, soon())?;
        Ok(&self.status)
    }

    /// How the agent shall be. The answer comes before it is so: see [`Handle::wait`]. An agent that has ended meanwhile
    /// cannot be wanted otherwise.
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

    /// Hands message `seq` to the agent, at most 1 MiB. `last` closes its standard input behind it.
    pub fn send(&mut self, seq: u64, bytes: &[u8], last: bool) -> Result<Sent, Error> {
        let asked = self.wire.dialogue.input(seq, bytes, last);
        self.sent(asked)
    }

    /// Interrupts the agent (SIGINT to its own process group, as a terminal does) under this number, from 1 and growing. A
    /// paused agent hears it when it goes on. Shims of older versions cannot do it and are not asked.
    pub fn interrupt(&mut self, seq: u64) -> Result<Sent, Error> {
        let asked = self.wire.dialogue.interrupt(seq);
        self.sent(asked)
    }

    /// The answer to what only an agent that runs can take.
    fn sent(&mut self, asked: Result<u64, Error>) -> Result<Sent, Error> {
        self.answer(asked, soon())
            .map_err(|error| self.not_running_or(error))
    }

    /// Output up to these offsets has been processed.
    pub fn acknowledge(&mut self, out: u64, err: u64) -> Result<&Status, Error> {
        let asked = self.wire.dialogue.acknowledge(out, err);
        self.told(asked)
    }

    /// How things are. An attempt that has ended meanwhile says so; its shim is gone.
    pub fn status(&mut self) -> Result<&Status, Error> {
        let asked = self.wire.dialogue.status();
        self.told(asked)
    }

    /// How things are after what an agent that has ended may be asked, too.
    fn told(&mut self, asked: Result<u64, Error>) -> Result<&Status, Error> {
        match self.answer(asked, soon()) {
            Ok(_) => Ok(&self.status),
            Err(error) => self.ended_or(error),
        }
    }

    /// Waits until there is a newer status than the last one heard, or more output than `out` and `err`. `None` when
    /// nothing of it happened in time.
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

    /// Asks to be told of news as [`Handle::wait`] does, without waiting for them: one thread can poll a few handles, and
    /// call [`Handle::heard`] for those that are readable. A loop over many has a [`Dialogue`] for each.
    pub fn listen(&mut self, out: u64, err: u64) -> Result<(), Error> {
        let asked = self.wire.dialogue.wait(self.status.version, out, err);
        self.say(asked).map(drop)
    }

    /// The newest status that has arrived, without waiting; `None` when none has.
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
                // The last words come before the end of the connection.
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

    /// A shim that does not answer any more may have left because all is over.
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

    /// The same for requests that make no sense after the end.
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

    /// The answer to what was asked. Later answers to earlier waits only bring their status.
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

/// To be polled together with others: readable when an answer is there.
impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wire.stream.as_fd()
    }
}

/// The end of patience for an answer to what is asked now.
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
    /// Writes all there is to say.
    fn say(&mut self) -> io::Result<()> {
        let said = self.stream.write_all(self.dialogue.outgoing());
        // Half a request cannot be said again: a connection that failed here is of no use any more.
        self.dialogue.written(self.dialogue.outgoing().len());
        said
    }

    /// The next event, if it comes before `end`.
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
