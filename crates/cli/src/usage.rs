//! Usage errors: reports an invalid command line and suggests a correct one, as text or JSON.

use crate::args::Cli;
use crate::help;
use crate::output::{record_stdout_result, write_stderr_line, write_stdout};
use bowline_words::message::{Label, Misused, Rightly};
use bowline_words::{Lang, korean_help};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};
use serde_json::json;
use std::ffi::OsString;
use std::process::ExitCode;

/// Exit code of a usage error.
const USAGE_CODE: u8 = 2;
/// Most commands suggested when a word is a verb of several nouns.
const SUGGESTIONS_MAX: usize = 4;

/// Command names of other programs, and the Bowline commands that do the same.
const FOREIGN_COMMANDS: [(&str, &str); 6] = [
    ("list", "bowline status"),
    ("ls", "bowline status"),
    ("log", "bowline history"),
    ("run", "bowline run-agent -- CMD"),
    ("ps", "bowline attach"),
    ("fix", "bowline doctor --repair"),
];

/// Reports a usage error, or prints help or the version, and returns the exit code.
pub(crate) fn report_usage_error(
    error: &clap::Error,
    arguments: &[OsString],
    lang: Lang,
    json: bool,
) -> ExitCode {
    if !error.use_stderr() {
        match help::help_page(arguments, lang) {
            Some(page) => write_stdout(&page),
            None => record_stdout_result(error.print()),
        }
        return ExitCode::SUCCESS;
    }
    let help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if help && !json {
        // The help page itself is the answer.
        match help::help_page(arguments, lang) {
            Some(page) => write_stderr_line(page.trim_end()),
            None => drop(error.print()),
        }
        return ExitCode::from(USAGE_CODE);
    }
    let message = describe_misuse(error, lang).say(lang);
    let hint = suggest_correction(error, arguments).say(lang);
    if json {
        let body = json!({ "error": { "code": "usage", "message": message, "hint": hint } });
        write_stdout(&format!("{body}\n"));
        return ExitCode::from(USAGE_CODE);
    }
    write_stderr_line(&format!("{}[usage]: {message}", Label::Error.say(lang)));
    if let Some(line) = usage_line(error) {
        let line = match lang {
            Lang::En => line,
            Lang::Ko => korean_help::translate_frame(&line),
        };
        write_stderr_line(&format!("{}: {line}", Label::Usage.say(lang)));
    }
    write_stderr_line(&format!("{}: {hint}", Label::Hint.say(lang)));
    ExitCode::from(USAGE_CODE)
}

/// Returns the language that an invalid command line asks for with `--lang`, if any.
pub(crate) fn requested_language(arguments: &[std::ffi::OsString]) -> Option<Lang> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let separate = words.windows(2).filter(|pair| pair[0] == "--lang");
    let separate = separate.map(|pair| pair[1]);
    let joined = words.iter().filter_map(|word| word.strip_prefix("--lang="));
    match separate.chain(joined).last() {
        Some("ko") => Some(Lang::Ko),
        Some("en") => Some(Lang::En),
        Some(_) | None => None,
    }
}

/// Returns the first paragraph of clap's message; usage and tips follow after an empty line.
fn clap_message(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    lines.join(" ").trim_start_matches("error: ").to_owned()
}

fn describe_misuse(error: &clap::Error, lang: Lang) -> Misused {
    let argument = error_detail(error, ContextKind::InvalidArg);
    let value = error_detail(error, ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Misused::CommandMissing
        }
        // clap's English message also contains the reasons given by our value parsers.
        _ if lang == Lang::En => Misused::Other {
            text: clap_message(error),
        },
        ErrorKind::InvalidSubcommand => Misused::NoCommand {
            name: error_detail(error, ContextKind::InvalidSubcommand),
        },
        ErrorKind::UnknownArgument => Misused::NoArgument { name: argument },
        ErrorKind::MissingRequiredArgument => Misused::ArgumentMissing { names: argument },
        ErrorKind::InvalidValue if value.is_empty() => Misused::ValueMissing { argument },
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            Misused::BadValue { argument, value }
        }
        ErrorKind::TooManyValues | ErrorKind::WrongNumberOfValues => {
            Misused::WrongCount { argument }
        }
        ErrorKind::TooFewValues | ErrorKind::NoEquals => Misused::MoreValues { argument },
        ErrorKind::ArgumentConflict => Misused::Conflict {
            argument,
            other: error_detail(error, ContextKind::PriorArg),
        },
        ErrorKind::InvalidUtf8 => Misused::NotText,
        _ => Misused::Other {
            text: clap_message(error),
        },
    }
}

