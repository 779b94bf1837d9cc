//! Runs the dispatcher on the calling thread if it is idle, otherwise on a dedicated thread.
//!
//! A request that its own thread decides costs no change of threads, each of which takes a fifth of
//! a flush. There is one dispatcher, run by one thread at a time, and it takes inputs in their
//! order.

use super::dispatcher::{BATCH_INPUTS_MAX, DispatcherInput, JobDispatcher};
use super::outage::{DispatcherHealth, FailureCounters, Outage, RecentRestarts};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Rounds for other callers that a calling thread runs.
const ROUNDS_MAX: usize = 8;
/// Time between two checks whether a missing resource is back.
const OUTAGE_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Callback for changes of the dispatcher's health.
type OnHealth = Box<dyn Fn(DispatcherHealth) + Send + Sync>;

#[derive(Default)]
pub(super) struct DispatchLoop {
    pub(super) failures: Arc<FailureCounters>,
    /// Empty before the first round and after the last. Locked before `inbox`, never after it.
    dispatcher: Mutex<Option<JobDispatcher>>,
    inbox: Mutex<Inbox>,
    wakeup: Condvar,
    on_health: OnceLock<OnHealth>,
}

#[derive(Default)]
struct Inbox {
    inputs: VecDeque<DispatcherInput>,
    /// True once a pending commit is durable or has failed.
    flushed: bool,
    /// Time until which the dedicated thread sleeps; none while it is awake.
    asleep: Option<Instant>,
    /// Reason for which nothing is decided at the moment.
    outage: Option<Outage>,
    /// True once the dispatcher has failed for good.
    failed: bool,
    /// Callers that wait for the end.
    stopped: Vec<Sender<()>>,
    ended: bool,
}

/// Result of one round.
enum RoundOutcome {
    /// Nothing is due for this long.
    Idle(Duration),
    /// The store failed.
    Failed(Outage),
    /// The dispatcher was stopped.
    Ended,
}

impl Inbox {
    fn is_empty(&self) -> bool {
        self.inputs.is_empty() && !self.flushed
    }
}

impl std::fmt::Debug for DispatchLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shift")
    }
}

impl DispatchLoop {
    /// Queues an input for the dedicated thread. Returns it if the dispatcher has ended.
    pub(super) fn submit(&self, input: DispatcherInput) -> Result<(), DispatcherInput> {
        self.enqueue(input)?;
        self.wakeup.notify_one();
        Ok(())
    }

    /// Reports that a pending commit is durable or has failed.
    pub(super) fn on_flushed(&self) {
        if !std::mem::replace(&mut self.inbox().flushed, true) {
            self.wakeup.notify_one();
        }
    }

    /// Queues an input and runs the dispatcher on this thread if it is idle.
    pub(super) fn try_run_inline(&self, input: DispatcherInput) -> Result<(), DispatcherInput> {
        self.enqueue(input)?;
        // The running thread checks the inbox again when it is done. After a panic the dedicated
        // thread takes over.
        let Ok(mut current) = self.dispatcher.try_lock() else {
            self.wakeup.notify_one();
            return Ok(());
        };
        let mut turned = self.run_round(&mut current);
        // Inputs that arrived meanwhile are handled at once: waking the other thread takes longer.
        // The bound keeps a caller from serving others for ever.
        for _ in 0..ROUNDS_MAX {
            if !matches!(turned, RoundOutcome::Idle(_)) || self.inbox().is_empty() {
                break;
            }
            turned = self.run_round(&mut current);
        }
        drop(current);
        let inbox = self.inbox();
        let early = match turned {
            RoundOutcome::Idle(patience) => {
                let next = Instant::now() + patience;
                inbox.asleep.is_some_and(|until| next < until)
            }
            RoundOutcome::Failed(_) | RoundOutcome::Ended => true,
        };
        if early || !inbox.is_empty() {
            self.wakeup.notify_one();
        }
        Ok(())
    }

