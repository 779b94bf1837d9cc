//! Routes of the state files of the other four kinds.

use crate::error::ApiError;
use crate::http_request::{ApiRequest, HandlerResult, respond_json};
use crate::serve::SharedState;
use crate::{allowed_verbs, workspace_init};
use bowline_engine::files::{FileNotice, FileView, KnownFile};
use bowline_engine::formats::time::format_utc;
use bowline_engine::kinds::FileKind;
use bowline_engine::operations::develop::DevelopRun;
use bowline_engine::operations::orchestrate::{self, Orchestration};
use bowline_engine::words::display_path;
use bowline_engine::{Context, advice, history, workspace};
use bowline_formats::finding::Severity;
use bowline_formats::rest::{
    EventName, FileTransition, Page, Rescued, Workspace, WorkspaceAction, WorkspaceKind,
    WorkspaceState,
};
use bowline_runner::orchestrate::control_socket;
use bowline_words::Lang;
use bowline_words::message::{ServerNo, ServerThing};
use notify::{RecursiveMode, Watcher as _};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Depth to which a workspace is searched for state files.
const DEPTH_MAX: usize = 4;

/// The folders whose state files are shown.
pub(crate) struct WorkspaceRegistry {
    folders: Vec<(String, PathBuf)>,
    watcher: Mutex<Option<FolderWatch>>,
}

struct FolderWatch {
    watcher: notify::RecommendedWatcher,
    folders: HashSet<PathBuf>,
}

impl WorkspaceRegistry {
    pub(crate) fn new(folders: &[PathBuf]) -> Self {
        let named = folders.iter().map(|folder| {
            let hash = blake3::hash(folder.as_os_str().as_encoded_bytes());
            (format!("ws_{}", &hash.to_hex()[..12]), folder.clone())
        });
        WorkspaceRegistry {
            folders: named.collect(),
            watcher: Mutex::default(),
        }
    }

    /// Starts to publish changes of state files. If the system cannot watch files, pages see
    /// changes only when they load.
    pub(crate) fn watch_folders(&self, shared: &Arc<SharedState>) {
        let weak = Arc::downgrade(shared);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // A reader of the event reads the file; that must not cause another event.
            let event = event.ok().filter(|event| !event.kind.is_access());
            if let (Some(event), Some(shared)) = (event, Weak::upgrade(&weak)) {
                publish_changes(&shared, &event.paths);
            }
        });
        match watcher {
            Ok(watcher) => {
                let folders = HashSet::new();
                let watched = FolderWatch { watcher, folders };
                *self.lock_watcher() = Some(watched);
                for (_, folder) in &self.folders {
                    self.watch_workspace(folder);
                }
            }
            Err(error) => tracing::warn!(%error, "state files are not watched"),
        }
    }

    /// Watches the folders that contain, or may later contain, state files of a workspace.
    fn watch_workspace(&self, root: &Path) {
        let files = workspace::find_below(root, &FileKind::ALL, DEPTH_MAX).files;
        let usual = FileKind::ALL.map(|kind| root.join(kind.relative_path()));
        let paths = files.into_iter().map(|(_, path)| path).chain(usual);
        let mut watcher = self.lock_watcher();
        let Some(watched) = watcher.as_mut() else {
            return;
        };
        for folder in paths.filter_map(|path| path.parent().map(Path::to_owned)) {
            if folder.is_dir() && !watched.folders.contains(&folder) {
                let begun = watched.watcher.watch(&folder, RecursiveMode::NonRecursive);
                if begun.is_ok() {
                    watched.folders.insert(folder);
                }
            }
        }
    }

    fn lock_watcher(&self) -> std::sync::MutexGuard<'_, Option<FolderWatch>> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the folder of a workspace; without an id, of the first one, if there is one.
    pub(crate) fn find_or_first(&self, id: Option<&str>) -> Result<Option<PathBuf>, ApiError> {
        match id {
            Some(id) => self.find_folder(id).map(|folder| Some(folder.to_owned())),
            None => Ok(self.folders.first().map(|(_, folder)| folder.clone())),
        }
    }

    pub(crate) fn find_folder(&self, id: &str) -> Result<&Path, ApiError> {
        let found = self.folders.iter().find(|(known, _)| known == id);
        let found = found.map(|(_, folder)| folder.as_path());
        found.ok_or_else(|| ApiError::no_such(ServerThing::Workspace, id))
    }
}

/// Publishes which kinds of work changed in which workspaces.
pub(crate) fn publish_changes(shared: &SharedState, paths: &[PathBuf]) {
    let mut published = HashSet::new();
    for path in paths {
        let Some(kind) = FileKind::of_path(path) else {
            continue;
        };
        let home = shared
            .workspaces
            .folders
            .iter()
            .find(|(_, folder)| path.starts_with(folder));
        if let Some((id, _)) = home
            && published.insert((id, work_kind(kind).0))
        {
            let at = format_utc(shared.clock.now());
            let data = json!({ "workspaceId": id, "kind": work_kind(kind).0 });
            shared
                .events
                .publish_transient("", EventName::Workspace, at, data);
        }
    }
}

