//! Reading processes from `/proc`, and signalling exactly the process that was read.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

/// A line of `stat` is shorter; more of it is not needed.
const STAT_BYTES_MAX: usize = 1024;

/// Environments longer than this are not searched completely; the kernel's own limit is far below
/// for most programs.
const ENVIRONMENT_BYTES_MAX: u64 = 8 << 20;

/// Most generations followed when testing descent.
const ANCESTORS_MAX: usize = 256;
/// Most tries to follow ancestors that change while they are read.
const LOOKS_MAX: usize = 8;

/// A process at the moment it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessSnapshot {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    /// Id of its session leader. A process can only leave its session itself.
    pub(crate) session: i32,
    /// State letter of the kernel.
    pub(crate) state: u8,
    pub(crate) threads: u32,
    /// In clock ticks since boot; unique together with the pid.
    pub(crate) start: u64,
}

impl ProcessSnapshot {
    /// Reads a process; `None` if there is none with this id.
    pub(crate) fn read_process(pid: i32) -> Option<ProcessSnapshot> {
        let mut text = [0; STAT_BYTES_MAX];
        let mut file = File::open(format!("/proc/{pid}/stat")).ok()?;
        let count = file.read(&mut text).ok()?;
        ProcessSnapshot::parse(&text[..count])
    }

    /// Parses a line of `stat`. The command name is in brackets and may itself contain brackets.
    fn parse(stat: &[u8]) -> Option<ProcessSnapshot> {
        let open = stat.iter().position(|&byte| byte == b'(')?;
        let close = stat.iter().rposition(|&byte| byte == b')')?;
        let pid = str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
        let rest = str::from_utf8(stat.get(close + 1..)?).ok()?;
        let mut words = rest.split_ascii_whitespace();
        let state = *words.next()?.as_bytes().first()?;
        let parent = words.next()?.parse().ok()?;
        // Fields 3 to 52 of `stat` count from the state; threads are the 20th, the start is the
        // 22nd.
        let session = words.nth(1)?.parse().ok()?;
        let threads = words.nth(13)?.parse().ok()?;
        let start = words.nth(1)?.parse().ok()?;
        Some(ProcessSnapshot {
            pid,
            parent,
            session,
            state,
            threads,
            start,
        })
    }

    /// Returns an identity that is never reused.
    pub(crate) fn unique_id(&self) -> (i32, u64) {
        (self.pid, self.start)
    }

    /// True if the process has ended. One whose first thread has ended may live on in others.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }

    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }

    /// Signals this very process, never a later one with the same id. `false` when it is gone or
    /// may not be signalled.
    pub(crate) fn send_signal(&self, signal: Signal) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return false;
        };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
            return false;
        };
        // The pidfd is known to belong to this process only if the process still exists after it
        // was opened.
        let same = ProcessSnapshot::read_process(self.pid)
            .is_some_and(|now| now.unique_id() == self.unique_id());
        same && pidfd_send_signal(handle, signal).is_ok()
    }
}

/// Returns the ids of all processes.
pub(crate) fn all_pids() -> HashSet<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Reads every process.
fn read_all() -> Vec<ProcessSnapshot> {
    all_pids()
        .into_iter()
        .filter_map(ProcessSnapshot::read_process)
        .collect()
}

/// Returns all descendants of a process, parents before their children, zombies included.
///
/// While processes come and go a scan may miss some; when all of them are stopped it misses none.
pub(crate) fn descendants(root: i32) -> Vec<ProcessSnapshot> {
    scan_descendants(root).0
}

/// Like [`descendants`], with a flag that is true if every listed process could still be read.
pub(crate) fn scan_descendants(root: i32) -> (Vec<ProcessSnapshot>, bool) {
    let mut found = Vec::new();
    let Some(first) = child_pids(root) else {
        return (descendants_by_parents(root), true);
    };
    let mut known: HashSet<i32> = first.iter().copied().collect();
    let mut pids = first;
    let mut next = 0;
    let mut whole = true;
    while next < pids.len() {
        match ProcessSnapshot::read_process(pids[next]) {
            Some(process) => {
                found.push(process);
                // Zombies have no children, and there may be very many of them.
                if !process.has_ended() {
                    let below = child_pids(process.pid).unwrap_or_default();
                    pids.extend(below.into_iter().filter(|&child| known.insert(child)));
                }
            }
            None => whole = false,
        }
        next += 1;
    }
    (found, whole)
}

/// Returns the children of a process from the kernel's own list per thread; not every kernel has
/// it.
pub(crate) fn child_pids(pid: i32) -> Option<Vec<i32>> {
    let mut pids = Vec::new();
    let mut text = String::new();
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let path = thread.ok()?.path().join("children");
        text.clear();
        match File::open(path) {
            Ok(mut file) => file.read_to_string(&mut text).ok()?,
            // A thread that has ended since.
            Err(_) if !pids.is_empty() => continue,
            Err(_) => return None,
        };
        pids.extend(
            text.split_ascii_whitespace()
                .filter_map(|word| word.parse::<i32>().ok()),
        );
    }
    Some(pids)
}

