//! Merges the plan, which has the tasks and their order, with the state file of a run.

use crate::rebuild::node_specs;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{OrchestrationFacts, read_facts};
use bowline_formats::tasks_md::TasksFile;
use bowline_machines::orchestrate::{
    LandingOutcome, NodeId, NodeStatus, OrchestrationState, RunFacts, TaskGraph,
};
use std::collections::HashSet;
use std::sync::Arc;

/// Ticked boxes of the plan that count as completed tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CountedTicks {
    /// None: only the state file counts.
    None,
    /// Those of tasks that the state file does not know.
    OfNewTasks,
    All,
}

/// Merges state file and plan: the plan decides on its tasks and their order, the file on their
/// progress. Tasks that only the file knows stay, except failed ones: removing such a task from the
/// plan is how a person continues without it. Returns `None` if the two make no graph, or the plan
/// is not valid.
pub(super) fn merge_plan(
    document: &JsonDocument,
    plan: &TasksFile,
    ticks: CountedTicks,
) -> Option<OrchestrationState> {
    if plan.blocking_finding().is_some() {
        return None;
    }
    let OrchestrationFacts {
        nodes: recorded,
        mut facts,
    } = read_facts(document).ok()?.state;
    let known: HashSet<&str> = recorded.iter().map(|node| &*node.id).collect();
    let counts = |id: &str| match ticks {
        CountedTicks::None => false,
        CountedTicks::OfNewTasks => !known.contains(id),
        CountedTicks::All => true,
    };
    let mut done = landed_tasks(&facts, plan);
    let ticked = plan.tasks.iter().filter(|task| task.done);
    let ticked = ticked.filter(|task| counts(task.id.as_str()));
    done.extend(ticked.map(|task| NodeId::from(task.id.as_str())));
    facts
        .claims
        .extend(done.into_iter().map(|id| (id, NodeStatus::Completed)));
    let failed = facts.claims.iter();
    let failed = failed.filter(|(id, status)| {
        *status == NodeStatus::Failed && !plan.tasks.is_empty() && plan.task(id).is_none()
    });
    let gone: HashSet<NodeId> = failed.map(|(id, _)| id.clone()).collect();
    let mut nodes = node_specs(plan);
    nodes.extend(recorded.into_iter().filter_map(|mut node| {
        node.dependencies.retain(|id| !gone.contains(id));
        (plan.task(&node.id).is_none() && !gone.contains(&node.id)).then_some(node)
    }));
    facts.claims.retain(|(id, _)| !gone.contains(id));
    let graph = TaskGraph::new(nodes).ok()?;
    Some(OrchestrationState::from_facts(Arc::new(graph), &facts))
}

/// Returns the tasks of finished phases, for a file without lists of tasks.
fn landed_tasks(facts: &RunFacts, plan: &TasksFile) -> Vec<NodeId> {
    let listed = facts.phases.iter().any(|phase| !phase.tasks.is_empty());
    if listed || !facts.claims.is_empty() {
        return Vec::new();
    }
    let landed = |phase: u32| {
        let mut known = facts.phases.iter().filter(|it| it.number == phase);
        known.any(|it| it.landing.as_ref().is_some_and(LandingOutcome::has_landed))
    };
    let tasks = plan.tasks.iter().filter(|task| landed(task.phase));
    tasks.map(|task| NodeId::from(task.id.as_str())).collect()
}
