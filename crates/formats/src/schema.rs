//! The JSON Schemas of every file kind.

/// Every kind with its schema, in the order of the documentation.
pub const ALL: [(&str, &str); 1] = [("thinking", include_str!("../schemas/thinking.schema.json"))];

/// The schema of a kind, as JSON text.
pub fn get(kind: &str) -> Option<&'static str> {
    ALL.into_iter()
        .find(|(name, _)| *name == kind)
        .map(|(_, text)| text)
}
