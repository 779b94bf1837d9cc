//! Verbs of the agents' memory.

use crate::answer::{ToolError, ToolResult, answer_change, answer_view};
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::table::ParameterType::{self, Any, Flag, Float, Number, Object, Objects, Text, Texts};
use crate::table::{ToolParameter, ToolVerb};
use bowline_engine::Error;
use bowline_engine::files::ChangeOutcome;
use bowline_engine::operations::memory::{
    FailureKind, FinishReport, NewStep, NewTask, Request, TRIES_MAX, TaskArtifact, TaskMemory,
    TaskResult,
};
use bowline_words::message::{Advice, Wrong};
use serde_json::{Value, json};

/// The words of [`FailureKind`].
pub(crate) const FAILURES: &[&str] = &[
    "transient",
    "validation",
    "dependency",
    "resource",
    "structural",
    "critical",
];
/// The words of [`TaskResult`].
pub(crate) const RESULTS: &[&str] = &["success", "failure", "partial"];

const STEP: ToolParameter = ToolParameter::required("id", Number);
/// Not `path`: clients and hooks take that for a file.
const KEY: ToolParameter = ToolParameter::required("key", Text);
const VALUE: ToolParameter =
    ToolParameter::required("value", Any(&[Text, Float, Flag, Object, Texts]));
const NAME: ToolParameter = ToolParameter::required("name", Text);

