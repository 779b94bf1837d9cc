//! Shapes besides those of tasks: the inbox, agents, the server, and workspaces with the other
//! kinds of work.

#[cfg(feature = "openapi")]
use super::named_schema::NamedSchema;
use super::{Dependency, Permission, Question, Review};
use bowline_machines::job::AgentStatus;
#[cfg(feature = "openapi")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// An item that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct InboxItem {
    pub kind: InboxKind,
    /// Id of the review, question, dependency, permission or task.
    pub id: String,
    pub task_id: String,
    /// Title of the task.
    pub title: String,
    /// Name of the agent that works on the task: the request is in that agent's words.
    pub agent: String,
    /// Version of the task.
    pub version: u64,
    /// Time since which it waits.
    pub since: String,
    /// The review, of kind `review`.
    pub review: Option<Review>,
    /// The question, of kind `question`.
    pub question: Option<Question>,
    /// The dependency, of kind `dependency`.
    pub dependency: Option<Dependency>,
    /// The permission, of kind `permission`.
    pub permission: Option<Permission>,
    /// The cause, of kind `task`: the tasks it waits for, or the limit that stopped it.
    pub reason: Option<String>,
}

/// The kind of an inbox item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum InboxKind {
    /// A phase to be reviewed.
    Review,
    /// A question to be answered.
    Question,
    /// A value to be provided.
    Dependency,
    /// A tool call to be permitted.
    Permission,
    /// A task that does not go on by itself: a breaker stopped it, or a task it depends on failed.
    Task,
}

/// The app of a task: its result, started for inspection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct App {
    pub task_id: String,
    /// True if its process exists now.
    pub running: bool,
    /// Its address on the machine of the server, while it runs.
    pub url: Option<String>,
    /// Command line that is started.
    pub command: Vec<String>,
    /// Its last output.
    pub output: String,
    /// Exit code of an app that ended by itself: its own, 128 plus the signal that ended it, or 127
    /// when it could not be started.
    pub exit_code: Option<i32>,
}

/// A try to send a notification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Delivery {
    /// Number of the notification; all its tries have the same.
    pub notice: u64,
    /// Number of the try, from 1.
    pub attempt: u32,
    pub at: String,
    /// Result of the try, without any address.
    pub note: String,
}

/// An agent of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct AgentPreset {
    pub name: String,
    /// Protocol of its output.
    pub protocol: String,
    /// Command line that is started.
    pub command: Vec<String>,
    /// True if tasks that name no agent get it.
    pub is_default: bool,
    /// True if its program is on this machine.
    pub available: bool,
}

/// An agent of a task in progress or in review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct LiveAgent {
    pub task_id: String,
    /// Title of the task.
    pub title: String,
    /// Its name in the configuration.
    pub name: Option<String>,
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<AgentStatus>"))]
    pub status: AgentStatus,
    /// Number of its latest process.
    pub attempt: u32,
    pub tokens_used: u64,
    /// Cost in US dollars so far; `null` when its client reported none.
    pub cost_usd: Option<f64>,
}

/// Agents of the configuration, and agents of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Agents {
    /// Agents of the configuration.
    pub presets: Vec<AgentPreset>,
    /// Agents of tasks in progress or in review.
    pub live: Vec<LiveAgent>,
}

/// A machine that runs agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Node {
    pub name: String,
    /// Maximum number of running agents.
    pub slots: u32,
    /// Number of running agents.
    pub running: u32,
    /// True if it starts no new task.
    pub draining: bool,
    /// Time of the server's start.
    pub started_at: String,
    /// Version of the server.
    pub version: String,
    /// Agents that run for tasks which the store does not know. They are paused.
    pub unknown_agents: Vec<UnknownAgent>,
}

/// An agent that runs for a task which the store does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct UnknownAgent {
    /// Name of its attempt.
    pub attempt: String,
    /// The task, as the attempt names it.
    pub task_id: String,
    /// The folder that it works in.
    pub folder: String,
    /// Process id on the machine of the server.
    pub pid: Option<i32>,
}

/// Counts over all tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Stats {
    /// Tasks by status.
    pub tasks: TaskCounts,
    /// Number of items in the inbox.
    pub waiting_for_you: u64,
    /// Tokens used by all tasks, deleted ones too.
    pub tokens_used: u64,
    /// Cost of all tasks in US dollars, deleted ones too; `null` when no client reported any.
    pub cost_usd: Option<f64>,
    /// Spend of the last days, by day and agent, oldest first. Days without any are left out.
    pub spend: Vec<Spend>,
    /// Maximum number of running agents.
    pub slots: u32,
    /// Number of running agents.
    pub running: u32,
    /// Number of the latest event.
    pub sequence: u64,
}

/// The tokens and money used on one day with one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Spend {
    /// The day in UTC, `2026-11-17`.
    pub day: String,
    /// The task; `null` where those of all tasks are added up.
    pub task_id: Option<String>,
    /// The agent's name in the configuration.
    pub agent: String,
    pub tokens: u64,
    /// Cost in US dollars; `null` when the client reported none.
    pub cost_usd: Option<f64>,
}

/// A time in which the agent of a task waited for a rate limit to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Limit {
    pub task_id: String,
    /// Time at which it met the limit.
    pub from: String,
    /// Time at which it continued or was ended; `null` while it waits.
    pub until: Option<String>,
}

/// Tasks by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct TaskCounts {
    pub draft: u64,
    pub pending: u64,
    pub in_progress: u64,
    pub review: u64,
    pub completed: u64,
    pub failed: u64,
}

