//! The families of the file that are about. Each says the same facts under other names; here they get those of 2.0.

use super::{Mode, VERSION, phase_told_by};
use crate::finding::{Finding, Severity};
use crate::tasks_md::{TaskId, id_at_start};
use crate::time;
use serde_json::{Map, Value, json};

/// The code of a file that is none of ours.
pub const FOREIGN: &str = "not_an_orchestration";

const COMPLETED: &[&str] = &["completed_tasks", "completed", "done_tasks", "done", "tasks_completed"];
const SKIPPED: &[&str] = &["skipped_tasks", "skipped"];
const IN_PROGRESS: &[&str] = &["in_progress_tasks", "in_progress", "running_tasks", "active_tasks", "current_tasks", "current_task"];
const FAILED: &[&str] = &["failed_tasks", "failed"];
const READY: &[&str] = &["ready_tasks", "ready"];
const PENDING: &[&str] = &["pending_tasks", "pending", "remaining_tasks", "remaining", "next_tasks", "next_task", "todo"];
const BLOCKED: &[&str] = &["blocked_tasks", "blocked"];
/// The lists of 2.0 with the names they have elsewhere. What was skipped counts as completed.
const LISTS: [(&str, &[&str]); 7] = [
    ("completed", COMPLETED),
    ("completed", SKIPPED),
    ("in_progress", IN_PROGRESS),
    ("failed", FAILED),
    ("ready", READY),
    ("pending", PENDING),
    ("blocked", BLOCKED),
];
const TOTAL: &[&str] = &["total_tasks", "tasks_total", "task_count", "total"];
const PHASE: &[&str] = &["current_phase", "phase"];
const PHASES_DONE: &[&str] = &["completed_phases", "phases_completed"];
const PHASE_STATUS: &[&str] = &["phase_status", "phases", "phase_statuses"];
const STARTED: &[&str] = &["started_at", "created_at", "start_time", "started"];
const UPDATED: &[&str] = &["last_updated", "updated_at", "last_update", "last_updated_at"];
const PROJECT: &[&str] = &["project", "project_name"];
const WEBHOOK: &[&str] = &["slack_webhook_url", "slack_webhook"];
const PLAN: &[&str] = &["tasks_file", "tasks_doc", "task_file", "plan_file", "tasks_path"];
/// Keys of a file that somebody made before a run began.
const NEUTRAL: &[&str] = &["version", "mode", "status", "name", "description", "config", "completed_at"];

/// What a document is.
pub(super) enum Family {
    /// The lists of 2.0: read as it is.
    Lists,
    /// Another family, as 2.0 would say it.
    Other(Value, Vec<Finding>),
    /// Not about an orchestration.
    Foreign,
}

/// Tells the family of a document.
pub(super) fn family(value: &Value) -> Family {
    // What says nothing at all is no other program's either: it is damage.
    let Some(map) = value.as_object().filter(|map| !map.is_empty()) else {
        return Family::Lists;
    };
    let old = Old { map };
    if let Some(Value::Object(tasks)) = map.get("tasks")
        && !by_id(tasks)
        && !tasks.values().any(Value::is_number)
        && (map.contains_key("execution") || old.key(PHASE).is_none())
        && (tasks.is_empty() || lists_of(tasks))
    {
        return Family::Lists;
    }
    match old.is_known() {
        true => {
            let (value, findings) = Convert::new(&old).run();
            Family::Other(value, findings)
        }
        false => Family::Foreign,
    }
}

/// The file of the plan that a document of any family names.
pub fn plan_file(value: &Value) -> Option<&str> {
    let old = Old { map: value.as_object()? };
    old.get(PLAN)?.as_str().filter(|path| !path.trim().is_empty())
}

