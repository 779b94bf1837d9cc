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
        |session, given| {
            let moved = session
                .memory_folder()
                .step_start(&session.context, given.required_id("id"))?;
            answer_step(session, &moved)
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
        |session, given| {
            let value = session
                .memory_folder()
                .context_get(&session.context, given.required_text("key"))?;
            Ok(json!({ "key": given.required_text("key"), "value": value }))
        },
    ),
    ToolVerb::new(
        "memory_context_set",
        SessionRole::Agent,
        "Set it",
        &[KEY, VALUE],
        |session, given| {
            let memory = session.memory_folder();
            let moved = memory.context_set(
                &session.context,
                given.required_text("key"),
                value_argument(given),
            )?;
            answer_change(session, &moved, json!({}))
        },
    ),
    ToolVerb::new(
        "memory_init",
        SessionRole::Agent,
        "Make the memory folder",
        &[],
        |session, _| {
            let made = session.memory_folder().create_files(&session.context)?;
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
        |session, _| {
            answer_change(
                session,
                &session.memory_folder().task_pause(&session.context)?,
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
        |session, _| {
            answer_change(
                session,
                &session.memory_folder().task_resume(&session.context)?,
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
        |session, _| {
            answer_change(
                session,
                &session.memory_folder().task_cancel(&session.context)?,
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
        |session, given| {
            let memory = session.memory_folder();
            let moved = memory.task_recover(&session.context, given.text("reason"))?;
            answer_change(session, &moved, json!({}))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_task_drop",
        SessionRole::Agent,
        "Take a queued task out of the queue",
        &[ToolParameter::required("id", Text)],
        |session, given| {
            let moved = session
                .memory_folder()
                .task_drop(&session.context, given.required_text("id"))?;
            let facts = json!({ "id": moved.state });
            answer_change(session, &moved, facts)
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
        |session, given| {
            let step = parse_step(&Value::Object(given.all_values().clone()))?;
            answer_change(
                session,
                &session.memory_folder().step_add(&session.context, step)?,
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
        |session, given| {
            let memory = session.memory_folder();
            let moved = memory.context_append(
                &session.context,
                given.required_text("key"),
                value_argument(given),
            )?;
            answer_change(session, &moved, json!({}))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_context_session_new",
        SessionRole::Agent,
        "Begin a new session",
        &[],
        |session, _| {
            let moved = session.memory_folder().session_new(&session.context)?;
            let facts = json!({ "id": moved.state });
            answer_change(session, &moved, facts)
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_agent_get",
        SessionRole::ReadOnly,
        "A value of an agent's own memory",
        &[NAME, KEY],
        |session, given| {
            let (name, key) = (given.required_text("name"), given.required_text("key"));
            let value = session
                .memory_folder()
                .agent_get(&session.context, name, key)?;
            Ok(json!({ "name": name, "key": key, "value": value }))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_agent_set",
        SessionRole::Agent,
        "Set it",
        &[NAME, KEY, VALUE],
        |session, given| {
            let (name, key) = (given.required_text("name"), given.required_text("key"));
            let moved = session.memory_folder().agent_set(
                &session.context,
                name,
                key,
                value_argument(given),
            )?;
            answer_change(session, &moved, json!({}))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_agent_append",
        SessionRole::Agent,
        "Add to a list of an agent's own memory",
        &[NAME, KEY, VALUE],
        |session, given| {
            let (name, key) = (given.required_text("name"), given.required_text("key"));
            let memory = session.memory_folder();
            let moved = memory.agent_append(&session.context, name, key, value_argument(given))?;
            answer_change(session, &moved, json!({}))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_history",
        SessionRole::ReadOnly,
        "Finished tasks, their lessons, statistics",
        &[],
        |session, _| {
            answer_view(
                session,
                &session
                    .memory_folder()
                    .history_file()
                    .view_or_empty(&session.context)?,
            )
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_prune",
        SessionRole::Agent,
        "Shorten history and caches",
        &[],
        |session, _| {
            let report = session.memory_folder().prune_files(&session.context)?;
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
        |session, _| {
            let copies = session.memory_folder().back_up(&session.context)?;
            let copies: Vec<String> = copies
                .iter()
                .map(|path| session.display_path(path))
                .collect();
            Ok(json!({ "copies": copies }))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_restore",
        SessionRole::Person,
        "Bring a copy back",
        &[ToolParameter::optional("which", Text)],
        |session, given| {
            let memory = session.memory_folder();
            let moved = memory.restore_copy(&session.context, given.text("which"), None)?;
            let facts = json!({ "copy": moved.state });
            answer_change(session, &moved, facts)
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "memory_status",
        SessionRole::ReadOnly,
        "The current task and its plan",
        &[],
        |session, _| {
            answer_view(
                session,
                &session
                    .memory_folder()
                    .state_file()
                    .view_or_empty(&session.context)?,
            )
        },
    )
    .mark_rare(),
];

fn value_argument(given: &ToolArguments) -> &Value {
    given.value("value").unwrap_or(&Value::Null)
}

fn task_new(session: &ToolSession, given: &ToolArguments) -> ToolResult {
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
    let moved = session.memory_folder().task_new(&session.context, &new)?;
    let facts = json!({ "id": moved.state.id, "queued": moved.state.queued });
    answer_change(session, &moved, facts)
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

fn answer_step(session: &ToolSession, moved: &ChangeOutcome<TaskMemory>) -> ToolResult {
    let plan = moved.state.current.as_ref().map(|task| &task.plan);
    let step = plan.and_then(|plan| plan.current_step());
    answer_change(session, moved, json!({ "currentStep": step }))
}

fn step_complete(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let made = given.texts("artifacts").into_iter().map(|text| {
        let (path, description) = text.split_once(':').unwrap_or((&text, ""));
        TaskArtifact {
            kind: "file".into(),
            path: path.to_owned(),
            description: description.to_owned(),
        }
    });
    let (id, output) = (given.required_id("id"), given.value("output"));
    let memory = session.memory_folder();
    let moved = memory.step_complete(&session.context, id, output, made.collect())?;
    answer_step(session, &moved)
}

fn step_fail(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let kind =
        FailureKind::from_name(given.required_text("type")).unwrap_or(FailureKind::Transient);
    let memory = session.memory_folder();
    let moved = memory.step_fail(
        &session.context,
        given.required_id("id"),
        kind,
        given.required_text("message"),
    )?;
    let facts = json!({
        "tries": moved.state.tries, "triesMax": TRIES_MAX, "escalated": moved.state.escalated,
    });
    answer_change(session, &moved, facts)
}

fn task_finish(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let finish = FinishReport {
        result: given.text("result").and_then(TaskResult::from_name),
        summary: given.text("summary").map(str::to_owned),
        lessons: given.texts("lessons"),
        tokens: given.number("tokens"),
    };
    answer_change(
        session,
        &session
            .memory_folder()
            .task_finish(&session.context, finish)?,
        json!({}),
    )
}
