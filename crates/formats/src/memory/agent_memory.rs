//! `agents/NAME.json`: the memory of one agent.

use super::path::FixedMembers;
use super::{VERSION, VERSION_MAJOR, last_updated};
use crate::StateFormat;
use crate::document_reader::{DocumentReader, put_later, put_value, put_version};
use crate::finding::{Finding, ReadResult, Severity};
use crate::foreign::refuse_foreign;
use crate::json::JsonDocument;
use crate::time::format_utc;
use bowline_machines::Timestamp;
use bowline_words::message::FileFinding;
use serde_json::{Map, Value, json};

/// Folder of these files in the memory folder.
pub const FOLDER_NAME: &str = "agents";
/// Maximum entries in a list of the cache; the latest are kept.
pub const CACHE_ENTRIES_MAX: usize = 100;
/// Days without use after which the cache of an agent is dropped.
pub const CACHE_DAYS_UNUSED_MAX: i64 = 30;

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// Members that cannot be set by path.
pub const SKELETON: FixedMembers = FixedMembers {
    fixed: &["version", "agent", "last_updated"],
    sections: &["preferences", "cache", "statistics"],
};

/// The format of `agents/NAME.json`.
#[derive(Debug, Clone, Copy)]
pub struct AgentMemoryFile;

/// The memory of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentMemory {
    /// Name of the agent.
    pub agent: String,
    /// Preferences for its work, by name.
    pub preferences: Map<String, Value>,
    /// Data that may be dropped, by name.
    pub cache: Map<String, Value>,
    /// Statistics of its work, by name.
    pub statistics: Map<String, Value>,
    pub last_updated: Timestamp,
}

/// True if a text is a valid agent name, which is also the name of its file: `[a-z0-9-]+`.
pub fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(allowed)
}

/// Creates the file of an agent with an empty memory.
pub fn new_document(agent: &str, at: Timestamp) -> JsonDocument {
    let memory = AgentMemory {
        agent: agent.into(),
        preferences: Map::new(),
        cache: Map::new(),
        statistics: Map::new(),
        last_updated: at,
    };
    let mut value = json!({});
    AgentMemoryFile::write_state(&memory, &mut value, at);
    JsonDocument::new(value)
}

/// Returns the memory with its cache reduced to the limits; `None` if nothing is to be dropped.
pub fn prune_cache(memory: &AgentMemory, at: Timestamp) -> Option<AgentMemory> {
    let mut cut = memory.clone();
    let unused = at.seconds_since(memory.last_updated);
    // A file without a time reads as very old; its cache is kept.
    let dated = memory.last_updated > Timestamp(0);
    if dated && unused >= CACHE_DAYS_UNUSED_MAX * DAY_SECONDS {
        cut.cache.clear();
    }
    for entry in cut.cache.values_mut() {
        // Lists grow at their end: the first entries are the oldest.
        if let Value::Array(items) = entry
            && items.len() > CACHE_ENTRIES_MAX
        {
            items.drain(..items.len() - CACHE_ENTRIES_MAX);
        }
    }
    (cut.cache != memory.cache).then_some(cut)
}

impl StateFormat for AgentMemoryFile {
    type State = AgentMemory;
    const KIND: &'static str = "agent-memory";

    fn read_state(document: &JsonDocument) -> Result<ReadResult<AgentMemory>, Vec<Finding>> {
        let mut reading = DocumentReader::new(document)?;
        refuse_foreign(
            document,
            &[
                "/version",
                "/agent",
                "/preferences",
                "/cache",
                "/statistics",
            ],
        )?;
        // The name is the only value that has no default.
        if !reading.get("/agent").is_some_and(Value::is_string) {
            let message = FileFinding::NoAgentName;
            return Err(reading.give_up("/agent", "missing_field", message));
        }
        reading.check_version(VERSION_MAJOR, VERSION);
        if !reading
            .get("/agent")
            .and_then(Value::as_str)
            .is_some_and(is_name)
        {
            let message = FileFinding::BadAgentName;
            reading.add_finding(Severity::Error, "bad_name", "/agent", message, None);
        }
        let memory = AgentMemory {
            agent: reading.read_text("/agent", ""),
            preferences: reading.read_open_object("/preferences"),
            cache: reading.read_open_object("/cache"),
            statistics: reading.read_open_object("/statistics"),
            last_updated: last_updated(&mut reading, None),
        };
        Ok(reading.finish(memory))
    }

    fn write_state(memory: &AgentMemory, value: &mut Value, at: Timestamp) {
        put_version(value, VERSION_MAJOR, VERSION);
        put_value(value, "/agent", memory.agent.clone());
        put_value(value, "/preferences", memory.preferences.clone());
        put_value(value, "/cache", memory.cache.clone());
        put_value(value, "/statistics", memory.statistics.clone());
        put_later(value, "/last_updated", at, format_utc);
    }
}
