//! Writes a run into its document: unchanged values keep their place and spelling.

use super::check::{progress_text, says_average};
use super::families::phase_word;
use super::read::{UNKNOWN_TIME, time_from_average};
use super::{VERSION, VERSION_MAJOR, phase_of_id};
use crate::document_reader::{put_time, put_value, put_version, take_list, take_object};
use crate::json::child_pointer;
use crate::time::format_utc;
use bowline_machines::Timestamp;
use bowline_machines::orchestrate::{
    LandingOutcome, NodeId, NodeStatus, OrchestrationState, PhaseState, TaskNode,
};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Writes the run into a document of this version.
pub(super) fn write_run(run: &OrchestrationState, value: &mut Value, at: Timestamp) {
    put_version(value, VERSION_MAJOR, VERSION);
    write_execution(run, value, at);
    for status in NodeStatus::ALL {
        let place = child_pointer("/tasks", status.name());
        let old = take_list(value, &place);
        put_value(value, &place, status_list(&old, run, status));
    }
    write_dependencies(run, value);
    if value.get("checkpoints").is_none() {
        put_value(value, "/checkpoints", Map::new());
    }
    for phase in run.phases() {
        write_checkpoint(run, phase, value);
    }
    write_metrics(run, value);
    let config = run.run_limits();
    put_value(value, "/config/max_parallel", config.max_parallel);
    put_value(value, "/config/retry_limit", config.retry_limit);
    write_bookkeeping(run, value);
}

/// Returns the list of a status: ids that are in it and belong there keep their order, the others
/// follow.
pub(super) fn status_list(
    old: &[Value],
    run: &OrchestrationState,
    status: NodeStatus,
) -> Vec<Value> {
    let belonging = || run.nodes().filter(|(_, node)| node.status == status);
    let named = old.iter().map(Value::as_str);
    if named.eq(belonging().map(|(id, _)| Some(&**id))) {
        return old.to_vec();
    }
    let mut seen: HashSet<&str> = HashSet::with_capacity(old.len());
    let mut kept = Vec::with_capacity(run.count_status(status));
    for id in old.iter().filter_map(Value::as_str) {
        let belongs = run.find_node(id).is_some_and(|node| node.status == status);
        if belongs && seen.insert(id) {
            kept.push(Value::from(id));
        }
    }
    if kept.len() < run.count_status(status) {
        let new = belonging().filter(|(id, _)| !seen.contains::<str>(id));
        kept.extend(new.map(|(id, _)| Value::from(&**id)));
    }
    kept
}

fn write_execution(run: &OrchestrationState, value: &mut Value, at: Timestamp) {
    let stated_phase = value.pointer("/execution/current_phase").cloned();
    let stated_phase = stated_phase.filter(|it| !it.is_null());
    let current = run.current_phase();
    // An unknown word is kept for other programs.
    if let Some(word) = stated_phase.as_ref().filter(|it| phase_word(it).is_none()) {
        put_value(value, "/bookkeeping/phase_word", word.clone());
    }
    let behind = stated_phase.as_ref().and_then(Value::as_u64) > Some(current.into());
    // Behind the last phase there is nothing; a number that says so is kept.
    if !(run.all_done() && behind) {
        put_value(value, "/execution/current_phase", current);
    }
    put_value(value, "/execution/worktree", run.worktree_path());
    if run.started_at() != UNKNOWN_TIME {
        put_time(
            value,
            "/execution/started_at",
            Some(run.started_at()),
            format_utc,
        );
    } else if let Some(Value::Object(execution)) = value.get_mut("execution") {
        execution.retain(|key, _| key != "started_at");
    }
    put_time(value, "/execution/last_updated", Some(at), format_utc);
}

fn write_dependencies(run: &OrchestrationState, value: &mut Value) {
    let graph = run.graph();
    let mut old = take_object(value, "/dependencies");
    old.retain(|id, _| graph.contains(id));
    for id in graph.ids() {
        let needs = graph.dependencies_of(id);
        let same = match old.get(&**id) {
            Some(Value::Array(items)) => same_ids(items, &needs),
            Some(_) => false,
            None => needs.is_empty(),
        };
        if !same {
            let needs: Vec<Value> = needs.iter().map(|id| Value::from(&**id)).collect();
            old.insert(id.to_string(), needs.into());
        }
    }
    put_value(value, "/dependencies", old);
}

fn write_checkpoint(run: &OrchestrationState, phase: &PhaseState, value: &mut Value) {
    let place = format!("/checkpoints/phase_{}", phase.number);
    let field = |name: &str| child_pointer(&place, name);
    let known = value.pointer(&place).is_some_and(Value::is_object);
    // A phase passed before the file recorded phases has no data.
    if !known && phase.started_at.is_none() && phase.completed_at.is_none() {
        let has_landing_outcome = matches!(
            phase.landing,
            Some(LandingOutcome::Merged { .. } | LandingOutcome::Unmerged)
        );
        if !has_landing_outcome {
            return;
        }
    }
    let finished = phase.is_finished();
    let there = |value: &Value, name: &str| value.pointer(&field(name)).is_some();
    if phase.started_at.is_some() || there(value, "started_at") {
        put_time(value, &field("started_at"), phase.started_at, format_utc);
    }
    if phase.completed_at.is_some() {
        put_time(
            value,
            &field("completed_at"),
            phase.completed_at,
            format_utc,
        );
    }
    if (!finished && phase.started_at.is_some()) || there(value, "progress") {
        let progress = progress_text(phase.completed, phase.total);
        put_value(value, &field("progress"), progress);
    }
    if finished {
        write_tasks(run, phase, value, &place);
    }
    match &phase.landing {
        Some(LandingOutcome::Merged { commit }) => {
            put_value(value, &field("merged"), true);
            put_value(value, &field("merge_commit"), &**commit);
        }
        Some(LandingOutcome::Unmerged) => put_value(value, &field("merged"), false),
        Some(LandingOutcome::WithoutMerge) | None => {
            // An earlier attempt that failed is obsolete. An earlier landing is not, even of a
            // phase that is open again.
            if value.pointer(&field("merged")) == Some(&Value::Bool(false))
                && let Some(Value::Object(map)) = value.pointer_mut(&place)
            {
                map.retain(|key, _| key != "merged");
            }
        }
    }
}

