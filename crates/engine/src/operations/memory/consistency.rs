//! Keeps the current task and the history consistent: pending history entries, and ids in use.
//!
//! Code that needs both locks takes that of the current task first.

use super::MemoryFolder;
use crate::context::Context;
use crate::effects::Owed;
use crate::error::Error;
use crate::files::{Moved, Notice};
use crate::history::transitions;
use crate::past::{current_id, entries, is_over};
use bowline_formats::memory::task_history::TaskHistoryFile;
use bowline_formats::memory::task_state::TaskStateFile;
use bowline_machines::plan::{HistoryEntry, Pruned, prune, push};
use bowline_statefiles::Pending;
use bowline_words::message as words;
use serde_json::{Value, json};

impl MemoryFolder {
    /// Executes the pending side effects of committed changes on the history. Safe to repeat.
    /// Returns notices about the history.
    pub fn settle(&self, context: &Context) -> Result<Vec<Notice>, Error> {
        let mut notices = Vec::new();
        if context.dry_run || self.state.file.pending_effects()?.is_empty() {
            return Ok(notices);
        }
        // Read again under the lock: another process may have executed them, and more may have been
        // added.
        let request = context.request();
        let mut held = self.state.file.hold(&request)?;
        for pending in self.state.file.pending_effects()? {
            if let Some(entry) = owed(&pending) {
                self.history.begin(context)?;
                let moved = Moved {
                    important: true,
                    ..Moved::new("history", "PUSH", None, entry.result.name())
                };
                let moved = moved.with(json!({ "task": entry.id }));
                let pushed = self
                    .history
                    .edit::<TaskHistoryFile>(context, &moved, |entries| {
                        let added = push(entries, entry.clone());
                        let pruned = prune(entries, context.now());
                        Ok(added || pruned != Pruned::default())
                    })?;
                notices.extend(pushed.into_iter().flat_map(|changed| changed.view.notices));
            }
            held.effects_done(&request, &[pending.seq])?;
        }
        Ok(notices)
    }

    /// Clears a current task that the history already has: an earlier command finished it without
    /// clearing it. Returns notices.
    pub(crate) fn clear_finished(&self, context: &Context) -> Result<Vec<Notice>, Error> {
        // An unreadable history stops the command before it commits anything for the history.
        let past = self.past(context)?;
        let Ok(view) = self.state.view(context) else {
            return Ok(Vec::new());
        };
        let Some(id) = current_id(&view).filter(|id| is_over(&past, id)) else {
            return Ok(Vec::new());
        };
        let moved = Moved::new("task", "CONSISTENCY", None, "none").with(json!({ "task": id }));
        let cleared = self
            .state
            .edit::<TaskStateFile>(context, &moved, |memory| {
                // Another task may be the current one by now.
                let same = memory.current.as_ref().is_some_and(|task| task.id == id);
                let past = self.past(context)?;
                let cleared = memory.without_finished(&past, context.now());
                Ok(same && cleared.map(|cleared| *memory = cleared).is_some())
            })?;
        let Some(changed) = cleared else {
            return Ok(Vec::new());
        };
        let mut notices = changed.view.notices;
        notices.push(Notice::Keeper {
            code: "finished_task_cleared",
            words: words::Notice::AlreadyInHistory { id: id.clone() },
        });
        Ok(notices)
    }

    /// Returns the tasks that are over; empty if there is no history yet.
    pub fn past(&self, context: &Context) -> Result<Vec<HistoryEntry>, Error> {
        entries(context, &self.history)
    }

    /// Returns every id of a task that may no longer be in the state: tasks that are over, tasks on
    /// their way into the history, and those in the journal. To be called with the lock of the
    /// current task held; otherwise entries on their way may be missed.
    pub(super) fn given_ids(&self, context: &Context) -> Result<Vec<String>, Error> {
        let pending = self.state.file.pending_effects()?;
        let mut ids: Vec<String> = pending
            .iter()
            .filter_map(owed)
            .map(|entry| entry.id)
            .collect();
        ids.extend(self.past(context)?.into_iter().map(|entry| entry.id));
        for line in transitions(&self.state)? {
            let named = ["id", "task"].map(|member| line.metadata.get(member));
            let named = named.into_iter().flatten().filter_map(Value::as_str);
            ids.extend(named.map(str::to_owned));
            ids.push(line.task_id);
        }
        Ok(ids)
    }
}

/// Returns the history entry that a committed change still has to add.
fn owed(pending: &Pending) -> Option<HistoryEntry> {
    match Owed::of_raw(&pending.effects)? {
        Owed::PushHistory(entry) => Some(*entry),
        Owed::Tick { .. } | Owed::Announce(_) => None,
    }
}
