//! The binary `bowline`: arguments, text, exit codes. It contains no rule.

mod args;
mod commands;
mod korean;
mod output;
mod usage;

use clap::Parser as _;
use output::Output;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let cli = match args::Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let lang = usage::language(&arguments).unwrap_or_else(output::lang_of_locale);
            return usage::tell(&error, lang, json);
        }
    };
    let output = Output::new(&cli.common);
    match commands::run(&cli, &output) {
        Ok(code) => code,
        Err(error) => output.error(&error),
    }
}
