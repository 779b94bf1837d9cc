//! Failures of the store under the loop that decides: it starts anew from what is durable, or the
//! process has to end.

use crate::world::{BOUND, World};
use bowline_machines::job::TaskStatus;
use bowline_runner::jobs::{
    DispatcherHealth, JobRequest, JobResponse, RequestError, SubmittedRequest,
};
use bowline_store::{
    CommitHandle, CommitOutcome, DeliveryRow, EffectRow, EventQuery, EventRow, JobAttributes,
    JobQuery, JobRecord, JobRow, PrunedCounts, RecordQuery, Resource, RetentionLimits, SpendQuery,
    SpendRow, SqliteStore, Store, StoreError, StoreStep, TimerRow,
};
use bowline_test_support::wait_until;
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A write succeeds so soon after a failure.
const RECOVERY: Duration = Duration::from_secs(5);
/// The loop is started anew so often before it gives up.
const RESTARTS_MAX: u64 = 3;

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Broken,
    DiskFull,
}

/// A store of which chosen calls fail: those from `from` on, `count` of them, or all until a
/// moment.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    store: SqliteStore,
    until: Mutex<Option<Instant>>,
    fault: Fault,
    from: AtomicU64,
    count: AtomicU64,
    calls: Arc<AtomicU64>,
}

impl FaultyStore {
    fn open(path: &Path, fault: Fault) -> FaultyStore {
        FaultyStore {
            store: SqliteStore::open(path).unwrap(),
            until: Mutex::default(),
            fault,
            from: AtomicU64::new(u64::MAX),
            count: AtomicU64::new(0),
            calls: Arc::default(),
        }
    }

    /// Fails `count` calls, beginning with the n-th from now.
    fn arm(&self, n: u64, count: u64) {
        let next = self.calls.load(Ordering::SeqCst) + n - 1;
        self.count.store(count, Ordering::SeqCst);
        self.from.store(next, Ordering::SeqCst);
    }

    fn call(&self) -> Result<(), StoreError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let from = self.from.load(Ordering::SeqCst);
        let until = *self.until.lock().unwrap();
        let lasts = until.is_some_and(|until| Instant::now() < until);
        let armed = call >= from && call - from < self.count.load(Ordering::SeqCst);
        if !lasts && !armed {
            return Ok(());
        }
        Err(match self.fault {
            Fault::Broken => StoreError::Failed(Arc::new(std::io::Error::other("injected"))),
            Fault::DiskFull => StoreError::Exhausted {
                resource: Resource::Disk,
                path: "injected".into(),
            },
        })
    }
}

macro_rules! calls {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $out:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Result<$out, StoreError> {
            self.call()?;
            self.store.$name($($arg),*)
        })*
    };
}

impl Store for FaultyStore {
    fn begin_commit(&self, steps: Vec<StoreStep>, ready: Box<dyn FnOnce() + Send>) -> CommitHandle {
        match self.call() {
            Ok(()) => self.store.begin_commit(steps, ready),
            Err(error) => {
                let mut answer = Some(Err(error));
                ready();
                Box::new(move |_| answer.take())
            }
        }
    }

    calls! {
        commit_steps(steps: Vec<StoreStep>) -> Vec<CommitOutcome>;
        reopen() -> ();
        prune_rows(kept: &RetentionLimits) -> PrunedCounts;
        write_backup(to: &Path) -> ();
        find_job(id: &str) -> Option<JobRow>;
        list_jobs(wanted: &JobQuery) -> Vec<JobRow>;
        open_jobs() -> Vec<JobRow>;
        count_by_status() -> Vec<(TaskStatus, u64)>;
        dependents_of(id: &str) -> Vec<String>;
        find_record(id: &str) -> Option<JobRecord>;
        list_records(wanted: &RecordQuery) -> Vec<JobRecord>;
        list_events(wanted: &EventQuery) -> Vec<EventRow>;
        feed_range() -> (u64, u64);
        open_effects() -> Vec<EffectRow>;
        deliveries_of(job: &str) -> Vec<DeliveryRow>;
        list_timers() -> Vec<TimerRow>;
        list_spend(wanted: &SpendQuery) -> Vec<SpendRow>;
        stored_response(id: &str) -> Option<Value>;
    }
}

const QUICK: &str = "wait_for '[/PHASE_START]'\necho '=== CUSTOM TASK COMPLETE ==='\n";

