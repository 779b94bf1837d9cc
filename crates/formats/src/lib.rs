//! Every shape another program can see. Pure: bytes in, bytes out, never a path.

pub mod agents;
pub mod checkpoint;
pub mod client_hooks;
pub mod client_tools;
pub mod develop;
pub mod engagement;
pub mod finding;
pub mod foreign;
pub mod glob;
pub mod hook;
pub mod import;
pub mod job;
pub mod json;
pub mod markers;
pub mod memory;
pub mod merge;
pub mod orchestrate;
pub mod permission_rule;
pub mod reading;
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
pub mod time;
pub mod tool_input;
pub mod transition;
pub mod visible;
pub mod zip;

use bowline_machines::Timestamp;
use finding::{Finding, Read};
use json::JsonDocument;
use serde_json::Value;

/// A kind of state file: how its document is read as a state, and a state written into its document.
pub trait StateFormat {
    /// The typed state.
    type State;
    /// The kind's name, as `bowline schema KIND` has it.
    const KIND: &'static str;

    /// Reads a document; fails with every finding when it cannot be read as this kind.
    fn read(document: &JsonDocument) -> Result<Read<Self::State>, Vec<Finding>>;

    /// Writes a state into the value of its document. Fields the state does not know are left alone.
    fn write(state: &Self::State, value: &mut Value, at: Timestamp);
}
