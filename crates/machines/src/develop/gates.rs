//! The three gates, and the actions that a closed gate forbids.

use super::{DevelopPhase, DevelopRunState};

named! {
    /// A gate between phases. The order is the order in which they open.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Gate {
        /// The review of the design found nothing that blocks.
        ReviewCleanPass = "review_clean_pass",
        /// The whole implementation was verified.
        ArchitectVerified = "architect_verified",
        /// The review of the code found nothing.
        ReReviewClean = "re_review_clean",
    }
}

impl Gate {
    /// Returns the only phase in which the gate opens.
    pub const fn opening_phase(self) -> DevelopPhase {
        match self {
            Gate::ReviewCleanPass => DevelopPhase::Review,
            Gate::ArchitectVerified => DevelopPhase::Implement,
            Gate::ReReviewClean => DevelopPhase::Pr,
        }
    }
}

/// The open gates of a run. All are closed at first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenGates {
    open: [bool; 3],
}

impl OpenGates {
    /// Builds the set from a predicate, as the state file gives it.
    pub fn from_predicate(open: impl Fn(Gate) -> bool) -> Self {
        OpenGates {
            open: Gate::ALL.map(open),
        }
    }

    /// True if the gate is open.
    pub fn is_open(self, gate: Gate) -> bool {
        self.open[gate as usize]
    }

    /// Returns those of the wanted gates that are closed.
    pub fn closed_among(self, wanted: &[Gate]) -> Vec<Gate> {
        let closed = |gate: &Gate| !self.is_open(*gate);
        wanted.iter().copied().filter(closed).collect()
    }

    pub(super) fn open_gate(&mut self, gate: Gate) {
        self.open[gate as usize] = true;
    }

    pub(super) fn close_from(&mut self, first: Gate) {
        for gate in Gate::ALL {
            if gate >= first {
                self.open[gate as usize] = false;
            }
        }
    }
}

/// An action that a gate may forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectAction {
    /// Writing a file of the project.
    Write,
    /// Committing, pushing, opening or merging a pull request.
    Finish,
}

/// The gates that must be open for an action in a phase: the whole matrix.
pub const fn required_gates(phase: DevelopPhase, act: ProjectAction) -> &'static [Gate] {
    match (phase, act) {
        (
            DevelopPhase::Design | DevelopPhase::Review | DevelopPhase::Done,
            ProjectAction::Write | ProjectAction::Finish,
        ) => &[],
        (DevelopPhase::Implement, ProjectAction::Write | ProjectAction::Finish) => {
            &[Gate::ReviewCleanPass]
        }
        (DevelopPhase::Pr, ProjectAction::Write) => {
            &[Gate::ReviewCleanPass, Gate::ArchitectVerified]
        }
        (DevelopPhase::Pr, ProjectAction::Finish) => &Gate::ALL,
    }
}

/// The decision about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateDecision {
    /// No closed gate forbids it.
    Allow,
    /// Closed gates forbid it.
    Deny {
        /// The closed gates.
        missing: Vec<Gate>,
    },
}

/// Decides about an action. A folder without a run has no gates.
pub fn decide_action(run: Option<&DevelopRunState>, act: ProjectAction) -> GateDecision {
    let missing = run.map_or_else(Vec::new, |run| {
        run.gates.closed_among(required_gates(run.phase, act))
    });
    if missing.is_empty() {
        GateDecision::Allow
    } else {
        GateDecision::Deny { missing }
    }
}
