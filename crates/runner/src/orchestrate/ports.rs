//! What the conductor of a run is told and what it asks for: everything outside of its decisions. The real thing is in `real`,
//! and a simulation stands in for it.

use super::note::Note;
use super::repo::Prepared;
use crate::core::hearing::Word;
use crate::core::why::Why;
use bowline_engine::machines::orchestrate::{Command, Effect, Id, PhaseEnd, Run};
use bowline_engine::supervisor::Want;

/// Why a run cannot go on at all: its file cannot be written, for one.
pub type Trouble = bowline_engine::Error;

/// Work that takes its time. Each is answered by an [`Event`], and may be asked for again after a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// A place to work in for a task.
    Room {
        /// The task.
        id: Id,
        /// With the work of its phase brought in.
        merge: bool,
        /// On the work of another, which may not have landed yet.
        on: Option<Id>,
        /// Made anew; what it holds is kept.
        fresh: bool,
    },
    /// The task's work onto the branch of its phase.
    Land {
        /// The task.
        id: Id,
        /// Files that tasks which met a conflict in them land first.
        reserved: Vec<Overlap>,
    },
    /// What is left of a task that has landed or was given up for good.
    Clean {
        /// The task.
        id: Id,
    },
    /// How far what a task has changed so far fits to what others have.
    Forecast {
        /// The task.
        id: Id,
        /// The others.
        others: Vec<Id>,
    },
    /// The phase onto the main line.
    FinishPhase {
        /// Its number.
        phase: u32,
    },
}

/// What came of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landed {
    /// It is on the branch, now or from before.
    Done,
    /// It does not fit to what landed before it.
    Conflict {
        /// Where.
        paths: Vec<String>,
        /// What that looks like.
        hunks: String,
        /// The newest landed commit that its work contains.
        base: String,
    },
    /// It changes files that tasks which met a conflict in them land first; asked for again when these have.
    Held {
        /// Those tasks, and the files.
        by: Vec<Overlap>,
    },
    /// The evidence command was red on the tree that would have landed.
    Red {
        /// How it ended, and the end of its output.
        why: Why,
    },
    /// What is there cannot land as it is.
    Unfit {
        /// Why.
        why: Why,
    },
    /// Git fails in the task's worktree.
    Broken {
        /// What it says, and what the agent can do about it.
        why: Why,
    },
    /// Something is in the way that a person has to take away; asked for again later.
    Blocked {
        /// What.
        why: Why,
    },
    /// It is proposed, and others decide; asked for again later.
    Proposed {
        /// Where it can be looked at.
        url: String,
    },
    /// Those who looked at it want something else.
    SentBack {
        /// What they say.
        why: Why,
    },
    /// Those who looked at it do not want it.
    Declined {
        /// What they say.
        why: Why,
    },
}

/// Another task that changes the same places, so that the two do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The other.
    pub with: Id,
    /// The files.
    pub paths: Vec<String>,
}

/// What the machine has too little of for one more agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// Memory.
    Memory {
        /// Free, in megabytes.
        free: u64,
        /// Wanted.
        wanted: u64,
    },
    /// Disk.
    Disk {
        /// Free, in megabytes.
        free: u64,
        /// Wanted.
        wanted: u64,
    },
    /// Files that can be made.
    Inodes {
        /// Free.
        free: u64,
        /// Wanted.
        wanted: u64,
    },
}

/// What came of the end of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseEnded {
    /// As the rules have it; where it did not land, why.
    Ended {
        /// How.
        end: PhaseEnd,
        /// What a person has to know.
        why: Option<Why>,
    },
    /// Something is in the way that a person has to take away.
    Blocked {
        /// What.
        why: Why,
    },
    /// Tasks of it have landed and are not on its branch any more.
    LandingsGone {
        /// Which, and how they come back.
        why: Why,
    },
}

/// How an attempt is going.
#[derive(Debug, Clone, PartialEq)]
pub enum Life {
    /// The agent runs.
    Running,
    /// It said something.
    Said(Vec<Word>),
    /// It ended.
    Exited {
        /// Its exit code, if it exited by itself.
        code: Option<i32>,
        /// Somebody asked for the end.
        asked: bool,
        /// The end of what it wrote.
        tail: String,
    },
    /// It is gone without a word.
    Lost,
    /// It never began.
    NotBegun {
        /// Why, where that is known.
        why: Option<Why>,
    },
}

/// What somebody else wants of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Nothing new is started, and agents are stopped where they are.
    Pause,
    /// Goes on.
    Continue,
    /// Nothing new is started; agents go on, and the run leaves.
    Leave,
    /// Agents are ended too.
    Stop,
    /// A move of the machine.
    Move(Command),
}

