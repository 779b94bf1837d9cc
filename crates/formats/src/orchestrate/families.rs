//! The families of this file that exist. Each stores the same facts under other names; this module
//! maps them to those of version 2.0.

use super::convert::DocumentConverter;
use crate::finding::Finding;
use crate::tasks_md::{TaskId, id_at_start};
use serde_json::{Map, Value};

/// Error code of a file that is not an orchestration.
pub const FOREIGN: &str = "not_an_orchestration";

pub(super) const COMPLETED: &[&str] = &[
    "completed_tasks",
    "completed",
    "done_tasks",
    "done",
    "tasks_completed",
    "completed_count",
];
pub(super) const SKIPPED: &[&str] = &["skipped_tasks", "skipped"];
pub(super) const IN_PROGRESS: &[&str] = &[
    "in_progress_tasks",
    "in_progress",
    "running_tasks",
    "active_tasks",
    "current_tasks",
    "current_task",
];
pub(super) const FAILED: &[&str] = &["failed_tasks", "failed"];
const READY: &[&str] = &["ready_tasks", "ready"];
const PENDING: &[&str] = &[
    "pending_tasks",
    "pending",
    "remaining_tasks",
    "remaining",
    "next_tasks",
    "next_task",
    "todo",
];
const BLOCKED: &[&str] = &["blocked_tasks", "blocked"];
/// The lists of version 2.0 with their names in other families. Skipped tasks count as completed.
pub(super) const LISTS: [(&str, &[&str]); 7] = [
    ("completed", COMPLETED),
    ("completed", SKIPPED),
    ("in_progress", IN_PROGRESS),
    ("failed", FAILED),
    ("ready", READY),
    ("pending", PENDING),
    ("blocked", BLOCKED),
];
pub(super) const TOTAL: &[&str] = &[
    "total_tasks",
    "tasks_total",
    "task_count",
    "total_count",
    "total",
];
/// Keys of objects that hold counts of tasks, our own first.
pub(super) const NUMBERS: &[&str] = &["metrics", "progress", "stats", "statistics", "summary"];
/// Keys of an object with tasks by id, or with lists of tasks.
pub(super) const TASKS: &[&str] = &["tasks", "task_status", "task_statuses", "task_states"];
pub(super) const PHASE: &[&str] = &["current_phase", "phase"];
pub(super) const PHASES_DONE: &[&str] = &["completed_phases", "phases_completed"];
pub(super) const PHASE_STATUS: &[&str] = &["phase_status", "phases", "phase_statuses"];
pub(super) const STARTED: &[&str] = &["started_at", "created_at", "start_time", "started"];
pub(super) const UPDATED: &[&str] = &[
    "last_updated",
    "updated_at",
    "last_update",
    "last_updated_at",
];
pub(super) const PROJECT: &[&str] = &["project", "project_name"];
pub(super) const WEBHOOK: &[&str] = &["slack_webhook_url", "slack_webhook"];
const PLAN: &[&str] = &[
    "tasks_file",
    "tasks_doc",
    "task_file",
    "plan_file",
    "tasks_path",
];
/// Keys of a placeholder file created before a run begins.
const NEUTRAL: &[&str] = &[
    "version",
    "mode",
    "status",
    "name",
    "description",
    "config",
    "completed_at",
];

/// Family of a document.
pub(super) enum DocumentFamily {
    /// The lists of version 2.0, read without conversion.
    Lists,
    /// Another family, converted to version 2.0, with findings about the conversion.
    Other(Value, Vec<Finding>),
    /// Not an orchestration.
    Foreign,
}

/// Determines the family of a document and converts it if needed.
pub(super) fn detect_family(value: &Value) -> DocumentFamily {
    // An empty document does not belong to another program: it is damaged.
    let Some(map) = value.as_object().filter(|map| !map.is_empty()) else {
        return DocumentFamily::Lists;
    };
    let old = OldDocument { map };
    let same = |key: &String| to_snake_case(key) == *key;
    let execution = map.get("execution").and_then(Value::as_object);
    if let Some(Value::Object(tasks)) = map.get("tasks")
        && plain_lists(tasks)
        && (map.contains_key("execution") || old.find_key(PHASE).is_none())
        && execution.is_none_or(|it| it.keys().all(same))
    {
        return DocumentFamily::Lists;
    }
    match old.is_known() {
        true => {
            let (value, findings) = DocumentConverter::new(&old).convert_document();
            DocumentFamily::Other(value, findings)
        }
        false => DocumentFamily::Foreign,
    }
}

/// Returns the path of the plan that a document of any family names.
pub fn plan_file(value: &Value) -> Option<&str> {
    let old = OldDocument {
        map: value.as_object()?,
    };
    old.find_value(PLAN)?
        .as_str()
        .filter(|path| !path.trim().is_empty())
}

