//! Wrappers: programs that run another program.

use super::expand::is_unknown;
use super::listed;
use super::parse::{UNKNOWN, UNKNOWN_NAME};
use super::run::{CommandVariables, base_name};
use super::side_effect::FileChangeKind;
use super::text::{add_patched_files, walk_given_text, walk_parallel, walk_ssh, walk_textual};
use super::walk::{CommandInput, ShellWalker};
use super::write::walk_makefile;
use super::xargs;
use bowline_words::message::Unseen;

/// Wrappers with options before the program: the name, the options that take a value, and the
/// number of own words before the program.
const WRAPPERS: &[(&str, &[&str], usize)] = &[
    ("aa-exec", &["-p", "-n"], 0),
    ("builtin", &[], 0),
    ("caffeinate", &["-t", "-w"], 0),
    ("catchsegv", &[], 0),
    ("chroot", &["-u", "-g"], 1),
    ("chronic", &[], 0),
    ("chrt", &["-T", "-P", "-D"], 1),
    ("command", &[], 0),
    ("doas", &["-u", "-C"], 0),
    ("dumb-init", &["-r"], 0),
    ("eatmydata", &[], 0),
    ("exec", &["-a"], 0),
    ("fakeroot", &["-l", "-s", "-i"], 0),
    ("ionice", &["-c", "-n", "-p"], 0),
    ("nice", &["-n", "--adjustment"], 0),
    ("nocorrect", &[], 0),
    ("noglob", &[], 0),
    ("nohup", &[], 0),
    ("pkexec", &["--user"], 0),
    (
        "rlwrap",
        &[
            "-b", "-C", "-D", "-f", "-g", "-H", "-l", "-m", "-O", "-p", "-P", "-q", "-s", "-S",
            "-t", "-w", "-z",
        ],
        0,
    ),
    ("setarch", &[], 1),
    ("setsid", &[], 0),
    (
        "stdbuf",
        &["-i", "-o", "-e", "--input", "--output", "--error"],
        0,
    ),
    (
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user", "--group",
        ],
        0,
    ),
    ("taskset", &[], 1),
    ("time", &["-f", "-o"], 0),
    ("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    ("tini", &["-p", "-e"], 0),
    ("torify", &[], 0),
    ("torsocks", &[], 0),
    ("unbuffer", &[], 0),
    ("xvfb-run", &["-n", "-s", "-e", "-f"], 0),
];

/// Wrappers with many options: every word that names a program may be the one.
const LOOSE: &str = "asdf aws-vault bundle bunx bwrap capsh conda daemonize dbus-run-session direnv doppler dotenv faketime \
    firejail fnm foreman gdb guix honcho ltrace mamba micromamba mise nix nsenter numactl nvm op parallel perf pipenv \
    pixi pnpm poetry prlimit proxychains proxychains4 pyenv rbenv rtk rustup rye setpriv ssh-agent start-stop-daemon \
    strace systemd-run unshare uv uvx valgrind volta yarn";

/// Wrappers that also take a whole command line as one word.
const TEXTUAL: &str = "chokidar concurrently entr expect-lite hyperfine mispipe nix-shell nodemon npx onchange pee reflex \
    screen tmux watchexec cargo-watch";

/// Words of such a wrapper that may be the program.
pub(super) const LOOSE_WORDS_MAX: usize = 40;

/// Walks the program that a wrapper runs. Returns false for any other program.
pub(super) fn walk_wrapper(
    walker: &mut ShellWalker<'_>,
    name: &str,
    arguments: &[String],
    input: &CommandInput,
    environment: &CommandVariables,
) -> bool {
    if let Some((_, valued, own)) = WRAPPERS.iter().find(|(known, ..)| *known == name) {
        if name == "command" && matches!(arguments.first().map(String::as_str), Some("-v" | "-V")) {
            return true;
        }
        let mut rest = words_after_options(arguments, valued);
        // `sudo NAME=VALUE program`.
        while name == "sudo"
            && let Some((variable, value)) = rest.first().and_then(|it| it.split_once('='))
        {
            walker.assign_variable(variable, false, vec![value.to_owned()]);
            rest = &rest[1..];
        }
        if matches!(name, "sudo" | "doas")
            && let Some(folder) =
                super::write::value_of(&arguments[..arguments.len() - rest.len()], "-D", "--chdir")
        {
            walker.change_folder("cd", &[folder]);
        }
        let rest = rest.get(*own..).unwrap_or_default();
        if matches!(name, "sudo" | "doas" | "pkexec" | "chroot") {
            walker.in_any_folder(|walker| walker.walk_command(rest, input, environment));
        } else {
            walker.walk_command(rest, input, environment);
        }
        return true;
    }
    match name {
        "env" => walk_env(walker, arguments, input),
        "xargs" | "gxargs" => xargs::walk_xargs(walker, arguments, input),
        _ => {
            // Their options may choose another folder.
            let mut found = false;
            walker.in_any_folder(|walker| {
                found = walk_other_wrapper(walker, name, arguments, input, environment)
            });
            return found;
        }
    }
    true
}

