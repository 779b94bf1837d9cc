//! Every format that another program can see. Pure: bytes in, bytes out, never a path.

pub mod agents;
pub mod checkpoint;
pub mod client_hooks;
pub mod client_tools;
pub mod develop;
pub mod document_reader;
pub mod engagement;
pub mod finding;
pub mod foreign;
pub mod glob;
pub mod hook;
pub mod import;
pub mod json;
pub mod markers;
pub mod memory;
pub mod orchestrate;
pub mod permission_rule;
#[cfg(feature = "rest")]
pub mod rest;
pub mod run_settings;
pub mod scenario;
pub mod schema;
pub mod settings;
pub mod tasks_md;
pub mod terminal;
pub mod thinking;
pub mod thinking_settings;
pub mod three_way_merge;
pub mod time;
pub mod tool_input;
pub mod transition;
pub mod visible;
pub mod zip;

use bowline_machines::Timestamp;
use finding::{Finding, ReadResult};
use json::JsonDocument;
use serde_json::Value;

/// A kind of state file: reads its document as a typed state and writes a state into its document.
pub trait StateFormat {
    /// The typed state of the file.
    type State;
    /// Name of the kind, as `bowline schema KIND` has it.
    const KIND: &'static str;

    /// Reads a document; fails with all findings if it cannot be read as this kind.
    fn read_state(document: &JsonDocument) -> Result<ReadResult<Self::State>, Vec<Finding>>;

    /// Writes a state into the value of its document. Fields unknown to the state are left alone.
    fn write_state(state: &Self::State, value: &mut Value, at: Timestamp);
}
