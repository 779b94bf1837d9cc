//! Worker pool for what takes time: checkpoints, checks of a finished phase, archives, restored
//! folders.

use super::archives;
use super::first_state;
use super::git_script::git;
use super::phase_files::PhaseChanges;
use super::work_in_progress::WorkInProgress;
use super::workspace_metadata::{MetadataWriter, is_passed_over};
use super::{JobsConfig, ReplyCallback, WorkPhase};
use crate::core::shell_quoted;
use bowline_engine::process::run_in;
use bowline_formats::checkpoint::{
    self, ConversationMessage as Spoken, FOLDER_NAME, KEPT_MAX, ProvidedDependency,
};
use bowline_formats::glob;
use bowline_machines::Timestamp;
use bowline_store::{CheckpointRow, JobRow, Resource};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Number of workers: two verifications at once, and one more for checkpoints.
const THREADS: usize = 3;
/// Bytes of an attempt's output that a checkpoint keeps.
const CONVERSATION_BYTES_MAX: usize = 64 << 10;
/// Files of a workspace that are listed.
const FILES_MAX: usize = 10_000;
/// Words that mark unfinished text.
const PLACEHOLDERS: [&str; 8] = [
    "[TODO]",
    "[TBD]",
    "[Insert",
    "[PLACEHOLDER]",
    "Lorem ipsum",
    "TBD",
    "Coming soon",
    "To be defined",
];
/// Environment of commands.
pub(super) type Environment = std::collections::BTreeMap<String, String>;

/// Work for the pool.
pub(super) enum WorkItem {
    Snapshot {
        effect: u64,
        row: Box<JobRow>,
        at: Timestamp,
        reason: &'static str,
        id: String,
        provided: Vec<ProvidedDependency>,
        variables: Vec<String>,
        log: PathBuf,
        config: Arc<JobsConfig>,
    },
    Check {
        effect: u64,
        job: String,
        verification: u32,
        workspace: PathBuf,
        phase: Option<WorkPhase>,
        changes: Option<PhaseChanges>,
        limit: Duration,
        environment: Environment,
    },
    Archive {
        effect: u64,
        job: String,
        workspace: PathBuf,
        to: PathBuf,
        secrets: Vec<String>,
    },
    ErrorLog {
        effect: u64,
        job: String,
        from: Vec<PathBuf>,
        to: PathBuf,
        secrets: Vec<String>,
    },
    /// Prepares the workspace for an attempt, at a checkpoint if one is named.
    Prepare {
        effect: u64,
        job: String,
        attempt: u32,
        workspace: PathBuf,
        /// Folder that contains `.metadata`.
        records: PathBuf,
        /// Repository with the code, its ref, and whether the folder is new.
        restore: Option<(PathBuf, String, bool)>,
        /// Task whose files are saved before its first agent starts.
        first_state: Option<(Arc<JobsConfig>, Box<JobRow>)>,
        environment: Environment,
    },
}

/// Outcome of a task of the pool.
#[derive(Debug)]
pub(super) struct FinishedWork {
    pub(super) effect: u64,
    pub(super) job: String,
    pub(super) what: WorkOutcome,
}

#[derive(Debug)]
pub(super) enum WorkOutcome {
    Saved {
        id: String,
        at: Timestamp,
        row: Box<CheckpointRow>,
    },
    Checked {
        verification: u32,
        issues: Vec<String>,
        files: Vec<String>,
    },
    Done,
    Ready {
        attempt: u32,
    },
    Failed(String),
}

/// Executor of tasks that take time: a [`WorkerPool`], or a simulation.
pub(super) trait WorkExecutor: Send {
    fn submit_work(&self, task: WorkItem);
    /// Schedules a rewrite of the job's metadata file.
    fn rewrite_metadata(&self, row: JobRow, at: Timestamp);
    /// Deletes the files of a removed job once no worker uses them, then replies.
    fn remove_task_files(&self, row: JobRow, reply: ReplyCallback);
}

impl WorkExecutor for Arc<WorkerPool> {
    fn submit_work(&self, task: WorkItem) {
        if self.in_progress.begin(task.effect(), task.job()) {
            // The threads live as long as this.
            let _ = self.tasks.send(task);
        }
    }

    fn rewrite_metadata(&self, row: JobRow, at: Timestamp) {
        self.folders.describe(row, at);
    }

