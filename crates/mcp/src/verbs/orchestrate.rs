//! Verbs of orchestrations.

use crate::answer::{ToolError, ToolRefusal, ToolResult, answer_change, answer_view};
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::table::ParameterType::{self, Flag, Number, Text};
use crate::table::{ToolParameter, ToolVerb};
use bowline_engine::Error;
use bowline_engine::files::ChangeOutcome;
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::machines::Actor;
use bowline_engine::operations::orchestrate::{
    self, DrawingFormat, OrchestrationOptions, StartedOrchestration, TaskMoved,
};
use bowline_runner::orchestrate::control_socket::{self, SocketRequest};
use bowline_runner::orchestrate::manual;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The words of [`Mode`].
pub(crate) const MODES: &[&str] = &["normal", "ultra-thin", "ralph"];
/// Graph formats that a model can read as text.
const PICTURES: &[&str] = &["mermaid", "dot"];

const ID: ToolParameter = ToolParameter::required("id", Text);

pub(crate) static VERBS: &[ToolVerb] = &[
    ToolVerb::new(
        "orchestrate_init",
        SessionRole::Agent,
        "Begin to work off a plan (TASKS.md)",
        &[
            ToolParameter::optional("file", Text),
            ToolParameter::optional("mode", ParameterType::Word(MODES)).hide_from_list(),
            ToolParameter::optional("parallel", Number).hide_from_list(),
            ToolParameter::optional("project", Text).hide_from_list(),
        ],
        init_orchestration,
    ),
    ToolVerb::new(
        "orchestrate_next",
        SessionRole::ReadOnly,
        "What to do now: READY:ids, WAIT, PHASE_DONE:n, ALL_DONE, STALLED:ids or ERROR",
        &[ToolParameter::optional("phase", Number).hide_from_list()],
        next_step,
    ),
    ToolVerb::new(
        "orchestrate_start",
        SessionRole::Agent,
        "Begin a task",
        &[ID],
        |session, given| {
            let id = given.required_text("id").to_owned();
            send_to_run(session, &SocketRequest::Start { id }).unwrap_or_else(|| {
                answer_task(
                    session,
                    session
                        .orchestration()
                        .start_task(&session.context, given.required_text("id")),
                )
            })
        },
    ),
    ToolVerb::new(
        "orchestrate_complete",
        SessionRole::Agent,
        "End a task; ticks it in the plan",
        &[ID],
        |session, given| {
            let id = given.required_text("id").to_owned();
            send_to_run(session, &SocketRequest::Complete { id }).unwrap_or_else(|| {
                answer_task(
                    session,
                    session
                        .orchestration()
                        .complete_task(&session.context, given.required_text("id")),
                )
            })
        },
    ),
    ToolVerb::new(
        "orchestrate_fail",
        SessionRole::Agent,
        "Say that a task failed; for good unless retry",
        &[
            ID,
            ToolParameter::optional("reason", Text),
            ToolParameter::optional("retry", Flag),
        ],
        fail_task,
    ),
    ToolVerb::new(
        "orchestrate_phase_finish",
        SessionRole::Agent,
        "End a phase whose tasks are done",
        &[
            ToolParameter::required("phase", Number),
            ToolParameter::optional("no_git", Flag).hide_from_list(),
        ],
        phase_finish,
    ),
    ToolVerb::new(
        "orchestrate_retry",
        SessionRole::Agent,
        "Give a failed task a fresh start",
        &[ID],
        |session, given| {
            let id = given.required_text("id").to_owned();
            send_to_run(session, &SocketRequest::Retry { id }).unwrap_or_else(|| {
                answer_task(
                    session,
                    session
                        .orchestration()
                        .retry_task(&session.context, given.required_text("id")),
                )
            })
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "orchestrate_force_complete",
        SessionRole::Person,
        "Call a task done whatever its state",
        &[ID, ToolParameter::optional("reason", Text)],
        force_complete,
    )
    .mark_rare(),
    ToolVerb::new(
        "orchestrate_rebuild",
        SessionRole::Agent,
        "Rebuild the state from the plan's ticks",
        &[],
        |session, _| {
            answer_begun(
                session,
                &session.orchestration().rebuild_run(&session.context)?,
            )
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "orchestrate_graph",
        SessionRole::ReadOnly,
        "The tasks as a graph",
        &[ToolParameter::optional(
            "format",
            ParameterType::Word(PICTURES),
        )],
        draw_graph,
    )
    .mark_rare(),
    ToolVerb::new(
        "orchestrate_verify",
        SessionRole::ReadOnly,
        "What plan and state say differently",
        &[],
        verify_plan,
    )
    .mark_rare(),
    ToolVerb::new(
        "orchestrate_plan",
        SessionRole::ReadOnly,
        "The tasks of a plan; writes nothing",
        &[ToolParameter::optional("file", Text)],
        show_plan,
    )
    .mark_rare(),
    ToolVerb::new(
        "orchestrate_status",
        SessionRole::ReadOnly,
        "The orchestration",
        &[],
        |session, _| {
            let glance = orchestrate::read_overview(&session.context, &session.folder)?;
            let mut body = answer_view(session, &glance.view)?;
            body["done"] = glance.done_count().into();
            body["total"] = glance.total_count().into();
            Ok(body)
        },
    )
    .mark_rare(),
    ToolVerb::new(
        "orchestrate_pause",
        SessionRole::Person,
        "Have the run start nothing new",
        &[],
        |session, _| require_run(session, &SocketRequest::Pause {}),
    )
    .mark_rare(),
    ToolVerb::new(
        "orchestrate_continue",
        SessionRole::Person,
        "Have the run go on",
        &[],
        |session, _| require_run(session, &SocketRequest::Continue {}),
    )
    .mark_rare(),
    ToolVerb::new(
        "orchestrate_stop",
        SessionRole::Person,
        "Have the run end its agents and leave",
        &[],
        |session, _| require_run(session, &SocketRequest::Stop {}),
    )
    .mark_rare(),
];

/// Sends a request to the run that owns the file; `None` if no run is active.
fn send_to_run(session: &ToolSession, request: &SocketRequest) -> Option<ToolResult> {
    let answer =
        control_socket::send_request(&session.orchestration().file().path, request, session.lang)?;
    Some(match (answer.error, answer.task) {
        (Some(error), _) => Err(ToolError::Rendered(ToolRefusal {
            code: error.code,
            message: error.message,
            hint: error.hint,
        })),
        (None, Some((id, status))) => Ok(json!({ "kind": "orchestrate", "id": id, "to": status })),
        (None, None) => Ok(json!({ "kind": "orchestrate", "done": true })),
    })
}

fn require_run(session: &ToolSession, request: &SocketRequest) -> ToolResult {
    send_to_run(session, request).unwrap_or_else(|| {
        let path = session.orchestration().file().path.clone();
        Err(Error::NobodyRuns { path }.into())
    })
}

fn answer_task(
    session: &ToolSession,
    moved: Result<ChangeOutcome<TaskMoved>, Error>,
) -> ToolResult {
    let moved = moved?;
    let task = &moved.state;
    let mut facts = json!({ "id": task.id, "done": task.done, "total": task.total });
    if task.failed {
        facts["blocked"] = task.blocked.into();
    }
    if task.attempts > 0 {
        facts["attempts"] = json!(format!("{}/{}", task.attempts, task.attempts_max));
    }
    answer_change(session, &moved, facts)
}

fn answer_begun(session: &ToolSession, moved: &ChangeOutcome<StartedOrchestration>) -> ToolResult {
    let StartedOrchestration {
        project,
        total,
        done,
        phase,
    } = &moved.state;
    let facts = json!({ "project": project, "total": total, "done": done, "phase": phase });
    answer_change(session, moved, facts)
}

fn init_orchestration(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let plan = given
        .text("file")
        .map(|path| session.resolve_path(path))
        .transpose()?;
    let parallel = given
        .number("parallel")
        .map(|it| u32::try_from(it).unwrap_or(u32::MAX));
    let usual = OrchestrationOptions::default();
    let begin = OrchestrationOptions {
        plan,
        mode: given
            .text("mode")
            .and_then(RunMode::from_name)
            .unwrap_or(usual.mode),
        parallel: parallel.unwrap_or(usual.parallel),
        project: given.text("project").map(str::to_owned),
    };
    answer_begun(
        session,
        &session
            .orchestration()
            .create_run(&session.context, &begin)?,
    )
}

fn next_step(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let phase = given.number("phase").map(|_| given.required_id("phase"));
    let (reply, error) =
        orchestrate::resolve_reply(&session.context, &session.orchestration(), phase);
    match error {
        Some(error) => Err(error.into()),
        None => Ok(json!({ "reply": reply.to_string() })),
    }
}

fn fail_task(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let (id, reason, retry) = (
        given.required_text("id"),
        given.text("reason"),
        given.is_set("retry"),
    );
    let request = SocketRequest::Fail {
        id: id.to_owned(),
        reason: reason.map(str::to_owned),
        retry,
    };
    send_to_run(session, &request).unwrap_or_else(|| {
        answer_task(
            session,
            session
                .orchestration()
                .fail_task(&session.context, id, reason, retry),
        )
    })
}

fn force_complete(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let (id, reason) = (given.required_text("id"), given.text("reason"));
    let request = SocketRequest::ForceComplete {
        id: id.to_owned(),
        reason: reason.map(str::to_owned),
        person: session.context.actor() == Actor::Person,
    };
    send_to_run(session, &request).unwrap_or_else(|| {
        let run = session.orchestration();
        answer_task(session, run.force_complete(&session.context, id, reason))
    })
}

fn phase_finish(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.orchestration();
    let (phase, no_git) = (given.required_id("phase"), given.is_set("no_git"));
    let moved = manual::finish_phase(&session.context, &run, phase, no_git)?;
    let facts = json!({ "current": moved.state.current, "allDone": moved.state.all_done });
    answer_change(session, &moved, facts)
}

fn draw_graph(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let picture = match given.text("format") {
        Some("dot") => DrawingFormat::Dot,
        _ => DrawingFormat::Mermaid,
    };
    let drawn = session
        .orchestration()
        .draw_graph(&session.context, picture, session.lang)?;
    Ok(json!({ "text": drawn.text, "criticalPath": drawn.critical, "leftOut": drawn.left_out }))
}

fn verify_plan(session: &ToolSession, _: &ToolArguments) -> ToolResult {
    let found = session.orchestration().compare_plan(&session.context)?;
    let phases: Vec<Value> = found
        .phases
        .iter()
        .map(|one| {
            json!({
                "phase": one.phase,
                "tickedNotCompleted": one.not_in_state,
                "completedNotTicked": one.not_in_plan,
                "onlyInPlan": one.unknown,
                "onlyInState": one.gone,
            })
        })
        .collect();
    let gone = manual::landings_gone(&session.context, &session.orchestration())?;
    Ok(json!({
        "plan": session.display_path(&found.plan),
        "agrees": phases.is_empty() && gone.is_none(),
        "phases": phases,
        "landingsGone": gone.map(|why| why.render_line(session.lang)),
    }))
}

fn show_plan(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let named: Option<PathBuf> = given
        .text("file")
        .map(|path| session.resolve_path(path))
        .transpose()?;
    let plan = orchestrate::load_plan(&session.context, &session.folder, named.as_deref())?;
    let needs: std::collections::HashMap<_, _> = plan.file.dependencies().collect();
    let tasks: Vec<Value> = plan
        .file
        .tasks
        .iter()
        .map(|task| {
            json!({
                "id": task.id, "phase": task.phase, "title": task.title, "done": task.done,
                "needs": needs.get(&task.id).cloned().unwrap_or_default(),
            })
        })
        .collect();
    let notes: Vec<String> = plan
        .file
        .findings
        .iter()
        .map(|one| format!("{}: {}", one.line, one.message.say(session.lang)))
        .collect();
    Ok(json!({ "file": session.display_path(&plan.path), "tasks": tasks, "notes": notes }))
}
