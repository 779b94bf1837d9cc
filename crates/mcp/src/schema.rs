//! The list of tools for clients. Every byte here takes up a model's window for the whole session:
//! descriptions are short, self-explanatory arguments have none, and rare verbs are described on
//! request only.

use crate::session::{SessionRole, ToolSession};
use crate::table::{ListingRule, ParameterDetail, ParameterType, ToolVerb, VERBS};
use crate::verbs::bowline;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Nouns that the agent of a task is not offered: it reports on its task instead.
const NOT_OF_TASK: [&str; 2] = ["thinking_", "orchestrate_"];

/// Returns the tools that are listed.
pub(crate) fn listed_tools(session: &ToolSession) -> Vec<Tool> {
    let of_task = session.tasks.is_of_task() && session.role == SessionRole::Agent;
    let listed = VERBS.iter().copied().flatten().filter(|verb| {
        verb.role <= session.role
            && (session.files || !verb.uses_files())
            && match verb.listed {
                ListingRule::Always => {
                    !of_task || !NOT_OF_TASK.iter().any(|it| verb.name.starts_with(it))
                }
                ListingRule::ForAgentOfTask => of_task,
                ListingRule::Rare => false,
            }
    });
    listed.map(|verb| build_tool(verb, session.role)).collect()
}

fn build_tool(verb: &ToolVerb, role: SessionRole) -> Tool {
    let tool = Tool::new(verb.name, verb.about, Arc::new(input_schema(verb, role)));
    // This tool can call every other one that the role may use.
    let reads = verb.role == SessionRole::ReadOnly
        && (verb.name != bowline::GENERIC_VERB || role == SessionRole::ReadOnly);
    // All hints are set: clients assume the worst for a missing one, and one of them then asks a
    // person for every call.
    tool.with_annotations(
        ToolAnnotations::new()
            .read_only(reads)
            .destructive(
                verb.takes_away
                    || verb.name == bowline::GENERIC_VERB && role == SessionRole::Person,
            )
            .idempotent(reads)
            .open_world(false),
    )
}

/// Builds the schema of a tool's arguments; a person's arguments are only offered to that role.
fn input_schema(verb: &ToolVerb, role: SessionRole) -> JsonObject {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let offered = verb.takes.iter().filter(|arg| arg.role <= role);
    for arg in offered.filter(|arg| arg.shown != ParameterDetail::No) {
        let mut property = match arg.shown {
            ParameterDetail::Brief => type_schema(ParameterType::Text),
            ParameterDetail::Whole | ParameterDetail::No => type_schema(arg.kind),
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

fn type_schema(kind: ParameterType) -> Value {
    match kind {
        ParameterType::Text => json!({ "type": "string" }),
        ParameterType::Word(words) => json!({ "enum": words }),
        ParameterType::Number => json!({ "type": "integer" }),
        ParameterType::Float => json!({ "type": "number" }),
        ParameterType::Flag => json!({ "type": "boolean" }),
        ParameterType::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        ParameterType::Numbers | ParameterType::Object => json!({ "type": "object" }),
        ParameterType::Objects => json!({ "type": "array", "items": { "type": "object" } }),
        ParameterType::Any(offered) => {
            json!({ "anyOf": offered.iter().copied().map(type_schema).collect::<Vec<_>>() })
        }
    }
}
