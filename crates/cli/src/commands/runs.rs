//! `run` of thinking, memory and develop: prints events line by line, and the outcome at the end.

use crate::args::develop::DevelopRunArgs;
use crate::commands::{signals, status};
use crate::output::{CommandOutput, TextTone, exit_code};
use bowline_engine::files::KnownFile;
use bowline_engine::operations::develop::DevelopRun;
use bowline_engine::operations::memory::MemoryFolder;
use bowline_engine::operations::thinking::{ThinkingRun, ThinkingStage};
use bowline_engine::{Context, Error};
use bowline_runner::core::state_file_runner::{WorkEnd, WorkProgress, WorkReport, WorkScreen};
use bowline_runner::core::stop_handle::StopHandle;
use bowline_runner::drivers::{PlannedStart, develop, memory, thinking};
use bowline_words::Lang;
use bowline_words::message::OutputNote;
use serde_json::json;
use std::process::ExitCode;

pub(crate) fn run_thinking(
    context: &Context,
    output: &CommandOutput,
    run: &ThinkingRun,
    agent: Option<&String>,
    stage: Option<ThinkingStage>,
) -> Result<ExitCode, Error> {
    let options = thinking::ThinkingOptions {
        agent: agent.cloned(),
        stage,
    };
    if context.dry_run {
        let would = thinking::planned_starts(context, run, &options)?;
        return Ok(print_would_start(output, run.file(), &would));
    }
    let mut lines = EventPrinter { output };
    let report = thinking::run(context, run, &options, &mut lines, handle_stop_signals())?;
    print_run_end(context, output, run.file(), &report)
}

pub(crate) fn run_memory(
    context: &Context,
    output: &CommandOutput,
    folder: &MemoryFolder,
    agent: Option<&String>,
    parallel: Option<usize>,
) -> Result<ExitCode, Error> {
    let options = memory::MemoryOptions {
        agent: agent.cloned(),
        parallel,
    };
    if context.dry_run {
        let would = memory::planned_starts(context, folder, &options)?;
        return Ok(print_would_start(output, folder.state_file(), &would));
    }
    let mut lines = EventPrinter { output };
    let report = memory::run(context, folder, &options, &mut lines, handle_stop_signals())?;
    print_run_end(context, output, folder.state_file(), &report)
}

pub(crate) fn run_develop(
    context: &Context,
    output: &CommandOutput,
    run: &DevelopRun,
    args: &DevelopRunArgs,
) -> Result<ExitCode, Error> {
    let options = develop::DevelopOptions {
        agent: args.agent.clone(),
        auto: args.auto,
        iterations: args.max_iterations,
    };
    if let Some(feature) = &args.feature {
        // Started by the caller: a person's start seals the policy.
        let changed = run.start_run(context, feature, false)?;
        output.print_notices(&changed.view.notices);
    }
    if context.dry_run {
        let would = match &args.feature {
            Some(_) => Vec::new(),
            None => develop::planned_starts(context, run, &options)?,
        };
        return Ok(print_would_start(output, run.file(), &would));
    }
    let mut lines = EventPrinter { output };
    let report = develop::run(context, run, &options, &mut lines, handle_stop_signals())?;
    print_run_end(context, output, run.file(), &report)
}

/// Blocks signals and handles them once the run has begun: the first leaves agents alone, the
/// second ends them.
pub(super) fn handle_stop_signals() -> impl FnOnce(StopHandle) {
    let signals = signals::block_signals();
    move |stopper: StopHandle| {
        let other = stopper.clone();
        signals::start_signal_thread(signals, move || stopper.leave(), move || other.stop());
    }
}

/// Prints what a run would start first, with the agents.
fn print_would_start(output: &CommandOutput, file: &KnownFile, would: &[PlannedStart]) -> ExitCode {
    let named: Vec<String> = would
        .iter()
        .map(|one| format!("{} ({})", one.id, one.agent))
        .collect();
    let start: Vec<_> = would
        .iter()
        .map(|one| json!({ "id": one.id, "agent": one.agent }))
        .collect();
    let said = match named.is_empty() {
        true => OutputNote::RunWouldStartNothing,
        false => OutputNote::RunWouldStart {
            ids: named.join(", "),
        },
    };
    let body = json!({ "kind": file.kind.name(), "path": file.path, "wouldStart": start });
    output.print_outcome(body, &[said.say(output.lang)]);
    ExitCode::SUCCESS
}

