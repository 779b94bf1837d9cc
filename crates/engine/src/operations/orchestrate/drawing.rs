//! Draws the graph of an orchestration, with its critical path.

use super::PlanFile;
use super::timeline_svg::cut_to_columns;
use super::verbs::Orchestration;
use crate::context::Context;
use crate::error::Error;
use crate::kinds::FileKind;
use crate::rebuild::run_of;
use bowline_machines::orchestrate::{
    NodeId, NodeStatus, OrchestrationLimits, OrchestrationState, TaskGraph,
};
use bowline_words::Lang;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Most tasks that are drawn; a larger drawing would be unreadable.
pub const DRAWN_MAX: usize = 2_000;
/// Most columns of a title that are drawn.
const TITLE_COLUMNS: usize = 40;

/// Format of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawingFormat {
    Dot,
    /// Mermaid, as in plans.
    Mermaid,
    /// SVG for browsers: one column per step, from left to right.
    Svg,
}

/// Drawn graph.
#[derive(Debug, Clone)]
pub struct RenderedGraph {
    /// Drawing in its format.
    pub text: String,
    /// Longest chain of tasks that depend on each other, from the first to the last.
    pub critical: Vec<String>,
    /// Number of tasks that were left out.
    pub left_out: usize,
}

impl Orchestration {
    /// Draws the graph; before a run has begun, that of the plan. Writes nothing.
    pub fn draw_graph(
        &self,
        context: &Context,
        picture: DrawingFormat,
        lang: Lang,
    ) -> Result<RenderedGraph, Error> {
        let (run, plan) = match self.read_run(context) {
            Err(Error::NoFile { .. }) => {
                let plan = self.read_plan(context)?;
                plan.check_usable()?;
                let now = context.now_for(FileKind::Orchestrate);
                let run = run_of(&plan.file, OrchestrationLimits::default(), now);
                let run = run.ok_or_else(|| Error::NoPlan {
                    path: plan.path.clone(),
                })?;
                (run, Some(plan))
            }
            run => {
                let (view, run) = run?;
                (run, self.plan_beside(&view.document))
            }
        };
        let sketch = GraphSketch::from_run(&run, plan.as_ref());
        Ok(RenderedGraph {
            text: match picture {
                DrawingFormat::Dot => sketch.to_dot(),
                DrawingFormat::Mermaid => sketch.to_mermaid(),
                DrawingFormat::Svg => sketch.to_svg(lang),
            },
            critical: sketch.critical.iter().map(ToString::to_string).collect(),
            left_out: run.graph().len() - sketch.tasks.len(),
        })
    }
}

/// Returns the earliest step of each task, counted from 1: after its dependencies and after earlier
/// phases.
fn earliest_steps(graph: &TaskGraph) -> HashMap<NodeId, usize> {
    let mut steps: HashMap<NodeId, usize> = HashMap::with_capacity(graph.len());
    let mut reached = 0;
    for &phase in graph.phase_numbers() {
        let members = graph.tasks_of(phase);
        let inside = |id: &NodeId| graph.phase_of(id) == Some(phase);
        let mut waits: HashMap<NodeId, usize> = HashMap::new();
        let mut open = Vec::new();
        for id in &members {
            let needs = graph.dependencies_of(id);
            match needs.iter().filter(|need| inside(need)).count() {
                0 => open.push(id.clone()),
                count => drop(waits.insert(id.clone(), count)),
            }
        }
        let before = reached;
        while let Some(id) = open.pop() {
            let needs = graph.dependencies_of(&id);
            let behind = needs.iter().filter_map(|need| steps.get(need)).max();
            let step = behind.copied().unwrap_or(0).max(before) + 1;
            reached = reached.max(step);
            steps.insert(id.clone(), step);
            for dependent in graph.dependents_of(&id) {
                if let Some(count) = waits.get_mut(&dependent) {
                    *count -= 1;
                    if *count == 0 {
                        open.push(dependent);
                    }
                }
            }
        }
    }
    steps
}

