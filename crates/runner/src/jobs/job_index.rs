//! Jobs and timers by what is next for them. Updated with every change, so that frequent questions
//! cost the same with ten jobs and with a hundred thousand.

use super::folder_claims::{FolderClaims, SharedClaims};
use super::store_change::is_agent_stopped;
use bowline_machines::Timestamp;
use bowline_machines::job::{JobState, Priority, ProcessState};
use bowline_store::{JobRow, TimerRow};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Key of a job in the queue: the most urgent and oldest first.
pub(super) type QueueKey = (Priority, i64, String);

#[derive(Debug, Default)]
pub(super) struct JobIndex {
    /// Jobs whose agent works, or is verified.
    working: BTreeSet<String>,
    /// Pending jobs that may be assigned, as far as known.
    queue: BTreeSet<QueueKey>,
    /// Jobs whose agent is stopped, the longest waiting first.
    stopped: BTreeSet<(i64, String)>,
    /// Timers, the next one first.
    timers: BTreeSet<(Timestamp, (String, String))>,
    /// Folders that jobs hold or wait for.
    pub(super) claims: SharedClaims,
}

pub(super) fn queue_key(row: &JobRow) -> QueueKey {
    let about = &row.about;
    (about.priority, about.created_at, row.id.clone())
}

fn is_working(row: &JobRow) -> bool {
    matches!(
        row.job.state,
        JobState::Running | JobState::Verifying { .. }
    )
}

fn stopped_since(row: &JobRow) -> Option<(i64, String)> {
    let waits = is_agent_stopped(&row.job.state) && row.job.process == ProcessState::Live;
    waits.then(|| (row.about.waits_since.unwrap_or(0), row.id.clone()))
}

fn timer_place(timer: &TimerRow) -> (Timestamp, (String, String)) {
    (timer.due, (timer.job.clone(), timer.key.clone()))
}

impl JobIndex {
    pub(super) fn new(data: &Path) -> Self {
        JobIndex {
            claims: Arc::new(Mutex::new(FolderClaims::new(data))),
            ..JobIndex::default()
        }
    }

    /// Moves the claims to where other threads read them.
    pub(super) fn share_claims(&mut self, shared: SharedClaims) {
        let mine = std::mem::take(&mut *self.claims());
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = mine;
        self.claims = shared;
    }

    /// Updates the index for a job that changed, appeared or is gone.
    pub(super) fn update_job(&mut self, before: Option<&JobRow>, now: Option<&JobRow>) {
        let woken = self.claims().update(before, now);
        self.queue.extend(woken);
        if let Some(row) = before {
            self.working.remove(&row.id);
            self.queue.remove(&queue_key(row));
            if let Some(place) = stopped_since(row) {
                self.stopped.remove(&place);
            }
        }
        if let Some(row) = now {
            if is_working(row) {
                self.working.insert(row.id.clone());
            }
            self.enqueue_pending(row);
            self.stopped.extend(stopped_since(row));
        }
    }

    /// Puts a pending job into the queue.
    pub(super) fn enqueue_pending(&mut self, row: &JobRow) {
        if row.job.state == JobState::Pending {
            self.queue.insert(queue_key(row));
        }
    }

    /// Takes a pending job out of the queue until it is woken.
    pub(super) fn dequeue(&mut self, row: &JobRow) {
        self.queue.remove(&queue_key(row));
    }

    /// Takes a pending job out of the queue until the folder it needs is free.
    pub(super) fn wait_for_folder(&mut self, row: &JobRow) {
        self.dequeue(row);
        self.claims().wait_for_folder(row);
    }

    pub(super) fn claims(&self) -> MutexGuard<'_, FolderClaims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the index for a timer that was set or cleared.
    pub(super) fn update_timer(&mut self, before: Option<&TimerRow>, now: Option<&TimerRow>) {
        if let Some(timer) = before {
            self.timers.remove(&timer_place(timer));
        }
        self.timers.extend(now.map(timer_place));
    }

    pub(super) fn working_count(&self) -> usize {
        self.working.len()
    }

    /// Returns the next job of the queue.
    pub(super) fn next_queued(&self) -> Option<&String> {
        self.queue.first().map(|(_, _, id)| id)
    }

    pub(super) fn stopped_agents(&self) -> &BTreeSet<(i64, String)> {
        &self.stopped
    }

    /// Returns the time of the first timer after this moment.
    pub(super) fn next_timer(&self, behind: Timestamp) -> Option<Timestamp> {
        let first = (Timestamp(behind.0.saturating_add(1)), Default::default());
        self.timers.range(first..).next().map(|(due, _)| *due)
    }

    /// Returns the timers that are due, the oldest first.
    pub(super) fn timers_until(&self, now: Timestamp) -> impl Iterator<Item = &(String, String)> {
        let due = self.timers.iter().take_while(move |(due, _)| *due <= now);
        due.map(|(_, place)| place)
    }
}
