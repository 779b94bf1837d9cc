//! The graph of a run: its tasks, their dependencies and their phases. It never changes.

use super::NodeId;
use crate::dag::{AdjacencyList, find_cycle};
use crate::kernel::CodedRefusal;
use imbl::GenericHashMap;
use imbl::shared_ptr::DefaultSharedPtr;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ops::Range;

/// The numbers of tasks by their ids: a search in sorted ids would touch many places all over the
/// memory of a large run, on every command. Without random keys, so that the same ids give the
/// same map.
type NodesById = GenericHashMap<NodeId, u32, BuildHasherDefault<DefaultHasher>, DefaultSharedPtr>;

/// Number of tasks that a graph may have.
pub const NODES_MAX: usize = 1_000_000;

/// A task as the task file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// Id of the task.
    pub id: NodeId,
    /// Number of its phase.
    pub phase: u32,
    /// Its section within the phase: 5 below `Phase 1.5`, 0 outside of sections. Tasks of a later
    /// section wait for all of the earlier ones.
    pub section: u32,
    /// Ids of its dependencies; one listed twice counts once.
    pub dependencies: Vec<NodeId>,
}

/// The reason why tasks do not make a graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Two tasks have one id.
    #[error("task '{id}' is there twice")]
    DuplicateId {
        /// The repeated id.
        id: NodeId,
    },
    /// A task depends on one that does not exist.
    #[error("task '{id}' depends on '{dependency}', which does not exist")]
    MissingDependency {
        /// Id of the task.
        id: NodeId,
        /// The missing id.
        dependency: NodeId,
    },
    /// Tasks depend on each other in a cycle.
    #[error("tasks depend on each other: {}", path.join("->"))]
    CircularDependency {
        /// Ids from a task back to itself; each depends on the next.
        path: Vec<NodeId>,
    },
    /// A task depends on one of a later phase, which cannot begin before this one is done.
    #[error("task '{id}' of phase {phase} depends on '{dependency}' of the later phase {later}")]
    LaterPhase {
        /// Id of the task.
        id: NodeId,
        /// Phase of the task.
        phase: u32,
        /// Id of the dependency.
        dependency: NodeId,
        /// Phase of the dependency.
        later: u32,
    },
    /// More tasks than a graph may have.
    #[error("{count} tasks are more than {NODES_MAX}")]
    TooMany {
        /// Number of tasks given.
        count: usize,
    },
}

impl CodedRefusal for GraphError {
    fn code(&self) -> &'static str {
        match self {
            GraphError::DuplicateId { .. } => "duplicate_id",
            GraphError::MissingDependency { .. } => "missing_dependency",
            GraphError::CircularDependency { .. } => "circular_dependency",
            GraphError::LaterPhase { .. } => "later_phase_dependency",
            GraphError::TooMany { .. } => "too_many_tasks",
        }
    }
}

/// The tasks of a run, numbered in the order of the task file. Made once and shared by all states
/// of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskGraph {
    ids: Vec<NodeId>,
    by_id: NodesById,
    /// Phase numbers, ascending, each with at least one task.
    phases: Vec<u32>,
    /// For every task the index of its phase in `phases`.
    place: Vec<usize>,
    /// For every index in `phases` its tasks.
    members: Vec<Vec<u32>>,
    /// For every task the number of its section; 0 in a phase whose dependencies contradict the
    /// order of its sections.
    section: Vec<u32>,
    /// For every task the index of its section among the sections of all phases.
    section_place: Vec<usize>,
    /// For every section, in the order of phase and number, its tasks.
    section_members: Vec<Vec<u32>>,
    /// For every index in `phases` the indexes of its sections.
    phase_sections: Vec<Range<usize>>,
    needs: AdjacencyList,
    dependents: AdjacencyList,
}

impl TaskGraph {
    /// Makes a graph, in time linear in tasks and dependencies.
    pub fn new(nodes: Vec<NodeSpec>) -> Result<TaskGraph, GraphError> {
        let count = nodes.len();
        if count > NODES_MAX {
            return Err(GraphError::TooMany { count });
        }
        let ids: Vec<NodeId> = nodes.iter().map(|node| node.id.clone()).collect();
        let mut by_id = NodesById::new();
        for (node, id) in (0u32..).zip(&ids) {
            if by_id.insert(id.clone(), node).is_some() {
                return Err(GraphError::DuplicateId { id: id.clone() });
            }
        }
        let mut phases: Vec<u32> = nodes.iter().map(|node| node.phase).collect();
        phases.sort_unstable();
        phases.dedup();
        let place: Vec<usize> = nodes
            .iter()
            .map(|node| phases.partition_point(|&phase| phase < node.phase))
            .collect();
        let mut edges = Vec::new();
        let mut targets = Vec::new();
        for (from, node) in (0u32..).zip(&nodes) {
            targets.clear();
            for dependency in &node.dependencies {
                let Some(&to) = by_id.get(dependency) else {
                    return Err(GraphError::MissingDependency {
                        id: node.id.clone(),
                        dependency: dependency.clone(),
                    });
                };
                targets.push(to);
            }
            targets.sort_unstable();
            targets.dedup();
            edges.extend(targets.iter().map(|&to| (from, to)));
        }
        let needs = AdjacencyList::new(count, &edges);
        if let Some(path) = find_cycle(&needs) {
            return Err(GraphError::CircularDependency {
                path: path
                    .iter()
                    .map(|&node| ids[node as usize].clone())
                    .collect(),
            });
        }
        let later = edges
            .iter()
            .find(|&&(from, to)| place[to as usize] > place[from as usize]);
        if let Some(&(from, to)) = later {
            return Err(GraphError::LaterPhase {
                id: ids[from as usize].clone(),
                phase: phases[place[from as usize]],
                dependency: ids[to as usize].clone(),
                later: phases[place[to as usize]],
            });
        }
        let mut members = vec![Vec::new(); phases.len()];
        for (node, &place) in (0u32..).zip(&place) {
            members[place].push(node);
        }
        let section = ordered_sections(&nodes, &edges, &place, phases.len());
        let mut section_place = vec![0; count];
        let mut section_members = Vec::new();
        let mut phase_sections = Vec::with_capacity(phases.len());
        for members in &members {
            let first = section_members.len();
            let mut numbers: Vec<u32> = members.iter().map(|&it| section[it as usize]).collect();
            numbers.sort_unstable();
            numbers.dedup();
            section_members.resize(first + numbers.len(), Vec::new());
            for &node in members {
                let number = section[node as usize];
                let at = first + numbers.partition_point(|&it| it < number);
                section_place[node as usize] = at;
                section_members[at].push(node);
            }
            phase_sections.push(first..section_members.len());
        }
        Ok(TaskGraph {
            dependents: needs.reversed(),
            members,
            section,
            section_place,
            section_members,
            phase_sections,
            ids,
            by_id,
            phases,
            place,
            needs,
        })
    }

