//! Who is at the desk: whoever asks and finds nobody there, and otherwise a thread that stays.
//!
//! A wish that is decided on by the thread which has it costs no change of threads, and each of those takes as long as a
//! fifth of a flush. There is still one desk, with one at it at a time, who takes what has come in its order.

use super::desk::{Desk, Input, TOGETHER_MAX};
use super::wish::Refused;
use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Turns for others that whoever asks takes.
const TURNS_MAX: usize = 8;

#[derive(Default)]
pub(super) struct Shift {
    /// Empty before the first turn and after the last. Locked before `inbox`, never behind it.
    seat: Mutex<Option<Desk>>,
    inbox: Mutex<Inbox>,
    come: Condvar,
}

#[derive(Default)]
struct Inbox {
    inputs: VecDeque<Input>,
    /// What was under way is durable, or is not.
    flushed: bool,
    /// Until when the thread sleeps.
    asleep: Option<Instant>,
    ended: bool,
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
        // Whoever is there looks at the inbox once more when it has got up.
        let Ok(mut seat) = self.seat.try_lock() else {
            return Ok(());
        };
        let mut patience = self.turn(&mut seat);
        // What came meanwhile is seen to at once: to wake the thread for it takes longer. But nobody serves others for ever.
        for _ in 0..TURNS_MAX {
            if self.inbox().is_empty() {
                break;
            }
            patience = self.turn(&mut seat);
        }
        drop(seat);
        let inbox = self.inbox();
        let early = patience.is_some_and(|it| {
            let next = Instant::now() + it;
            inbox.asleep.is_some_and(|until| next < until)
        });
        if early || !inbox.is_empty() {
            self.come.notify_one();
        }
        Ok(())
    }

    /// Sees to everything that nobody brings, until somebody stops it.
    pub(super) fn stay(&self, mut desk: Desk) {
        desk.resume();
        let Ok(mut seat) = self.seat.lock() else {
            return self.end();
        };
        *seat = Some(desk);
        loop {
            let Some(patience) = self.turn(&mut seat) else {
                return;
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
            seat = match self.seat.lock() {
                Ok(seat) => seat,
                // Somebody fell off it: what was decided there is not known, and the next process looks at what is durable.
                Err(_) => return self.end(),
            };
        }
    }

    /// Takes what has come to the desk. Says how long it has nothing to do; nothing once it has ended.
    fn turn(&self, seat: &mut Option<Desk>) -> Option<Duration> {
        let desk = seat.as_mut()?;
        let mut inbox = self.inbox();
        let count = inbox.inputs.len().min(TOGETHER_MAX);
        let inputs: Vec<Input> = inbox.inputs.drain(..count).collect();
        let more = !inbox.inputs.is_empty();
        inbox.flushed = false;
        drop(inbox);
        desk.alone = !more && matches!(inputs[..], [Input::Asked(..)]);
        let stop = match desk.broken.clone() {
            None => desk.turn(inputs),
            Some(why) => refuse(inputs, &why),
        };
        match stop {
            // Only when everything is let go is the store free for whoever comes next.
            Some(answer) => {
                *seat = None;
                self.end();
                let _ = answer.send(());
                None
            }
            None if more => Some(Duration::ZERO),
            None => Some(desk.patience()),
        }
    }

    fn lay(&self, input: Input) -> Result<(), Input> {
        let mut inbox = self.inbox();
        if inbox.ended {
            return Err(input);
        }
        inbox.inputs.push_back(input);
        Ok(())
    }

    fn end(&self) {
        let mut inbox = self.inbox();
        inbox.ended = true;
        let unread = std::mem::take(&mut inbox.inputs);
        drop(inbox);
        self.come.notify_one();
        // Whoever waits for an answer hears that there is none.
        drop(unread);
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nothing can be decided any more; whoever asks is told so, and the next process goes on from what is durable.
fn refuse(inputs: Vec<Input>, why: &str) -> Option<Sender<()>> {
    let mut stop = None;
    for input in inputs {
        match input {
            Input::Asked(_, reply) => reply(Err(Refused::Failed(why.to_owned()))),
            Input::Stop(answer) => stop = Some(answer),
            Input::News(_) | Input::Finished(_) => {}
        }
    }
    stop
}
