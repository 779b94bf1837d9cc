//! Brings all descendants to the wanted state, and verifies it by scans instead of trusting
//! signals.

use crate::cgroup::Cgroup;
use crate::process::{Process, children, descendants, look_below};
use crate::protocol::{State, Want};
use crate::spec::Bounds;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use std::time::{Duration, Instant};

/// Time a process may take to stop by itself on SIGTSTP before it is sent SIGSTOP.
const TSTP_MS: u64 = 100;
/// Time after which a process that cannot show it is stopped counts as held: one in an
/// uninterruptible system call stops when it returns.
const HELD_MS: u64 = 500;
/// Time for which stopped processes are continued again. Some stop themselves on purpose.
const RESUME_MS: u64 = 1_000;
/// Processes that appear later than this after SIGTERM may be the agent's own cleanup, and get the
/// whole grace period.
const NEWCOMERS_MS: u64 = 200;
/// Time killed processes may take to disappear before they are given up.
const KILLED_MS: u64 = 10_000;
/// Scans for remaining processes: one scan may miss processes that fork and exit.
const LEFT_LOOKS: usize = 20;
/// Signalled processes that are remembered before those that are gone are removed.
const SEEN_MAX: usize = 1024;
/// Pause between scans, growing from the first to the second.
const LOOK_MS_MIN: u64 = 4;
const LOOK_MS_MAX: u64 = 50;
/// Pause between scans of a paused agent: another process may have continued it.
const PAUSED_LOOK_MS: u64 = 2_000;

/// A process that has been signalled on the way to the present goal.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Its pid and start time.
    process: (i32, u64),
    at: Instant,
    /// Time at which SIGSTOP was sent.
    held: Option<Instant>,
}

/// The wanted state, and the progress of the processes towards it.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) want: Want,
    pub(super) generation: u64,
    /// The agent itself has ended: whatever is wanted, the rest ends too.
    pub(super) agent_gone: bool,
    since: Instant,
    settled: bool,
    pause_ms: u64,
    /// Time of the next scan, if any.
    pub(super) next: Option<Instant>,
    seen: Vec<Seen>,
    /// Processes, by pid and start, that were stopped before the pause by another process: by the
    /// agent, as a rule.
    stopped_before: Vec<(i32, u64)>,
    /// The goal became a pause of something that was running, and no scan has been made since.
    first_look: bool,
    /// The agent itself is always continued: otherwise a resume would do nothing.
    pub(super) agent: Option<i32>,
    /// Processes that could not be ended.
    pub(super) left: Vec<i32>,
}

impl Control {
    pub(super) fn new(now: Instant) -> Control {
        Control {
            want: Want::Running,
            generation: 0,
            agent_gone: false,
            since: now,
            settled: true,
            pause_ms: LOOK_MS_MIN,
            next: None,
            seen: Vec::new(),
            stopped_before: Vec::new(),
            first_look: false,
            agent: None,
            left: Vec::new(),
        }
    }

    /// Returns the state to work towards.
    pub(super) fn goal(&self) -> Want {
        if self.agent_gone {
            Want::Ended
        } else {
            self.want
        }
    }

    pub(super) fn state(&self) -> State {
        match (self.goal(), self.settled) {
            (Want::Running, true) => State::Running,
            (Want::Running, false) => State::Resuming,
            (Want::Paused, true) => State::Paused,
            (Want::Paused, false) => State::Pausing,
            (Want::Ended, _) => State::Ending,
        }
    }

    /// True if no process is left, or none that can be ended.
    pub(super) fn ended(&self) -> bool {
        self.goal() == Want::Ended && self.settled
    }

    /// True if the grace period for ending is over.
    pub(super) fn kills(&self, grace_ms: u64, now: Instant) -> bool {
        self.goal() == Want::Ended && past(self.since, grace_ms, now)
    }

    /// Sets a new goal to work towards from now on.
    pub(super) fn turn(&mut self, want: Want, now: Instant) {
        let before = self.goal();
        self.want = want;
        self.begin(before, now);
    }

    /// Records that the agent itself has ended.
    pub(super) fn agent_ended(&mut self, now: Instant) {
        let before = self.goal();
        self.agent_gone = true;
        self.begin(before, now);
    }

