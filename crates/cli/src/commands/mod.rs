//! One module per command.

mod agent;
mod agents;
mod agents_check;
mod agents_signals;
mod agents_watch;
mod capsule;
mod develop;
mod develop_evidence;
mod develop_view;
mod doctor;
mod explain;
mod history;
mod init;
mod mcp;
mod memory;
mod memory_input;
mod memory_view;
mod orchestrate;
mod orchestrate_exchange;
mod orchestrate_moves;
mod orchestrate_rehearsal;
mod orchestrate_run;
mod orchestrate_screen;
mod orchestrate_timeline;
mod orchestrate_view;
mod remote;
mod runs;
mod scripted;
mod serve;
mod serve_demo;
mod signals;
mod status;
mod store;
mod task;
mod task_permits;
mod task_review;
mod task_view;
mod task_words;
mod thinking;
mod thinking_board;

use crate::args::{Cli, CliCommand, DeferredArgs};
use crate::output::CommandOutput;
use bowline_engine::clock::{CLOCK_VARIABLE, Clock};
use bowline_engine::formats::schema;
use bowline_engine::words::display_path;
use bowline_engine::{Context, Error};
use bowline_words::Lang;
use bowline_words::message::{Advice, Wrong};
use clap::CommandFactory as _;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs a parsed command line.
pub(crate) fn run(
    cli: &Cli,
    output: &CommandOutput,
    words: &[OsString],
) -> Result<ExitCode, Error> {
    let folder = cli
        .common
        .folder
        .clone()
        .unwrap_or_else(|| PathBuf::from("."));
    // Absolute from here on, so that printed paths work from any folder.
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    if !folder.is_dir() {
        return Err(Error::BadInput {
            message: Wrong::NotAFolder {
                path: display_path(&folder),
            },
            hint: Advice::ExistingFolder,
        });
    }
    if let Some(text) = Clock::invalid_variable() {
        return Err(Error::BadInput {
            message: Wrong::BadClock {
                variable: CLOCK_VARIABLE,
                text,
            },
            hint: Advice::ATime,
        });
    }
    let context = Context {
        dry_run: cli.common.dry_run,
        lang: output.lang,
        ..Context::from_environment(format!("bowline {}", first_words(words)).trim_end())
    };
    dispatch_command(&context, cli, output, &folder).map_err(|error| context.explain_refusal(error))
}

