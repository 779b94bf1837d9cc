//! Data folder of an agent run on a state file, outside the project, and the right to be the only
//! run.
//!
//! A run holds the lock in this folder, not that of the state file. A verb that changes the state
//! file, also one of the run's own agents, takes that lock for a moment as always, and the run sees
//! the change.

use crate::context::Context;
use crate::error::Error;
use crate::files::KnownFile;
use bowline_gate::locate::state_home_in;
use bowline_statefiles::{
    self as statefiles, ContentHash, DocumentChange, FileLayout, StateFile, StateFileGuard,
    WriteOutcome,
};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for waiting on a run that is about to end.
const WAIT: Duration = Duration::from_millis(300);
/// File whose lock is the right to run.
const FILE_NAME: &str = "run.json";

/// Right to run agents on a state file. Others learn who has it; dropping it releases the right.
#[derive(Debug)]
pub struct AgentRunLock {
    folder: PathBuf,
    held: StateFileGuard,
}

impl AgentRunLock {
    /// Takes the right to run on a state file, or returns an error that names its owner.
    pub fn acquire(context: &Context, file: &KnownFile) -> Result<AgentRunLock, Error> {
        let folder = folder_of(context, file);
        let right = run_lock_file(context, &folder);
        let mut request = context.new_request();
        // The command line may begin with a path, not with the verb.
        request.what = format!("bowline {} run", file.kind.command_noun());
        let mut held = match right.lock_for_writing(&request) {
            Err(statefiles::StateFileError::Locked {
                owner, waited_ms, ..
            }) => {
                return Err(locked_error(file, owner, waited_ms));
            }
            other => other?,
        };
        // Each run has a number of its own: orders of an earlier run no longer count.
        let text = format!("{{\"request\":\"{}\"}}\n", request.id);
        while held.replace_document(&request, &DocumentChange::replace_with(text.clone()))?
            == WriteOutcome::Theirs
        {}
        Ok(AgentRunLock { folder, held })
    }

    /// Returns the folder of attempts, notes and prompts.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the number of this run, higher than that of every earlier one.
    pub fn run_number(&self) -> u64 {
        self.held.snapshot().seq
    }
}

/// Fails while a run is active: going back would break what its agents rely on.
pub(crate) fn is_free(context: &Context, file: &KnownFile) -> Result<(), Error> {
    let right = run_lock_file(context, &folder_of(context, file));
    match right.lock_owner(context.clock.now_ms())? {
        None => Ok(()),
        Some(owner) => Err(locked_error(file, Box::new(owner), 0)),
    }
}

fn run_lock_file(context: &Context, folder: &Path) -> StateFile {
    StateFile::new(FileLayout::new(folder.join(FILE_NAME)))
        .with_disk(context.disk.clone())
        .with_lock_wait(WAIT.min(context.lock_wait))
}

/// Names the state file, which people know.
fn locked_error(file: &KnownFile, owner: Box<statefiles::LockHolder>, waited_ms: u64) -> Error {
    Error::File(statefiles::StateFileError::Locked {
        path: file.path.clone(),
        owner,
        waited_ms,
    })
}

fn folder_of(context: &Context, file: &KnownFile) -> PathBuf {
    let variable = |name| context.variables.get(name).map(OsStr::to_owned);
    let path = file.path.canonicalize();
    let path = path.unwrap_or_else(|_| file.path.clone());
    let key = ContentHash::of_bytes(path.as_os_str().as_encoded_bytes());
    state_home_in(variable)
        .join("bowline/runs")
        .join(key.to_string())
}