/// Returns the longest chain of dependent tasks; of equally long ones, the first in the plan.
fn critical_path(graph: &TaskGraph, steps: &HashMap<NodeId, usize>) -> Vec<NodeId> {
    let mut first: HashMap<usize, &NodeId> = HashMap::new();
    for id in graph.ids() {
        first.entry(steps[id]).or_insert(id);
    }
    let mut path = Vec::new();
    let mut step = first.keys().copied().max().unwrap_or(0);
    while step > 0 {
        let behind = path.last().and_then(|id: &NodeId| {
            let needs = graph.dependencies_of(id).into_iter();
            let mut needs = needs.filter(|need| steps[need] == step);
            needs.next()
        });
        // A phase follows all of the previous one, whatever its tasks depend on.
        let Some(id) = behind.or_else(|| first.get(&step).copied().cloned()) else {
            break;
        };
        path.push(id);
        step -= 1;
    }
    path.reverse();
    path
}

/// Contents of a drawing, independent of its format.
pub(super) struct GraphSketch<'r> {
    pub(super) run: &'r OrchestrationState,
    plan: Option<&'r PlanFile>,
    pub(super) tasks: Vec<NodeId>,
    numbers: HashMap<NodeId, usize>,
    pub(super) steps: HashMap<NodeId, usize>,
    critical: Vec<NodeId>,
    pub(super) marked: HashSet<NodeId>,
}

impl<'r> GraphSketch<'r> {
    fn from_run(run: &'r OrchestrationState, plan: Option<&'r PlanFile>) -> Self {
        let graph = run.graph();
        let steps = earliest_steps(graph);
        let critical = critical_path(graph, &steps);
        let tasks: Vec<NodeId> = graph.ids().iter().take(DRAWN_MAX).cloned().collect();
        GraphSketch {
            numbers: tasks
                .iter()
                .enumerate()
                .map(|(at, id)| (id.clone(), at))
                .collect(),
            marked: critical.iter().cloned().collect(),
            run,
            plan,
            tasks,
            steps,
            critical,
        }
    }

    /// Returns the title of a task in the plan.
    pub(super) fn task_title(&self, id: &str) -> &str {
        let task = self.plan.and_then(|plan| plan.file.task(id));
        task.map_or("", |task| &task.title)
    }

    /// Returns the title of a phase in the plan.
    pub(super) fn phase_title(&self, phase: u32) -> &str {
        let headings = self.plan.map(|plan| &plan.file.phases);
        let heading = headings.and_then(|all| all.iter().find(|it| it.number == phase));
        heading.map_or("", |heading| &heading.title)
    }

    /// Returns one short line, such as `T1.1: Model`.
    fn task_label(&self, id: &str) -> String {
        name_with_title(id, self.task_title(id))
    }

    fn phase_label(&self, phase: u32) -> String {
        name_with_title(&format!("Phase {phase}"), self.phase_title(phase))
    }

    pub(super) fn task_status(&self, id: &str) -> NodeStatus {
        self.run
            .find_node(id)
            .map_or(NodeStatus::Pending, |node| node.status)
    }

