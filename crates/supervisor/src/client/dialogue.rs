//! The client's side of the protocol as a value: bytes in, events out. No socket, no time, no
//! thread.
//!
//! The owner of a connection hands the bytes it reads to [`Dialogue::receive`] and writes those of
//! [`Dialogue::outgoing`], as far as the connection takes them. One loop over a thousand
//! connections needs no more.

use crate::error::{Error, Refused};
use crate::protocol::{
    Answer, BODY_BYTES_MAX, Envelope, Environment, Hello, INTERRUPT, Lines, MASK, PROTOCOL,
    RAW_ENVIRONMENT, RawEnvironment, Request, Status, Want, raw_body,
};
use serde::Serialize;

/// Bytes that may wait to be written, beside one message of the greatest length.
const WAITING_BYTES_MAX: u64 = 64 << 10;
/// The part of it that is reserved for orders: an agent can be ended even if it reads no input.
const ORDERS_BYTES: u64 = WAITING_BYTES_MAX / 2;

/// Result of a request that may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It was accepted now.
    Accepted,
    /// It had been accepted before; nothing was done again.
    Already,
}

/// Event decoded from the responses of a shim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The greeting of the shim with its status. Comes first, and once.
    Greeted {
        /// Identity and features of the shim.
        hello: Hello,
        /// Status at the time of the greeting.
        status: Status,
    },
    /// A request was carried out. A `wait` may be answered long after later requests.
    Done {
        /// Number of the request.
        id: u64,
        /// Tells if it was done now or before.
        sent: Sent,
        /// Status after the request.
        status: Option<Status>,
    },
    /// A request was refused.
    Refused {
        /// Number of the request; 0 when the shim refuses the whole connection.
        id: u64,
        /// Reason for programs.
        why: Refused,
        /// The reason as a sentence.
        message: String,
    },
    /// The shim does not speak protocol 1. Everything it sends from here on is ignored.
    Broken {
        /// Description of the unexpected data.
        message: String,
    },
}

/// Client state of one connection to the shim of an attempt. Requests may be made before the shim
/// has greeted, and before earlier ones are answered: each has a number, and so has its response.
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
    /// Creates a client that expects the greeting. Orders are given under this fencing number.
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

    /// Decodes the next bytes of the shim into events. Less than a line is kept for the next call.
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
            let (attempt, protocol) = (&hello.attempt, hello.protocol);
            return Err(format!("it is attempt {attempt}, of protocol {protocol}"));
        }
        self.hello = Some(hello.clone());
        Ok(Event::Greeted { hello, status })
    }

    /// Returns the bytes that wait to be written.
    pub fn outgoing(&self) -> &[u8] {
        &self.outgoing
    }

    /// Removes the first `count` bytes of [`Dialogue::outgoing`], which have been written.
    pub fn written(&mut self, count: usize) {
        self.outgoing.drain(..count.min(self.outgoing.len()));
    }

    /// Requests the start of the agent with this environment and nothing else. Does nothing if it
    /// has been started.
    pub fn go(&mut self, environment: &Environment) -> Result<u64, Error> {
        let body = self.json(environment)?;
        self.ask_to_go(&body, false)
    }

    /// Like [`Dialogue::go`], with an environment that may hold values that are not UTF-8.
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

    /// Requests a state for the agent from now on.
    pub fn want(&mut self, state: Want, generation: u64) -> Result<u64, Error> {
        let request = Request::Want {
            fence: self.fence,
            state,
            generation,
        };
        self.ask(request, &[])
    }

    /// Sends message `seq` to the agent, at most 1 MiB. `last` closes its standard input behind it.
    pub fn input(&mut self, seq: u64, bytes: &[u8], last: bool) -> Result<u64, Error> {
        let request = Request::Input {
            fence: self.fence,
            seq,
            bytes: bytes.len() as u64,
            last,
        };
        self.ask(request, bytes)
    }

    /// Requests an interrupt of the agent under this number, from 1 and growing. An error if the
    /// shim lacks the feature.
    pub fn interrupt(&mut self, seq: u64) -> Result<u64, Error> {
        self.can(INTERRUPT)?;
        let fence = self.fence;
        self.ask(Request::Interrupt { fence, seq }, &[])
    }

    /// Requests that these values are masked in all output from now on. Must come before the agent
    /// can know them. An error if the shim lacks the feature; it must not be given a secret then.
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

    /// Returns an error if the shim has not announced the feature.
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

    /// Acknowledges output up to these offsets as processed.
    pub fn acknowledge(&mut self, out: u64, err: u64) -> Result<u64, Error> {
        let fence = self.fence;
        self.ask(Request::Ack { fence, out, err }, &[])
    }

    /// Requests the status of the agent.
    pub fn status(&mut self) -> Result<u64, Error> {
        self.ask(Request::Status {}, &[])
    }

    /// Requests the status, to be sent when there is a newer version of it, or more output than
    /// this.
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
