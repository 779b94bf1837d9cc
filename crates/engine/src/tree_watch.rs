//! Detects whether a tree changed while a command ran on it, even if it was restored afterwards.
//!
//! Contents do not show that: they are the same before and after. Inode, size and times do, because
//! only the kernel sets a ctime. Three changes escape them, and are observed while the command
//! runs:
//!
//! - A folder's times change with every entry, ignored ones included (`target/` of the first
//!   build). inotify names the entries.
//! - A mount hides a file without touching it. The kernel announces every change of the mount
//!   table, of which those in or over the tree count. One that is gone before this process wakes up
//!   leaves no trace.
//! - Two changes within one tick of the kernel's clock have the same time. [`TreeWatch::begin`]
//!   waits for the next tick.

use crate::error::Error;
use crate::process::run_git_for_answer;
use crate::tree::read_error;
use crate::words::display_path;
use bowline_formats::develop::FOLDER_NAME;
use bowline_words::message::Change;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, PipeReader, PipeWriter, Read as _, Seek as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

/// Mount table of this process, one mount per line.
const MOUNT_TABLE: &str = "/proc/self/mountinfo";
/// Pause and count of checks that wait for the kernel's clock to advance: together more than its
/// slowest tick of 10 ms.
const TICK_WAIT_STEP_MS: u64 = 2;
const TICK_WAITS_MAX: usize = 25;
/// Bytes of inotify events read at once.
const EVENT_BYTES: usize = 16 * 1024;
/// Most created or removed entries that are recorded; a command with more of them has changed the
/// tree.
const ENTRIES_MAX: usize = 100_000;

/// Hashed path: a file, or another repository with its commit.
pub(crate) type HashedPath = (PathBuf, Option<String>);

/// File system metadata of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStamp {
    Entry {
        inode: (u64, u64),
        size: u64,
        modified: (i64, i64),
        changed: (i64, i64),
    },
    /// Another repository, of which only the commit is hashed.
    Commit(String),
    Missing,
}

impl PathStamp {
    fn of_path(path: &Path) -> PathStamp {
        let found = |it: Metadata| PathStamp::Entry {
            inode: (it.dev(), it.ino()),
            size: it.size(),
            modified: (it.mtime(), it.mtime_nsec()),
            changed: (it.ctime(), it.ctime_nsec()),
        };
        fs::symlink_metadata(path).map_or(PathStamp::Missing, found)
    }

    fn inode(&self) -> Option<(u64, u64)> {
        match self {
            PathStamp::Entry { inode, .. } => Some(*inode),
            PathStamp::Commit(_) | PathStamp::Missing => None,
        }
    }

    fn changed_at(&self) -> Option<(i64, i64)> {
        match self {
            PathStamp::Entry { changed, .. } => Some(*changed),
            PathStamp::Commit(_) | PathStamp::Missing => None,
        }
    }
}

/// Stamps of every hashed file and of every folder above one, up to the top.
#[derive(Debug)]
struct TreeStamps {
    files: BTreeMap<PathBuf, PathStamp>,
    folders: BTreeMap<PathBuf, PathStamp>,
}

impl TreeStamps {
    fn take_stamps(top: &Path, paths: Vec<HashedPath>, also: &[PathBuf]) -> TreeStamps {
        let folders = folders_of(top, paths.iter().map(|(path, _)| path));
        let stamp = |(path, commit): HashedPath| {
            let stamp = commit.map_or_else(|| PathStamp::of_path(&path), PathStamp::Commit);
            (path, stamp)
        };
        let also = also
            .iter()
            .map(|path| (path.clone(), PathStamp::of_path(path)));
        let folders = folders.into_iter().map(|path| {
            let stamp = PathStamp::of_path(&path);
            (path, stamp)
        });
        TreeStamps {
            folders: folders.collect(),
            files: paths.into_iter().map(stamp).chain(also).collect(),
        }
    }

    fn has_path(&self, path: &Path) -> bool {
        self.files.contains_key(path) || self.folders.contains_key(path)
    }

    fn newest_change(&self) -> Option<(i64, i64)> {
        let all = self.files.values().chain(self.folders.values());
        all.filter_map(PathStamp::changed_at).max()
    }
}

fn folders_of<'p>(top: &Path, paths: impl Iterator<Item = &'p PathBuf>) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::from([top.to_owned()]);
    for path in paths {
        for folder in path.ancestors().skip(1) {
            if !folder.starts_with(top) || !folders.insert(folder.to_owned()) {
                break;
            }
        }
    }
    folders
}

