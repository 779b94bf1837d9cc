//! Builtins of the shell.

use super::expand::is_unknown;
use super::interpret;
use super::parse::UNKNOWN;
use super::walk::{CommandInput, ShellWalker};
use bowline_words::message::Unseen;

impl ShellWalker<'_> {
    /// Walks a builtin. Returns true if the command needs no further analysis.
    pub(super) fn walk_builtin(
        &mut self,
        name: &str,
        arguments: &[String],
        input: &CommandInput,
    ) -> bool {
        match name {
            "eval" => {
                let text = arguments.join(" ");
                self.walk_text(text.strip_prefix("-- ").unwrap_or(&text));
            }
            "trap" => {
                if let Some(text) = arguments.iter().find(|it| !it.starts_with('-')) {
                    self.walk_text(text);
                }
            }
            "alias" => {
                for argument in arguments {
                    if let Some((name, text)) = argument.split_once('=') {
                        let known = self.aliases.entry(name.to_owned()).or_default();
                        if !known.iter().any(|it| it == text) {
                            known.push(text.to_owned());
                        }
                    }
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                // A reference to another variable (`declare -n`) is not followed.
                let reference =
                    |it: &String| it.starts_with('-') && !it.starts_with("--") && it.contains('n');
                let reference = name != "export" && arguments.iter().any(reference);
                for argument in arguments {
                    match argument.split_once('=') {
                        Some((name, _)) if reference => {
                            self.assign_variable(name, false, vec![UNKNOWN.to_string()]);
                        }
                        Some((name, value)) => {
                            let append = name.ends_with('+');
                            let name = name.trim_end_matches('+').to_owned();
                            self.assign_variable(&name, append, vec![value.to_owned()]);
                        }
                        None if is_unknown(argument) => self.add_hidden(Unseen::Nameless),
                        None => {}
                    }
                }
            }
            "set" => {
                let skip = arguments
                    .iter()
                    .position(|it| it == "--")
                    .map_or(0, |at| at + 1);
                let list = arguments[skip..].to_vec();
                if !self.positional.contains(&list) {
                    self.positional.push(list);
                }
            }
            "shift" => {
                let lists = self.positional.clone();
                for list in lists {
                    for from in 1..=list.len() {
                        let rest = list[from..].to_vec();
                        if !self.positional.contains(&rest) {
                            self.positional.push(rest);
                        }
                    }
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" | "printf" | "let" => {
                self.assign_read_variables(name, arguments, input);
                return false;
            }
            "cd" | "pushd" => self.change_folder(name, arguments),
            "popd" => self.enter_past_folder(),
            "hash" => {
                if let Some(at) = arguments.iter().position(|it| it == "-p")
                    && let (Some(path), Some(name)) = (arguments.get(at + 1), arguments.get(at + 2))
                {
                    let known = self.aliases.entry(name.clone()).or_default();
                    if !known.contains(path) {
                        known.push(path.clone());
                    }
                }
            }
            "source" | "." => {
                interpret::walk_source(self, arguments, input);
            }
            "mkdir" => {
                for argument in arguments.iter().filter(|it| !it.starts_with('-')) {
                    let places = self.resolve_paths(argument);
                    self.made.extend(places.into_iter().flatten());
                }
            }
            ":" | "true" | "false" | "[" | "test" | "echo" | "exit" | "return" | "wait"
            | "unset" | "shopt" | "ulimit" | "umask" | "type" | "jobs" | "kill" | "pwd"
            | "which" | "break" | "continue" | "sleep" | "grep" | "egrep" | "fgrep" | "rg"
            | "ag" | "ls" | "cat" | "head" | "tail" | "wc" | "man" | "help" => {}
            _ => return false,
        }
        true
    }

    /// Assigns the variables that a builtin fills with its input.
    fn assign_read_variables(&mut self, name: &str, arguments: &[String], input: &CommandInput) {
        let mut names: Vec<&str> = Vec::new();
        match name {
            "printf" => {
                if let Some(at) = arguments.iter().position(|it| it == "-v") {
                    names.extend(arguments.get(at + 1).map(String::as_str));
                }
            }
            "let" => return,
            "mapfile" | "readarray" => {
                if let Some(at) = arguments.iter().position(|it| it == "-C") {
                    let text = arguments.get(at + 1).cloned().unwrap_or_default();
                    self.walk_text(&text);
                }
                names.extend(arguments.last().map(String::as_str));
                names.push("MAPFILE");
            }
            _ => {
                names.extend(arguments.iter().map(String::as_str));
                names.push("REPLY");
            }
        }
        let value = match input {
            CommandInput::Text(text)
                if !is_unknown(text) && text.lines().count() <= 1 && names.len() <= 3 =>
            {
                text.trim().to_owned()
            }
            _ => UNKNOWN.to_string(),
        };
        for name in names {
            // With several names, the split of the input is not followed: each may also be unknown.
            self.assign_variable(name, false, vec![value.clone()]);
            self.assign_variable(name, false, vec![UNKNOWN.to_string()]);
        }
    }
}
