//! `task-state.json`: the current task and the queue.

use super::parts::{
    read_artifacts, read_context, read_plan, write_artifacts, write_context, write_plan,
};
use super::{VERSION, VERSION_MAJOR, last_updated};
use crate::StateFormat;
use crate::document_reader::{
    DocumentReader, put_later, put_list, put_time, put_value, put_version, rule_broken, take_list,
};
use crate::finding::{Finding, ReadResult, Severity};
use crate::foreign::refuse_foreign;
use crate::json::{JsonDocument, child_pointer};
use crate::time::format_utc;
use bowline_machines::plan::{
    ActiveTask, FailureKind, IssueResolution, ORCHESTRATOR_DEFAULT, PLAN_HAS_NO_CYCLE, PlanMachine,
    PlanStep, PlanTaskStatus, QueuedTask, StepError, StepIssue, StepStatus, TRIES_MAX, TaskMemory,
};
use bowline_machines::{Machine as _, Timestamp, Violation};
use bowline_words::message::{FileFinding, Kind, Repair};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Name of the file in the memory folder.
pub const FILE_NAME: &str = "task-state.json";

/// Maximum rounds of repairs: repairing one rule may break another, but no cycle of the rules is
/// longer.
const MEND_ROUNDS_MAX: usize = 4;

const OWN_PLACES: &[&str] = &[
    "/version",
    "/pending_tasks",
    "/current_task",
    "/current_task/plan",
];
const OWN_PLACES_OF_QUEUE: &[&str] = &["/version", "/pending_tasks"];

/// The format of `task-state.json`.
#[derive(Debug, Clone, Copy)]
pub struct TaskStateFile;

/// Creates a file without tasks.
pub fn new_document(at: Timestamp) -> JsonDocument {
    let mut value = json!({});
    TaskStateFile::write_state(&TaskMemory::default(), &mut value, at);
    JsonDocument::new(value)
}

impl StateFormat for TaskStateFile {
    type State = TaskMemory;
    const KIND: &'static str = "task-state";

    fn read_state(document: &JsonDocument) -> Result<ReadResult<TaskMemory>, Vec<Finding>> {
        let mut reading = DocumentReader::new(document)?;
        // A current task given only by name is another program's format.
        let own = match document.value().get("current_task") {
            Some(Value::String(_)) => OWN_PLACES_OF_QUEUE,
            _ => OWN_PLACES,
        };
        refuse_foreign(document, own)?;
        match reading.get("/current_task") {
            Some(Value::Null | Value::Object(_)) => {}
            None if reading.get("/pending_tasks").is_some_and(Value::is_array) => {
                reading.fill_missing("/current_task", Value::Null);
            }
            // Reading this as "no task" would lose the task.
            Some(_) | None => {
                let message = FileFinding::NeitherTaskNorNull;
                return Err(reading.give_up("/current_task", "missing_field", message));
            }
        }
        reading.check_version(VERSION_MAJOR, VERSION);
        let current = reading
            .get("/current_task")
            .is_some_and(Value::is_object)
            .then(|| read_task(&mut reading));
        let latest = current.as_ref().map(|task| task.updated_at);
        let queue = read_queue(&mut reading, latest.unwrap_or(Timestamp(0)));
        last_updated(&mut reading, latest);
        let memory = TaskMemory { current, queue };
        let violations = PlanMachine::violations(&memory);
        let circle = violations.iter().find(|it| it.rule == PLAN_HAS_NO_CYCLE);
        if let Some(violation) = circle {
            let place = violation_pointer(&memory, violation);
            let message = rule_broken(violation);
            return Err(reading.give_up(&place, "circular_dependency", message));
        }
        check_rules(&mut reading, &memory);
        Ok(reading.finish(memory))
    }

    fn write_state(memory: &TaskMemory, value: &mut Value, at: Timestamp) {
        put_version(value, VERSION_MAJOR, VERSION);
        write_memory(memory, value);
        put_later(value, "/last_updated", at, format_utc);
    }
}

