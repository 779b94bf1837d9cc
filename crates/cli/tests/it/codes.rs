//! Every code a program can meet has a section in `docs/errors.md`, and every section has a code.
//!
//! The codes are gathered from the sources, where they are written in few ways only: in a function `code`, as the code of a
//! finding, in a call that makes a finding, and as a constant of the wire between scheduler and tasks. Those of findings in a
//! `TASKS.md` are a list of their own.

use bowline_engine::formats::tasks_md::PlanFindingCode;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../../docs/errors.md");

/// Functions whose body is a table from variants to codes.
const TABLES: [&str; 4] = [
    "fn code(",
    "fn value_fault_code(",
    "fn path_trouble_code(",
    "fn trouble_code(",
];
/// One that has the status of the answer beside each code.
const TABLE_OF_ANSWERS: &str = "fn code_and_status(";
/// Calls that make a finding; their first bare word in quotes is its code.
const MAKERS: [&str; 5] = [
    ".add_finding(",
    ".repair_value(",
    ".drop_key(",
    ".give_up(",
    ".fatal_finding(",
];
/// A function named like a table that is none.
const NO_TABLE: &str = "machines/src/job/play.rs";

#[test]
fn every_code_is_explained() {
    let explained = sections();
    let missing: Vec<_> = codes().difference(&explained).cloned().collect();
    assert!(
        missing.is_empty(),
        "no section in docs/errors.md: {missing:?}"
    );
}

#[test]
fn every_explanation_has_a_code() {
    let known = codes();
    let stale: Vec<_> = sections().difference(&known).cloned().collect();
    assert!(stale.is_empty(), "nothing in the sources says: {stale:?}");
}

/// The test would be worth nothing if the scan found nothing.
#[test]
fn the_scan_finds_codes_of_every_sort() {
    let codes = codes();
    for code in [
        "locked",
        "outputs_missing",
        "wrong_type",
        "not_json",
        "CIRCULAR_DEP",
        "TASKS_NOT_FOUND",
        "overlapping_lists",
        "usage",
        "unauthorized",
    ] {
        assert!(codes.contains(code), "{code} was not found");
    }
    assert!(!codes.contains("note") && !codes.contains("READY"));
}

#[test]
fn sections_are_sorted_unique_and_in_two_languages() {
    let names: Vec<&str> = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(names, sorted, "sections of docs/errors.md");
    let mut wrong = Vec::new();
    for section in PAGE.split("\n## ").skip(1) {
        let (name, text) = section.split_once('\n').unwrap();
        let said: Vec<&str> = text.trim().split("\n\n").collect();
        let (korean, english) = said.split_last().unwrap();
        let english = english.join("\n");
        if !english.contains("\nWhat to do: ") || english.contains(is_hangul) {
            wrong.push(format!(
                "{name}: the English paragraphs come first: what it means, why, 'What to do: '"
            ));
        }
        wrong.extend(korean_faults(korean).map(|fault| format!("{name}: {fault}")));
    }
    assert!(wrong.is_empty(), "docs/errors.md:\n{}", wrong.join("\n"));
}

/// What is wrong with the Korean paragraph of a section: it says what, why and what to do, a line each, as the English does.
fn korean_faults(text: &str) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.last().copied().unwrap_or_default();
    let shape = lines.len() >= 3 && last.starts_with("할 일: ");
    let shape = (!shape).then(|| {
        "the last paragraph has a Korean line for what it means, one for why, one '할 일: '"
            .to_owned()
    });
    let faults = lines.into_iter().flat_map(|line| {
        // Names of commands and files stand between backquotes.
        let plain: String = line.split('`').step_by(2).collect();
        let korean = (!plain.contains(is_hangul)).then(|| format!("not Korean: {line}"));
        let open = ["을(를)", "은(는)", "이(가)", "과(와)", "(으)로"];
        let open = open.iter().find(|it| plain.contains(**it));
        let open = open.map(|it| format!("a particle left open, {it}: {line}"));
        let words: Vec<&str> = plain.split(' ').collect();
        let small = |word: &str| word.len() > 1 && word.bytes().all(|it| it.is_ascii_lowercase());
        let mut pairs = words.windows(2);
        let english = pairs.find(|pair| small(pair[0]) && small(pair[1]));
        let english = english.map(|pair| format!("English, '{}': {line}", pair.join(" ")));
        [korean, open, english].into_iter().flatten()
    });
    let faults: Vec<String> = shape.into_iter().chain(faults).collect();
    faults.into_iter()
}

