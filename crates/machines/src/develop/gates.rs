//! The three gates, and what is closed while they are.

use super::{Phase, Run};

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
    /// The only phase it opens in.
    pub const fn phase(self) -> Phase {
        match self {
            Gate::ReviewCleanPass => Phase::Review,
            Gate::ArchitectVerified => Phase::Implement,
            Gate::ReReviewClean => Phase::Pr,
        }
    }
}

/// Which gates are open. All are closed at first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gates {
    open: [bool; 3],
}

impl Gates {
    /// From the file.
    pub fn of(open: impl Fn(Gate) -> bool) -> Self {
        Gates {
            open: Gate::ALL.map(open),
        }
    }

    /// Whether a gate is open.
    pub fn is_open(self, gate: Gate) -> bool {
        self.open[gate as usize]
    }

    /// Of these, those that are closed.
    pub fn missing(self, wanted: &[Gate]) -> Vec<Gate> {
        let closed = |gate: &Gate| !self.is_open(*gate);
        wanted.iter().copied().filter(closed).collect()
    }

    pub(super) fn open(&mut self, gate: Gate) {
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

/// What a gate may stand in the way of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Writing a file of the project.
    Write,
    /// Committing, pushing, opening or merging a pull request.
    Finish,
}

/// The gates an act needs in a phase: the whole matrix.
pub const fn needed(phase: Phase, act: Act) -> &'static [Gate] {
    match (phase, act) {
        (Phase::Design | Phase::Review | Phase::Done, Act::Write | Act::Finish) => &[],
        (Phase::Implement, Act::Write | Act::Finish) => &[Gate::ReviewCleanPass],
        (Phase::Pr, Act::Write) => &[Gate::ReviewCleanPass, Gate::ArchitectVerified],
        (Phase::Pr, Act::Finish) => &Gate::ALL,
    }
}

/// Whether an act is let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing stands in the way.
    Allow,
    /// Gates are closed.
    Deny {
        /// Which.
        missing: Vec<Gate>,
    },
}

/// Decides an act. A folder without a run has no gates.
pub fn decide(run: Option<&Run>, act: Act) -> Decision {
    let missing = run.map_or_else(Vec::new, |run| run.gates.missing(needed(run.phase, act)));
    if missing.is_empty() {
        Decision::Allow
    } else {
        Decision::Deny { missing }
    }
}
