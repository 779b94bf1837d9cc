//! Parses the text of a message into named values, in each of its three notations.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::event::MalformedMarker;
use super::members::{MemberValue, known_members};
use super::syntax::{BracketMessage, FieldKey, KEYS_MAX, known_key};
use super::text::{
    longer_than_field, normalise_cow, split_at_byte, split_lines, trim, trim_start,
    unescape_line_ends, unescaped_normal,
};

/// Characters of an invalid value that are repeated in an error.
const FOUND_CHARS_MAX: usize = 60;

/// Bytes reserved for a value when its second line arrives; most values are complete by then.
const FURTHER_LINES_BYTES: usize = 96;

/// The values of one message by field name. If a field is given twice, the first value counts.
pub(super) struct MessageFields<'t> {
    block: BracketMessage,
    /// Values in the order of the message's keys.
    values: [FieldValue<'t>; KEYS_MAX],
}

enum FieldValue<'t> {
    Absent,
    /// Text as written in a block or on one line: `\n` still stands for a line end.
    Written(Cow<'t, str>),
    /// Text that is already decoded.
    Plain(Cow<'t, str>),
    List(Vec<String>),
}

impl<'t> MessageFields<'t> {
    /// Creates an empty set of fields for a message of this kind.
    pub(super) fn new(block: BracketMessage) -> Self {
        Self {
            block,
            values: [const { FieldValue::Absent }; KEYS_MAX],
        }
    }

    /// Reads the lines between the tags.
    pub(super) fn read_block(&mut self, body: &'t str) {
        let keys = self.block.field_keys();
        // The field being read, and the indentation of its first continuation line.
        let mut current: Option<usize> = None;
        let mut indent = None;
        for line in split_lines(body) {
            if let Some((at, value)) = known_key(line.as_bytes(), keys) {
                let value = &line[line.len() - value.len()..];
                current = self.start_value(at, value);
                indent = None;
            } else if is_unknown_field(line.as_bytes()) {
                current = None;
            } else if current.is_some() {
                let blank = |b: &u8| matches!(b, b' ' | b'\t');
                let own = line.bytes().take_while(blank).count();
                let cut = if own == line.len() {
                    own
                } else {
                    own.min(*indent.get_or_insert(own))
                };
                self.append_line(current, '\n', &line[cut..]);
            }
        }
    }

    /// Reads `field: value, field: value`. A comma separates only before the name of a field, so
    /// values may contain commas.
    pub(super) fn read_line(&mut self, text: &'t str) {
        let keys = self.block.field_keys();
        let mut current: Option<usize> = None;
        for piece in split_at_byte(text, b',') {
            let trimmed = trim_start(piece);
            if let Some((at, value)) = known_key(trimmed.as_bytes(), keys) {
                let value = &trimmed[trimmed.len() - value.len()..];
                current = self.start_value(at, value);
            } else {
                self.append_line(current, ',', piece);
            }
        }
    }

    /// Starts a value as it is written; returns `None` if the field already has one.
    fn start_value(&mut self, at: usize, value: &'t str) -> Option<usize> {
        let slot = &mut self.values[at];
        if !matches!(slot, FieldValue::Absent) {
            return None;
        }
        *slot = FieldValue::Written(value.into());
        Some(at)
    }

    /// Appends `more` to the value being read, if there is one.
    fn append_line(&mut self, current: Option<usize>, between: char, more: &str) {
        let Some(FieldValue::Written(value)) = current.map(|at| &mut self.values[at]) else {
            return;
        };
        if let Cow::Borrowed(first) = *value {
            let mut whole = String::with_capacity(first.len() + FURTHER_LINES_BYTES);
            whole.push_str(first);
            *value = whole.into();
        }
        let value = value.to_mut();
        value.push(between);
        value.push_str(more);
    }

    /// Reads a JSON object. Numbers, booleans and nested values are kept as their own text.
    pub(super) fn read_json(&mut self, text: &'t str) -> Result<(), MalformedMarker> {
        let keys = self.block.field_keys();
        let known = known_members(text, keys).map_err(|error| MalformedMarker::BadJson {
            marker: self.block.marker(),
            problem: error.to_string(),
        })?;
        for member in known {
            let slot = &mut self.values[member.at];
            if !matches!(slot, FieldValue::Absent) {
                continue;
            }
            *slot = match member.value {
                MemberValue::Text(text) => FieldValue::Plain(text),
                MemberValue::Other(Json::Null) => FieldValue::Absent,
                MemberValue::Other(Json::Array(items)) if keys[member.at] == FieldKey::Options => {
                    FieldValue::List(items.into_iter().map(json_text).collect())
                }
                MemberValue::Other(other) => FieldValue::Plain(other.to_string().into()),
            };
        }
        Ok(())
    }

    fn take_value(&mut self, key: FieldKey) -> FieldValue<'t> {
        let at = self
            .block
            .field_keys()
            .iter()
            .position(|known| *known == key);
        at.map_or(FieldValue::Absent, |at| {
            std::mem::replace(&mut self.values[at], FieldValue::Absent)
        })
    }

    /// Returns the value of `key` as text; an empty value counts as absent.
    fn field_text(&mut self, key: FieldKey) -> Result<Option<Cow<'t, str>>, MalformedMarker> {
        let text = match self.take_value(key) {
            FieldValue::Absent => return Ok(None),
            FieldValue::Written(text) => unescaped_normal(text),
            FieldValue::Plain(text) => normalise_cow(text),
            FieldValue::List(items) => normalise_cow(items.join("\n").into()),
        };
        self.checked_length(key, text)
    }

    /// Returns the text of `key`; an empty value counts as absent.
    pub(super) fn optional_text(
        &mut self,
        key: FieldKey,
    ) -> Result<Option<String>, MalformedMarker> {
        Ok(self.field_text(key)?.map(Cow::into_owned))
    }

    /// Returns the text of `key`, or an error if it is absent.
    pub(super) fn required_text(&mut self, key: FieldKey) -> Result<String, MalformedMarker> {
        self.optional_text(key)?
            .ok_or_else(|| self.missing_field(key))
    }

    /// Builds the error for a missing `key`.
    pub(super) fn missing_field(&self, key: FieldKey) -> MalformedMarker {
        MalformedMarker::MissingField {
            marker: self.block.marker(),
            field: key.as_str(),
        }
    }

    /// Returns the items of `key`: `- item` lines, `[a, b, c]`, or a JSON array.
    pub(super) fn item_list(&mut self, key: FieldKey) -> Result<Vec<String>, MalformedMarker> {
        let mut items = match self.take_value(key) {
            FieldValue::Absent => return Ok(Vec::new()),
            FieldValue::List(items) => items,
            FieldValue::Written(text) | FieldValue::Plain(text) => self.split_items(key, &text)?,
        };
        for item in &mut items {
            let text = normalise_cow(std::mem::take(item).into());
            *item = self
                .checked_length(key, text)?
                .unwrap_or_default()
                .into_owned();
        }
        items.retain(|item| !item.is_empty());
        Ok(items)
    }

    fn split_items(&self, key: FieldKey, text: &str) -> Result<Vec<String>, MalformedMarker> {
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

    /// Returns the value of `key` as one of `all`, compared by word in any case.
    pub(super) fn word_value<T: Copy>(
        &mut self,
        key: FieldKey,
        all: &[T],
        as_str: fn(T) -> &'static str,
    ) -> Result<Option<T>, MalformedMarker> {
        let Some(text) = self.field_text(key)? else {
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

    /// Builds the error for a `key` that holds `found` where `expected` was required.
    pub(super) fn bad_value(
        &self,
        key: FieldKey,
        expected: String,
        found: &str,
    ) -> MalformedMarker {
        let mut cut: String = found.chars().take(FOUND_CHARS_MAX).collect();
        if cut.len() < found.len() {
            cut.push('…');
        }
        MalformedMarker::BadValue {
            marker: self.block.marker(),
            field: key.as_str(),
            expected,
            found: cut,
        }
    }

    fn checked_length<'a>(
        &self,
        key: FieldKey,
        text: Cow<'a, str>,
    ) -> Result<Option<Cow<'a, str>>, MalformedMarker> {
        if longer_than_field(&text) {
            return Err(MalformedMarker::FieldTooLong {
                marker: self.block.marker(),
                field: key.as_str(),
            });
        }
        Ok((!text.is_empty()).then_some(text))
    }
}

/// True if the line is `name: …` with an unknown name. The space after the colon is required, so
/// that a value wrapped before `https://…` stays whole.
fn is_unknown_field(line: &[u8]) -> bool {
    if !line.first().is_some_and(u8::is_ascii_alphabetic) {
        return false;
    }
    let after_name = line
        .iter()
        .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')));
    match after_name.map(|at| &line[at..]) {
        Some([b':']) => true,
        Some([b':', next, ..]) => matches!(next, b' ' | b'\t'),
        _ => false,
    }
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
                .map(|item| unescape_line_ends(unquote(trim(item)).into()).into_owned())
                .collect(),
        );
    }
    let mut items: Vec<String> = Vec::new();
    for line in split_lines(text).map(trim) {
        if let Some(item) = line.strip_prefix(['-', '*']) {
            items.push(unescape_line_ends(unquote(trim(item)).into()).into_owned());
        } else if !line.is_empty() {
            // A wrapped item. Before the first item there is nothing it could belong to.
            let last = items.last_mut()?;
            last.push(' ');
            last.push_str(&unescape_line_ends(line.into()));
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