/// Prints one line for every event.
struct EventPrinter<'o> {
    output: &'o CommandOutput,
}

impl WorkScreen for EventPrinter<'_> {
    fn show_progress(&mut self, progress: &WorkProgress) {
        let (tone, said) = match progress.clone() {
            WorkProgress::Begun { id, attempt } => {
                (TextTone::Faint, OutputNote::RunBegun { id, attempt })
            }
            WorkProgress::Found { id } => (TextTone::Faint, OutputNote::RunFound { id }),
            WorkProgress::Checking { id } => (TextTone::Faint, OutputNote::RunChecking { id }),
            WorkProgress::Done { id, done, total } => {
                (TextTone::Good, OutputNote::RunTaskDone { id, done, total })
            }
            WorkProgress::Failed { id, why, again } => {
                let error = why.render_line(self.output.lang);
                let said = match again {
                    true => OutputNote::RunAgain { id, error },
                    false => OutputNote::RunFailed { id, error },
                };
                (TextTone::Bad, said)
            }
            WorkProgress::Parked { id, seconds } => {
                (TextTone::Busy, OutputNote::RunParked { id, seconds })
            }
            WorkProgress::NothingValid { id, seconds } => {
                (TextTone::Busy, OutputNote::RunNothingValid { id, seconds })
            }
            WorkProgress::Leaving => (TextTone::Busy, OutputNote::RunLeaving),
        };
        let output = self.output;
        output.print_stderr(&output.colour_text(tone, &said.say(output.lang)));
    }
}

/// Prints the outcome of a run and the next command.
fn print_run_end(
    context: &Context,
    output: &CommandOutput,
    file: &KnownFile,
    report: &WorkReport,
) -> Result<ExitCode, Error> {
    let view = file.read_view(context)?;
    let (word, code) = match &report.ended {
        WorkEnd::Done => ("done", ExitCode::SUCCESS),
        WorkEnd::Left => ("left", ExitCode::SUCCESS),
        WorkEnd::Stopped(error) => ("stopped", exit_code(error.exit_class())),
    };
    let (done, total) = (report.done, report.total);
    if output.json {
        let failed = report.failed.iter();
        let failed =
            failed.map(|(id, why)| json!({ "id": id, "error": why.render_line(Lang::En) }));
        let mut body = output.view_json(context, &view);
        body["ended"] = word.into();
        body["done"] = done.into();
        body["total"] = total.into();
        body["failed"] = failed.collect();
        body["goingOn"] = json!(report.going_on);
        if let WorkEnd::Stopped(error) = &report.ended {
            body["error"] = output.error_json(error);
        }
        output.print_line(&body.to_string());
        return Ok(code);
    }
    let line = |said: OutputNote| output.print_line(&said.say(output.lang));
    match &report.ended {
        WorkEnd::Done => {
            let said = OutputNote::RunUnitsDone { done, total };
            output.print_line(&output.colour_text(TextTone::Good, &said.say(output.lang)));
        }
        WorkEnd::Left => {
            let command = format!("bowline {} run", file.kind.command_noun());
            line(OutputNote::RunUnitsLeft {
                done,
                total,
                command,
            });
            if !report.going_on.is_empty() {
                let ids = report.going_on.join(" ");
                line(OutputNote::RunGoesOn { ids });
            }
        }
        WorkEnd::Stopped(error) => {
            for (id, why) in &report.failed {
                let why = why.render_line(output.lang);
                output.print_line(&output.colour_text(TextTone::Bad, &format!("✗ {id}: {why}")));
            }
            line(OutputNote::RunUnitsKept { done, total });
            output.print_error(error);
            return Ok(code);
        }
    }
    status::print_next_commands(context, output, &view);
    Ok(code)
}
