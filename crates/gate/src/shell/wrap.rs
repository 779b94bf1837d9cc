//! Programs that run another program.

use super::expand::is_unknown;
use super::parse::UNKNOWN;
use super::run::Environment;
use super::walk::{Input, Walker};

/// Wrappers with options before the program: their names, their options that take a value, and how many words of their
/// own stand before the program.
const WRAPPERS: &[(&str, &[&str], usize)] = &[
    ("builtin", &[], 0),
    ("caffeinate", &["-t", "-w"], 0),
    ("chroot", &["-u", "-g"], 1),
    ("chrt", &["-p"], 1),
    ("command", &[], 0),
    ("doas", &["-u", "-C"], 0),
    ("exec", &["-a"], 0),
    ("ionice", &["-c", "-n", "-p"], 0),
    ("nice", &["-n", "--adjustment"], 0),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    (
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user", "--group",
        ],
        0,
    ),
    ("taskset", &["-c", "-p"], 1),
    ("time", &["-f", "-o"], 0),
    ("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    ("unbuffer", &[], 0),
    ("xvfb-run", &["-n", "-s", "-e", "-f"], 0),
];

/// Wrappers whose options are many: every word that names a program may be one.
const LOOSE: &[&str] = &[
    "bundle",
    "bunx",
    "direnv",
    "faketime",
    "firejail",
    "bwrap",
    "ltrace",
    "mise",
    "npx",
    "nsenter",
    "parallel",
    "pipenv",
    "pnpm",
    "poetry",
    "proxychains",
    "proxychains4",
    "runuser",
    "start-stop-daemon",
    "strace",
    "systemd-run",
    "unshare",
    "uv",
    "uvx",
    "xonsh",
    "yarn",
    "watchexec",
    "entr",
    "setpriv",
    "capsh",
    "dbus-run-session",
    "ssh-agent",
    "rtk",
];

/// Words of such a wrapper that may be the program.
const LOOSE_WORDS_MAX: usize = 40;

/// Runs what a wrapper wraps. Says whether it was a wrapper.
pub(super) fn run(
    walker: &mut Walker<'_>,
    name: &str,
    arguments: &[String],
    input: &Input,
    environment: &Environment,
) -> bool {
    if let Some((_, valued, own)) = WRAPPERS.iter().find(|(known, ..)| *known == name) {
        if name == "command" && matches!(arguments.first().map(String::as_str), Some("-v" | "-V")) {
            return true;
        }
        let mut rest = options(arguments, valued);
        // `sudo NAME=VALUE program`.
        while name == "sudo" && rest.first().is_some_and(|it| it.contains('=')) {
            rest = &rest[1..];
        }
        walker.run(rest.get(*own..).unwrap_or_default(), input, environment);
        return true;
    }
    match name {
        "env" => env(walker, arguments, input),
        "xargs" | "gxargs" => xargs(walker, arguments, input),
        "find" | "gfind" | "fd" | "fdfind" => find(walker, arguments),
        "busybox" | "toybox" => walker.run(arguments, input, environment),
        "watch" => {
            let rest = options(arguments, &["-n", "--interval"]);
            walker.text(&rest.join(" "));
        }
        "script" | "su" | "flock" => {
            let text = arguments
                .iter()
                .position(|it| it == "-c" || it == "--command");
            match text.and_then(|at| arguments.get(at + 1)) {
                Some(text) => {
                    let text = text.clone();
                    walker.text(&text);
                }
                None if name == "flock" => {
                    let rest = options(arguments, &["-w", "--timeout", "-E"]);
                    walker.run(rest.get(1..).unwrap_or_default(), input, environment);
                }
                None => {}
            }
        }
        _ if LOOSE.contains(&name) => loose(walker, arguments, input, environment),
        _ => return false,
    }
    true
}

/// The words after the options.
pub(super) fn options<'a>(arguments: &'a [String], valued: &[&str]) -> &'a [String] {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        if first == "--" {
            return after;
        }
        if !first.starts_with('-') || first == "-" {
            break;
        }
        rest = if valued.contains(&first.as_str()) {
            after.get(1..).unwrap_or_default()
        } else {
            after
        };
    }
    rest
}

