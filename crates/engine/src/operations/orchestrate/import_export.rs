//! Imports tasks of other programs as a plan, and exports a run.

use super::verbs::Orchestration;
use super::{NodeStatus, PlanFile};
use crate::context::Context;
use crate::error::Error;
use crate::rebuild::TASKS_FILES;
use crate::words::{cannot_be_read, display_path};
use crate::workspace;
use bowline_formats::import::{self, BacklogFile, ImportError, ImportSource, PlanImport};
use bowline_formats::tasks_md::{self, TaskId, TaskProgress, TasksFile, TickError, set_ticks};
use bowline_machines::orchestrate::OrchestrationState;
use bowline_statefiles::write_atomically;
use bowline_words::message::{Advice, Unplaced, Why, Wrong};
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Largest file of another program that is read, in bytes.
const SOURCE_BYTES_MAX: u64 = 64 << 20;
/// Most bytes of a file searched for front matter.
const FRONT_MATTER_BYTES_MAX: u64 = 8 << 10;
/// Depth to which folders of a backlog are searched.
const FOLDERS_DEEP_MAX: usize = 4;
/// Most files of one backlog that are read.
const PAGES_MAX: usize = 20_000;
/// Task files of each program, below the root of a project.
const PLACES: [(&str, ImportSource); 9] = [
    (".taskmaster/tasks/tasks.json", ImportSource::TaskMaster),
    ("tasks/tasks.json", ImportSource::TaskMaster),
    ("tasks.json", ImportSource::TaskMaster),
    (".beads/issues.jsonl", ImportSource::Beads),
    (".beads/beads.jsonl", ImportSource::Beads),
    ("issues.jsonl", ImportSource::Beads),
    ("tasks.md", ImportSource::SpecKit),
    ("backlog/tasks", ImportSource::Backlog),
    ("tasks", ImportSource::Backlog),
];

/// Imported tasks, not written yet.
#[derive(Debug)]
pub struct ImportedPlan {
    /// Program they were imported from.
    pub source: ImportSource,
    /// File or folder of that program.
    pub path: PathBuf,
    /// Plan of these tasks.
    pub text: String,
    /// Parsed plan.
    pub file: TasksFile,
    /// Contents that the plan has no place for.
    pub unplaced: Vec<Unplaced>,
}

/// Format of an exported run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Plan with ticks.
    TasksMd,
    /// All data, for programs.
    Json,
}

#[derive(Debug)]
pub struct ExportedRun {
    /// Text in the chosen format.
    pub text: String,
    /// Tasks of the plan without a box of their own.
    pub unticked: Vec<String>,
    /// Number of all tasks.
    pub total: usize,
    /// Number of completed tasks.
    pub done: usize,
}

/// Reads tasks of another program, at a path or found in the folder at the path. Writes nothing.
pub fn take_over(
    folder: &Path,
    from: Option<ImportSource>,
    path: &Path,
) -> Result<ImportedPlan, Error> {
    let named = folder.join(path);
    let (source, place) = find_source(&named, from)?;
    let imported = match source {
        ImportSource::TaskMaster => {
            let text = read_source(&place)?;
            import::task_master(&text, current_tag(&place).as_deref())
        }
        ImportSource::Beads => import::import_beads(&read_source(&place)?),
        ImportSource::SpecKit => import::spec_kit(&read_source(&place)?),
        ImportSource::Backlog => read_backlog(&place)?,
    };
    let mut imported = imported.map_err(|refused| import_error(refused, source, &place))?;
    if imported.project.as_deref().is_none_or(str::is_empty) {
        imported.project = workspace::folder_name(&workspace::absolute_path(folder));
    }
    let (text, more) =
        import::write_plan(&imported).map_err(|refused| import_error(refused, source, &place))?;
    let mut unplaced = imported.unplaced;
    unplaced.extend(more);
    Ok(ImportedPlan {
        source,
        path: place,
        file: tasks_md::parse_plan(&text),
        text,
        unplaced: import::group_notes(unplaced),
    })
}

/// Returns the default path for an imported plan, at which it is found without being named.
pub fn plan_place(context: &Context, folder: &Path) -> PathBuf {
    let root = super::root_of(context, folder);
    root.join(TASKS_FILES[TASKS_FILES.len() - 1])
}

