//! The list of tools for clients. Every byte here takes up a model's window for the whole session:
//! descriptions are short, self-explanatory arguments have none, and rare verbs are described on
//! request only.

use crate::session::{SessionRole, ToolSession};
use crate::table::{Kind, Listed, Shown, VERBS, Verb};
use crate::verbs::here;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Nouns that the agent of a task is not offered: it reports on its task instead.
const NOT_OF_TASK: [&str; 2] = ["thinking_", "orchestrate_"];

/// Returns the tools that are listed.
pub(crate) fn tools(desk: &ToolSession) -> Vec<Tool> {
    let of_task = desk.tasks.is_of_task() && desk.role == SessionRole::Agent;
    let listed = VERBS.iter().copied().flatten().filter(|verb| {
        verb.role <= desk.role
            && (desk.files || !verb.of_files())
            && match verb.listed {
                Listed::Always => {
                    !of_task || !NOT_OF_TASK.iter().any(|it| verb.name.starts_with(it))
                }
                Listed::ForAgentOfTask => of_task,
                Listed::Rare => false,
            }
    });
    listed.map(|verb| tool(verb, desk.role)).collect()
}

fn tool(verb: &Verb, role: SessionRole) -> Tool {
    let tool = Tool::new(verb.name, verb.about, Arc::new(schema(verb, role)));
    // This tool can call every other one that the role may use.
    let reads = verb.role == SessionRole::ReadOnly
        && (verb.name != here::VERB || role == SessionRole::ReadOnly);
    // All hints are set: clients assume the worst for a missing one, and one of them then asks a
    // person for every call.
    tool.with_annotations(
        ToolAnnotations::new()
            .read_only(reads)
            .destructive(verb.takes_away || verb.name == here::VERB && role == SessionRole::Person)
            .idempotent(reads)
            .open_world(false),
    )
}

/// Builds the schema of a tool's arguments; a person's arguments are only offered to that role.
fn schema(verb: &Verb, role: SessionRole) -> JsonObject {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let offered = verb.takes.iter().filter(|arg| arg.role <= role);
    for arg in offered.filter(|arg| arg.shown != Shown::No) {
        let mut property = match arg.shown {
            Shown::Brief => of_kind(Kind::Text),
            Shown::Whole | Shown::No => of_kind(arg.kind),
        };
        if !arg.about.is_empty() {
            property["description"] = arg.about.into();
        }
        properties.insert(arg.name.into(), property);
        if arg.needed {
            required.push(arg.name);
        }
    }
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    if !properties.is_empty() {
        schema.insert("properties".into(), properties.into());
    }
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema
}

fn of_kind(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Number => json!({ "type": "integer" }),
        Kind::Float => json!({ "type": "number" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Numbers | Kind::Object => json!({ "type": "object" }),
        Kind::Objects => json!({ "type": "array", "items": { "type": "object" } }),
        Kind::Any(offered) => {
            json!({ "anyOf": offered.iter().copied().map(of_kind).collect::<Vec<_>>() })
        }
    }
}
