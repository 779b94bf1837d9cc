//! What a lost attempt left behind: found by its mark, and killed.

use crate::ATTEMPT_VARIABLE;
use crate::attempt::{Attempt, Condition};
use crate::cgroup::Cgroup;
use crate::error::Error;
use crate::process::{Process, boot_id, carries, environment, pids};
use rustix::process::Signal;
use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

/// How long killed processes may take to go.
const GONE_MS_MAX: u64 = 10_000;
/// Between two looks.
const LOOK_MS: u64 = 10;
/// The same while there is somebody to be killed.
const CHASE_MS: u64 = 1;
/// Looks in a row that find nobody. A process that becomes another program at this moment shows no environment for a while.
const QUIET_LOOKS: u32 = 5;

/// What a sweep found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Processes killed.
    pub killed: Vec<i32>,
    /// Processes that would not go.
    pub left: Vec<i32>,
    /// When time was up, processes still came and went faster than they could be looked at: some of the attempt may be left
    /// that nobody can name.
    pub restless: bool,
}

/// Kills what a lost attempt left behind. Does nothing to an attempt that is not lost.
///
/// Processes are known by `BOWLINE_ATTEMPT` in the environment they were started with, by the session of the shim, and by the
/// control group where the attempt had one. A process that was started with an emptied environment and founded a session of
/// its own, outside of a control group, is not found.
pub fn sweep(attempt: &Attempt) -> Result<Swept, Error> {
    if attempt.condition()? != Condition::Lost {
        return Ok(Swept::default());
    }
    let owner = attempt.owner()?;
    let here = owner.as_ref().filter(|owner| owner.boot == boot_id());
    let session = here.map(|owner| (owner.pid, owner.start));
    let cgroup = owner
        .and_then(|owner| owner.cgroup)
        .and_then(|path| Cgroup::open(&path, attempt.id()));
    let end = Instant::now() + Duration::from_millis(GONE_MS_MAX);
    let mut hunt = Hunt::new(attempt.id(), session);
    let mut killed = BTreeSet::new();
    let mut swept = Swept::default();
    let mut quiet = 0;
    loop {
        let members = cgroup.as_ref().map(Cgroup::members).unwrap_or_default();
        if let Some(cgroup) = &cgroup {
            cgroup.kill();
        }
        killed.extend(&members);
        let found = hunt.look();
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

/// Looks for processes that carry a mark. Some start others and leave faster than all processes can be looked at; whoever is
/// known to carry none is therefore passed over while there is somebody to chase.
struct Hunt {
    mark: String,
    /// The session that the shim founded: its number is not given again while anybody is in it.
    session: Option<(i32, u64)>,
    /// Processes that carry another environment.
    strangers: HashSet<i32>,
    /// All that were there at the last look.
    before: HashSet<i32>,
    /// Some came and went before they could be looked at: nobody knows whose they were.
    restless: bool,
}

impl Hunt {
    fn new(attempt: &str, session: Option<(i32, u64)>) -> Hunt {
        Hunt {
            session,
            mark: format!("{ATTEMPT_VARIABLE}={attempt}"),
            strangers: HashSet::new(),
            before: HashSet::new(),
            restless: false,
        }
    }

    /// Kills all that are found, and says who they were.
    fn look(&mut self) -> Vec<i32> {
        let there = pids();
        let before = std::mem::take(&mut self.before);
        let mut found = Vec::new();
        self.restless = false;
        self.strangers.retain(|pid| there.contains(pid));
        for &pid in there.iter().filter(|pid| !before.contains(pid)) {
            // Newcomers first: they may be gone soon.
            self.look_at(pid, !before.is_empty(), &mut found);
        }
        for &pid in there.iter().filter(|pid| before.contains(pid)) {
            if !self.strangers.contains(&pid) {
                self.look_at(pid, false, &mut found);
            }
        }
        self.before = there;
        if found.is_empty() && !self.restless {
            // An id may have been used again since: what counts as quiet is a look at everybody.
            self.strangers.clear();
        }
        found
    }

    fn look_at(&mut self, pid: i32, newcomer: bool, found: &mut Vec<i32>) {
        let Some(process) = Process::look(pid).filter(|process| !process.dead()) else {
            self.restless |= newcomer;
            return;
        };
        if self
            .session
            .is_some_and(|session| belongs(&process, session))
        {
            process.signal(Signal::KILL);
            found.push(pid);
            return;
        }
        match environment(pid) {
            Some(given) if carries(&given, self.mark.as_bytes()) => {
                process.signal(Signal::KILL);
                found.push(pid);
            }
            // A process that becomes another program at this moment shows none.
            Some(given) if !given.is_empty() => {
                self.strangers.insert(pid);
            }
            Some(_) | None => {}
        }
    }
}

/// Whether a process is in the session that a shim founded, and not in one of somebody who was given its number later.
fn belongs(process: &Process, (leader, start): (i32, u64)) -> bool {
    let later = |leader: Process| leader.start != start;
    process.session == leader && process.start >= start && !Process::look(leader).is_some_and(later)
}
