//! Interpreters of other languages: finds their code in a command line.

use super::expand::is_unknown;
use super::inline::look;
use super::interpret::hide_typed_input;
use super::walk::{CommandInput, ShellWalker};
use bowline_words::message::Unseen;

/// The options of an interpreter whose code is analysed.
struct InterpreterOptions {
    names: &'static [&'static str],
    /// Short options that take code.
    takes_code: &'static str,
    /// Long options that take code.
    long: &'static [&'static str],
    /// Short options that take the rest of their group, or else the next word.
    valued: &'static str,
    /// Long options that take the next word.
    long_valued: &'static [&'static str],
    /// All words after the script belong to the script.
    stops: bool,
}

const ALL: &[InterpreterOptions] = &[
    InterpreterOptions {
        names: &["python", "pypy", "ipython", "micropython"],
        takes_code: "c",
        long: &[],
        valued: "WXQ",
        long_valued: &["--check-hash-based-pycs"],
        stops: true,
    },
    InterpreterOptions {
        names: &["node", "nodejs", "bun", "tsx", "ts-node", "qjs", "deno"],
        takes_code: "ep",
        long: &["--eval", "--print", "eval"],
        valued: "rC",
        long_valued: &[
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "--env-file",
            "--conditions",
            "--title",
            "--preload",
        ],
        stops: false,
    },
];

/// Interpreters whose code is only scanned for words.
const SCANNED: &str = "perl ruby jruby irb php lua luajit awk gawk mawk nawk original-awk Rscript R bb clojure elixir expect ghc \
    gnuplot groovy guile iex julia kotlin octave osascript racket scala swift tclsh pwsh powershell sbcl erl";

/// Options with which an interpreter reads its program from its input or a terminal.
const INTERACTIVE: &[&str] = &["-", "-i", "-q", "-u", "-a", "-s", "--interactive"];

/// The code and words found in a call of an interpreter.
#[derive(Default)]
struct InterpreterCall {
    texts: Vec<String>,
    /// True if an option gave code.
    given: bool,
    module: Option<String>,
    /// The script and its arguments.
    words: Vec<String>,
    /// True if every argument lets the interpreter read its program from the input.
    waits: bool,
}

/// Walks a call of an interpreter. Returns false for any other program.
pub(super) fn walk_interpreter(
    walker: &mut ShellWalker<'_>,
    name: &str,
    arguments: &[String],
    input: &CommandInput,
) -> bool {
    // `python3.12` is a python.
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    if SCANNED.split_whitespace().any(|it| it == plain) {
        walker.in_own_folders(|walker| walk_scanned(walker, plain, arguments, input));
        return true;
    }
    let Some(kind) = ALL
        .iter()
        .find(|it| it.names.contains(&name) || it.names.contains(&plain))
    else {
        return false;
    };
    let mut call = parse_call(kind, plain, arguments);
    // Any other option without a script prints something and ends: a version, a help text.
    call.waits = arguments
        .iter()
        .all(|it| INTERACTIVE.contains(&it.as_str()));
    walker.in_own_folders(|walker| walk_analysed(walker, plain, call, input));
    true
}

