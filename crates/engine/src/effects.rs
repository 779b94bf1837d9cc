//! Side effects of a change outside its file. They are stored in the journal with the change until
//! they are done, and may be executed twice.

use crate::operations::orchestrate::RunNotification;
use bowline_formats::StateFormat as _;
use bowline_formats::json::JsonDocument;
use bowline_formats::memory::task_history::TaskHistoryFile;
use bowline_machines::Timestamp;
use bowline_machines::plan::HistoryEntry;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Pending side effect of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PendingEffect {
    /// Adds a task that is over to the history; an entry that exists is not added again.
    PushHistory(Box<HistoryEntry>),
    /// Ticks a completed task in its plan; an existing tick stays.
    Tick {
        /// Id of the task.
        task: String,
        /// Folder in which the caller completed it: the plan of that checkout is meant.
        folder: PathBuf,
    },
    /// Sends notifications; they may be sent twice.
    Announce(Vec<RunNotification>),
}

impl PendingEffect {
    /// Serialises the effect for the journal.
    pub(crate) fn to_raw(&self) -> Box<RawValue> {
        let value = match self {
            PendingEffect::PushHistory(entry) => {
                let mut history = json!({});
                TaskHistoryFile::write_state(&vec![(**entry).clone()], &mut history, Timestamp(0));
                json!({ "push_history": history["tasks"][0].take() })
            }
            PendingEffect::Tick { task, folder } => json!({ "tick": task, "in": folder }),
            PendingEffect::Announce(news) => json!({ "announce": news }),
        };
        // A value of texts and numbers always serialises; an effect must not be able to stop a
        // change.
        to_raw_value(&value).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    /// Parses an effect from the journal; `None` if this program does not know it.
    pub(crate) fn of_raw(raw: &RawValue) -> Option<PendingEffect> {
        let mut value: Value = serde_json::from_str(raw.get()).ok()?;
        if let (Some(task), Some(folder)) = (value["tick"].as_str(), value["in"].as_str()) {
            return Some(PendingEffect::Tick {
                task: task.to_owned(),
                folder: folder.into(),
            });
        }
        if let Some(news) = value.get_mut("announce") {
            let news = serde_json::from_value(news.take()).ok()?;
            return Some(PendingEffect::Announce(news));
        }
        let entry = value.get_mut("push_history")?.take();
        let document =
            JsonDocument::new(json!({ "version": "1.0", "tasks": [entry], "statistics": {} }));
        let entries = TaskHistoryFile::read_state(&document).ok()?.state;
        Some(PendingEffect::PushHistory(Box::new(
            entries.into_iter().next()?,
        )))
    }
}
