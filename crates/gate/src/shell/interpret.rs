//! Shells that run a text or a script.

use super::code;
use super::expand::is_unknown;
use super::walk::{CommandInput, ShellWalker};
use bowline_words::message::Unseen;

const SHELLS: &[&str] = &[
    "ash", "bash", "bash.exe", "csh", "dash", "elvish", "fish", "ksh", "ksh93", "lksh", "mksh",
    "nu", "oksh", "osh", "posh", "rbash", "rc", "rksh", "rzsh", "sh", "tcsh", "xonsh", "yash",
    "zsh",
];

/// True if a program is a shell.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Walks a shell or another interpreter. Returns false for any other program.
pub(super) fn walk_shell_or_interpreter(
    walker: &mut ShellWalker<'_>,
    name: &str,
    arguments: &[String],
    input: &CommandInput,
) -> bool {
    if SHELLS.contains(&name) {
        walk_shell(walker, name, arguments, input);
        return true;
    }
    code::walk_interpreter(walker, name, arguments, input)
}

/// Hides an interpreter whose input is not given by the command line: input that is typed later is
/// never checked.
pub(super) fn hide_typed_input(walker: &mut ShellWalker<'_>, name: &str, input: &CommandInput) {
    if *input == CommandInput::None {
        walker.add_hidden(Unseen::TypedInto {
            name: name.to_owned(),
        });
    }
}

/// Walks `source FILE`: a file's content is unknown, its input is not.
pub(super) fn walk_source(
    walker: &mut ShellWalker<'_>,
    arguments: &[String],
    input: &CommandInput,
) {
    if let Some(file) = arguments.iter().find(|it| !it.starts_with("--")) {
        walk_script_file(walker, "source", file, input);
    }
}

/// Walks a script file: its content is unknown, unless it is the input or a process.
fn walk_script_file(walker: &mut ShellWalker<'_>, name: &str, file: &str, input: &CommandInput) {
    let fed = file == "-" || file.starts_with("/dev/") || file.starts_with("/proc/");
    if !fed || file == "/dev/null" {
        return;
    }
    let processes = walker.processes.clone();
    match (input, processes.is_empty()) {
        (_, false) => processes.iter().for_each(|text| walker.walk_text(text)),
        (CommandInput::Text(text), true) => walker.walk_text(text),
        (CommandInput::None | CommandInput::File, true) => hide_typed_input(walker, name, input),
    }
}

fn walk_shell(
    walker: &mut ShellWalker<'_>,
    name: &str,
    arguments: &[String],
    input: &CommandInput,
) {
    let mut rest = arguments;
    let mut given = false;
    while let Some((first, after)) = rest.split_first() {
        if matches!(first.as_str(), "--version" | "--help") {
            return;
        }
        let option = first.starts_with('-') || first.starts_with('+');
        if !option || first == "-" || first == "--" {
            break;
        }
        rest = after;
        match first.as_str() {
            "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" => {
                rest = after.get(1..).unwrap_or_default();
            }
            "--command" | "--commands" => given = true,
            long if long.starts_with("--") => {
                if let Some(text) = long.strip_prefix("--command=") {
                    walker.in_own_folders(|walker| walker.fed_text(text, input));
                }
            }
            "-C" if name == "fish" => {
                let text = after.first().cloned().unwrap_or_default();
                walker.in_own_folders(|walker| walker.fed_text(&text, input));
                rest = after.get(1..).unwrap_or_default();
            }
            short => {
                given |= short.contains('c') && short.starts_with('-');
                if short.ends_with('o') {
                    rest = rest.get(1..).unwrap_or_default();
                }
            }
        }
    }
    if rest.first().is_some_and(|it| it == "--" || it == "-") {
        rest = &rest[1..];
    }
    if given {
        let Some((text, parameters)) = rest.split_first() else {
            return;
        };
        // The first word after the text is `$0`.
        let parameters = parameters.get(1..).unwrap_or_default().to_vec();
        let before = std::mem::replace(&mut walker.positional, vec![parameters]);
        let processes = std::mem::take(&mut walker.processes);
        walker.in_own_folders(|walker| walker.fed_text(text, input));
        // Arithmetic for bash is a nested subshell for a plain shell.
        if text.contains("((") && !matches!(name, "bash" | "zsh") {
            walker.walk_suspect(&text.replace("((", "( ("));
        }
        walker.processes = processes;
        walker.positional = before;
        return;
    }
    match rest.split_first() {
        Some((file, _)) if is_unknown(file) && !file.starts_with("/dev/fd/") => {}
        Some((file, _)) => {
            walker.in_own_folders(|walker| walk_script_file(walker, name, file, input))
        }
        None => match input {
            CommandInput::Text(text) => walker.in_own_folders(|walker| walker.walk_text(text)),
            CommandInput::None | CommandInput::File => hide_typed_input(walker, name, input),
        },
    }
}

impl ShellWalker<'_> {
    /// Walks a text for a shell whose own input is known: commands in the text may read it.
    fn fed_text(&mut self, text: &str, input: &CommandInput) {
        let reads = text
            .split(|letter: char| !letter.is_alphanumeric())
            .any(|word| matches!(word, "sh" | "bash" | "stdin" | "zsh" | "dash"));
        if let CommandInput::Text(fed) = input
            && reads
        {
            // A shell started in it would run its input.
            self.walk_text(fed);
        }
        self.walk_text(text);
    }
}
