//! Runs the dispatcher on the calling thread if it is idle, otherwise on a dedicated thread.
//!
//! A request that its own thread decides costs no change of threads, each of which takes a fifth of
//! a flush. There is one dispatcher, run by one thread at a time, and it takes inputs in their
//! order.

use super::desk::{Desk, Input, TOGETHER_MAX};
use super::outage::{Failures, Health, Outage, Restarts};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Rounds for other callers that a calling thread runs.
const TURNS_MAX: usize = 8;
/// Time between two checks whether a missing resource is back.
const OUTAGE_LOOK: Duration = Duration::from_millis(250);

/// Callback for changes of the dispatcher's health.
type OnHealth = Box<dyn Fn(Health) + Send + Sync>;

#[derive(Default)]
pub(super) struct Shift {
    pub(super) failures: Arc<Failures>,
    /// Empty before the first round and after the last. Locked before `inbox`, never after it.
    seat: Mutex<Option<Desk>>,
    inbox: Mutex<Inbox>,
    come: Condvar,
    on_health: OnceLock<OnHealth>,
}

#[derive(Default)]
struct Inbox {
    inputs: VecDeque<Input>,
    /// True once an in-flight commit is durable or has failed.
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
enum Turned {
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

impl std::fmt::Debug for Shift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shift")
    }
}

impl Shift {
    /// Queues an input for the dedicated thread. Returns it if the dispatcher has ended.
    pub(super) fn put(&self, input: Input) -> Result<(), Input> {
        self.lay(input)?;
        self.come.notify_one();
        Ok(())
    }

    /// Reports that an in-flight commit is durable or has failed.
    pub(super) fn flushed(&self) {
        if !std::mem::replace(&mut self.inbox().flushed, true) {
            self.come.notify_one();
        }
    }

    /// Queues an input and runs the dispatcher on this thread if it is idle.
    pub(super) fn bring(&self, input: Input) -> Result<(), Input> {
        self.lay(input)?;
        // The running thread checks the inbox again when it is done. After a panic the dedicated
        // thread takes over.
        let Ok(mut seat) = self.seat.try_lock() else {
            self.come.notify_one();
            return Ok(());
        };
        let mut turned = self.turn(&mut seat);
        // Inputs that arrived meanwhile are handled at once: waking the other thread takes longer.
        // The bound keeps a caller from serving others for ever.
        for _ in 0..TURNS_MAX {
            if !matches!(turned, Turned::Idle(_)) || self.inbox().is_empty() {
                break;
            }
            turned = self.turn(&mut seat);
        }
        drop(seat);
        let inbox = self.inbox();
        let early = match turned {
            Turned::Idle(patience) => {
                let next = Instant::now() + patience;
                inbox.asleep.is_some_and(|until| next < until)
            }
            Turned::Failed(_) | Turned::Ended => true,
        };
        if early || !inbox.is_empty() {
            self.come.notify_one();
        }
        Ok(())
    }

    /// Runs the dispatcher for everything that no caller handles, until it is stopped. After a
    /// failure `reopen` creates a new dispatcher from what is durable. Returns the callers that
    /// wait for the end.
    pub(super) fn stay(
        &self,
        mut desk: Desk,
        reopen: &dyn Fn() -> Result<Desk, Outage>,
    ) -> Vec<Sender<()>> {
        let mut restarts = Restarts::default();
        desk.resume();
        let mut seat = self.sit();
        *seat = Some(desk);
        loop {
            let turned = catch_unwind(AssertUnwindSafe(|| self.turn(&mut seat)));
            let turned = turned.unwrap_or_else(|_| Turned::Failed(panicked()));
            let patience = match turned {
                Turned::Idle(patience) => patience,
                Turned::Failed(outage) => {
                    let old = seat.take();
                    *seat = self.recover(old, outage, &mut restarts, reopen);
                    Duration::ZERO
                }
                Turned::Ended => return std::mem::take(&mut self.inbox().stopped),
            };
            // Set before the lock is released, so that the next caller sees how long this thread
            // sleeps.
            let mut inbox = self.inbox();
            inbox.asleep = Some(Instant::now() + patience);
            drop(seat);
            if inbox.is_empty() && !inbox.ended {
                let slept = self.come.wait_timeout(inbox, patience);
                inbox = slept.unwrap_or_else(PoisonError::into_inner).0;
            }
            inbox.asleep = None;
            drop(inbox);
            seat = self.sit();
        }
    }

