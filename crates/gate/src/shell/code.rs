//! Interpreters of other languages: where their code stands in a command line.

use super::expand::is_unknown;
use super::inline::look;
use super::interpret::typed;
use super::walk::{Input, Walker};
use bowline_words::message::Unseen;

/// How an interpreter is called.
struct Interpreter {
    names: &'static [&'static str],
    /// Short options that take code.
    takes_code: &'static str,
    /// Long options that take code.
    long: &'static [&'static str],
    /// Short options that take the rest of their group, or else the next word.
    valued: &'static str,
    /// Short options that take the rest of their group, if there is one.
    attached: &'static str,
    /// Short options that take digits.
    digits: &'static str,
    /// Long options that take the next word.
    long_valued: &'static [&'static str],
    /// What follows the first word that is no option belongs to the script.
    stops: bool,
}

const PLAIN: Interpreter = Interpreter {
    names: &[],
    takes_code: "",
    long: &[],
    valued: "",
    attached: "",
    digits: "",
    long_valued: &[],
    stops: true,
};

const ALL: &[Interpreter] = &[
    Interpreter {
        names: &["python", "pypy", "ipython", "micropython"],
        takes_code: "c",
        valued: "WXQ",
        long_valued: &["--check-hash-based-pycs"],
        ..PLAIN
    },
    Interpreter {
        names: &["perl"],
        takes_code: "eE",
        valued: "I",
        attached: "iMmFxDVd",
        digits: "l0C",
        ..PLAIN
    },
    Interpreter {
        names: &["ruby", "jruby", "irb"],
        takes_code: "e",
        valued: "ICrE",
        attached: "iFKTWx",
        digits: "0",
        ..PLAIN
    },
    Interpreter {
        names: &["node", "nodejs", "bun", "tsx", "ts-node", "qjs"],
        takes_code: "ep",
        long: &["--eval", "--print"],
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
        ..PLAIN
    },
    Interpreter {
        names: &["php"],
        takes_code: "rRBE",
        valued: "dfFzcSt",
        ..PLAIN
    },
    Interpreter {
        names: &["lua", "luajit"],
        takes_code: "e",
        valued: "l",
        ..PLAIN
    },
    Interpreter {
        names: &["deno"],
        long: &["eval"],
        stops: false,
        ..PLAIN
    },
    Interpreter {
        names: &[
            "Rscript",
            "R",
            "bb",
            "clojure",
            "elixir",
            "expect",
            "ghc",
            "gnuplot",
            "groovy",
            "guile",
            "iex",
            "julia",
            "kotlin",
            "octave",
            "osascript",
            "racket",
            "scala",
            "swift",
            "tclsh",
        ],
        takes_code: "eEc",
        long: &["--eval", "--print"],
        stops: false,
        ..PLAIN
    },
    Interpreter {
        names: &["pwsh", "powershell", "sbcl", "erl"],
        long: &["-c", "-Command", "-command", "--eval", "-eval"],
        stops: false,
        ..PLAIN
    },
];

/// Options with which a language reads its program from its input or a terminal.
const INTERACTIVE: &[&str] = &["-", "-i", "-q", "-u", "-a", "-s", "--interactive"];

/// What was found in a call.
#[derive(Default)]
struct Call {
    texts: Vec<String>,
    /// Code was given by an option.
    given: bool,
    in_place: bool,
    module: Option<String>,
    /// The script, and its arguments.
    words: Vec<String>,
    moved: bool,
    /// Nothing says what it shall run.
    waits: bool,
}

/// Runs an interpreter. Says whether it was one.
pub(super) fn run(
    walker: &mut Walker<'_>,
    name: &str,
    arguments: &[String],
    input: &Input,
) -> bool {
    if matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "original-awk") {
        awk(walker, arguments, input);
        return true;
    }
    // `python3.12` is a python.
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let Some(kind) = ALL
        .iter()
        .find(|it| it.names.contains(&name) || it.names.contains(&plain))
    else {
        return false;
    };
    let mut call = read(kind, plain, arguments);
    // Any other option without a script says something and ends: a version, a help.
    call.waits = arguments
        .iter()
        .all(|it| INTERACTIVE.contains(&it.as_str()));
    walker.inside(|walker| {
        if call.moved {
            walker.folders = vec![None];
        }
        judge(walker, plain, call, input);
    });
    true
}

fn judge(walker: &mut Walker<'_>, language: &str, mut call: Call, input: &Input) {
    if call.in_place {
        for word in &call.words {
            walker.write(word, language);
        }
    }
    if language == "perl" && call.given {
        // The magic of `<>` runs them.
        for word in call.words.iter().filter(|it| it.contains('|')) {
            walker.suspect(word.trim_matches(['|', ' ']));
        }
    }
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
        if let Input::Text(text) = input {
            call.texts.push(text.clone());
        }
        call.texts.extend(walker.processes.clone());
        if call.waits && call.texts.is_empty() {
            typed(walker, language, input);
        }
    }
    // Several pieces are one program, one line each.
    if !call.texts.is_empty() {
        known(walker, language, &call.texts.join("\n"));
    }
}

