//! `bowline orchestrate run`, and the verbs that are sent to a run of another process.

use crate::args::orchestrate::{OrchestrateRunArgs, OrchestrateVerb};
use crate::commands::orchestrate_screen::{RunProgressPrinter, cost_suffix};
use crate::commands::runs::handle_stop_signals;
use crate::commands::status::format_duration;
use crate::output::{CommandOutput, TextTone};
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::operations::orchestrate::{
    self, Orchestration, OrchestrationOptions, Timeline,
};
use bowline_engine::{Context, Error};
use bowline_runner::orchestrate::control_socket::{self, SocketRequest, SocketResponse};
use bowline_runner::orchestrate::{
    PlanProgress, ResourceShortage, RunOptions, RunOutcome, RunReport, read_settings, ready_tasks,
};
use bowline_words::message::{Label, OutputNote, Status};
use serde_json::json;
use std::process::ExitCode;

/// Most ids listed behind a failed task or in the slowest path.
const NAMED_MAX: usize = 8;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    orchestration: &Orchestration,
    args: &OrchestrateRunArgs,
) -> Result<ExitCode, Error> {
    let mode = match args.ultra_thin {
        true => Some(RunMode::UltraThin),
        false => args.mode,
    };
    // Reports wrong settings before anything is begun.
    read_settings(orchestration.root())?;
    let there = orchestration
        .file()
        .kind
        .is_there(&orchestration.file().path);
    if there && args.rebuild_state && !context.dry_run {
        orchestration.rebuild_run(context)?;
    }
    if !there {
        if args.resume {
            return Err(Error::NoFile {
                kind: orchestration.file().kind,
                path: orchestration.file().path.clone(),
            });
        }
        let begin = OrchestrationOptions {
            plan: args.file.clone(),
            mode: mode.unwrap_or(RunMode::Normal),
            parallel: args.parallel.unwrap_or(0),
            project: None,
        };
        let changed = orchestration.create_run(context, &begin)?;
        if context.dry_run {
            return Ok(super::orchestrate_moves::print_begun(
                context, output, &changed,
            ));
        }
    }
    if context.dry_run {
        let ids = join_ids(&ready_tasks(context, orchestration)?, usize::MAX);
        output.print_line(&OutputNote::RunWouldStart { ids }.say(output.lang));
        return Ok(ExitCode::SUCCESS);
    }
    let options = RunOptions {
        phase: args.phase,
        parallel: args.parallel,
        agent: args.agent.clone(),
        mode,
        promise: args.completion_promise.clone(),
        iterations: args.max_iterations,
        landing: args.land,
        stack: args.stack,
    };
    let plan = orchestrate::load_plan(context, orchestration.root(), None).ok();
    // Blocks signals before the screen starts a thread, which would receive them otherwise.
    let begun = handle_stop_signals();
    let mut screen = RunProgressPrinter::new(context, output, plan.as_ref());
    let report =
        bowline_runner::orchestrate::run(context, orchestration, &options, &mut screen, begun)?;
    let spent = screen.spent_by_shown_tasks();
    drop(screen);
    // Durations come from the history; without one they are left out.
    let timeline = orchestration.build_timeline(context).ok();
    Ok(print_report(output, &report, timeline.as_ref(), spent))
}

