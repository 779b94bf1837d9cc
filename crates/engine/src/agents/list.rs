//! Lists attempts with their condition, and removes old ones.

use super::{Agents, Shown, settled};
use crate::error::Error;
use bowline_supervisor::{Attempt, Condition, State, Status};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Most ended attempts with fully shown output that are kept.
pub const ENDED_MAX: usize = 50;
/// Most ended attempts with output that was not shown yet that are kept.
pub const UNSHOWN_MAX: usize = 500;
/// Time limit for the answers of the shims of all listed attempts, in milliseconds.
const LIST_MS: u64 = 1_000;
/// Most bytes read from a lock file to find the process of a shim.
const LOCK_BYTES_MAX: u64 = 1 << 20;

/// Attempt and its condition.
#[derive(Debug, Clone)]
pub struct Listed {
    pub attempt: Attempt,
    pub condition: Condition,
    /// Last status from its shim; `None` without a live shim that answers.
    pub status: Option<Status>,
    /// Set if its shim is alive but does not answer.
    pub silent: Option<Silence>,
    /// True if it has ended and part of its output was not shown to anyone.
    pub unshown: bool,
}

/// Details of a shim that is alive but does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// Process of the shim, if its lock names it.
    pub pid: Option<i32>,
    /// True if the process is stopped by a signal.
    pub stopped: bool,
}

impl Silence {
    pub(super) fn of(attempt: &Attempt) -> Silence {
        let pid = shim_process(attempt);
        let stat = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        // The state follows the name, which may contain any characters.
        let state = stat.and_then(|stat| stat.rsplit_once(") ")?.1.chars().next());
        Silence {
            pid,
            stopped: matches!(state, Some('T' | 't')),
        }
    }
}

/// Returns the process that a shim wrote into its lock.
fn shim_process(attempt: &Attempt) -> Option<i32> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let lock = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(attempt.folder().join("lock"))
        .ok()?;
    let mut text = Vec::new();
    lock.take(LOCK_BYTES_MAX).read_to_end(&mut text).ok()?;
    let owner: serde_json::Value = serde_json::from_slice(&text).ok()?;
    i32::try_from(owner["pid"].as_i64()?).ok()
}

/// All attempts, and the folders that cannot be read as one.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// Attempts, the newest last.
    pub attempts: Vec<Listed>,
    /// Folders with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// Renders an error with its sources.
fn reasons(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", reasons(source)),
        None => error.to_string(),
    }
}

impl Listed {
    /// Returns the one-word state in JSON.
    pub fn word(&self) -> &'static str {
        match (&self.condition, &self.status) {
            (Condition::Intended, _) => "intended",
            (Condition::Lost, _) => "lost",
            (Condition::Ended(_), _) => "ended",
            (Condition::Alive, None) if self.silent.is_some() => "no_answer",
            (Condition::Alive, None) => "alive",
            (Condition::Alive, Some(status)) => match status.state {
                State::Waiting => "waiting",
                State::Running => "running",
                State::Pausing => "pausing",
                State::Paused => "paused",
                State::Resuming => "resuming",
                State::Ending => "ending",
                State::Ended => "ended",
            },
        }
    }
}

