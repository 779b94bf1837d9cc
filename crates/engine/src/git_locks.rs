//! Removes lock files of git whose owner was killed.
//!
//! A lock file of git does not name its owner. Every git that a run starts, and every attempt of an
//! agent, therefore has a record in a folder of ours while it lives. A lock that appeared while a
//! recorded process lived belongs to it, unless a git that was alive then still is. Other locks are
//! never removed.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Extension of the file which says that a recorded process is gone without having ended well.
const CUT_OFF: &str = "cut";
const LOCK: &str = "lock";
/// Uncertainty of a process's start time.
const START_SLACK: Duration = Duration::from_secs(2);
/// Clock ticks per second in `/proc`, on every Linux.
const USER_HZ: u64 = 100;
/// Folders of a repository without locks of commands.
const WITHOUT_LOCKS: [&str; 4] = ["objects", "modules", "hooks", "lfs"];

/// Records of the processes of one run.
#[derive(Debug, Clone)]
pub struct GitRecords {
    folder: PathBuf,
}

impl GitRecords {
    /// Opens the folder of records. No process recorded in it may be alive any more.
    pub fn open(folder: &Path) -> std::io::Result<GitRecords> {
        fs::create_dir_all(folder)?;
        let records = GitRecords {
            folder: folder.to_owned(),
        };
        for path in records.record_paths() {
            if path.extension().is_none() {
                File::create(path.with_extension(CUT_OFF))?;
            }
        }
        Ok(records)
    }

    fn record_paths(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    }

    fn record_path(&self, name: &str) -> PathBuf {
        self.folder.join(name.replace('.', "_"))
    }

    /// Records that a process is about to start. If the record cannot be written, its locks will
    /// stay.
    pub fn add_record(&self, name: &str) {
        let _ = File::create(self.record_path(name));
    }

