//! Summarises a file of any family.

use super::families::{DocumentFamily, detect_family, phase_word, stated_phase, stated_total};
use super::{OrchestrationMeta, plan_file};
use crate::finding::Finding;
use crate::json::JsonDocument;
use bowline_machines::orchestrate::{LandingOutcome, NodeStatus};
use serde_json::Value;
use std::collections::HashSet;

/// The summary of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct OrchestrationSummary {
    pub meta: OrchestrationMeta,
    /// Path of the plan it names, as written.
    pub plan_file: Option<String>,
    /// Number of done tasks: those it lists, or the count it states.
    pub done: usize,
    /// Number of all tasks known to the file.
    pub total: usize,
    /// True if the file states a total; otherwise `total` only counts the tasks it names.
    pub counted: bool,
    /// Current phase as in the file; a number if it can be parsed as one.
    pub phase: Value,
    /// Numbers of the phases that are done.
    pub phases_done: Vec<u32>,
    /// Ids by list. An id in several lists is in the most advanced one only.
    pub lists: Vec<(NodeStatus, Vec<String>)>,
    /// Counts that the file states without ids, by the name of the list, and `total`.
    pub counts: Vec<(String, u64)>,
    pub findings: Vec<Finding>,
}

impl OrchestrationSummary {
    /// True if the file alone shows that everything is done: it says so, or it states a total that
    /// is reached.
    pub fn is_finished(&self) -> bool {
        let says_done = self.phase.is_string() && phase_word(&self.phase) == Some(u32::MAX);
        says_done || (self.counted && self.done > 0 && self.done == self.total)
    }

    /// True if it has no tasks and no done phases.
    pub fn is_untouched(&self) -> bool {
        self.done == 0
            && self.phases_done.is_empty()
            && self.lists.iter().all(|(_, ids)| ids.is_empty())
    }

    /// Returns the ids of a list.
    pub fn ids_with_status(&self, status: NodeStatus) -> &[String] {
        let found = self.lists.iter().find(|(of, _)| *of == status);
        found.map_or(&[], |(_, ids)| ids)
    }
}

/// Summarises a file.
pub fn summarise_document(document: &JsonDocument) -> Result<OrchestrationSummary, Vec<Finding>> {
    let read = super::read_facts(document)?;
    let new = match detect_family(document.value()) {
        DocumentFamily::Other(value, _) => value,
        DocumentFamily::Lists | DocumentFamily::Foreign => document.value().clone(),
    };
    let facts = &read.state.facts;
    let merged = facts.phases.iter().filter(|phase| {
        phase
            .landing
            .as_ref()
            .is_some_and(LandingOutcome::has_landed)
    });
    let mut phases_done: Vec<u32> = merged.clone().map(|phase| phase.number).collect();
    phases_done.sort_unstable();
    phases_done.dedup();
    // The most advanced list first: a completed task is in no other list.
    let strongest = [
        NodeStatus::Completed,
        NodeStatus::Failed,
        NodeStatus::InProgress,
        NodeStatus::Ready,
        NodeStatus::Blocked,
        NodeStatus::Pending,
    ];
    let recorded = merged
        .flat_map(|phase| &phase.tasks)
        .map(|id| (id, NodeStatus::Completed));
    let claims: Vec<(&str, NodeStatus)> = facts
        .claims
        .iter()
        .map(|(id, status)| (id, *status))
        .chain(recorded)
        .map(|(id, status)| (&**id, status))
        .collect();
    let mut seen: HashSet<&str> = HashSet::new();
    let mut lists = Vec::new();
    for status in strongest {
        let here = claims
            .iter()
            .filter(|(_, of)| *of == status)
            .map(|(id, _)| *id);
        let ids: Vec<String> = here
            .filter(|id| seen.insert(id))
            .map(str::to_owned)
            .collect();
        lists.push((status, ids));
    }
    let numbers = new
        .pointer("/bookkeeping/counts")
        .and_then(Value::as_object);
    let counts: Vec<(String, u64)> = numbers
        .into_iter()
        .flatten()
        .filter_map(|(name, number)| Some((name.clone(), number.as_u64()?)))
        .collect();
    let number = |name: &str| {
        let found = counts.iter().find(|(of, _)| of == name);
        found
            .and_then(|(_, number)| usize::try_from(*number).ok())
            .unwrap_or(0)
    };
    let stated = stated_total(document.value());
    let listed = lists
        .first()
        .map_or(0, |(_, ids): &(NodeStatus, Vec<String>)| ids.len());
    let done = listed.max(number("completed"));
    Ok(OrchestrationSummary {
        meta: OrchestrationMeta::from_document(document.value()),
        plan_file: plan_file(document.value()).map(str::to_owned),
        done,
        // A list given only as a count counts, too.
        total: lists
            .iter()
            .map(|(status, ids)| ids.len().max(number(status.name())))
            .sum::<usize>()
            .max(number("total"))
            .max(stated),
        counted: number("total") > 0 || stated > 0,
        phase: phase_value(document.value()),
        phases_done,
        lists,
        counts,
        findings: read.findings,
    })
}

/// Returns the phase of the file: a number if it can be parsed as one, the original value
/// otherwise.
fn phase_value(value: &Value) -> Value {
    let stated = stated_phase(value).cloned().unwrap_or(Value::Null);
    match phase_word(&stated) {
        Some(u32::MAX) | None => stated,
        Some(number) => number.into(),
    }
}

/// Returns a document with webhook URLs masked wherever they stand, so that it can be shown.
pub fn mask_webhooks(value: &Value) -> Value {
    mask_value(value, false)
}

fn mask_value(value: &Value, secret: bool) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let secret = secret || key.to_ascii_lowercase().contains("webhook");
                (key.clone(), mask_value(value, secret))
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| mask_value(item, secret)).collect(),
        Value::String(text) if secret || text.contains("hooks.slack.com/") => "***".into(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
