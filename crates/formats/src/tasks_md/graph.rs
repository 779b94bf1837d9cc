//! The order that dependencies and phases give.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::id::TaskId;
use super::{Task, TasksFile};

/// Tasks that may start together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Round {
    /// Counted from 1.
    pub round: usize,
    /// In file order.
    pub tasks: Vec<TaskId>,
    /// Whether there is more than one.
    pub parallel: bool,
}

/// All rounds, and what can never start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExecutionOrder {
    /// One after the other.
    pub rounds: Vec<Round>,
    /// Tasks in a circle, tasks that need a later phase, and all that wait for these; in file order by phase.
    pub stuck: Vec<TaskId>,
}

impl TasksFile {
    /// The explicit dependencies (fields, then diagrams) of every task that has any, in file order, without repeats and
    /// without ids that are not in the file.
    pub fn dependencies(&self) -> impl Iterator<Item = (&TaskId, Vec<&TaskId>)> {
        let id = |at: &usize| &self.tasks[*at].id;
        self.tasks
            .iter()
            .zip(&self.needs)
            .filter(|(_, needs)| !needs.is_empty())
            .map(move |(task, needs)| (&task.id, needs.iter().map(id).collect()))
    }

    /// The rounds in which the tasks can run that `is_done` does not count as done: a phase, and a section of
    /// one, starts when the one before it is finished; within it a task follows those it needs.
    pub fn execution_order(&self, is_done: impl Fn(&TaskId) -> bool) -> ExecutionOrder {
        let done: Vec<bool> = self.tasks.iter().map(|task| is_done(&task.id)).collect();
        // Where a task needs one of a later section of its phase, the sections cannot be kept apart.
        let needs = |at: usize| self.needs[at].iter().map(|needed| &self.tasks[*needed]);
        let later = |task: &Task, at: usize| {
            needs(at).any(|it| it.phase == task.phase && it.section > task.section)
        };
        let tasks = self.tasks.iter().enumerate();
        let mixed: HashSet<u32> = tasks
            .filter(|(at, task)| later(task, *at))
            .map(|(_, task)| task.phase)
            .collect();
        let mut phases: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
        for (at, task) in self.tasks.iter().enumerate().filter(|(at, _)| !done[*at]) {
            let section = if mixed.contains(&task.phase) {
                0
            } else {
                task.section
            };
            phases.entry((task.phase, section)).or_default().push(at);
        }
        let mut order = ExecutionOrder {
            rounds: Vec::new(),
            stuck: Vec::new(),
        };
        let mut finished = done;
        let mut waiting_for = vec![0usize; self.tasks.len()];
        let mut dependents = vec![Vec::new(); self.tasks.len()];
        for members in phases.into_values() {
            if !order.stuck.is_empty() {
                order
                    .stuck
                    .extend(members.iter().map(|at| self.tasks[*at].id.clone()));
                continue;
            }
            for &at in &members {
                for &needed in self.needs[at].iter().filter(|needed| !finished[**needed]) {
                    waiting_for[at] += 1;
                    dependents[needed].push(at);
                }
            }
            let mut ready: Vec<usize> = members
                .iter()
                .copied()
                .filter(|at| waiting_for[*at] == 0)
                .collect();
            while !ready.is_empty() {
                order.rounds.push(Round {
                    round: order.rounds.len() + 1,
                    parallel: ready.len() > 1,
                    tasks: ready.iter().map(|at| self.tasks[*at].id.clone()).collect(),
                });
                let mut next = Vec::new();
                for at in ready {
                    finished[at] = true;
                    for dependent in std::mem::take(&mut dependents[at]) {
                        waiting_for[dependent] -= 1;
                        if waiting_for[dependent] == 0 {
                            next.push(dependent);
                        }
                    }
                }
                next.sort_unstable();
                ready = next;
            }
            order.stuck.extend(
                members
                    .iter()
                    .filter(|at| !finished[**at])
                    .map(|at| self.tasks[*at].id.clone()),
            );
        }
        order
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    /// On the path, at this depth.
    Open(usize),
    Finished,
}

/// Up to `max` circles in the graph; each starts at its first node, and each node needs the next. Depth first with a stack of its own:
/// a chain of 100,000 tasks must not exhaust the thread's.
pub(super) fn cycles(needs: &[Vec<usize>], max: usize) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let mut visits = vec![Visit::New; needs.len()];
    for root in 0..needs.len() {
        if visits[root] != Visit::New {
            continue;
        }
        visits[root] = Visit::Open(0);
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let Some(&needed) = needs[*node].get(*next) else {
                visits[*node] = Visit::Finished;
                path.pop();
                continue;
            };
            *next += 1;
            match visits[needed] {
                Visit::New => {
                    visits[needed] = Visit::Open(path.len());
                    path.push((needed, 0));
                }
                Visit::Open(depth) => {
                    let mut cycle: Vec<usize> =
                        path[depth..].iter().map(|(node, _)| *node).collect();
                    let first = cycle
                        .iter()
                        .enumerate()
                        .min_by_key(|(_, node)| **node)
                        .map_or(0, |(at, _)| at);
                    cycle.rotate_left(first);
                    found.push(cycle);
                    if found.len() == max {
                        return found;
                    }
                }
                Visit::Finished => {}
            }
        }
    }
    found
}
