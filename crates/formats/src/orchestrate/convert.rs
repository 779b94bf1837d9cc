//! Converts a document of another family to version 2.0. Values without a counterpart keep their
//! place.

use super::families::{
    COMPLETED, FAILED, LISTS, NUMBERS, OldDocument, PHASE, PHASE_STATUS, PHASES_DONE, PROJECT,
    SKIPPED, STARTED, TASKS, TOTAL, UPDATED, WEBHOOK, by_id, is_done, is_version, list_entry,
    list_named, names_phase, phase_entries, phase_word, to_snake_case,
};
use super::{RunMode, VERSION, phase_of_id};
use crate::finding::{Finding, Severity};
use crate::time;
use bowline_words::message::FileFinding;
use serde_json::{Map, Value, json};

/// Builder of the converted document.
pub(super) struct DocumentConverter<'v> {
    old: &'v OldDocument<'v>,
    /// Ids by list, in the order of the document.
    lists: Vec<(&'static str, String)>,
    counts: Map<String, Value>,
    noted: Map<String, Value>,
    /// Keys whose values were moved elsewhere.
    moved: Vec<&'v str>,
    findings: Vec<Finding>,
}

impl<'v> DocumentConverter<'v> {
    pub(super) fn new(old: &'v OldDocument<'v>) -> Self {
        let note = Finding {
            severity: Severity::Note,
            code: "older_version",
            pointer: if old.map.contains_key("version") {
                "/version".into()
            } else {
                String::new()
            },
            message: FileFinding::OlderFile {
                written: VERSION.into(),
            },
            repair: None,
        };
        DocumentConverter {
            old,
            lists: Vec::new(),
            counts: Map::new(),
            noted: Map::new(),
            moved: Vec::new(),
            findings: vec![note],
        }
    }

    /// Returns the converted document, and findings about the old one.
    pub(super) fn convert_document(mut self) -> (Value, Vec<Finding>) {
        let old = self.old;
        self.all_lists(old, None);
        if let Some(key) = old.find_key(TASKS) {
            match &old.map[key] {
                Value::Object(tasks) if !by_id(tasks) => {
                    self.all_lists(&OldDocument { map: tasks }, Some(key));
                    let phases = tasks.iter().filter(|(key, _)| names_phase(key));
                    phases.for_each(|(_, phase)| self.convert_part("pending", phase));
                }
                tasks => {
                    self.convert_part("pending", tasks);
                    self.moved.push(key);
                }
            }
        }
        self.nested_counts();
        let checkpoints = self.collect_checkpoints();
        let value = self.build_document(checkpoints);
        (value, self.findings)
    }

    /// Converts the lists of an object and its total; `place` is its key unless it is the document
    /// itself.
    fn all_lists(&mut self, old: &OldDocument<'v>, place: Option<&'v str>) {
        for (list, names) in LISTS {
            for key in names.iter().filter_map(|name| old.find_key(&[name])) {
                let before = self.lists.len();
                self.convert_list(list, place.unwrap_or(key), &old.map[key]);
                if names == SKIPPED {
                    self.mark_skipped(before);
                }
            }
        }
        if let Some(key) = old.find_key(TOTAL) {
            let said = &old.map[key];
            let text = said.as_str().and_then(parse_count).map(|(count, _)| count);
            if let Some(total) = said.as_u64().or(text) {
                self.counts.insert("total".into(), total.into());
                self.moved.push(place.unwrap_or(key));
            }
        }
    }

