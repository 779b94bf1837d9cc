//! The binary `bowline`: arguments, text, exit codes. It contains no rule.

mod args;
mod commands;
mod hook;
mod korean;
mod output;
mod usage;

use bowline_engine::agents::SHIM_WORD;
use clap::Parser as _;
use output::Output;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // Before anything that could fail or take its time.
    if arguments.get(1).is_some_and(|word| word == "hook") {
        return hook::run(arguments.get(2));
    }
    // A shim has arguments of its own, and no time to lose.
    if arguments.get(1).is_some_and(|word| word == SHIM_WORD) {
        return bowline_engine::supervisor::shim::main(&[SHIM_WORD], &arguments[2..]);
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let cli = match args::Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let lang = usage::language(&arguments).unwrap_or_else(output::lang_of_locale);
            return output::finished(usage::tell(&error, lang, json), lang);
        }
    };
    let output = Output::new(&cli.common);
    let code = commands::run(&cli, &output).unwrap_or_else(|error| output.error(&error));
    output::finished(code, output.lang)
}
