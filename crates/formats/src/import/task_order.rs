//! Determines the order of imported tasks.

use super::ImportDraft;
use bowline_words::message::Unplaced;
use std::collections::{HashMap, HashSet};

impl ImportDraft {
    /// Returns, for every task, the indices of the tasks it needs. Stated dependencies are kept;
    /// those implied by position are omitted where they would close a cycle.
    pub(super) fn resolve_needs(&mut self) -> Vec<Vec<usize>> {
        let mut index: HashMap<&str, usize> = HashMap::new();
        for (at, draft) in self.drafts.iter().enumerate() {
            index.entry(&draft.key).or_insert(at);
        }
        let mut edges: Vec<Vec<usize>> = Vec::with_capacity(self.drafts.len());
        let mut unplaced = Vec::new();
        for (at, draft) in self.drafts.iter().enumerate() {
            let mut mine = Vec::new();
            let mut seen = HashSet::new();
            for name in &draft.needs {
                let places = tasks_of_name(name, &index, &self.groups);
                let (id, other) = (draft.key.clone(), name.clone());
                if places.is_empty() {
                    unplaced.push(Unplaced::NothingNeeded { id, other });
                } else if places == [at] {
                    unplaced.push(Unplaced::NeedsItself { id });
                } else if places.iter().any(|&it| self.phase_behind(it, at)) {
                    unplaced.push(Unplaced::NeedsLater { id, other });
                } else {
                    mine.extend(
                        places
                            .into_iter()
                            .filter(|it| *it != at && seen.insert(*it)),
                    );
                }
            }
            edges.push(mine);
        }
        let mut soft = Vec::new();
        for (at, draft) in self.drafts.iter().enumerate() {
            for name in &draft.follows {
                let places = tasks_of_name(name, &index, &self.groups).into_iter();
                let places = places.filter(|&it| it != at && !self.phase_behind(it, at));
                soft.extend(places.map(|it| (at, it)));
            }
        }
        for (at, other) in add_soft_edges(&mut edges, &soft) {
            unplaced.push(Unplaced::OrderLeftOut {
                id: self.drafts[at].key.clone(),
                other: self.drafts[other].key.clone(),
            });
        }
        self.unplaced.extend(unplaced);
        edges
    }

    /// True if task `one` is in a later phase than task `other`. A plan cannot depend on a later
    /// phase.
    fn phase_behind(&self, one: usize, other: usize) -> bool {
        let number = |at: usize| {
            let phase = self.phases.get(self.drafts[at].phase);
            phase.map_or(0, |phase| phase.number)
        };
        number(one) > number(other)
    }
}

/// Returns the indices of the tasks that a name stands for.
fn tasks_of_name(
    name: &str,
    index: &HashMap<&str, usize>,
    groups: &HashMap<String, Vec<String>>,
) -> Vec<usize> {
    if let Some(&at) = index.get(name) {
        return vec![at];
    }
    let (mut found, mut open, mut seen) = (Vec::new(), vec![name], HashSet::new());
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        match index.get(name) {
            Some(&at) => found.push(at),
            None => open.extend(groups.get(name).into_iter().flatten().map(String::as_str)),
        }
    }
    found.sort_unstable();
    found
}

/// Adds optional edges; returns those omitted because they would close a cycle.
fn add_soft_edges(edges: &mut [Vec<usize>], soft: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let stated: Vec<HashSet<usize>> = edges
        .iter()
        .map(|it| it.iter().copied().collect())
        .collect();
    let new: Vec<(usize, usize)> = soft
        .iter()
        .copied()
        .filter(|(at, need)| !stated[*at].contains(need))
        .collect();
    let mut all: Vec<Vec<usize>> = edges.to_vec();
    for (at, need) in &new {
        if !all[*at].contains(need) {
            all[*at].push(*need);
        }
    }
    if is_ordered(&all) {
        edges.clone_from_slice(&all);
        return Vec::new();
    }
    let mut left = Vec::new();
    for (at, need) in new {
        if depends_on(edges, need, at) {
            left.push((at, need));
        } else if !edges[at].contains(&need) {
            edges[at].push(need);
        }
    }
    left
}

fn is_ordered(edges: &[Vec<usize>]) -> bool {
    let mut waits: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut behind: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (at, needs) in edges.iter().enumerate() {
        for &need in needs {
            behind[need].push(at);
        }
    }
    let mut open: Vec<usize> = (0..edges.len()).filter(|at| waits[*at] == 0).collect();
    let mut done = 0;
    while let Some(at) = open.pop() {
        done += 1;
        for &next in &behind[at] {
            waits[next] -= 1;
            if waits[next] == 0 {
                open.push(next);
            }
        }
    }
    done == edges.len()
}

/// True if a task needs another, directly or indirectly.
fn depends_on(edges: &[Vec<usize>], from: usize, to: usize) -> bool {
    let (mut open, mut seen) = (vec![from], HashSet::new());
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            open.extend(&edges[at]);
        }
    }
    false
}
