//! `bowline orchestrate`.

use super::choice;
use super::choice::TimelineFormat;
use bowline_engine::formats::import::Source;
use bowline_engine::formats::orchestrate::Mode;
use bowline_engine::formats::run_settings::Landing;
use bowline_engine::operations::orchestrate::{ExportFormat, Picture};
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
    /// Begin: read the plan and write the state file
    Init {
        /// The plan (default: docs/planning/06-tasks.md, docs/planning/TASKS.md or TASKS.md)
        file: Option<PathBuf>,
        /// How the work is handed to agents
        #[arg(long, value_name = "MODE", default_value = "normal", value_parser = choice::mode())]
        mode: Mode,
        /// The same as --mode ultra-thin
        #[arg(long, conflicts_with = "mode")]
        ultra_thin: bool,
        /// Tasks in progress at once; 0 sets no limit
        #[arg(long, value_name = "N", default_value_t = 0)]
        parallel: u32,
        /// The name of the project (default: the heading of the plan)
        #[arg(long, value_name = "NAME")]
        project: Option<String>,
    },
    /// Work the plan off: agents in worktrees, landed task by task and merged phase by phase; goes on where it was
    Run(Box<RunArgs>),
    /// Run the plan over simulated time and agents: how long it may take, and what a failure would block
    Rehearse {
        /// Simulated runs
        #[arg(long, value_name = "N", default_value_t = 200)]
        seeds: u64,
        /// Shortest time of a task, in minutes
        #[arg(long, value_name = "MINUTES", default_value_t = 2)]
        shortest: u32,
        /// Longest time of a task, in minutes
        #[arg(long, value_name = "MINUTES", default_value_t = 20)]
        longest: u32,
        /// Attempts that fail, of a hundred
        #[arg(long, value_name = "PERCENT", default_value_t = 10)]
        failing: u32,
        /// Tasks in progress at once (default: as the state file says)
        #[arg(long, value_name = "N")]
        parallel: Option<u32>,
    },
    /// Have the run stand still: nothing new is started, agents are stopped where they are
    Pause,
    /// Have a paused run go on
    Continue,
    /// Have the run end its agents and leave; 'run' goes on later
    Stop,
    /// Say in one line what can be done now: READY, WAIT, PHASE_DONE, ALL_DONE, STALLED or ERROR
    Next {
        /// Only of this phase
        #[arg(long, value_name = "N")]
        phase: Option<u32>,
    },
    /// Begin a ready task
    Start {
        /// The task, or the end of its id
        id: String,
        /// Without a worktree of its own
        #[arg(long)]
        no_git: bool,
    },
    /// End a task well, and tick it in the plan
    Complete {
        /// The task, or the end of its id
        id: String,
    },
    /// End a task badly: what needs it is blocked
    Fail {
        /// The task, or the end of its id
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT", required_unless_present = "retry")]
        reason: Option<String>,
        /// Count one attempt and try again, while the limit allows
        #[arg(long)]
        retry: bool,
    },
    /// Give a failed task a fresh start
    Retry {
        /// The task, or the end of its id
        id: String,
    },
    /// Call a task done whatever its state, and tick it in the plan: a person's move
    ForceComplete {
        /// The task, or the end of its id
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Phases
    #[command(subcommand)]
    Phase(PhaseVerb),
    /// Take over what the plan says: new tasks, dependencies and ticked boxes; keeps what the state file knows
    #[command(long_flag = "rebuild-state")]
    Rebuild,
    /// Compare the boxes of the plan with the state file; exit code 1 where they differ
    Verify,
    /// Draw the graph of tasks, the longest chain in thick lines
    Graph {
        /// The language of the picture
        #[arg(
            long,
            value_name = "FORMAT",
            default_value = "mermaid",
            value_parser = choice::picture()
        )]
        format: Picture,
        #[command(flatten)]
        to: ToFile,
    },
    /// Draw when what was done: phases, tasks and their attempts, the slowest path marked
    Timeline {
        /// What is written
        #[arg(
            long,
            value_name = "FORMAT",
            default_value = "svg",
            value_parser = choice::timeline()
        )]
        format: TimelineFormat,
        #[command(flatten)]
        to: ToFile,
    },
    /// Take over the tasks of another program as a plan, and say what had no place in it
    Import {
        /// Their file, or the folder or project that holds it
        path: PathBuf,
        /// The program (default: told by what is there)
        #[arg(long, value_name = "PROGRAM", value_parser = choice::source())]
        from: Option<Source>,
        /// The plan to write (default: TASKS.md of the project)
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace a plan that is there
        #[arg(long)]
        force: bool,
    },
    /// Hand the run on as it is now: its plan with ticks, or all that is known as JSON
    Export {
        /// What is written
        #[arg(
            long,
            value_name = "FORMAT",
            default_value = "tasks-md",
            value_parser = choice::export()
        )]
        format: ExportFormat,
        #[command(flatten)]
        to: ToFile,
    },
    /// Show and bring back what runs kept of worktrees before they were removed
    Rescue {
        #[command(subcommand)]
        verb: Option<RescueVerb>,
    },
}