/// Walks a call in a language that is not analysed: its words are scanned if one of them may be
/// code, and files changed in place are writes.
fn walk_scanned(
    walker: &mut ShellWalker<'_>,
    name: &str,
    arguments: &[String],
    input: &CommandInput,
) {
    let awk = name.ends_with("awk");
    let language = if awk { "awk" } else { name };
    // `-pie CODE`, `-i.bak`; letters after these belong to a value.
    let group = |it: &String| -> Option<String> {
        let letters = it.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
        Some(
            letters
                .chars()
                .take_while(|it| !"IMmFeE".contains(*it))
                .collect(),
        )
    };
    let in_place = |it: &String| match awk {
        true => it.contains("inplace"),
        false => group(it).is_some_and(|it| it.contains('i')),
    };
    let takes_code =
        |it: &String| it.starts_with('-') && it.contains(['e', 'E', 'r', 'R', 'B', 'c', 'C']);
    let follows =
        |at: usize, options: &[&str]| at > 0 && options.contains(&arguments[at - 1].as_str());
    let code = |at: usize| {
        at > 0
            && arguments[at - 1].starts_with('-')
            && arguments[at - 1].ends_with(['e', 'E', 'r', 'c'])
    };
    let operands: Vec<(usize, &String)> = arguments
        .iter()
        .enumerate()
        .filter(|(at, it)| (!it.starts_with('-') || it.len() == 1) && !code(*at))
        .filter(|(at, _)| !awk || !follows(*at, &["-v", "-F", "--assign", "--field-separator"]))
        .collect();
    if matches!(language, "perl" | "ruby" | "awk") && arguments.iter().any(in_place) {
        operands
            .iter()
            .for_each(|(_, it)| walker.add_write(it, name));
    }
    let from_file = |it: &String| it.starts_with("-f") || it.starts_with("--file");
    let given = match awk {
        true => !arguments.iter().any(from_file),
        false => arguments.iter().any(takes_code),
    };
    let mut texts = Vec::new();
    if given {
        // An unknown word matters if it is code, not if it names a file.
        let first = operands.first().filter(|_| awk).map(|(at, _)| *at);
        let kept = |at: usize, it: &String| !is_unknown(it) || code(at) || first == Some(at);
        let words = arguments
            .iter()
            .enumerate()
            .filter(|(at, it)| kept(*at, it));
        texts.push(
            words
                .map(|(_, it)| it.as_str())
                .collect::<Vec<_>>()
                .join("\n"),
        );
    }
    let fed = |(_, it): &(usize, &String)| *it == "-" || it.starts_with("/dev/");
    if !given && (operands.is_empty() || operands.iter().any(fed)) {
        if let CommandInput::Text(text) = input {
            texts.push(text.clone());
        }
        texts.extend(walker.processes.clone());
        let waits = arguments
            .iter()
            .all(|it| INTERACTIVE.contains(&it.as_str()));
        if waits && texts.is_empty() {
            hide_typed_input(walker, language, input);
        }
    }
    if !texts.is_empty() {
        analyse_code(walker, language, &texts.join("\n"));
    }
}

fn walk_analysed(
    walker: &mut ShellWalker<'_>,
    language: &str,
    mut call: InterpreterCall,
    input: &CommandInput,
) {
    let fed = match &call.module {
        Some(module) => module_of_python(walker, module, &call.words, &mut call.texts),
        None => {
            !call.given
                && call
                    .words
                    .first()
                    .is_none_or(|it| it == "-" || it.starts_with("/dev/"))
        }
    };
    if fed {
        if let CommandInput::Text(text) = input {
            call.texts.push(text.clone());
        }
        call.texts.extend(walker.processes.clone());
        if call.waits && call.texts.is_empty() {
            hide_typed_input(walker, language, input);
        }
    }
    // Several pieces are one program, one line each.
    if !call.texts.is_empty() {
        analyse_code(walker, language, &call.texts.join("\n"));
    }
}

fn analyse_code(walker: &mut ShellWalker<'_>, language: &str, text: &str) {
    if is_unknown(text) {
        walker.add_hidden(Unseen::Code {
            language: language.to_owned(),
        });
    } else {
        look(walker, language, text);
    }
}

