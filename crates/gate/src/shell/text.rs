//! Programs that run a command line given as a text.

use super::expand::is_unknown;
use super::parse::UNKNOWN;
use super::run::CommandVariables;
use super::walk::{CommandInput, ShellWalker};
use super::wrap::{LOOSE_WORDS_MAX, option_value, quote_word, words_after_options};
use crate::tool_call::patched_paths;

/// Walks `su -c TEXT`, `flock FILE PROGRAM`, `runuser -u NAME -- PROGRAM`.
pub(super) fn walk_given_text(
    walker: &mut ShellWalker<'_>,
    name: &str,
    arguments: &[String],
    input: &CommandInput,
    environment: &CommandVariables,
) {
    let after = arguments.iter().position(|it| it == "--");
    if let Some(text) = option_value(arguments, 'c', "--command") {
        walker.walk_text_with(&text, input);
    } else if let Some(at) = after {
        walker.walk_command(&arguments[at + 1..], input, environment);
    } else if name == "flock" {
        let rest = words_after_options(
            arguments,
            &["-w", "--timeout", "-E", "--conflict-exit-code"],
        );
        walker.walk_command(rest.get(1..).unwrap_or_default(), input, environment);
    } else if name == "runuser" {
        let rest = words_after_options(
            arguments,
            &["-u", "--user", "-g", "--group", "-s", "--shell"],
        );
        walker.walk_command(rest, input, environment);
    }
    // Their shell reads their input.
    if matches!(name, "su" | "runuser" | "script")
        && let CommandInput::Text(text) = input
    {
        walker.walk_text(text);
    }
}

/// Walks `ssh` to this machine; commands on another machine do not matter.
pub(super) fn walk_ssh(walker: &mut ShellWalker<'_>, arguments: &[String], input: &CommandInput) {
    const VALUED: &[&str] = &[
        "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p",
        "-R", "-S", "-W", "-w",
    ];
    for argument in arguments {
        let command = argument
            .split_once("ProxyCommand")
            .or_else(|| argument.split_once("LocalCommand"));
        if let Some((_, text)) = command {
            walker.walk_suspect(text.trim_start_matches(['=', ' ']));
        }
    }
    let Some((host, rest)) = words_after_options(arguments, VALUED).split_first() else {
        return;
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    if matches!(
        host,
        "localhost" | "127.0.0.1" | "::1" | "0.0.0.0" | "ip6-localhost"
    ) {
        let rest = words_after_options(rest, VALUED);
        // It starts in the home folder, which may be any.
        walker.in_own_folders(|walker| {
            walker.folders = vec![None];
            match (rest, input) {
                ([], CommandInput::Text(text)) => walker.walk_text(text),
                ([], CommandInput::None | CommandInput::File) => {}
                (rest, input) => walker.walk_text_with(&rest.join(" "), input),
            }
        });
    }
}

/// Walks words that may be command lines, and keys that are typed one after the other.
pub(super) fn walk_textual(walker: &mut ShellWalker<'_>, arguments: &[String]) {
    for word in arguments.iter().filter(|it| it.contains(' ')) {
        let text = word
            .trim_end_matches("\\n")
            .trim_end_matches("^M")
            .trim_end_matches("\\r");
        walker.walk_if_command(text);
    }
    let typed: String = arguments
        .iter()
        .skip(1)
        .map(|word| match word.as_str() {
            "Space" => " ",
            "Enter" | "C-m" | "C-j" => "\n",
            other => other,
        })
        .collect();
    walker.walk_suspect(&typed);
    for start in 1..arguments.len().min(LOOSE_WORDS_MAX) {
        if arguments[start - 1] == "-t" {
            let typed = arguments[start + 1..]
                .iter()
                .map(|word| match word.as_str() {
                    "Space" => " ".to_owned(),
                    "Enter" | "C-m" | "C-j" => "\n".to_owned(),
                    other => other.to_owned(),
                });
            walker.walk_suspect(&typed.collect::<String>());
        }
    }
}

/// Walks GNU parallel: a command line for each argument, or each argument a command line.
pub(super) fn walk_parallel(
    walker: &mut ShellWalker<'_>,
    arguments: &[String],
    input: &CommandInput,
) {
    const VALUED: &[&str] = &[
        "-j",
        "--jobs",
        "-P",
        "-a",
        "--arg-file",
        "-n",
        "-N",
        "--max-args",
        "-L",
        "-I",
        "-d",
        "--delimiter",
        "-C",
        "--colsep",
        "--joblog",
        "--results",
        "--timeout",
        "--delay",
        "--retries",
        "-S",
        "--sshlogin",
        "--halt",
        "--tagstring",
        "--workdir",
        "--wd",
        "--memfree",
        "--load",
    ];
    let rest = words_after_options(arguments, VALUED);
    let split = rest.iter().position(|it| it.starts_with(":::"));
    let (command, given) = rest.split_at(split.unwrap_or(rest.len()));
    let mut items: Vec<String> = given
        .iter()
        .filter(|it| !it.starts_with(":::"))
        .cloned()
        .collect();
    let from_files = given.first().is_some_and(|it| it.starts_with("::::"));
    if let CommandInput::Text(text) = input {
        items.extend(text.lines().map(str::to_owned));
    }
    if items.is_empty() || from_files {
        items = vec![UNKNOWN.to_string()];
    }
    let command = command.join(" ");
    for item in items.iter().take(super::expand::ALTERNATIVES_MAX) {
        if command.is_empty() {
            // A file with command lines is as unknown as a script.
            if item != &UNKNOWN.to_string() || matches!(input, CommandInput::Text(_)) {
                walker.walk_text(item);
            }
        } else if is_unknown(item) {
            let words: Vec<String> = command
                .replace("{}", "")
                .split_whitespace()
                .map(str::to_owned)
                .collect();
            let with = words
                .iter()
                .cloned()
                .chain([item.clone()])
                .collect::<Vec<_>>();
            walker.walk_command(&with, &CommandInput::None, &[]);
            walker.walk_suspect(&command);
        } else {
            let item = quote_word(item);
            let text = command.replace("{}", &item);
            walker.walk_text(&if text == command {
                format!("{command} {item}")
            } else {
                text
            });
        }
    }
}

/// Adds the writes of codex's editing command: its patch names the files.
pub(super) fn add_patched_files(
    walker: &mut ShellWalker<'_>,
    arguments: &[String],
    input: &CommandInput,
) {
    let mut text = arguments.join("\n");
    if let CommandInput::Text(fed) = input {
        text.push('\n');
        text.push_str(fed);
    }
    for path in patched_paths(&text) {
        let unknown = UNKNOWN.to_string();
        walker.add_write(path.as_deref().unwrap_or(&unknown), "apply_patch");
    }
}
