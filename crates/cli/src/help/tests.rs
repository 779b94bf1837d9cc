#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// Consecutive English words outside quotes that count as a sentence, not as a name.
const ENGLISH_IN_A_ROW: usize = 2;

#[test]
fn every_line_of_help_is_in_korean() {
    let lines: HashMap<_, _> = korean_help::help_lines().collect();
    let mut wrong = BTreeSet::new();
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    let mut command = Cli::command();
    command.build();
    let walk = &mut |path: &str, of: &str, english: &str| {
        let Some((key, line)) = find_line(&lines, path, of) else {
            wrong.insert(format!(
                "missing: \"{}\" => \"{english}\";",
                line_key(path, of)
            ));
            return None;
        };
        let before = said
            .entry(key.clone())
            .or_insert_with(|| english.to_owned());
        if before != english {
            let own = line_key(path, of);
            wrong.insert(format!(
                "\"{key}\" is '{before}' and cannot be '{english}' too: give \"{own}\" a line"
            ));
        }
        Some(line)
    };
    translate_command(command, "", walk);
    let mut seen = BTreeSet::new();
    for (key, line) in korean_help::help_lines() {
        if !seen.insert(key) {
            wrong.insert(format!("twice: \"{key}\""));
        }
        if !said.contains_key(key) {
            wrong.insert(format!("stale: \"{key}\""));
        }
        if !line.contains(|letter| ('가'..='힣').contains(&letter)) {
            wrong.insert(format!("no Korean: \"{key}\" => \"{line}\""));
        }
        if let Some(english) = english_in(line) {
            wrong.insert(format!("'{english}' in \"{key}\" => \"{line}\""));
        }
        if line.ends_with('.') && !line.contains('\n') {
            wrong.insert(format!("a full stop: \"{key}\" => \"{line}\""));
        }
    }
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(
        wrong.is_empty(),
        "crates/words/src/korean/help:\n{}",
        wrong.join("\n")
    );
    assert!(said.len() > 300, "only {} lines were asked for", said.len());
}

/// clap's own words around our lines are Korean too, at every page width.
#[test]
fn no_page_has_english_left() {
    for width in [40, 100] {
        pages(korean_command(), width, &mut |name, page| {
            let page = korean_help::translate_frame(page);
            assert_eq!(english_in(&page), None, "{name} at {width}:\n{page}");
            for word in ["Usage", "Options", "default:", "ossible", "values:"] {
                assert!(!page.contains(word), "{word} in {name} at {width}:\n{page}");
            }
        });
    }
}

#[test]
fn the_page_of_a_command_line_is_found() {
    let asked = |line: &str| {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        help_page(&words, Lang::Ko)
    };
    for line in [
        "bowline --lang ko --help",
        "bowline --lang ko help develop gate pass",
        "bowline thinking start planning --help",
        "bowline orchestrate run -h",
        "bowline memory",
    ] {
        let page = asked(line).unwrap();
        assert!(page.contains("사용법: bowline"), "{line}: {page}");
    }
    for line in ["bowline --version", "bowline status", "bowline knot"] {
        assert_eq!(asked(line), None, "{line}");
    }
    let words = ["bowline", "--help"].map(OsString::from);
    assert_eq!(help_page(&words, Lang::En), None);
}

#[test]
fn english_is_told_from_names() {
    for good in [
        "'defaults' 표의 'agent', 다음은 claude",
        "Claude Code 클라이언트",
        "name=…,agent=…,deps=1+2 꼴",
        "create_app, workflow, custom 중 하나",
        "--mode ultra-thin과 같습니다",
        "사용법: bowline develop gate pass [옵션] <NAME>",
    ] {
        assert_eq!(english_in(good), None, "{good}");
    }
    for bad in ["Begin a stage", "단계를 start over 합니다", "no such page"] {
        assert!(english_in(bad).is_some(), "{bad}");
    }
}

/// Calls `with` for every help page, with the name of its command.
fn pages(command: Command, width: usize, with: &mut dyn FnMut(&str, &str)) {
    let mut command = command.term_width(width);
    let name = command.get_bin_name().unwrap_or_default().to_owned();
    with(&name, &command.render_help().to_string());
    with(&name, &command.render_long_help().to_string());
    for below in command
        .get_subcommands()
        .filter(|below| below.get_name() != HELP)
    {
        pages(below.clone(), width, with);
    }
}

/// Returns consecutive lower-case words that are no command, list or quotation.
fn english_in(text: &str) -> Option<String> {
    let unquoted: Vec<&str> = text.split('\'').step_by(2).collect();
    for line in unquoted.join("'").lines() {
        let usage = line.contains("사용법:");
        let mut row = Vec::new();
        for word in line.split(' ').filter(|_| !usage) {
            let plain = word.len() > 1 || word == "a";
            let small = |letter: char| letter.is_ascii_lowercase();
            if plain && word.chars().skip(1).all(small) && word.is_ascii() {
                row.push(word);
            } else {
                row.clear();
            }
            if row.len() >= ENGLISH_IN_A_ROW && row.iter().any(|word| word.chars().all(small)) {
                return Some(row.join(" "));
            }
        }
    }
    None
}
