//! `bowline orchestrate`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct OrchestrateArgs {
    #[command(subcommand)]
    pub(crate) verb: OrchestrateVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrchestrateVerb {
    /// Show what is read from a plan: phases, tasks, groups, and what was not understood
    Plan {
        /// The plan (default: the one the state file names, else docs/planning/06-tasks.md, docs/planning/TASKS.md or TASKS.md)
        file: Option<PathBuf>,
    },
    /// Show where the orchestration stands
    Status,
}
