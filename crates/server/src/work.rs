//! What the server needs of the loop that decides about jobs. Synchronous: handlers wait on their own threads.

use bowline_formats::rest::{AgentPreset, FileDiff, TaskType, Utterance};
pub use bowline_runner::drivers::jobs::{Answered, App, Asked, Edit, Refused, Wish};
use bowline_store::{JobRow, ReviewRow, Store};
use std::path::PathBuf;
use std::sync::Arc;

/// The loop that decides about jobs.
pub trait Work: Send + Sync + 'static {
    /// Where jobs are kept.
    fn store(&self) -> Arc<dyn Store>;

    /// Has something decided, and made durable; the answer comes afterwards.
    fn ask(&self, asked: Asked) -> Result<Answered, Refused>;

    /// Whose token that is: task and attempt, while that attempt is the present one.
    fn agent_token(&self, text: &str) -> Option<(String, u32)>;

    /// The folder a job works in, once there is one.
    fn workspace(&self, row: &JobRow) -> Option<PathBuf>;

    /// What the attempts of a job printed: a file each, the oldest first.
    fn logs(&self, row: &JobRow) -> Vec<PathBuf>;

    /// Whether the process of the present attempt is there, looked at now.
    fn alive(&self, row: &JobRow) -> bool;

    /// The number of that process.
    fn pid(&self, _row: &JobRow) -> Option<i32> {
        None
    }

    /// What was said, from a number on.
    fn conversation(&self, row: &JobRow, from: u64, limit: usize) -> Vec<Utterance>;

    /// Values that were given to a job, in clear: files that hold one are not handed out by the bundle.
    fn secrets(&self, row: &JobRow) -> Vec<String>;

    /// What changed between the beginning of a phase and what is laid before a person.
    fn diff(&self, row: &JobRow, review: &ReviewRow) -> Result<Vec<FileDiff>, String>;

    /// The types of work.
    fn types(&self) -> Vec<TaskType>;

    /// The agents that can be started.
    fn agents(&self) -> Vec<AgentPreset>;

    /// Agents that may run at once, and that do.
    fn slots(&self) -> (u32, u32);

    /// The app of a task: looked at, started (`true`) or ended (`false`).
    fn app(&self, row: &JobRow, _order: Option<bool>) -> Result<App, Refused> {
        let id = row.id.clone();
        Err(Refused::NoSuch { what: "app", id })
    }

    /// A word that stands for one answer of a person; nothing where none can be made.
    fn seal_action(&self, _action: &str) -> Option<String> {
        None
    }

    /// The answer that such a word stands for.
    fn open_action(&self, _word: &str) -> Option<String> {
        None
    }
}
