//! Ids that are numbered within a day.

/// Returns the next `KIND-YYYY-MM-DD-NNN` of a day: one more than the highest known number.
pub fn next_id<'a>(kind: &str, day: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let prefix = format!("{kind}-{day}-");
    let numbers = known
        .into_iter()
        .filter_map(|id| id.strip_prefix(&prefix)?.parse::<u32>().ok());
    let next = numbers.max().map_or(1, |highest| highest.saturating_add(1));
    format!("{prefix}{next:03}")
}
