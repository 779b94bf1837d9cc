//! Failures of the dispatcher, and the recovery from them.

use super::RequestError;
use super::dispatch_loop::DispatchLoop;
use super::dispatcher::DispatcherInput;
use crate::core::error_chain;
use bowline_store::{
    CommitHandle, CommitOutcome, DeliveryRow, EffectRow, EventQuery, EventRow, JobQuery, JobRecord,
    JobRow, PrunedCounts, RecordQuery, Resource, RetentionLimits, SpendQuery, SpendRow, Store,
    StoreError, StoreStep, TimerRow, resource_of_error,
};
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Restarts allowed within [`RESTART_WINDOW`] before the process gives up.
const RESTARTS_MAX: usize = 3;
const RESTART_WINDOW: Duration = Duration::from_secs(60);
/// Pause before the first restart; it doubles for each further one.
const RESTART_PAUSE: Duration = Duration::from_millis(250);

/// Reason why nothing can be decided at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// Resource that the machine lacks. Such an outage ends by itself; any other one is a fault.
    pub resource: Option<Resource>,
    /// True if the store is damaged: the outage does not end without a person.
    pub is_damage: bool,
    /// The error with its causes.
    pub reason: String,
}

impl Outage {
    pub(super) fn from_error(error: &(dyn Error + 'static)) -> Outage {
        let resource = match error.downcast_ref::<StoreError>() {
            Some(StoreError::Exhausted { resource, .. }) => Some(*resource),
            _ => resource_of_error(error),
        };
        let damage = |it: &StoreError| {
            matches!(
                it,
                StoreError::Damaged { .. } | StoreError::DamagedFile { .. }
            )
        };
        Outage {
            resource,
            is_damage: error.downcast_ref::<StoreError>().is_some_and(damage),
            reason: error_chain(error),
        }
    }

    pub(super) fn fault(reason: impl Into<String>) -> Outage {
        Outage {
            resource: None,
            is_damage: false,
            reason: reason.into(),
        }
    }
}

impl From<Outage> for RequestError {
    fn from(outage: Outage) -> Self {
        RequestError::Unavailable(outage)
    }
}

/// Health of the dispatcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DispatcherHealth {
    /// The dispatcher works.
    Ready,
    /// The dispatcher is being restarted, or waits for a resource.
    Recovering(Outage),
    /// The dispatcher failed too often: the process has to end.
    Failed(Outage),
}

/// Counters of failures since the process began.
#[derive(Debug, Default)]
pub struct FailureCounters {
    /// Steps dropped because their task had been removed.
    pub dropped_steps: AtomicU64,
    /// Restarts of the dispatcher.
    pub restarts: AtomicU64,
    /// Starts of agents, and the work before them, retried for lack of a resource.
    pub retries: Arc<AtomicU64>,
}

/// Times of recent restarts.
#[derive(Debug, Default)]
pub(super) struct RecentRestarts(Vec<Instant>);

impl RecentRestarts {
    /// Counts a restart and returns the pause before it; none if there were too many.
    pub(super) fn count_restart(&mut self, now: Instant) -> Option<Duration> {
        self.0
            .retain(|at| now.saturating_duration_since(*at) < RESTART_WINDOW);
        let earlier = self.0.len();
        if earlier == RESTARTS_MAX {
            return None;
        }
        self.0.push(now);
        Some(RESTART_PAUSE * (1 << earlier))
    }
}

/// A store that remembers its first failure, because decisions after a failed read must not be
/// committed. The instance for other users reports damage to the dispatcher: their read may be the
/// first to meet it.
#[derive(Debug)]
pub(super) struct WatchedStore {
    store: Arc<dyn Store>,
    failure: Mutex<Option<Outage>>,
    dispatch_loop: Option<Arc<DispatchLoop>>,
}

impl WatchedStore {
    pub(super) fn new(store: Arc<dyn Store>) -> WatchedStore {
        WatchedStore {
            store,
            failure: Mutex::new(None),
            dispatch_loop: None,
        }
    }

