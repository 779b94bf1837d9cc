//! What has to happen outside a file once a change of it is durable. It is kept in the journal with the change until it is done, and may be
//! done twice.

use crate::operations::orchestrate::Announced;
use bowline_formats::StateFormat as _;
use bowline_formats::json::JsonDocument;
use bowline_formats::memory::task_history::TaskHistoryFile;
use bowline_machines::Timestamp;
use bowline_machines::plan::HistoryEntry;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What a change owes the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owed {
    /// A task that is over belongs into the history. One that is there is not pushed again.
    PushHistory(Box<HistoryEntry>),
    /// A task that is done is ticked in its plan. A tick that is there stays.
    Tick {
        /// Which.
        task: String,
        /// Where whoever completed it stood: the plan of that checkout is meant.
        folder: PathBuf,
    },
    /// People elsewhere are told. They may be told twice.
    Announce(Vec<Announced>),
}

impl Owed {
    /// As the journal keeps it.
    pub(crate) fn to_raw(&self) -> Box<RawValue> {
        let value = match self {
            Owed::PushHistory(entry) => {
                let mut history = json!({});
                TaskHistoryFile::write(&vec![(**entry).clone()], &mut history, Timestamp(0));
                json!({ "push_history": history["tasks"][0].take() })
            }
            Owed::Tick { task, folder } => json!({ "tick": task, "in": folder }),
            Owed::Announce(news) => json!({ "announce": news }),
        };
        // A value of texts and numbers always serialises; an effect must not be able to stop a change.
        to_raw_value(&value).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    /// What the journal kept; `None` for what this program does not know.
    pub(crate) fn of_raw(raw: &RawValue) -> Option<Owed> {
        let mut value: Value = serde_json::from_str(raw.get()).ok()?;
        if let (Some(task), Some(folder)) = (value["tick"].as_str(), value["in"].as_str()) {
            return Some(Owed::Tick {
                task: task.to_owned(),
                folder: folder.into(),
            });
        }
        if let Some(news) = value.get_mut("announce") {
            let news = serde_json::from_value(news.take()).ok()?;
            return Some(Owed::Announce(news));
        }
        let entry = value.get_mut("push_history")?.take();
        let document =
            JsonDocument::new(json!({ "version": "1.0", "tasks": [entry], "statistics": {} }));
        let entries = TaskHistoryFile::read(&document).ok()?.state;
        Some(Owed::PushHistory(Box::new(entries.into_iter().next()?)))
    }
}
