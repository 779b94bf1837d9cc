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
use output::Output;
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
        Some(RELAY_WORD) => return relay::serve(arguments.get(2)),
        Some(relay::RELAYED_WORD) if arguments.len() > 2 => {
            attempt = Some(relay::confine(Path::new(&arguments[2])));
            arguments.drain(1..3);
        }
        Some(_) | None => {}
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let cli = match parsed(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let lang =
                usage::language(&arguments).unwrap_or_else(bowline_words::Lang::from_environment);
            return output::finished(usage::tell(&error, &arguments, lang, json), lang);
        }
    };
    let output = Output::new(&cli.common);
    let code = carry_out(&cli, &output, &arguments[1..], attempt)
        .unwrap_or_else(|error| output.error(&error));
    output::finished(code, output.lang)
}

/// Parses the arguments. The command tree is never dropped: freeing it node by node costs a tenth
/// of a whole transition.
fn parsed(arguments: &[OsString]) -> Result<args::Cli, clap::Error> {
    let mut commands = ManuallyDrop::new(args::Cli::command());
    let mut matches = commands.try_get_matches_from_mut(arguments)?;
    args::Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut commands))
}

/// Runs the command here, or relays it out of an agent's sandbox. With an attempt, this process is
/// the one outside and runs the command for that attempt.
fn carry_out(
    cli: &args::Cli,
    output: &Output,
    words: &[OsString],
    attempt: Option<Result<Attempt, Error>>,
) -> Result<ExitCode, Error> {
    match attempt {
        Some(attempt) => relay::permit(cli, &attempt?, words)?,
        None => {
            if let Some(asked) = relay::ask(cli, output, words) {
                return asked;
            }
        }
    }
    commands::run(cli, output, words)
}
