//! The next action of a run whose agent has lost its context.

use super::{CheckpointStatus, DevelopCheckpoint, DevelopPhase, DevelopRunState, Gate};

/// The next action of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextAction {
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
        phase: DevelopPhase,
    },
    /// The run is over: begin another.
    Over,
}

/// Returns the next action of a run: passed checkpoints are skipped, one in progress continues at
/// its attempt.
pub fn next_action(run: &DevelopRunState) -> NextAction {
    let open = |gate| run.gates.is_open(gate);
    match run.phase {
        DevelopPhase::Design => NextAction::Design,
        DevelopPhase::Review if open(Gate::ReviewCleanPass) => NextAction::Implement,
        DevelopPhase::Review => NextAction::ReviewAgain,
        DevelopPhase::Implement | DevelopPhase::Pr if !open(Gate::ReviewCleanPass) => {
            NextAction::Back {
                phase: DevelopPhase::Review,
            }
        }
        DevelopPhase::Implement if open(Gate::ArchitectVerified) => NextAction::Pr,
        DevelopPhase::Implement => next_checkpoint(run),
        DevelopPhase::Pr if !open(Gate::ArchitectVerified) => NextAction::Back {
            phase: DevelopPhase::Implement,
        },
        DevelopPhase::Pr if open(Gate::ReReviewClean) => NextAction::Done,
        DevelopPhase::Pr => NextAction::ReReview,
        DevelopPhase::Done => NextAction::Over,
    }
}

fn next_checkpoint(run: &DevelopRunState) -> NextAction {
    let with = |status| move |known: &&DevelopCheckpoint| known.status == status;
    let first = |status| run.checkpoints.iter().find(with(status));
    if let Some(found) =
        first(CheckpointStatus::InProgress).or_else(|| first(CheckpointStatus::Pending))
    {
        return NextAction::Checkpoint {
            id: found.id.clone(),
            iteration: found.iteration,
        };
    }
    let checkpoints = run.unpassed_checkpoints();
    if checkpoints.is_empty() {
        NextAction::VerifyAll
    } else {
        NextAction::AskPerson { checkpoints }
    }
}
