//! Cleanup of a lost attempt: finds its remaining processes by their mark and kills them.

use crate::ATTEMPT_VARIABLE;
use crate::attempt::{Attempt, AttemptCondition};
use crate::cgroup::Cgroup;
use crate::error::SupervisorError;
use crate::process::{ProcessSnapshot, all_pids, boot_id, contains_entry, read_environment};
use rustix::process::Signal;
use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

/// Time killed processes may take to disappear.
const GONE_MS_MAX: u64 = 10_000;
/// Pause between two scans once nothing is found.
const LOOK_MS: u64 = 10;
/// Pause between two scans while there are processes to kill.
const CHASE_MS: u64 = 1;
/// Scans in a row that must find nothing. A process shows no environment for a moment while it
/// executes another program.
const QUIET_LOOKS: u32 = 5;

/// Result of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Processes that were killed.
    pub killed: Vec<i32>,
    /// Processes that did not end.
    pub left: Vec<i32>,
    /// True if at the timeout processes still came and went faster than they could be read: unknown
    /// processes of the attempt may be left.
    pub restless: bool,
}

/// Kills the remaining processes of a lost attempt. Does nothing to an attempt that is not lost.
///
/// Processes are found by `BOWLINE_ATTEMPT` in the environment they were started with, by the
/// session of the shim, and by the control group if the attempt had one. A process that was started
/// with an emptied environment and created its own session, outside of a control group, is not
/// found.
pub fn sweep_attempt(attempt: &Attempt) -> Result<SweepReport, SupervisorError> {
    if attempt.condition()? != AttemptCondition::Lost {
        return Ok(SweepReport::default());
    }
    let owner = attempt.read_owner()?;
    let here = owner.as_ref().filter(|owner| owner.boot == boot_id());
    let session = here.map(|owner| (owner.pid, owner.start));
    let cgroup = owner
        .and_then(|owner| owner.cgroup)
        .and_then(|path| Cgroup::open(&path, attempt.id()));
    let end = Instant::now() + Duration::from_millis(GONE_MS_MAX);
    let mut hunt = MarkScanner::new(attempt.id(), session);
    let mut killed = BTreeSet::new();
    let mut swept = SweepReport::default();
    let mut quiet = 0;
    loop {
        let members = cgroup.as_ref().map(Cgroup::member_pids).unwrap_or_default();
        if let Some(cgroup) = &cgroup {
            cgroup.kill_members();
        }
        killed.extend(&members);
        let found = hunt.scan_and_kill();
        killed.extend(&found);
        if found.is_empty() && members.is_empty() && !hunt.restless {
            quiet += 1;
        } else {
            quiet = 0;
        }
        if quiet == QUIET_LOOKS {
            break;
        }
        if Instant::now() >= end {
            swept.left = found;
            swept.left.extend(members);
            swept.restless = hunt.restless;
            break;
        }
        let pause = if quiet > 0 { LOOK_MS } else { CHASE_MS };
        std::thread::sleep(Duration::from_millis(pause));
    }
    swept.killed = killed.into_iter().collect();
    if let Some(cgroup) = cgroup.filter(|_| swept.left.is_empty()) {
        cgroup.remove();
    }
    Ok(swept)
}

/// Scans all processes for those that carry the mark of an attempt. Some processes fork and exit
/// faster than a full scan takes, so processes known to be unrelated are skipped while there are
/// others to kill.
struct MarkScanner {
    mark: String,
    /// Pid and start time of the shim as session leader. The kernel does not reuse the id of a
    /// session that still has members.
    session: Option<(i32, u64)>,
    /// Processes with an environment that lacks the mark.
    strangers: HashSet<i32>,
    /// All processes of the previous scan.
    before: HashSet<i32>,
    /// True if some processes came and went before they could be read.
    restless: bool,
}

impl MarkScanner {
    fn new(attempt: &str, session: Option<(i32, u64)>) -> MarkScanner {
        MarkScanner {
            session,
            mark: format!("{ATTEMPT_VARIABLE}={attempt}"),
            strangers: HashSet::new(),
            before: HashSet::new(),
            restless: false,
        }
    }

    /// Kills all processes that are found and returns their ids.
    fn scan_and_kill(&mut self) -> Vec<i32> {
        let there = all_pids();
        let before = std::mem::take(&mut self.before);
        let mut found = Vec::new();
        self.restless = false;
        self.strangers.retain(|pid| there.contains(pid));
        for &pid in there.iter().filter(|pid| !before.contains(pid)) {
            // New processes first: they may be gone soon.
            self.check_process(pid, !before.is_empty(), &mut found);
        }
        for &pid in there.iter().filter(|pid| before.contains(pid)) {
            if !self.strangers.contains(&pid) {
                self.check_process(pid, false, &mut found);
            }
        }
        self.before = there;
        if found.is_empty() && !self.restless {
            // An id may have been reused since: a scan only counts as quiet if it read every
            // process.
            self.strangers.clear();
        }
        found
    }

    fn check_process(&mut self, pid: i32, newcomer: bool, found: &mut Vec<i32>) {
        let Some(process) =
            ProcessSnapshot::read_process(pid).filter(|process| !process.has_ended())
        else {
            self.restless |= newcomer;
            return;
        };
        if self
            .session
            .is_some_and(|session| is_in_session(&process, session))
        {
            process.send_signal(Signal::KILL);
            found.push(pid);
            return;
        }
        match read_environment(pid) {
            Some(given) if contains_entry(&given, self.mark.as_bytes()) => {
                process.send_signal(Signal::KILL);
                found.push(pid);
            }
            // A process that executes another program at this moment shows none.
            Some(given) if !given.is_empty() => {
                self.strangers.insert(pid);
            }
            Some(_) | None => {}
        }
    }
}

/// True if the process is in the session that the shim created, and not in a later one with the
/// same number.
fn is_in_session(process: &ProcessSnapshot, (leader, start): (i32, u64)) -> bool {
    let later = |leader: ProcessSnapshot| leader.start != start;
    process.session == leader
        && process.start >= start
        && !ProcessSnapshot::read_process(leader).is_some_and(later)
}
