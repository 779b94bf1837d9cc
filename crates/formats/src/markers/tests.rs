//! What is written is what is read: the writer's indentation against the reader of fields.

use proptest::prelude::*;

use super::fields::Fields;
use super::syntax::Block;
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
        let mut fields = Fields::from_block(Block::DependencyRequest, body);
        prop_assert_eq!(fields.required("name").ok(), Some(name));
        let read = fields.required("description").ok();
        // The reader takes the first further line's own indentation off all of them.
        let flat = |text: &str| text.lines().map(str::trim_start).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(read.as_deref().map(flat), Some(flat(&value)));
    }
}
