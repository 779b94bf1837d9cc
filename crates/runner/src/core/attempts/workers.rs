//! Helpers for what takes its time: starting a shim, and looking after a lost attempt.

use super::Order;
use bowline_supervisor::{Attempt, Shim, Spec, Starter, Swept, sweep};
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Shims started at once. Each start is a short program; more would only compete.
const HELPERS: usize = 4;

/// Something to be done.
pub(super) enum Work {
    /// Make the attempt, and start its shim.
    Make { folder: PathBuf, spec: Box<Spec> },
    /// Start a shim for one that is made.
    Start(Box<Attempt>),
    /// Kill what it left behind.
    Sweep(Box<Attempt>),
}

/// The way to them. They leave when it is gone.
pub(super) struct Workers(Sender<(Arc<str>, Work)>);

impl Workers {
    pub(super) fn begin(
        shim: Shim,
        orders: &Sender<(Arc<str>, Order)>,
        wake: &UnixStream,
    ) -> io::Result<Workers> {
        let (work, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..HELPERS {
            let (mut starter, orders) = (Starter::new(shim.clone()), orders.clone());
            let (queue, wake) = (queue.clone(), wake.try_clone()?);
            std::thread::Builder::new()
                .name(format!("attempts-{number}"))
                .spawn(move || {
                    while let Some((id, work)) = next(&queue) {
                        let done = carry_out(&mut starter, work);
                        if orders.send((id, done)).is_err() {
                            return;
                        }
                        let _ = (&wake).write(&[0]);
                    }
                })?;
        }
        Ok(Workers(work))
    }

    pub(super) fn hand_over(&self, id: &Arc<str>, work: Work) {
        // They live as long as this does.
        let _ = self.0.send((id.clone(), work));
    }
}

fn next(queue: &Mutex<Receiver<(Arc<str>, Work)>>) -> Option<(Arc<str>, Work)> {
    let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.recv().ok()
}

fn carry_out(starter: &mut Starter, work: Work) -> Order {
    let mut started = |attempt: Attempt| starter.start(&attempt).map(|()| Box::new(attempt));
    match work {
        Work::Make { folder, spec } => {
            let ready = Attempt::create(&folder, *spec).and_then(&mut started);
            Order::Ready(ready.map_err(|error| told(&error)))
        }
        Work::Start(attempt) => Order::Ready(started(*attempt).map_err(|error| told(&error))),
        // One that cannot be swept is as gone; what it left cannot be named.
        Work::Sweep(attempt) => Order::Swept(sweep(&attempt).unwrap_or(Swept {
            restless: true,
            ..Swept::default()
        })),
    }
}

/// An error with its causes, in one line.
pub(super) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
