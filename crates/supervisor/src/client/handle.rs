//! A connection to one shim.

use crate::attempt::{Attempt, socket_path};
use crate::error::{Error, Refused};
use crate::protocol::{
    Answer, BODY_BYTES_MAX, Envelope, Environment, Hello, INTERRUPT, Lines, PROTOCOL, Request,
    State, Status, Want,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long a shim may take to answer anything but `wait`.
const ANSWER_MS_MAX: u64 = 10_000;

/// Whether a message was taken now or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It was taken.
    Accepted,
    /// It had been taken; nothing was sent again.
    Already,
}

/// A connection to the shim of one attempt. Attaching for the first time and again are the same.
#[derive(Debug)]
pub struct Handle {
    attempt: Attempt,
    fence: u64,
    stream: UnixStream,
    lines: Lines,
    next_id: u64,
    hello: Hello,
    status: Status,
}

impl Handle {
    /// Connects to the shim of an attempt, with the fencing number under which it is given orders.
    pub fn attach(attempt: &Attempt, fence: u64) -> Result<Handle, Error> {
        let unreachable = |source: io::Error| Error::Unreachable {
            attempt: attempt.id().to_owned(),
            source,
        };
        let folder = File::open(attempt.folder()).map_err(unreachable)?;
        let mut stream = UnixStream::connect(socket_path(&folder)).map_err(unreachable)?;
        let timeout = Some(Duration::from_millis(ANSWER_MS_MAX));
        stream.set_write_timeout(timeout).map_err(unreachable)?;
        let mut lines = Lines::default();
        let end = Instant::now() + Duration::from_millis(ANSWER_MS_MAX);
        let greeting = receive(&mut stream, &mut lines, end).map_err(unreachable)?;
        let protocol = |message: String| Error::Protocol {
            attempt: attempt.id().to_owned(),
            message,
        };
        if let Some(no) = greeting.no {
            return Err(Error::refused(no));
        }
        let (Some(hello), Some(status)) = (greeting.hello, greeting.status) else {
            return Err(protocol("it does not greet".into()));
        };
        if hello.protocol != PROTOCOL || hello.attempt != attempt.id() {
            return Err(protocol(format!("{hello:?}")));
        }
        Ok(Handle {
            attempt: attempt.clone(),
            fence,
            stream,
            lines,
            next_id: 1,
            hello,
            status,
        })
    }

