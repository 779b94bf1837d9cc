//! A value as people write it.

use crate::error::Error;
use bowline_formats::json::{JsonDocument, NESTING_MAX, ParseError};
use bowline_formats::memory::path::{VALUE_BYTES_MAX, value_of};
use bowline_words::message::{Advice, PathTrouble, Wrong};
use serde_json::Value;

/// Letters of a number shown in a refusal.
const NUMBER_CHARS_MAX: usize = 40;

/// JSON if it is JSON, else text. A whole number that would be kept as another one is refused.
pub fn exact(text: &str) -> Result<Value, Error> {
    // Both are JSON, and must not become a text because nobody can keep them.
    let wrong = match JsonDocument::from_text(text.to_owned()) {
        Err(ParseError::NumberTooLarge { .. }) => Some(Wrong::TooLargeNumber {
            number: text.chars().take(NUMBER_CHARS_MAX).collect(),
        }),
        Err(ParseError::TooDeep { .. }) => Some(Wrong::ValueTooDeep { max: NESTING_MAX }),
        Ok(_) | Err(_) => None,
    };
    if let Some(message) = wrong {
        let hint = Advice::AsText;
        return Err(Error::BadInput { message, hint });
    }
    let value = value_of(text);
    match numbers(text).find(|number| !fits(number)) {
        Some(number) if !value.is_string() => Err(Error::BadInput {
            message: Wrong::TooLargeNumber {
                number: number.to_string(),
            },
            hint: Advice::AsText,
        }),
        Some(_) | None => Ok(value),
    }
}

/// Refuses a text that belongs into a file of its own.
pub(super) fn small(what: &str, text: &str) -> Result<(), Error> {
    match text.len() {
        bytes if bytes > VALUE_BYTES_MAX => Err(Error::Path(PathTrouble::TooLarge {
            path: what.into(),
            bytes,
            max: VALUE_BYTES_MAX,
        })),
        _ => Ok(()),
    }
}

/// The numbers of a JSON text, as they are written.
fn numbers(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        loop {
            let start = |letter: char| letter == '"' || letter == '-' || letter.is_ascii_digit();
            rest = &rest[rest.find(start)?..];
            let text = rest.starts_with('"');
            let length = match text {
                true => text_length(rest),
                false => {
                    let part = |letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter);
                    rest.find(|letter| !part(letter)).unwrap_or(rest.len())
                }
            };
            let (token, after) = rest.split_at(length);
            rest = after;
            if !text {
                return Some(token);
            }
        }
    })
}

/// The length of the quoted text that a JSON text begins with, quotes included.
fn text_length(json: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in json.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return at + 1,
            letter => escaped = letter == '\\' && !escaped,
        }
    }
    json.len()
}

/// Whether a number is a fraction, or a whole one that an integer can hold.
fn fits(number: &str) -> bool {
    number.contains(['.', 'e', 'E'])
        || number.parse::<i64>().is_ok()
        || number.parse::<u64>().is_ok()
}
