//! Help pages in Korean.
//!
//! The command line is defined and parsed in English. Only when a Korean page is shown is the whole
//! tree built, given its Korean lines and parsed again: no other command pays for it.

#[cfg(test)]
mod tests;

use crate::args::Cli;
use bowline_words::{Lang, korean_help};
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory as _};
use std::collections::HashMap;
use std::ffi::OsString;

/// clap's own command, which exists below every command with subcommands and repeats them all.
const HELP: &str = "help";

/// Returns the line of a command (path alone) or of a part of it, given its English text.
type LineTranslator<'s> = dyn FnMut(&str, &str, &str) -> Option<&'static str> + 's;

/// Returns the help page that a command line asks for, if its language is not clap's own.
pub(crate) fn help_page(arguments: &[OsString], lang: Lang) -> Option<String> {
    match lang {
        Lang::En => return None,
        Lang::Ko => {}
    }
    let error = korean_command().try_get_matches_from(arguments).err()?;
    let is_page = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    is_page.then(|| korean_help::translate_frame(&error.render().to_string()))
}

/// Builds the command line in Korean, for pages and completions; not for parsing values.
pub(crate) fn korean_command() -> Command {
    let lines: HashMap<_, _> = korean_help::help_lines().collect();
    let mut command = Cli::command();
    command.build();
    translate_command(command, "", &mut |path, of, _| {
        find_line(&lines, path, of).map(|(_, line)| line)
    })
}

/// Finds the line of a command or of a part of it; a part is also looked up at the parent commands.
fn find_line(
    lines: &HashMap<&'static str, &'static str>,
    path: &str,
    of: &str,
) -> Option<(String, &'static str)> {
    let mut path = path;
    loop {
        let about = line_key(path, of);
        if let Some(line) = lines.get(about.as_str()) {
            return Some((about, line));
        }
        if path.is_empty() || of.is_empty() {
            return None;
        }
        path = path.rsplit_once(' ').map_or("", |(above, _)| above);
    }
}

/// Builds the key of a line as the table of Korean lines writes it.
fn line_key(path: &str, of: &str) -> String {
    match (path, of) {
        ("", "") => "bowline".to_owned(),
        ("", only) | (only, "") => only.to_owned(),
        (path, of) => format!("{path} {of}"),
    }
}

/// Replaces every text of a command and its subcommands by what `say` returns.
fn translate_command(command: Command, path: &str, say: &mut LineTranslator<'_>) -> Command {
    let own = match command.get_name() {
        HELP => HELP,
        _ => path,
    };
    let english = command.get_about().map(ToString::to_string);
    let line = english.and_then(|english| say(own, "", &english));
    let long = command.get_long_about().is_some();
    let command = match line {
        Some(line) if long => command.about(first_paragraph(line)).long_about(line),
        Some(line) => command.about(first_paragraph(line)),
        None => command,
    };
    let command = command.mut_args(|arg| translate_argument(arg, path, say));
    command.mut_subcommands(|below| {
        let path = match below.get_name() {
            HELP => path.to_owned(),
            name => line_key(path, name),
        };
        translate_command(below, &path, say)
    })
}

fn translate_argument(arg: Arg, path: &str, say: &mut LineTranslator<'_>) -> Arg {
    if arg.is_hide_set() {
        return arg;
    }
    let name = match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => format!("<{}>", arg.get_id()),
    };
    let short = arg.get_help().map(ToString::to_string);
    let long = arg.get_long_help().map(ToString::to_string);
    let arg = match (short, long) {
        // clap's own option, whose help differs on a page with a long form.
        (Some(short), Some(long)) if name == "--help" => {
            let short = say(path, "--help -h", &short);
            let long = say(path, "--help --help", &long);
            match (short, long) {
                (Some(short), Some(long)) => arg.help(short).long_help(long),
                _ => arg,
            }
        }
        (Some(short), long) => match (say(path, &name, &short), long) {
            (Some(line), Some(_)) => arg.help(first_paragraph(line)).long_help(line),
            (Some(line), None) => arg.help(first_paragraph(line)),
            (None, _) => arg,
        },
        (None, _) => arg,
    };
    let values = arg.get_possible_values();
    if values.iter().all(|value| value.get_help().is_none()) {
        return arg;
    }
    let values = values.into_iter().map(|value| {
        let english = value.get_help().map(ToString::to_string);
        let of = format!("{name} {}", value.get_name());
        match english.and_then(|english| say(path, &of, &english)) {
            Some(line) => value.help(line),
            None => value,
        }
    });
    arg.value_parser(PossibleValuesParser::new(values.collect::<Vec<_>>()))
}

/// Returns the first paragraph, which short pages and lists show.
fn first_paragraph(line: &'static str) -> &'static str {
    line.split("\n\n").next().unwrap_or(line)
}
