//! The note that a run keeps of one task beside the state file: its current attempt, and what went
//! wrong before.

pub use crate::core::attempt_record::AttemptFailure;
pub use crate::core::attempt_record::AttemptUsage;
use serde::{Deserialize, Serialize};

/// Progress of a task that is in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStage {
    /// No agent runs; it needs a worktree first.
    #[default]
    Room,
    /// Its attempt was started.
    Running,
    /// Its attempt ended well; its work is to land.
    Landing,
}

/// Attempts, failures and usage of one task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskRecord {
    /// Number of its latest attempt; 0 before the first. It grows over retries, so that each
    /// attempt has a folder of its own.
    pub attempt: u32,
    pub stage: TaskStage,
    /// Failures, the latest last.
    pub failures: Vec<AttemptFailure>,
    /// Conflicts in a row that its agent was given and did not resolve.
    pub conflicts: u32,
    /// Files of the latest conflict, until it is resolved: others that change them land later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflict_paths: Vec<String>,
    /// The newest landed commit that its work contained at the latest conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_base: Option<String>,
    /// Conflict hunks, for the agent that resolves them.
    pub hunks: Option<String>,
    /// The phase's branch is to be merged into its worktree before the next attempt.
    pub merge: bool,
    /// Errors of git in its worktree since the worktree was created.
    #[serde(skip_serializing_if = "is_zero")]
    pub git_errors: u32,
    /// Its worktree is to be recreated before the next attempt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Its worktree was recreated for the latest attempt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub renewed: bool,
    /// It was recalled and no failure is counted: its next start was not requested by a person.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recalled: bool,
    /// The task on whose work it was started before that had landed.
    pub on: Option<String>,
    /// Address of its pull request.
    pub proposed: Option<String>,
    /// Earliest time of its next start.
    pub not_before_ms: i64,
    /// Time until which a limit holds it.
    pub parked_until_ms: Option<i64>,
    /// Id of the client's conversation.
    pub session: Option<String>,
    /// Repetitions in mode ralph.
    pub iterations: u32,
    /// Usage of all attempts.
    pub used: AttemptUsage,
    /// Usage before the latest attempt, whose output may be read again.
    pub before: AttemptUsage,
    /// Total time of its attempts.
    pub worked_ms: i64,
    /// Start times of its attempts within the last hour.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<i64>,
}

impl TaskRecord {
    /// Records a failure of the latest attempt, once.
    pub fn record_failure(&mut self, error: &str) {
        crate::core::attempt_record::push_failure(&mut self.failures, self.attempt, error);
    }

    /// Appends to the recorded failure of the latest attempt; without one, does nothing.
    pub fn extend_last_failure(&mut self, error: &str) {
        let last = self.failures.last_mut();
        if let Some(last) = last.filter(|it| it.attempt == self.attempt && self.attempt > 0)
            && !last.error.ends_with(error)
        {
            last.error.push('\n');
            last.error.push_str(error);
        }
    }

    /// Forgets conflicts of earlier landings.
    pub fn clear_conflict(&mut self) {
        self.conflicts = 0;
        self.conflict_paths.clear();
        self.conflict_base = None;
    }

    /// Resets the note for a fresh start: failures are dropped, usage is kept.
    pub fn reset_for_retry(&mut self) {
        self.git_errors = 0;
        self.failures.clear();
        self.clear_conflict();
        self.not_before_ms = 0;
        self.parked_until_ms = None;
        self.iterations = 0;
        self.stage = TaskStage::Room;
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
