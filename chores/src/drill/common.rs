//! Parts that drills share: commands of a person, pauses, and random numbers that repeat.

use bowline_engine::actor::AGENT_VARIABLES;
use std::process::Command;
use std::time::Duration;

/// Lets a process act as a person, as far as variables go: an ancestor may still be an agent.
pub(crate) fn as_person(command: &mut Command) -> &mut Command {
    for name in AGENT_VARIABLES {
        command.env_remove(name);
    }
    command.env("BOWLINE_ACTOR", "person")
}

/// Waits; a drill is about time.
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// A small generator of numbers: the same drill kills at the same moments.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    pub(crate) fn choose<'t, T>(&mut self, items: &'t [T]) -> Option<&'t T> {
        let limit = u64::try_from(items.len()).unwrap_or(u64::MAX).max(1);
        items.get(usize::try_from(self.below(limit)).unwrap_or(0))
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1);
            items.swap(last, usize::try_from(other).unwrap_or(last));
        }
    }
}
