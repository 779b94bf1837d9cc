//! Where a run goes on after its agent has forgotten everything.

use super::{Checkpoint, CheckpointStatus, Gate, Phase, Run};

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// Design from the beginning: it needs the conversation that is lost.
    Design,
    /// Run the review of the design again.
    ReviewAgain,
    /// The review is clean: enter IMPLEMENT.
    Implement,
    /// Work on a checkpoint.
    Checkpoint {
        /// Which.
        id: String,
        /// At which attempt; 0 when it has not begun.
        iteration: u32,
    },
    /// Nothing but these is left, and a person has to decide about them.
    AskPerson {
        /// Checkpoints that escalated or failed.
        checkpoints: Vec<String>,
    },
    /// Every checkpoint has passed: verify the whole.
    VerifyAll,
    /// The whole is verified: enter PR.
    Pr,
    /// Run the review of the code again.
    ReReview,
    /// The code is clean: finish.
    Done,
    /// A gate that lies behind is closed: a person has to go back.
    Back {
        /// To which phase.
        phase: Phase,
    },
    /// The run is over: begin another.
    Over,
}

/// What comes next in a run: passed checkpoints are skipped, one in progress goes on at its attempt.
pub fn resume(run: &Run) -> Resume {
    let open = |gate| run.gates.is_open(gate);
    match run.phase {
        Phase::Design => Resume::Design,
        Phase::Review if open(Gate::ReviewCleanPass) => Resume::Implement,
        Phase::Review => Resume::ReviewAgain,
        Phase::Implement | Phase::Pr if !open(Gate::ReviewCleanPass) => Resume::Back {
            phase: Phase::Review,
        },
        Phase::Implement if open(Gate::ArchitectVerified) => Resume::Pr,
        Phase::Implement => next_checkpoint(run),
        Phase::Pr if !open(Gate::ArchitectVerified) => Resume::Back {
            phase: Phase::Implement,
        },
        Phase::Pr if open(Gate::ReReviewClean) => Resume::Done,
        Phase::Pr => Resume::ReReview,
        Phase::Done => Resume::Over,
    }
}

fn next_checkpoint(run: &Run) -> Resume {
    let with = |status| move |known: &&Checkpoint| known.status == status;
    let first = |status| run.checkpoints.iter().find(with(status));
    if let Some(found) =
        first(CheckpointStatus::InProgress).or_else(|| first(CheckpointStatus::Pending))
    {
        return Resume::Checkpoint {
            id: found.id.clone(),
            iteration: found.iteration,
        };
    }
    let checkpoints = run.unpassed();
    if checkpoints.is_empty() {
        Resume::VerifyAll
    } else {
        Resume::AskPerson { checkpoints }
    }
}
