//! Masking of secret values: each byte of them becomes `*` before the agent's output is written to
//! a log.

use memchr::memmem;
use std::collections::BTreeSet;

/// Shorter values would mask half of every line, and are not secrets.
const VALUE_BYTES_MIN: usize = 4;

/// Replaces each byte of a value in the log, so that offsets stay those of the agent's output.
const COVER: u8 = b'*';

/// The values to mask, in the spellings the agent may write.
#[derive(Debug, Default)]
pub(super) struct SecretMask {
    values: Vec<Vec<u8>>,
}

impl SecretMask {
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Masks these values from now on too. True if none of them is new.
    pub(super) fn add_values(&mut self, values: Vec<String>) -> bool {
        let before = self.values.len();
        for value in values {
            // Clients with structured output write a value as a JSON string.
            let quoted = serde_json::to_string(&value).unwrap_or_default();
            let quoted = quoted.get(1..quoted.len().saturating_sub(1));
            let quoted = quoted.unwrap_or_default().to_owned();
            for spelling in [value, quoted] {
                let spelling = spelling.into_bytes();
                if spelling.len() >= VALUE_BYTES_MIN && !self.values.contains(&spelling) {
                    self.values.push(spelling);
                }
            }
        }
        self.values.len() == before
    }

    /// Masks every value in a complete text.
    pub(super) fn mask_text(&self, bytes: &mut [u8]) {
        let found = self.value_ranges(bytes);
        for (from, to) in found {
            bytes[from..to].fill(COVER);
        }
    }

    fn value_ranges(&self, bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for value in &self.values {
            let mut from = 0;
            // One byte on, because a value may overlap with itself.
            while let Some(at) = memmem::find(&bytes[from..], value) {
                found.push((from + at, from + at + value.len()));
                from += at + 1;
            }
        }
        found
    }

    /// Returns the number of bytes at the end that may be the beginning of a value.
    fn partial_match_length(&self, bytes: &[u8]) -> usize {
        let longest = |value: &Vec<u8>| {
            let most = bytes.len().min(value.len() - 1);
            (1..=most)
                .rev()
                .find(|&count| bytes.ends_with(&value[..count]))
        };
        self.values.iter().filter_map(longest).max().unwrap_or(0)
    }
}

/// The end of a stream that may be the beginning of a value: held back until more is known.
#[derive(Debug, Default)]
pub(super) struct PendingTail {
    bytes: Vec<u8>,
    /// Ranges of values in `bytes`, or of the ends of values that began before.
    covered: BTreeSet<(usize, usize)>,
}

impl PendingTail {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Adds the next bytes of the stream and returns the bytes that may go into the log now.
    pub(super) fn release_safe_bytes(&mut self, mask: &SecretMask, bytes: &[u8]) -> Vec<u8> {
        let mut whole = std::mem::take(&mut self.bytes);
        whole.extend_from_slice(bytes);
        let sure = whole.len() - mask.partial_match_length(&whole);
        let mut covered = std::mem::take(&mut self.covered);
        covered.extend(mask.value_ranges(&whole));
        self.bytes = whole.split_off(sure);
        for (from, to) in covered {
            whole[from.min(sure)..to.min(sure)].fill(COVER);
            if to > sure {
                self.covered.insert((from.saturating_sub(sure), to - sure));
            }
        }
        whole
    }

    /// Takes the rest at the end of the stream.
    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        let mut left = std::mem::take(&mut self.bytes);
        for (from, to) in std::mem::take(&mut self.covered) {
            left[from..to].fill(COVER);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn mask(values: &[&str]) -> SecretMask {
        let mut mask = SecretMask::default();
        mask.add_values(values.iter().map(|&value| value.to_owned()).collect());
        mask
    }

    fn in_pieces(mask: &SecretMask, pieces: &[&str]) -> String {
        let mut tail = PendingTail::default();
        let mut all = Vec::new();
        for piece in pieces {
            all.extend(tail.release_safe_bytes(mask, piece.as_bytes()));
        }
        all.extend(tail.take_rest());
        String::from_utf8_lossy(&all).into_owned()
    }

    #[test]
    fn a_value_in_two_halves_is_hidden() {
        let mask = mask(&["sk-secret"]);
        assert_eq!(
            in_pieces(&mask, &["key sk-se", "cret.\n"]),
            "key *********.\n"
        );
        assert_eq!(
            in_pieces(&mask, &["key sk-se", "ction\n"]),
            "key sk-section\n"
        );
        assert_eq!(in_pieces(&mask, &["ends with sk-se"]), "ends with sk-se");
    }

    #[test]
    fn a_line_that_cannot_begin_a_value_is_not_held_back() {
        let mask = mask(&["sk-secret"]);
        let mut tail = PendingTail::default();
        assert_eq!(
            tail.release_safe_bytes(&mask, b"=== PHASE 1 COMPLETE ===\n"),
            b"=== PHASE 1 COMPLETE ===\n"
        );
        assert!(tail.is_empty());
    }

    #[test]
    fn a_value_as_json_writes_it_is_hidden_too() {
        let mask = mask(&["pass\"word\n1"]);
        assert_eq!(
            in_pieces(&mask, &[r#"{"a":"pass\"word\n1"}"#]),
            r#"{"a":"*************"}"#
        );
    }

    #[test]
    fn a_value_inside_the_beginning_of_another_hides_nothing_else() {
        let mask = mask(&["babaaaa", "abaa"]);
        assert_eq!(in_pieces(&mask, &["babaa", ""]), "b****");
    }

    #[test]
    fn short_values_are_not_looked_for() {
        assert!(mask(&["yes", ""]).values.is_empty());
    }

    proptest! {
        /// However the output is cut, it comes out as if it had come at once.
        #[test]
        fn pieces_do_not_matter(
            values in vec("[ab]{4,7}", 1..4),
            pieces in vec("[abc]{0,9}", 0..12),
        ) {
            let names: Vec<&str> = values.iter().map(String::as_str).collect();
            let mask = mask(&names);
            let mut whole = pieces.concat().into_bytes();
            mask.mask_text(&mut whole);
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(in_pieces(&mask, &pieces).into_bytes(), whole);
        }
    }
}