fn read_task(reading: &mut DocumentReader<'_>) -> ActiveTask {
    let place = "/current_task";
    let field = |name: &str| child_pointer(place, name);
    let known = reading
        .seen_time(&field("started_at"))
        .or(reading.seen_time(&field("updated_at")))
        .or(reading.seen_time("/last_updated"))
        .unwrap_or(Timestamp(0));
    let started_at = reading.read_time_or(&field("started_at"), known, format_utc);
    let updated_at = reading.read_time_or(&field("updated_at"), started_at, format_utc);
    let plan = read_plan(reading, &field("plan"), updated_at);
    let begun = |step: &PlanStep| step.status != StepStatus::Pending;
    let status = match plan.steps.iter().any(begun) {
        true => PlanTaskStatus::InProgress,
        false => PlanTaskStatus::Pending,
    };
    ActiveTask {
        id: reading.read_text(
            &field("id"),
            &format!("task-{}-001", &format_utc(started_at)[..10]),
        ),
        name: reading.read_text(&field("name"), ""),
        status: reading.read_word(
            &field("status"),
            &PlanTaskStatus::ALL,
            PlanTaskStatus::name,
            status,
        ),
        started_at,
        updated_at,
        orchestrator: reading.read_text(&field("orchestrator"), ORCHESTRATOR_DEFAULT),
        plan,
        context: read_context(reading, &field("context")),
        artifacts: read_artifacts(reading, &field("artifacts")),
        issues: read_issues(reading, &field("issues"), updated_at),
    }
}

fn read_issues(reading: &mut DocumentReader<'_>, list: &str, known: Timestamp) -> Vec<StepIssue> {
    let good = reading.read_objects(list);
    let mut issues = Vec::with_capacity(good.len());
    for &index in &good {
        let field = |name: &str| format!("{list}/{index}/{name}");
        let resolved_at = reading.read_time(&field("resolved_at"));
        let resolved = match reading.get(&field("resolved")) {
            None if resolved_at.is_none() => false,
            Some(_) | None => reading.read_flag(&field("resolved"), resolved_at.is_some()),
        };
        if resolved && resolved_at.is_none() {
            reading.fill_missing(&field("resolved_at"), format_utc(known).into());
        }
        issues.push(StepIssue {
            step_id: reading.read_count_or(&field("step_id"), 0),
            kind: reading.read_word(
                &field("type"),
                &FailureKind::ALL,
                FailureKind::name,
                FailureKind::Transient,
            ),
            message: reading.read_text(&field("message"), ""),
            resolution: reading.read_word(
                &field("resolution"),
                &IssueResolution::ALL,
                IssueResolution::name,
                IssueResolution::Retry,
            ),
            resolved,
            resolved_at: resolved_at.or(resolved.then_some(known)),
        });
    }
    reading.retain_items(list, &good);
    issues
}

fn read_queue(reading: &mut DocumentReader<'_>, known: Timestamp) -> Vec<QueuedTask> {
    let list = "/pending_tasks";
    let mut good = Vec::new();
    let mut queue = Vec::new();
    for (index, item) in reading.read_list(list).iter().enumerate() {
        let place = format!("{list}/{index}");
        let field = |name: &str| child_pointer(&place, name);
        match item {
            // The shape was not documented at first, so people put bare names here.
            Value::String(name) => {
                let queued = QueuedTask {
                    id: name.clone(),
                    name: name.clone(),
                    orchestrator: ORCHESTRATOR_DEFAULT.into(),
                    plan: Default::default(),
                    context: Default::default(),
                    created_at: known,
                };
                let mut value = json!({});
                write_queued(&mut value, &queued);
                let message = FileFinding::ShouldBeIs {
                    wanted: Kind::Object,
                    is: Kind::Text,
                };
                reading.repair_value(Severity::Warning, "wrong_type", &place, message, value);
                queue.push(queued);
            }
            Value::Object(_) => {
                let created_at = reading.read_time_or(&field("created_at"), known, format_utc);
                let name = reading.read_text(&field("name"), "");
                let day = &format_utc(created_at)[..10];
                let orchestrator = reading.read_optional_text(&field("orchestrator"));
                queue.push(QueuedTask {
                    id: reading.read_text(&field("id"), &format!("task-{day}-{:03}", index + 1)),
                    name,
                    orchestrator: orchestrator.unwrap_or_else(|| ORCHESTRATOR_DEFAULT.into()),
                    plan: read_plan(reading, &field("plan"), created_at),
                    context: read_context(reading, &field("context")),
                    created_at,
                });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                let message = FileFinding::ShouldBe {
                    wanted: Kind::Object,
                };
                reading.leave_out(&place, message);
                continue;
            }
        }
        good.push(index);
    }
    reading.retain_items(list, &good);
    queue
}

