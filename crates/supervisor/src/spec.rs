//! The spec of an attempt, written into its folder before anything is started.

use crate::sandbox::Sandbox;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Program, limits and sandbox of one attempt. The environment is not part of it: values may be
/// secret, so they travel with `go` and never reach the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptSpec {
    /// Id of the attempt, unique on this machine; the agent's processes are marked with it.
    pub attempt: String,
    /// Name shown to people; not used for lookup.
    #[serde(default)]
    pub name: String,
    /// The fencing number of the client that creates the attempt.
    pub fence: u64,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Working directory of the agent.
    pub folder: PathBuf,
    /// Limits of each process of the agent.
    #[serde(default)]
    pub limits: ProcessLimits,
    /// Paths and ports the agent may use; unrestricted when absent.
    #[serde(default)]
    pub sandbox: Option<Sandbox>,
    /// Program that serves requests from inside the sandbox, if there is one.
    #[serde(default)]
    pub relay: Option<RelaySpec>,
    /// Control group for the agent, where this user may create one.
    #[serde(default)]
    pub cgroup: Option<CgroupSpec>,
    /// Limits on buffers and times of the shim.
    #[serde(default)]
    pub bounds: ShimBounds,
}

impl AttemptSpec {
    /// Creates a spec without limits and sandbox.
    pub fn new(attempt: &str, command: Vec<String>, folder: PathBuf) -> Self {
        AttemptSpec {
            attempt: attempt.to_owned(),
            name: String::new(),
            fence: 0,
            command,
            folder,
            limits: ProcessLimits::default(),
            sandbox: None,
            relay: None,
            cgroup: None,
            bounds: ShimBounds::default(),
        }
    }
}

/// The only channel out of a sandbox. For each connection from inside, the shim starts this program
/// outside, with the connection as its standard input and output. The shim does not interpret the
/// data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RelaySpec {
    /// The program. The creator of the attempt sets it; the agent cannot change it.
    pub program: PathBuf,
    /// First arguments; the attempt's folder follows them.
    pub words: Vec<String>,
    /// Paths it may read besides those of the agent.
    pub read: Vec<PathBuf>,
    /// Paths it may also write.
    pub write: Vec<PathBuf>,
}

/// Resource limits set before the agent starts. `None` leaves a limit as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessLimits {
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// The size of one written file.
    pub file_bytes: Option<u64>,
    /// The address space of one process.
    pub memory_bytes: Option<u64>,
    /// Processor time of one process.
    pub cpu_seconds: Option<u64>,
    /// Number of processes of this user.
    pub processes: Option<u64>,
    /// `oom_score_adj` of the agent, -1000 to 1000: higher is killed earlier when memory is short.
    pub oom_score: i32,
}

/// Lets the kernel kill the agent before the shim and the server when memory is short.
const OOM_SCORE: i32 = 500;

impl Default for ProcessLimits {
    fn default() -> Self {
        ProcessLimits {
            open_files: None,
            file_bytes: None,
            memory_bytes: None,
            cpu_seconds: None,
            processes: None,
            oom_score: OOM_SCORE,
        }
    }
}

/// Control group (version 2) made for the attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupSpec {
    /// An existing group in which this user may create one.
    pub parent: PathBuf,
    /// Memory of all processes together.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Number of processes in the group.
    #[serde(default)]
    pub processes: Option<u64>,
    /// Processor time of all processes together, in percent of one processor.
    #[serde(default)]
    pub cpu_percent: Option<u32>,
    /// Start the agent without a group where none can be created. Ignored if a limit is set: limits
    /// always hold.
    #[serde(default)]
    pub best_effort: bool,
}

impl CgroupSpec {
    /// Creates the spec of a required group without limits.
    pub fn in_parent(parent: PathBuf) -> CgroupSpec {
        CgroupSpec {
            parent,
            memory_bytes: None,
            processes: None,
            cpu_percent: None,
            best_effort: false,
        }
    }

    /// True if the group has any limit.
    pub fn has_limits(&self) -> bool {
        self.memory_bytes.is_some() || self.processes.is_some() || self.cpu_percent.is_some()
    }

    /// True if the agent may start without the group.
    pub(crate) fn is_optional(&self) -> bool {
        self.best_effort && !self.has_limits()
    }
}

/// Limits on buffers and times of the shim. The defaults are what the product documents; tests use
/// smaller ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShimBounds {
    /// Unacknowledged output at which the shim stops reading, so that the agent blocks.
    pub unacknowledged_bytes: u64,
    /// Acknowledged output that stays readable; the disk space of older bytes is freed.
    pub keep_bytes: u64,
    /// Input that is accepted and not yet written to the agent.
    pub input_bytes: u64,
    /// Time the shim waits for `go`.
    pub go_ms: u64,
    /// Time between SIGTERM and SIGKILL.
    pub grace_ms: u64,
    /// Time output is still read after the last process has ended.
    pub drain_ms: u64,
}

impl Default for ShimBounds {
    fn default() -> Self {
        ShimBounds {
            unacknowledged_bytes: 256 << 20,
            keep_bytes: 64 << 20,
            input_bytes: 4 << 20,
            go_ms: 10_000,
            grace_ms: 5_000,
            drain_ms: 2_000,
        }
    }
}
