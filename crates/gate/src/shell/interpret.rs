//! Shells that run a text or a script.

use super::code;
use super::expand::is_unknown;
use super::walk::{Input, Walker};
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
pub(super) fn run(
    walker: &mut Walker<'_>,
    name: &str,
    arguments: &[String],
    input: &Input,
) -> bool {
    if SHELLS.contains(&name) {
        shell(walker, name, arguments, input);
        return true;
    }
    code::run(walker, name, arguments, input)
}

/// Hides an interpreter whose input is not given by the command line: input that is typed later is
/// never checked.
pub(super) fn typed(walker: &mut Walker<'_>, name: &str, input: &Input) {
    if *input == Input::None {
        walker.hidden(Unseen::TypedInto {
            name: name.to_owned(),
        });
    }
}

/// Walks `source FILE`: a file's content is unknown, its input is not.
pub(super) fn source(walker: &mut Walker<'_>, arguments: &[String], input: &Input) {
    if let Some(file) = arguments.iter().find(|it| !it.starts_with("--")) {
        from_file(walker, "source", file, input);
    }
}

/// Walks a script file: its content is unknown, unless it is the input or a process.
fn from_file(walker: &mut Walker<'_>, name: &str, file: &str, input: &Input) {
    let fed = file == "-" || file.starts_with("/dev/") || file.starts_with("/proc/");
    if !fed || file == "/dev/null" {
        return;
    }
    let processes = walker.processes.clone();
    match (input, processes.is_empty()) {
        (_, false) => processes.iter().for_each(|text| walker.text(text)),
        (Input::Text(text), true) => walker.text(text),
        (Input::None | Input::File, true) => typed(walker, name, input),
    }
}

fn shell(walker: &mut Walker<'_>, name: &str, arguments: &[String], input: &Input) {
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
                    walker.inside(|walker| walker.fed_text(text, input));
                }
            }
            "-C" if name == "fish" => {
                let text = after.first().cloned().unwrap_or_default();
                walker.inside(|walker| walker.fed_text(&text, input));
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
        walker.inside(|walker| walker.fed_text(text, input));
        // Arithmetic for bash is a nested subshell for a plain shell.
        if text.contains("((") && !matches!(name, "bash" | "zsh") {
            walker.suspect(&text.replace("((", "( ("));
        }
        walker.processes = processes;
        walker.positional = before;
        return;
    }
    match rest.split_first() {
        Some((file, _)) if is_unknown(file) && !file.starts_with("/dev/fd/") => {}
        Some((file, _)) => walker.inside(|walker| from_file(walker, name, file, input)),
        None => match input {
            Input::Text(text) => walker.inside(|walker| walker.text(text)),
            Input::None | Input::File => typed(walker, name, input),
        },
    }
}

impl Walker<'_> {
    /// Walks a text for a shell whose own input is known: commands in the text may read it.
    fn fed_text(&mut self, text: &str, input: &Input) {
        let reads = text
            .split(|letter: char| !letter.is_alphanumeric())
            .any(|word| matches!(word, "sh" | "bash" | "stdin" | "zsh" | "dash"));
        if let Input::Text(fed) = input
            && reads
        {
            // A shell started in it would run its input.
            self.text(fed);
        }
        self.text(text);
    }
}
