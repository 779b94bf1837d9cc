//! Retry policy: how much a further attempt is told of earlier failures, and when to give up.

/// Amount of earlier failures that the next prompt repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// Only the error itself.
    Plain,
    /// The same error came twice: the prompt asks for its cause first.
    Analyse,
    /// It came again: the prompt has everything that is known.
    FullContext,
}

/// Decision after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Start another attempt with this much detail.
    Again(Rung),
    /// The attempt with all details met the same error.
    GiveUp,
}

/// Decides on the next attempt from all failures so far, the latest last. Detail grows while the
/// same error repeats and starts over with another error.
pub fn climb<'a>(errors: impl DoubleEndedIterator<Item = &'a str>) -> Verdict {
    let mut errors = errors.rev().map(normalised);
    let Some(latest) = errors.next() else {
        return Verdict::Again(Rung::Plain);
    };
    match errors.take_while(|earlier| *earlier == latest).count() {
        0 => Verdict::Again(Rung::Plain),
        1 => Verdict::Again(Rung::Analyse),
        2 => Verdict::Again(Rung::FullContext),
        _ => Verdict::GiveUp,
    }
}

/// Returns the last line of an error that is not blank, without what differs between runs: numbers
/// and paths.
pub fn normalised(error: &str) -> String {
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
    fn the_same_error_climbs_and_gives_up_on_the_last_rung() {
        let same = "error: 3 tests failed in /tmp/a";
        let again = "warning\nerror: 14 tests failed in /var/b\n";
        let steps = [
            (vec![], Verdict::Again(Rung::Plain)),
            (vec![same], Verdict::Again(Rung::Plain)),
            (vec![same, again], Verdict::Again(Rung::Analyse)),
            (vec![same, again, same], Verdict::Again(Rung::FullContext)),
            (vec![same, again, same, same], Verdict::GiveUp),
            (
                vec![same, same, same, "no compiler"],
                Verdict::Again(Rung::Plain),
            ),
        ];
        for (errors, verdict) in steps {
            assert_eq!(climb(errors.iter().copied()), verdict, "{errors:?}");
        }
    }
}
