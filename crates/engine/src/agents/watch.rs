//! Watches one attempt: shows its output from the last shown byte until it ends or the watcher
//! leaves.

use super::{
    AgentAttempts, ShownBytes, is_exiting, settled_condition, silent_shim, unreachable_error,
};
use crate::error::Error;
use bowline_supervisor::{
    Attempt, AttemptCondition, AttemptExit, OutputBlockReason, OutputStream, ShimHandle,
    SweepReport, sweep_attempt,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Most bytes of output passed on at once.
const SHOWN_BYTES: usize = 256 << 10;
/// Time limit of one wait for news before the shim is checked again, in seconds.
const NEWS_SECONDS: i64 = 5;
/// Consecutive waits without an answer after which the shim counts as silent: each new wait makes
/// it answer the one before.
const SILENT_WAITS: u32 = 2;
/// Pause between two checks of a shim that does not answer and is not gone, in milliseconds.
const LOOK_MS: u64 = 1;

/// Outcome of watching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchOutcome {
    Ended(Box<AttemptExit>),
    /// Its shim was lost, and the processes it left behind were killed.
    Lost(SweepReport),
    /// The watcher left; the agent continues.
    Left,
}

/// Receiver of an agent's output.
pub trait OutputWatcher {
    /// Shows bytes of a stream, the first of them at `offset`, and returns how many were shown. The
    /// rest is passed again with the bytes that follow, or with `last` if none follow. Only shown
    /// bytes are acknowledged.
    fn show_bytes(
        &mut self,
        stream: OutputStream,
        offset: u64,
        bytes: &[u8],
        last: bool,
    ) -> io::Result<usize>;

    /// Reports requested bytes that are gone: they had been shown, and their disk space was freed.
    fn report_gap(&mut self, stream: OutputStream, from: u64, to: u64) -> io::Result<()>;

    /// Reports that the agent cannot write, and that showing its output does not help.
    fn report_blocked(&mut self, why: OutputBlockReason) -> io::Result<()>;
}

/// Read position in one stream.
struct StreamPosition {
    stream: OutputStream,
    /// Offset of the next byte to show.
    at: u64,
    /// Bytes after `at` that were read and are not shown yet.
    held: usize,
    /// End of the shown bytes, now or earlier.
    shown: u64,
}

impl StreamPosition {
    fn new(stream: OutputStream, from: Option<u64>, shown: u64) -> StreamPosition {
        StreamPosition {
            stream,
            at: from.unwrap_or(shown),
            held: 0,
            shown,
        }
    }

    /// Shows new bytes; true if there were any.
    fn show_new(
        &mut self,
        attempt: &Attempt,
        watcher: &mut impl OutputWatcher,
        last: bool,
    ) -> Result<bool, Error> {
        let (first, bytes) = attempt.read_output(self.stream, self.at, SHOWN_BYTES)?;
        // Another block may follow a full one.
        let last = last && bytes.len() < SHOWN_BYTES;
        if bytes.is_empty() || !last && bytes.len() <= self.held {
            return Ok(false);
        }
        let gap_report = if first > self.at {
            watcher.report_gap(self.stream, self.at, first)
        } else {
            Ok(())
        };
        let count = gap_report
            .and_then(|()| watcher.show_bytes(self.stream, first, &bytes, last))
            .map_err(|source| Error::Output {
                source,
                over: matches!(attempt.condition(), Ok(AttemptCondition::Ended(_))),
            })?;
        let count = count.min(bytes.len());
        self.at = first + count as u64;
        self.held = bytes.len() - count;
        if count > 0 {
            self.shown = self.shown.max(self.at);
        }
        Ok(true)
    }

    /// Returns the end of the bytes read.
    fn read_end(&self) -> u64 {
        self.at + self.held as u64
    }
}

