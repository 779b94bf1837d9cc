//! Reasons why a develop run refuses a command.

use super::{DevelopPhase, Gate};
use crate::kernel::{CodedRefusal, RefusalSubject};

/// The reason why a develop run refuses a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The folder has no run.
    #[error("no develop run here")]
    NoRun,
    /// A run is open, and the command would replace it.
    #[error("a develop run is open: '{}', phase {}", on_one_line(feature), phase.name())]
    RunOpen {
        /// The feature of the open run.
        feature: String,
        /// The phase of the open run.
        phase: DevelopPhase,
    },
    /// The command belongs to another phase.
    #[error("cannot {what} in phase {}; that belongs to {}", phase.name(), wanted.name())]
    WrongPhase {
        /// The refused action, a verb phrase.
        what: &'static str,
        /// Current phase of the run.
        phase: DevelopPhase,
        /// The phase in which the action is allowed.
        wanted: DevelopPhase,
    },
    /// The target phase is not an earlier one.
    #[error("cannot go back to {} from {}", to.name(), phase.name())]
    NotBack {
        /// Current phase of the run.
        phase: DevelopPhase,
        /// The target phase of the command.
        to: DevelopPhase,
    },
    /// Gates that the command needs are closed.
    #[error("closed gates: {}", join_gate_names(missing))]
    GatesClosed {
        /// The closed gates.
        missing: Vec<Gate>,
        /// Current phase of the run.
        phase: DevelopPhase,
    },
    /// The gate is already open.
    #[error("gate '{}' is already open", gate.name())]
    GateAlreadyOpen {
        /// The gate that was to be opened.
        gate: Gate,
    },
    /// Checkpoints have not passed.
    #[error("checkpoints not passed: {}", checkpoints.join(", "))]
    CheckpointsOpen {
        /// Ids of the open checkpoints.
        checkpoints: Vec<String>,
    },
    /// The evidence that the gate needs is missing.
    #[error("gate '{}' needs evidence", gate.name())]
    EvidenceRequired {
        /// The gate that needs it.
        gate: Gate,
    },
    /// The command behind the gate failed.
    #[error("gate '{}' stays closed: its command ended with code {exit_code}", gate.name())]
    EvidenceRed {
        /// The gate that stays closed.
        gate: Gate,
        /// Exit code of the command.
        exit_code: i32,
    },
    /// A sealed file was changed after the seal, so that the evidence proves nothing.
    #[error("a sealed file has changed since the seal")]
    EvidenceStale,
    /// The command is reserved for a person, but an agent gave it.
    #[error("only a person may {what}")]
    NeedsPerson {
        /// The refused action, a verb phrase.
        what: &'static str,
    },
    /// No checkpoint has that id.
    #[error("there is no checkpoint '{id}'")]
    UnknownCheckpoint {
        /// The unknown id.
        id: String,
    },
    /// An id is listed twice.
    #[error("checkpoint '{id}' is named twice")]
    DuplicateCheckpoint {
        /// The repeated id.
        id: String,
    },
    /// The id could not be typed in a command line.
    #[error("checkpoint id '{shown}' {fault}")]
    BadCheckpointId {
        /// Beginning of the id, without control characters.
        shown: String,
        /// The fault of the id, a verb phrase.
        fault: &'static str,
    },
    /// The status of the checkpoint does not allow the command.
    #[error("cannot {what} checkpoint '{id}': it is {status}")]
    CheckpointIs {
        /// The refused verb.
        what: &'static str,
        /// Id of the checkpoint.
        id: String,
        /// Its current status.
        status: &'static str,
    },
    /// A required text is empty.
    #[error("{} must not be empty", what.name())]
    Empty {
        /// The name of the text.
        what: RefusalSubject,
    },
    /// Bowline has written this run before, so that it need not be adopted.
    #[error("this run is Bowline's own already")]
    AlreadyAdopted,
}

impl CodedRefusal for Refusal {
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

/// Returns an id as it is typed in a shell, inside a command that stands between single quotes;
/// `ID` for one that cannot be written so.
pub fn quote_for_shell(id: &str) -> String {
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

/// Joins a text of several lines into one line.
pub fn on_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn join_gate_names(gates: &[Gate]) -> String {
    let names: Vec<&str> = gates.iter().map(|gate| gate.name()).collect();
    names.join(", ")
}
