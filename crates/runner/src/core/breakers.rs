//! When no further attempt is made: what the settings allow one piece of work, and all together.

use super::note::Used;
use bowline_formats::settings::{Limits, Seconds};

/// Time without output after which an agent is ended, where nobody says otherwise.
const SILENT: Seconds = Seconds(30 * 60);
/// Wait after a rate limit that does not say how long.
const RETRY_AFTER: Seconds = Seconds(60);

/// The limits of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Breakers {
    /// Agent starts per hour.
    pub starts_per_hour: Option<usize>,
    /// Turns of one piece of work.
    pub turns: Option<u64>,
    /// Its tokens.
    pub tokens: Option<u64>,
    /// Its money.
    pub usd: Option<f64>,
    /// Its time.
    pub worked_ms: Option<i64>,
    /// Time without output.
    pub silent_ms: i64,
    /// Wait after a limit that does not say how long.
    pub retry_after_ms: i64,
}

impl Breakers {
    /// Those of a project.
    pub fn of(limits: &Limits) -> Breakers {
        Breakers {
            starts_per_hour: limits.runs_per_hour,
            turns: limits.turns.map(u64::from),
            tokens: limits.tokens,
            usd: limits.usd,
            worked_ms: limits.wall_time.map(Seconds::ms),
            silent_ms: limits.no_progress.unwrap_or(SILENT).ms(),
            retry_after_ms: limits.retry_after.unwrap_or(RETRY_AFTER).ms(),
        }
    }

    /// Why no further attempt may be made, if a limit is reached.
    pub fn tripped(&self, used: &Used, worked_ms: i64) -> Option<String> {
        let turns = self.turns.filter(|max| used.turns >= *max);
        let tokens = self.tokens.filter(|max| used.tokens >= *max);
        let usd = self.usd.filter(|max| used.usd >= *max);
        let worked = self.worked_ms.filter(|max| worked_ms >= *max);
        turns
            .map(|max| format!("{max} turns"))
            .or(tokens.map(|max| format!("{max} tokens")))
            .or(usd.map(|max| format!("{max} dollars")))
            .or(worked.map(|max| format!("{} s of work", max / 1_000)))
    }
}
