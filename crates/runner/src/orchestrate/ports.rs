//! The interface between the conductor and everything outside of it: events, orders and notices.
//! Real runs and simulated ones implement it.

use super::note::Note;
use super::repo::Prepared;
use crate::core::hearing::Word;
use crate::core::why::Why;
use bowline_engine::machines::orchestrate::{
    Command, Effect, NodeId, OrchestrationState, PhaseEnd,
};
use bowline_engine::supervisor::WantedState;

/// An error that ends the whole run, such as a state file that cannot be written.
pub type Trouble = bowline_engine::Error;

/// A slow operation, run by a worker; it may be requested again after a crash. Most are answered
/// by an [`Event`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// Create or reuse the worktree of a task.
    Room {
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
        reserved: Vec<Overlap>,
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
pub enum Landed {
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
        by: Vec<Overlap>,
    },
    /// The evidence command failed on the tree that would have landed.
    Red {
        /// Exit status of the command, and the end of its output.
        why: Why,
    },
    /// The work cannot land as it is.
    Unfit { why: Why },
    /// Git fails in the task's worktree.
    Broken {
        /// The error of git, and what the agent can do about it.
        why: Why,
    },
    /// A person has to remove an obstacle; it is tried again later.
    Blocked { why: Why },
    /// Its pull request is open; it is looked at again later.
    Proposed {
        /// Address of the pull request.
        url: String,
    },
    /// Reviewers or checks of the pull request ask for changes.
    SentBack {
        /// The review comments or the log of the check.
        why: Why,
    },
    /// The pull request was closed without a merge.
    Declined {
        /// The review comments.
        why: Why,
    },
}

/// Files in which a task conflicts with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The other task.
    pub with: NodeId,
    pub paths: Vec<String>,
}

/// A resource that the machine has too little of for one more agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
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

impl std::fmt::Display for Shortage {
    /// Writes the form that the log of a run has.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, free, wanted) = match self {
            Shortage::Memory { free, wanted } => ("Memory", free, wanted),
            Shortage::Disk { free, wanted } => ("Disk", free, wanted),
            Shortage::Inodes { free, wanted } => ("Inodes", free, wanted),
        };
        write!(f, "{name} {{ free: {free}, wanted: {wanted} }}")
    }
}

/// The outcome of an attempt to finish a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseEnded {
    /// The phase has ended, landed or not.
    Ended {
        end: PhaseEnd,
        /// The reason, if it did not land.
        why: Option<Why>,
    },
    /// A person has to remove an obstacle; it is tried again later.
    Blocked { why: Why },
    /// Tasks of the phase have landed but are no longer on its branch.
    LandingsGone {
        /// The tasks, and the command that restores them.
        why: Why,
    },
}

/// An event of one attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum Life {
    /// The agent runs.
    Running,
    /// The agent's output contained signals.
    Said(Vec<Word>),
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
    NotBegun {
        /// None if the reason is unknown.
        why: Option<Why>,
    },
}

/// A request to the run from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
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
pub enum Event {
    /// The worktree of a task is ready, or could not be prepared.
    Room { id: NodeId, prepared: Prepared },
    /// An attempt has news.
    Attempt {
        id: NodeId,
        /// The number of the attempt.
        number: u32,
        life: Life,
    },
    /// An attempt to land a task has ended.
    Landed { id: NodeId, outcome: Landed },
    /// The overlaps of a task were predicted.
    Forecast {
        id: NodeId,
        /// The other tasks that it conflicts with.
        overlaps: Vec<Overlap>,
    },
    /// An attempt to finish a phase has ended.
    PhaseEnded { phase: u32, outcome: PhaseEnded },
}

/// A notice for people while a run goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
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
        why: Why,
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
    Waits { why: Why },
    /// The run was asked to leave; asked again, it ends its agents too.
    Leaving,
    /// Worktrees that an earlier run left are being removed.
    Cleaned {
        worktrees: usize,
        /// Their size on disk.
        bytes: u64,
    },
    /// No more tasks are started while the machine is short of a resource.
    Short(Shortage),
    /// Two tasks are about to change the same files.
    Overlap { id: NodeId, overlap: Overlap },
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
    PhaseNotLanded { phase: u32, why: Why },
}

/// Everything outside of the conductor's decisions.
pub trait Ports {
    /// Returns the time in milliseconds since 1970.
    fn now_ms(&self) -> i64;
    /// Returns the current state of the run.
    fn run(&self) -> &OrchestrationState;
    /// Applies a command; it is durable before anything that follows from it is done.
    fn commit(&mut self, command: Command) -> Result<Vec<Effect>, Trouble>;
    /// Returns a resource that the machine has too little of for one more agent.
    fn shortage(&mut self) -> Option<Shortage>;
    /// Returns the files and folders that a task declares to change.
    fn touches(&self, id: &NodeId) -> Vec<String>;
    /// Returns the note of a task.
    fn note(&mut self, id: &NodeId) -> Note;
    /// Returns the starts of agents within the last hour, as far as the notes have them.
    fn starts(&self) -> Vec<i64>;
    /// Stores a note; it is durable before anything that follows from it is done.
    fn remember(&mut self, id: &NodeId, note: &Note) -> Result<(), Trouble>;
    /// Requests a slow operation.
    fn ask(&mut self, job: Job);
    /// Starts the attempt of a note.
    fn begin(&mut self, id: &NodeId, note: &Note);
    /// Attaches to the running attempt of a note.
    fn attach(&mut self, id: &NodeId, note: &Note);
    /// Sets the wanted state of an agent.
    fn want(&mut self, id: &NodeId, number: u32, want: WantedState);
    /// Sends an agent its prompt again, in the same conversation; `false` if its client takes no
    /// input.
    fn repeat(&mut self, id: &NodeId, number: u32) -> bool;
    /// Closes the input of an agent.
    fn hang_up(&mut self, id: &NodeId, number: u32);
    /// Returns the folder of a phase, as the state file names it.
    fn worktree_of(&self, phase: u32) -> Option<std::sync::Arc<str>>;
    /// Returns the name of the agent that would do a task. A limit of one agent holds all its
    /// tasks.
    fn agent_of(&self, id: &NodeId) -> String;
    /// True if the client of a task sends messages of a protocol, so that their absence is
    /// suspicious.
    fn speaks_protocol(&self, id: &NodeId) -> bool;
    /// Shows a notice to people.
    fn tell(&mut self, told: Told);
}
