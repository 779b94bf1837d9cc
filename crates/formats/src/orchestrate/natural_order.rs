//! Natural order of ids if no task file gives another: `T1.2` before `T1.10`.

use std::cmp::Ordering;

/// Compares two ids, with the numbers in them compared by value.
pub(super) fn compare_natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (text_a, rest_a) = split_while(left, |byte| !byte.is_ascii_digit());
        let (text_b, rest_b) = split_while(right, |byte| !byte.is_ascii_digit());
        let (number_a, rest_a) = split_while(rest_a, |byte| byte.is_ascii_digit());
        let (number_b, rest_b) = split_while(rest_b, |byte| byte.is_ascii_digit());
        let order = text_a
            .cmp(text_b)
            .then_with(|| by_value(number_a, number_b));
        if order != Ordering::Equal {
            return order;
        }
        if rest_a.is_empty() || rest_b.is_empty() {
            // `T01` and `T1` have the same number; the plain text decides, so that no two ids are
            // equal.
            return rest_a.len().cmp(&rest_b.len()).then_with(|| a.cmp(b));
        }
        (left, right) = (rest_a, rest_b);
    }
}

fn split_while(text: &str, inside: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|byte| !inside(byte));
    text.split_at(end.unwrap_or(text.len()))
}

/// Compares numbers of any length.
fn by_value(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_as_people_count() {
        let mut ids = [
            "T1.10", "T1.2", "T0.5.1", "setup", "T01.2", "T1", "T1.2.1", "일", "T10.1",
        ];
        ids.sort_by(|a, b| compare_natural(a, b));
        let wanted = [
            "T0.5.1", "T1", "T01.2", "T1.2", "T1.2.1", "T1.10", "T10.1", "setup", "일",
        ];
        assert_eq!(ids, wanted);
    }
}