/// What a document says of the phase the run is in: its number, and that all are done as the largest there is.
pub(super) fn phase_word(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|it| (0.0..1e9).contains(it))?.floor();
            format!("{whole:.0}").parse().ok()
        }
        Value::String(text) => {
            let word = text.trim().to_ascii_lowercase();
            if matches!(word.as_str(), "done" | "complete" | "completed" | "all_done" | "finished" | "완료") {
                return Some(u32::MAX);
            }
            let number = word.trim_start_matches("phase").trim_start_matches("페이즈");
            let number = number.trim_start_matches(['p', 'm', ' ', '_', '-']);
            let whole = number.split('.').next()?;
            let digits = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            (digits && !whole.is_empty()).then(|| whole.parse().ok()).flatten()
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The first of some keys that a document has, with its value.
pub(super) fn phase_told(value: &Value) -> Option<&Value> {
    let execution = value.pointer("/execution/current_phase");
    execution.or_else(|| Old { map: value.as_object()? }.get(PHASE))
}

fn is_done(value: &Value) -> bool {
    let word = value.as_str().or_else(|| value.get("status")?.as_str());
    let word = word.map(|word| word.trim().to_ascii_lowercase());
    matches!(word.as_deref(), Some("done" | "complete" | "completed" | "merged" | "finished" | "완료"))
}

/// `completedTasks` as `completed_tasks`.
fn snake(key: &str) -> String {
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

/// The id an entry of a list names, and the entry itself where it says more.
fn entry(item: &Value) -> Option<(&str, Option<&Map<String, Value>>)> {
    fn id(value: &Value) -> Option<&str> {
        let text = value.as_str()?;
        match TaskId::new(text) {
            Ok(_) => Some(text),
            // `T1.1: title`.
            Err(_) => id_at_start(text),
        }
    }
    match item {
        Value::String(_) => Some((id(item)?, None)),
        Value::Object(map) => {
            let named = ["id", "task_id", "taskId", "task"].iter().find_map(|key| map.get(*key));
            Some((id(named?)?, Some(map)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

struct Old<'v> {
    map: &'v Map<String, Value>,
}

impl<'v> Old<'v> {
    /// The key of the document that means one of some names, the first of them first.
    fn key(&self, names: &[&str]) -> Option<&'v str> {
        let named = |name: &&str| self.map.keys().find(|key| snake(key) == **name);
        names.iter().find_map(named).map(String::as_str)
    }

    fn get(&self, names: &[&str]) -> Option<&'v Value> {
        names.iter().find_map(|name| self.key(&[name]).and_then(|key| self.map.get(key)).filter(|it| !it.is_null()))
    }

    /// Whether something in it is said as one of our families says it.
    fn is_known(&self) -> bool {
        let phase = self.get(PHASE).is_some_and(|value| phase_word(value).is_some());
        let listed = |value: &Value| match value {
            Value::Array(items) => items.iter().all(|item| entry(item).is_some()),
            Value::Object(map) => by_id(map),
            Value::Number(_) => true,
            Value::String(_) | Value::Null | Value::Bool(_) => false,
        };
        let lists = LISTS.iter().any(|(_, names)| {
            let found = self.get(names);
            found.is_some_and(listed) || names.iter().any(|name| self.key(&[name]).and_then(|key| self.map.get(key)).is_some_and(listed))
        });
        let phases = self.get(PHASES_DONE).is_some_and(Value::is_array)
            || self.get(PHASE_STATUS).and_then(Value::as_object).is_some_and(|map| {
                !map.is_empty() && map.iter().all(|(key, it)| {
                    phase_word(&Value::from(key.as_str())).is_some() && (it.is_string() || it.is_object())
                })
            });
        let tasks = match self.map.get("tasks") {
            Some(Value::Object(map)) => by_id(map) || lists_of(map),
            Some(Value::Array(items)) => phase && !items.is_empty() && items.iter().all(|item| entry(item).is_some()),
            Some(_) | None => false,
        };
        let begun = [PROJECT, STARTED, UPDATED, PLAN, WEBHOOK, TOTAL];
        let neutral = |key: &String| {
            let key = snake(key);
            NEUTRAL.contains(&key.as_str()) || begun.iter().any(|names| names.contains(&key.as_str()))
        };
        let placeholder = !self.map.is_empty()
            && self.map.keys().all(neutral)
            && (self.get(PROJECT).is_some() || self.get(STARTED).is_some());
        phase || lists || phases || tasks || placeholder
    }
}

/// Tasks by their ids, each with a status.
fn by_id(map: &Map<String, Value>) -> bool {
    !map.is_empty()
        && map.iter().all(|(key, value)| TaskId::new(key).is_ok() && key.contains(|c: char| c.is_ascii_digit())
            && (value.is_object() || value.is_string() || value.is_boolean()))
}

/// The lists of 2.0, some of them as numbers or objects.
fn lists_of(map: &Map<String, Value>) -> bool {
    LISTS.iter().any(|(list, _)| map.contains_key(*list))
}

/// A document in the making.
struct Convert<'v> {
    old: &'v Old<'v>,
    /// Ids by list, in the order they were met.
    lists: Vec<(&'static str, String)>,
    counts: Map<String, Value>,
    noted: Map<String, Value>,
    /// Keys whose facts have another place now.
    moved: Vec<&'v str>,
    findings: Vec<Finding>,
}

impl<'v> Convert<'v> {
    fn new(old: &'v Old<'v>) -> Self {
        let note = Finding {
            severity: Severity::Note,
            code: "older_version",
            pointer: if old.map.contains_key("version") { "/version".into() } else { String::new() },
            message: format!("the file is older than {VERSION}; the first change brings it up to date"),
            repair: None,
        };
        Convert {
            old,
            lists: Vec::new(),
            counts: Map::new(),
            noted: Map::new(),
            moved: Vec::new(),
            findings: vec![note],
        }
    }

    fn run(mut self) -> (Value, Vec<Finding>) {
        let old = self.old;
        for (list, names) in LISTS {
            for name in names {
                if let Some(key) = old.key(&[name]) {
                    let before = self.lists.len();
                    self.list(list, key, &old.map[key]);
                    if names == SKIPPED {
                        self.skipped(before);
                    }
                }
            }
        }
        match old.map.get("tasks") {
            Some(Value::Object(tasks)) if by_id(tasks) => self.tasks_by_id("pending", tasks),
            Some(Value::Object(tasks)) => {
                for (list, names) in LISTS {
                    for name in names {
                        if let Some(value) = tasks.get(*name) {
                            self.list(list, "tasks", value);
                        }
                    }
                }
            }
            Some(Value::Array(items)) => {
                for (id, map) in items.iter().filter_map(entry) {
                    let status = map.and_then(|map| map.get("status")).unwrap_or(&Value::Null);
                    self.lists.push((list_of(status).unwrap_or("pending"), id.to_owned()));
                }
            }
            Some(_) | None => {}
        }
        if let Some(key) = old.key(TOTAL) && old.map[key].is_u64() {
            self.counts.insert("total".into(), old.map[key].clone());
            self.moved.push(key);
        }
        let checkpoints = self.checkpoints();
        let value = self.document(checkpoints);
        (value, self.findings)
    }

    /// Notes of the ids met since then that they were skipped.
    fn skipped(&mut self, since: usize) {
        for (_, id) in &self.lists[since..] {
            let noted = self.noted.entry(id.as_str()).or_insert_with(|| Map::new().into());
            if let Value::Object(noted) = noted {
                noted.insert("skipped".into(), true.into());
            }
        }
    }

    /// The ids of one list, however it is written; a number stays a number.
    fn list(&mut self, list: &'static str, key: &'v str, value: &'v Value) {
        match value {
            Value::Array(items) => {
                let mut whole = true;
                for item in items {
                    let Some((id, map)) = entry(item) else {
                        whole = false;
                        continue;
                    };
                    self.lists.push((list, id.to_owned()));
                    self.note(id, map);
                }
                if whole {
                    self.moved.push(key);
                } else {
                    self.findings.push(Finding {
                        severity: Severity::Warning,
                        code: "bad_id",
                        pointer: crate::json::child("", key),
                        message: "some of its entries are no ids of tasks; it is kept as it is".into(),
                        repair: None,
                    });
                }
            }
            Value::Object(tasks) if by_id(tasks) => {
                self.tasks_by_id(list, tasks);
                self.moved.push(key);
            }
            Value::Object(_) => {
                if let Some((id, map)) = entry(value) {
                    self.lists.push((list, id.to_owned()));
                    self.note(id, map);
                    self.moved.push(key);
                }
            }
            Value::Number(_) if value.is_u64() => {
                self.counts.insert(list.into(), value.clone());
                self.moved.push(key);
            }
            Value::String(_) => {
                if let Some((id, _)) = entry(value) {
                    self.lists.push((list, id.to_owned()));
                    self.moved.push(key);
                }
            }
            Value::Null => self.moved.push(key),
            Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn tasks_by_id(&mut self, list: &'static str, tasks: &'v Map<String, Value>) {
        for (id, value) in tasks {
            let said = value.get("status").unwrap_or(value);
            self.lists.push((list_of(said).unwrap_or(list), id.clone()));
            self.note(id, value.as_object());
        }
    }

    /// Keeps what an entry says beside its id and status.
    fn note(&mut self, id: &str, map: Option<&Map<String, Value>>) {
        let mut kept = Map::new();
        for (key, value) in map.into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            match (key.as_str(), value) {
                ("id" | "task_id" | "taskId" | "task" | "status", _) => {}
                ("attempts" | "retries" | "retry_count" | "retryCount", Value::Number(_)) if value.is_u64() => {
                    kept.insert("attempts".into(), value.clone());
                }
                ("error" | "reason", Value::String(_)) => {
                    kept.entry("error").or_insert_with(|| value.clone());
                }
                ("started_at" | "phase" | "attempts" | "error", _) => {
                    kept.insert(format!("{key}_told"), value.clone());
                }
                _ => {
                    kept.insert(key.clone(), value.clone());
                }
            }
        }
        if !kept.is_empty() {
            self.noted.insert(id.to_owned(), kept.into());
        }
    }

    /// The phases that are done, whichever way that is said, beside the checkpoints there are.
    fn checkpoints(&mut self) -> Map<String, Value> {
        let old = self.old;
        let mut all = old.map.get("checkpoints").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut done: Vec<(u32, Option<&Value>)> = Vec::new();
        if let Some(Value::Array(phases)) = old.get(PHASES_DONE) {
            done.extend(phases.iter().filter_map(phase_word).map(|number| (number, None)));
            self.moved.extend(old.key(PHASES_DONE).filter(|_| phases.iter().all(|it| phase_word(it).is_some())));
        }
        for names in PHASE_STATUS {
            let phases = old.get(&[names]).and_then(Value::as_object);
            for (key, status) in phases.into_iter().flatten() {
                let Some(number) = phase_word(&Value::from(key.as_str())) else { continue };
                self.phase_tasks(status);
                if is_done(status) {
                    done.push((number, Some(status)));
                }
            }
        }
        for (number, status) in done.into_iter().filter(|(number, _)| *number != u32::MAX) {
            let tasks: Vec<&str> = self.lists.iter()
                .filter(|(list, id)| *list == "completed" && phase_told_by(id) == Some(number))
                .map(|(_, id)| id.as_str())
                .collect();
            let mut entry = Map::new();
            let at = ["completed_at", "completedAt"].iter().find_map(|key| status?.get(*key)?.as_str());
            if let Some(at) = at.and_then(time::parse) {
                entry.insert("completed_at".into(), time::utc(at).into());
            }
            entry.insert("status".into(), "completed".into());
            if !tasks.is_empty() {
                entry.insert("tasks_count".into(), tasks.len().into());
                entry.insert("tasks".into(), tasks.into());
            }
            all.entry(format!("phase_{number}")).or_insert_with(|| entry.into());
        }
        all
    }

    /// The tasks an entry of a phase names.
    fn phase_tasks(&mut self, phase: &'v Value) {
        let finished = is_done(phase);
        for (key, value) in phase.as_object().into_iter().flatten() {
            let list = match snake(key).as_str() {
                name if COMPLETED.contains(&name) => "completed",
                name if FAILED.contains(&name) => "failed",
                name if IN_PROGRESS.contains(&name) => "in_progress",
                "tasks" if finished => "completed",
                "tasks" => "pending",
                _ => continue,
            };
            for item in value.as_array().into_iter().flatten() {
                if let Some((id, map)) = entry(item) {
                    let said = map.and_then(|map| map.get("status")).and_then(list_of);
                    self.lists.push((said.unwrap_or(list), id.to_owned()));
                }
            }
        }
    }

    fn time(&mut self, names: &[&str]) -> Option<String> {
        let found = names.iter().find_map(|name| {
            let key = self.old.key(&[name])?;
            let at = time::parse(self.old.map[key].as_str()?)?;
            Some((key, time::utc(at)))
        });
        let (key, text) = found?;
        self.moved.push(key);
        Some(text)
    }

    fn document(&mut self, checkpoints: Map<String, Value>) -> Value {
        let old = self.old;
        let mut execution = old.map.get("execution").and_then(Value::as_object).cloned().unwrap_or_default();
        let (started, updated) = (self.time(STARTED), self.time(UPDATED));
        if let Some(at) = started.clone().or_else(|| updated.clone()) {
            execution.entry("started_at").or_insert(at.into());
        }
        if let Some(at) = updated.or(started) {
            execution.entry("last_updated").or_insert(at.into());
        }
        if let Some(key) = old.key(PHASE) {
            // A word nobody knows stays where it is, too.
            if phase_word(&old.map[key]).is_some() || old.map[key].is_null() {
                self.moved.push(key);
            }
            execution.entry("current_phase").or_insert_with(|| old.map[key].clone());
        }
        execution.entry("worktree").or_insert_with(|| match old.map.get("worktree") {
            Some(Value::String(path)) => path.as_str().into(),
            Some(_) | None => Value::Null,
        });
        let mut config = old.map.get("config").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(key) = old.key(WEBHOOK) && old.map[key].is_string() {
            config.entry("slack_webhook_url").or_insert_with(|| old.map[key].clone());
            self.moved.push(key);
        }
        let mut tasks = Map::new();
        for list in ["pending", "ready", "in_progress", "completed", "failed", "blocked"] {
            let mut seen = std::collections::HashSet::new();
            let ids = self.lists.iter().filter(|(of, _)| *of == list).map(|(_, id)| id.as_str());
            let ids: Vec<&str> = ids.filter(|id| seen.insert(*id)).collect();
            tasks.insert(list.into(), ids.into());
        }
        let project = old.get(PROJECT).and_then(Value::as_str).unwrap_or_default();
        let mode = old.map.get("mode").cloned().unwrap_or_else(|| Mode::Normal.name().into());
        let mut value = json!({
            "version": VERSION,
            "mode": mode,
            "project": project,
            "execution": execution,
            "tasks": tasks,
            "checkpoints": checkpoints,
            "config": config,
        });
        let Value::Object(map) = &mut value else { return value };
        let mut book = old.map.get("bookkeeping").and_then(Value::as_object).cloned().unwrap_or_default();
        if !self.noted.is_empty() {
            book.insert("tasks".into(), std::mem::take(&mut self.noted).into());
        }
        if !self.counts.is_empty() {
            book.insert("counts".into(), std::mem::take(&mut self.counts).into());
        }
        if !book.is_empty() {
            map.insert("bookkeeping".into(), book.into());
        }
        self.moved.extend(old.key(PROJECT).filter(|key| old.map[*key].is_string()));
        let stays = |key: &str| !self.moved.contains(&key);
        // A version that is no version of this format is the program's own.
        let theirs = old.map.get("version").filter(|it| !is_version(it));
        if let Some(version) = theirs {
            map.insert("program_version".into(), version.clone());
        }
        for (key, kept) in old.map.iter().filter(|(key, _)| stays(key)) {
            let held = matches!(key.as_str(), "version" | "mode");
            match map.get(key) {
                None => drop(map.insert(key.clone(), kept.clone())),
                // The name is taken by something of another shape.
                Some(_) if matches!(key.as_str(), "tasks" | "checkpoints" | "execution" | "config" | "bookkeeping") || held => {
                    if key == "checkpoints" && !kept.is_object() {
                        map.insert("earlier_checkpoints".into(), kept.clone());
                    }
                }
                Some(_) => {}
            }
        }
        value
    }
}

/// Versions of this format have at most two numbers, and begin with 1 or 2.
pub(super) fn is_version(value: &Value) -> bool {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let parts: Vec<&str> = text.trim().split('.').collect();
    parts.len() <= 2 && parts.iter().all(|part| part.parse::<u32>().is_ok())
}

/// The list a status word puts a task in.
fn list_of(status: &Value) -> Option<&'static str> {
    if status.as_bool() == Some(true) {
        return Some("completed");
    }
    Some(match status.as_str()?.trim().to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "completed" | "complete" | "done" | "merged" | "finished" | "passed" | "success" | "skipped" | "완료" => "completed",
        "in_progress" | "inprogress" | "running" | "started" | "active" | "진행중" => "in_progress",
        "failed" | "failure" | "error" | "실패" => "failed",
        "ready" => "ready",
        "blocked" => "blocked",
        "pending" | "todo" | "open" | "not_started" | "대기" => "pending",
        _ => return None,
    })
}
