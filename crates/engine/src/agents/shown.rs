//! How much of an attempt's output has been shown, also after its shim is gone.

use crate::error::Error;
use bowline_statefiles::{Disk as _, RealDisk};
use bowline_supervisor::{Attempt, Exit};
use serde::{Deserialize, Serialize};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// The file in the folder of an attempt.
const FILE: &str = "shown";
/// The longest such file. An agent without a sandbox can write it, and must not fill our memory so.
const FILE_BYTES_MAX: u64 = 4 << 10;

/// Bytes of both streams, from the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Standard output.
    pub out: u64,
    /// Standard error.
    pub err: u64,
}

impl Shown {
    /// What was shown of an attempt without a shim: what its shim had heard of, and what was shown since. Of a lost attempt
    /// nobody knows what its shim had heard of.
    pub(super) fn of(attempt: &Attempt) -> Result<Shown, Error> {
        let heard = attempt.exit()?.map(|exit| Shown {
            out: exit.out_acked,
            err: exit.err_acked,
        });
        Ok(recorded(attempt)
            .unwrap_or_default()
            .and(heard.unwrap_or_default()))
    }

    /// Both together.
    pub(super) fn and(self, other: Shown) -> Shown {
        Shown {
            out: self.out.max(other.out),
            err: self.err.max(other.err),
        }
    }

    /// Whether that is all an attempt had to say.
    pub(super) fn all_of(self, exit: &Exit) -> bool {
        self.out >= exit.out && self.err >= exit.err
    }

    /// Keeps it for whoever looks at an attempt without a shim. On a disk that is full it is not kept: what was shown is shown
    /// again then.
    pub(super) fn record(self, attempt: &Attempt) -> Result<(), Error> {
        let before = Shown::of(attempt)?;
        let now = self.and(before);
        if now == before {
            return Ok(());
        }
        let text = format!("{{\"out\":{},\"err\":{}}}\n", now.out, now.err);
        // Others may do the same at this moment. A cut off file is none, and then output is rather shown twice than never.
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

/// What was recorded; nothing when that cannot be read, so that output is rather shown twice than never.
fn recorded(attempt: &Attempt) -> Option<Shown> {
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
