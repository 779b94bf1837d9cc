//! Durable storage for jobs: their states, the records people work with, events and pending
//! effects.
//!
//! [`Store`] has two halves. **Changing** is one method: [`Store::commit_steps`] commits a list of
//! decided [`StoreStep`]s, each whole or not at all, all in one commit. A step is a business
//! transition: the next state of one or more jobs with everything that follows from it (transition
//! lines and other [`NewEvent`]s, effects to execute, timers, records for people, the response to
//! the request). Times and ids are passed in; outcomes are typed. **Reading** is the rest, and
//! never waits for a writer.
//!
//! There are two stores, held to the same behaviour by one test suite and by random runs on both:
//! [`MemoryStore`], the model, and [`SqliteStore`]. No connection leaves this crate, and nothing
//! here decides what a job may do.

#![warn(missing_docs)]

mod advance;
mod keys;
mod memory;
mod resource;
mod rows;
mod sqlite;

pub use advance::{
    AddedSpend, CommitOutcome, EffectResult, IdempotentRequest, JobChange, NewEffect, NewEvent,
    NextJobState, SettledEffect, StoreStep, TimerChange,
};
pub use keys::{KeyError, SecretKey, random_token};
pub use memory::MemoryStore;
pub use resource::{Resource, lacking_resource, resource_of_error};
pub use rows::{
    BegunStepRow, CheckpointRow, CriterionRow, DeliveryRow, DependencyRow, EffectRow, EventKind,
    EventRow, FileCommentRow, JobAttributes, JobBudget, JobRecord, JobRow, MessageRow, NO_JOB,
    OutputPosition, PermissionRow, QuestionRow, RecordBody, RecordKind, ReviewRow, RuleRow,
    SpendRow, TimerRow, VerificationRow,
};
pub use sqlite::SqliteStore;

use bowline_machines::Timestamp;
use bowline_machines::job::TaskStatus;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Durable storage for jobs. One process writes; any number of its threads may read.
pub trait Store: std::fmt::Debug + Send + Sync {
    /// Commits decided steps in this order, in one commit, and returns one outcome per step. Each
    /// step is applied whole or not at all; one that is not applied does not stop the others. After
    /// an error nothing is known to be applied: read before trying again.
    fn commit_steps(&self, steps: Vec<StoreStep>) -> Result<Vec<CommitOutcome>, StoreError>;

    /// Starts the same commit without waiting for it. Lists of steps are applied in the order of
    /// the calls, whatever the outcome of the one before; `ready` is called once the result is
    /// available.
    fn begin_commit(&self, steps: Vec<StoreStep>, ready: Box<dyn FnOnce() + Send>) -> CommitHandle {
        let mut answer = Some(self.commit_steps(steps));
        ready();
        Box::new(move |_| answer.take())
    }

