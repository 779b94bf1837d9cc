//! Event loop: one poll over the connections to all shims.

use super::one::{Next, One, not_begun};
use super::workers::Workers;
use super::{Happened, News, Order};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// Longest wait between two polls of all attempts.
const LOOK_MS: u64 = 5_000;

/// Pause after a failed poll.
const WAIT_FAILED_MS: u64 = 100;

type Sink = Box<dyn FnMut(News) + Send>;

/// Drives all attempts until it receives [`Order::Leave`] or the handle is gone.
pub(super) fn run(
    orders: Receiver<(Arc<str>, Order)>,
    mut woken: UnixStream,
    workers: Workers,
    mut sink: Sink,
) {
    let mut all: BTreeMap<Arc<str>, One> = BTreeMap::new();
    loop {
        let mut touched = BTreeSet::new();
        loop {
            match orders.try_recv() {
                Ok((_, Order::Leave)) | Err(TryRecvError::Disconnected) => return,
                Ok((id, order)) => {
                    take(&mut all, &workers, &id, order, &mut sink);
                    touched.insert(id);
                }
                Err(TryRecvError::Empty) => break,
            }
        }
        let now = Instant::now();
        for (id, one) in &all {
            if one.wakes().is_some_and(|at| at <= now) {
                touched.insert(id.clone());
            }
        }
        // Polling may make an attempt ready again at once.
        let mut rounds = 0;
        while !touched.is_empty() {
            rounds += 1;
            let now = Instant::now();
            for id in std::mem::take(&mut touched) {
                look(&mut all, &workers, &id, now, &mut sink);
                let again = all.get(&id).and_then(One::wakes);
                if again.is_some_and(|at| at <= now) && rounds < 3 {
                    touched.insert(id);
                }
            }
        }
        // If poll fails, for want of memory say, all attempts are looked at instead.
        let ready = wait(&all, &woken).unwrap_or_else(|_| {
            std::thread::sleep(Duration::from_millis(WAIT_FAILED_MS));
            all.keys().cloned().collect()
        });
        // Every write to this socket comes with an order.
        let mut drop = [0; 64];
        while woken.read(&mut drop).is_ok_and(|count| count == drop.len()) {}
        for id in ready {
            if let Some(one) = all.get_mut(&id) {
                one.receive(&mut |what| {
                    sink(News {
                        id: id.clone(),
                        what,
                    });
                });
            }
            look(&mut all, &workers, &id, Instant::now(), &mut sink);
        }
    }
}

fn take(
    all: &mut BTreeMap<Arc<str>, One>,
    workers: &Workers,
    id: &Arc<str>,
    order: Order,
    sink: &mut Sink,
) {
    let mut over = |what| {
        sink(News {
            id: id.clone(),
            what,
        });
    };
    match order {
        Order::Begin(begin, values) => {
            let (mut one, work) = One::begin(*begin);
            one.hear(Order::Hide(values));
            all.insert(id.clone(), one);
            workers.hand_over(id, work);
        }
        Order::Attach(known) => match One::attach(*known) {
            Ok(one) => {
                all.insert(id.clone(), one);
            }
            Err(error) => over(not_begun(&error)),
        },
        Order::Ready(Err(message)) => {
            all.remove(id);
            over(Happened::NotBegun {
                message: Some(message),
            });
        }
        Order::Swept(swept) => {
            all.remove(id);
            over(Happened::Lost(swept));
        }
        order @ (Order::Ready(Ok(_))
        | Order::Hide(_)
        | Order::Want(_)
        | Order::Interrupt
        | Order::Say { .. }
        | Order::Processed { .. }) => {
            // An attempt that has ended takes no orders; its end was reported.
            if let Some(one) = all.get_mut(id) {
                one.hear(order);
            }
        }
        Order::Leave => {}
    }
}

fn look(
    all: &mut BTreeMap<Arc<str>, One>,
    workers: &Workers,
    id: &Arc<str>,
    now: Instant,
    sink: &mut Sink,
) {
    let Some(one) = all.get_mut(id) else {
        return;
    };
    let next = one.look(now, &mut |what| {
        sink(News {
            id: id.clone(),
            what,
        });
    });
    match next {
        Next::Wait => {}
        Next::Work(work) => workers.hand_over(id, work),
        Next::Over(what) => {
            all.remove(id);
            sink(News {
                id: id.clone(),
                what,
            });
        }
    }
}

/// Waits until a connection is ready; returns the ids of those that are.
fn wait(all: &BTreeMap<Arc<str>, One>, woken: &UnixStream) -> rustix::io::Result<Vec<Arc<str>>> {
    let now = Instant::now();
    let first = all.values().filter_map(One::wakes).min();
    let first = first.map(|at| at.saturating_duration_since(now));
    let patience = Duration::from_millis(LOOK_MS);
    let time = first.map_or(patience, |first| first.min(patience));
    let mut ids = Vec::with_capacity(all.len());
    let mut polled = Vec::with_capacity(all.len() + 1);
    polled.push(PollFd::new(woken, PollFlags::IN));
    for (id, one) in all {
        if let Some((stream, says)) = one.connection() {
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
