//! What a person may do to a job now. The server hands this list out; nobody else computes it.

use super::{Job, Life};

/// Something a person may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the word it writes")]
pub enum Action {
    Submit,
    Delete,
    Cancel,
    Pause,
    Resume,
    Approve,
    RequestChanges,
    Archive,
    Retry,
    Answer,
    Provide,
    Reject,
}

impl Action {
    /// The whole vocabulary.
    pub const ALL: [Action; 12] = [
        Action::Submit,
        Action::Delete,
        Action::Cancel,
        Action::Pause,
        Action::Resume,
        Action::Approve,
        Action::RequestChanges,
        Action::Archive,
        Action::Retry,
        Action::Answer,
        Action::Provide,
        Action::Reject,
    ];

    /// The word on the wire and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Submit => "submit",
            Action::Delete => "delete",
            Action::Cancel => "cancel",
            Action::Pause => "pause",
            Action::Resume => "resume",
            Action::Approve => "approve",
            Action::RequestChanges => "request-changes",
            Action::Archive => "archive",
            Action::Retry => "retry",
            Action::Answer => "answer",
            Action::Provide => "provide",
            Action::Reject => "reject",
        }
    }
}

/// What a person may do now, the most useful first. `submit` may still be refused for what a draft lacks.
pub fn allowed_actions(job: &Job) -> Vec<Action> {
    match job.life {
        Life::Draft => vec![Action::Submit, Action::Delete],
        Life::Pending => vec![Action::Cancel],
        Life::Running => vec![Action::Pause, Action::Cancel],
        Life::Paused(_) => vec![Action::Resume, Action::Cancel],
        Life::Asking => vec![Action::Answer, Action::Cancel],
        Life::Needing => vec![Action::Provide, Action::Reject, Action::Cancel],
        Life::Verifying { .. } => vec![Action::Cancel],
        Life::Reviewing => vec![Action::Approve, Action::RequestChanges],
        Life::Completed { .. } if job.archived => vec![Action::Delete],
        Life::Completed { .. } => vec![Action::Archive, Action::Delete],
        Life::Failed(_) if job.retried_by.is_some() => vec![Action::Delete],
        Life::Failed(_) => vec![Action::Retry, Action::Delete],
    }
}
