//! Programs that run a command line given as a text.

use super::expand::is_unknown;
use super::parse::UNKNOWN;
use super::run::Environment;
use super::walk::{Input, Walker};
use super::wrap::{LOOSE_WORDS_MAX, option_value, options, quoted};
use crate::tool_call::patched;

/// Walks `su -c TEXT`, `flock FILE PROGRAM`, `runuser -u NAME -- PROGRAM`.
pub(super) fn given_text(
    walker: &mut Walker<'_>,
    name: &str,
    arguments: &[String],
    input: &Input,
    environment: &Environment,
) {
    let after = arguments.iter().position(|it| it == "--");
    if let Some(text) = option_value(arguments, 'c', "--command") {
        walker.text_with(&text, input);
    } else if let Some(at) = after {
        walker.run(&arguments[at + 1..], input, environment);
    } else if name == "flock" {
        let rest = options(
            arguments,
            &["-w", "--timeout", "-E", "--conflict-exit-code"],
        );
        walker.run(rest.get(1..).unwrap_or_default(), input, environment);
    } else if name == "runuser" {
        let rest = options(
            arguments,
            &["-u", "--user", "-g", "--group", "-s", "--shell"],
        );
        walker.run(rest, input, environment);
    }
    // Their shell reads their input.
    if matches!(name, "su" | "runuser" | "script")
        && let Input::Text(text) = input
    {
        walker.text(text);
    }
}

/// Walks `ssh` to this machine; commands on another machine do not matter.
pub(super) fn ssh(walker: &mut Walker<'_>, arguments: &[String], input: &Input) {
    const VALUED: &[&str] = &[
        "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p",
        "-R", "-S", "-W", "-w",
    ];
    for argument in arguments {
        let command = argument
            .split_once("ProxyCommand")
            .or_else(|| argument.split_once("LocalCommand"));
        if let Some((_, text)) = command {
            walker.suspect(text.trim_start_matches(['=', ' ']));
        }
    }
    let Some((host, rest)) = options(arguments, VALUED).split_first() else {
        return;
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    if matches!(
        host,
        "localhost" | "127.0.0.1" | "::1" | "0.0.0.0" | "ip6-localhost"
    ) {
        let rest = options(rest, VALUED);
        // It starts in the home folder, which may be any.
        walker.inside(|walker| {
            walker.folders = vec![None];
            match (rest, input) {
                ([], Input::Text(text)) => walker.text(text),
                ([], Input::None | Input::File) => {}
                (rest, input) => walker.text_with(&rest.join(" "), input),
            }
        });
    }
}

/// Walks words that may be command lines, and keys that are typed one after the other.
pub(super) fn textual(walker: &mut Walker<'_>, arguments: &[String]) {
    for word in arguments.iter().filter(|it| it.contains(' ')) {
        let text = word
            .trim_end_matches("\\n")
            .trim_end_matches("^M")
            .trim_end_matches("\\r");
        walker.perhaps(text);
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
    walker.suspect(&typed);
    for start in 1..arguments.len().min(LOOSE_WORDS_MAX) {
        if arguments[start - 1] == "-t" {
            let typed = arguments[start + 1..]
                .iter()
                .map(|word| match word.as_str() {
                    "Space" => " ".to_owned(),
                    "Enter" | "C-m" | "C-j" => "\n".to_owned(),
                    other => other.to_owned(),
                });
            walker.suspect(&typed.collect::<String>());
        }
    }
}

/// Walks GNU parallel: a command line for each argument, or each argument a command line.
pub(super) fn parallel(walker: &mut Walker<'_>, arguments: &[String], input: &Input) {
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
    let rest = options(arguments, VALUED);
    let split = rest.iter().position(|it| it.starts_with(":::"));
    let (command, given) = rest.split_at(split.unwrap_or(rest.len()));
    let mut items: Vec<String> = given
        .iter()
        .filter(|it| !it.starts_with(":::"))
        .cloned()
        .collect();
    let from_files = given.first().is_some_and(|it| it.starts_with("::::"));
    if let Input::Text(text) = input {
        items.extend(text.lines().map(str::to_owned));
    }
    if items.is_empty() || from_files {
        items = vec![UNKNOWN.to_string()];
    }
    let command = command.join(" ");
    for item in items.iter().take(super::expand::ALTERNATIVES_MAX) {
        if command.is_empty() {
            // A file with command lines is as unknown as a script.
            if item != &UNKNOWN.to_string() || matches!(input, Input::Text(_)) {
                walker.text(item);
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
            walker.run(&with, &Input::None, &[]);
            walker.suspect(&command);
        } else {
            let item = quoted(item);
            let text = command.replace("{}", &item);
            walker.text(&if text == command {
                format!("{command} {item}")
            } else {
                text
            });
        }
    }
}

/// Adds the writes of codex's editing command: its patch names the files.
pub(super) fn apply_patch(walker: &mut Walker<'_>, arguments: &[String], input: &Input) {
    let mut text = arguments.join("\n");
    if let Input::Text(fed) = input {
        text.push('\n');
        text.push_str(fed);
    }
    for path in patched(&text) {
        let unknown = UNKNOWN.to_string();
        walker.write(path.as_deref().unwrap_or(&unknown), "apply_patch");
    }
}
