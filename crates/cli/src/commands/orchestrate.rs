//! `bowline orchestrate`.

use crate::args::orchestrate::{OrchestrateArgs, OrchestrateVerb, PhaseVerb, ToFile};
use crate::commands::{
    here, orchestrate_exchange as exchange, orchestrate_moves as moves,
    orchestrate_rehearsal as rehearsal, orchestrate_run as running,
    orchestrate_timeline as timeline_view, orchestrate_view,
};
use crate::output::{Output, Tone};
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::formats::tasks_md::{TaskId, TasksFile};
use bowline_engine::operations::orchestrate::{
    self, Orchestration, OrchestrationOptions, PlanFile, TaskMoved,
};
use bowline_engine::{Context, Error};
use bowline_runner::orchestrate::control_socket::SocketRequest;
use bowline_runner::orchestrate::{SimulationOptions, manual};
use bowline_words::message::{Confirmation, Label};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &Output,
    folder: &Path,
    args: &OrchestrateArgs,
) -> Result<ExitCode, Error> {
    let run = Orchestration::in_folder(context, folder);
    if let Some(answered) = running::ask_instead(context, output, &run, &args.verb) {
        return answered;
    }
    let place = |to: &ToFile| to.output.as_ref().map(|file| folder.join(file));
    match &args.verb {
        OrchestrateVerb::Init {
            file,
            mode,
            ultra_thin,
            parallel,
            project,
        } => {
            let begin = OrchestrationOptions {
                plan: file.clone(),
                mode: match ultra_thin {
                    true => RunMode::UltraThin,
                    false => *mode,
                },
                parallel: *parallel,
                project: project.clone(),
            };
            Ok(moves::begun(
                context,
                output,
                &run.create_run(context, &begin)?,
            ))
        }
        OrchestrateVerb::Run(args) => running::run(context, output, &run, args),
        OrchestrateVerb::Rehearse {
            seeds,
            shortest,
            longest,
            failing,
            parallel,
        } => {
            let wish = SimulationOptions {
                seeds: *seeds,
                minutes: (*shortest, *longest),
                failing: *failing,
                parallel: *parallel,
            };
            rehearsal::run(context, output, folder, &wish)
        }
        OrchestrateVerb::Pause => running::ask(output, &run, &SocketRequest::Pause {}),
        OrchestrateVerb::Continue => running::ask(output, &run, &SocketRequest::Continue {}),
        OrchestrateVerb::Stop => running::ask(output, &run, &SocketRequest::Stop {}),
        OrchestrateVerb::Next { phase } => Ok(moves::next(context, output, &run, *phase)),
        OrchestrateVerb::Start { id, no_git } => {
            let (changed, place) = manual::start_task(context, &run, id, *no_git)?;
            let id = changed.state.id.clone();
            let did = match place {
                Some(folder) => Confirmation::NodeStartedIn {
                    id,
                    folder: folder.display().to_string(),
                },
                None => Confirmation::NodeStarted { id },
            };
            Ok(output.changed(context, &changed, &did))
        }
        OrchestrateVerb::Complete { id } => {
            let changed = run.complete_task(context, id)?;
            let TaskMoved {
                id, done, total, ..
            } = changed.state.clone();
            let did = Confirmation::NodeCompleted { id, done, total };
            Ok(output.changed(context, &changed, &did))
        }
        OrchestrateVerb::Fail { id, reason, retry } => {
            let changed = run.fail_task(context, id, reason.as_deref(), *retry)?;
            let task = changed.state.clone();
            let did = match task.failed {
                true => Confirmation::NodeFailed {
                    id: task.id,
                    blocked: task.blocked,
                },
                false => Confirmation::NodeReadyAgain {
                    id: task.id,
                    attempt: task.attempts,
                    max: task.attempts_max,
                },
            };
            Ok(output.changed(context, &changed, &did))
        }
        OrchestrateVerb::Retry { id } => {
            let changed = run.retry_task(context, id)?;
            let id = changed.state.id.clone();
            Ok(output.changed(context, &changed, &Confirmation::NodeFresh { id }))
        }
        OrchestrateVerb::ForceComplete { id, reason } => {
            let changed = run.force_complete(context, id, reason.as_deref())?;
            let TaskMoved {
                id, done, total, ..
            } = changed.state.clone();
            let did = Confirmation::NodeForced { id, done, total };
            Ok(output.changed(context, &changed, &did))
        }
        OrchestrateVerb::Phase(PhaseVerb::Finish { phase, no_git }) => {
            let changed = manual::finish_phase(context, &run, *phase, *no_git)?;
            let (phase, current) = (*phase, changed.state.current);
            let did = match changed.state.all_done {
                true => Confirmation::AllFinished { phase },
                false => Confirmation::PhaseFinished { phase, current },
            };
            Ok(output.changed(context, &changed, &did))
        }
        OrchestrateVerb::Rebuild => Ok(moves::begun(context, output, &run.rebuild_run(context)?)),
        OrchestrateVerb::Graph { format, to } => {
            let drawing = run.draw_graph(context, *format, output.lang)?;
            let file = place(to);
            moves::picture(context, output, &drawing, file.as_deref(), to.force)
        }
        OrchestrateVerb::Timeline { format, to } => {
            let timeline = run.build_timeline(context)?;
            let file = place(to);
            timeline_view::show(
                context,
                output,
                &timeline,
                *format,
                file.as_deref(),
                to.force,
            )
        }
        OrchestrateVerb::Import {
            path,
            from,
            output: file,
            force,
        } => {
            let wish = exchange::Import {
                path,
                from: *from,
                output: file.as_deref(),
                force: *force,
            };
            exchange::import(context, output, folder, &wish)
        }
        OrchestrateVerb::Export { format, to } => {
            let exported = run.export_run(context, *format)?;
            let file = place(to);
            exchange::export(context, output, &exported, file.as_deref(), to.force)
        }
        OrchestrateVerb::Rescue { verb } => exchange::rescue(context, output, &run, verb.as_ref()),
        OrchestrateVerb::Verify => moves::verify(context, output, &run),
        OrchestrateVerb::Plan { file } => {
            let plan = orchestrate::load_plan(context, folder, file.as_deref())?;
            if output.json {
                output.line(&plan_json(&plan).to_string());
            } else {
                show_plan(output, &plan);
            }
            Ok(ExitCode::SUCCESS)
        }
        OrchestrateVerb::Status => {
            let glance = orchestrate::read_overview(context, folder)?;
            if output.json {
                let mut body = output.view_json(context, &glance.view);
                orchestrate_view::add_json(&mut body, &glance);
                output.line(&body.to_string());
                return Ok(ExitCode::SUCCESS);
            }
            here::status_of(context, output, &glance.view)
        }
    }
}

