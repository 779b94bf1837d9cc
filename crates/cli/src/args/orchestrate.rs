//! `bowline orchestrate`.

use super::choice;
use super::choice::TimelineFormat;
use bowline_engine::formats::import::ImportSource;
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::formats::run_settings::LandingMode;
use bowline_engine::operations::orchestrate::{DrawingFormat, ExportFormat};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct OrchestrateArgs {
    #[command(subcommand)]
    pub(crate) verb: OrchestrateVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrchestrateVerb {
    /// Show how a plan is read: phases, tasks, groups, and lines not understood
    Plan {
        /// Plan file (default: the one in the state file, else docs/planning/06-tasks.md,
        /// docs/planning/TASKS.md or TASKS.md)
        file: Option<PathBuf>,
    },
    /// Show the status of the orchestration
    Status,
    /// Start an orchestration: read the plan and write the state file
    Init {
        /// Plan file (default: docs/planning/06-tasks.md, docs/planning/TASKS.md or TASKS.md)
        file: Option<PathBuf>,
        /// Mode of handing work to agents
        #[arg(long, value_name = "MODE", default_value = "normal", value_parser = choice::mode_parser())]
        mode: RunMode,
        /// Same as --mode ultra-thin
        #[arg(long, conflicts_with = "mode")]
        ultra_thin: bool,
        /// Number of tasks in progress at once; 0 means no limit
        #[arg(long, value_name = "N", default_value_t = 0)]
        parallel: u32,
        /// Name of the project (default: the heading of the plan)
        #[arg(long, value_name = "NAME")]
        project: Option<String>,
    },
    /// Run agents for the plan: lands every task, merges every phase; resumes where it stopped
    Run(Box<OrchestrateRunArgs>),
    /// Simulate runs of the plan: expected duration, and tasks that a failure would block
    Rehearse {
        /// Number of simulated runs
        #[arg(long, value_name = "N", default_value_t = 200)]
        seeds: u64,
        /// Shortest time of a task, in minutes
        #[arg(long, value_name = "MINUTES", default_value_t = 2)]
        shortest: u32,
        /// Longest time of a task, in minutes
        #[arg(long, value_name = "MINUTES", default_value_t = 20)]
        longest: u32,
        /// Share of attempts that fail, in percent
        #[arg(long, value_name = "PERCENT", default_value_t = 10)]
        failing: u32,
        /// Number of tasks in progress at once (default: from the state file)
        #[arg(long, value_name = "N")]
        parallel: Option<u32>,
    },
    /// Pause the run: starts nothing new, stops agents where they are
    Pause,
    /// Continue a paused run
    Continue,
    /// Stop the run and end its agents; 'run' resumes it later
    Stop,
    /// Print the next step on one line: READY, WAIT, PHASE_DONE, ALL_DONE, STALLED or ERROR
    Next {
        /// Only tasks of this phase
        #[arg(long, value_name = "N")]
        phase: Option<u32>,
    },
    /// Start a ready task
    Start {
        /// Task id, or the end of it
        id: String,
        /// Start without a worktree for the task
        #[arg(long)]
        no_git: bool,
    },
    /// Complete a task and tick it in the plan
    Complete {
        /// Task id, or the end of it
        id: String,
    },
    /// Mark a task as failed; blocks the tasks that need it
    Fail {
        /// Task id, or the end of it
        id: String,
        /// Reason for the failure
        #[arg(long, value_name = "TEXT", required_unless_present = "retry")]
        reason: Option<String>,
        /// Count one attempt and retry, as long as the limit allows
        #[arg(long)]
        retry: bool,
    },
    /// Retry a failed task from the start
    Retry {
        /// Task id, or the end of it
        id: String,
    },
    /// Complete a task in any state and tick it in the plan (people only)
    ForceComplete {
        /// Task id, or the end of it
        id: String,
        /// Reason for forcing completion
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Phases of the plan
    #[command(subcommand)]
    Phase(PhaseVerb),
    /// Update the state file from the plan: tasks, dependencies, ticked boxes; keeps the rest
    #[command(long_flag = "rebuild-state")]
    Rebuild,
    /// Compare the plan's ticked boxes with the state file; exit code 1 if they differ
    Verify,
    /// Draw the task graph, with the critical path in thick lines
    Graph {
        /// Format of the graph
        #[arg(
            long,
            value_name = "FORMAT",
            default_value = "mermaid",
            value_parser = choice::drawing_format_parser()
        )]
        format: DrawingFormat,
        #[command(flatten)]
        to: FileTargetArgs,
    },
    /// Draw a timeline of phases, tasks and attempts, with the slowest path marked
    Timeline {
        /// Format of the timeline
        #[arg(
            long,
            value_name = "FORMAT",
            default_value = "svg",
            value_parser = choice::timeline_format_parser()
        )]
        format: TimelineFormat,
        #[command(flatten)]
        to: FileTargetArgs,
    },
    /// Import tasks of another program as a plan, and report what did not fit
    Import {
        /// File to import, or the folder or project that holds it
        path: PathBuf,
        /// Program that wrote the tasks (default: detected)
        #[arg(long, value_name = "PROGRAM", value_parser = choice::import_source_parser())]
        from: Option<ImportSource>,
        /// Plan file to write (default: TASKS.md of the project)
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace an existing plan
        #[arg(long)]
        force: bool,
    },
    /// Export the run: its plan with ticked boxes, or everything known as JSON
    Export {
        /// Format of the export
        #[arg(
            long,
            value_name = "FORMAT",
            default_value = "tasks-md",
            value_parser = choice::export_format_parser()
        )]
        format: ExportFormat,
        #[command(flatten)]
        to: FileTargetArgs,
    },
    /// Show and restore what runs kept of removed worktrees
    Rescue {
        #[command(subcommand)]
        verb: Option<RescueVerb>,
    },
}

