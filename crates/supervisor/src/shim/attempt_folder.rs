//! The attempt's folder, held open: keeps it accessible to its clients, and detects its removal.

use super::relay::SOCKET;
use crate::attempt::{FILE_MODE, FOLDER_MODE};
use rustix::fs::inotify;
use rustix::fs::{AtFlags, FileType, Mode, RawMode, Stat, chmodat, fchmod, fstat, statat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval of file checks where the kernel does not report changes.
const LOOK_MS: u64 = 2_000;
/// Interval of file checks where it does.
const WATCHED_LOOK_MS: u64 = 600_000;

/// Buffer for kernel events, which are discarded.
const EVENT_BYTES: usize = 4096;

/// Files that other processes must be able to open.
const FILES: [&str; 7] = [
    "spec.json",
    "lock",
    "sock",
    SOCKET,
    "log",
    "err",
    "exit.json",
];

/// All bits that `chmod` sets.
const MODE_BITS: RawMode = 0o7777;

/// The attempt's folder and the lock in it.
#[derive(Debug)]
pub(super) struct AttemptFolder {
    folder: File,
    pub(super) lock: File,
    /// Time of the next check of the files.
    pub(super) next: Instant,
    /// Readable when a mode was changed, or something was removed.
    pub(super) watch: Option<OwnedFd>,
    gone: bool,
}

impl AttemptFolder {
    pub(super) fn new(folder: File, lock: File, path: &Path) -> AttemptFolder {
        let mut place = AttemptFolder {
            folder,
            lock,
            next: Instant::now(),
            watch: watch_folder(path).ok(),
            gone: false,
        };
        place.next = place.next_check(Instant::now());
        place
    }

    fn next_check(&self, now: Instant) -> Instant {
        let pause = match self.watch {
            Some(_) => WATCHED_LOOK_MS,
            None => LOOK_MS,
        };
        now + Duration::from_millis(pause)
    }

    /// Discards the events and schedules a check, which finds out what changed.
    pub(super) fn discard_events(&mut self, now: Instant) {
        let mut events = [0; EVENT_BYTES];
        if let Some(watch) = &self.watch {
            while rustix::io::read(watch, &mut events).is_ok_and(|count| count > 0) {}
        }
        self.next = now;
    }

    /// Restores the modes of folder and files, which a sandbox does not protect. True if the folder
    /// or the lock has been removed: the attempt cannot be reached any more then.
    pub(super) fn check_removed(&mut self, now: Instant) -> bool {
        let Ok(stat) = fstat(&self.folder) else {
            return self.gone;
        };
        self.gone |= stat.st_nlink == 0;
        if stat.st_mode & MODE_BITS != FOLDER_MODE {
            let _ = fchmod(&self.folder, Mode::from_raw_mode(FOLDER_MODE));
        }
        if now >= self.next {
            self.next = self.next_check(now);
            self.check_files();
        }
        self.gone
    }

    fn check_files(&mut self) {
        for name in FILES {
            let Ok(stat) = self.file_stat(name) else {
                continue;
            };
            let kind = FileType::from_raw_mode(stat.st_mode);
            let ours = matches!(kind, FileType::RegularFile | FileType::Socket);
            if ours && stat.st_mode & FILE_MODE != FILE_MODE {
                let mode = Mode::from_raw_mode(FILE_MODE);
                let _ = chmodat(&self.folder, name, mode, AtFlags::empty());
            }
        }
        let lock = fstat(&self.lock).map(|stat| (stat.st_dev, stat.st_ino));
        self.gone |= match self.file_stat("lock") {
            Ok(stat) => lock.is_ok_and(|lock| lock != (stat.st_dev, stat.st_ino)),
            Err(error) => error == Errno::NOENT,
        };
    }

    fn file_stat(&self, name: &str) -> Result<Stat, Errno> {
        statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW)
    }
}

/// Watches for mode changes and removals in the folder. Writing into a file is not reported.
fn watch_folder(folder: &Path) -> Result<OwnedFd, Errno> {
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
    let flags = inotify::WatchFlags::ATTRIB
        | inotify::WatchFlags::DELETE
        | inotify::WatchFlags::DELETE_SELF
        | inotify::WatchFlags::MOVED_FROM
        | inotify::WatchFlags::ONLYDIR;
    inotify::add_watch(&watch, folder, flags)?;
    Ok(watch)
}