/// Something the conductor hears of.
#[derive(Debug)]
pub enum Event {
    /// A room is ready, or could not be made.
    Room {
        /// The task.
        id: Id,
        /// How far it is.
        prepared: Prepared,
    },
    /// News of an attempt.
    Attempt {
        /// The task.
        id: Id,
        /// The number of the attempt.
        number: u32,
        /// What.
        life: Life,
    },
    /// A landing came to its end.
    Landed {
        /// The task.
        id: Id,
        /// How.
        outcome: Landed,
    },
    /// What a task has changed was held against others.
    Forecast {
        /// The task.
        id: Id,
        /// Those it does not fit to.
        overlaps: Vec<Overlap>,
    },
    /// The end of a phase was tried.
    PhaseEnded {
        /// Which.
        phase: u32,
        /// What came of it.
        outcome: PhaseEnded,
    },
}

/// What people are told while a run goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// An attempt was begun.
    Begun {
        /// The task.
        id: Id,
        /// The number of the attempt.
        attempt: u32,
    },
    /// One was found alive.
    Found {
        /// The task.
        id: Id,
    },
    /// A task is done.
    Done {
        /// The task.
        id: Id,
    },
    /// An attempt failed.
    Failed {
        /// The task.
        id: Id,
        /// Why.
        why: Why,
        /// It is tried again.
        again: bool,
    },
    /// A limit holds a task.
    Parked {
        /// The task.
        id: Id,
        /// For how long.
        seconds: i64,
    },
    /// Something is in the way of a landing.
    Waits {
        /// What.
        why: Why,
    },
    /// Somebody wants the run to leave; asked once more, it ends its agents too.
    Leaving,
    /// Worktrees that an earlier run left are taken away.
    Cleaned {
        /// How many.
        worktrees: usize,
        /// The disk they hold.
        bytes: u64,
    },
    /// Nothing more is begun while the machine has too little of something.
    Short(Shortage),
    /// Two tasks are about to meet in the same files.
    Overlap {
        /// The one.
        id: Id,
        /// And what it meets.
        overlap: Overlap,
    },
    /// The client of a task has sent no valid message since it was started.
    NothingValid {
        /// The task.
        id: Id,
        /// For how long.
        seconds: i64,
    },
    /// A task is taken back, as what it was begun on failed.
    Recalled {
        /// The task.
        id: Id,
        /// What it was begun on.
        on: Id,
    },
    /// A task is proposed to those who decide.
    Proposed {
        /// The task.
        id: Id,
        /// Where.
        url: String,
    },
    /// A phase is on the main line.
    PhaseDone {
        /// Which.
        phase: u32,
    },
    /// A phase did not land.
    PhaseNotLanded {
        /// Which.
        phase: u32,
        /// Why.
        why: Why,
    },
}

/// Everything outside.
pub trait Ports {
    /// The time, in milliseconds since 1970.
    fn now_ms(&self) -> i64;
    /// The run as it is now.
    fn run(&self) -> &Run;
    /// Makes a move durable.
    fn commit(&mut self, command: Command) -> Result<Vec<Effect>, Trouble>;
    /// What the machine has too little of for one more agent.
    fn shortage(&mut self) -> Option<Shortage>;
    /// The files and folders a task says that it changes.
    fn touches(&self, id: &Id) -> Vec<String>;
    /// What is remembered of a task.
    fn note(&mut self, id: &Id) -> Note;
    /// When agents of the last hour were begun, as far as that is remembered.
    fn starts(&self) -> Vec<i64>;
    /// Remembers it, durably.
    fn remember(&mut self, id: &Id, note: &Note) -> Result<(), Trouble>;
    /// Has something done.
    fn ask(&mut self, job: Job);
    /// Begins an attempt; its note is durable.
    fn begin(&mut self, id: &Id, note: &Note);
    /// Goes on with the attempt of a note.
    fn attach(&mut self, id: &Id, note: &Note);
    /// How an agent shall be.
    fn want(&mut self, id: &Id, number: u32, want: Want);
    /// Tells an agent to repeat its task, in the same conversation; `false` where its client cannot hear.
    fn repeat(&mut self, id: &Id, number: u32) -> bool;
    /// Tells an agent that nothing more comes.
    fn hang_up(&mut self, id: &Id, number: u32);
    /// Where a phase can be looked at, as the state file says it.
    fn worktree_of(&self, phase: u32) -> Option<std::sync::Arc<str>>;
    /// The agent that would do a task: what meets one's limit holds all tasks of it.
    fn agent_of(&self, id: &Id) -> String;
    /// Whether the client of a task sends messages of a protocol, so that silence means something.
    fn speaks_protocol(&self, id: &Id) -> bool;
    /// Tells people.
    fn tell(&mut self, told: Told);
}
