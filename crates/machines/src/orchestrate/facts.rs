//! The construction of a run from known facts: a task file alone, or with ticks and a state file,
//! which may disagree.

use super::run::{SectionCounts, StatusChanges};
use super::{
    LandingOutcome, NodeId, NodeStatus, OrchestrationLimits, OrchestrationState, PhaseState,
    TaskGraph, TaskNode, TaskTime,
};
use crate::kernel::Timestamp;
use imbl::{OrdSet, Vector};
use std::sync::Arc;

/// Facts of a state file about one task, beside its status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// Number of runs that failed.
    pub attempts: u32,
    /// Start of the run in progress.
    pub started_at: Option<Timestamp>,
    /// Error of the latest run that failed.
    pub error: Option<Arc<str>>,
}

/// Facts of a state file about one phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhaseFacts {
    /// Number of the phase.
    pub number: u32,
    /// Start of its first task.
    pub started_at: Option<Timestamp>,
    /// Time at which the phase landed.
    pub completed_at: Option<Timestamp>,
    /// The outcome of its landing, absent if it was not tried.
    pub landing: Option<LandingOutcome>,
    /// The tasks that the phase had when it was recorded.
    pub tasks: Vec<NodeId>,
}

/// All facts about a run beside its graph. Ids that the graph does not have are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFacts {
    /// The limits of the run.
    pub config: OrchestrationLimits,
    /// The phase recorded as current: complete phases before it count as landed, even without a
    /// record.
    pub current_phase: Option<u32>,
    /// Path of the worktree of the current phase.
    pub worktree: Option<Arc<str>>,
    /// Start of the run.
    pub started_at: Timestamp,
    /// Time of the latest change.
    pub updated_at: Timestamp,
    /// Claimed statuses of tasks, from ticks and from lists. Of several claims about one task,
    /// completed counts before failed before in progress; any other status is derived from those
    /// and its claim is ignored.
    pub claims: Vec<(NodeId, NodeStatus)>,
    /// Further facts about tasks.
    pub traces: Vec<(NodeId, TaskFacts)>,
    /// Facts about phases.
    pub phases: Vec<PhaseFacts>,
    /// Total time of the completed tasks.
    pub time: TaskTime,
}

impl RunFacts {
    /// Makes facts that hold only the start of the run.
    pub fn starting_at(started_at: Timestamp) -> Self {
        RunFacts {
            config: OrchestrationLimits::default(),
            current_phase: None,
            worktree: None,
            started_at,
            updated_at: started_at,
            claims: Vec::new(),
            traces: Vec::new(),
            phases: Vec::new(),
            time: TaskTime::default(),
        }
    }
}

impl OrchestrationState {
    /// Makes a run in which no task has begun.
    pub fn new(
        graph: Arc<TaskGraph>,
        config: OrchestrationLimits,
        at: Timestamp,
    ) -> OrchestrationState {
        let facts = RunFacts {
            config,
            ..RunFacts::starting_at(at)
        };
        OrchestrationState::from_facts(graph, &facts)
    }