fn env(walker: &mut Walker<'_>, arguments: &[String], input: &Input) {
    let mut environment = Vec::new();
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        match first.as_str() {
            "--" => {
                rest = after;
                break;
            }
            "-u" | "--unset" | "-C" | "--chdir" | "-P" => {
                rest = after.get(1..).unwrap_or_default();
            }
            "-S" | "--split-string" => {
                let mut text = after.join(" ");
                if is_unknown(&text) {
                    text = UNKNOWN.to_string();
                }
                walker.text(&text);
                return;
            }
            split if split.starts_with("-S") || split.starts_with("--split-string=") => {
                let text = split
                    .trim_start_matches("--split-string=")
                    .trim_start_matches("-S");
                let text = format!("{text} {}", after.join(" "));
                walker.text(&text);
                return;
            }
            option if option.starts_with('-') => rest = after,
            other => match other.split_once('=') {
                Some((name, value)) => {
                    environment.push((name.to_owned(), value.to_owned()));
                    rest = after;
                }
                None => break,
            },
        }
    }
    walker.run(rest, input, &environment);
}

fn xargs(walker: &mut Walker<'_>, arguments: &[String], input: &Input) {
    const VALUED: &[&str] = &[
        "-a",
        "-d",
        "-E",
        "-I",
        "-i",
        "-J",
        "-L",
        "-l",
        "-n",
        "-P",
        "-R",
        "-s",
        "--arg-file",
        "--delimiter",
        "--max-args",
        "--max-procs",
        "--replace",
        "--max-lines",
    ];
    let rest = options(arguments, VALUED);
    let place = arguments
        .iter()
        .position(|it| it == "-I" || it == "-J")
        .and_then(|at| arguments.get(at + 1).cloned())
        .or_else(|| {
            let joined = arguments
                .iter()
                .find_map(|it| it.strip_prefix("-I").filter(|rest| !rest.is_empty()));
            joined.map(str::to_owned)
        });
    let given: Vec<String> = match input {
        Input::Text(text) if !is_unknown(text) => {
            text.split_whitespace().map(str::to_owned).collect()
        }
        Input::Text(_) | Input::File | Input::None => vec![UNKNOWN.to_string()],
    };
    let command = if rest.is_empty() {
        vec!["echo".to_owned()]
    } else {
        rest.to_vec()
    };
    let runs: Vec<Vec<String>> = match place {
        Some(place) => {
            let whole = given.join(" ");
            let put = |item: &str| command.iter().map(|it| it.replace(&place, item)).collect();
            given
                .iter()
                .map(|item| put(item))
                .chain([put(&whole)])
                .collect()
        }
        None => {
            let mut all = command.clone();
            all.extend(given.iter().cloned());
            let one = given.iter().map(|item| {
                let mut words = command.clone();
                words.push(item.clone());
                words
            });
            one.chain([all]).collect()
        }
    };
    for words in runs.iter().take(super::expand::ALTERNATIVES_MAX) {
        walker.run(words, &Input::None, &[]);
    }
}

fn find(walker: &mut Walker<'_>, arguments: &[String]) {
    const EXECS: &[&str] = &[
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-x",
        "-X",
        "--exec",
        "--exec-batch",
    ];
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(|it| EXECS.contains(&it.as_str())) {
        rest = &rest[at + 1..];
        let end = rest
            .iter()
            .position(|it| it == ";" || it == "+")
            .unwrap_or(rest.len());
        let unknown = UNKNOWN.to_string();
        let words: Vec<String> = rest[..end]
            .iter()
            .map(|it| it.replace("{}", &unknown))
            .collect();
        walker.run(&words, &Input::None, &[]);
        rest = &rest[end..];
    }
    for option in ["-fprint", "-fprintf", "-fls", "-fprint0"] {
        if let Some(at) = arguments.iter().position(|it| it == option)
            && let Some(target) = arguments.get(at + 1)
        {
            walker.write(target, "find");
        }
    }
    if arguments.iter().any(|it| it == "-delete") {
        for folder in arguments.iter().take_while(|it| !it.starts_with('-')) {
            walker.touch(folder, false);
        }
    }
}

/// Tries every word that may be the program. The first that does something counts.
fn loose(walker: &mut Walker<'_>, arguments: &[String], input: &Input, environment: &Environment) {
    for (at, word) in arguments.iter().enumerate().take(LOOSE_WORDS_MAX) {
        if word.starts_with('-') {
            continue;
        }
        let known = walker.deeds.len();
        if is_unknown(word) {
            continue;
        }
        walker.run(&arguments[at..], input, environment);
        if walker.found_since(known) {
            return;
        }
    }
}
