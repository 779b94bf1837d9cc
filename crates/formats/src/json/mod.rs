//! JSON documents that can be edited without touching a byte outside the changed values.
//!
//! A document keeps its text. To change it, build the target value and call
//! [`JsonDocument::reconcile`]. Equal parts keep their spelling (key order, unknown keys, `0.90`,
//! layout, line ends, a byte order mark); different parts are replaced, inserted in the style of
//! their neighbours, or removed.

mod reconcile;
mod render;
#[cfg(test)]
mod tests;
mod tree;

use bowline_words::message::FileFinding;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Limit on nesting. Deeper documents are refused: they only occur in attempts to crash a reader.
pub const NESTING_MAX: usize = 128;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A JSON document: its text and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonDocument {
    text: String,
    value: Value,
}

/// Reasons why a text is not a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 text: bad byte at offset {offset}")]
    NotUtf8 {
        /// Offset of the first bad byte.
        offset: usize,
    },
    /// The text is empty or blank.
    #[error("the file is empty")]
    Empty,
    /// The nesting exceeds [`NESTING_MAX`].
    #[error("nested more than {NESTING_MAX} levels deep at line {line}, column {column}")]
    TooDeep {
        /// Line number, counted from 1.
        line: usize,
        /// Column number, counted from 1.
        column: usize,
    },
    /// A number such as `1e400` is out of range.
    #[error("the number at line {line}, column {column} is too large")]
    NumberTooLarge {
        /// Line number, counted from 1.
        line: usize,
        /// Column number, counted from 1.
        column: usize,
    },
    /// The text violates the JSON syntax.
    #[error("not JSON: {message} at line {line}, column {column}")]
    Syntax {
        /// Message of the JSON parser.
        message: String,
        /// Line number, counted from 1.
        line: usize,
        /// Column number, counted from 1.
        column: usize,
    },
}

impl ParseError {
    /// Converts the error to the message of a finding.
    pub fn to_message(&self) -> FileFinding {
        match self {
            ParseError::NotUtf8 { offset } => FileFinding::NotUtf8 { offset: *offset },
            ParseError::Empty => FileFinding::Empty,
            ParseError::TooDeep { line, column } => FileFinding::TooDeep {
                max: NESTING_MAX,
                line: *line,
                column: *column,
            },
            ParseError::NumberTooLarge { line, column } => FileFinding::NumberTooLarge {
                line: *line,
                column: *column,
            },
            ParseError::Syntax {
                message,
                line,
                column,
            } => FileFinding::NotJson {
                text: message.clone(),
                line: *line,
                column: *column,
            },
        }
    }
}

impl JsonDocument {
    /// Parses the bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let text = std::str::from_utf8(bytes).map_err(|error| ParseError::NotUtf8 {
            offset: error.valid_up_to(),
        })?;
        Self::from_text(text.to_owned())
    }

    /// Parses a text, which may begin with a byte order mark.
    pub fn from_text(text: String) -> Result<Self, ParseError> {
        let body = without_byte_order_mark(&text);
        if body.trim().is_empty() {
            return Err(ParseError::Empty);
        }
        // `serde_json` decides what is JSON: it is strict and limits the nesting.
        let value = serde_json::from_str(body).map_err(|error| {
            let (message, line, column) = (error_reason(&error), error.line(), error.column());
            // Both are valid JSON; the parser only reports them by message.
            match message.as_str() {
                "recursion limit exceeded" => ParseError::TooDeep { line, column },
                "number out of range" => ParseError::NumberTooLarge { line, column },
                _ => ParseError::Syntax {
                    message,
                    line,
                    column,
                },
            }
        })?;
        Ok(JsonDocument { text, value })
    }

    /// Creates a document: two-space indent, unescaped UTF-8, final newline.
    pub fn new(value: Value) -> Self {
        let mut text = render::render_lines(&value, "", "  ", "\n");
        text.push('\n');
        JsonDocument { text, value }
    }

    /// Returns the value of the document.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the exact text of the document.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text without a byte order mark.
    fn body_text(&self) -> &str {
        without_byte_order_mark(&self.text)
    }

    /// Returns this document edited so that its value is `target`. Only differences are touched.
    #[must_use]
    pub fn reconcile(&self, target: &Value) -> JsonDocument {
        let prefix = self.text.len() - self.body_text().len();
        let mut text = self.text[..prefix].to_owned();
        text.push_str(&reconcile::reconcile_text(
            self.body_text(),
            &self.value,
            target,
        ));
        JsonDocument {
            text,
            value: target.clone(),
        }
    }

    /// Returns line and column, from 1, of the value at a JSON pointer, or of its nearest existing
    /// parent.
    pub fn line_and_column(&self, pointer: &str) -> (usize, usize) {
        tree::with_root(self.body_text(), |root| {
            let offset = root.map_or(0, |root| tree::value_offset(root, pointer));
            let before = &self.body_text()[..offset];
            let line = before.matches('\n').count() + 1;
            let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
            (line, column)
        })
    }

    /// Returns pointers to keys that occur more than once in their object. The last one counts, as
    /// in every common reader.
    pub fn duplicate_keys(&self) -> Vec<String> {
        // Every colon outside a string belongs to a key. If there are as many as members, no key
        // occurs twice.
        if count_colons(self.body_text()) == count_members(&self.value) {
            return Vec::new();
        }
        tree::with_root(self.body_text(), |root| {
            let mut found = Vec::new();
            if let Some(root) = root {
                tree::collect_duplicates(root, String::new(), &mut found);
            }
            found
        })
    }
}

impl fmt::Display for JsonDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// True if two values are equal: numbers by value (`0.90` is `0.9`), objects in any order of keys.
pub fn values_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| values_equal(a, b)))
        }
        (Value::Null | Value::Bool(_) | Value::String(_), _) => a == b,
        (Value::Number(_) | Value::Array(_) | Value::Object(_), _) => false,
    }
}

/// Returns the pointer to a member, with RFC 6901 escapes.
pub fn child_pointer(pointer: &str, key: &str) -> String {
    // Hardly any key needs escapes, and a document has many keys.
    if key.contains(['~', '/']) {
        format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
    } else {
        [pointer, "/", key].concat()
    }
}

/// Removes the escapes from a key of a pointer.
pub fn unescape_key(part: &str) -> Cow<'_, str> {
    if part.contains('~') {
        Cow::Owned(part.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(part)
    }
}

/// Returns the value at a pointer. Unlike `Value::pointer`, it does not allocate for every key.
pub fn value_at<'v>(root: &'v Value, pointer: &str) -> Option<&'v Value> {
    if pointer.is_empty() {
        return Some(root);
    }
    let mut parts = pointer.strip_prefix('/')?.split('/');
    parts.try_fold(root, |node, part| match node {
        Value::Object(map) => map.get(unescape_key(part).as_ref()),
        Value::Array(items) => items.get(parse_index(part)?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// Parses an array index; other spellings of the same number are rejected.
fn parse_index(part: &str) -> Option<usize> {
    let other = part.starts_with('+') || part.len() > 1 && part.starts_with('0');
    (!other).then(|| part.parse().ok()).flatten()
}

/// Counts the colons outside strings.
fn count_colons(text: &str) -> usize {
    let (mut count, mut inside, mut escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = inside,
            b'"' => inside = !inside,
            b':' if !inside => count += 1,
            _ => {}
        }
    }
    count
}

/// Counts the members of all objects in a value.
fn count_members(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(count_members).sum::<usize>(),
        Value::Array(items) => items.iter().map(count_members).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Returns the parser's message without the position, which is reported separately.
fn error_reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
