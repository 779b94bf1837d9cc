//! What tasks need, and circles of needs.

use super::TasksFile;
use super::id::TaskId;

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
