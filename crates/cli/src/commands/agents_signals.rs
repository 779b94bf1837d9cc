//! Stops watching an agent on Ctrl-C or another termination signal, after acknowledging what was
//! shown.

use nix::sys::signal::{SigSet, Signal};
use rustix::process::{getpid, kill_process};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Signals by which a person or the system asks a program to end.
const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
/// Time to finish showing the current block. If its reader has stopped, the program ends without
/// acknowledging the block.
const GRACE_PERIOD: Duration = Duration::from_secs(2);

/// Waits for termination signals from its creation on.
pub(super) struct TerminationSignals {
    /// Becomes readable once a signal has arrived.
    wake_stream: UnixStream,
    signal: Arc<AtomicI32>,
}

impl TerminationSignals {
    /// Begins to wait for signals. A second signal, or the end of the grace time, ends the program
    /// as usual.
    pub(super) fn start_waiting() -> io::Result<TerminationSignals> {
        let mut signals = SigSet::empty();
        let ignored = ignored_signals();
        for signal in SIGNALS {
            // A signal that `nohup` or a shell has set to ignored stays ignored.
            if ignored & (1 << (signal as i32 - 1)) == 0 {
                signals.add(signal);
            }
        }
        // New threads inherit the signals that this one blocks.
        signals.thread_block()?;
        let (wake_stream, mut wake_sender) = UnixStream::pair()?;
        let signal = Arc::new(AtomicI32::new(0));
        let leave = TerminationSignals {
            wake_stream,
            signal: Arc::clone(&signal),
        };
        std::thread::Builder::new().spawn(move || {
            let Ok(first) = signals.wait() else {
                return;
            };
            signal.store(first as i32, Ordering::SeqCst);
            let _ = wake_sender.write_all(b"!");
            let _ = signals.thread_unblock();
            std::thread::sleep(GRACE_PERIOD);
            if let Some(same) = rustix::process::Signal::from_named_raw(first as i32) {
                let _ = kill_process(getpid(), same);
            }
        })?;
        Ok(leave)
    }

    /// Returns the number of the signal that arrived; 0 before.
    pub(super) fn signal_number(&self) -> i32 {
        self.signal.load(Ordering::SeqCst)
    }

    /// Returns a descriptor that becomes readable once a signal has arrived.
    pub(super) fn wake_descriptor(&self) -> BorrowedFd<'_> {
        self.wake_stream.as_fd()
    }
}

/// Returns the signals that this program was started to ignore, one bit each.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
