//! Tasks of other programs as a plan of ours: task-master, beads, spec-kit and Backlog.md.
//!
//! Each reader makes `Draft`s of what it finds; here they get ids a plan can have and the order they have to keep; `plan` writes
//! them down and reads them back, so that what is written is what was meant. What a plan has no place for is told, never dropped.

mod backlog;
mod beads;
mod order;
mod plan;
mod report;
mod spec_kit;
mod task_master;
mod text;

use crate::tasks_md::{Progress, TaskId, parse};
pub use backlog::{Page, backlog};
pub use beads::beads;
use bowline_machines::named;
use bowline_words::message::Unplaced;
pub use plan::written;
pub use report::grouped;
pub use spec_kit::spec_kit;
use std::collections::{BTreeMap, HashMap, HashSet};
pub use task_master::{current_tag, task_master};

/// Words for what nobody works on any more: done, or given up.
const OVER: [&str; 26] = [
    "closed",
    "done",
    "complete",
    "completed",
    "finished",
    "resolved",
    "fixed",
    "merged",
    "shipped",
    "cancelled",
    "canceled",
    "wontfix",
    "wont_fix",
    "wont_do",
    "rejected",
    "declined",
    "invalid",
    "dropped",
    "abandoned",
    "superseded",
    "not_planned",
    "duplicate",
    "duplicated",
    "obsolete",
    "archived",
    "deleted",
];

/// A status as one word, whatever a program puts between its parts.
fn status_word(status: &str) -> String {
    let word = status.trim().to_lowercase().replace(['-', ' '], "_");
    word.replace(['\'', '\u{2019}'], "")
}

/// Whether a status says that nobody works on a task any more. What was given up counts as done: nothing waits for it.
fn is_over(status: &str) -> bool {
    OVER.contains(&status_word(status).as_str())
}

named! {
    /// A program whose tasks can be taken over.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Source {
        /// `.taskmaster/tasks/tasks.json`.
        TaskMaster = "task-master",
        /// `.beads/issues.jsonl`.
        Beads = "beads",
        /// `specs/NAME/tasks.md`.
        SpecKit = "spec-kit",
        /// `backlog/tasks/*.md`.
        Backlog = "backlog",
    }
}

/// Why nothing could be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Not a file of that program.
    NotIts(String),
    /// There is no task in it.
    Empty,
    /// The plan would be larger than plans are read.
    TooLarge,
}

/// A phase of the plan, or a section of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// Its number.
    pub number: u32,
    /// The number behind the full stop, 0 without one.
    pub section: u32,
    /// Its title.
    pub title: String,
}

/// A task of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its id in the plan.
    pub id: TaskId,
    /// Its phase, by its place in the list of them.
    pub phase: usize,
    /// Its title, in one line.
    pub title: String,
    /// How far it is.
    pub progress: Progress,
    /// Who does it.
    pub assignee: Option<String>,
    /// What it needs, without repeats.
    pub needs: Vec<TaskId>,
    /// Everything else that is told of it.
    pub text: String,
}

/// What was taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// What the project is called there.
    pub project: Option<String>,
    /// What is told of no task in particular.
    pub preface: String,
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// The tasks, in order.
    pub tasks: Vec<Item>,
    /// What had no place, or a place other than it had.
    pub unplaced: Vec<Unplaced>,
}

/// A task as it was found. Names are those of the other program.
#[derive(Debug, Default)]
struct Draft {
    key: String,
    title: String,
    progress: Progress,
    assignee: Option<String>,
    needs: Vec<String>,
    /// What it follows only because of where it stands; left out where that would make a circle.
    follows: Vec<String>,
    phase: usize,
    /// Lines and paragraphs that a plan has no field for.
    text: String,
}

impl Draft {
    /// Keeps a value that has no field of its own.
    fn keep(&mut self, name: &str, value: &str) {
        let value = text::clean(value);
        let value = value.trim();
        if value.is_empty() {
            return;
        }
        match value.contains('\n') || value.len() > 100 {
            true => self.text.push_str(&format!("\n{name}:\n{value}\n")),
            false => self.text.push_str(&format!("{name}: {value}\n")),
        }
    }
}

