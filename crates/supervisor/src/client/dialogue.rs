//! What is said to a shim and what comes back, as a value: bytes in, events out. No socket, no time, no thread.
//!
//! Whoever has a connection hands what it reads to [`Dialogue::receive`] and writes what [`Dialogue::outgoing`] has, when
//! and as far as the connection takes it. One loop over a thousand connections needs no more.

use crate::error::{Error, Refused};
use crate::protocol::{
    Answer, BODY_BYTES_MAX, Envelope, Environment, Hello, INTERRUPT, Lines, MASK, PROTOCOL,
    RAW_ENVIRONMENT, RawEnvironment, Request, Status, Want, raw_body,
};
use serde::Serialize;

/// Bytes that may wait to be written, beside one message of the greatest length.
const WAITING_BYTES_MAX: u64 = 64 << 10;
/// The part of it that messages leave to orders: an agent can be ended whatever it has not read.
const ORDERS_BYTES: u64 = WAITING_BYTES_MAX / 2;

/// Whether something was done now or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It was taken.
    Accepted,
    /// It had been taken; nothing was done again.
    Already,
}

/// What a shim has said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Who answers, and how things are. Comes first, and once.
    Greeted {
        /// Who.
        hello: Hello,
        /// How things are.
        status: Status,
    },
    /// A request was carried out. One of the kind `wait` may be answered long after later ones.
    Done {
        /// The number of the request.
        id: u64,
        /// Now, or before.
        sent: Sent,
        /// How things are now.
        status: Option<Status>,
    },
    /// A request was refused.
    Refused {
        /// Its number; 0 when the shim turns the whole connection away.
        id: u64,
        /// Why.
        why: Refused,
        /// In words.
        message: String,
    },
    /// This is not protocol 1. Nothing is understood from here on.
    Broken {
        /// What was said instead.
        message: String,
    },
}

/// One side of a connection to the shim of an attempt. Requests may be made before the shim has greeted, and before earlier
/// ones are answered: each has a number, and so has its answer.
#[derive(Debug)]
pub struct Dialogue {
    attempt: String,
    fence: u64,
    next_id: u64,
    hello: Option<Hello>,
    broken: bool,
    incoming: Lines,
    outgoing: Vec<u8>,
}

impl Dialogue {
    /// The beginning: the shim speaks first. Orders are given under this fencing number.
    pub fn new(attempt: &str, fence: u64) -> Dialogue {
        Dialogue {
            attempt: attempt.to_owned(),
            fence,
            next_id: 1,
            hello: None,
            broken: false,
            incoming: Lines::default(),
            outgoing: Vec::new(),
        }
    }

    /// Gives orders under another fencing number from now on.
    pub fn set_fence(&mut self, fence: u64) {
        self.fence = fence;
    }