/// Returns advice: a command of that name elsewhere in the tree, clap's own suggestion, or the help
/// page of the command that was reached.
fn suggest_correction(error: &clap::Error, arguments: &[OsString]) -> Rightly {
    let mut root = Cli::command();
    root.build();
    let words: Vec<&str> = arguments.iter().filter_map(|it| it.to_str()).collect();
    let (path, reached) = find_reached_command(&root, &words[1.min(words.len())..]);
    let help = format!("{path} --help");
    let meant = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = error_detail(error, ContextKind::InvalidSubcommand);
            let after = words.iter().skip_while(|it| **it != word).skip(1);
            let after = after.take_while(|it| !it.starts_with('-'));
            let after: Vec<&str> = after.copied().collect();
            suggest_command(&root, reached, &path, &word, &after)
        }
        _ => None,
    };
    if let Some(command) = meant {
        return Rightly::Say { command, help };
    }
    let suggested = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let mut suggested = suggested.iter().map(|kind| error_detail(error, *kind));
    if let Some(word) = suggested.find(|text| !text.is_empty()) {
        return Rightly::DidYouMean { word, help };
    }
    let values = error_detail(error, ContextKind::ValidValue);
    if !values.is_empty() {
        return Rightly::OneOf { values };
    }
    let step = path.starts_with("bowline memory step");
    match error.kind() {
        ErrorKind::ValueValidation if step => Rightly::StepNumber { help },
        _ => Rightly::See { help },
    }
}

/// Follows the words of a command line into the command tree; returns the path and the last
/// command.
fn find_reached_command<'c>(root: &'c Command, words: &[&str]) -> (String, &'c Command) {
    let (mut path, mut command) = ("bowline".to_owned(), root);
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        // A word that is no command may be the value of the option before it.
        let Some(next) = command.find_subcommand(word) else {
            continue;
        };
        path = format!("{path} {}", next.get_name());
        command = next;
    }
    (path, command)
}

/// Returns the command that an unknown word may stand for: one of that name below, elsewhere in the
/// tree, or the counterpart of another program's command.
fn suggest_command(
    root: &Command,
    reached: &Command,
    path: &str,
    word: &str,
    after: &[&str],
) -> Option<String> {
    let mut found = Vec::new();
    collect_commands_named(reached, path, word, &mut found);
    if found.is_empty() {
        let noun = path.split(' ').nth(1);
        let below = noun.and_then(|noun| root.find_subcommand(noun));
        match below {
            Some(below) => collect_commands_named(
                below,
                &format!("bowline {}", below.get_name()),
                word,
                &mut found,
            ),
            None => collect_commands_named(root, "bowline", word, &mut found),
        }
    }
    // A value that only one of them accepts decides.
    let fits = |(_, command): &&(String, &Command)| {
        let values = command
            .get_positionals()
            .flat_map(|it| it.get_possible_values());
        let values: Vec<String> = values.map(|it| it.get_name().to_owned()).collect();
        after
            .first()
            .is_some_and(|it| values.iter().any(|value| value == it))
    };
    if let Some((command, _)) = found.iter().find(fits) {
        return Some(format!("{command} {}", after.join(" ")));
    }
    let mut names: Vec<String> = found.into_iter().map(|(name, _)| name).collect();
    if path == "bowline" || names.is_empty() {
        let known = FOREIGN_COMMANDS.iter().filter(|(other, _)| *other == word);
        names.extend(known.map(|(_, command)| (*command).to_owned()));
    }
    match names.len() {
        1..=SUGGESTIONS_MAX => Some(names.join("', '")),
        _ => None,
    }
}

/// Collects every command below `command` that is called `word`.
fn collect_commands_named<'c>(
    command: &'c Command,
    path: &str,
    word: &str,
    found: &mut Vec<(String, &'c Command)>,
) {
    // clap's own `help` command repeats every name.
    let others = command.get_subcommands();
    for below in others.filter(|below| below.get_name() != "help") {
        let path = format!("{path} {}", below.get_name());
        if below.get_name() == word {
            found.push((path.clone(), below));
        }
        collect_commands_named(below, &path, word, found);
    }
}

fn usage_line(error: &clap::Error) -> Option<String> {
    let text = error.to_string();
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Usage: "));
    line.map(str::to_owned)
}

/// Returns one detail of clap's error as text; empty when the error has none.
fn error_detail(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        Some(ContextValue::Number(number)) => number.to_string(),
        Some(_) | None => String::new(),
    }
}
