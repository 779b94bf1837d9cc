//! Verbs of orchestrations.

use crate::answer::{Done, No, Refused, changed, viewed};
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::table::Kind::{self, Flag, Number, Text};
use crate::table::{Arg, Verb};
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

const ID: Arg = Arg::need("id", Text);

pub(crate) static VERBS: &[Verb] = &[
    Verb::new(
        "orchestrate_init",
        SessionRole::Agent,
        "Begin to work off a plan (TASKS.md)",
        &[
            Arg::may("file", Text),
            Arg::may("mode", Kind::Word(MODES)).rare(),
            Arg::may("parallel", Number).rare(),
            Arg::may("project", Text).rare(),
        ],
        init,
    ),
    Verb::new(
        "orchestrate_next",
        SessionRole::ReadOnly,
        "What to do now: READY:ids, WAIT, PHASE_DONE:n, ALL_DONE, STALLED:ids or ERROR",
        &[Arg::may("phase", Number).rare()],
        next,
    ),
    Verb::new(
        "orchestrate_start",
        SessionRole::Agent,
        "Begin a task",
        &[ID],
        |desk, given| {
            let id = given.required_text("id").to_owned();
            asked(desk, &SocketRequest::Start { id }).unwrap_or_else(|| {
                moved(
                    desk,
                    desk.orchestration()
                        .start_task(&desk.context, given.required_text("id")),
                )
            })
        },
    ),
    Verb::new(
        "orchestrate_complete",
        SessionRole::Agent,
        "End a task; ticks it in the plan",
        &[ID],
        |desk, given| {
            let id = given.required_text("id").to_owned();
            asked(desk, &SocketRequest::Complete { id }).unwrap_or_else(|| {
                moved(
                    desk,
                    desk.orchestration()
                        .complete_task(&desk.context, given.required_text("id")),
                )
            })
        },
    ),
    Verb::new(
        "orchestrate_fail",
        SessionRole::Agent,
        "Say that a task failed; for good unless retry",
        &[ID, Arg::may("reason", Text), Arg::may("retry", Flag)],
        fail,
    ),
    Verb::new(
        "orchestrate_phase_finish",
        SessionRole::Agent,
        "End a phase whose tasks are done",
        &[Arg::need("phase", Number), Arg::may("no_git", Flag).rare()],
        phase_finish,
    ),
    Verb::new(
        "orchestrate_retry",
        SessionRole::Agent,
        "Give a failed task a fresh start",
        &[ID],
        |desk, given| {
            let id = given.required_text("id").to_owned();
            asked(desk, &SocketRequest::Retry { id }).unwrap_or_else(|| {
                moved(
                    desk,
                    desk.orchestration()
                        .retry_task(&desk.context, given.required_text("id")),
                )
            })
        },
    )
    .rare(),
    Verb::new(
        "orchestrate_force_complete",
        SessionRole::Person,
        "Call a task done whatever its state",
        &[ID, Arg::may("reason", Text)],
        force_complete,
    )
    .rare(),
    Verb::new(
        "orchestrate_rebuild",
        SessionRole::Agent,
        "Rebuild the state from the plan's ticks",
        &[],
        |desk, _| begun(desk, &desk.orchestration().rebuild_run(&desk.context)?),
    )
    .rare(),
    Verb::new(
        "orchestrate_graph",
        SessionRole::ReadOnly,
        "The tasks as a graph",
        &[Arg::may("format", Kind::Word(PICTURES))],
        graph,
    )
    .rare(),
    Verb::new(
        "orchestrate_verify",
        SessionRole::ReadOnly,
        "What plan and state say differently",
        &[],
        verify,
    )
    .rare(),
    Verb::new(
        "orchestrate_plan",
        SessionRole::ReadOnly,
        "The tasks of a plan; writes nothing",
        &[Arg::may("file", Text)],
        plan,
    )
    .rare(),
    Verb::new(
        "orchestrate_status",
        SessionRole::ReadOnly,
        "The orchestration",
        &[],
        |desk, _| {
            let glance = orchestrate::read_overview(&desk.context, &desk.folder)?;
            let mut body = viewed(desk, &glance.view)?;
            body["done"] = glance.done_count().into();
            body["total"] = glance.total_count().into();
            Ok(body)
        },
    )
    .rare(),
    Verb::new(
        "orchestrate_pause",
        SessionRole::Person,
        "Have the run start nothing new",
        &[],
        |desk, _| of_run(desk, &SocketRequest::Pause {}),
    )
    .rare(),
    Verb::new(
        "orchestrate_continue",
        SessionRole::Person,
        "Have the run go on",
        &[],
        |desk, _| of_run(desk, &SocketRequest::Continue {}),
    )
    .rare(),
    Verb::new(
        "orchestrate_stop",
        SessionRole::Person,
        "Have the run end its agents and leave",
        &[],
        |desk, _| of_run(desk, &SocketRequest::Stop {}),
    )
    .rare(),
];

