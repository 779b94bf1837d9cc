//! Findings of a tolerant reader: place, severity, message and repair.

use crate::json::JsonDocument;
use bowline_machines::named;
use bowline_words::Lang;
use bowline_words::message::{FileFinding, Repair};
use serde_json::Value;

named! {
    /// Severity of a finding, in rising order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Severity {
        /// Worth knowing; nothing is wrong.
        Note = "note",
        /// Tolerated, because the meaning is clear.
        Warning = "warning",
        /// Wrong: a value had to be replaced or guessed.
        Error = "error",
        /// Readable, but must not be written by this program.
        ReadOnly = "read_only",
        /// Not readable as this kind of file.
        Fatal = "fatal",
    }
}

/// One problem found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Severity of the problem.
    pub severity: Severity,
    /// Stable code in `snake_case`, documented by `bowline explain`.
    pub code: &'static str,
    /// JSON pointer to the place; empty for the whole file.
    pub pointer: String,
    /// Description of the problem, a sentence fragment.
    pub message: FileFinding,
    /// Description of the automatic repair; `None` if only a person can repair it.
    pub repair: Option<Repair>,
}

impl Finding {
    /// Returns the finding as JSON, with line and column if the document is given.
    pub fn to_json(&self, document: Option<&JsonDocument>) -> Value {
        let mut value = serde_json::json!({
            "severity": self.severity.name(),
            "code": self.code,
            "pointer": self.pointer,
            "message": self.message.say(Lang::En),
            "repair": self.repair.as_ref().map(|repair| repair.say(Lang::En)),
        });
        if let (Some(document), Some(map)) = (document, value.as_object_mut()) {
            let (line, column) = document.line_and_column(&self.pointer);
            map.insert("line".into(), line.into());
            map.insert("column".into(), column.into());
        }
        value
    }
}

/// The result of reading a file: its state, its findings, and its repaired value.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadResult<S> {
    /// The typed state of the file.
    pub state: S,
    /// All findings, in the order of the file.
    pub findings: Vec<Finding>,
    /// The document's value with every automatic repair applied.
    pub fixed: Value,
}

impl<S> ReadResult<S> {
    /// Returns the highest severity among the findings.
    pub fn worst_severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}
