//! Develop runs: five phases, three gates between them, and checkpoints with three attempts each.

mod catalogue;
mod evidence;
mod gates;
mod next_action;
mod refusal;
mod step;
mod strategy;
#[cfg(test)]
mod tests;
mod trust;

pub use evidence::SubmittedEvidence;
pub use gates::{Gate, GateDecision, OpenGates, ProjectAction, decide_action, required_gates};
pub use next_action::{NextAction, next_action};
pub use refusal::{Refusal, on_one_line, quote_for_shell};
pub use step::DevelopMachine;
pub use strategy::{ImplementationStrategy, StrategyChoice, StrategyFacts, choose_strategy};
pub use trust::{MergedRun, merge_trust, with_closed_gates};

use crate::kernel::{Actor, Timestamp};

/// Number of attempts at a checkpoint before a person must act.
pub const ATTEMPTS_MAX: u32 = 3;

/// Longest checkpoint id, in characters.
pub const ID_CHARS_MAX: usize = 100;

/// A phase of a run. The order is the order of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DevelopPhase {
    /// The feature is designed.
    Design,
    /// The design is reviewed.
    Review,
    /// Checkpoints are implemented one by one.
    Implement,
    /// Code review, commit and pull request.
    Pr,
    /// The run is finished.
    Done,
}

impl DevelopPhase {
    /// All phases in the order of work.
    pub const ALL: [DevelopPhase; 5] = [
        DevelopPhase::Design,
        DevelopPhase::Review,
        DevelopPhase::Implement,
        DevelopPhase::Pr,
        DevelopPhase::Done,
    ];

    /// Returns the name in the state file.
    pub const fn name(self) -> &'static str {
        match self {
            DevelopPhase::Design => "DESIGN",
            DevelopPhase::Review => "REVIEW",
            DevelopPhase::Implement => "IMPLEMENT",
            DevelopPhase::Pr => "PR",
            DevelopPhase::Done => "DONE",
        }
    }

    /// Returns the phase with that name; `MERGE` is an older name of `PR`.
    pub fn from_name(name: &str) -> Option<DevelopPhase> {
        let name = if name == "MERGE" { "PR" } else { name };
        DevelopPhase::ALL
            .into_iter()
            .find(|phase| phase.name() == name)
    }
}

named! {
    /// The status of a checkpoint.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CheckpointStatus {
        /// Work has not begun.
        Pending = "pending",
        /// An attempt is in progress.
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
pub struct DevelopCheckpoint {
    /// Its name in the design (`cp-1`).
    pub id: String,
    /// Current status of the checkpoint.
    pub status: CheckpointStatus,
    /// Number of the current attempt, from 1; 0 before the first.
    pub iteration: u32,
}

impl DevelopCheckpoint {
    /// Makes a checkpoint that has not begun.
    pub fn pending(id: impl Into<String>) -> Self {
        DevelopCheckpoint {
            id: id.into(),
            status: CheckpointStatus::Pending,
            iteration: 0,
        }
    }
}

named! {
    /// The reason why an attempt at a checkpoint failed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FailureClass {
        /// Something is not implemented yet.
        NotImplemented = "NOT_IMPLEMENTED",
        /// The code does the wrong thing.
        LogicError = "LOGIC_ERROR",
        /// The types do not fit.
        TypeError = "TYPE_ERROR",
        /// The design cannot be built like this: no attempt will help.
        DesignMismatch = "DESIGN_MISMATCH",
        /// The machine lacks something the code needs: no attempt will help.
        EnvIssue = "ENV_ISSUE",
        /// A security vulnerability: a person has to see it.
        Vulnerability = "VULNERABILITY",
    }
}

impl FailureClass {
    /// True if another attempt may help.
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

/// The state of a whole develop run. The machine's state is `Option<DevelopRunState>`, because a
/// folder may have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevelopRunState {
    /// Current phase of the run.
    pub phase: DevelopPhase,
    /// The implementation strategy; decided on entering IMPLEMENT.
    pub strategy: Option<ImplementationStrategy>,
    /// The feature that is built, in one line.
    pub feature: String,
    /// Start of the run.
    pub started_at: Timestamp,
    /// Time of the latest change.
    pub updated_at: Timestamp,
    /// The open gates.
    pub gates: OpenGates,
    /// The checkpoints, in the order of the file.
    pub checkpoints: Vec<DevelopCheckpoint>,
}