fn walk_other_wrapper(
    walker: &mut ShellWalker<'_>,
    name: &str,
    arguments: &[String],
    input: &CommandInput,
    environment: &CommandVariables,
) -> bool {
    match name {
        "find" | "gfind" | "fd" | "fdfind" => walk_find(walker, name, arguments),
        "busybox" | "toybox" => walker.walk_command(arguments, input, environment),
        "watch" => {
            let rest = words_after_options(arguments, &["-n", "--interval", "-q"]);
            walker.walk_text(&rest.join(" "));
        }
        "script" | "su" | "flock" | "runuser" | "sg" => {
            walk_given_text(walker, name, arguments, input, environment);
        }
        "at" | "batch" => {
            if let CommandInput::Text(text) = input {
                walker.walk_text(text);
            }
        }
        "crontab" => {
            if *input != CommandInput::None {
                walker.add_hidden(Unseen::CronTable);
            }
        }
        "make" | "gmake" => {
            if let CommandInput::Text(text) = input
                && arguments
                    .iter()
                    .any(|it| it == "-" || it.ends_with("=-") || it == "-f-")
            {
                walk_makefile(walker, text);
            }
            return false;
        }
        "ssh" => walk_ssh(walker, arguments, input),
        "npm" | "npx" | "pnpx" if matches!(name, "npx" | "pnpx") || is_exec(arguments) => {
            if let Some(text) = option_value(arguments, 'c', "--call") {
                walker.walk_text(&text);
            }
            walk_loose_words(walker, arguments, input, environment);
        }
        "cargo" => {
            if arguments.first().is_some_and(|it| it == "watch") {
                walk_textual(walker, arguments);
            }
        }
        "parallel" => walk_parallel(walker, arguments, input),
        "apply_patch" | "applypatch" | "apply-patch" => add_patched_files(walker, arguments, input),
        _ if is_among(TEXTUAL, name) => {
            walk_textual(walker, arguments);
            walk_loose_words(walker, arguments, input, environment);
        }
        _ if is_among(LOOSE, name) => walk_loose_words(walker, arguments, input, environment),
        _ => return false,
    }
    true
}

fn is_among(list: &str, name: &str) -> bool {
    list.split(' ').any(|it| it == name)
}

/// Quotes a word for the shell.
pub(super) fn quote_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the words after the options.
pub(super) fn words_after_options<'a>(arguments: &'a [String], valued: &[&str]) -> &'a [String] {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        if first == "--" {
            return after;
        }
        if !first.starts_with('-') || first == "-" {
            break;
        }
        rest = if takes_next(first, valued) {
            after.get(1..).unwrap_or_default()
        } else {
            after
        };
    }
    rest
}

/// True if the value of an option is the next word: of the option itself, or of the last letter in
/// a group.
fn takes_next(option: &str, valued: &[&str]) -> bool {
    if option.starts_with("--") {
        return valued.contains(&option);
    }
    let is_valued = |letter: char| {
        valued
            .iter()
            .any(|it| it.len() == 1 + letter.len_utf8() && it.ends_with(letter))
    };
    option
        .char_indices()
        .skip(1)
        .find(|(_, letter)| is_valued(*letter))
        .is_some_and(|(at, letter)| at + letter.len_utf8() == option.len())
}

/// Returns the value of an option that may end a group: `-qc TEXT`, `--command=TEXT`.
pub(super) fn option_value(arguments: &[String], letter: char, long: &str) -> Option<String> {
    for (at, argument) in arguments.iter().enumerate() {
        let group = argument.starts_with('-') && !argument.starts_with("--");
        if argument == long || group && argument.ends_with(letter) {
            return arguments.get(at + 1).cloned();
        }
        let joined = argument
            .strip_prefix(long)
            .and_then(|it| it.strip_prefix('='));
        let glued = argument
            .strip_prefix('-')
            .and_then(|it| it.strip_prefix(letter));
        if let Some(text) = joined.or(glued) {
            return Some(text.to_owned());
        }
    }
    None
}

fn is_exec(arguments: &[String]) -> bool {
    let first = arguments.iter().find(|it| !it.starts_with('-'));
    first.is_some_and(|it| matches!(it.as_str(), "exec" | "x"))
}

