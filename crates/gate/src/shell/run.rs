//! One command with its words: builtins of the shell, and the way to everything else.

use super::deed::Deed;
use super::expand::{Fields, is_unknown};
use super::parse::{UNKNOWN, UNKNOWN_NAME, parse};
use super::tree::{Node, Simple};
use super::walk::{Input, Walker, tidy};
use super::{git, interpret, wrap, write};
use std::path::{Path, PathBuf};

/// Variables set for one command.
pub(super) type Environment = [(String, String)];

/// The name of a program without its folder.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

impl Walker<'_> {
    /// Runs a command: finds out what it would do.
    pub(super) fn run(&mut self, words: &[String], input: &Input, environment: &Environment) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        if is_unknown(program) {
            self.hidden("a program whose name is put together while it runs");
            return;
        }
        self.deeper(|this| {
            this.subscripts(arguments);
            this.call(program, arguments, input);
            let name = base_name(program);
            if this.builtin(name, arguments, input) {
                return;
            }
            let handled = wrap::run(this, name, arguments, input, environment)
                || interpret::run(this, name, arguments, input)
                || git::run(this, name, arguments, environment);
            if !handled {
                write::run(this, name, arguments);
            }
        });
    }

    /// A function or an alias of that name. The program of that name is looked at as well: which of them runs depends
    /// on the order, which is not followed.
    fn call(&mut self, program: &str, arguments: &[String], input: &Input) {
        for body in self.functions.get(program).cloned().unwrap_or_default() {
            let before = std::mem::replace(&mut self.positional, vec![arguments.to_vec()]);
            self.node(&body, input);
            self.positional = before;
        }
        for text in self.aliases.get(program).cloned().unwrap_or_default() {
            let Ok(script) = parse(&text) else {
                self.hidden(format!("the alias {program}"));
                continue;
            };
            let first = base_name(text.trim_start()).split_whitespace().next() == Some(program);
            self.script(&script);
            // What follows the alias becomes part of its last command.
            if let Some((_, Node::Simple(last))) = script.last().and_then(|chain| chain.last())
                && !first
            {
                match self.only_words(last) {
                    Some(mut words) => {
                        words.extend(arguments.iter().cloned());
                        self.run(&words, input, &[]);
                    }
                    None => self.hidden(format!("the alias {program}")),
                }
            }
        }
    }

    /// A calculation runs what stands in the subscript of a list, even when it was quoted before.
    pub(super) fn subscripts(&mut self, arguments: &[String]) {
        for argument in arguments {
            if let Some(at) = argument.find("[$(").or_else(|| argument.find("[`"))
                && !is_unknown(argument)
            {
                self.prompt(&argument[at + 1..]);
            }
        }
    }

    /// Builtins of the shell. Says whether it was one that needs no further look.
    fn builtin(&mut self, name: &str, arguments: &[String], input: &Input) -> bool {
        match name {
            "eval" => {
                let text = arguments.join(" ");
                self.text(text.strip_prefix("-- ").unwrap_or(&text));
            }
            "trap" => {
                if let Some(text) = arguments.iter().find(|it| !it.starts_with('-')) {
                    self.text(text);
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
                for argument in arguments {
                    match argument.split_once('=') {
                        Some((name, value)) => {
                            let append = name.ends_with('+');
                            let name = name.trim_end_matches('+').to_owned();
                            self.assign(&name, append, vec![value.to_owned()]);
                        }
                        None if is_unknown(argument) => self.hidden("a variable without a name"),
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
                self.reads(name, arguments, input);
                return false;
            }
            "cd" | "pushd" => self.change_folder(arguments),
            "popd" => {
                self.left.extend(self.folders.clone());
                self.folders = vec![None];
            }
            "source" | "." => {
                interpret::source(self, arguments, input);
            }
            "mkdir" => {
                for argument in arguments.iter().filter(|it| !it.starts_with('-')) {
                    let places = self.places(argument);
                    self.made.extend(places.into_iter().flatten());
                }
            }
            ":" | "true" | "false" | "[" | "test" | "echo" | "exit" | "return" | "wait"
            | "unset" | "shopt" | "ulimit" | "umask" | "hash" | "type" | "jobs" | "kill"
            | "pwd" | "which" | "break" | "continue" | "sleep" | "grep" | "egrep" | "fgrep"
            | "rg" | "ag" | "ls" | "cat" | "head" | "tail" | "wc" | "man" | "help" => {}
            _ => return false,
        }
        true
    }

    /// Variables that a builtin fills with what it reads.
    fn reads(&mut self, name: &str, arguments: &[String], input: &Input) {
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
                    self.text(&text);
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
            Input::Text(text)
                if !is_unknown(text) && text.lines().count() <= 1 && names.len() <= 3 =>
            {
                text.trim().to_owned()
            }
            _ => UNKNOWN.to_string(),
        };
        for name in names {
            // A pair of values when there are several names: which gets what is not followed.
            self.assign(name, false, vec![value.clone()]);
            self.assign(name, false, vec![UNKNOWN.to_string()]);
        }
    }

    fn change_folder(&mut self, arguments: &[String]) {
        let home = self.around.variable("HOME");
        let target = match arguments.iter().find(|it| !it.starts_with('-')) {
            Some(target) => Some(target.clone()),
            None if arguments.iter().any(|it| it == "-") => None,
            None => home,
        };
        let target = target.filter(|it| !is_unknown(it));
        let next: Vec<Option<PathBuf>> = self
            .folders
            .iter()
            .map(|folder| {
                let target = Path::new(target.as_deref()?);
                match folder {
                    _ if target.is_absolute() => Some(tidy(target)),
                    Some(folder) => Some(tidy(&folder.join(target))),
                    None => None,
                }
            })
            .collect();
        let certain = |folder: &Option<PathBuf>| {
            folder
                .as_ref()
                .is_some_and(|it| self.made.contains(it) || self.around.is_folder(it))
        };
        if !next.iter().all(certain) {
            self.left.extend(self.folders.clone());
        }
        self.folders = next;
    }

    /// What a command prints, with marks where that cannot be known.
    pub(super) fn output(&mut self, node: &Node, input: &Input) -> String {
        let Node::Simple(simple) = node else {
            return UNKNOWN.to_string();
        };
        let known = self.deeds.len();
        let input = match self.redirected(simple) {
            Some(input) => input,
            None => input.clone(),
        };
        let words = self.only_words(simple);
        // All of it was walked before; here only its words are asked for.
        self.deeds.truncate(known);
        let Some(words) = words else {
            return UNKNOWN.to_string();
        };
        let Some((program, arguments)) = words.split_first() else {
            return String::new();
        };
        if self.functions.contains_key(program) || self.aliases.contains_key(program) {
            return UNKNOWN.to_string();
        }
        match (base_name(program), arguments) {
            ("echo", arguments) => echo(arguments),
            ("printf", [format, arguments @ ..]) => printf(format, arguments),
            ("cat", []) => match input {
                Input::Text(text) => text,
                Input::None | Input::File => UNKNOWN.to_string(),
            },
            ("cat", [only]) if only == "-" => match input {
                Input::Text(text) => text,
                Input::None | Input::File => UNKNOWN.to_string(),
            },
            ("pwd", []) => match self.folders.as_slice() {
                [Some(folder)] => folder.to_string_lossy().into_owned(),
                _ => UNKNOWN.to_string(),
            },
            // Its own name in the folder for passing files; the letters at its end do not matter.
            ("mktemp", arguments) if arguments.iter().all(|it| it == "-d") => {
                format!("/tmp/tmp.{UNKNOWN_NAME}")
            }
            (
                "date" | "whoami" | "hostname" | "id" | "uname" | "nproc" | "wc" | "seq",
                arguments,
            ) if !arguments.iter().any(|it| it.contains(['/', UNKNOWN])) => {
                UNKNOWN_NAME.to_string()
            }
            _ => UNKNOWN.to_string(),
        }
    }

    fn redirected(&mut self, simple: &Simple) -> Option<Input> {
        let given = self.redirects(&simple.redirects);
        // What a command writes to a file it does not print.
        let away = simple
            .redirects
            .iter()
            .any(|it| matches!(it, super::tree::Redirect::Write(_)));
        if away {
            return Some(Input::Text(UNKNOWN.to_string()));
        }
        given
    }

    /// The words of a command that can become only one list of them.
    fn only_words(&mut self, simple: &Simple) -> Option<Fields> {
        let mut words = Fields::new();
        for word in &simple.words {
            let mut outcomes = self.expand(word);
            if outcomes.len() != 1 {
                return None;
            }
            words.append(&mut outcomes[0]);
        }
        Some(words)
    }

    /// Whether anything was found that a gate may close.
    pub(super) fn found_since(&self, count: usize) -> bool {
        self.deeds[count.min(self.deeds.len())..]
            .iter()
            .any(|deed| !matches!(deed, Deed::Touch { .. }))
    }
}

fn echo(arguments: &[String]) -> String {
    let flag = |it: &&String| {
        it.len() > 1 && it.starts_with('-') && it[1..].chars().all(|letter| "neE".contains(letter))
    };
    let flags = arguments.iter().take_while(flag).count();
    let escapes = arguments[..flags].iter().any(|it| it.contains('e'));
    let text = arguments[flags..].join(" ");
    if escapes { unescape(&text) } else { text }
}

fn printf(format: &str, arguments: &[String]) -> String {
    let format = unescape(format);
    let mut out = String::new();
    let mut rest = arguments.iter();
    loop {
        let mut used = false;
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                out.push(letter);
                continue;
            }
            match letters.next() {
                Some('%') => out.push('%'),
                Some('s') => {
                    used = true;
                    out.push_str(rest.next().map_or("", String::as_str));
                }
                Some('b') => {
                    used = true;
                    out.push_str(&unescape(rest.next().map_or("", String::as_str)));
                }
                _ => return UNKNOWN.to_string(),
            }
        }
        if !used || rest.len() == 0 {
            return out;
        }
    }
}

