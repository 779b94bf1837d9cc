//! What a task asks of people, and what is kept of it.

#[cfg(feature = "openapi")]
use super::named_schema::NamedSchema;
use bowline_machines::job::{
    DependencyKind, DependencyStatus, MessageStatus, PermissionStatus, QuestionStatusKind,
    ReviewStatus, TaskStatus,
};
#[cfg(feature = "openapi")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A phase laid before a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Review {
    /// `rev_…`
    pub id: String,
    /// The task.
    pub task_id: String,
    /// From 1.
    pub phase: u32,
    /// Where it stands.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<ReviewStatus>"))]
    pub status: ReviewStatus,
    /// Files the agent says it made, relative to the workspace.
    pub deliverables: Vec<String>,
    /// When it was opened.
    pub created_at: String,
    /// When it was decided.
    pub reviewed_at: Option<String>,
    /// What the person said with an approval, or wants changed.
    pub comment: Option<String>,
    /// The remarks on files that were sent with it.
    pub comments: Vec<FileComment>,
}

/// A remark on a line of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct FileComment {
    /// Relative to the workspace.
    pub file: String,
    /// From 1; absent for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The remark.
    pub comment: String,
}

/// What changed in a phase under review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ReviewDiff {
    /// The review.
    pub review_id: String,
    /// What it is compared with: the state before the phase, or `null` when there is none.
    pub from: Option<String>,
    /// File by file. At most 2,000 are listed.
    pub files: Vec<FileDiff>,
    /// How many files changed, listed or not.
    pub files_total: u64,
    /// Lines added in all changed files that are text, shown or not.
    pub added: u64,
    /// Lines removed from them.
    pub removed: u64,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum FileChange {
    /// It is new.
    Added,
    /// It changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// What changed in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct FileDiff {
    /// Relative to the workspace.
    pub path: String,
    /// What became of it.
    pub change: FileChange,
    /// Its mode before, as git has it: `100644`, `100755` (executable), `120000` (symbolic link) or `160000` (another repository);
    /// `null` for a new file.
    pub old_mode: Option<String>,
    /// Its mode now; `null` for a file that is gone.
    pub new_mode: Option<String>,
    /// The hunks of a unified diff; empty for a file that is no text.
    pub diff: String,
    /// It is no text.
    pub binary: bool,
    /// Lines added, also those that `diff` does not have because it was cut; `null` for a file that is no text.
    pub added: Option<u64>,
    /// Lines removed; `null` for a file that is no text.
    pub removed: Option<u64>,
    /// Changes with its content and mode; empty for a file that is gone.
    pub hash: String,
    /// The diff was cut because it is too long: whole lines are left out at its end.
    pub truncated: bool,
}

/// A question of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Question {
    /// `q_…`
    pub id: String,
    /// The task.
    pub task_id: String,
    /// What is asked.
    pub question: String,
    /// The only answers allowed; empty allows any.
    pub options: Vec<String>,
    /// Taken when nobody answers an optional question.
    pub default: Option<String>,
    /// Only a person's answer will do.
    pub required: bool,
    /// Where it stands.
    #[cfg_attr(
        feature = "openapi",
        schemars(with = "NamedSchema<QuestionStatusKind>")
    )]
    pub status: QuestionStatusKind,
    /// The answer, once there is one.
    pub answer: Option<String>,
}

/// Something an agent needs of a person. Its value is never told again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Dependency {
    /// `dep_…`
    pub id: String,
    /// The task.
    pub task_id: String,
    /// What sort of thing.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<DependencyKind>"))]
    pub dependency_type: DependencyKind,
    /// Its name, `STRIPE_SECRET_KEY` for instance.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The task fails without it.
    pub required: bool,
    /// Whether something is taken when an optional one is not provided.
    pub has_default: bool,
    /// Where it stands.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<DependencyStatus>"))]
    pub status: DependencyStatus,
}