/// Prints the outcome of a run. Tasks that a failed one blocks are named behind it.
fn print_report(
    output: &CommandOutput,
    report: &RunReport,
    timeline: Option<&Timeline>,
    (tokens, usd): (u64, f64),
) -> ExitCode {
    let PlanProgress { done, total } = report.progress;
    let (word, code) = match &report.ended {
        RunOutcome::AllDone => ("done", 0),
        RunOutcome::Stalled => ("stalled", 1),
        RunOutcome::Stuck { .. } => ("stuck", 1),
        RunOutcome::Left => ("left", 0),
    };
    if output.json {
        let failed = report
            .failed
            .iter()
            .map(|it| json!({ "id": it.id, "error": it.error, "blocks": it.blocks }));
        let kept = report
            .kept
            .iter()
            .map(|it| json!({ "name": it.name, "bytes": it.bytes }));
        let why = match &report.ended {
            RunOutcome::Stuck { why } => Some(why.to_string()),
            RunOutcome::AllDone | RunOutcome::Stalled | RunOutcome::Left => None,
        };
        let body = json!({
            "kind": "orchestrate",
            "ended": word,
            "done": done,
            "total": total,
            "phase": report.phase,
            "failed": failed.collect::<Vec<_>>(),
            "goingOn": report.going_on,
            "why": why,
            "worktrees": kept.collect::<Vec<_>>(),
            "slowestPath": slowest_path(timeline)
                .iter()
                .map(|(id, seconds)| json!({ "id": id, "seconds": seconds }))
                .collect::<Vec<_>>(),
            "busySeconds": timeline.map(|it| it.busy_seconds),
            "tokens": tokens,
            "usd": usd,
        });
        output.print_line(&body.to_string());
        return ExitCode::from(code);
    }
    let line = |said: OutputNote| output.print_line(&said.say(output.lang));
    match &report.ended {
        RunOutcome::AllDone => {
            let said = OutputNote::RunAllDone { done, total };
            output.print_line(&output.colour_text(TextTone::Good, &said.say(output.lang)));
            if !report.checked && report.target.is_some() {
                output.print_stderr(&OutputNote::RunUnchecked.say(output.lang));
            }
        }
        RunOutcome::Stalled | RunOutcome::Stuck { .. } => {
            let failed = report.failed.iter().map(|it| it.id.clone());
            let ids: Vec<String> = failed.chain(report.blocked.iter().cloned()).collect();
            // A run may be stuck without a failed task.
            if !ids.is_empty() {
                let ids = join_ids(&ids, usize::MAX).replace(' ', ",");
                output.print_line(&format!("STALLED:{ids}"));
            }
            if let RunOutcome::Stuck { why } = &report.ended {
                let why = why.render(output.lang);
                output.print_line(&output.colour_text(TextTone::Bad, &format!("✗ {why}")));
            }
            for task in &report.failed {
                // Of a failure in an earlier run only the text in the state file is known.
                let why = task.why.as_ref().map(|why| why.render_line(output.lang));
                let why = why.or_else(|| task.error.clone()).unwrap_or_default();
                let text = format!("✗ {}: {why}", task.id);
                output.print_line(
                    &output.colour_text(TextTone::Bad, text.trim_end_matches([':', ' '])),
                );
                if !task.blocks.is_empty() {
                    let ids = join_ids(&task.blocks, NAMED_MAX);
                    output.print_line(&format!(
                        "  {}",
                        OutputNote::RunBlocks { ids }.say(output.lang)
                    ));
                }
            }
            line(OutputNote::RunKept { done, total });
        }
        RunOutcome::Left => {
            line(OutputNote::RunLeft { done, total });
            if !report.going_on.is_empty() {
                let ids = join_ids(&report.going_on, usize::MAX);
                line(OutputNote::RunGoesOn { ids });
            }
        }
    }
    if !report.kept.is_empty() {
        output.print_stderr(
            &OutputNote::RunWorktrees {
                count: report.kept.len(),
                size: format_size(report.kept.iter().map(|it| it.bytes).sum()),
            }
            .say(output.lang),
        );
    }
    print_run_cost(output, timeline, tokens, usd);
    ExitCode::from(code)
}

/// Returns the critical path, with the seconds of each task.
fn slowest_path(timeline: Option<&Timeline>) -> Vec<(&str, i64)> {
    let Some(timeline) = timeline else {
        return Vec::new();
    };
    let seconds = |id: &str| {
        let bar = timeline.bars.iter().find(|bar| bar.id == id);
        let span = bar.and_then(|bar| bar.span());
        span.map_or(0, |(from, to)| to.0 - from.0)
    };
    let path = timeline.critical.iter();
    path.map(|id| (id.as_str(), seconds(id))).collect()
}

