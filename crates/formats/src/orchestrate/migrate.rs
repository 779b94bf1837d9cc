//! Version 1.x of the file: what was done and what failed, without open tasks and without a graph.

use super::{VERSION, VERSION_MAJOR, phase_told_by};
use crate::finding::{Finding, Severity};
use bowline_words::message::Found;
use serde_json::{Map, Value, json};

/// Keys of 1.x that have another place now. Others stay where they are.
const MOVED_KEYS: [&str; 11] = [
    "version",
    "mode",
    "project",
    "started_at",
    "updated_at",
    "slack_webhook_url",
    "total_tasks",
    "current_phase",
    "completed_tasks",
    "failed_tasks",
    "completed_phases",
];

/// What a file of an older version becomes, and a note that it does; `None` for any other file.
pub(super) fn migrated(old: &Value) -> Option<(Value, Finding)> {
    let map = old.as_object()?;
    let text = match map.get("version") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "1".into(),
    };
    let major: u32 = text.split('.').next()?.trim().parse().ok()?;
    let told = ["completed_tasks", "failed_tasks", "phases"];
    let is_old = told.iter().any(|key| map.contains_key(*key));
    if major >= VERSION_MAJOR || map.contains_key("tasks") || !is_old {
        return None;
    }
    let note = Finding {
        severity: Severity::Note,
        code: "older_version",
        pointer: "/version".into(),
        message: Found::OlderVersion {
            found: major.to_string(),
            written: VERSION.into(),
        },
        repair: None,
    };
    Some((convert(map), note))
}

/// Brings a document of an older version up to date.
pub(super) fn bring_up_to_date(value: &mut Value) {
    if let Some((new, _)) = migrated(value) {
        *value = new;
    }
}

fn convert(old: &Map<String, Value>) -> Value {
    let get = |key: &str| old.get(key).cloned().unwrap_or(Value::Null);
    let completed = ids(old.get("completed_tasks"));
    let failed = ids(old.get("failed_tasks"));
    let mut noted = Map::new();
    for item in old
        .get("failed_tasks")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let Some(id) = id(item) else { continue };
        let mut entry = Map::new();
        for key in ["attempts", "error"] {
            if let Some(value) = item.get(key).filter(|it| !it.is_null()) {
                entry.insert(key.into(), value.clone());
            }
        }
        if !entry.is_empty() {
            noted.insert(id.into(), entry.into());
        }
    }
    let started = get("started_at");
    let updated = old.get("updated_at").unwrap_or(&started).clone();
    let mut value = json!({
        "version": VERSION,
        "mode": old.get("mode").cloned().unwrap_or_else(|| "normal".into()),
        "project": old.get("project").cloned().unwrap_or_else(|| "".into()),
        "execution": {
            "current_phase": old.get("current_phase").cloned().unwrap_or_else(|| 0.into()),
            "worktree": null,
            "started_at": started,
            "last_updated": updated,
        },
        "tasks": {
            "pending": [],
            "ready": [],
            "in_progress": [],
            "completed": completed,
            "failed": failed,
            "blocked": [],
        },
        "dependencies": {},
        "checkpoints": checkpoints(old, &completed),
        "metrics": {
            "total_tasks": completed.len() + failed.len(),
            "completed_count": completed.len(),
            "failed_count": failed.len(),
            "average_task_time_seconds": 0,
        },
        "config": { "max_parallel": 0, "retry_limit": 10, "slack_webhook_url": get("slack_webhook_url") },
    });
    if let Value::Object(map) = &mut value {
        if !noted.is_empty() {
            map.insert("bookkeeping".into(), json!({ "tasks": noted }));
        }
        let rest = old
            .iter()
            .filter(|(key, _)| !MOVED_KEYS.contains(&key.as_str()));
        for (key, value) in rest {
            map.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    value
}

fn checkpoints(old: &Map<String, Value>, completed: &[&str]) -> Map<String, Value> {
    let mut all = Map::new();
    for (number, phase) in old
        .get("phases")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let Ok(number) = number.parse::<u32>() else {
            continue;
        };
        if phase.get("status").and_then(Value::as_str) != Some("completed") {
            continue;
        }
        let tasks: Vec<&str> = completed
            .iter()
            .copied()
            .filter(|id| phase_told_by(id) == Some(number))
            .collect();
        let mut entry = Map::new();
        if let Some(at) = phase.get("completed_at").filter(|it| it.is_string()) {
            entry.insert("completed_at".into(), at.clone());
        }
        entry.insert("tasks_count".into(), tasks.len().into());
        entry.insert("tasks".into(), tasks.into());
        all.insert(format!("phase_{number}"), entry.into());
    }
    all
}

/// The ids in a list of ids, or of objects with an id.
fn ids(list: Option<&Value>) -> Vec<&str> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(id).collect()
}

fn id(item: &Value) -> Option<&str> {
    item.as_str().or_else(|| item.get("id")?.as_str())
}