/// Backslash sequences of `echo -e` and `printf`.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let letters: Vec<char> = text.chars().collect();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        at += 1;
        if letter != '\\' {
            bytes.extend(letter.to_string().bytes());
            continue;
        }
        let Some(&next) = letters.get(at) else { break };
        at += 1;
        let (base, max) = match next {
            'x' => (16, 2),
            '0'..='7' => {
                at -= usize::from(next != '0');
                (8, 3)
            }
            'u' => (16, 4),
            'U' => (16, 8),
            'n' => {
                bytes.push(b'\n');
                continue;
            }
            't' => {
                bytes.push(b'\t');
                continue;
            }
            other => {
                if other != '\\' {
                    bytes.push(b'\\');
                }
                bytes.extend(other.to_string().bytes());
                continue;
            }
        };
        let mut code = 0_u32;
        for _ in 0..max {
            let Some(digit) = letters.get(at).and_then(|it| it.to_digit(base)) else {
                break;
            };
            at += 1;
            code = code.wrapping_mul(base).wrapping_add(digit);
        }
        match (next, u8::try_from(code & 0xff)) {
            ('u' | 'U', _) => bytes.extend(
                char::from_u32(code)
                    .unwrap_or(char::REPLACEMENT_CHARACTER)
                    .to_string()
                    .bytes(),
            ),
            (_, Ok(byte)) => bytes.push(byte),
            (_, Err(_)) => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