fn create() -> JobRequest {
    JobRequest::Create {
        title: "Tea".into(),
        description: "A shop for tea".into(),
        depends_on: vec![],
        scheduled_for: None,
        about: Box::new(JobAttributes {
            type_name: Some("custom".into()),
            ..JobAttributes::default()
        }),
        submit: true,
    }
}

/// Asks under a request id until it is answered otherwise than by "not now".
fn insist(world: &World, key: &str, request: &JobRequest) -> Result<JobResponse, RequestError> {
    let mut last = None;
    let answered = wait_until(RECOVERY, || {
        let answer = world.jobs().submit(SubmittedRequest {
            key: Some(key.into()),
            version: None,
            request: request.clone(),
        });
        let settled = !matches!(
            answer,
            Err(RequestError::Unavailable(_) | RequestError::Draining | RequestError::Store(_))
        );
        last = Some(answer);
        settled
    });
    assert!(answered, "{key}: {last:?} {:?}", world.jobs().health());
    last.unwrap()
}

/// One fault at every call in turn: a task is made, worked on and deleted all the same.
fn every_call_in_turn(fault: Fault) {
    let mut failed = 0;
    for n in 1.. {
        let (world, store) = World::over(QUICK, |path| FaultyStore::open(path, fault));
        store.arm(n, 1);
        let made = insist(&world, "make", &create()).unwrap();
        let id = made.row.unwrap().id;
        let status = || world.row_in(&store.store, &id).job.task_status();
        let reached = wait_until(BOUND, || status() == TaskStatus::Completed);
        assert!(
            reached,
            "call {n}: {:?} {:?}",
            status(),
            world.jobs().health()
        );
        insist(&world, "delete", &JobRequest::Delete(id)).unwrap();
        if world
            .jobs()
            .failure_counters()
            .restarts
            .load(Ordering::Relaxed)
            == 0
        {
            // The walk has fewer calls than that.
            break;
        }
        failed += 1;
    }
    assert!(failed > 15, "{failed}");
}

#[test]
fn after_any_failed_call_of_the_store_the_next_write_succeeds() {
    every_call_in_turn(Fault::Broken);
}

#[test]
fn after_a_full_disk_at_any_call_of_the_store_the_next_write_succeeds() {
    every_call_in_turn(Fault::DiskFull);
}

#[test]
fn a_fault_of_one_second_does_not_end_the_loop() {
    let (world, store) = World::over(QUICK, |path| FaultyStore::open(path, Fault::Broken));
    let end = Instant::now() + Duration::from_secs(1);
    *store.until.lock().unwrap() = Some(end);
    insist(&world, "make", &create()).unwrap();
    assert!(Instant::now() >= end, "nothing failed");
    assert_eq!(world.jobs().health(), DispatcherHealth::Ready);
    let restarts = world
        .jobs()
        .failure_counters()
        .restarts
        .load(Ordering::Relaxed);
    assert!(restarts > 1, "{restarts}");
}

#[test]
fn a_store_that_keeps_failing_ends_the_loop_and_a_full_disk_is_waited_for() {
    let (world, store) = World::over(QUICK, |path| FaultyStore::open(path, Fault::Broken));
    store.arm(1, u64::MAX);
    let refused = world.ask(create());
    assert!(refused.is_err(), "{refused:?}");
    let over = wait_until(BOUND, || {
        matches!(world.jobs().health(), DispatcherHealth::Failed(_))
    });
    assert!(over, "{:?}", world.jobs().health());
    let restarts = world
        .jobs()
        .failure_counters()
        .restarts
        .load(Ordering::Relaxed);
    assert_eq!(restarts, RESTARTS_MAX);

    let (world, store) = World::over(QUICK, |path| FaultyStore::open(path, Fault::DiskFull));
    // More failures than would end a loop that is at fault itself.
    store.arm(1, 5 * RESTARTS_MAX);
    let Err(RequestError::Unavailable(outage)) = world.ask(create()) else {
        panic!("it was made");
    };
    assert_eq!(outage.resource, Some(Resource::Disk));
    let down = wait_until(RECOVERY, || {
        matches!(world.jobs().health(), DispatcherHealth::Recovering(_))
    });
    assert!(down, "{:?}", world.jobs().health());
    insist(&world, "make", &create()).unwrap();
    assert_eq!(world.jobs().health(), DispatcherHealth::Ready);
}
