//! Metadata files in the folders of tasks, and the removal of these folders. A thread of its own
//! does both, so that no request waits for a file, and no folder comes back after its removal.

use super::git_script::git;
use super::pending_log::{self, PendingLog};
use super::worker_pool::checkpoint_index;
use super::{
    JobResponse, JobsConfig, ReplyCallback, attempt_id, prompt, rebuild, task_app, verifier_id,
};
use crate::core::shell_quoted;
use bowline_machines::Timestamp;
use bowline_machines::job::{Job, JobState};
use bowline_store::{JobAttributes, JobRow, Resource};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Entries of a workspace that are never handed out: records of git and of the server.
const PRIVATE: [&str; 4] = [".git", ".checkpoints", ".metadata", ".logs"];
/// Folders that are built from other files.
const BUILT: [&str; 2] = ["node_modules", "target"];

/// True if a path leads through an entry that is never handed out.
pub fn is_private(path: &str) -> bool {
    path.split('/').any(|part| PRIVATE.contains(&part))
}

/// True if an entry of a workspace is no deliverable and contains none.
pub fn is_passed_over(name: &OsStr, is_folder: bool) -> bool {
    PRIVATE.iter().any(|it| name == *it) || is_folder && BUILT.iter().any(|it| name == *it)
}

/// Time until files that could not be deleted are tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// Path of a task's metadata file in its folder.
pub(super) const METADATA_FILE: &str = ".metadata/task.json";

/// Handle to the thread. Dropping it waits until all queued work is done.
pub(super) struct MetadataWriter {
    shared: Arc<MetadataQueue>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct MetadataQueue {
    wanted: Mutex<QueuedWrites>,
    more: Condvar,
}

#[derive(Default)]
struct QueuedWrites {
    /// Jobs whose metadata file is outdated, with their latest row.
    outdated: BTreeMap<String, (JobRow, Timestamp)>,
    removed: VecDeque<(JobRow, ReplyCallback)>,
    over: bool,
}

impl MetadataQueue {
    fn queued_writes(&self) -> MutexGuard<'_, QueuedWrites> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MetadataWriter {
    pub(super) fn open(config: Arc<JobsConfig>) -> std::io::Result<MetadataWriter> {
        let shared = Arc::new(MetadataQueue::default());
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("folders".into())
            .spawn(move || run_writer(&config, &of_thread))?;
        Ok(MetadataWriter {
            shared,
            thread: Some(thread),
        })
    }

    pub(super) fn describe(&self, row: JobRow, at: Timestamp) {
        self.shared
            .queued_writes()
            .outdated
            .insert(row.id.clone(), (row, at));
        self.shared.more.notify_one();
    }

