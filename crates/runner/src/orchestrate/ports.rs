//! The interface between the conductor and everything outside of it: events, orders and notices.
//! Real runs and simulated ones implement it.

use super::repo::WorktreeOutcome;
use super::task_record::TaskRecord;
use crate::core::failure::FailureReason;
use crate::core::output_parser::OutputSignal;
use bowline_engine::machines::orchestrate::{
    Command, Effect, NodeId, OrchestrationState, PhaseEnd,
};
use bowline_engine::supervisor::WantedState;

/// An error that ends the whole run, such as a state file that cannot be written.
pub type RunError = bowline_engine::Error;

/// A slow operation, run by a worker; it may be requested again after a crash. Most are answered
/// by a [`ConductorEvent`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitJob {
    /// Create or reuse the worktree of a task.
    PrepareWorktree {
        id: NodeId,
        /// Merge the phase's branch into it.
        merge: bool,
        /// Start from the work of this task, which may not have landed yet.
        on: Option<NodeId>,
        /// Recreate it; its content is kept on hidden refs.
        fresh: bool,
    },
    /// Land a task's work on the branch of its phase.
    Land {
        id: NodeId,
        /// Files reserved by tasks that met a conflict in them and land first.
        reserved: Vec<FileOverlap>,
    },
    /// Clean up after a task that has landed or was given up. Answered by no event.
    Clean { id: NodeId },
    /// Predict conflicts between a task's current work and that of others.
    Forecast { id: NodeId, others: Vec<NodeId> },
    /// Land a phase on the target branch.
    FinishPhase { phase: u32 },
}

/// The outcome of an attempt to land a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandOutcome {
    /// It is on the branch, now or from before.
    Done,
    /// It conflicts with what landed before it.
    Conflict {
        paths: Vec<String>,
        /// The conflict hunks, as text.
        hunks: String,
        /// The newest landed commit that the work contains.
        base: String,
    },
    /// It changes files reserved by other tasks; it is tried again when these have landed.
    Held {
        /// The reservations in question.
        by: Vec<FileOverlap>,
    },
    /// The evidence command failed on the tree that would have landed.
    Red {
        /// Exit status of the command, and the end of its output.
        why: FailureReason,
    },
    /// The work cannot land as it is.
    Unfit { why: FailureReason },
    /// Git fails in the task's worktree.
    Broken {
        /// The error of git, and what the agent can do about it.
        why: FailureReason,
    },
    /// A person has to remove an obstacle; it is tried again later.
    Blocked { why: FailureReason },
    /// Its pull request is open; it is looked at again later.
    Proposed {
        /// Address of the pull request.
        url: String,
    },
    /// Reviewers or checks of the pull request ask for changes.
    SentBack {
        /// The review comments or the log of the check.
        why: FailureReason,
    },
    /// The pull request was closed without a merge.
    Declined {
        /// The review comments.
        why: FailureReason,
    },
}

/// Files in which a task conflicts with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOverlap {
    /// The other task.
    pub with: NodeId,
    pub paths: Vec<String>,
}

/// A resource that the machine has too little of for one more agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceShortage {
    Memory {
        /// In megabytes.
        free: u64,
        /// In megabytes.
        wanted: u64,
    },
    Disk {
        /// In megabytes.
        free: u64,
        /// In megabytes.
        wanted: u64,
    },
    /// Free inodes of a file system.
    Inodes { free: u64, wanted: u64 },
}

impl std::fmt::Display for ResourceShortage {
    /// Writes the form that the log of a run has.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, free, wanted) = match self {
            ResourceShortage::Memory { free, wanted } => ("Memory", free, wanted),
            ResourceShortage::Disk { free, wanted } => ("Disk", free, wanted),
            ResourceShortage::Inodes { free, wanted } => ("Inodes", free, wanted),
        };
        write!(f, "{name} {{ free: {free}, wanted: {wanted} }}")
    }
}

/// The outcome of an attempt to finish a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseOutcome {
    /// The phase has ended, landed or not.
    Ended {
        end: PhaseEnd,
        /// The reason, if it did not land.
        why: Option<FailureReason>,
    },
    /// A person has to remove an obstacle; it is tried again later.
    Blocked { why: FailureReason },
    /// Tasks of the phase have landed but are no longer on its branch.
    LandingsGone {
        /// The tasks, and the command that restores them.
        why: FailureReason,
    },
}

/// An event of one attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskAgentEvent {
    /// The agent runs.
    Running,
    /// The agent's output contained signals.
    Signals(Vec<OutputSignal>),
    /// The agent exited.
    Exited {
        /// None if it was killed by a signal.
        code: Option<i32>,
        /// Its end was requested.
        asked: bool,
        /// The end of its output.
        tail: String,
    },
    /// Its shim is gone, and its exit code is unknown.
    Lost,
    /// The attempt never started.
    NeverStarted {
        /// None if the reason is unknown.
        why: Option<FailureReason>,
    },
}

