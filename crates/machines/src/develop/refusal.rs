//! Why a develop run refuses a command.

use super::{Gate, Phase};
use crate::kernel::Refuse;

/// Why a develop run refuses a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no run.
    #[error("no develop run here")]
    NoRun,
    /// There is one, and it is not done.
    #[error("a develop run is open: '{}', phase {}", on_one_line(feature), phase.name())]
    RunOpen {
        /// What it builds.
        feature: String,
        /// Where it stands.
        phase: Phase,
    },
    /// Not in this phase.
    #[error("cannot {what} in phase {}; that belongs to {}", phase.name(), wanted.name())]
    WrongPhase {
        /// What was wanted.
        what: &'static str,
        /// Where the run stands.
        phase: Phase,
        /// Where it would be right.
        wanted: Phase,
    },
    /// Going back means going back.
    #[error("cannot go back to {} from {}", to.name(), phase.name())]
    NotBack {
        /// Where the run stands.
        phase: Phase,
        /// Where it should go.
        to: Phase,
    },
    /// Gates are closed.
    #[error("closed gates: {}", names(missing))]
    GatesClosed {
        /// Which.
        missing: Vec<Gate>,
        /// Where the run stands.
        phase: Phase,
    },
    /// The gate is open.
    #[error("gate '{}' is already open", gate.name())]
    GateAlreadyOpen {
        /// Which.
        gate: Gate,
    },
    /// Checkpoints are not done.
    #[error("checkpoints not passed: {}", checkpoints.join(", "))]
    CheckpointsOpen {
        /// Which.
        checkpoints: Vec<String>,
    },
    /// Nothing shows that the gate may open.
    #[error("gate '{}' needs evidence", gate.name())]
    EvidenceRequired {
        /// Which.
        gate: Gate,
    },
    /// The evidence speaks against it.
    #[error("gate '{}' stays closed: its command ended with code {exit_code}", gate.name())]
    EvidenceRed {
        /// Which.
        gate: Gate,
        /// What the command ended with.
        exit_code: i32,
    },
    /// The evidence speaks about files that were changed since.
    #[error("a sealed file has changed since the seal")]
    EvidenceStale,
    /// An agent asked for a person's move.
    #[error("only a person may {what}")]
    NeedsPerson {
        /// What.
        what: &'static str,
    },
    /// No such checkpoint.
    #[error("there is no checkpoint '{id}'")]
    UnknownCheckpoint {
        /// The id.
        id: String,
    },
    /// Named twice.
    #[error("checkpoint '{id}' is named twice")]
    DuplicateCheckpoint {
        /// The id.
        id: String,
    },
    /// A name nobody could type.
    #[error("checkpoint id '{shown}' {fault}")]
    BadCheckpointId {
        /// Its beginning, on one line.
        shown: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The checkpoint cannot be begun or ended as it stands.
    #[error("cannot {what} checkpoint '{id}': it is {status}")]
    CheckpointIs {
        /// What was wanted.
        what: &'static str,
        /// Which.
        id: String,
        /// How it stands.
        status: &'static str,
    },
    /// A text that says nothing.
    #[error("{what} must not be empty")]
    Empty {
        /// Which.
        what: &'static str,
    },
    /// Bowline has written this run before.
    #[error("this run is Bowline's own already")]
    AlreadyAdopted,
}

impl Refuse for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Refusal::NoRun => "no_run",
            Refusal::RunOpen { .. } => "run_open",
            Refusal::WrongPhase { .. } => "wrong_phase",
            Refusal::NotBack { .. } => "not_back",
            Refusal::GatesClosed { .. } => "gates_closed",
            Refusal::GateAlreadyOpen { .. } => "gate_already_open",
            Refusal::CheckpointsOpen { .. } => "checkpoints_open",
            Refusal::EvidenceRequired { .. } => "evidence_required",
            Refusal::EvidenceRed { .. } => "evidence_red",
            Refusal::EvidenceStale => "stale_evidence",
            Refusal::NeedsPerson { .. } => "needs_person",
            Refusal::UnknownCheckpoint { .. } => "unknown_checkpoint",
            Refusal::DuplicateCheckpoint { .. } => "duplicate_checkpoint",
            Refusal::BadCheckpointId { .. } => "bad_checkpoint_id",
            Refusal::CheckpointIs { .. } => "checkpoint_status",
            Refusal::Empty { .. } => "empty_text",
            Refusal::AlreadyAdopted => "already_adopted",
        }
    }
}

/// An id as it is typed in a shell, inside a command that stands between single quotes; what cannot be written so is
/// left for the reader to fill in.
pub fn typed(id: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@:".contains(letter);
    let harmless = |letter: char| plain(letter) || " ,;()#&|=".contains(letter);
    if id.is_empty() || id.starts_with('-') || !id.chars().all(harmless) {
        "ID".to_owned()
    } else if id.chars().all(plain) {
        id.to_owned()
    } else {
        format!("\"{id}\"")
    }
}

/// Somebody's words on one line.
pub fn on_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn names(gates: &[Gate]) -> String {
    let names: Vec<&str> = gates.iter().map(|gate| gate.name()).collect();
    names.join(", ")
}