/// Parses the current phase of a document; `u32::MAX` means that all phases are done.
pub(super) fn phase_word(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|it| (0.0..1e9).contains(it))?
                .floor();
            format!("{whole:.0}").parse().ok()
        }
        Value::String(text) => {
            let word = text.trim().to_ascii_lowercase();
            if matches!(
                word.as_str(),
                "done" | "complete" | "completed" | "all_done" | "finished" | "완료"
            ) {
                return Some(u32::MAX);
            }
            phase_name(&word)
        }
        Value::Object(map) => {
            let keys = ["id", "phase", "number", "name"];
            let mut named = keys.iter().filter_map(|key| map.get(*key));
            named.find(|it| !it.is_object()).and_then(phase_word)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    }
}

/// Parses the number in the name of a phase: `0`, `p0`, `phase_0`, `phase 0: setup`.
fn phase_name(word: &str) -> Option<u32> {
    let named = ["phase", "페이즈", "p", "m"];
    let rest = named.iter().find_map(|name| word.strip_prefix(name));
    let number = rest.unwrap_or(word).trim_start_matches([' ', '_', '-']);
    let end = number.bytes().take_while(u8::is_ascii_digit).count();
    let behind = &number[end..];
    // A bare number is a phase; with words behind it, it may count anything.
    let ends = match rest {
        Some(_) => !behind.starts_with(char::is_alphabetic),
        None => behind.bytes().all(|it| it.is_ascii_digit() || it == b'.'),
    };
    number[..end].parse().ok().filter(|_| ends)
}

/// True if a key is the name of a phase rather than the id of a task: `P0` and `phase_1_core` are,
/// `P0-T1` and `M1.2` are not.
pub(super) fn names_phase(key: &str) -> bool {
    phase_name(&key.to_ascii_lowercase()).is_some()
        && key.starts_with(char::is_alphabetic)
        && !key.contains('.')
        && id_at_start(key) != Some(key)
}

/// Returns the entries of an object by phase name, or of a list of objects that name their phase.
pub(super) fn phase_entries(phases: &Value) -> Vec<(u32, &Value)> {
    let has_value = |it: &Value| it.is_string() || it.is_object();
    match phases {
        Value::Object(map) => map
            .iter()
            .filter(|(_, it)| has_value(it))
            .filter_map(|(name, it)| Some((phase_word(&name.as_str().into())?, it)))
            .collect(),
        Value::Array(items) => items
            .iter()
            .filter(|it| it.is_object())
            .filter_map(|it| Some((phase_word(it)?, it)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Returns the current phase as the document stores it.
pub(super) fn stated_phase<'v>(value: &'v Value) -> Option<&'v Value> {
    let phase_in = |value: &'v Value| {
        let map = value.as_object()?;
        OldDocument { map }.find_value(PHASE)
    };
    value
        .get("execution")
        .and_then(phase_in)
        .or_else(|| phase_in(value))
}

/// Returns the total number of tasks that a document of any family states, apart from its lists; 0
/// if it states none.
pub(super) fn stated_total(value: &Value) -> usize {
    let total_in = |value: &Value| {
        OldDocument {
            map: value.as_object()?,
        }
        .find_value(TOTAL)?
        .as_u64()
    };
    // Our own count first, then that of the document.
    let mut nested = NUMBERS.iter().map(|place| value.get(*place));
    let metrics = nested.next().flatten();
    let places = metrics.into_iter().chain([value]).chain(nested.flatten());
    let total = places.filter_map(total_in).next();
    total.map_or(0, |total| usize::try_from(total).unwrap_or(0))
}

pub(super) fn is_done(value: &Value) -> bool {
    let word = value.as_str().or_else(|| value.get("status")?.as_str());
    let word = word.map(|word| word.trim().to_ascii_lowercase());
    matches!(
        word.as_deref(),
        Some("done" | "complete" | "completed" | "merged" | "finished" | "완료")
    )
}

/// Converts `completedTasks` to `completed_tasks`.
pub(super) fn to_snake_case(key: &str) -> String {
    let mut plain = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        match c {
            'A'..='Z' => {
                if !plain.is_empty() && !plain.ends_with('_') {
                    plain.push('_');
                }
                plain.push(c.to_ascii_lowercase());
            }
            '-' | ' ' => plain.push('_'),
            _ => plain.push(c),
        }
    }
    plain
}

