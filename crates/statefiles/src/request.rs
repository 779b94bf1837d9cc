//! The caller's part of every write: the request, and the wanted change.

use serde_json::value::RawValue;

use crate::journal::kind;

/// The id and time of a caller's operation. This crate never reads the clock and creates no ids.
#[derive(Debug, Clone, Default)]
pub struct WriteRequest {
    /// The request id recorded in the journal.
    pub id: String,
    /// The time in the journal and in the lock file, in the caller's own format.
    pub at: String,
    /// The same time as Unix milliseconds: for file names and for the age of lock files.
    pub now_ms: i64,
    /// The operation, shown to processes that wait for the lock.
    pub what: String,
}

/// The next version of a document, and its record in the journal.
#[derive(Debug, Clone)]
pub struct DocumentChange {
    /// The whole new document; empty for a removal.
    pub text: String,
    /// True for a removal: the file is removed, and its last version becomes the backup.
    pub gone: bool,
    /// The kind of the journal line; [`kind::CHANGE`] unless set.
    pub kind: String,
    /// The caller's transition, opaque.
    pub transition: Option<Box<RawValue>>,
    /// The effects to execute once this is durable, opaque.
    pub effects: Option<Box<RawValue>>,
    /// True if the archive gets a copy of the version before.
    pub important: bool,
}

impl DocumentChange {
    /// Creates an ordinary change to `text`.
    pub fn replace_with(text: impl Into<String>) -> Self {
        let kind = kind::CHANGE.to_owned();
        Self {
            text: text.into(),
            gone: false,
            kind,
            transition: None,
            effects: None,
            important: false,
        }
    }

    /// Creates the removal of the document.
    pub fn removal() -> Self {
        Self {
            gone: true,
            ..Self::replace_with("")
        }
    }
}

/// One step of a batch: committed at once, written to the file later.
#[derive(Debug, Clone)]
pub struct BatchStep {
    /// The request id recorded in the journal.
    pub id: String,
    /// The time, in the caller's own format.
    pub at: String,
    /// The data that a [`crate::StepReplay`] needs to apply the step again.
    pub logical: Box<RawValue>,
    /// The caller's transition, opaque.
    pub transition: Option<Box<RawValue>>,
    /// The effects to execute once this is durable, opaque.
    pub effects: Option<Box<RawValue>>,
}
