//! `task-history.json`: tasks that have ended, and statistics of them.

use super::parts::{read_artifacts, write_artifacts};
use super::{VERSION, VERSION_MAJOR};
use crate::StateFormat;
use crate::document_reader::{DocumentReader, put_time, put_value, put_version, take_list};
use crate::finding::{Finding, ReadResult, Severity};
use crate::foreign::refuse_foreign;
use crate::json::{JsonDocument, child_pointer};
use crate::time::format_utc;
use bowline_machines::Timestamp;
use bowline_machines::plan::{
    HistoryDetails, HistoryEntry, HistoryMetrics, TaskResult, compute_statistics,
};
use bowline_words::message::FileFinding;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet, VecDeque};

/// Name of the file in the memory folder.
pub const FILE_NAME: &str = "task-history.json";

/// Members that remain of an old entry.
const SUMMARY_KEYS: [&str; 7] = [
    "id",
    "name",
    "result",
    "started_at",
    "completed_at",
    "duration_seconds",
    "summary",
];
const DETAIL_KEYS: [&str; 3] = ["artifacts", "metrics", "lessons"];

/// The format of `task-history.json`.
#[derive(Debug, Clone, Copy)]
pub struct TaskHistoryFile;

/// Creates a file without entries.
pub fn new_document() -> JsonDocument {
    let mut value = json!({});
    TaskHistoryFile::write_state(&Vec::new(), &mut value, Timestamp(0));
    JsonDocument::new(value)
}

impl StateFormat for TaskHistoryFile {
    type State = Vec<HistoryEntry>;
    const KIND: &'static str = "task-history";

    fn read_state(document: &JsonDocument) -> Result<ReadResult<Vec<HistoryEntry>>, Vec<Finding>> {
        let mut reading = DocumentReader::new(document)?;
        refuse_foreign(document, &["/version", "/tasks", "/statistics"])?;
        // Without the list the history is lost; creating an empty one would hide that.
        if !reading.get("/tasks").is_some_and(Value::is_array) {
            let message = FileFinding::NoTaskList;
            return Err(reading.give_up("/tasks", "missing_field", message));
        }
        reading.check_version(VERSION_MAJOR, VERSION);
        let good = reading.read_objects("/tasks");
        let mut ids = HashSet::new();
        let mut entries = Vec::with_capacity(good.len());
        for &index in &good {
            let place = format!("/tasks/{index}");
            let entry = read_entry(&mut reading, &place);
            if !ids.insert(entry.id.clone()) {
                let message = FileFinding::TaskTwice {
                    id: entry.id.clone(),
                };
                reading.add_finding(Severity::Warning, "duplicate_id", &place, message, None);
            }
            entries.push(entry);
        }
        reading.retain_items("/tasks", &good);
        check_statistics(&mut reading, &entries);
        Ok(reading.finish(entries))
    }

    /// The file has no time of its own; `_at` is not used.
    fn write_state(entries: &Vec<HistoryEntry>, value: &mut Value, _at: Timestamp) {
        put_version(value, VERSION_MAJOR, VERSION);
        let mut old: HashMap<String, VecDeque<Value>> = HashMap::new();
        for item in take_list(value, "/tasks") {
            let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
            old.entry(id.to_owned()).or_default().push_back(item);
        }
        let mut items = Vec::with_capacity(entries.len());
        for entry in entries {
            let known = old.get_mut(&entry.id).and_then(VecDeque::pop_front);
            let mut item = known.unwrap_or_else(|| json!({}));
            write_entry(&mut item, entry);
            items.push(item);
        }
        put_value(value, "/tasks", items);
        for (name, number) in statistic_values(entries) {
            let place = child_pointer("/statistics", name);
            if !holds_number(value.pointer(&place), number) {
                put_value(value, &place, number_value(number));
            }
        }
    }
}

fn read_entry(reading: &mut DocumentReader<'_>, place: &str) -> HistoryEntry {
    let field = |name: &str| child_pointer(place, name);
    let ended = reading.seen_time(&field("completed_at"));
    let started_at = reading.read_time_or(
        &field("started_at"),
        ended.unwrap_or(Timestamp(0)),
        format_utc,
    );
    let completed_at = reading.read_time_or(&field("completed_at"), started_at, format_utc);
    let spent = completed_at.seconds_since(started_at);
    let duration = reading.read_whole(&field("duration_seconds"));
    let duration_seconds = match duration.and_then(|it| i64::try_from(it).ok()) {
        Some(seconds) => seconds,
        None => {
            reading.fill_missing(&field("duration_seconds"), spent.into());
            spent
        }
    };
    let has_details = DETAIL_KEYS
        .iter()
        .any(|key| reading.get(&field(key)).is_some());
    HistoryEntry {
        id: reading.read_text(
            &field("id"),
            &format!("task-{}-001", &format_utc(started_at)[..10]),
        ),
        name: reading.read_text(&field("name"), ""),
        result: reading.read_word(
            &field("result"),
            &TaskResult::ALL,
            TaskResult::name,
            TaskResult::Partial,
        ),
        started_at,
        completed_at,
        duration_seconds,
        summary: reading.read_text(&field("summary"), ""),
        details: has_details.then(|| read_details(reading, place)),
    }
}

