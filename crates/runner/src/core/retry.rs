//! Retry policy: how much a further attempt learns about earlier failures, and when to give up.

/// Amount of earlier failures that the next prompt repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptDetail {
    /// Only the error itself.
    Plain,
    /// The same error came twice: the prompt asks for its cause first.
    Analyse,
    /// It came again: the prompt has everything that is known.
    FullContext,
}

/// Decision after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Start another attempt with this much detail.
    Retry(PromptDetail),
    /// The attempt with all details met the same error.
    GiveUp,
}

/// Decides on the next attempt from all failures so far, the latest last. Detail grows while the
/// same error repeats and starts over with another error.
pub fn next_attempt<'a>(errors: impl DoubleEndedIterator<Item = &'a str>) -> RetryDecision {
    let mut errors = errors.rev().map(normalise_error);
    let Some(latest) = errors.next() else {
        return RetryDecision::Retry(PromptDetail::Plain);
    };
    match errors.take_while(|earlier| *earlier == latest).count() {
        0 => RetryDecision::Retry(PromptDetail::Plain),
        1 => RetryDecision::Retry(PromptDetail::Analyse),
        2 => RetryDecision::Retry(PromptDetail::FullContext),
        _ => RetryDecision::GiveUp,
    }
}

/// Returns the last line of an error that is not blank, without what differs between runs: numbers
/// and paths.
pub fn normalise_error(error: &str) -> String {
    let line = error.lines().rev().find(|line| !line.trim().is_empty());
    let words = line.unwrap_or_default().split_whitespace();
    let words = words.map(|word| {
        if word.contains('/') {
            return "/".to_owned();
        }
        let mut out = String::with_capacity(word.len());
        for letter in word.chars() {
            match letter.is_ascii_digit() {
                true if out.ends_with('#') => {}
                true => out.push('#'),
                false => out.extend(letter.to_lowercase()),
            }
        }
        out
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_error_escalates_and_gives_up_on_the_last_step() {
        let same = "error: 3 tests failed in /tmp/a";
        let again = "warning\nerror: 14 tests failed in /var/b\n";
        let steps = [
            (vec![], RetryDecision::Retry(PromptDetail::Plain)),
            (vec![same], RetryDecision::Retry(PromptDetail::Plain)),
            (
                vec![same, again],
                RetryDecision::Retry(PromptDetail::Analyse),
            ),
            (
                vec![same, again, same],
                RetryDecision::Retry(PromptDetail::FullContext),
            ),
            (vec![same, again, same, same], RetryDecision::GiveUp),
            (
                vec![same, same, same, "no compiler"],
                RetryDecision::Retry(PromptDetail::Plain),
            ),
        ];
        for (errors, verdict) in steps {
            assert_eq!(next_attempt(errors.iter().copied()), verdict, "{errors:?}");
        }
    }
}
