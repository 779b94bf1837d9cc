//! Who is at the desk: whoever asks and finds nobody there, and otherwise a thread that stays.
//!
//! A wish that is decided on by the thread which has it costs no change of threads, and each of those takes as long as a
//! fifth of a flush. There is still one desk, with one at it at a time, who takes what has come in its order.

use super::desk::{Desk, Input, TOGETHER_MAX};
use super::outage::{Failures, Health, Outage, Restarts};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Turns for others that whoever asks takes.
const TURNS_MAX: usize = 8;
/// Between two looks whether what the machine lacks is there again.
const OUTAGE_LOOK: Duration = Duration::from_millis(250);

/// What is called whenever the health of the loop changes.
type OnHealth = Box<dyn Fn(Health) + Send + Sync>;

#[derive(Default)]
pub(super) struct Shift {
    pub(super) failures: Arc<Failures>,
    /// Empty before the first turn and after the last. Locked before `inbox`, never behind it.
    seat: Mutex<Option<Desk>>,
    inbox: Mutex<Inbox>,
    come: Condvar,
    on_health: OnceLock<OnHealth>,
}

#[derive(Default)]
struct Inbox {
    inputs: VecDeque<Input>,
    /// What was under way is durable, or is not.
    flushed: bool,
    /// Until when the thread sleeps.
    asleep: Option<Instant>,
    /// Why nothing is decided at the moment.
    outage: Option<Outage>,
    /// It failed for good.
    failed: bool,
    /// Who waits for the end.
    stopped: Vec<Sender<()>>,
    ended: bool,
}

/// What came of a turn.
enum Turned {
    /// Nothing has to be done for so long.
    Idle(Duration),
    /// The store failed.
    Failed(Outage),
    /// Somebody stopped it.
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
    /// Lays something before the desk, for the thread. What nobody will look at any more comes back.
    pub(super) fn put(&self, input: Input) -> Result<(), Input> {
        self.lay(input)?;
        self.come.notify_one();
        Ok(())
    }

    /// Something that was under way can be answered.
    pub(super) fn flushed(&self) {
        if !std::mem::replace(&mut self.inbox().flushed, true) {
            self.come.notify_one();
        }
    }

    /// The same, and sits down where nobody does.
    pub(super) fn bring(&self, input: Input) -> Result<(), Input> {
        self.lay(input)?;
        // Whoever is there looks at the inbox once more when it has got up. One that panicked leaves it to the thread.
        let Ok(mut seat) = self.seat.try_lock() else {
            self.come.notify_one();
            return Ok(());
        };
        let mut turned = self.turn(&mut seat);
        // What came meanwhile is seen to at once: to wake the thread for it takes longer. But nobody serves others for ever.
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

    /// Sees to everything that nobody brings, until somebody stops it. After a failure `reopen` makes a new desk from what is
    /// durable. Gives back who waits for the end.
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
            // While nobody else can sit down: whoever does so next sees for how long this thread sleeps.
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

    /// Waits for the seat. A caller that panicked on it leaves a desk that cannot be trusted.
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

    /// Starts anew from what is durable. What the machine lacks is waited for; any other failure may happen a few times, with
    /// growing pauses. Nothing once it was stopped or has failed for good.
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
                // News for the desk before: whatever they told is read again.
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

    /// Waits before the next start. Requests are refused meanwhile where the machine lacks what they need, else they wait, too.
    /// False once somebody wants it to stop.
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

    /// Has this called with the health now, and whenever it changes. The first one stays.
    pub(super) fn on_health(&self, call: OnHealth) {
        let _ = self.on_health.set(call);
        self.tell_health();
    }

    /// Takes what has come to the desk.
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
            // Whoever waits for an answer hears that there is none.
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

    /// Answers whoever asks that nothing can be decided.
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
