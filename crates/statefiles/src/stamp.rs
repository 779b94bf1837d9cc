//! The UTC time stamp in the names of set-aside files and backups.

/// Formats a Unix time in milliseconds as `YYYYMMDDTHHMMSSZ`.
pub(crate) fn utc_stamp(unix_ms: i64) -> String {
    // No clock shows a time beyond the calendar, but a name is needed all the same.
    let at = jiff::Timestamp::from_millisecond(unix_ms).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::utc_stamp;

    #[test]
    fn known_moments() {
        for (unix_ms, expected) in [
            (0, "19700101T000000Z"),
            (-1, "19691231T235959Z"),
            (951_782_400_000, "20000229T000000Z"),
            (1_709_251_199_999, "20240229T235959Z"),
            (1_767_225_600_000, "20260101T000000Z"),
            (4_107_542_400_000, "21000301T000000Z"),
        ] {
            assert_eq!(utc_stamp(unix_ms), expected, "{unix_ms}");
        }
    }
}
