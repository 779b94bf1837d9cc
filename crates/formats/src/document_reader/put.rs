//! Functions that write values at pointers of a document.

use crate::json::{child_pointer, unescape_key, value_at};
use crate::time;
use bowline_machines::Timestamp;
use serde_json::{Map, Value, json};

/// Sets the value at a pointer, creating objects on the way.
pub fn put_value(root: &mut Value, pointer: &str, value: impl Into<Value>) {
    if let Some(place) = slot_at(root, pointer) {
        *place = value.into();
    }
}

/// Returns the slot at a pointer, creating objects on the way; `None` behind the end of a list.
fn slot_at<'v>(root: &'v mut Value, pointer: &str) -> Option<&'v mut Value> {
    let mut node = root;
    for part in pointer.split('/').skip(1) {
        let key = unescape_key(part);
        if let Value::Array(items) = node {
            node = items.get_mut(key.parse::<usize>().ok()?)?;
            continue;
        }
        if !node.is_object() {
            *node = Value::Object(Map::new());
        }
        let map = node.as_object_mut()?;
        // An entry would copy every key on the way.
        if !map.contains_key(key.as_ref()) {
            map.insert(key.clone().into_owned(), Value::Null);
        }
        node = map.get_mut(key.as_ref())?;
    }
    Some(node)
}

/// Writes a list of objects. Each item is written into the object at the same index, so that
/// unknown members are kept.
pub fn put_list<T>(root: &mut Value, pointer: &str, items: &[T], write: impl Fn(&mut Value, &T)) {
    let mut old = take_list(root, pointer).into_iter();
    let mut new = Vec::with_capacity(items.len());
    for item in items {
        let known = old.next().filter(Value::is_object);
        let mut object = known.unwrap_or_else(|| json!({}));
        write(&mut object, item);
        new.push(object);
    }
    put_value(root, pointer, new);
}

/// Takes a list out of a document, leaving an empty one.
pub fn take_list(root: &mut Value, pointer: &str) -> Vec<Value> {
    match root.pointer_mut(pointer) {
        Some(Value::Array(items)) => std::mem::take(items),
        Some(_) | None => Vec::new(),
    }
}

/// Takes an object out of a document, leaving an empty one.
pub fn take_object(root: &mut Value, pointer: &str) -> Map<String, Value> {
    match root.pointer_mut(pointer) {
        Some(Value::Object(map)) => std::mem::take(map),
        Some(_) | None => Map::new(),
    }
}

/// Writes a time to a field, unless the field has another spelling of the same time.
pub fn put_time(
    root: &mut Value,
    pointer: &str,
    at: Option<Timestamp>,
    spell: impl Fn(Timestamp) -> String,
) {
    match at {
        Some(at) if time_at(root, pointer) == Some(at) => {}
        Some(at) => put_value(root, pointer, spell(at)),
        None => put_value(root, pointer, Value::Null),
    }
}

/// Writes the time of a change, which is never before the present value: a clock may have been set
/// back.
pub fn put_later(
    root: &mut Value,
    pointer: &str,
    at: Timestamp,
    spell: impl Fn(Timestamp) -> String,
) {
    let later = time_at(root, pointer).map_or(at, |known| at.max(known));
    put_time(root, pointer, Some(later), spell);
}

/// Returns the time at a pointer, if there is one.
pub(super) fn time_at(root: &Value, pointer: &str) -> Option<Timestamp> {
    time::parse_time(value_at(root, pointer)?.as_str()?)
}

/// Updates the version. Another minor version of the same format is left unchanged.
pub fn put_version(root: &mut Value, major: u32, written: &str) {
    let text = match root.pointer("/version") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    if version_major(&text) != Some(major) {
        put_value(root, "/version", written);
    }
}

/// Returns the first number of a version.
pub(super) fn version_major(text: &str) -> Option<u32> {
    text.split('.').next()?.trim().parse().ok()
}

/// Builds a pointer from keys.
pub fn pointer_of_keys(keys: &[&str]) -> String {
    keys.iter()
        .fold(String::new(), |pointer, key| child_pointer(&pointer, key))
}
