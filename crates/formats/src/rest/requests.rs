//! What callers send.

pub use crate::markers::Recovery;

use super::{Budget, DependencyType, FileComment, PermissionDecision, Priority};
#[cfg(feature = "openapi")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A new task. A draft may lack title, type or description.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct NewTask {
    /// What it is called.
    #[serde(default)]
    pub title: String,
    /// `create_app`, `modify_app`, `workflow`, `custom`, or a type of the configuration.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// What is wanted.
    #[serde(default)]
    pub description: String,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// Tasks that must be completed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The name of the agent; the default one when left away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// An existing folder to work in; a new one when left away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Let it work in that folder while another task holds it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share_workspace: bool,
    /// Not before, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<String>,
    /// A word of the person's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it may use at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Put it into the queue at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub submit: bool,
}

fn is_default(priority: &Priority) -> bool {
    *priority == Priority::default()
}

/// Changes to a draft; what is left away stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct EditTask {
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The type of work.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// What is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Tasks that must be completed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<String>>,
    /// The name of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Not before, RFC 3339; an empty text takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<String>,
    /// A word of the person's own; an empty text takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it may use at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// An approval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Approval {
    /// A word for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// What is to be changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ChangeRequest {
    /// In a person's words.
    pub feedback: String,
    /// Remarks on files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<FileComment>,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct AnswerRequest {
    /// The answer; one of the options where there are any.
    pub answer: String,
}

/// The value of a dependency.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ProvideRequest {
    /// Kept encrypted, and never shown again.
    pub value: String,
}

impl std::fmt::Debug for ProvideRequest {
    /// Never the value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProvideRequest")
    }
}

/// Why something is refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct RejectRequest {
    /// In a person's words.
    #[serde(default)]
    pub reason: String,
}

/// Several tool calls, answered alike: all of them, or none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct PermissionBatch {
    /// `perm_…`, each of them waiting.
    pub ids: Vec<String>,
    /// Why not, for a denial.
    #[serde(default)]
    pub reason: String,
}

/// A rule for tool calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct NewPermissionRule {
    /// The tool, as permissions name it.
    pub tool: String,
    /// What its input must have, by the name of the field, for instance `{"command": "cargo test*"}`.
    #[serde(default)]
    pub input: BTreeMap<String, String>,
    /// What it answers.
    pub decision: PermissionDecision,
    /// What the agent is told with a denial.
    #[serde(default)]
    pub reason: String,
    /// The only task it counts for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
}

/// Words to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct SayRequest {
    /// The words.
    pub text: String,
}

/// How a fork differs from its task; what is left away is as the task has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ForkRequest {
    /// Title of the new task; by default that of the task with the phase of the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the agent shall do differently; a paragraph at the end of the description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Queue it at once, which is the default; otherwise it is a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit: Option<bool>,
}

/// Which checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct RestoreRequest {
    /// `cp_…`
    pub checkpoint_id: String,
}

/// A verb of a file kind, as on the command line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct VerbRequest {
    /// The state file, where the workspace has several of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What the verb is about: a stage, a step, a gate, a checkpoint or a task; of `restore`, the number of a transition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Files, for verbs that take any; the checkpoints of a review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// A sentence: a reason, a result, a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A word for programs, for verbs that record a failure or a result, or name a new run or the path of a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// A command whose end decides, for gates without a sealed one and checkpoints without one of the contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Numbers by their names, for verbs that judge the work.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
    /// Texts by their names, for verbs that take more than one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub texts: BTreeMap<String, String>,
}

/// A phase is done, says its agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct PhaseCompleteReport {
    /// From 1.
    pub phase: u32,
    /// Files that were made, relative to the workspace.
    #[serde(default)]
    pub files: Vec<String>,
}

/// An agent asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct AskReport {
    /// The question.
    pub question: String,
    /// `business`, `clarification`, `choice` or `confirmation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The only answers allowed.
    #[serde(default)]
    pub options: Vec<String>,
    /// Taken when nobody answers.
    #[serde(default)]
    pub default: Option<String>,
    /// Only a person's answer will do.
    #[serde(default)]
    pub required: bool,
}

/// An agent needs something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct NeedReport {
    /// What sort of thing.
    #[serde(rename = "type")]
    pub dependency_type: DependencyType,
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Taken when an optional one is not provided.
    #[serde(default)]
    pub default: Option<String>,
    /// The task fails without it.
    #[serde(default)]
    pub required: bool,
}

/// An agent reports an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ErrorReport {
    /// What happened.
    pub message: String,
    /// More.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// How to go on.
    pub recovery: Recovery,
    /// Seconds until it can go on.
    #[serde(default)]
    pub retry_after: Option<u64>,
}

/// An agent began a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct StepReport {
    /// From 1.
    pub step: u32,
    /// Of how many.
    pub of: u32,
    /// Its name.
    #[serde(default)]
    pub name: String,
}

/// An agent used tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct TokensReport {
    /// How many more.
    pub used: u64,
    /// Dollars more, where the agent knows what they cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// What came of an agent's report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Reported {
    /// The task.
    pub task_id: String,
    /// The question or the dependency that was made, where one was.
    pub id: Option<String>,
    /// The answer, where one is known already.
    pub answer: Option<Value>,
}