    /// Returns a handle to the queue of removals.
    pub(super) fn removals(&self) -> RemovalQueue {
        RemovalQueue(self.shared.clone())
    }
}

/// Queue of removals. What comes after the end of the thread is left to the next process.
pub(super) struct RemovalQueue(Arc<MetadataQueue>);

impl RemovalQueue {
    pub(super) fn push_removal(&self, row: JobRow, reply: ReplyCallback) {
        let mut wanted = self.0.queued_writes();
        wanted.outdated.remove(&row.id);
        wanted.removed.push_back((row, reply));
        drop(wanted);
        self.0.more.notify_one();
    }
}

impl Drop for MetadataWriter {
    fn drop(&mut self) {
        self.shared.queued_writes().over = true;
        self.shared.more.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run_writer(config: &JobsConfig, shared: &MetadataQueue) {
    let mut waiting = PendingLog::open(config);
    // A panic about one task must not stop the others; what is left of it is only files.
    let removed =
        |row: &JobRow| catch_unwind(AssertUnwindSafe(|| remove(config, row))).unwrap_or(true);
    // Removed jobs of which some files could not be deleted yet.
    let mut left: Vec<JobRow> = Vec::new();
    let mut last_try = Instant::now();
    let mut wanted = shared.queued_writes();
    loop {
        // First, however much else there is to do: a crash forgets them.
        if !left.is_empty() && last_try.elapsed() >= AGAIN {
            drop(wanted);
            left.retain(|row| !removed(row));
            last_try = Instant::now();
        } else if let Some((row, reply)) = wanted.removed.pop_front() {
            drop(wanted);
            waiting.write(&pending_log::forgotten_line(&row.id));
            if !removed(&row) {
                left.push(row);
                last_try = Instant::now();
            }
            let (row, made) = (None, None);
            reply(Ok(JobResponse { row, made }));
        } else if !wanted.outdated.is_empty() {
            let outdated = std::mem::take(&mut wanted.outdated);
            drop(wanted);
            let mut lines = String::new();
            for (row, at) in outdated.into_values() {
                match row.job.attempt {
                    0 => lines.push_str(&format!("{}\n", task_metadata(config, &row, at))),
                    // The next change writes it again; nothing else depends on it.
                    _ => drop(catch_unwind(AssertUnwindSafe(|| {
                        describe(config, &row, at)
                    }))),
                }
            }
            waiting.write(&lines);
        } else if wanted.over {
            return;
        } else if left.is_empty() {
            let more = shared.more.wait(wanted);
            wanted = more.unwrap_or_else(PoisonError::into_inner);
            continue;
        } else {
            let more = shared.more.wait_timeout(wanted, AGAIN);
            wanted = more.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        wanted = shared.queued_writes();
    }
}

/// Writes the metadata of a task beside its checkpoints, so that a lost store can be rebuilt.
pub(super) fn describe(config: &JobsConfig, row: &JobRow, at: Timestamp) -> std::io::Result<()> {
    let file = config.record_folder(row).join(METADATA_FILE);
    prompt::write_prompt(&file, &format!("{:#}\n", task_metadata(config, row, at)))
}

fn task_metadata(config: &JobsConfig, row: &JobRow, at: Timestamp) -> Value {
    let (job, about) = (&row.job, &row.about);
    let utc = bowline_formats::time::format_utc;
    let paused_by = match &job.state {
        JobState::Paused(by) => Some(by.kind().name()),
        _ => None,
    };
    let failure = job
        .failure()
        .map(|it| json!({ "code": it.code.name(), "message": it.message, "at": utc(it.at) }));
    json!({
        "id": row.id, "title": job.title, "type": about.type_name, "status": job.task_status().name(),
        "description": job.description, "createdAt": utc(Timestamp(about.created_at)),
        "startedAt": job.started_at.map(utc), "updatedAt": utc(at), "currentPhase": job.current_phase(),
        "totalPhases": job.total_phases(), "workingDir": config.workspace(row), "agent": about.agent,
        "agentStatus": job.agent_status().name(), "pausedBy": paused_by, "priority": about.priority.name(),
        "label": about.label, "shareWorkspace": about.share_workspace, "dependsOn": job.depends_on, "scheduledFor": job.scheduled_for.map(utc),
        "budget": about.budget, "retryOf": job.retry_of, "archived": job.archived, "failure": failure,
    })
}

/// Returns the folder with a note for each removal that may be unfinished.
fn removals(config: &JobsConfig) -> PathBuf {
    config.data.join("removed")
}

/// Notes a removal, so that its files are deleted after a crash too.
pub(super) fn note_removal(config: &JobsConfig, row: &JobRow) -> std::io::Result<()> {
    let note = json!({
        "workspace": row.about.workspace,
        "attempts": row.job.attempt, "verifications": row.job.verifications,
    });
    let file = removals(config).join(&row.id);
    prompt::write_prompt(&file, &format!("{note}\n"))
        .inspect_err(|_| forget_removal(config, &row.id))
}

/// Deletes the note: the removal is finished, or the task still exists.
pub(super) fn forget_removal(config: &JobsConfig, id: &str) {
    let _ = std::fs::remove_file(removals(config).join(id));
}

/// True if the removal of a task is noted.
pub(super) fn is_removal_noted(config: &JobsConfig, id: &str) -> bool {
    removals(config).join(id).exists()
}

/// Returns the tasks with a note, with what is needed to delete their files.
pub(super) fn noted_removals(config: &JobsConfig) -> Vec<JobRow> {
    let notes = std::fs::read_dir(removals(config)).into_iter().flatten();
    let rows = notes.flatten().filter_map(|entry| {
        let id = entry.file_name().into_string().ok()?;
        let note = std::fs::read(entry.path()).unwrap_or_default();
        let note: Value = serde_json::from_slice(&note).unwrap_or_default();
        let count = |name: &str| note[name].as_u64().and_then(|it| u32::try_from(it).ok());
        // A note of an earlier version that no room was left for is empty.
        let counted = |prefix: &str| highest_number(&config.data.join("attempts"), &id, prefix);
        let job = Job {
            attempt: count("attempts").unwrap_or_else(|| counted("-")),
            verifications: count("verifications").unwrap_or_else(|| counted("-v")),
            ..Job::draft()
        };
        let about = JobAttributes {
            workspace: note["workspace"].as_str().map(str::to_owned),
            ..JobAttributes::default()
        };
        Some(JobRow {
            id,
            version: 0,
            job: job.into(),
            about: about.into(),
        })
    });
    rows.collect()
}

/// Returns the highest number of a job's folders that are named by the id, the prefix and a number.
fn highest_number(attempts: &Path, id: &str, prefix: &str) -> u32 {
    let entries = std::fs::read_dir(attempts).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_prefix(id)?.strip_prefix(prefix)?.parse().ok()
    });
    numbers.max().unwrap_or(0)
}

/// Deletes the files of a removed job: its own folders, and only our refs in a folder that a person
/// named. True if nothing is left; a missing resource may be there later.
fn remove(config: &JobsConfig, row: &JobRow) -> bool {
    let workspace = config.workspace(row);
    if row.about.workspace.is_some() && row.job.attempt > 0 && workspace.is_dir() {
        let refs = shell_quoted(&format!("refs/bowline/{}/", row.id));
        let script = format!(
            "git for-each-ref --format='delete %(refname)' {refs} | git update-ref --stdin"
        );
        // A folder without a repository has no refs.
        if let Err(error) = git(&script, &workspace, &config.environment)
            && Resource::named_in(&error).is_some()
        {
            return false;
        }
    }
    let mut folders = vec![
        config.data.join("workspaces").join(&row.id),
        config.data.join("tasks").join(&row.id),
        config.data.join("side").join(format!("{}.git", row.id)),
        config.data.join("archives").join(&row.id),
    ];
    let attempts = (1..=row.job.attempt).map(|it| attempt_id(&row.id, it));
    let verifiers = (1..=row.job.verifications).map(|it| verifier_id(&row.id, it));
    for id in attempts.chain(verifiers) {
        let folder = config.attempt_folder(&id);
        // A process that is being ended must not outlive its folder.
        rebuild::end_attempt(&folder);
        folders.push(folder);
        let _ = std::fs::remove_file(config.token_file(&id));
    }
    let index = checkpoint_index(config, row);
    let _ = std::fs::remove_file(&index);
    // Left from a git that was killed.
    let _ = std::fs::remove_file(index.with_extension("index.lock"));
    let _ = std::fs::remove_file(index.with_extension("index.exclude"));
    let app = task_app::app_folder(&config.data, &row.id);
    for start in task_app::app_attempts(&app) {
        rebuild::end_attempt(start.folder());
    }
    folders.push(app);
    let is_gone = |folder: &PathBuf| match std::fs::remove_dir_all(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    let left = folders.iter().filter(|folder| !is_gone(folder)).count();
    if left == 0 {
        forget_removal(config, &row.id);
    }
    left == 0
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::{JobsConfig, MetadataWriter, note_removal, noted_removals};
    use bowline_machines::job::Job;
    use bowline_store::{JobAttributes, JobRow};
    use bowline_supervisor::ShimProgram;
    use bowline_test_support::wait_until;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    const BOUND: Duration = Duration::from_secs(30);

    #[test]
    fn what_cannot_be_deleted_for_want_of_descriptors_is_deleted_later() {
        let data = tempfile::tempdir().unwrap();
        let workspace = data.path().join("workspaces/task_1/src");
        std::fs::create_dir_all(&workspace).unwrap();
        let config = JobsConfig::new(data.path(), ShimProgram::new("bowline-shim".as_ref(), &[]));
        let folders = MetadataWriter::open(Arc::new(config)).unwrap();
        let before = getrlimit(Resource::Nofile);
        let none = Rlimit {
            current: Some(0),
            ..before
        };
        setrlimit(Resource::Nofile, none).unwrap();
        let (done, answers) = mpsc::channel();
        let row = JobRow {
            id: "task_1".into(),
            version: 1,
            job: Job::draft().into(),
            about: JobAttributes::default().into(),
        };
        folders
            .removals()
            .push_removal(row, Box::new(move |_| done.send(()).unwrap()));
        let answered = answers.recv_timeout(BOUND);
        setrlimit(Resource::Nofile, before).unwrap();
        answered.unwrap();
        assert!(workspace.exists());
        assert!(wait_until(BOUND, || !workspace.exists()));
    }

    #[test]
    fn a_note_that_no_room_was_left_for_leaves_no_attempts_behind() {
        let data = tempfile::tempdir().unwrap();
        for name in ["task_1-1", "task_1-2", "task_1-v3", "task_10-7"] {
            std::fs::create_dir_all(data.path().join("attempts").join(name)).unwrap();
        }
        let config = JobsConfig::new(data.path(), ShimProgram::new("bowline-shim".as_ref(), &[]));
        let row = JobRow {
            id: "task_1".into(),
            version: 1,
            job: Job::draft().into(),
            about: JobAttributes::default().into(),
        };
        note_removal(&config, &row).unwrap();
        std::fs::write(data.path().join("removed/task_1"), "").unwrap();
        let found = noted_removals(&config);
        let counts = |it: &JobRow| (it.id.clone(), it.job.attempt, it.job.verifications);
        assert_eq!(
            found.iter().map(counts).collect::<Vec<_>>(),
            [("task_1".to_owned(), 2, 3)]
        );
    }
}
