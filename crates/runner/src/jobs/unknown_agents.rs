//! Agents of tasks that the store does not know: after it was lost or restored from a backup. They
//! are listed and held: paused until a person decides.

use super::{JobsConfig, workspace_metadata};
use bowline_store::{Store, StoreError};
use bowline_supervisor::{Attempt, AttemptCondition, ShimHandle, SupervisorError, WantedState};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Live agent of a task that the store does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownAgent {
    /// Id of its attempt.
    pub attempt: String,
    /// Id of the task, from the id of the attempt.
    pub task: String,
    /// Folder that it works in.
    pub folder: PathBuf,
    /// Its process id if its shim answers.
    pub pid: Option<i32>,
}

/// Finds live agents whose task the store does not know.
pub fn unknown_agents(
    config: &JobsConfig,
    store: &dyn Store,
) -> Result<Vec<UnknownAgent>, StoreError> {
    let failed = |error| StoreError::Failed(Arc::new(error));
    let mut found = Vec::new();
    let attempts = match std::fs::read_dir(config.data.join("attempts")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        attempts => attempts.map_err(failed)?,
    };
    for entry in attempts {
        let Ok(name) = entry.map_err(failed)?.file_name().into_string() else {
            continue;
        };
        let Some((task, _)) = name.rsplit_once('-') else {
            continue;
        };
        // The agent of a task that a person removed is being ended.
        if store.find_job(task)?.is_some() || workspace_metadata::is_removal_noted(config, task) {
            continue;
        }
        let task = task.to_owned();
        found.extend(live_agent(config, name, task));
    }
    found.sort_by(|one, other| one.attempt.cmp(&other.attempt));
    Ok(found)
}

/// Checks an agent again; returns none if it has ended.
pub fn still_alive(config: &JobsConfig, known: &UnknownAgent) -> Option<UnknownAgent> {
    live_agent(config, known.attempt.clone(), known.task.clone())
}

/// Orders an unknown agent to pause. Its shim carries that out, even without a server.
pub fn hold_agent(config: &JobsConfig, known: &UnknownAgent) -> Result<(), SupervisorError> {
    let attempt = Attempt::open_existing(&config.attempt_folder(&known.attempt))?;
    let mut handle = ShimHandle::attach(&attempt, 0)?;
    request_level(&mut handle, WantedState::Paused)
}

/// Gives an order to an agent that no dispatcher controls.
pub(super) fn request_level(
    handle: &mut ShimHandle,
    want: WantedState,
) -> Result<(), SupervisorError> {
    let status = handle.last_status();
    let (fence, generation) = (status.fence, status.generation + 1);
    handle.set_fence(fence);
    handle.set_wanted_state(want, generation).map(drop)
}

fn live_agent(config: &JobsConfig, name: String, task: String) -> Option<UnknownAgent> {
    let attempt = Attempt::open_existing(&config.attempt_folder(&name)).ok()?;
    if !matches!(attempt.condition(), Ok(AttemptCondition::Alive)) {
        return None;
    }
    let handle = ShimHandle::attach(&attempt, 0).ok();
    Some(UnknownAgent {
        attempt: name,
        task,
        folder: attempt.spec().folder.clone(),
        pid: handle.and_then(|it| it.last_status().agent),
    })
}
