//! Evidence for opening a gate or passing a checkpoint, and the rules that judge it.

use super::{Gate, Refusal};
use crate::kernel::{Actor, RefusalSubject};

/// Evidence offered for a gate or a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmittedEvidence {
    /// The sealed command was run.
    Sealed {
        /// Exit code of the sealed command.
        exit_code: i32,
        /// A sealed file has changed since the seal.
        stale: bool,
    },
    /// No command is sealed for this; the caller named one, and it was run.
    Given {
        /// Exit code of that command.
        exit_code: i32,
    },
    /// A statement without any command.
    ByHand {
        /// The reason given for it; an empty one is refused.
        reason: String,
    },
    /// No evidence at all.
    None,
}

impl SubmittedEvidence {
    /// Refuses unless this evidence opens the gate. From an agent only the sealed command counts.
    pub(super) fn check_opens_gate(&self, gate: Gate, by: Actor) -> Result<(), Refusal> {
        match (self, by) {
            (SubmittedEvidence::Sealed { stale: true, .. }, _) => Err(Refusal::EvidenceStale),
            (SubmittedEvidence::Sealed { exit_code, .. }, _)
            | (SubmittedEvidence::Given { exit_code }, Actor::Person) => match exit_code {
                0 => Ok(()),
                &exit_code => Err(Refusal::EvidenceRed { gate, exit_code }),
            },
            (SubmittedEvidence::ByHand { .. }, Actor::Agent) => Err(Refusal::NeedsPerson {
                what: "pass a gate by hand",
            }),
            (SubmittedEvidence::ByHand { reason }, Actor::Person) if reason.trim().is_empty() => {
                Err(Refusal::Empty {
                    what: RefusalSubject::Reason,
                })
            }
            (SubmittedEvidence::ByHand { .. }, Actor::Person) => Ok(()),
            (SubmittedEvidence::Given { .. }, Actor::Agent) | (SubmittedEvidence::None, _) => {
                Err(Refusal::EvidenceRequired { gate })
            }
        }
    }

    /// True if an attempt at a checkpoint counts as passed. A statement of the agent is enough
    /// here, because the gate after the checkpoints verifies the whole again.
    pub(super) fn is_green(&self) -> Result<bool, Refusal> {
        match self {
            SubmittedEvidence::Sealed { stale: true, .. } => Err(Refusal::EvidenceStale),
            SubmittedEvidence::Sealed { exit_code, .. }
            | SubmittedEvidence::Given { exit_code } => Ok(*exit_code == 0),
            SubmittedEvidence::ByHand { .. } | SubmittedEvidence::None => Ok(true),
        }
    }
}
