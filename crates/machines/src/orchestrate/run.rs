//! The state of a run, and the one function that changes the status of a task.

use super::{LandingOutcome, NodeId, NodeStatus, OrchestrationLimits, TaskGraph};
use crate::kernel::Timestamp;
use imbl::{OrdSet, Vector};
use std::ops::Bound;
use std::sync::Arc;

/// One task of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNode {
    /// Current status of the task.
    pub status: NodeStatus,
    /// Number of runs that failed since it was first started or retried.
    pub attempts: u32,
    /// Start of the run in progress.
    pub started_at: Option<Timestamp>,
    /// Error of the latest failed run; removed when the task is completed or retried.
    pub error: Option<Arc<str>>,
    /// Number of dependencies that are not completed.
    pub(super) open_needs: u32,
    /// Number of dependencies that failed or are blocked.
    pub(super) obstructions: u32,
}

/// One phase of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseState {
    /// Number of the phase.
    pub number: u32,
    /// Number of its tasks.
    pub total: usize,
    /// Number of its completed tasks.
    pub completed: usize,
    /// Start of its first task.
    pub started_at: Option<Timestamp>,
    /// Time at which the phase landed.
    pub completed_at: Option<Timestamp>,
    /// The outcome of its landing, absent until it is tried.
    pub landing: Option<LandingOutcome>,
}

impl PhaseState {
    /// True if all its tasks are completed.
    pub fn is_complete(&self) -> bool {
        self.completed == self.total
    }

    /// True if it is complete and landed, so that the next one may begin.
    pub fn is_finished(&self) -> bool {
        self.is_complete()
            && self
                .landing
                .as_ref()
                .is_some_and(LandingOutcome::has_landed)
    }
}

/// Total time of completed tasks, as sum and count, so that the average needs no list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskTime {
    /// Sum over the last runs of the counted tasks.
    pub seconds: i64,
    /// Number of counted tasks. One that was ticked or forced has no time to count.
    pub tasks: u32,
}

/// Figures of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunMetrics {
    /// Number of all tasks.
    pub total_tasks: usize,
    /// Number of completed tasks.
    pub completed_count: usize,
    /// Number of tasks failed for good.
    pub failed_count: usize,
    /// Mean time of a task, rounded to whole seconds; 0 while none was timed.
    pub average_task_time_seconds: i64,
}

/// The state of a whole run. Cloning it is cheap whatever its size.
#[derive(Debug, Clone, PartialEq)]
pub struct OrchestrationState {
    pub(super) graph: Arc<TaskGraph>,
    pub(super) config: OrchestrationLimits,
    pub(super) nodes: Vector<TaskNode>,
    // The next fields derive from `nodes`; they are kept so that no command looks at all tasks.
    pub(super) ready: OrdSet<u32>,
    pub(super) running: OrdSet<u32>,
    pub(super) failed: OrdSet<u32>,
    pub(super) counts: [usize; 6],
    /// One for every section of every phase of the graph.
    pub(super) sections: Vector<SectionCounts>,
    /// One for every phase of the graph.
    pub(super) phases: Vector<PhaseState>,
    /// Index of the first phase that is not finished; the number of phases when all are.
    pub(super) current: usize,
    pub(super) worktree: Option<Arc<str>>,
    pub(super) started_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) time: TaskTime,
}

/// Counts of one section's tasks that hold up the later sections of its phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SectionCounts {
    /// Number of tasks that are not completed.
    pub(super) open: u32,
    /// Number of tasks that failed or are blocked.
    pub(super) obstructing: u32,
}

/// Tasks whose status changed because another task's did.
#[derive(Debug, Default)]
pub(super) struct StatusChanges {
    pub(super) ready: Vec<u32>,
    pub(super) blocked: Vec<u32>,
}

impl OrchestrationState {
    /// Returns the graph of the run.
    pub fn graph(&self) -> &Arc<TaskGraph> {
        &self.graph
    }

    /// Returns the limits in force.
    pub fn run_limits(&self) -> OrchestrationLimits {
        self.config
    }

    /// Returns the same run under other limits.
    #[must_use]
    pub fn with_limits(&self, config: OrchestrationLimits) -> OrchestrationState {
        OrchestrationState {
            config,
            ..self.clone()
        }
    }

    /// Returns the path of the current phase's worktree; `None` for the main checkout.
    pub fn worktree_path(&self) -> Option<&str> {
        self.worktree.as_deref()
    }

    /// Returns the start of the run.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// Returns the time of the latest change.
    pub fn updated_at(&self) -> Timestamp {
        self.updated_at
    }

    /// Returns the total time of the completed tasks.
    pub fn task_time(&self) -> TaskTime {
        self.time
    }

    /// Returns the task with that id.
    pub fn find_node(&self, id: &str) -> Option<&TaskNode> {
        self.graph
            .index_of(id)
            .and_then(|node| self.nodes.get(node as usize))
    }

