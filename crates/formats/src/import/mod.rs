//! Imports tasks of other programs as a plan: task-master, beads, spec-kit and Backlog.md.
//!
//! Each importer produces `TaskDraft`s; this module gives them ids that a plan can have and an
//! order. `plan_writer` writes them and parses the text back, so that the plan means what was
//! imported. Facts without a place in a plan are reported, never dropped.

mod backlog;
mod beads;
mod note_groups;
mod plan_writer;
mod spec_kit;
mod task_master;
mod task_order;
mod text;

use crate::tasks_md::{TaskId, TaskProgress, parse_plan};
pub use backlog::{BacklogFile, import_backlog};
pub use beads::import_beads;
use bowline_machines::named;
use bowline_words::message::Unplaced;
pub use note_groups::group_notes;
pub use plan_writer::write_plan;
pub use spec_kit::spec_kit;
use std::collections::{BTreeMap, HashMap, HashSet};
pub use task_master::{current_tag, task_master};

/// Status words of tasks that are over: done, or given up.
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

/// Normalises a status to one word, whatever separators a program uses.
fn status_word(status: &str) -> String {
    let word = status.trim().to_lowercase().replace(['-', ' '], "_");
    word.replace(['\'', '\u{2019}'], "")
}

/// True if a status says that a task is over. A task that was given up counts as done, since
/// nothing waits for it.
fn is_over(status: &str) -> bool {
    OVER.contains(&status_word(status).as_str())
}

named! {
    /// A program whose tasks can be imported.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ImportSource {
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

/// Reasons why an import fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportError {
    /// The file is not one of that program; the text is the parser's message, if any.
    NotIts(String),
    /// The file has no tasks.
    Empty,
    /// The plan would exceed the size limit of plans.
    TooLarge,
}

/// A phase of the plan, or a section of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedPhase {
    pub number: u32,
    /// Number behind the full stop, 0 for a phase without sections.
    pub section: u32,
    pub title: String,
}

/// A task of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedTask {
    pub id: TaskId,
    /// Index into [`PlanImport::phases`].
    pub phase: usize,
    /// Title in one line.
    pub title: String,
    pub progress: TaskProgress,
    pub assignee: Option<String>,
    /// Ids of the tasks it needs, without repeats.
    pub needs: Vec<TaskId>,
    /// Everything else known about the task.
    pub text: String,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanImport {
    /// Name of the project in the other program.
    pub project: Option<String>,
    /// Text that belongs to no task in particular.
    pub preface: String,
    pub phases: Vec<ImportedPhase>,
    /// Tasks in the order of the plan.
    pub tasks: Vec<ImportedTask>,
    /// Facts that were not imported as they were.
    pub unplaced: Vec<Unplaced>,
}

/// A task as it was found. Names are those of the other program.
#[derive(Debug, Default)]
struct TaskDraft {
    key: String,
    title: String,
    progress: TaskProgress,
    assignee: Option<String>,
    needs: Vec<String>,
    /// Tasks it follows only because of its position; omitted where that would close a cycle.
    follows: Vec<String>,
    phase: usize,
    /// Text that a plan has no field for.
    text: String,
}

impl TaskDraft {
    /// Appends a named value that a plan has no field for to the text.
    fn keep_value(&mut self, name: &str, value: &str) {
        let value = text::clean_text(value);
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

/// Everything an importer has found.
#[derive(Debug, Default)]
struct ImportDraft {
    project: Option<String>,
    preface: String,
    phases: Vec<ImportedPhase>,
    drafts: Vec<TaskDraft>,
    unplaced: Vec<Unplaced>,
    /// Names that stand for several tasks: a task that needs the name needs all of them.
    groups: HashMap<String, Vec<String>>,
    /// Number of tasks by name of a field that plans do not have.
    fields: BTreeMap<String, usize>,
}

impl ImportDraft {
    /// Keeps a field that plans do not have as text, unless it is blank.
    fn keep_field(&mut self, draft: &mut TaskDraft, name: &str, value: &str) {
        if !value.trim().is_empty() {
            draft.keep_value(name, value);
            *self.fields.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// Notes a task that is marked done while `open` of its parts are not.
    fn done_with_open_parts(&mut self, id: &str, open: usize) {
        if open > 0 {
            let id = id.to_owned();
            self.unplaced.push(Unplaced::DoneWithOpenParts { id, open });
        }
    }

    /// Builds the plan from the drafts.
    fn into_plan(mut self) -> Result<PlanImport, ImportError> {
        if self.drafts.is_empty() {
            return Err(ImportError::Empty);
        }
        if self.phases.is_empty() {
            self.phases.push(ImportedPhase {
                number: 1,
                section: 0,
                title: String::new(),
            });
        }
        let ids = assign_ids(&self.drafts, &mut self.unplaced);
        let edges = self.resolve_needs();
        let tasks = self.drafts.into_iter().enumerate().map(|(at, mut draft)| {
            if ids[at].as_str() != draft.key {
                draft.keep_value("id", &draft.key.clone());
            }
            ImportedTask {
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
        Ok(PlanImport {
            project: self.project.map(|name| text::one_line(&name)),
            preface: self.preface.trim().to_owned(),
            phases: self.phases,
            tasks: tasks.collect(),
            unplaced: self.unplaced.into_iter().chain(fields).collect(),
        })
    }
}

/// Assigns an id to every task: its own if a plan can have it.
fn assign_ids(drafts: &[TaskDraft], unplaced: &mut Vec<Unplaced>) -> Vec<TaskId> {
    // Tasks that can keep their id go first, so that no other task takes it.
    let mut taken = HashSet::new();
    let own = drafts.iter().map(|draft| {
        let id = readable_id(&draft.key)?;
        taken.insert(draft.key.clone()).then_some(id)
    });
    let own: Vec<Option<TaskId>> = own.collect();
    let all = drafts.iter().zip(own).map(|(draft, own)| {
        own.unwrap_or_else(|| {
            let id = similar_id(&draft.key, &mut taken);
            unplaced.push(Unplaced::Renamed {
                was: draft.key.clone(),
                id: id.to_string(),
            });
            id
        })
    });
    all.collect()
}

/// Returns the id if the header of a task with it is parsed as that task.
fn readable_id(id: &str) -> Option<TaskId> {
    let read = parse_plan(&format!(
        "{}: a\n",
        plan_writer::task_header(TaskProgress::Open, id)
    ));
    let [task] = &read.tasks[..] else { return None };
    (task.id.as_str() == id && task.title == "a").then(|| task.id.clone())
}

/// Makes a free id similar to one that a plan cannot have.
fn similar_id(key: &str, taken: &mut HashSet<String>) -> TaskId {
    const LETTERS_MAX: usize = 40;
    let beginning: String = key.chars().take(LETTERS_MAX).collect();
    let stem = text::hyphenate_words(&beginning);
    // A number makes an id of a word; a letter before it ensures that it is not taken for a phase.
    let tries = (1..).flat_map(|number| [format!("{stem}-{number}"), format!("I-{stem}-{number}")]);
    let tries = tries.map(|id| id.trim_matches('-').replace("--", "-"));
    let fits = tries
        .filter(|id| !taken.contains(id))
        .find_map(|id| readable_id(&id));
    #[expect(
        clippy::expect_used,
        reason = "`I-` with a number is an id, and there is a number nobody has"
    )]
    let id = fits.expect("some number is free");
    taken.insert(id.to_string());
    id
}
