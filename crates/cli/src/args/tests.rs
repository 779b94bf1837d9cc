#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

use super::Cli;
use clap::{Command, CommandFactory as _, Parser as _};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Nouns with rules but without verbs on the command line yet: only their shape is checked.
const NOT_YET: [&str; 1] = ["task"];

/// Verbs that a noun will have, beside those it has.
const VERBS_NOT_YET: [(&str, &str); 1] = [("orchestrate", "run")];

/// Sample values for open places in a text; one of them must fit.
const SAMPLES: [&str; 6] = [
    "1",
    "review_clean_pass",
    "DESIGN",
    "planning",
    "a=1",
    "develop",
];

/// Every command that a text of ours puts between quotes is one that can be typed.
#[test]
fn a_command_in_a_text_can_be_typed() {
    let mut looked_at = 0;
    let mut wrong = BTreeSet::new();
    for (path, literal) in literals() {
        for quoted in quoted(&literal).filter(|text| text.starts_with("bowline ")) {
            looked_at += 1;
            if !can_be_typed(quoted) {
                wrong.insert(format!("{}: {quoted}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(looked_at > 80, "only {looked_at} commands were found");
}

/// A hint never names a verb alone, such as 'gate pass NAME': it could not be pasted.
#[test]
fn no_hint_names_a_verb_without_its_noun() {
    let mut verbs = BTreeSet::new();
    names_below(&mut Cli::command(), &mut verbs);
    assert!(verbs.contains("checkpoint") && verbs.contains("finish"));
    let mut wrong = BTreeSet::new();
    for (path, literal) in literals() {
        let speaks = path.ends_with("refusal.rs")
            || path.ends_with("error.rs")
            || path.ends_with("korean.rs");
        // Messages quote names of stages, files and commands of others; a command begins with a
        // verb and goes on.
        for quoted in quoted(&literal).filter(|_| speaks) {
            let mut words = quoted.split(' ');
            let first = words.next().unwrap_or_default();
            let alone = words.next().is_none() && !["status", "next", "resume"].contains(&first);
            if verbs.contains(first) && !alone {
                wrong.insert(format!("{}: {quoted}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_scan_tells_good_from_bad() {
    for good in [
        "bowline",
        "bowline develop gate pass review_clean_pass",
        "bowline develop gate pass {}",
        "bowline develop start FEATURE --fresh",
        "bowline orchestrate start {id}",
        "bowline doctor --repair develop",
    ] {
        assert!(can_be_typed(good), "{good}");
    }
    for bad in [
        "bowline gate pass review_clean_pass",
        "bowline develop gate pass nonsense",
        "bowline develop start",
        "bowline develop start FEATURE --hurry",
        "bowline orchestrate {id}",
    ] {
        assert!(!can_be_typed(bad), "{bad}");
    }
    let found: Vec<&str> = quoted("run 'bowline status', or `bowline undo`; it's").collect();
    assert_eq!(found, ["bowline status", "bowline undo"]);
}

fn can_be_typed(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [_, noun, verb, ..] = words[..]
        && VERBS_NOT_YET.contains(&(noun, verb))
    {
        return true;
    }
    if let Some(noun) = words.get(1).filter(|noun| NOT_YET.contains(noun)) {
        let verb = words.get(2).copied().unwrap_or_default();
        return !noun.is_empty()
            && !verb.is_empty()
            && verb.bytes().all(|it| it.is_ascii_lowercase());
    }
    SAMPLES.iter().any(|sample| {
        let words = words
            .iter()
            .map(|word| if is_open(word) { sample } else { word });
        match Cli::try_parse_from(words) {
            Ok(_) => true,
            Err(error) => !error.use_stderr(),
        }
    })
}

/// True for a place of a value: `{id}`, `NAME`, `NAME=VALUE`, or a Korean word. `LOGIC_ERROR` is a
/// value.
fn is_open(word: &str) -> bool {
    let letters = || word.chars().filter(|letter| letter.is_alphabetic());
    let name = letters().count() > 1 && letters().all(char::is_uppercase) && !word.contains('_');
    word.contains('{') || name || word.chars().any(|letter| ('가'..='힣').contains(&letter))
}

fn names_below(command: &mut Command, names: &mut BTreeSet<String>) {
    command.build();
    for below in command.get_subcommands_mut() {
        names.insert(below.get_name().to_owned());
        names_below(below, names);
    }
}

/// Returns the texts between matching quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    ['\'', '`'].into_iter().flat_map(move |mark| {
        let mut rest = text;
        std::iter::from_fn(move || {
            loop {
                let begin = rest.find(mark)?;
                let before = rest[..begin].chars().next_back();
                let inside = &rest[begin + mark.len_utf8()..];
                // An apostrophe follows a letter.
                if mark == '\'' && before.is_some_and(char::is_alphabetic) {
                    rest = inside;
                    continue;
                }
                let end = inside.find(mark)?;
                rest = &inside[end + mark.len_utf8()..];
                return Some(&inside[..end]);
            }
        })
    })
}

/// Returns every string literal in the sources of all crates, without tests.
fn literals() -> Vec<(PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for path in sources(crates) {
        let text = std::fs::read_to_string(&path).unwrap();
        let code: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        let code = code.join("\n").replace("'\"'", "");
        let mut rest = code.as_str();
        while let Some(begin) = rest.find('"') {
            let (literal, after) = literal(&rest[begin + 1..]);
            found.push((path.clone(), literal));
            rest = after;
        }
    }
    found
}

/// Returns a string literal up to its end, continued lines joined, and the text after it.
fn literal(text: &str) -> (String, &str) {
    let mut said = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (said, &text[at + 1..]),
            '\\' => match letters.next() {
                Some((_, '\n')) => {
                    let spaces = |letter: &(usize, char)| letter.1 == ' ';
                    let ahead = letters.clone().take_while(spaces).count();
                    letters.by_ref().take(ahead).for_each(drop);
                }
                Some((_, 'n')) => said.push('\n'),
                Some((_, other)) => said.push(other),
                None => {}
            },
            other => said.push(other),
        }
    }
    (said, "")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" && name != "target" && name != "test-support" {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") && !name.contains("test") {
            found.push(path);
        }
    }
    found
}
