//! Brings all descendants to the wanted state, and verifies it by scans instead of trusting
//! signals.

use crate::cgroup::Cgroup;
use crate::process::{ProcessSnapshot, child_pids, descendants, scan_descendants};
use crate::protocol::{ObservedState, WantedState};
use crate::spec::ShimBounds;
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
struct SignalledProcess {
    /// Its pid and start time.
    process: (i32, u64),
    at: Instant,
    /// Time at which SIGSTOP was sent.
    held: Option<Instant>,
}

/// The wanted state, and the progress of the processes towards it.
#[derive(Debug)]
pub(super) struct ProcessControl {
    pub(super) want: WantedState,
    pub(super) generation: u64,
    /// The agent itself has ended: whatever is wanted, the rest ends too.
    pub(super) agent_gone: bool,
    since: Instant,
    settled: bool,
    pause_ms: u64,
    /// Time of the next scan, if any.
    pub(super) next: Option<Instant>,
    seen: Vec<SignalledProcess>,
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

impl ProcessControl {
    pub(super) fn new(now: Instant) -> ProcessControl {
        ProcessControl {
            want: WantedState::Running,
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
    pub(super) fn goal(&self) -> WantedState {
        if self.agent_gone {
            WantedState::Ended
        } else {
            self.want
        }
    }

    pub(super) fn state(&self) -> ObservedState {
        match (self.goal(), self.settled) {
            (WantedState::Running, true) => ObservedState::Running,
            (WantedState::Running, false) => ObservedState::Resuming,
            (WantedState::Paused, true) => ObservedState::Paused,
            (WantedState::Paused, false) => ObservedState::Pausing,
            (WantedState::Ended, _) => ObservedState::Ending,
        }
    }

    /// True if no process is left, or none that can be ended.
    pub(super) fn is_finished(&self) -> bool {
        self.goal() == WantedState::Ended && self.settled
    }

    /// True if the grace period for ending is over.
    pub(super) fn grace_is_over(&self, grace_ms: u64, now: Instant) -> bool {
        self.goal() == WantedState::Ended && has_elapsed(self.since, grace_ms, now)
    }

    /// Sets a new goal to work towards from now on.
    pub(super) fn set_goal(&mut self, want: WantedState, now: Instant) {
        let before = self.goal();
        self.want = want;
        self.note_goal_change(before, now);
    }

    /// Records that the agent itself has ended.
    pub(super) fn agent_ended(&mut self, now: Instant) {
        let before = self.goal();
        self.agent_gone = true;
        self.note_goal_change(before, now);
    }

    fn note_goal_change(&mut self, before: WantedState, now: Instant) {
        if before != self.goal() {
            // While a resume is under way, stopped processes may have been stopped by us.
            self.first_look = self.goal() == WantedState::Paused && self.settled;
            self.since = now;
            self.settled = false;
            self.seen.clear();
        }
        self.schedule_scan(now);
    }

    /// Schedules a scan because something may have changed.
    pub(super) fn schedule_scan(&mut self, now: Instant) {
        if !self.settled || self.goal() == WantedState::Paused {
            self.pause_ms = LOOK_MS_MIN;
            self.next = Some(now);
        }
    }

    /// Scans everything below `root`, which is this process, and acts on it. `childless` says that
    /// the kernel knows of no child of it.
    pub(super) fn scan_and_act(
        &mut self,
        now: Instant,
        root: i32,
        childless: bool,
        cgroup: Option<&Cgroup>,
        bounds: &ShimBounds,
    ) {
        let (all, whole) = scan_descendants(root);
        let mut living = all.clone();
        living.retain(|process| !process.has_ended());
        if self.seen.len() > SEEN_MAX {
            let there =
                |seen: &SignalledProcess| living.iter().any(|one| one.unique_id() == seen.process);
            self.seen.retain(there);
        }
        let goal = self.goal();
        self.settled = match goal {
            WantedState::Running => self.continue_processes(now, &living, cgroup),
            WantedState::Paused => {
                self.stop_processes(now, &living, cgroup) && whole && is_steady(root, &all)
            }
            WantedState::Ended => self.end_processes(now, &living, root, childless, cgroup, bounds),
        };
        let pause = match (goal, self.settled) {
            (WantedState::Paused, true) => Some(PAUSED_LOOK_MS),
            (WantedState::Running | WantedState::Ended, true) => None,
            (_, false) => Some(self.pause_ms),
        };
        self.pause_ms = (self.pause_ms * 2).min(LOOK_MS_MAX);
        self.next = pause.map(|ms| now + Duration::from_millis(ms));
    }

    /// True if a process has been signalled on the way to the present goal.
    fn was_signalled(&self, process: &ProcessSnapshot) -> bool {
        self.seen
            .iter()
            .any(|seen| seen.process == process.unique_id())
    }

    fn record_signal(&mut self, process: &ProcessSnapshot, now: Instant, held: Option<Instant>) {
        self.seen.push(SignalledProcess {
            process: process.unique_id(),
            at: now,
            held,
        });
    }

    fn continue_processes(
        &mut self,
        now: Instant,
        living: &[ProcessSnapshot],
        cgroup: Option<&Cgroup>,
    ) -> bool {
        if let Some(cgroup) = cgroup {
            cgroup.set_frozen(false);
        }
        // Every process once, stopped or not: a process may not have acted on a stop signal yet,
        // and SIGCONT takes that back.
        let mut clean = true;
        for process in living {
            if self.stopped_before.contains(&process.unique_id()) {
                continue;
            }
            let known = self.was_signalled(process);
            if known && !process.is_stopped() {
                continue;
            }
            clean = false;
            process.send_signal(Signal::CONT);
            if !known {
                self.record_signal(process, now, None);
            }
        }
        clean || has_elapsed(self.since, RESUME_MS, now)
    }

    fn stop_processes(
        &mut self,
        now: Instant,
        living: &[ProcessSnapshot],
        cgroup: Option<&Cgroup>,
    ) -> bool {
        if std::mem::take(&mut self.first_look) {
            let stopped = living
                .iter()
                .filter(|one| one.is_stopped() && Some(one.pid) != self.agent);
            self.stopped_before = stopped.map(ProcessSnapshot::unique_id).collect();
        }
        // Processes that have left the group, which the same user can do, are stopped one by one.
        let (mut still, frozen) = match cgroup.filter(|cgroup| cgroup.set_frozen(true)) {
            Some(cgroup) => (cgroup.is_frozen(), cgroup.member_pids()),
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
            .filter(|one| !one.is_stopped() && !frozen.contains(&one.pid))
        {
            let known = self
                .seen
                .iter_mut()
                .find(|seen| seen.process == process.unique_id());
            match known {
                None => {
                    let signal = if forced { Signal::STOP } else { Signal::TSTP };
                    process.send_signal(signal);
                    self.record_signal(process, now, forced.then_some(now));
                    still = false;
                }
                Some(seen) => match seen.held {
                    None if has_elapsed(seen.at, TSTP_MS, now) => {
                        process.send_signal(Signal::STOP);
                        seen.held = Some(now);
                        still = false;
                    }
                    None => still = false,
                    Some(at) => {
                        // The parent of a `vfork` sleeps until its child, which may be stopped,
                        // goes on; the first thread of a process may have ended while others live.
                        // Neither can show that it is stopped.
                        let cannot_show = matches!(process.state, b'D' | b'Z');
                        if !(cannot_show && has_elapsed(at, HELD_MS, now)) {
                            process.send_signal(Signal::STOP);
                            still = false;
                        }
                    }
                },
            }
        }
        still
    }

    fn end_processes(
        &mut self,
        now: Instant,
        living: &[ProcessSnapshot],
        root: i32,
        childless: bool,
        cgroup: Option<&Cgroup>,
        bounds: &ShimBounds,
    ) -> bool {
        // An empty scan proves nothing while processes fork and exit.
        if childless {
            match cgroup.filter(|cgroup| cgroup.is_populated()) {
                None => return true,
                // Not our descendants, but in the agent's group.
                Some(cgroup) => cgroup.kill_members(),
            }
        }
        if let Some(cgroup) = cgroup {
            cgroup.set_frozen(false);
        }
        if !self.grace_is_over(bounds.grace_ms, now) {
            let early = !has_elapsed(self.since, NEWCOMERS_MS, now);
            for process in living {
                let known = self.was_signalled(process);
                if !known && (early || self.agent_gone) {
                    process.send_signal(Signal::TERM);
                    self.record_signal(process, now, None);
                }
                // A stopped process takes its SIGTERM when it is continued. Every process once, for
                // a stop may be on its way.
                if !known || process.is_stopped() {
                    process.send_signal(Signal::CONT);
                }
            }
            return false;
        }
        if let Some(cgroup) = cgroup {
            cgroup.kill_members();
        }
        kill_all(root);
        if has_elapsed(self.since, bounds.grace_ms + KILLED_MS, now) {
            self.left = remaining_pids(root, cgroup);
            return true;
        }
        false
    }

    /// Kills our children without reading them first, as some exit faster: a pid is not reused
    /// until we reap it.
    pub(super) fn kill_children(&self, root: i32) {
        self.signal_group(Signal::KILL);
        for pid in child_pids(root).unwrap_or_default() {
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
    for process in living_descendants(root) {
        process.send_signal(Signal::KILL);
    }
}

/// Returns the processes that are still alive.
fn remaining_pids(root: i32, cgroup: Option<&Cgroup>) -> Vec<i32> {
    let mut left: Vec<i32> = (0..LEFT_LOOKS)
        .map(|_| living_descendants(root))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
        .iter()
        .map(|process| process.pid)
        .collect();
    left.extend(cgroup.map(Cgroup::member_pids).unwrap_or_default());
    left.sort_unstable();
    left.dedup();
    left
}

/// True if another scan finds the same processes, zombies included: otherwise some process forks
/// unseen.
fn is_steady(root: i32, before: &[ProcessSnapshot]) -> bool {
    let (now, whole) = scan_descendants(root);
    let same = now
        .iter()
        .map(ProcessSnapshot::unique_id)
        .eq(before.iter().map(ProcessSnapshot::unique_id));
    whole && same
}

fn living_descendants(root: i32) -> Vec<ProcessSnapshot> {
    let mut processes = descendants(root);
    processes.retain(|process| !process.has_ended());
    processes
}

fn has_elapsed(since: Instant, ms: u64, now: Instant) -> bool {
    now.saturating_duration_since(since) >= Duration::from_millis(ms)
}