/// Returns all descendants, found through the parents of all processes.
fn descendants_by_parents(root: i32) -> Vec<ProcessSnapshot> {
    let all = read_all();
    let mut found: Vec<ProcessSnapshot> = Vec::new();
    let mut parents = vec![root];
    while !parents.is_empty() {
        let below: Vec<ProcessSnapshot> = all
            .iter()
            .filter(|one| parents.contains(&one.parent))
            .copied()
            .collect();
        parents = below.iter().map(|one| one.pid).collect();
        found.extend(below);
    }
    found
}

/// Relation of one process to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessRelation {
    /// It is a descendant.
    Below,
    /// It is not a descendant.
    Elsewhere,
    /// It is gone, its ancestors come and go, or there are too many of them.
    Unknown,
}

/// Tests if a process descends from another. An ancestor that ends meanwhile has its children
/// reparented, so the walk begins again, a limited number of times.
pub(crate) fn process_relation(pid: i32, root: i32) -> ProcessRelation {
    for _ in 0..LOOKS_MAX {
        let mut current = pid;
        for _ in 0..ANCESTORS_MAX {
            match ProcessSnapshot::read_process(current) {
                Some(process) if process.parent == root => return ProcessRelation::Below,
                Some(process) if process.parent > 1 => current = process.parent,
                Some(_) => return ProcessRelation::Elsewhere,
                None if current == pid => return ProcessRelation::Unknown,
                None => break,
            }
        }
    }
    ProcessRelation::Unknown
}

/// Returns the environment a process was started with, if this user may read it.
pub(crate) fn read_environment(pid: i32) -> Option<Vec<u8>> {
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(ENVIRONMENT_BYTES_MAX)
        .read_to_end(&mut environment)
        .ok()?;
    Some(environment)
}

/// True if an environment holds the entry `NAME=VALUE`.
pub(crate) fn contains_entry(environment: &[u8], entry: &[u8]) -> bool {
    environment.split(|&byte| byte == 0).any(|one| one == entry)
}

/// True if a process was started with `NAME=VALUE` in its environment.
pub(crate) fn was_started_with(pid: i32, entry: &[u8]) -> bool {
    read_environment(pid).is_some_and(|environment| contains_entry(&environment, entry))
}

/// Returns the boot id, which changes with every boot and so never during this process.
pub(crate) fn boot_id() -> String {
    static ID: OnceLock<String> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    ID.get_or_init(|| read().trim().to_owned()).clone()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]
    use super::*;

    const STAT: &str = "77 (a) S 9 (b) T 12 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 4711 99 1";

    #[test]
    fn a_process_may_call_itself_anything() {
        let process = ProcessSnapshot::parse(STAT.as_bytes()).unwrap();
        let wanted = ProcessSnapshot {
            pid: 77,
            parent: 12,
            session: 77,
            state: b'T',
            threads: 9,
            start: 4711,
        };
        assert_eq!(process, wanted);
        assert_eq!(ProcessSnapshot::parse(b"77 (sh"), None);
        assert_eq!(ProcessSnapshot::parse(b""), None);
    }

    #[test]
    fn a_zombie_with_living_threads_is_not_dead() {
        let mut process = ProcessSnapshot::parse(STAT.as_bytes()).unwrap();
        process.state = b'Z';
        assert!(!process.has_ended());
        process.threads = 1;
        assert!(process.has_ended());
    }

    #[test]
    fn we_are_found_among_all_and_below_our_parent() {
        let us = ProcessSnapshot::read_process(std::process::id().cast_signed()).unwrap();
        assert!(us.start > 0 && us.threads >= 1 && !us.has_ended() && !us.is_stopped());
        assert!(read_all().iter().any(|one| one.pid == us.pid));
        assert_eq!(process_relation(us.pid, us.parent), ProcessRelation::Below);
        assert_eq!(
            process_relation(us.parent, us.pid),
            ProcessRelation::Elsewhere
        );
        let below = |list: Vec<ProcessSnapshot>| list.iter().any(|one| one.pid == us.pid);
        assert!(below(descendants(us.parent)));
        assert!(below(descendants_by_parents(us.parent)));
    }

    #[test]
    fn a_process_with_a_reused_id_is_not_signalled() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let process = ProcessSnapshot::read_process(child.id().cast_signed()).unwrap();
        let later = ProcessSnapshot {
            start: process.start + 1,
            ..process
        };
        assert!(!later.send_signal(Signal::KILL));
        assert!(process.send_signal(Signal::KILL));
        child.wait().unwrap();
        assert!(!process.send_signal(Signal::KILL));
        // A process that is gone has no known ancestors.
        assert_eq!(process_relation(process.pid, 1), ProcessRelation::Unknown);
    }
}
