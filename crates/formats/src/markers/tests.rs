//! Checks that the reader of fields reads back what the writer writes, indentation included.

use proptest::prelude::*;

use super::fields::MessageFields;
use super::syntax::{BracketMessage, FieldKey};
use super::write::MarkerMessage;

proptest! {
    #[test]
    fn a_written_value_reads_back(name in "[A-Z]{1,8}", value in r"[a-z]( {0,3}\n {0,3}[a-z:\[\]/-]|[a-zé ]){0,30}[a-z]") {
        let text = MarkerMessage::DependencyRejected { name: &name, reason: &value }.to_text();
        // `reason` is no field of an agent's message; `description` takes its place.
        let body = text.replacen("\nreason: ", "\ndescription: ", 1);
        let body = body
            .trim_start_matches("[DEPENDENCY_REJECTED]\n")
            .trim_end_matches("[/DEPENDENCY_REJECTED]\n");
        let mut fields = MessageFields::new(BracketMessage::DependencyRequest);
        fields.read_block(body);
        prop_assert_eq!(fields.required_text(FieldKey::Name).ok(), Some(name));
        let read = fields.required_text(FieldKey::Description).ok();
        // The reader removes the indentation of the first continuation line from all of them.
        let flat = |text: &str| text.lines().map(str::trim_start).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(read.as_deref().map(flat), Some(flat(&value)));
    }
}