/// Returns the kind of work that a kind of file belongs to.
pub(crate) fn work_kind(kind: FileKind) -> (&'static str, WorkspaceKind) {
    match kind {
        FileKind::Thinking => ("thinking", WorkspaceKind::Thinking),
        FileKind::TaskState
        | FileKind::TaskHistory
        | FileKind::SharedContext
        | FileKind::AgentMemory => ("memory", WorkspaceKind::Memory),
        FileKind::Develop => ("develop", WorkspaceKind::Develop),
        FileKind::Orchestrate => ("orchestrate", WorkspaceKind::Orchestrate),
    }
}

/// Returns the state files of a call's workspace and kind.
pub(crate) fn requested_files(
    shared: &SharedState,
    call: &ApiRequest,
) -> Result<Vec<(FileKind, PathBuf)>, ApiError> {
    files_of_kind(shared, call, call.path_param("kind"))
}

fn files_of_kind(
    shared: &SharedState,
    call: &ApiRequest,
    word: &str,
) -> Result<Vec<(FileKind, PathBuf)>, ApiError> {
    let root = shared.workspaces.find_folder(call.path_param("id"))?;
    let wanted = FileKind::ALL
        .into_iter()
        .filter(|kind| work_kind(*kind).0 == word);
    let wanted: Vec<FileKind> = wanted.collect();
    if wanted.is_empty() {
        return Err(ApiError::no_such(ServerThing::StateFile, word));
    }
    shared.workspaces.watch_workspace(root);
    Ok(workspace::find_below(root, &wanted, DEPTH_MAX).files)
}

