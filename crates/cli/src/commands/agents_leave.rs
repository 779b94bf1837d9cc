//! Leaving an agent that is being watched, at Ctrl-C and its like, with what was shown acknowledged.

use nix::sys::signal::{SigSet, Signal};
use rustix::process::{getpid, kill_process};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// The signals by which a person or a system asks a program to leave.
const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
/// How long the block being shown may take. Whoever reads it may have stopped, and then we leave without.
const GRACE: Duration = Duration::from_secs(2);

/// Hears the signals from here on.
pub(super) struct Leave {
    /// Readable once one was heard.
    heard: UnixStream,
    signal: Arc<AtomicI32>,
}

impl Leave {
    /// Begins to listen. A second signal, or a watcher that cannot finish, ends the program as it always does.
    pub(super) fn listen() -> io::Result<Leave> {
        let mut signals = SigSet::empty();
        let ignored = ignored();
        for signal in SIGNALS {
            // What `nohup` or a shell has set aside stays so.
            if ignored & (1 << (signal as i32 - 1)) == 0 {
                signals.add(signal);
            }
        }
        // Threads begin with what this one blocks.
        signals.thread_block()?;
        let (heard, mut tell) = UnixStream::pair()?;
        let signal = Arc::new(AtomicI32::new(0));
        let leave = Leave {
            heard,
            signal: Arc::clone(&signal),
        };
        std::thread::Builder::new().spawn(move || {
            let Ok(first) = signals.wait() else {
                return;
            };
            signal.store(first as i32, Ordering::SeqCst);
            let _ = tell.write_all(b"!");
            let _ = signals.thread_unblock();
            std::thread::sleep(GRACE);
            if let Some(same) = rustix::process::Signal::from_named_raw(first as i32) {
                let _ = kill_process(getpid(), same);
            }
        })?;
        Ok(leave)
    }

    /// The signal that was heard.
    pub(super) fn signal(&self) -> i32 {
        self.signal.load(Ordering::SeqCst)
    }

    /// Readable once a signal was heard.
    pub(super) fn heard(&self) -> BorrowedFd<'_> {
        self.heard.as_fd()
    }
}

/// The signals this program was started to ignore, a bit for each.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
