//! Predicts the output of commands, as far as their text allows.

use super::expand::Fields;
use super::parse::{UNKNOWN, UNKNOWN_NAME};
use super::run::base_name;
use super::tree::{CommandNode, ShellRedirect, SimpleCommand, plain_text};
use super::walk::{CommandInput, ShellWalker};

impl ShellWalker<'_> {
    /// Returns the output of a command, with placeholders for the unknown parts.
    pub(super) fn predict_output(&mut self, node: &CommandNode, input: &CommandInput) -> String {
        let CommandNode::Simple(simple) = node else {
            return UNKNOWN.to_string();
        };
        let known = self.side_effects.len();
        let input = match self.redirected_input(simple) {
            Some(input) => input,
            None => input.clone(),
        };
        let first = simple.words.first().and_then(plain_text);
        let words = self.only_words(simple).or_else(|| {
            // Even with unknown words it prints a name.
            let name = first.filter(|it| *it == "basename")?;
            Some(vec![name.to_owned(), UNKNOWN.to_string()])
        });
        // The command was walked before; only its words are needed here.
        self.side_effects.truncate(known);
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
            ("echo", arguments) => echo_output(arguments),
            ("printf", [end, format, arguments @ ..]) if end == "--" => {
                printf_output(format, arguments)
            }
            ("printf", [variable, ..]) if variable.starts_with("-v") => String::new(),
            ("printf", [format, arguments @ ..]) => printf_output(format, arguments),
            ("cat", []) => match input {
                CommandInput::Text(text) => text,
                CommandInput::None | CommandInput::File => UNKNOWN.to_string(),
            },
            ("cat", [only]) if only == "-" => match input {
                CommandInput::Text(text) => text,
                CommandInput::None | CommandInput::File => UNKNOWN.to_string(),
            },
            ("pwd", []) => match self.folders.as_slice() {
                [Some(folder)] => folder.to_string_lossy().into_owned(),
                _ => UNKNOWN.to_string(),
            },
            // A file in the folder for temporary files; the random letters at its end do not
            // matter.
            ("mktemp", arguments) if !self.variables.contains_key("TMPDIR") => {
                mktemp_output(arguments)
            }
            ("basename", arguments) => basename_output(arguments),
            (
                "date" | "whoami" | "hostname" | "id" | "uname" | "nproc" | "wc" | "seq",
                arguments,
            ) if !arguments.iter().any(|it| it.contains(['/', UNKNOWN])) => {
                UNKNOWN_NAME.to_string()
            }
            _ => UNKNOWN.to_string(),
        }
    }

    fn redirected_input(&mut self, simple: &SimpleCommand) -> Option<CommandInput> {
        let given = self.apply_redirects(&simple.redirects);
        // Output written to a file is not printed.
        let away = simple
            .redirects
            .iter()
            .any(|it| matches!(it, ShellRedirect::Write(_)));
        if away {
            return Some(CommandInput::Text(UNKNOWN.to_string()));
        }
        given
    }

    /// Returns the words of a command if they have only one outcome.
    pub(super) fn only_words(&mut self, simple: &SimpleCommand) -> Option<Fields> {
        let mut words = Fields::new();
        for word in &simple.words {
            let mut outcomes = self.expand_word(word);
            if outcomes.len() != 1 {
                return None;
            }
            words.append(&mut outcomes[0]);
        }
        Some(words)
    }
}

/// Returns the output of `mktemp`, with a template or without.
fn mktemp_output(arguments: &[String]) -> String {
    let flags = ["-d", "-q", "-u", "--directory", "--quiet", "--dry-run"];
    let plain: Vec<&String> = arguments
        .iter()
        .filter(|it| !flags.contains(&it.as_str()))
        .collect();
    match plain.as_slice() {
        [] => format!("/tmp/tmp.{UNKNOWN_NAME}"),
        [template] if template.starts_with('/') && !template.contains(UNKNOWN) => {
            template.replace("XXX", &UNKNOWN_NAME.to_string())
        }
        _ => UNKNOWN.to_string(),
    }
}

/// Returns the output of `basename PATH`: the name if it is known, otherwise one without a slash.
fn basename_output(arguments: &[String]) -> String {
    match arguments {
        [path] if !path.contains(UNKNOWN) => base_name(path.trim_end_matches('/')).to_owned(),
        // Several names are several words.
        all if all.iter().any(|it| it.starts_with('-')) => UNKNOWN.to_string(),
        _ => UNKNOWN_NAME.to_string(),
    }
}

fn echo_output(arguments: &[String]) -> String {
    let flag = |it: &&String| {
        it.len() > 1 && it.starts_with('-') && it[1..].chars().all(|letter| "neE".contains(letter))
    };
    let flags = arguments.iter().take_while(flag).count();
    let escapes = arguments[..flags].iter().any(|it| it.contains('e'));
    let text = arguments[flags..].join(" ");
    if escapes {
        unescape_until_end(&text)
    } else {
        text
    }
}

fn printf_output(format: &str, arguments: &[String]) -> String {
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
                    let text = rest.next().map_or("", String::as_str);
                    out.push_str(&unescape_until_end(text));
                    if text.contains("\\c") {
                        return out;
                    }
                }
                _ => return UNKNOWN.to_string(),
            }
        }
        if !used || rest.len() == 0 {
            return out;
        }
    }
}

/// Resolves escapes up to `\c`, after which nothing is printed.
fn unescape_until_end(text: &str) -> String {
    unescape(text.split("\\c").next().unwrap_or_default())
}

/// Resolves the backslash escapes of `echo -e` and `printf`.
pub(super) fn unescape(text: &str) -> String {
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
            'a' | 'b' | 'e' | 'f' | 'r' | 'v' => {
                let code = match next {
                    'a' => 7,
                    'b' => 8,
                    'e' => 27,
                    'f' => 12,
                    'r' => 13,
                    _ => 11,
                };
                bytes.push(code);
                continue;
            }
            other => {
                if !matches!(other, '\\' | '"' | '\'') {
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
