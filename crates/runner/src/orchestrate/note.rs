//! What a run remembers of one task beside the state file: which attempt it is at, and what went wrong before.

pub use crate::core::note::Failure;
pub use crate::core::note::Used;
use serde::{Deserialize, Serialize};

/// How far a task in progress has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nothing runs: it needs a room first.
    #[default]
    Room,
    /// Its attempt was begun.
    Running,
    /// Its attempt ended well: it is to land.
    Landing,
}

/// What is remembered of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// The number of its latest attempt; 0 before the first. Grows over retries, so that no two have one folder.
    pub attempt: u32,
    /// How far it is.
    pub stage: Stage,
    /// What went wrong, the latest last.
    pub failures: Vec<Failure>,
    /// Conflicts in a row that its agent was given and did not resolve.
    pub conflicts: u32,
    /// Files of the latest conflict, until it is resolved: others that change them land later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflict_paths: Vec<String>,
    /// The newest landed commit that its work contained at the latest conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_base: Option<String>,
    /// What the conflict looked like, for the agent that resolves it.
    pub hunks: Option<String>,
    /// The phase's work is to be brought into its worktree before the next attempt.
    pub merge: bool,
    /// Errors of git in its worktree since that was made.
    #[serde(skip_serializing_if = "is_zero")]
    pub git_errors: u32,
    /// Its worktree is to be made anew before the next attempt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Its worktree was made anew for the latest attempt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub renewed: bool,
    /// It was taken back from its agent, and no failure is counted: its next start is none of a person.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recalled: bool,
    /// The task on whose work it was begun before that had landed.
    pub on: Option<String>,
    /// Where its work is proposed to those who decide.
    pub proposed: Option<String>,
    /// Not started again before this.
    pub not_before_ms: i64,
    /// A limit holds it until then.
    pub parked_until_ms: Option<i64>,
    /// The conversation of its client.
    pub session: Option<String>,
    /// Repetitions in mode ralph.
    pub iterations: u32,
    /// What was used so far.
    pub used: Used,
    /// What was used before the latest attempt: its output may be read again.
    pub before: Used,
    /// Time its attempts took.
    pub worked_ms: i64,
    /// When its attempts of the last hour were begun.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<i64>,
}

impl Note {
    /// Takes note of a failure of the latest attempt, once.
    pub fn failed(&mut self, error: &str) {
        crate::core::note::failed(&mut self.failures, self.attempt, error);
    }

    /// Takes note of what failed after that, before the next attempt began.
    pub fn failed_again(&mut self, error: &str) {
        let last = self.failures.last_mut();
        if let Some(last) = last.filter(|it| it.attempt == self.attempt && self.attempt > 0)
            && !last.error.ends_with(error)
        {
            last.error.push('\n');
            last.error.push_str(error);
        }
    }

    /// Forgets conflicts of earlier landings.
    pub fn no_conflict(&mut self) {
        self.conflicts = 0;
        self.conflict_paths.clear();
        self.conflict_base = None;
    }

    /// A fresh start: what went wrong before counts no more, what was used does.
    pub fn forgive(&mut self) {
        self.git_errors = 0;
        self.failures.clear();
        self.no_conflict();
        self.not_before_ms = 0;
        self.parked_until_ms = None;
        self.iterations = 0;
        self.stage = Stage::Room;
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
