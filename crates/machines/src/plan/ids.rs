//! Ids that count within a day.

/// The next `KIND-YYYY-MM-DD-NNN` of a day that none of the known ids has: one more than the highest.
pub fn next_id<'a>(kind: &str, day: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let prefix = format!("{kind}-{day}-");
    let numbers = known
        .into_iter()
        .filter_map(|id| id.strip_prefix(&prefix)?.parse::<u32>().ok());
    let next = numbers.max().map_or(1, |highest| highest.saturating_add(1));
    format!("{prefix}{next:03}")
}
