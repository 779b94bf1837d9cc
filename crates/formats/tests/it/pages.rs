//! Schemas and the pages made from them.

use crate::golden;
use bowline_formats::scenario::Scenario;
use bowline_formats::schema;
use serde_json::{Value, json};

const KINDS: [&str; 11] = [
    "thinking",
    "task-state",
    "task-history",
    "shared-context",
    "agent-memory",
    "develop",
    "orchestrate",
    "checkpoint",
    "transition",
    "config",
    "scenario",
];

#[test]
fn every_kind_has_a_sound_schema_and_a_page_with_a_valid_example() {
    assert_eq!(schema::ALL.map(|(kind, _)| kind), KINDS);
    assert_eq!(schema::schema_text("nothing"), None);
    assert_eq!(schema::schema_page("nothing"), None);
    for (kind, text) in schema::ALL {
        let schema: Value = serde_json::from_str(text).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{kind}");
        assert_eq!(schema["title"], kind);
        let page = schema::schema_page(kind).unwrap();
        let (_, example) = page.split_once("```json\n").unwrap();
        let example: Value = serde_json::from_str(example.trim_end_matches("```\n")).unwrap();
        golden::validate(kind, &example);
    }
}

/// The same value as TOML: a key on each line, everything else in one.
fn as_toml(value: &Value) -> String {
    fn inline(value: &Value) -> String {
        match value {
            Value::Object(map) => {
                let members = map
                    .iter()
                    .map(|(key, it)| format!("{key} = {}", inline(it)));
                format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(inline).collect();
                format!("[{}]", items.join(", "))
            }
            // Written alike in both.
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        }
    }
    let members = value.as_object().unwrap().iter();
    members
        .map(|(key, it)| format!("{key} = {}\n", inline(it)))
        .collect()
}

/// The schema of a scenario and its reader agree, on what is right and on what is not.
#[test]
fn the_schema_of_a_scenario_is_what_is_read() {
    let read = |value: &Value| Scenario::parse(&as_toml(value)).is_ok();
    let example = golden::load("scenario.json").value().clone();
    assert!(read(&example) && golden::is_valid("scenario", &example));
    let wrong = |pointer: &str, key: &str, value: Value| {
        let mut changed = example.clone();
        let place = changed.pointer_mut(pointer).unwrap();
        place[key] = value;
        let both = (read(&changed), golden::is_valid("scenario", &changed));
        assert_eq!(both, (false, false), "{pointer} {key}: {changed}");
    };
    wrong("", "steps", json!([]));
    wrong("", "protocol", json!("telepathy"));
    wrong("", "ignores", json!(["KILL"]));
    wrong("/step/0", "exit", json!(3));
    wrong("/step/1/write", "mode", json!(7));
    wrong("/step/4/ask", "category", json!("small talk"));
    wrong("/step/16", "close", json!("stdin"));
    wrong("/step/20", "exit", json!(256));
    // Every step without one of its keys: both ask for the same ones.
    for (place, step) in example["step"].as_array().unwrap().iter().enumerate() {
        let (name, fields) = step.as_object().unwrap().iter().next().unwrap();
        for field in fields.as_object().into_iter().flat_map(|map| map.keys()) {
            let mut changed = example.clone();
            let fields = changed.pointer_mut(&format!("/step/{place}/{name}"));
            fields.unwrap().as_object_mut().unwrap().remove(field);
            let valid = golden::is_valid("scenario", &changed);
            assert_eq!(read(&changed), valid, "{name} without {field}");
        }
    }
}

#[test]
fn every_field_has_a_row_and_every_row_a_meaning() {
    fn names(node: &Value, all: &mut Vec<String>) {
        if let Some(map) = node.get("properties").and_then(Value::as_object) {
            all.extend(map.keys().cloned());
        }
        match node {
            Value::Object(map) => map.values().for_each(|it| names(it, all)),
            Value::Array(items) => items.iter().for_each(|it| names(it, all)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    for (kind, text) in schema::ALL {
        let page = schema::schema_page(kind).unwrap();
        let rows: Vec<Vec<&str>> = page
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.split(" | ").collect())
            .collect();
        for row in &rows {
            assert_eq!(row.len(), 4, "{kind}: {row:?}");
            let open = row[0].ends_with("NAME`") || row[0].ends_with("_N`");
            assert!(
                open || !row[3].trim_matches([' ', '|']).is_empty(),
                "{kind}: {row:?}"
            );
        }
        let mut all = Vec::new();
        names(&serde_json::from_str(text).unwrap(), &mut all);
        for name in all {
            let ends = |row: &Vec<&str>| {
                let field = row[0].trim_matches(['|', ' ', '`']);
                field == name || field.ends_with(&format!(".{name}"))
            };
            assert!(rows.iter().any(ends), "{kind} does not list {name}");
        }
    }
}

#[test]
fn a_row_tells_name_type_need_and_meaning() {
    let page = schema::schema_page("task-state").unwrap();
    for row in [
        "| `current_task.plan.steps[].dependencies` | list of whole number | yes | Steps that must be completed first. |",
        "| `current_task.plan.steps[].completed_at` | time or null | yes | When it was completed. |",
        "| `current_task.issues[].resolved` | `true`, `false` | yes | It is over. |",
    ] {
        assert!(page.contains(row), "{row}\n{page}");
    }
    let page = schema::schema_page("config").unwrap();
    let row = "| `limits.retry_after` | whole number or text |  | Wait after a rate limit that does not say how long. Default: `\"60s\"`. |";
    assert!(page.contains(row), "{page}");
}
