//! The binary `bowline`: arguments, text, exit codes. It contains no rule.

mod args;
mod commands;
mod help;
mod hook;
mod output;
mod relay;
mod usage;

use bowline_engine::agents::{RELAY_WORD, SHIM_WORD};
use bowline_engine::supervisor::Attempt;
use bowline_engine::{Error, supervisor};
use clap::{CommandFactory as _, FromArgMatches as _};
use output::CommandOutput;
use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let mut attempt = None;
    match arguments.get(1).and_then(|word| word.to_str()) {
        // Runs before anything that could fail or be slow.
        Some("hook") => return hook::run(arguments.get(2)),
        // A shim parses its own arguments and must start fast.
        Some(SHIM_WORD) => return supervisor::shim::main(&[SHIM_WORD], &arguments[2..]),
        Some(RELAY_WORD) => return relay::serve_relay(arguments.get(2)),
        Some(relay::RELAYED_WORD) if arguments.len() > 2 => {
            attempt = Some(relay::confine_process(Path::new(&arguments[2])));
            arguments.drain(1..3);
        }
        Some(_) | None => {}
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let cli = match parse_arguments(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let lang = usage::requested_language(&arguments)
                .unwrap_or_else(bowline_words::Lang::from_environment);
            return output::finish_output(
                usage::report_usage_error(&error, &arguments, lang, json),
                lang,
            );
        }
    };
    let output = CommandOutput::new(&cli.common);
    let code = run_command(&cli, &output, &arguments[1..], attempt)
        .unwrap_or_else(|error| output.print_error(&error));
    output::finish_output(code, output.lang)
}

/// Parses the arguments. The command tree is never dropped: freeing it node by node costs a tenth
/// of a whole transition.
fn parse_arguments(arguments: &[OsString]) -> Result<args::Cli, clap::Error> {
    let mut commands = ManuallyDrop::new(args::Cli::command());
    let mut matches = commands.try_get_matches_from_mut(arguments)?;
    args::Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut commands))
}

/// Runs the command here, or relays it out of an agent's sandbox. With an attempt, this process is
/// the one outside and runs the command for that attempt.
fn run_command(
    cli: &args::Cli,
    output: &CommandOutput,
    words: &[OsString],
    attempt: Option<Result<Attempt, Error>>,
) -> Result<ExitCode, Error> {
    match attempt {
        Some(attempt) => relay::check_relayed_command(cli, &attempt?, words)?,
        None => {
            if let Some(asked) = relay::relay_if_inside(cli, output, words) {
                return asked;
            }
        }
    }
    commands::run(cli, output, words)
}
