//! Reads the clock; no other module does.

use bowline_machines::Timestamp;
use jiff::Zoned;

/// Variable that fixes the clock for tests, as an RFC 3339 time.
pub const CLOCK_VARIABLE: &str = "BOWLINE_CLOCK";

/// Source of the time.
#[derive(Debug, Clone)]
pub enum Clock {
    System,
    Fixed(jiff::Timestamp),
}

impl Clock {
    /// Returns the machine's clock, or the one fixed by [`CLOCK_VARIABLE`].
    pub fn from_environment() -> Self {
        let fixed = std::env::var(CLOCK_VARIABLE)
            .ok()
            .and_then(|text| text.parse().ok());
        fixed.map_or(Clock::System, Clock::Fixed)
    }

    /// Returns the content of [`CLOCK_VARIABLE`] if it is not a time, so that a person who fixes
    /// the clock learns that it failed.
    pub fn invalid_variable() -> Option<String> {
        let text = std::env::var_os(CLOCK_VARIABLE)?;
        let text = text.to_string_lossy();
        text.parse::<jiff::Timestamp>()
            .is_err()
            .then(|| text.into_owned())
    }

    fn read_time(&self) -> jiff::Timestamp {
        match self {
            #[expect(
                clippy::disallowed_methods,
                reason = "this is the one place that reads the clock"
            )]
            Clock::System => jiff::Timestamp::now(),
            Clock::Fixed(at) => *at,
        }
    }

    /// Returns the present time in whole seconds.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.read_time().as_second())
    }

    /// Returns the present time in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.read_time().as_millisecond()
    }

    /// Returns the local wall-clock time as if it were UTC, for the one file format that stores no
    /// time zone.
    pub fn local_civil(&self) -> Timestamp {
        let zoned: Zoned = self.read_time().to_zoned(jiff::tz::TimeZone::system());
        let as_utc = zoned.datetime().to_zoned(jiff::tz::TimeZone::UTC);
        Timestamp(as_utc.map_or_else(|_| self.now().0, |time| time.timestamp().as_second()))
    }
}