fn is_hangul(letter: char) -> bool {
    ('가'..='힣').contains(&letter)
}

#[test]
fn faults_of_the_korean_are_found() {
    let good = "파일이 없습니다.\n`bowline run it`이 지웠습니다.\n할 일: 다시 만드세요.";
    assert_eq!(korean_faults(good).count(), 0);
    for bad in [
        "파일이 없습니다. 다시 만드세요.",
        "파일이 없습니다.\nSomebody removed it.\n할 일: 다시 만드세요.",
        "파일이 없습니다.\n누군가 파일을(를) 지웠습니다.\n할 일: 다시 만드세요.",
        "파일이 no such file 없습니다.\n지웠습니다.\n할 일: 다시 만드세요.",
    ] {
        assert_eq!(korean_faults(bad).count(), 1, "{bad}");
    }
}

fn sections() -> BTreeSet<String> {
    PAGE.lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(str::to_owned)
        .collect()
}

fn codes() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut codes: BTreeSet<String> = PlanFindingCode::ALL.map(|code| code.name().into()).into();
    for path in sources(crates) {
        let text = std::fs::read_to_string(&path).unwrap();
        // Unit tests at the end of a file speak of codes too.
        let text = text.split("#[cfg(test)]").next().unwrap();
        let tables = match path.ends_with(NO_TABLE) {
            true => Vec::new(),
            false => TABLES.iter().flat_map(|head| bodies(text, head)).collect(),
        };
        for body in tables {
            codes.extend(after(body, "=> \""));
            // A single code needs no table.
            codes.extend(after(body, "{\n        \""));
        }
        for body in bodies(text, TABLE_OF_ANSWERS) {
            codes.extend(after(body, "=> (\""));
        }
        // A list of findings to be noted in one go: the code comes first in each.
        for list in text.split("let notes = [").skip(1) {
            let entries = list.split("];").next().unwrap_or_default().split('(');
            let first = entries.filter_map(|entry| entry.trim_start().strip_prefix('"'));
            codes.extend(
                first
                    .filter_map(|rest| rest.split('"').next())
                    .filter(|word| is_code(word))
                    .map(str::to_owned),
            );
        }
        codes.extend(after(text, " code: \""));
        codes.extend(after(text, "\"code\": \""));
        codes.extend(after(text, "Self(Cow::Borrowed(\""));
        // The machines note broken rules, which all become the one finding `rule_broken`.
        if path.components().any(|part| part.as_os_str() == "machines") {
            continue;
        }
        for call in MAKERS.iter().flat_map(|maker| text.split(maker).skip(1)) {
            let arguments = call.split([';', ')']).next().unwrap_or_default();
            codes.extend(
                arguments
                    .split('"')
                    .skip(1)
                    .step_by(2)
                    .find(|word| is_code(word))
                    .map(str::to_owned),
            );
        }
    }
    codes
}

/// Every source file that is not a test.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !["tests", "target"].contains(&name.as_str()) {
                folders.push(path);
            } else if name.ends_with(".rs")
                && !["tests.rs", "catalogue.rs", "properties.rs"].contains(&name.as_str())
            {
                found.push(path);
            }
        }
    }
    found
}

/// The bodies of functions with that head, up to the closing brace that stands as far in as the head.
fn bodies<'t>(text: &'t str, head: &str) -> Vec<&'t str> {
    let mut bodies = Vec::new();
    for (at, _) in text.match_indices(head) {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let indent: String = text[line..]
            .chars()
            .take_while(|letter| *letter == ' ')
            .collect();
        let rest = &text[at..];
        bodies.push(
            rest.find(&format!("\n{indent}}}"))
                .map_or(rest, |end| &rest[..end]),
        );
    }
    bodies
}

/// Every code that stands between a prefix and the next quote.
fn after(text: &str, prefix: &str) -> Vec<String> {
    let words = text
        .split(prefix)
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    words
        .filter(|word| is_code(word))
        .map(str::to_owned)
        .collect()
}

/// `snake_case` or `UPPER_CASE`.
fn is_code(word: &str) -> bool {
    let made_of = |letters: fn(&u8) -> bool| {
        word.bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_digit() || letters(&byte))
    };
    word.len() > 1 && (made_of(u8::is_ascii_lowercase) || made_of(u8::is_ascii_uppercase))
}
