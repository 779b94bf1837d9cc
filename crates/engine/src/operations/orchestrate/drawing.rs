//! The graph of an orchestration as a picture, with its critical path.

use super::Plan;
use super::timeline_svg::cut;
use super::verbs::Orchestration;
use crate::context::Context;
use crate::error::Error;
use crate::kinds::FileKind;
use crate::rebuild::run_of;
use bowline_machines::orchestrate::{Config, Graph, Id, Run, Status};
use bowline_words::Lang;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Tasks that are drawn; of a larger graph nobody could see more.
pub const DRAWN_MAX: usize = 2_000;
/// Columns of a title that are drawn.
const TITLE_COLUMNS: usize = 40;

/// A language of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// Graphviz.
    Dot,
    /// Mermaid, as plans have it.
    Mermaid,
    /// A picture any browser shows: a column for every step, from left to right.
    Svg,
}

/// The graph as a picture.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// The picture.
    pub text: String,
    /// The longest chain of tasks that have to follow each other, from the first to the last.
    pub critical: Vec<String>,
    /// Tasks that were left out.
    pub left_out: usize,
}

impl Orchestration {
    /// Draws the graph; before a run has begun, that of the plan. Writes nothing.
    pub fn draw(&self, context: &Context, picture: Picture, lang: Lang) -> Result<Drawing, Error> {
        let (run, plan) = match self.run(context) {
            Err(Error::NoFile { .. }) => {
                let plan = self.plan(context)?;
                plan.usable()?;
                let now = context.now_for(FileKind::Orchestrate);
                let run = run_of(&plan.file, Config::default(), now);
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
        let sketch = Sketch::of(&run, plan.as_ref());
        Ok(Drawing {
            text: match picture {
                Picture::Dot => sketch.dot(),
                Picture::Mermaid => sketch.mermaid(),
                Picture::Svg => sketch.svg(lang),
            },
            critical: sketch.critical.iter().map(ToString::to_string).collect(),
            left_out: run.graph().len() - sketch.tasks.len(),
        })
    }
}

/// The step each task can be done in at the earliest, counted from 1: behind what it needs, and behind earlier phases.
fn steps(graph: &Graph) -> HashMap<Id, usize> {
    let mut steps: HashMap<Id, usize> = HashMap::with_capacity(graph.len());
    let mut reached = 0;
    for &phase in graph.phases() {
        let members = graph.tasks_of(phase);
        let inside = |id: &Id| graph.phase_of(id) == Some(phase);
        let mut waits: HashMap<Id, usize> = HashMap::new();
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

/// The longest chain of tasks that have to follow each other; the first in the plan where several are as long.
fn critical_path(graph: &Graph, steps: &HashMap<Id, usize>) -> Vec<Id> {
    let mut first: HashMap<usize, &Id> = HashMap::new();
    for id in graph.ids() {
        first.entry(steps[id]).or_insert(id);
    }
    let mut path = Vec::new();
    let mut step = first.keys().copied().max().unwrap_or(0);
    while step > 0 {
        let behind = path.last().and_then(|id: &Id| {
            let needs = graph.dependencies_of(id).into_iter();
            let mut needs = needs.filter(|need| steps[need] == step);
            needs.next()
        });
        // A phase follows all of the one before it, whatever its tasks need.
        let Some(id) = behind.or_else(|| first.get(&step).copied().cloned()) else {
            break;
        };
        path.push(id);
        step -= 1;
    }
    path.reverse();
    path
}

/// What is drawn, whatever the language.
pub(super) struct Sketch<'r> {
    pub(super) run: &'r Run,
    plan: Option<&'r Plan>,
    pub(super) tasks: Vec<Id>,
    numbers: HashMap<Id, usize>,
    pub(super) steps: HashMap<Id, usize>,
    critical: Vec<Id>,
    pub(super) marked: HashSet<Id>,
}

impl<'r> Sketch<'r> {
    fn of(run: &'r Run, plan: Option<&'r Plan>) -> Self {
        let graph = run.graph();
        let steps = steps(graph);
        let critical = critical_path(graph, &steps);
        let tasks: Vec<Id> = graph.ids().iter().take(DRAWN_MAX).cloned().collect();
        Sketch {
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

    /// The title of a task, as the plan has it.
    pub(super) fn title(&self, id: &str) -> &str {
        let task = self.plan.and_then(|plan| plan.file.task(id));
        task.map_or("", |task| &task.title)
    }

    /// What a phase is called.
    pub(super) fn phase_title(&self, phase: u32) -> &str {
        let headings = self.plan.map(|plan| &plan.file.phases);
        let heading = headings.and_then(|all| all.iter().find(|it| it.number == phase));
        heading.map_or("", |heading| &heading.title)
    }

    /// `T1.1: Model`, one line that is no longer than it can be read.
    fn label(&self, id: &str) -> String {
        named(id, self.title(id))
    }

    fn phase_label(&self, phase: u32) -> String {
        named(&format!("Phase {phase}"), self.phase_title(phase))
    }

    pub(super) fn status(&self, id: &str) -> Status {
        self.run
            .node(id)
            .map_or(Status::Pending, |node| node.status)
    }

    fn colour(&self, id: &str) -> &'static str {
        colour(self.status(id))
    }

    /// The edges between drawn tasks, and whether each is on the critical path.
    pub(super) fn edges(&self) -> Vec<(usize, usize, bool)> {
        let follows: HashSet<(&Id, &Id)> = self
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

    /// The drawn tasks of every phase, with their numbers.
    pub(super) fn phases(&self) -> Vec<(u32, Vec<(usize, &Id)>)> {
        let graph = self.run.graph();
        let of = |phase| {
            let tasks = self.tasks.iter().enumerate();
            let here = tasks.filter(|(_, id)| graph.phase_of(id) == Some(phase));
            (phase, here.collect::<Vec<_>>())
        };
        let phases = graph.phases().iter().map(|&phase| of(phase));
        phases.filter(|(_, tasks)| !tasks.is_empty()).collect()
    }

    fn mermaid(&self) -> String {
        let mut text = "graph LR\n".to_owned();
        for (phase, tasks) in self.phases() {
            let _ = writeln!(
                text,
                "  subgraph phase_{phase}[\"{}\"]",
                escaped(&self.phase_label(phase))
            );
            for (at, id) in tasks {
                let status = self.status(id).name();
                let _ = writeln!(
                    text,
                    "    t{at}[\"{}\"]:::{status}",
                    escaped(&self.label(id))
                );
            }
            text.push_str("  end\n");
        }
        for (from, to, critical) in self.edges() {
            let arrow = if critical { "==>" } else { "-->" };
            let _ = writeln!(text, "  t{from} {arrow} t{to}");
        }
        for status in Status::ALL {
            if let Some(id) = self.tasks.iter().find(|id| self.status(id) == status) {
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

    fn dot(&self) -> String {
        let mut text =
            "digraph plan {\n  rankdir=LR;\n  node [shape=box, style=filled];\n".to_owned();
        for (phase, tasks) in self.phases() {
            let _ = writeln!(
                text,
                "  subgraph cluster_{phase} {{\n    label=\"{}\";",
                quoted(&self.phase_label(phase))
            );
            for (at, id) in tasks {
                let wide = if self.marked.contains(id) {
                    ", penwidth=3"
                } else {
                    ""
                };
                let (label, colour) = (quoted(&self.label(id)), self.colour(id));
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

/// A text in the quotes of Graphviz.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// A text that ends no quotes and no tag, without letters that no picture may hold.
pub(super) fn escaped(text: &str) -> String {
    text.replace(|letter: char| letter.is_control() && letter != '\n', "")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The colour of a status.
pub(super) fn colour(status: Status) -> &'static str {
    match status {
        Status::Pending => "#eeeeee",
        Status::Ready => "#cfe8ff",
        Status::InProgress => "#fff3bf",
        Status::Completed => "#d3f9d8",
        Status::Failed => "#ffc9c9",
        Status::Blocked => "#ffe3e3",
    }
}

/// A name and what it is called, in one line.
fn named(name: &str, title: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    match title.is_empty() {
        true => name.to_owned(),
        false => format!("{name}: {}", cut(&title, TITLE_COLUMNS)),
    }
}