/// What a reader has found.
#[derive(Debug, Default)]
struct Found {
    project: Option<String>,
    preface: String,
    phases: Vec<Phase>,
    drafts: Vec<Draft>,
    unplaced: Vec<Unplaced>,
    /// Names that are several tasks: whoever needs one needs them all.
    groups: HashMap<String, Vec<String>>,
    /// Fields that a plan does not have, and how many tasks have them.
    fields: BTreeMap<String, usize>,
}

impl Found {
    /// Keeps a field that a plan does not have as text, if it says anything.
    fn field(&mut self, draft: &mut Draft, name: &str, told: &str) {
        if !told.trim().is_empty() {
            draft.keep(name, told);
            *self.fields.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// Notes a task that is told to be done while so many of its parts are not.
    fn done_with_open_parts(&mut self, id: &str, open: usize) {
        if open > 0 {
            let id = id.to_owned();
            self.unplaced.push(Unplaced::DoneWithOpenParts { id, open });
        }
    }

    /// The plan of it.
    fn finished(mut self) -> Result<Imported, Refused> {
        if self.drafts.is_empty() {
            return Err(Refused::Empty);
        }
        if self.phases.is_empty() {
            self.phases.push(Phase {
                number: 1,
                section: 0,
                title: String::new(),
            });
        }
        let ids = named(&self.drafts, &mut self.unplaced);
        let edges = self.ordered();
        let tasks = self.drafts.into_iter().enumerate().map(|(at, mut draft)| {
            if ids[at].as_str() != draft.key {
                draft.keep("id", &draft.key.clone());
            }
            Item {
                id: ids[at].clone(),
                phase: draft.phase,
                title: text::one_line(&draft.title),
                progress: draft.progress,
                assignee: draft.assignee.map(|who| text::one_line(&who)),
                needs: edges[at].iter().map(|&need| ids[need].clone()).collect(),
                text: draft.text.trim().to_owned(),
            }
        });
        let fields = self.fields.into_iter();
        let fields = fields.map(|(name, tasks)| Unplaced::Field { name, tasks });
        Ok(Imported {
            project: self.project.map(|name| text::one_line(&name)),
            preface: self.preface.trim().to_owned(),
            phases: self.phases,
            tasks: tasks.collect(),
            unplaced: self.unplaced.into_iter().chain(fields).collect(),
        })
    }
}

/// An id for every task: its own where a plan can have it.
fn named(drafts: &[Draft], unplaced: &mut Vec<Unplaced>) -> Vec<TaskId> {
    // Whoever can keep its id goes first, so that no other takes it.
    let mut taken = HashSet::new();
    let own = drafts.iter().map(|draft| {
        let id = can_be_read(&draft.key)?;
        taken.insert(draft.key.clone()).then_some(id)
    });
    let own: Vec<Option<TaskId>> = own.collect();
    let all = drafts.iter().zip(own).map(|(draft, own)| {
        own.unwrap_or_else(|| {
            let id = like(&draft.key, &mut taken);
            unplaced.push(Unplaced::Renamed {
                was: draft.key.clone(),
                id: id.to_string(),
            });
            id
        })
    });
    all.collect()
}

/// The id, where the header of a task that has it is read as one.
fn can_be_read(id: &str) -> Option<TaskId> {
    let read = parse(&format!("{}: a\n", plan::header(Progress::Open, id)));
    let [task] = &read.tasks[..] else { return None };
    (task.id.as_str() == id && task.title == "a").then(|| task.id.clone())
}

/// An id like one that a plan cannot have.
fn like(key: &str, taken: &mut HashSet<String>) -> TaskId {
    const LETTERS_MAX: usize = 40;
    let beginning: String = key.chars().take(LETTERS_MAX).collect();
    let stem = text::hyphenated(&beginning);
    // A number makes an id of a word; a letter before it makes sure that it is no phase.
    let tries = (1..).flat_map(|number| [format!("{stem}-{number}"), format!("I-{stem}-{number}")]);
    let tries = tries.map(|id| id.trim_matches('-').replace("--", "-"));
    let fits = tries
        .filter(|id| !taken.contains(id))
        .find_map(|id| can_be_read(&id));
    #[expect(
        clippy::expect_used,
        reason = "`I-` with a number is an id, and there is a number nobody has"
    )]
    let id = fits.expect("some number is free");
    taken.insert(id.to_string());
    id
}
