//! How a person or a system asks a run to leave.

use nix::sys::signal::{SigSet, Signal};

const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Signals are heard by a thread of their own. Threads begin with what this one blocks.
pub(crate) fn block() -> SigSet {
    let mut signals = SigSet::empty();
    for signal in SIGNALS {
        signals.add(signal);
    }
    let _ = signals.thread_block();
    signals
}

/// The first leaves agents alone, every further one ends them.
pub(crate) fn listen(
    signals: SigSet,
    leave: impl Fn() + Send + 'static,
    stop: impl Fn() + Send + 'static,
) {
    let spawned = std::thread::Builder::new().spawn(move || {
        let mut first = true;
        while signals.wait().is_ok() {
            match std::mem::replace(&mut first, false) {
                true => leave(),
                false => stop(),
            }
        }
    });
    // Without the thread a signal waits for the end of the run.
    drop(spawned);
}
