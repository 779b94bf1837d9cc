//! What a run remembers of one piece of work beside the state file: which attempt it is at, and what went wrong before.

use serde::{Deserialize, Serialize};

/// Errors that are kept: enough for the ladder, and for a prompt with full context.
const ERRORS_MAX: usize = 12;
/// Of each, the end.
const ERROR_BYTES_MAX: usize = 4 << 10;

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Of which attempt.
    pub attempt: u32,
    /// Why.
    pub error: String,
}

/// Takes note of a failure of an attempt, once.
pub fn failed(failures: &mut Vec<Failure>, attempt: u32, error: &str) {
    let known = |last: &Failure| last.attempt == attempt && attempt > 0;
    if failures.last().is_some_and(known) {
        return;
    }
    let from = error.len().saturating_sub(ERROR_BYTES_MAX);
    let error = error[error.ceil_char_boundary(from)..].to_owned();
    failures.push(Failure { attempt, error });
    let excess = failures.len().saturating_sub(ERRORS_MAX);
    failures.drain(..excess);
}

/// What a piece of work cost.
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

impl Used {
    /// Adds what an attempt says that it used; of its dollars, so many are counted already.
    pub fn add(&mut self, tokens: u64, usd: f64, counted: &mut f64) {
        self.tokens += tokens;
        self.usd += (usd - *counted).max(0.0);
        *counted = counted.max(usd);
    }
}

/// What an agent handed back when it ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// The end of its own words.
    pub words: String,
    /// The value it wrote to its result file, or between `[RESULT]` and `[/RESULT]`.
    pub result: Option<serde_json::Value>,
}

/// How far a piece of work in hand has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nothing runs.
    #[default]
    Idle,
    /// Its attempt was begun.
    Running,
    /// Its attempt ended well, and what came of it is being looked at.
    Checking,
}

/// What is remembered of a piece of work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// The number of its latest attempt; 0 before the first. Only grows, so that no two have one folder.
    pub attempt: u32,
    /// The try of the state file that the latest attempt belongs to: one of another try was settled there.
    pub round: u32,
    /// How far it is.
    pub stage: Stage,
    /// What went wrong, the latest last.
    pub failures: Vec<Failure>,
    /// Not started again before this.
    pub not_before_ms: i64,
    /// The conversation of its client in this try.
    pub session: Option<String>,
    /// What was handed back, while it is being looked at.
    pub reply: Option<Reply>,
    /// What was used so far.
    pub used: Used,
    /// What was used before the latest attempt: its output may be read again.
    pub before: Used,
    /// When the latest attempt was begun.
    pub began_ms: i64,
    /// When attempts were begun within an hour before it, and itself.
    pub starts: Vec<i64>,
    /// Time its attempts took.
    pub worked_ms: i64,
    /// Time the attempts of this try took.
    pub round_ms: i64,
}

impl Note {
    /// The latest attempt failed.
    pub fn failed(&mut self, error: &str) {
        failed(&mut self.failures, self.attempt, error);
    }

    /// Nothing of this try goes on.
    pub fn settle(&mut self) {
        self.stage = Stage::Idle;
        self.reply = None;
        self.session = None;
        self.round_ms = 0;
    }
}