#[derive(Debug)]
pub(crate) struct TreeWatch {
    top: PathBuf,
    /// Files outside the hash that must not change either.
    also: Vec<PathBuf>,
    before: TreeStamps,
    observer: TreeObserver,
    /// True if paths that are not hashed may come and go.
    additions: bool,
}

impl TreeWatch {
    /// Starts observing the hashed paths, all of them absolute. The caller hashes them afterwards.
    /// `scratch` is a folder of ours. Fails if mounts cannot be observed: then nothing would be
    /// evidence.
    pub(crate) fn start_watch(
        top: &Path,
        paths: Vec<HashedPath>,
        also: Vec<PathBuf>,
        scratch: &Path,
    ) -> Result<TreeWatch, Error> {
        let observer = TreeObserver::start_thread(top, paths.iter().map(|(path, _)| path))
            .map_err(|error| read_error(Path::new(MOUNT_TABLE), &error))?;
        let before = TreeStamps::take_stamps(top, paths, &also);
        if let Some(newest) = before.newest_change() {
            wait_for_tick_after(newest, scratch);
        }
        Ok(TreeWatch {
            top: top.to_owned(),
            also,
            before,
            observer,
            additions: false,
        })
    }

    /// Allows paths to come and go that are not hashed: in a copy for one command they are its
    /// output.
    pub(crate) fn allowing_additions(self) -> TreeWatch {
        TreeWatch {
            additions: true,
            ..self
        }
    }

    /// Ends the observation and lists the changes, given the paths that would be hashed now.
    /// `is_git` is true if ignored entries are left out of the hash.
    pub(crate) fn finish_watch(
        self,
        paths: Vec<HashedPath>,
        is_git: bool,
    ) -> Result<Vec<Change>, Error> {
        let after = TreeStamps::take_stamps(&self.top, paths, &self.also);
        let observed = self.observer.stop_thread();
        let mut changes = BTreeMap::new();
        let paths = self.before.files.keys().chain(after.files.keys());
        for path in paths.collect::<BTreeSet<_>>() {
            let missing = &PathStamp::Missing;
            let was = self.before.files.get(path).unwrap_or(missing);
            let is = after.files.get(path).unwrap_or(missing);
            let text = shown_below(&self.top, path);
            let change = match (was, is) {
                (was, is) if was == is => continue,
                (PathStamp::Missing, _) if self.additions => continue,
                (PathStamp::Missing, _) => Change::Added { path: text },
                (_, PathStamp::Missing) => Change::Removed { path: text },
                _ => Change::Changed { path: text },
            };
            changes.insert(path.clone(), change);
        }
        let ignored = match is_git && !observed.overflowed {
            true => ignored_entries(&self.top, &observed.entries)?,
            false => BTreeSet::new(),
        };
        let folders = self.before.folders.iter();
        for (folder, was) in folders.filter(|(path, was)| after.folders.get(*path) != Some(*was)) {
            let named = changes.keys().any(|path| path.starts_with(folder));
            let same_folder = after.folders.get(folder).and_then(PathStamp::inode) == was.inode();
            let entries = observed.entries.get(folder);
            let mut others = entries.into_iter().flatten().filter(|entry| {
                let path = folder.join(&entry.name);
                let path = observed.becomes.get(&path).unwrap_or(&path);
                let is_tools = entry.name == FOLDER_NAME || entry.is_of_test_tool();
                let is_new = self.additions && !self.before.has_path(path);
                !is_tools && !is_new && !ignored.contains(path)
            });
            let culprit = others.next().map(|entry| folder.join(&entry.name));
            let explained = same_folder && entries.is_some() && culprit.is_none();
            if named || explained && !observed.overflowed {
                continue;
            }
            let path = culprit.unwrap_or_else(|| folder.clone());
            let text = shown_below(&self.top, &path);
            changes.insert(path, Change::Changed { path: text });
        }
        let mounted = observed.mounted.into_iter().map(|path| Change::Mounted {
            path: shown_below(&self.top, &path),
        });
        Ok(changes.into_values().chain(mounted).collect())
    }
}

fn shown_below(top: &Path, path: &Path) -> String {
    match path.strip_prefix(top) {
        Ok(below) if below.as_os_str().is_empty() => ".".into(),
        Ok(below) => display_path(below),
        Err(_) => display_path(path),
    }
}

