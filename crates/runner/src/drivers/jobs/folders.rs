//! The folders of tasks: what they say of themselves, and their end. Nobody who asks waits for the first, so that a thread of its
//! own does it; the other follows on the same one, and no folder comes back after it.

use super::workshop::index;
use super::{Answered, Config, Reply, app, attempt_id, rebuild, verifier_id, waiting};
use bowline_machines::Timestamp;
use bowline_machines::job::Life;
use bowline_store::JobRow;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Where a workspace says which task it is.
pub(super) const TOLD: &str = ".metadata/task.json";

/// The thread. It ends with this, once everything is done.
pub(super) struct Folders {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    wanted: Mutex<Wanted>,
    more: Condvar,
}

#[derive(Default)]
struct Wanted {
    /// Jobs whose folder does not say yet where they stand; the latest of each.
    untold: BTreeMap<String, (JobRow, Timestamp)>,
    removed: VecDeque<(JobRow, Reply)>,
    over: bool,
}

impl Shared {
    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Folders {
    pub(super) fn open(config: Arc<Config>) -> std::io::Result<Folders> {
        let shared = Arc::new(Shared::default());
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("folders".into())
            .spawn(move || keep(&config, &of_thread))?;
        Ok(Folders {
            shared,
            thread: Some(thread),
        })
    }

    pub(super) fn describe(&self, row: JobRow, at: Timestamp) {
        self.shared
            .wanted()
            .untold
            .insert(row.id.clone(), (row, at));
        self.shared.more.notify_one();
    }

    pub(super) fn remove(&self, row: JobRow, reply: Reply) {
        let mut wanted = self.shared.wanted();
        wanted.untold.remove(&row.id);
        wanted.removed.push_back((row, reply));
        drop(wanted);
        self.shared.more.notify_one();
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        self.shared.wanted().over = true;
        self.shared.more.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep(config: &Config, shared: &Shared) {
    // Without it nothing is told of tasks that wait, and nothing else is missing.
    let mut waiting = waiting::open(config).ok();
    let mut wanted = shared.wanted();
    loop {
        if let Some((row, reply)) = wanted.removed.pop_front() {
            drop(wanted);
            remove(config, &row);
            write(&mut waiting, &waiting::forgotten(&row.id));
            let (row, made) = (None, None);
            reply(Ok(Answered { row, made }));
        } else if !wanted.untold.is_empty() {
            let untold = std::mem::take(&mut wanted.untold);
            drop(wanted);
            let mut lines = String::new();
            for (row, at) in untold.into_values() {
                match row.job.attempt {
                    0 => lines.push_str(&format!("{}\n", told(config, &row, at))),
                    // It is told again with the next change; nothing else rests on it.
                    _ => drop(describe(config, &row, at)),
                }
            }
            write(&mut waiting, &lines);
        } else if wanted.over {
            return;
        } else {
            let more = shared.more.wait(wanted);
            wanted = more.unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        wanted = shared.wanted();
    }
}

fn write(file: &mut Option<File>, lines: &str) {
    if let Some(file) = file {
        let _ = file.write_all(lines.as_bytes());
    }
}

/// What the workspace itself says of its task, so that a lost store can be rebuilt. A folder that a person named and that is not
/// there is not made.
pub(super) fn describe(config: &Config, row: &JobRow, at: Timestamp) -> std::io::Result<()> {
    let workspace = config.workspace(row);
    let file = workspace.join(TOLD);
    match (
        row.about.workspace.is_none() || workspace.is_dir(),
        file.parent(),
    ) {
        (true, Some(folder)) => std::fs::create_dir_all(folder)?,
        _ => return Ok(()),
    }
    std::fs::write(file, format!("{:#}\n", told(config, row, at)))
}

fn told(config: &Config, row: &JobRow, at: Timestamp) -> Value {
    let (job, about) = (&row.job, &row.about);
    let utc = bowline_formats::time::utc;
    let paused_by = match &job.life {
        Life::Paused(by) => Some(by.name()),
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
        "label": about.label, "dependsOn": job.depends_on, "scheduledFor": job.scheduled_for.map(utc),
        "budget": about.budget, "retryOf": job.retry_of, "archived": job.archived, "failure": failure,
    })
}

/// What a job that is forgotten left on the disk: its own folders, never one that a person named.
fn remove(config: &Config, row: &JobRow) {
    let mut folders = vec![
        config.data.join("workspaces").join(&row.id),
        config.data.join("side").join(format!("{}.git", row.id)),
        config.data.join("archives").join(&row.id),
    ];
    let attempts = (1..=row.job.attempt).map(|it| attempt_id(&row.id, it));
    let verifiers = (1..=row.job.verifications).map(|it| verifier_id(&row.id, it));
    for id in attempts.chain(verifiers) {
        let folder = config.attempt(&id);
        // One that is being ended does not outlive its folder.
        rebuild::end(&folder);
        folders.push(folder);
        let _ = std::fs::remove_file(config.token(&id));
    }
    let _ = std::fs::remove_file(index(config, row));
    let app = app::folder(&config.data, &row.id);
    for start in app::starts(&app) {
        rebuild::end(start.folder());
    }
    folders.push(app);
    for folder in folders {
        // One that is not there is gone already.
        let _ = std::fs::remove_dir_all(folder);
    }
}
