//! Actions that a person may take on a job now. The server sends this list; no other code computes
//! it.

use super::{Job, JobState};

named! {
    /// An action that a person may take on a task.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the word it writes")]
    pub enum JobAction {
        Submit = "submit",
        Delete = "delete",
        Cancel = "cancel",
        Pause = "pause",
        Resume = "resume",
        Approve = "approve",
        RequestChanges = "request-changes",
        Archive = "archive",
        Retry = "retry",
        Answer = "answer",
        Provide = "provide",
        Reject = "reject",
        Edit = "edit",
        Skip = "skip",
        Permit = "permit",
        Deny = "deny",
        Checkpoint = "checkpoint",
        Restore = "restore",
        Fork = "fork",
        Say = "say",
        Interrupt = "interrupt",
    }
}

/// Returns the actions allowed now, the most useful first. `submit` may still be refused for what a
/// draft lacks.
pub fn allowed_actions(job: &Job) -> Vec<JobAction> {
    use JobAction as A;
    let mut actions = match job.state {
        JobState::Draft => vec![A::Submit, A::Edit, A::Delete],
        JobState::Pending => vec![A::Cancel],
        JobState::Running => vec![A::Pause, A::Cancel, A::Say, A::Interrupt, A::Checkpoint],
        JobState::Paused(_) => vec![A::Resume, A::Cancel, A::Say, A::Checkpoint, A::Restore],
        JobState::Asking => {
            let skips = job.open_question().is_some_and(|it| !it.required);
            let mut actions = vec![A::Answer];
            actions.extend(skips.then_some(A::Skip));
            actions.extend([A::Cancel, A::Say, A::Checkpoint, A::Restore]);
            actions
        }
        JobState::Needing => vec![
            A::Provide,
            A::Reject,
            A::Cancel,
            A::Say,
            A::Checkpoint,
            A::Restore,
        ],
        JobState::Permitting => vec![
            A::Permit,
            A::Deny,
            A::Cancel,
            A::Say,
            A::Checkpoint,
            A::Restore,
        ],
        JobState::Verifying { .. } => vec![A::Cancel, A::Say, A::Checkpoint, A::Restore],
        JobState::Reviewing => vec![
            A::Approve,
            A::RequestChanges,
            A::Say,
            A::Checkpoint,
            A::Restore,
        ],
        JobState::Completed { .. } if job.archived => vec![A::Delete],
        JobState::Completed { .. } => vec![A::Archive, A::Delete],
        JobState::Failed(_) if job.retried_by.is_some() => vec![A::Delete],
        JobState::Failed(_) if job.attempt == 0 => vec![A::Retry, A::Delete],
        JobState::Failed(_) => vec![A::Retry, A::Delete, A::Restore],
    };
    // A job that had an agent has a checkpoint at which another task can begin.
    if job.attempt > 0 {
        actions.push(A::Fork);
    }
    actions
}
