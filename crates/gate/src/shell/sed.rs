//! Side effects of `sed`: files edited in place, and scripts that write or run.

use super::interpret::hide_typed_input;
use super::walk::{CommandInput, ShellWalker};
use bowline_words::message::Unseen;

/// Adds the writes and commands of a call.
pub(super) fn walk_sed(walker: &mut ShellWalker<'_>, arguments: &[String], input: &CommandInput) {
    let mut in_place = false;
    let mut scripts: Vec<String> = Vec::new();
    let mut files: Vec<String> = Vec::new();
    let mut operands: Vec<&String> = Vec::new();
    let mut scripted = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            // Long options may be abbreviated.
            long if long.starts_with("--") => {
                in_place |= long.starts_with("--i");
                let (name, value) = long.split_once('=').unwrap_or((long, ""));
                let takes = name.starts_with("--ex") || name.starts_with("--fi");
                if takes || name.starts_with("--li") {
                    let value = match long.contains('=') {
                        true => Some(value.to_owned()),
                        false => rest.next().cloned(),
                    };
                    scripted |= takes;
                    match name.starts_with("--fi") {
                        true => files.extend(value),
                        false => scripts.extend(value.filter(|_| takes)),
                    }
                }
            }
            group if group.len() > 1 && group.starts_with('-') => {
                for (at, letter) in group.char_indices().skip(1) {
                    match letter {
                        'i' => {
                            in_place = true;
                            break;
                        }
                        'e' | 'f' => {
                            scripted = true;
                            let own = &group[at + 1..];
                            let script = if own.is_empty() {
                                rest.next().cloned()
                            } else {
                                Some(own.to_owned())
                            };
                            match letter {
                                'e' => scripts.extend(script),
                                _ => files.extend(script),
                            }
                            break;
                        }
                        'l' => {
                            rest.next();
                            break;
                        }
                        _ => {}
                    }
                }
            }
            _ => operands.push(argument),
        }
    }
    if !scripted && !operands.is_empty() {
        scripts.push(operands.remove(0).clone());
    }
    if in_place {
        for target in &operands {
            walker.add_write(target, "sed -i");
        }
        if operands.is_empty() {
            // Its files come from elsewhere, as under `xargs`.
            walker.add_write(".", "sed -i");
        }
    }
    for file in &files {
        scripts.extend(scripts_from_file(walker, file, input));
    }
    for script in &scripts {
        walk_sed_script(walker, script);
    }
}

/// Returns the script of `-f FILE` if it comes from the input: the content of a file is unknown.
fn scripts_from_file(
    walker: &mut ShellWalker<'_>,
    file: &str,
    input: &CommandInput,
) -> Vec<String> {
    let fed = file == "-" || file.starts_with("/dev/") || file.starts_with("/proc/");
    if !fed || file == "/dev/null" {
        return Vec::new();
    }
    if !walker.processes.is_empty() {
        return walker.processes.clone();
    }
    if let CommandInput::Text(text) = input {
        return vec![text.clone()];
    }
    hide_typed_input(walker, "sed", input);
    Vec::new()
}

/// Strips the addresses of a sed command: `1,5!`, `/pattern/`, `1~2`.
fn after_addresses(line: &str) -> &str {
    let mut rest = line;
    loop {
        let plain = |it: char| it.is_ascii_digit() || "$,!{~+ I".contains(it);
        rest = rest.trim_start_matches(plain);
        let Some(inside) = rest.strip_prefix('/') else {
            return rest;
        };
        let mut escaped = false;
        let end = inside.find(|it: char| {
            let ends = it == '/' && !escaped;
            escaped = it == '\\' && !escaped;
            ends
        });
        match end {
            Some(end) => rest = &inside[end + 1..],
            None => return rest,
        }
    }
}

/// Walks a script: `w FILE` writes, `e COMMAND` runs, `s///e` runs the changed line.
fn walk_sed_script(walker: &mut ShellWalker<'_>, script: &str) {
    for line in script.lines() {
        // At the start of a line no blank is needed after the command.
        let command = after_addresses(line.trim());
        if let Some(target) = command.strip_prefix(['w', 'W']) {
            walker.add_write(target.trim(), "sed");
        }
    }
    for line in script.split(['\n', ';']) {
        let command = after_addresses(line.trim());
        if let Some(target) = command
            .strip_prefix("w ")
            .or_else(|| command.strip_prefix("W "))
        {
            walker.add_write(target.trim(), "sed");
        }
        if let Some(text) = command.strip_prefix("e ") {
            walker.walk_text(text);
        }
        let mut letters = command.chars();
        if letters.next() == Some('s')
            && let Some(mark) = letters.next()
            && !mark.is_alphanumeric()
            && !mark.is_whitespace()
        {
            // An escaped delimiter belongs to the text.
            let command = command.replace(&format!("\\{mark}"), " ");
            let flags = command.splitn(4, mark).nth(3).unwrap_or_default();
            let (letters, file) = flags.split_once('w').unwrap_or((flags, ""));
            let flag = letters.chars().all(|it| "gpiIme0123456789".contains(it));
            if flag {
                if letters.contains('e') {
                    walker.add_hidden(Unseen::SedRuns);
                }
                if flags.contains('w') {
                    walker.add_write(file.trim(), "sed");
                }
            }
        }
    }
}