    /// Closes every connection and opens new ones, after a failure. Committed data stays; nothing
    /// is undone.
    fn reopen(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Deletes rows that are past their retention. The history of a job stays as long as the job.
    fn prune_rows(&self, kept: &RetentionLimits) -> Result<PrunedCounts, StoreError>;

    /// Merges the write-ahead log into the main file, so that a copy of that one file is complete.
    fn merge_log(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Writes a complete copy to a new file while the store is in use.
    fn write_backup(&self, to: &Path) -> Result<(), StoreError>;

    /// Returns the job with this id.
    fn find_job(&self, id: &str) -> Result<Option<JobRow>, StoreError>;

    /// Returns the jobs that match, the newest first.
    fn list_jobs(&self, wanted: &JobQuery) -> Result<Vec<JobRow>, StoreError>;

    /// Returns every job that is neither completed nor failed, the oldest first.
    fn open_jobs(&self) -> Result<Vec<JobRow>, StoreError>;

    /// Returns the number of jobs in each status.
    fn count_by_status(&self) -> Result<Vec<(TaskStatus, u64)>, StoreError>;

    /// Returns the ids of jobs that depend on this one.
    fn dependents_of(&self, id: &str) -> Result<Vec<String>, StoreError>;

    /// Returns the record with this id.
    fn find_record(&self, id: &str) -> Result<Option<JobRecord>, StoreError>;

    /// Returns the records that match, the oldest first.
    fn list_records(&self, wanted: &RecordQuery) -> Result<Vec<JobRecord>, StoreError>;

    /// Returns the events that match, the oldest first.
    fn list_events(&self, wanted: &EventQuery) -> Result<Vec<EventRow>, StoreError>;

    /// Returns the sequence number from which on no event is missing, and the newest one; both 0
    /// when there is none.
    fn feed_range(&self) -> Result<(u64, u64), StoreError>;

    /// Returns the effects that are not settled, the oldest first.
    fn open_effects(&self) -> Result<Vec<EffectRow>, StoreError>;

    /// Returns the recorded attempts to execute the effects of a job.
    fn deliveries_of(&self, job: &str) -> Result<Vec<DeliveryRow>, StoreError>;

    /// Returns every timer, the next to fire first.
    fn list_timers(&self) -> Result<Vec<TimerRow>, StoreError>;

    /// Returns tokens and money used, by day, job and agent, the oldest first.
    fn list_spend(&self, wanted: &SpendQuery) -> Result<Vec<SpendRow>, StoreError>;

    /// Returns the stored response to the request with this id.
    fn stored_response(&self, id: &str) -> Result<Option<Value>, StoreError>;
}

/// Handle of a commit that was started. Called with `true`, it waits for the result; with `false`,
/// it returns the result if it is available. The result is returned once.
pub type CommitHandle =
    Box<dyn FnMut(bool) -> Option<Result<Vec<CommitOutcome>, StoreError>> + Send>;

/// Filter of [`Store::list_jobs`]; the default matches all that are not archived.
#[derive(Debug, Clone, Default)]
pub struct JobQuery {
    /// Only jobs in this status.
    pub status: Option<TaskStatus>,
    /// Only jobs of this type.
    pub type_name: Option<String>,
    /// Only jobs with this text in title or description, ignoring case.
    pub text: Option<String>,
    /// Only jobs with this label.
    pub label: Option<String>,
    /// True to include archived jobs.
    pub archived: bool,
    /// Only jobs after this one in the order of the list: its creation time and id.
    pub after: Option<(Timestamp, String)>,
    /// At most this many rows; 0 for all.
    pub limit: usize,
}

/// Filter of [`Store::list_records`]; the default matches all.
#[derive(Debug, Clone, Default)]
pub struct RecordQuery {
    /// Only records of this job.
    pub job: Option<String>,
    /// Only records of this kind.
    pub kind: Option<RecordKind>,
    /// Only records that wait for a person.
    pub open: bool,
}

/// Filter of [`Store::list_events`]; the default matches all.
#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// Only events of this job.
    pub job: Option<String>,
    /// Only events of this kind.
    pub kind: Option<EventKind>,
    /// Only events with a greater sequence number.
    pub after: u64,
    /// At most this many events; 0 for all.
    pub limit: usize,
}

/// Filter of [`Store::list_spend`]; the default matches all.
#[derive(Debug, Clone, Default)]
pub struct SpendQuery {
    /// Only spend of this job.
    pub job: Option<String>,
    /// Only from this day on, in days since 1970.
    pub from_day: Option<i64>,
}

/// Returns the UTC day of a time, in days since 1970.
pub fn day_of(at: Timestamp) -> i64 {
    at.0.div_euclid(86_400)
}

/// Limits of what [`Store::prune_rows`] keeps.
#[derive(Debug, Clone, Copy)]
pub struct RetentionLimits {
    /// Number of newest events that are kept; of older ones, those of removed jobs are deleted.
    pub events: u64,
    /// Number of newest responses that are kept.
    pub requests: u64,
    /// Total bytes of the newest responses that are kept.
    pub request_bytes: u64,
    /// Responses older than this are deleted even within the limits above.
    pub requests_from: Timestamp,
    /// Responses younger than this are kept even beyond the limits above.
    pub requests_until: Timestamp,
    /// Settled effects older than this are deleted; `None` keeps them all.
    pub effects_from: Option<Timestamp>,
}

/// Numbers of rows that a prune deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrunedCounts {
    /// Number of deleted events.
    pub events: u64,
    /// Number of deleted responses.
    pub requests: u64,
    /// Number of deleted settled effects.
    pub effects: u64,
}

/// An error of a store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The machine lacks a resource for the moment; the same call succeeds once it is available
    /// again.
    #[error("{resource} for {path}")]
    Exhausted {
        /// The resource that is lacking.
        resource: Resource,
        /// The file of the store.
        path: String,
    },
    /// Another process uses the store.
    #[error("the store {path} is in use by another process")]
    Locked {
        /// The file of the store.
        path: String,
    },
    /// The file was written by a newer program.
    #[error("the store has version {found}; this program knows up to {known}")]
    Newer {
        /// The version of the file.
        found: i64,
        /// The newest version known to this program.
        known: i64,
    },
    /// The file system cannot give a guarantee that durability needs.
    #[error("the store cannot be kept at {path}: {why}")]
    Unsafe {
        /// The file of the store.
        path: String,
        /// The guarantee that is missing.
        why: String,
    },
    /// A row cannot be read.
    #[error("row {id} cannot be read: {why}")]
    Damaged {
        /// The id of the row.
        id: String,
        /// The reason, as text.
        why: String,
    },
    /// The file of the store is damaged.
    #[error("the store {path} is damaged: {why}; stop the server and start it with --rebuild")]
    DamagedFile {
        /// The file of the store.
        path: String,
        /// The message of the database.
        why: String,
    },
    /// The database failed. The last change may or may not be committed.
    #[error("the store failed")]
    Failed(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Returns the stable error code, in `snake_case`.
    pub fn code(&self) -> &'static str {
        match self {
            StoreError::Exhausted { resource, .. } => resource.code(),
            StoreError::Locked { .. } => "store_locked",
            StoreError::Newer { .. } => "store_newer",
            StoreError::Unsafe { .. } => "store_unsafe",
            StoreError::Damaged { .. } | StoreError::DamagedFile { .. } => "store_damaged",
            StoreError::Failed(_) => "store_failed",
        }
    }

    fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        StoreError::Failed(Arc::new(error))
    }
}
