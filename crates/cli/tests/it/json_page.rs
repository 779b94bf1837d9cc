//! `docs/formats/cli-json.md`: the answers of `--json` have the documented keys, and no others.

use crate::environment::TestEnvironment;
use serde_json::Value;
use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../../docs/formats/cli-json.md");

/// A row of a table: the types a key may have, and whether it may be missing.
struct Row<'p> {
    types: Vec<&'p str>,
    optional: bool,
}

#[test]
fn answers_have_the_documented_keys() {
    let world = world();
    let mut commands = 0;
    for section in PAGE.split("\n## ").skip(1) {
        let title = section.lines().next().unwrap();
        let rows = rows(section);
        let lines = section
            .lines()
            .filter_map(|line| line.strip_prefix("$ bowline "));
        for line in lines {
            commands += 1;
            let output = world.bowline(line).output().unwrap();
            let answer: Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|error| panic!("{line}: {error}\n{}", world.told(line, &output)));
            assert!(answer.is_object(), "{line}: {answer}");
            let place = format!("{title}: {line}");
            // A section may be about one part of an answer that another describes.
            let whole = rows
                .keys()
                .any(|key| !key.contains("[]") && !key.contains('.'));
            compare(&place, &answer, "", &rows, whole);
        }
    }
    assert!(commands > 15, "only {commands} commands on the page");
}

fn rows(section: &str) -> BTreeMap<String, Row<'_>> {
    let mut rows = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let key = cells.next().unwrap().trim_matches('`');
        let types = cells.next().unwrap();
        let types = match types {
            "true or false" => vec![types],
            types => types.split(" or ").collect(),
        };
        let row = Row {
            types,
            optional: key.ends_with('?'),
        };
        rows.insert(key.trim_end_matches('?').to_owned(), row);
    }
    rows
}

/// Compares an object with the rows below a prefix.
fn compare(
    place: &str,
    value: &Value,
    prefix: &str,
    rows: &BTreeMap<String, Row<'_>>,
    whole: bool,
) {
    let Some(object) = value.as_object() else {
        return;
    };
    let path = |key: &str| match prefix {
        "" => key.to_owned(),
        prefix => format!("{prefix}.{key}"),
    };
    let below = |path: &str| {
        let (member, element) = (format!("{path}."), format!("{path}[]."));
        (
            rows.keys().any(|key| key.starts_with(&member)),
            rows.keys().any(|key| key.starts_with(&element)),
        )
    };
    for (key, value) in object {
        let path = path(key);
        match rows.get(&path) {
            Some(row) => assert!(
                row.types.contains(&type_of(value)),
                "{place}: {path} is {}, not {:?}",
                type_of(value),
                row.types
            ),
            None => assert!(!whole, "{place}: {path} is not on the page"),
        }
        let (members, elements) = below(&path);
        if members {
            compare(place, value, &path, rows, true);
        }
        if elements {
            let items = value.as_array().unwrap();
            assert!(!items.is_empty(), "{place}: {path} shows nothing");
            for item in items {
                compare(place, item, &format!("{path}[]"), rows, true);
            }
        }
    }
    let here = rows.iter().filter(|(key, _)| match prefix {
        "" => !key.contains('.'),
        prefix => {
            let rest = key
                .strip_prefix(prefix)
                .and_then(|rest| rest.strip_prefix('.'));
            rest.is_some_and(|rest| !rest.contains('.'))
        }
    });
    for (key, row) in here {
        let name = key.rsplit('.').next().unwrap();
        assert!(
            row.optional || object.contains_key(name),
            "{place}: {key} is missing"
        );
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// A world in which every command of the page says something.
fn world() -> TestEnvironment {
    let world = TestEnvironment::begun();
    for line in [
        "memory task new First --step name=a --step name=b",
        "memory step start 1",
        "develop start 'Ferry times'",
        "thinking new --dir odd odd-1 --title Odd",
        "thinking new --dir torn torn-1 --title Torn",
    ] {
        world.quietly(line, 0);
    }
    let odd = world.read("odd/thinking_state.json");
    world.write(
        "odd/thinking_state.json",
        odd.replace("\"progress_percentage\": 0", "\"progress_percentage\": 80"),
    );
    world.write("torn/thinking_state.json", "{");
    world.write(
        "planned/TASKS.md",
        "# Ferry\n## Phase 0: Quay\n### P0-R1: Ropes\n#### [x] P0-R1-T1: Buy\n## Phase 0.5: Boat\n#### [ ] P0-T2: Paint\n- needs: T9.9\n",
    );
    world.write(
        "planned/.claude/orchestrate-state.json",
        r#"{"completed_tasks": 1, "current_phase": 0, "in_progress": ["P0-T2"]}"#,
    );
    world
}