/// Writes a file atomically; an existing one is replaced only with `force`.
pub fn save_file(context: &Context, path: &Path, text: &str, force: bool) -> Result<(), Error> {
    let there = path.symlink_metadata();
    if there.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
        return Err(Error::BadInput {
            message: Wrong::NotAFile {
                path: display_path(path),
            },
            hint: Advice::WritableFile,
        });
    }
    if there.is_ok() && !force {
        return Err(Error::OutputThere {
            path: path.to_owned(),
        });
    }
    match context.dry_run {
        true => Ok(()),
        false => write_atomically(&*context.disk, path, text.as_bytes(), None).map_err(Error::File),
    }
}

fn import_error(refused: ImportError, source: ImportSource, path: &Path) -> Error {
    let path = display_path(path);
    let program = source.name();
    let (message, hint) = match refused {
        ImportError::NotIts(text) if text.is_empty() => {
            (Wrong::NotOfProgram { path, program }, Advice::NameImport)
        }
        ImportError::NotIts(text) => {
            let why = Why::NotJson { text };
            (Wrong::OfFile { path, why }, Advice::NameImport)
        }
        ImportError::Empty => (Wrong::NothingToImport { path }, Advice::NameImport),
        ImportError::TooLarge => (Wrong::ImportTooLarge { path }, Advice::SplitImport),
    };
    Error::BadInput { message, hint }
}

/// Finds the program and the file or folder that a path means.
fn find_source(path: &Path, from: Option<ImportSource>) -> Result<(ImportSource, PathBuf), Error> {
    let nothing = || Error::BadInput {
        message: Wrong::NothingToImport {
            path: display_path(path),
        },
        hint: Advice::NameImport,
    };
    if path.is_file() {
        let source = from.or_else(|| by_name(path)).ok_or_else(nothing)?;
        return Ok((source, path.to_owned()));
    }
    if !path.is_dir() {
        return Err(nothing());
    }
    let inside = match path.file_name().and_then(|it| it.to_str()) {
        // The program's own folder is as good as the project around it.
        Some(".taskmaster" | ".beads" | "backlog") => path.parent(),
        _ => None,
    };
    let mut all: Vec<(ImportSource, PathBuf)> = Vec::new();
    for root in [Some(path), inside].into_iter().flatten() {
        for (place, source) in PLACES {
            let place = root.join(place);
            let fits = match source {
                ImportSource::Backlog => has_pages(&place),
                ImportSource::TaskMaster | ImportSource::Beads | ImportSource::SpecKit => {
                    place.is_file()
                }
            };
            let wanted = from.is_none_or(|from| from == source);
            if fits && wanted && !all.iter().any(|(known, _)| *known == source) {
                all.push((source, place));
            }
        }
    }
    // A folder that holds the files themselves.
    if all.is_empty() && from.is_none_or(|from| from == ImportSource::Backlog) && has_pages(path) {
        all.push((ImportSource::Backlog, path.to_owned()));
    }
    // spec-kit has a folder for every feature.
    if all.is_empty() && from.is_none_or(|from| from == ImportSource::SpecKit) {
        let features = feature_files(path);
        if features.len() > 1 {
            let names = features.iter().map(|it| display_path(it));
            return Err(Error::BadInput {
                message: Wrong::SeveralFeatures {
                    path: display_path(path),
                    names: names.collect::<Vec<_>>().join(", "),
                },
                hint: Advice::NameImport,
            });
        }
        all.extend(features.into_iter().map(|it| (ImportSource::SpecKit, it)));
    }
    match all.len() {
        0 => Err(nothing()),
        1 => Ok(all.remove(0)),
        _ => {
            let names: Vec<&str> = all.iter().map(|(source, _)| source.name()).collect();
            Err(Error::BadInput {
                message: Wrong::SeveralToImport {
                    path: display_path(path),
                    names: names.join(", "),
                },
                hint: Advice::SayFrom,
            })
        }
    }
}

/// Returns the files `specs/NAME/tasks.md` in order, also those in the folder of spec-kit itself.
fn feature_files(path: &Path) -> Vec<PathBuf> {
    let folders = ["specs", ".specify/specs", "."].map(|place| path.join(place));
    let folders = folders.iter().filter(|folder| {
        let name = folder.canonicalize().ok();
        name.is_some_and(|it| it.file_name().is_some_and(|name| name == "specs"))
    });
    let entries = folders.filter_map(|folder| std::fs::read_dir(folder).ok());
    let entries = entries.flatten().flatten();
    let files = entries.map(|entry| entry.path().join("tasks.md"));
    let mut all: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    all.sort();
    all
}

