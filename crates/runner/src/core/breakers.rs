//! Circuit breakers: limits of the settings on one piece of work and on a whole run.

use super::attempt_record::AttemptUsage;
use bowline_formats::settings::{RunLimits, Seconds};
use bowline_words::message::Spent;
use std::collections::VecDeque;

/// Time without output after which an agent is ended, unless the settings say otherwise.
const SILENCE_LIMIT: Seconds = Seconds(30 * 60);
/// Wait after a rate limit that states no end.
const DEFAULT_RETRY_AFTER: Seconds = Seconds(60);
const HOUR_MS: i64 = 60 * 60 * 1_000;

/// Limits of a run; `None` is unlimited.
#[derive(Debug, Clone, PartialEq)]
pub struct CircuitBreakers {
    /// Agent starts per hour, all work together.
    pub starts_per_hour: Option<usize>,
    /// Turns of one piece of work.
    pub turns: Option<u64>,
    /// Tokens of one piece of work.
    pub tokens: Option<u64>,
    /// Dollars of one piece of work.
    pub usd: Option<f64>,
    /// Working time of one piece of work.
    pub worked_ms: Option<i64>,
    /// Time without output after which an agent is ended.
    pub silent_ms: i64,
    /// Wait after a rate limit that states no end.
    pub retry_after_ms: i64,
}

impl CircuitBreakers {
    /// Takes the limits from a project's settings.
    pub fn from_limits(limits: &RunLimits) -> CircuitBreakers {
        CircuitBreakers {
            starts_per_hour: limits.runs_per_hour,
            turns: limits.turns.map(u64::from),
            tokens: limits.tokens,
            usd: limits.usd,
            worked_ms: limits.wall_time.map(Seconds::as_ms),
            silent_ms: limits.no_progress.unwrap_or(SILENCE_LIMIT).as_ms(),
            retry_after_ms: limits.retry_after.unwrap_or(DEFAULT_RETRY_AFTER).as_ms(),
        }
    }

    /// Returns the limit that is reached, if any.
    pub fn exceeded_limit(&self, used: &AttemptUsage, worked_ms: i64) -> Option<Spent> {
        let turns = self.turns.filter(|max| used.turns >= *max);
        let tokens = self.tokens.filter(|max| used.tokens >= *max);
        let usd = self.usd.filter(|max| used.usd >= *max);
        turns
            .map(|max| Spent::Turns { max })
            .or(tokens.map(|max| Spent::Tokens { max }))
            .or(usd.map(|max| Spent::Usd {
                max: max.to_string(),
            }))
            .or(self.exceeded_working_time(worked_ms))
    }

    /// Returns the limit on working time if it is reached.
    pub fn exceeded_working_time(&self, worked_ms: i64) -> Option<Spent> {
        let max = self.worked_ms.filter(|max| worked_ms >= *max)?;
        let seconds = max / 1_000;
        Some(Spent::Worked { seconds })
    }
}

/// Agent starts of the last hour, including those that earlier runs recorded.
#[derive(Debug)]
pub struct StartWindow {
    max: Option<usize>,
    started_ms: VecDeque<i64>,
}

impl StartWindow {
    /// Creates the window with the starts known from earlier runs.
    pub fn new(max: Option<usize>, mut earlier: Vec<i64>) -> StartWindow {
        earlier.sort_unstable();
        let at = earlier.into();
        StartWindow {
            max,
            started_ms: at,
        }
    }

    /// Counts one more start.
    pub fn record_start(&mut self, now: i64) {
        // They are counted only if they are limited.
        if self.max.is_some() {
            self.started_ms.push_back(now);
        }
    }

    /// Returns when one more start is allowed if none is now; `due` others come before it.
    pub fn full_until(&mut self, now: i64, due: usize) -> Option<i64> {
        self.drop_expired(now);
        let max = self.max.filter(|max| self.started_ms.len() + due >= *max)?;
        // With no start in the window nothing frees a place: the limit is 0, or others come before
        // it.
        let freeing = self.started_ms.len().saturating_sub(max);
        let first = self.started_ms.get(freeing).copied().unwrap_or(now);
        Some(first + HOUR_MS)
    }

    /// Drops starts that are older than an hour.
    pub fn drop_expired(&mut self, now: i64) {
        while self
            .started_ms
            .front()
            .is_some_and(|at| *at + HOUR_MS <= now)
        {
            self.started_ms.pop_front();
        }
    }

    /// Returns when the oldest start leaves the window.
    pub fn next_expiry_ms(&self) -> Option<i64> {
        self.started_ms.front().map(|first| first + HOUR_MS)
    }
}

/// Adds a start to those of one piece of work and drops those older than an hour.
pub fn add_start(starts: &mut Vec<i64>, now: i64) {
    starts.retain(|at| *at + HOUR_MS > now);
    starts.push(now);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_starts_of_an_hour_are_those_of_earlier_runs_too() {
        let mut starts = StartWindow::new(Some(3), vec![2_000, 0]);
        assert_eq!(starts.full_until(10_000, 0), None);
        assert_eq!(starts.full_until(10_000, 1), Some(HOUR_MS));
        starts.record_start(10_000);
        assert_eq!(starts.full_until(10_000, 0), Some(HOUR_MS));
        assert_eq!(starts.full_until(HOUR_MS, 0), None);
        assert_eq!(starts.full_until(HOUR_MS, 1), Some(HOUR_MS + 2_000));
        let mut none = StartWindow::new(None, vec![0; 99]);
        assert_eq!(none.full_until(0, 99), None);
        let mut never = StartWindow::new(Some(0), Vec::new());
        assert_eq!(never.full_until(5, 0), Some(HOUR_MS + 5));
    }
}
