//! A task and its agent.

#[cfg(feature = "openapi")]
use super::named_schema::NamedSchema;
use bowline_machines::job::{
    AgentStatus, BlockedBy, JobAction, PausedByKind, Priority, TaskStatus,
};
#[cfg(feature = "openapi")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason why a pending task does not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum WaitReason {
    /// It is scheduled for later.
    ScheduledLater,
    /// Tasks it depends on are not completed.
    WaitingForTasks,
    /// Another task holds its workspace, or a parent or child of it, or waits for it and comes
    /// first.
    WorkspaceBusy,
}

/// Limits of what a task may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Budget {
    /// Maximum number of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Maximum cost in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Maximum minutes at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
}

/// The reason why a task failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Failure {
    /// `agent_fatal`, `verification_failed`, `cancelled`, `agent_exited`, `spawn_failed`,
    /// `dependency_rejected`, `dependency_timeout` or `breaker`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// Further details, such as the issues of a verification.
    pub details: Option<String>,
    /// Time of the failure.
    pub at: String,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Task {
    /// `task_…`
    pub id: String,
    /// Empty in a draft that has none yet.
    pub title: String,
    /// The type of work; `null` in a draft that has none yet.
    #[serde(rename = "type")]
    pub task_type: Option<String>,
    /// Description of the work; empty in a draft that has none yet.
    pub description: String,
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<TaskStatus>"))]
    pub status: TaskStatus,
    /// Number of the current phase, from 1; `null` before the first assignment.
    pub current_phase: Option<u32>,
    /// Number of phases of its type; 0 in a draft without a type.
    pub total_phases: u32,
    /// Completed part of the task in whole percent.
    pub progress: u32,
    pub created_at: String,
    /// Time of the first start of its agent.
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    pub failed_at: Option<String>,
    /// Time of the last transition.
    pub updated_at: String,
    /// Actions that a person may take now, the most useful first.
    #[cfg_attr(feature = "openapi", schemars(with = "Vec<NamedSchema<JobAction>>"))]
    pub allowed_actions: Vec<JobAction>,
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<Priority>"))]
    pub priority: Priority,
    /// Tasks that must be completed first.
    pub depends_on: Vec<String>,
    /// The tasks it waits for: incomplete ones that it depends on, or the one that holds its
    /// workspace.
    pub waiting_for: Vec<String>,
    /// The reason why a pending task does not start, unless it waits only for a free agent.
    pub wait_reason: Option<WaitReason>,
    /// True if it does not go on without a person.
    pub needs_you: bool,
    /// Earliest time of its start.
    pub scheduled_for: Option<String>,
    /// A label of the person's own, to filter by.
    pub label: Option<String>,
    /// Name of the agent that works on it.
    pub agent: Option<String>,
    /// State of that agent; `/agent` has more.
    pub agent_state: AgentState,
    pub budget: Option<Budget>,
    /// The folder the agent works in; `null` before the first assignment.
    pub workspace: Option<String>,
    /// True if it may work in that folder while another task holds it.
    pub share_workspace: bool,
    /// The failed task that it replaces.
    pub retry_of: Option<String>,
    /// The task that replaced it.
    pub retried_by: Option<String>,
    /// True if it is hidden from the list.
    pub archived: bool,
    /// The failure, while the task is failed.
    pub failure: Option<Failure>,
    /// Tokens used so far, over all attempts.
    pub tokens_used: u64,
    /// Dollars spent so far, over all attempts; `null` when its client has told none.
    pub cost_usd: Option<f64>,
    /// The number of its latest event. Send it as `If-Match` with a decision about the task in this
    /// version.
    pub version: u64,
    /// Number of transitions of the task and its agent. A checkpoint or tokens raise only the
    /// version.
    pub moves: u64,
}