fn write_memory(memory: &TaskMemory, value: &mut Value) {
    match &memory.current {
        None => put_value(value, "/current_task", Value::Null),
        Some(task) => {
            let id = value.pointer("/current_task/id").and_then(Value::as_str);
            // For another task, no data of the previous one is kept.
            if id != Some(&task.id) {
                put_value(value, "/current_task", Map::new());
            }
            write_task(value, task);
        }
    }
    let mut old: HashMap<String, Value> = HashMap::new();
    for item in take_list(value, "/pending_tasks") {
        let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
        old.insert(id.to_owned(), item);
    }
    let mut items = Vec::with_capacity(memory.queue.len());
    for queued in &memory.queue {
        let mut item = old.remove(&queued.id).unwrap_or_else(|| json!({}));
        write_queued(&mut item, queued);
        items.push(item);
    }
    put_value(value, "/pending_tasks", items);
}

fn write_task(value: &mut Value, task: &ActiveTask) {
    let field = |name: &str| child_pointer("/current_task", name);
    put_value(value, &field("id"), task.id.clone());
    put_value(value, &field("name"), task.name.clone());
    put_value(value, &field("status"), task.status.name());
    put_time(
        value,
        &field("started_at"),
        Some(task.started_at),
        format_utc,
    );
    put_time(
        value,
        &field("updated_at"),
        Some(task.updated_at),
        format_utc,
    );
    put_value(value, &field("orchestrator"), task.orchestrator.clone());
    write_plan(value, &field("plan"), &task.plan);
    write_context(value, &field("context"), &task.context);
    write_artifacts(value, &field("artifacts"), &task.artifacts);
    put_list(value, &field("issues"), &task.issues, |item, issue| {
        put_value(item, "/step_id", issue.step_id);
        put_value(item, "/type", issue.kind.name());
        put_value(item, "/message", issue.message.clone());
        put_value(item, "/resolution", issue.resolution.name());
        put_value(item, "/resolved", issue.resolved);
        if issue.resolved_at.is_some() || item.get("resolved_at").is_some() {
            put_time(item, "/resolved_at", issue.resolved_at, format_utc);
        }
    });
}

fn write_queued(item: &mut Value, queued: &QueuedTask) {
    put_value(item, "/id", queued.id.clone());
    put_value(item, "/name", queued.name.clone());
    write_plan(item, "/plan", &queued.plan);
    write_context(item, "/context", &queued.context);
    put_time(item, "/created_at", Some(queued.created_at), format_utc);
    if queued.orchestrator != ORCHESTRATOR_DEFAULT || item.get("orchestrator").is_some() {
        put_value(item, "/orchestrator", queued.orchestrator.clone());
    }
}

/// Checks the machine's rules. Repairs that need no guess are applied to the state and written into
/// the repaired document like any other change.
fn check_rules(reading: &mut DocumentReader<'_>, memory: &TaskMemory) {
    let mut mended = memory.clone();
    for round in 0..MEND_ROUNDS_MAX {
        let broken = PlanMachine::violations(&mended);
        for violation in &broken {
            let repair = mended
                .current
                .as_mut()
                .and_then(|task| repair_violation(task, violation));
            if round == 0 {
                let place = violation_pointer(memory, violation);
                reading.add_violation(&place, violation, repair);
            }
        }
    }
    if mended != *memory {
        write_memory(&mended, reading.fixed_mut());
    }
}

fn violation_pointer(memory: &TaskMemory, violation: &Violation) -> String {
    let number = violation
        .place
        .strip_prefix("step ")
        .and_then(|it| it.parse().ok());
    let steps = memory.current.iter().flat_map(|task| &task.plan.steps);
    let step = number.and_then(|id: u32| steps.enumerate().find(|(_, step)| step.id == id));
    let waiting = || memory.queue.iter().position(|it| it.id == violation.place);
    match step {
        Some((index, _)) => format!("/current_task/plan/steps/{index}"),
        None if memory
            .current
            .as_ref()
            .is_some_and(|it| it.id == violation.place) =>
        {
            "/current_task".into()
        }
        None => waiting().map_or_else(String::new, |index| format!("/pending_tasks/{index}")),
    }
}

