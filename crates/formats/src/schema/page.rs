//! Renders a schema as a documentation page: every field with type, whether it is required, and
//! meaning.

use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Depth limit of listed fields; no schema of ours comes near it.
const DEPTH_MAX: usize = 12;

/// Returns the page of a kind as Markdown; `None` for an unknown kind.
pub fn schema_page(kind: &str) -> Option<String> {
    let schema: Value = serde_json::from_str(super::schema_text(kind)?).ok()?;
    let mut rows = PageRows {
        schema: &schema,
        text: String::new(),
    };
    rows.add_members(&schema, "", 0);
    let description = schema["description"].as_str().unwrap_or_default();
    let others = match schema["additionalProperties"].as_bool() {
        Some(false) => "an error",
        Some(true) | None => "left alone",
    };
    let mut page = format!(
        "# {kind}\n\n{description}\n\nThe schema is `bowline schema {kind}`. Keys that are not listed here are {others}.\n\n"
    );
    page.push_str("| Field | Type | Required | Meaning |\n|---|---|---|---|\n");
    page.push_str(&rows.text);
    if let Some(example) = super::example(kind) {
        let _ = write!(
            page,
            "\n## Example\n\n```json\n{}\n```\n",
            example.trim_end()
        );
    }
    Some(page)
}

struct PageRows<'s> {
    schema: &'s Value,
    text: String,
}

impl<'s> PageRows<'s> {
    /// Adds a row for every member of an object and for everything in it.
    fn add_members(&mut self, node: &'s Value, prefix: &str, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        let named = |name: &str| match prefix {
            "" => name.to_owned(),
            prefix => format!("{prefix}.{name}"),
        };
        let required = |name: &str| {
            let names = node.get("required").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|it| it == name))
        };
        for (name, member) in object_members(node, "properties") {
            self.add_row(member, &named(name), required(name), depth);
        }
        for (pattern, member) in object_members(node, "patternProperties") {
            let name = pattern.trim_matches(['^', '$']).replace("[0-9]+", "N");
            self.add_row(member, &named(&name), false, depth);
        }
        if let Some(member @ Value::Object(_)) = node.get("additionalProperties") {
            self.add_row(member, &named("NAME"), false, depth);
        }
    }

    fn add_row(&mut self, member: &'s Value, name: &str, required: bool, depth: usize) {
        let meaning = member.get("description").and_then(Value::as_str);
        let mut meaning = meaning.unwrap_or_default().to_owned();
        if let Some(default) = member.get("default") {
            let _ = write!(meaning, " Default: `{default}`.");
        }
        let kind = self.type_of(member);
        let required = if required { "yes" } else { "" };
        let cell = |text: &str| text.trim().replace('|', "\\|");
        let row = [&format!("`{name}`"), &kind, required, &meaning].map(cell);
        let _ = writeln!(self.text, "| {} |", row.join(" | "));
        for inner in self.resolve_alternatives(member) {
            self.add_members(inner, name, depth + 1);
            if let Some(items) = inner.get("items") {
                for item in self.resolve_alternatives(items) {
                    self.add_members(item, &format!("{name}[]"), depth + 1);
                }
            }
        }
    }

    /// Resolves a reference and returns the node, or each of its alternatives.
    fn resolve_alternatives(&self, node: &'s Value) -> Vec<&'s Value> {
        if let Some(target) = self.reference_target(node) {
            return self.resolve_alternatives(target);
        }
        match node.get("anyOf").and_then(Value::as_array) {
            Some(all) => all
                .iter()
                .flat_map(|one| self.resolve_alternatives(one))
                .collect(),
            None => vec![node],
        }
    }

    fn reference_target(&self, node: &Value) -> Option<&'s Value> {
        let place = node.get("$ref")?.as_str()?;
        self.schema.pointer(place.strip_prefix('#')?)
    }

    fn type_of(&self, node: &'s Value) -> String {
        let variants = self.resolve_alternatives(node);
        let words: Vec<String> = variants.iter().map(|one| self.type_words(one)).collect();
        words.join(" or ")
    }

    fn type_words(&self, node: &'s Value) -> String {
        if let Some(all) = node.get("enum").and_then(Value::as_array) {
            let words: Vec<String> = all
                .iter()
                .map(|it| format!("`{}`", bare_text(it)))
                .collect();
            return words.join(", ");
        }
        if let Some(only) = node.get("const") {
            return format!("`{}`", bare_text(only));
        }
        let types = match node.get("type") {
            Some(Value::String(one)) => vec![one.as_str()],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            Some(_) | None => return "anything".into(),
        };
        let words: Vec<String> = types
            .into_iter()
            .map(|one| match (one, node.get("items")) {
                ("array", Some(items)) => format!("list of {}", self.type_of(items)),
                ("array", None) => "list".into(),
                ("string", _) if is_time(node) => "time".into(),
                ("string", _) => "text".into(),
                ("integer", _) => "whole number".into(),
                ("boolean", _) => "`true`, `false`".into(),
                (other, _) => other.into(),
            })
            .collect();
        words.join(" or ")
    }
}

fn object_members<'s>(
    node: &'s Value,
    key: &str,
) -> impl Iterator<Item = (&'s String, &'s Value)> + use<'s> {
    let members: Option<&Map<String, Value>> = node.get(key).and_then(Value::as_object);
    members.into_iter().flatten()
}

/// Returns a value without the quotes of a string.
fn bare_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn is_time(node: &Value) -> bool {
    let pattern = node.get("pattern").and_then(Value::as_str);
    pattern.is_some_and(|pattern| pattern.starts_with("^\\d{4}-\\d{2}-\\d{2}T"))
}