pub(crate) fn list_workspaces(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let items = shared.workspaces.folders.iter().map(|(id, folder)| {
        let mut kinds = Vec::new();
        let files = workspace::find_below(folder, &FileKind::ALL, DEPTH_MAX).files;
        for (kind, _) in &files {
            let kind = work_kind(*kind).1;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        Workspace {
            id: id.clone(),
            name: name.to_string_lossy().into_owned(),
            path: display_path(folder),
            kinds,
            begins: workspace_init::startable_runs(&shared.context, folder, &files),
        }
    });
    respond_json(call, &Page::single_page(items.collect()))
}

pub(crate) fn get_workspace_state(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let mut items = Vec::new();
    let files = requested_files(shared, call)?;
    let root = shared.workspaces.find_folder(call.path_param("id"))?;
    for (kind, path) in &files {
        if leads_out(root, path) {
            let no = ServerNo::LeadsOut {
                path: display_path(path),
            };
            let actions = Vec::new();
            items.push(unreadable_state(
                *kind,
                path,
                "outside_workspace",
                no.say(call.lang),
                actions,
            ));
            continue;
        }
        let file = KnownFile::new(&shared.context, *kind, path);
        items.push(match file.read_view(&shared.context) {
            Ok(view) => {
                let actions = allowed_verbs::allowed_actions(shared, &file, &view, &files);
                workspace_state(&shared.context, &view, actions, call.lang)
            }
            // A damaged file must not hide the others.
            Err(error) => {
                let actions = allowed_verbs::actions_despite_error(&error);
                unreadable_state(
                    *kind,
                    path,
                    error.code(),
                    error.render_message(call.lang),
                    actions,
                )
            }
        });
    }
    respond_json(call, &Page::single_page(items))
}

fn unreadable_state(
    kind: FileKind,
    path: &Path,
    code: &str,
    (message, hint): (String, String),
    actions: Vec<WorkspaceAction>,
) -> WorkspaceState {
    WorkspaceState {
        kind: kind.name().into(),
        path: display_path(path),
        status: None,
        version: None,
        state: Value::Null,
        findings: vec![json!({
            "severity": Severity::Fatal.name(), "code": code, "message": message,
        })],
        next: vec![hint],
        titles: BTreeMap::new(),
        evidence: Vec::new(),
        actions,
    }
}

/// True if a state file is outside of its workspace, behind a link. A link may have been put there
/// by a process that may write the workspace only: the file behind it is neither shown nor changed.
pub(crate) fn leads_out(root: &Path, path: &Path) -> bool {
    let is_link = path.symlink_metadata().is_ok_and(|it| it.is_symlink());
    // A missing file is where its folder is; a dangling link is not a missing file.
    let there = match path.canonicalize() {
        Err(_) if !is_link => path.ancestors().find_map(|it| it.canonicalize().ok()),
        other => other.ok(),
    };
    let within = there.zip(root.canonicalize().ok());
    !within.is_some_and(|(there, root)| there.starts_with(root))
}

fn workspace_state(
    context: &Context,
    view: &FileView,
    actions: Vec<WorkspaceAction>,
    lang: Lang,
) -> WorkspaceState {
    let notices = view.notices.iter().map(FileNotice::to_finding);
    let findings = view.examined.findings.iter().cloned().chain(notices);
    // The file does not show that the run which owns it is paused.
    let paused = view.kind == FileKind::Orchestrate && control_socket::is_paused(&view.path);
    let status = match paused && control_socket::is_open(&view.path) {
        true => "paused".to_owned(),
        false => view.examined.status.clone(),
    };
    WorkspaceState {
        kind: view.kind.name().into(),
        path: display_path(&view.path),
        status: Some(status),
        version: Some(view.version),
        state: view.masked_document(),
        findings: findings
            .map(|finding| {
                let mut json = finding.to_json(Some(&view.document));
                json["message"] = finding.message.say(lang).into();
                json["repair"] = finding.repair.as_ref().map(|it| it.say(lang)).into();
                json
            })
            .collect(),
        next: advice::commands_anywhere(view),
        titles: task_titles(context, view),
        evidence: run_evidence(context, view),
        actions,
    }
}

/// Returns titles of tasks: those of an orchestration from its plan, if that can be read, and those
/// in the queue of a memory.
fn task_titles(context: &Context, view: &FileView) -> BTreeMap<String, String> {
    if let Some(memory) = view.memory() {
        let queue = memory.queue.iter();
        return queue
            .map(|task| (task.id.clone(), task.name.clone()))
            .collect();
    }
    if view.kind != FileKind::Orchestrate {
        return BTreeMap::new();
    }
    let plan = orchestrate::load_plan(context, &root_of(view.kind, &view.path), None);
    let tasks = plan.map(|plan| plan.file.tasks).unwrap_or_default();
    tasks
        .into_iter()
        .map(|task| (task.id.to_string(), task.title))
        .collect()
}

/// Returns the evidence of a develop run, without comparing it to the current tree.
fn run_evidence(context: &Context, view: &FileView) -> Vec<Value> {
    if view.kind != FileKind::Develop {
        return Vec::new();
    }
    let run = DevelopRun::in_folder(context, &root_of(view.kind, &view.path));
    let all = run.run_evidence(context).unwrap_or_default();
    all.iter()
        .filter_map(|one| serde_json::to_value(one).ok())
        .collect()
}

/// Returns the root folder of a state file's path.
pub(crate) fn root_of(kind: FileKind, path: &Path) -> PathBuf {
    let up = Path::new(kind.relative_path()).components().count();
    path.ancestors().nth(up).unwrap_or(path).to_owned()
}

pub(crate) fn list_workspace_transitions(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
) -> HandlerResult {
    let mut items: Vec<FileTransition> = Vec::new();
    let root = shared.workspaces.find_folder(call.path_param("id"))?;
    let files = requested_files(shared, call)?.into_iter();
    for (kind, path) in files.filter(|(_, path)| !leads_out(root, path)) {
        let file = KnownFile::new(&shared.context, kind, &path);
        let path = display_path(&path);
        let moves = history::restorable_versions(&file)?.into_iter();
        items.extend(moves.map(|(one, restorable)| FileTransition {
            file: path.clone(),
            restorable,
            timestamp: one.timestamp,
            task_id: one.task_id,
            line_type: one.line_type,
            entity: one.entity,
            from: one.from,
            to: one.to,
            trigger: one.trigger,
            metadata: one.metadata,
            sequence: one.sequence,
        }));
    }
    items.sort_by(|a, b| a.timestamp.cmp(&b.timestamp));
    respond_json(call, &Page::single_page(items))
}

pub(crate) fn get_node_log(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (node, named) = (call.path_param("node"), call.query_param("file"));
    for (kind, path) in files_of_kind(shared, call, "orchestrate")? {
        if named.is_some_and(|it| display_path(&path) != it) {
            continue;
        }
        let run = Orchestration::in_folder(&shared.context, &root_of(kind, &path));
        if let Some(logs) = bowline_runner::orchestrate::attempt_logs(&shared.context, &run, node)?
        {
            return crate::files::respond_with_logs(call, &logs);
        }
    }
    Err(ApiError::no_such(ServerThing::Task, node))
}

pub(crate) fn list_rescued(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let named = call.query_param("file");
    let files = files_of_kind(shared, call, "orchestrate")?;
    let wanted = |path: &Path| named.is_none_or(|it| display_path(path) == it);
    let Some((kind, path)) = files.iter().find(|(_, path)| wanted(path)) else {
        return Err(ApiError::no_such(
            ServerThing::StateFile,
            named.unwrap_or("orchestrate"),
        ));
    };
    let run = Orchestration::in_folder(&shared.context, &root_of(*kind, path));
    let items = run.list_rescued(false)?.into_iter().map(|one| Rescued {
        name: one.name,
        task: one.task,
        commit: one.commit,
        kept_at: format_utc(one.at),
        files: one.files,
    });
    respond_json(call, &Page::single_page(items.collect()))
}
