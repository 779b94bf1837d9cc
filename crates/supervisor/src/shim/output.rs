//! One stream of the agent's output on its way into the log.

use super::mask::{Mask, Tail};
use crate::protocol::{Blocked, Flow};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Read at once; also the most that is held back when the disk is full.
pub(super) const CHUNK_BYTES: usize = 32 << 10;
/// Chunks taken before others have their turn.
const ROUNDS_MAX: usize = 16;
/// Output is given back to the disk in pieces of this size: a multiple of every file system's blocks.
const PUNCH_BYTES: u64 = 1 << 20;

/// The same when the disk is full, and small pieces count.
const PUNCH_BYTES_MIN: u64 = 64 << 10;

/// One stream of output.
#[derive(Debug)]
pub(super) struct Output {
    /// Gone after its end.
    pub(super) pipe: Option<File>,
    log: File,
    /// Read and not yet in the log, because the log could not grow.
    held: Vec<u8>,
    /// Read, and perhaps the beginning of what must not be in the log.
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

    /// Whether bytes wait for the disk.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether everything the agent wrote is in the log, and nothing more can come.
    pub(super) fn complete(&self) -> bool {
        self.pipe.is_none() && !self.holds() && self.tail.is_empty()
    }

    /// Moves what is there into the log, at most `room` bytes, with what must not be there hidden. Says why it had to stop,
    /// if it had to.
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

    /// Puts what was held back into the log: nobody waits for more.
    pub(super) fn give_up(&mut self) -> Result<(), Blocked> {
        self.pipe = None;
        let mut left = std::mem::take(&mut self.held);
        left.extend(self.tail.end());
        self.store(&left)
    }

    /// Appends, and keeps what did not go in.
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

    /// Output up to `offset` has been processed. What is older than `keep` goes back to the disk.
    pub(super) fn acknowledge(&mut self, offset: u64, keep: u64) {
        self.acked = self.acked.max(offset.min(self.end));
        self.give_back(keep);
    }

    /// Gives acknowledged output back to the disk but for its last `keep` bytes.
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