fn needs(file: &TasksFile) -> std::collections::HashMap<&TaskId, Vec<&TaskId>> {
    file.dependencies().collect()
}

fn plan_json(plan: &PlanFile) -> Value {
    let file = &plan.file;
    let needs = needs(file);
    let tasks = file.tasks.iter().map(|task| {
        json!({
            "id": task.id,
            "phase": task.phase,
            "section": (task.section > 0).then(|| format!("{}.{}", task.phase, task.section)),
            "title": task.title,
            "needs": needs.get(&task.id).cloned().unwrap_or_default(),
            "parallel": task.parallel_with,
            "assignee": task.assignee,
            "worktree": task.worktree,
            "done": task.done,
            "status": task.progress.name(),
            "line": task.line,
        })
    });
    let phases = file.phases.iter().map(|phase| {
        let sections = phase.sections.iter().map(|section| {
            json!({ "number": format!("{}.{}", phase.number, section.number), "title": section.title })
        });
        let mut body = json!({ "number": phase.number, "title": phase.title });
        let sections: Vec<Value> = sections.collect();
        if !sections.is_empty() {
            body["sections"] = sections.into();
        }
        body
    });
    let groups = file
        .groups
        .iter()
        .map(|group| json!({ "id": group.id, "tasks": group.tasks }));
    let notes = file.findings.iter().map(|finding| {
        json!({
            "line": finding.line,
            "code": finding.code.name(),
            "severity": finding.severity.name(),
            "text": finding.message.to_string(),
        })
    });
    json!({
        "file": plan.path,
        "project": file.project,
        "phases": phases.collect::<Vec<_>>(),
        "tasks": tasks.collect::<Vec<_>>(),
        "groups": groups.collect::<Vec<_>>(),
        "notes": notes.collect::<Vec<_>>(),
    })
}

fn show_plan(output: &Output, plan: &PlanFile) {
    let file = &plan.file;
    let done = file.tasks.iter().filter(|task| task.done).count();
    let name = file.project.as_deref().unwrap_or_default();
    output.line(&format!(
        "{}  {done}/{}  {}",
        output.tone(Tone::Strong, &here::one_line(name)),
        file.tasks.len(),
        output.tone(Tone::Faint, &plan.path.display().to_string()),
    ));
    let needs = needs(file);
    for number in file.phase_numbers() {
        let heading = file.phases.iter().find(|phase| phase.number == number);
        let title = heading.map_or("", |phase| &phase.title);
        let head = format!(
            "{} {number}  {}",
            output.label(Label::Phase),
            here::one_line(title)
        );
        output.line(&output.tone(Tone::Strong, head.trim_end()));
        for task in file.tasks.iter().filter(|task| task.phase == number) {
            let mark = if task.done { "✓" } else { "·" };
            let tone = if task.done { Tone::Good } else { Tone::Faint };
            let mut line = format!(
                "  {} {}  {}",
                output.tone(tone, mark),
                task.id,
                here::one_line(&task.title)
            );
            if let Some(needed) = needs.get(&task.id) {
                let ids: Vec<&str> = needed.iter().map(|id| id.as_str()).collect();
                line.push_str(&format!("  ← {}", ids.join(" ")));
            }
            if let Some(who) = &task.assignee {
                line.push_str(&format!("  @{}", here::one_line(who)));
            }
            output.line(line.trim_end());
        }
    }
    for group in &file.groups {
        let ids: Vec<&str> = group.tasks.iter().map(TaskId::as_str).collect();
        let word = output.label(Label::Group);
        output.line(&format!("{word} {}  {}", group.id, ids.join(" ")));
    }
    for finding in &file.findings {
        let head = output.severity(finding.severity, finding.code.name());
        let line = output.label(Label::Line);
        output.talk(&format!(
            "{head}: {line} {}: {}",
            finding.line,
            finding.message.say(output.lang)
        ));
    }
}
