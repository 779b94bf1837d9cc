//! Finds the logs of a task's agents, for readers outside of the run.

use super::repo::RunRepo;
use super::run::run_key;
use crate::core::cleanup::ATTEMPTS_FOLDER;
use bowline_engine::operations::orchestrate::Orchestration;
use bowline_engine::{Context, Error};
use std::path::PathBuf;

/// Returns the log files of a task's attempts, the oldest first. None if there is no such task; an
/// empty list if no agent was started, or its attempts were cleaned up.
pub fn attempt_logs(
    context: &Context,
    orchestration: &Orchestration,
    task: &str,
) -> Result<Option<Vec<PathBuf>>, Error> {
    let (_, run) = orchestration.read_run(context)?;
    if run.find_node(task).is_none() {
        return Ok(None);
    }
    let (key, name) = (
        run_key(orchestration, run.started_at()),
        RunRepo::task_name(task),
    );
    let folder = orchestration.data_folder(context).join(ATTEMPTS_FOLDER);
    let attempts = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let numbered = attempts.filter_map(|attempt| {
        let id = attempt.file_name();
        let of_task = id.to_str()?.strip_prefix(&key)?.strip_prefix('-')?;
        let number = of_task.strip_prefix(&name)?.strip_prefix('-')?;
        Some((number.parse::<u32>().ok()?, attempt.path().join("log")))
    });
    let mut numbered: Vec<(u32, PathBuf)> = numbered.collect();
    numbered.sort();
    Ok(Some(numbered.into_iter().map(|(_, log)| log).collect()))
}