    fn remove_task_files(&self, row: JobRow, reply: ReplyCallback) {
        if let Some((row, reply)) = self.in_progress.remove(row, reply) {
            self.folders.removals().push_removal(row, reply);
        }
    }
}

pub(super) struct WorkerPool {
    tasks: Sender<WorkItem>,
    in_progress: Arc<WorkInProgress>,
    folders: MetadataWriter,
}

impl WorkerPool {
    pub(super) fn open(
        config: Arc<JobsConfig>,
        done: impl Fn(FinishedWork) + Send + Sync + 'static,
    ) -> std::io::Result<WorkerPool> {
        let (tasks, inbox) = channel();
        let inbox = Arc::new(Mutex::new(inbox));
        let in_progress = Arc::new(WorkInProgress::default());
        let folders = MetadataWriter::open(config)?;
        let (of_threads, removals) = (in_progress.clone(), folders.removals());
        let done = Arc::new(move |finished: FinishedWork| {
            if let Some((row, reply)) = of_threads.finish(finished.effect) {
                removals.push_removal(row, reply);
            }
            done(finished);
        });
        for number in 0..THREADS {
            let (inbox, done) = (inbox.clone(), done.clone());
            std::thread::Builder::new()
                .name(format!("workshop-{number}"))
                .spawn(move || run_worker(&inbox, &*done))?;
        }
        Ok(WorkerPool {
            tasks,
            in_progress,
            folders,
        })
    }
}

/// Returns the git index for the checkpoints of a job.
pub(super) fn checkpoint_index(config: &JobsConfig, row: &JobRow) -> PathBuf {
    config.data.join("side").join(format!("{}.index", row.id))
}

fn run_worker(inbox: &Mutex<Receiver<WorkItem>>, done: &dyn Fn(FinishedWork)) {
    loop {
        let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(task) = next else { return };
        let (effect, job) = (task.effect(), task.job().to_owned());
        let finished = catch_unwind(AssertUnwindSafe(|| execute_work(task)));
        // A thread that dies of one task would leave all others undone.
        done(finished.unwrap_or_else(|_| {
            let what = WorkOutcome::Failed("a panic; the log has it".into());
            FinishedWork { effect, job, what }
        }));
    }
}

impl WorkItem {
    fn effect(&self) -> u64 {
        match self {
            WorkItem::Snapshot { effect, .. }
            | WorkItem::Check { effect, .. }
            | WorkItem::Archive { effect, .. }
            | WorkItem::ErrorLog { effect, .. }
            | WorkItem::Prepare { effect, .. } => *effect,
        }
    }

    pub(super) fn job(&self) -> &str {
        match self {
            WorkItem::Snapshot { row, .. } => &row.id,
            WorkItem::Check { job, .. }
            | WorkItem::Archive { job, .. }
            | WorkItem::ErrorLog { job, .. }
            | WorkItem::Prepare { job, .. } => job,
        }
    }
}

fn execute_work(task: WorkItem) -> FinishedWork {
    match task {
        WorkItem::Snapshot {
            effect,
            row,
            at,
            reason,
            id,
            provided,
            variables,
            log,
            config,
        } => {
            let saved = save_checkpoint(&config, &row, at, reason, &id, provided, variables, &log);
            let what = match saved {
                Ok(saved) => WorkOutcome::Saved {
                    id,
                    at,
                    row: Box::new(saved),
                },
                Err(why) => WorkOutcome::Failed(why),
            };
            let job = row.id;
            FinishedWork { effect, job, what }
        }
        WorkItem::Check {
            effect,
            job,
            verification,
            workspace,
            phase,
            changes,
            limit,
            environment,
        } => {
            let phase = phase.unwrap_or_default();
            let what = match check_phase(&workspace, &phase, limit, &environment) {
                Ok((issues, mut files)) => {
                    if phase.deliverables.is_empty()
                        && let Some(changed) = changes.and_then(|it| it.files(&environment))
                    {
                        files.retain(|file| changed.contains(file));
                    }
                    WorkOutcome::Checked {
                        verification,
                        issues,
                        files,
                    }
                }
                Err(why) => WorkOutcome::Failed(why),
            };
            FinishedWork { effect, job, what }
        }
        WorkItem::Archive {
            effect,
            job,
            workspace,
            to,
            secrets,
        } => {
            let what = match archives::archive_workspace(&workspace, &to, &secrets) {
                Ok(()) => WorkOutcome::Done,
                Err(error) => WorkOutcome::Failed(error.to_string()),
            };
            FinishedWork { effect, job, what }
        }
        WorkItem::ErrorLog {
            effect,
            job,
            from,
            to,
            secrets,
        } => {
            let what = match archives::collect_error_log(&from, &to, &secrets) {
                Ok(()) => WorkOutcome::Done,
                Err(error) => WorkOutcome::Failed(error.to_string()),
            };
            FinishedWork { effect, job, what }
        }
        WorkItem::Prepare {
            effect,
            job,
            attempt,
            workspace,
            records,
            restore,
            first_state: first,
            environment,
        } => {
            let what = match prepare_workspace(&workspace, &records, restore, &environment) {
                Ok(()) => WorkOutcome::Ready { attempt },
                Err(why) => WorkOutcome::Failed(why),
            };
            if let Some((config, row)) = first.filter(|_| matches!(what, WorkOutcome::Ready { .. }))
            {
                first_state::save(&config, &row);
            }
            FinishedWork { effect, job, what }
        }
    }
}

