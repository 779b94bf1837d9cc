//! The retry ladder: what a further attempt is told, and when there is no point in one.

/// How much a further attempt is told of the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// Nothing but the error.
    Plain,
    /// The error came twice: look for its cause first.
    Analyse,
    /// It came again: everything that is known.
    FullContext,
}

/// What follows a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Try again.
    Again(Rung),
    /// The last rung met the same error.
    GiveUp,
}

/// What follows the failures so far, the latest last. It climbs when the same error repeats; another error begins anew.
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

/// The last line of an error that says something, without what differs from one time to the next: numbers and paths.
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
