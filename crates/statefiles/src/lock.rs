//! The lock of a state file: an advisory lock on a visible file that names its owner and exists
//! while the lock is held.
//!
//! Two protocols meet here. Bowline processes exclude each other by `flock`, which the kernel
//! releases when a process ends. Other programs follow the older convention "if the lock file
//! exists, wait; else create it"; for them the file is created when the lock is taken and removed
//! when it is released, and their files are respected in turn.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::disk::{Disk, EntryKind, FileStat, is_unsupported};
use crate::error::{FileOperation, StateFileError};
use crate::layout::FilePaths;
use crate::request::WriteRequest;

/// The default time to wait for a lock.
pub const LOCK_WAIT_MS: u64 = 5_000;
/// A lock file of another program is respected for this long even if its owner is not known to
/// live.
pub const FOREIGN_LOCK_FRESH_MS: i64 = 30_000;

/// A longer lock file is not read further.
const OWNER_BYTES_MAX: u64 = 4096;
/// The beginning of a lock record of this crate.
const OURS: &str = r#"{"bowline":1,"#;
/// First and longest pause between two attempts. Short, because a waiter can only win in the moment
/// between two holders.
const PAUSE_US_MIN: u64 = 200;
const PAUSE_US_MAX: u64 = 4_000;

/// The present or last owner of a lock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    /// 1 for a lock file written by this crate; 0 for any other.
    #[serde(default)]
    pub bowline: u32,
    /// Process id, if the file has it.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Start time of the process in clock ticks since boot, to distinguish it from a later one with
    /// the same id.
    #[serde(default)]
    pub start: Option<u64>,
    /// Name of the machine.
    #[serde(default)]
    pub host: String,
    /// The time at which the lock was taken, in the owner's format.
    #[serde(default)]
    pub at: String,
    /// The operation that holds the lock, as free text.
    #[serde(default)]
    pub what: String,
}

impl LockHolder {
    fn this_process(request: &WriteRequest) -> Self {
        let start = std::fs::read_to_string("/proc/self/stat")
            .ok()
            .and_then(|stat| start_ticks(&stat));
        Self {
            bowline: 1,
            pid: Some(std::process::id()),
            start,
            host: host_name(),
            at: request.at.clone(),
            what: request.what.clone(),
        }
    }

    /// Parses the content of any lock file: our record, other JSON with a `pid`, a bare process id,
    /// or free text.
    fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Ok(owner) = serde_json::from_str::<Self>(text) {
            return owner;
        }
        if text.starts_with(OURS) {
            // A Bowline process stopped while it took this file over.
            return Self {
                bowline: 1,
                ..Self::default()
            };
        }
        let pid = text
            .split(|letter: char| !letter.is_ascii_digit())
            .find_map(|digits| digits.parse().ok());
        let what: String = text
            .chars()
            .filter(|letter| !letter.is_control())
            .take(80)
            .collect();
        Self {
            pid,
            what,
            ..Self::default()
        }
    }

    /// True if the process named in a lock file is known to live on this machine.
    fn is_alive(&self) -> bool {
        let here = self.host.is_empty() || self.host == host_name();
        let other = self.pid.filter(|pid| *pid != std::process::id());
        let Some(pid) = other
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(rustix::process::Pid::from_raw)
        else {
            return false;
        };
        // A process of another user cannot be signalled, but it exists.
        here && !matches!(
            rustix::process::test_kill_process(pid),
            Err(rustix::io::Errno::SRCH)
        )
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(out, "process {pid}")?,
            None => write!(out, "another program")?,
        }
        if !self.host.is_empty() {
            write!(out, " on {}", self.host)?;
        }
        if !self.what.is_empty() && Some(&self.what) != self.pid.map(|pid| pid.to_string()).as_ref()
        {
            write!(out, " ({})", self.what)?;
        }
        if !self.at.is_empty() {
            write!(out, " since {}", self.at)?;
        }
        Ok(())
    }
}

fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// Parses field 22 of `/proc/<pid>/stat`. The command name before it may contain anything, so the
/// count starts at its closing bracket.
fn start_ticks(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: Option<File>,
    path: PathBuf,
    identity: (u64, u64),
    disk: std::sync::Arc<dyn Disk>,
    /// The foreign owner of the lock file that was taken over.
    pub(crate) taken_from: Option<LockHolder>,
}

/// The result of one attempt.
enum LockAttempt {
    Mine {
        file: File,
        taken_from: Option<LockHolder>,
    },
    /// The lock file changed during the attempt; the next one follows at once.
    Again,
    Held(LockHolder),
}

impl FileLock {
    /// Takes the lock, waiting at most `wait`.
    pub(crate) fn acquire(
        disk: &std::sync::Arc<dyn Disk>,
        paths: &FilePaths,
        request: &WriteRequest,
        wait: Duration,
    ) -> Result<Self, StateFileError> {
        let begun = Instant::now();
        let mut pause_us = PAUSE_US_MIN;
        let mut candidate = LockCandidate::new(&**disk, paths, request)?;
        loop {
            let elapsed = begun.elapsed();
            let now_ms = request
                .now_ms
                .saturating_add(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX));
            match try_lock_once(&**disk, paths, &mut candidate, now_ms)? {
                LockAttempt::Mine { file, taken_from } => {
                    let identity = identity_of(&file).map_err(|error| {
                        StateFileError::io(FileOperation::LookAt, &paths.lock, error)
                    })?;
                    let (disk, path) = (disk.clone(), paths.lock.clone());
                    return Ok(Self {
                        file: Some(file),
                        path,
                        identity,
                        disk,
                        taken_from,
                    });
                }
                LockAttempt::Again if elapsed < wait => {}
                LockAttempt::Held(_) if elapsed < wait => {
                    pause(jittered_pause(pause_us).min(wait - elapsed));
                    pause_us = (pause_us * 2).min(PAUSE_US_MAX);
                }
                LockAttempt::Again => {
                    return Err(locked_error(paths, LockHolder::default(), elapsed));
                }
                LockAttempt::Held(owner) => {
                    return Err(locked_error(paths, owner, elapsed));
                }
            }
        }
    }
}

fn locked_error(paths: &FilePaths, owner: LockHolder, waited: Duration) -> StateFileError {
    let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
    StateFileError::Locked {
        path: paths.file.clone(),
        owner: Box::new(owner),
        waited_ms,
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Only our own file is removed: a program that stopped waiting may have put its own in
        // place. It is removed before it is closed, so that no process finds it unlocked and takes
        // it for a leftover. A failure leaves a leftover that the next process recognises.
        let ours = |stat: FileStat| stat.identity == self.identity;
        if self
            .disk
            .stat(&self.path)
            .is_ok_and(|stat| stat.is_some_and(ours))
        {
            self.disk.unlink(&self.path).ok();
        }
        self.file = None;
    }
}

/// A second lock, on the journal. A program that removes a lock file lets the next writer in beside
/// a live one; this lock still keeps the two apart.
#[derive(Debug)]
pub(crate) struct JournalLock {
    /// The journal, open only for its lock.
    file: Option<File>,
    /// True if another writer was still at work although the lock file was ours.
    pub(crate) waited: bool,
}

impl Drop for JournalLock {
    /// Unlocks before the file is closed: on FUSE the lock of a closed file is released some time
    /// later, and the next writer would take that for a writer whose lock file was removed.
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // If unlocking fails, closing the file unlocks it.
            let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
        }
    }
}