/// Waits until a change would get a later time than `newest`. Gives up in time: the clock may
/// belong to another machine.
fn wait_for_tick_after(newest: (i64, i64), scratch: &Path) {
    let probe = scratch.join("clock");
    for _ in 0..TICK_WAITS_MAX {
        let now = File::create(&probe)
            .and_then(|mut file| file.write_all(b"."))
            .and_then(|()| fs::symlink_metadata(&probe));
        match now {
            Ok(now) if (now.ctime(), now.ctime_nsec()) <= newest => {
                fs::remove_file(&probe).ok();
                std::thread::sleep(Duration::from_millis(TICK_WAIT_STEP_MS));
            }
            Ok(_) | Err(_) => return,
        }
    }
}

/// Asks git which of the entries it ignores. An entry may be gone, so the event says whether it was
/// a folder.
fn ignored_entries(
    top: &Path,
    entries: &BTreeMap<PathBuf, BTreeSet<FolderEntry>>,
) -> Result<BTreeSet<PathBuf>, Error> {
    let mut asked = Vec::new();
    for (folder, entries) in entries {
        let below = folder.strip_prefix(top).unwrap_or(folder);
        for entry in entries {
            asked.extend_from_slice(below.join(&entry.name).as_os_str().as_bytes());
            asked.extend_from_slice(if entry.is_folder { b"/\0" } else { b"\0" });
        }
    }
    if asked.is_empty() {
        return Ok(BTreeSet::new());
    }
    let answer = run_git_for_answer(top, &["check-ignore", "-z", "--stdin"], &asked)?;
    let paths = answer.bytes.split(|&byte| byte == 0);
    let paths = paths.filter(|path| !path.is_empty());
    Ok(paths
        .map(|path| top.join(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path))))
        .collect())
}

/// Entry of a folder that was created or removed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FolderEntry {
    name: std::ffi::OsString,
    is_folder: bool,
}

impl FolderEntry {
    /// True if it has the name of a temporary of pytest or coverage, whether or not the project
    /// ignores those. No program loads code from such names. Entries that stay are hashed as any
    /// other file.
    fn is_of_test_tool(&self) -> bool {
        let name = self.name.as_bytes();
        match self.is_folder {
            true => name == b".pytest_cache" || name.starts_with(b"pytest-cache-files-"),
            false => name.starts_with(b".coverage."),
        }
    }
}

/// Observations made while the command ran.
#[derive(Debug, Default)]
struct TreeObservations {
    /// Created and removed entries, by folder.
    entries: BTreeMap<PathBuf, BTreeSet<FolderEntry>>,
    /// Folders that were created under a longer name and then renamed to this one, as cargo makes
    /// `target`.
    becomes: BTreeMap<PathBuf, PathBuf>,
    /// True if events were lost.
    overflowed: bool,
    /// Mount points in or over the tree that were added.
    mounted: BTreeSet<PathBuf>,
}

/// Thread that reads events of the kernel.
#[derive(Debug)]
struct TreeObserver {
    thread: JoinHandle<TreeObservations>,
    stop: PipeWriter,
}

