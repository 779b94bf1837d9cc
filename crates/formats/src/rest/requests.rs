//! Bodies that callers send.

pub use crate::markers::Recovery;

#[cfg(feature = "openapi")]
use super::named_schema::NamedSchema;
use super::{Budget, FileComment, PermissionDecision};
use bowline_machines::job::{DependencyKind, Priority};
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
    #[serde(default)]
    pub title: String,
    /// `create_app`, `modify_app`, `workflow`, `custom`, or a type of the configuration.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// Description of the work.
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<Priority>"))]
    pub priority: Priority,
    /// Tasks that must be completed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Name of the agent; absent for the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// An existing folder to work in; absent for a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Lets it work in that folder while another task holds it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share_workspace: bool,
    /// Earliest time of its start, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<String>,
    /// A label of the person's own, to filter by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Puts the task into the queue at once.
    #[serde(default)]
    pub submit: bool,
}

/// Changes to a draft; absent fields stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct EditTask {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// Description of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(with = "Option<NamedSchema<Priority>>"))]
    pub priority: Option<Priority>,
    /// Tasks that must be completed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<String>>,
    /// Name of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Earliest time of its start, RFC 3339; an empty text removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<String>,
    /// A label of the person's own; an empty text removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// An approval of a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Approval {
    /// A comment for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A request to change a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ChangeRequest {
    /// The wanted changes, in a person's words.
    pub feedback: String,
    /// Comments on single files.
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

/// A refusal with its reason.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct RejectRequest {
    #[serde(default)]
    pub reason: String,
}

/// Several tool calls with one decision: all are decided, or none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct PermissionBatch {
    /// Ids of open permissions, `perm_…`.
    pub ids: Vec<String>,
    /// Reason of a denial.
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
    /// Patterns of the input, by the name of the field: `{"command": "cargo test*"}`.
    #[serde(default)]
    pub input: BTreeMap<String, String>,
    pub decision: PermissionDecision,
    /// The reason that the agent gets with a denial.
    #[serde(default)]
    pub reason: String,
    /// The only task that it holds for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
}

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct SayRequest {
    pub text: String,
}

/// The differences of a fork from its task; absent fields are as the task has them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ForkRequest {
    /// Title of the new task; by default that of the task with the phase of the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Instructions for the new agent; the last paragraph of the description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Queue it at once, which is the default; otherwise it is a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit: Option<bool>,
}

/// The checkpoint to restore.
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
    /// The object of the verb: a stage, step, gate, checkpoint or task; of `restore`, the number of
    /// a transition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Files, for verbs that take any; the checkpoints of a review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// A sentence: a reason, a result, a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A word for programs: of a failure or a result, or the name of a new run or of a value's
    /// path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// A command whose exit decides, for a gate without a sealed command or a checkpoint without
    /// one of the contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Numbers by their names, for verbs that judge the work.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
    /// Texts by their names, for verbs that take more than one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub texts: BTreeMap<String, String>,
}

/// A report of an agent that a phase is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct PhaseCompleteReport {
    /// Number of the phase, from 1.
    pub phase: u32,
    /// Paths of the files that were made, relative to the workspace.
    #[serde(default)]
    pub files: Vec<String>,
}

/// A question of an agent.
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
    /// The answer taken when an optional question gets none.
    #[serde(default)]
    pub default: Option<String>,
    /// True if only a person's answer is accepted.
    #[serde(default)]
    pub required: bool,
}

/// A dependency request of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct NeedReport {
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schemars(with = "NamedSchema<DependencyKind>"))]
    pub dependency_type: DependencyKind,
    pub name: String,
    /// Purpose of the dependency.
    #[serde(default)]
    pub description: String,
    /// The value taken when an optional one is not provided.
    #[serde(default)]
    pub default: Option<String>,
    /// True if the task fails without it.
    #[serde(default)]
    pub required: bool,
}

/// An error that an agent reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct ErrorReport {
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    pub recovery: Recovery,
    /// Seconds after which the agent can continue.
    #[serde(default)]
    pub retry_after: Option<u64>,
}

/// A report of an agent that it began a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct StepReport {
    /// Number of the step, from 1.
    pub step: u32,
    /// Number of steps in all.
    pub of: u32,
    #[serde(default)]
    pub name: String,
}

/// A report of tokens that an agent used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct TokensReport {
    /// Number of additional tokens.
    pub used: u64,
    /// Additional cost in US dollars, if the agent knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// The result of an agent's report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(JsonSchema))]
pub struct Reported {
    pub task_id: String,
    /// Id of the question or dependency that was made.
    pub id: Option<String>,
    /// The answer, if it is known already.
    pub answer: Option<Value>,
}
