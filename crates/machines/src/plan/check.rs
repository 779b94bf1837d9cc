//! Invariants of plans: of new ones before they are accepted, and of every memory at any time.

use super::{ActiveTask, PlanStep, PlanTaskStatus, Refusal, StepStatus, TRIES_MAX, TaskMemory};
use crate::dag::{AdjacencyList, find_cycle};
use crate::kernel::{RefusalSubject, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// The rule that no repair can restore: it is unknown which dependency is the wrong one.
pub const PLAN_HAS_NO_CYCLE: &str = "plan_has_no_cycle";

/// Refuses ids that are not unique and dependencies that are missing or form a cycle.
pub(super) fn check_dependencies(steps: &[PlanStep]) -> Result<(), Refusal> {
    let mut places = BTreeMap::new();
    for (place, step) in (0u32..).zip(steps) {
        if step.id == 0 {
            return Err(Refusal::BadStepId);
        }
        if places.insert(step.id, place).is_some() {
            return Err(Refusal::DuplicateId {
                what: RefusalSubject::Step,
                id: step.id.to_string(),
            });
        }
    }
    let mut edges = Vec::new();
    for (place, step) in (0u32..).zip(steps) {
        for dependency in &step.dependencies {
            let Some(&to) = places.get(dependency) else {
                return Err(Refusal::MissingDependency {
                    id: step.id,
                    missing: *dependency,
                });
            };
            edges.push((place, to));
        }
    }
    match find_cycle(&AdjacencyList::new(steps.len(), &edges)) {
        Some(path) => Err(Refusal::CircularDependency {
            path: path.iter().map(|&place| steps[place as usize].id).collect(),
        }),
        None => Ok(()),
    }
}

/// Returns the invariants that do not hold; all of them hold in every memory that commands can
/// reach.
pub(super) fn find_violations(memory: &TaskMemory) -> Vec<Violation> {
    let mut found = ViolationList(Vec::new());
    let mut ids = BTreeSet::new();
    let current = memory
        .current
        .iter()
        .map(|task| (&task.id, &task.plan.steps));
    let queued = memory
        .queue
        .iter()
        .map(|queued| (&queued.id, &queued.plan.steps));
    for (id, steps) in current.chain(queued) {
        if !ids.insert(id) {
            found.note_violation("task_ids_unique", id, "is there twice".into());
        }
        if let Err(refusal) = check_dependencies(steps) {
            let circle = matches!(refusal, Refusal::CircularDependency { .. });
            let rule = if circle {
                PLAN_HAS_NO_CYCLE
            } else {
                "plan_is_sound"
            };
            found.note_violation(rule, id, refusal.to_string());
        }
    }
    for queued in &memory.queue {
        let begun = |step: &&PlanStep| step.status != StepStatus::Pending;
        if let Some(step) = queued.plan.steps.iter().find(begun) {
            let detail = format!("waits, but step {} was begun", step.id);
            found.note_violation("waiting_task_is_not_begun", &queued.id, detail);
        }
    }
    if let Some(task) = &memory.current {
        task_violations(task, &mut found);
        for step in &task.plan.steps {
            step_violations(task, step, &mut found);
        }
    }
    found.0
}

struct ViolationList(Vec<Violation>);

impl ViolationList {
    fn note_violation(&mut self, rule: &'static str, place: &str, detail: String) {
        self.0.push(Violation {
            rule,
            place: place.into(),
            detail,
        });
    }
}

fn task_violations(task: &ActiveTask, found: &mut ViolationList) {
    let id = &task.id;
    match task.status {
        PlanTaskStatus::Completed | PlanTaskStatus::Cancelled => {
            let detail = format!("is {} but not in the history", task.status.name());
            found.note_violation("current_task_is_open", id, detail);
        }
        PlanTaskStatus::Pending => {
            let begun = |step: &&PlanStep| step.status != StepStatus::Pending;
            if let Some(step) = task.plan.steps.iter().find(begun) {
                let detail = format!("is pending, but step {} was begun", step.id);
                found.note_violation("pending_task_is_not_begun", id, detail);
            }
        }
        PlanTaskStatus::InProgress | PlanTaskStatus::Failed | PlanTaskStatus::Paused => {}
    }
    let waiting = task.issues.iter().filter(|issue| issue.waits_for_person());
    if (waiting.clone().count() > 0) != (task.status == PlanTaskStatus::Failed) {
        let detail = format!(
            "is {} with {} escalated issues",
            task.status.name(),
            waiting.clone().count()
        );
        found.note_violation("unresolved_escalation_exactly_when_failed", id, detail);
    }
    for issue in waiting {
        let status = task.plan.find_step(issue.step_id).map(|step| step.status);
        if status != Some(StepStatus::Failed) {
            let detail = format!("step {} was escalated but is not failed", issue.step_id);
            found.note_violation("escalated_step_is_failed", id, detail);
        }
    }
    for issue in &task.issues {
        if issue.resolved != issue.resolved_at.is_some() {
            let detail = format!("issue of step {}", issue.step_id);
            found.note_violation("resolved_at_exactly_when_resolved", id, detail);
        }
    }
    if task.updated_at < task.started_at {
        found.note_violation("times_in_order", id, "was changed before it started".into());
    }
}

fn step_violations(task: &ActiveTask, step: &PlanStep, found: &mut ViolationList) {
    let place = format!("step {}", step.id);
    let mut note = |rule, detail: String| found.note_violation(rule, &place, detail);
    let status = step.status.name();
    let begun = step.status != StepStatus::Pending;
    let missing = task.plan.missing_dependencies(step);
    if begun && !missing.is_empty() {
        let detail = format!("is {status} although steps {missing:?} are not completed");
        note("begun_step_has_completed_dependencies", detail);
    }
    if step.retries > TRIES_MAX {
        note(
            "retries_within_limit",
            format!("retries is {}", step.retries),
        );
    }
    if step.error.is_some() != (step.status == StepStatus::Failed) {
        note("error_exactly_when_failed", format!("is {status}"));
    }
    if let Some(error) = &step.error
        && error.retries != step.retries
    {
        let detail = format!("error says {}, step says {}", error.retries, step.retries);
        note("error_counts_like_its_step", detail);
    }
    if step.started_at.is_some() != begun {
        note("started_at_exactly_when_begun", format!("is {status}"));
    }
    if step.completed_at.is_some() != (step.status == StepStatus::Completed) {
        note(
            "completed_at_exactly_when_completed",
            format!("is {status}"),
        );
    }
    if step.completed_at < step.started_at && step.completed_at.is_some() {
        note("times_in_order", "ends before it starts".into());
    }
}
