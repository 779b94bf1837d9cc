//! The attempts there are, what has become of each, and how long they are kept.

use super::{Agents, Shown, settled};
use crate::error::Error;
use bowline_supervisor::{Attempt, Condition, State, Status};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Attempts that have ended, and were shown to their end, that are still listed.
pub const ENDED_MAX: usize = 50;
/// Attempts that have ended with output that nobody was shown, and are still listed.
pub const UNSHOWN_MAX: usize = 500;
/// How long the shims of all listed attempts may take to answer.
const LIST_MS: u64 = 1_000;
/// The longest lock that is looked into for the process of a shim.
const LOCK_BYTES_MAX: u64 = 1 << 20;

/// An attempt, and what has become of it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The attempt.
    pub attempt: Attempt,
    /// What has become of it.
    pub condition: Condition,
    /// What its shim says, if it has one.
    pub status: Option<Status>,
    /// Its shim lives and does not answer.
    pub silent: Option<Silence>,
    /// It has ended, and a part of its output was shown to nobody.
    pub unshown: bool,
}

/// A shim that lives and does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// Its process, where its lock still says so.
    pub pid: Option<i32>,
    /// Somebody has stopped it.
    pub stopped: bool,
}

impl Silence {
    pub(super) fn of(attempt: &Attempt) -> Silence {
        let pid = shim_process(attempt);
        let stat = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        // The state stands behind the name, which may have any letters.
        let state = stat.and_then(|stat| stat.rsplit_once(") ")?.1.chars().next());
        Silence {
            pid,
            stopped: matches!(state, Some('T' | 't')),
        }
    }
}

/// The process of a shim, as it wrote it into its lock.
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

/// All attempts, and the folders of those that cannot be read.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// The newest last.
    pub attempts: Vec<Listed>,
    /// With the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// An error with what is behind it.
fn reasons(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", reasons(source)),
        None => error.to_string(),
    }
}

impl Listed {
    /// One word for it.
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
    /// Every attempt, the newest last. All shims are asked at once; one that takes too long counts as silent.
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
                    // It ends with this program at the latest. One that nobody asks counts as silent.
                    drop(std::thread::Builder::new().spawn(looking));
                }
                Ok((false, attempt)) => match self.look(&attempt) {
                    Ok(listed) => drop(found.insert(place, listed)),
                    Err(error) => list.unreadable.push((folder, reasons(&error))),
                },
                // Being removed.
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

    /// One attempt as it is now.
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

    /// Folders of attempts with their age, the oldest first.
    pub(super) fn folders(&self) -> Vec<(std::time::SystemTime, PathBuf)> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let mut folders: Vec<_> = entries
            .flatten()
            // A link to somewhere else is no attempt.
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| {
                let made = std::fs::metadata(entry.path().join("spec.json"))
                    .and_then(|spec| spec.modified());
                match made {
                    Ok(made) => Some((made, entry.path())),
                    // Being made, or being removed.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                    Err(_) => Some((std::time::SystemTime::UNIX_EPOCH, entry.path())),
                }
            })
            .collect();
        folders.sort();
        folders
    }

    /// Attempts that ended long ago go, those with output that nobody was shown much later; lost ones stay until somebody
    /// has looked at them, and those that somebody still `needs` by their ids.
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
                // Somebody may be reading it; then the next run tries again.
                let _ = std::fs::remove_dir_all(folder);
            }
        }
    }
}