fn parse_call(kind: &InterpreterOptions, language: &str, arguments: &[String]) -> InterpreterCall {
    let mut call = InterpreterCall::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let argument = argument.as_str();
        let long = kind.long.iter().find_map(|option| {
            let value = argument.strip_prefix(option)?;
            if value.is_empty() {
                return Some(None);
            }
            Some(Some(value.strip_prefix('=')?.to_owned()))
        });
        if let Some(value) = long {
            call.given = true;
            call.texts.extend(value.or_else(|| rest.next().cloned()));
        } else if argument == "--" {
            call.words.extend(rest.cloned());
            break;
        } else if argument.starts_with("--") {
            if kind.long_valued.contains(&argument) {
                let value = rest.next();
                // A `data:` URL that holds the module itself.
                if value.is_some_and(|it| it.starts_with("data:")) {
                    call.texts.push("eval".to_owned());
                }
            } else if argument.contains("=data:") {
                call.texts.push("eval".to_owned());
            }
        } else if argument.len() > 1 && argument.starts_with('-') {
            parse_option_group(kind, language, argument, &mut rest, &mut call);
            if call.module.is_some() {
                call.words.extend(rest.cloned());
                break;
            }
        } else {
            call.words.push(argument.to_owned());
            if kind.stops {
                call.words.extend(rest.cloned());
                break;
            }
        }
    }
    call
}

/// Reads a group of short options, such as `-pie`.
fn parse_option_group(
    kind: &InterpreterOptions,
    language: &str,
    argument: &str,
    rest: &mut std::slice::Iter<'_, String>,
    call: &mut InterpreterCall,
) {
    for (at, letter) in argument.char_indices().skip(1) {
        let own = &argument[at + letter.len_utf8()..];
        let value = |rest: &mut std::slice::Iter<'_, String>| {
            if own.is_empty() {
                rest.next().cloned()
            } else {
                Some(own.to_owned())
            }
        };
        if kind.takes_code.contains(letter) {
            // `-pe CODE`: the letters after it are options too, and only the last one takes the
            // code.
            let more = matches!(language, "node" | "nodejs" | "bun") && !own.is_empty();
            if more && own.chars().all(|it| kind.takes_code.contains(it)) {
                continue;
            }
            call.given = true;
            call.texts.extend(value(rest));
            return;
        }
        if letter == 'm' && matches!(language, "python" | "pypy" | "ipython") {
            call.module = value(rest);
            return;
        }
        if kind.valued.contains(letter) {
            let value = value(rest);
            let odd = value.as_deref().is_some_and(|it| it.starts_with("data:"));
            if letter == 'r' && odd {
                call.texts.push("eval".to_owned());
            }
            return;
        }
    }
}

/// Walks `python3 -m MODULE` for modules that take code or write the files their words name.
/// Returns true if the input is code.
fn module_of_python(
    walker: &mut ShellWalker<'_>,
    module: &str,
    words: &[String],
    texts: &mut Vec<String>,
) -> bool {
    let plain: Vec<&String> = words.iter().filter(|it| !it.starts_with('-')).collect();
    let has = |options: &[&str]| words.iter().any(|it| options.contains(&it.as_str()));
    match module {
        "timeit" => texts.extend(plain.into_iter().cloned()),
        "json.tool" => {
            if let Some(target) = plain.get(1) {
                walker.add_write(target, "python -m json.tool");
            }
        }
        "zipfile" | "tarfile" if has(&["-e", "--extract"]) => {
            let folder = plain.get(1).map_or(".", |it| it.as_str());
            walker.add_write(folder, module);
        }
        "zipfile" | "tarfile" | "zipapp" if has(&["-c", "--create", "-o"]) => {
            if let Some(target) = plain.first() {
                walker.add_write(target, module);
            }
        }
        "lib2to3" if has(&["-w", "--write"]) => {
            plain.iter().for_each(|it| walker.add_write(it, module));
        }
        "code" | "asyncio" | "IPython" => return true,
        "pdb" | "cProfile" | "profile" | "trace" => {
            if let Some(at) = words.iter().position(|it| it == "-c") {
                texts.extend(words.get(at + 1).cloned());
            }
            if let Some(at) = words.iter().position(|it| it == "-o")
                && let Some(target) = words.get(at + 1)
            {
                walker.add_write(target, module);
            }
            return module == "pdb";
        }
        _ => {}
    }
    false
}
