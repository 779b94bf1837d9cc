//! Parts shared by current, queued and past tasks: plans, contexts and artifacts.

use crate::document_reader::{DocumentReader, put_list, put_time, put_value, take_list};
use crate::finding::Severity;
use crate::json::child_pointer;
use crate::time::format_utc;
use bowline_machines::Timestamp;
use bowline_machines::plan::{
    FailureKind, PlanStep, StepError, StepStatus, TaskArtifact, TaskContext, TaskPlan,
};
use bowline_words::message::{FileFinding, Kind, Repair};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};

/// Reads the plan at a place. `known` is the time used for errors without one.
pub(super) fn read_plan(
    reading: &mut DocumentReader<'_>,
    place: &str,
    known: Timestamp,
) -> TaskPlan {
    let field = |name: &str| child_pointer(place, name);
    reading.read_object(place);
    let goal = reading.read_text(&field("goal"), "");
    let success_criteria = reading.read_texts(&field("success_criteria"));
    let list = field("steps");
    let good = reading.read_objects(&list);
    let mut steps = Vec::with_capacity(good.len());
    for &index in &good {
        steps.push(read_step(reading, &format!("{list}/{index}"), index, known));
    }
    reading.retain_items(&list, &good);
    let plan = TaskPlan {
        goal,
        success_criteria,
        steps,
    };
    let current = plan.current_step().map_or(Value::Null, Value::from);
    reading.check_derived(&field("current_step"), current);
    plan
}

fn read_step(
    reading: &mut DocumentReader<'_>,
    place: &str,
    index: usize,
    known: Timestamp,
) -> PlanStep {
    let field = |name: &str| child_pointer(place, name);
    // Steps are numbered from 1 in the order of the file, so the position gives a missing number.
    let guess = u32::try_from(index + 1).unwrap_or(u32::MAX);
    let id = reading.read_count_or(&field("id"), guess);
    for name in ["started_at", "completed_at", "output", "error"] {
        reading.expect_field(&field(name));
    }
    let started_at = reading.read_time(&field("started_at"));
    let completed_at = reading.read_time(&field("completed_at"));
    let error = read_error(
        reading,
        &field("error"),
        completed_at.or(started_at).unwrap_or(known),
    );
    let status = match (&error, started_at, completed_at) {
        (Some(_), _, _) => StepStatus::Failed,
        (None, _, Some(_)) => StepStatus::Completed,
        (None, Some(_), None) => StepStatus::InProgress,
        (None, None, None) => StepStatus::Pending,
    };
    let status = reading.read_word(&field("status"), &StepStatus::ALL, StepStatus::name, status);
    let counted = error.as_ref().map_or(0, |error| error.retries);
    let retries = reading.read_optional_count(&field("retries"), counted);
    let earlier_retries = reading.read_optional_count(&field("earlier_retries"), 0);
    let output = reading.get(&field("output")).filter(|it| !it.is_null());
    PlanStep {
        id,
        name: reading.read_text(&field("name"), ""),
        agent: reading.read_text(&field("agent"), ""),
        cluster: reading.read_text(&field("cluster"), ""),
        status,
        dependencies: read_numbers(reading, &field("dependencies")),
        started_at,
        completed_at,
        output: output.map(Value::to_string),
        error,
        retries,
        earlier_retries,
    }
}

fn read_error(
    reading: &mut DocumentReader<'_>,
    place: &str,
    known: Timestamp,
) -> Option<StepError> {
    let field = |name: &str| child_pointer(place, name);
    match reading.get(place) {
        None | Some(Value::Null) => None,
        // A bare text has all that matters; only the shape is missing.
        Some(Value::String(text)) => {
            let error = StepError {
                kind: FailureKind::Transient,
                message: text.clone(),
                at: known,
                retries: 0,
            };
            let message = FileFinding::ShouldBeIs {
                wanted: Kind::Object,
                is: Kind::Text,
            };
            let value = error_value(&error);
            reading.repair_value(Severity::Warning, "wrong_type", place, message, value);
            Some(error)
        }
        Some(Value::Object(_)) => Some(StepError {
            kind: reading.read_word(
                &field("type"),
                &FailureKind::ALL,
                FailureKind::name,
                FailureKind::Transient,
            ),
            message: reading.read_text(&field("message"), ""),
            at: reading.read_time_or(&field("timestamp"), known, format_utc),
            retries: reading.read_count_or(&field("retries"), 0),
        }),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            let message = FileFinding::ShouldBe {
                wanted: Kind::ObjectOrNull,
            };
            reading.repair_value(Severity::Error, "wrong_type", place, message, Value::Null);
            None
        }
    }
}

fn read_numbers(reading: &mut DocumentReader<'_>, place: &str) -> Vec<u32> {
    let items = reading.read_list(place);
    let mut numbers = Vec::with_capacity(items.len());
    let mut odd = false;
    for (index, item) in items.iter().enumerate() {
        let exact = item.as_u64().and_then(|number| u32::try_from(number).ok());
        let spelt = || item.as_str().and_then(|text| text.trim().parse().ok());
        let number = exact.or_else(spelt);
        numbers.extend(number);
        if exact.is_none() {
            odd = true;
            let (severity, repair) = match number {
                Some(number) => (
                    Severity::Warning,
                    Repair::SetIt {
                        value: number.to_string(),
                    },
                ),
                None => (Severity::Error, Repair::LeaveOut),
            };
            let place = format!("{place}/{index}");
            let message = FileFinding::ShouldBe {
                wanted: Kind::StepNumber,
            };
            reading.add_finding(severity, "wrong_type", &place, message, Some(repair));
        }
    }
    if odd {
        reading.set_repaired(place, numbers.clone().into());
    }
    numbers
}

