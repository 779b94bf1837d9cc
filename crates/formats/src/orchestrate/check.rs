//! Finds disagreements between the file and the run derived from it: lists, counts and progress.

use super::read::whole_seconds;
use crate::document_reader::DocumentReader;
use crate::finding::Severity;
use crate::json::child_pointer;
use bowline_machines::orchestrate::{NodeStatus, OrchestrationState};
use bowline_words::message::{FileFinding, Named, Repair};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Maximum number of ids in a message; the rest is given as a number.
const NAMED_IDS_MAX: usize = 5;

/// Adds a finding for every disagreement. The repaired document agrees with the run.
pub(super) fn check_document(reading: &mut DocumentReader<'_>, run: &OrchestrationState) {
    check_lists(reading, run);
    let current = run.current_phase();
    let stated_phase = reading
        .get("/execution/current_phase")
        .and_then(Value::as_u64);
    // Behind the last phase there is nothing; some files store the number of the next phase there.
    // Words are accepted and left unchanged.
    if stated_phase.is_some()
        && !(run.all_done() && stated_phase > Some(current.into()))
        && reading.get("/dependencies").is_some()
    {
        reading.check_derived("/execution/current_phase", current.into());
    }
    for phase in run.phases() {
        let place = format!("/checkpoints/phase_{}", phase.number);
        let progress = child_pointer(&place, "progress");
        if reading.get(&progress).is_some() {
            reading.check_derived(
                &progress,
                progress_text(phase.completed, phase.total).into(),
            );
        }
        if let Some(Value::Array(tasks)) = reading.get(&child_pointer(&place, "tasks"))
            && reading.get(&child_pointer(&place, "tasks_count")).is_some()
        {
            let known = |item: &&Value| item.as_str().is_some_and(|id| run.find_node(id).is_some());
            let count = tasks.iter().filter(known).count();
            reading.check_derived(&child_pointer(&place, "tasks_count"), count.into());
        }
    }
    if reading.get("/metrics").is_none() {
        return;
    }
    reading.read_object("/metrics");
    let metrics = run.metrics();
    let stated_total = reading.get("/metrics/total_tasks").and_then(Value::as_u64);
    // Without the graph the lists may lack tasks that the plan has.
    let more = stated_total > u64::try_from(metrics.total_tasks).ok();
    if reading.get("/dependencies").is_some() || !more {
        reading.check_derived("/metrics/total_tasks", metrics.total_tasks.into());
    }
    for (name, number) in [
        ("completed_count", metrics.completed_count),
        ("failed_count", metrics.failed_count),
    ] {
        reading.check_derived(&child_pointer("/metrics", name), number.into());
    }
    let place = "/metrics/average_task_time_seconds";
    if !says_average(reading.get(place), metrics.average_task_time_seconds) {
        reading.check_derived(place, metrics.average_task_time_seconds.into());
    }
}

/// Formats progress as `2/6`.
pub(super) fn progress_text(completed: usize, total: usize) -> String {
    format!("{completed}/{total}")
}

/// True if a field holds this average, ignoring fractions of a second.
pub(super) fn says_average(found: Option<&Value>, average: i64) -> bool {
    found.and_then(whole_seconds) == Some(average)
}

fn check_lists(reading: &mut DocumentReader<'_>, run: &OrchestrationState) {
    let mut listed: HashMap<&str, u8> = HashMap::with_capacity(run.graph().len());
    for (bit, status) in NodeStatus::ALL.into_iter().enumerate() {
        for item in list_at(reading, status) {
            if let Some(id) = item.as_str() {
                *listed.entry(id).or_insert(0) |= 1 << bit;
            }
        }
    }
    // Readiness is unknown without the graph, which the plan has. Then only tasks that are done or
    // in progress are checked.
    let has_dependencies = reading.get("/dependencies").is_some();
    let sure = |status: NodeStatus| {
        has_dependencies
            || matches!(
                status,
                NodeStatus::Completed | NodeStatus::Failed | NodeStatus::InProgress
            )
    };
    for status in NodeStatus::ALL {
        let place = child_pointer("/tasks", status.name());
        let items = list_at(reading, status);
        let (mut both, mut elsewhere, mut twice) = (vec![], vec![], vec![]);
        let mut seen = HashSet::with_capacity(items.len());
        for id in items.iter().filter_map(Value::as_str) {
            let Some(node) = run.find_node(id) else {
                continue;
            };
            let real = NodeStatus::ALL.iter().position(|it| *it == node.status);
            let there = real.is_some_and(|real| listed[id] & (1 << real) != 0);
            match node.status == status {
                _ if !seen.insert(id) => twice.push(id),
                true => {}
                false if there && sure(node.status) => both.push(id),
                false if sure(node.status) => elsewhere.push(id),
                false => {}
            }
        }
        let here = run.nodes().filter(|(_, node)| node.status == status);
        let unlisted: Vec<&str> = here
            .map(|(id, _)| &**id)
            .filter(|id| sure(status) && !listed.contains_key(id))
            .collect();
        let wrong = items.len() != seen.len() || !both.is_empty() || !elsewhere.is_empty();
        let notes = [
            ("duplicate_id", twice, Repair::KeepOne),
            ("overlapping_lists", both, Repair::TakeOutHere),
            ("derived_mismatch", elsewhere, Repair::Move),
            ("unlisted_task", unlisted, Repair::AddHere),
        ];
        for (code, ids, repair) in notes {
            if !ids.is_empty() {
                let ids = shorten_ids(&ids);
                let message = match repair {
                    Repair::KeepOne => FileFinding::ListedTwice { ids },
                    Repair::TakeOutHere => FileFinding::ListedInBoth { ids },
                    Repair::Move => FileFinding::ListedWrongly { ids },
                    _ => FileFinding::Unlisted { ids },
                };
                reading.add_finding(Severity::Warning, code, &place, message, Some(repair));
            }
        }
        let wanted = match sure(status) {
            true => super::write::status_list(items, run, status),
            false => still_open(items, run),
        };
        if wrong || (sure(status) && wanted.len() != items.len()) {
            reading.set_repaired(&place, wanted.into());
        }
    }
}

/// Returns the entries of a list of open tasks that may stay, each once, if the graph is not known.
fn still_open(items: &[Value], run: &OrchestrationState) -> Vec<Value> {
    let over = [
        NodeStatus::Completed,
        NodeStatus::Failed,
        NodeStatus::InProgress,
    ];
    let mut seen = HashSet::new();
    let ids = items.iter().filter_map(Value::as_str);
    let open = ids.filter(|id| {
        run.find_node(id)
            .is_some_and(|node| !over.contains(&node.status))
    });
    open.filter(|id| seen.insert(*id))
        .map(Value::from)
        .collect()
}

fn shorten_ids(ids: &[&str]) -> Named {
    let some = ids[..ids.len().min(NAMED_IDS_MAX)].join(", ");
    match ids.len().saturating_sub(NAMED_IDS_MAX) {
        0 if ids.len() == 1 => Named::One { id: some },
        0 => Named::Several { ids: some },
        more => Named::More { ids: some, more },
    }
}

/// Returns a list as the file has it; findings about its type were added before.
fn list_at<'d>(reading: &DocumentReader<'d>, status: NodeStatus) -> &'d [Value] {
    match reading.get(&child_pointer("/tasks", status.name())) {
        Some(Value::Array(items)) => items,
        Some(_) | None => &[],
    }
}