    /// Converts the tasks in a part of the document: a list, or an object keyed by id, list or
    /// phase.
    fn convert_part(&mut self, list: &'static str, value: &'v Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.convert_task(list, item)),
            Value::Object(tasks) if by_id(tasks) => self.tasks_by_id(list, tasks),
            Value::Object(map) if list_entry(value).is_none() => {
                self.convert_keyed_lists(list, map)
            }
            Value::Object(_) => self.convert_task(list, value),
            // Text without a digit is not an id: `none`, `idle`.
            Value::String(text) if text.contains(|c: char| c.is_ascii_digit()) => {
                self.convert_task(list, value);
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Converts the tasks of an object keyed by list or phase. Tasks of a completed phase are
    /// completed.
    fn convert_keyed_lists(&mut self, list: &'static str, map: &'v Map<String, Value>) {
        let finished = map.get("status").is_some_and(is_done);
        let list = if finished { "completed" } else { list };
        for (key, value) in map {
            if let Some(inner) = list_named(key) {
                self.convert_part(inner, value);
            } else if names_phase(key) || key == "tasks" {
                self.convert_part(list, value);
            }
        }
    }

    /// Converts a task of a list; its own status takes precedence over the list.
    fn convert_task(&mut self, list: &'static str, item: &'v Value) {
        if let Some((id, map)) = list_entry(item) {
            let said = map.and_then(|map| map.get("status")).and_then(list_of);
            self.lists.push((said.unwrap_or(list), id.to_owned()));
            self.keep_other_values(id, map);
        }
    }

    /// Marks the ids added at index `since` and later as skipped.
    fn mark_skipped(&mut self, since: usize) {
        for (_, id) in &self.lists[since..] {
            let noted = self
                .noted
                .entry(id.as_str())
                .or_insert_with(|| Map::new().into());
            if let Value::Object(noted) = noted {
                noted.insert("skipped".into(), true.into());
            }
        }
    }

    /// Converts counts that some files keep in an object of their own, unless they are known
    /// already.
    fn nested_counts(&mut self) {
        let places = NUMBERS.iter();
        for numbers in places.filter_map(|place| self.old.map.get(*place)?.as_object()) {
            let numbers = OldDocument { map: numbers };
            for (count, names) in [
                ("total", TOTAL),
                ("completed", COMPLETED),
                ("failed", FAILED),
            ] {
                if let Some(number) = numbers.find_value(names).filter(|number| number.is_u64()) {
                    self.counts.entry(count).or_insert_with(|| number.clone());
                }
            }
        }
    }

    /// Converts the ids of one list in any notation; a count stays a count.
    fn convert_list(&mut self, list: &'static str, key: &'v str, value: &'v Value) {
        match value {
            Value::Array(items) => {
                self.convert_part(list, value);
                if items.iter().all(|item| list_entry(item).is_some()) {
                    self.moved.push(key);
                } else {
                    self.findings.push(Finding {
                        severity: Severity::Warning,
                        code: "bad_id",
                        pointer: crate::json::child_pointer("", key),
                        message: FileFinding::OddIdsKept,
                        repair: None,
                    });
                }
            }
            Value::Number(_) if value.is_u64() => {
                self.counts.insert(list.into(), value.clone());
                self.moved.push(key);
            }
            Value::String(text) if list == "completed" && parse_count(text).is_some() => {
                let (count, total) = parse_count(text).unwrap_or_default();
                self.counts.insert(list.into(), count.into());
                if let Some(total) = total {
                    self.counts.insert("total".into(), total.into());
                }
                self.moved.push(key);
            }
            Value::Object(_) | Value::String(_) => {
                let before = self.lists.len();
                self.convert_part(list, value);
                if self.lists.len() > before {
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
            self.keep_other_values(id, value.as_object());
        }
    }

    /// Keeps the values of an entry other than its id and status.
    fn keep_other_values(&mut self, id: &str, map: Option<&Map<String, Value>>) {
        let mut kept = Map::new();
        for (key, value) in map
            .into_iter()
            .flatten()
            .filter(|(_, value)| !value.is_null())
        {
            match (key.as_str(), value) {
                ("id" | "task_id" | "taskId" | "task" | "status", _) => {}
                ("attempts" | "retries" | "retry_count" | "retryCount", Value::Number(_))
                    if value.is_u64() =>
                {
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

    /// Returns the checkpoints together with the phases that are stated as done in any other way.
    fn collect_checkpoints(&mut self) -> Map<String, Value> {
        let old = self.old;
        let mut all = old.copy_object("checkpoints");
        let mut done: Vec<(u32, Option<&Value>)> = Vec::new();
        if let Some(Value::Array(phases)) = old.find_value(PHASES_DONE) {
            done.extend(
                phases
                    .iter()
                    .filter_map(|it| Some((phase_word(it)?, it.is_object().then_some(it)))),
            );
            // The other values of an entry have no other place.
            let plain = |it: &Value| !it.is_object() && phase_word(it).is_some();
            self.moved.extend(
                old.find_key(PHASES_DONE)
                    .filter(|_| phases.iter().all(plain)),
            );
        }
        let named = PHASE_STATUS
            .iter()
            .filter_map(|name| old.find_value(&[name]));
        let beside = old
            .map
            .iter()
            .filter(|(key, it)| names_phase(key) && it.is_object());
        let beside = beside.filter_map(|(key, it)| Some((phase_word(&key.as_str().into())?, it)));
        for (number, status) in named.flat_map(phase_entries).chain(beside) {
            if let Value::Object(map) = status {
                self.convert_keyed_lists("pending", map);
            }
            if is_done(status) {
                done.push((number, Some(status)));
            }
        }
        for (number, status) in done.into_iter().filter(|(number, _)| *number != u32::MAX) {
            let tasks: Vec<&str> = self
                .lists
                .iter()
                .filter(|(list, id)| *list == "completed" && phase_of_id(id) == Some(number))
                .map(|(_, id)| id.as_str())
                .collect();
            let mut entry = Map::new();
            let at = ["completed_at", "completedAt"]
                .iter()
                .find_map(|key| status?.get(*key)?.as_str());
            if let Some(at) = at.and_then(time::parse_time) {
                entry.insert("completed_at".into(), time::format_utc(at).into());
            }
            entry.insert("status".into(), "completed".into());
            if !tasks.is_empty() {
                entry.insert("tasks_count".into(), tasks.len().into());
                entry.insert("tasks".into(), tasks.into());
            }
            all.entry(format!("phase_{number}"))
                .or_insert_with(|| entry.into());
        }
        all
    }

    fn take_time(&mut self, names: &[&str]) -> Option<String> {
        let found = names.iter().find_map(|name| {
            let key = self.old.find_key(&[name])?;
            let at = time::parse_time(self.old.map[key].as_str()?)?;
            Some((key, time::format_utc(at)))
        });
        let (key, text) = found?;
        self.moved.push(key);
        Some(text)
    }

    fn build_document(&mut self, checkpoints: Map<String, Value>) -> Value {
        let old = self.old;
        let execution = old.copy_object("execution").into_iter();
        let mut execution: Map<String, Value> = execution
            .map(|(key, value)| (to_snake_case(&key), value))
            .collect();
        let (started, updated) = (self.take_time(STARTED), self.take_time(UPDATED));
        if let Some(at) = started.clone().or_else(|| updated.clone()) {
            execution.entry("started_at").or_insert(at.into());
        }
        if let Some(at) = updated.or(started) {
            execution.entry("last_updated").or_insert(at.into());
        }
        if let Some(key) = old.find_key(PHASE) {
            // An unknown word, or a value that is more than a word, also stays in its old place.
            let is_stated = phase_word(&old.map[key]).is_some() && !old.map[key].is_object();
            if is_stated || old.map[key].is_null() {
                self.moved.push(key);
            }
            execution
                .entry("current_phase")
                .or_insert_with(|| old.map[key].clone());
        }
        execution
            .entry("worktree")
            .or_insert_with(|| match old.map.get("worktree") {
                Some(Value::String(path)) => path.as_str().into(),
                Some(_) | None => Value::Null,
            });
        let mut config = old.copy_object("config");
        if let Some(key) = old.find_key(WEBHOOK)
            && old.map[key].is_string()
        {
            config
                .entry("slack_webhook_url")
                .or_insert_with(|| old.map[key].clone());
            self.moved.push(key);
        }
        let mut tasks = Map::new();
        for list in [
            "pending",
            "ready",
            "in_progress",
            "completed",
            "failed",
            "blocked",
        ] {
            let mut seen = std::collections::HashSet::new();
            let ids = self
                .lists
                .iter()
                .filter(|(of, _)| *of == list)
                .map(|(_, id)| id.as_str());
            let ids: Vec<&str> = ids.filter(|id| seen.insert(*id)).collect();
            tasks.insert(list.into(), ids.into());
        }
        let project = old
            .find_value(PROJECT)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let mode = old
            .map
            .get("mode")
            .cloned()
            .unwrap_or_else(|| RunMode::Normal.name().into());
        let mut value = json!({
            "version": VERSION,
            "mode": mode,
            "project": project,
            "execution": execution,
            "tasks": tasks,
            "checkpoints": checkpoints,
            "config": config,
        });
        let Value::Object(map) = &mut value else {
            return value;
        };
        let mut book = old.copy_object("bookkeeping");
        for (key, added) in [("tasks", &mut self.noted), ("counts", &mut self.counts)] {
            if let (false, Value::Object(known)) = (
                added.is_empty(),
                book.entry(key).or_insert_with(|| Map::new().into()),
            ) {
                known.append(added);
            }
        }
        book.retain(|_, it| *it != json!({}));
        if !book.is_empty() {
            map.insert("bookkeeping".into(), book.into());
        }
        self.moved.extend(
            old.find_key(PROJECT)
                .filter(|key| old.map[*key].is_string()),
        );
        let stays = |key: &str| !self.moved.contains(&key);
        // A version that is not one of this format belongs to the other program.
        let ours = |it: &Value| {
            let text = it.as_str().map_or_else(|| it.to_string(), str::to_owned);
            is_version(it) && text.trim().starts_with(['1', '2'])
        };
        let theirs = old.map.get("version").filter(|it| !ours(it));
        if let Some(version) = theirs {
            map.insert("program_version".into(), version.clone());
        }
        for (key, kept) in old.map.iter().filter(|(key, _)| stays(key)) {
            let held = matches!(key.as_str(), "version" | "mode");
            match map.get(key) {
                None => drop(map.insert(key.clone(), kept.clone())),
                // The key is used by a value of another shape.
                Some(_)
                    if matches!(
                        key.as_str(),
                        "tasks" | "checkpoints" | "execution" | "config" | "bookkeeping"
                    ) || held =>
                {
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

/// Maps a status word to a list.
fn list_of(status: &Value) -> Option<&'static str> {
    if status.as_bool() == Some(true) {
        return Some("completed");
    }
    Some(
        match status
            .as_str()?
            .trim()
            .to_ascii_lowercase()
            .replace(['-', ' '], "_")
            .as_str()
        {
            "completed" | "complete" | "done" | "merged" | "finished" | "passed" | "success"
            | "skipped" | "완료" => "completed",
            "in_progress" | "inprogress" | "running" | "started" | "active" | "진행중" => {
                "in_progress"
            }
            "failed" | "failure" | "error" | "실패" => "failed",
            "ready" => "ready",
            "blocked" => "blocked",
            "pending" | "todo" | "open" | "not_started" | "대기" => "pending",
            _ => return None,
        },
    )
}

/// Parses a count written as text: `13`, or `13/27` with the total.
fn parse_count(text: &str) -> Option<(u64, Option<u64>)> {
    match text.split_once('/') {
        Some((count, total)) => {
            let total = total.trim().parse().ok()?;
            Some((count.trim().parse().ok()?, Some(total)))
        }
        None => Some((text.trim().parse().ok()?, None)),
    }
}
