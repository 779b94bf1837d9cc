//! `shared-context.json`: data that agents share with each other.

use super::path::FixedMembers;
use super::{VERSION, VERSION_MAJOR, last_updated};
use crate::StateFormat;
use crate::document_reader::{DocumentReader, put_later, put_time, put_value, put_version};
use crate::finding::{Finding, ReadResult};
use crate::foreign::refuse_foreign;
use crate::json::JsonDocument;
use crate::time::format_utc;
use bowline_machines::Timestamp;
use bowline_words::message::FileFinding;
use serde_json::{Map, Value, json};

/// Name of the file in the memory folder.
pub const FILE_NAME: &str = "shared-context.json";

/// Members that cannot be set by path.
pub const SKELETON: FixedMembers = FixedMembers {
    fixed: &["version", "session", "last_updated"],
    sections: &["shared_data", "preferences"],
};

/// The format of `shared-context.json`.
#[derive(Debug, Clone, Copy)]
pub struct SharedContextFile;

/// The shared data of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedContext {
    /// Id of the session, `session-YYYY-MM-DD-NNN`.
    pub session_id: String,
    pub session_started_at: Timestamp,
    /// Arbitrary data, by name.
    pub shared_data: Map<String, Value>,
    /// Preferences for the work, by name.
    pub preferences: Map<String, Value>,
}

impl SharedContext {
    /// Creates an empty session.
    pub fn new(session_id: &str, started: Timestamp) -> Self {
        SharedContext {
            session_id: session_id.into(),
            session_started_at: started,
            shared_data: Map::new(),
            preferences: Map::new(),
        }
    }
}

/// Creates the file of a new session.
pub fn new_document(session_id: &str, at: Timestamp) -> JsonDocument {
    let mut value = json!({});
    SharedContextFile::write_state(&SharedContext::new(session_id, at), &mut value, at);
    JsonDocument::new(value)
}

impl StateFormat for SharedContextFile {
    type State = SharedContext;
    const KIND: &'static str = "shared-context";

    fn read_state(document: &JsonDocument) -> Result<ReadResult<SharedContext>, Vec<Finding>> {
        let mut reading = DocumentReader::new(document)?;
        let own: &[&str] = match document.value().get("session") {
            Some(Value::String(_)) => &["/version", "/shared_data", "/preferences"],
            _ => &["/version", "/session", "/shared_data", "/preferences"],
        };
        refuse_foreign(document, own)?;
        if reading.get("/session").is_none() && reading.get("/shared_data").is_none() {
            let message = FileFinding::NoSession;
            return Err(reading.give_up("/shared_data", "missing_field", message));
        }
        reading.check_version(VERSION_MAJOR, VERSION);
        let known = reading.seen_time("/last_updated");
        reading.read_object("/session");
        let session_started_at = reading.read_time_or(
            "/session/started_at",
            known.unwrap_or(Timestamp(0)),
            format_utc,
        );
        let day = &format_utc(session_started_at)[..10];
        let context = SharedContext {
            session_id: reading.read_text("/session/id", &format!("session-{day}-001")),
            session_started_at,
            shared_data: reading.read_open_object("/shared_data"),
            preferences: reading.read_open_object("/preferences"),
        };
        last_updated(&mut reading, Some(session_started_at));
        Ok(reading.finish(context))
    }

    fn write_state(context: &SharedContext, value: &mut Value, at: Timestamp) {
        put_version(value, VERSION_MAJOR, VERSION);
        let started = Some(context.session_started_at);
        put_value(value, "/session/id", context.session_id.clone());
        put_time(value, "/session/started_at", started, format_utc);
        put_value(value, "/shared_data", context.shared_data.clone());
        put_value(value, "/preferences", context.preferences.clone());
        put_later(value, "/last_updated", at, format_utc);
    }
}
