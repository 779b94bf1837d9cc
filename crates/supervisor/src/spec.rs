//! What is to be run, written into the attempt folder before anything is started.

use crate::sandbox::Sandbox;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The intent of one attempt. The environment is not part of it: values may be secret, so they travel with `go` and never
/// reach the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The id of the attempt, unique on this machine; the agent's processes are known by it.
    pub attempt: String,
    /// A name for people.
    #[serde(default)]
    pub name: String,
    /// The fencing number of whoever makes the attempt.
    pub fence: u64,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it starts.
    pub folder: PathBuf,
    /// Limits of each process of the agent.
    #[serde(default)]
    pub limits: Limits,
    /// What the agent may touch; everything when left away.
    #[serde(default)]
    pub sandbox: Option<Sandbox>,
    /// The way out of the sandbox, if there is one.
    #[serde(default)]
    pub relay: Option<Relay>,
    /// A control group of its own, where that is permitted.
    #[serde(default)]
    pub cgroup: Option<CgroupSpec>,
    /// How much and how long.
    #[serde(default)]
    pub bounds: Bounds,
}

impl Spec {
    /// A spec without limits and sandbox.
    pub fn new(attempt: &str, command: Vec<String>, folder: PathBuf) -> Self {
        Spec {
            attempt: attempt.to_owned(),
            name: String::new(),
            fence: 0,
            command,
            folder,
            limits: Limits::default(),
            sandbox: None,
            relay: None,
            cgroup: None,
            bounds: Bounds::default(),
        }
    }
}

/// The one channel out of a sandbox: a program that is started outside for everyone who connects from inside, with the
/// connection as its standard input and output. The shim understands none of what is said on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Relay {
    /// The program. Whoever makes the attempt names it; the agent has no say in it.
    pub program: PathBuf,
    /// Its first words; the attempt's folder follows them.
    pub words: Vec<String>,
    /// What it may read besides all that the agent may touch.
    pub read: Vec<PathBuf>,
    /// What it may also write.
    pub write: Vec<PathBuf>,
}

/// Resource limits set before the agent starts. `None` leaves a limit as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// The size of one written file.
    pub file_bytes: Option<u64>,
    /// The address space of one process.
    pub memory_bytes: Option<u64>,
    /// Processor time of one process.
    pub cpu_seconds: Option<u64>,
    /// Processes of this user.
    pub processes: Option<u64>,
    /// How gladly the kernel kills it when memory is short, -1000 to 1000.
    pub oom_score: i32,
}

/// When memory is short the agent goes before the shim and the server.
const OOM_SCORE: i32 = 500;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            open_files: None,
            file_bytes: None,
            memory_bytes: None,
            cpu_seconds: None,
            processes: None,
            oom_score: OOM_SCORE,
        }
    }
}

/// A control group (version 2) made for the attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupSpec {
    /// An existing group in which this user may make one.
    pub parent: PathBuf,
    /// Memory of all processes together.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Number of processes.
    #[serde(default)]
    pub processes: Option<u64>,
    /// Processor time of all together, in percent of one processor.
    #[serde(default)]
    pub cpu_percent: Option<u32>,
    /// Start the agent without a group where none can be made. Not for limits: those that are asked for hold.
    #[serde(default)]
    pub best_effort: bool,
}

impl CgroupSpec {
    /// A group without limits, which has to be made.
    pub fn below(parent: PathBuf) -> CgroupSpec {
        CgroupSpec {
            parent,
            memory_bytes: None,
            processes: None,
            cpu_percent: None,
            best_effort: false,
        }
    }

    /// Whether anything is limited.
    pub fn limits(&self) -> bool {
        self.memory_bytes.is_some() || self.processes.is_some() || self.cpu_percent.is_some()
    }

    /// Whether the agent may start without it.
    pub(crate) fn optional(&self) -> bool {
        self.best_effort && !self.limits()
    }
}

/// How much and how long; the defaults are the promises of the product, tests use small ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// Output nobody has acknowledged; then the shim stops reading, and the agent blocks.
    pub unacknowledged_bytes: u64,
    /// Acknowledged output that stays readable; older bytes are given back to the disk.
    pub keep_bytes: u64,
    /// Input accepted and not yet taken by the agent.
    pub input_bytes: u64,
    /// How long the shim waits for `go`.
    pub go_ms: u64,
    /// How long after SIGTERM the rest is killed.
    pub grace_ms: u64,
    /// How long output is read after the last process.
    pub drain_ms: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            unacknowledged_bytes: 256 << 20,
            keep_bytes: 64 << 20,
            input_bytes: 4 << 20,
            go_ms: 10_000,
            grace_ms: 5_000,
            drain_ms: 2_000,
        }
    }
}
