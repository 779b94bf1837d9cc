//! Schemas and the pages made from them.

use crate::golden;
use bowline_formats::schema;
use serde_json::Value;

const KINDS: [&str; 10] = [
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
];

#[test]
fn every_kind_has_a_sound_schema_and_a_page_with_a_valid_example() {
    assert_eq!(schema::ALL.map(|(kind, _)| kind), KINDS);
    assert_eq!(schema::get("nothing"), None);
    assert_eq!(schema::page("nothing"), None);
    for (kind, text) in schema::ALL {
        let schema: Value = serde_json::from_str(text).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{kind}");
        assert_eq!(schema["title"], kind);
        let page = schema::page(kind).unwrap();
        let (_, example) = page.split_once("```json\n").unwrap();
        let example: Value = serde_json::from_str(example.trim_end_matches("```\n")).unwrap();
        golden::validate(kind, &example);
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
        let page = schema::page(kind).unwrap();
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
    let page = schema::page("task-state").unwrap();
    for row in [
        "| `current_task.plan.steps[].dependencies` | list of whole number | yes | Steps that must be completed first. |",
        "| `current_task.plan.steps[].completed_at` | time or null | yes | When it was completed. |",
        "| `current_task.issues[].resolved` | `true`, `false` | yes | It is over. |",
    ] {
        assert!(page.contains(row), "{row}\n{page}");
    }
    let page = schema::page("config").unwrap();
    let row = "| `limits.retry_after` | whole number or text |  | Wait after a rate limit that does not say how long. Default: `\"60s\"`. |";
    assert!(page.contains(row), "{page}");
}
