//! The verbs of `bowline orchestrate`. Here: what is looked at, a plan, and a state file whatever its family.

mod announced;
mod answer;
mod compare;
mod drawing;
mod drawing_svg;
mod exchange;
mod merge;
pub(crate) mod own_plan;
mod owned;
mod rescue;
mod timeline;
mod timeline_svg;
mod verbs;

pub use announced::{Announced, News};
pub use answer::answer;
pub use bowline_machines::orchestrate::Status;
pub use compare::{Comparison, PhaseDifference};
pub use drawing::{DRAWN_MAX, Drawing, Picture};
pub use exchange::{ExportFormat, Exported, Taken, plan_place, save, take_over};
pub use owned::Owned;
pub use rescue::{Rescued, Restored};
pub use timeline::{Bar, Lane, Timeline, Try, TryEnd};
pub use verbs::{Begin, Begun, Orchestration, PhaseFinished, TaskMoved};

use crate::advice;
use crate::context::Context;
use crate::error::Error;
use crate::files::{KnownFile, View};
use crate::kinds::FileKind;
use crate::rebuild::TASKS_FILES;
use crate::words::{cannot_be_read, shown};
use crate::workspace;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{self, Summary};
use bowline_formats::tasks_md::{self, PLAN_BYTES_MAX, TasksFile};
use bowline_machines::Machine as _;
use bowline_machines::orchestrate::OrchestrateMachine;
use bowline_words::message::{Advice, Wrong};
use merge::Ticks;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A plan that was read.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub file: TasksFile,
    /// Its text.
    pub text: String,
}

/// A state file at a glance, with its plan where there is one.
#[derive(Debug, Clone)]
pub struct Glance {
    /// The file.
    pub view: View,
    /// What it says.
    pub summary: Summary,
    /// Its plan.
    pub plan: Option<Plan>,
}

impl Glance {
    /// Tasks that are done: those the file knows, or in a file that knows only phases those of the phases that are done.
    pub fn done(&self) -> usize {
        let Some(plan) = &self.plan else {
            return self.summary.done;
        };
        // A file that names none of them keeps account of phases.
        let listed = !self.summary.ids(Status::Completed).is_empty();
        let phases = &self.summary.phases_done;
        let passed = plan
            .file
            .tasks
            .iter()
            .filter(|task| phases.contains(&task.phase));
        match listed {
            true => self.summary.done,
            false => self.summary.done.max(passed.count()),
        }
    }

    /// All tasks: those of the plan where it is there, else as many as the file knows.
    pub fn total(&self) -> usize {
        match &self.plan {
            Some(plan) if !plan.file.tasks.is_empty() => plan.file.tasks.len(),
            Some(_) | None => self.summary.total,
        }
    }
}

/// The root of the project a folder belongs to.
fn root_of(context: &Context, folder: &Path) -> PathBuf {
    let path = workspace::locate(context, FileKind::Orchestrate, folder);
    let root = path.parent().and_then(Path::parent);
    root.unwrap_or(folder).to_owned()
}

/// Reads a plan: the one named, else the one the state file names, else the first of the places plans are found in.
pub fn plan(context: &Context, folder: &Path, named: Option<&Path>) -> Result<Plan, Error> {
    if let Some(path) = named {
        return read_plan(&folder.join(path));
    }
    let root = root_of(context, folder);
    let path = workspace::locate(context, FileKind::Orchestrate, folder);
    // A state file that cannot be read names no plan; that is told by whoever shows it.
    let view = KnownFile::new(context, FileKind::Orchestrate, &path).view(context);
    let told = view
        .ok()
        .and_then(|view| orchestrate::plan_file(view.document.value()).map(str::to_owned));
    find_plan(&root, told.as_deref())?.ok_or(Error::NoPlan { path: root })
}

/// Where the plan of a project may be, the first place first.
fn plan_places(root: &Path, told: Option<&str>) -> impl Iterator<Item = PathBuf> {
    let names = told.into_iter().chain(TASKS_FILES);
    names.map(|name| root.join(name))
}

/// A version of a file, as far as that can be told without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &std::fs::Metadata) -> Stamp {
        Stamp {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The number of tasks that a state file and its plan have together; nothing where there is no plan to go by.
pub(crate) fn total_by_plan(file: &KnownFile, document: &JsonDocument) -> Option<usize> {
    let root = file.path.parent()?.parent()?;
    let plan = own_plan::find(root, document).filter(|plan| plan.usable().is_ok())?;
    let run = merge::merged(document, &plan.file, Ticks::OfNewTasks)?;
    Some(run.metrics().total_tasks)
}

/// The plan of a project, if it has one.
fn find_plan(root: &Path, told: Option<&str>) -> Result<Option<Plan>, Error> {
    for path in plan_places(root, told) {
        match read_plan(&path) {
            Err(Error::NoPlan { .. }) => {}
            plan => return plan.map(Some),
        }
    }
    Ok(None)
}

/// Reads the plan at a path, no further than plans go.
fn read_plan(path: &Path) -> Result<Plan, Error> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Error::NoPlan {
            path: path.to_owned(),
        },
        _ => Error::bad_file(path, cannot_be_read(&error), Advice::NameMarkdown),
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(Error::BadInput {
            message: Wrong::NotAFile { path: shown(path) },
            hint: Advice::NameMarkdown,
        });
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(PLAN_BYTES_MAX).unwrap_or(u64::MAX);
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    // What is too large may be cut within a letter; it is not read in any case.
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.as_bytes().len() >= PLAN_BYTES_MAX => {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
        Err(_) => {
            return Err(Error::BadInput {
                message: Wrong::NotUtf8 { path: shown(path) },
                hint: Advice::SaveUtf8,
            });
        }
    };
    Ok(Plan {
        path: path.to_owned(),
        file: tasks_md::parse(&text),
        text,
    })
}

/// Looks at the state file of a project and at its plan. Writes nothing.
pub fn glance(context: &Context, folder: &Path) -> Result<Glance, Error> {
    let path = workspace::locate(context, FileKind::Orchestrate, folder);
    let file = KnownFile::new(context, FileKind::Orchestrate, &path);
    glance_at(file.view(context)?)
}

/// Looks at a state file that was read, and at its plan.
pub fn glance_at(view: View) -> Result<Glance, Error> {
    let summary = orchestrate::summary(&view.document).map_err(|findings| Error::Damaged {
        path: view.path.clone(),
        findings,
    })?;
    let root = view
        .path
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("."));
    // A plan that cannot be read, or is that of another run, leaves the file's own numbers.
    let plan = own_plan::find(root, &view.document);
    let mut view = view;
    if let Some(run) = plan
        .as_ref()
        .and_then(|plan| merge::merged(&view.document, &plan.file, Ticks::OfNewTasks))
    {
        view.examined.next = OrchestrateMachine::advice(&run)
            .into_iter()
            .map(|one| advice::next(FileKind::Orchestrate, &view.examined.state, one))
            .collect();
    }
    Ok(Glance {
        view,
        summary,
        plan,
    })
}