    /// Records that a git is about to start; returns the name of its record.
    pub(crate) fn begin_git(&self) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("git-{}-{number}", std::process::id());
        self.add_record(&name);
        name
    }

    /// Removes the record of a process that removed its locks.
    pub fn remove_record(&self, name: &str) {
        let _ = fs::remove_file(self.record_path(name));
    }

    /// Records that a process is gone and may have left locks.
    pub fn cut_off(&self, name: &str) {
        let path = self.record_path(name);
        if path.exists() {
            let _ = File::create(path.with_extension(CUT_OFF));
        }
    }

    /// True if a recorded process that is gone was alive at a time.
    fn was_alive(&self, at: SystemTime) -> bool {
        let cut = self.record_paths().filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == CUT_OFF)
        });
        cut.into_iter().any(|path| {
            let time = |path: &Path| fs::metadata(path).and_then(|it| it.modified());
            let (begun, ended) = (time(&path.with_extension("")), time(&path));
            matches!((begun, ended), (Ok(begun), Ok(ended)) if begun <= at && at <= ended)
        })
    }

    /// Removes a lock whose owner is known to be dead. Returns true if it is gone.
    pub(crate) fn remove_stale(&self, lock: &Path, repository: &[PathBuf]) -> bool {
        let Ok(before) = fs::symlink_metadata(lock) else {
            // Its owner has just ended.
            return true;
        };
        let Ok(at) = before.modified() else {
            return false;
        };
        let known = lock.extension().is_some_and(|ending| ending == LOCK);
        if !known || !before.is_file() || !self.was_alive(at) {
            return false;
        }
        if has_live_git(lock, at, repository) {
            return false;
        }
        let same = |now: &Metadata| now.ino() == before.ino() && now.modified().ok() == Some(at);
        match fs::symlink_metadata(lock) {
            Ok(now) if same(&now) => fs::remove_file(lock).is_ok(),
            Ok(_) | Err(_) => false,
        }
    }

    /// Removes worktree entries that a killed git had only begun to make: an empty `commondir` in
    /// one makes git refuse every command about worktrees. Returns true if there were any.
    pub(crate) fn remove_half_made(&self, common: &Path, repository: &[PathBuf]) -> bool {
        let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten();
        let mut removed = false;
        for entry in entries.flatten() {
            let file = entry.path().join("commondir");
            let Ok(it) = fs::metadata(&file) else {
                continue;
            };
            let dead = it
                .modified()
                .is_ok_and(|at| self.was_alive(at) && !has_live_git(&file, at, repository));
            if it.len() == 0 && dead {
                removed |= fs::remove_dir_all(entry.path()).is_ok();
            }
        }
        removed
    }

    /// Removes the locks of a repository whose owners are known to be dead, then their records.
    pub fn remove_dead_locks(&self, common: &Path) {
        if self.record_paths().next().is_none() {
            return;
        }
        let repository = folders_of(common);
        self.remove_half_made(common, &repository);
        let mut left = false;
        for lock in locks_below(common) {
            left |= !self.remove_stale(&lock, &repository);
        }
        if !left {
            for path in self.record_paths() {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Returns the lock named by the error of a git that could not take it.
pub fn lock_in_the_way(said: &str) -> Option<PathBuf> {
    let (_, rest) = said.split_once("Unable to create '")?;
    let (path, _) = rest.split_once("': File exists")?;
    path.ends_with(".lock").then(|| PathBuf::from(path))
}

/// Returns the folders in which git works on a repository: its checkout, its worktrees and its own
/// folder.
pub(crate) fn folders_of(common: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = vec![common.to_owned()];
    all.extend(common.parent().map(Path::to_owned));
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten();
    for entry in entries.flatten() {
        let text = fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
        all.extend(Path::new(text.trim_end()).parent().map(Path::to_owned));
    }
    all.retain(|folder| !folder.as_os_str().is_empty());
    all
}

fn locks_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        let name = entry.file_name();
        if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
            if !WITHOUT_LOCKS.iter().any(|it| name == *it) {
                found.extend(locks_below(&path));
            }
        } else if path.extension().is_some_and(|ending| ending == LOCK) {
            found.push(path);
        }
    }
    found
}

/// True if a live process may own a lock: one that has it open, or a git that works in the
/// repository and is not younger than the lock.
fn has_live_git(lock: &Path, at: SystemTime, repository: &[PathBuf]) -> bool {
    let boot = boot_time();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.into_iter().any(|entry| {
        let name = entry.file_name();
        if !name.to_string_lossy().bytes().all(|it| it.is_ascii_digit()) {
            return false;
        }
        let folder = entry.path();
        let Ok(stat) = fs::read_to_string(folder.join("stat")) else {
            return false;
        };
        let (Some(from), Some(to)) = (stat.find('('), stat.rfind(')')) else {
            return false;
        };
        let open = fs::read_dir(folder.join("fd")).into_iter().flatten();
        let mut open = open.flatten().map(|entry| fs::read_link(entry.path()));
        let has_open = open.any(|file| file.is_ok_and(|file| file == lock));
        if !stat[from + 1..to].starts_with("git") || stat[to..].starts_with(") Z") {
            return has_open;
        }
        // The fields after the name begin with the third; the start time is the 22nd.
        let ticks = stat[to + 1..].split_whitespace().nth(19);
        let ticks: Option<u64> = ticks.and_then(|ticks| ticks.parse().ok());
        let started = boot
            .zip(ticks)
            .map(|(boot, ticks)| boot + Duration::from_millis(ticks * 1_000 / USER_HZ));
        if started.is_some_and(|started| started > at + START_SLACK) {
            return false;
        }
        let here = fs::read_link(folder.join("cwd"));
        has_open || here.is_ok_and(|here| repository.iter().any(|it| here.starts_with(it)))
    })
}

fn boot_time() -> Option<SystemTime> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    let seconds: u64 = line.trim().parse().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}
