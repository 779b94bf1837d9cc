//! Agents that run for tasks which the store does not know: after a lost store, or one that was put back. They are shown, and
//! left alone.

use super::Config;
use bowline_store::{Store, StoreError};
use bowline_supervisor::{Attempt, Condition, Handle};
use std::path::PathBuf;

/// An agent of a task that the store does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownAgent {
    /// The name of its attempt.
    pub attempt: String,
    /// The task, as the attempt names it.
    pub task: String,
    /// The folder it works in.
    pub folder: PathBuf,
    /// Its process, where its owner answers.
    pub pid: Option<i32>,
}

/// Looks for live agents whose task the store does not know.
pub fn unknown_agents(config: &Config, store: &dyn Store) -> Result<Vec<UnknownAgent>, StoreError> {
    let mut found = Vec::new();
    let folders = std::fs::read_dir(config.data.join("attempts"));
    for entry in folders.into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let Some((task, _)) = name.rsplit_once('-') else {
            continue;
        };
        if store.job(task)?.is_some() {
            continue;
        }
        let task = task.to_owned();
        found.extend(live_agent(config, name, task));
    }
    found.sort_by(|one, other| one.attempt.cmp(&other.attempt));
    Ok(found)
}

/// The same agent, looked at again; nothing when it has ended.
pub fn still_alive(config: &Config, known: &UnknownAgent) -> Option<UnknownAgent> {
    live_agent(config, known.attempt.clone(), known.task.clone())
}

fn live_agent(config: &Config, name: String, task: String) -> Option<UnknownAgent> {
    let attempt = Attempt::open(&config.attempt(&name)).ok()?;
    if !matches!(attempt.condition(), Ok(Condition::Alive)) {
        return None;
    }
    let handle = Handle::attach(&attempt, 0).ok();
    Some(UnknownAgent {
        attempt: name,
        task,
        folder: attempt.spec().folder.clone(),
        pid: handle.and_then(|it| it.last_status().agent),
    })
}
