//! Checks that the reader of fields reads back what the writer writes, indentation included.

use proptest::prelude::*;

use super::fields::Fields;
use super::syntax::{Block, Key};
use super::write::Message;

proptest! {
    #[test]
    fn a_written_value_reads_back(name in "[A-Z]{1,8}", value in r"[a-z]( {0,3}\n {0,3}[a-z:\[\]/-]|[a-zé ]){0,30}[a-z]") {
        let text = Message::DependencyRejected { name: &name, reason: &value }.to_text();
        // `reason` is no field of an agent's message; `description` takes its place.
        let body = text.replacen("\nreason: ", "\ndescription: ", 1);
        let body = body
            .trim_start_matches("[DEPENDENCY_REJECTED]\n")
            .trim_end_matches("[/DEPENDENCY_REJECTED]\n");
        let mut fields = Fields::new(Block::DependencyRequest);
        fields.read_block(body);
        prop_assert_eq!(fields.required(Key::Name).ok(), Some(name));
        let read = fields.required(Key::Description).ok();
        // The reader removes the indentation of the first continuation line from all of them.
        let flat = |text: &str| text.lines().map(str::trim_start).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(read.as_deref().map(flat), Some(flat(&value)));
    }
}
