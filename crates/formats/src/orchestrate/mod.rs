//! `.claude/orchestrate-state.json`.
//!
//! A run may have 100,000 tasks: lists and maps with a member per task are walked as values, never
//! by pointers.

mod check;
mod convert;
mod families;
mod meta;
mod order;
mod read;
mod step;
mod summary;
mod write;

pub use families::{FOREIGN, plan_file};
pub use meta::{Meta, Mode, SlackWishes, WebhookUrl};
pub use read::{Known, known};
pub use step::RecordedStep;
pub use summary::{Summary, masked, summary};

use crate::StateFormat;
use crate::finding::{Finding, Read};
use crate::json::JsonDocument;
use crate::tasks_md::phase_told_by;
use bowline_machines::Timestamp;
use bowline_machines::orchestrate::Run;
use serde_json::{Value, json};

/// Folder of the file, in the root of the project.
pub const FOLDER_NAME: &str = ".claude";
/// Name of the file in its folder.
pub const FILE_NAME: &str = "orchestrate-state.json";
/// Version that is written. Older versions and other families of the file are read, and converted
/// with the first change.
pub const VERSION: &str = "2.0";
/// Newest major version that can be read.
pub const VERSION_MAJOR: u32 = 2;

/// The format of `.claude/orchestrate-state.json`.
#[derive(Debug, Clone, Copy)]
pub struct OrchestrateFile;

/// Creates the file of a run.
pub fn new_document(meta: &Meta, run: &Run, at: Timestamp) -> JsonDocument {
    let mut value = json!({ "version": VERSION });
    meta.write(&mut value);
    for part in ["execution", "tasks"] {
        value[part] = json!({});
    }
    OrchestrateFile::write(run, &mut value, at);
    // The documented order of keys: the run's data stands between mode and config.
    if let Value::Object(map) = &mut value
        && let Some(config) = map.shift_remove("config")
    {
        map.insert("config".into(), config);
    }
    JsonDocument::new(value)
}

impl StateFormat for OrchestrateFile {
    type State = Run;
    const KIND: &'static str = "orchestrate";

    /// Reads the run that the file alone describes. Callers that have the task file use [`known`]
    /// with its graph.
    fn read(document: &JsonDocument) -> Result<Read<Run>, Vec<Finding>> {
        read::read(document)
    }

    fn write(run: &Run, value: &mut Value, at: Timestamp) {
        if let families::Family::Other(new, _) = families::family(value) {
            *value = new;
        }
        let known = value["mode"].as_str().and_then(Mode::from_name);
        if known.is_none() {
            let mode = Meta::read(value).mode;
            crate::reading::put(value, "/mode", mode.name());
        }
        write::write(run, value, at);
    }
}
