//! The answer to "what now?".

use super::{Id, Run, Status};

/// What can be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// These may be started, as many as there are free places.
    Ready(Vec<Id>),
    /// Nothing until a task in progress ends.
    Wait,
    /// All tasks of this phase are completed; it waits to be finished.
    PhaseDone(u32),
    /// Every phase is finished.
    AllDone,
    /// Nothing will happen without somebody: the failed tasks, then those blocked by them.
    Stalled(Vec<Id>),
}

/// What can be done now. Looks only at ready tasks, except in a run that stalled.
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