    /// Locks the dispatcher. If a caller panicked while it held the lock, the dispatcher is marked
    /// broken.
    fn sit(&self) -> MutexGuard<'_, Option<Desk>> {
        self.seat.lock().unwrap_or_else(|poisoned| {
            self.seat.clear_poison();
            let mut seat = poisoned.into_inner();
            if let Some(desk) = seat.as_mut() {
                desk.broken.get_or_insert_with(panicked);
            }
            seat
        })
    }

    /// Restarts the dispatcher from what is durable. A missing resource is waited for; any other
    /// failure is allowed a few times, with growing pauses. Returns none once it was stopped or has
    /// failed for good.
    fn recover(
        &self,
        old: Option<Desk>,
        mut outage: Outage,
        restarts: &mut Restarts,
        reopen: &dyn Fn() -> Result<Desk, Outage>,
    ) -> Option<Desk> {
        if let Some(desk) = old {
            desk.close(outage.clone());
        }
        loop {
            self.report_outage(&outage);
            let pause = match outage.resource {
                Some(_) => Some(OUTAGE_LOOK),
                None => restarts.allow(Instant::now()),
            };
            let Some(pause) = pause else {
                self.give_up();
                return None;
            };
            if !self.wait_out(&outage, pause) {
                return None;
            }
            self.failures.restarts.fetch_add(1, Ordering::Relaxed);
            let opened = catch_unwind(AssertUnwindSafe(|| {
                // Events for the old dispatcher are dropped: they are read again.
                let mut inbox = self.inbox();
                inbox
                    .inputs
                    .retain(|it| !matches!(it, Input::News(_) | Input::Damaged(_)));
                drop(inbox);
                let mut desk = reopen()?;
                desk.resume();
                Ok(desk)
            }));
            match opened.unwrap_or_else(|_| Err(panicked())) {
                Ok(desk) => {
                    self.inbox().outage = None;
                    self.tell_health();
                    return Some(desk);
                }
                Err(again) => outage = again,
            }
        }
    }

    fn report_outage(&self, outage: &Outage) {
        let before = self.inbox().outage.replace(outage.clone());
        if before.as_ref() != Some(outage) {
            self.tell_health();
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
            .come
            .wait_timeout_while(inbox, pause, |it| !it.wants_stop());
        let inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        if inbox.wants_stop() {
            drop(inbox);
            self.end();
            return false;
        }
        true
    }

    fn give_up(&self) {
        self.inbox().failed = true;
        self.end();
        self.tell_health();
    }

    fn tell_health(&self) {
        if let Some(call) = self.on_health.get() {
            call(self.health());
        }
    }

    pub(super) fn health(&self) -> Health {
        let inbox = self.inbox();
        match (&inbox.outage, inbox.failed) {
            (None, _) => Health::Ready,
            (Some(outage), false) => Health::Recovering(outage.clone()),
            (Some(outage), true) => Health::Failed(outage.clone()),
        }
    }

    /// Registers the callback for the health now and at every change. Only the first callback is
    /// kept.
    pub(super) fn on_health(&self, call: OnHealth) {
        let _ = self.on_health.set(call);
        self.tell_health();
    }

    /// Runs one round of the dispatcher on a batch from the inbox.
    fn turn(&self, seat: &mut Option<Desk>) -> Turned {
        let Some(desk) = seat.as_mut() else {
            return Turned::Ended;
        };
        if let Some(outage) = &desk.broken {
            return Turned::Failed(outage.clone());
        }
        let mut inbox = self.inbox();
        let count = inbox.inputs.len().min(TOGETHER_MAX);
        let inputs: Vec<Input> = inbox.inputs.drain(..count).collect();
        let more = !inbox.inputs.is_empty();
        inbox.flushed = false;
        drop(inbox);
        desk.alone = !more && matches!(inputs[..], [Input::Asked(..)]);
        if let Some(answer) = desk.turn(inputs) {
            *seat = None;
            self.inbox().stopped.push(answer);
            self.end();
            return Turned::Ended;
        }
        match &desk.broken {
            Some(outage) => Turned::Failed(outage.clone()),
            None if more => Turned::Idle(Duration::ZERO),
            None => Turned::Idle(desk.patience()),
        }
    }

    fn lay(&self, input: Input) -> Result<(), Input> {
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

    fn end(&self) {
        let mut inbox = self.inbox();
        inbox.ended = true;
        for unread in std::mem::take(&mut inbox.inputs) {
            // The reply channel closes, so a waiting caller learns that there is no response.
            if let Input::Stop(answer) = unread {
                inbox.stopped.push(answer);
            }
        }
        drop(inbox);
        self.come.notify_one();
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbox {
    fn wants_stop(&self) -> bool {
        let mut inputs = self.inputs.iter();
        inputs.any(|it| matches!(it, Input::Stop(_)))
    }

    /// Refuses all queued requests because nothing can be decided.
    fn refuse_all(&mut self, outage: &Outage) {
        for input in std::mem::take(&mut self.inputs) {
            match input {
                Input::Asked(_, reply) => reply(Err(outage.clone().into())),
                Input::News(_) | Input::Finished(_) | Input::Damaged(_) | Input::Stop(_) => {
                    self.inputs.push_back(input);
                }
            }
        }
    }
}

fn panicked() -> Outage {
    Outage::fault("a panic in the dispatcher; the log has it")
}