fn known(walker: &mut Walker<'_>, language: &str, text: &str) {
    if is_unknown(text) {
        walker.hidden(Unseen::Code {
            language: language.to_owned(),
        });
    } else {
        look(walker, language, text);
    }
}

fn read(kind: &Interpreter, language: &str, arguments: &[String]) -> Call {
    let mut call = Call::default();
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
                // A module that stands in its own address.
                if value.is_some_and(|it| it.starts_with("data:")) {
                    call.texts.push("eval".to_owned());
                }
            } else if argument.contains("=data:") {
                call.texts.push("eval".to_owned());
            }
        } else if argument.len() > 1 && argument.starts_with('-') {
            if matches!(argument, "-EncodedCommand" | "-enc" | "-e") && kind.takes_code.is_empty() {
                call.texts.push("eval".to_owned());
            }
            group(kind, language, argument, &mut rest, &mut call);
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

/// A group of short options, such as `-pie`.
fn group(
    kind: &Interpreter,
    language: &str,
    argument: &str,
    rest: &mut std::slice::Iter<'_, String>,
    call: &mut Call,
) {
    let mut digits = false;
    for (at, letter) in argument.char_indices().skip(1) {
        let own = &argument[at + letter.len_utf8()..];
        let value = |rest: &mut std::slice::Iter<'_, String>| {
            if own.is_empty() {
                rest.next().cloned()
            } else {
                Some(own.to_owned())
            }
        };
        if digits && letter.is_ascii_hexdigit() && letter.is_ascii_digit() {
            continue;
        }
        digits = kind.digits.contains(letter);
        if kind.takes_code.contains(letter) {
            // `-pe CODE`: the letters after it are options too, and only their last takes the code.
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
            call.moved |= language == "ruby" && letter == 'C';
            let odd = value
                .as_deref()
                .is_some_and(|it| it == "un" || it.starts_with("data:"));
            if letter == 'r' && odd {
                call.texts.push("eval".to_owned());
            }
            return;
        }
        if kind.attached.contains(letter) {
            call.in_place |= letter == 'i';
            return;
        }
    }
}

/// `python3 -m MODULE`: those that take code, or write what their words name. Says whether its input is code.
fn module_of_python(
    walker: &mut Walker<'_>,
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
                walker.write(target, "python -m json.tool");
            }
        }
        "zipfile" | "tarfile" if has(&["-e", "--extract"]) => {
            let folder = plain.get(1).map_or(".", |it| it.as_str());
            walker.write(folder, module);
        }
        "zipfile" | "tarfile" | "zipapp" if has(&["-c", "--create", "-o"]) => {
            if let Some(target) = plain.first() {
                walker.write(target, module);
            }
        }
        "lib2to3" if has(&["-w", "--write"]) => {
            plain.iter().for_each(|it| walker.write(it, module));
        }
        "code" | "asyncio" | "IPython" => return true,
        "pdb" | "cProfile" | "profile" | "trace" => {
            if let Some(at) = words.iter().position(|it| it == "-c") {
                texts.extend(words.get(at + 1).cloned());
            }
            if let Some(at) = words.iter().position(|it| it == "-o")
                && let Some(target) = words.get(at + 1)
            {
                walker.write(target, module);
            }
            return module == "pdb";
        }
        _ => {}
    }
    false
}

/// awk: the first word is its code, unless an option names it.
fn awk(walker: &mut Walker<'_>, arguments: &[String], input: &Input) {
    let mut texts: Vec<String> = Vec::new();
    let mut operands: Vec<&String> = Vec::new();
    let mut given = false;
    let mut in_place = false;
    let mut fed = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            operands.extend(rest);
            break;
        }
        let Some(option) = argument.strip_prefix('-').filter(|it| !it.is_empty()) else {
            operands.push(argument);
            operands.extend(rest);
            break;
        };
        let (name, own) = match option.strip_prefix('-') {
            Some(long) => match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            },
            None => {
                let end = option.chars().next().map_or(0, char::len_utf8);
                let own = &option[end..];
                (&option[..end], (!own.is_empty()).then(|| own.to_owned()))
            }
        };
        match name {
            "e" | "source" => {
                given = true;
                texts.extend(own.or_else(|| rest.next().cloned()));
            }
            "f" | "file" | "E" | "exec" => {
                given = true;
                let file = own.or_else(|| rest.next().cloned()).unwrap_or_default();
                fed |= file == "-" || file.starts_with("/dev/");
            }
            "i" | "include" | "l" | "load" => {
                let library = own.or_else(|| rest.next().cloned()).unwrap_or_default();
                in_place |= library.contains("inplace");
            }
            "v" | "F" | "assign" | "field-separator" if own.is_none() => {
                rest.next();
            }
            _ => {}
        }
    }
    if !given && !operands.is_empty() {
        texts.push(operands.remove(0).clone());
    }
    if in_place {
        operands.iter().for_each(|it| walker.write(it, "awk"));
    }
    if fed {
        if let Input::Text(text) = input {
            texts.push(text.clone());
        }
        texts.extend(walker.processes.clone());
    }
    if !texts.is_empty() {
        known(walker, "awk", &texts.join("\n"));
    }
}
