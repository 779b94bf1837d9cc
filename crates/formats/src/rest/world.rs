//! What there is beside tasks: who waits, what can be started, and the other kinds of work.

#[cfg(feature = "openapi")]
use super::named_schema::NamedSchema;
use super::{Dependency, Permission, Question, Review};
use bowline_machines::job::AgentStatus;
#[cfg(feature = "openapi")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One thing that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct InboxItem {
    /// What sort of thing.
    pub kind: InboxKind,
    /// Of the review, question, dependency, permission or task.
    pub id: String,
    /// The task.
    pub task_id: String,
    /// Its title.
    pub title: String,
    /// The name of the agent that works on it: what is asked is in that agent's words.
    pub agent: String,
    /// Its version.
    pub version: u64,
    /// Since when.
    pub since: String,
    /// The review, of kind `review`.
    pub review: Option<Review>,
    /// The question, of kind `question`.
    pub question: Option<Question>,
    /// The dependency, of kind `dependency`.
    pub dependency: Option<Dependency>,
    /// The permission, of kind `permission`.
    pub permission: Option<Permission>,
    /// Why, of kind `task`: what it waits for, or what stopped it.
    pub reason: Option<String>,
}

/// What waits for a person.
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
    /// A task that does not go on by itself: a breaker stopped it, or what it depends on failed.
    Task,
}

/// What a task has made, started to be looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct App {
    /// The task.
    pub task_id: String,
    /// Whether its process is there, looked at now.
    pub running: bool,
    /// Where it listens, on the machine of the server, while it runs.
    pub url: Option<String>,
    /// What is started.
    pub command: Vec<String>,
    /// What it printed last.
    pub output: String,
    /// Why it runs no more, where nobody ended it: its exit code, 128 and the signal that ended it, or 127 when it could not be started.
    pub exit_code: Option<i32>,
}

/// A try to tell somebody elsewhere of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Delivery {
    /// The number of the notice; several tries have the same.
    pub notice: u64,
    /// Which try, from 1.
    pub attempt: u32,
    /// When.
    pub at: String,
    /// How it went, without any address.
    pub note: String,
}

/// An agent of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct AgentPreset {
    /// Its name.
    pub name: String,
    /// How it speaks.
    pub protocol: String,
    /// What is started.
    pub command: Vec<String>,
    /// Taken when a task names none.
    pub is_default: bool,
    /// Whether its program is on this machine.
    pub available: bool,
}

/// An agent at work, or stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct LiveAgent {
    /// Its task.
    pub task_id: String,
    /// The task's title.
    pub title: String,
    /// Its name in the configuration.
    pub name: Option<String>,
    /// Where it stands.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<AgentStatus>"))]
    pub status: AgentStatus,
    /// The number of its process.
    pub attempt: u32,
    /// Tokens used so far.
    pub tokens_used: u64,
    /// Dollars spent so far; `null` when its client has told none.
    pub cost_usd: Option<f64>,
}

/// Agents: those that can be started, and those that are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Agents {
    /// Of the configuration.
    pub presets: Vec<AgentPreset>,
    /// Those of tasks in progress or in review.
    pub live: Vec<LiveAgent>,
}

/// A machine that runs agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Agents that may run at once.
    pub slots: u32,
    /// Agents that run.
    pub running: u32,
    /// Whether it takes no new task.
    pub draining: bool,
    /// Since when it is up.
    pub started_at: String,
    /// The version of its program.
    pub version: String,
    /// Agents that run for tasks which the store does not know. They are paused.
    pub unknown_agents: Vec<UnknownAgent>,
}

/// An agent that runs for a task which the store does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct UnknownAgent {
    /// The name of its attempt.
    pub attempt: String,
    /// The task, as the attempt names it.
    pub task_id: String,
    /// The folder it works in.
    pub folder: String,
    /// Its number on the machine of the server.
    pub pid: Option<i32>,
}

/// Counts over all tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Stats {
    /// Tasks by status.
    pub tasks: TaskCounts,
    /// Things in the inbox.
    pub waiting_for_you: u64,
    /// Tokens used by all tasks, deleted ones too.
    pub tokens_used: u64,
    /// Dollars spent on all tasks, deleted ones too; `null` when no client has told any.
    pub cost_usd: Option<f64>,
    /// What was used in the last days, by day and agent, the oldest first. Days without any use are left out.
    pub spend: Vec<Spend>,
    /// Agents that may run at once.
    pub slots: u32,
    /// Agents that run.
    pub running: u32,
    /// The latest event.
    pub sequence: u64,
}

/// What was used on one day with one agent.
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
    /// Tokens.
    pub tokens: u64,
    /// Dollars; `null` when the client has told none.
    pub cost_usd: Option<f64>,
}

