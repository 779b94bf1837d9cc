//! Makes agents' text safe to show to people: every character that is invisible or reorders its
//! surroundings is replaced by its number, so that the reader sees what is there. The page has the
//! same functions in `web/src/lib/text.ts`; both are held to `tests/visible.json`.

use std::fmt::Write as _;

/// Format characters, those that Unicode calls ignorable (fillers, variation selectors, tags), line
/// and paragraph separators, and the empty Braille pattern. Control characters are added in code.
const INVISIBLE: &[(u32, u32)] = &[
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x0600, 0x0605),
    (0x061C, 0x061C),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
];

/// Escapes text of several lines such as code. Line ends and tabs stay.
pub fn escape_code(text: &str) -> String {
    escape_invisible(text, &['\n', '\t'], false)
}

/// Escapes a name, a path or other text on one line.
pub fn escape_name(text: &str) -> String {
    escape_invisible(text, &[], false)
}

/// Escapes text for people. Line ends (also of Windows), tabs and emoji stay.
pub fn escape_prose(text: &str) -> String {
    escape_invisible(&text.replace("\r\n", "\n"), &['\n', '\t'], true)
}

/// Escapes text for people on one line. Emoji stay.
pub fn escape_title(text: &str) -> String {
    escape_invisible(text, &[], true)
}

fn escape_invisible(text: &str, kept: &[char], emoji: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        if !is_invisible(letter) || kept.contains(&letter) || (emoji && joins_emoji(text, at)) {
            shown.push(letter);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(letter));
        }
    }
    shown
}

fn is_invisible(letter: char) -> bool {
    let number = u32::from(letter);
    let within = |(first, last): &(u32, u32)| (*first..=*last).contains(&number);
    letter.is_control() || INVISIBLE.iter().any(within)
}

fn is_emoji(letter: char) -> bool {
    matches!(letter, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2100}'..='\u{27bf}' | '\u{2900}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// True for the invisible part of an emoji: it selects the colours or joins the next one.
fn joins_emoji(text: &str, at: usize) -> bool {
    let mut before = text[..at].chars().rev();
    let mut after = text[at..].chars();
    let (letter, last, next) = (after.next(), before.next(), after.next());
    match letter {
        Some('\u{fe0e}' | '\u{fe0f}') if last.is_some_and(is_emoji) => true,
        Some('\u{fe0f}') => matches!(last, Some('0'..='9' | '#' | '*')) && next == Some('\u{20e3}'),
        Some('\u{200d}') => {
            let joined = match last {
                Some('\u{fe0f}') => before.next(),
                other => other,
            };
            joined.is_some_and(is_emoji) && next.is_some_and(is_emoji)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::*;
    use serde_json::Value;

    #[test]
    fn every_language_shows_the_same() {
        let table: Value = serde_json::from_str(include_str!("../tests/visible.json")).unwrap();
        for case in table["cases"].as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            for (kind, shown) in [
                ("code", escape_code(text)),
                ("name", escape_name(text)),
                ("prose", escape_prose(text)),
                ("title", escape_title(text)),
            ] {
                assert_eq!(case[kind], shown, "{kind} of {text:?}");
            }
        }
        let number = |value: &Value| u32::from_str_radix(value.as_str().unwrap(), 16).unwrap();
        for range in table["invisible"].as_array().unwrap() {
            for letter in (number(&range[0])..=number(&range[1])).filter_map(char::from_u32) {
                let named = format!("⟨U+{:04X}⟩", u32::from(letter));
                let texts = [escape_name, escape_title].map(|shown| shown(&letter.to_string()));
                assert_eq!(texts, [named.clone(), named]);
            }
        }
        for range in table["visible"].as_array().unwrap() {
            for letter in (number(&range[0])..=number(&range[1])).filter_map(char::from_u32) {
                assert_eq!(escape_name(&letter.to_string()), letter.to_string());
            }
        }
    }
}
