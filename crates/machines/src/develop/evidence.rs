//! What is laid before a gate, and what it is worth.

use super::{Gate, Refusal};
use crate::kernel::Actor;

/// Why a gate or a checkpoint should pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// The sealed command was run.
    Sealed {
        /// What it ended with.
        exit_code: i32,
        /// A sealed file has changed since the seal.
        stale: bool,
    },
    /// No command is sealed for this; the caller named one, and it was run.
    Given {
        /// What it ended with.
        exit_code: i32,
    },
    /// Somebody says so.
    ByHand {
        /// Why that should do.
        reason: String,
    },
    /// Nothing.
    None,
}

impl Evidence {
    /// Opens a gate, or says why not. Under an agent only the sealed command counts.
    pub(super) fn opens(&self, gate: Gate, by: Actor) -> Result<(), Refusal> {
        match (self, by) {
            (Evidence::Sealed { stale: true, .. }, _) => Err(Refusal::EvidenceStale),
            (Evidence::Sealed { exit_code, .. }, _)
            | (Evidence::Given { exit_code }, Actor::Person) => match exit_code {
                0 => Ok(()),
                &exit_code => Err(Refusal::EvidenceRed { gate, exit_code }),
            },
            (Evidence::ByHand { .. }, Actor::Agent) => Err(Refusal::NeedsPerson {
                what: "pass a gate by hand",
            }),
            (Evidence::ByHand { reason }, Actor::Person) if reason.trim().is_empty() => {
                Err(Refusal::Empty { what: "reason" })
            }
            (Evidence::ByHand { .. }, Actor::Person) => Ok(()),
            (Evidence::Given { .. }, Actor::Agent) | (Evidence::None, _) => {
                Err(Refusal::EvidenceRequired { gate })
            }
        }
    }

    /// Whether an attempt at a checkpoint was good. The gate after the checkpoints looks at the whole again, so here
    /// the word of the one who worked on it is enough.
    pub(super) fn is_green(&self) -> Result<bool, Refusal> {
        match self {
            Evidence::Sealed { stale: true, .. } => Err(Refusal::EvidenceStale),
            Evidence::Sealed { exit_code, .. } | Evidence::Given { exit_code } => {
                Ok(*exit_code == 0)
            }
            Evidence::ByHand { .. } | Evidence::None => Ok(true),
        }
    }
}