    fn colour(&self, id: &str) -> &'static str {
        colour(self.task_status(id))
    }

    /// Returns the edges between drawn tasks, each with true if it is on the critical path.
    pub(super) fn edges(&self) -> Vec<(usize, usize, bool)> {
        let follows: HashSet<(&NodeId, &NodeId)> = self
            .critical
            .iter()
            .zip(self.critical.iter().skip(1))
            .collect();
        let mut edges = Vec::new();
        for (to, id) in self.tasks.iter().enumerate() {
            for need in self.run.graph().dependencies_of(id) {
                if let Some(&from) = self.numbers.get(&need) {
                    edges.push((from, to, follows.contains(&(&need, id))));
                }
            }
        }
        edges
    }

    /// Returns the drawn tasks of every phase, with their numbers.
    pub(super) fn drawn_phases(&self) -> Vec<(u32, Vec<(usize, &NodeId)>)> {
        let graph = self.run.graph();
        let of = |phase| {
            let tasks = self.tasks.iter().enumerate();
            let here = tasks.filter(|(_, id)| graph.phase_of(id) == Some(phase));
            (phase, here.collect::<Vec<_>>())
        };
        let phases = graph.phase_numbers().iter().map(|&phase| of(phase));
        phases.filter(|(_, tasks)| !tasks.is_empty()).collect()
    }

    fn to_mermaid(&self) -> String {
        let mut text = "graph LR\n".to_owned();
        for (phase, tasks) in self.drawn_phases() {
            let _ = writeln!(
                text,
                "  subgraph phase_{phase}[\"{}\"]",
                escape_xml(&self.phase_label(phase))
            );
            for (at, id) in tasks {
                let status = self.task_status(id).name();
                let _ = writeln!(
                    text,
                    "    t{at}[\"{}\"]:::{status}",
                    escape_xml(&self.task_label(id))
                );
            }
            text.push_str("  end\n");
        }
        for (from, to, critical) in self.edges() {
            let arrow = if critical { "==>" } else { "-->" };
            let _ = writeln!(text, "  t{from} {arrow} t{to}");
        }
        for status in NodeStatus::ALL {
            if let Some(id) = self.tasks.iter().find(|id| self.task_status(id) == status) {
                let _ = writeln!(
                    text,
                    "  classDef {} fill:{}",
                    status.name(),
                    self.colour(id)
                );
            }
        }
        let marked: Vec<String> = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, id)| self.marked.contains(*id))
            .map(|(at, _)| format!("t{at}"))
            .collect();
        if !marked.is_empty() {
            text.push_str("  classDef critical stroke-width:4px\n");
            let _ = writeln!(text, "  class {} critical", marked.join(","));
        }
        text
    }

    fn to_dot(&self) -> String {
        let mut text =
            "digraph plan {\n  rankdir=LR;\n  node [shape=box, style=filled];\n".to_owned();
        for (phase, tasks) in self.drawn_phases() {
            let _ = writeln!(
                text,
                "  subgraph cluster_{phase} {{\n    label=\"{}\";",
                quote_dot(&self.phase_label(phase))
            );
            for (at, id) in tasks {
                let wide = if self.marked.contains(id) {
                    ", penwidth=3"
                } else {
                    ""
                };
                let (label, colour) = (quote_dot(&self.task_label(id)), self.colour(id));
                let _ = writeln!(
                    text,
                    "    t{at} [label=\"{label}\", fillcolor=\"{colour}\"{wide}];"
                );
            }
            text.push_str("  }\n");
        }
        for (from, to, critical) in self.edges() {
            let wide = if critical { " [penwidth=3]" } else { "" };
            let _ = writeln!(text, "  t{from} -> t{to}{wide};");
        }
        text.push_str("}\n");
        text
    }
}

/// Escapes a text for a quoted string of Graphviz.
fn quote_dot(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Escapes quotes and tags, and removes control characters, which no drawing format allows.
pub(super) fn escape_xml(text: &str) -> String {
    text.replace(|letter: char| letter.is_control() && letter != '\n', "")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns the fill colour of a status.
pub(super) fn colour(status: NodeStatus) -> &'static str {
    match status {
        NodeStatus::Pending => "#eeeeee",
        NodeStatus::Ready => "#cfe8ff",
        NodeStatus::InProgress => "#fff3bf",
        NodeStatus::Completed => "#d3f9d8",
        NodeStatus::Failed => "#ffc9c9",
        NodeStatus::Blocked => "#ffe3e3",
    }
}

/// Joins a name and a title in one line.
fn name_with_title(name: &str, title: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    match title.is_empty() {
        true => name.to_owned(),
        false => format!("{name}: {}", cut_to_columns(&title, TITLE_COLUMNS)),
    }
}
