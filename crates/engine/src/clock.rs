//! The only reader of the clock.

use bowline_machines::Timestamp;
use jiff::Zoned;

/// Fixes the clock, for tests: an RFC 3339 time.
pub const CLOCK_VARIABLE: &str = "BOWLINE_CLOCK";

/// Where the time comes from.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// Always the same moment.
    Fixed(jiff::Timestamp),
}

impl Clock {
    /// The machine's clock, or the one fixed by [`CLOCK_VARIABLE`].
    pub fn from_environment() -> Self {
        let fixed = std::env::var(CLOCK_VARIABLE)
            .ok()
            .and_then(|text| text.parse().ok());
        fixed.map_or(Clock::System, Clock::Fixed)
    }

    /// The content of [`CLOCK_VARIABLE`] when it is no time. Whoever fixes the clock must hear that it did not work.
    pub fn misread() -> Option<String> {
        let text = std::env::var_os(CLOCK_VARIABLE)?;
        let text = text.to_string_lossy();
        text.parse::<jiff::Timestamp>()
            .is_err()
            .then(|| text.into_owned())
    }

    fn read(&self) -> jiff::Timestamp {
        match self {
            #[expect(
                clippy::disallowed_methods,
                reason = "this is the one place that reads the clock"
            )]
            Clock::System => jiff::Timestamp::now(),
            Clock::Fixed(at) => *at,
        }
    }

    /// Now, in whole seconds.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.read().as_second())
    }

    /// Now, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.read().as_millisecond()
    }

    /// Now on the wall clock of this place, as if its hands showed UTC. For the one file that writes no zone.
    pub fn local_civil(&self) -> Timestamp {
        let zoned: Zoned = self.read().to_zoned(jiff::tz::TimeZone::system());
        let as_utc = zoned.datetime().to_zoned(jiff::tz::TimeZone::UTC);
        Timestamp(as_utc.map_or_else(|_| self.now().0, |time| time.timestamp().as_second()))
    }
}