/// Sends a request to the run that owns the file; `None` if no run is active.
fn asked(desk: &ToolSession, request: &SocketRequest) -> Option<Done> {
    let answer =
        control_socket::send_request(&desk.orchestration().file().path, request, desk.lang)?;
    Some(match (answer.error, answer.task) {
        (Some(error), _) => Err(No::Told(Refused {
            code: error.code,
            message: error.message,
            hint: error.hint,
        })),
        (None, Some((id, status))) => Ok(json!({ "kind": "orchestrate", "id": id, "to": status })),
        (None, None) => Ok(json!({ "kind": "orchestrate", "done": true })),
    })
}

fn of_run(desk: &ToolSession, request: &SocketRequest) -> Done {
    asked(desk, request).unwrap_or_else(|| {
        let path = desk.orchestration().file().path.clone();
        Err(Error::NobodyRuns { path }.into())
    })
}

fn moved(desk: &ToolSession, moved: Result<ChangeOutcome<TaskMoved>, Error>) -> Done {
    let moved = moved?;
    let task = &moved.state;
    let mut facts = json!({ "id": task.id, "done": task.done, "total": task.total });
    if task.failed {
        facts["blocked"] = task.blocked.into();
    }
    if task.attempts > 0 {
        facts["attempts"] = json!(format!("{}/{}", task.attempts, task.attempts_max));
    }
    changed(desk, &moved, facts)
}

fn begun(desk: &ToolSession, moved: &ChangeOutcome<StartedOrchestration>) -> Done {
    let StartedOrchestration {
        project,
        total,
        done,
        phase,
    } = &moved.state;
    let facts = json!({ "project": project, "total": total, "done": done, "phase": phase });
    changed(desk, moved, facts)
}

fn init(desk: &ToolSession, given: &ToolArguments) -> Done {
    let plan = given
        .text("file")
        .map(|path| desk.resolve_path(path))
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
    begun(
        desk,
        &desk.orchestration().create_run(&desk.context, &begin)?,
    )
}

fn next(desk: &ToolSession, given: &ToolArguments) -> Done {
    let phase = given.number("phase").map(|_| given.required_id("phase"));
    let (reply, error) = orchestrate::resolve_reply(&desk.context, &desk.orchestration(), phase);
    match error {
        Some(error) => Err(error.into()),
        None => Ok(json!({ "reply": reply.to_string() })),
    }
}

fn fail(desk: &ToolSession, given: &ToolArguments) -> Done {
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
    asked(desk, &request).unwrap_or_else(|| {
        moved(
            desk,
            desk.orchestration()
                .fail_task(&desk.context, id, reason, retry),
        )
    })
}

fn force_complete(desk: &ToolSession, given: &ToolArguments) -> Done {
    let (id, reason) = (given.required_text("id"), given.text("reason"));
    let request = SocketRequest::ForceComplete {
        id: id.to_owned(),
        reason: reason.map(str::to_owned),
        person: desk.context.actor() == Actor::Person,
    };
    asked(desk, &request).unwrap_or_else(|| {
        let run = desk.orchestration();
        moved(desk, run.force_complete(&desk.context, id, reason))
    })
}

fn phase_finish(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.orchestration();
    let (phase, no_git) = (given.required_id("phase"), given.is_set("no_git"));
    let moved = manual::finish_phase(&desk.context, &run, phase, no_git)?;
    let facts = json!({ "current": moved.state.current, "allDone": moved.state.all_done });
    changed(desk, &moved, facts)
}

fn graph(desk: &ToolSession, given: &ToolArguments) -> Done {
    let picture = match given.text("format") {
        Some("dot") => DrawingFormat::Dot,
        _ => DrawingFormat::Mermaid,
    };
    let drawn = desk
        .orchestration()
        .draw_graph(&desk.context, picture, desk.lang)?;
    Ok(json!({ "text": drawn.text, "criticalPath": drawn.critical, "leftOut": drawn.left_out }))
}

fn verify(desk: &ToolSession, _: &ToolArguments) -> Done {
    let found = desk.orchestration().compare_plan(&desk.context)?;
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
    let gone = manual::landings_gone(&desk.context, &desk.orchestration())?;
    Ok(json!({
        "plan": desk.display_path(&found.plan),
        "agrees": phases.is_empty() && gone.is_none(),
        "phases": phases,
        "landingsGone": gone.map(|why| why.render_line(desk.lang)),
    }))
}

fn plan(desk: &ToolSession, given: &ToolArguments) -> Done {
    let named: Option<PathBuf> = given
        .text("file")
        .map(|path| desk.resolve_path(path))
        .transpose()?;
    let plan = orchestrate::load_plan(&desk.context, &desk.folder, named.as_deref())?;
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
        .map(|one| format!("{}: {}", one.line, one.message.say(desk.lang)))
        .collect();
    Ok(json!({ "file": desk.display_path(&plan.path), "tasks": tasks, "notes": notes }))
}
