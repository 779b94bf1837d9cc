//! The folders of tasks: what they say of themselves, and their end. Nobody who asks waits for the first, so that a thread of its
//! own does it; the other follows on the same one, and no folder comes back after it.

use super::workshop::index;
use super::{Answered, Config, Reply, WAITING, app, attempt_id, rebuild, verifier_id};
use bowline_machines::Timestamp;
use bowline_machines::job::Life;
use bowline_store::JobRow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

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
        std::fs::create_dir_all(config.data.join(WAITING))?;
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
    let mut wanted = shared.wanted();
    loop {
        if let Some((row, reply)) = wanted.removed.pop_front() {
            drop(wanted);
            remove(config, &row);
            let (row, made) = (None, None);
            reply(Ok(Answered { row, made }));
        } else if let Some((_, (row, at))) = wanted.untold.pop_first() {
            drop(wanted);
            // It is told again with the next change; nothing else rests on it.
            let _ = describe(config, &row, at);
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

/// What the workspace itself says of its task, so that a lost store can be rebuilt. A task that nobody has begun has none yet:
/// a file of its own says so of it. A folder that a person named and that is not there is not made.
pub(super) fn describe(config: &Config, row: &JobRow, at: Timestamp) -> std::io::Result<()> {
    let workspace = config.workspace(row);
    let (job, about) = (&row.job, &row.about);
    let utc = bowline_formats::time::utc;
    let paused_by = match &job.life {
        Life::Paused(by) => Some(by.name()),
        _ => None,
    };
    let failure = job.failure().map(
        |it| serde_json::json!({ "code": it.code.name(), "message": it.message, "at": utc(it.at) }),
    );
    let text = serde_json::json!({
        "id": row.id, "title": job.title, "type": about.type_name, "status": job.task_status().name(),
        "description": job.description, "createdAt": utc(Timestamp(about.created_at)),
        "startedAt": job.started_at.map(utc), "updatedAt": utc(at), "currentPhase": job.current_phase(),
        "totalPhases": job.total_phases(), "workingDir": workspace, "agent": about.agent,
        "agentStatus": job.agent_status().name(), "pausedBy": paused_by, "priority": about.priority.name(),
        "label": about.label, "dependsOn": job.depends_on, "scheduledFor": job.scheduled_for.map(utc),
        "budget": about.budget, "retryOf": job.retry_of, "archived": job.archived, "failure": failure,
    });
    let text = format!("{text:#}\n");
    let waiting = config.waiting(&row.id);
    if job.attempt == 0 {
        return std::fs::write(waiting, text);
    }
    let folder = workspace.join(".metadata");
    match about.workspace.is_none() || workspace.is_dir() {
        true => std::fs::create_dir_all(&folder)?,
        false => return Ok(()),
    }
    std::fs::write(folder.join("task.json"), text)?;
    // Mostly it is not there any more.
    let _ = std::fs::remove_file(waiting);
    Ok(())
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
    let _ = std::fs::remove_file(config.waiting(&row.id));
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
