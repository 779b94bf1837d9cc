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
        |session, given| session.ask(&get_task(given.required_text("id"))),
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
        |session, given| session.ask(&submit_task(given.required_text("id"))),
    ),
    ToolVerb::new(
        "task_approve",
        SessionRole::Person,
        "Approve the phase under review",
        &[ID, ToolParameter::optional("comment", Text)],
        |session, given| {
            let comment = given.text("comment").map(str::to_owned);
            session.ask(&approve_task(
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
        |session, given| {
            let request = ChangeRequest {
                feedback: given.required_text("feedback").to_owned(),
                comments: Vec::new(),
            };
            session.ask(&request_task_changes(given.required_text("id"), &request))
        },
    ),
    ToolVerb::new(
        "task_answer",
        SessionRole::Person,
        "Answer the oldest question of a task",
        &[ID, ToolParameter::required("answer", Text)],
        |session, given| {
            let answer = given.required_text("answer").to_owned();
            let question = open_question(session, given)?;
            session.ask(&answer_question(&question, &AnswerRequest { answer }))
        },
    ),
    ToolVerb::new(
        "task_cancel",
        SessionRole::Person,
        "Give a task up",
        &[ID],
        |session, given| session.ask(&cancel_task(given.required_text("id"))),
    )
    .mark_destructive(),
    ToolVerb::new(
        "task_pause",
        SessionRole::Person,
        "Stop its agent",
        &[ID],
        |session, given| session.ask(&pause_task(given.required_text("id"))),
    ),
    ToolVerb::new(
        "task_resume",
        SessionRole::Person,
        "Let it go on",
        &[ID],
        |session, given| session.ask(&resume_task(given.required_text("id"))),
    ),
    ToolVerb::new(
        "task_inbox",
        SessionRole::ReadOnly,
        "All that waits for a person",
        &[],
        |session, _| session.ask(&get_inbox()),
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
        |session, given| {
            let last = given
                .number("last")
                .unwrap_or(LOG_BYTES)
                .clamp(1, LOG_BYTES_MAX);
            let range = LogQuery {
                offset: i64::try_from(last).ok().map(|last| -last),
                limit: i64::try_from(LOG_BYTES_MAX).ok(),
            };
            let text = session.ask(&get_logs(given.required_text("id"), &range))?;
            Ok(json!({ "text": text }))
        },
    )
    .mark_rare(),
    read_verb(
        "task_transitions",
        "Every move of task and agent",
        |session, given| {
            let page = PageQuery {
                limit: Some(100),
                cursor: None,
            };
            session.ask(&list_transitions(given.required_text("id"), &page))
        },
    ),
    read_verb("task_checkpoints", "Its checkpoints", |session, given| {
        session.ask(&list_checkpoints(given.required_text("id")))
    }),
    read_verb(
        "task_artifacts",
        "Files of its workspace",
        |session, given| session.ask(&list_artifacts(given.required_text("id"))),
    ),
    read_verb("task_questions", "Its questions", |session, given| {
        session.ask(&list_questions(given.required_text("id")))
    }),
    change_verb(
        "task_retry",
        "Make a new task in the place of a failed one",
        |session, given| session.ask(&retry_task(given.required_text("id"))),
    ),
    change_verb("task_archive", "Hide a completed task", |session, given| {
        session.ask(&archive_task(given.required_text("id")))
    }),
    change_verb(
        "task_delete",
        "Remove a task and all that belongs to it",
        |session, given| session.ask(&delete_task(given.required_text("id"))),
    ),
    change_verb(
        "task_checkpoint",
        "Save a checkpoint now",
        |session, given| session.ask(&create_checkpoint(given.required_text("id"))),
    ),
    change_verb(
        "task_interrupt",
        "Interrupt what its agent does",
        |session, given| session.ask(&interrupt_agent(given.required_text("id"))),
    ),
    change_verb(
        "task_skip",
        "Leave an optional question without an answer",
        |session, given| session.ask(&skip_question(&open_question(session, given)?)),
    ),
    change_verb(
        "task_permit",
        "Let a tool call of its agent go on",
        |session, given| session.ask(&permit_tool(&open_permission(session, given)?)),
    ),
    ToolVerb::new(
        "task_deny",
        SessionRole::Person,
        "Refuse a tool call of its agent",
        &[ID, ToolParameter::optional("reason", Text)],
        |session, given| {
            let reason = given.required_text("reason").to_owned();
            let permission = open_permission(session, given)?;
            session.ask(&deny_tool(&permission, &RejectRequest { reason }))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "task_reject",
        SessionRole::Person,
        "Refuse a dependency",
        &[ID, ToolParameter::required("reason", Text)],
        |session, given| {
            let reason = given.required_text("reason").to_owned();
            let dependency = open_dependency(session, given)?;
            session.ask(&reject_dependency(&dependency, &RejectRequest { reason }))
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "task_restore",
        SessionRole::Person,
        "Set a task back to a checkpoint",
        &[ID, ToolParameter::required("checkpointId", Text)],
        |session, given| {
            let checkpoint_id = given.required_text("checkpointId").to_owned();
            let request = RestoreRequest { checkpoint_id };
            session.ask(&restore_task(given.required_text("id"), &request))
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
        |session, given| {
            let request = ForkRequest {
                title: given.text("title").map(str::to_owned),
                instructions: given.text("instructions").map(str::to_owned),
                submit: given.value("submit").and_then(Value::as_bool),
            };
            session.ask(&fork_checkpoint(
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
        |session, given| {
            let text = given.required_text("text").to_owned();
            session.ask(&say_to_agent(
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

fn list_brief_tasks(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let page = session.read(&list_tasks(&TaskQuery {
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

fn create_task_in_folder(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let mut body: NewTask = given.body(session.lang)?;
    if let Some(workspace) = &mut body.workspace {
        *workspace = session
            .resolve_path(workspace)?
            .to_string_lossy()
            .into_owned();
    }
    session.ask(&create_task(&body))
}

/// Returns the id of a pending request of a task: the one given, or the oldest pending one.
fn find_pending<T: DeserializeOwned>(
    session: &ToolSession,
    given: &ToolArguments,
    prefix: &str,
    list: fn(&str) -> TypedRequest<Page<T>>,
    pending_id: fn(T) -> Option<String>,
) -> Result<String, ToolError> {
    let id = given.required_text("id");
    if id.starts_with(prefix) {
        return Ok(id.to_owned());
    }
    let page = session.read(&list(id))?;
    let found = page.items.into_iter().find_map(pending_id);
    // Without a pending one, an unknown id is sent, so that the server answers with its own error.
    Ok(found.unwrap_or_else(|| prefix.to_owned()))
}

fn open_question(session: &ToolSession, given: &ToolArguments) -> Result<String, ToolError> {
    find_pending(session, given, "q_", list_questions, |it| {
        (it.status == QuestionStatusKind::Pending).then_some(it.id)
    })
}

fn open_permission(session: &ToolSession, given: &ToolArguments) -> Result<String, ToolError> {
    find_pending(session, given, "perm_", list_permissions, |it| {
        (it.status == PermissionStatus::Pending).then_some(it.id)
    })
}

fn open_dependency(session: &ToolSession, given: &ToolArguments) -> Result<String, ToolError> {
    find_pending(session, given, "dep_", list_dependencies, |it| {
        (it.status == DependencyStatus::Pending).then_some(it.id)
    })
}
