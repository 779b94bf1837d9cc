//! `bowline orchestrate`.

use crate::args::orchestrate::{FileTargetArgs, OrchestrateArgs, OrchestrateVerb, PhaseVerb};
use crate::commands::{
    orchestrate_exchange as exchange, orchestrate_moves as moves,
    orchestrate_rehearsal as rehearsal, orchestrate_run as running,
    orchestrate_timeline as timeline_view, orchestrate_view, status,
};
use crate::output::{CommandOutput, TextTone};
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
    output: &CommandOutput,
    folder: &Path,
    args: &OrchestrateArgs,
) -> Result<ExitCode, Error> {
    let run = Orchestration::in_folder(context, folder);
    if let Some(answered) = running::forward_to_run(context, output, &run, &args.verb) {
        return answered;
    }
    let place = |to: &FileTargetArgs| to.output.as_ref().map(|file| folder.join(file));
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
            Ok(moves::print_begun(
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
            let options = SimulationOptions {
                seeds: *seeds,
                minutes: (*shortest, *longest),
                failing: *failing,
                parallel: *parallel,
            };
            rehearsal::run(context, output, folder, &options)
        }
        OrchestrateVerb::Pause => running::send_to_run(output, &run, &SocketRequest::Pause {}),
        OrchestrateVerb::Continue => {
            running::send_to_run(output, &run, &SocketRequest::Continue {})
        }
        OrchestrateVerb::Stop => running::send_to_run(output, &run, &SocketRequest::Stop {}),
        OrchestrateVerb::Next { phase } => {
            Ok(moves::print_next_step(context, output, &run, *phase))
        }
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
            Ok(output.print_change(context, &changed, &did))
        }
        OrchestrateVerb::Complete { id } => {
            let changed = run.complete_task(context, id)?;
            let TaskMoved {
                id, done, total, ..
            } = changed.state.clone();
            let did = Confirmation::NodeCompleted { id, done, total };
            Ok(output.print_change(context, &changed, &did))
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
            Ok(output.print_change(context, &changed, &did))
        }
        OrchestrateVerb::Retry { id } => {
            let changed = run.retry_task(context, id)?;
            let id = changed.state.id.clone();
            Ok(output.print_change(context, &changed, &Confirmation::NodeFresh { id }))
        }
        OrchestrateVerb::ForceComplete { id, reason } => {
            let changed = run.force_complete(context, id, reason.as_deref())?;
            let TaskMoved {
                id, done, total, ..
            } = changed.state.clone();
            let did = Confirmation::NodeForced { id, done, total };
            Ok(output.print_change(context, &changed, &did))
        }
        OrchestrateVerb::Phase(PhaseVerb::Finish { phase, no_git }) => {
            let changed = manual::finish_phase(context, &run, *phase, *no_git)?;
            let (phase, current) = (*phase, changed.state.current);
            let did = match changed.state.all_done {
                true => Confirmation::AllFinished { phase },
                false => Confirmation::PhaseFinished { phase, current },
            };
            Ok(output.print_change(context, &changed, &did))
        }
        OrchestrateVerb::Rebuild => Ok(moves::print_begun(
            context,
            output,
            &run.rebuild_run(context)?,
        )),
        OrchestrateVerb::Graph { format, to } => {
            let drawing = run.draw_graph(context, *format, output.lang)?;
            let file = place(to);
            moves::print_drawing(context, output, &drawing, file.as_deref(), to.force)
        }
        OrchestrateVerb::Timeline { format, to } => {
            let timeline = run.build_timeline(context)?;
            let file = place(to);
            timeline_view::print_timeline(
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
            let arguments = exchange::ImportArguments {
                path,
                from: *from,
                output: file.as_deref(),
                force: *force,
            };
            exchange::import_plan(context, output, folder, &arguments)
        }
        OrchestrateVerb::Export { format, to } => {
            let exported = run.export_run(context, *format)?;
            let file = place(to);
            exchange::export_run(context, output, &exported, file.as_deref(), to.force)
        }
        OrchestrateVerb::Rescue { verb } => {
            exchange::run_rescue_verb(context, output, &run, verb.as_ref())
        }
        OrchestrateVerb::Verify => moves::verify_plan(context, output, &run),
        OrchestrateVerb::Plan { file } => {
            let plan = orchestrate::load_plan(context, folder, file.as_deref())?;
            if output.json {
                output.print_line(&plan_json(&plan).to_string());
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
                output.print_line(&body.to_string());
                return Ok(ExitCode::SUCCESS);
            }
            status::print_view(context, output, &glance.view)
        }
    }
}

fn needs_by_task(file: &TasksFile) -> std::collections::HashMap<&TaskId, Vec<&TaskId>> {
    file.dependencies().collect()
}

fn plan_json(plan: &PlanFile) -> Value {
    let file = &plan.file;
    let needs = needs_by_task(file);
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

fn show_plan(output: &CommandOutput, plan: &PlanFile) {
    let file = &plan.file;
    let done = file.tasks.iter().filter(|task| task.done).count();
    let name = file.project.as_deref().unwrap_or_default();
    output.print_line(&format!(
        "{}  {done}/{}  {}",
        output.colour_text(TextTone::Strong, &status::one_line(name)),
        file.tasks.len(),
        output.colour_text(TextTone::Faint, &plan.path.display().to_string()),
    ));
    let needs = needs_by_task(file);
    for number in file.phase_numbers() {
        let heading = file.phases.iter().find(|phase| phase.number == number);
        let title = heading.map_or("", |phase| &phase.title);
        let head = format!(
            "{} {number}  {}",
            output.label(Label::Phase),
            status::one_line(title)
        );
        output.print_line(&output.colour_text(TextTone::Strong, head.trim_end()));
        for task in file.tasks.iter().filter(|task| task.phase == number) {
            let mark = if task.done { "✓" } else { "·" };
            let tone = if task.done {
                TextTone::Good
            } else {
                TextTone::Faint
            };
            let mut line = format!(
                "  {} {}  {}",
                output.colour_text(tone, mark),
                task.id,
                status::one_line(&task.title)
            );
            if let Some(needed) = needs.get(&task.id) {
                let ids: Vec<&str> = needed.iter().map(|id| id.as_str()).collect();
                line.push_str(&format!("  ← {}", ids.join(" ")));
            }
            if let Some(who) = &task.assignee {
                line.push_str(&format!("  @{}", status::one_line(who)));
            }
            output.print_line(line.trim_end());
        }
    }
    for group in &file.groups {
        let ids: Vec<&str> = group.tasks.iter().map(TaskId::as_str).collect();
        let word = output.label(Label::Group);
        output.print_line(&format!("{word} {}  {}", group.id, ids.join(" ")));
    }
    for finding in &file.findings {
        let head = output.severity_label(finding.severity, finding.code.name());
        let line = output.label(Label::Line);
        output.print_stderr(&format!(
            "{head}: {line} {}: {}",
            finding.line,
            finding.message.say(output.lang)
        ));
    }
}
