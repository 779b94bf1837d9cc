//! Verbs of tasks on the server: each is one request. The server authenticates the caller and
//! decides.
//!
//! No tool passes on a value that an agent requested: it would become part of a model's
//! conversation. That is done with `bowline task provide`, in a person's terminal.

use crate::answer::Done;
use crate::desk::{Desk, Role};
use crate::given::Given;
use crate::table::Kind::{self, Flag, Number, Text, Texts};
use crate::table::{Arg, Verb};
use bowline_engine::webhook::encode_segment;
use serde_json::{Map, Value, json};

/// Tasks of one list.
const TASKS_MAX: u32 = 50;
/// Bytes of an agent's output shown by default.
const LOG_BYTES: u64 = 4_000;
const LOG_BYTES_MAX: u64 = 12_000;
const PRIORITIES: &[&str] = &["critical", "high", "normal", "low"];

const ID: Arg = Arg::need("id", Text);

pub(crate) static VERBS: &[Verb] = &[
    Verb::new(
        "task_list",
        Role::ReadOnly,
        "Tasks of the server, newest first",
        &[Arg::may("status", Text).rare(), Arg::may("q", Text).rare()],
        list,
    ),
    Verb::new(
        "task_show",
        Role::ReadOnly,
        "One task, and what may be done with it",
        &[ID],
        |desk, given| desk.ask("GET", &of(given, ""), None),
    ),
    Verb::new(
        "task_new",
        Role::Person,
        "Make a draft, or with submit queue it",
        &[
            Arg::need("title", Text),
            Arg::need("type", Text),
            Arg::need("description", Text),
            Arg::may("priority", Kind::Word(PRIORITIES)),
            Arg::may("dependsOn", Texts),
            Arg::may("agent", Text),
            Arg::may("workspace", Text).about("folder"),
            Arg::may("label", Text),
            Arg::may("submit", Flag),
        ],
        new,
    ),
    Verb::new(
        "task_submit",
        Role::Person,
        "Queue a draft",
        &[ID],
        |desk, given| desk.post(&of(given, "/submit"), json!({})),
    ),
    Verb::new(
        "task_approve",
        Role::Person,
        "Approve the phase under review",
        &[ID, Arg::may("comment", Text)],
        |desk, given| desk.post(&of(given, "/approve"), body(given, &["comment"])),
    ),
    Verb::new(
        "task_request_changes",
        Role::Person,
        "Have the phase under review changed",
        &[ID, Arg::need("feedback", Text)],
        |desk, given| desk.post(&of(given, "/request-changes"), body(given, &["feedback"])),
    ),
    Verb::new(
        "task_answer",
        Role::Person,
        "Answer the oldest question of a task",
        &[ID, Arg::need("answer", Text)],
        |desk, given| {
            let question = open(desk, given, "questions", "q_")?;
            let path = format!("/api/questions/{question}/answer");
            desk.post(&path, body(given, &["answer"]))
        },
    ),
    Verb::new(
        "task_cancel",
        Role::Person,
        "Give a task up",
        &[ID],
        |desk, given| desk.post(&of(given, "/cancel"), json!({})),
    )
    .destructive(),
    Verb::new(
        "task_pause",
        Role::Person,
        "Stop its agent",
        &[ID],
        |desk, given| desk.post(&of(given, "/pause"), json!({})),
    ),
    Verb::new(
        "task_resume",
        Role::Person,
        "Let it go on",
        &[ID],
        |desk, given| desk.post(&of(given, "/resume"), json!({})),
    ),
    Verb::new(
        "task_inbox",
        Role::ReadOnly,
        "All that waits for a person",
        &[],
        |desk, _| desk.ask("GET", "/api/inbox", None),
    )
    .rare(),
    Verb::new(
        "task_logs",
        Role::ReadOnly,
        "The end of what its agent printed",
        &[ID, Arg::may("last", Number).about("bytes")],
        |desk, given| {
            let last = given
                .number("last")
                .unwrap_or(LOG_BYTES)
                .clamp(1, LOG_BYTES_MAX);
            let path = of(
                given,
                &format!("/logs?offset=-{last}&limit={LOG_BYTES_MAX}"),
            );
            Ok(json!({ "text": desk.ask("GET", &path, None)? }))
        },
    )
    .rare(),
    reading(
        "task_transitions",
        "Every move of task and agent",
        |desk, given| desk.ask("GET", &of(given, "/transitions?limit=100"), None),
    ),
    reading("task_checkpoints", "Its checkpoints", |desk, given| {
        desk.ask("GET", &of(given, "/checkpoints"), None)
    }),
    reading("task_artifacts", "Files of its workspace", |desk, given| {
        desk.ask("GET", &of(given, "/artifacts"), None)
    }),
    reading("task_questions", "Its questions", |desk, given| {
        desk.ask("GET", &of(given, "/questions"), None)
    }),
    moving(
        "task_retry",
        "Make a new task in the place of a failed one",
        |desk, given| desk.post(&of(given, "/retry"), json!({})),
    ),
    moving("task_archive", "Hide a completed task", |desk, given| {
        desk.post(&of(given, "/archive"), json!({}))
    }),
    moving(
        "task_delete",
        "Remove a task and all that belongs to it",
        |desk, given| desk.ask("DELETE", &of(given, ""), None),
    ),
    moving("task_checkpoint", "Save a checkpoint now", |desk, given| {
        desk.post(&of(given, "/checkpoints"), json!({}))
    }),
    moving(
        "task_interrupt",
        "Interrupt what its agent does",
        |desk, given| desk.post(&of(given, "/interrupt"), json!({})),
    ),
    moving(
        "task_skip",
        "Leave an optional question without an answer",
        |desk, given| {
            let question = open(desk, given, "questions", "q_")?;
            desk.post(&format!("/api/questions/{question}/skip"), json!({}))
        },
    ),
    moving(
        "task_permit",
        "Let a tool call of its agent go on",
        |desk, given| {
            let asked = open(desk, given, "permissions", "perm_")?;
            desk.post(&format!("/api/permissions/{asked}/permit"), json!({}))
        },
    ),
    Verb::new(
        "task_deny",
        Role::Person,
        "Refuse a tool call of its agent",
        &[ID, Arg::may("reason", Text)],
        |desk, given| {
            let asked = open(desk, given, "permissions", "perm_")?;
            let path = format!("/api/permissions/{asked}/deny");
            desk.post(&path, body(given, &["reason"]))
        },
    )
    .rare(),
    Verb::new(
        "task_reject",
        Role::Person,
        "Refuse a dependency",
        &[ID, Arg::need("reason", Text)],
        |desk, given| {
            let needed = open(desk, given, "dependencies", "dep_")?;
            let path = format!("/api/dependencies/{needed}/reject");
            desk.post(&path, body(given, &["reason"]))
        },
    )
    .rare(),
    Verb::new(
        "task_restore",
        Role::Person,
        "Set a task back to a checkpoint",
        &[ID, Arg::need("checkpointId", Text)],
        |desk, given| desk.post(&of(given, "/restore"), body(given, &["checkpointId"])),
    )
    .rare(),
    Verb::new(
        "task_fork",
        Role::Person,
        "Make a new task that begins at a checkpoint",
        &[
            Arg::need("checkpointId", Text),
            Arg::may("title", Text),
            Arg::may("instructions", Text),
            Arg::may("submit", Flag),
        ],
        |desk, given| {
            let path = format!(
                "/api/checkpoints/{}/fork",
                encode_segment(given.word("checkpointId"))
            );
            desk.post(&path, body(given, &["title", "instructions", "submit"]))
        },
    )
    .rare(),
    Verb::new(
        "task_say",
        Role::Person,
        "Say something to its agent",
        &[ID, Arg::need("text", Text)],
        |desk, given| desk.post(&of(given, "/say"), body(given, &["text"])),
    )
    .rare(),
];

