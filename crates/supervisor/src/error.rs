//! Errors of talking to a shim and of using an attempt folder.

use crate::protocol::RefusalBody;
use std::io;
use std::path::{Path, PathBuf};

/// Reason for which a shim refused a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShimRefusal {
    /// Another client with a higher fencing number has taken over.
    FencedOut,
    /// The shim has seen a newer generation of the wanted state.
    StaleGeneration,
    /// Too much input is queued for the agent.
    InputFull,
    /// The message's number is not the next one.
    InputGap,
    /// The agent takes no more input.
    InputClosed,
    /// The agent has ended, or has not been started.
    NotRunning,
    /// The client is a process of the agent itself.
    AgentPeer,
    /// The shim is out of file descriptors and so cannot identify the client.
    NoDescriptors,
    /// The request could not be parsed.
    BadRequest,
    /// The shim is older than the request.
    Unsupported,
}

impl ShimRefusal {
    /// Returns the stable code, as sent on the wire and documented by `bowline explain`.
    pub fn code(self) -> &'static str {
        match self {
            ShimRefusal::FencedOut => "fenced_out",
            ShimRefusal::StaleGeneration => "stale_generation",
            ShimRefusal::InputFull => "input_full",
            ShimRefusal::InputGap => "input_gap",
            ShimRefusal::InputClosed => "input_closed",
            ShimRefusal::NotRunning => "agent_not_running",
            ShimRefusal::AgentPeer => "agent_peer",
            ShimRefusal::NoDescriptors => "shim_short_of_files",
            ShimRefusal::BadRequest => "bad_request",
            ShimRefusal::Unsupported => "unsupported_by_shim",
        }
    }

    /// Converts the refusal of a shim into a known reason and its message.
    pub(crate) fn from_response(no: RefusalBody) -> (ShimRefusal, String) {
        let known = ShimRefusal::all()
            .into_iter()
            .find(|why| why.code() == no.code);
        // A later shim may have reasons this program does not know; the message still explains
        // them.
        (known.unwrap_or(ShimRefusal::BadRequest), no.message)
    }

    fn all() -> [ShimRefusal; 10] {
        [
            ShimRefusal::FencedOut,
            ShimRefusal::StaleGeneration,
            ShimRefusal::InputFull,
            ShimRefusal::InputGap,
            ShimRefusal::InputClosed,
            ShimRefusal::NotRunning,
            ShimRefusal::AgentPeer,
            ShimRefusal::NoDescriptors,
            ShimRefusal::BadRequest,
            ShimRefusal::Unsupported,
        ]
    }
}

/// An operation on a file or folder of an attempt. Its text follows "cannot".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each is the word it writes")]
pub enum FileOperation {
    #[error("find the folder")]
    FindFolder,
    #[error("lock")]
    Lock,
    #[error("make the folder")]
    MakeFolder,
    #[error("open")]
    Open,
    #[error("read")]
    Read,
    #[error("write")]
    Write,
}

/// Reason for which a shim did not start.
#[derive(Debug, thiserror::Error)]
pub enum ShimFailure {
    /// Its program could not be run.
    #[error("{}: {error}", program.display())]
    Program {
        /// The program of the shim.
        program: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// It reported an error, as [`crate::StartError::parse`] reads it.
    #[error("{report}")]
    Reported {
        /// The report.
        report: String,
    },
    /// It ended without a report.
    #[error("it ended without a word")]
    Silent,
    /// It was not ready in time.
    #[error("not ready after {ms} ms")]
    Slow {
        /// The time it was given.
        ms: u64,
    },
}

/// Error of an operation on an attempt.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// A file of the attempt could not be used.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// The operation that failed.
        what: FileOperation,
        /// The file it was tried on.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The relay out of the sandbox did not carry a command through.
    #[error("the command could not be carried out outside of the sandbox, by {}", path.display())]
    Relay {
        /// The socket of the relay.
        path: PathBuf,
        /// The error of the connection.
        #[source]
        source: io::Error,
    },
    /// There is no attempt in this folder.
    #[error("there is no attempt at {}", path.display())]
    NoAttempt {
        /// The folder that was given.
        path: PathBuf,
    },
    /// The id cannot be used: it becomes part of paths and of environments.
    #[error("'{id}' cannot be the id of an attempt")]
    BadId {
        /// The id as it was given.
        id: String,
    },
    /// The folder of a new attempt exists already.
    #[error("there is an attempt at {} already", path.display())]
    AttemptExists {
        /// The folder that was given.
        path: PathBuf,
    },
    /// The shim could not be started.
    #[error("the shim of attempt {attempt} did not start: {why}")]
    NotStarted {
        /// Id of the attempt.
        attempt: String,
        /// The reason.
        why: ShimFailure,
    },
    /// No shim answers on the socket.
    #[error("no shim answers for attempt {attempt}")]
    Unreachable {
        /// Id of the attempt.
        attempt: String,
        /// The error of the connection.
        #[source]
        source: io::Error,
    },
    /// The shim speaks another protocol.
    #[error("the shim of attempt {attempt} speaks another protocol: {message}")]
    Protocol {
        /// Id of the attempt.
        attempt: String,
        /// The response that could not be understood.
        message: String,
    },
    /// The shim refused the request.
    #[error("{message}")]
    Refused {
        /// Reason for programs.
        why: ShimRefusal,
        /// The reason as a sentence.
        message: String,
    },
}

impl SupervisorError {
    /// Returns the stable `snake_case` code that `bowline explain` documents.
    pub fn code(&self) -> &'static str {
        match self {
            SupervisorError::Io { .. } => "attempt_io",
            SupervisorError::NoAttempt { .. } => "no_attempt",
            SupervisorError::BadId { .. } => "bad_attempt_id",
            SupervisorError::AttemptExists { .. } => "attempt_exists",
            SupervisorError::NotStarted { .. } => "shim_not_started",
            SupervisorError::Unreachable { .. } => "shim_unreachable",
            SupervisorError::Protocol { .. } => "shim_protocol",
            SupervisorError::Relay { .. } => "relay_failed",
            SupervisorError::Refused { why, .. } => why.code(),
        }
    }

    pub(crate) fn io(
        what: FileOperation,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> SupervisorError {
        let path = path.to_owned();
        move |source| SupervisorError::Io { what, path, source }
    }

    pub(crate) fn unreachable_shim(attempt: &str, source: io::Error) -> SupervisorError {
        let attempt = attempt.to_owned();
        SupervisorError::Unreachable { attempt, source }
    }

    pub(crate) fn protocol_mismatch(attempt: &str, message: String) -> SupervisorError {
        let attempt = attempt.to_owned();
        SupervisorError::Protocol { attempt, message }
    }
}
