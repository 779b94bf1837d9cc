//! Taking times: floor and candidate in turns, and the median of many rounds.

use crate::Outcome;
use std::time::{Duration, Instant};

/// The times of one thing, one per round.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Those of the first rounds alone.
    pub(crate) fn first(&self, rounds: usize) -> Samples {
        Samples(self.0.iter().copied().take(rounds).collect())
    }

    /// The middle one; half of the rounds were faster.
    pub(crate) fn median(&self) -> Duration {
        self.quantile(50)
    }

    /// The time that `percent` of the rounds stayed within.
    pub(crate) fn quantile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        sorted
            .get(last * percent / 100)
            .copied()
            .unwrap_or_default()
    }

    /// The median in nanoseconds, shared among `parts`.
    pub(crate) fn median_ns_per(&self, parts: usize) -> f64 {
        self.median().as_secs_f64() * 1e9 / parts as f64
    }

    pub(crate) fn median_ms(&self) -> f64 {
        self.median().as_secs_f64() * 1e3
    }
}

/// Times one call by the clock on the wall.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let result = work();
    (begun.elapsed(), result)
}

/// Times one call that never waits, by the processor time of this thread: neighbours on the machine do not count.
pub(crate) fn cpu_time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = thread_time();
    let result = work();
    (thread_time().saturating_sub(begun), result)
}

fn thread_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    // A clock that starts at zero with the thread.
    let seconds = u64::try_from(spent.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(spent.tv_nsec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
}

/// One thing to be measured: does one round of its work and says how long the part that counts took.
pub(crate) type Contender<'a> = Box<dyn FnMut(usize) -> Outcome<Duration> + 'a>;

/// Runs all contenders in turns, every second round backwards, after a round that does not count.
///
/// A disk or processor that gets slower for a while slows all of them, so their ratios stay.
pub(crate) fn in_turns(rounds: usize, contenders: &mut [Contender<'_>]) -> Outcome<Vec<Samples>> {
    let mut samples: Vec<Samples> = contenders.iter().map(|_| Samples::default()).collect();
    for round in 0..=rounds {
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for which in order {
            let time = contenders[which](round)?;
            if round > 0 {
                samples[which].push(time);
            }
        }
    }
    Ok(samples)
}
