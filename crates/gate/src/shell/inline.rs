//! Code of other languages in a command line: does it open a file for writing, or run a program?
//!
//! This is no parser of those languages. It looks for the calls people and agents use, and for literals near them.

use super::walk::Walker;

/// Calls that write the file named by their first literal, in lower case.
const WRITERS: &[&str] = &[
    "writefilesync(",
    "writefile(",
    "appendfilesync(",
    "appendfile(",
    "createwritestream(",
    "writetextfile(",
    "writetextfilesync(",
    "bun.write(",
    "file_put_contents(",
    "file.write(",
    "file.binwrite(",
    "io.write(",
    "file.writealltext(",
    "set-content",
    "out-file",
    "add-content",
];
/// Calls that write the file named by a literal before them.
const METHODS: &[&str] = &[".write_text(", ".write_bytes(", ".touch("];
/// Calls whose second literal is what they write.
const MOVERS: &[&str] = &[
    "os.rename(",
    "os.replace(",
    "shutil.copy(",
    "shutil.copyfile(",
    "shutil.copy2(",
    "shutil.move(",
    "renamesync(",
    "copyfilesync(",
    "fs.rename(",
    "fs.copyfile(",
    "fileutils.cp(",
    "fileutils.mv(",
    "file.rename(",
    "os.symlink(",
    "os.link(",
    "cpsync(",
    "shutil.copytree(",
    "rename(",
    "copy(",
];
/// What opens a file with a mode.
const OPENERS: &[&str] = &["fopen(", "opensync(", "open("];
/// What runs a program.
const RUNNERS: &[&str] = &[
    "subprocess",
    "os.system",
    "os.popen",
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "pty.spawn",
    "child_process",
    "execsync",
    "spawnsync",
    "execfilesync",
    "exec(",
    "exec ",
    "system(",
    "system ",
    "popen(",
    "spawn(",
    "shell_exec(",
    "passthru(",
    "proc_open(",
    "deno.command",
    "deno.run",
    "bun.spawn",
    "bun.$",
    "os.execute",
    "io.popen",
    "%x",
    "qx",
    "open3",
    "pexpect",
    "sh.git",
    "do shell script",
    "invoke-expression",
    "start-process",
    "runcommand",
    "getline",
    "\"|",
];
/// What runs text as code of the same language.
const EVALUATORS: &[&str] = &[
    "eval(",
    "exec(",
    "eval ",
    "function(",
    "compile(",
    "__import__(",
    "instance_eval",
    "vm.runin",
    "string->",
];
/// What makes text out of something that is not to be read.
const DECODERS: &[&str] = &[
    "b64decode",
    "base64",
    "fromhex",
    "unhexlify",
    "fromcharcode",
    "atob(",
    "buffer.from",
    "chr(",
    "[::-1]",
    ".reverse",
    "rot13",
    "rot_13",
    "codecs",
    "unpack",
    "pack(",
    "decode(",
    "decompress",
    "inflate",
    "gunzip",
    "bytes(",
    "bytearray(",
    "str_rot",
    "strrev",
    "hex2bin",
    "getattr(",
    "replace(",
    "join(",
    "swapcase",
    "lower()",
    "translate(",
    "%c",
];
/// How far before a call its literal may stand.
const BEFORE_BYTES_MAX: usize = 200;
/// Calls of one kind looked at; more count as hidden.
const CALLS_MAX: usize = 200;
/// Literals looked at.
const LITERALS_MAX: usize = 200;

