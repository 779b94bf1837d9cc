//! Closing of file descriptors that the parent process left open.

use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt as _;

/// First descriptor to close: the standard streams stay open.
const FIRST: RawFd = 3;

/// Closes the descriptors of one file that this process inherited, so that no program it starts
/// inherits them. Call it at the start, before this process has opened the file for itself.
pub fn close_inherited(device: u64, inode: u64) {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers = entries.flatten().filter_map(|entry| {
        let number: RawFd = entry.file_name().to_str()?.parse().ok()?;
        // Follows the descriptor to its file.
        let file = std::fs::metadata(entry.path()).ok()?;
        let same = (file.dev(), file.ino()) == (device, inode);
        (number >= FIRST && same).then_some(number)
    });
    for number in numbers.collect::<Vec<_>>() {
        nix::unistd::close(number).ok();
    }
}
