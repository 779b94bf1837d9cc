//! What a caller brings to every writing operation, and what it wants changed.

use serde_json::value::RawValue;

use crate::journal::kind;

/// Who asks, and when. This crate never reads the clock and makes up no ids.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The request id noted in the journal.
    pub id: String,
    /// The time in the journal and in the lock file, in the caller's own format.
    pub at: String,
    /// The same time as Unix milliseconds: for file names and for the age of lock files.
    pub now_ms: i64,
    /// What is being done, shown to others who wait for the lock.
    pub what: String,
}

/// The next version of a document, and what is written about it in the journal.
#[derive(Debug, Clone)]
pub struct Change {
    /// The whole new document; empty when it goes.
    pub text: String,
    /// There is to be no document any more: the file is removed, and its last version becomes the backup.
    pub gone: bool,
    /// The kind of the journal line; [`kind::CHANGE`] unless set.
    pub kind: String,
    /// The caller's transition, opaque.
    pub transition: Option<Box<RawValue>>,
    /// What has to happen once this is durable, opaque.
    pub effects: Option<Box<RawValue>>,
    /// Whether the archive gets a copy of the version before.
    pub important: bool,
}

impl Change {
    /// An ordinary change to `text`.
    pub fn to(text: impl Into<String>) -> Self {
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

    /// The removal of the document.
    pub fn removal() -> Self {
        Self {
            gone: true,
            ..Self::to("")
        }
    }
}

/// One step of a batch: committed at once, shown in the file later.
#[derive(Debug, Clone)]
pub struct Step {
    /// The request id noted in the journal.
    pub id: String,
    /// The time, in the caller's own format.
    pub at: String,
    /// What a [`crate::Replay`] needs to do the step again.
    pub logical: Box<RawValue>,
    /// The caller's transition, opaque.
    pub transition: Option<Box<RawValue>>,
    /// What has to happen once this is durable, opaque.
    pub effects: Option<Box<RawValue>>,
}
