//! Protocol 1 between a shim and its clients: frozen. Fields may be added with a default; no
//! meaning changes.
//!
//! One JSON object per line; `go` and `input` announce raw bytes that follow their line. The page
//! `docs/formats/shim-protocol.md` describes it.

use crate::exit::AttemptExit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

mod line_buffer;

pub(crate) use line_buffer::LineBuffer;

/// The version this crate speaks.
pub const PROTOCOL: u32 = 1;

/// Features of this version's shims beyond the first one of protocol 1.
pub const FEATURES: [&str; 4] = [INTERRUPT, INPUT_READ, MASK, RAW_ENVIRONMENT];

/// The feature of shims that understand `interrupt`.
pub(crate) const INTERRUPT: &str = "interrupt";

/// The feature of shims that report how much of its input the agent has read.
pub(crate) const INPUT_READ: &str = "input_read";

/// The feature of shims that understand `mask`.
pub(crate) const MASK: &str = "mask";

/// The feature of shims that accept environments that are not UTF-8.
pub(crate) const RAW_ENVIRONMENT: &str = "raw_environment";

/// The longest line.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 10;

/// The most raw bytes behind one line.
pub(crate) const BODY_BYTES_MAX: u64 = 1 << 20;

/// The environment given with `go`, as text.
pub(crate) type Environment = BTreeMap<String, String>;

/// An environment that may hold values that are not UTF-8.
pub(crate) type RawEnvironment = BTreeMap<OsString, OsString>;

/// Encodes an environment as the raw body of `go`.
pub(crate) fn encode_environment(environment: &RawEnvironment) -> Vec<u8> {
    let entry = |(name, value): (&OsString, &OsString)| {
        [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat()
    };
    environment.iter().flat_map(entry).collect()
}

/// Decodes the environment in the body of `go`.
pub(crate) fn decode_environment(body: &[u8], raw: bool) -> Result<RawEnvironment, String> {
    if !raw {
        let texts: Environment = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let pairs = texts.into_iter();
        return Ok(pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect());
    }
    let entries = body.split_inclusive(|&byte| byte == 0);
    let pair = |entry: &[u8]| {
        let entry = entry.strip_suffix(b"\0").ok_or("an entry is cut off")?;
        let at = entry.iter().position(|&byte| byte == b'=');
        let (name, value) = entry.split_at(at.ok_or("an entry has no '='")?);
        let value = OsStr::from_bytes(&value[1..]);
        Ok((OsStr::from_bytes(name).to_owned(), value.to_owned()))
    };
    entries.map(pair).collect()
}

/// A request with its number; the response has the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestEnvelope {
    /// Number chosen by the client.
    pub id: u64,
    /// The request itself.
    #[serde(rename = "do")]
    pub request: ShimRequest,
}

/// Request to a shim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShimRequest {
    /// Start the agent. `bytes` of JSON follow: the environment as an object of strings.
    Go {
        /// The client's fencing number.
        fence: u64,
        /// Length of the environment.
        bytes: u64,
        /// The body is not JSON but `NAME=VALUE` entries, each ended by a NUL byte. Only to shims
        /// with the feature `raw_environment`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        raw: bool,
    },
    /// Set the state the agent shall have from now on.
    Want {
        /// The client's fencing number.
        fence: u64,
        /// The wanted state.
        state: WantedState,
        /// Grows with every change; an older one is refused.
        generation: u64,
    },
    /// Write the `bytes` that follow to the agent's standard input.
    Input {
        /// The client's fencing number.
        fence: u64,
        /// The number of the message, from 1 without gaps.
        seq: u64,
        /// Length of the message.
        bytes: u64,
        /// Close standard input behind it.
        #[serde(default)]
        last: bool,
    },
    /// Send SIGINT to the agent's own process group. Only to shims with the feature `interrupt`.
    Interrupt {
        /// The client's fencing number.
        fence: u64,
        /// The number of the interrupt, growing; a repeated number does nothing.
        seq: u64,
    },
    /// Mask these values in all output from now on. `bytes` of JSON follow: an array of strings.
    /// Only to shims with the feature `mask`.
    Mask {
        /// The client's fencing number.
        fence: u64,
        /// Length of the array.
        bytes: u64,
    },
    /// Acknowledge output up to these offsets; the shim may free its disk space.
    Ack {
        /// The client's fencing number.
        fence: u64,
        /// Bytes of standard output.
        out: u64,
        /// Bytes of standard error.
        err: u64,
    },
    /// Return the current status.
    Status {},
    /// Return the status once there is more output than named or a newer version of the status.
    Wait {
        /// The version already seen.
        version: u64,
        /// Bytes of standard output already seen.
        out: u64,
        /// Bytes of standard error already seen.
        err: u64,
    },
}

