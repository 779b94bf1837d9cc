//! The JSON Schemas of every file kind, and their pages of documentation.

mod page;

pub use page::page;

/// Each kind has a schema and a golden file of its name.
macro_rules! kinds {
    ($($kind:literal,)+) => {
        /// Every kind with its schema, in the order of the documentation.
        pub const ALL: [(&str, &str); [$($kind),+].len()] =
            [$(($kind, include_str!(concat!("../../schemas/", $kind, ".schema.json")))),+];

        /// A file of a kind, as its page shows it.
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

/// The schema of a kind, as JSON text.
pub fn get(kind: &str) -> Option<&'static str> {
    ALL.into_iter()
        .find(|(name, _)| *name == kind)
        .map(|(_, text)| text)
}