/// Creates a rare verb that reads one task.
const fn reading(name: &'static str, about: &'static str, run: fn(&Desk, &Given) -> Done) -> Verb {
    Verb::new(name, Role::ReadOnly, about, &[ID], run).rare()
}

/// Creates a rare verb that changes one task and takes only its id.
const fn moving(name: &'static str, about: &'static str, run: fn(&Desk, &Given) -> Done) -> Verb {
    Verb::new(name, Role::Person, about, &[ID], run).rare()
}

impl Desk {
    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Done {
        Ok(self.tasks.ask(method, path, body)?)
    }

    pub(super) fn post(&self, path: &str, body: Value) -> Done {
        self.ask("POST", path, Some(&body))
    }
}

/// Returns the URL path of a task, or of something below it.
fn of(given: &Given, below: &str) -> String {
    format!("/api/tasks/{}{below}", encode_segment(given.word("id")))
}

/// Returns the named arguments as the body of a request.
fn body(given: &Given, names: &[&str]) -> Value {
    let values = given.all().iter();
    let named = values.filter(|(name, _)| names.contains(&name.as_str()));
    let named: Map<String, Value> = named
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    named.into()
}

fn list(desk: &Desk, given: &Given) -> Done {
    let mut path = format!("/api/tasks?limit={TASKS_MAX}");
    for name in ["status", "q"] {
        if let Some(value) = given.text(name) {
            path.push_str(&format!("&{name}={}", encode_segment(value)));
        }
    }
    let page = desk.ask("GET", &path, None)?;
    let tasks = page["items"].as_array().into_iter().flatten().map(|task| {
        let mut brief = Map::new();
        for name in [
            "id",
            "title",
            "type",
            "status",
            "currentPhase",
            "progress",
            "needsYou",
        ] {
            match &task[name] {
                Value::Null => {}
                value => drop(brief.insert(name.to_owned(), value.clone())),
            }
        }
        Value::Object(brief)
    });
    let tasks: Vec<Value> = tasks.collect();
    Ok(json!({ "tasks": tasks, "more": !page["nextCursor"].is_null() }))
}

fn new(desk: &Desk, given: &Given) -> Done {
    let mut body = Value::Object(given.all().clone());
    if let Some(workspace) = given.text("workspace") {
        body["workspace"] = desk.path(workspace)?.to_string_lossy().into();
    }
    desk.post("/api/tasks", body)
}

/// Returns the id of a pending request of a task: the one given, or the oldest pending one.
fn open(desk: &Desk, given: &Given, list: &str, prefix: &str) -> Result<String, crate::answer::No> {
    let id = given.word("id");
    if id.starts_with(prefix) {
        return Ok(encode_segment(id));
    }
    let page = desk.ask("GET", &of(given, &format!("/{list}")), None)?;
    let mut items = page["items"].as_array().into_iter().flatten();
    let open = items.find(|item| item["status"] == "pending");
    // Without a pending one, an unknown id is sent, so that the server answers with its own error.
    let found = open.and_then(|item| item["id"].as_str());
    Ok(encode_segment(found.unwrap_or(prefix)))
}