/// Returns the id of a list entry, and the entry itself if it is an object.
pub(super) fn list_entry(item: &Value) -> Option<(&str, Option<&Map<String, Value>>)> {
    fn id(value: &Value) -> Option<&str> {
        let text = value.as_str()?;
        match TaskId::new(text) {
            Ok(_) => Some(text),
            // An id with its title: `T1.1: title`.
            Err(_) => id_at_start(text),
        }
    }
    match item {
        Value::String(_) => Some((id(item)?, None)),
        Value::Object(map) => {
            let named = ["id", "task_id", "taskId", "task"]
                .iter()
                .find_map(|key| map.get(*key));
            Some((id(named?)?, Some(map)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// A document whose keys are looked up by meaning.
pub(super) struct OldDocument<'v> {
    pub(super) map: &'v Map<String, Value>,
}

impl<'v> OldDocument<'v> {
    /// Finds the key of the document for the first of these names that occurs, in any case style.
    pub(super) fn find_key(&self, names: &[&str]) -> Option<&'v str> {
        let named = |name: &&str| self.map.keys().find(|key| to_snake_case(key) == **name);
        names.iter().find_map(named).map(String::as_str)
    }

    /// Returns the value of the first of these names that is present and not null.
    pub(super) fn find_value(&self, names: &[&str]) -> Option<&'v Value> {
        names.iter().find_map(|name| {
            self.find_key(&[name])
                .and_then(|key| self.map.get(key))
                .filter(|it| !it.is_null())
        })
    }

    /// Copies the object of exactly this name; empty if there is none.
    pub(super) fn copy_object(&self, name: &str) -> Map<String, Value> {
        let found = self.map.get(name).and_then(Value::as_object);
        found.cloned().unwrap_or_default()
    }

    /// True if any of its parts has the form of one of our families.
    fn is_known(&self) -> bool {
        let phase = self
            .find_value(PHASE)
            .is_some_and(|value| phase_word(value).is_some());
        // Other programs have lists of these names with other entries: an id has a digit.
        let id = |item: &Value| {
            list_entry(item).is_some_and(|(id, _)| id.contains(|c: char| c.is_ascii_digit()))
        };
        let listed = |value: &Value| match value {
            Value::Array(items) => {
                items.iter().any(id) && items.iter().all(|item| list_entry(item).is_some())
            }
            Value::Object(map) => by_id(map),
            Value::Number(_) => true,
            Value::String(_) | Value::Null | Value::Bool(_) => false,
        };
        let mut named = LISTS.iter().flat_map(|(_, names)| *names);
        let lists = named.any(|name| {
            let key = self.find_key(&[name]);
            key.and_then(|key| self.map.get(key)).is_some_and(listed)
        });
        // All lists of a run that has just begun are empty.
        let empty = |names: &[&str]| {
            let list = self.find_value(names).and_then(Value::as_array);
            list.is_some_and(Vec::is_empty)
        };
        let lists = lists || empty(COMPLETED);
        let phases = self.find_value(PHASES_DONE).is_some_and(Value::is_array)
            || self.find_value(PHASE_STATUS).is_some_and(|phases| {
                let entries = phase_entries(phases);
                let size = phases
                    .as_object()
                    .map(Map::len)
                    .or(phases.as_array().map(Vec::len));
                !entries.is_empty() && Some(entries.len()) == size
            });
        let tasks = match self.find_value(TASKS) {
            Some(Value::Object(map)) => by_id(map) || lists_of(map),
            Some(Value::Array(items)) => {
                phase && !items.is_empty() && items.iter().all(|item| list_entry(item).is_some())
            }
            Some(_) | None => false,
        };
        let begun = [PROJECT, STARTED, UPDATED, PLAN, WEBHOOK, TOTAL];
        let neutral = |key: &String| {
            let key = to_snake_case(key);
            NEUTRAL.contains(&key.as_str())
                || begun.iter().any(|names| names.contains(&key.as_str()))
        };
        let placeholder = !self.map.is_empty()
            && self.map.keys().all(neutral)
            && (self.find_value(PROJECT).is_some() || self.find_value(STARTED).is_some());
        phase || lists || phases || tasks || placeholder
    }
}

/// True if the object has tasks by id, each with a status.
pub(super) fn by_id(map: &Map<String, Value>) -> bool {
    !map.is_empty()
        && map.iter().all(|(key, value)| {
            TaskId::new(key).is_ok()
                && key.contains(|c: char| c.is_ascii_digit())
                && !names_phase(key)
                && (value.is_object() || value.is_string() || value.is_boolean())
        })
}

/// Returns the list of version 2.0 that a key stands for.
pub(super) fn list_named(key: &str) -> Option<&'static str> {
    let key = to_snake_case(key);
    let found = LISTS.iter().find(|(_, names)| names.contains(&&*key));
    found.map(|(list, _)| *list)
}

/// True if the object has lists of tasks under any of their names, or phases.
fn lists_of(map: &Map<String, Value>) -> bool {
    map.keys()
        .any(|key| list_named(key).is_some() || names_phase(key))
}

/// True if the object has the lists of version 2.0 under their own names, with nothing but ids.
/// Damaged lists are accepted; the reader reports them.
fn plain_lists(map: &Map<String, Value>) -> bool {
    let id = |item: &Value| item.as_str().is_some_and(|text| TaskId::new(text).is_ok());
    let plain = |list: &Value| match list {
        Value::Array(items) => items
            .iter()
            .all(|item| id(item) || list_entry(item).is_none()),
        Value::String(_) => list_entry(list).is_none(),
        Value::Null | Value::Bool(_) => true,
        Value::Number(_) | Value::Object(_) => false,
    };
    let fits = |(key, list): (&String, &Value)| match list_named(key) {
        Some(name) => name == key && plain(list),
        None => !list.is_number() && !names_phase(key),
    };
    map.is_empty() || lists_of(map) && map.iter().all(fits)
}

/// True for versions of this format, which have at most two numbers.
pub(super) fn is_version(value: &Value) -> bool {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let parts: Vec<&str> = text.trim().split('.').collect();
    parts.len() <= 2 && parts.iter().all(|part| part.parse::<u32>().is_ok())
}
