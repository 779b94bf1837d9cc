//! The tables of `bowline.toml` that are about runs of agents on state files. [`crate::settings`] reads them with all others.

use crate::settings::{Seconds, from_zero};
use serde::Deserialize;

/// The table `[orchestrate]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Orchestrate {
    /// Commands that must end with 0 before a phase is merged.
    pub checks: Vec<Vec<String>>,
    /// A command that must end with 0 before a task counts as done.
    pub evidence: Vec<String>,
    /// `normal`, `ultra-thin` or `ralph`.
    pub mode: Option<String>,
    /// Tasks at once; 0 sets no limit.
    pub max_parallel: Option<u32>,
    /// Runs of one task in all.
    pub retry_limit: Option<u32>,
    /// What an agent prints in mode ralph when it is done.
    pub completion_promise: Option<String>,
    /// Repetitions of one task in mode ralph.
    pub max_iterations: Option<u32>,
    /// Wait before a failed task is tried again; doubled each time.
    #[serde(deserialize_with = "from_zero")]
    pub backoff: Option<Seconds>,
    /// Ignored files and folders that every worktree gets as links.
    pub link: Vec<String>,
    /// The same as copies.
    pub copy: Vec<String>,
    /// A command run in every new worktree.
    pub setup: Vec<String>,
}

/// The table `[thinking]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thinking {
    /// A stage that runs longer fails.
    pub stage_timeout: Option<Seconds>,
}
