//! One stream of the agent's output on its way into the log.

use super::mask::{Mask, Tail};
use crate::protocol::{Blocked, Flow};
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
pub(super) struct Output {
    /// `None` after its end.
    pub(super) pipe: Option<File>,
    log: File,
    /// Read and not yet in the log, because the log could not grow.
    held: Vec<u8>,
    /// Read, and possibly the beginning of a value that must not be in the log.
    tail: Tail,
    end: u64,
    acked: u64,
    punched: u64,
}

impl Output {
    pub(super) fn new(pipe: File, log: File) -> Output {
        Output {
            pipe: Some(pipe),
            log,
            held: Vec::new(),
            tail: Tail::default(),
            end: 0,
            acked: 0,
            punched: 0,
        }
    }

    pub(super) fn flow(&self) -> Flow {
        Flow {
            end: self.end,
            acked: self.acked,
            closed: self.pipe.is_none(),
        }
    }

    pub(super) fn unacknowledged(&self) -> u64 {
        self.end - self.acked
    }

    /// True if bytes wait for space on the disk.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// True if everything the agent wrote is in the log, and nothing more can come.
    pub(super) fn complete(&self) -> bool {
        self.pipe.is_none() && !self.holds() && self.tail.is_empty()
    }

    /// Moves available output into the log, at most `room` bytes, with secret values masked.
    /// Returns the reason if it had to stop.
    pub(super) fn pump(
        &mut self,
        mask: &Mask,
        room: u64,
        buffer: &mut [u8],
    ) -> Result<(), Blocked> {
        if self.holds() {
            let held = std::mem::take(&mut self.held);
            self.store(&held)?;
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
                        self.store(&buffer[..read])?;
                    } else {
                        let sure = self.tail.pass(mask, &buffer[..read]);
                        self.store(&sure)?;
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
                let left = self.tail.end();
                self.store(&left)
            }
        }
    }

    /// Closes the pipe and writes what was held back into the log.
    pub(super) fn give_up(&mut self) -> Result<(), Blocked> {
        self.pipe = None;
        let mut left = std::mem::take(&mut self.held);
        left.extend(self.tail.end());
        self.store(&left)
    }

    /// Appends to the log, and keeps what could not be written.
    fn store(&mut self, mut bytes: &[u8]) -> Result<(), Blocked> {
        while !bytes.is_empty() {
            match self.log.write_at(bytes, self.end) {
                Ok(written) if written > 0 => {
                    self.end += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => {
                    self.held = bytes.to_vec();
                    return Err(reason(other.err()));
                }
            }
        }
        Ok(())
    }

    /// Records output up to `offset` as processed. Disk space older than `keep` bytes is freed.
    pub(super) fn acknowledge(&mut self, offset: u64, keep: u64) {
        self.acked = self.acked.max(offset.min(self.end));
        self.give_back(keep);
    }

    /// Frees the disk space of acknowledged output, except for its last `keep` bytes.
    pub(super) fn give_back(&mut self, keep: u64) {
        let piece = if self.holds() {
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
    pub(super) fn sync(&self) -> io::Result<()> {
        if self.end == 0 {
            return Ok(());
        }
        self.log.sync_data()
    }
}

fn reason(error: Option<io::Error>) -> Blocked {
    match error.map(|error| error.kind()) {
        None
        | Some(
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge,
        ) => Blocked::DiskFull,
        Some(_) => Blocked::DiskError,
    }
}
