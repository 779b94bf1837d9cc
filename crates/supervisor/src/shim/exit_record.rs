//! Writing the end of an attempt to the disk.

use super::CANNOT_RUN;
use super::exec::ERROR_FILE;
use crate::attempt::{Attempt, create_private_file, read_small};
use crate::exit::AttemptExit;
use rustix::process::WaitStatus;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};

/// The longest message of a stub that could not become the agent.
const STUB_BYTES_MAX: u64 = 4096;

/// Returns the error of a stub that did not become the agent. The exit code must be the stub's: an
/// agent that writes the file does not undo its start.
pub(super) fn read_stub_error(attempt: &Attempt, ended: Option<WaitStatus>) -> Option<String> {
    let path = attempt.file_path(ERROR_FILE);
    let report = read_small(&path, STUB_BYTES_MAX).ok()?;
    let _ = std::fs::remove_file(&path);
    let stub = ended.and_then(WaitStatus::exit_status) == Some(CANNOT_RUN.into());
    let report = Some(report).filter(|report| stub && !report.is_empty())?;
    Some(String::from_utf8_lossy(&report).into_owned())
}

/// Saves input that the agent never read.
pub(super) fn save_unread(attempt: &Attempt, bytes: &[u8]) -> io::Result<()> {
    let mut file = create_private_file(&attempt.file_path("unread"))?;
    file.write_all(bytes)?;
    file.sync_data()
}

/// Writes the end into the file reserved for it, or into a new one if that has been replaced.
pub(super) fn write_exit(attempt: &Attempt, reserved: &File, exit: &AttemptExit) -> io::Result<()> {
    let text = serde_json::to_vec(exit)?;
    let path = attempt.file_path("exit.json");
    let ours = reserved.metadata()?;
    let there = std::fs::symlink_metadata(&path);
    if there.is_ok_and(|it| (it.dev(), it.ino()) == (ours.dev(), ours.ino())) {
        reserved.write_all_at(&text, 0)?;
        // An agent may have written into it before.
        reserved.set_len(text.len() as u64)?;
        reserved.sync_all()?;
    } else {
        // An agent has put something else there; only its shim reports the end. If a crash cuts the
        // new file off, the attempt counts as lost.
        let _ = std::fs::remove_file(&path);
        let mut file = create_private_file(&path)?;
        file.write_all(&text)?;
        file.sync_all()?;
    }
    File::open(attempt.folder())?.sync_all()
}
