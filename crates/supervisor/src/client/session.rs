//! The client's side of the protocol as a value: bytes in, events out. No socket, no time, no
//! thread.
//!
//! The owner of a connection hands the bytes it reads to [`ShimSession::receive`] and writes those
//! of [`ShimSession::outgoing_bytes`], as far as the connection takes them. One loop over a
//! thousand connections needs no more.

use crate::error::{ShimRefusal, SupervisorError};
use crate::protocol::{
    BODY_BYTES_MAX, Environment, INTERRUPT, LineBuffer, MASK, ObservedStatus, PROTOCOL,
    RAW_ENVIRONMENT, RawEnvironment, RequestEnvelope, ShimGreeting, ShimRequest, ShimResponse,
    WantedState, encode_environment,
};
use serde::Serialize;

/// Bytes that may wait to be written, beside one message of the greatest length.
const WAITING_BYTES_MAX: u64 = 64 << 10;
/// The part of it that is reserved for orders: an agent can be ended even if it reads no input.
const ORDERS_BYTES: u64 = WAITING_BYTES_MAX / 2;

/// Result of a request that may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    /// It was accepted now.
    Accepted,
    /// It had been accepted before; nothing was done again.
    Already,
}

/// Event decoded from the responses of a shim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShimEvent {
    /// The greeting of the shim with its status. Comes first, and once.
    Greeted {
        /// Identity and features of the shim.
        hello: ShimGreeting,
        /// Status at the time of the greeting.
        status: ObservedStatus,
    },
    /// A request was carried out. A `wait` may be answered long after later requests.
    Done {
        /// Number of the request.
        id: u64,
        /// Tells if it was done now or before.
        sent: SendOutcome,
        /// Status after the request.
        status: Option<ObservedStatus>,
    },
    /// A request was refused.
    Refused {
        /// Number of the request; 0 when the shim refuses the whole connection.
        id: u64,
        /// Reason for programs.
        why: ShimRefusal,
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
pub struct ShimSession {
    attempt: String,
    fence: u64,
    next_id: u64,
    hello: Option<ShimGreeting>,
    broken: bool,
    incoming: LineBuffer,
    outgoing: Vec<u8>,
}

impl ShimSession {
    /// Creates a client that expects the greeting. Orders are given under this fencing number.
    pub fn new(attempt: &str, fence: u64) -> ShimSession {
        ShimSession {
            attempt: attempt.to_owned(),
            fence,
            next_id: 1,
            hello: None,
            broken: false,
            incoming: LineBuffer::default(),
            outgoing: Vec::new(),
        }
    }

    /// Gives orders under another fencing number from now on.
    pub fn set_fence(&mut self, fence: u64) {
        self.fence = fence;
    }

    /// Decodes the next bytes of the shim into events. Less than a line is kept for the next call.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<ShimEvent> {
        let mut events = Vec::new();
        if self.broken {
            return events;
        }
        self.incoming.push_bytes(bytes);
        loop {
            let event = match self.incoming.next_line() {
                Ok(None) => return events,
                Ok(Some(line)) => self.decode_line(&line),
                Err(error) => Err(error.to_string()),
            };
            let event = event.unwrap_or_else(|message| ShimEvent::Broken { message });
            self.broken = matches!(event, ShimEvent::Broken { .. });
            events.push(event);
            if self.broken {
                self.incoming = LineBuffer::default();
                return events;
            }
        }
    }

    fn decode_line(&mut self, line: &[u8]) -> Result<ShimEvent, String> {
        let answer: ShimResponse =
            serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if let Some(no) = answer.no {
            let (why, message) = ShimRefusal::from_response(no);
            return Ok(ShimEvent::Refused {
                id: answer.id,
                why,
                message,
            });
        }
        if self.hello.is_some() {
            let sent = match answer.already {
                true => SendOutcome::Already,
                false => SendOutcome::Accepted,
            };
            return Ok(ShimEvent::Done {
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
        Ok(ShimEvent::Greeted { hello, status })
    }

    /// Returns the bytes that wait to be written.
    pub fn outgoing_bytes(&self) -> &[u8] {
        &self.outgoing
    }

    /// Removes the first `count` bytes of [`ShimSession::outgoing_bytes`], which have been written.
    pub fn mark_written(&mut self, count: usize) {
        self.outgoing.drain(..count.min(self.outgoing.len()));
    }

    /// Requests the start of the agent with this environment and nothing else. Does nothing if it
    /// has been started.
    pub fn request_start(&mut self, environment: &Environment) -> Result<u64, SupervisorError> {
        let body = self.encode_json(environment)?;
        self.queue_start(&body, false)
    }

    /// Like [`ShimSession::request_start`], with an environment that may hold values that are not
    /// UTF-8.
    pub fn request_start_raw(
        &mut self,
        environment: &RawEnvironment,
    ) -> Result<u64, SupervisorError> {
        self.require_feature(RAW_ENVIRONMENT)?;
        self.queue_start(&encode_environment(environment), true)
    }

    fn queue_start(&mut self, body: &[u8], raw: bool) -> Result<u64, SupervisorError> {
        let request = ShimRequest::Go {
            fence: self.fence,
            bytes: body.len() as u64,
            raw,
        };
        self.queue_request(request, body)
    }

    /// Requests a state for the agent from now on.
    pub fn request_state(
        &mut self,
        state: WantedState,
        generation: u64,
    ) -> Result<u64, SupervisorError> {
        let request = ShimRequest::Want {
            fence: self.fence,
            state,
            generation,
        };
        self.queue_request(request, &[])
    }

    /// Sends message `seq` to the agent, at most 1 MiB. `last` closes its standard input behind it.
    pub fn send_input(
        &mut self,
        seq: u64,
        bytes: &[u8],
        last: bool,
    ) -> Result<u64, SupervisorError> {
        let request = ShimRequest::Input {
            fence: self.fence,
            seq,
            bytes: bytes.len() as u64,
            last,
        };
        self.queue_request(request, bytes)
    }

    /// Requests an interrupt of the agent under this number, from 1 and growing. An error if the
    /// shim lacks the feature.
    pub fn request_interrupt(&mut self, seq: u64) -> Result<u64, SupervisorError> {
        self.require_feature(INTERRUPT)?;
        let fence = self.fence;
        self.queue_request(ShimRequest::Interrupt { fence, seq }, &[])
    }

    /// Requests that these values are masked in all output from now on. Must come before the agent
    /// can know them. An error if the shim lacks the feature; it must not be given a secret then.
    pub fn request_mask(&mut self, values: &[String]) -> Result<u64, SupervisorError> {
        self.require_feature(MASK)?;
        let body = self.encode_json(values)?;
        let request = ShimRequest::Mask {
            fence: self.fence,
            bytes: body.len() as u64,
        };
        self.queue_request(request, &body)
    }

    fn encode_json<T: Serialize + ?Sized>(&self, value: &T) -> Result<Vec<u8>, SupervisorError> {
        serde_json::to_vec(value)
            .map_err(|error| SupervisorError::protocol_mismatch(&self.attempt, error.to_string()))
    }

    /// Returns an error if the shim has not announced the feature.
    fn require_feature(&self, feature: &str) -> Result<(), SupervisorError> {
        let hello = self.hello.as_ref();
        match hello.is_some_and(|hello| hello.features.iter().any(|one| one == feature)) {
            true => Ok(()),
            false => Err(SupervisorError::Refused {
                why: ShimRefusal::Unsupported,
                message: format!("the shim of attempt {} cannot {feature}", self.attempt),
            }),
        }
    }

    /// Acknowledges output up to these offsets as processed.
    pub fn acknowledge_output(&mut self, out: u64, err: u64) -> Result<u64, SupervisorError> {
        let fence = self.fence;
        self.queue_request(ShimRequest::Ack { fence, out, err }, &[])
    }

    /// Requests the status of the agent.
    pub fn request_status(&mut self) -> Result<u64, SupervisorError> {
        self.queue_request(ShimRequest::Status {}, &[])
    }

    /// Requests the status, to be sent when there is a newer version of it, or more output than
    /// this.
    pub fn request_status_change(
        &mut self,
        version: u64,
        out: u64,
        err: u64,
    ) -> Result<u64, SupervisorError> {
        self.queue_request(ShimRequest::Wait { version, out, err }, &[])
    }

    fn queue_request(&mut self, request: ShimRequest, body: &[u8]) -> Result<u64, SupervisorError> {
        let full = |message| SupervisorError::Refused {
            why: ShimRefusal::InputFull,
            message,
        };
        if body.len() as u64 > BODY_BYTES_MAX {
            return Err(full(format!("more than {BODY_BYTES_MAX} bytes at once")));
        }
        let id = self.next_id;
        let mut line = self.encode_json(&RequestEnvelope { id, request })?;
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
