//! Parses a value as people write it.

use crate::error::Error;
use bowline_formats::json::{JsonDocument, NESTING_MAX, ParseError};
use bowline_formats::memory::path::{VALUE_BYTES_MAX, value_of};
use bowline_words::message::{Advice, PathTrouble, Wrong};
use serde_json::Value;

/// Most characters of a number shown in a refusal.
const NUMBER_CHARS_MAX: usize = 40;

/// Parses JSON, or takes the text as a string. Refuses an integer that would be stored as another
/// number.
pub fn parse_value(text: &str) -> Result<Value, Error> {
    // Both are JSON and must not become strings because they cannot be stored.
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
    match json_numbers(text).find(|number| !fits_integer(number)) {
        Some(number) if !value.is_string() => Err(Error::BadInput {
            message: Wrong::TooLargeNumber {
                number: number.to_string(),
            },
            hint: Advice::AsText,
        }),
        Some(_) | None => Ok(value),
    }
}

/// Refuses a text that is too long for a value and belongs into a file.
pub(super) fn check_size(what: &str, text: &str) -> Result<(), Error> {
    match text.len() {
        bytes if bytes > VALUE_BYTES_MAX => Err(Error::Path(PathTrouble::TooLarge {
            path: what.into(),
            bytes,
            max: VALUE_BYTES_MAX,
        })),
        _ => Ok(()),
    }
}

/// Returns the numbers of a JSON text as they are written.
fn json_numbers(json: &str) -> impl Iterator<Item = &str> {
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

/// Returns the length of the quoted string at the beginning of a JSON text, quotes included.
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

/// True if a number is a fraction or fits into a 64-bit integer.
fn fits_integer(number: &str) -> bool {
    number.contains(['.', 'e', 'E'])
        || number.parse::<i64>().is_ok()
        || number.parse::<u64>().is_ok()
}