/// Finds what a piece of code would do.
pub(super) fn look(walker: &mut Walker<'_>, language: &str, code: &str) {
    let lower = code.to_lowercase();
    // Places are found in one and read in the other.
    let code = if lower.len() == code.len() {
        code
    } else {
        &lower
    };
    let by = format!("code for {language}");
    let kinds = [WRITERS, METHODS, MOVERS, OPENERS];
    let many = |call: &&str| lower.matches(*call).count() >= CALLS_MAX;
    if kinds.into_iter().flatten().any(many) {
        walker.hidden(format!("code for {language} with very many calls"));
    }
    for writer in WRITERS {
        for at in places(&lower, writer) {
            one(
                walker,
                literals(after(code, at + writer.len())).first(),
                &by,
            );
        }
    }
    for method in METHODS {
        for at in places(&lower, method) {
            one(walker, literals(before(code, at)).last(), &by);
        }
    }
    for mover in MOVERS {
        for at in places(&lower, mover) {
            one(walker, literals(after(code, at + mover.len())).get(1), &by);
        }
    }
    for opener in OPENERS {
        for at in places(&lower, opener) {
            opened(walker, code, at, opener.len(), &by);
        }
    }
    redirections(walker, language, code, &by);
    programs(walker, language, code, &lower);
}

fn one(walker: &mut Walker<'_>, path: Option<&String>, by: &str) {
    match path {
        Some(path) => walker.write(path, by),
        None => walker.write(&super::parse::UNKNOWN.to_string(), by),
    }
}

/// `open(PATH, MODE)`, `PATH.open(MODE)`, `open(my $f, ">", PATH)`.
fn opened(walker: &mut Walker<'_>, code: &str, at: usize, length: usize, by: &str) {
    let inside = arguments(after(code, at + length));
    let known = literals(inside);
    let words: Vec<&str> = inside.split(',').map(str::trim).collect();
    let mode = |text: &str| {
        let text = text.trim();
        !text.is_empty() && text.len() <= 4 && text.chars().all(|it| "rwaxbtU+<>".contains(it))
    };
    let writing = |text: &str| text.contains(['w', 'a', 'x', '+', '>']);
    let method = before(code, at).ends_with('.');
    // The modes of perl stand before the path, or in it.
    if let Some(literal) = known
        .iter()
        .find(|it| it.trim_start().starts_with('>') || it.trim_start().starts_with("+<"))
    {
        let own = literal.trim_start_matches(['>', '+', '<', ' ']);
        let path = if own.is_empty() {
            known.iter().rev().find(|it| !mode(it))
        } else {
            None
        };
        match path {
            Some(path) => walker.write(path, by),
            None if own.is_empty() => one(walker, None, by),
            None => walker.write(own, by),
        }
        return;
    }
    let modes: Vec<&String> = known.iter().filter(|it| mode(it)).collect();
    if let Some(found) = modes.iter().find(|it| writing(it)) {
        let path = known.iter().find(|it| it != found);
        let path = path.cloned().or_else(|| {
            if method {
                literals(before(code, at)).last().cloned()
            } else {
                None
            }
        });
        one(walker, path.as_ref(), by);
    } else if modes.is_empty() && words.len() > 1 && !words[1].is_empty() {
        // A mode that is no literal may be any; keywords such as `encoding=` are none.
        let second = words[1];
        let keyword = second.contains('=') && !second.starts_with("mode");
        let literal = second.starts_with(['"', '\'', '`']);
        if !keyword && !literal && !second.starts_with('{') && !second.starts_with("0") {
            one(walker, known.first(), by);
        }
    }
}

/// `print > "file"` of awk.
fn redirections(walker: &mut Walker<'_>, language: &str, code: &str, by: &str) {
    if !matches!(language, "awk" | "gawk" | "mawk") {
        return;
    }
    for at in places(code, "print") {
        let statement: String = after(code, at)
            .chars()
            .take_while(|it| !matches!(it, ';' | '\n' | '}'))
            .collect();
        if let Some((_, target)) = statement.rsplit_once('>') {
            let target = target.trim();
            if target.starts_with('"') {
                one(walker, literals(target).first(), by);
            } else if !target.is_empty()
                && !target.starts_with(|it: char| it.is_ascii_digit() || it == '=' || it == '$')
            {
                one(walker, None, by);
            }
        }
        if let Some((_, target)) = statement.rsplit_once('|') {
            for text in literals(target) {
                walker.text(&text);
            }
        }
    }
}

