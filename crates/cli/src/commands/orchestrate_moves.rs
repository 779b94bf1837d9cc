//! `bowline orchestrate graph`, `init`, `next` and `verify`.

use crate::output::{CommandOutput, exit_code};
use bowline_engine::files::ChangeOutcome;
use bowline_engine::formats::tasks_md::TaskId;
use bowline_engine::formats::tasks_md::wire::{ReadyTask, ResolveReply};
use bowline_engine::operations::orchestrate::{
    self, DRAWN_MAX, Orchestration, PlanComparison, RenderedGraph, StartedOrchestration,
};
use bowline_engine::words::display_path;
use bowline_engine::{Context, Error, ExitClass};
use bowline_runner::orchestrate::manual::landings_gone;
use bowline_words::message::{Confirmation, Label, OutputNote};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Writes or prints the graph, and notes how many tasks it leaves out.
pub(crate) fn print_drawing(
    context: &Context,
    output: &CommandOutput,
    drawing: &RenderedGraph,
    file: Option<&Path>,
    force: bool,
) -> Result<ExitCode, Error> {
    let mut body = json!({
        "kind": "orchestrate",
        "criticalPath": drawing.critical,
        "leftOut": drawing.left_out,
    });
    match file {
        Some(file) => {
            orchestrate::save_file(context, file, &drawing.text, force)?;
            body["path"] = json!(file);
            let path = display_path(file);
            output.print_outcome(body, &[Confirmation::FileWritten { path }.say(output.lang)]);
        }
        None if output.json => {
            body["text"] = json!(drawing.text);
            output.print_line(&body.to_string());
        }
        None => output.print_raw(&drawing.text),
    }
    if !output.json && drawing.left_out > 0 {
        let note = OutputNote::DrawnInPart {
            max: DRAWN_MAX,
            left: drawing.left_out,
        };
        output.print_stderr(&note.say(output.lang));
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the outcome of an orchestration that was begun or rebuilt.
pub(crate) fn print_begun(
    context: &Context,
    output: &CommandOutput,
    changed: &ChangeOutcome<StartedOrchestration>,
) -> ExitCode {
    let begun = changed.state.clone();
    let did = Confirmation::Begun {
        project: begun.project,
        total: begun.total,
        done: begun.done,
        phase: begun.phase,
    };
    output.print_change(context, changed, &did)
}

/// Prints one line and nothing else: what can be done now.
pub(crate) fn print_next_step(
    context: &Context,
    output: &CommandOutput,
    run: &Orchestration,
    phase: Option<u32>,
) -> ExitCode {
    let (reply, error) = orchestrate::resolve_reply(context, run, phase);
    let code = match (&reply, &error) {
        (_, Some(error)) => exit_code(error.exit_class()),
        (ResolveReply::Stalled(_) | ResolveReply::Error { .. }, None) => {
            exit_code(ExitClass::Refused)
        }
        (
            ResolveReply::Ready(_)
            | ResolveReply::Wait
            | ResolveReply::PhaseDone(_)
            | ResolveReply::AllDone,
            None,
        ) => ExitCode::SUCCESS,
    };
    if output.json {
        let mut body = reply_json(&reply);
        if let Some(error) = &error {
            body["error"] = output.error_json(error);
        }
        output.print_line(&body.to_string());
    } else {
        output.print_line(&reply.to_string());
    }
    code
}

fn reply_json(reply: &ResolveReply) -> Value {
    let ids = |ids: &mut dyn Iterator<Item = &TaskId>| -> Vec<String> {
        ids.map(|id| id.as_str().to_owned()).collect()
    };
    let mut body = json!({ "kind": "orchestrate", "reply": reply.to_string() });
    match reply {
        ResolveReply::Ready(ready) => {
            let first = |task: &ReadyTask| task.id.as_str().to_owned();
            body["ready"] = json!(ready.first().iter().map(first).collect::<Vec<_>>());
        }
        ResolveReply::Stalled(stuck) => body["stalled"] = json!(ids(&mut stuck.iter())),
        ResolveReply::PhaseDone(phase) => body["phase"] = json!(phase),
        ResolveReply::Wait | ResolveReply::AllDone | ResolveReply::Error { .. } => {}
    }
    body
}

/// Compares plan and state file, and prints where they differ.
pub(crate) fn verify_plan(
    context: &Context,
    output: &CommandOutput,
    run: &Orchestration,
) -> Result<ExitCode, Error> {
    let found = run.compare_plan(context)?;
    let gone = landings_gone(context, run)?;
    let same = found.phases.is_empty() && gone.is_none();
    if output.json {
        let mut body = comparison_json(context, output, &found);
        body["same"] = json!(same);
        body["landingsGone"] = json!(gone.map(|why| why.render_line(output.lang)));
        output.print_line(&body.to_string());
    } else {
        output.print_notices(&found.view.notices);
        let did = match found.phases.is_empty() {
            true => Confirmation::PlanAgrees,
            false => Confirmation::PlanDiffers,
        };
        output.print_line(&did.say(output.lang));
        if let Some(why) = gone {
            output.print_line(&format!("  {}", why.render(output.lang)));
        }
        let head = output.label(Label::Phase);
        for phase in &found.phases {
            for (list, word) in [
                (&phase.not_in_state, Label::TickedNotCompleted),
                (&phase.not_in_plan, Label::CompletedNotTicked),
                (&phase.unknown, Label::OnlyInPlan),
                (&phase.gone, Label::OnlyInState),
            ] {
                let word = output.label(word);
                if !list.is_empty() {
                    output.print_line(&format!(
                        "  {head} {}  {word}: {}",
                        phase.phase,
                        list.join(" ")
                    ));
                }
            }
        }
    }
    Ok(match same {
        true => ExitCode::SUCCESS,
        false => exit_code(ExitClass::Refused),
    })
}

fn comparison_json(context: &Context, output: &CommandOutput, found: &PlanComparison) -> Value {
    let mut body = output.view_json(context, &found.view);
    body["plan"] = json!(found.plan);
    body["same"] = json!(found.phases.is_empty());
    body["phases"] = found
        .phases
        .iter()
        .map(|phase| {
            json!({
                "phase": phase.phase,
                "tickedNotCompleted": phase.not_in_state,
                "completedNotTicked": phase.not_in_plan,
                "onlyInPlan": phase.unknown,
                "onlyInState": phase.gone,
            })
        })
        .collect();
    body
}
