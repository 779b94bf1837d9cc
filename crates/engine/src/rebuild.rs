//! Documents made anew from other sources, when a file and its backups are lost.

use crate::kinds::FileKind;
use crate::workspace;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{self, Meta, Mode};
use bowline_formats::tasks_md::{self, TasksFile};
use bowline_machines::Timestamp;
use bowline_machines::orchestrate::{Facts, Graph, NodeSpec, Run, Status};
use std::path::Path;
use std::sync::Arc;

/// Where the list of tasks is looked for, below the root of a project.
pub const TASKS_FILES: [&str; 3] = [
    "docs/planning/06-tasks.md",
    "docs/planning/TASKS.md",
    "TASKS.md",
];

/// A document rebuilt from what else is known. `None` where nothing is.
pub(crate) fn rebuild(kind: FileKind, path: &Path, now: Timestamp) -> Option<JsonDocument> {
    match kind {
        // `.claude/orchestrate-state.json`: the project is two folders up.
        FileKind::Orchestrate => orchestration(path.parent()?.parent()?, now),
        FileKind::Thinking
        | FileKind::TaskState
        | FileKind::TaskHistory
        | FileKind::SharedContext
        | FileKind::AgentMemory
        | FileKind::Develop => None,
    }
}

fn orchestration(root: &Path, now: Timestamp) -> Option<JsonDocument> {
    let text = TASKS_FILES
        .iter()
        .find_map(|name| std::fs::read_to_string(root.join(name)).ok())?;
    let tasks = tasks_md::parse(&text);
    if tasks.blocking().is_some() {
        return None;
    }
    let run = run_of(&tasks, now)?;
    let project = tasks
        .project
        .clone()
        .or_else(|| workspace::folder_name(root))?;
    let meta = Meta {
        project,
        mode: Mode::UltraThin,
        slack_webhook_url: None,
    };
    Some(orchestrate::new_document(&meta, &run, now))
}

/// The run a list of tasks tells of: its graph, and what is ticked.
fn run_of(tasks: &TasksFile, now: Timestamp) -> Option<Run> {
    let edges: std::collections::BTreeMap<&str, Vec<Arc<str>>> = tasks
        .dependencies()
        .map(|(id, needs)| {
            let needs = needs.into_iter().map(|need| need.as_str().into()).collect();
            (id.as_str(), needs)
        })
        .collect();
    let nodes = tasks.tasks.iter().map(|task| NodeSpec {
        id: task.id.as_str().into(),
        phase: task.phase,
        dependencies: edges.get(task.id.as_str()).cloned().unwrap_or_default(),
    });
    let graph = Graph::new(nodes.collect()).ok()?;
    let ticked = tasks.tasks.iter().filter(|task| task.done);
    let open = tasks.tasks.iter().filter(|task| !task.done);
    let facts = Facts {
        claims: ticked
            .map(|task| (task.id.as_str().into(), Status::Completed))
            .collect(),
        current_phase: open.map(|task| task.phase).min(),
        ..Facts::none(now)
    };
    Some(Run::from_facts(Arc::new(graph), &facts))
}
