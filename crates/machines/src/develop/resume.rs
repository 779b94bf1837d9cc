//! The next action of a run whose agent has lost its context.

use super::{Checkpoint, CheckpointStatus, Gate, Phase, Run};

/// The next action of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// Begin the design again: it needs the conversation that is lost.
    Design,
    /// Run the review of the design again.
    ReviewAgain,
    /// The review is clean: enter IMPLEMENT.
    Implement,
    /// Begin or continue a checkpoint.
    Checkpoint {
        /// Id of the checkpoint.
        id: String,
        /// Number of the current attempt; 0 when it has not begun.
        iteration: u32,
    },
    /// Only checkpoints that need a person's decision are left.
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
    /// A gate of an earlier phase is closed: a person has to go back.
    Back {
        /// The phase to return to.
        phase: Phase,
    },
    /// The run is over: begin another.
    Over,
}

/// Returns the next action of a run: passed checkpoints are skipped, one in progress continues at
/// its attempt.
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
