//! Waiting for a condition, with a bound.

use std::time::{Duration, Instant};

const POLL_MS: u64 = 2;

/// Waits until `condition` holds. Says `false` when it does not within `bound`.
#[must_use]
pub fn wait_until(bound: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + bound;
    while !condition() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(POLL_MS));
    }
    true
}
