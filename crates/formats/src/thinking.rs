//! `thinking_state.json`.

use crate::StateFormat;
use crate::document_reader::{
    DocumentReader, pointer_of_keys, put_later, put_time, put_value, rule_broken,
};
use crate::finding::{Finding, ReadResult, Severity};
use crate::foreign::refuse_foreign;
use crate::json::JsonDocument;
use crate::time::format_utc;
use bowline_machines::thinking::{
    AppliedLesson, Evaluation, Lesson, QualityMetric, QualityMetrics, RETRIES_MAX, RunFeedback,
    StageError, StageState, StageStatus, ThinkingMachine, ThinkingRunState, ThinkingStage,
    ValueScore,
};
use bowline_machines::{Machine as _, Timestamp};
use bowline_words::message::{FileFinding, Kind, Repair};
use serde_json::{Map, Value, json};

/// Name of the file in its task folder.
pub const FILE_NAME: &str = "thinking_state.json";

/// Members beside the stages that files of other programs do not have by chance.
const OWN_PLACES: [&str; 6] = [
    "/current_stage",
    "/overall_status",
    "/progress_percentage",
    "/core_values_evaluation",
    "/quality_metrics",
    "/feedback",
];

/// The format of `thinking_state.json`.
#[derive(Debug, Clone, Copy)]
pub struct ThinkingFile;

/// A run together with the description of the task in its file.
#[derive(Debug, Clone, PartialEq)]
pub struct ThinkingSheet {
    pub task_id: String,
    /// Title shown to people.
    pub title: String,
    pub goal: String,
    /// Time of the last change; absent if the file has none.
    pub updated_at: Option<Timestamp>,
    pub run: ThinkingRunState,
}

impl ThinkingSheet {
    /// Combines a run with the document it was read from.
    pub fn new(run: ThinkingRunState, document: &Value) -> Self {
        let text = |name: &str| document[name].as_str().unwrap_or_default();
        ThinkingSheet {
            task_id: text("task_id").to_owned(),
            title: text("title").to_owned(),
            goal: text("goal").to_owned(),
            updated_at: crate::time::parse_time(text("updated_at")),
            run,
        }
    }
}

/// Creates the file of a task that has not begun.
pub fn new_document(task_id: &str, title: &str, goal: &str, created: Timestamp) -> JsonDocument {
    let mut value = json!({
        "task_id": task_id,
        "title": title,
        "goal": goal,
        "created_at": format_utc(created),
        "updated_at": format_utc(created),
    });
    ThinkingFile::write_state(&ThinkingRunState::new(), &mut value, created);
    JsonDocument::new(value)
}

impl StateFormat for ThinkingFile {
    type State = ThinkingRunState;
    const KIND: &'static str = "thinking";

    fn read_state(document: &JsonDocument) -> Result<ReadResult<ThinkingRunState>, Vec<Finding>> {
        let mut reading = DocumentReader::new(document)?;
        let stages = reading.get("/stages").and_then(Value::as_object);
        let known = |stages: &Map<String, Value>| {
            ThinkingStage::ALL
                .iter()
                .any(|it| stages.contains_key(it.name()))
        };
        if !stages.is_some_and(known) {
            refuse_foreign(document, &OWN_PLACES)?;
        }
        // Without its stages the file has no progress: creating them would lose it silently.
        if !reading.get("/stages").is_some_and(Value::is_object) {
            return Err(reading.give_up("/stages", "missing_field", FileFinding::NoStages));
        }
        for name in ["task_id", "title", "goal"] {
            reading.read_text(&pointer_of_keys(&[name]), "");
        }
        for name in ["created_at", "updated_at"] {
            if reading.get(&pointer_of_keys(&[name])).is_none() {
                reading.add_finding(
                    Severity::Warning,
                    "missing_field",
                    &pointer_of_keys(&[name]),
                    FileFinding::Missing,
                    None,
                );
            }
            reading.read_time(&pointer_of_keys(&[name]));
        }
        let stages = ThinkingStage::ALL.map(|stage| read_stage(&mut reading, stage));
        let guess = ThinkingStage::ALL
            .into_iter()
            .rev()
            .find(|stage| stages[stage.index()].status != StageStatus::Pending)
            .unwrap_or(ThinkingStage::Planning);
        let current = reading.read_word(
            "/current_stage",
            &ThinkingStage::ALL,
            ThinkingStage::name,
            guess,
        );
        let run = ThinkingRunState {
            stages,
            current,
            evaluation: read_evaluation(&mut reading),
            metrics: read_metrics(&mut reading),
            feedback: read_feedback(&mut reading),
        };
        reading.check_derived("/overall_status", Value::from(run.overall_status().name()));
        reading.check_derived(
            "/progress_percentage",
            Value::from(run.progress_percentage()),
        );
        check_rules(&mut reading, &run);
        Ok(reading.finish(run))
    }

