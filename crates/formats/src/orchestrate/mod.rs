//! `.claude/orchestrate-state.json`.
//!
//! A run may have 100,000 tasks: lists and maps with a member per task are walked as values, never
//! by pointers.

mod check;
mod convert;
mod families;
mod meta;
mod natural_order;
mod read;
mod step;
mod summary;
mod write;

pub use families::{FOREIGN, plan_file};
pub use meta::{OrchestrationMeta, RunMode, SlackEvents, WebhookUrl};
pub use read::{OrchestrationFacts, read_facts};
pub use step::RecordedStep;
pub use summary::{OrchestrationSummary, mask_webhooks, summarise_document};

use crate::StateFormat;
use crate::finding::{Finding, ReadResult};
use crate::json::JsonDocument;
use crate::tasks_md::phase_of_id;
use bowline_machines::Timestamp;
use bowline_machines::orchestrate::OrchestrationState;
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
pub fn new_document(
    meta: &OrchestrationMeta,
    run: &OrchestrationState,
    at: Timestamp,
) -> JsonDocument {
    let mut value = json!({ "version": VERSION });
    meta.write_to(&mut value);
    for part in ["execution", "tasks"] {
        value[part] = json!({});
    }
    OrchestrateFile::write_state(run, &mut value, at);
    // The documented order of keys: the run's data stands between mode and config.
    if let Value::Object(map) = &mut value
        && let Some(config) = map.shift_remove("config")
    {
        map.insert("config".into(), config);
    }
    JsonDocument::new(value)
}

impl StateFormat for OrchestrateFile {
    type State = OrchestrationState;
    const KIND: &'static str = "orchestrate";

    /// Reads the run that the file alone describes. Callers that have the task file use
    /// [`read_facts`] with its graph.
    fn read_state(document: &JsonDocument) -> Result<ReadResult<OrchestrationState>, Vec<Finding>> {
        read::read_run(document)
    }

    fn write_state(run: &OrchestrationState, value: &mut Value, at: Timestamp) {
        if let families::DocumentFamily::Other(new, _) = families::detect_family(value) {
            *value = new;
        }
        let known = value["mode"].as_str().and_then(RunMode::from_name);
        if known.is_none() {
            let mode = OrchestrationMeta::from_document(value).mode;
            crate::document_reader::put_value(value, "/mode", mode.name());
        }
        write::write_run(run, value, at);
    }
}
