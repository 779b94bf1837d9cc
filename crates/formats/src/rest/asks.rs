//! Requests of a task to people, and the records of a task.

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

/// A phase that is presented to a person for review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Review {
    /// `rev_…`
    pub id: String,
    pub task_id: String,
    /// Number of the phase, from 1.
    pub phase: u32,
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<ReviewStatus>"))]
    pub status: ReviewStatus,
    /// Files that the agent reports as made, relative to the workspace.
    pub deliverables: Vec<String>,
    pub created_at: String,
    /// Time of the decision.
    pub reviewed_at: Option<String>,
    /// The person's comment with an approval, or the changes that the person wants.
    pub comment: Option<String>,
    /// The person's comments on single files.
    pub comments: Vec<FileComment>,
}

/// A comment on a line of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct FileComment {
    /// Path of the file, relative to the workspace.
    pub file: String,
    /// Number of the line, from 1; absent for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub comment: String,
}

/// The changes of a phase under review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ReviewDiff {
    pub review_id: String,
    /// The state before the phase, with which it is compared; `null` when there is none.
    pub from: Option<String>,
    /// Changed files, at most 2,000.
    pub files: Vec<FileDiff>,
    /// Number of changed files, listed or not.
    pub files_total: u64,
    /// Lines added in all changed files that are text, shown or not.
    pub added: u64,
    /// Lines removed from them.
    pub removed: u64,
}

/// The kind of change to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum FileChange {
    /// The file is new.
    Added,
    /// The file changed.
    Modified,
    /// The file is gone.
    Deleted,
}

/// The changes of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct FileDiff {
    /// Path of the file, relative to the workspace.
    pub path: String,
    pub change: FileChange,
    /// Git mode before: `100644`, `100755` (executable), `120000` (symbolic link) or `160000`
    /// (another repository); `null` for a new file.
    pub old_mode: Option<String>,
    /// Git mode now; `null` for a file that is gone.
    pub new_mode: Option<String>,
    /// The hunks of a unified diff; empty for a file that is no text.
    pub diff: String,
    /// True if the file is no text.
    pub binary: bool,
    /// Lines added, also those cut from `diff`; `null` for a file that is no text.
    pub added: Option<u64>,
    /// Lines removed; `null` for a file that is no text.
    pub removed: Option<u64>,
    /// Changes with its content and mode; empty for a file that is gone.
    pub hash: String,
    /// True if the diff was cut because it is too long: whole lines are left out at its end.
    pub truncated: bool,
}

/// A question of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Question {
    /// `q_…`
    pub id: String,
    pub task_id: String,
    /// Text of the question.
    pub question: String,
    /// The only answers allowed; empty allows any.
    pub options: Vec<String>,
    /// The answer taken when an optional question gets none.
    pub default: Option<String>,
    /// True if only a person's answer is accepted.
    pub required: bool,
    #[cfg_attr(
        feature = "openapi",
        schemars(with = "NamedSchema<QuestionStatusKind>")
    )]
    pub status: QuestionStatusKind,
    /// The answer, once there is one.
    pub answer: Option<String>,
}

/// Something that an agent needs from a person. Its value is never shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Dependency {
    /// `dep_…`
    pub id: String,
    pub task_id: String,
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<DependencyKind>"))]
    pub dependency_type: DependencyKind,
    /// Name of the dependency, for instance `STRIPE_SECRET_KEY`.
    pub name: String,
    /// Purpose, as the agent describes it.
    pub description: String,
    /// True if the task fails without it.
    pub required: bool,
    /// True if a default is taken when an optional one is not provided.
    pub has_default: bool,
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<DependencyStatus>"))]
    pub status: DependencyStatus,
}

/// A tool call that an agent's client asks permission for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Permission {
    /// `perm_…`
    pub id: String,
    pub task_id: String,
    /// The attempt that asks. The request ends with it.
    pub attempt: u32,
    /// Name of the tool.
    pub tool: String,
    /// Exact input of the tool call.
    pub input: Value,
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<PermissionStatus>"))]
    pub status: PermissionStatus,
    pub requested_at: String,
    /// Time of the decision, or of the end of the request.
    pub decided_at: Option<String>,
    /// Reason of a denial, if it has one.
    pub reason: Option<String>,
    /// The decider: `person`, or the `rule_…`.
    pub decided_by: Option<String>,
}

