//! Protocol 1 between a shim and whoever attaches: frozen. Fields may be added with a default; nothing changes its meaning.
//!
//! One JSON object per line; `go` and `input` announce raw bytes that follow their line. The page
//! `docs/formats/shim-protocol.md` is its description.

use crate::exit::Exit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

mod lines;

pub(crate) use lines::Lines;

/// The version this crate speaks.
pub const PROTOCOL: u32 = 1;

/// What a shim of this version can do beyond the first one of protocol 1.
pub const FEATURES: [&str; 4] = [INTERRUPT, INPUT_READ, MASK, RAW_ENVIRONMENT];

/// The feature of shims that understand `interrupt`.
pub(crate) const INTERRUPT: &str = "interrupt";

/// The feature of shims that tell how much of its input the agent has read.
pub(crate) const INPUT_READ: &str = "input_read";

/// The feature of shims that understand `mask`.
pub(crate) const MASK: &str = "mask";

/// The feature of shims that take an environment that is no text.
pub(crate) const RAW_ENVIRONMENT: &str = "raw_environment";

/// The longest line.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 10;

/// The most raw bytes behind one line.
pub(crate) const BODY_BYTES_MAX: u64 = 1 << 20;

/// The environment given with `go`, as text.
pub(crate) type Environment = BTreeMap<String, String>;

/// The same as it is.
pub(crate) type RawEnvironment = BTreeMap<OsString, OsString>;

/// An environment as it follows `go` when it is no text.
pub(crate) fn raw_body(environment: &RawEnvironment) -> Vec<u8> {
    let entry = |(name, value): (&OsString, &OsString)| {
        [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat()
    };
    environment.iter().flat_map(entry).collect()
}

/// The environment that was sent.
pub(crate) fn environment_of(body: &[u8], raw: bool) -> Result<RawEnvironment, String> {
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

/// A request with its number; the answer has the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// Chosen by whoever asks.
    pub id: u64,
    /// What is asked.
    #[serde(rename = "do")]
    pub request: Request,
}

/// What can be asked of a shim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Start the agent. `bytes` of JSON follow: the environment as an object of strings.
    Go {
        /// The fencing number of the asker.
        fence: u64,
        /// Length of the environment.
        bytes: u64,
        /// What follows is no JSON but `NAME=VALUE`, each ended by a NUL byte. Only to shims with the feature
        /// `raw_environment`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        raw: bool,
    },
    /// How the agent shall be from now on.
    Want {
        /// The fencing number of the asker.
        fence: u64,
        /// The wanted level.
        state: Want,
        /// Grows with every change of mind; an older one is refused.
        generation: u64,
    },
    /// `bytes` for the agent's standard input follow.
    Input {
        /// The fencing number of the asker.
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
        /// The fencing number of the asker.
        fence: u64,
        /// The number of the interrupt, growing; the same again does nothing.
        seq: u64,
    },
    /// Hide these values in all output from now on. `bytes` of JSON follow: an array of strings. Only to shims with the
    /// feature `mask`.
    Mask {
        /// The fencing number of the asker.
        fence: u64,
        /// Length of the array.
        bytes: u64,
    },
    /// Output up to these offsets has been processed and may be forgotten.
    Ack {
        /// The fencing number of the asker.
        fence: u64,
        /// Bytes of standard output.
        out: u64,
        /// Bytes of standard error.
        err: u64,
    },
    /// How things are.
    Status {},
    /// The same, answered when there is more output than named or a newer version of the status.
    Wait {
        /// The version already seen.
        version: u64,
        /// Bytes of standard output already seen.
        out: u64,
        /// Bytes of standard error already seen.
        err: u64,
    },
}

impl Request {
    /// Raw bytes that follow the line.
    pub(crate) fn body_bytes(&self) -> u64 {
        match self {
            Request::Go { bytes, .. }
            | Request::Input { bytes, .. }
            | Request::Mask { bytes, .. } => *bytes,
            Request::Want { .. }
            | Request::Interrupt { .. }
            | Request::Ack { .. }
            | Request::Status {}
            | Request::Wait { .. } => 0,
        }
    }

    /// The asker's fencing number, where the request changes something.
    pub(crate) fn fence(&self) -> Option<u64> {
        match self {
            Request::Go { fence, .. }
            | Request::Want { fence, .. }
            | Request::Input { fence, .. }
            | Request::Interrupt { fence, .. }
            | Request::Mask { fence, .. }
            | Request::Ack { fence, .. } => Some(*fence),
            Request::Status {} | Request::Wait { .. } => None,
        }
    }
}

/// A level: how the agent shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Every process may run.
    Running,
    /// Every process is stopped.
    Paused,
    /// No process is left.
    Ended,
}

impl Want {
    /// As it is written in requests.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Want::Running => "running",
            Want::Paused => "paused",
            Want::Ended => "ended",
        }
    }
}

/// What a shim says: a greeting with id 0, or an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The request's number.
    pub id: u64,
    /// First thing on a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello: Option<Hello>,
    /// What was asked had been done before; nothing was done again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
    /// How things are now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Why it was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no: Option<No>,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct No {
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// Who answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol's version.
    pub protocol: u32,
    /// What this shim can do beyond its version.
    #[serde(default)]
    pub features: Vec<String>,
    /// The attempt it owns.
    pub attempt: String,
    /// The shim's process id.
    pub shim: i32,
}

/// Where the agent stands, as looked at and not as ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// No `go` yet.
    Waiting,
    /// It runs.
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

/// Why output is not being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocked {
    /// Too much output waits for an acknowledgement.
    Unacknowledged,
    /// The log cannot grow.
    DiskFull,
    /// The log cannot be written for another reason.
    DiskError,
}

/// Everything a shim knows of its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Grows with every change, except of the two ends of the output.
    pub version: u64,
    /// As looked at.
    pub state: State,
    /// As ordered.
    pub want: Want,
    /// Of the order.
    pub generation: u64,
    /// The highest fencing number seen.
    pub fence: u64,
    /// The agent's process id, once started.
    #[serde(default)]
    pub agent: Option<i32>,
    /// Standard output.
    pub out: Flow,
    /// Standard error.
    pub err: Flow,
    /// Why output is not being read.
    #[serde(default)]
    pub blocked: Option<Blocked>,
    /// Standard input.
    pub input: InputStatus,
    /// The number of the last interrupt that was sent on.
    #[serde(default)]
    pub interrupts: u64,
    /// The end, once it is durable.
    #[serde(default)]
    pub exit: Option<Exit>,
}

/// One stream of output, in bytes from the agent's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Written to the log.
    pub end: u64,
    /// Acknowledged.
    pub acked: u64,
    /// Whether nobody can write to it any more. The agent may live on.
    #[serde(default)]
    pub closed: bool,
}

/// Standard input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputStatus {
    /// The number the next message must have.
    pub next: u64,
    /// The last message that is wholly in the agent's pipe.
    pub written: u64,
    /// The last message that the agent has wholly read. Only of shims with the feature `input_read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<u64>,
    /// Bytes accepted and not yet in the pipe.
    pub queued: u64,
    /// Whether nothing more is accepted.
    pub closed: bool,
}