fn by_name(path: &Path) -> Option<ImportSource> {
    match path.extension()?.to_str()? {
        "json" => Some(ImportSource::TaskMaster),
        "jsonl" => Some(ImportSource::Beads),
        "md" => Some(match is_backlog_page(path) {
            true => ImportSource::Backlog,
            false => ImportSource::SpecKit,
        }),
        _ => None,
    }
}

/// True if a file begins with the front matter of a backlog task, which has an id. Files of
/// spec-kit have front matter, too.
fn is_backlog_page(path: &Path) -> bool {
    let Ok(file) = std::fs::File::open(path) else {
        return false;
    };
    let mut begin = Vec::new();
    if file
        .take(FRONT_MATTER_BYTES_MAX)
        .read_to_end(&mut begin)
        .is_err()
    {
        return false;
    }
    let begin = String::from_utf8_lossy(&begin);
    let mut lines = begin
        .trim_start_matches('\u{feff}')
        .lines()
        .map(str::trim_end);
    lines.next() == Some("---")
        && lines
            .take_while(|line| *line != "---")
            .any(|line| line.starts_with("id:"))
}

/// Returns the Markdown files of a folder and its subfolders, in order.
fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.take(PAGES_MAX) {
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
            if is_folder && depth < FOLDERS_DEEP_MAX {
                open.push((path, depth + 1));
            } else if path.extension().is_some_and(|it| it == "md") && path.is_file() {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

fn has_pages(folder: &Path) -> bool {
    markdown_files(folder)
        .iter()
        .any(|path| is_backlog_page(path))
}

fn read_backlog(place: &Path) -> Result<Result<PlanImport, ImportError>, Error> {
    let folder = if place.is_dir() { place } else { Path::new("") };
    let beside = folder.parent().filter(|_| folder.ends_with("tasks"));
    let mut all = Vec::new();
    let mut add = |path: &Path, completed| -> Result<(), Error> {
        let name = path.file_name().unwrap_or_default();
        all.push(BacklogFile {
            name: name.to_string_lossy().into_owned(),
            text: read_source(path)?,
            completed,
        });
        Ok(())
    };
    if place.is_file() {
        add(place, false)?;
    }
    for path in markdown_files(folder).iter().take(PAGES_MAX) {
        add(path, false)?;
    }
    let mut away = Vec::new();
    if let Some(beside) = beside {
        for path in markdown_files(&beside.join("completed"))
            .iter()
            .take(PAGES_MAX)
        {
            add(path, true)?;
        }
        for name in ["drafts", "archive/tasks", "archive/drafts"] {
            let files = markdown_files(&beside.join(name)).len();
            if files > 0 {
                let name = name.to_owned();
                away.push(Unplaced::PutAway { name, files });
            }
        }
    }
    let config = beside.and_then(|beside| read_source(&beside.join("config.yml")).ok());
    let imported = import::import_backlog(&all, config.as_deref());
    Ok(imported.map(|mut imported| {
        imported.unplaced.extend(away);
        imported
    }))
}

/// Returns the current tag of task-master: `state.json` of its folder names it.
fn current_tag(tasks: &Path) -> Option<String> {
    let folder = tasks.parent()?;
    let places = [folder.join("state.json"), folder.join("../state.json")];
    places
        .iter()
        .find_map(|path| import::current_tag(&read_source(path).ok()?))
}

fn read_source(path: &Path) -> Result<String, Error> {
    let unreadable =
        |error: std::io::Error| Error::bad_file(path, cannot_be_read(&error), Advice::NameImport);
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(SOURCE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > SOURCE_BYTES_MAX {
        return Err(Error::BadInput {
            message: Wrong::ImportTooLarge {
                path: display_path(path),
            },
            hint: Advice::SplitImport,
        });
    }
    String::from_utf8(bytes).map_err(|_| Error::BadInput {
        message: Wrong::NotUtf8 {
            path: display_path(path),
        },
        hint: Advice::SaveUtf8,
    })
}

impl Orchestration {
    /// Exports the present run as a plan that others can read, or as data. Writes nothing.
    pub fn export_run(
        &self,
        context: &Context,
        format: ExportFormat,
    ) -> Result<ExportedRun, Error> {
        let (view, run) = self.read_run(context)?;
        let plan = self.plan_beside(&view.document);
        let project = super::overview_from_view(view)?.summary.meta.project;
        let metrics = run.metrics();
        let (text, unticked) = match format {
            ExportFormat::TasksMd => match &plan {
                Some(plan) => ticked_text(plan, &run),
                None => (drawn_up(&run, project), Vec::new()),
            },
            ExportFormat::Json => {
                let body = run_json(&run, plan.as_ref(), &project);
                let text = serde_json::to_string_pretty(&body).unwrap_or_default();
                (format!("{text}\n"), Vec::new())
            }
        };
        Ok(ExportedRun {
            text,
            unticked,
            total: metrics.total_tasks,
            done: metrics.completed_count,
        })
    }
}

fn is_completed(run: &OrchestrationState, id: &str) -> bool {
    run.find_node(id)
        .is_some_and(|node| node.status == NodeStatus::Completed)
}

/// Returns the plan with the run's ticks in its own layout, and the completed tasks without a box.
fn ticked_text(plan: &PlanFile, run: &OrchestrationState) -> (String, Vec<String>) {
    let (mut changes, mut unticked) = (Vec::new(), Vec::new());
    for task in &plan.file.tasks {
        let (id, done) = (task.id.as_str(), is_completed(run, task.id.as_str()));
        match task.marks.is_empty() {
            false => changes.push((id, done)),
            true if done => unticked.push(id.to_owned()),
            true => {}
        }
    }
    let text = set_ticks(&plan.text, changes);
    (
        text.unwrap_or_else(|_: TickError| plan.text.clone()),
        unticked,
    )
}

/// Writes a plan from the state file alone.
fn drawn_up(run: &OrchestrationState, project: String) -> String {
    let graph = run.graph();
    let phases: Vec<import::ImportedPhase> = graph
        .phase_numbers()
        .iter()
        .map(|&number| import::ImportedPhase {
            number,
            section: 0,
            title: String::new(),
        })
        .collect();
    let id = |id: &str| TaskId::new(id).ok();
    let tasks = graph
        .phase_numbers()
        .iter()
        .enumerate()
        .flat_map(|(at, &phase)| {
            let tasks = graph.tasks_of(phase).into_iter();
            tasks.filter_map(move |name| {
                let needs = graph.dependencies_of(&name);
                let status = run.find_node(&name).map(|node| node.status);
                Some(import::ImportedTask {
                    id: id(&name)?,
                    phase: at,
                    title: String::new(),
                    progress: match status {
                        Some(NodeStatus::Completed) => TaskProgress::Done,
                        Some(NodeStatus::InProgress) => TaskProgress::InProgress,
                        _ => TaskProgress::Open,
                    },
                    assignee: None,
                    needs: needs.iter().filter_map(|it| id(it)).collect(),
                    text: String::new(),
                })
            })
        });
    let plan = PlanImport {
        project: Some(project),
        preface: String::new(),
        phases,
        tasks: tasks.collect(),
        unplaced: Vec::new(),
    };
    import::write_plan(&plan).map_or_else(|_| String::new(), |(text, _)| text)
}

fn run_json(run: &OrchestrationState, plan: Option<&PlanFile>, project: &str) -> Value {
    let graph = run.graph();
    let at =
        |time: Option<bowline_machines::Timestamp>| time.map(bowline_formats::time::format_utc);
    let tasks = graph.ids().iter().map(|id| {
        let node = run.find_node(id);
        let task = plan.and_then(|plan| plan.file.task(id));
        json!({
            "id": &**id,
            "phase": graph.phase_of(id),
            "title": task.map(|task| &task.title),
            "assignee": task.and_then(|task| task.assignee.as_ref()),
            "needs": graph.dependencies_of(id),
            "status": node.map(|node| node.status.name()),
            "attempts": node.map(|node| node.attempts),
            "startedAt": at(node.and_then(|node| node.started_at)),
            "error": node.and_then(|node| node.error.as_deref()),
        })
    });
    let phases = graph.phase_numbers().iter().map(|&number| {
        let heading = plan.and_then(|plan| plan.file.phases.iter().find(|it| it.number == number));
        let phase = run.find_phase(number);
        json!({
            "number": number,
            "title": heading.map(|it| &it.title),
            "finished": phase.is_some_and(|it| it.is_finished()),
            "startedAt": at(phase.and_then(|it| it.started_at)),
            "completedAt": at(phase.and_then(|it| it.completed_at)),
        })
    });
    json!({
        "kind": "orchestrate",
        "project": project,
        "currentPhase": run.current_phase(),
        "phases": phases.collect::<Vec<_>>(),
        "tasks": tasks.collect::<Vec<_>>(),
    })
}