impl ShimRequest {
    /// Returns the number of raw bytes that follow the line.
    pub(crate) fn body_bytes(&self) -> u64 {
        match self {
            ShimRequest::Go { bytes, .. }
            | ShimRequest::Input { bytes, .. }
            | ShimRequest::Mask { bytes, .. } => *bytes,
            ShimRequest::Want { .. }
            | ShimRequest::Interrupt { .. }
            | ShimRequest::Ack { .. }
            | ShimRequest::Status {}
            | ShimRequest::Wait { .. } => 0,
        }
    }

    /// Returns the client's fencing number, if the request changes something.
    pub(crate) fn fence(&self) -> Option<u64> {
        match self {
            ShimRequest::Go { fence, .. }
            | ShimRequest::Want { fence, .. }
            | ShimRequest::Input { fence, .. }
            | ShimRequest::Interrupt { fence, .. }
            | ShimRequest::Mask { fence, .. }
            | ShimRequest::Ack { fence, .. } => Some(*fence),
            ShimRequest::Status {} | ShimRequest::Wait { .. } => None,
        }
    }
}

/// State a client wants the agent to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WantedState {
    /// Every process may run.
    Running,
    /// Every process is stopped.
    Paused,
    /// No process is left.
    Ended,
}

impl WantedState {
    /// Returns the word for it in requests.
    pub(crate) fn wire_word(self) -> &'static str {
        match self {
            WantedState::Running => "running",
            WantedState::Paused => "paused",
            WantedState::Ended => "ended",
        }
    }
}

/// Message of a shim: a greeting with id 0, or a response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShimResponse {
    /// The request's number.
    pub id: u64,
    /// Present in the first message of a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello: Option<ShimGreeting>,
    /// The request had been carried out before; nothing was done again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
    /// Status after the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ObservedStatus>,
    /// Refusal, if the request was not carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no: Option<RefusalBody>,
}

/// Refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalBody {
    /// Stable code for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// Identity and features of a shim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShimGreeting {
    /// Version of the protocol.
    pub protocol: u32,
    /// Features of this shim beyond its version.
    #[serde(default)]
    pub features: Vec<String>,
    /// The attempt it owns.
    pub attempt: String,
    /// The shim's process id.
    pub shim: i32,
}

/// Observed state of the agent, as opposed to the wanted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservedState {
    /// No `go` has come yet.
    Waiting,
    /// The agent is running.
    Running,
    /// Some process still runs.
    Pausing,
    /// Every process was seen stopped.
    Paused,
    /// Some process is still stopped.
    Resuming,
    /// Some process is left, or output is.
    Ending,
    /// Nothing is left, and `exit.json` says so.
    Ended,
}

/// Reason for which output is not being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputBlockReason {
    /// Too much output waits for an acknowledgement.
    Unacknowledged,
    /// The log cannot grow.
    DiskFull,
    /// The log cannot be written for another reason.
    DiskError,
}

/// Full status of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedStatus {
    /// Grows with every change, except of the `end` of the two streams.
    pub version: u64,
    /// The observed state.
    pub state: ObservedState,
    /// The wanted state.
    pub want: WantedState,
    /// Generation of the wanted state.
    pub generation: u64,
    /// The highest fencing number seen.
    pub fence: u64,
    /// The agent's process id, once started.
    #[serde(default)]
    pub agent: Option<i32>,
    /// Progress of standard output.
    pub out: StreamProgress,
    /// Progress of standard error.
    pub err: StreamProgress,
    /// Reason for which output is not being read.
    #[serde(default)]
    pub blocked: Option<OutputBlockReason>,
    /// Progress of standard input.
    pub input: InputStatus,
    /// The number of the last interrupt that was sent to the agent.
    #[serde(default)]
    pub interrupts: u64,
    /// The end, once it is durable.
    #[serde(default)]
    pub exit: Option<AttemptExit>,
}

/// Progress of one stream of output, in bytes from the agent's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamProgress {
    /// Bytes written to the log.
    pub end: u64,
    /// Bytes acknowledged by the client.
    pub acked: u64,
    /// True if no process can write to it any more. The agent may live on.
    #[serde(default)]
    pub closed: bool,
}

/// Progress of standard input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputStatus {
    /// The number the next message must have.
    pub next: u64,
    /// The last message that is completely in the agent's pipe.
    pub written: u64,
    /// The last message that the agent has read completely. Only of shims with the feature
    /// `input_read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// Bytes accepted and not yet in the pipe.
    pub queued: u64,
    /// True if nothing more is accepted.
    pub closed: bool,
}
