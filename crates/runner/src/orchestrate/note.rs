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
    /// When its attempts of the last hour were begun.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<i64>,
}

impl Note {
    /// Takes note of a failure of the latest attempt, once.
    pub fn failed(&mut self, error: &str) {
        crate::core::note::failed(&mut self.failures, self.attempt, error);
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