/// The decision about a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub enum PermissionDecision {
    /// The tool may be used.
    Permit,
    /// The tool may not be used.
    Deny,
}

/// A rule that decides tool calls in place of a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct PermissionRule {
    /// `rule_…`
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Patterns of the input, by the name of the field. `*` stands for any characters except those
    /// with which a shell starts another command, and never for `..`.
    pub input: BTreeMap<String, String>,
    /// The decision. A denial comes before every permission.
    pub decision: PermissionDecision,
    /// The reason that the agent gets with a denial.
    pub reason: String,
    /// The only task that it holds for; `null` for all.
    pub task_id: Option<String>,
    pub created_at: String,
    /// Number of tool calls that it has decided.
    pub uses: u64,
}

/// The decisions that a rule would have made so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct RuleTrial {
    /// Number of tool calls so far.
    pub asked: u64,
    /// Number of those that it would have decided.
    pub answers: u64,
    /// Number of those that a person decided otherwise.
    pub differs: u64,
    /// Number of those that wait, which it would decide at once.
    pub waiting: u64,
    /// The latest of them, newest first, at most 50.
    pub items: Vec<Permission>,
}

/// A verification of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Verification {
    /// Number of the verification in the task, from 1.
    pub number: u32,
    /// Number of the phase, from 1.
    pub phase: u32,
    /// Time of the result.
    pub at: String,
    /// True if no issue was found.
    pub passed: bool,
    pub issues: Vec<String>,
}

/// A checkpoint of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Checkpoint {
    /// `cp_…`
    pub id: String,
    pub task_id: String,
    pub created_at: String,
    /// Origin of the checkpoint: `auto`, `user` or `system`.
    pub created_by: String,
    /// `interval`, `rate_limit`, `error`, `phase_complete`, `user_pause`, `dependency_request`,
    /// `user_question`, `completed`, `failed` or `manual`.
    pub reason: String,
    /// Status of the task at that time.
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<TaskStatus>"))]
    pub task_status: TaskStatus,
    /// The attempt that was at work; 0 before the first.
    pub attempt: u32,
    /// Number of the phase, from 1.
    pub current_phase: Option<u32>,
    pub current_step: Option<String>,
    /// Completed part of the task in whole percent.
    pub progress: u32,
    /// The hidden git ref that holds the code, where there is one.
    pub code_ref: Option<String>,
}

/// A message from a person to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Saying {
    /// `say_…`
    pub id: String,
    pub task_id: String,
    pub text: String,
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<MessageStatus>"))]
    pub status: MessageStatus,
    pub created_at: String,
    pub delivered_at: Option<String>,
}

/// An entry of a task's conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Utterance {
    /// Number of the entry, increasing within the task.
    pub index: u64,
    /// `user`, `assistant` or `system`.
    pub role: String,
    pub content: String,
    /// Time of the entry; output of an agent has no time of its own.
    pub timestamp: Option<String>,
    /// The phase it belongs to, from 1.
    pub phase: Option<u32>,
    /// Kind of the entry: `description`, `answer`, `approved`, `changes_requested` or `said` from a
    /// person, `found`, `provided`, `permitted` or `denied` from others.
    pub about: Option<String>,
    /// The tool that an agent uses, in place of text.
    pub tool: Option<ToolUse>,
}

/// The use of a tool by an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ToolUse {
    /// Name of the tool, as the client calls it.
    pub name: String,
    /// Input of the tool, as text where it is too long to be shown whole.
    pub input: Value,
}

/// A file that a task has made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Artifact {
    /// Path of the file, relative to the workspace.
    pub path: String,
    pub bytes: u64,
    pub modified_at: Option<String>,
    /// Phases that name it as a deliverable.
    pub phases: Vec<u32>,
    /// True if it contains a value given to the task; the ZIP leaves it out.
    pub holds_secret: bool,
}
