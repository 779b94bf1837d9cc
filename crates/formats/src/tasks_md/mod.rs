//! `TASKS.md`: the list of tasks that an orchestration runs, and its one-line protocol.
//!
//! [`parse_plan`] reads a file and never fails: problems are returned as findings beside everything
//! that could be read. [`set_tick`] and [`set_ticks`] change tick boxes and nothing else. [`wire`]
//! holds the lines that resolver, executor and main agent exchange. The format is described for
//! users in `docs/formats/tasks-md.md`.

mod asides;
mod blocks;
mod build;
mod check;
mod fields;
mod finding;
mod graph;
mod head;
mod id;
mod mermaid;
mod name_resolver;
mod parse;
mod references;
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
pub(crate) use id::{id_at_start, phase_of_id};
pub use parse::parse_plan;
pub use slug::{SLUG_BYTES_MAX, title_slug};
pub use status::{ProgressMark, TaskProgress};
pub use tick::{TickError, set_tick, set_ticks};

/// Size at which a plan is too large to be read.
pub const PLAN_BYTES_MAX: usize = 10_000_000;

/// Maximum number of dependencies read from one plan.
pub const EDGES_MAX: usize = 1_000_000;

/// A parsed plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TasksFile {
    /// The first `# ` heading, without a leading `TASKS:`.
    pub project: Option<String>,
    /// Phase headings in file order, one per number.
    pub phases: Vec<PhaseHeading>,
    /// Tasks in file order; their ids are unique.
    pub tasks: Vec<PlanTask>,
    /// Headings that name several tasks, in file order.
    pub groups: Vec<TaskGroup>,
    /// Edges of the Mermaid diagrams between tasks of this file, in file order.
    pub edges: Vec<DiagramEdge>,
    /// Problems and doubts, by line.
    pub findings: Vec<PlanFinding>,
    /// Position in `tasks` by id.
    index: HashMap<TaskId, usize>,
    /// For each task the positions of its dependencies: fields first, then diagrams; only tasks of
    /// this file, no repeats.
    needs: Vec<Vec<usize>>,
}

/// A heading such as `## Phase 1: User auth`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseHeading {
    pub number: u32,
    /// May be empty.
    pub title: String,
    /// The part of the title for use in a branch name; may be empty.
    pub slug: String,
    /// Line number, from 1.
    pub line: usize,
    /// Folder of the worktree that the plan asks for.
    pub worktree: Option<String>,
    /// Half phases in it (`Phase 1.5`), in file order.
    pub sections: Vec<PhaseSection>,
}

/// A heading such as `## Phase 1.5: Contracts`, an ordered section of phase 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseSection {
    /// Number behind the full stop.
    pub number: u32,
    /// May be empty.
    pub title: String,
    /// Line number, from 1.
    pub line: usize,
}

/// A heading such as `### P1-R1: Users` above `#### [ ] P1-R1-T1`: a name for several tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    pub id: TaskId,
    /// Its tasks, in file order.
    pub tasks: Vec<TaskId>,
    /// Line number of the heading, from 1.
    pub line: usize,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanTask {
    /// Unique in the file.
    pub id: TaskId,
    /// Phase stated in the header, else by the heading above, else the first number of the id.
    pub phase: u32,
    /// Section of its phase: 5 below `Phase 1.5`, 0 outside half phases.
    pub section: u32,
    /// May be empty.
    pub title: String,
    /// True if the plan marks it as done.
    pub done: bool,
    pub progress: TaskProgress,
    pub assignee: Option<String>,
    /// Folder to work in: its own field, else that of its phase.
    pub worktree: Option<String>,
    /// Files and folders that the plan says it changes.
    pub touches: Vec<String>,
    /// Tasks named in its dependency fields, without repeats; some may not be in the file.
    pub dependencies: Vec<TaskId>,
    /// Tasks of the file named in its parallel fields.
    pub parallel_with: Vec<TaskId>,
    /// Line number of the header, from 1.
    pub line: usize,
    /// Every mark that states its progress.
    pub marks: Vec<ProgressMark>,
    /// Byte range of the text that belongs to the task, after its header line.
    pub body: Range<usize>,
    /// Offset at which a sign behind its title would be inserted.
    title_end: Option<usize>,
}

/// An arrow of a diagram: `after` depends on `before`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagramEdge {
    pub before: TaskId,
    pub after: TaskId,
    /// Line number, from 1.
    pub line: usize,
}

impl TasksFile {
    /// Returns the task with this id.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<&PlanTask> {
        self.index.get(id).map(|at| &self.tasks[*at])
    }

    /// Returns the first finding that prevents running the tasks.
    #[must_use]
    pub fn blocking_finding(&self) -> Option<&PlanFinding> {
        self.findings
            .iter()
            .find(|finding| finding.severity == crate::finding::Severity::Error)
    }

    /// Returns the numbers of the phases that have tasks, ascending.
    #[must_use]
    pub fn phase_numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.tasks.iter().map(|task| task.phase).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Returns the name of a phase in branches and folders: `phase-1-user-auth`, or `phase-2` if
    /// the title has no Latin letters.
    #[must_use]
    pub fn phase_slug(&self, number: u32) -> String {
        let heading = self.phases.iter().find(|phase| phase.number == number);
        match heading.map_or("", |phase| &phase.slug) {
            "" => format!("phase-{number}"),
            slug => format!("phase-{number}-{slug}"),
        }
    }
}
