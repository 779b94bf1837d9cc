//! `TASKS.md`: the list of tasks that an orchestration runs, and the one-line protocol it speaks.
//!
//! [`parse`] reads a file and never fails: what is wrong comes back as findings beside whatever could be read.
//! [`set_tick`] and [`set_ticks`] change tick boxes and nothing else. [`wire`] holds the lines that resolver, executor and main agent exchange.
//! The forms are described for users in `docs/formats/tasks-md.md`.

mod asides;
mod blocks;
mod build;
mod check;
mod fields;
mod finding;
mod graph;
mod head;
mod id;
mod lookup;
mod mermaid;
mod parse;
mod refs;
mod roles;
mod slug;
mod status;
mod survey;
mod tick;
pub mod wire;

use std::collections::HashMap;
use std::ops::Range;

pub use check::CYCLES_REPORTED_MAX;
pub use finding::{PlanFinding, PlanFindingCode};
pub use id::{BadTaskId, ID_BYTES_MAX, TaskId};
pub(crate) use id::{id_at_start, phase_told_by};
pub use parse::parse;
pub use slug::{SLUG_BYTES_MAX, slug};
pub use status::{Mark, Progress};
pub use tick::{TickError, set_tick, set_ticks};

/// A plan of this many bytes or more is not read.
pub const PLAN_BYTES_MAX: usize = 10_000_000;

/// Most dependencies that are read from one plan.
pub const EDGES_MAX: usize = 1_000_000;

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TasksFile {
    /// The first `# ` heading, without a leading `TASKS:`.
    pub project: Option<String>,
    /// The phase headings, in file order, one per number.
    pub phases: Vec<PhaseHeading>,
    /// The tasks, in file order, ids unique.
    pub tasks: Vec<Task>,
    /// The headings that name several tasks, in file order.
    pub groups: Vec<Group>,
    /// The edges of the Mermaid diagrams between tasks of this file, in file order.
    pub edges: Vec<Edge>,
    /// What is wrong or doubtful, by line.
    pub findings: Vec<PlanFinding>,
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
    /// The part of the title that may stand in a branch name, possibly empty.
    pub slug: String,
    /// The line, counted from 1.
    pub line: usize,
    /// Where the plan wants it worked on.
    pub worktree: Option<String>,
    /// The half phases in it (`Phase 1.5`), in file order.
    pub sections: Vec<Section>,
}

/// `## Phase 1.5: Contracts`, an ordered section of phase 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The number behind the full stop.
    pub number: u32,
    /// The title, possibly empty.
    pub title: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// `### P1-R1: Users` above `#### [ ] P1-R1-T1`: a name for several tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The id.
    pub id: TaskId,
    /// Its tasks, in file order.
    pub tasks: Vec<TaskId>,
    /// The line of the heading, counted from 1.
    pub line: usize,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id, unique in the file.
    pub id: TaskId,
    /// Its phase: what the header says, else the heading above, else the first number of the id.
    pub phase: u32,
    /// The section of its phase: 5 below `Phase 1.5`, 0 outside of half phases.
    pub section: u32,
    /// Its title, possibly empty.
    pub title: String,
    /// Whether the plan calls it done.
    pub done: bool,
    /// How far the plan says it is.
    pub progress: Progress,
    /// Who does it.
    pub assignee: Option<String>,
    /// Where it is worked on: its own field, else that of its phase.
    pub worktree: Option<String>,
    /// The files and folders it says that it changes.
    pub touches: Vec<String>,
    /// The tasks its dependency fields name (also those that are not in the file), without repeats.
    pub dependencies: Vec<TaskId>,
    /// The tasks its parallel fields name and the file has.
    pub parallel_with: Vec<TaskId>,
    /// The line of the header, counted from 1.
    pub line: usize,
    /// Every place that says how far it is.
    pub marks: Vec<Mark>,
    /// Byte range of the text that belongs to the task, after its header line.
    pub body: Range<usize>,
    /// Where a sign behind its title would stand.
    title_end: Option<usize>,
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
    pub fn blocking(&self) -> Option<&PlanFinding> {
        self.findings
            .iter()
            .find(|finding| finding.severity == crate::finding::Severity::Error)
    }

    /// The numbers of the phases that have tasks, ascending.
    #[must_use]
    pub fn phase_numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.tasks.iter().map(|task| task.phase).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The name of a phase in branches and folders: `phase-1-user-auth`, `phase-2` where the title has no Latin letters.
    #[must_use]
    pub fn phase_slug(&self, number: u32) -> String {
        let heading = self.phases.iter().find(|phase| phase.number == number);
        match heading.map_or("", |phase| &phase.slug) {
            "" => format!("phase-{number}"),
            slug => format!("phase-{number}-{slug}"),
        }
    }
}
