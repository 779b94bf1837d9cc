//! Verbs of `bowline orchestrate`. This module reads plans, and state files of any format.

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

/// Parsed plan.
#[derive(Debug, Clone)]
pub struct Plan {
    pub path: PathBuf,
    pub file: TasksFile,
    pub text: String,
}

/// State file with its summary, and its plan if there is one.
#[derive(Debug, Clone)]
pub struct Glance {
    pub view: View,
    pub summary: Summary,
    pub plan: Option<Plan>,
}

impl Glance {
    /// Returns the number of completed tasks. For a file that stores only phases, these are the
    /// tasks of finished phases.
    pub fn done(&self) -> usize {
        let Some(plan) = &self.plan else {
            return self.summary.done;
        };
        // A file that names no completed task stores only phases.
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

    /// Returns the number of all tasks: those of the plan if there is one, else those the file
    /// knows.
    pub fn total(&self) -> usize {
        match &self.plan {
            Some(plan) if !plan.file.tasks.is_empty() => plan.file.tasks.len(),
            Some(_) | None => self.summary.total,
        }
    }
}

/// Returns the project root of a folder.
fn root_of(context: &Context, folder: &Path) -> PathBuf {
    let path = workspace::locate(context, FileKind::Orchestrate, folder);
    let root = path.parent().and_then(Path::parent);
    root.unwrap_or(folder).to_owned()
}

/// Reads a plan: the named one, else the one in the state file, else the first found in the usual
/// places.
pub fn plan(context: &Context, folder: &Path, named: Option<&Path>) -> Result<Plan, Error> {
    if let Some(path) = named {
        return read_plan(&folder.join(path));
    }
    let root = root_of(context, folder);
    let path = workspace::locate(context, FileKind::Orchestrate, folder);
    // An unreadable state file names no plan; its own view reports that.
    let view = KnownFile::new(context, FileKind::Orchestrate, &path).view(context);
    let told = view
        .ok()
        .and_then(|view| orchestrate::plan_file(view.document.value()).map(str::to_owned));
    find_plan(&root, told.as_deref())?.ok_or(Error::NoPlan { path: root })
}

/// Returns the possible paths of a project's plan, in order.
fn plan_places(root: &Path, told: Option<&str>) -> impl Iterator<Item = PathBuf> {
    let names = told.into_iter().chain(TASKS_FILES);
    names.map(|name| root.join(name))
}

/// Version of a file, as far as it is known without reading it.
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

/// Returns the number of tasks in a state file and its plan together; `None` without a valid plan.
pub(crate) fn total_by_plan(file: &KnownFile, document: &JsonDocument) -> Option<usize> {
    let root = file.path.parent()?.parent()?;
    let plan = own_plan::find(root, document).filter(|plan| plan.usable().is_ok())?;
    let run = merge::merged(document, &plan.file, Ticks::OfNewTasks)?;
    Some(run.metrics().total_tasks)
}

/// Finds the plan of a project, if it has one.
fn find_plan(root: &Path, told: Option<&str>) -> Result<Option<Plan>, Error> {
    for path in plan_places(root, told) {
        match read_plan(&path) {
            Err(Error::NoPlan { .. }) => {}
            plan => return plan.map(Some),
        }
    }
    Ok(None)
}

/// Reads the plan at a path, up to the size limit of plans.
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
    // A text at the size limit may be cut within a character; it is refused in any case.
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

/// Reads the state file of a project and its plan. Writes nothing.
pub fn glance(context: &Context, folder: &Path) -> Result<Glance, Error> {
    let path = workspace::locate(context, FileKind::Orchestrate, folder);
    let file = KnownFile::new(context, FileKind::Orchestrate, &path);
    glance_at(file.view(context)?)
}

/// Completes a view of a state file with its summary and its plan.
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
    // Without a readable plan of this run, the file's own numbers count.
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
