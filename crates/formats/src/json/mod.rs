//! JSON documents that are edited without touching a byte outside the changed value.
//!
//! A document keeps its text. To change it, build the value it should have and call [`JsonDocument::reconcile`]: whatever
//! is the same stays as it was written (key order, unknown keys, `0.90`, layout, line ends, a byte order mark), and what
//! differs is replaced, inserted in the style of its neighbours, or taken out.

mod reconcile;
mod render;
#[cfg(test)]
mod tests;
mod tree;

use bowline_words::message::Found;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Deeper documents are refused: nobody writes them by hand or by program, but somebody may to crash a reader.
pub const NESTING_MAX: usize = 128;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// One JSON document and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonDocument {
    text: String,
    value: Value,
}

/// Why a text is not a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 text: bad byte at offset {offset}")]
    NotUtf8 {
        /// Where the text stops being text.
        offset: usize,
    },
    /// Nothing is there.
    #[error("the file is empty")]
    Empty,
    /// Values within each other, more than anybody writes.
    #[error("nested more than {NESTING_MAX} levels deep at line {line}, column {column}")]
    TooDeep {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// A number such as `1e400`, which no reader could keep.
    #[error("the number at line {line}, column {column} is too large")]
    NumberTooLarge {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// It is not JSON.
    #[error("not JSON: {message} at line {line}, column {column}")]
    Syntax {
        /// What the parser says.
        message: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
}

impl ParseError {
    /// The same as a finding says it.
    pub fn found(&self) -> Found {
        match self {
            ParseError::NotUtf8 { offset } => Found::NotUtf8 { offset: *offset },
            ParseError::Empty => Found::Empty,
            ParseError::TooDeep { line, column } => Found::TooDeep {
                max: NESTING_MAX,
                line: *line,
                column: *column,
            },
            ParseError::NumberTooLarge { line, column } => Found::NumberTooLarge {
                line: *line,
                column: *column,
            },
            ParseError::Syntax {
                message,
                line,
                column,
            } => Found::NotJson {
                text: message.clone(),
                line: *line,
                column: *column,
            },
        }
    }
}

impl JsonDocument {
    /// Reads a document from the bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let text = std::str::from_utf8(bytes).map_err(|error| ParseError::NotUtf8 {
            offset: error.valid_up_to(),
        })?;
        Self::from_text(text.to_owned())
    }

    /// Reads a document from text.
    pub fn from_text(text: String) -> Result<Self, ParseError> {
        let body = body(&text);
        if body.trim().is_empty() {
            return Err(ParseError::Empty);
        }
        // `serde_json` decides what JSON is: it is strict and bounds the nesting.
        let value = serde_json::from_str(body).map_err(|error| {
            let (message, line, column) = (reason(&error), error.line(), error.column());
            // Both are JSON all the same; the parser has no other word for them.
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

    /// A new document: two-space indent, unescaped UTF-8, final newline.
    pub fn new(value: Value) -> Self {
        let mut text = render::pretty(&value, "", "  ", "\n");
        text.push('\n');
        JsonDocument { text, value }
    }

    /// What the document says.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The document as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text without a byte order mark.
    fn body(&self) -> &str {
        body(&self.text)
    }

    /// This document, changed so that it says `target`. Only what differs is touched.
    #[must_use]
    pub fn reconcile(&self, target: &Value) -> JsonDocument {
        let prefix = self.text.len() - self.body().len();
        let mut text = self.text[..prefix].to_owned();
        text.push_str(&reconcile::reconcile(self.body(), &self.value, target));
        JsonDocument {
            text,
            value: target.clone(),
        }
    }

    /// Line and column, from 1, of the value a JSON pointer leads to; of the nearest parent when it leads nowhere.
    pub fn position(&self, pointer: &str) -> (usize, usize) {
        tree::with(self.body(), |root| {
            let offset = root.map_or(0, |root| tree::locate(root, pointer));
            let before = &self.body()[..offset];
            let line = before.matches('\n').count() + 1;
            let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
            (line, column)
        })
    }

    /// Pointers of keys that stand more than once in their object. The last one counts, as in every common reader.
    pub fn duplicate_keys(&self) -> Vec<String> {
        // Every colon outside a string belongs to a key. As many as there are members: no key stands twice.
        if colons(self.body()) == members(&self.value) {
            return Vec::new();
        }
        tree::with(self.body(), |root| {
            let mut found = Vec::new();
            if let Some(root) = root {
                tree::duplicates(root, String::new(), &mut found);
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

/// Whether two values say the same: numbers by their value (`0.90` is `0.9`), objects whatever the order of their keys.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (Value::Null | Value::Bool(_) | Value::String(_), _) => a == b,
        (Value::Number(_) | Value::Array(_) | Value::Object(_), _) => false,
    }
}

/// A pointer to a member: RFC 6901 escapes.
pub fn child(pointer: &str, key: &str) -> String {
    // Hardly any key needs them, and a document is full of keys.
    if key.contains(['~', '/']) {
        format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
    } else {
        [pointer, "/", key].concat()
    }
}

/// A key as it stands in a pointer, without its escapes.
pub fn unescaped(part: &str) -> Cow<'_, str> {
    if part.contains('~') {
        Cow::Owned(part.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(part)
    }
}

/// The value a pointer leads to: `Value::pointer`, which allocates for every key on the way, without that.
pub fn lookup<'v>(root: &'v Value, pointer: &str) -> Option<&'v Value> {
    if pointer.is_empty() {
        return Some(root);
    }
    let mut parts = pointer.strip_prefix('/')?.split('/');
    parts.try_fold(root, |node, part| match node {
        Value::Object(map) => map.get(unescaped(part).as_ref()),
        Value::Array(items) => items.get(index(part)?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// An index has one spelling.
fn index(part: &str) -> Option<usize> {
    let other = part.starts_with('+') || part.len() > 1 && part.starts_with('0');
    (!other).then(|| part.parse().ok()).flatten()
}

/// Colons outside strings.
fn colons(text: &str) -> usize {
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

/// Members of all objects in a value.
fn members(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(members).sum::<usize>(),
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn body(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// The parser's message without its position, which is told apart.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