/// Programs that code runs, by the texts in it.
fn programs(walker: &mut Walker<'_>, language: &str, code: &str, lower: &str) {
    let backquotes = matches!(language, "ruby" | "perl" | "php") && code.contains('`');
    let runs = backquotes || RUNNERS.iter().any(|it| lower.contains(it));
    let evaluates = EVALUATORS.iter().any(|it| lower.contains(it));
    if !runs && !evaluates {
        return;
    }
    let decodes = DECODERS.iter().any(|it| lower.contains(it));
    let known = walker.deeds.len();
    let texts = literals(code);
    for text in &texts {
        walker.suspect(text);
        if evaluates && text.len() > 8 && text.len() < code.len() {
            walker.deeper(|walker| look(walker, language, text));
        }
    }
    walker.suspect(&texts.join(" "));
    walker.suspect(&texts.concat());
    for start in 0..texts.len().min(8) {
        walker.suspect(&texts[start..].join(" "));
    }
    if language == "perl" || language == "ruby" || language == "php" {
        for (at, _) in code.match_indices('`').step_by(2) {
            let text: String = after(code, at + 1)
                .chars()
                .take_while(|it| *it != '`')
                .collect();
            walker.suspect(&text);
        }
        for mark in ["%x", "qx", "system ", "exec "] {
            for at in places(code, mark) {
                let rest = after(code, at + mark.len());
                let text = rest.trim_start_matches(['{', '(', '[', '"', '\'', '/', '|']);
                let end = text
                    .find(['}', ')', ']', '"', '\'', '/', '|', '\n', ';'])
                    .unwrap_or(text.len());
                walker.suspect(&text[..end]);
            }
        }
    }
    if decodes && !walker.found_since(known) {
        walker.hidden(format!(
            "code for {language} that runs a text it puts together"
        ));
    }
}

/// Every place of a call that is no part of a longer name.
fn places(text: &str, call: &str) -> Vec<usize> {
    let begins = call.starts_with(|it: char| it.is_alphanumeric());
    text.match_indices(call)
        .map(|(at, _)| at)
        .take(CALLS_MAX)
        .filter(|at| {
            let last = before(text, *at).chars().next_back();
            !begins || last.is_none_or(|it| !it.is_alphanumeric() && it != '_')
        })
        .collect()
}

fn after(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

fn before(text: &str, at: usize) -> &str {
    let mut start = at.saturating_sub(BEFORE_BYTES_MAX);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..at).unwrap_or_default()
}

/// What stands up to the bracket that closes.
fn arguments(text: &str) -> &str {
    let mut open = 0_usize;
    let mut quote: Option<char> = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(mark), letter) if letter == mark => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '(' | '[' | '{') => open += 1,
            (None, ')' | ']' | '}') if open == 0 => return &text[..at],
            (None, ')' | ']' | '}') => open -= 1,
            (None, ';' | '\n') if open == 0 => return &text[..at],
            _ => {}
        }
    }
    text
}

/// The texts between quotes, with their escapes read.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        if !matches!(letter, '"' | '\'' | '`') || found.len() >= LITERALS_MAX {
            continue;
        }
        let mut text = String::new();
        let mut closed = false;
        while let Some(next) = letters.next() {
            if next == letter {
                closed = true;
                break;
            }
            if next != '\\' {
                text.push(next);
                continue;
            }
            match letters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(kind @ ('x' | 'u')) => {
                    let digits = if kind == 'x' { 2 } else { 4 };
                    let mut code = 0;
                    for _ in 0..digits {
                        let Some(digit) = letters.peek().and_then(|it| it.to_digit(16)) else {
                            break;
                        };
                        letters.next();
                        code = code * 16 + digit;
                    }
                    text.extend(char::from_u32(code).filter(|it| *it != '\0'));
                }
                Some(first @ '0'..='7') => {
                    let mut code = first.to_digit(8).unwrap_or_default();
                    for _ in 0..2 {
                        let Some(digit) = letters.peek().and_then(|it| it.to_digit(8)) else {
                            break;
                        };
                        letters.next();
                        code = code * 8 + digit;
                    }
                    text.extend(char::from_u32(code).filter(|it| *it != '\0'));
                }
                Some(other) => text.push(other),
                None => {}
            }
        }
        if closed && !text.is_empty() {
            found.push(text);
        }
    }
    found
}