fn dispatch_command(
    context: &Context,
    cli: &Cli,
    output: &CommandOutput,
    folder: &Path,
) -> Result<ExitCode, Error> {
    match &cli.command {
        None => status::print_overview(context, output, folder),
        Some(CliCommand::Thinking(DeferredArgs(args))) => {
            thinking::run(context, output, folder, args)
        }
        Some(CliCommand::Memory(DeferredArgs(args))) => memory::run(context, output, folder, args),
        Some(CliCommand::Develop(DeferredArgs(args))) => {
            develop::run(context, output, folder, args)
        }
        Some(CliCommand::Orchestrate(DeferredArgs(args))) => {
            orchestrate::run(context, output, folder, args)
        }
        Some(CliCommand::Task(DeferredArgs(args))) => task::run(context, output, folder, args),
        Some(CliCommand::Serve(DeferredArgs(args))) => serve::run(context, output, folder, args),
        Some(CliCommand::Store(DeferredArgs(args))) => {
            Ok(store::run(context, output, folder, args))
        }
        Some(CliCommand::Demo(DeferredArgs(args))) => {
            serve_demo::run(context, output, folder, args)
        }
        Some(CliCommand::Agent {
            verb: DeferredArgs(verb),
        }) => agent::run(context, output, verb),
        Some(CliCommand::Verify { key, evidence }) => develop_evidence::verify_evidence(
            context,
            output,
            folder,
            key.as_deref(),
            evidence.as_deref(),
        ),
        Some(CliCommand::Init { clients, uninstall }) => {
            init::run(context, output, folder, clients, *uninstall)
        }
        // Reached only behind options: plain `bowline hook` is answered before arguments are
        // parsed.
        Some(CliCommand::Hook { event }) => Ok(crate::hook::run(event.as_ref())),
        Some(CliCommand::Mcp(DeferredArgs(args))) => mcp::run(context, output, folder, args),
        Some(CliCommand::RunAgent(DeferredArgs(args))) => {
            agents::run_agent(context, output, folder, args)
        }
        Some(CliCommand::Attach(DeferredArgs(args))) if args.id.as_deref() == Some("check") => {
            agents_check::run(context, output, folder)
        }
        Some(CliCommand::Attach(DeferredArgs(args))) => agents::attach_agent(context, output, args),
        Some(CliCommand::Capsule(DeferredArgs(args))) => {
            capsule::make_capsule(context, output, folder, args)
        }
        Some(CliCommand::Replay(DeferredArgs(args))) => {
            capsule::replay_capsule(output, folder, args)
        }
        Some(CliCommand::Status { what }) => {
            status::print_status(context, output, folder, what.as_deref())
        }
        Some(CliCommand::History { what, last }) => {
            history::print_history(context, output, folder, what.as_deref(), *last)
        }
        Some(CliCommand::Undo { what, state_only }) => {
            history::undo_transition(context, output, folder, what.as_deref(), *state_only)
        }
        Some(CliCommand::Restore { what, state_only }) => {
            history::restore_transition(context, output, folder, what, *state_only)
        }
        Some(CliCommand::Doctor { what, repair }) => {
            doctor::run(context, output, folder, what, *repair)
        }
        Some(CliCommand::Schema { kind }) => print_schema(output, kind.as_deref()),
        Some(CliCommand::Explain { code }) => explain::run(output, code.as_deref()),
        Some(CliCommand::Scripted { file, turn, .. }) => scripted::run(output, folder, file, *turn),
        Some(CliCommand::Completions { shell }) => {
            let mut script = Vec::new();
            let mut command = match output.lang {
                Lang::En => Cli::command(),
                Lang::Ko => crate::help::korean_command(),
            };
            clap_complete::generate(*shell, &mut command, "bowline", &mut script);
            let script = String::from_utf8_lossy(&script);
            if output.json {
                let body = json!({ "shell": shell.to_string(), "script": script });
                output.print_line(&body.to_string());
            } else {
                output.print_raw(&script);
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn print_schema(output: &CommandOutput, kind: Option<&str>) -> Result<ExitCode, Error> {
    let names = || schema::ALL.map(|(name, _)| name).join(", ");
    match kind {
        None => {
            let names = schema::ALL.map(|(name, _)| name);
            output.print_outcome(json!({ "kinds": names }), &[names.join("\n")]);
        }
        Some(kind) => match schema::schema_text(kind) {
            Some(text) => output.print_raw(text),
            None => {
                return Err(Error::BadInput {
                    message: Wrong::NoSuchSchema { name: kind.into() },
                    hint: Advice::OneOf { names: names() },
                });
            }
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// Resolves a folder given with `--dir`, which may not exist yet.
fn resolve_dir_option(folder: &Path, dir: &Path) -> Result<PathBuf, Error> {
    let path = folder.join(dir);
    let there = path.ancestors().find(|path| path.exists());
    match there {
        Some(there) if !there.is_dir() => Err(Error::BadInput {
            message: Wrong::NotAFolder {
                path: display_path(there),
            },
            hint: Advice::DirFolder,
        }),
        Some(_) | None => Ok(path),
    }
}

/// Returns the command as other processes see it while they wait for our lock: its first two words,
/// since values may be secrets.
pub(crate) fn first_words(words: &[OsString]) -> String {
    let words = words.iter().map(|word| word.to_string_lossy());
    let words = words.filter(|word| !word.starts_with('-')).take(2);
    words.collect::<Vec<_>>().join(" ")
}