/// A request to the run from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunRequest {
    /// Start nothing new, and pause the agents.
    Pause,
    /// Continue after a pause.
    Continue,
    /// Start nothing new and leave; agents continue.
    Leave,
    /// End the agents and leave.
    Stop,
    /// Apply a command of the state machine.
    Move(Command),
}

/// An event for the conductor.
#[derive(Debug)]
pub enum ConductorEvent {
    /// The worktree of a task is ready, or could not be prepared.
    WorktreePrepared {
        id: NodeId,
        prepared: WorktreeOutcome,
    },
    /// An attempt has news.
    Attempt {
        id: NodeId,
        /// The number of the attempt.
        number: u32,
        event: TaskAgentEvent,
    },
    /// An attempt to land a task has ended.
    Landed { id: NodeId, outcome: LandOutcome },
    /// The overlaps of a task were predicted.
    Forecast {
        id: NodeId,
        /// The other tasks that it conflicts with.
        overlaps: Vec<FileOverlap>,
    },
    /// An attempt to finish a phase has ended.
    PhaseEnded { phase: u32, outcome: PhaseOutcome },
}

/// A notice for people while a run goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum RunNotice {
    /// An attempt was started.
    Begun {
        id: NodeId,
        /// The number of the attempt.
        attempt: u32,
    },
    /// An attempt of an earlier run was found alive.
    Found { id: NodeId },
    /// A task has landed.
    Done { id: NodeId },
    /// An attempt failed.
    Failed {
        id: NodeId,
        why: FailureReason,
        /// The task is retried.
        again: bool,
    },
    /// A limit holds a task.
    Parked {
        id: NodeId,
        /// Time until the limit is lifted.
        seconds: i64,
    },
    /// A landing is blocked.
    Waits { why: FailureReason },
    /// The run was asked to leave; asked again, it ends its agents too.
    Leaving,
    /// Worktrees that an earlier run left are being removed.
    Cleaned {
        worktrees: usize,
        /// Their size on disk.
        bytes: u64,
    },
    /// No more tasks are started while the machine is short of a resource.
    Short(ResourceShortage),
    /// Two tasks are about to change the same files.
    Overlap { id: NodeId, overlap: FileOverlap },
    /// The client of a task has sent no valid message since it was started.
    NothingValid {
        id: NodeId,
        /// Time since the start.
        seconds: i64,
    },
    /// A task is recalled, as the task it was started on failed.
    Recalled {
        id: NodeId,
        /// The task it was started on.
        on: NodeId,
    },
    /// A pull request is open for a task.
    Proposed {
        id: NodeId,
        /// Address of the pull request.
        url: String,
    },
    /// A phase has landed on the target branch.
    PhaseDone { phase: u32 },
    /// A phase did not land.
    PhaseNotLanded { phase: u32, why: FailureReason },
}

/// Everything outside of the conductor's decisions.
pub trait ConductorPorts {
    /// Returns the time in milliseconds since 1970.
    fn now_ms(&self) -> i64;
    /// Returns the current state of the run.
    fn run_state(&self) -> &OrchestrationState;
    /// Applies a command; it is durable before anything that follows from it is done.
    fn apply_command(&mut self, command: Command) -> Result<Vec<Effect>, RunError>;
    /// Returns a resource that the machine has too little of for one more agent.
    fn resource_shortage(&mut self) -> Option<ResourceShortage>;
    /// Returns the files and folders that a task declares to change.
    fn declared_paths(&self, id: &NodeId) -> Vec<String>;
    /// Returns the note of a task.
    fn task_record(&mut self, id: &NodeId) -> TaskRecord;
    /// Returns the starts of agents within the last hour, as far as the notes have them.
    fn recorded_starts(&self) -> Vec<i64>;
    /// Stores a note; it is durable before anything that follows from it is done.
    fn store_record(&mut self, id: &NodeId, note: &TaskRecord) -> Result<(), RunError>;
    /// Requests a slow operation.
    fn request_job(&mut self, job: GitJob);
    /// Starts the attempt of a note.
    fn request_start(&mut self, id: &NodeId, note: &TaskRecord);
    /// Attaches to the running attempt of a note.
    fn request_attach(&mut self, id: &NodeId, note: &TaskRecord);
    /// Sets the wanted state of an agent.
    fn request_state(&mut self, id: &NodeId, number: u32, want: WantedState);
    /// Sends an agent its prompt again, in the same conversation; `false` if its client takes no
    /// input.
    fn request_repeat(&mut self, id: &NodeId, number: u32) -> bool;
    /// Closes the input of an agent.
    fn request_input_close(&mut self, id: &NodeId, number: u32);
    /// Returns the folder of a phase, as the state file names it.
    fn phase_worktree(&self, phase: u32) -> Option<std::sync::Arc<str>>;
    /// Returns the name of the agent that would do a task. A limit of one agent holds all its
    /// tasks.
    fn agent_name(&self, id: &NodeId) -> String;
    /// True if the client of a task sends messages of a protocol, so that their absence is
    /// suspicious.
    fn speaks_protocol(&self, id: &NodeId) -> bool;
    /// Shows a notice to people.
    fn queue_notice(&mut self, notice: RunNotice);
}
