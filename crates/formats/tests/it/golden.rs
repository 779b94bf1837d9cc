//! What every golden file has to stand: read, validate, come back unchanged, and change in one
//! field only.

use bowline_formats::StateFormat;
use bowline_formats::document_reader::put_value;
use bowline_formats::finding::ReadResult;
use bowline_formats::json::JsonDocument;
use bowline_formats::schema;
use bowline_formats::time;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;

pub(crate) fn load(name: &str) -> JsonDocument {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    JsonDocument::parse(&std::fs::read(path).unwrap()).unwrap()
}

/// Reads a golden file and checks its findings, each as `code pointer`.
#[track_caller]
pub(crate) fn read<F: StateFormat>(
    name: &str,
    findings: &[&str],
) -> (JsonDocument, ReadResult<F::State>) {
    let document = load(name);
    let read = F::read_state(&document).unwrap_or_else(|fatal| panic!("{name}: {fatal:?}"));
    let found: Vec<String> = read
        .findings
        .iter()
        .map(|one| format!("{} {}", one.code, one.pointer))
        .collect();
    assert_eq!(found, findings, "{name}");
    assert_eq!(document.reconcile(document.value()), document);
    (document, read)
}

/// Checks a golden file against its schema by an independent validator.
#[track_caller]
pub(crate) fn validate(kind: &str, value: &Value) {
    let errors: Vec<String> = validator(kind)
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}

/// Whether a value is what the schema of a kind says.
pub(crate) fn is_valid(kind: &str, value: &Value) -> bool {
    validator(kind).is_valid(value)
}

/// Whether a value is what the schema of a file's kind says; the schema is compiled once per
/// thread.
pub(crate) fn is_legal<F: StateFormat>(value: &Value) -> bool {
    thread_local! {
        static KNOWN: RefCell<HashMap<&'static str, jsonschema::Validator>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        let validator = known.entry(F::KIND).or_insert_with(|| validator(F::KIND));
        validator.is_valid(value)
    })
}

fn validator(kind: &str) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(schema::schema_text(kind).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// Writing the state back at the time the file was last changed leaves every byte alone.
#[track_caller]
pub(crate) fn unchanged<F: StateFormat>(
    document: &JsonDocument,
    state: &F::State,
    updated_at: &str,
) {
    let at = time::parse_time(
        document
            .value()
            .pointer(updated_at)
            .unwrap()
            .as_str()
            .unwrap(),
    )
    .unwrap();
    let mut value = document.value().clone();
    F::write_state(state, &mut value, at);
    assert_eq!(document.reconcile(&value).text(), document.text());
}

/// Changing one field changes exactly its text.
#[track_caller]
pub(crate) fn one_field(document: &JsonDocument, pointer: &str, to: Value, old: &str, new: &str) {
    let mut value = document.value().clone();
    put_value(&mut value, pointer, to);
    let edited = document.reconcile(&value);
    assert_ne!(edited.text(), document.text());
    let (line, column) = document.line_and_column(pointer);
    let offset: usize = document
        .text()
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum::<usize>()
        + column
        - 1;
    let (before, after) = document.text().split_at(offset);
    assert_eq!(
        edited.text(),
        format!("{before}{}", after.replacen(old, new, 1)),
        "{pointer}"
    );
}