    /// Gives orders under another fencing number from now on.
    pub fn set_fence(&mut self, fence: u64) {
        self.fence = fence;
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
    pub fn go(&mut self, environment: &BTreeMap<String, String>) -> Result<&Status, Error> {
        let environment: &Environment = environment;
        let body = serde_json::to_vec(environment).map_err(|error| Error::Protocol {
            attempt: self.attempt.id().to_owned(),
            message: error.to_string(),
        })?;
        let request = Request::Go {
            fence: self.fence,
            bytes: body.len() as u64,
        };
        self.ask(request, &body)?;
        Ok(&self.status)
    }

    /// How the agent shall be. The answer comes before it is so: see [`Handle::wait`]. An agent that has ended meanwhile
    /// cannot be wanted otherwise.
    pub fn want(&mut self, state: Want, generation: u64) -> Result<&Status, Error> {
        let request = Request::Want {
            fence: self.fence,
            state,
            generation,
        };
        match self.ask(request, &[]) {
            Ok(_) => Ok(&self.status),
            Err(error) if state == Want::Ended => self.ended_or(error),
            Err(error) => Err(self.not_running_or(error)),
        }
    }

    /// Hands message `seq` to the agent, at most 1 MiB. `last` closes its standard input behind it.
    pub fn send(&mut self, seq: u64, bytes: &[u8], last: bool) -> Result<Sent, Error> {
        let request = Request::Input {
            fence: self.fence,
            seq,
            bytes: bytes.len() as u64,
            last,
        };
        match self.ask(request, bytes) {
            Ok(true) => Ok(Sent::Already),
            Ok(false) => Ok(Sent::Accepted),
            Err(error) => Err(self.not_running_or(error)),
        }
    }

    /// Interrupts the agent (SIGINT to its own process group, as a terminal does) under this number, from 1 and growing. A
    /// paused agent hears it when it goes on. Shims of older versions cannot do it and are not asked.
    pub fn interrupt(&mut self, seq: u64) -> Result<Sent, Error> {
        if !self.hello.features.iter().any(|one| one == INTERRUPT) {
            return Err(Error::Refused {
                why: Refused::Unsupported,
                message: format!("the shim of attempt {} cannot interrupt", self.attempt.id()),
            });
        }
        let request = Request::Interrupt {
            fence: self.fence,
            seq,
        };
        match self.ask(request, &[]) {
            Ok(true) => Ok(Sent::Already),
            Ok(false) => Ok(Sent::Accepted),
            Err(error) => Err(self.not_running_or(error)),
        }
    }

    /// Output up to these offsets has been processed.
    pub fn acknowledge(&mut self, out: u64, err: u64) -> Result<&Status, Error> {
        let request = Request::Ack {
            fence: self.fence,
            out,
            err,
        };
        match self.ask(request, &[]) {
            Ok(_) => Ok(&self.status),
            Err(error) => self.ended_or(error),
        }
    }

    /// How things are. An attempt that has ended meanwhile says so; its shim is gone.
    pub fn status(&mut self) -> Result<&Status, Error> {
        match self.ask(Request::Status {}, &[]) {
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
        let request = Request::Wait {
            version: self.status.version,
            out,
            err,
        };
        let heard = self
            .send_request(request, &[])
            .and_then(|id| self.receive(id, Instant::now() + timeout));
        match heard {
            Ok(_) => Ok(Some(&self.status)),
            Err(Error::Unreachable { source, .. }) if source.kind() == io::ErrorKind::TimedOut => {
                Ok(None)
            }
            Err(error) => self.ended_or(error).map(Some),
        }
    }

    /// Asks to be told of news as [`Handle::wait`] does, without waiting for them: one thread can poll many handles, and call
    /// [`Handle::heard`] for those that are readable.
    pub fn listen(&mut self, out: u64, err: u64) -> Result<(), Error> {
        let request = Request::Wait {
            version: self.status.version,
            out,
            err,
        };
        self.send_request(request, &[]).map(drop)
    }

    /// The newest status that has arrived, without waiting; `None` when none has.
    pub fn heard(&mut self) -> Result<Option<&Status>, Error> {
        match self.arrived() {
            Ok(true) => Ok(Some(&self.status)),
            Ok(false) => Ok(None),
            Err(source) => {
                let error = self.unreachable(source);
                self.ended_or(error).map(Some)
            }
        }
    }

    fn arrived(&mut self) -> io::Result<bool> {
        self.stream.set_nonblocking(true)?;
        let mut news = false;
        let closed = loop {
            while let Some(line) = self.lines.line()? {
                let answer: Answer = serde_json::from_slice(&line)?;
                if let Some(status) = answer.status {
                    self.status = status;
                    news = true;
                }
            }
            match self.lines.fill(&mut self.stream) {
                Ok(true) => {}
                Ok(false) => break true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
                Err(error) => return Err(error),
            }
        };
        self.stream.set_nonblocking(false)?;
        // The last words come before the end of the connection.
        if closed && !news {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(news)
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

    fn ask(&mut self, request: Request, body: &[u8]) -> Result<bool, Error> {
        if body.len() as u64 > BODY_BYTES_MAX {
            return Err(Error::Refused {
                why: Refused::InputFull,
                message: format!("more than {BODY_BYTES_MAX} bytes at once"),
            });
        }
        let id = self.send_request(request, body)?;
        let end = Instant::now() + Duration::from_millis(ANSWER_MS_MAX);
        let answer = self.receive(id, end)?;
        match answer.no {
            Some(no) => Err(Error::refused(no)),
            None => Ok(answer.already),
        }
    }

    fn send_request(&mut self, request: Request, body: &[u8]) -> Result<u64, Error> {
        let id = self.next_id;
        self.next_id += 1;
        let mut line =
            serde_json::to_vec(&Envelope { id, request }).map_err(|error| Error::Protocol {
                attempt: self.attempt.id().to_owned(),
                message: error.to_string(),
            })?;
        line.push(b'\n');
        let sent = self.stream.write_all(&line);
        sent.and_then(|()| self.stream.write_all(body))
            .map_err(|source| self.unreachable(source))?;
        Ok(id)
    }

    /// The answer with this number. Later answers to earlier waits only bring their status.
    fn receive(&mut self, id: u64, end: Instant) -> Result<Answer, Error> {
        loop {
            let mut answer = receive(&mut self.stream, &mut self.lines, end)
                .map_err(|source| self.unreachable(source))?;
            if let Some(status) = answer.status.take() {
                self.status = status;
            }
            if answer.id == id || answer.id == 0 && answer.no.is_some() {
                return Ok(answer);
            }
        }
    }

    fn unreachable(&self, source: io::Error) -> Error {
        Error::Unreachable {
            attempt: self.attempt.id().to_owned(),
            source,
        }
    }
}

/// To be polled together with others: readable when an answer is there.
impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn receive(stream: &mut UnixStream, lines: &mut Lines, end: Instant) -> io::Result<Answer> {
    loop {
        if let Some(line) = lines.line()? {
            return Ok(serde_json::from_slice(&line)?);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match lines.fill(stream) {
            Ok(true) => {}
            Ok(false) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
}
