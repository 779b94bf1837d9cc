//! The state of a run, and the one function that changes the status of a task.

use super::{Config, Graph, Id, Landing, Status};
use crate::kernel::Timestamp;
use imbl::{OrdSet, Vector};
use std::ops::Bound;
use std::sync::Arc;

/// One task of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Current status of the task.
    pub status: Status,
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
pub struct Phase {
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
    pub landing: Option<Landing>,
}

impl Phase {
    /// True if all its tasks are completed.
    pub fn complete(&self) -> bool {
        self.completed == self.total
    }

    /// True if it is complete and landed, so that the next one may begin.
    pub fn finished(&self) -> bool {
        self.complete() && self.landing.as_ref().is_some_and(Landing::landed)
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
pub struct Metrics {
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
pub struct Run {
    pub(super) graph: Arc<Graph>,
    pub(super) config: Config,
    pub(super) nodes: Vector<Node>,
    // The next fields derive from `nodes`; they are kept so that no command looks at all tasks.
    pub(super) ready: OrdSet<u32>,
    pub(super) running: OrdSet<u32>,
    pub(super) failed: OrdSet<u32>,
    pub(super) counts: [usize; 6],
    /// One for every section of every phase of the graph.
    pub(super) sections: Vector<SectionCounts>,
    /// One for every phase of the graph.
    pub(super) phases: Vector<Phase>,
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
pub(super) struct Changes {
    pub(super) ready: Vec<u32>,
    pub(super) blocked: Vec<u32>,
}

impl Run {
    /// Returns the graph of the run.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Returns the limits in force.
    pub fn config(&self) -> Config {
        self.config
    }

    /// Returns the same run under other limits.
    #[must_use]
    pub fn with_config(&self, config: Config) -> Run {
        Run {
            config,
            ..self.clone()
        }
    }

    /// Returns the path of the current phase's worktree; `None` for the main checkout.
    pub fn worktree(&self) -> Option<&str> {
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
    pub fn time(&self) -> TaskTime {
        self.time
    }

    /// Returns the task with that id.
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.graph
            .find(id)
            .and_then(|node| self.nodes.get(node as usize))
    }

    /// Returns all tasks, in the order of the task file.
    pub fn nodes(&self) -> impl Iterator<Item = (&Id, &Node)> {
        self.graph.ids().iter().zip(self.nodes.iter())
    }

    /// Returns the tasks with that status, in the order of the task file.
    pub fn ids(&self, status: Status) -> Vec<Id> {
        let with = self.nodes().filter(|(_, node)| node.status == status);
        with.map(|(id, _)| id.clone()).collect()
    }

    /// Returns the first ready task in the order of the task file, or the first one behind `id`,
    /// without looking at the others.
    pub fn ready_after(&self, id: Option<&Id>) -> Option<Id> {
        let from = match id {
            Some(id) => Bound::Excluded(self.graph.find(id)?),
            None => Bound::Unbounded,
        };
        let mut behind = self.ready.range((from, Bound::Unbounded));
        behind.next().map(|&node| self.graph.id(node).clone())
    }

    /// Returns the dependencies of a task that are not completed.
    pub fn open_needs(&self, id: &str) -> Vec<Id> {
        let Some(node) = self.graph.find(id).filter(|&it| self.at(it).open_needs > 0) else {
            return Vec::new();
        };
        let mut needs = self.graph.needs(node).to_vec();
        needs.retain(|&need| self.at(need).status != Status::Completed);
        self.graph.names(&needs)
    }

    /// Returns the tasks that a task waits for: dependencies, and tasks of earlier sections of its
    /// phase, that are not completed, in the order of the task file.
    pub fn waits_for(&self, id: &str) -> Vec<Id> {
        let open = |status| status != Status::Completed;
        let node = self.graph.find(id);
        node.map_or_else(Vec::new, |node| self.awaited(node, open))
    }

    /// Returns those of the awaited tasks, by dependencies and by sections, whose status is wanted.
    pub(super) fn awaited(&self, node: u32, wanted: impl Fn(Status) -> bool) -> Vec<Id> {
        let mut awaited = self.graph.needs(node).to_vec();
        awaited.extend(self.graph.earlier_section_tasks(node));
        awaited.retain(|&it| wanted(self.at(it).status));
        awaited.sort_unstable();
        awaited.dedup();
        self.graph.names(&awaited)
    }

    /// True if a dependency of the task failed or is blocked.
    pub fn obstructed(&self, id: &str) -> bool {
        self.node(id).is_some_and(|node| node.obstructions > 0)
    }

    /// Returns the number of the phase that is complete and not finished, if there is one.
    pub fn phase_done(&self) -> Option<u32> {
        let phase = self.open_phase().filter(|phase| phase.complete());
        phase.map(|phase| phase.number)
    }

    /// Returns the number of tasks with that status.
    pub fn count(&self, status: Status) -> usize {
        self.counts[status.index()]
    }

    /// Returns all phases, in order.
    pub fn phases(&self) -> impl Iterator<Item = &Phase> {
        self.phases.iter()
    }

    /// Returns the phase with that number.
    pub fn phase(&self, number: u32) -> Option<&Phase> {
        let place = self.graph.phases().binary_search(&number).ok()?;
        self.phases.get(place)
    }

    /// Returns the number of the first phase that is not finished; of the last one when all are; 0
    /// for a run without tasks.
    pub fn current_phase(&self) -> u32 {
        let phases = self.graph.phases();
        let current = phases.get(self.current).or(phases.last());
        current.copied().unwrap_or(0)
    }

    /// True if every phase is finished.
    pub fn all_done(&self) -> bool {
        self.current == self.phases.len()
    }

    /// Returns the current phase; `None` when all are finished.
    pub(super) fn open_phase(&self) -> Option<&Phase> {
        self.phases.get(self.current)
    }

    /// True if no task is ready or in progress and the phase is not complete: a person has to act.
    pub fn stalled(&self) -> bool {
        self.ready.is_empty()
            && self.running.is_empty()
            && self.open_phase().is_some_and(|phase| !phase.complete())
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
    pub fn metrics(&self) -> Metrics {
        let TaskTime { seconds, tasks } = self.time;
        let tasks = i64::from(tasks);
        Metrics {
            total_tasks: self.graph.len(),
            completed_count: self.count(Status::Completed),
            failed_count: self.count(Status::Failed),
            average_task_time_seconds: match tasks {
                0 => 0,
                tasks => seconds.saturating_add(tasks / 2) / tasks,
            },
        }
    }

    pub(super) fn at(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    pub(super) fn at_mut(&mut self, node: u32) -> &mut Node {
        &mut self.nodes[node as usize]
    }

    /// Returns the status of a task that follows from the other tasks.
    pub(super) fn derived(&self, node: u32) -> Status {
        let state = self.at(node);
        let earlier = self.graph.earlier_sections(node);
        let earlier = || earlier.clone().map(|section| self.sections[section]);
        if state.obstructions > 0 || earlier().any(|section| section.obstructing > 0) {
            Status::Blocked
        } else if state.open_needs == 0
            && self.graph.place(node) == self.current
            && earlier().all(|section| section.open == 0)
        {
            Status::Ready
        } else {
            Status::Pending
        }
    }

    /// Sets the status of a task and updates every task that depends on it. The work is in
    /// proportion to the dependencies of the tasks that change.
    pub(super) fn put(&mut self, node: u32, to: Status, changes: &mut Changes) {
        let mut touched = Vec::new();
        self.change(node, to, &mut touched, changes);
        while let Some(node) = touched.pop() {
            if self.at(node).status.is_derived() {
                self.change(node, self.derived(node), &mut touched, changes);
            }
        }
    }

    fn change(&mut self, node: u32, to: Status, touched: &mut Vec<u32>, changes: &mut Changes) {
        let from = self.mark(node, to, changes);
        let met = i32::from(to == Status::Completed) - i32::from(from == Status::Completed);
        let obstructing = i32::from(to.obstructs()) - i32::from(from.obstructs());
        if met == 0 && obstructing == 0 {
            return;
        }
        let graph = Arc::clone(&self.graph);
        for &dependent in graph.dependents(node) {
            let state = self.at_mut(dependent);
            state.open_needs = state.open_needs.saturating_add_signed(-met);
            state.obstructions = state.obstructions.saturating_add_signed(obstructing);
            touched.push(dependent);
        }
        let section = &mut self.sections[graph.section_place(node)];
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
    pub(super) fn enter_phase(&mut self, changes: &mut Changes) {
        let graph = Arc::clone(&self.graph);
        if self.current < graph.phases().len() {
            for &node in graph.members(self.current) {
                if self.at(node).status.is_derived() {
                    self.put(node, self.derived(node), changes);
                }
            }
        }
    }

    /// Sets the current phase to the first one that is not finished.
    pub(super) fn find_current(&mut self) {
        let open = self.phases.iter().position(|phase| !phase.finished());
        self.current = open.unwrap_or(self.phases.len());
    }

    /// Writes one status and the counts kept beside it; returns the status from before.
    fn mark(&mut self, node: u32, to: Status, changes: &mut Changes) -> Status {
        let place = self.graph.place(node);
        let from = std::mem::replace(&mut self.at_mut(node).status, to);
        if from == to {
            return from;
        }
        self.counts[from.index()] -= 1;
        self.counts[to.index()] += 1;
        match from {
            Status::Ready => drop(self.ready.remove(&node)),
            Status::InProgress => drop(self.running.remove(&node)),
            Status::Failed => drop(self.failed.remove(&node)),
            Status::Completed => self.phases[place].completed -= 1,
            Status::Pending | Status::Blocked => {}
        }
        match to {
            Status::Ready => {
                self.ready.insert(node);
                changes.ready.push(node);
            }
            Status::InProgress => drop(self.running.insert(node)),
            Status::Failed => drop(self.failed.insert(node)),
            Status::Completed => self.phases[place].completed += 1,
            Status::Blocked => changes.blocked.push(node),
            Status::Pending => {}
        }
        from
    }
}
