//! Verbs of tasks on the server: each is one request. The server authenticates the caller and
//! decides.
//!
//! No tool passes on a value that an agent requested: it would become part of a model's
//! conversation. That is done with `bowline task provide`, in a person's terminal.

use crate::answer::{ToolError, ToolRefusal, ToolResult};
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::table::ParameterType::{self, Flag, Number, Text, Texts};
use crate::table::{ToolParameter, ToolVerb};
use bowline_engine::machines::job::{
    DependencyStatus, PermissionStatus, QuestionStatusKind, TaskStatus,
};
use bowline_formats::rest::routes::{
    LogQuery, PageQuery, TaskQuery, TypedRequest, answer_question, approve_task, archive_task,
    cancel_task, create_checkpoint, create_task, delete_task, deny_tool, fork_checkpoint,
    get_inbox, get_logs, get_task, interrupt_agent, list_artifacts, list_checkpoints,
    list_dependencies, list_permissions, list_questions, list_tasks, list_transitions, pause_task,
    permit_tool, reject_dependency, request_task_changes, restore_task, resume_task, retry_task,
    say_to_agent, skip_question, submit_task,
};
use bowline_formats::rest::{
    AnswerRequest, Approval, ChangeRequest, ForkRequest, NewTask, Page, RejectRequest,
    RestoreRequest, SayRequest, Task,
};
use bowline_words::message::ServeTrouble;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Tasks of one list.
const TASKS_MAX: i64 = 50;
/// Bytes of an agent's output shown by default.
const LOG_BYTES: u64 = 4_000;
const LOG_BYTES_MAX: u64 = 12_000;
const PRIORITIES: &[&str] = &["critical", "high", "normal", "low"];

const ID: ToolParameter = ToolParameter::required("id", Text);