    fn write_state(run: &ThinkingRunState, value: &mut Value, now: Timestamp) {
        put_later(value, "/updated_at", now, format_utc);
        put_value(value, "/current_stage", run.current.name());
        put_value(value, "/overall_status", run.overall_status().name());
        put_value(value, "/progress_percentage", run.progress_percentage());
        for stage in ThinkingStage::ALL {
            write_stage(value, stage, run.stage(stage));
        }
        for score in &run.evaluation.scores {
            let place = pointer_of_keys(&["core_values_evaluation", &score.name]);
            put_value(value, &place, number_value(score.value));
        }
        put_value(
            value,
            "/core_values_evaluation/weighted_score",
            number_value(run.evaluation.weighted),
        );
        for metric in QualityMetric::ALL {
            put_value(
                value,
                &pointer_of_keys(&["quality_metrics", metric.name()]),
                number_value(run.metrics.get(metric)),
            );
        }
        write_feedback(value, &run.feedback);
    }
}

fn read_stage(reading: &mut DocumentReader<'_>, stage: ThinkingStage) -> StageState {
    let field = |name: &str| format!("/stages/{}/{name}", stage.name());
    if reading
        .read_object(&pointer_of_keys(&["stages", stage.name()]))
        .is_none()
    {
        reading.set_repaired(
            &pointer_of_keys(&["stages", stage.name()]),
            stage_value(stage, &StageState::pending()),
        );
        return StageState::pending();
    }
    for name in ["started_at", "completed_at", "duration_minutes"] {
        reading.expect_field(&field(name));
    }
    let started_at = reading.read_time(&field("started_at"));
    let completed_at = reading.read_time(&field("completed_at"));
    let failed = reading.get(&field("error")).is_some_and(Value::is_object);
    let guess = match (started_at, completed_at) {
        _ if failed => StageStatus::Failed,
        (_, Some(_)) => StageStatus::Completed,
        (Some(_), None) => StageStatus::InProgress,
        (None, None) => StageStatus::Pending,
    };
    let status = reading.read_word(
        &field("status"),
        &StageStatus::ALL,
        StageStatus::name,
        guess,
    );
    reading.check_derived(&field("thinking_type"), Value::from(stage.thinking_type()));
    let duration_minutes = reading
        .read_count(&field("duration_minutes"))
        .map(i64::from);
    let outputs = reading.read_texts(&field("outputs"));
    let error = failed.then(|| StageError {
        code: reading.read_text(&field("error/code"), "unknown"),
        message: reading.read_text(&field("error/message"), ""),
        at: reading
            .read_time(&field("error/timestamp"))
            .or(completed_at)
            .or(started_at)
            .unwrap_or(Timestamp(0)),
    });
    let retry_count = reading.read_optional_count(&field("retry_count"), 0);
    StageState {
        status,
        started_at,
        completed_at,
        duration_minutes,
        outputs,
        error,
        retry_count,
    }
}

fn read_evaluation(reading: &mut DocumentReader<'_>) -> Evaluation {
    let Some(map) = reading.read_object("/core_values_evaluation") else {
        let evaluation = Evaluation::default();
        for score in &evaluation.scores {
            let place = pointer_of_keys(&["core_values_evaluation", &score.name]);
            reading.set_repaired(&place, number_value(score.value));
        }
        return evaluation;
    };
    let mut scores = Vec::new();
    for name in map.keys().filter(|name| *name != "weighted_score") {
        let place = pointer_of_keys(&["core_values_evaluation", name]);
        let value = reading.read_number(&place);
        if let Some(value) = value
            && !(0.0..=10.0).contains(&value)
        {
            let message = FileFinding::ScoreRange {
                value: value.to_string(),
            };
            reading.add_finding(Severity::Error, "out_of_range", &place, message, None);
        }
        scores.push(ValueScore {
            name: name.clone(),
            value,
        });
    }
    Evaluation {
        scores,
        weighted: reading.read_number("/core_values_evaluation/weighted_score"),
    }
}