pub(super) fn shown_path(path: &Path) -> String {
    shell_quoted(&path.to_string_lossy())
}

/// Returns the repository for the code of a workspace: its own, else one in the data folder. A
/// person's folder never gets a `.git`.
pub(super) fn code_repository(config: &JobsConfig, row: &JobRow) -> Result<PathBuf, String> {
    let workspace = config.workspace(row);
    if row.about.workspace.is_some()
        && let Ok(found) = git(
            "git rev-parse --absolute-git-dir",
            &workspace,
            &config.environment,
        )
    {
        return Ok(PathBuf::from(found));
    }
    let side = config.data.join("side").join(format!("{}.git", row.id));
    if !side.join("HEAD").exists() {
        let script = format!("git init -q --bare {}", shown_path(&side));
        git(&script, &workspace, &config.environment)?;
    }
    Ok(side)
}

/// Shell commands that add files hidden by settings of the repository. Rules of `info/exclude`
/// count as they were before the first agent; a `.gitignore` that hides itself is added.
const ADD_HIDDEN: &str = r#"
others() { git ls-files -z --others "$@" ':(exclude).checkpoints' ':(exclude).metadata'; }
add() { sed -z 's|/$||' | git update-index -z --add --stdin; }
set -- --exclude-per-directory=.gitignore --exclude-from="$rules"
if [ -r "$ignored" ]; then set -- "$@" --exclude-from="$ignored"; fi
others "$@" -- . | add
others --ignored --exclude-standard --directory -- ':(glob)**/.gitignore' | sed -z '/\/$/d' | add
"#;

/// Saves the files of a workspace under a hidden ref, including untracked but never ignored ones.
pub(super) fn save_code(config: &JobsConfig, row: &JobRow, name: &str) -> Result<String, String> {
    let workspace = config.workspace(row);
    let repository = code_repository(config, row)?;
    let reference = format!("refs/bowline/{}/{name}", row.id);
    let index = checkpoint_index(config, row);
    let script = format!(
        // Our own git takes a minute at most: an older lock is left from one that was killed.
        "export GIT_DIR={} GIT_WORK_TREE={} GIT_INDEX_FILE={}\n\
         find \"$GIT_INDEX_FILE.lock\" -mmin +1 -delete 2> /dev/null || :\n\
         rules=$GIT_INDEX_FILE.exclude\n\
         [ -e \"$rules\" ] || cp \"$(git rev-parse --git-path info/exclude)\" \"$rules\" 2> /dev/null || : > \"$rules\"\n\
         git add -A -- . ':(exclude).checkpoints' ':(exclude).metadata'\n\
         {ADD_HIDDEN}\
         tree=$(git write-tree)\n\
         commit=$(git commit-tree -m {} \"$tree\")\n\
         git update-ref {} \"$commit\"\n",
        shown_path(&repository),
        shown_path(&workspace),
        shown_path(&index),
        shell_quoted(&format!("checkpoint of {}", row.id)),
        shell_quoted(&reference),
    );
    git(&script, &workspace, &config.environment)?;
    Ok(reference)
}

