//! One stream of the agent's output on its way into the log.

use super::mask::{PendingTail, SecretMask};
use crate::protocol::{OutputBlockReason, StreamProgress};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Bytes read at once; also the most that is held back when the disk is full.
pub(super) const CHUNK_BYTES: usize = 32 << 10;
/// Chunks read before other sources have their turn.
const ROUNDS_MAX: usize = 16;
/// Disk space is freed in pieces of this size: a multiple of every file system's blocks.
const PUNCH_BYTES: u64 = 1 << 20;

/// Piece size when the disk is full, and small pieces count.
const PUNCH_BYTES_MIN: u64 = 64 << 10;

/// One stream of output: its pipe, its log and its offsets.
#[derive(Debug)]
pub(super) struct OutputLog {
    /// `None` after its end.
    pub(super) pipe: Option<File>,
    log: File,
    /// Read and not yet in the log, because the log could not grow.
    held: Vec<u8>,
    /// Read, and possibly the beginning of a value that must not be in the log.
    tail: PendingTail,
    end: u64,
    acked: u64,
    punched: u64,
}

impl OutputLog {
    pub(super) fn new(pipe: File, log: File) -> OutputLog {
        OutputLog {
            pipe: Some(pipe),
            log,
            held: Vec::new(),
            tail: PendingTail::default(),
            end: 0,
            acked: 0,
            punched: 0,
        }
    }

    pub(super) fn stream_progress(&self) -> StreamProgress {
        StreamProgress {
            end: self.end,
            acked: self.acked,
            closed: self.pipe.is_none(),
        }
    }

    pub(super) fn unacknowledged_bytes(&self) -> u64 {
        self.end - self.acked
    }

    /// True if bytes wait for space on the disk.
    pub(super) fn has_held_bytes(&self) -> bool {
        !self.held.is_empty()
    }

    /// True if everything the agent wrote is in the log, and nothing more can come.
    pub(super) fn is_complete(&self) -> bool {
        self.pipe.is_none() && !self.has_held_bytes() && self.tail.is_empty()
    }

    /// Moves available output into the log, at most `room` bytes, with secret values masked.
    /// Returns the reason if it had to stop.
    pub(super) fn copy_to_log(
        &mut self,
        mask: &SecretMask,
        room: u64,
        buffer: &mut [u8],
    ) -> Result<(), OutputBlockReason> {
        if self.has_held_bytes() {
            let held = std::mem::take(&mut self.held);
            self.append_to_log(&held)?;
        }
        let mut room = usize::try_from(room).unwrap_or(usize::MAX);
        for _ in 0..ROUNDS_MAX {
            let count = room.min(buffer.len());
            let Some(pipe) = self.pipe.as_mut().filter(|_| count > 0) else {
                break;
            };
            match pipe.read(&mut buffer[..count]) {
                Ok(0) => self.pipe = None,
                Ok(read) => {
                    room -= read;
                    if mask.is_empty() {
                        self.append_to_log(&buffer[..read])?;
                    } else {
                        let sure = self.tail.release_safe_bytes(mask, &buffer[..read]);
                        self.append_to_log(&sure)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.pipe = None,
            }
        }
        match self.pipe {
            Some(_) => Ok(()),
            None => {
                let left = self.tail.take_rest();
                self.append_to_log(&left)
            }
        }
    }

    /// Closes the pipe and writes what was held back into the log.
    pub(super) fn close_and_flush(&mut self) -> Result<(), OutputBlockReason> {
        self.pipe = None;
        let mut left = std::mem::take(&mut self.held);
        left.extend(self.tail.take_rest());
        self.append_to_log(&left)
    }

    /// Appends to the log, and keeps what could not be written.
    fn append_to_log(&mut self, mut bytes: &[u8]) -> Result<(), OutputBlockReason> {
        while !bytes.is_empty() {
            match self.log.write_at(bytes, self.end) {
                Ok(written) if written > 0 => {
                    self.end += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => {
                    self.held = bytes.to_vec();
                    return Err(block_reason(other.err()));
                }
            }
        }
        Ok(())
    }

    /// Records output up to `offset` as processed. Disk space older than `keep` bytes is freed.
    pub(super) fn acknowledge_until(&mut self, offset: u64, keep: u64) {
        self.acked = self.acked.max(offset.min(self.end));
        self.free_acknowledged(keep);
    }

    /// Frees the disk space of acknowledged output, except for its last `keep` bytes.
    pub(super) fn free_acknowledged(&mut self, keep: u64) {
        let piece = if self.has_held_bytes() {
            PUNCH_BYTES_MIN
        } else {
            PUNCH_BYTES
        };
        let until = self.acked.saturating_sub(keep) / piece * piece;
        if until > self.punched {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // A file system that cannot do it keeps everything.
            let _ = fallocate(&self.log, flags, self.punched, until - self.punched);
            self.punched = until;
        }
    }

    /// Makes the log durable.
    pub(super) fn sync_log(&self) -> io::Result<()> {
        if self.end == 0 {
            return Ok(());
        }
        self.log.sync_data()
    }
}

fn block_reason(error: Option<io::Error>) -> OutputBlockReason {
    match error.map(|error| error.kind()) {
        None
        | Some(
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge,
        ) => OutputBlockReason::DiskFull,
        Some(_) => OutputBlockReason::DiskError,
    }
}

/// Returns the progress of a log that may not be open yet.
pub(super) fn output_progress(output: &Option<OutputLog>) -> StreamProgress {
    output
        .as_ref()
        .map(OutputLog::stream_progress)
        .unwrap_or_default()
}