    fn begin(&mut self, before: Want, now: Instant) {
        if before != self.goal() {
            // While a resume is under way, stopped processes may have been stopped by us.
            self.first_look = self.goal() == Want::Paused && self.settled;
            self.since = now;
            self.settled = false;
            self.seen.clear();
        }
        self.look_again(now);
    }

    /// Schedules a scan because something may have changed.
    pub(super) fn look_again(&mut self, now: Instant) {
        if !self.settled || self.goal() == Want::Paused {
            self.pause_ms = LOOK_MS_MIN;
            self.next = Some(now);
        }
    }

    /// Scans everything below `root`, which is this process, and acts on it. `childless` says that
    /// the kernel knows of no child of it.
    pub(super) fn step(
        &mut self,
        now: Instant,
        root: i32,
        childless: bool,
        cgroup: Option<&Cgroup>,
        bounds: &Bounds,
    ) {
        let (all, whole) = look_below(root);
        let mut living = all.clone();
        living.retain(|process| !process.dead());
        if self.seen.len() > SEEN_MAX {
            let there = |seen: &Seen| living.iter().any(|one| one.name() == seen.process);
            self.seen.retain(there);
        }
        let goal = self.goal();
        self.settled = match goal {
            Want::Running => self.resume(now, &living, cgroup),
            Want::Paused => self.pause(now, &living, cgroup) && whole && steady(root, &all),
            Want::Ended => self.end(now, &living, root, childless, cgroup, bounds),
        };
        let pause = match (goal, self.settled) {
            (Want::Paused, true) => Some(PAUSED_LOOK_MS),
            (Want::Running | Want::Ended, true) => None,
            (_, false) => Some(self.pause_ms),
        };
        self.pause_ms = (self.pause_ms * 2).min(LOOK_MS_MAX);
        self.next = pause.map(|ms| now + Duration::from_millis(ms));
    }

    /// True if a process has been signalled on the way to the present goal.
    fn knows(&self, process: &Process) -> bool {
        self.seen.iter().any(|seen| seen.process == process.name())
    }

    fn note(&mut self, process: &Process, now: Instant, held: Option<Instant>) {
        self.seen.push(Seen {
            process: process.name(),
            at: now,
            held,
        });
    }

    fn resume(&mut self, now: Instant, living: &[Process], cgroup: Option<&Cgroup>) -> bool {
        if let Some(cgroup) = cgroup {
            cgroup.freeze(false);
        }
        // Every process once, stopped or not: a process may not have acted on a stop signal yet,
        // and SIGCONT takes that back.
        let mut clean = true;
        for process in living {
            if self.stopped_before.contains(&process.name()) {
                continue;
            }
            let known = self.knows(process);
            if known && !process.stopped() {
                continue;
            }
            clean = false;
            process.signal(Signal::CONT);
            if !known {
                self.note(process, now, None);
            }
        }
        clean || past(self.since, RESUME_MS, now)
    }

    fn pause(&mut self, now: Instant, living: &[Process], cgroup: Option<&Cgroup>) -> bool {
        if std::mem::take(&mut self.first_look) {
            let stopped = living
                .iter()
                .filter(|one| one.stopped() && Some(one.pid) != self.agent);
            self.stopped_before = stopped.map(Process::name).collect();
        }
        // Processes that have left the group, which the same user can do, are stopped one by one.
        let (mut still, frozen) = match cgroup.filter(|cgroup| cgroup.freeze(true)) {
            Some(cgroup) => (cgroup.frozen(), cgroup.members()),
            None => (true, Vec::new()),
        };
        // After the first process had to be stopped by force, new ones get SIGSTOP at once: they
        // may be forking on.
        let forced = self.seen.iter().any(|seen| seen.held.is_some());
        if forced {
            self.signal_group(Signal::STOP);
        }
        for process in living
            .iter()
            .filter(|one| !one.stopped() && !frozen.contains(&one.pid))
        {
            let known = self
                .seen
                .iter_mut()
                .find(|seen| seen.process == process.name());
            match known {
                None => {
                    let signal = if forced { Signal::STOP } else { Signal::TSTP };
                    process.signal(signal);
                    self.note(process, now, forced.then_some(now));
                    still = false;
                }
                Some(seen) => match seen.held {
                    None if past(seen.at, TSTP_MS, now) => {
                        process.signal(Signal::STOP);
                        seen.held = Some(now);
                        still = false;
                    }
                    None => still = false,
                    Some(at) => {
                        // The parent of a `vfork` sleeps until its child, which may be stopped,
                        // goes on; the first thread of a process may have ended while others live.
                        // Neither can show that it is stopped.
                        let cannot_show = matches!(process.state, b'D' | b'Z');
                        if !(cannot_show && past(at, HELD_MS, now)) {
                            process.signal(Signal::STOP);
                            still = false;
                        }
                    }
                },
            }
        }
        still
    }