    /// Runs the dispatcher for everything that no caller handles, until it is stopped. After a
    /// failure `reopen` creates a new dispatcher from what is durable. Returns the callers that
    /// wait for the end.
    pub(super) fn run_loop(
        &self,
        mut dispatcher: JobDispatcher,
        reopen: &dyn Fn() -> Result<JobDispatcher, Outage>,
    ) -> Vec<Sender<()>> {
        let mut restarts = RecentRestarts::default();
        dispatcher.resume_jobs();
        let mut current = self.lock_dispatcher();
        *current = Some(dispatcher);
        loop {
            let turned = catch_unwind(AssertUnwindSafe(|| self.run_round(&mut current)));
            let turned = turned.unwrap_or_else(|_| RoundOutcome::Failed(panic_outage()));
            let patience = match turned {
                RoundOutcome::Idle(patience) => patience,
                RoundOutcome::Failed(outage) => {
                    let old = current.take();
                    *current = self.restart_dispatcher(old, outage, &mut restarts, reopen);
                    Duration::ZERO
                }
                RoundOutcome::Ended => return std::mem::take(&mut self.inbox().stopped),
            };
            // Set before the lock is released, so that the next caller sees how long this thread
            // sleeps.
            let mut inbox = self.inbox();
            inbox.asleep = Some(Instant::now() + patience);
            drop(current);
            if inbox.is_empty() && !inbox.ended {
                let slept = self.wakeup.wait_timeout(inbox, patience);
                inbox = slept.unwrap_or_else(PoisonError::into_inner).0;
            }
            inbox.asleep = None;
            drop(inbox);
            current = self.lock_dispatcher();
        }
    }