/// Reads the context of a task.
pub(super) fn read_context(reading: &mut DocumentReader<'_>, place: &str) -> TaskContext {
    reading.read_object(place);
    TaskContext {
        user_request: reading.read_text(&child_pointer(place, "user_request"), ""),
        constraints: reading.read_texts(&child_pointer(place, "constraints")),
        resources: reading.read_texts(&child_pointer(place, "resources")),
    }
}

/// Reads a list of artifacts. A bare text is the path of a file.
pub(super) fn read_artifacts(reading: &mut DocumentReader<'_>, place: &str) -> Vec<TaskArtifact> {
    let mut artifacts = Vec::new();
    let mut good = Vec::new();
    for (index, item) in reading.read_list(place).iter().enumerate() {
        let here = format!("{place}/{index}");
        let artifact = match item {
            Value::String(path) => {
                let artifact = TaskArtifact {
                    kind: "file".into(),
                    path: path.clone(),
                    description: String::new(),
                };
                let message = FileFinding::ShouldBeIs {
                    wanted: Kind::Object,
                    is: Kind::Text,
                };
                let value = artifact_value(&artifact);
                reading.repair_value(Severity::Warning, "wrong_type", &here, message, value);
                artifact
            }
            Value::Object(_) => TaskArtifact {
                kind: reading.read_text(&child_pointer(&here, "type"), "file"),
                path: reading.read_text(&child_pointer(&here, "path"), ""),
                description: reading.read_text(&child_pointer(&here, "description"), ""),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                let message = FileFinding::ShouldBe {
                    wanted: Kind::Object,
                };
                reading.leave_out(&here, message);
                continue;
            }
        };
        good.push(index);
        artifacts.push(artifact);
    }
    reading.retain_items(place, &good);
    artifacts
}

/// Writes a plan at a place. Steps are matched by number.
pub(super) fn write_plan(value: &mut Value, place: &str, plan: &TaskPlan) {
    let field = |name: &str| child_pointer(place, name);
    put_value(value, &field("goal"), plan.goal.clone());
    let criteria = plan.success_criteria.clone();
    put_value(value, &field("success_criteria"), criteria);
    let mut old: HashMap<u32, VecDeque<Value>> = HashMap::new();
    for (index, item) in take_list(value, &field("steps")).into_iter().enumerate() {
        old.entry(step_id(&item, index))
            .or_default()
            .push_back(item);
    }
    let mut steps = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        let known = old.get_mut(&step.id).and_then(VecDeque::pop_front);
        let mut item = known.filter(Value::is_object).unwrap_or_else(|| json!({}));
        write_step(&mut item, step);
        steps.push(item);
    }
    put_value(value, &field("steps"), steps);
    put_value(value, &field("current_step"), plan.current_step());
}

/// Returns the number of a step as [`read_step`] reads it.
fn step_id(item: &Value, index: usize) -> u32 {
    let number = match item.get("id") {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(other) => other.as_u64(),
        None => u64::try_from(index + 1).ok(),
    };
    number.and_then(|id| u32::try_from(id).ok()).unwrap_or(0)
}

fn write_step(item: &mut Value, step: &PlanStep) {
    put_value(item, "/id", step.id);
    put_value(item, "/name", step.name.clone());
    put_value(item, "/agent", step.agent.clone());
    put_value(item, "/cluster", step.cluster.clone());
    put_value(item, "/status", step.status.name());
    put_value(item, "/dependencies", step.dependencies.clone());
    put_time(item, "/started_at", step.started_at, format_utc);
    put_time(item, "/completed_at", step.completed_at, format_utc);
    let output = step.output.as_deref().map_or(Value::Null, |text| {
        serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
    });
    put_value(item, "/output", output);
    match &step.error {
        None => put_value(item, "/error", Value::Null),
        Some(error) => {
            put_value(item, "/error/type", error.kind.name());
            put_value(item, "/error/message", error.message.clone());
            put_time(item, "/error/timestamp", Some(error.at), format_utc);
            put_value(item, "/error/retries", error.retries);
        }
    }
    // A step that never failed has no count in hand-written files; none is added.
    if step.retries > 0 || item.get("retries").is_some() {
        put_value(item, "/retries", step.retries);
    }
    if step.earlier_retries > 0 || item.get("earlier_retries").is_some() {
        put_value(item, "/earlier_retries", step.earlier_retries);
    }
}

/// Writes the context of a task.
pub(super) fn write_context(value: &mut Value, place: &str, context: &TaskContext) {
    let field = |name: &str| child_pointer(place, name);
    let TaskContext {
        user_request,
        constraints,
        resources,
    } = context;
    put_value(value, &field("user_request"), user_request.clone());
    put_value(value, &field("constraints"), constraints.clone());
    put_value(value, &field("resources"), resources.clone());
}

/// Writes a list of artifacts, keeping unknown members of the entries.
pub(super) fn write_artifacts(value: &mut Value, place: &str, artifacts: &[TaskArtifact]) {
    put_list(value, place, artifacts, |item, artifact| {
        put_value(item, "/type", artifact.kind.clone());
        put_value(item, "/path", artifact.path.clone());
        put_value(item, "/description", artifact.description.clone());
    });
}

fn artifact_value(artifact: &TaskArtifact) -> Value {
    json!({ "type": artifact.kind, "path": artifact.path, "description": artifact.description })
}

fn error_value(error: &StepError) -> Value {
    json!({
        "type": error.kind.name(),
        "message": error.message,
        "timestamp": format_utc(error.at),
        "retries": error.retries,
    })
}
