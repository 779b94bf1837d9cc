//! Side effects of `xargs`: a program whose words come from the input.

use super::expand::{ALTERNATIVES_MAX, is_unknown};
use super::interpret::is_shell;
use super::output::unescape;
use super::parse::UNKNOWN;
use super::run::base_name;
use super::walk::{CommandInput, ShellWalker};
use super::wrap::words_after_options;

/// A variable that is never set.
const UNSEEN_WORD: &str = "${BOWLINE_WORD_OF_XARGS}";

/// Options that take the next word as their value.
const VALUED: &[&str] = &[
    "-a",
    "-d",
    "-E",
    "-I",
    "-J",
    "-L",
    "-n",
    "-P",
    "-R",
    "-s",
    "--arg-file",
    "--delimiter",
    "--max-args",
    "--max-chars",
    "--max-procs",
    "--process-slot-var",
];

/// The rule that ends one word of the input.
enum SplitRule {
    /// Ends at blanks that are neither quoted nor escaped.
    Blanks,
    /// Ends at this character only.
    At(char),
    /// Unknown, or the words come from elsewhere.
    Unknown,
}

/// Walks the program with every list of words it may be given.
pub(super) fn walk_xargs(walker: &mut ShellWalker<'_>, arguments: &[String], input: &CommandInput) {
    let rest = words_after_options(arguments, VALUED);
    let own = &arguments[..arguments.len() - rest.len()];
    let place = placeholder(own);
    let split = split_rule(own);
    let unknown = || vec![UNKNOWN.to_string()];
    let given = match input {
        CommandInput::Text(text) if !is_unknown(text) => match split {
            SplitRule::At(letter) => text.split(letter).map(str::to_owned).collect(),
            // With a placeholder, each line is one word.
            SplitRule::Blanks if place.is_some() => {
                let mut lines: Vec<String> = text.lines().map(|it| it.trim().to_owned()).collect();
                lines.extend(split_words(text));
                lines
            }
            SplitRule::Blanks => split_words(text),
            SplitRule::Unknown => unknown(),
        },
        CommandInput::Text(_) | CommandInput::File | CommandInput::None => unknown(),
    };
    let command = if rest.is_empty() {
        vec!["echo".to_owned()]
    } else {
        rest.to_vec()
    };
    let shell = command.iter().any(|it| is_shell(base_name(it)));
    let with = |items: &[String]| match &place {
        Some(place) => {
            let whole = items.join(" ");
            let filled = |it: &String| match it != place && shell && is_unknown(&whole) {
                // In a text for a shell it is an unknown value, as a variable's would be.
                true => it.replace(place, UNSEEN_WORD),
                false => it.replace(place, &whole),
            };
            command.iter().map(filled).collect()
        }
        None => command.iter().chain(items).cloned().collect(),
    };
    // All at once, and in parts of every size: the number of words per command depends on more than
    // options.
    let mut runs: Vec<Vec<String>> = vec![with(&given)];
    for size in 1..given.len() {
        runs.extend(given.chunks(size).take(ALTERNATIVES_MAX).map(with));
        if runs.len() > ALTERNATIVES_MAX {
            runs.truncate(ALTERNATIVES_MAX);
            runs.push(with(&unknown()));
            break;
        }
    }
    for words in runs {
        walker.walk_command(&words, &CommandInput::None, &[]);
    }
    for hook in walker.listed.clone() {
        let words: Vec<String> = match &place {
            Some(place) => command.iter().map(|it| it.replace(place, &hook)).collect(),
            None => command.iter().cloned().chain([hook]).collect(),
        };
        walker.run_on_listed(&words);
    }
}

/// Returns the placeholder for a word of the input: `-I {}`, `-I{}`, `-i`, `--replace=NAME`.
fn placeholder(own: &[String]) -> Option<String> {
    for (at, option) in own.iter().enumerate() {
        if let Some(long) = option.strip_prefix("--") {
            let (name, value) = long.split_once('=').unwrap_or((long, "{}"));
            if !name.is_empty() && "replace".starts_with(name) {
                return Some(value.to_owned());
            }
        } else if let Some(at_letter) = option.find(['I', 'J', 'i'])
            && option.starts_with('-')
            && !option[..at_letter].contains(['a', 'd', 'E', 'e', 'L', 'l', 'n', 'P', 'R', 's'])
        {
            let glued = &option[at_letter + 1..];
            return match (glued.is_empty(), option[at_letter..].starts_with('i')) {
                (false, _) => Some(glued.to_owned()),
                (true, true) => Some("{}".to_owned()),
                (true, false) => own.get(at + 1).cloned(),
            };
        }
    }
    None
}

fn split_rule(own: &[String]) -> SplitRule {
    let mut split = SplitRule::Blanks;
    let mut rest = own.iter();
    while let Some(option) = rest.next() {
        if let Some(long) = option.strip_prefix("--").filter(|it| !it.is_empty()) {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            if "null".starts_with(name) {
                split = SplitRule::At('\0');
            } else if "delimiter".starts_with(name) {
                split = delimiter_rule(value.or_else(|| rest.next().cloned()));
            } else if "arg-file".starts_with(name) || "eof".starts_with(name) {
                return SplitRule::Unknown;
            } else if VALUED.contains(&option.as_str()) {
                rest.next();
            }
            continue;
        }
        for (at, letter) in option.char_indices().skip(1) {
            let glued = &option[at + letter.len_utf8()..];
            let mut value = || match glued {
                "" => rest.next().cloned(),
                glued => Some(glued.to_owned()),
            };
            match letter {
                '0' => split = SplitRule::At('\0'),
                'd' => split = delimiter_rule(value()),
                // Words from a file, and words that end before the input does.
                'a' | 'E' | 'e' => return SplitRule::Unknown,
                'I' | 'J' | 'L' | 'n' | 'P' | 'R' | 's' => {
                    value();
                }
                'i' | 'l' => {}
                _ => continue,
            }
            if letter != '0' {
                break;
            }
        }
    }
    split
}

fn delimiter_rule(value: Option<String>) -> SplitRule {
    let value = value.filter(|it| !is_unknown(it)).map(|it| unescape(&it));
    let mut letters = value.iter().flat_map(|it| it.chars());
    match (letters.next(), letters.next()) {
        (Some(letter), None) => SplitRule::At(letter),
        _ => SplitRule::Unknown,
    }
}

/// Splits a text at blanks and removes quotes and backslashes.
fn split_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(end), _) if letter == end => quote = None,
            (Some(_), _) => open.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                open.get_or_insert_default();
            }
            (None, '\\') => open.get_or_insert_default().extend(letters.next()),
            (None, _) if letter.is_whitespace() => found.extend(open.take()),
            (None, _) => open.get_or_insert_default().push(letter),
        }
    }
    found.extend(open);
    found
}