/// A tool call an agent's client asks leave for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Permission {
    /// `perm_…`
    pub id: String,
    /// The task.
    pub task_id: String,
    /// The attempt it is bound to.
    pub attempt: u32,
    /// The tool.
    pub tool: String,
    /// Exactly what it would be called with.
    pub input: Value,
    /// Where it stands.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<PermissionStatus>"))]
    pub status: PermissionStatus,
    /// When it was asked for.
    pub requested_at: String,
    /// When it was decided.
    pub decided_at: Option<String>,
    /// Why not, when it was denied with a reason.
    pub reason: Option<String>,
    /// Who decided: `person`, or the `rule_…`.
    pub decided_by: Option<String>,
}

/// What is answered to a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum PermissionDecision {
    /// It may.
    Permit,
    /// It may not.
    Deny,
}

/// A rule that answers tool calls, so that a person need not each time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct PermissionRule {
    /// `rule_…`
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What its input must have, by the name of the field. `*` stands for any letters but those with which a shell goes on to
    /// something else, and never for `..`.
    pub input: BTreeMap<String, String>,
    /// What it answers. A denial comes before every leave.
    pub decision: PermissionDecision,
    /// What the agent is told with a denial.
    pub reason: String,
    /// The only task it counts for; `null` for all.
    pub task_id: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// How often it has answered.
    pub uses: u64,
}

/// What a rule would have answered so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct RuleTrial {
    /// Tool calls so far.
    pub asked: u64,
    /// Those it would have answered.
    pub answers: u64,
    /// Those of them that a person answered otherwise.
    pub differs: u64,
    /// Those it would answer at once, because they wait.
    pub waiting: u64,
    /// The latest of them, the newest first, at most 50.
    pub items: Vec<Permission>,
}

/// A verification of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Verification {
    /// Its number in the task, from 1.
    pub number: u32,
    /// The phase, from 1.
    pub phase: u32,
    /// When it was decided.
    pub at: String,
    /// Whether nothing was found.
    pub passed: bool,
    /// What was found.
    pub issues: Vec<String>,
}

/// A checkpoint of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Checkpoint {
    /// `cp_…`
    pub id: String,
    /// The task.
    pub task_id: String,
    /// When it was saved.
    pub created_at: String,
    /// `auto`, `user` or `system`.
    pub created_by: String,
    /// `interval`, `rate_limit`, `error`, `phase_complete`, `user_pause`, `dependency_request`, `user_question`,
    /// `completed`, `failed` or `manual`.
    pub reason: String,
    /// Where the task stood.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<TaskStatus>"))]
    pub task_status: TaskStatus,
    /// The attempt that was at work; 0 before the first.
    pub attempt: u32,
    /// The phase, from 1.
    pub current_phase: Option<u32>,
    /// The step.
    pub current_step: Option<String>,
    /// How far the task had come.
    pub progress: u32,
    /// The hidden git ref that holds the code, where there is one.
    pub code_ref: Option<String>,
}

/// A person's words to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Saying {
    /// `say_…`
    pub id: String,
    /// The task.
    pub task_id: String,
    /// The words.
    pub text: String,
    /// Where they stand.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<MessageStatus>"))]
    pub status: MessageStatus,
    /// When they were said.
    pub created_at: String,
    /// When they were delivered.
    pub delivered_at: Option<String>,
}

/// Something said in a task's conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Utterance {
    /// Rising within the task.
    pub index: u64,
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// What.
    pub content: String,
    /// When; what an agent printed has no time of its own.
    pub timestamp: Option<String>,
    /// The phase it belongs to, from 1.
    pub phase: Option<u32>,
    /// What a person's words are: `description`, `answer`, `approved`, `changes_requested` or `said`; what others tell
    /// the agent: `found`, `provided`, `permitted` or `denied`.
    pub about: Option<String>,
    /// The tool an agent uses, in place of words.
    pub tool: Option<ToolUse>,
}

/// A tool in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ToolUse {
    /// Its name, as the client calls it.
    pub name: String,
    /// What it is used with; text where that is too long to be shown whole.
    pub input: Value,
}

/// A file a task has made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Artifact {
    /// Relative to the workspace.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// When it last changed.
    pub modified_at: Option<String>,
    /// Phases that name it as a deliverable.
    pub phases: Vec<u32>,
    /// A value given to the task is in it; it is left out of the ZIP.
    pub holds_secret: bool,
}