impl TreeObserver {
    fn start_thread<'p>(
        top: &Path,
        paths: impl Iterator<Item = &'p PathBuf>,
    ) -> io::Result<TreeObserver> {
        let mut events = FolderEvents::new(folders_of(top, paths)).ok();
        let mut mounts = MountTable::new(top)?;
        let (stopped, stop) = io::pipe()?;
        let thread = std::thread::Builder::new()
            .spawn(move || observe_events(events.as_mut(), &mut mounts, &stopped))?;
        Ok(TreeObserver { thread, stop })
    }

    fn stop_thread(self) -> TreeObservations {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

fn observe_events(
    mut events: Option<&mut FolderEvents>,
    mounts: &mut MountTable,
    stopped: &PipeReader,
) -> TreeObservations {
    let mut seen = TreeObservations::default();
    loop {
        let mut sources = vec![
            PollFd::new(stopped, PollFlags::IN),
            PollFd::new(&mounts.table, PollFlags::PRI),
        ];
        if let Some(events) = &events {
            sources.push(PollFd::new(&events.queue, PollFlags::IN));
        }
        if matches!(poll(&mut sources, None), Err(error) if error != rustix::io::Errno::INTR) {
            seen.overflowed = true;
            return seen;
        }
        let ended = !sources[0].revents().is_empty();
        let has_mounts = !sources[1].revents().is_empty();
        drop(sources);
        // Mounts first: a mount may be gone again soon, while entries wait in their queue.
        if has_mounts {
            mounts.read_into(&mut seen);
        }
        if let Some(events) = events.as_mut() {
            events.read_into(&mut seen);
        }
        if ended {
            return seen;
        }
    }
}

/// Created and removed entries of folders, by inotify.
#[derive(Debug)]
struct FolderEvents {
    queue: OwnedFd,
    folders: BTreeMap<i32, PathBuf>,
}

impl FolderEvents {
    /// Fails if the user has no watches left; then every change of a folder counts.
    fn new(folders: BTreeSet<PathBuf>) -> io::Result<FolderEvents> {
        use inotify::{CreateFlags, WatchFlags, add_watch, init};
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let entries = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE;
        let mut known = BTreeMap::new();
        for folder in folders {
            let number = add_watch(&queue, &folder, entries | WatchFlags::ONLYDIR)?;
            known.insert(number, folder);
        }
        Ok(FolderEvents {
            queue,
            folders: known,
        })
    }

    fn read_into(&mut self, seen: &mut TreeObservations) {
        use inotify::{ReadFlags, Reader};
        let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
        let mut reader = Reader::new(self.queue.as_fd(), &mut buffer);
        let mut moved_from = None;
        while let Ok(event) = reader.next() {
            seen.overflowed |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let folder = self.folders.get(&event.wd());
            if let (Some(folder), Some(name)) = (folder, event.file_name()) {
                let name = OsStr::from_bytes(name.to_bytes());
                if event.events().contains(ReadFlags::MOVED_FROM) {
                    moved_from = Some((event.cookie(), folder.join(name)));
                } else if event
                    .events()
                    .contains(ReadFlags::MOVED_TO | ReadFlags::ISDIR)
                    && let Some((cookie, from)) = moved_from.take()
                    && cookie == event.cookie()
                    && is_longer_name(&from, &folder.join(name))
                {
                    seen.becomes.insert(from, folder.join(name));
                }
                let entries = seen.entries.entry(folder.clone()).or_default();
                seen.overflowed |= entries.len() >= ENTRIES_MAX;
                if entries.len() < ENTRIES_MAX {
                    entries.insert(FolderEntry {
                        name: name.to_owned(),
                        is_folder: event.events().contains(ReadFlags::ISDIR),
                    });
                }
            }
        }
    }
}

/// True if two paths are in one folder, and the name of the first begins with that of the second.
fn is_longer_name(longer: &Path, path: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|it| it.as_bytes().to_owned());
    longer.parent() == path.parent()
        && name(longer)
            .zip(name(path))
            .is_some_and(|(longer, name)| longer.starts_with(&name))
}

/// Mount table of this process; the kernel announces its changes.
#[derive(Debug)]
struct MountTable {
    top: PathBuf,
    table: File,
    begun_with: BTreeSet<String>,
}

impl MountTable {
    fn new(top: &Path) -> io::Result<MountTable> {
        let mut table = File::open(MOUNT_TABLE)?;
        let begun_with = mount_lines(&mut table)?;
        // The first poll reports changes before the table was opened.
        let mut once = [PollFd::new(&table, PollFlags::PRI)];
        poll(&mut once, Some(&rustix::event::Timespec::default()))?;
        Ok(MountTable {
            top: top.canonicalize().unwrap_or_else(|_| top.to_owned()),
            begun_with,
            table,
        })
    }

    fn read_into(&mut self, seen: &mut TreeObservations) {
        let now = mount_lines(&mut self.table).unwrap_or_default();
        for line in now.difference(&self.begun_with) {
            let place = mount_point(line);
            if place.starts_with(&self.top) || self.top.starts_with(&place) {
                seen.mounted.insert(place);
            }
        }
    }
}

fn mount_lines(table: &mut File) -> io::Result<BTreeSet<String>> {
    let mut text = Vec::new();
    table.rewind()?;
    table.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().map(str::to_owned).collect())
}

/// Returns the fifth word of a line, in which spaces and other special characters are three octal
/// digits.
fn mount_point(line: &str) -> PathBuf {
    let word = line.split(' ').nth(4).unwrap_or_default();
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| first == b'\\');
        let code = digits.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 8).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_is_read_with_its_spaces() {
        let line = "36 35 98:0 / /mnt/a\\040b\\134c rw,noatime - ext3 /dev/root rw";
        assert_eq!(mount_point(line), Path::new("/mnt/a b\\c"));
        assert_eq!(mount_point("36 35"), Path::new(""));
    }
}