#[expect(
    clippy::too_many_arguments,
    reason = "a checkpoint is made of as many things as it is"
)]
fn save_checkpoint(
    config: &JobsConfig,
    row: &JobRow,
    at: Timestamp,
    reason: &'static str,
    id: &str,
    provided: Vec<ProvidedDependency>,
    variables: Vec<String>,
    log: &Path,
) -> Result<CheckpointRow, String> {
    let io = |error: std::io::Error| error.to_string();
    let workspace = config.workspace(row);
    let folder = config.record_folder(row).join(FOLDER_NAME);
    std::fs::create_dir_all(&folder).map_err(io)?;
    // A checkpoint without code is better than none.
    let code_ref = save_code(config, row, id).ok();
    let (files, last_modified) = deliverable_files(&workspace);
    let job = &row.job;
    let created_by = match reason {
        "interval" => "auto",
        "manual" | "user_pause" => "user",
        _ => "system",
    };
    let open = |text: &str| serde_json::json!({ "name": text });
    let saved = checkpoint::TaskCheckpoint {
        id: id.into(),
        task_id: row.id.clone(),
        created_at: at,
        created_by,
        reason,
        task_status: job.task_status(),
        task_type: row.about.type_name.clone().unwrap_or_default(),
        task_phase: job.current_phase(),
        progress: job.progress_percent(),
        agent_status: job.agent_status(),
        pid: None,
        agent_phase: job.current_phase(),
        current_step: job.step.as_ref().map(|step| step.name.clone()),
        tokens_used: job.tokens,
        blocked_by: job.blocked_by(),
        messages: conversation_of(log, at),
        variables,
        dependencies: provided,
        workspace: workspace.to_string_lossy().into_owned(),
        deliverables: files,
        last_modified,
        pending_dependencies: job
            .dependencies
            .iter()
            .filter(|it| it.is_open())
            .map(|it| open(&it.name))
            .collect(),
        pending_questions: job
            .questions
            .iter()
            .filter(|it| it.is_open())
            .map(|it| open(&it.text))
            .collect(),
        completed_phases: (1..job.phase).collect(),
        session_id: row.about.session.clone(),
        code_ref: code_ref.clone(),
    };
    let text = checkpoint::new_document(&saved).text().to_owned();
    let mut name = checkpoint::file_name(at);
    let mut number = 1;
    while folder.join(&name).exists() {
        number += 1;
        name = checkpoint::file_name(at).replace(".json", &format!("-{number}.json"));
    }
    let temporary = folder.join(format!("{name}.new"));
    std::fs::write(&temporary, text).map_err(io)?;
    std::fs::File::open(&temporary)
        .and_then(|file| file.sync_all())
        .map_err(io)?;
    // A link gives the whole file its name at once, or fails.
    std::fs::hard_link(&temporary, folder.join(&name)).map_err(io)?;
    std::fs::remove_file(&temporary).map_err(io)?;
    keep_newest(&folder, &name);
    Ok(CheckpointRow {
        created_by: created_by.into(),
        reason: reason.into(),
        attempt: job.attempt,
        status: job.task_status(),
        phase: job.phase,
        step: job
            .step
            .as_ref()
            .map(|step| (step.number, step.of, step.name.clone())),
        progress: job.progress_percent(),
        file: format!("{FOLDER_NAME}/{name}"),
        code_ref,
        session: row.about.session.clone(),
    })
}

/// Deletes all but the newest checkpoints; `latest.json` links to the last one.
fn keep_newest(folder: &Path, newest: &str) {
    let latest = folder.join("latest.json");
    let _ = std::fs::remove_file(&latest);
    let _ = std::os::unix::fs::symlink(newest, &latest);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("checkpoint_") && name.ends_with(".json"))
        .collect();
    names.sort();
    let beyond = names.len().saturating_sub(KEPT_MAX);
    for name in names.into_iter().take(beyond) {
        let _ = std::fs::remove_file(folder.join(name));
    }
}

/// Returns the end of an attempt's output as a message.
fn conversation_of(log: &Path, at: Timestamp) -> Vec<Spoken> {
    let bytes = std::fs::read(log).unwrap_or_default();
    let tail = &bytes[bytes.len().saturating_sub(CONVERSATION_BYTES_MAX)..];
    if tail.is_empty() {
        return Vec::new();
    }
    vec![Spoken {
        role: "assistant",
        content: String::from_utf8_lossy(tail).into_owned(),
        at,
        metadata: Some(serde_json::json!({ "type": "log" })),
    }]
}

