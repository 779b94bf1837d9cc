//! From the text of a message to its named values, in each of the three ways to write one.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::FIELD_CHARS_MAX;
use super::event::{Malformed, Marker};
use super::syntax::{Block, known_key};

/// Characters of an offending value that are repeated in a report about it.
const FOUND_CHARS_MAX: usize = 60;

/// The values of one message by field name. Of a field given twice the first counts.
pub(super) struct Fields<'t> {
    marker: Marker,
    values: Vec<(&'static str, Value<'t>)>,
}

enum Value<'t> {
    /// As written in a block or on one line: `\n` still stands for a line end.
    Written(Cow<'t, str>),
    /// Already decoded.
    Plain(String),
    List(Vec<String>),
}

/// A field being read: its value so far and the indentation of its first further line.
type Written<'t> = (&'static str, Cow<'t, str>, Option<usize>);

impl<'t> Fields<'t> {
    /// Reads the lines between the tags.
    pub(super) fn from_block(block: Block, body: &'t str) -> Self {
        let mut fields = Self::empty(block);
        let mut current: Option<Written<'t>> = None;
        for line in body.split('\n') {
            if let Some((key, value)) = known_key(line.as_bytes(), block.keys()) {
                fields.keep(current.take());
                let value = line[line.len() - value.len()..].trim_start();
                current = Some((key, value.into(), None));
            } else if is_unknown_field(line) {
                fields.keep(current.take());
            } else if let Some((_, value, indent)) = &mut current {
                let text = line.trim_start_matches([' ', '\t']);
                let own = line.len() - text.len();
                let cut = if text.is_empty() {
                    own
                } else {
                    own.min(*indent.get_or_insert(own))
                };
                let value = value.to_mut();
                value.push('\n');
                value.push_str(&line[cut..]);
            }
        }
        fields.keep(current);
        fields
    }

    fn keep(&mut self, field: Option<Written<'t>>) {
        if let Some((key, value, _)) = field {
            self.insert(key, Value::Written(value));
        }
    }

    /// Reads `field: value, field: value`. A comma separates only before the name of a field, so values may hold commas.
    pub(super) fn from_line(block: Block, text: &'t str) -> Self {
        let mut fields = Self::empty(block);
        let mut current: Option<(&'static str, Cow<'t, str>)> = None;
        for piece in text.split(',') {
            let trimmed = piece.trim_start();
            if let Some((key, value)) = known_key(trimmed.as_bytes(), block.keys()) {
                if let Some((key, value)) = current.take() {
                    fields.insert(key, Value::Written(value));
                }
                current = Some((key, trimmed[trimmed.len() - value.len()..].into()));
            } else if let Some((_, value)) = &mut current {
                let value = value.to_mut();
                value.push(',');
                value.push_str(piece);
            }
        }
        if let Some((key, value)) = current {
            fields.insert(key, Value::Written(value));
        }
        fields
    }

    /// Reads a JSON object. Numbers, truth values and nested values stand for their own text.
    pub(super) fn from_json(block: Block, text: &str) -> Result<Self, Malformed> {
        let mut fields = Self::empty(block);
        let object: Map<String, Json> =
            serde_json::from_str(text).map_err(|error| Malformed::BadJson {
                marker: block.marker(),
                problem: error.to_string(),
            })?;
        for (name, value) in object {
            let Some(key) = block
                .keys()
                .iter()
                .find(|key| key.eq_ignore_ascii_case(&name))
            else {
                continue;
            };
            match value {
                Json::Null => {}
                Json::Array(items) if *key == "options" => {
                    fields.insert(key, Value::List(items.into_iter().map(json_text).collect()));
                }
                other => fields.insert(key, Value::Plain(json_text(other))),
            }
        }
        Ok(fields)
    }

    fn empty(block: Block) -> Self {
        Self {
            marker: block.marker(),
            values: Vec::with_capacity(block.keys().len()),
        }
    }