impl DevelopRunState {
    /// Makes a run in its first phase, with every gate closed.
    pub fn new(feature: impl Into<String>, at: Timestamp) -> Self {
        DevelopRunState {
            phase: DevelopPhase::Design,
            strategy: None,
            feature: feature.into(),
            started_at: at,
            updated_at: at,
            gates: OpenGates::default(),
            checkpoints: Vec::new(),
        }
    }

    /// Returns the checkpoint with that id.
    pub fn find_checkpoint(&self, id: &str) -> Option<&DevelopCheckpoint> {
        self.checkpoints.iter().find(|known| known.id == id)
    }

    /// Returns the ids of the checkpoints that have not passed.
    pub fn unpassed_checkpoints(&self) -> Vec<String> {
        let unpassed = |known: &&DevelopCheckpoint| known.status != CheckpointStatus::Passed;
        let id = |known: &DevelopCheckpoint| known.id.clone();
        self.checkpoints.iter().filter(unpassed).map(id).collect()
    }
}

/// A command for a develop run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begins a run.
    Start {
        /// The feature to build.
        feature: String,
        /// Discards an open run first; only a person may.
        fresh: bool,
        /// The actor who gives the command.
        by: Actor,
    },
    /// Enters REVIEW, or replaces the checkpoints while in it.
    Review {
        /// The checkpoints of the design; an empty list keeps those there are.
        checkpoints: Vec<String>,
    },
    /// Opens a gate.
    GatePass {
        /// The gate to open.
        gate: Gate,
        /// The evidence that it may be opened.
        evidence: SubmittedEvidence,
        /// The actor who gives the command.
        by: Actor,
    },
    /// Closes a gate, and those after it.
    GateReset {
        /// The first gate to close.
        gate: Gate,
    },
    /// Enters IMPLEMENT.
    Implement {
        /// The strategy, or the facts to choose one by.
        choice: StrategyChoice,
    },
    /// Begins a checkpoint.
    CheckpointStart {
        /// Id of the checkpoint.
        id: String,
        /// The reason a person gives for reopening one that escalated.
        override_reason: Option<String>,
        /// The actor who gives the command.
        by: Actor,
    },
    /// Ends an attempt as passed; red evidence makes it a failed one.
    CheckpointPass {
        /// Id of the checkpoint.
        id: String,
        /// The evidence for the attempt.
        evidence: SubmittedEvidence,
        /// Number of attempts allowed; never more than [`ATTEMPTS_MAX`].
        attempts_max: u32,
    },
    /// Ends an attempt as failed.
    CheckpointFail {
        /// Id of the checkpoint.
        id: String,
        /// Reason of the failure; it decides if another attempt may help.
        class: FailureClass,
        /// Number of attempts allowed; never more than [`ATTEMPTS_MAX`].
        attempts_max: u32,
    },
    /// Enters the phase PR.
    Pr,
    /// Enters the phase DONE.
    Done,
    /// Returns to an earlier phase.
    Back {
        /// The phase to return to.
        phase: DevelopPhase,
        /// The actor who gives the command.
        by: Actor,
    },
    /// Discards the run.
    Reset {
        /// The actor who gives the command.
        by: Actor,
    },
    /// Takes over a run that another program began: its gates are closed.
    Adopt {
        /// True if Bowline has a journal for the run already; then it is refused.
        owned: bool,
    },
}

/// An effect to execute once the next state is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Records the commands of the gates and the protected files, because a person began the run.
    Seal,
    /// Notifies a person that a checkpoint used up its attempts.
    AskPerson {
        /// Id of the checkpoint.
        checkpoint: String,
    },
    /// Reports that an attempt failed and another one is left.
    AttemptFailed {
        /// Id of the checkpoint.
        checkpoint: String,
        /// Number of the next attempt.
        iteration: u32,
    },
}