    /// Returns all tasks, in the order of the task file.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeId, &TaskNode)> {
        self.graph.ids().iter().zip(self.nodes.iter())
    }

    /// Returns the tasks with that status, in the order of the task file.
    pub fn ids_with_status(&self, status: NodeStatus) -> Vec<NodeId> {
        let with = self.nodes().filter(|(_, node)| node.status == status);
        with.map(|(id, _)| id.clone()).collect()
    }

    /// Returns the first ready task in the order of the task file, or the first one behind `id`,
    /// without looking at the others.
    pub fn ready_after(&self, id: Option<&NodeId>) -> Option<NodeId> {
        let from = match id {
            Some(id) => Bound::Excluded(self.graph.index_of(id)?),
            None => Bound::Unbounded,
        };
        let mut behind = self.ready.range((from, Bound::Unbounded));
        behind.next().map(|&node| self.graph.id_at(node).clone())
    }

    /// Returns the dependencies of a task that are not completed.
    pub fn open_needs(&self, id: &str) -> Vec<NodeId> {
        let Some(node) = self
            .graph
            .index_of(id)
            .filter(|&it| self.node_at(it).open_needs > 0)
        else {
            return Vec::new();
        };
        let mut needs = self.graph.needed_nodes(node).to_vec();
        needs.retain(|&need| self.node_at(need).status != NodeStatus::Completed);
        self.graph.ids_of(&needs)
    }

    /// Returns the tasks that a task waits for: dependencies, and tasks of earlier sections of its
    /// phase, that are not completed, in the order of the task file.
    pub fn waits_for(&self, id: &str) -> Vec<NodeId> {
        let open = |status| status != NodeStatus::Completed;
        let node = self.graph.index_of(id);
        node.map_or_else(Vec::new, |node| self.awaited_tasks(node, open))
    }

    /// Returns those of the awaited tasks, by dependencies and by sections, whose status is wanted.
    pub(super) fn awaited_tasks(
        &self,
        node: u32,
        wanted: impl Fn(NodeStatus) -> bool,
    ) -> Vec<NodeId> {
        let mut awaited = self.graph.needed_nodes(node).to_vec();
        awaited.extend(self.graph.earlier_section_tasks(node));
        awaited.retain(|&it| wanted(self.node_at(it).status));
        awaited.sort_unstable();
        awaited.dedup();
        self.graph.ids_of(&awaited)
    }

    /// True if a dependency of the task failed or is blocked.
    pub fn is_obstructed(&self, id: &str) -> bool {
        self.find_node(id).is_some_and(|node| node.obstructions > 0)
    }

    /// Returns the number of the phase that is complete and not finished, if there is one.
    pub fn phase_done(&self) -> Option<u32> {
        let phase = self.open_phase().filter(|phase| phase.is_complete());
        phase.map(|phase| phase.number)
    }

    /// Returns the number of tasks with that status.
    pub fn count_status(&self, status: NodeStatus) -> usize {
        self.counts[status.count_index()]
    }

    /// Returns all phases, in order.
    pub fn phases(&self) -> impl Iterator<Item = &PhaseState> {
        self.phases.iter()
    }

    /// Returns the phase with that number.
    pub fn find_phase(&self, number: u32) -> Option<&PhaseState> {
        let place = self.graph.phase_numbers().binary_search(&number).ok()?;
        self.phases.get(place)
    }

    /// Returns the number of the first phase that is not finished; of the last one when all are; 0
    /// for a run without tasks.
    pub fn current_phase(&self) -> u32 {
        let phases = self.graph.phase_numbers();
        let current = phases.get(self.current).or(phases.last());
        current.copied().unwrap_or(0)
    }

    /// True if every phase is finished.
    pub fn all_done(&self) -> bool {
        self.current == self.phases.len()
    }

    /// Returns the current phase; `None` when all are finished.
    pub(super) fn open_phase(&self) -> Option<&PhaseState> {
        self.phases.get(self.current)
    }

    /// True if no task is ready or in progress and the phase is not complete: a person has to act.
    pub fn is_stalled(&self) -> bool {
        self.ready.is_empty()
            && self.running.is_empty()
            && self.open_phase().is_some_and(|phase| !phase.is_complete())
    }

    /// Returns the number of tasks that may be started beside those in progress; `None` when there
    /// is no limit.
    pub fn free_places(&self) -> Option<usize> {
        match self.config.max_parallel {
            0 => None,
            max => Some((max as usize).saturating_sub(self.running.len())),
        }
    }

    /// Returns the figures of the run.
    pub fn metrics(&self) -> RunMetrics {
        let TaskTime { seconds, tasks } = self.time;
        let tasks = i64::from(tasks);
        RunMetrics {
            total_tasks: self.graph.len(),
            completed_count: self.count_status(NodeStatus::Completed),
            failed_count: self.count_status(NodeStatus::Failed),
            average_task_time_seconds: match tasks {
                0 => 0,
                tasks => seconds.saturating_add(tasks / 2) / tasks,
            },
        }
    }

    pub(super) fn node_at(&self, node: u32) -> &TaskNode {
        &self.nodes[node as usize]
    }

    pub(super) fn node_at_mut(&mut self, node: u32) -> &mut TaskNode {
        &mut self.nodes[node as usize]
    }

    /// Returns the status of a task that follows from the other tasks.
    pub(super) fn derived_status(&self, node: u32) -> NodeStatus {
        let state = self.node_at(node);
        let earlier = self.graph.earlier_sections(node);
        let earlier = || earlier.clone().map(|section| self.sections[section]);
        if state.obstructions > 0 || earlier().any(|section| section.obstructing > 0) {
            NodeStatus::Blocked
        } else if state.open_needs == 0
            && self.graph.phase_index(node) == self.current
            && earlier().all(|section| section.open == 0)
        {
            NodeStatus::Ready
        } else {
            NodeStatus::Pending
        }
    }

    /// Sets the status of a task and updates every task that depends on it. The work is in
    /// proportion to the dependencies of the tasks that change.
    pub(super) fn set_status(&mut self, node: u32, to: NodeStatus, changes: &mut StatusChanges) {
        let mut touched = Vec::new();
        self.set_one_status(node, to, &mut touched, changes);
        while let Some(node) = touched.pop() {
            if self.node_at(node).status.is_derived() {
                self.set_one_status(node, self.derived_status(node), &mut touched, changes);
            }
        }
    }

    fn set_one_status(
        &mut self,
        node: u32,
        to: NodeStatus,
        touched: &mut Vec<u32>,
        changes: &mut StatusChanges,
    ) {
        let from = self.write_status(node, to, changes);
        let met = i32::from(to == NodeStatus::Completed) - i32::from(from == NodeStatus::Completed);
        let obstructing =
            i32::from(to.obstructs_dependents()) - i32::from(from.obstructs_dependents());
        if met == 0 && obstructing == 0 {
            return;
        }
        let graph = Arc::clone(&self.graph);
        for &dependent in graph.dependent_nodes(node) {
            let state = self.node_at_mut(dependent);
            state.open_needs = state.open_needs.saturating_add_signed(-met);
            state.obstructions = state.obstructions.saturating_add_signed(obstructing);
            touched.push(dependent);
        }
        let section = &mut self.sections[graph.section_index(node)];
        let before = *section;
        section.open = section.open.saturating_add_signed(-met);
        section.obstructing = section.obstructing.saturating_add_signed(obstructing);
        let after = *section;
        if (before.open == 0) != (after.open == 0)
            || (before.obstructing == 0) != (after.obstructing == 0)
        {
            touched.extend(graph.later_section_tasks(node));
        }
    }

    /// Updates every task of the current phase whose status is derived.
    pub(super) fn enter_phase(&mut self, changes: &mut StatusChanges) {
        let graph = Arc::clone(&self.graph);
        if self.current < graph.phase_numbers().len() {
            for &node in graph.phase_members(self.current) {
                if self.node_at(node).status.is_derived() {
                    self.set_status(node, self.derived_status(node), changes);
                }
            }
        }
    }

    /// Sets the current phase to the first one that is not finished.
    pub(super) fn find_current(&mut self) {
        let open = self.phases.iter().position(|phase| !phase.is_finished());
        self.current = open.unwrap_or(self.phases.len());
    }

    /// Writes one status and the counts kept beside it; returns the status from before.
    fn write_status(
        &mut self,
        node: u32,
        to: NodeStatus,
        changes: &mut StatusChanges,
    ) -> NodeStatus {
        let place = self.graph.phase_index(node);
        let from = std::mem::replace(&mut self.node_at_mut(node).status, to);
        if from == to {
            return from;
        }
        self.counts[from.count_index()] -= 1;
        self.counts[to.count_index()] += 1;
        match from {
            NodeStatus::Ready => drop(self.ready.remove(&node)),
            NodeStatus::InProgress => drop(self.running.remove(&node)),
            NodeStatus::Failed => drop(self.failed.remove(&node)),
            NodeStatus::Completed => self.phases[place].completed -= 1,
            NodeStatus::Pending | NodeStatus::Blocked => {}
        }
        match to {
            NodeStatus::Ready => {
                self.ready.insert(node);
                changes.ready.push(node);
            }
            NodeStatus::InProgress => drop(self.running.insert(node)),
            NodeStatus::Failed => drop(self.failed.insert(node)),
            NodeStatus::Completed => self.phases[place].completed += 1,
            NodeStatus::Blocked => changes.blocked.push(node),
            NodeStatus::Pending => {}
        }
        from
    }
}
