//! Record of how much output of an attempt has been shown, also after its shim is gone.

use crate::error::Error;
use bowline_statefiles::{Disk as _, RealDisk};
use bowline_supervisor::{Attempt, AttemptExit};
use serde::{Deserialize, Serialize};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// Name of the record in the folder of an attempt.
const FILE: &str = "shown";
/// Most bytes of the record. An agent without a sandbox can write it and must not exhaust our
/// memory.
const FILE_BYTES_MAX: u64 = 4 << 10;

/// Bytes shown of both streams, counted from the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownBytes {
    pub out: u64,
    pub err: u64,
}

impl ShownBytes {
    /// Returns the bytes shown of an attempt without a shim: those its shim acknowledged, and those
    /// shown since. For a lost attempt, the former are unknown.
    pub(super) fn of_attempt(attempt: &Attempt) -> Result<ShownBytes, Error> {
        let acknowledged = attempt.read_exit()?.map(|exit| ShownBytes {
            out: exit.out_acked,
            err: exit.err_acked,
        });
        Ok(read_record(attempt)
            .unwrap_or_default()
            .max_with(acknowledged.unwrap_or_default()))
    }

    /// Returns the larger count of each stream.
    pub(super) fn max_with(self, other: ShownBytes) -> ShownBytes {
        ShownBytes {
            out: self.out.max(other.out),
            err: self.err.max(other.err),
        }
    }

    /// True if all output of an ended attempt was shown.
    pub(super) fn all_of(self, exit: &AttemptExit) -> bool {
        self.out >= exit.out && self.err >= exit.err
    }

    /// Stores the counts for later readers of an attempt without a shim. On a full disk they are
    /// not stored, and the output is shown again later.
    pub(super) fn write_record(self, attempt: &Attempt) -> Result<(), Error> {
        let before = ShownBytes::of_attempt(attempt)?;
        let now = self.max_with(before);
        if now == before {
            return Ok(());
        }
        let text = format!("{{\"out\":{},\"err\":{}}}\n", now.out, now.err);
        // Others may do the same at this moment. A truncated file counts as none: output is rather
        // shown twice than never.
        let beside = attempt
            .folder()
            .join(format!("{FILE}.{}", std::process::id()));
        let disk = RealDisk;
        let _ = disk.unlink(&beside);
        let written = disk.create_new(&beside).and_then(|file| {
            disk.write(&file, text.as_bytes())?;
            disk.sync_all(&file)?;
            disk.rename(&beside, &attempt.folder().join(FILE))
        });
        if written.is_err() {
            let _ = disk.unlink(&beside);
        }
        Ok(())
    }
}

/// Reads the record; `None` if it cannot be read, so that output is rather shown twice than never.
fn read_record(attempt: &Attempt) -> Option<ShownBytes> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking.bits().cast_signed())
        .open(attempt.folder().join(FILE))
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
