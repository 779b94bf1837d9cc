//! Keeps the current task and the history consistent: pending history entries, and ids in use.
//!
//! Code that needs both locks takes that of the current task first.

use super::MemoryFolder;
use crate::context::Context;
use crate::effects::PendingEffect;
use crate::error::Error;
use crate::files::{ChangeRecord, FileNotice};
use crate::finished_tasks::{current_id, finished_entries, is_over};
use crate::history::read_transitions;
use bowline_formats::memory::task_history::TaskHistoryFile;
use bowline_formats::memory::task_state::TaskStateFile;
use bowline_machines::plan::{HistoryEntry, PrunedHistory, prune_history, push_entry};
use bowline_statefiles::CommittedEffects;
use bowline_words::message as words;
use serde_json::{Value, json};

impl MemoryFolder {
    /// Executes the pending side effects of committed changes on the history. Safe to repeat.
    /// Returns notices about the history.
    pub fn settle_effects(&self, context: &Context) -> Result<Vec<FileNotice>, Error> {
        let mut notices = Vec::new();
        if context.dry_run || self.state.file.pending_effects()?.is_empty() {
            return Ok(notices);
        }
        // Read again under the lock: another process may have executed them, and more may have been
        // added.
        let request = context.new_request();
        let mut held = self.state.file.lock_for_writing(&request)?;
        for pending in self.state.file.pending_effects()? {
            if let Some(entry) = pending_entry(&pending) {
                self.history.create_initial(context)?;
                let moved = ChangeRecord {
                    important: true,
                    ..ChangeRecord::new("history", "PUSH", None, entry.result.name())
                };
                let moved = moved.with_metadata(json!({ "task": entry.id }));
                let pushed =
                    self.history
                        .edit_state::<TaskHistoryFile>(context, &moved, |entries| {
                            let added = push_entry(entries, entry.clone());
                            let pruned = prune_history(entries, context.now());
                            Ok(added || pruned != PrunedHistory::default())
                        })?;
                notices.extend(pushed.into_iter().flat_map(|changed| changed.view.notices));
            }
            held.record_executed_effects(&request, &[pending.seq])?;
        }
        Ok(notices)
    }

    /// Clears a current task that the history already has: an earlier command finished it without
    /// clearing it. Returns notices.
    pub(crate) fn clear_finished(&self, context: &Context) -> Result<Vec<FileNotice>, Error> {
        // An unreadable history stops the command before it commits anything for the history.
        let past = self.finished_tasks(context)?;
        let Ok(view) = self.state.read_view(context) else {
            return Ok(Vec::new());
        };
        let Some(id) = current_id(&view).filter(|id| is_over(&past, id)) else {
            return Ok(Vec::new());
        };
        let moved = ChangeRecord::new("task", "CONSISTENCY", None, "none")
            .with_metadata(json!({ "task": id }));
        let cleared = self
            .state
            .edit_state::<TaskStateFile>(context, &moved, |memory| {
                // Another task may be the current one by now.
                let same = memory.current.as_ref().is_some_and(|task| task.id == id);
                let past = self.finished_tasks(context)?;
                let cleared = memory.without_finished(&past, context.now());
                Ok(same && cleared.map(|cleared| *memory = cleared).is_some())
            })?;
        let Some(changed) = cleared else {
            return Ok(Vec::new());
        };
        let mut notices = changed.view.notices;
        notices.push(FileNotice::Keeper {
            code: "finished_task_cleared",
            words: words::Notice::AlreadyInHistory { id: id.clone() },
        });
        Ok(notices)
    }

    /// Returns the tasks that are over; empty if there is no history yet.
    pub fn finished_tasks(&self, context: &Context) -> Result<Vec<HistoryEntry>, Error> {
        finished_entries(context, &self.history)
    }

    /// Returns every id of a task that may no longer be in the state: tasks that are over, tasks on
    /// their way into the history, and those in the journal. To be called with the lock of the
    /// current task held; otherwise entries on their way may be missed.
    pub(super) fn given_ids(&self, context: &Context) -> Result<Vec<String>, Error> {
        let pending = self.state.file.pending_effects()?;
        let mut ids: Vec<String> = pending
            .iter()
            .filter_map(pending_entry)
            .map(|entry| entry.id)
            .collect();
        ids.extend(
            self.finished_tasks(context)?
                .into_iter()
                .map(|entry| entry.id),
        );
        for line in read_transitions(&self.state)? {
            let named = ["id", "task"].map(|member| line.metadata.get(member));
            let named = named.into_iter().flatten().filter_map(Value::as_str);
            ids.extend(named.map(str::to_owned));
            ids.push(line.task_id);
        }
        Ok(ids)
    }
}

/// Returns the history entry that a committed change still has to add.
fn pending_entry(pending: &CommittedEffects) -> Option<HistoryEntry> {
    match PendingEffect::of_raw(&pending.effects)? {
        PendingEffect::PushHistory(entry) => Some(*entry),
        PendingEffect::Tick { .. } | PendingEffect::Announce(_) => None,
    }
}
