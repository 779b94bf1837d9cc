//! Dependencies of tasks, and cycles in them.

use super::TasksFile;
use super::id::TaskId;

impl TasksFile {
    /// Returns the explicit dependencies (fields, then diagrams) of every task that has any, in
    /// file order, without repeats and without ids that are not in the file.
    pub fn dependencies(&self) -> impl Iterator<Item = (&TaskId, Vec<&TaskId>)> {
        self.needs_by_id(&self.needs)
    }

    /// Returns the dependencies without those that no longer matter, so that the plan can be run.
    /// Omitted are dependencies of or on a done task from an earlier phase on a later one, and
    /// those of done tasks on a cycle.
    pub fn open_dependencies(&self) -> impl Iterator<Item = (&TaskId, Vec<&TaskId>)> {
        let mut needs = self.needs.clone();
        for (task, needs) in self.tasks.iter().zip(&mut needs) {
            needs.retain(|at| {
                let needed = &self.tasks[*at];
                needed.phase <= task.phase || !(task.done || needed.done)
            });
        }
        let on_circle = on_circles(&needs);
        for (node, needs) in needs.iter_mut().enumerate() {
            if self.tasks[node].done && on_circle[node] {
                needs.retain(|&needed| !on_circle[needed]);
            }
        }
        self.needs_by_id(needs)
    }

    fn needs_by_id<N: AsRef<[usize]>>(
        &self,
        needs: impl IntoIterator<Item = N>,
    ) -> impl Iterator<Item = (&TaskId, Vec<&TaskId>)> {
        let both = self.tasks.iter().zip(needs);
        both.filter(|(_, needs)| !needs.as_ref().is_empty())
            .map(|(task, needs)| {
                let ids = needs.as_ref().iter().map(|at| &self.tasks[*at].id);
                (&task.id, ids.collect())
            })
    }
}

/// Marks the nodes on cycles, and those between two cycles, by repeatedly removing nodes without
/// dependencies and nodes that nothing depends on.
fn on_circles(needs: &[Vec<usize>]) -> Vec<bool> {
    let mut needed_by = vec![Vec::new(); needs.len()];
    for (node, needs) in needs.iter().enumerate() {
        for &needed in needs {
            needed_by[needed].push(node);
        }
    }
    let mut left = vec![true; needs.len()];
    for (from, to) in [(needs, &needed_by[..]), (&needed_by[..], needs)] {
        let mut open: Vec<usize> = from.iter().map(Vec::len).collect();
        let mut free: Vec<usize> = (0..needs.len()).filter(|&node| open[node] == 0).collect();
        while let Some(node) = free.pop() {
            left[node] = false;
            for &next in &to[node] {
                open[next] -= 1;
                if open[next] == 0 {
                    free.push(next);
                }
            }
        }
    }
    left
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    /// On the path, at this depth.
    Open(usize),
    Finished,
}

/// Returns up to `max` cycles of the graph; each starts at its first node, and each node depends on
/// the next. The depth-first search has a stack of its own, because a chain of 100,000 tasks must
/// not exhaust the thread's.
pub(super) fn find_cycles(needs: &[Vec<usize>], max: usize) -> Vec<Vec<usize>> {
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
