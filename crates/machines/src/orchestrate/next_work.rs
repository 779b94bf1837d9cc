//! The next tasks of a run.

use super::{NodeId, NodeStatus, OrchestrationState};

/// The work that a run can do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextWork {
    /// These tasks may be started; never more than there are free places.
    Ready(Vec<NodeId>),
    /// Tasks are in progress, and no other can start before one ends.
    Wait,
    /// All tasks of this phase are completed; it waits to be finished.
    PhaseDone(u32),
    /// Every phase is finished.
    AllDone,
    /// No task can run until a person acts. Holds the failed tasks, then those blocked by them.
    Stalled(Vec<NodeId>),
}

/// Returns the work that can be done now. Looks only at ready tasks, except in a stalled run.
pub fn next_work(run: &OrchestrationState) -> NextWork {
    let Some(phase) = run.open_phase() else {
        return NextWork::AllDone;
    };
    if phase.is_complete() {
        return NextWork::PhaseDone(phase.number);
    }
    let places = run.free_places().unwrap_or(usize::MAX);
    let free = run.ready.iter().take(places);
    let ids: Vec<NodeId> = free.map(|&node| run.graph.id_at(node).clone()).collect();
    if !ids.is_empty() {
        return NextWork::Ready(ids);
    }
    if !run.running.is_empty() {
        return NextWork::Wait;
    }
    let mut stuck = run.ids_with_status(NodeStatus::Failed);
    stuck.extend(run.ids_with_status(NodeStatus::Blocked));
    NextWork::Stalled(stuck)
}