impl JournalLock {
    /// Locks the journal, if there is one, waiting at most `wait` for a writer whose lock file was
    /// removed.
    pub(crate) fn acquire(
        disk: &dyn Disk,
        paths: &FilePaths,
        wait: Duration,
    ) -> Result<Self, StateFileError> {
        let path = &paths.journal;
        let begun = Instant::now();
        let mut waited = false;
        loop {
            let file = match disk.open_write(path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self { file: None, waited });
                }
                Err(error) => return Err(StateFileError::io(FileOperation::Open, path, error)),
            };
            let free = disk
                .try_lock(&file)
                .map_err(|error| StateFileError::io(FileOperation::Lock, path, error))?;
            // The writer that held it may have started a new journal.
            let there = disk
                .stat(path)
                .map_err(|error| StateFileError::io(FileOperation::LookAt, path, error))?;
            let identity = identity_of(&file)
                .map_err(|error| StateFileError::io(FileOperation::LookAt, path, error))?;
            let same = there.is_some_and(|there| there.identity == identity);
            if free && same {
                return Ok(Self {
                    file: Some(file),
                    waited,
                });
            }
            waited |= !free;
            let elapsed = begun.elapsed();
            if elapsed >= wait {
                let what = "a writer whose lock file was removed".to_owned();
                let owner = LockHolder {
                    what,
                    ..LockHolder::default()
                };
                return Err(locked_error(paths, owner, elapsed));
            }
            pause(jittered_pause(PAUSE_US_MAX).min(wait - elapsed));
        }
    }
}

/// Returns the present owner of the lock, if any; takes nothing.
pub(crate) fn current_owner(
    disk: &dyn Disk,
    paths: &FilePaths,
    now_ms: i64,
) -> Result<Option<LockHolder>, StateFileError> {
    let Some((file, stat)) = open_existing(disk, &paths.lock)? else {
        return Ok(None);
    };
    let held = LockHolder::parse(&read_content(disk, &file, &paths.lock)?);
    let free = disk
        .try_lock(&file)
        .map_err(|error| StateFileError::io(FileOperation::Lock, &paths.lock, error))?;
    Ok((!free || must_be_respected(&held, &stat, now_ms)).then_some(held))
}

fn try_lock_once(
    disk: &dyn Disk,
    paths: &FilePaths,
    candidate: &mut LockCandidate<'_>,
    now_ms: i64,
) -> Result<LockAttempt, StateFileError> {
    let path = &paths.lock;
    let Some((file, stat)) = open_existing(disk, path)? else {
        return candidate.publish_file(paths);
    };
    if stat.kind != EntryKind::Regular {
        let what = "a lock that is not a file".to_owned();
        return Ok(LockAttempt::Held(LockHolder {
            what,
            ..LockHolder::default()
        }));
    }
    let owner = LockHolder::parse(&read_content(disk, &file, path)?);
    if !disk
        .try_lock(&file)
        .map_err(|error| StateFileError::io(FileOperation::Lock, path, error))?
    {
        return Ok(LockAttempt::Held(owner));
    }
    // The locked file may be one that its owner has removed meanwhile.
    let there = disk
        .stat(path)
        .map_err(|error| StateFileError::io(FileOperation::LookAt, path, error))?;
    if there.is_none_or(|there| there.identity != stat.identity) {
        return Ok(LockAttempt::Again);
    }
    if must_be_respected(&owner, &stat, now_ms) {
        return Ok(LockAttempt::Held(owner));
    }
    // The file has no owner any more. It is overwritten in place: removing it could hit a newer
    // file of another process.
    let writable = match disk.open_write(path) {
        Ok(writable) => writable,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LockAttempt::Again),
        Err(error) => return Err(StateFileError::io(FileOperation::Open, path, error)),
    };
    if identity_of(&writable)
        .map_err(|error| StateFileError::io(FileOperation::LookAt, path, error))?
        != stat.identity
    {
        return Ok(LockAttempt::Again);
    }
    // In one write, as long as the old content: an empty lock file after a failure would be taken
    // for another program's and respected.
    let mut record = candidate.record.clone();
    let spaces = usize::try_from(stat.bytes.min(OWNER_BYTES_MAX)).unwrap_or(0);
    if record.len() < spaces {
        record.resize(spaces, b' ');
    }
    disk.write(&writable, &record)
        .map_err(|error| StateFileError::io(FileOperation::Write, path, error))?;
    if stat.bytes > OWNER_BYTES_MAX {
        disk.truncate(&writable, OWNER_BYTES_MAX)
            .map_err(|error| StateFileError::io(FileOperation::Write, path, error))?;
    }
    if owner.bowline != 0 {
        // A process died here; it may have left more.
        remove_dead_candidates(disk, paths);
    }
    let taken_from = (owner.bowline == 0).then_some(owner);
    Ok(LockAttempt::Mine { file, taken_from })
}