    /// What has come: any part of what the shim sent, in order. Less than a line is kept for the next time.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        if self.broken {
            return events;
        }
        self.incoming.push(bytes);
        loop {
            let event = match self.incoming.line() {
                Ok(None) => return events,
                Ok(Some(line)) => self.heard(&line),
                Err(error) => Err(error.to_string()),
            };
            let event = event.unwrap_or_else(|message| Event::Broken { message });
            self.broken = matches!(event, Event::Broken { .. });
            events.push(event);
            if self.broken {
                self.incoming = Lines::default();
                return events;
            }
        }
    }

    fn heard(&mut self, line: &[u8]) -> Result<Event, String> {
        let answer: Answer = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if let Some(no) = answer.no {
            let (why, message) = Refused::told(no);
            return Ok(Event::Refused {
                id: answer.id,
                why,
                message,
            });
        }
        if self.hello.is_some() {
            let sent = match answer.already {
                true => Sent::Already,
                false => Sent::Accepted,
            };
            return Ok(Event::Done {
                id: answer.id,
                sent,
                status: answer.status,
            });
        }
        let (Some(hello), Some(status)) = (answer.hello, answer.status) else {
            return Err("it does not greet".into());
        };
        if hello.protocol != PROTOCOL || hello.attempt != self.attempt {
            return Err(format!("{hello:?}"));
        }
        self.hello = Some(hello.clone());
        Ok(Event::Greeted { hello, status })
    }

    /// What waits to be written.
    pub fn outgoing(&self) -> &[u8] {
        &self.outgoing
    }

    /// The first `count` bytes of [`Dialogue::outgoing`] have been written.
    pub fn written(&mut self, count: usize) {
        self.outgoing.drain(..count.min(self.outgoing.len()));
    }

    /// Start the agent with this environment and nothing else, unless it has been started.
    pub fn go(&mut self, environment: &Environment) -> Result<u64, Error> {
        let body = self.json(environment)?;
        self.ask_to_go(&body, false)
    }

    /// The same with an environment that may hold what is no text.
    pub fn go_raw(&mut self, environment: &RawEnvironment) -> Result<u64, Error> {
        self.can(RAW_ENVIRONMENT)?;
        self.ask_to_go(&raw_body(environment), true)
    }

    fn ask_to_go(&mut self, body: &[u8], raw: bool) -> Result<u64, Error> {
        let request = Request::Go {
            fence: self.fence,
            bytes: body.len() as u64,
            raw,
        };
        self.ask(request, body)
    }

    /// How the agent shall be from now on.
    pub fn want(&mut self, state: Want, generation: u64) -> Result<u64, Error> {
        let request = Request::Want {
            fence: self.fence,
            state,
            generation,
        };
        self.ask(request, &[])
    }

    /// Message `seq` for the agent, at most 1 MiB. `last` closes its standard input behind it.
    pub fn input(&mut self, seq: u64, bytes: &[u8], last: bool) -> Result<u64, Error> {
        let request = Request::Input {
            fence: self.fence,
            seq,
            bytes: bytes.len() as u64,
            last,
        };
        self.ask(request, bytes)
    }

    /// Interrupt the agent under this number, from 1 and growing. A shim that has not said that it can is not asked.
    pub fn interrupt(&mut self, seq: u64) -> Result<u64, Error> {
        self.can(INTERRUPT)?;
        let fence = self.fence;
        self.ask(Request::Interrupt { fence, seq }, &[])
    }

    /// Hide these values in all output from now on. To be done before the agent can know them; a shim that has not said that
    /// it can is not asked, and must not be given a secret.
    pub fn mask(&mut self, values: &[String]) -> Result<u64, Error> {
        self.can(MASK)?;
        let body = self.json(values)?;
        let request = Request::Mask {
            fence: self.fence,
            bytes: body.len() as u64,
        };
        self.ask(request, &body)
    }

    fn json<T: Serialize + ?Sized>(&self, value: &T) -> Result<Vec<u8>, Error> {
        serde_json::to_vec(value).map_err(|error| Error::protocol(&self.attempt, error.to_string()))
    }

    /// Whether the shim has said that it can.
    fn can(&self, feature: &str) -> Result<(), Error> {
        let hello = self.hello.as_ref();
        match hello.is_some_and(|hello| hello.features.iter().any(|one| one == feature)) {
            true => Ok(()),
            false => Err(Error::Refused {
                why: Refused::Unsupported,
                message: format!("the shim of attempt {} cannot {feature}", self.attempt),
            }),
        }
    }

    /// Output up to these offsets has been processed.
    pub fn acknowledge(&mut self, out: u64, err: u64) -> Result<u64, Error> {
        let fence = self.fence;
        self.ask(Request::Ack { fence, out, err }, &[])
    }

    /// How are things?
    pub fn status(&mut self) -> Result<u64, Error> {
        self.ask(Request::Status {}, &[])
    }

    /// The same, to be answered when there is a newer version of the status, or more output than this.
    pub fn wait(&mut self, version: u64, out: u64, err: u64) -> Result<u64, Error> {
        self.ask(Request::Wait { version, out, err }, &[])
    }

    fn ask(&mut self, request: Request, body: &[u8]) -> Result<u64, Error> {
        let full = |message| Error::Refused {
            why: Refused::InputFull,
            message,
        };
        if body.len() as u64 > BODY_BYTES_MAX {
            return Err(full(format!("more than {BODY_BYTES_MAX} bytes at once")));
        }
        let id = self.next_id;
        let mut line = self.json(&Envelope { id, request })?;
        line.push(b'\n');
        let room = match body.is_empty() {
            true => BODY_BYTES_MAX + WAITING_BYTES_MAX,
            false => BODY_BYTES_MAX + WAITING_BYTES_MAX - ORDERS_BYTES,
        };
        if (self.outgoing.len() + line.len() + body.len()) as u64 > room {
            let waiting = self.outgoing.len();
            return Err(full(format!("{waiting} bytes wait to be written")));
        }
        self.next_id += 1;
        self.outgoing.extend_from_slice(&line);
        self.outgoing.extend_from_slice(body);
        Ok(id)
    }
}
