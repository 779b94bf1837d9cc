//! Event loop: one poll over the connections to all shims.

use super::attempt_events::never_started;
use super::connection::{AttemptConnection, PollOutcome};
use super::start_workers::StartWorkers;
use super::{AttemptEvent, AttemptEventKind, LoopCommand};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// Longest wait between two polls of all attempts.
const POLL_MS_MAX: u64 = 5_000;

/// Pause after a failed poll.
const FAILED_POLL_PAUSE_MS: u64 = 100;

type EventSink = Box<dyn FnMut(AttemptEvent) + Send>;

/// Drives all attempts until it receives [`LoopCommand::Leave`] or the handle is gone.
pub(super) fn run_loop(
    orders: Receiver<(Arc<str>, LoopCommand)>,
    mut woken: UnixStream,
    workers: StartWorkers,
    mut sink: EventSink,
) {
    let mut all: BTreeMap<Arc<str>, AttemptConnection> = BTreeMap::new();
    loop {
        let mut touched = BTreeSet::new();
        loop {
            match orders.try_recv() {
                Ok((_, LoopCommand::Leave)) | Err(TryRecvError::Disconnected) => return,
                Ok((id, order)) => {
                    apply_command(&mut all, &workers, &id, order, &mut sink);
                    touched.insert(id);
                }
                Err(TryRecvError::Empty) => break,
            }
        }
        let now = Instant::now();
        for (id, one) in &all {
            if one.next_poll().is_some_and(|at| at <= now) {
                touched.insert(id.clone());
            }
        }
        // Polling may make an attempt ready again at once.
        let mut rounds = 0;
        while !touched.is_empty() {
            rounds += 1;
            let now = Instant::now();
            for id in std::mem::take(&mut touched) {
                poll_attempt(&mut all, &workers, &id, now, &mut sink);
                let again = all.get(&id).and_then(AttemptConnection::next_poll);
                if again.is_some_and(|at| at <= now) && rounds < 3 {
                    touched.insert(id);
                }
            }
        }
        // If poll fails, for want of memory say, all attempts are looked at instead.
        let ready = wait_for_sockets(&all, &woken).unwrap_or_else(|_| {
            std::thread::sleep(Duration::from_millis(FAILED_POLL_PAUSE_MS));
            all.keys().cloned().collect()
        });
        // Every write to this socket comes with an order.
        let mut drop = [0; 64];
        while woken.read(&mut drop).is_ok_and(|count| count == drop.len()) {}
        for id in ready {
            if let Some(one) = all.get_mut(&id) {
                one.read_events(&mut |what| {
                    sink(AttemptEvent {
                        id: id.clone(),
                        kind: what,
                    });
                });
            }
            poll_attempt(&mut all, &workers, &id, Instant::now(), &mut sink);
        }
    }
}

fn apply_command(
    all: &mut BTreeMap<Arc<str>, AttemptConnection>,
    workers: &StartWorkers,
    id: &Arc<str>,
    order: LoopCommand,
    sink: &mut EventSink,
) {
    let mut over = |what| {
        sink(AttemptEvent {
            id: id.clone(),
            kind: what,
        });
    };
    match order {
        LoopCommand::Begin(begin, values) => {
            let (mut one, work) = AttemptConnection::start_new(*begin);
            one.apply_command(LoopCommand::Hide(values));
            all.insert(id.clone(), one);
            workers.submit_job(id, work);
        }
        LoopCommand::Attach(known) => match AttemptConnection::attach_existing(*known) {
            Ok(one) => {
                all.insert(id.clone(), one);
            }
            Err(error) => over(never_started(&error)),
        },
        LoopCommand::Ready(Err(message)) => {
            all.remove(id);
            over(AttemptEventKind::NeverStarted {
                message: Some(message),
            });
        }
        LoopCommand::Swept(swept) => {
            all.remove(id);
            over(AttemptEventKind::Lost(swept));
        }
        order @ (LoopCommand::Ready(Ok(_))
        | LoopCommand::Hide(_)
        | LoopCommand::Want(_)
        | LoopCommand::Interrupt
        | LoopCommand::Say { .. }
        | LoopCommand::Processed { .. }) => {
            // An attempt that has ended takes no orders; its end was reported.
            if let Some(one) = all.get_mut(id) {
                one.apply_command(order);
            }
        }
        LoopCommand::Leave => {}
    }
}

fn poll_attempt(
    all: &mut BTreeMap<Arc<str>, AttemptConnection>,
    workers: &StartWorkers,
    id: &Arc<str>,
    now: Instant,
    sink: &mut EventSink,
) {
    let Some(one) = all.get_mut(id) else {
        return;
    };
    let next = one.poll(now, &mut |what| {
        sink(AttemptEvent {
            id: id.clone(),
            kind: what,
        });
    });
    match next {
        PollOutcome::Wait => {}
        PollOutcome::Work(work) => workers.submit_job(id, work),
        PollOutcome::Over(what) => {
            all.remove(id);
            sink(AttemptEvent {
                id: id.clone(),
                kind: what,
            });
        }
    }
}

/// Waits until a connection is ready; returns the ids of those that are.
fn wait_for_sockets(
    all: &BTreeMap<Arc<str>, AttemptConnection>,
    woken: &UnixStream,
) -> rustix::io::Result<Vec<Arc<str>>> {
    let now = Instant::now();
    let first = all.values().filter_map(AttemptConnection::next_poll).min();
    let first = first.map(|at| at.saturating_duration_since(now));
    let patience = Duration::from_millis(POLL_MS_MAX);
    let time = first.map_or(patience, |first| first.min(patience));
    let mut ids = Vec::with_capacity(all.len());
    let mut polled = Vec::with_capacity(all.len() + 1);
    polled.push(PollFd::new(woken, PollFlags::IN));
    for (id, one) in all {
        if let Some((stream, says)) = one.poll_socket() {
            let flags = match says {
                true => PollFlags::IN | PollFlags::OUT,
                false => PollFlags::IN,
            };
            polled.push(PollFd::new(stream, flags));
            ids.push(id);
        }
    }
    let time = Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    };
    match poll(&mut polled, Some(&time)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    }
    let ready = ids.into_iter().zip(&polled[1..]);
    let ready = ready.filter(|(_, fd)| !fd.revents().is_empty());
    Ok(ready.map(|(id, _)| id.clone()).collect())
}