/// True if a lock file without a `flock` must be respected all the same.
fn must_be_respected(owner: &LockHolder, stat: &FileStat, now_ms: i64) -> bool {
    // A file that is newer than `now_ms` by more than the bound proves nothing: a clock was wrong.
    let fresh = (now_ms - stat.modified_ms).abs() < FOREIGN_LOCK_FRESH_MS;
    owner.bowline == 0 && (fresh || owner.is_alive())
}

fn open_existing(disk: &dyn Disk, path: &Path) -> Result<Option<(File, FileStat)>, StateFileError> {
    match disk.open_read(path) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StateFileError::io(FileOperation::Open, path, error)),
    }
}

fn read_content(disk: &dyn Disk, file: &File, path: &Path) -> Result<String, StateFileError> {
    let bytes = disk
        .read(file, OWNER_BYTES_MAX)
        .map_err(|error| StateFileError::io(FileOperation::Read, path, error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn identity_of(file: &File) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let meta = file.metadata()?;
    Ok((meta.dev(), meta.ino()))
}

/// A prepared lock file: filled and locked before it gets the name, so that no process ever sees an
/// empty one.
struct LockCandidate<'d> {
    disk: &'d dyn Disk,
    record: Vec<u8>,
    file: Option<File>,
    /// Its path, on file systems without unnamed files.
    scratch: Option<PathBuf>,
}

impl Drop for LockCandidate<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.scratch.take() {
            self.disk.unlink(&path).ok();
        }
    }
}

impl<'d> LockCandidate<'d> {
    fn new(
        disk: &'d dyn Disk,
        paths: &FilePaths,
        request: &WriteRequest,
    ) -> Result<Self, StateFileError> {
        let mut record =
            serde_json::to_vec(&LockHolder::this_process(request)).map_err(|error| {
                StateFileError::io(
                    FileOperation::DescribeLock,
                    &paths.file,
                    io::Error::other(error),
                )
            })?;
        record.push(b'\n');
        Ok(Self {
            disk,
            record,
            file: None,
            scratch: None,
        })
    }

    /// Creates, fills and locks the file; without a name if the file system supports that.
    fn prepare_file(&mut self, paths: &FilePaths, named: bool) -> Result<(), StateFileError> {
        let file = if named {
            self.create_named(paths)?
        } else {
            match self.disk.create_unnamed(&paths.side) {
                Ok(file) => file,
                Err(error) if is_unsupported(&error) => self.create_named(paths)?,
                Err(error) => {
                    return Err(StateFileError::io(
                        FileOperation::CreateLockFile,
                        &paths.side,
                        error,
                    ));
                }
            }
        };
        let filled = self
            .disk
            .write(&file, &self.record)
            .and_then(|()| self.disk.try_lock(&file));
        filled.map_err(|error| StateFileError::io(FileOperation::Write, &paths.lock, error))?;
        self.file = Some(file);
        Ok(())
    }

