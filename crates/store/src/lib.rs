//! Jobs, kept: their states, what they ask of people, what happened, and what is still to be done, in one durable place.
//!
//! [`Store`] has two halves. **Changing** is one method: [`Store::advance`] makes a list of decided [`Advance`]s durable, each
//! whole or not at all, all in one commit. An advance is a business transition: the next state of one or more jobs with
//! everything that follows from it (transition lines and other [`NewEvent`]s, effects to be carried out, timers, rows that
//! people look at, the answer to the request that asked for it). Time and ids come in; outcomes come out typed. **Reading**
//! is the rest, and never waits for a writer.
//!
//! There are two stores, held to the same by one suite of tests and by random runs on both: [`Memory`], the model, and
//! [`Sqlite`]. No connection leaves this crate, and nothing here decides what a job may do.

mod advance;
mod keys;
mod memory;
mod resource;
mod rows;
mod sqlite;

pub use advance::{
    Advance, Change, EffectEnd, NewEffect, NewEvent, Next, Outcome, Request, Settle, Spent,
    TimerChange,
};
pub use keys::{Key, KeyError, unguessable};
pub use memory::Memory;
pub use resource::{Resource, exhausted, is_exhausted};
pub use rows::{
    About, Budget, CheckpointRow, CriterionRow, DeliveryRow, DependencyRow, EffectRow, EventKind,
    EventRow, FileComment, JobRow, NO_JOB, PermissionRow, Place, Priority, QuestionRow, Record,
    RecordBody, RecordKind, ReviewRow, RuleRow, SaidRow, SpendRow, StepBegun, TimerRow,
    VerificationRow,
};
pub use sqlite::Sqlite;

use bowline_machines::Timestamp;
use bowline_machines::job::TaskStatus;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// A durable place for jobs. One process writes; any number of its threads may read.
pub trait Store: std::fmt::Debug + Send + Sync {
    /// Makes decided steps durable, in this order and in one commit. Each is applied whole or not at all; one that is not
    /// applied does not keep the others from it. An error says that nothing is known to be applied: look before trying again.
    fn advance(&self, steps: Vec<Advance>) -> Result<Vec<Outcome>, StoreError>;

    /// The same without waiting. Lists of steps are applied in the order in which they are handed over, whatever becomes of the
    /// one before; `ready` is called once the answer can be had.
    fn advance_soon(&self, steps: Vec<Advance>, ready: Box<dyn FnOnce() + Send>) -> Advancing {
        let mut answer = Some(self.advance(steps));
        ready();
        Box::new(move |_| answer.take())
    }

