//! Failures of the loop that decides, and how it gets over them.

use super::Refused;
use super::desk::Input;
use super::shift::Shift;
use crate::core::error_chain;
use bowline_store::{
    Advance, Advancing, DeliveryRow, EffectRow, EventQuery, EventRow, JobQuery, JobRow, Outcome,
    Pruned, Record, RecordQuery, Resource, Retention, SpendQuery, SpendRow, Store, StoreError,
    TimerRow, exhausted,
};
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the loop is started anew within [`RESTART_WINDOW`] before the process is given up.
const RESTARTS_MAX: usize = 3;
const RESTART_WINDOW: Duration = Duration::from_secs(60);
/// The pause before the first of them; each further one waits twice as long.
const RESTART_PAUSE: Duration = Duration::from_millis(250);

/// Why nothing can be decided at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// What the machine lacks. It ends by itself when that is there again; any other outage is a fault.
    pub resource: Option<Resource>,
    /// The store is damaged: it does not end without a person.
    pub is_damage: bool,
    /// The error with its causes.
    pub reason: String,
}

impl Outage {
    pub(super) fn of(error: &(dyn Error + 'static)) -> Outage {
        let resource = match error.downcast_ref::<StoreError>() {
            Some(StoreError::Exhausted { resource, .. }) => Some(*resource),
            _ => exhausted(error),
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

impl From<Outage> for Refused {
    fn from(outage: Outage) -> Self {
        Refused::Unavailable(outage)
    }
}

/// How the loop that decides is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It decides.
    Ready,
    /// It is being started anew, or waits for what the machine lacks.
    Recovering(Outage),
    /// It failed too often: the process has to end.
    Failed(Outage),
}

/// Numbers of failures, since the process began.
#[derive(Debug, Default)]
pub struct Failures {
    /// Steps about tasks that had been removed.
    pub dropped_steps: AtomicU64,
    /// Times the loop was started anew.
    pub restarts: AtomicU64,
    /// Starts of agents, and work before them, tried again because the machine lacked something.
    pub retries: Arc<AtomicU64>,
}

/// When the loop was started anew, lately.
#[derive(Debug, Default)]
pub(super) struct Restarts(Vec<Instant>);

impl Restarts {
    /// Counts one more and returns the pause before it; nothing where there were too many.
    pub(super) fn allow(&mut self, now: Instant) -> Option<Duration> {
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

/// A store that remembers its first failure: what was decided after a read that failed must not be committed. One that others
/// than the dispatcher use tells it of damage: a read that fails elsewhere may be the first to meet it.
#[derive(Debug)]
pub(super) struct WatchedStore {
    store: Arc<dyn Store>,
    failure: Mutex<Option<Outage>>,
    shift: Option<Arc<Shift>>,
}

impl WatchedStore {
    pub(super) fn new(store: Arc<dyn Store>) -> WatchedStore {
        WatchedStore {
            store,
            failure: Mutex::new(None),
            shift: None,
        }
    }

    /// The store for others than the dispatcher.
    pub(super) fn shared(store: Arc<dyn Store>, shift: Arc<Shift>) -> WatchedStore {
        WatchedStore {
            shift: Some(shift),
            ..WatchedStore::new(store)
        }
    }

    /// The first failure of a call.
    pub(super) fn failure(&self) -> Option<Outage> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.clone()
    }

    fn watch<T>(&self, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &answer
            // One row that cannot be read is a matter of its task alone.
            && !matches!(error, StoreError::Damaged { .. })
        {
            let Some(shift) = &self.shift else {
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert_with(|| Outage::of(error));
                return answer;
            };
            if matches!(error, StoreError::DamagedFile { .. }) {
                // A dispatcher that has ended knows.
                let _ = shift.put(Input::Damaged(Outage::of(error)));
            }
        }
        answer
    }
}

impl Store for WatchedStore {
    fn advance(&self, steps: Vec<Advance>) -> Result<Vec<Outcome>, StoreError> {
        self.watch(self.store.advance(steps))
    }

    // Its answer comes later, and is looked at by the caller.
    fn advance_soon(&self, steps: Vec<Advance>, ready: Box<dyn FnOnce() + Send>) -> Advancing {
        self.store.advance_soon(steps, ready)
    }

    fn reopen(&self) -> Result<(), StoreError> {
        self.store.reopen()
    }

    fn merge_log(&self) -> Result<(), StoreError> {
        self.store.merge_log()
    }

    fn prune(&self, kept: &Retention) -> Result<Pruned, StoreError> {
        self.watch(self.store.prune(kept))
    }

    fn backup(&self, to: &Path) -> Result<(), StoreError> {
        self.store.backup(to)
    }

    fn job(&self, id: &str) -> Result<Option<JobRow>, StoreError> {
        self.watch(self.store.job(id))
    }

    fn jobs(&self, wanted: &JobQuery) -> Result<Vec<JobRow>, StoreError> {
        self.watch(self.store.jobs(wanted))
    }

    fn open_jobs(&self) -> Result<Vec<JobRow>, StoreError> {
        self.watch(self.store.open_jobs())
    }

    fn counts(&self) -> Result<Vec<(bowline_machines::job::TaskStatus, u64)>, StoreError> {
        self.watch(self.store.counts())
    }

    fn dependents(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.watch(self.store.dependents(id))
    }

    fn record(&self, id: &str) -> Result<Option<Record>, StoreError> {
        self.watch(self.store.record(id))
    }

    fn records(&self, wanted: &RecordQuery) -> Result<Vec<Record>, StoreError> {
        self.watch(self.store.records(wanted))
    }

    fn events(&self, wanted: &EventQuery) -> Result<Vec<EventRow>, StoreError> {
        self.watch(self.store.events(wanted))
    }

    fn feed(&self) -> Result<(u64, u64), StoreError> {
        self.watch(self.store.feed())
    }

    fn effects(&self) -> Result<Vec<EffectRow>, StoreError> {
        self.watch(self.store.effects())
    }

    fn deliveries(&self, job: &str) -> Result<Vec<DeliveryRow>, StoreError> {
        self.watch(self.store.deliveries(job))
    }

    fn timers(&self) -> Result<Vec<TimerRow>, StoreError> {
        self.watch(self.store.timers())
    }

    fn spend(&self, wanted: &SpendQuery) -> Result<Vec<SpendRow>, StoreError> {
        self.watch(self.store.spend(wanted))
    }

    fn request(&self, id: &str) -> Result<Option<Value>, StoreError> {
        self.watch(self.store.request(id))
    }
}
