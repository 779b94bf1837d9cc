//! Verbs of the agents' memory.

use crate::answer::{Done, No, changed, viewed};
use crate::desk::{Desk, Role};
use crate::given::Given;
use crate::table::Kind::{self, Any, Flag, Float, Number, Object, Objects, Text, Texts};
use crate::table::{Arg, Verb};
use bowline_engine::Error;
use bowline_engine::files::Changed;
use bowline_engine::operations::memory::{
    Artifact, FailureKind, Finish, Memory, NewStep, NewTask, Request, TRIES_MAX, TaskResult,
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

const STEP: Arg = Arg::need("id", Number);
/// Not `path`: clients and hooks take that for a file.
const KEY: Arg = Arg::need("key", Text);
const VALUE: Arg = Arg::need("value", Any(&[Text, Float, Flag, Object, Texts]));
const NAME: Arg = Arg::need("name", Text);

pub(crate) static VERBS: &[Verb] = &[
    Verb::new(
        "memory_task_new",
        Role::Agent,
        "Begin a task with a plan, or queue it",
        &[
            NAME,
            Arg::need("goal", Text),
            Arg::may("criteria", Texts).rare(),
            Arg::may("steps", Objects).about("{name, agent, deps: [1]}"),
        ],
        task_new,
    ),
    Verb::new(
        "memory_step_start",
        Role::Agent,
        "Begin a step, or retry it",
        &[STEP],
        |desk, given| {
            let moved = desk.memory().step_start(&desk.context, given.id("id"))?;
            on_step(desk, &moved)
        },
    ),
    Verb::new(
        "memory_step_complete",
        Role::Agent,
        "End a step",
        &[
            STEP,
            Arg::may("output", Any(&[Text, Object])),
            Arg::may("artifacts", Texts).rare(),
        ],
        step_complete,
    ),
    Verb::new(
        "memory_step_fail",
        Role::Agent,
        "Say that a step failed",
        &[
            STEP,
            Arg::need("type", Kind::Word(FAILURES)),
            Arg::need("message", Text),
        ],
        step_fail,
    ),
    Verb::new(
        "memory_task_finish",
        Role::Agent,
        "Move the task to history, with its lessons",
        &[
            Arg::may("result", Kind::Word(RESULTS)).rare(),
            Arg::may("summary", Text),
            Arg::may("lessons", Texts),
            Arg::may("tokens", Number).rare(),
        ],
        task_finish,
    ),
    Verb::new(
        "memory_context_get",
        Role::ReadOnly,
        "A value all agents share",
        &[KEY.about("shared_data.…")],
        |desk, given| {
            let value = desk
                .memory()
                .context_get(&desk.context, given.word("key"))?;
            Ok(json!({ "key": given.word("key"), "value": value }))
        },
    ),
    Verb::new(
        "memory_context_set",
        Role::Agent,
        "Set it",
        &[KEY, VALUE],
        |desk, given| {
            let memory = desk.memory();
            let moved = memory.context_set(&desk.context, given.word("key"), value(given))?;
            changed(desk, &moved, json!({}))
        },
    ),
    Verb::new(
        "memory_init",
        Role::Agent,
        "Make the memory folder",
        &[],
        |desk, _| {
            let made = desk.memory().init(&desk.context)?;
            let made: Vec<&str> = made.iter().map(|kind| kind.name()).collect();
            Ok(json!({ "created": made }))
        },
    )
    .rare(),
    Verb::new(
        "memory_task_pause",
        Role::Agent,
        "Pause the task",
        &[],
        |desk, _| changed(desk, &desk.memory().task_pause(&desk.context)?, json!({})),
    )
    .rare(),
    Verb::new(
        "memory_task_resume",
        Role::Agent,
        "Go on with it",
        &[],
        |desk, _| changed(desk, &desk.memory().task_resume(&desk.context)?, json!({})),
    )
    .rare(),
    Verb::new(
        "memory_task_cancel",
        Role::Agent,
        "Give the task up",
        &[],
        |desk, _| changed(desk, &desk.memory().task_cancel(&desk.context)?, json!({})),
    )
    .rare(),
    Verb::new(
        "memory_task_recover",
        Role::Person,
        "Reopen the step that failed for good",
        &[Arg::may("reason", Text)],
        |desk, given| {
            let memory = desk.memory();
            let moved = memory.task_recover(&desk.context, given.text("reason"))?;
            changed(desk, &moved, json!({}))
        },
    )
    .rare(),
    Verb::new(
        "memory_task_drop",
        Role::Agent,
        "Take a queued task out of the queue",
        &[Arg::need("id", Text)],
        |desk, given| {
            let moved = desk.memory().task_drop(&desk.context, given.word("id"))?;
            let facts = json!({ "id": moved.state });
            changed(desk, &moved, facts)
        },
    )
    .rare(),
    Verb::new(
        "memory_step_add",
        Role::Agent,
        "Add a step to the plan",
        &[
            NAME,
            Arg::may("agent", Text),
            Arg::may("cluster", Text),
            Arg::may("deps", Any(&[Number])).about("[id]"),
        ],
        |desk, given| {
            let step = new_step(&Value::Object(given.all().clone()))?;
            changed(
                desk,
                &desk.memory().step_add(&desk.context, step)?,
                json!({}),
            )
        },
    )
    .rare(),
    Verb::new(
        "memory_context_append",
        Role::Agent,
        "Add to a list of the shared context",
        &[KEY, VALUE],
        |desk, given| {
            let memory = desk.memory();
            let moved = memory.context_append(&desk.context, given.word("key"), value(given))?;
            changed(desk, &moved, json!({}))
        },
    )
    .rare(),
    Verb::new(
        "memory_context_session_new",
        Role::Agent,
        "Begin a new session",
        &[],
        |desk, _| {
            let moved = desk.memory().session_new(&desk.context)?;
            let facts = json!({ "id": moved.state });
            changed(desk, &moved, facts)
        },
    )
    .rare(),
    Verb::new(
        "memory_agent_get",
        Role::ReadOnly,
        "A value of an agent's own memory",
        &[NAME, KEY],
        |desk, given| {
            let (name, key) = (given.word("name"), given.word("key"));
            let value = desk.memory().agent_get(&desk.context, name, key)?;
            Ok(json!({ "name": name, "key": key, "value": value }))
        },
    )
    .rare(),
    Verb::new(
        "memory_agent_set",
        Role::Agent,
        "Set it",
        &[NAME, KEY, VALUE],
        |desk, given| {
            let (name, key) = (given.word("name"), given.word("key"));
            let moved = desk
                .memory()
                .agent_set(&desk.context, name, key, value(given))?;
            changed(desk, &moved, json!({}))
        },
    )
    .rare(),
    Verb::new(
        "memory_agent_append",
        Role::Agent,
        "Add to a list of an agent's own memory",
        &[NAME, KEY, VALUE],
        |desk, given| {
            let (name, key) = (given.word("name"), given.word("key"));
            let memory = desk.memory();
            let moved = memory.agent_append(&desk.context, name, key, value(given))?;
            changed(desk, &moved, json!({}))
        },
    )
    .rare(),
    Verb::new(
        "memory_history",
        Role::ReadOnly,
        "Finished tasks, their lessons, statistics",
        &[],
        |desk, _| viewed(desk, &desk.memory().history().view_or_empty(&desk.context)?),
    )
    .rare(),
    Verb::new(
        "memory_prune",
        Role::Agent,
        "Shorten history and caches",
        &[],
        |desk, _| {
            let report = desk.memory().prune(&desk.context)?;
            Ok(json!({
                "removed": report.removed, "summarised": report.summarised, "agents": report.agents,
            }))
        },
    )
    .rare(),
    Verb::new(
        "memory_backup",
        Role::Agent,
        "Copy the memory's files aside",
        &[],
        |desk, _| {
            let copies = desk.memory().backup(&desk.context)?;
            let copies: Vec<String> = copies.iter().map(|path| desk.shown(path)).collect();
            Ok(json!({ "copies": copies }))
        },
    )
    .rare(),
    Verb::new(
        "memory_restore",
        Role::Person,
        "Bring a copy back",
        &[Arg::may("which", Text)],
        |desk, given| {
            let memory = desk.memory();
            let moved = memory.restore(&desk.context, given.text("which"), None)?;
            let facts = json!({ "copy": moved.state });
            changed(desk, &moved, facts)
        },
    )
    .rare(),
    Verb::new(
        "memory_status",
        Role::ReadOnly,
        "The current task and its plan",
        &[],
        |desk, _| viewed(desk, &desk.memory().state().view_or_empty(&desk.context)?),
    )
    .rare(),
];

fn value(given: &Given) -> &Value {
    given.value("value").unwrap_or(&Value::Null)
}

fn task_new(desk: &Desk, given: &Given) -> Done {
    let steps = given.value("steps").and_then(Value::as_array);
    let steps = steps.into_iter().flatten().map(new_step);
    let new = NewTask {
        name: given.word("name").to_owned(),
        goal: given.word("goal").to_owned(),
        success_criteria: given.texts("criteria"),
        steps: steps.collect::<Result<_, _>>()?,
        context: Request::default(),
        ..NewTask::default()
    };
    let moved = desk.memory().task_new(&desk.context, &new)?;
    let facts = json!({ "id": moved.state.id, "queued": moved.state.queued });
    changed(desk, &moved, facts)
}

/// Parses a step as the state file has it.
fn new_step(step: &Value) -> Result<NewStep, No> {
    let text = |name: &str| step[name].as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| {
        let number = value.as_u64().and_then(|id| u32::try_from(id).ok());
        number.ok_or_else(|| {
            No::from(Error::BadInput {
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

fn on_step(desk: &Desk, moved: &Changed<Memory>) -> Done {
    let plan = moved.state.current.as_ref().map(|task| &task.plan);
    let step = plan.and_then(|plan| plan.current_step());
    changed(desk, moved, json!({ "currentStep": step }))
}

fn step_complete(desk: &Desk, given: &Given) -> Done {
    let made = given.texts("artifacts").into_iter().map(|text| {
        let (path, description) = text.split_once(':').unwrap_or((&text, ""));
        Artifact {
            kind: "file".into(),
            path: path.to_owned(),
            description: description.to_owned(),
        }
    });
    let (id, output) = (given.id("id"), given.value("output"));
    let memory = desk.memory();
    let moved = memory.step_complete(&desk.context, id, output, made.collect())?;
    on_step(desk, &moved)
}

fn step_fail(desk: &Desk, given: &Given) -> Done {
    let kind = FailureKind::from_name(given.word("type")).unwrap_or(FailureKind::Transient);
    let memory = desk.memory();
    let moved = memory.step_fail(&desk.context, given.id("id"), kind, given.word("message"))?;
    let facts = json!({
        "tries": moved.state.tries, "triesMax": TRIES_MAX, "escalated": moved.state.escalated,
    });
    changed(desk, &moved, facts)
}

fn task_finish(desk: &Desk, given: &Given) -> Done {
    let finish = Finish {
        result: given.text("result").and_then(TaskResult::from_name),
        summary: given.text("summary").map(str::to_owned),
        lessons: given.texts("lessons"),
        tokens: given.number("tokens"),
    };
    changed(
        desk,
        &desk.memory().task_finish(&desk.context, finish)?,
        json!({}),
    )
}