    /// Closes every connection and opens new ones, after a failure. What was committed stays; nothing is undone.
    fn reopen(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Deletes what is kept no longer. The history of a job stays as long as the job.
    fn prune(&self, kept: &Retention) -> Result<Pruned, StoreError>;

    /// Brings the log into the file itself, so that a copy of that one file is whole.
    fn merge_log(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Writes a whole copy to a new file while the store is in use.
    fn backup(&self, to: &Path) -> Result<(), StoreError>;

    /// A job.
    fn job(&self, id: &str) -> Result<Option<JobRow>, StoreError>;

    /// Jobs, the newest first.
    fn jobs(&self, wanted: &JobQuery) -> Result<Vec<JobRow>, StoreError>;

    /// Every job that is neither completed nor failed, the oldest first.
    fn open_jobs(&self) -> Result<Vec<JobRow>, StoreError>;

    /// How many jobs there are in each status.
    fn counts(&self) -> Result<Vec<(TaskStatus, u64)>, StoreError>;

    /// Jobs that depend on this one.
    fn dependents(&self, id: &str) -> Result<Vec<String>, StoreError>;

    /// One row that people look at, by its id.
    fn record(&self, id: &str) -> Result<Option<Record>, StoreError>;

    /// Rows that people look at, the oldest first.
    fn records(&self, wanted: &RecordQuery) -> Result<Vec<Record>, StoreError>;

    /// Events, the oldest first.
    fn events(&self, wanted: &EventQuery) -> Result<Vec<EventRow>, StoreError>;

    /// The sequence number from which on no event is missing, and the newest one; both 0 when there is none.
    fn feed(&self) -> Result<(u64, u64), StoreError>;

    /// Effects that are still to be carried out, the oldest first.
    fn effects(&self) -> Result<Vec<EffectRow>, StoreError>;

    /// What became of the tries to carry an effect out, for the effects of a job.
    fn deliveries(&self, job: &str) -> Result<Vec<DeliveryRow>, StoreError>;

    /// Every timer, the next one first.
    fn timers(&self) -> Result<Vec<TimerRow>, StoreError>;

    /// What was used, by day, job and agent, the oldest first.
    fn spend(&self, wanted: &SpendQuery) -> Result<Vec<SpendRow>, StoreError>;

    /// The answer that was given to a request.
    fn request(&self, id: &str) -> Result<Option<Value>, StoreError>;
}

/// Steps that were handed over. Asked with `true`, it waits for the answer; with `false`, it gives it if it is there. It is
/// given once.
pub type Advancing = Box<dyn FnMut(bool) -> Option<Result<Vec<Outcome>, StoreError>> + Send>;

/// Which jobs.
#[derive(Debug, Clone, Default)]
pub struct JobQuery {
    /// Only in this status.
    pub status: Option<TaskStatus>,
    /// Only of this type.
    pub type_name: Option<String>,
    /// Only with this in title or description, whatever the case.
    pub text: Option<String>,
    /// Only with this label.
    pub label: Option<String>,
    /// Those that were put away, too.
    pub archived: bool,
    /// Only behind this one: when it was made, and its id.
    pub after: Option<(Timestamp, String)>,
    /// At most so many; 0 for all.
    pub limit: usize,
}

/// Which rows.
#[derive(Debug, Clone, Default)]
pub struct RecordQuery {
    /// Only of this job.
    pub job: Option<String>,
    /// Only of this kind.
    pub kind: Option<RecordKind>,
    /// Only those a person is waited for.
    pub open: bool,
}

/// Which events.
#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// Only of this job.
    pub job: Option<String>,
    /// Only of this kind.
    pub kind: Option<EventKind>,
    /// Only behind this number.
    pub after: u64,
    /// At most so many; 0 for all.
    pub limit: usize,
}

/// Which part of what was used.
#[derive(Debug, Clone, Default)]
pub struct SpendQuery {
    /// Only for this job.
    pub job: Option<String>,
    /// Only from this day on, in days since 1970.
    pub from_day: Option<i64>,
}

/// The day of a moment, in days since 1970, in UTC.
pub fn day_of(at: Timestamp) -> i64 {
    at.0.div_euclid(86_400)
}

/// How much of the past is kept.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Newest events that are kept whole; before them, those of removed jobs go.
    pub events: u64,
    /// Newest answers to requests.
    pub requests: u64,
    /// Bytes of the newest answers to requests.
    pub request_bytes: u64,
    /// Answers that are older go however few they are.
    pub requests_from: Timestamp,
    /// Answers that are younger stay however many they are.
    pub requests_until: Timestamp,
    /// Settled effects that are older go; none do without it.
    pub effects_from: Option<Timestamp>,
}

/// How much was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Events.
    pub events: u64,
    /// Answers to requests.
    pub requests: u64,
    /// Effects that were settled.
    pub effects: u64,
}

/// Why a store cannot do its work.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The machine lacks something for the moment; the same call succeeds once it is there again.
    #[error("{resource} for {path}")]
    Exhausted {
        /// What is lacking.
        resource: Resource,
        /// The file of the store.
        path: String,
    },
    /// Another process has it.
    #[error("the store {path} is in use by another process")]
    Locked {
        /// The file.
        path: String,
    },
    /// It was written by a newer program.
    #[error("the store has version {found}; this program knows up to {known}")]
    Newer {
        /// Its version.
        found: i64,
        /// The newest one known here.
        known: i64,
    },
    /// The place cannot keep a promise that durability needs.
    #[error("the store cannot be kept at {path}: {why}")]
    Unsafe {
        /// Where.
        path: String,
        /// Which promise.
        why: String,
    },
    /// What is kept cannot be read.
    #[error("row {id} cannot be read: {why}")]
    Damaged {
        /// Which.
        id: String,
        /// Why.
        why: String,
    },
    /// The file of the store is damaged.
    #[error("the store {path} is damaged: {why}; stop the server and start it with --rebuild")]
    DamagedFile {
        /// Which.
        path: String,
        /// What the database says.
        why: String,
    },
    /// The database failed. Whether the last change is in it is not known.
    #[error("the store failed")]
    Failed(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Stable, `snake_case`.
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