impl Agents {
    /// Lists every attempt, the newest last. All shims are asked at once; one that exceeds the time
    /// limit counts as silent.
    pub fn list(&self) -> List {
        let (tell, told) = std::sync::mpsc::channel();
        let mut list = List::default();
        let mut asked: BTreeMap<usize, Attempt> = BTreeMap::new();
        let mut found: BTreeMap<usize, Listed> = BTreeMap::new();
        for (place, (_, folder)) in self.folders().into_iter().enumerate() {
            let known = Attempt::open(&folder)
                .and_then(|attempt| Ok((attempt.condition()? == Condition::Alive, attempt)));
            match known {
                Ok((true, attempt)) => {
                    asked.insert(place, attempt.clone());
                    let (agents, tell) = (self.clone(), tell.clone());
                    let looking = move || drop(tell.send((place, agents.look(&attempt))));
                    // The thread ends with this program at the latest. A shim whose thread could
                    // not be started counts as silent.
                    drop(std::thread::Builder::new().spawn(looking));
                }
                Ok((false, attempt)) => match self.look(&attempt) {
                    Ok(listed) => drop(found.insert(place, listed)),
                    Err(error) => list.unreadable.push((folder, reasons(&error))),
                },
                // The folder is being removed.
                Err(bowline_supervisor::Error::NoAttempt { .. }) => {}
                Err(error) => list.unreadable.push((folder, reasons(&error))),
            }
        }
        let until = Instant::now() + Duration::from_millis(LIST_MS);
        while !asked.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let Ok((place, looked)) = told.recv_timeout(left) else {
                break;
            };
            let attempt = asked.remove(&place);
            match (looked, attempt) {
                (Ok(listed), _) => drop(found.insert(place, listed)),
                (Err(error), Some(attempt)) => {
                    let folder = attempt.folder().to_owned();
                    list.unreadable.push((folder, reasons(&error)));
                }
                (Err(_), None) => {}
            }
        }
        for (place, attempt) in asked {
            let silent = Some(Silence::of(&attempt));
            let listed = Listed {
                attempt,
                condition: Condition::Alive,
                status: None,
                silent,
                unshown: false,
            };
            found.insert(place, listed);
        }
        list.attempts = found.into_values().collect();
        list
    }

    /// Returns the current state of one attempt.
    pub fn look(&self, attempt: &Attempt) -> Result<Listed, Error> {
        let (condition, reached) = settled(attempt)?;
        let silent = match (&condition, &reached) {
            (Condition::Alive, Err(bowline_supervisor::Error::Unreachable { .. })) => {
                Some(Silence::of(attempt))
            }
            _ => None,
        };
        let unshown = match &condition {
            Condition::Ended(exit) => !Shown::of(attempt)?.all_of(exit),
            Condition::Alive | Condition::Lost | Condition::Intended => false,
        };
        Ok(Listed {
            attempt: attempt.clone(),
            status: reached
                .ok()
                .filter(|_| condition == Condition::Alive)
                .map(|handle| handle.last_status().clone()),
            silent,
            unshown,
            condition,
        })
    }

    /// Returns the folders of attempts with their creation time, the oldest first.
    pub(super) fn folders(&self) -> Vec<(std::time::SystemTime, PathBuf)> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let mut folders: Vec<_> = entries
            .flatten()
            // A link to another folder is not an attempt.
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| {
                let made = std::fs::metadata(entry.path().join("spec.json"))
                    .and_then(|spec| spec.modified());
                match made {
                    Ok(made) => Some((made, entry.path())),
                    // The folder is being made or removed.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                    Err(_) => Some((std::time::SystemTime::UNIX_EPOCH, entry.path())),
                }
            })
            .collect();
        folders.sort();
        folders
    }

    /// Removes attempts that ended long ago; those with output that was not shown are kept longer.
    /// Lost attempts stay until a person has inspected them, and so do those for whose ids `needs`
    /// is true.
    pub fn forget_old(&self, needs: &dyn Fn(&str) -> bool) {
        let (mut shown, mut unshown) = (Vec::new(), Vec::new());
        for (_, folder) in self.folders() {
            let Ok(attempt) = Attempt::open(&folder) else {
                continue;
            };
            let Ok(Some(exit)) = attempt.exit() else {
                continue;
            };
            let id = folder.file_name().unwrap_or_default();
            if needs(&id.to_string_lossy()) {
                continue;
            }
            match Shown::of(&attempt) {
                Ok(all) if all.all_of(&exit) => shown.push(folder),
                Ok(_) | Err(_) => unshown.push(folder),
            }
        }
        for (ended, max) in [(shown, ENDED_MAX), (unshown, UNSHOWN_MAX)] {
            for folder in &ended[..ended.len().saturating_sub(max)] {
                // Another process may be reading it; the next run tries again.
                let _ = std::fs::remove_dir_all(folder);
            }
        }
    }
}