fn walk_env(walker: &mut ShellWalker<'_>, arguments: &[String], input: &CommandInput) {
    let mut environment = Vec::new();
    let mut folder: Option<String> = None;
    let is_group = |it: &str| {
        it.len() > 2 && it.starts_with('-') && !it.starts_with("--") && !it.contains('=')
    };
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        match first.as_str() {
            "--" => {
                rest = after;
                break;
            }
            "-u" | "--unset" | "-P" => {
                rest = after.get(1..).unwrap_or_default();
            }
            "-C" | "--chdir" => {
                folder = after.first().cloned();
                rest = after.get(1..).unwrap_or_default();
            }
            "-S" | "--split-string" => {
                let mut text = after.join(" ");
                if is_unknown(&text) {
                    text = UNKNOWN.to_string();
                }
                walker.walk_text(&text);
                return;
            }
            split if split.starts_with("-S") || split.starts_with("--split-string=") => {
                let text = split
                    .trim_start_matches("--split-string=")
                    .trim_start_matches("-S");
                let text = format!("{text} {}", after.join(" "));
                walker.walk_text(&text);
                return;
            }
            split if is_group(split) && split.ends_with('S') => {
                walker.walk_text(&after.join(" "));
                return;
            }
            option if is_group(option) && option.ends_with(['u', 'C', 'P']) => {
                if option.ends_with('C') {
                    folder = after.first().cloned();
                }
                rest = after.get(1..).unwrap_or_default();
            }
            option if option.starts_with('-') => {
                if let Some(own) = option
                    .strip_prefix("--chdir=")
                    .or_else(|| option.strip_prefix("-C"))
                {
                    folder = Some(own.to_owned());
                }
                rest = after;
            }
            other => match other.split_once('=') {
                Some((name, value)) => {
                    environment.push((name.to_owned(), value.to_owned()));
                    walker.assign_variable(name, false, vec![value.to_owned()]);
                    rest = after;
                }
                None => break,
            },
        }
    }
    walker.in_own_folders(|walker| {
        if let Some(folder) = folder {
            walker.change_folder("cd", &[folder]);
        }
        walker.walk_command(rest, input, &environment);
    });
}

fn walk_find(walker: &mut ShellWalker<'_>, name: &str, arguments: &[String]) {
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
        walker.walk_command(&words, &CommandInput::None, &[]);
        if name != "fd" && name != "fdfind" {
            for hook in listed::hooks_found_by_find(arguments) {
                let words: Vec<String> = rest[..end]
                    .iter()
                    .map(|it| it.replace("{}", &hook))
                    .collect();
                walker.run_on_listed(&words);
            }
        }
        // For writes an unknown path is enough; a removal may be outside.
        if words
            .first()
            .is_some_and(|it| matches!(base_name(it), "rm" | "unlink" | "mv"))
        {
            add_found_removals(walker, arguments, "find -exec");
        }
        rest = &rest[end..];
    }
    for option in ["-fprint", "-fprintf", "-fls", "-fprint0"] {
        if let Some(at) = arguments.iter().position(|it| it == option)
            && let Some(target) = arguments.get(at + 1)
        {
            walker.add_write(target, "find");
        }
    }
    if arguments.iter().any(|it| it == "-delete") {
        add_found_removals(walker, arguments, "find -delete");
    }
}

/// Adds the removal of the files that `find` finds, as far as its words allow.
fn add_found_removals(walker: &mut ShellWalker<'_>, arguments: &[String], by: &str) {
    let folders: Vec<&str> = arguments
        .iter()
        .skip_while(|it| matches!(it.as_str(), "-H" | "-L" | "-P"))
        .take_while(|it| !it.starts_with('-') && *it != "(" && *it != "!")
        .map(String::as_str)
        .collect();
    // A given name may be one that git ignores.
    let named = arguments.iter().position(|it| it == "-name");
    let name = named.and_then(|at| arguments.get(at + 1));
    let unknown = UNKNOWN_NAME.to_string();
    let name = name.map_or(unknown.clone(), |it| it.replace(['*', '?'], &unknown));
    let folders = if folders.is_empty() {
        vec!["."]
    } else {
        folders
    };
    for folder in folders {
        // In the folder itself, if it exists, and anywhere below.
        walker.add_touch(&format!("{folder}/{name}"), FileChangeKind::Gone, by);
        walker.add_write(&format!("{folder}/{unknown}/{name}"), by);
    }
}

/// Tries every word that may be the program, until one has an effect.
fn walk_loose_words(
    walker: &mut ShellWalker<'_>,
    arguments: &[String],
    input: &CommandInput,
    environment: &CommandVariables,
) {
    for (at, word) in arguments.iter().enumerate().take(LOOSE_WORDS_MAX) {
        if word.starts_with('-') {
            continue;
        }
        let known = walker.side_effects.len();
        if is_unknown(word) {
            continue;
        }
        walker.walk_command(&arguments[at..], input, environment);
        if walker.found_since(known) {
            return;
        }
    }
}
