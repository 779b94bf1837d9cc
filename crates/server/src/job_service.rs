//! The interface of the server to jobs. Synchronous: handlers wait on their own threads.

pub use crate::diff::ReviewChanges;
use bowline_engine::actor::ProcessAncestry;
use bowline_engine::machines::Timestamp;
use bowline_formats::rest::{AgentPreset, TaskType, Utterance};
pub use bowline_runner::jobs::{
    DispatcherHealth, DraftEdit, JobRequest, JobResponse, RequestError, SubmittedRequest, TaskApp,
    UnknownAgent, WorkspaceFault, record_thing,
};
use bowline_store::{JobRow, ReviewRow, Store};
use bowline_words::message::ServeTrouble;
use std::path::PathBuf;
use std::sync::Arc;

/// Numbers of failures since the process started.
#[derive(Debug, Clone, Copy, Default)]
pub struct FailureCounts {
    /// Steps dropped because their task had been removed.
    pub dropped_steps: u64,
    /// Restarts of the dispatcher.
    pub restarts: u64,
    /// Starts of agents that were retried because the machine lacked a resource.
    pub retries: u64,
}

/// Access to jobs and to the dispatcher that decides about them.
pub trait JobService: Send + Sync + 'static {
    /// Returns the store of the jobs.
    fn store(&self) -> Arc<dyn Store>;

    /// Returns the time of the dispatcher's clock.
    fn current_time(&self) -> Timestamp;

    /// Submits a request; returns after the decision is durable.
    fn submit_request(&self, asked: SubmittedRequest) -> Result<JobResponse, RequestError>;

    /// Returns task and attempt of an agent's token, while that attempt is the current one.
    fn agent_token(&self, text: &str) -> Option<(String, u32)>;

    /// Returns the task of an agent that shows no token of its own.
    fn task_of_agent(&self, _descent: &ProcessAncestry) -> Option<String> {
        None
    }

    /// Returns the folder a job works in, once there is one.
    fn workspace_folder(&self, row: &JobRow) -> Option<PathBuf>;

    /// Returns the task whose use of the folder a pending one waits for.
    fn workspace_held_by(&self, _row: &JobRow) -> Option<String> {
        None
    }

    /// Returns the log files of a job's attempts, the oldest first.
    fn log_files(&self, row: &JobRow) -> Vec<PathBuf>;

    /// Returns the error log of a failed task, once it is written.
    fn error_log(&self, _row: &JobRow) -> Option<PathBuf> {
        None
    }

    /// Checks whether the process of the current attempt is alive.
    fn is_alive(&self, row: &JobRow) -> bool;

    /// Returns the id of that process.
    fn process_id(&self, _row: &JobRow) -> Option<i32> {
        None
    }

    /// Returns the conversation from an index on.
    fn conversation_entries(&self, row: &JobRow, from: u64, limit: usize) -> Vec<Utterance>;

    /// Returns secret values of a job, in clear text: the ZIP leaves out files that contain one.
    fn secret_values(&self, row: &JobRow) -> Vec<String>;

    /// Returns the changes between the start of a phase and the state under review; the error is a
    /// reason to show.
    fn review_changes(&self, row: &JobRow, review: &ReviewRow) -> Result<ReviewChanges, String>;

    /// Returns the configured task types.
    fn task_types(&self) -> Vec<TaskType>;

    /// Returns the agents that can be started.
    fn agent_presets(&self) -> Vec<AgentPreset>;

    /// Returns the number of agents that may run at once, and that run now.
    fn slot_counts(&self) -> (u32, u32);

    /// Reloads the settings; invalid ones change nothing.
    fn reload_settings(&self) -> Result<(), ServeTrouble> {
        Ok(())
    }

    /// Returns agents that run for tasks which the store does not know.
    fn unknown_agents(&self) -> Vec<UnknownAgent> {
        Vec::new()
    }

    /// Returns the state of the dispatcher.
    fn dispatcher_health(&self) -> DispatcherHealth {
        DispatcherHealth::Ready
    }

    /// Returns numbers of failures since the process started.
    fn failure_counts(&self) -> FailureCounts {
        FailureCounts::default()
    }

    /// Inspects (`None`), starts (`true`) or stops (`false`) the app of a task.
    fn control_app(&self, row: &JobRow, order: Option<bool>) -> Result<TaskApp, RequestError>;

    /// Seals an action of a person into a token; `None` if that is not possible.
    fn seal_action(&self, _action: &str) -> Option<String> {
        None
    }

    /// Returns the action that a token stands for.
    fn open_action(&self, _word: &str) -> Option<String> {
        None
    }
}