/// A time in which the agent of a task waited for a rate limit to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Limit {
    /// The task.
    pub task_id: String,
    /// When it met the limit.
    pub from: String,
    /// When it went on, or was ended; `null` while it waits.
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
    /// Its name.
    pub name: String,
    /// Its phases, in order.
    pub phases: Vec<TypePhase>,
    /// Whether it names a command that starts what its tasks make.
    pub app: bool,
}

/// A phase of a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct TypePhase {
    /// Its name.
    pub name: String,
    /// The names of its steps, where it has any.
    pub steps: Vec<String>,
    /// Whether a person approves it.
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

/// Who asks, and whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Session {
    /// Whose rights the caller has.
    pub role: Role,
    /// The task whose agent asks.
    pub task_id: Option<String>,
    /// The version of the server.
    pub version: String,
    /// Another one after each start of the server.
    pub instance: String,
}

/// Whose rights a caller has.
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
    /// Where to go.
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
    /// Its path.
    pub path: String,
    /// The kinds that are there.
    pub kinds: Vec<WorkspaceKind>,
    /// What a person may begin in it now.
    pub begins: Vec<WorkspaceBeginning>,
}

/// Work of a kind that can be begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct WorkspaceBeginning {
    /// The kind.
    pub kind: WorkspaceKind,
    /// The state file that is made, to be named with the verb.
    pub file: String,
    /// The verb.
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
    /// The kind of file: `thinking`, `task-state`, `task-history`, `shared-context`, `agent-memory`, `develop` or
    /// `orchestrate`.
    pub kind: String,
    /// The file.
    pub path: String,
    /// Where it stands, in a word.
    pub status: Option<String>,
    /// Which version of the document it is; `null` for one that cannot be read.
    pub version: Option<u64>,
    /// The document.
    pub state: Value,
    /// What is odd in it.
    pub findings: Vec<Value>,
    /// Commands that can be given next.
    pub next: Vec<String>,
    /// What the tasks of an orchestration are called in its plan, and those in the queue of a memory, by id.
    pub titles: BTreeMap<String, String>,
    /// Of a develop run: what was run for its gates and checkpoints, the oldest first.
    pub evidence: Vec<Value>,
    /// What a person may do with it now.
    pub actions: Vec<WorkspaceAction>,
}

/// A verb of a kind that the rules allow now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct WorkspaceAction {
    /// Its name, as the address has it.
    pub verb: String,
    /// What it may be about; empty where no `id` has to be named.
    pub ids: Vec<String>,
    /// Fields of the request that it needs besides.
    pub asks: Vec<WorkspaceField>,
    /// Fields that it takes.
    pub takes: Vec<WorkspaceField>,
    /// The words that `code` may be; empty where it is free.
    pub codes: Vec<String>,
    /// The names of `values`.
    pub values: Vec<String>,
    /// The names that `texts` may have.
    pub texts: Vec<String>,
    /// The command that it runs, in the folder of the state file; several stand one in each line.
    pub runs: Option<String>,
    /// The next move does not bring back what it takes away: ask before it is done.
    pub grave: bool,
}

/// A field of a verb's request. `id` stands here where another list has it: the transitions of the file, or what was rescued.
/// `version` is that of the file, and is sent as `If-Match`.
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
    /// The file.
    pub file: String,
    /// Whether `restore` may bring the document back as it was right after it.
    pub restorable: bool,
    /// When, UTC.
    pub timestamp: String,
    /// The task's id, or the path of the file for kinds without one.
    pub task_id: String,
    /// Always `state_transition`.
    #[serde(rename = "type")]
    pub line_type: String,
    /// What moved: the kind's own word.
    pub entity: String,
    /// Where it stood; `null` when it is new.
    pub from: Option<String>,
    /// Where it stands now.
    pub to: String,
    /// The command that moved it, upper case.
    pub trigger: String,
    /// Facts of the move.
    pub metadata: Value,
    /// Its number, rising within the file.
    pub sequence: u64,
}

/// What a run kept of a worktree before it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Rescued {
    /// What it is called.
    pub name: String,
    /// The task or folder it comes from.
    pub task: String,
    /// The commit.
    pub commit: String,
    /// When it was kept.
    pub kept_at: String,
    /// Files that differ from where it left the branch that is checked out.
    pub files: Vec<String>,
}

/// What a verb changed in a state file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct WorkspaceChange {
    /// The file.
    pub path: String,
    /// Where it stood.
    pub from: Option<String>,
    /// Where it stands.
    pub to: Option<String>,
    /// The number of the transition.
    pub sequence: Option<u64>,
    /// The document now.
    pub state: Value,
    /// What was done besides, a sentence each, in the language of the request.
    pub told: Vec<String>,
    /// What was run for it: command, exit code and the end of its output. A checkpoint whose command is red has moved too.
    pub evidence: Vec<Value>,
}

/// Whether the server is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Health {
    /// `ok`, `starting`, `draining`, or `failing` while nothing can be changed.
    pub status: String,
    /// Why nothing can be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