pub(crate) static VERBS: &[ToolVerb] = &[
    ToolVerb::new(
        "task_list",
        SessionRole::ReadOnly,
        "Tasks of the server, newest first",
        &[
            ToolParameter::optional("status", Text).hide_from_list(),
            ToolParameter::optional("q", Text).hide_from_list(),
        ],
        list_brief_tasks,
    ),
    ToolVerb::new(
        "task_show",
        SessionRole::ReadOnly,
        "One task, and what may be done with it",
        &[ID],
        |desk, given| desk.ask(&get_task(given.required_text("id"))),
    ),
    ToolVerb::new(
        "task_new",
        SessionRole::Person,
        "Make a draft, or with submit queue it",
        &[
            ToolParameter::required("title", Text),
            ToolParameter::required("type", Text),
            ToolParameter::required("description", Text),
            ToolParameter::optional("priority", ParameterType::Word(PRIORITIES)),
            ToolParameter::optional("dependsOn", Texts),
            ToolParameter::optional("agent", Text),
            ToolParameter::optional("workspace", Text).with_description("folder"),
            ToolParameter::optional("label", Text),
            ToolParameter::optional("submit", Flag),
        ],
        create_task_in_folder,
    ),
    ToolVerb::new(
        "task_submit",
        SessionRole::Person,
        "Queue a draft",
        &[ID],
        |desk, given| desk.ask(&submit_task(given.required_text("id"))),
    ),
    ToolVerb::new(
        "task_approve",
        SessionRole::Person,
        "Approve the phase under review",
        &[ID, ToolParameter::optional("comment", Text)],
        |desk, given| {
            let comment = given.text("comment").map(str::to_owned);
            desk.ask(&approve_task(
                given.required_text("id"),
                &Approval { comment },
            ))
        },
    ),
    ToolVerb::new(
        "task_request_changes",
        SessionRole::Person,
        "Have the phase under review changed",
        &[ID, ToolParameter::required("feedback", Text)],
        |desk, given| {
            let request = ChangeRequest {
                feedback: given.required_text("feedback").to_owned(),
                comments: Vec::new(),
            };
            desk.ask(&request_task_changes(given.required_text("id"), &request))
        },
    ),
    ToolVerb::new(
        "task_answer",
        SessionRole::Person,
        "Answer the oldest question of a task",
        &[ID, ToolParameter::required("answer", Text)],
        |desk, given| {
            let answer = given.required_text("answer").to_owned();
            let question = open_question(desk, given)?;
            desk.ask(&answer_question(&question, &AnswerRequest { answer }))
        },
    ),
    ToolVerb::new(
        "task_cancel",
        SessionRole::Person,
        "Give a task up",
        &[ID],
        |desk, given| desk.ask(&cancel_task(given.required_text("id"))),
    )
    .mark_destructive(),
    ToolVerb::new(
        "task_pause",
        SessionRole::Person,
        "Stop its agent",
        &[ID],
        |desk, given| desk.ask(&pause_task(given.required_text("id"))),
    ),
    ToolVerb::new(
        "task_resume",
        SessionRole::Person,
        "Let it go on",
        &[ID],
        |desk, given| desk.ask(&resume_task(given.required_text("id"))),
    ),
    ToolVerb::new(
        "task_inbox",
        SessionRole::ReadOnly,
        "All that waits for a person",
        &[],
        |desk, _| desk.ask(&get_inbox()),
    )
    .mark_rare(),
    ToolVerb::new(
        "task_logs",
        SessionRole::ReadOnly,
        "The end of what its agent printed",
        &[
            ID,
            ToolParameter::optional("last", Number).with_description("bytes"),
        ],
        |desk, given| {
            let last = given
                .number("last")
                .unwrap_or(LOG_BYTES)
                .clamp(1, LOG_BYTES_MAX);
            let range = LogQuery {
                offset: i64::try_from(last).ok().map(|last| -last),
                limit: i64::try_from(LOG_BYTES_MAX).ok(),
            };
            let text = desk.ask(&get_logs(given.required_text("id"), &range))?;
            Ok(json!({ "text": text }))
        },
    )
    .mark_rare(),
    read_verb(
        "task_transitions",
        "Every move of task and agent",
        |desk, given| {
            let page = PageQuery {
                limit: Some(100),
                cursor: None,
            };
            desk.ask(&list_transitions(given.required_text("id"), &page))
        },
    ),
    read_verb("task_checkpoints", "Its checkpoints", |desk, given| {
        desk.ask(&list_checkpoints(given.required_text("id")))
    }),
    read_verb("task_artifacts", "Files of its workspace", |desk, given| {
        desk.ask(&list_artifacts(given.required_text("id")))
    }),
    read_verb("task_questions", "Its questions", |desk, given| {
        desk.ask(&list_questions(given.required_text("id")))
    }),
    change_verb(
        "task_retry",
        "Make a new task in the place of a failed one",
        |desk, given| desk.ask(&retry_task(given.required_text("id"))),
    ),
    change_verb("task_archive", "Hide a completed task", |desk, given| {
        desk.ask(&archive_task(given.required_text("id")))
    }),
    change_verb(
        "task_delete",
        "Remove a task and all that belongs to it",
        |desk, given| desk.ask(&delete_task(given.required_text("id"))),
    ),
    change_verb("task_checkpoint", "Save a checkpoint now", |desk, given| {
        desk.ask(&create_checkpoint(given.required_text("id")))
    }),
    change_verb(
        "task_interrupt",
        "Interrupt what its agent does",
        |desk, given| desk.ask(&interrupt_agent(given.required_text("id"))),
    ),
    change_verb(
        "task_skip",
        "Leave an optional question without an answer",
        |desk, given| desk.ask(&skip_question(&open_question(desk, given)?)),
    ),
    change_verb(
        "task_permit",
        "Let a tool call of its agent go on",
        |desk, given| desk.ask(&permit_tool(&open_permission(desk, given)?)),
    ),
    ToolVerb::new(
        "task_deny",
        SessionRole::Person,
        "Refuse a tool call of its agent",
        &[ID, ToolParameter::optional("reason", Text)],
        |desk, given| {
            let reason = given.required_text("reason").to_owned();
            let permission = open_permission(desk, given)?;
            desk.ask(&deny_tool(&permission, &RejectRequest { reason }))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "task_reject",
        SessionRole::Person,
        "Refuse a dependency",
        &[ID, ToolParameter::required("reason", Text)],
        |desk, given| {
            let reason = given.required_text("reason").to_owned();
            let dependency = open_dependency(desk, given)?;
            desk.ask(&reject_dependency(&dependency, &RejectRequest { reason }))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "task_restore",
        SessionRole::Person,
        "Set a task back to a checkpoint",
        &[ID, ToolParameter::required("checkpointId", Text)],
        |desk, given| {
            let checkpoint_id = given.required_text("checkpointId").to_owned();
            let request = RestoreRequest { checkpoint_id };
            desk.ask(&restore_task(given.required_text("id"), &request))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "task_fork",
        SessionRole::Person,
        "Make a new task that begins at a checkpoint",
        &[
            ToolParameter::required("checkpointId", Text),
            ToolParameter::optional("title", Text),
            ToolParameter::optional("instructions", Text),
            ToolParameter::optional("submit", Flag),
        ],
        |desk, given| {
            let request = ForkRequest {
                title: given.text("title").map(str::to_owned),
                instructions: given.text("instructions").map(str::to_owned),
                submit: given.value("submit").and_then(Value::as_bool),
            };
            desk.ask(&fork_checkpoint(
                given.required_text("checkpointId"),
                &request,
            ))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "task_say",
        SessionRole::Person,
        "Say something to its agent",
        &[ID, ToolParameter::required("text", Text)],
        |desk, given| {
            let text = given.required_text("text").to_owned();
            desk.ask(&say_to_agent(
                given.required_text("id"),
                &SayRequest { text },
            ))
        },
    )
    .mark_rare(),
];

/// Creates a rare verb that reads one task.
const fn read_verb(
    name: &'static str,
    about: &'static str,
    run: fn(&ToolSession, &ToolArguments) -> ToolResult,
) -> ToolVerb {
    ToolVerb::new(name, SessionRole::ReadOnly, about, &[ID], run).mark_rare()
}

/// Creates a rare verb that changes one task and takes only its id.
const fn change_verb(
    name: &'static str,
    about: &'static str,
    run: fn(&ToolSession, &ToolArguments) -> ToolResult,
) -> ToolVerb {
    ToolVerb::new(name, SessionRole::Person, about, &[ID], run).mark_rare()
}

impl ToolSession {
    /// Sends a request to the task server; returns the response as it was sent.
    pub(super) fn ask<T>(&self, request: &TypedRequest<T>) -> ToolResult {
        Ok(self.tasks.send_request(&request.request)?)
    }

    /// Sends a request to the task server and reads the response.
    fn read<T: DeserializeOwned>(&self, request: &TypedRequest<T>) -> Result<T, ToolError> {
        serde_json::from_value(self.ask(request)?).map_err(|_| {
            let place = request.request.path.clone();
            let (message, hint) = ServeTrouble::BadAnswer { place }.say(self.lang);
            ToolError::Rendered(ToolRefusal {
                code: "not_a_server".to_owned(),
                message,
                hint,
            })
        })
    }
}

/// A task in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskBrief {
    id: String,
    title: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    task_type: Option<String>,
    status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_phase: Option<u32>,
    progress: u32,
    needs_you: bool,
}

fn list_brief_tasks(desk: &ToolSession, given: &ToolArguments) -> ToolResult {
    let page = desk.read(&list_tasks(&TaskQuery {
        status: given.text("status").map(str::to_owned),
        q: given.text("q").map(str::to_owned),
        limit: Some(TASKS_MAX),
        ..TaskQuery::default()
    }))?;
    let tasks = page.items.into_iter().map(|task: Task| TaskBrief {
        id: task.id,
        title: task.title,
        task_type: task.task_type,
        status: task.status,
        current_phase: task.current_phase,
        progress: task.progress,
        needs_you: task.needs_you,
    });
    let tasks: Vec<TaskBrief> = tasks.collect();
    Ok(json!({ "tasks": tasks, "more": page.next_cursor.is_some() }))
}

fn create_task_in_folder(desk: &ToolSession, given: &ToolArguments) -> ToolResult {
    let mut body: NewTask = given.body(desk.lang)?;
    if let Some(workspace) = &mut body.workspace {
        *workspace = desk.resolve_path(workspace)?.to_string_lossy().into_owned();
    }
    desk.ask(&create_task(&body))
}

/// Returns the id of a pending request of a task: the one given, or the oldest pending one.
fn find_pending<T: DeserializeOwned>(
    desk: &ToolSession,
    given: &ToolArguments,
    prefix: &str,
    list: fn(&str) -> TypedRequest<Page<T>>,
    pending_id: fn(T) -> Option<String>,
) -> Result<String, ToolError> {
    let id = given.required_text("id");
    if id.starts_with(prefix) {
        return Ok(id.to_owned());
    }
    let page = desk.read(&list(id))?;
    let found = page.items.into_iter().find_map(pending_id);
    // Without a pending one, an unknown id is sent, so that the server answers with its own error.
    Ok(found.unwrap_or_else(|| prefix.to_owned()))
}

fn open_question(desk: &ToolSession, given: &ToolArguments) -> Result<String, ToolError> {
    find_pending(desk, given, "q_", list_questions, |it| {
        (it.status == QuestionStatusKind::Pending).then_some(it.id)
    })
}

fn open_permission(desk: &ToolSession, given: &ToolArguments) -> Result<String, ToolError> {
    find_pending(desk, given, "perm_", list_permissions, |it| {
        (it.status == PermissionStatus::Pending).then_some(it.id)
    })
}

fn open_dependency(desk: &ToolSession, given: &ToolArguments) -> Result<String, ToolError> {
    find_pending(desk, given, "dep_", list_dependencies, |it| {
        (it.status == DependencyStatus::Pending).then_some(it.id)
    })
}