    fn insert(&mut self, key: &'static str, value: Value<'t>) {
        if self.values.iter().all(|(seen, _)| *seen != key) {
            self.values.push((key, value));
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Value<'t>> {
        let at = self.values.iter().position(|(seen, _)| *seen == key)?;
        Some(self.values.swap_remove(at).1)
    }

    /// The text of `key`; an empty value is no value.
    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<String>, Malformed> {
        let text = match self.take(key) {
            None => return Ok(None),
            Some(Value::Written(text)) => normalise(&unescape(&text)),
            Some(Value::Plain(text)) => normalise(&text),
            Some(Value::List(items)) => normalise(&items.join("\n")),
        };
        self.bounded(key, text)
    }

    /// The text of `key`, which must be there.
    pub(super) fn required(&mut self, key: &'static str) -> Result<String, Malformed> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    /// A report that `key` is missing.
    pub(super) fn missing(&self, key: &'static str) -> Malformed {
        Malformed::MissingField {
            marker: self.marker,
            field: key,
        }
    }

    /// The items of `key`: `- item` lines, `[a, b, c]`, or a JSON array.
    pub(super) fn list(&mut self, key: &'static str) -> Result<Vec<String>, Malformed> {
        let items = match self.take(key) {
            None => return Ok(Vec::new()),
            Some(Value::List(items)) => items,
            Some(Value::Written(text)) => self.split(key, &text)?,
            Some(Value::Plain(text)) => self.split(key, &text)?,
        };
        items
            .into_iter()
            .filter_map(|item| self.bounded(key, normalise(&item)).transpose())
            .collect()
    }

    fn split(&self, key: &'static str, text: &str) -> Result<Vec<String>, Malformed> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        split_list(text).ok_or_else(|| {
            self.bad_value(
                key,
                "a list of '- item' lines or [a, b, c]".to_owned(),
                text,
            )
        })
    }

    /// The word of `key` as one of `all`.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        all: &[T],
        as_str: fn(T) -> &'static str,
    ) -> Result<Option<T>, Malformed> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        let found = all
            .iter()
            .copied()
            .find(|value| as_str(*value).eq_ignore_ascii_case(&text));
        found.map(Some).ok_or_else(|| {
            let words: Vec<_> = all.iter().copied().map(as_str).collect();
            self.bad_value(key, format!("one of {}", words.join(", ")), &text)
        })
    }

    /// A report that `key` holds `found` where `expected` was wanted.
    pub(super) fn bad_value(&self, key: &'static str, expected: String, found: &str) -> Malformed {
        let mut cut: String = found.chars().take(FOUND_CHARS_MAX).collect();
        if cut.len() < found.len() {
            cut.push('…');
        }
        Malformed::BadValue {
            marker: self.marker,
            field: key,
            expected,
            found: cut,
        }
    }

    fn bounded(&self, key: &'static str, text: String) -> Result<Option<String>, Malformed> {
        if longer_than_field(&text) {
            return Err(Malformed::FieldTooLong {
                marker: self.marker,
                field: key,
            });
        }
        Ok((!text.is_empty()).then_some(text))
    }
}

/// Whether `text` is more than one field may hold.
pub(super) fn longer_than_field(text: &str) -> bool {
    text.len() > FIELD_CHARS_MAX && text.chars().count() > FIELD_CHARS_MAX
}

/// The text of some bytes; what is not UTF-8 is replaced.
pub(super) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly always it is UTF-8, and the check alone is much faster than the search for pieces that are not.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Text in the one form in which it is compared and stored: NFC, LF, no space around it.
pub(super) fn normalise(text: &str) -> String {
    let text: Cow<'_, str> = if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    };
    let text = text.trim();
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text.to_owned()
    } else {
        text.nfc().collect()
    }
}

/// `\n` becomes a line end; `\\n` stands for the two characters `\n`. Any other backslash is itself.
fn unescape(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', text.as_bytes()).is_none() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (taken, put) = if rest.starts_with("\\\\n") {
            (3, "\\n")
        } else if rest.starts_with("\\n") {
            (2, "\n")
        } else {
            (1, "\\")
        };
        out.push_str(put);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out.into()
}

/// `name: …` with a name nobody knows. The space after the colon is required here, so that a value wrapped in front of
/// `https://…` stays whole.
fn is_unknown_field(line: &str) -> bool {
    let Some((name, rest)) = line.split_once(':') else {
        return false;
    };
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn split_list(text: &str) -> Option<Vec<String>> {
    if let Some(inner) = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
    {
        if let Ok(items) = serde_json::from_str::<Vec<String>>(text) {
            return Some(items);
        }
        return Some(
            inner
                .split(',')
                .map(|item| unescape(unquote(item.trim())).into_owned())
                .collect(),
        );
    }
    let mut items: Vec<String> = Vec::new();
    for line in text.split('\n').map(str::trim) {
        if let Some(item) = line.strip_prefix(['-', '*']) {
            items.push(unescape(unquote(item.trim())).into_owned());
        } else if !line.is_empty() {
            // A wrapped item; before the first item there is nothing it could belong to.
            let last = items.last_mut()?;
            last.push(' ');
            last.push_str(&unescape(line));
        }
    }
    Some(items)
}

fn unquote(item: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| item.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(item)
}

fn json_text(value: Json) -> String {
    match value {
        Json::String(text) => text,
        other => other.to_string(),
    }
}
