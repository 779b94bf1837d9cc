//! Random changes of seeds, the same in every run.

/// Pieces that mean something to one parser or another.
const WORDS: [&str; 30] = [
    "null",
    "true",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\"\"",
    "-1",
    "1e999",
    "0.90",
    "18446744073709551616",
    "\\u0000",
    "\\n",
    "\n",
    "\r\n",
    "\u{feff}",
    "\0",
    "가",
    "[ERROR]",
    "[/ERROR]",
    "=== ",
    "```",
    "- [ ] ",
    "T1.1",
    "%0",
    "%1",
    "2026-01-01T00:00:00Z",
];
/// Changes made to one seed.
const CHANGES_MAX: u64 = 6;

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 when that is 0.
    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or(0)
    }
}

/// The mutation of that number.
pub(crate) fn mutation(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut random = Random(number);
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.next() % CHANGES_MAX {
        let from = random.below(bytes.len() + 1);
        let to = from + random.below((bytes.len() - from).min(64) + 1);
        match random.next() % 7 {
            0 if from < bytes.len() => bytes[from] ^= 1 << random.below(8),
            1 => bytes.truncate(from),
            2 => drop(bytes.drain(from..to)),
            3 => {
                let piece = bytes[from..to].to_vec();
                let place = random.below(bytes.len() + 1);
                drop(bytes.splice(place..place, piece));
            }
            4 => {
                let other = &seeds[random.below(seeds.len())];
                let start = random.below(other.len() + 1);
                drop(bytes.splice(from..to, other[start..].iter().copied().take(128)));
            }
            _ => {
                let word = WORDS[random.below(WORDS.len())].bytes();
                drop(bytes.splice(from..to, word));
            }
        }
    }
    bytes
}