fn read_metrics(reading: &mut DocumentReader<'_>) -> QualityMetrics {
    if reading.read_object("/quality_metrics").is_none() {
        return QualityMetrics::default();
    }
    QualityMetrics(QualityMetric::ALL.map(|metric| {
        let place = pointer_of_keys(&["quality_metrics", metric.name()]);
        let value = reading.read_number(&place);
        if let Some(value) = value
            && !(0.0..=1.0).contains(&value)
        {
            let message = FileFinding::MetricRange {
                value: value.to_string(),
            };
            reading.add_finding(Severity::Error, "out_of_range", &place, message, None);
        }
        value
    }))
}

fn read_feedback(reading: &mut DocumentReader<'_>) -> RunFeedback {
    let mut feedback = RunFeedback::default();
    reading.read_object("/feedback");
    let list = "/feedback/from_previous_tasks";
    let good = reading.read_objects(list);
    for &index in &good {
        let place = format!("{list}/{index}");
        feedback.from_previous_tasks.push(AppliedLesson {
            task_id: reading.read_text(&format!("{place}/task_id"), ""),
            learnings: reading.read_texts(&format!("{place}/learnings")),
            stages: read_stages(reading, &format!("{place}/apply_to_stages")),
        });
    }
    reading.retain_items(list, &good);
    read_next_lessons(reading, &mut feedback);
    if reading.get("/feedback/from_execution").is_some()
        && let Some(map) = reading.read_object("/feedback/from_execution")
    {
        for name in map.keys() {
            let place = pointer_of_keys(&["feedback", "from_execution", name]);
            match (name.as_str(), reading.read_number(&place)) {
                (_, None) => {
                    let message = FileFinding::SaysNothing;
                    reading.drop_key(Severity::Warning, "missing_field", &place, message);
                }
                ("goal_achievement", value) => feedback.goal_achievement = value,
                (_, Some(value)) => feedback.from_execution.push((name.clone(), value)),
            }
        }
    }
    if reading.get("/feedback/learnings").is_some() {
        feedback.learnings = reading.read_texts("/feedback/learnings");
    }
    if reading.get("/feedback/improvements").is_some() {
        feedback.improvements = reading.read_texts("/feedback/improvements");
    }
    feedback
}

fn read_next_lessons(reading: &mut DocumentReader<'_>, feedback: &mut RunFeedback) {
    let list = "/feedback/for_next_tasks";
    let mut good = Vec::new();
    for (index, item) in reading.read_list(list).iter().enumerate() {
        let place = format!("{list}/{index}");
        let lesson = match item {
            // Lessons had no documented shape; a bare text is accepted as well.
            Value::String(text) => Lesson {
                learnings: vec![text.clone()],
                stages: ThinkingStage::ALL.to_vec(),
            },
            Value::Object(_) => Lesson {
                learnings: reading.read_texts(&format!("{place}/learnings")),
                stages: read_stages(reading, &format!("{place}/apply_to_stages")),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                let message = FileFinding::ShouldBe {
                    wanted: Kind::ObjectOrText,
                };
                reading.leave_out(&place, message);
                continue;
            }
        };
        good.push(index);
        feedback.for_next_tasks.push(lesson);
    }
    reading.retain_items(list, &good);
}

fn read_stages(reading: &mut DocumentReader<'_>, pointer: &str) -> Vec<ThinkingStage> {
    let mut stages = Vec::new();
    for (index, name) in reading.read_texts(pointer).iter().enumerate() {
        match ThinkingStage::from_name(name) {
            Some(stage) => stages.push(stage),
            None => {
                let place = format!("{pointer}/{index}");
                let message = FileFinding::NoSuchStage { name: name.clone() };
                reading.add_finding(Severity::Warning, "unknown_word", &place, message, None);
            }
        }
    }
    stages
}