// Where a text goes. A doc comment would take the place of what the commands are about.
#[derive(Debug, Args)]
pub(crate) struct ToFile {
    /// The file to write (default: the standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RescueVerb {
    /// List what was kept, the newest first
    List {
        /// Also the commits of tasks as their agents made them
        #[arg(long)]
        all: bool,
    },
    /// Show what it holds as a difference
    Show {
        /// Its name, its task, or the beginning of its commit
        name: String,
    },
    /// Bring it back as a new branch; it stays kept
    Restore {
        /// Its name, its task, or the beginning of its commit
        name: String,
        /// The name of the branch (default: rescued/NAME)
        #[arg(long, value_name = "BRANCH")]
        branch: Option<String>,
        /// Check it out in a new worktree, too
        #[arg(long, value_name = "FOLDER")]
        worktree: Option<PathBuf>,
    },
    /// Let go of it for good: a person's move
    Drop {
        /// Its name, its task, or the beginning of its commit
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The plan (default: docs/planning/06-tasks.md, docs/planning/TASKS.md or TASKS.md)
    pub(crate) file: Option<PathBuf>,
    /// End behind this phase
    #[arg(long, value_name = "N")]
    pub(crate) phase: Option<u32>,
    /// Go on with an orchestration; an error where there is none
    #[arg(long)]
    pub(crate) resume: bool,
    /// Take over what the plan says first, as 'rebuild' does
    #[arg(long)]
    pub(crate) rebuild_state: bool,
    /// Tasks in progress at once; 0 sets no limit
    #[arg(long, value_name = "N")]
    pub(crate) parallel: Option<u32>,
    /// The agent of all tasks (default: the task's own, then 'agent' in the table 'defaults', then claude)
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// How the work is handed to agents
    #[arg(long, value_name = "MODE", value_parser = choice::mode())]
    pub(crate) mode: Option<Mode>,
    /// The same as --mode ultra-thin
    #[arg(long, conflicts_with = "mode")]
    pub(crate) ultra_thin: bool,
    /// What an agent prints in mode ralph when it is done
    #[arg(long, value_name = "TEXT")]
    pub(crate) completion_promise: Option<String>,
    /// Repetitions of one task in mode ralph
    #[arg(long, value_name = "N")]
    pub(crate) max_iterations: Option<u32>,
    /// How the work of a task lands (default: 'land' in the table 'orchestrate', then branch)
    #[arg(long, value_name = "HOW", value_parser = choice::landing())]
    pub(crate) land: Option<Landing>,
    /// Begin tasks on the work of those they need before that has landed
    #[arg(long)]
    pub(crate) stack: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PhaseVerb {
    /// End the current phase once all its tasks are completed
    Finish {
        /// Its number
        phase: u32,
        /// Without a merge
        #[arg(long)]
        no_git: bool,
    },
}
