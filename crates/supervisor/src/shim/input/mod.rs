//! The agent's standard input: numbered messages, queued, written as the pipe drains.

use crate::error::ShimRefusal;
use crate::exit::UnreadInput;
use crate::protocol::InputStatus;
use rustix::fs::OFlags;
use rustix::io::ioctl_fionread;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

/// Messages whose end offset is remembered, to name the first unread one. A pipe holds fewer than
/// this unless they are tiny; then the oldest remembered one is named.
const PLACES_MAX: usize = 256;

/// A pipe holds at most this much, unless an administrator has raised the limit.
const PIPE_BYTES_MAX: u64 = 1 << 20;

/// Pause between two checks if the agent has read the pipe, growing from the first to the second: a
/// pipe does not report that it was emptied.
const LOOK_MS_MIN: u64 = 4;
const LOOK_MS_MAX: u64 = 500;

/// Queue of messages for the agent's standard input.
#[derive(Debug, Default)]
pub(super) struct InputQueue {
    /// The writing end; `None` when standard input was closed.
    pipe: Option<File>,
    /// The reading end, opened when standard input was closed, to find what was never read.
    rest: Option<File>,
    queue: VecDeque<QueuedInput>,
    queued: u64,
    /// The last accepted number.
    accepted: u64,
    /// The last number that is completely in the pipe.
    written: u64,
    /// The last number of which the agent has read every byte.
    read: u64,
    /// Time of the next check how much of the pipe was read; `look_ms` is the pause after it.
    pub(super) next_look: Option<Instant>,
    look_ms: u64,
    /// Bytes written to the pipe in all.
    total: u64,
    /// Number and end offset of messages that may still be in the pipe.
    places: VecDeque<(u64, u64)>,
    /// A message marked as the last has been accepted.
    last: bool,
    /// The pipe has no reader any more.
    broken: bool,
}

#[derive(Debug)]
struct QueuedInput {
    seq: u64,
    bytes: Vec<u8>,
    at: usize,
}

impl InputQueue {
    pub(super) fn new(pipe: File) -> InputQueue {
        InputQueue {
            pipe: Some(pipe),
            ..InputQueue::default()
        }
    }

    pub(super) fn status(&self) -> InputStatus {
        InputStatus {
            next: self.accepted + 1,
            written: self.written,
            read: Some(self.read),
            queued: self.queued,
            closed: self.last || self.broken,
        }
    }

    /// Returns the pipe, while there is something to write to it.
    pub(super) fn wants_to_write(&self) -> Option<&File> {
        self.pipe
            .as_ref()
            .filter(|_| !self.broken && !self.queue.is_empty())
    }

    /// Queues a message. `Ok(true)` when it had been accepted before.
    pub(super) fn accept_message(
        &mut self,
        seq: u64,
        bytes: Vec<u8>,
        last: bool,
        bound: u64,
    ) -> Result<bool, ShimRefusal> {
        if seq <= self.accepted {
            return Ok(true);
        }
        if self.last || self.broken {
            return Err(ShimRefusal::InputClosed);
        }
        if seq != self.accepted + 1 {
            return Err(ShimRefusal::InputGap);
        }
        let count = bytes.len() as u64;
        if self.queued + count > bound {
            return Err(ShimRefusal::InputFull);
        }
        self.accepted = seq;
        self.queued += count;
        self.last = last;
        self.queue.push_back(QueuedInput { seq, bytes, at: 0 });
        self.write_queued();
        Ok(false)
    }

    /// Writes as much as the pipe takes, without blocking: a stopped agent's pipe takes 64 kB and
    /// no more.
    pub(super) fn write_queued(&mut self) {
        while let Some(message) = self.queue.front_mut() {
            let Some(pipe) = self.pipe.as_mut().filter(|_| !self.broken) else {
                return;
            };
            if message.at < message.bytes.len() {
                match pipe.write(&message.bytes[message.at..]) {
                    Ok(count) => {
                        message.at += count;
                        self.queued -= count as u64;
                        self.total += count as u64;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                    Err(_) => self.broken = true,
                }
                continue;
            }
            let seq = message.seq;
            self.written = seq;
            self.places.push_back((seq, self.total));
            (self.next_look, self.look_ms) = (None, LOOK_MS_MIN);
            let gone = self.total.saturating_sub(PIPE_BYTES_MAX);
            while self.places.len() > PLACES_MAX
                || self.places.front().is_some_and(|(_, end)| *end < gone)
            {
                self.places.pop_front();
            }
            self.queue.pop_front();
        }
        if self.last {
            self.rest = self.pipe.take().and_then(|pipe| other_end(&pipe));
        }
    }

    /// Checks how much of the pipe the agent has read, and schedules the next check while something
    /// is left.
    pub(super) fn check_progress(&mut self, now: Instant) {
        if self.places.is_empty() {
            return;
        }
        let pipe = self.pipe.as_ref().or(self.rest.as_ref());
        if let Some(Ok(unread)) = pipe.map(ioctl_fionread) {
            self.record_read(unread);
        }
        if self.places.is_empty() {
            self.next_look = None;
        } else if self.next_look.is_none_or(|next| next <= now) {
            self.next_look = Some(now + Duration::from_millis(self.look_ms));
            self.look_ms = (self.look_ms * 2).min(LOOK_MS_MAX);
        }
    }

    /// Counts messages as read that end before the last `unread` bytes of the stream.
    fn record_read(&mut self, unread: u64) {
        let taken = self.total.saturating_sub(unread);
        while let Some((seq, _)) = self.places.pop_front_if(|(_, end)| *end <= taken) {
            self.read = seq;
        }
    }

    /// Returns the last message that was completely read.
    pub(super) fn last_read(&self) -> u64 {
        self.read
    }

    /// Takes the input that was accepted and never read, once all readers are gone.
    pub(super) fn take_unread(&mut self) -> Option<(UnreadInput, Vec<u8>)> {
        let rest = self.rest.take();
        let rest = rest.or_else(|| self.pipe.as_ref().and_then(other_end));
        let mut bytes = Vec::new();
        if let Some(rest) = rest {
            // Ends with "would block" while our own writing end is open; what came before is what
            // counts.
            let _ = rest.take(PIPE_BYTES_MAX).read_to_end(&mut bytes);
        }
        self.record_read(bytes.len() as u64);
        let in_pipe = self.places.front();
        let in_queue = self.queue.front().map(|message| message.seq);
        let from_seq = in_pipe.map(|(seq, _)| *seq).or(in_queue);
        for message in self.queue.drain(..) {
            bytes.extend_from_slice(&message.bytes[message.at..]);
        }
        let unread = UnreadInput {
            from_seq: from_seq.filter(|_| !bytes.is_empty())?,
            bytes: bytes.len() as u64,
            saved: false,
        };
        Some((unread, bytes))
    }
}

/// Opens the reading end of the pipe a writing end belongs to.
fn other_end(pipe: &File) -> Option<File> {
    File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(format!("/proc/self/fd/{}", pipe.as_raw_fd()))
        .ok()
}

#[cfg(test)]
mod tests;