    fn create_named(&mut self, paths: &FilePaths) -> Result<File, StateFileError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        remove_dead_candidates(self.disk, paths);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = paths.scratch_path(&format!("{CANDIDATE}{}-{count}", std::process::id()));
        // A process with the same id may have died and left one behind.
        self.disk.unlink(&path).ok();
        let file = self
            .disk
            .create_new(&path)
            .map_err(|error| StateFileError::io(FileOperation::Create, &path, error))?;
        self.scratch = Some(path);
        Ok(file)
    }

    fn publish_file(&mut self, paths: &FilePaths) -> Result<LockAttempt, StateFileError> {
        if self.file.is_none() {
            self.prepare_file(paths, false)?;
        }
        let Some(file) = self.file.take() else {
            return Ok(LockAttempt::Again);
        };
        let named = match &self.scratch {
            None => self.disk.name_file(&file, &paths.lock),
            Some(scratch) => match self.disk.rename_new(scratch, &paths.lock) {
                // The remaining second name is removed when the candidate is dropped.
                Err(error) if is_unsupported(&error) => self.disk.link(scratch, &paths.lock),
                Ok(()) => {
                    self.scratch = None;
                    Ok(())
                }
                failed => failed,
            },
        };
        match named {
            Ok(()) => Ok(LockAttempt::Mine {
                file,
                taken_from: None,
            }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.file = Some(file);
                Ok(LockAttempt::Again)
            }
            // Without /proc an unnamed file cannot get a name; from now on it has one from the
            // start.
            Err(error) if self.scratch.is_none() && error.kind() == io::ErrorKind::NotFound => {
                if self.disk.stat(&paths.side).is_ok_and(|stat| stat.is_none()) {
                    return Err(StateFileError::io(
                        FileOperation::Create,
                        &paths.lock,
                        error,
                    ));
                }
                self.prepare_file(paths, true)?;
                Ok(LockAttempt::Again)
            }
            Err(error) => Err(StateFileError::io(
                FileOperation::Create,
                &paths.lock,
                error,
            )),
        }
    }
}

/// Part of the name of a prepared lock file on file systems without unnamed files.
const CANDIDATE: &str = "lock-";

/// Removes the named candidates of processes that died while waiting. A failure does no harm: the
/// next process tries again.
fn remove_dead_candidates(disk: &dyn Disk, paths: &FilePaths) {
    let ours = paths.scratch_path(CANDIDATE);
    let prefix = ours.file_name().unwrap_or_default().to_string_lossy();
    for name in disk.list_names(&paths.side).unwrap_or_default() {
        let name = name.to_string_lossy();
        let Some((pid, _)) = name
            .strip_prefix(&*prefix)
            .and_then(|rest| rest.split_once('-'))
        else {
            continue;
        };
        let waiting = LockHolder {
            pid: pid.parse().ok(),
            ..LockHolder::default()
        };
        if waiting.pid != Some(std::process::id()) && !waiting.is_alive() {
            disk.unlink(&paths.side.join(&*name)).ok();
        }
    }
}

/// Returns between half and one and a half of `pause_us`, different in each process and at each
/// call.
fn jittered_pause(pause_us: u64) -> Duration {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let mixed = (u64::from(std::process::id()) << 32 | call & 0xffff_ffff)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        >> 33;
    Duration::from_micros(pause_us / 2 + mixed % pause_us.max(1))
}

#[expect(
    clippy::disallowed_methods,
    reason = "waiting for a lock is one of the two waits of this crate"
)]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;
    use crate::RealDisk;

    /// A second descriptor stands for a file system that releases the locks of closed files later,
    /// as FUSE does.
    #[test]
    fn a_journal_is_unlocked_although_its_file_is_released_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let file = File::create(&path).unwrap();
        assert!(RealDisk.try_lock(&file).unwrap());
        let released_later = file.try_clone().unwrap();
        drop(JournalLock {
            file: Some(file),
            waited: false,
        });
        let next = File::open(&path).unwrap();
        assert!(RealDisk.try_lock(&next).unwrap());
        drop(released_later);
    }
}
