//! Interpreters: shells that are given text, and other languages with code in the command line.

use super::expand::is_unknown;
use super::inline;
use super::run::base_name;
use super::walk::{Input, Walker};
use bowline_formats::hook::patched;

const SHELLS: &[&str] = &[
    "ash", "bash", "dash", "fish", "ksh", "mksh", "rbash", "sh", "zsh", "bash.exe",
];

/// Options of other languages that take code as their value.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("awk", &[]),
    ("bun", &["-e", "--eval", "-p", "--print"]),
    ("deno", &["eval"]),
    ("gawk", &["-e", "--source"]),
    ("julia", &["-e", "-E"]),
    ("lua", &["-e"]),
    ("luajit", &["-e"]),
    ("mawk", &[]),
    ("node", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("nodejs", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("osascript", &["-e"]),
    ("perl", &["-e", "-E"]),
    ("php", &["-r"]),
    ("pwsh", &["-c", "-Command"]),
    ("pypy", &["-c"]),
    ("pypy3", &["-c"]),
    ("python", &["-c"]),
    ("Rscript", &["-e"]),
    ("ruby", &["-e"]),
    ("tclsh", &[]),
    ("tsx", &["-e", "--eval"]),
];

/// Options with which a language reads its program from its input or a terminal.
const INTERACTIVE: &[&str] = &["-", "-i", "-q", "-u", "-a", "-s", "--interactive"];

/// Runs an interpreter. Says whether it was one.
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
    if matches!(name, "apply_patch" | "applypatch") {
        apply_patch(walker, name, arguments, input);
        return true;
    }
    // `python3.12` is a python.
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let Some((language, options)) = LANGUAGES
        .iter()
        .find(|(known, _)| *known == name || *known == plain)
    else {
        return false;
    };
    code(walker, language, options, arguments, input);
    true
}

/// A patch as codex writes it, which codex carries out itself instead of starting a program.
fn apply_patch(walker: &mut Walker<'_>, name: &str, arguments: &[String], input: &Input) {
    let patch = match (arguments.first(), input) {
        (Some(patch), _) | (None, Input::Text(patch)) => patch.as_str(),
        (None, Input::None | Input::File) => "",
    };
    for path in patched(patch) {
        walker.write(path.as_deref().unwrap_or("."), name);
    }
}

/// An interpreter reads what the command line does not give it: what is typed into it afterwards is not asked about.
fn typed(walker: &mut Walker<'_>, name: &str, input: &Input) {
    if *input == Input::None {
        walker.hidden(format!("what {name} would be told while it runs"));
    }
}

/// `source FILE`: what stands in a file cannot be seen; what is fed to it can.
pub(super) fn source(walker: &mut Walker<'_>, arguments: &[String], input: &Input) {
    if let Some(file) = arguments.iter().find(|it| !it.starts_with("--")) {
        from_file(walker, "source", file, input);
    }
}

/// A script file: nothing is seen, unless it is the input or a process.
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
            long if long.starts_with("--") => {}
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
        // What is a calculation to bash is a command in a command to the plain shell.
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
    /// Text for a shell whose own input is known: commands in it may read that.
    fn fed_text(&mut self, text: &str, input: &Input) {
        let reads = text
            .split(|letter: char| !letter.is_alphanumeric())
            .any(|word| matches!(word, "sh" | "bash" | "stdin" | "zsh" | "dash"));
        if let Input::Text(fed) = input
            && reads
        {
            // A shell in it would run what it is fed.
            self.text(fed);
        }
        self.text(text);
    }
}

fn code(
    walker: &mut Walker<'_>,
    language: &str,
    options: &[&str],
    arguments: &[String],
    input: &Input,
) {
    let mut found = false;
    let mut in_place = false;
    let mut file = None;
    let mut texts: Vec<String> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if options.contains(&argument.as_str()) {
            found = true;
            texts.extend(rest.next().cloned());
            continue;
        }
        let long = options.iter().find_map(|option| {
            let value = argument.strip_prefix(option)?;
            option.starts_with("--").then(|| value.strip_prefix('='))?
        });
        if let Some(text) = long {
            found = true;
            texts.push(text.to_owned());
        } else if let Some(cluster) = argument.strip_prefix('-').filter(|it| !it.is_empty()) {
            match cluster_code(language, cluster) {
                Some(text) => {
                    found = true;
                    if text.is_empty() {
                        texts.extend(rest.next().cloned());
                    } else {
                        texts.push(text.to_owned());
                    }
                    in_place |= cluster[..cluster.len() - text.len()].contains('i');
                }
                None => {
                    in_place |= matches!(language, "perl" | "ruby")
                        && cluster.starts_with(['i', 'p', 'n'])
                        && cluster.contains('i');
                    in_place |= language == "gawk" || language == "awk" && cluster.starts_with('i');
                    // A module, or the value of an option.
                    if argument == "-m" || argument == "-f" {
                        file = Some("-m".to_owned());
                        rest.next();
                    } else if matches!(
                        argument.as_str(),
                        "-v" | "-F" | "-W" | "-X" | "-r" | "-I" | "-i"
                    ) && !matches!(language, "perl" | "ruby")
                    {
                        let value = rest.next();
                        in_place |= value.is_some_and(|it| it == "inplace");
                    }
                }
            }
        } else if file.is_none() {
            file = Some(argument.clone());
            if matches!(language, "awk" | "gawk" | "mawk") && !found {
                found = true;
                texts.push(argument.clone());
                file = None;
            }
        } else if in_place {
            walker.write(argument, language);
        }
    }
    if in_place && let Some(file) = file.as_deref().filter(|it| *it != "-m") {
        walker.write(file, language);
    }
    if !found
        && file
            .as_deref()
            .is_none_or(|it| it == "-" || it.starts_with("/dev/"))
    {
        match input {
            Input::Text(text) => texts.push(text.clone()),
            Input::None | Input::File if walker.processes.is_empty() => {
                let waits = |it: &String| INTERACTIVE.contains(&it.as_str());
                // Any other option without a file says something and ends: a version, a help.
                if file.is_some() || arguments.iter().all(waits) {
                    typed(walker, language, input);
                }
            }
            Input::None | Input::File => {}
        }
        texts.extend(walker.processes.clone());
    }
    for text in texts {
        if is_unknown(&text) {
            walker.hidden(format!(
                "code for {} that is put together while it runs",
                base_name(language)
            ));
        } else {
            inline::look(walker, language, &text);
        }
    }
}

/// Code in a group of short options, such as `-pie`: empty when it is the next word.
fn cluster_code<'a>(language: &str, cluster: &'a str) -> Option<&'a str> {
    let letters: &[char] = match language {
        "perl" => &['e', 'E'],
        "ruby" | "lua" | "luajit" | "bun" => &['e'],
        "python" | "pypy" | "pypy3" | "pwsh" => &['c'],
        "node" | "nodejs" => &['e', 'p'],
        "php" => &['r'],
        _ => return None,
    };
    if cluster.starts_with('-') {
        return None;
    }
    // Letters before it must be options without a value, or it is part of one.
    let at = cluster.find(letters)?;
    let plain = cluster[..at]
        .chars()
        .all(|it| "aipnlwsWtTuUBOEdqRIv0".contains(it));
    plain.then(|| &cluster[at + 1..])
}
