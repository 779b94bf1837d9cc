//! Trust in a run that another program wrote: its gates are never believed to be open.

use super::{DevelopRunState, Gate, OpenGates};

/// Returns the same run with every gate closed, for undo, restore, repair and adoption. The phase
/// stays: in an earlier one more would be allowed than before.
pub fn with_closed_gates(run: &DevelopRunState) -> DevelopRunState {
    DevelopRunState {
        gates: OpenGates::default(),
        ..run.clone()
    }
}

/// The trusted run, and the changes that were rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedRun {
    /// Texts, times and strategy of the file, with our gates, phase and checkpoints.
    pub run: DevelopRunState,
    /// Paths of changed values in the document that are not trusted.
    pub distrusted: Vec<String>,
}

/// Joins the run that we wrote last with the run that the file has now. Texts, times and the
/// strategy may be edited by anyone; gates, phase and checkpoints only by us.
pub fn merge_trust(ours: &DevelopRunState, theirs: &DevelopRunState) -> MergedRun {
    let mut distrusted = Vec::new();
    if ours.phase != theirs.phase {
        distrusted.push("phase".to_owned());
    }
    for gate in Gate::ALL {
        if ours.gates.is_open(gate) != theirs.gates.is_open(gate) {
            distrusted.push(format!("gates.{}", gate.name()));
        }
    }
    let added = theirs
        .checkpoints
        .iter()
        .filter(|known| ours.find_checkpoint(&known.id).is_none());
    for known in ours.checkpoints.iter().chain(added) {
        if ours.find_checkpoint(&known.id) != theirs.find_checkpoint(&known.id) {
            distrusted.push(format!("checkpoints.{}", known.id));
        }
    }
    let run = DevelopRunState {
        phase: ours.phase,
        gates: ours.gates,
        checkpoints: ours.checkpoints.clone(),
        ..theirs.clone()
    };
    MergedRun { run, distrusted }
}