fn write_tasks(run: &OrchestrationState, phase: &PhaseState, value: &mut Value, place: &str) {
    let (list, count) = (
        child_pointer(place, "tasks"),
        child_pointer(place, "tasks_count"),
    );
    let ids = run.graph().tasks_of(phase.number);
    let same = match value.pointer(&list) {
        Some(Value::Array(items)) => same_ids(items, &ids),
        // The short form: the number of tasks.
        Some(Value::Number(number)) => number.as_u64() == u64::try_from(ids.len()).ok(),
        Some(_) | None => false,
    };
    if same {
        return;
    }
    let ids: Vec<Value> = ids.iter().map(|id| Value::from(&**id)).collect();
    put_value(value, &count, ids.len());
    put_value(value, &list, ids);
}

fn write_metrics(run: &OrchestrationState, value: &mut Value) {
    let metrics = run.metrics();
    put_value(value, "/metrics/total_tasks", metrics.total_tasks);
    put_value(value, "/metrics/completed_count", metrics.completed_count);
    put_value(value, "/metrics/failed_count", metrics.failed_count);
    let place = "/metrics/average_task_time_seconds";
    if !says_average(value.pointer(place), metrics.average_task_time_seconds) {
        put_value(value, place, metrics.average_task_time_seconds);
    }
}

fn write_bookkeeping(run: &OrchestrationState, value: &mut Value) {
    let mut book = take_object(value, "/bookkeeping");
    let time = run.task_time();
    let average = value.pointer("/metrics/average_task_time_seconds");
    // Values that follow from the average are not stored twice.
    let derivable = time_from_average(average, run.count_status(NodeStatus::Completed)) == time;
    if !derivable || book.contains_key("timed_tasks") {
        book.insert("task_seconds".into(), time.seconds.into());
        book.insert("timed_tasks".into(), time.tasks.into());
    }
    let mut old = match book.get_mut("tasks") {
        Some(Value::Object(map)) => std::mem::take(map),
        Some(_) | None => Map::new(),
    };
    let mut tasks = Map::new();
    for (id, node) in run.nodes() {
        let known = old.swap_remove(&**id);
        let graph = run.graph();
        let place = (graph.phase_of(id), graph.section_of(id));
        if let Some(item) = task_note(node, id, place, known) {
            tasks.insert(id.to_string(), item.into());
        }
    }
    if tasks.is_empty() {
        book.retain(|key, _| key != "tasks");
    } else {
        book.insert("tasks".into(), tasks.into());
    }
    if let Value::Object(map) = value {
        if book.is_empty() {
            map.retain(|key, _| key != "bookkeeping");
        } else {
            map.insert("bookkeeping".into(), book.into());
        }
    }
}

/// Returns the stored data of one task; `None` for most.
fn task_note(
    node: &TaskNode,
    id: &str,
    (phase, section): (Option<u32>, Option<u32>),
    known: Option<Value>,
) -> Option<Map<String, Value>> {
    let phase = phase.unwrap_or(0);
    let section = section.filter(|&section| section > 0);
    let phase_in_id = phase_of_id(id).unwrap_or(0) == phase;
    let quiet =
        node.attempts == 0 && node.started_at.is_none() && node.error.is_none() && phase_in_id;
    if quiet && section.is_none() && known.is_none() {
        return None;
    }
    let mut item = Value::Object(match known {
        Some(Value::Object(map)) => map,
        Some(_) | None => Map::new(),
    });
    if let Some(at) = node.started_at {
        put_time(&mut item, "/started_at", Some(at), format_utc);
    }
    let Value::Object(map) = &mut item else {
        return None;
    };
    let mut keep = |name: &str, value: Option<Value>| match value {
        Some(value) => drop(map.insert(name.into(), value)),
        None => map.retain(|key, _| key != name),
    };
    keep(
        "attempts",
        (node.attempts > 0).then(|| node.attempts.into()),
    );
    keep("error", node.error.as_deref().map(Value::from));
    keep("phase", (!phase_in_id).then(|| phase.into()));
    keep("section", section.map(Value::from));
    if node.started_at.is_none() {
        keep("started_at", None);
    }
    (!map.is_empty()).then(|| std::mem::take(map))
}

/// True if a list names exactly these ids, in any order and however often.
fn same_ids(items: &[Value], ids: &[NodeId]) -> bool {
    let named = || items.iter().map(Value::as_str);
    if named().eq(ids.iter().map(|id| Some(&**id))) {
        return true;
    }
    let known: Option<HashSet<&str>> = named().collect();
    known.is_some_and(|it| it.len() == ids.len() && ids.iter().all(|id| it.contains::<str>(id)))
}
