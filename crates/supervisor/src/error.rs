//! Every way talking to a shim ends without doing what was asked.

use crate::protocol::No;
use std::io;
use std::path::{Path, PathBuf};

/// Why a shim said no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Somebody with a higher fencing number has taken over.
    FencedOut,
    /// A newer wish has been heard.
    StaleGeneration,
    /// Too much input waits for the agent.
    InputFull,
    /// The message's number is not the next one.
    InputGap,
    /// The agent takes no more input.
    InputClosed,
    /// The agent has ended, or has not begun.
    NotRunning,
    /// The agent itself asked.
    AgentPeer,
    /// The shim may open no more files, so that it cannot tell who asks.
    NoDescriptors,
    /// The request could not be understood.
    BadRequest,
    /// The shim is older than the request.
    Unsupported,
}

impl Refused {
    /// The word on the wire, and in `bowline explain`.
    pub fn code(self) -> &'static str {
        match self {
            Refused::FencedOut => "fenced_out",
            Refused::StaleGeneration => "stale_generation",
            Refused::InputFull => "input_full",
            Refused::InputGap => "input_gap",
            Refused::InputClosed => "input_closed",
            Refused::NotRunning => "agent_not_running",
            Refused::AgentPeer => "agent_peer",
            Refused::NoDescriptors => "shim_short_of_files",
            Refused::BadRequest => "bad_request",
            Refused::Unsupported => "unsupported_by_shim",
        }
    }

    /// What a shim's "no" means here.
    pub(crate) fn told(no: No) -> (Refused, String) {
        let known = Refused::all().into_iter().find(|why| why.code() == no.code);
        // A later shim may have reasons this program does not know; the message still tells.
        (known.unwrap_or(Refused::BadRequest), no.message)
    }

    fn all() -> [Refused; 10] {
        [
            Refused::FencedOut,
            Refused::StaleGeneration,
            Refused::InputFull,
            Refused::InputGap,
            Refused::InputClosed,
            Refused::NotRunning,
            Refused::AgentPeer,
            Refused::NoDescriptors,
            Refused::BadRequest,
            Refused::Unsupported,
        ]
    }
}

/// Why something about an attempt could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the attempt could not be used.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The channel out of the sandbox did not carry a command through.
    #[error("the command could not be carried out outside of the sandbox, by {}", path.display())]
    Relay {
        /// Its socket.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// There is no such attempt.
    #[error("there is no attempt at {}", path.display())]
    NoAttempt {
        /// The folder.
        path: PathBuf,
    },
    /// The id of an attempt becomes part of paths and of environments.
    #[error("'{id}' cannot be the id of an attempt")]
    BadId {
        /// The id.
        id: String,
    },
    /// The folder is taken.
    #[error("there is an attempt at {} already", path.display())]
    AttemptExists {
        /// The folder.
        path: PathBuf,
    },
    /// The shim could not be started.
    #[error("the shim of attempt {attempt} did not start: {message}")]
    NotStarted {
        /// The attempt.
        attempt: String,
        /// What it said.
        message: String,
    },
    /// No shim answers.
    #[error("no shim answers for attempt {attempt}")]
    Unreachable {
        /// The attempt.
        attempt: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The shim speaks another language.
    #[error("the shim of attempt {attempt} speaks another protocol: {message}")]
    Protocol {
        /// The attempt.
        attempt: String,
        /// What it said.
        message: String,
    },
    /// The shim said no.
    #[error("{message}")]
    Refused {
        /// Why.
        why: Refused,
        /// In words.
        message: String,
    },
}

impl Error {
    /// Stable, `snake_case`, documented by `bowline explain`.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Io { .. } => "attempt_io",
            Error::NoAttempt { .. } => "no_attempt",
            Error::BadId { .. } => "bad_attempt_id",
            Error::AttemptExists { .. } => "attempt_exists",
            Error::NotStarted { .. } => "shim_not_started",
            Error::Unreachable { .. } => "shim_unreachable",
            Error::Protocol { .. } => "shim_protocol",
            Error::Relay { .. } => "relay_failed",
            Error::Refused { why, .. } => why.code(),
        }
    }

    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { what, path, source }
    }

    pub(crate) fn unreachable(attempt: &str, source: io::Error) -> Error {
        let attempt = attempt.to_owned();
        Error::Unreachable { attempt, source }
    }

    pub(crate) fn protocol(attempt: &str, message: String) -> Error {
        let attempt = attempt.to_owned();
        Error::Protocol { attempt, message }
    }
}
