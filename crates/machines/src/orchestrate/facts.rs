//! Making a run from what is known: a task file alone, or with ticks and a state file, however they disagree.

use super::run::{Changes, SectionCounts};
use super::{Config, Graph, Id, Landing, Node, Phase, Run, Status, TaskTime};
use crate::kernel::Timestamp;
use imbl::{OrdSet, Vector};
use std::sync::Arc;

/// What a state file knows of one task beside its status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// Runs that failed.
    pub attempts: u32,
    /// Start of the run in progress.
    pub started_at: Option<Timestamp>,
    /// Why the latest run failed.
    pub error: Option<Arc<str>>,
}

/// What a state file knows of one phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhaseFacts {
    /// Its number.
    pub number: u32,
    /// When its first task was started.
    pub started_at: Option<Timestamp>,
    /// When it landed.
    pub completed_at: Option<Timestamp>,
    /// How it came to the main line.
    pub landing: Option<Landing>,
    /// The tasks it had when it was recorded.
    pub tasks: Vec<Id>,
}

/// Everything known of a run beside its graph. Ids that the graph does not have are passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The limits.
    pub config: Config,
    /// The phase said to be current: complete phases before it were passed, even if nobody recorded how.
    pub current_phase: Option<u32>,
    /// Where the current phase is worked on.
    pub worktree: Option<Arc<str>>,
    /// When the run was begun.
    pub started_at: Timestamp,
    /// The latest change.
    pub updated_at: Timestamp,
    /// What is said of tasks, by ticks and by lists. Where several things are said of one, completed counts before
    /// failed before in progress; everything else follows from those and is not believed.
    pub claims: Vec<(Id, Status)>,
    /// What else is known of tasks.
    pub traces: Vec<(Id, Trace)>,
    /// What is known of phases.
    pub phases: Vec<PhaseFacts>,
    /// How long tasks took so far.
    pub time: TaskTime,
}

impl Facts {
    /// Nothing is known but when it began.
    pub fn none(started_at: Timestamp) -> Self {
        Facts {
            config: Config::default(),
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

impl Run {
    /// A run nobody has begun.
    pub fn new(graph: Arc<Graph>, config: Config, at: Timestamp) -> Run {
        let facts = Facts {
            config,
            ..Facts::none(at)
        };
        Run::from_facts(graph, &facts)
    }

    /// The run that the facts tell of.
    pub fn from_facts(graph: Arc<Graph>, facts: &Facts) -> Run {
        let claims = claims(&graph, facts);
        let mut nodes: Vec<Node> = graph
            .nodes()
            .map(|node| Node {
                // A failed task is put to failed below, so that it blocks what depends on it.
                status: match claims[node as usize] {
                    Some(Status::Completed) => Status::Completed,
                    Some(Status::InProgress) => Status::InProgress,
                    Some(Status::Failed | Status::Pending | Status::Ready | Status::Blocked)
                    | None => Status::Pending,
                },
                attempts: 0,
                started_at: None,
                error: None,
                open_needs: 0,
                obstructions: 0,
            })
            .collect();
        for (id, trace) in &facts.traces {
            if let Some(node) = graph.find(id) {
                let state = &mut nodes[node as usize];
                let done = state.status == Status::Completed;
                let running = state.status == Status::InProgress;
                state.attempts = trace.attempts;
                state.started_at = trace.started_at.filter(|_| running);
                state.error = trace.error.clone().filter(|_| !done);
            }
        }
        let mut counts = [0; 6];
        let mut completed = vec![0; graph.phases().len()];
        let mut sections = vec![SectionCounts::default(); graph.sections_len()];
        for node in graph.nodes() {
            counts[nodes[node as usize].status.index()] += 1;
            if nodes[node as usize].status == Status::Completed {
                completed[graph.place(node)] += 1;
            } else {
                sections[graph.section_place(node)].open += 1;
                for &dependent in graph.dependents(node) {
                    nodes[dependent as usize].open_needs += 1;
                }
            }
        }
        let running = graph
            .nodes()
            .filter(|&node| nodes[node as usize].status == Status::InProgress);
        let mut run = Run {
            config: facts.config,
            running: running.collect(),
            ready: OrdSet::new(),
            failed: OrdSet::new(),
            nodes: Vector::from(nodes),
            counts,
            sections: Vector::from(sections),
            phases: phases(&graph, facts, &completed),
            current: 0,
            worktree: facts.worktree.clone(),
            started_at: facts.started_at,
            updated_at: facts.updated_at.max(facts.started_at),
            time: facts.time,
            graph: Arc::clone(&graph),
        };
        run.find_current();
        let mut changes = Changes::default();
        for node in graph.nodes() {
            if claims[node as usize] == Some(Status::Failed) {
                run.put(node, Status::Failed, &mut changes);
            }
        }
        run.enter_phase(&mut changes);
        run
    }
}

/// For every task the strongest thing said of it.
fn claims(graph: &Graph, facts: &Facts) -> Vec<Option<Status>> {
    let rank = |status: Status| match status {
        Status::Completed => 3,
        Status::Failed => 2,
        Status::InProgress => 1,
        Status::Ready | Status::Pending | Status::Blocked => 0,
    };
    let mut strongest: Vec<Option<Status>> = vec![None; graph.len()];
    let merged = facts.phases.iter().filter(|phase| {
        let landing = phase.landing.as_ref();
        landing.is_some_and(Landing::landed)
    });
    let recorded = merged
        .flat_map(|phase| &phase.tasks)
        .map(|id| (id, Status::Completed));
    let said = facts.claims.iter().map(|(id, status)| (id, *status));
    for (id, status) in said.chain(recorded) {
        if let Some(node) = graph.find(id) {
            let known = &mut strongest[node as usize];
            if known.is_none_or(|known| rank(status) > rank(known)) {
                *known = Some(status);
            }
        }
    }
    strongest
}

fn phases(graph: &Graph, facts: &Facts, completed: &[usize]) -> Vector<Phase> {
    let places = graph.phases().iter().zip(completed).enumerate();
    let phase = |(place, (&number, &completed))| {
        let total = graph.members(place).len();
        let known = facts.phases.iter().rev().find(|it| it.number == number);
        let landing = known.and_then(|known| known.landing.clone());
        // A task that was added after its phase had landed opens the phase again.
        let landing = landing.filter(|_| completed == total).or_else(|| {
            let passed = completed == total && facts.current_phase > Some(number);
            passed.then_some(Landing::WithoutMerge)
        });
        let landed = landing.as_ref().is_some_and(Landing::landed);
        Phase {
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
