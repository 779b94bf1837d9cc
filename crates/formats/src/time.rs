//! Timestamps in state files: written as UTC in whole seconds with `Z`, parsed tolerantly.

use bowline_machines::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::ops::RangeInclusive;

/// Formats a time as `2026-01-21T09:00:00Z`.
pub fn format_utc(at: Timestamp) -> String {
    format!("{}Z", format_civil(at))
}

/// Formats a time as `2026-01-21T09:00:00`, for the one format without a zone. The caller chooses
/// the time zone of the seconds.
pub fn format_civil(at: Timestamp) -> String {
    match jiff::Timestamp::from_second(at.0) {
        Ok(time) => time
            .to_zoned(TimeZone::UTC)
            .strftime("%Y-%m-%dT%H:%M:%S")
            .to_string(),
        // Out of range: no clock gives this time, but a reader must never panic.
        Err(_) => "1970-01-01T00:00:00".to_owned(),
    }
}

/// Times whose year has four digits and no sign: from 0000 to the last days of 9999, where the
/// calendar ends.
const FOUR_DIGIT_YEARS: RangeInclusive<i64> = -62_167_219_200..=253_402_207_200;

/// Parses a time with or without zone, fraction, `T` or seconds. Without a zone it is UTC.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    let at = parse_spelling(text.trim())?;
    // Other years could not be written back.
    FOUR_DIGIT_YEARS.contains(&at.0).then_some(at)
}

fn parse_spelling(text: &str) -> Option<Timestamp> {
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp(time.as_second()));
    }
    let civil = text.trim_end_matches(['Z', 'z']);
    let time: DateTime = civil.parse().ok()?;
    let zoned = time.to_zoned(TimeZone::UTC).ok()?;
    Some(Timestamp(zoned.timestamp().as_second()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_spelling_and_written_in_one() {
        for text in [
            "2025-10-13T10:50:00Z",
            "2025-10-13T10:50:00.123456Z",
            "2025-10-13T19:50:00+09:00",
            "2025-10-13T10:50:00",
            "2025-10-13 10:50",
            " 2025-10-13T10:50:00z ",
        ] {
            assert_eq!(
                parse_time(text).map(format_utc).as_deref(),
                Some("2025-10-13T10:50:00Z"),
                "{text}"
            );
        }
        for text in [
            "",
            "now",
            "ISO-8601",
            "2025-13-01T00:00:00Z",
            "12345",
            "-005225-10-13T19:50:00Z",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
        for edge in [FOUR_DIGIT_YEARS.start(), FOUR_DIGIT_YEARS.end()] {
            let text = format_utc(Timestamp(*edge));
            assert_eq!(parse_time(&text), Some(Timestamp(*edge)), "{text}");
        }
        assert_eq!(format_utc(Timestamp(i64::MAX)), "1970-01-01T00:00:00Z");
    }
}
