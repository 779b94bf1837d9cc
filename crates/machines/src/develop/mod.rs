//! Develop runs: five phases, three gates between them, and checkpoints with three attempts each.

mod catalogue;
mod evidence;
mod gates;
mod refusal;
mod resume;
mod step;
mod strategy;
#[cfg(test)]
mod tests;
mod trust;

pub use evidence::Evidence;
pub use gates::{Act, Decision, Gate, Gates, decide, needed};
pub use refusal::{Refusal, on_one_line, typed};
pub use resume::{Resume, resume};
pub use step::DevelopMachine;
pub use strategy::{Choice, Strategy, StrategyFacts, auto};
pub use trust::{Merged, closed, merge_trust};

use crate::kernel::{Actor, Timestamp};

/// Attempts at a checkpoint before a person must step in.
pub const ATTEMPTS_MAX: u32 = 3;

/// Letters of a checkpoint's id.
pub const ID_CHARS_MAX: usize = 100;

/// A phase of a run. The order is the order of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// What is to be built.
    Design,
    /// Is the design good?
    Review,
    /// Checkpoint by checkpoint.
    Implement,
    /// Review of the code, commit and pull request.
    Pr,
    /// Over.
    Done,
}

impl Phase {
    /// All phases in the order of work.
    pub const ALL: [Phase; 5] = [
        Phase::Design,
        Phase::Review,
        Phase::Implement,
        Phase::Pr,
        Phase::Done,
    ];

    /// The name in the state file.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Design => "DESIGN",
            Phase::Review => "REVIEW",
            Phase::Implement => "IMPLEMENT",
            Phase::Pr => "PR",
            Phase::Done => "DONE",
        }
    }

    /// The phase with that name; `MERGE` is an older name of `PR`.
    pub fn from_name(name: &str) -> Option<Phase> {
        let name = if name == "MERGE" { "PR" } else { name };
        Phase::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

named! {
    /// Where a checkpoint stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CheckpointStatus {
        /// Not begun.
        Pending = "pending",
        /// Being worked on.
        InProgress = "in_progress",
        /// Its tests pass.
        Passed = "passed",
        /// A person has to decide.
        Escalated = "escalated",
        /// Given up by a run without a person. Read, never written.
        Failed = "failed",
    }
}

/// A part of the implementation with tests of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its name in the design (`cp-1`).
    pub id: String,
    /// Where it stands.
    pub status: CheckpointStatus,
    /// Which attempt, from 1; 0 before the first.
    pub iteration: u32,
}

impl Checkpoint {
    /// A checkpoint nobody has begun.
    pub fn pending(id: impl Into<String>) -> Self {
        Checkpoint {
            id: id.into(),
            status: CheckpointStatus::Pending,
            iteration: 0,
        }
    }
}

named! {
    /// Why an attempt at a checkpoint failed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FailureClass {
        /// Something is not there yet.
        NotImplemented = "NOT_IMPLEMENTED",
        /// It does the wrong thing.
        LogicError = "LOGIC_ERROR",
        /// The types do not fit.
        TypeError = "TYPE_ERROR",
        /// The design cannot be built like this: no attempt will help.
        DesignMismatch = "DESIGN_MISMATCH",
        /// The machine lacks something: no attempt will help.
        EnvIssue = "ENV_ISSUE",
        /// A hole in security: a person has to see it.
        Vulnerability = "VULNERABILITY",
    }
}

impl FailureClass {
    /// Whether another attempt may help.
    pub const fn may_retry(self) -> bool {
        match self {
            FailureClass::NotImplemented | FailureClass::LogicError | FailureClass::TypeError => {
                true
            }
            FailureClass::DesignMismatch | FailureClass::EnvIssue | FailureClass::Vulnerability => {
                false
            }
        }
    }
}

/// A whole develop run. The state of the machine is `Option<Run>`: a folder may have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The phase worked on.
    pub phase: Phase,
    /// How it is implemented; decided on entering IMPLEMENT.
    pub strategy: Option<Strategy>,
    /// What is built, in a line.
    pub feature: String,
    /// When it began.
    pub started_at: Timestamp,
    /// The latest change.
    pub updated_at: Timestamp,
    /// The three gates.
    pub gates: Gates,
    /// In the order of the file.
    pub checkpoints: Vec<Checkpoint>,
}

impl Run {
    /// A run that begins.
    pub fn new(feature: impl Into<String>, at: Timestamp) -> Self {
        Run {
            phase: Phase::Design,
            strategy: None,
            feature: feature.into(),
            started_at: at,
            updated_at: at,
            gates: Gates::default(),
            checkpoints: Vec::new(),
        }
    }

    /// The checkpoint with that id.
    pub fn checkpoint(&self, id: &str) -> Option<&Checkpoint> {
        self.checkpoints.iter().find(|known| known.id == id)
    }

    /// Checkpoints that have not passed.
    pub fn unpassed(&self) -> Vec<String> {
        let unpassed = |known: &&Checkpoint| known.status != CheckpointStatus::Passed;
        let id = |known: &Checkpoint| known.id.clone();
        self.checkpoints.iter().filter(unpassed).map(id).collect()
    }
}

/// What somebody wants of a develop run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begin a run.
    Start {
        /// What is to be built.
        feature: String,
        /// Throw an open run away.
        fresh: bool,
        /// Who asks.
        by: Actor,
    },
    /// Enter REVIEW, or name the checkpoints anew while in it.
    Review {
        /// The checkpoints of the design; empty keeps those there are.
        checkpoints: Vec<String>,
    },
    /// Open a gate.
    GatePass {
        /// Which.
        gate: Gate,
        /// Why it may be opened.
        evidence: Evidence,
        /// Who asks.
        by: Actor,
    },
    /// Close a gate, and those after it.
    GateReset {
        /// Which.
        gate: Gate,
    },
    /// Enter IMPLEMENT.
    Implement {
        /// How.
        choice: Choice,
    },
    /// Begin a checkpoint.
    CheckpointStart {
        /// Which.
        id: String,
        /// The reason a person gives for reopening one that escalated.
        override_reason: Option<String>,
        /// Who asks.
        by: Actor,
    },
    /// End an attempt well; red evidence ends it badly.
    CheckpointPass {
        /// Which.
        id: String,
        /// What was run.
        evidence: Evidence,
        /// How many attempts there are; never more than [`ATTEMPTS_MAX`].
        attempts_max: u32,
    },
    /// End an attempt badly.
    CheckpointFail {
        /// Which.
        id: String,
        /// Why.
        class: FailureClass,
        /// How many attempts there are; never more than [`ATTEMPTS_MAX`].
        attempts_max: u32,
    },
    /// Enter PR.
    Pr,
    /// Enter DONE.
    Done,
    /// Go back to an earlier phase.
    Back {
        /// Which.
        phase: Phase,
        /// Who asks.
        by: Actor,
    },
    /// Throw the run away.
    Reset {
        /// Who asks.
        by: Actor,
    },
    /// Take over a run that another program began: its gates are closed.
    Adopt {
        /// There is a journal of ours for it already.
        owned: bool,
    },
}

/// What must follow a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A person began the run: fix the commands of its gates and the protected files.
    Seal,
    /// A checkpoint used up its attempts: tell a person.
    AskPerson {
        /// Which.
        checkpoint: String,
    },
    /// An attempt failed, and there is another.
    AttemptFailed {
        /// Which checkpoint.
        checkpoint: String,
        /// The attempt that comes now.
        iteration: u32,
    },
}
