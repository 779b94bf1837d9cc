//! The next tasks of a run.

use super::{Id, Run, Status};

/// The work that a run can do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// These tasks may be started; never more than there are free places.
    Ready(Vec<Id>),
    /// Tasks are in progress, and no other can start before one ends.
    Wait,
    /// All tasks of this phase are completed; it waits to be finished.
    PhaseDone(u32),
    /// Every phase is finished.
    AllDone,
    /// No task can run until a person acts. Holds the failed tasks, then those blocked by them.
    Stalled(Vec<Id>),
}

/// Returns the work that can be done now. Looks only at ready tasks, except in a stalled run.
pub fn next(run: &Run) -> Next {
    let Some(phase) = run.open_phase() else {
        return Next::AllDone;
    };
    if phase.complete() {
        return Next::PhaseDone(phase.number);
    }
    let places = run.free_places().unwrap_or(usize::MAX);
    let free = run.ready.iter().take(places);
    let ids: Vec<Id> = free.map(|&node| run.graph.id(node).clone()).collect();
    if !ids.is_empty() {
        return Next::Ready(ids);
    }
    if !run.running.is_empty() {
        return Next::Wait;
    }
    let mut stuck = run.ids(Status::Failed);
    stuck.extend(run.ids(Status::Blocked));
    Next::Stalled(stuck)
}