pub(crate) static VERBS: &[ToolVerb] = &[
    ToolVerb::new(
        "memory_task_new",
        SessionRole::Agent,
        "Begin a task with a plan, or queue it",
        &[
            NAME,
            ToolParameter::required("goal", Text),
            ToolParameter::optional("criteria", Texts).hide_from_list(),
            ToolParameter::optional("steps", Objects).with_description("{name, agent, deps: [1]}"),
        ],
        task_new,
    ),
    ToolVerb::new(
        "memory_step_start",
        SessionRole::Agent,
        "Begin a step, or retry it",
        &[STEP],
        |desk, given| {
            let moved = desk
                .memory_folder()
                .step_start(&desk.context, given.required_id("id"))?;
            answer_step(desk, &moved)
        },
    ),
    ToolVerb::new(
        "memory_step_complete",
        SessionRole::Agent,
        "End a step",
        &[
            STEP,
            ToolParameter::optional("output", Any(&[Text, Object])),
            ToolParameter::optional("artifacts", Texts).hide_from_list(),
        ],
        step_complete,
    ),
    ToolVerb::new(
        "memory_step_fail",
        SessionRole::Agent,
        "Say that a step failed",
        &[
            STEP,
            ToolParameter::required("type", ParameterType::Word(FAILURES)),
            ToolParameter::required("message", Text),
        ],
        step_fail,
    ),
    ToolVerb::new(
        "memory_task_finish",
        SessionRole::Agent,
        "Move the task to history, with its lessons",
        &[
            ToolParameter::optional("result", ParameterType::Word(RESULTS)).hide_from_list(),
            ToolParameter::optional("summary", Text),
            ToolParameter::optional("lessons", Texts),
            ToolParameter::optional("tokens", Number).hide_from_list(),
        ],
        task_finish,
    ),
    ToolVerb::new(
        "memory_context_get",
        SessionRole::ReadOnly,
        "A value all agents share",
        &[KEY.with_description("shared_data.…")],
        |desk, given| {
            let value = desk
                .memory_folder()
                .context_get(&desk.context, given.required_text("key"))?;
            Ok(json!({ "key": given.required_text("key"), "value": value }))
        },
    ),
    ToolVerb::new(
        "memory_context_set",
        SessionRole::Agent,
        "Set it",
        &[KEY, VALUE],
        |desk, given| {
            let memory = desk.memory_folder();
            let moved = memory.context_set(
                &desk.context,
                given.required_text("key"),
                value_argument(given),
            )?;
            answer_change(desk, &moved, json!({}))
        },
    ),
    ToolVerb::new(
        "memory_init",
        SessionRole::Agent,
        "Make the memory folder",
        &[],
        |desk, _| {
            let made = desk.memory_folder().create_files(&desk.context)?;
            let made: Vec<&str> = made.iter().map(|kind| kind.name()).collect();
            Ok(json!({ "created": made }))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_task_pause",
        SessionRole::Agent,
        "Pause the task",
        &[],
        |desk, _| {
            answer_change(
                desk,
                &desk.memory_folder().task_pause(&desk.context)?,
                json!({}),
            )
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_task_resume",
        SessionRole::Agent,
        "Go on with it",
        &[],
        |desk, _| {
            answer_change(
                desk,
                &desk.memory_folder().task_resume(&desk.context)?,
                json!({}),
            )
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_task_cancel",
        SessionRole::Agent,
        "Give the task up",
        &[],
        |desk, _| {
            answer_change(
                desk,
                &desk.memory_folder().task_cancel(&desk.context)?,
                json!({}),
            )
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_task_recover",
        SessionRole::Person,
        "Reopen the step that failed for good",
        &[ToolParameter::optional("reason", Text)],
        |desk, given| {
            let memory = desk.memory_folder();
            let moved = memory.task_recover(&desk.context, given.text("reason"))?;
            answer_change(desk, &moved, json!({}))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_task_drop",
        SessionRole::Agent,
        "Take a queued task out of the queue",
        &[ToolParameter::required("id", Text)],
        |desk, given| {
            let moved = desk
                .memory_folder()
                .task_drop(&desk.context, given.required_text("id"))?;
            let facts = json!({ "id": moved.state });
            answer_change(desk, &moved, facts)
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_step_add",
        SessionRole::Agent,
        "Add a step to the plan",
        &[
            NAME,
            ToolParameter::optional("agent", Text),
            ToolParameter::optional("cluster", Text),
            ToolParameter::optional("deps", Any(&[Number])).with_description("[id]"),
        ],
        |desk, given| {
            let step = parse_step(&Value::Object(given.all_values().clone()))?;
            answer_change(
                desk,
                &desk.memory_folder().step_add(&desk.context, step)?,
                json!({}),
            )
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_context_append",
        SessionRole::Agent,
        "Add to a list of the shared context",
        &[KEY, VALUE],
        |desk, given| {
            let memory = desk.memory_folder();
            let moved = memory.context_append(
                &desk.context,
                given.required_text("key"),
                value_argument(given),
            )?;
            answer_change(desk, &moved, json!({}))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_context_session_new",
        SessionRole::Agent,
        "Begin a new session",
        &[],
        |desk, _| {
            let moved = desk.memory_folder().session_new(&desk.context)?;
            let facts = json!({ "id": moved.state });
            answer_change(desk, &moved, facts)
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_agent_get",
        SessionRole::ReadOnly,
        "A value of an agent's own memory",
        &[NAME, KEY],
        |desk, given| {
            let (name, key) = (given.required_text("name"), given.required_text("key"));
            let value = desk.memory_folder().agent_get(&desk.context, name, key)?;
            Ok(json!({ "name": name, "key": key, "value": value }))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_agent_set",
        SessionRole::Agent,
        "Set it",
        &[NAME, KEY, VALUE],
        |desk, given| {
            let (name, key) = (given.required_text("name"), given.required_text("key"));
            let moved =
                desk.memory_folder()
                    .agent_set(&desk.context, name, key, value_argument(given))?;
            answer_change(desk, &moved, json!({}))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_agent_append",
        SessionRole::Agent,
        "Add to a list of an agent's own memory",
        &[NAME, KEY, VALUE],
        |desk, given| {
            let (name, key) = (given.required_text("name"), given.required_text("key"));
            let memory = desk.memory_folder();
            let moved = memory.agent_append(&desk.context, name, key, value_argument(given))?;
            answer_change(desk, &moved, json!({}))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_history",
        SessionRole::ReadOnly,
        "Finished tasks, their lessons, statistics",
        &[],
        |desk, _| {
            answer_view(
                desk,
                &desk
                    .memory_folder()
                    .history_file()
                    .view_or_empty(&desk.context)?,
            )
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_prune",
        SessionRole::Agent,
        "Shorten history and caches",
        &[],
        |desk, _| {
            let report = desk.memory_folder().prune_files(&desk.context)?;
            Ok(json!({
                "removed": report.removed, "summarised": report.summarised, "agents": report.agents,
            }))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_backup",
        SessionRole::Agent,
        "Copy the memory's files aside",
        &[],
        |desk, _| {
            let copies = desk.memory_folder().back_up(&desk.context)?;
            let copies: Vec<String> = copies.iter().map(|path| desk.display_path(path)).collect();
            Ok(json!({ "copies": copies }))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_restore",
        SessionRole::Person,
        "Bring a copy back",
        &[ToolParameter::optional("which", Text)],
        |desk, given| {
            let memory = desk.memory_folder();
            let moved = memory.restore_copy(&desk.context, given.text("which"), None)?;
            let facts = json!({ "copy": moved.state });
            answer_change(desk, &moved, facts)
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_status",
        SessionRole::ReadOnly,
        "The current task and its plan",
        &[],
        |desk, _| {
            answer_view(
                desk,
                &desk
                    .memory_folder()
                    .state_file()
                    .view_or_empty(&desk.context)?,
            )
        },
    )
    .mark_rare(),
];

fn value_argument(given: &ToolArguments) -> &Value {
    given.value("value").unwrap_or(&Value::Null)
}

fn task_new(desk: &ToolSession, given: &ToolArguments) -> ToolResult {
    let steps = given.value("steps").and_then(Value::as_array);
    let steps = steps.into_iter().flatten().map(parse_step);
    let new = NewTask {
        name: given.required_text("name").to_owned(),
        goal: given.required_text("goal").to_owned(),
        success_criteria: given.texts("criteria"),
        steps: steps.collect::<Result<_, _>>()?,
        context: Request::default(),
        ..NewTask::default()
    };
    let moved = desk.memory_folder().task_new(&desk.context, &new)?;
    let facts = json!({ "id": moved.state.id, "queued": moved.state.queued });
    answer_change(desk, &moved, facts)
}

/// Parses a step as the state file has it.
fn parse_step(step: &Value) -> Result<NewStep, ToolError> {
    let text = |name: &str| step[name].as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| {
        let number = value.as_u64().and_then(|id| u32::try_from(id).ok());
        number.ok_or_else(|| {
            ToolError::from(Error::BadInput {
                message: Wrong::NotAStepNumber {
                    text: value.to_string().chars().take(80).collect(),
                },
                hint: Advice::StepExample,
            })
        })
    };
    let before = match (&step["deps"], &step["dependencies"]) {
        (Value::Array(ids), _) | (Value::Null, Value::Array(ids)) => ids.as_slice(),
        (Value::Null, Value::Null) => &[],
        (other, Value::Null) | (_, other) => std::slice::from_ref(other),
    };
    Ok(NewStep {
        id: match &step["id"] {
            Value::Null => None,
            given => Some(number(given)?),
        },
        name: text("name"),
        agent: text("agent"),
        cluster: text("cluster"),
        dependencies: before.iter().map(number).collect::<Result<_, _>>()?,
    })
}

fn answer_step(desk: &ToolSession, moved: &ChangeOutcome<TaskMemory>) -> ToolResult {
    let plan = moved.state.current.as_ref().map(|task| &task.plan);
    let step = plan.and_then(|plan| plan.current_step());
    answer_change(desk, moved, json!({ "currentStep": step }))
}

fn step_complete(desk: &ToolSession, given: &ToolArguments) -> ToolResult {
    let made = given.texts("artifacts").into_iter().map(|text| {
        let (path, description) = text.split_once(':').unwrap_or((&text, ""));
        TaskArtifact {
            kind: "file".into(),
            path: path.to_owned(),
            description: description.to_owned(),
        }
    });
    let (id, output) = (given.required_id("id"), given.value("output"));
    let memory = desk.memory_folder();
    let moved = memory.step_complete(&desk.context, id, output, made.collect())?;
    answer_step(desk, &moved)
}

fn step_fail(desk: &ToolSession, given: &ToolArguments) -> ToolResult {
    let kind =
        FailureKind::from_name(given.required_text("type")).unwrap_or(FailureKind::Transient);
    let memory = desk.memory_folder();
    let moved = memory.step_fail(
        &desk.context,
        given.required_id("id"),
        kind,
        given.required_text("message"),
    )?;
    let facts = json!({
        "tries": moved.state.tries, "triesMax": TRIES_MAX, "escalated": moved.state.escalated,
    });
    answer_change(desk, &moved, facts)
}

fn task_finish(desk: &ToolSession, given: &ToolArguments) -> ToolResult {
    let finish = FinishReport {
        result: given.text("result").and_then(TaskResult::from_name),
        summary: given.text("summary").map(str::to_owned),
        lessons: given.texts("lessons"),
        tokens: given.number("tokens"),
    };
    answer_change(
        desk,
        &desk.memory_folder().task_finish(&desk.context, finish)?,
        json!({}),
    )
}
