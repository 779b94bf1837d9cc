//! The UTC time stamp in the names of set-aside files and backups.

const SECONDS_PER_DAY: i64 = 86_400;

/// `YYYYMMDDTHHMMSSZ` of a Unix time in milliseconds.
pub(crate) fn utc_stamp(unix_ms: i64) -> String {
    let seconds = unix_ms.div_euclid(1000);
    let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
    let rest = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// The proleptic Gregorian date of a day number counted from 1970-01-01.
///
/// Counts in 400-year cycles of years that begin in March, so that the leap day is the last day of its year.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    const DAYS_PER_CYCLE: i64 = 146_097;
    const DAYS_TO_MARCH_OF_YEAR_0: i64 = 719_468;
    let shifted = days + DAYS_TO_MARCH_OF_YEAR_0;
    let cycle = shifted.div_euclid(DAYS_PER_CYCLE);
    let day_of_cycle = shifted.rem_euclid(DAYS_PER_CYCLE);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year =
        day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_cycle + cycle * 400 + i64::from(month <= 2);
    (year, month, day)
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
