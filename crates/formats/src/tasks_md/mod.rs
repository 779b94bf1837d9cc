//! `TASKS.md`: the list of tasks that an orchestration runs, and the one-line protocol it speaks.
//!
//! [`parse`] reads a file and never fails: what is wrong comes back as findings beside whatever could be read.
//! [`set_tick`] and [`set_ticks`] change tick boxes and nothing else. [`wire`] holds the lines that resolver, executor and main agent exchange.
//! The forms are described for users in `docs/formats/tasks-md.md`.

mod check;
mod fields;
mod finding;
mod graph;
mod header;
mod id;
mod lines;
mod mermaid;
mod parse;
mod slug;
mod tick;
pub mod wire;

use std::collections::HashMap;
use std::ops::Range;

pub use check::CYCLES_REPORTED_MAX;
pub use finding::{Finding, FindingCode, Severity};
pub use graph::{ExecutionOrder, Round};
pub(crate) use id::phase_told_by;
pub use id::{BadTaskId, ID_BYTES_MAX, TaskId};
pub use parse::{MERMAID_EDGES_MAX, parse};
pub use slug::{SLUG_BYTES_MAX, SLUG_EMPTY, slug};
pub use tick::{TickError, set_tick, set_ticks};

/// What a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TasksFile {
    /// The first `# ` heading, without a leading `TASKS:`.
    pub project: Option<String>,
    /// The phase headings, in file order, one per number.
    pub phases: Vec<PhaseHeading>,
    /// The tasks, in file order, ids unique.
    pub tasks: Vec<Task>,
    /// The edges of the Mermaid diagrams between tasks of this file, in file order.
    pub edges: Vec<Edge>,
    /// What is wrong or doubtful, by line.
    pub findings: Vec<Finding>,
    /// Position in `tasks` by id.
    index: HashMap<TaskId, usize>,
    /// For each task the positions of those it needs: fields first, then diagrams; only tasks of this file, no repeats.
    needs: Vec<Vec<usize>>,
}

/// `## Phase 1: User auth`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseHeading {
    /// The number of the phase.
    pub number: u32,
    /// The title, possibly empty.
    pub title: String,
    /// The title as part of a branch name.
    pub slug: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id, unique in the file.
    pub id: TaskId,
    /// Its phase: the first number of the id for ids of a known shape, else what the header or the heading above says.
    pub phase: u32,
    /// Its title, possibly empty.
    pub title: String,
    /// Whether its box is ticked.
    pub done: bool,
    /// Who does it.
    pub assignee: Option<String>,
    /// The tasks its dependency fields name, as written (also those that are not in the file), without repeats.
    pub dependencies: Vec<TaskId>,
    /// The tasks its parallel fields name and the file has.
    pub parallel_with: Vec<TaskId>,
    /// The line of the header, counted from 1.
    pub line: usize,
    /// Byte position of the mark in the tick box, if there is a box with a mark of one byte.
    pub tick: Option<usize>,
    /// Byte range of the text that belongs to the task, after its header line.
    pub body: Range<usize>,
}

/// An arrow of a diagram: `after` needs `before`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The task that comes first.
    pub before: TaskId,
    /// The task that needs it.
    pub after: TaskId,
    /// The line, counted from 1.
    pub line: usize,
}

impl TasksFile {
    /// The task of this id.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.index.get(id).map(|at| &self.tasks[*at])
    }

    /// The first finding that forbids to run the tasks.
    #[must_use]
    pub fn blocking(&self) -> Option<&Finding> {
        self.findings
            .iter()
            .find(|finding| finding.severity == Severity::Error)
    }

    /// The numbers of the phases that have tasks, ascending.
    #[must_use]
    pub fn phase_numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.tasks.iter().map(|task| task.phase).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The slug of a phase: that of its heading, or [`SLUG_EMPTY`] when it has none.
    #[must_use]
    pub fn phase_slug(&self, number: u32) -> &str {
        self.phases
            .iter()
            .find(|phase| phase.number == number)
            .map_or(SLUG_EMPTY, |phase| &phase.slug)
    }
}
