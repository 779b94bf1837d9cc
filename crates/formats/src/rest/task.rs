//! A task and its agent.

#[cfg(feature = "openapi")]
use super::named_schema::NamedSchema;
use bowline_machines::job::{Action, AgentStatus, BlockedBy, PausedByKind, Priority, TaskStatus};
#[cfg(feature = "openapi")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a pending task does not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum WaitReason {
    /// It is scheduled for later.
    ScheduledLater,
    /// Tasks it depends on are not completed.
    WaitingForTasks,
    /// Another task holds its workspace, a parent or a child of it, or waits for it and comes first.
    WorkspaceBusy,
}

/// What a task may use at the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Budget {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Minutes at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
}

/// Why a task failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Failure {
    /// `agent_fatal`, `verification_failed`, `cancelled`, `agent_exited`, `spawn_failed`, `dependency_rejected`,
    /// `dependency_timeout` or `breaker`.
    pub code: String,
    /// For people.
    pub message: String,
    /// More, when there is more.
    pub details: Option<String>,
    /// When.
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
    /// What is wanted; empty in a draft that has none yet.
    pub description: String,
    /// Where it stands.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<TaskStatus>"))]
    pub status: TaskStatus,
    /// From 1; `null` before the first assignment.
    pub current_phase: Option<u32>,
    /// How many phases its type has; 0 in a draft without a type.
    pub total_phases: u32,
    /// Whole percent of the task.
    pub progress: u32,
    /// When it was made.
    pub created_at: String,
    /// When its agent was first started.
    pub started_at: Option<String>,
    /// When it was done.
    pub completed_at: Option<String>,
    /// When it failed.
    pub failed_at: Option<String>,
    /// When it last moved.
    pub updated_at: String,
    /// What a person may do now, the most useful first.
    #[cfg_attr(feature = "openapi", schemars(with = "Vec<NamedSchema<Action>>"))]
    pub allowed_actions: Vec<Action>,
    /// How urgent it is.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<Priority>"))]
    pub priority: Priority,
    /// Tasks that must be completed first.
    pub depends_on: Vec<String>,
    /// The tasks it waits for: those it depends on that are not completed, or the one that holds its workspace.
    pub waiting_for: Vec<String>,
    /// Why a pending task does not start, unless it waits for a free agent alone.
    pub wait_reason: Option<WaitReason>,
    /// It does not go on without a person.
    pub needs_you: bool,
    /// Not before.
    pub scheduled_for: Option<String>,
    /// A word of the person's own.
    pub label: Option<String>,
    /// The name of the agent it is done by.
    pub agent: Option<String>,
    /// Where that agent stands; more in `/agent`.
    pub agent_state: AgentState,
    /// What it may use at the most.
    pub budget: Option<Budget>,
    /// The folder the agent works in; `null` before the first assignment.
    pub workspace: Option<String>,
    /// It may work in that folder while another task holds it.
    pub share_workspace: bool,
    /// The failed task it takes the place of.
    pub retry_of: Option<String>,
    /// The task that took its place.
    pub retried_by: Option<String>,
    /// Hidden from the list.
    pub archived: bool,
    /// Why it failed, while it is failed.
    pub failure: Option<Failure>,
    /// Tokens used so far, over all attempts.
    pub tokens_used: u64,
    /// Dollars spent so far, over all attempts; `null` when its client has told none.
    pub cost_usd: Option<f64>,
    /// The number of its latest event. Send it as `If-Match` with a decision that is about the task as it was then.
    pub version: u64,
    /// How often it or its agent has moved: a checkpoint or tokens raise the version, and not this.
    pub moves: u64,
}

/// An agent as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct AgentState {
    /// Where it stands.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<AgentStatus>"))]
    pub status: AgentStatus,
    /// Whether its process is there.
    pub alive: bool,
    /// The step it said it is at.
    pub current_step: Option<String>,
    /// What it waits for.
    #[cfg_attr(feature = "openapi", schemars(with = "Option<NamedSchema<BlockedBy>>"))]
    pub blocked_by: Option<BlockedBy>,
    /// Who stopped it.
    #[cfg_attr(
        feature = "openapi",
        schemars(with = "Option<NamedSchema<PausedByKind>>")
    )]
    pub paused_by: Option<PausedByKind>,
    /// When a limit ends.
    pub resume_at: Option<String>,
    /// When it last said anything.
    pub last_output: Option<String>,
    /// Seconds without output after which it is restarted; `null` when it would not be.
    pub restart_after: Option<u64>,
    /// Over all attempts.
    pub tokens_used: u64,
    /// Dollars over all attempts; `null` when its client has told none.
    pub cost_usd: Option<f64>,
}

/// The agent of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Agent {
    /// Where it stands.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<AgentStatus>"))]
    pub status: AgentStatus,
    /// From 1.
    pub current_phase: Option<u32>,
    /// The step it said it is at.
    pub current_step: Option<String>,
    /// Whole percent of the current phase, by its steps.
    pub progress: u32,
    /// Over all attempts.
    pub tokens_used: u64,
    /// Dollars over all attempts; `null` when its client has told none.
    pub cost_usd: Option<f64>,
    /// What it waits for.
    #[cfg_attr(feature = "openapi", schemars(with = "Option<NamedSchema<BlockedBy>>"))]
    pub blocked_by: Option<BlockedBy>,
    /// When something about it last changed.
    pub last_update: String,
    /// Of its checkpoints.
    pub checkpoint: AgentCheckpoint,
    /// Who stopped it.
    #[cfg_attr(
        feature = "openapi",
        schemars(with = "Option<NamedSchema<PausedByKind>>")
    )]
    pub paused_by: Option<PausedByKind>,
    /// When a limit ends.
    pub resume_at: Option<String>,
    /// Its name in the configuration.
    pub name: Option<String>,
    /// The number of its latest process; 0 before the first.
    pub attempt: u32,
    /// Whether that process is there, looked at now.
    pub alive: bool,
    /// Its number on the machine of the server, while it is there.
    pub pid: Option<i32>,
    /// When it last said anything.
    pub last_output: Option<String>,
    /// Seconds without output after which it is restarted; `null` when it would not be.
    pub restart_after: Option<u64>,
}

/// Of the checkpoints of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct AgentCheckpoint {
    /// When the latest was saved.
    pub last_saved: Option<String>,
    /// Milliseconds between two that are saved by the clock.
    pub auto_save_interval: u64,
}

/// Where a phase stands.
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
    /// From 1.
    pub phase: u32,
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub status: PhaseStatus,
    /// The names of its steps, where the type has them.
    pub steps: Vec<String>,
    /// How many of them are done.
    pub completed_steps: u32,
    /// When its agent said that it is at which step, in its last round.
    pub step_times: Vec<StepTime>,
    /// Whether a person approves it.
    pub review: bool,
    /// When it began.
    pub started_at: Option<String>,
    /// When it was over: approved, or verified where no person approves it.
    pub completed_at: Option<String>,
}

/// A step as its agent told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct StepTime {
    /// From 1.
    pub step: u32,
    /// What the agent calls it.
    pub name: String,
    /// When it began.
    pub started_at: String,
    /// When the agent went on to the next one, or called the phase complete.
    pub completed_at: Option<String>,
}
