//! Implements `bowline orchestrate run`: agents work off a plan, each task in its own worktree, and
//! the tasks land one after the other.

mod announcements;
mod capacity;
mod conductor;
pub mod control_socket;
mod execute;
mod git_workers;
mod logs;
pub mod manual;
mod ports;
mod prompt;
mod repo;
mod report;
mod run;
mod run_journal;
mod run_simulation;
mod runtime;
mod task_output;
mod task_record;

pub use crate::core::failure::FailureReason;
pub use announcements::render_announcement;
pub use conductor::{Conductor, RunOutcome, RunRules};
pub use logs::attempt_logs;
pub use ports::{
    ConductorEvent, ConductorPorts, FileOverlap, GitJob, LandOutcome, PhaseOutcome,
    ResourceShortage, RunError, RunNotice, RunRequest, TaskAgentEvent,
};
pub use repo::{
    ForecastCache, KeptWorktree, PhasePlace, PullRequestCommands, RepoSettings, RunRepo, TaskPlace,
    WorktreeOutcome,
};
pub use report::{
    FailedTask, PhaseProgress, PlanProgress, RunReport, RunView, SimulationOptions,
    SimulationSummary, ready_tasks, simulate_runs,
};
pub use run::{RunOptions, RunScreen, read_settings, run, run_rules};
pub use run_journal::RunJournal;
pub use run_simulation::{FailureOdds, SimulatedRun, simulate_from, simulate_run};
pub use task_record::{AttemptFailure, AttemptUsage, TaskRecord, TaskStage};