    /// Returns the number of tasks.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True if there are no tasks.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns all ids, in the order of the task file.
    pub fn ids(&self) -> &[NodeId] {
        &self.ids
    }

    /// True if a task has that id.
    pub fn contains(&self, id: &str) -> bool {
        self.index_of(id).is_some()
    }

    /// Phase numbers, ascending.
    pub fn phase_numbers(&self) -> &[u32] {
        &self.phases
    }

    /// Returns the phase of a task.
    pub fn phase_of(&self, id: &str) -> Option<u32> {
        self.index_of(id)
            .map(|node| self.phases[self.phase_index(node)])
    }

    /// Returns the section of a task within its phase, as far as sections order it; 0 outside of
    /// sections.
    pub fn section_of(&self, id: &str) -> Option<u32> {
        self.index_of(id).map(|node| self.section[node as usize])
    }

    /// Returns the tasks of a phase, in the order of the task file.
    pub fn tasks_of(&self, phase: u32) -> Vec<NodeId> {
        match self.phases.binary_search(&phase) {
            Ok(place) => self.ids_of(self.phase_members(place)),
            Err(_) => Vec::new(),
        }
    }

    /// Returns the direct dependencies of a task, in the order of the task file.
    pub fn dependencies_of(&self, id: &str) -> Vec<NodeId> {
        self.index_of(id)
            .map_or_else(Vec::new, |node| self.ids_of(self.needed_nodes(node)))
    }

    /// Returns the direct dependents of a task, in the order of the task file.
    pub fn dependents_of(&self, id: &str) -> Vec<NodeId> {
        self.index_of(id)
            .map_or_else(Vec::new, |node| self.ids_of(self.dependent_nodes(node)))
    }

    pub(super) fn index_of(&self, id: &str) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    pub(super) fn id_at(&self, node: u32) -> &NodeId {
        &self.ids[node as usize]
    }

    pub(super) fn ids_of(&self, nodes: &[u32]) -> Vec<NodeId> {
        nodes.iter().map(|&node| self.id_at(node).clone()).collect()
    }

    pub(super) fn node_indexes(&self) -> impl Iterator<Item = u32> + use<> {
        (0u32..).take(self.ids.len())
    }

    pub(super) fn phase_index(&self, node: u32) -> usize {
        self.place[node as usize]
    }

    pub(super) fn phase_members(&self, place: usize) -> &[u32] {
        &self.members[place]
    }

    pub(super) fn needed_nodes(&self, node: u32) -> &[u32] {
        self.needs.targets_of(node)
    }

    pub(super) fn dependent_nodes(&self, node: u32) -> &[u32] {
        self.dependents.targets_of(node)
    }

    /// Returns the number of sections of all phases.
    pub(super) fn sections_len(&self) -> usize {
        self.section_members.len()
    }

    /// Returns the index of a task's section among the sections of all phases.
    pub(super) fn section_index(&self, node: u32) -> usize {
        self.section_place[node as usize]
    }

    /// Returns the indexes of the sections of its phase that come before the section of a task.
    pub(super) fn earlier_sections(&self, node: u32) -> Range<usize> {
        self.phase_sections[self.phase_index(node)].start..self.section_index(node)
    }

    /// Returns the tasks of the sections of its phase that come before the section of a task.
    pub(super) fn earlier_section_tasks(&self, node: u32) -> impl Iterator<Item = u32> {
        let earlier = &self.section_members[self.earlier_sections(node)];
        earlier.iter().flatten().copied()
    }

    /// Returns the tasks of the sections of its phase that come after the section of a task.
    pub(super) fn later_section_tasks(&self, node: u32) -> impl Iterator<Item = u32> {
        let later = self.section_index(node) + 1..self.phase_sections[self.phase_index(node)].end;
        self.section_members[later].iter().flatten().copied()
    }
}

/// Returns the section of every task. A phase where a task needs one of a later section has no
/// order of sections.
fn ordered_sections(
    nodes: &[NodeSpec],
    edges: &[(u32, u32)],
    place: &[usize],
    phases: usize,
) -> Vec<u32> {
    let mut mixed = vec![false; phases];
    for &(from, to) in edges {
        let (from, to) = (from as usize, to as usize);
        if place[from] == place[to] && nodes[to].section > nodes[from].section {
            mixed[place[from]] = true;
        }
    }
    let section = |(node, &place): (&NodeSpec, &usize)| match mixed[place] {
        true => 0,
        false => node.section,
    };
    nodes.iter().zip(place).map(section).collect()
}