/// A type of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct TaskType {
    pub name: String,
    /// Its phases, in order.
    pub phases: Vec<TypePhase>,
    /// True if it names a command that starts the result of its tasks.
    pub app: bool,
}

/// A phase of a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct TypePhase {
    pub name: String,
    /// The names of its steps, where it has any.
    pub steps: Vec<String>,
    /// True if a person approves it.
    pub review: bool,
}

/// The token of the server, to sign a browser in with.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct SignIn {
    /// The text of `DATA/token`.
    pub token: String,
}

impl std::fmt::Debug for SignIn {
    /// Never the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignIn")
    }
}

/// The rights of the caller, and the identity of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Session {
    pub role: Role,
    /// The task of a calling agent.
    pub task_id: Option<String>,
    /// Version of the server.
    pub version: String,
    /// Id of this start of the server.
    pub instance: String,
}

/// The rights of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum Role {
    /// A person's.
    Person,
    /// An agent's: it reads, and reports on its own task.
    Agent,
}

/// A link that signs one browser in, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct SignInLink {
    pub url: String,
}

/// A folder whose state files are shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Workspace {
    /// `ws_…`, from its path.
    pub id: String,
    /// The name of its folder.
    pub name: String,
    pub path: String,
    /// Kinds of work with a state file in it.
    pub kinds: Vec<WorkspaceKind>,
    /// Work that a person may begin in it now.
    pub begins: Vec<WorkspaceBeginning>,
}

/// Work of a kind that can be begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct WorkspaceBeginning {
    pub kind: WorkspaceKind,
    /// The state file to be made; name it in the request of the verb.
    pub file: String,
    pub action: WorkspaceAction,
}

/// The other four kinds of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum WorkspaceKind {
    Thinking,
    Memory,
    Develop,
    Orchestrate,
}

/// A state file of a workspace, as `bowline status --json` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct WorkspaceState {
    /// `thinking`, `task-state`, `task-history`, `shared-context`, `agent-memory`, `develop` or
    /// `orchestrate`.
    pub kind: String,
    /// Path of the file.
    pub path: String,
    pub status: Option<String>,
    /// Version of the document; `null` for one that cannot be read.
    pub version: Option<u64>,
    /// The document.
    pub state: Value,
    /// Problems found in the document.
    pub findings: Vec<Value>,
    /// Commands that can be given next.
    pub next: Vec<String>,
    /// Titles by id: tasks of an orchestration's plan, or of a memory's queue.
    pub titles: BTreeMap<String, String>,
    /// Evidence of a develop run for its gates and checkpoints, oldest first.
    pub evidence: Vec<Value>,
    /// Actions that a person may take on it now.
    pub actions: Vec<WorkspaceAction>,
}

/// A verb of a kind that the rules allow now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct WorkspaceAction {
    /// Name of the verb, as in the path of the request.
    pub verb: String,
    /// Allowed values of `id`; empty where no `id` has to be named.
    pub ids: Vec<String>,
    /// Required fields of the request.
    pub asks: Vec<WorkspaceField>,
    /// Optional fields of the request.
    pub takes: Vec<WorkspaceField>,
    /// Allowed values of `code`; empty where any is allowed.
    pub codes: Vec<String>,
    /// Names of `values`.
    pub values: Vec<String>,
    /// Names that `texts` may have.
    pub texts: Vec<String>,
    /// The command that it runs in the folder of the state file; several stand one in each line.
    pub runs: Option<String>,
    /// True if the next move does not bring back what it takes away: confirm it first.
    pub grave: bool,
}

/// A field of a verb's request. `id` stands here where another list has it: the transitions of the
/// file, or the rescued work. `version` is that of the file, and is sent as `If-Match`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum WorkspaceField {
    Text,
    Code,
    Paths,
    Command,
    Id,
    Version,
}

/// A move of a state file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct FileTransition {
    pub file: String,
    /// True if `restore` may bring the document back to the state right after it.
    pub restorable: bool,
    /// Time of the move, in UTC.
    pub timestamp: String,
    /// The task's id, or the path of the file for kinds without one.
    pub task_id: String,
    /// Always `state_transition`.
    #[serde(rename = "type")]
    pub line_type: String,
    /// The thing that moved, in the kind's own word.
    pub entity: String,
    /// Status before; `null` for a new entity.
    pub from: Option<String>,
    /// Status after.
    pub to: String,
    /// The command that caused the move, in upper case.
    pub trigger: String,
    /// Facts of the move.
    pub metadata: Value,
    /// Number of the move, increasing within the file.
    pub sequence: u64,
}

/// Work of a worktree that a run kept before it removed the worktree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Rescued {
    pub name: String,
    /// The task or folder it comes from.
    pub task: String,
    pub commit: String,
    pub kept_at: String,
    /// Files that differ from where it left the branch that is checked out.
    pub files: Vec<String>,
}

/// The change that a verb made in a state file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct WorkspaceChange {
    /// Path of the file.
    pub path: String,
    /// Status before.
    pub from: Option<String>,
    /// Status after.
    pub to: Option<String>,
    /// Number of the transition.
    pub sequence: Option<u64>,
    /// The document now.
    pub state: Value,
    /// Further effects, a sentence each, in the language of the request.
    pub told: Vec<String>,
    /// Runs of its command, with exit code and the end of the output. A checkpoint whose command
    /// fails has moved too.
    pub evidence: Vec<Value>,
}

/// The readiness of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Health {
    /// `ok`, `starting`, `draining`, or `failing` while nothing can be changed.
    pub status: String,
    /// The reason why nothing can be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
