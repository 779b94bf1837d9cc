//! Lists attempts with their condition, and removes old ones.

use super::{AgentAttempts, ShownBytes, settled_condition};
use crate::error::Error;
use bowline_supervisor::{Attempt, AttemptCondition, ObservedState, ObservedStatus};
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
pub struct ListedAttempt {
    pub attempt: Attempt,
    pub condition: AttemptCondition,
    /// Last status from its shim; `None` without a live shim that answers.
    pub status: Option<ObservedStatus>,
    /// Set if its shim is alive but does not answer.
    pub silent: Option<ShimSilence>,
    /// True if it has ended and part of its output was not shown to anyone.
    pub unshown: bool,
}

/// Details of a shim that is alive but does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShimSilence {
    /// Process of the shim, if its lock names it.
    pub pid: Option<i32>,
    /// True if the process is stopped by a signal.
    pub stopped: bool,
}

impl ShimSilence {
    pub(super) fn inspect_shim(attempt: &Attempt) -> ShimSilence {
        let pid = shim_process(attempt);
        let stat = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        // The state follows the name, which may contain any characters.
        let state = stat.and_then(|stat| stat.rsplit_once(") ")?.1.chars().next());
        ShimSilence {
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
pub struct AttemptList {
    /// Attempts, the newest last.
    pub attempts: Vec<ListedAttempt>,
    /// Folders with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// Renders an error with its sources.
fn error_chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_chain(source)),
        None => error.to_string(),
    }
}

impl ListedAttempt {
    /// Returns the one-word state in JSON.
    pub fn state_word(&self) -> &'static str {
        match (&self.condition, &self.status) {
            (AttemptCondition::Intended, _) => "intended",
            (AttemptCondition::Lost, _) => "lost",
            (AttemptCondition::Ended(_), _) => "ended",
            (AttemptCondition::Alive, None) if self.silent.is_some() => "no_answer",
            (AttemptCondition::Alive, None) => "alive",
            (AttemptCondition::Alive, Some(status)) => match status.state {
                ObservedState::Waiting => "waiting",
                ObservedState::Running => "running",
                ObservedState::Pausing => "pausing",
                ObservedState::Paused => "paused",
                ObservedState::Resuming => "resuming",
                ObservedState::Ending => "ending",
                ObservedState::Ended => "ended",
            },
        }
    }
}

impl AgentAttempts {
    /// Lists every attempt, the newest last. All shims are asked at once; one that exceeds the time
    /// limit counts as silent.
    pub fn list_attempts(&self) -> AttemptList {
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut list = AttemptList::default();
        let mut asked: BTreeMap<usize, Attempt> = BTreeMap::new();
        let mut found: BTreeMap<usize, ListedAttempt> = BTreeMap::new();
        for (place, (_, folder)) in self.attempt_folders().into_iter().enumerate() {
            let known = Attempt::open_existing(&folder)
                .and_then(|attempt| Ok((attempt.condition()? == AttemptCondition::Alive, attempt)));
            match known {
                Ok((true, attempt)) => {
                    asked.insert(place, attempt.clone());
                    let (agents, sender) = (self.clone(), sender.clone());
                    let looking =
                        move || drop(sender.send((place, agents.inspect_attempt(&attempt))));
                    // The thread ends with this program at the latest. A shim whose thread could
                    // not be started counts as silent.
                    drop(std::thread::Builder::new().spawn(looking));
                }
                Ok((false, attempt)) => match self.inspect_attempt(&attempt) {
                    Ok(listed) => drop(found.insert(place, listed)),
                    Err(error) => list.unreadable.push((folder, error_chain(&error))),
                },
                // The folder is being removed.
                Err(bowline_supervisor::SupervisorError::NoAttempt { .. }) => {}
                Err(error) => list.unreadable.push((folder, error_chain(&error))),
            }
        }
        let until = Instant::now() + Duration::from_millis(LIST_MS);
        while !asked.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let Ok((place, looked)) = receiver.recv_timeout(left) else {
                break;
            };
            let attempt = asked.remove(&place);
            match (looked, attempt) {
                (Ok(listed), _) => drop(found.insert(place, listed)),
                (Err(error), Some(attempt)) => {
                    let folder = attempt.folder().to_owned();
                    list.unreadable.push((folder, error_chain(&error)));
                }
                (Err(_), None) => {}
            }
        }
        for (place, attempt) in asked {
            let silent = Some(ShimSilence::inspect_shim(&attempt));
            let listed = ListedAttempt {
                attempt,
                condition: AttemptCondition::Alive,
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
    pub fn inspect_attempt(&self, attempt: &Attempt) -> Result<ListedAttempt, Error> {
        let (condition, reached) = settled_condition(attempt)?;
        let silent = match (&condition, &reached) {
            (
                AttemptCondition::Alive,
                Err(bowline_supervisor::SupervisorError::Unreachable { .. }),
            ) => Some(ShimSilence::inspect_shim(attempt)),
            _ => None,
        };
        let unshown = match &condition {
            AttemptCondition::Ended(exit) => !ShownBytes::of_attempt(attempt)?.all_of(exit),
            AttemptCondition::Alive | AttemptCondition::Lost | AttemptCondition::Intended => false,
        };
        Ok(ListedAttempt {
            attempt: attempt.clone(),
            status: reached
                .ok()
                .filter(|_| condition == AttemptCondition::Alive)
                .map(|handle| handle.last_status().clone()),
            silent,
            unshown,
            condition,
        })
    }

    /// Returns the folders of attempts with their creation time, the oldest first.
    pub(super) fn attempt_folders(&self) -> Vec<(std::time::SystemTime, PathBuf)> {
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
        for (_, folder) in self.attempt_folders() {
            let Ok(attempt) = Attempt::open_existing(&folder) else {
                continue;
            };
            let Ok(Some(exit)) = attempt.read_exit() else {
                continue;
            };
            let id = folder.file_name().unwrap_or_default();
            if needs(&id.to_string_lossy()) {
                continue;
            }
            match ShownBytes::of_attempt(&attempt) {
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