fn read_details(reading: &mut DocumentReader<'_>, place: &str) -> HistoryDetails {
    let field = |name: &str| child_pointer(place, name);
    let number = |name: &str| format!("{place}/metrics/{name}");
    let artifacts = read_artifacts(reading, &field("artifacts"));
    let mut metrics = HistoryMetrics::default();
    if reading.read_object(&field("metrics")).is_some() {
        let count =
            |reading: &mut DocumentReader<'_>, name: &str| reading.read_count_or(&number(name), 0);
        metrics = HistoryMetrics {
            steps_total: count(reading, "steps_total") as usize,
            steps_completed: count(reading, "steps_completed") as usize,
            retries: count(reading, "retries"),
            tokens_used: reading.read_whole(&number("tokens_used")),
        };
    } else {
        let mut value = json!({});
        write_metrics(&mut value, "", &metrics);
        reading.set_repaired(&field("metrics"), value);
    }
    HistoryDetails {
        artifacts,
        metrics,
        lessons: reading.read_texts(&field("lessons")),
    }
}

fn write_entry(item: &mut Value, entry: &HistoryEntry) {
    put_value(item, "/id", entry.id.clone());
    put_value(item, "/name", entry.name.clone());
    put_value(item, "/result", entry.result.name());
    put_time(item, "/started_at", Some(entry.started_at), format_utc);
    put_time(item, "/completed_at", Some(entry.completed_at), format_utc);
    put_value(item, "/duration_seconds", entry.duration_seconds);
    put_value(item, "/summary", entry.summary.clone());
    match &entry.details {
        Some(details) => {
            write_artifacts(item, "/artifacts", &details.artifacts);
            write_metrics(item, "/metrics", &details.metrics);
            put_value(item, "/lessons", details.lessons.clone());
        }
        None => {
            if let Value::Object(map) = item
                && DETAIL_KEYS.iter().any(|key| map.contains_key(*key))
            {
                map.retain(|key, _| SUMMARY_KEYS.contains(&key.as_str()));
            }
        }
    }
}

fn write_metrics(item: &mut Value, place: &str, metrics: &HistoryMetrics) {
    let field = |name: &str| child_pointer(place, name);
    put_value(item, &field("steps_total"), metrics.steps_total);
    put_value(item, &field("steps_completed"), metrics.steps_completed);
    put_value(item, &field("retries"), metrics.retries);
    // Always written, `null` if unknown, so that programs can sum it without a check.
    put_value(item, &field("tokens_used"), metrics.tokens_used);
}

fn check_statistics(reading: &mut DocumentReader<'_>, entries: &[HistoryEntry]) {
    reading.read_object("/statistics");
    for (name, number) in statistic_values(entries) {
        let place = child_pointer("/statistics", name);
        if !holds_number(reading.get(&place), number) {
            reading.check_derived(&place, number_value(number));
        }
    }
}

fn statistic_values(entries: &[HistoryEntry]) -> [(&'static str, f64); 3] {
    let all = compute_statistics(entries);
    [
        ("total_tasks", all.total_tasks as f64),
        ("success_rate", all.success_rate),
        ("avg_duration_seconds", all.avg_duration_seconds as f64),
    ]
}

/// True if a field holds a number, exactly or rounded to two, three or four decimals.
fn holds_number(found: Option<&Value>, number: f64) -> bool {
    let Some(found) = found.and_then(Value::as_f64) else {
        return false;
    };
    let rounded = [1e2, 1e3, 1e4].map(|scale| (number * scale).round() / scale);
    found == number || rounded.contains(&found)
}

/// Formats a number as people write it: `8`, not `8.0`.
fn number_value(number: f64) -> Value {
    let whole = (number.fract() == 0.0).then(|| format!("{number:.0}").parse::<i64>().ok());
    whole.flatten().map_or_else(|| number.into(), Value::from)
}