/// Prints the time, tokens and cost of a run, and its slowest path.
fn print_run_cost(output: &CommandOutput, timeline: Option<&Timeline>, tokens: u64, usd: f64) {
    let path = slowest_path(timeline);
    let Some(timeline) = timeline.filter(|_| !path.is_empty()) else {
        return;
    };
    let label = output.label(Label::Elapsed);
    let span = format_duration(output, timeline.busy_seconds);
    output.print_stderr(&format!(
        "{label} {span}{}",
        cost_suffix(output, tokens, usd)
    ));
    let shown = path.iter().rev().take(NAMED_MAX).rev();
    let shown = shown.map(|(id, seconds)| format!("{id} ({})", format_duration(output, *seconds)));
    let shown = shown.collect::<Vec<_>>().join(" → ");
    let more = if path.len() > NAMED_MAX {
        "… → "
    } else {
        ""
    };
    let label = output.label(Label::SlowestPath);
    output.print_stderr(&format!("{label}: {more}{shown}"));
}

pub(super) fn shortage_notice(shortage: ResourceShortage) -> OutputNote {
    match shortage {
        ResourceShortage::Memory { free, wanted } => OutputNote::RunShortMemory { free, wanted },
        ResourceShortage::Disk { free, wanted } => OutputNote::RunShortDisk { free, wanted },
        ResourceShortage::Inodes { free, wanted } => OutputNote::RunShortInodes { free, wanted },
    }
}

/// Formats a number of bytes in the unit that people would take.
pub(super) fn format_size(bytes: u64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    let mut amount = bytes as f64 / 1_000.0;
    let mut at = 0;
    while amount >= 1_000.0 && at + 1 < units.len() {
        amount /= 1_000.0;
        at += 1;
    }
    format!("{amount:.1} {}", units[at])
}

/// Joins ids up to a limit, and adds their number if some are left out.
fn join_ids(ids: &[String], max: usize) -> String {
    let some = ids[..ids.len().min(max)].join(" ");
    match ids.len() > max {
        true => format!("{some} … ({})", ids.len()),
        false => some,
    }
}

/// Sends a verb to the process that runs the orchestration, which decides; `None` if there is no
/// such process.
pub(crate) fn forward_to_run(
    context: &Context,
    output: &CommandOutput,
    orchestration: &Orchestration,
    verb: &OrchestrateVerb,
) -> Option<Result<ExitCode, Error>> {
    let request = match verb {
        OrchestrateVerb::Start { id, .. } => SocketRequest::Start { id: id.clone() },
        OrchestrateVerb::Complete { id } => SocketRequest::Complete { id: id.clone() },
        OrchestrateVerb::Fail { id, reason, retry } => SocketRequest::Fail {
            id: id.clone(),
            reason: reason.clone(),
            retry: *retry,
        },
        OrchestrateVerb::Retry { id } => SocketRequest::Retry { id: id.clone() },
        OrchestrateVerb::ForceComplete { id, reason } => SocketRequest::ForceComplete {
            id: id.clone(),
            reason: reason.clone(),
            person: context.is_person(),
        },
        _ => return None,
    };
    if context.dry_run {
        return None;
    }
    let answer = control_socket::send_request(&orchestration.file().path, &request, output.lang)?;
    Some(Ok(print_response(output, &answer)))
}

/// Sends a request to the process that runs the orchestration.
pub(crate) fn send_to_run(
    output: &CommandOutput,
    orchestration: &Orchestration,
    request: &SocketRequest,
) -> Result<ExitCode, Error> {
    let path = &orchestration.file().path;
    let answer = match output.dry_run {
        true => control_socket::is_open(path).then(SocketResponse::default),
        false => control_socket::send_request(path, request, output.lang),
    };
    let answer = answer.ok_or_else(|| Error::NobodyRuns { path: path.clone() })?;
    Ok(print_response(output, &answer))
}

fn print_response(output: &CommandOutput, answer: &SocketResponse) -> ExitCode {
    match (&answer.error, &answer.task) {
        (Some(error), _) => output.print_error_texts(&error.code, &error.message, &error.hint, 1),
        (None, task) => {
            let said = match task {
                Some((id, status)) => {
                    let (id, status) = (id.clone(), Status::from_word(status).say(output.lang));
                    OutputNote::RunNotifiedOf { id, status }
                }
                None => OutputNote::RunNotified,
            };
            let body = json!({ "kind": "orchestrate", "task": task });
            output.print_outcome(body, &[said.say(output.lang)]);
            ExitCode::SUCCESS
        }
    }
}