/// The state of an agent in a list of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct AgentState {
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<AgentStatus>"))]
    pub status: AgentStatus,
    /// True if its process exists.
    pub alive: bool,
    /// Step that the agent reported last.
    pub current_step: Option<String>,
    /// The thing that the agent waits for.
    #[cfg_attr(feature = "openapi", schemars(with = "Option<NamedSchema<BlockedBy>>"))]
    pub blocked_by: Option<BlockedBy>,
    /// The cause of the pause.
    #[cfg_attr(
        feature = "openapi",
        schemars(with = "Option<NamedSchema<PausedByKind>>")
    )]
    pub paused_by: Option<PausedByKind>,
    /// End of the rate limit.
    pub resume_at: Option<String>,
    /// Time of its last output.
    pub last_output: Option<String>,
    /// Seconds without output after which it is restarted; `null` when it would not be.
    pub restart_after: Option<u64>,
    /// Tokens used over all attempts.
    pub tokens_used: u64,
    /// Cost in US dollars over all attempts; `null` when its client reported none.
    pub cost_usd: Option<f64>,
}

/// The agent of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Agent {
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<AgentStatus>"))]
    pub status: AgentStatus,
    /// Number of the current phase, from 1.
    pub current_phase: Option<u32>,
    /// Step that the agent reported last.
    pub current_step: Option<String>,
    /// Completed part of the current phase in whole percent, by its steps.
    pub progress: u32,
    /// Tokens used over all attempts.
    pub tokens_used: u64,
    /// Cost in US dollars over all attempts; `null` when its client reported none.
    pub cost_usd: Option<f64>,
    /// The thing that the agent waits for.
    #[cfg_attr(feature = "openapi", schemars(with = "Option<NamedSchema<BlockedBy>>"))]
    pub blocked_by: Option<BlockedBy>,
    /// Time of its last change.
    pub last_update: String,
    pub checkpoint: AgentCheckpoint,
    /// The cause of the pause.
    #[cfg_attr(
        feature = "openapi",
        schemars(with = "Option<NamedSchema<PausedByKind>>")
    )]
    pub paused_by: Option<PausedByKind>,
    /// End of the rate limit.
    pub resume_at: Option<String>,
    /// Its name in the configuration.
    pub name: Option<String>,
    /// The number of its latest process; 0 before the first.
    pub attempt: u32,
    /// True if that process exists now.
    pub alive: bool,
    /// Process id on the machine of the server, while the process exists.
    pub pid: Option<i32>,
    /// Time of its last output.
    pub last_output: Option<String>,
    /// Seconds without output after which it is restarted; `null` when it would not be.
    pub restart_after: Option<u64>,
}

/// The times of an agent's checkpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct AgentCheckpoint {
    /// Time of the latest checkpoint.
    pub last_saved: Option<String>,
    /// Milliseconds between two regular checkpoints.
    pub auto_save_interval: u64,
}

/// The status of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum PhaseStatus {
    /// Still to come.
    Pending,
    /// Worked on, or verified.
    InProgress,
    /// A person looks at it.
    Review,
    /// Behind us.
    Completed,
    /// The task ended in it.
    Failed,
}

/// A phase of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Phase {
    /// Number of the phase, from 1.
    pub phase: u32,
    pub name: String,
    pub status: PhaseStatus,
    /// The names of its steps, where the type has them.
    pub steps: Vec<String>,
    /// Number of completed steps.
    pub completed_steps: u32,
    /// Times of the steps that its agent reported in the last pass.
    pub step_times: Vec<StepTime>,
    /// True if a person approves it.
    pub review: bool,
    pub started_at: Option<String>,
    /// Time of its approval, or of its verification when no person approves it.
    pub completed_at: Option<String>,
}

/// The time of a step, as its agent reported it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct StepTime {
    /// Number of the step, from 1.
    pub step: u32,
    /// Name that the agent gave.
    pub name: String,
    pub started_at: String,
    /// Time of the next step's start, or of the report that the phase is complete.
    pub completed_at: Option<String>,
}