/// Checks the machine's rules, with repairs for mistakes known from other programs.
fn check_rules(reading: &mut DocumentReader<'_>, run: &ThinkingRunState) {
    for violation in ThinkingMachine::violations(run) {
        let Some(stage) = ThinkingStage::from_name(&violation.place) else {
            continue;
        };
        let state = run.stage(stage);
        let field = |name: &str| format!("/stages/{}/{name}", stage.name());
        let running = state.status == StageStatus::InProgress;
        let (pointer, value) = match violation.rule {
            "error_exactly_when_failed" if state.status != StageStatus::Failed => {
                let message = rule_broken(&violation);
                reading.drop_key(Severity::Error, "rule_broken", &field("error"), message);
                continue;
            }
            "completed_at_exactly_when_ended" if running => (field("completed_at"), Value::Null),
            // With two stages in progress nothing is repaired: only a person knows which of them is
            // wrong.
            "stage_in_progress_is_current"
                if run.stage(run.current).status != StageStatus::InProgress =>
            {
                ("/current_stage".into(), stage.name().into())
            }
            "retry_count_within_limit" => (field("retry_count"), RETRIES_MAX.into()),
            _ => {
                reading.add_violation(
                    &pointer_of_keys(&["stages", stage.name()]),
                    &violation,
                    None,
                );
                continue;
            }
        };
        reading.set_repaired(&pointer, value.clone());
        let repair = Repair::SetIt {
            value: value.to_string(),
        };
        reading.add_violation(&pointer, &violation, Some(repair));
    }
}

fn stage_value(stage: ThinkingStage, state: &StageState) -> Value {
    let mut value = Value::Object(Map::new());
    let wrapper = &mut value;
    write_stage(wrapper, stage, state);
    value["stages"][stage.name()].take()
}

fn write_stage(value: &mut Value, stage: ThinkingStage, state: &StageState) {
    let field = |name: &str| format!("/stages/{}/{name}", stage.name());
    put_value(value, &field("status"), state.status.name());
    put_value(value, &field("thinking_type"), stage.thinking_type());
    put_time(value, &field("started_at"), state.started_at, format_utc);
    put_time(
        value,
        &field("completed_at"),
        state.completed_at,
        format_utc,
    );
    put_value(value, &field("duration_minutes"), state.duration_minutes);
    put_value(value, &field("outputs"), state.outputs.clone());
    match &state.error {
        Some(error) => {
            let place = field("error");
            put_value(value, &format!("{place}/code"), error.code.clone());
            put_value(value, &format!("{place}/message"), error.message.clone());
            put_time(
                value,
                &format!("{place}/timestamp"),
                Some(error.at),
                format_utc,
            );
        }
        None => {
            if let Some(Value::Object(map)) =
                value.pointer_mut(&pointer_of_keys(&["stages", stage.name()]))
            {
                map.retain(|key, _| key != "error");
            }
        }
    }
    // A stage that never failed has no count in hand-written files; none is added.
    if state.retry_count > 0 || value.pointer(&field("retry_count")).is_some() {
        put_value(value, &field("retry_count"), state.retry_count);
    }
}

fn write_feedback(value: &mut Value, feedback: &RunFeedback) {
    let names = |stages: &[ThinkingStage]| {
        stages
            .iter()
            .map(|stage| Value::from(stage.name()))
            .collect::<Vec<_>>()
    };
    let list = |value: &Value, key: &str| {
        let place = pointer_of_keys(&["feedback", key]);
        value
            .pointer(&place)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    // Entries are only ever added: those in the file stay unchanged, unknown members included.
    let mut previous = list(value, "from_previous_tasks");
    for lesson in feedback.from_previous_tasks.iter().skip(previous.len()) {
        previous.push(json!({
            "task_id": lesson.task_id, "learnings": lesson.learnings, "apply_to_stages": names(&lesson.stages),
        }));
    }
    put_value(value, "/feedback/from_previous_tasks", previous);
    let mut next = list(value, "for_next_tasks");
    for lesson in feedback.for_next_tasks.iter().skip(next.len()) {
        next.push(
            json!({ "learnings": lesson.learnings, "apply_to_stages": names(&lesson.stages) }),
        );
    }
    put_value(value, "/feedback/for_next_tasks", next);
    for (name, number) in &feedback.from_execution {
        put_value(
            value,
            &pointer_of_keys(&["feedback", "from_execution", name]),
            *number,
        );
    }
    if let Some(achievement) = feedback.goal_achievement {
        put_value(
            value,
            "/feedback/from_execution/goal_achievement",
            achievement,
        );
    }
    if !feedback.learnings.is_empty() {
        put_value(value, "/feedback/learnings", feedback.learnings.clone());
    }
    if !feedback.improvements.is_empty() {
        put_value(
            value,
            "/feedback/improvements",
            feedback.improvements.clone(),
        );
    }
}

/// Formats a number as people write it: `8`, not `8.0`.
fn number_value(value: Option<f64>) -> Value {
    match value {
        None => Value::Null,
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}")
            .parse::<i64>()
            .map_or(Value::Null, Value::from),
        Some(value) => Value::from(value),
    }
}
