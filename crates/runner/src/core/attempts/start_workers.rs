//! Worker threads for what blocks: starting a shim and sweeping a lost attempt.

use super::LoopCommand;
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
const WORKER_COUNT: usize = 4;

/// Time between two tries of a start for which the machine lacks a resource.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Job for a worker.
pub(super) enum WorkerJob {
    /// Creates the attempt and starts its shim.
    Create {
        folder: PathBuf,
        spec: Box<AttemptSpec>,
    },
    /// Starts a shim for an attempt that exists.
    Start(Box<Attempt>),
    /// Kills the processes that a lost attempt left behind.
    Sweep(Box<Attempt>),
}

/// Sender to the workers. They end when it is dropped.
pub(super) struct StartWorkers {
    work: Sender<(Arc<str>, WorkerJob)>,
    /// Dropped with this, so that nothing is retried afterwards.
    _open: Arc<()>,
}

impl StartWorkers {
    pub(super) fn spawn(
        shim: ShimProgram,
        orders: &Sender<(Arc<str>, LoopCommand)>,
        wake: &UnixStream,
        retries: &Arc<AtomicU64>,
    ) -> io::Result<(StartWorkers, Vec<JoinHandle<()>>)> {
        let (work, queue) = channel();
        let open = Arc::new(());
        let queue = Arc::new(Mutex::new(queue));
        let mut threads = Vec::new();
        for number in 0..WORKER_COUNT {
            let (mut starter, orders) = (ShimStarter::new(shim.clone()), orders.clone());
            let (queue, wake) = (queue.clone(), wake.try_clone()?);
            let (open, retries) = (Arc::downgrade(&open), retries.clone());
            let named = std::thread::Builder::new().name(format!("attempts-{number}"));
            threads.push(named.spawn(move || {
                while let Some((id, work)) = next_job(&queue) {
                    let retry = StartRetry {
                        open: &open,
                        retries: &retries,
                    };
                    let done =
                        catch_unwind(AssertUnwindSafe(|| execute_job(&mut starter, work, &retry)));
                    // A thread that dies of one start would leave all others undone.
                    let done = done.unwrap_or_else(|_| {
                        LoopCommand::Ready(Err("a panic at the start; the log has it".into()))
                    });
                    if orders.send((id, done)).is_err() {
                        return;
                    }
                    let _ = (&wake).write(&[0]);
                }
            })?);
        }
        Ok((StartWorkers { work, _open: open }, threads))
    }

    pub(super) fn submit_job(&self, id: &Arc<str>, work: WorkerJob) {
        // The workers live as long as this does.
        let _ = self.work.send((id.clone(), work));
    }
}

fn next_job(queue: &Mutex<Receiver<(Arc<str>, WorkerJob)>>) -> Option<(Arc<str>, WorkerJob)> {
    let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.recv().ok()
}

/// Retries a start while the machine lacks a resource for it.
struct StartRetry<'r> {
    open: &'r Weak<()>,
    retries: &'r AtomicU64,
}

impl StartRetry<'_> {
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
            std::thread::sleep(RETRY_PAUSE);
        }
    }
}

fn execute_job(starter: &mut ShimStarter, work: WorkerJob, retry: &StartRetry<'_>) -> LoopCommand {
    let mut started = |attempt: Attempt| {
        let ready = retry.run(|| starter.start_shim(&attempt));
        LoopCommand::Ready(ready.map(|()| Box::new(attempt)))
    };
    match work {
        WorkerJob::Create { folder, spec } => {
            let made = retry.run(|| Attempt::create(&folder, AttemptSpec::clone(&spec)));
            match made {
                Ok(attempt) => started(attempt),
                Err(message) => LoopCommand::Ready(Err(message)),
            }
        }
        WorkerJob::Start(attempt) => started(*attempt),
        // An attempt that cannot be swept counts as swept; what it left cannot be named.
        WorkerJob::Sweep(attempt) => {
            LoopCommand::Swept(sweep_attempt(&attempt).unwrap_or(SweepReport {
                restless: true,
                ..SweepReport::default()
            }))
        }
    }
}