impl AgentAttempts {
    /// Passes output on, from the last shown byte or from `from`, until the end or until `leave` is
    /// readable. Nothing is acknowledged before the watcher has shown it, so a watcher may be
    /// killed at any time and the next one misses nothing.
    pub fn watch_output(
        &self,
        attempt: &Attempt,
        from: Option<u64>,
        leave: BorrowedFd<'_>,
        watcher: &mut impl OutputWatcher,
    ) -> Result<WatchOutcome, Error> {
        let mut handle = match settled_condition(attempt)? {
            (AttemptCondition::Alive, reached) => {
                Some(reached.map_err(unreachable_error(attempt))?)
            }
            (
                AttemptCondition::Intended | AttemptCondition::Ended(_) | AttemptCondition::Lost,
                _,
            ) => None,
        };
        let before = match &handle {
            Some(handle) => {
                let status = handle.last_status();
                ShownBytes {
                    out: status.out.acked,
                    err: status.err.acked,
                }
            }
            None => ShownBytes::of_attempt(attempt)?,
        };
        let mut out = StreamPosition::new(OutputStream::Out, from, before.out);
        let mut err = StreamPosition::new(OutputStream::Err, from, before.err);
        let result = follow_output(attempt, &mut handle, &mut out, &mut err, leave, watcher);
        let now = ShownBytes {
            out: out.shown,
            err: err.shown,
        };
        // A live shim has the acknowledgement; later watchers read the record.
        if now != before && !matches!(attempt.condition(), Ok(AttemptCondition::Alive)) {
            now.write_record(attempt)?;
        }
        result
    }
}

fn follow_output(
    attempt: &Attempt,
    handle: &mut Option<ShimHandle>,
    out: &mut StreamPosition,
    err: &mut StreamPosition,
    leave: BorrowedFd<'_>,
    watcher: &mut impl OutputWatcher,
) -> Result<WatchOutcome, Error> {
    let mut over = false;
    let mut reported = None;
    let mut silences = 0;
    loop {
        let moved = out.show_new(attempt, watcher, over)? | err.show_new(attempt, watcher, over)?;
        if moved && let Some(connected) = handle {
            connected.set_fence(connected.last_status().fence);
            // A shim that is gone is handled below.
            let _ = connected.acknowledge_output(out.shown, err.shown);
        }
        if wait_readable(leave, None, Duration::ZERO)? {
            return Ok(WatchOutcome::Left);
        }
        if moved {
            continue;
        }
        match attempt.condition()? {
            // Output written between the last read and the end is read in one more round.
            AttemptCondition::Ended(_) | AttemptCondition::Lost if !over => {
                over = true;
                continue;
            }
            AttemptCondition::Ended(exit) => return Ok(WatchOutcome::Ended(exit)),
            AttemptCondition::Lost => return Ok(WatchOutcome::Lost(sweep_attempt(attempt)?)),
            AttemptCondition::Intended => {
                return Err(Error::NoAttempt {
                    id: attempt.id().to_owned(),
                });
            }
            AttemptCondition::Alive => {}
        }
        let Some(connected) = handle else {
            match ShimHandle::attach(attempt, 0) {
                Ok(connected) => *handle = Some(connected),
                // It ended or was lost in between: the next round finds out.
                Err(error) if is_exiting(&error) => {
                    wait_readable(leave, None, Duration::from_millis(LOOK_MS))?;
                }
                Err(error) => return Err(unreachable_error(attempt)(error)),
            }
            continue;
        };
        let blocked = connected.last_status().blocked;
        if let Some(why) = blocked.filter(|why| *why != OutputBlockReason::Unacknowledged)
            && reported != blocked
        {
            let what = watcher.report_blocked(why);
            what.map_err(|source| Error::Output {
                source,
                over: false,
            })?;
            reported = blocked;
        }
        let asked = connected.subscribe_to_changes(out.read_end(), err.read_end());
        let news = asked.and_then(|()| {
            let wait = Duration::from_secs(NEWS_SECONDS.unsigned_abs());
            // The next round tells news from a request to leave.
            let _ = wait_readable(leave, Some(&*connected), wait);
            connected.poll_status().map(|status| status.is_some())
        });
        match news {
            Ok(true) => silences = 0,
            Ok(false) => silences += 1,
            Err(_) => *handle = None,
        }
        if silences >= SILENT_WAITS {
            return Err(silent_shim(attempt));
        }
    }
}

/// Waits until the watcher wants to leave or the shim has news; true for the former.
fn wait_readable(
    leave: BorrowedFd<'_>,
    handle: Option<&ShimHandle>,
    wait: Duration,
) -> Result<bool, Error> {
    let mut fds = vec![PollFd::new(&leave, PollFlags::IN)];
    if let Some(handle) = handle {
        fds.push(PollFd::new(handle, PollFlags::IN));
    }
    let wait = Timespec::try_from(wait).unwrap_or(Timespec {
        tv_sec: NEWS_SECONDS,
        tv_nsec: 0,
    });
    match poll(&mut fds, Some(&wait)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!fds[0].revents().is_empty()),
        Err(error) => Err(Error::Output {
            source: error.into(),
            over: false,
        }),
    }
}
