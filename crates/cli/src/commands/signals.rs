//! Signals by which a person or the system asks a run to end.

use nix::sys::signal::{SigSet, Signal};

const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Blocks the signals, for a thread of their own to receive. New threads inherit what this one
/// blocks.
pub(crate) fn block_signals() -> SigSet {
    let mut signals = SigSet::empty();
    for signal in SIGNALS {
        signals.add(signal);
    }
    let _ = signals.thread_block();
    signals
}

/// Starts the thread that receives the signals: the first calls `leave`, every further one `stop`.
pub(crate) fn start_signal_thread(
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
    // Without the thread, signals stay pending until the run ends.
    drop(spawned);
}
