//! The graph of an orchestration as a picture, with its critical path.

use super::verbs::Orchestration;
use crate::context::Context;
use crate::error::Error;
use crate::kinds::FileKind;
use crate::rebuild::run_of;
use bowline_machines::orchestrate::{Config, Graph, Id, Run, Status};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Tasks that are drawn; of a larger graph nobody could see more.
pub const DRAWN_MAX: usize = 500;

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
    pub fn draw(&self, context: &Context, picture: Picture) -> Result<Drawing, Error> {
        let run = match self.run(context) {
            Err(Error::NoFile { .. }) => {
                let plan = self.plan(context)?;
                plan.usable()?;
                let now = context.now_for(FileKind::Orchestrate);
                run_of(&plan.file, Config::default(), now)
                    .ok_or(Error::NoPlan { path: plan.path })?
            }
            run => run?.1,
        };
        let sketch = Sketch::of(&run);
        Ok(Drawing {
            text: match picture {
                Picture::Dot => sketch.dot(),
                Picture::Mermaid => sketch.mermaid(),
                Picture::Svg => sketch.svg(),
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
struct Sketch<'r> {
    run: &'r Run,
    tasks: Vec<Id>,
    numbers: HashMap<Id, usize>,
    steps: HashMap<Id, usize>,
    critical: Vec<Id>,
    marked: HashSet<Id>,
}

impl<'r> Sketch<'r> {
    fn of(run: &'r Run) -> Self {
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
            tasks,
            steps,
            critical,
        }
    }

    fn status(&self, id: &str) -> Status {
        self.run
            .node(id)
            .map_or(Status::Pending, |node| node.status)
    }

    fn colour(&self, id: &str) -> &'static str {
        match self.status(id) {
            Status::Pending => "#eeeeee",
            Status::Ready => "#cfe8ff",
            Status::InProgress => "#fff3bf",
            Status::Completed => "#d3f9d8",
            Status::Failed => "#ffc9c9",
            Status::Blocked => "#ffe3e3",
        }
    }

    /// The edges between drawn tasks, and whether each is on the critical path.
    fn edges(&self) -> Vec<(usize, usize, bool)> {
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
    fn phases(&self) -> Vec<(u32, Vec<(usize, &Id)>)> {
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
            let _ = writeln!(text, "  subgraph phase_{phase}[\"Phase {phase}\"]");
            for (at, id) in tasks {
                let status = self.status(id).name();
                let _ = writeln!(text, "    t{at}[\"{}\"]:::{status}", escaped(id));
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
                "  subgraph cluster_{phase} {{\n    label=\"Phase {phase}\";"
            );
            for (at, id) in tasks {
                let wide = if self.marked.contains(id) {
                    ", penwidth=3"
                } else {
                    ""
                };
                let (label, colour) = (
                    id.replace('\\', "\\\\").replace('"', "\\\""),
                    self.colour(id),
                );
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

    fn svg(&self) -> String {
        const WIDTH: usize = 170;
        const HEIGHT: usize = 30;
        const COLUMN: usize = 220;
        const ROW: usize = 46;
        let mut rows: HashMap<usize, usize> = HashMap::new();
        let mut places = Vec::new();
        for id in &self.tasks {
            let step = self.steps[id];
            let row = rows.entry(step).or_default();
            places.push((20 + (step - 1) * COLUMN, 20 + *row * ROW));
            *row += 1;
        }
        let width = 20 + rows.keys().max().copied().unwrap_or(0) * COLUMN;
        let height = 20 + rows.values().max().copied().unwrap_or(0) * ROW;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        );
        for (from, to, critical) in self.edges() {
            let ((x1, y1), (x2, y2)) = (places[from], places[to]);
            let (x1, y1, y2) = (x1 + WIDTH, y1 + HEIGHT / 2, y2 + HEIGHT / 2);
            let (wide, middle) = (if critical { 3 } else { 1 }, x1.midpoint(x2));
            let _ = writeln!(
                text,
                "<path d=\"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}\" fill=\"none\" stroke=\"#555\" stroke-width=\"{wide}\"/>"
            );
        }
        for (id, (x, y)) in self.tasks.iter().zip(places) {
            let wide = if self.marked.contains(id) { 3 } else { 1 };
            let (label, fill) = (escaped(id), self.colour(id));
            let (text_x, text_y) = (x + 8, y + 19);
            let _ = writeln!(
                text,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"4\" fill=\"{fill}\" stroke=\"#333\" stroke-width=\"{wide}\"/><text x=\"{text_x}\" y=\"{text_y}\">{label}</text>"
            );
        }
        text.push_str("</svg>\n");
        text
    }
}

/// A text that ends no quotes and no tag.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
