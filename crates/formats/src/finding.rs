//! What a tolerant reader has to say about a file: where, how bad, and how it would be repaired.

use crate::json::JsonDocument;
use bowline_machines::named;
use bowline_words::Lang;
use bowline_words::message::{Found, Repair};
use serde_json::Value;

named! {
    /// How bad a finding is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Severity {
        /// Worth knowing; nothing is wrong.
        Note = "note",
        /// Tolerated: the meaning is clear.
        Warning = "warning",
        /// Wrong: a value had to be replaced or guessed.
        Error = "error",
        /// Readable, but must not be written by this program.
        ReadOnly = "read_only",
        /// Not readable as this kind of file.
        Fatal = "fatal",
    }
}

/// One thing found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Stable, `snake_case`, documented by `bowline explain`.
    pub code: &'static str,
    /// JSON pointer to the place; empty for the whole file.
    pub pointer: String,
    /// What is the matter, a sentence fragment.
    pub message: Found,
    /// What a repair does about it; `None` where only a person can.
    pub repair: Option<Repair>,
}

impl Finding {
    /// The finding as JSON, with line and column where the document is at hand.
    pub fn to_json(&self, document: Option<&JsonDocument>) -> Value {
        let mut value = serde_json::json!({
            "severity": self.severity.name(),
            "code": self.code,
            "pointer": self.pointer,
            "message": self.message.say(Lang::En),
            "repair": self.repair.as_ref().map(|repair| repair.say(Lang::En)),
        });
        if let (Some(document), Some(map)) = (document, value.as_object_mut()) {
            let (line, column) = document.position(&self.pointer);
            map.insert("line".into(), line.into());
            map.insert("column".into(), column.into());
        }
        value
    }
}

/// A file read as some kind: what it says, what is odd about it, and what it would say repaired.
#[derive(Debug, Clone, PartialEq)]
pub struct Read<S> {
    /// The typed state.
    pub state: S,
    /// Everything found, in the order of the file.
    pub findings: Vec<Finding>,
    /// The document's value with every repairable finding repaired.
    pub fixed: Value,
}

impl<S> Read<S> {
    /// The worst of the findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}
