//! What the server needs of the loop that decides about jobs. Synchronous: handlers wait on their own threads.

pub use crate::diff::ReviewChanges;
use bowline_engine::actor::Descent;
use bowline_engine::machines::Timestamp;
use bowline_formats::rest::{AgentPreset, TaskType, Utterance};
pub use bowline_runner::drivers::jobs::{
    Answered, App, Asked, Edit, Health as Loop, Refused, UnknownAgent, Wish, WorkspaceFault,
};
use bowline_store::{JobRow, ReviewRow, Store};
use bowline_words::message::ServeTrouble;
use std::path::PathBuf;
use std::sync::Arc;

/// Numbers of failures since the process began.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failed {
    /// Steps dropped because their task had been removed.
    pub dropped_steps: u64,
    /// Times the dispatcher was started anew.
    pub restarts: u64,
    /// Starts tried again because the machine lacked something for them.
    pub retries: u64,
}

/// The loop that decides about jobs.
pub trait Work: Send + Sync + 'static {
    /// Where jobs are kept.
    fn store(&self) -> Arc<dyn Store>;

    /// The time it decides by.
    fn now(&self) -> Timestamp;

    /// Has something decided, and made durable; the answer comes afterwards.
    fn ask(&self, asked: Asked) -> Result<Answered, Refused>;

    /// Whose token that is: task and attempt, while that attempt is the present one.
    fn agent_token(&self, text: &str) -> Option<(String, u32)>;

    /// The task of an agent that shows no token of its own.
    fn task_of_agent(&self, _descent: &Descent) -> Option<String> {
        None
    }

    /// The folder a job works in, once there is one.
    fn workspace(&self, row: &JobRow) -> Option<PathBuf>;

    /// The task that a pending one waits for because of its folder.
    fn workspace_held_by(&self, _row: &JobRow) -> Option<String> {
        None
    }

    /// What the attempts of a job printed: a file each, the oldest first.
    fn logs(&self, row: &JobRow) -> Vec<PathBuf>;

    /// The error log of a task that failed, once it is written.
    fn error_log(&self, _row: &JobRow) -> Option<PathBuf> {
        None
    }

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

    /// What changed between the beginning of a phase and what is laid before a person; the error is a reason to show.
    fn diff(&self, row: &JobRow, review: &ReviewRow) -> Result<ReviewChanges, String>;

    /// The types of work.
    fn types(&self) -> Vec<TaskType>;

    /// The agents that can be started.
    fn agents(&self) -> Vec<AgentPreset>;

    /// Agents that may run at once, and that do.
    fn slots(&self) -> (u32, u32);

    /// Reads the settings again; those that cannot be used change nothing.
    fn reload(&self) -> Result<(), ServeTrouble> {
        Ok(())
    }

    /// Agents that run for tasks which the store does not know.
    fn unknown_agents(&self) -> Vec<UnknownAgent> {
        Vec::new()
    }

    /// How the loop that decides is.
    fn health(&self) -> Loop {
        Loop::Ready
    }

    /// Numbers of failures since the process began.
    fn failures(&self) -> Failed {
        Failed::default()
    }

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