// The target of a text. A doc comment would replace the help line of the commands.
#[derive(Debug, Args)]
pub(crate) struct FileTargetArgs {
    /// File to write (default: standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RescueVerb {
    /// List what was kept, newest first
    List {
        /// Include the commits that agents made for tasks
        #[arg(long)]
        all: bool,
    },
    /// Show the kept changes as a diff
    Show {
        /// Name, task, or beginning of the commit
        name: String,
    },
    /// Restore kept changes as a new branch; they stay kept
    Restore {
        /// Name, task, or beginning of the commit
        name: String,
        /// Name of the branch (default: rescued/NAME)
        #[arg(long, value_name = "BRANCH")]
        branch: Option<String>,
        /// New worktree to check the branch out in
        #[arg(long, value_name = "FOLDER")]
        worktree: Option<PathBuf>,
    },
    /// Delete kept changes for good (people only)
    Drop {
        /// Name, task, or beginning of the commit
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct OrchestrateRunArgs {
    /// Plan file (default: docs/planning/06-tasks.md, docs/planning/TASKS.md or TASKS.md)
    pub(crate) file: Option<PathBuf>,
    /// Stop after this phase
    #[arg(long, value_name = "N")]
    pub(crate) phase: Option<u32>,
    /// Resume an orchestration; an error if there is none
    #[arg(long)]
    pub(crate) resume: bool,
    /// Update the state file from the plan first, like 'rebuild'
    #[arg(long)]
    pub(crate) rebuild_state: bool,
    /// Number of tasks in progress at once; 0 means no limit
    #[arg(long, value_name = "N")]
    pub(crate) parallel: Option<u32>,
    /// Agent for all tasks (default: the task's own, then 'agent' in 'defaults', then claude)
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Mode of handing work to agents
    #[arg(long, value_name = "MODE", value_parser = choice::mode_parser())]
    pub(crate) mode: Option<RunMode>,
    /// Same as --mode ultra-thin
    #[arg(long, conflicts_with = "mode")]
    pub(crate) ultra_thin: bool,
    /// Text that an agent prints in mode ralph when it is done
    #[arg(long, value_name = "TEXT")]
    pub(crate) completion_promise: Option<String>,
    /// Maximum repetitions of a task in mode ralph
    #[arg(long, value_name = "N")]
    pub(crate) max_iterations: Option<u32>,
    /// Landing of tasks (default: 'land' in the table 'orchestrate', then branch)
    #[arg(long, value_name = "HOW", value_parser = choice::landing_parser())]
    pub(crate) land: Option<LandingMode>,
    /// Start tasks on top of work they need that has not landed yet
    #[arg(long)]
    pub(crate) stack: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PhaseVerb {
    /// Finish the current phase once all its tasks are completed
    Finish {
        /// Number of the phase
        phase: u32,
        /// Finish without a merge
        #[arg(long)]
        no_git: bool,
    },
}
