//! Names and comments can be searched for: no visible type name twice in a crate, no private word.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

use crate::tree::{read, tracked};
use std::collections::BTreeMap;

/// Words of a private play. The field has words for what they meant.
const PRIVATE_WORDS: [&str; 31] = [
    "desk",
    "shift",
    "seat",
    "flight",
    "flights",
    "crew",
    "crews",
    "wish",
    "wishes",
    "hear",
    "heard",
    "hearing",
    "told",
    "unsaid",
    "untold",
    "deed",
    "deeds",
    "offence",
    "offences",
    "rung",
    "climb",
    "furnish",
    "furnished",
    "belief",
    "weigh",
    "customs",
    "workshop",
    "voice",
    "sayings",
    "unsay",
    "shed",
];

/// Identifiers that are names of others, or whose text is an outward name.
const ALLOWED: [&str; 11] = [
    "shift_remove",
    "shift_insert",
    "told",
    "ErrorTold",
    "Sayings",
    "ListSayings",
    "list_sayings",
    "BatchTold",
    "RuleTold",
    "NotTold",
    "ShiftForRange",
];

/// Files in which `told` is an outward name: a key of a sent shape.
const TOLD_IS_A_KEY: [&str; 5] = [
    "crates/formats/src/rest/world.rs",
    "crates/server/src/verb_results.rs",
    "crates/server/src/verbs.rs",
    "crates/server/src/workspace_init.rs",
    "crates/words/src/",
];

/// The four names that every machine has.
const OF_EVERY_MACHINE: [&str; 4] = ["State", "Command", "Effect", "Refusal"];

const COMMENT_COLUMNS_MAX: usize = 100;

/// Sources of our crates without their tests.
fn sources() -> impl Iterator<Item = (String, String)> {
    let tests = ["tests.rs", "properties.rs", "walk.rs", "play.rs"];
    tracked().into_iter().filter_map(move |file| {
        let below_src = file.starts_with("crates/") && file.contains("/src/");
        let of_tests = file.contains("/tests/")
            || file.starts_with("crates/test-support/")
            || tests.iter().any(|name| file.ends_with(&format!("/{name}")));
        (below_src && file.ends_with(".rs") && !of_tests).then(|| {
            let text = read(&file);
            let end = text.find("\n#[cfg(test)]\nmod ").unwrap_or(text.len());
            let text = text[..end].to_owned();
            (file, text)
        })
    })
}

#[test]
fn no_visible_type_name_is_there_twice_in_a_crate() {
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (file, text) in sources() {
        let owner = file.split('/').nth(1).unwrap().to_owned();
        for line in text.lines().map(str::trim_start) {
            let Some(name) = visible_type(line) else {
                continue;
            };
            if owner != "machines" || !OF_EVERY_MACHINE.contains(&name) {
                let key = (owner.clone(), name.to_owned());
                places.entry(key).or_default().push(file.clone());
            }
        }
    }
    assert!(places.len() > 500, "only {} types were found", places.len());
    let twice: Vec<_> = places.iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

/// Returns the name of the type that a line declares for other modules.
fn visible_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => rest,
    };
    let kinds = ["struct ", "enum ", "trait ", "union "];
    let mut named = kinds
        .iter()
        .filter_map(|kind| rest.trim_start().strip_prefix(kind));
    let name = named.next()?;
    let end = name.find(|it: char| !it.is_alphanumeric() && it != '_');
    // In a macro the name is a parameter.
    Some(&name[..end.unwrap_or(name.len())]).filter(|it| !it.is_empty())
}

#[test]
fn no_identifier_has_a_private_word() {
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        if let Some(part) = private_word(&file.replace(['/', '.', '-'], "_")) {
            wrong.push(format!("{file}: its name has '{part}'"));
        }
        for (number, line) in text.lines().enumerate() {
            for name in identifiers(&code_of(line)) {
                let shell_word = file.contains("/shell/") && name.contains("shift");
                let is_key = name != "told" || TOLD_IS_A_KEY.iter().any(|it| file.starts_with(it));
                if (ALLOWED.contains(&name) && is_key) || shell_word {
                    continue;
                }
                if private_word(name).is_some() {
                    wrong.push(format!("{file}:{}: {name}", number + 1));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} private words: {wrong:#?}",
        wrong.len()
    );
}

/// Returns a line without its strings and its comment.
fn code_of(line: &str) -> String {
    let mut code = String::new();
    let mut letters = line.chars().peekable();
    let mut in_string = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if in_string => drop(letters.next()),
            '"' => in_string = !in_string,
            '/' if !in_string && letters.peek() == Some(&'/') => break,
            _ if in_string => {}
            _ => code.push(letter),
        }
    }
    code
}

fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    let parts = code.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    parts.filter(|it| it.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'))
}

/// Returns the first part of a name that is a private word; parts are split at `_` and capitals.
fn private_word(name: &str) -> Option<String> {
    let mut parts = vec![String::new()];
    let mut before = '_';
    for letter in name.chars() {
        let begins = letter.is_ascii_uppercase() && !before.is_ascii_uppercase();
        if letter == '_' || begins {
            parts.push(String::new());
        }
        if letter != '_' {
            let last = parts.last_mut().unwrap();
            last.push(letter.to_ascii_lowercase());
        }
        before = letter;
    }
    parts
        .into_iter()
        .find(|part| PRIVATE_WORDS.contains(&part.as_str()))
}

#[test]
fn comments_are_at_most_100_columns_wide() {
    let mut wide = Vec::new();
    for (file, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            if line.trim_start().starts_with("//") && columns > COMMENT_COLUMNS_MAX {
                wide.push(format!("{file}:{}: {columns}", number + 1));
            }
        }
    }
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn a_private_word_is_found_in_any_spelling() {
    for name in ["told", "re_told", "ErrorTold", "told_text", "Flights"] {
        assert!(private_word(name).is_some(), "{name}");
    }
    for name in ["tolled", "shifted", "Handled", "weight", "Conversation"] {
        assert_eq!(private_word(name), None, "{name}");
    }
    assert_eq!(code_of(r#"let a = "told"; // told"#), "let a = ; ");
    assert_eq!(visible_type("pub(crate) struct Told<'a> {"), Some("Told"));
    assert_eq!(visible_type("struct Told;"), None);
}