    /// Wraps the store for users other than the dispatcher.
    pub(super) fn shared(store: Arc<dyn Store>, dispatch_loop: Arc<DispatchLoop>) -> WatchedStore {
        WatchedStore {
            dispatch_loop: Some(dispatch_loop),
            ..WatchedStore::new(store)
        }
    }

    /// Returns the first failure of a call.
    pub(super) fn failure(&self) -> Option<Outage> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.clone()
    }

    fn note_failure<T>(&self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &answer
            // A single row that cannot be read concerns its task alone.
            && !matches!(error, StoreError::Damaged { .. })
        {
            let Some(dispatch_loop) = &self.dispatch_loop else {
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert_with(|| Outage::from_error(error));
                return answer;
            };
            if matches!(error, StoreError::DamagedFile { .. }) {
                // A dispatcher that has ended knows.
                let _ = dispatch_loop.submit(DispatcherInput::Damaged(Outage::from_error(error)));
            }
        }
        answer
    }
}

impl Store for WatchedStore {
    fn commit_steps(&self, steps: Vec<StoreStep>) -> Result<Vec<CommitOutcome>, StoreError> {
        self.note_failure(self.store.commit_steps(steps))
    }

    // Its result comes later, and is checked by the caller.
    fn begin_commit(&self, steps: Vec<StoreStep>, ready: Box<dyn FnOnce() + Send>) -> CommitHandle {
        self.store.begin_commit(steps, ready)
    }

    fn reopen(&self) -> Result<(), StoreError> {
        self.store.reopen()
    }

    fn merge_log(&self) -> Result<(), StoreError> {
        self.store.merge_log()
    }

    fn prune_rows(&self, kept: &RetentionLimits) -> Result<PrunedCounts, StoreError> {
        self.note_failure(self.store.prune_rows(kept))
    }

    fn write_backup(&self, to: &Path) -> Result<(), StoreError> {
        self.store.write_backup(to)
    }

    fn find_job(&self, id: &str) -> Result<Option<JobRow>, StoreError> {
        self.note_failure(self.store.find_job(id))
    }

    fn list_jobs(&self, wanted: &JobQuery) -> Result<Vec<JobRow>, StoreError> {
        self.note_failure(self.store.list_jobs(wanted))
    }

    fn open_jobs(&self) -> Result<Vec<JobRow>, StoreError> {
        self.note_failure(self.store.open_jobs())
    }

    fn count_by_status(&self) -> Result<Vec<(bowline_machines::job::TaskStatus, u64)>, StoreError> {
        self.note_failure(self.store.count_by_status())
    }

    fn dependents_of(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.note_failure(self.store.dependents_of(id))
    }

    fn find_record(&self, id: &str) -> Result<Option<JobRecord>, StoreError> {
        self.note_failure(self.store.find_record(id))
    }

    fn list_records(&self, wanted: &RecordQuery) -> Result<Vec<JobRecord>, StoreError> {
        self.note_failure(self.store.list_records(wanted))
    }

    fn list_events(&self, wanted: &EventQuery) -> Result<Vec<EventRow>, StoreError> {
        self.note_failure(self.store.list_events(wanted))
    }

    fn feed_range(&self) -> Result<(u64, u64), StoreError> {
        self.note_failure(self.store.feed_range())
    }

    fn open_effects(&self) -> Result<Vec<EffectRow>, StoreError> {
        self.note_failure(self.store.open_effects())
    }

    fn deliveries_of(&self, job: &str) -> Result<Vec<DeliveryRow>, StoreError> {
        self.note_failure(self.store.deliveries_of(job))
    }

    fn list_timers(&self) -> Result<Vec<TimerRow>, StoreError> {
        self.note_failure(self.store.list_timers())
    }

    fn list_spend(&self, wanted: &SpendQuery) -> Result<Vec<SpendRow>, StoreError> {
        self.note_failure(self.store.list_spend(wanted))
    }

    fn stored_response(&self, id: &str) -> Result<Option<Value>, StoreError> {
        self.note_failure(self.store.stored_response(id))
    }
}
