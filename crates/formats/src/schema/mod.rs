//! JSON Schemas of all kinds of files, and their documentation pages.

mod page;

pub use page::schema_page;

/// Declares the kinds. Each has a schema and a golden file of its name.
macro_rules! kinds {
    ($($kind:literal,)+) => {
        /// All kinds with their schemas, in the order of the documentation.
        pub const ALL: [(&str, &str); [$($kind),+].len()] =
            [$(($kind, include_str!(concat!("../../schemas/", $kind, ".schema.json")))),+];

        /// Returns the example file shown on a kind's page.
        fn example(kind: &str) -> Option<&'static str> {
            match kind {
                $($kind => Some(include_str!(concat!("../../tests/golden/", $kind, ".json"))),)+
                _ => None,
            }
        }
    };
}

kinds! {
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
}

/// Returns the schema of a kind as JSON text.
pub fn schema_text(kind: &str) -> Option<&'static str> {
    ALL.into_iter()
        .find(|(name, _)| *name == kind)
        .map(|(_, text)| text)
}
