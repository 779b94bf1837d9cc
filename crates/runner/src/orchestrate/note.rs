//! What a run remembers of one task beside the state file: which attempt it is at, and what went wrong before.

use serde::{Deserialize, Serialize};

/// Errors that are kept: enough for the ladder, and for a prompt with full context.
const ERRORS_MAX: usize = 12;
/// Of each, the end.
const ERROR_BYTES_MAX: usize = 4 << 10;

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

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Of which attempt.
    pub attempt: u32,
    /// Why.
    pub error: String,
}

/// What a task cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Used {
    /// Turns.
    pub turns: u64,
    /// Tokens.
    pub tokens: u64,
    /// Dollars.
    pub usd: f64,
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
    /// Landings that met a conflict, since the last that did not.
    pub conflicts: u32,
    /// What the conflict looked like, for the agent that resolves it.
    pub hunks: Option<String>,
    /// The phase's work is to be brought into its worktree before the next attempt.
    pub merge: bool,
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
}

impl Note {
    /// Takes note of a failure of the latest attempt, once.
    pub fn failed(&mut self, error: &str) {
        if self
            .failures
            .last()
            .is_some_and(|last| last.attempt == self.attempt && self.attempt > 0)
        {
            return;
        }
        let mut from = error.len().saturating_sub(ERROR_BYTES_MAX);
        while !error.is_char_boundary(from) {
            from += 1;
        }
        self.failures.push(Failure {
            attempt: self.attempt,
            error: error[from..].to_owned(),
        });
        let excess = self.failures.len().saturating_sub(ERRORS_MAX);
        self.failures.drain(..excess);
    }

    /// A fresh start: what went wrong before counts no more, what was used does.
    pub fn forgive(&mut self) {
        self.failures.clear();
        self.conflicts = 0;
        self.not_before_ms = 0;
        self.parked_until_ms = None;
        self.iterations = 0;
        self.stage = Stage::Room;
    }
}
