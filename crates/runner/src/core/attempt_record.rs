//! Record of one piece of work beside the state file: its latest attempt, earlier failures and
//! usage.

use serde::{Deserialize, Serialize};

/// Errors that are kept: enough for the retry policy, and for a prompt with all details.
const ERRORS_MAX: usize = 12;
/// Bytes of each error that are kept, from its end.
const ERROR_BYTES_MAX: usize = 4 << 10;

/// One failed attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFailure {
    /// Number of the attempt; 0 if none was started.
    pub attempt: u32,
    /// Message of the error, shortened from the front.
    pub error: String,
}

/// Records the failure of an attempt, once per attempt.
pub fn push_failure(failures: &mut Vec<AttemptFailure>, attempt: u32, error: &str) {
    let known = |last: &AttemptFailure| last.attempt == attempt && attempt > 0;
    if failures.last().is_some_and(known) {
        return;
    }
    let from = error.len().saturating_sub(ERROR_BYTES_MAX);
    let error = error[error.ceil_char_boundary(from)..].to_owned();
    failures.push(AttemptFailure { attempt, error });
    let excess = failures.len().saturating_sub(ERRORS_MAX);
    failures.drain(..excess);
}

/// Usage of a piece of work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptUsage {
    pub turns: u64,
    pub tokens: u64,
    pub usd: f64,
}

impl AttemptUsage {
    /// Adds the reported usage of an attempt. `usd` is the attempt's total, of which `counted` was
    /// added before.
    pub fn add_reported(&mut self, tokens: u64, usd: f64, counted: &mut f64) {
        self.tokens += tokens;
        self.usd += (usd - *counted).max(0.0);
        *counted = counted.max(usd);
    }
}

/// Result that an agent handed back when it ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentReply {
    /// End of the agent's own text.
    pub words: String,
    /// Value from its result file, or between `[RESULT]` and `[/RESULT]`.
    pub result: Option<serde_json::Value>,
}

/// Progress of a piece of work in hand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStage {
    /// Nothing runs.
    #[default]
    Idle,
    /// Its attempt was started.
    Running,
    /// Its attempt ended well, and the result is being checked.
    Checking,
}

/// Stored record of a piece of work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptRecord {
    /// Number of the latest attempt; 0 before the first. It only grows, so that no two share a
    /// folder.
    pub attempt: u32,
    /// Try of the state file that the latest attempt belongs to. A record of another try was
    /// settled there.
    pub round: u32,
    /// Progress of the latest attempt.
    pub stage: AttemptStage,
    /// Failures so far, the latest last.
    pub failures: Vec<AttemptFailure>,
    /// Earliest time of the next start.
    pub not_before_ms: i64,
    /// Session of its client in this try.
    pub session: Option<String>,
    /// Result of the latest attempt while it is being checked.
    pub reply: Option<AgentReply>,
    /// Usage so far.
    pub used: AttemptUsage,
    /// Usage before the latest attempt, whose output may be read again.
    pub before: AttemptUsage,
    /// Start of the latest attempt.
    pub began_ms: i64,
    /// Starts within the hour before the latest one, and that one.
    pub starts: Vec<i64>,
    /// Working time of all attempts.
    pub worked_ms: i64,
    /// Working time of the attempts of this try.
    pub round_ms: i64,
}

impl AttemptRecord {
    /// Records a failure of the latest attempt.
    pub fn record_failure(&mut self, error: &str) {
        push_failure(&mut self.failures, self.attempt, error);
    }

    /// Ends the present try: no attempt, result or session is pending.
    pub fn end_try(&mut self) {
        self.stage = AttemptStage::Idle;
        self.reply = None;
        self.session = None;
        self.round_ms = 0;
    }
}