    fn end(
        &mut self,
        now: Instant,
        living: &[Process],
        root: i32,
        childless: bool,
        cgroup: Option<&Cgroup>,
        bounds: &Bounds,
    ) -> bool {
        // An empty scan proves nothing while processes fork and exit.
        if childless {
            match cgroup.filter(|cgroup| cgroup.populated()) {
                None => return true,
                // Not our descendants, but in the agent's group.
                Some(cgroup) => cgroup.kill(),
            }
        }
        if let Some(cgroup) = cgroup {
            cgroup.freeze(false);
        }
        if !self.kills(bounds.grace_ms, now) {
            let early = !past(self.since, NEWCOMERS_MS, now);
            for process in living {
                let known = self.knows(process);
                if !known && (early || self.agent_gone) {
                    process.signal(Signal::TERM);
                    self.note(process, now, None);
                }
                // A stopped process takes its SIGTERM when it is continued. Every process once, for
                // a stop may be on its way.
                if !known || process.stopped() {
                    process.signal(Signal::CONT);
                }
            }
            return false;
        }
        if let Some(cgroup) = cgroup {
            cgroup.kill();
        }
        kill_all(root);
        if past(self.since, bounds.grace_ms + KILLED_MS, now) {
            self.left = left(root, cgroup);
            return true;
        }
        false
    }

    /// Kills our children without reading them first, as some exit faster: a pid is not reused
    /// until we reap it.
    pub(super) fn kill_children(&self, root: i32) {
        self.signal_group(Signal::KILL);
        for pid in children(root).unwrap_or_default() {
            if let Some(pid) = Pid::from_raw(pid) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// Signals the agent's group as one, so that no member can fork meanwhile. The number is the
    /// group's as long as a child of ours, living or not yet reaped, is in it.
    fn signal_group(&self, signal: Signal) {
        let Some(group) = self.agent.and_then(Pid::from_raw) else {
            return;
        };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if waitid(WaitId::Pgid(Some(group)), look).is_ok() {
            let _ = kill_process_group(group, signal);
        }
    }
}

/// Kills all living descendants. What they have just started becomes ours, and is found in the next
/// round.
fn kill_all(root: i32) {
    for process in living(root) {
        process.signal(Signal::KILL);
    }
}

/// Returns the processes that are still alive.
fn left(root: i32, cgroup: Option<&Cgroup>) -> Vec<i32> {
    let mut left: Vec<i32> = (0..LEFT_LOOKS)
        .map(|_| living(root))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
        .iter()
        .map(|process| process.pid)
        .collect();
    left.extend(cgroup.map(Cgroup::members).unwrap_or_default());
    left.sort_unstable();
    left.dedup();
    left
}

/// True if another scan finds the same processes, zombies included: otherwise some process forks
/// unseen.
fn steady(root: i32, before: &[Process]) -> bool {
    let (now, whole) = look_below(root);
    let same = now
        .iter()
        .map(Process::name)
        .eq(before.iter().map(Process::name));
    whole && same
}

fn living(root: i32) -> Vec<Process> {
    let mut processes = descendants(root);
    processes.retain(|process| !process.dead());
    processes
}

fn past(since: Instant, ms: u64, now: Instant) -> bool {
    now.saturating_duration_since(since) >= Duration::from_millis(ms)
}
