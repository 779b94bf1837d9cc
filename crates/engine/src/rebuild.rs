//! Rebuilds documents from other sources when a file and its backups are lost.

use crate::workspace;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{self, OrchestrationMeta, RunMode};
use bowline_formats::tasks_md::{self, PlanTask, TasksFile};
use bowline_machines::Timestamp;
use bowline_machines::orchestrate::{
    LandingOutcome, NodeSpec, NodeStatus, OrchestrationLimits, OrchestrationState, PhaseFacts,
    RunFacts, TaskGraph,
};
use std::path::Path;
use std::sync::Arc;

/// Paths of task lists below the root of a project, in the order of search.
pub const TASKS_FILES: [&str; 3] = [
    "docs/planning/06-tasks.md",
    "docs/planning/TASKS.md",
    "TASKS.md",
];

/// Rebuilds the orchestration of a project from its task list; `None` without a readable one.
pub(crate) fn rebuild_orchestration(root: &Path, now: Timestamp) -> Option<JsonDocument> {
    let text = TASKS_FILES
        .iter()
        .find_map(|name| std::fs::read_to_string(root.join(name)).ok())?;
    let tasks = tasks_md::parse_plan(&text);
    if tasks.blocking_finding().is_some() {
        return None;
    }
    let run = run_of(&tasks, OrchestrationLimits::default(), now)?;
    let project = tasks
        .project
        .clone()
        .or_else(|| workspace::folder_name(root))?;
    let meta = OrchestrationMeta {
        project,
        mode: RunMode::UltraThin,
        slack_webhook_url: None,
    };
    Some(orchestrate::new_document(&meta, &run, now))
}

/// Converts the tasks of a plan to graph nodes.
pub(crate) fn node_specs(tasks: &TasksFile) -> Vec<NodeSpec> {
    let mut edges: std::collections::HashMap<&str, Vec<Arc<str>>> = tasks
        .open_dependencies()
        .map(|(id, needs)| {
            let needs = needs.into_iter().map(|need| need.as_str().into()).collect();
            (id.as_str(), needs)
        })
        .collect();
    let spec = |task: &PlanTask| NodeSpec {
        id: task.id.as_str().into(),
        phase: task.phase,
        section: task.section,
        dependencies: edges.remove(task.id.as_str()).unwrap_or_default(),
    };
    tasks.tasks.iter().map(spec).collect()
}

/// Builds the run of a task list: its graph and its ticks.
pub(crate) fn run_of(
    tasks: &TasksFile,
    config: OrchestrationLimits,
    now: Timestamp,
) -> Option<OrchestrationState> {
    let graph = TaskGraph::new(node_specs(tasks)).ok()?;
    let ticked = tasks.tasks.iter().filter(|task| task.done);
    let open = tasks.tasks.iter().filter(|task| !task.done);
    let current_phase = open.map(|task| task.phase).min();
    // Without open tasks, nothing is left to be merged either.
    let over = graph
        .phase_numbers()
        .last()
        .filter(|_| current_phase.is_none());
    let facts = RunFacts {
        config,
        claims: ticked
            .map(|task| (task.id.as_str().into(), NodeStatus::Completed))
            .collect(),
        phases: over
            .map(|&number| PhaseFacts {
                number,
                completed_at: Some(now),
                landing: Some(LandingOutcome::WithoutMerge),
                ..PhaseFacts::default()
            })
            .into_iter()
            .collect(),
        current_phase: current_phase.or(over.copied()),
        ..RunFacts::starting_at(now)
    };
    Some(OrchestrationState::from_facts(Arc::new(graph), &facts))
}
