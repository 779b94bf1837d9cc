//! The JSON Schemas of every file kind, and their pages of documentation.

mod page;

pub use page::page;

/// Every kind with its schema, in the order of the documentation.
pub const ALL: [(&str, &str); 11] = [
    (
        "thinking",
        include_str!("../../schemas/thinking.schema.json"),
    ),
    (
        "task-state",
        include_str!("../../schemas/task-state.schema.json"),
    ),
    (
        "task-history",
        include_str!("../../schemas/task-history.schema.json"),
    ),
    (
        "shared-context",
        include_str!("../../schemas/shared-context.schema.json"),
    ),
    (
        "agent-memory",
        include_str!("../../schemas/agent-memory.schema.json"),
    ),
    ("develop", include_str!("../../schemas/develop.schema.json")),
    (
        "orchestrate",
        include_str!("../../schemas/orchestrate.schema.json"),
    ),
    (
        "checkpoint",
        include_str!("../../schemas/checkpoint.schema.json"),
    ),
    (
        "transition",
        include_str!("../../schemas/transition.schema.json"),
    ),
    ("config", include_str!("../../schemas/config.schema.json")),
    (
        "scenario",
        include_str!("../../schemas/scenario.schema.json"),
    ),
];

/// The schema of a kind, as JSON text.
pub fn get(kind: &str) -> Option<&'static str> {
    ALL.into_iter()
        .find(|(name, _)| *name == kind)
        .map(|(_, text)| text)
}

/// A file of a kind, as its page shows it.
fn example(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "thinking" => include_str!("../../tests/golden/thinking.json"),
        "task-state" => include_str!("../../tests/golden/task-state.json"),
        "task-history" => include_str!("../../tests/golden/task-history.json"),
        "shared-context" => include_str!("../../tests/golden/shared-context.json"),
        "agent-memory" => include_str!("../../tests/golden/agent-memory.json"),
        "develop" => include_str!("../../tests/golden/develop.json"),
        "orchestrate" => include_str!("../../tests/golden/orchestrate.json"),
        "checkpoint" => include_str!("../../tests/golden/checkpoint.json"),
        "transition" => include_str!("../../tests/golden/transition.json"),
        "config" => include_str!("../../tests/golden/config.json"),
        "scenario" => include_str!("../../tests/golden/scenario.json"),
        _ => return None,
    })
}