/// Returns the files of a workspace that may be deliverables, and the time of the last change.
pub(super) fn deliverable_files(workspace: &Path) -> (Vec<String>, Option<Timestamp>) {
    let mut found = Vec::new();
    let mut newest = None;
    let mut folders = vec![workspace.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if is_passed_over(&name, kind.is_dir()) {
                continue;
            }
            if kind.is_dir() {
                folders.push(entry.path());
            }
            if !kind.is_file() || found.len() >= FILES_MAX {
                continue;
            }
            let path = entry.path();
            if let Ok(inside) = path.strip_prefix(workspace) {
                found.push(inside.to_string_lossy().into_owned());
            }
            let modified = entry.metadata().and_then(|it| it.modified()).ok();
            let since = modified.and_then(|it| it.duration_since(std::time::UNIX_EPOCH).ok());
            let seconds = since.and_then(|it| i64::try_from(it.as_secs()).ok());
            newest = newest.max(seconds.map(Timestamp));
        }
    }
    found.sort();
    (found, newest)
}

/// Returns the issues of a finished phase and its files. Fails if the machine lacks a resource for
/// the check.
pub(super) fn check_phase(
    workspace: &Path,
    phase: &WorkPhase,
    limit: Duration,
    environment: &Environment,
) -> Result<(Vec<String>, Vec<String>), String> {
    let mut issues = Vec::new();
    let (all, _) = deliverable_files(workspace);
    let fits = |file: &&String| {
        phase
            .deliverables
            .iter()
            .any(|it| glob::matches_path(it, file))
    };
    let found: Vec<String> = all.iter().filter(fits).cloned().collect();
    if found.len() < phase.count {
        issues.push(format!(
            "count_mismatch: {} of {} files match {}",
            found.len(),
            phase.count,
            phase.deliverables.join(", ")
        ));
    }
    for file in &found {
        let text = std::fs::read(workspace.join(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let letters = text.chars().count();
        if letters < phase.min_chars {
            issues.push(format!(
                "too_short: {file} has {letters} of {} characters",
                phase.min_chars
            ));
        }
        let left = PLACEHOLDERS.iter().find(|word| text.contains(**word));
        if let Some(word) = left.filter(|_| phase.placeholders) {
            issues.push(format!("placeholder_content: {file} contains '{word}'"));
        }
    }
    if !phase.check.is_empty() && issues.is_empty() {
        let words: Vec<String> = phase.check.iter().map(|word| shell_quoted(word)).collect();
        match run_in(&words.join(" "), workspace, environment, limit) {
            Ok(ran) if ran.exit_code == 0 => {}
            Ok(ran) => issues.push(format!(
                "check_failed: {} ended with {}: {}",
                phase.check.join(" "),
                ran.exit_code,
                ran.output_tail.trim()
            )),
            Err(error) if Resource::named_in(&error.to_string()).is_some() => {
                return Err(error.to_string());
            }
            Err(error) => issues.push(format!("check_failed: {error}")),
        }
    }
    let shown = if phase.deliverables.is_empty() {
        all
    } else {
        found
    };
    Ok((issues, shown))
}

fn prepare_workspace(
    workspace: &Path,
    records: &Path,
    restore: Option<(PathBuf, String, bool)>,
    environment: &Environment,
) -> Result<(), String> {
    let io = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(workspace).map_err(io)?;
    std::fs::create_dir_all(records.join(".metadata")).map_err(io)?;
    let Some((repository, reference, new)) = restore else {
        return Ok(());
    };
    let index = records.join(".metadata/index");
    let keep = if new {
        ""
    } else {
        "git add -A -- . ':(exclude).checkpoints' ':(exclude).metadata'\n"
    };
    // The index holds the present files, so that those missing in the checkpoint are removed and no
    // others.
    let script = format!(
        "export GIT_DIR={} GIT_WORK_TREE={} GIT_INDEX_FILE={}\n{keep}git read-tree --reset -u {}\nrm -f {}\n",
        shown_path(&repository),
        shown_path(workspace),
        shown_path(&index),
        shell_quoted(&reference),
        shown_path(&index),
    );
    git(&script, workspace, environment).map(|_| ())
}
