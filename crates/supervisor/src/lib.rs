//! Supervision of one agent process tree: the shim that owns it, and the client handle for the
//! shim.
//!
//! Every agent has its own small *shim* process. It is session leader, child subreaper and parent
//! of the agent's process group; it holds the agent's pipes, appends its output to a log with
//! absolute offsets, and answers on a Unix socket. The process that started it may crash or be
//! upgraded: the agent goes on, and [`ShimHandle::attach`] finds it again.
//!
//! This crate does not interpret the agent's output.

#![warn(missing_docs)]

mod attempt;
mod cgroup;
mod client;
mod error;
mod exit;
mod inherited;
mod process;
mod protocol;
pub mod relay;
mod sandbox;
pub mod shim;
mod spec;
mod start_error;
mod sweep;

pub use attempt::{Attempt, AttemptCondition, OutputStream};
pub use cgroup::{CgroupSupport, CgroupUnavailable};
pub use client::{SendOutcome, ShimEvent, ShimHandle, ShimProgram, ShimSession, ShimStarter};
pub use error::{FileOperation, ShimFailure, ShimRefusal, SupervisorError};
pub use exit::{AttemptExit, UnreadInput};
pub use inherited::close_inherited;
pub use protocol::{
    FEATURES, InputStatus, ObservedState, ObservedStatus, OutputBlockReason, PROTOCOL, RefusalBody,
    RequestEnvelope, ShimGreeting, ShimRequest, ShimResponse, StreamProgress, WantedState,
};
pub use sandbox::{Sandbox, SandboxSupport};
pub use spec::{AttemptSpec, CgroupSpec, ProcessLimits, RelaySpec, ShimBounds};
pub use start_error::StartError;
pub use sweep::{SweepReport, sweep_attempt};

/// Environment variable with the path of the socket through which a sandboxed agent reaches
/// programs that are started outside for it.
pub const RELAY_VARIABLE: &str = "BOWLINE_RELAY";

/// Folder below the attempt folder for the temporary files of a sandboxed agent.
pub const TEMPORARY: &str = "tmp";

/// Environment variable that marks the processes of an attempt, so that they can be found after
/// their shim is lost.
pub const ATTEMPT_VARIABLE: &str = "BOWLINE_ATTEMPT";
