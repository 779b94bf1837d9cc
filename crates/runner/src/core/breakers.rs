//! When no further attempt is made: what the settings allow one piece of work, and all together.

use super::note::Used;
use bowline_formats::settings::{Limits, Seconds};
use bowline_words::message::Spent;
use std::collections::VecDeque;

/// Time without output after which an agent is ended, where nobody says otherwise.
const SILENT: Seconds = Seconds(30 * 60);
/// Wait after a rate limit that does not say how long.
const RETRY_AFTER: Seconds = Seconds(60);
const HOUR_MS: i64 = 60 * 60 * 1_000;

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

    /// What is used up, if a limit is reached.
    pub fn tripped(&self, used: &Used, worked_ms: i64) -> Option<Spent> {
        let turns = self.turns.filter(|max| used.turns >= *max);
        let tokens = self.tokens.filter(|max| used.tokens >= *max);
        let usd = self.usd.filter(|max| used.usd >= *max);
        turns
            .map(|max| Spent::Turns { max })
            .or(tokens.map(|max| Spent::Tokens { max }))
            .or(usd.map(|max| Spent::Usd {
                max: max.to_string(),
            }))
            .or(self.worked_out(worked_ms))
    }

    /// The same of its time alone.
    pub fn worked_out(&self, worked_ms: i64) -> Option<Spent> {
        let max = self.worked_ms.filter(|max| worked_ms >= *max)?;
        let seconds = max / 1_000;
        Some(Spent::Worked { seconds })
    }
}

/// The starts of the last hour: those of earlier runs too, as notes have them.
#[derive(Debug)]
pub struct Starts {
    max: Option<usize>,
    at: VecDeque<i64>,
}

impl Starts {
    /// With those that are known from before.
    pub fn new(max: Option<usize>, mut earlier: Vec<i64>) -> Starts {
        earlier.sort_unstable();
        let at = earlier.into();
        Starts { max, at }
    }

    /// One more.
    pub fn begun(&mut self, now: i64) {
        // They are counted only where they are limited.
        if self.max.is_some() {
            self.at.push_back(now);
        }
    }

    /// When one more may be started, where it may not be now; `due` others come before it.
    pub fn full_until(&mut self, now: i64, due: usize) -> Option<i64> {
        self.forget(now);
        let max = self.max.filter(|max| self.at.len() + due >= *max)?;
        // Without one there is nothing that could pass: the limit is 0, or others come before it.
        let freeing = self.at.len().saturating_sub(max);
        let first = self.at.get(freeing).copied().unwrap_or(now);
        Some(first + HOUR_MS)
    }

    /// Takes away what counts no more.
    pub fn forget(&mut self, now: i64) {
        while self.at.front().is_some_and(|at| *at + HOUR_MS <= now) {
            self.at.pop_front();
        }
    }

    /// When the first of them counts no more.
    pub fn wakes_ms(&self) -> Option<i64> {
        self.at.front().map(|first| first + HOUR_MS)
    }
}

/// The starts of one piece of work within the last hour, with one more.
pub fn one_more(starts: &mut Vec<i64>, now: i64) {
    starts.retain(|at| *at + HOUR_MS > now);
    starts.push(now);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_starts_of_an_hour_are_those_of_earlier_runs_too() {
        let mut starts = Starts::new(Some(3), vec![2_000, 0]);
        assert_eq!(starts.full_until(10_000, 0), None);
        assert_eq!(starts.full_until(10_000, 1), Some(HOUR_MS));
        starts.begun(10_000);
        assert_eq!(starts.full_until(10_000, 0), Some(HOUR_MS));
        assert_eq!(starts.full_until(HOUR_MS, 0), None);
        assert_eq!(starts.full_until(HOUR_MS, 1), Some(HOUR_MS + 2_000));
        let mut none = Starts::new(None, vec![0; 99]);
        assert_eq!(none.full_until(0, 99), None);
        let mut never = Starts::new(Some(0), Vec::new());
        assert_eq!(never.full_until(5, 0), Some(HOUR_MS + 5));
    }
}