    /// Locks the dispatcher. If a caller panicked while it held the lock, the dispatcher is marked
    /// broken.
    fn lock_dispatcher(&self) -> MutexGuard<'_, Option<JobDispatcher>> {
        self.dispatcher.lock().unwrap_or_else(|poisoned| {
            self.dispatcher.clear_poison();
            let mut current = poisoned.into_inner();
            if let Some(dispatcher) = current.as_mut() {
                dispatcher.broken.get_or_insert_with(panic_outage);
            }
            current
        })
    }

    /// Restarts the dispatcher from what is durable. A missing resource is waited for; any other
    /// failure is allowed a few times, with growing pauses. Returns none once it was stopped or has
    /// failed for good.
    fn restart_dispatcher(
        &self,
        old: Option<JobDispatcher>,
        mut outage: Outage,
        restarts: &mut RecentRestarts,
        reopen: &dyn Fn() -> Result<JobDispatcher, Outage>,
    ) -> Option<JobDispatcher> {
        if let Some(dispatcher) = old {
            dispatcher.close(outage.clone());
        }
        loop {
            self.report_outage(&outage);
            let pause = match outage.resource {
                Some(_) => Some(OUTAGE_CHECK_INTERVAL),
                None => restarts.count_restart(Instant::now()),
            };
            let Some(pause) = pause else {
                self.fail_for_good();
                return None;
            };
            if !self.wait_out(&outage, pause) {
                return None;
            }
            self.failures.restarts.fetch_add(1, Ordering::Relaxed);
            let opened = catch_unwind(AssertUnwindSafe(|| {
                // Events for the old dispatcher are dropped: they are read again.
                let mut inbox = self.inbox();
                inbox.inputs.retain(|it| {
                    !matches!(
                        it,
                        DispatcherInput::AgentEvent(_) | DispatcherInput::Damaged(_)
                    )
                });
                drop(inbox);
                let mut dispatcher = reopen()?;
                dispatcher.resume_jobs();
                Ok(dispatcher)
            }));
            match opened.unwrap_or_else(|_| Err(panic_outage())) {
                Ok(dispatcher) => {
                    self.inbox().outage = None;
                    self.notify_health();
                    return Some(dispatcher);
                }
                Err(again) => outage = again,
            }
        }
    }

    fn report_outage(&self, outage: &Outage) {
        let before = self.inbox().outage.replace(outage.clone());
        if before.as_ref() != Some(outage) {
            self.notify_health();
        }
    }

    /// Waits before the next restart. Requests are refused meanwhile if the machine lacks a
    /// resource, else they wait too. False once the dispatcher was asked to stop.
    fn wait_out(&self, outage: &Outage, pause: Duration) -> bool {
        let mut inbox = self.inbox();
        if outage.resource.is_some() {
            inbox.refuse_all(outage);
        }
        let waited = self
            .wakeup
            .wait_timeout_while(inbox, pause, |it| !it.wants_stop());
        let inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        if inbox.wants_stop() {
            drop(inbox);
            self.end_loop();
            return false;
        }
        true
    }

    fn fail_for_good(&self) {
        self.inbox().failed = true;
        self.end_loop();
        self.notify_health();
    }

    fn notify_health(&self) {
        if let Some(call) = self.on_health.get() {
            call(self.health());
        }
    }

    pub(super) fn health(&self) -> DispatcherHealth {
        let inbox = self.inbox();
        match (&inbox.outage, inbox.failed) {
            (None, _) => DispatcherHealth::Ready,
            (Some(outage), false) => DispatcherHealth::Recovering(outage.clone()),
            (Some(outage), true) => DispatcherHealth::Failed(outage.clone()),
        }
    }

    /// Registers the callback for the health now and at every change. Only the first callback is
    /// kept.
    pub(super) fn on_health(&self, call: OnHealth) {
        let _ = self.on_health.set(call);
        self.notify_health();
    }

    /// Runs one round of the dispatcher on a batch from the inbox.
    fn run_round(&self, current: &mut Option<JobDispatcher>) -> RoundOutcome {
        let Some(dispatcher) = current.as_mut() else {
            return RoundOutcome::Ended;
        };
        if let Some(outage) = &dispatcher.broken {
            return RoundOutcome::Failed(outage.clone());
        }
        let mut inbox = self.inbox();
        let count = inbox.inputs.len().min(BATCH_INPUTS_MAX);
        let inputs: Vec<DispatcherInput> = inbox.inputs.drain(..count).collect();
        let more = !inbox.inputs.is_empty();
        inbox.flushed = false;
        drop(inbox);
        dispatcher.alone = !more && matches!(inputs[..], [DispatcherInput::Request(..)]);
        if let Some(answer) = dispatcher.run_round(inputs) {
            *current = None;
            self.inbox().stopped.push(answer);
            self.end_loop();
            return RoundOutcome::Ended;
        }
        match &dispatcher.broken {
            Some(outage) => RoundOutcome::Failed(outage.clone()),
            None if more => RoundOutcome::Idle(Duration::ZERO),
            None => RoundOutcome::Idle(dispatcher.time_to_next()),
        }
    }

    fn enqueue(&self, input: DispatcherInput) -> Result<(), DispatcherInput> {
        let mut inbox = self.inbox();
        if inbox.ended {
            return Err(input);
        }
        let short = inbox.outage.clone().filter(|it| it.resource.is_some());
        inbox.inputs.push_back(input);
        if let Some(outage) = short {
            inbox.refuse_all(&outage);
        }
        Ok(())
    }

    fn end_loop(&self) {
        let mut inbox = self.inbox();
        inbox.ended = true;
        for unread in std::mem::take(&mut inbox.inputs) {
            // The reply channel closes, so a waiting caller learns that there is no response.
            if let DispatcherInput::Stop(answer) = unread {
                inbox.stopped.push(answer);
            }
        }
        drop(inbox);
        self.wakeup.notify_one();
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbox {
    fn wants_stop(&self) -> bool {
        let mut inputs = self.inputs.iter();
        inputs.any(|it| matches!(it, DispatcherInput::Stop(_)))
    }

    /// Refuses all queued requests because nothing can be decided.
    fn refuse_all(&mut self, outage: &Outage) {
        for input in std::mem::take(&mut self.inputs) {
            match input {
                DispatcherInput::Request(_, reply) => reply(Err(outage.clone().into())),
                DispatcherInput::AgentEvent(_)
                | DispatcherInput::Finished(_)
                | DispatcherInput::Damaged(_)
                | DispatcherInput::Stop(_) => {
                    self.inputs.push_back(input);
                }
            }
        }
    }
}

fn panic_outage() -> Outage {
    Outage::fault("a panic in the dispatcher; the log has it")
}
