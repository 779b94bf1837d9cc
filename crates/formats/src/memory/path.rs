//! Dotted paths into the open files of the memory: reads, sets or appends one value. The fixed
//! structure is protected.

use crate::document_reader::put_later;
use crate::time::format_utc;
use bowline_machines::Timestamp;
use bowline_words::message::PathTrouble;
use serde_json::{Map, Value};

/// Maximum number of parts of a path.
pub const PATH_PARTS_MAX: usize = 32;
/// Maximum size of one value set by path, as JSON text.
pub const VALUE_BYTES_MAX: usize = 256 * 1024;
/// Maximum size of a shared context or an agent's memory. All of it is eventually read into the
/// context of some agent.
pub const DOCUMENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Members of an open file that cannot be set by path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedMembers {
    /// Members that cannot be set at all, with everything they contain: version, times and ids.
    pub fixed: &'static [&'static str],
    /// Members that must stay objects.
    pub sections: &'static [&'static str],
}

/// Returns the error code: stable, `snake_case`, documented by `bowline explain`.
pub const fn path_trouble_code(trouble: &PathTrouble) -> &'static str {
    match trouble {
        PathTrouble::BadPath { .. } => "bad_path",
        PathTrouble::NotFound { .. } => "path_not_found",
        PathTrouble::Protected { .. } => "path_protected",
        PathTrouble::MustBeObject { .. } => "must_be_object",
        PathTrouble::NoMembers { .. } => "no_members",
        PathTrouble::NotAList { .. } => "not_a_list",
        PathTrouble::TooLarge { .. } => "value_too_large",
    }
}

/// Parses a value given as text: JSON if it is valid JSON, else the text itself.
pub fn value_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Returns the value at a path. Elements of lists are counted from 0.
pub fn get_value<'v>(root: &'v Value, path: &str) -> Result<&'v Value, PathTrouble> {
    let mut node = root;
    for part in split_path(path)? {
        let next = match node {
            Value::Object(map) => map.get(part),
            Value::Array(items) => part.parse::<usize>().ok().and_then(|at| items.get(at)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        node = next.ok_or_else(|| PathTrouble::NotFound { path: path.into() })?;
    }
    Ok(node)
}

/// Sets the value at a path and the time of the change, creating objects on the way. A list grows
/// by one element if the path names the index behind its last. On failure nothing is changed.
pub fn set_value(
    skeleton: &FixedMembers,
    root: &mut Value,
    path: &str,
    new: Value,
    at: Timestamp,
) -> Result<(), PathTrouble> {
    let parts = writable_parts(skeleton, path, &new)?;
    if parts.len() == 1 && skeleton.sections.contains(&parts[0]) && !new.is_object() {
        return Err(PathTrouble::MustBeObject { path: path.into() });
    }
    change_document(root, path, &parts, at, |place| {
        *place = new;
        Ok(())
    })
}

/// Appends a value to the list at a path and sets the time of the change. An absent list is
/// created. On failure nothing is changed.
pub fn append_value(
    skeleton: &FixedMembers,
    root: &mut Value,
    path: &str,
    new: Value,
    at: Timestamp,
) -> Result<(), PathTrouble> {
    let parts = writable_parts(skeleton, path, &new)?;
    if parts.len() == 1 && skeleton.sections.contains(&parts[0]) {
        return Err(PathTrouble::MustBeObject { path: path.into() });
    }
    change_document(root, path, &parts, at, |place| match place {
        Value::Array(items) => {
            items.push(new);
            Ok(())
        }
        Value::Null => {
            *place = Value::Array(vec![new]);
            Ok(())
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(PathTrouble::NotAList { path: path.into() })
        }
    })
}

/// Returns the parts of a path if it may be written with this value.
fn writable_parts<'p>(
    skeleton: &FixedMembers,
    path: &'p str,
    new: &Value,
) -> Result<Vec<&'p str>, PathTrouble> {
    let parts = split_path(path)?;
    if skeleton.fixed.contains(&parts[0]) {
        return Err(PathTrouble::Protected { path: path.into() });
    }
    small_enough(path, new, VALUE_BYTES_MAX)?;
    Ok(parts)
}

fn change_document(
    root: &mut Value,
    path: &str,
    parts: &[&str],
    at: Timestamp,
    write: impl FnOnce(&mut Value) -> Result<(), PathTrouble>,
) -> Result<(), PathTrouble> {
    let mut changed = root.clone();
    let place = slot_of_path(&mut changed, parts);
    write(place.ok_or_else(|| PathTrouble::NoMembers { path: path.into() })?)?;
    put_later(&mut changed, "/last_updated", at, format_utc);
    small_enough(".", &changed, DOCUMENT_BYTES_MAX)?;
    *root = changed;
    Ok(())
}

fn small_enough(path: &str, value: &Value, max: usize) -> Result<(), PathTrouble> {
    match value.to_string().len() {
        bytes if bytes > max => Err(PathTrouble::TooLarge {
            path: path.into(),
            bytes,
            max,
        }),
        _ => Ok(()),
    }
}

fn slot_of_path<'v>(root: &'v mut Value, parts: &[&str]) -> Option<&'v mut Value> {
    let mut node = root;
    for (depth, part) in parts.iter().enumerate() {
        // A null below the root becomes an object; other values are kept.
        if depth > 0 && node.is_null() {
            *node = Value::Object(Map::new());
        }
        node = match node {
            Value::Object(map) => map.entry(*part).or_insert(Value::Null),
            Value::Array(items) => {
                let index = part.parse::<usize>().ok()?;
                if index == items.len() {
                    items.push(Value::Null);
                }
                items.get_mut(index)?
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(node)
}

fn split_path(path: &str) -> Result<Vec<&str>, PathTrouble> {
    let parts: Vec<&str> = path.split('.').collect();
    if parts.len() > PATH_PARTS_MAX || parts.iter().any(|part| part.is_empty()) {
        return Err(PathTrouble::BadPath { path: path.into() });
    }
    Ok(parts)
}