    /// Makes the run that the facts describe.
    pub fn from_facts(graph: Arc<TaskGraph>, facts: &RunFacts) -> OrchestrationState {
        let claims = strongest_claims(&graph, facts);
        let mut nodes: Vec<TaskNode> = graph
            .node_indexes()
            .map(|node| TaskNode {
                // A failed task is set to failed below, so that it blocks its dependents.
                status: match claims[node as usize] {
                    Some(NodeStatus::Completed) => NodeStatus::Completed,
                    Some(NodeStatus::InProgress) => NodeStatus::InProgress,
                    Some(
                        NodeStatus::Failed
                        | NodeStatus::Pending
                        | NodeStatus::Ready
                        | NodeStatus::Blocked,
                    )
                    | None => NodeStatus::Pending,
                },
                attempts: 0,
                started_at: None,
                error: None,
                open_needs: 0,
                obstructions: 0,
            })
            .collect();
        for (id, trace) in &facts.traces {
            if let Some(node) = graph.index_of(id) {
                let state = &mut nodes[node as usize];
                let done = state.status == NodeStatus::Completed;
                let running = state.status == NodeStatus::InProgress;
                state.attempts = trace.attempts;
                state.started_at = trace.started_at.filter(|_| running);
                state.error = trace.error.clone().filter(|_| !done);
            }
        }
        let mut counts = [0; 6];
        let mut completed = vec![0; graph.phase_numbers().len()];
        let mut sections = vec![SectionCounts::default(); graph.sections_len()];
        for node in graph.node_indexes() {
            counts[nodes[node as usize].status.count_index()] += 1;
            if nodes[node as usize].status == NodeStatus::Completed {
                completed[graph.phase_index(node)] += 1;
            } else {
                sections[graph.section_index(node)].open += 1;
                for &dependent in graph.dependent_nodes(node) {
                    nodes[dependent as usize].open_needs += 1;
                }
            }
        }
        let running = graph
            .node_indexes()
            .filter(|&node| nodes[node as usize].status == NodeStatus::InProgress);
        let mut run = OrchestrationState {
            config: facts.config,
            running: running.collect(),
            ready: OrdSet::new(),
            failed: OrdSet::new(),
            nodes: Vector::from(nodes),
            counts,
            sections: Vector::from(sections),
            phases: phase_states(&graph, facts, &completed),
            current: 0,
            worktree: facts.worktree.clone(),
            started_at: facts.started_at,
            updated_at: facts.updated_at.max(facts.started_at),
            time: facts.time,
            graph: Arc::clone(&graph),
        };
        run.find_current();
        let mut changes = StatusChanges::default();
        for node in graph.node_indexes() {
            if claims[node as usize] == Some(NodeStatus::Failed) {
                run.set_status(node, NodeStatus::Failed, &mut changes);
            }
        }
        run.enter_phase(&mut changes);
        run
    }
}

/// Returns the strongest claim about every task.
fn strongest_claims(graph: &TaskGraph, facts: &RunFacts) -> Vec<Option<NodeStatus>> {
    let rank = |status: NodeStatus| match status {
        NodeStatus::Completed => 3,
        NodeStatus::Failed => 2,
        NodeStatus::InProgress => 1,
        NodeStatus::Ready | NodeStatus::Pending | NodeStatus::Blocked => 0,
    };
    let mut strongest: Vec<Option<NodeStatus>> = vec![None; graph.len()];
    let merged = facts.phases.iter().filter(|phase| {
        let landing = phase.landing.as_ref();
        landing.is_some_and(LandingOutcome::has_landed)
    });
    let recorded = merged
        .flat_map(|phase| &phase.tasks)
        .map(|id| (id, NodeStatus::Completed));
    let said = facts.claims.iter().map(|(id, status)| (id, *status));
    for (id, status) in said.chain(recorded) {
        if let Some(node) = graph.index_of(id) {
            let known = &mut strongest[node as usize];
            if known.is_none_or(|known| rank(status) > rank(known)) {
                *known = Some(status);
            }
        }
    }
    strongest
}

fn phase_states(graph: &TaskGraph, facts: &RunFacts, completed: &[usize]) -> Vector<PhaseState> {
    let places = graph.phase_numbers().iter().zip(completed).enumerate();
    let phase = |(place, (&number, &completed))| {
        let total = graph.phase_members(place).len();
        let known = facts.phases.iter().rev().find(|it| it.number == number);
        let landing = known.and_then(|known| known.landing.clone());
        // A task that was added after its phase had landed reopens the phase.
        let landing = landing.filter(|_| completed == total).or_else(|| {
            let passed = completed == total && facts.current_phase > Some(number);
            passed.then_some(LandingOutcome::WithoutMerge)
        });
        let landed = landing.as_ref().is_some_and(LandingOutcome::has_landed);
        PhaseState {
            number,
            total,
            completed,
            started_at: known.and_then(|known| known.started_at),
            completed_at: known
                .and_then(|known| known.completed_at)
                .filter(|_| landed),
            landing,
        }
    };
    places.map(phase).collect()
}
