//! What a lost attempt left behind: found by its mark, and killed.

use crate::ATTEMPT_VARIABLE;
use crate::attempt::{Attempt, Condition};
use crate::cgroup::Cgroup;
use crate::error::Error;
use crate::process::{Process, all, was_given};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// How long killed processes may take to go.
const GONE_MS_MAX: u64 = 10_000;
/// Between two looks.
const LOOK_MS: u64 = 10;
/// Looks in a row that find nobody. A process that becomes another program at this moment shows no environment for a while.
const QUIET_LOOKS: u32 = 5;

/// What a sweep found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Processes killed.
    pub killed: Vec<i32>,
    /// Processes that would not go.
    pub left: Vec<i32>,
}

/// Kills what a lost attempt left behind. Does nothing to an attempt that is not lost.
///
/// Processes are known by `BOWLINE_ATTEMPT` in the environment they were started with, and by the control group where the
/// attempt had one. A process that was started with an emptied environment, outside of a control group, is not found.
pub fn sweep(attempt: &Attempt) -> Result<Swept, Error> {
    if attempt.condition()? != Condition::Lost {
        return Ok(Swept::default());
    }
    let mut swept = Swept::default();
    let cgroup = attempt
        .owner()?
        .and_then(|owner| owner.cgroup)
        .and_then(|path| Cgroup::open(&path, attempt.id()));
    let end = Instant::now() + Duration::from_millis(GONE_MS_MAX);
    let mark = format!("{ATTEMPT_VARIABLE}={}", attempt.id());
    let mut quiet = 0;
    loop {
        let members = cgroup.as_ref().map(Cgroup::members).unwrap_or_default();
        if let Some(cgroup) = &cgroup {
            cgroup.kill();
        }
        for pid in &members {
            if !swept.killed.contains(pid) {
                swept.killed.push(*pid);
            }
        }
        // Stopped first: what is stopped cannot fork, so the second look finds everything.
        let found = marked(&mark);
        for process in &found {
            process.signal(Signal::STOP);
        }
        let found = if found.is_empty() {
            found
        } else {
            marked(&mark)
        };
        for process in &found {
            if process.signal(Signal::KILL) && !swept.killed.contains(&process.pid) {
                swept.killed.push(process.pid);
            }
        }
        quiet = if found.is_empty() && members.is_empty() {
            quiet + 1
        } else {
            0
        };
        if quiet == QUIET_LOOKS {
            break;
        }
        if Instant::now() >= end {
            swept.left = found.iter().map(|process| process.pid).collect();
            swept.left.extend(members);
            break;
        }
        std::thread::sleep(Duration::from_millis(LOOK_MS));
    }
    if let Some(cgroup) = cgroup.filter(|_| swept.left.is_empty()) {
        cgroup.remove();
    }
    Ok(swept)
}

fn marked(mark: &str) -> Vec<Process> {
    let living = all().into_iter().filter(|process| !process.dead());
    living
        .filter(|process| was_given(process.pid, mark.as_bytes()))
        .collect()
}
