//! Verbs of `bowline orchestrate`. This module reads plans, and state files of any format.

mod compare;
mod drawing;
mod drawing_svg;
mod import_export;
mod notifications;
pub(crate) mod own_plan;
mod ownership;
mod plan_and_state;
mod rescue;
mod resolve_reply;
mod timeline;
mod timeline_svg;
mod verbs;

pub use bowline_machines::orchestrate::NodeStatus;
pub use compare::{PhaseDifference, PlanComparison};
pub use drawing::{DRAWN_MAX, DrawingFormat, RenderedGraph};
pub use import_export::{
    ExportFormat, ExportedRun, ImportedPlan, plan_place, save_file, take_over,
};
pub use notifications::{NotificationKind, RunNotification};
pub use ownership::OwnedOrchestration;
pub use rescue::{RescuedCommit, RestoredCommit};
pub use resolve_reply::resolve_reply;
pub use timeline::{PhaseLane, TaskBar, Timeline, TimelineTry, TryEnd};
pub use verbs::{
    Orchestration, OrchestrationOptions, PhaseFinished, StartedOrchestration, TaskMoved,
};

use crate::advice;
use crate::context::Context;
use crate::error::Error;
use crate::files::{FileView, KnownFile};
use crate::kinds::FileKind;
use crate::rebuild::TASKS_FILES;
use crate::words::{cannot_be_read, display_path};
use crate::workspace;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{self, OrchestrationSummary};
use bowline_formats::tasks_md::{self, PLAN_BYTES_MAX, TasksFile};
use bowline_machines::Machine as _;
use bowline_machines::orchestrate::OrchestrateMachine;
use bowline_words::message::{Advice, Wrong};
use plan_and_state::CountedTicks;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Parsed plan.
#[derive(Debug, Clone)]
pub struct PlanFile {
    pub path: PathBuf,
    pub file: TasksFile,
    pub text: String,
}

/// State file with its summary, and its plan if there is one.
#[derive(Debug, Clone)]
pub struct RunOverview {
    pub view: FileView,
    pub summary: OrchestrationSummary,
    pub plan: Option<PlanFile>,
}

impl RunOverview {
    /// Returns the number of completed tasks. For a file that stores only phases, these are the
    /// tasks of finished phases.
    pub fn done_count(&self) -> usize {
        let Some(plan) = &self.plan else {
            return self.summary.done;
        };
        // A file that names no completed task stores only phases.
        let listed = !self
            .summary
            .ids_with_status(NodeStatus::Completed)
            .is_empty();
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
    pub fn total_count(&self) -> usize {
        match &self.plan {
            Some(plan) if !plan.file.tasks.is_empty() => plan.file.tasks.len(),
            Some(_) | None => self.summary.total,
        }
    }
}

/// Returns the project root of a folder.
fn root_of(context: &Context, folder: &Path) -> PathBuf {
    let path = workspace::locate_file(context, FileKind::Orchestrate, folder);
    let root = path.parent().and_then(Path::parent);
    root.unwrap_or(folder).to_owned()
}

/// Reads a plan: the named one, else the one in the state file, else the first found in the usual
/// places.
pub fn load_plan(
    context: &Context,
    folder: &Path,
    named: Option<&Path>,
) -> Result<PlanFile, Error> {
    if let Some(path) = named {
        return read_plan(&folder.join(path));
    }
    let root = root_of(context, folder);
    let path = workspace::locate_file(context, FileKind::Orchestrate, folder);
    // An unreadable state file names no plan; its own view reports that.
    let view = KnownFile::new(context, FileKind::Orchestrate, &path).read_view(context);
    let named_in_state = view
        .ok()
        .and_then(|view| orchestrate::plan_file(view.document.value()).map(str::to_owned));
    find_plan(&root, named_in_state.as_deref())?.ok_or(Error::NoPlan { path: root })
}

/// Returns the possible paths of a project's plan, in order.
fn plan_places(root: &Path, named: Option<&str>) -> impl Iterator<Item = PathBuf> {
    let names = named.into_iter().chain(TASKS_FILES);
    names.map(|name| root.join(name))
}

/// Version of a file, as far as it is known without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn of_metadata(metadata: &std::fs::Metadata) -> FileStamp {
        FileStamp {
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
    let plan =
        own_plan::find_own_plan(root, document).filter(|plan| plan.check_usable().is_ok())?;
    let run = plan_and_state::merge_plan(document, &plan.file, CountedTicks::OfNewTasks)?;
    Some(run.metrics().total_tasks)
}

/// Finds the plan of a project, if it has one.
fn find_plan(root: &Path, named: Option<&str>) -> Result<Option<PlanFile>, Error> {
    for path in plan_places(root, named) {
        match read_plan(&path) {
            Err(Error::NoPlan { .. }) => {}
            plan => return plan.map(Some),
        }
    }
    Ok(None)
}

/// Reads the plan at a path, up to the size limit of plans.
fn read_plan(path: &Path) -> Result<PlanFile, Error> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Error::NoPlan {
            path: path.to_owned(),
        },
        _ => Error::bad_file(path, cannot_be_read(&error), Advice::NameMarkdown),
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(Error::BadInput {
            message: Wrong::NotAFile {
                path: display_path(path),
            },
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
                message: Wrong::NotUtf8 {
                    path: display_path(path),
                },
                hint: Advice::SaveUtf8,
            });
        }
    };
    Ok(PlanFile {
        path: path.to_owned(),
        file: tasks_md::parse_plan(&text),
        text,
    })
}

/// Reads the state file of a project and its plan. Writes nothing.
pub fn read_overview(context: &Context, folder: &Path) -> Result<RunOverview, Error> {
    let path = workspace::locate_file(context, FileKind::Orchestrate, folder);
    let file = KnownFile::new(context, FileKind::Orchestrate, &path);
    overview_from_view(file.read_view(context)?)
}

/// Completes a view of a state file with its summary and its plan.
pub fn overview_from_view(view: FileView) -> Result<RunOverview, Error> {
    let summary =
        orchestrate::summarise_document(&view.document).map_err(|findings| Error::Damaged {
            path: view.path.clone(),
            findings,
        })?;
    let root = view
        .path
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("."));
    // Without a readable plan of this run, the file's own numbers count.
    let plan = own_plan::find_own_plan(root, &view.document);
    let mut view = view;
    if let Some(run) = plan.as_ref().and_then(|plan| {
        plan_and_state::merge_plan(&view.document, &plan.file, CountedTicks::OfNewTasks)
    }) {
        view.examined.next = OrchestrateMachine::advice(&run)
            .into_iter()
            .map(|one| advice::complete_advice(FileKind::Orchestrate, &view.examined.state, one))
            .collect();
    }
    Ok(RunOverview {
        view,
        summary,
        plan,
    })
}
