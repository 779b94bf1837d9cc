//! Worker threads for what blocks: starting a shim and sweeping a lost attempt.

use super::Order;
use crate::core::error_chain;
use bowline_store::Resource;
use bowline_supervisor::{
    Attempt, AttemptSpec, ShimProgram, ShimStarter, SupervisorError, SweepReport, sweep_attempt,
};
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Number of workers. Each start is a short program; more would only compete.
const HELPERS: usize = 4;

/// Time between two tries of a start for which the machine lacks a resource.
const AGAIN: Duration = Duration::from_millis(250);

/// Job for a worker.
pub(super) enum Work {
    /// Creates the attempt and starts its shim.
    Make {
        folder: PathBuf,
        spec: Box<AttemptSpec>,
    },
    /// Starts a shim for an attempt that exists.
    Start(Box<Attempt>),
    /// Kills the processes that a lost attempt left behind.
    Sweep(Box<Attempt>),
}

/// Sender to the workers. They end when it is dropped.
pub(super) struct Workers {
    work: Sender<(Arc<str>, Work)>,
    /// Dropped with this, so that nothing is retried afterwards.
    _open: Arc<()>,
}

impl Workers {
    pub(super) fn begin(
        shim: ShimProgram,
        orders: &Sender<(Arc<str>, Order)>,
        wake: &UnixStream,
        retries: &Arc<AtomicU64>,
    ) -> io::Result<(Workers, Vec<JoinHandle<()>>)> {
        let (work, queue) = channel();
        let open = Arc::new(());
        let queue = Arc::new(Mutex::new(queue));
        let mut threads = Vec::new();
        for number in 0..HELPERS {
            let (mut starter, orders) = (ShimStarter::new(shim.clone()), orders.clone());
            let (queue, wake) = (queue.clone(), wake.try_clone()?);
            let (open, retries) = (Arc::downgrade(&open), retries.clone());
            let named = std::thread::Builder::new().name(format!("attempts-{number}"));
            threads.push(named.spawn(move || {
                while let Some((id, work)) = next(&queue) {
                    let retry = Retry {
                        open: &open,
                        retries: &retries,
                    };
                    let done =
                        catch_unwind(AssertUnwindSafe(|| carry_out(&mut starter, work, &retry)));
                    // A thread that dies of one start would leave all others undone.
                    let done = done.unwrap_or_else(|_| {
                        Order::Ready(Err("a panic at the start; the log has it".into()))
                    });
                    if orders.send((id, done)).is_err() {
                        return;
                    }
                    let _ = (&wake).write(&[0]);
                }
            })?);
        }
        Ok((Workers { work, _open: open }, threads))
    }

    pub(super) fn hand_over(&self, id: &Arc<str>, work: Work) {
        // The workers live as long as this does.
        let _ = self.work.send((id.clone(), work));
    }
}

fn next(queue: &Mutex<Receiver<(Arc<str>, Work)>>) -> Option<(Arc<str>, Work)> {
    let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.recv().ok()
}

/// Retries a start while the machine lacks a resource for it.
struct Retry<'r> {
    open: &'r Weak<()>,
    retries: &'r AtomicU64,
}

impl Retry<'_> {
    /// Calls `start` until it succeeds, fails for another reason, or the workers are closed.
    fn run<T>(&self, mut start: impl FnMut() -> Result<T, SupervisorError>) -> Result<T, String> {
        loop {
            let message = match start() {
                Ok(done) => return Ok(done),
                Err(error) => error_chain(&error),
            };
            if Resource::named_in(&message).is_none() || self.open.upgrade().is_none() {
                return Err(message);
            }
            self.retries.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(AGAIN);
        }
    }
}

fn carry_out(starter: &mut ShimStarter, work: Work, retry: &Retry<'_>) -> Order {
    let mut started = |attempt: Attempt| {
        let ready = retry.run(|| starter.start_shim(&attempt));
        Order::Ready(ready.map(|()| Box::new(attempt)))
    };
    match work {
        Work::Make { folder, spec } => {
            let made = retry.run(|| Attempt::create(&folder, AttemptSpec::clone(&spec)));
            match made {
                Ok(attempt) => started(attempt),
                Err(message) => Order::Ready(Err(message)),
            }
        }
        Work::Start(attempt) => started(*attempt),
        // An attempt that cannot be swept counts as swept; what it left cannot be named.
        Work::Sweep(attempt) => Order::Swept(sweep_attempt(&attempt).unwrap_or(SweepReport {
            restless: true,
            ..SweepReport::default()
        })),
    }
}
