//! How an attempt ended, on its way to the disk.

use super::CANNOT_RUN;
use super::exec::ERROR_FILE;
use crate::attempt::{Attempt, new_file, read_small};
use crate::exit::Exit;
use rustix::process::WaitStatus;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};

/// The longest message of a stub that could not become the agent.
const STUB_BYTES_MAX: u64 = 4096;

/// Why the stub did not become the agent. Only a stub ends so; an agent that writes the file does not undo its start.
pub(super) fn told_by_stub(attempt: &Attempt, ended: Option<WaitStatus>) -> Option<String> {
    let path = attempt.path(ERROR_FILE);
    let told = read_small(&path, STUB_BYTES_MAX).ok()?;
    let _ = std::fs::remove_file(&path);
    let stub = ended.and_then(WaitStatus::exit_status) == Some(CANNOT_RUN.into());
    let told = Some(told).filter(|told| stub && !told.is_empty())?;
    Some(String::from_utf8_lossy(&told).into_owned())
}

/// Keeps input that nobody read.
pub(super) fn save_unread(attempt: &Attempt, bytes: &[u8]) -> io::Result<()> {
    let mut file = new_file(&attempt.path("unread"))?;
    file.write_all(bytes)?;
    file.sync_data()
}

/// Writes the end into the file that was reserved for it, or anew when that is not in its place any more.
pub(super) fn write(attempt: &Attempt, reserved: &File, exit: &Exit) -> io::Result<()> {
    let text = serde_json::to_vec(exit)?;
    let path = attempt.path("exit.json");
    let ours = reserved.metadata()?;
    let there = std::fs::symlink_metadata(&path);
    if there.is_ok_and(|it| (it.dev(), it.ino()) == (ours.dev(), ours.ino())) {
        reserved.write_all_at(&text, 0)?;
        // Somebody may have written into it before us.
        reserved.set_len(text.len() as u64)?;
        reserved.sync_all()?;
    } else {
        // The agent has put something else there; how it ended is told by its shim.
        // An end cut off by a crash is none: the attempt is lost then.
        let _ = std::fs::remove_file(&path);
        let mut file = new_file(&path)?;
        file.write_all(&text)?;
        file.sync_all()?;
    }
    File::open(attempt.folder())?.sync_all()
}