/// Repairs one violation of a task and returns the repair; `None` if only a person can decide.
fn repair_violation(task: &mut ActiveTask, violation: &Violation) -> Option<Repair> {
    let (started, updated) = (task.started_at, task.updated_at);
    if let Some(id) = violation.place.strip_prefix("step ") {
        let id: u32 = id.parse().ok()?;
        let step = task.plan.steps.iter_mut().find(|step| step.id == id)?;
        return mend_step(step, violation.rule, started, updated);
    }
    match violation.rule {
        "pending_task_is_not_begun" => task.status = PlanTaskStatus::InProgress,
        "times_in_order" => task.updated_at = started,
        "unresolved_escalation_exactly_when_failed" => {
            if task.status != PlanTaskStatus::Failed {
                task.status = PlanTaskStatus::Failed;
                return Some(status_to("failed"));
            }
            let failed = |step: &&PlanStep| step.status == StepStatus::Failed;
            let Some(step) = task.plan.steps.iter().find(failed) else {
                task.status = PlanTaskStatus::InProgress;
                return Some(Repair::NoStepFailed);
            };
            let error = step.error.as_ref();
            task.issues.push(StepIssue {
                step_id: step.id,
                kind: error.map_or(FailureKind::Transient, |error| error.kind),
                message: error.map_or_else(String::new, |error| error.message.clone()),
                resolution: IssueResolution::Escalate,
                resolved: false,
                resolved_at: None,
            });
            return Some(Repair::AddIssue { step: step.id });
        }
        "escalated_step_is_failed" => {
            let plan = &task.plan;
            for issue in task.issues.iter_mut().filter(|it| it.waits_for_person()) {
                let status = plan.find_step(issue.step_id).map(|step| step.status);
                if status != Some(StepStatus::Failed) {
                    issue.resolved = true;
                    issue.resolved_at = Some(updated);
                }
            }
            return Some(Repair::CallResolved);
        }
        "resolved_at_exactly_when_resolved" => {
            for issue in &mut task.issues {
                issue.resolved_at = issue
                    .resolved
                    .then_some(issue.resolved_at.unwrap_or(updated));
            }
            return Some(Repair::AgreeResolved);
        }
        _ => return None,
    }
    Some(match violation.rule {
        "times_in_order" => Repair::SetToField {
            field: "updated_at",
            other: "started_at",
        },
        _ => status_to("in_progress"),
    })
}

fn status_to(word: &str) -> Repair {
    Repair::SetTo {
        field: "status",
        value: word.into(),
    }
}

fn mend_step(
    step: &mut PlanStep,
    rule: &str,
    started: Timestamp,
    updated: Timestamp,
) -> Option<Repair> {
    let repair = match rule {
        "retries_within_limit" => {
            step.retries = TRIES_MAX;
            if let Some(error) = &mut step.error {
                error.retries = TRIES_MAX;
            }
            Repair::SetToLimit { field: "retries" }
        }
        "error_exactly_when_failed" if step.status == StepStatus::Failed => {
            step.error = Some(StepError {
                kind: FailureKind::Transient,
                message: String::new(),
                at: updated,
                retries: step.retries,
            });
            Repair::AddError
        }
        "error_exactly_when_failed" => {
            step.error = None;
            Repair::SetNull { field: "error" }
        }
        "error_counts_like_its_step" => {
            if let Some(error) = &mut step.error {
                error.retries = step.retries;
            }
            Repair::SetToField {
                field: "error.retries",
                other: "retries",
            }
        }
        "started_at_exactly_when_begun" if step.status == StepStatus::Pending => {
            step.started_at = None;
            Repair::SetNull {
                field: "started_at",
            }
        }
        "started_at_exactly_when_begun" => {
            step.started_at = Some(step.completed_at.map_or(started, |end| end.min(started)));
            Repair::StartOfTask
        }
        "completed_at_exactly_when_completed" if step.status == StepStatus::Completed => {
            step.completed_at = Some(step.started_at.map_or(updated, |it| it.max(updated)));
            Repair::EndOfTask
        }
        "completed_at_exactly_when_completed" => {
            step.completed_at = None;
            Repair::SetNull {
                field: "completed_at",
            }
        }
        "times_in_order" => {
            step.completed_at = step.started_at;
            Repair::SetToField {
                field: "completed_at",
                other: "started_at",
            }
        }
        _ => return None,
    };
    Some(repair)
}
