//! The rows of the store: jobs, and everything that belongs to them.

use bowline_formats::agents::ResumePoint;
use bowline_formats::permission_rule::ToolPermissionRule;
use bowline_machines::Timestamp;
use bowline_machines::job::{
    DependencyKind, DependencyStatus, Job, MessageStatus, PermissionStatus, Priority,
    QuestionStatusKind, ReviewStatus, TaskStatus,
};
use bowline_machines::named;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error as UnknownText;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// A job as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRow {
    /// The id of the job, `task_…`.
    pub id: String,
    /// Number of its changes, from 1.
    pub version: u64,
    /// The state of its machine. Shared between the dispatcher, the writer and the handlers.
    pub job: Arc<Job>,
    /// Attributes that the machine does not decide on.
    pub about: Arc<JobAttributes>,
}

impl JobRow {
    /// Returns the state of its machine for changing.
    pub fn job_mut(&mut self) -> &mut Job {
        Arc::make_mut(&mut self.job)
    }

    /// Returns its attributes for changing.
    pub fn attributes_mut(&mut self) -> &mut JobAttributes {
        Arc::make_mut(&mut self.about)
    }
}

/// Attributes of a job besides the state of its machine. Times are seconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobAttributes {
    /// The name of its type.
    #[serde(skip_serializing_if = "is_default")]
    pub type_name: Option<String>,
    /// The urgency of the job.
    #[serde(skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// The agent wanted, by its name in the settings.
    #[serde(skip_serializing_if = "is_default")]
    pub agent: Option<String>,
    /// The folder it works in, when a person named one.
    #[serde(skip_serializing_if = "is_default")]
    pub workspace: Option<String>,
    /// The real path of that folder, resolved when the task was created and again when it was
    /// assigned.
    #[serde(skip_serializing_if = "is_default")]
    pub real_workspace: Option<String>,
    /// True if a person allowed it to work in a folder that another task holds.
    #[serde(skip_serializing_if = "is_default")]
    pub share_workspace: bool,
    /// The repository whose worktree the folder is, if it is one.
    #[serde(skip_serializing_if = "is_default")]
    pub repository: Option<String>,
    /// A label to filter by.
    #[serde(skip_serializing_if = "is_default")]
    pub label: Option<String>,
    /// Limits of what it may use.
    #[serde(skip_serializing_if = "is_default")]
    pub budget: JobBudget,
    /// Time of its creation.
    #[serde(skip_serializing_if = "is_default")]
    pub created_at: i64,
    /// Time of its last transition.
    #[serde(skip_serializing_if = "is_default")]
    pub updated_at: i64,
    /// Number of transitions of the task and its agent.
    #[serde(skip_serializing_if = "is_default")]
    pub moves: u64,
    /// The task and checkpoint it was forked from.
    #[serde(skip_serializing_if = "is_default")]
    pub forked_from: Option<(String, String)>,
    /// Position up to which the output of the current attempt is processed.
    #[serde(skip_serializing_if = "is_default")]
    pub place: OutputPosition,
    /// The nonce that markers of the current attempt may carry.
    #[serde(skip_serializing_if = "is_default")]
    pub nonce: String,
    /// The session id of the agent's client.
    #[serde(skip_serializing_if = "is_default")]
    pub session: Option<String>,
    /// Number of messages written to the current attempt, those that still wait included.
    #[serde(skip_serializing_if = "is_default")]
    pub inputs: u64,
    /// Number of messages of the current attempt before the first of those, with which its client
    /// was initialized.
    #[serde(skip_serializing_if = "is_default")]
    pub input_offset: u64,
    /// Ids of people's messages that processes have read, the oldest first.
    #[serde(skip_serializing_if = "is_default")]
    pub history: Vec<String>,
    /// Number of older ids that are left out of `history`.
    #[serde(skip_serializing_if = "is_default")]
    pub history_left_out: u64,
    /// The number of the last order to the current attempt.
    #[serde(skip_serializing_if = "is_default")]
    pub orders: u64,
    /// Prompts that no end of a turn has answered yet.
    #[serde(skip_serializing_if = "is_default")]
    pub prompts_open: u32,
    /// Number of turns so far.
    #[serde(skip_serializing_if = "is_default")]
    pub turns: u32,
    /// True if the current attempt has ended a turn and printed nothing since.
    #[serde(skip_serializing_if = "is_default")]
    pub turn_over: bool,
    /// End of the rate limit that was met in the current turn.
    #[serde(skip_serializing_if = "is_default")]
    pub limited_until: Option<i64>,
    /// Tokens of the current conversation, for clients that count over all of it.
    #[serde(skip_serializing_if = "is_default")]
    pub session_tokens: u64,
    /// US dollars of counts that are over: most clients count anew in every process.
    #[serde(skip_serializing_if = "is_default")]
    pub cost_before_usd: f64,
    /// US dollars of the current count, as the client reported them.
    #[serde(skip_serializing_if = "is_default")]
    pub cost_usd: f64,
    /// Start times of processes, those of the last hour.
    #[serde(skip_serializing_if = "is_default")]
    pub starts: Vec<i64>,
    /// Start time of the current attempt.
    #[serde(skip_serializing_if = "is_default")]
    pub attempt_at: Option<i64>,
    /// Time since which it waits for its current input.
    #[serde(skip_serializing_if = "is_default")]
    pub waits_since: Option<i64>,
    /// Time of its last output; not written for every piece of output.
    #[serde(skip_serializing_if = "is_default")]
    pub output_at: Option<i64>,
    /// Git ref of the code at the start of the current phase.
    #[serde(skip_serializing_if = "is_default")]
    pub phase_ref: Option<String>,
    /// The latest checkpoint: its id and when it was saved.
    #[serde(skip_serializing_if = "is_default")]
    pub checkpoint: Option<(String, i64)>,
    /// The steps that its agent reported, by phase and number; a phase that is reworked has those
    /// of its last pass.
    #[serde(skip_serializing_if = "is_default")]
    pub steps: Vec<BegunStepRow>,
}

/// A step that an agent reported to have begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunStepRow {
    /// The phase it belongs to, from 1.
    pub phase: u32,
    /// Number of the step, from 1.
    pub number: u32,
    /// The name that the agent gave.
    pub name: String,
    /// Time of the report.
    pub at: i64,
}

/// True if the value is the default: such values are not written.
fn is_default<T: Default + PartialEq>(it: &T) -> bool {
    *it == T::default()
}

impl JobAttributes {
    /// Returns the cost in US dollars, over all attempts.
    pub fn total_cost_usd(&self) -> f64 {
        self.cost_before_usd + self.cost_usd
    }
}

/// Position up to which the output of an attempt is processed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputPosition {
    /// The number of the attempt.
    pub attempt: u32,
    /// The point at which its adapter resumes.
    pub resume: ResumePoint,
}

/// Limits of what a job may use; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobBudget {
    /// Maximum number of tokens.
    pub tokens: Option<u64>,
    /// Maximum cost in US dollars.
    pub usd: Option<f64>,
    /// Maximum minutes since it was assigned.
    pub minutes: Option<u64>,
}

/// A record of a job that people see: a review, a question, a message and so on.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRecord {
    /// Its id, `rev_… q_… dep_… perm_… cp_… ver_… say_… rule_…`.
    pub id: String,
    /// The job it belongs to; [`NO_JOB`] for records of no job.
    pub job: String,
    /// True if it waits for a person.
    pub open: bool,
    /// Time of its creation.
    pub at: Timestamp,
    /// The content of the record.
    pub body: RecordBody,
}

/// The job of records that belong to none: it has no state, and so no version.
pub const NO_JOB: &str = "";

/// The content of a record. The state of the machine is the truth about what is open; a record
/// repeats it with details for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is what it holds")]
pub enum RecordBody {
    Review(ReviewRow),
    Question(QuestionRow),
    Dependency(DependencyRow),
    Permission(PermissionRow),
    Checkpoint(CheckpointRow),
    Verification(VerificationRow),
    Said(MessageRow),
    Rule(RuleRow),
}

impl RecordBody {
    /// Returns the kind of the record.
    pub fn kind(&self) -> RecordKind {
        match self {
            RecordBody::Review(_) => RecordKind::Review,
            RecordBody::Question(_) => RecordKind::Question,
            RecordBody::Dependency(_) => RecordKind::Dependency,
            RecordBody::Permission(_) => RecordKind::Permission,
            RecordBody::Checkpoint(_) => RecordKind::Checkpoint,
            RecordBody::Verification(_) => RecordKind::Verification,
            RecordBody::Said(_) => RecordKind::Said,
            RecordBody::Rule(_) => RecordKind::Rule,
        }
    }
}

named! {
    /// The kinds of records, by their names in the store.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[expect(missing_docs, reason = "each is the word it writes")]
    pub enum RecordKind {
        Review = "review",
        Question = "question",
        Dependency = "dependency",
        Permission = "permission",
        Checkpoint = "checkpoint",
        Verification = "verification",
        Said = "said",
        Rule = "rule",
    }
}

/// Reads the text of an enum. A text that this version does not know gives the default, so that one
/// record of a later version does not hide all others.
fn known_or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let text = String::deserialize(deserializer)?;
    let known: Result<T, UnknownText> = T::deserialize(text.into_deserializer());
    Ok(known.unwrap_or_default())
}

/// A phase that is presented to a person for review.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewRow {
    /// The phase under review, from 1.
    pub phase: u32,
    /// Status of the review.
    #[serde(deserialize_with = "known_or_default")]
    pub status: ReviewStatus,
    /// Paths of files that exist, relative to the workspace.
    pub deliverables: Vec<String>,
    /// The person's comment or feedback.
    pub comment: Option<String>,
    /// The person's comments on single files.
    pub comments: Vec<FileCommentRow>,
    /// Time of the decision.
    pub reviewed_at: Option<i64>,
    /// Git ref of the code at the start of the phase.
    pub base_ref: Option<String>,
    /// Git ref of the code under review, the very tree that was verified.
    pub code_ref: Option<String>,
}

/// A person's comment on a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCommentRow {
    /// Path of the file, relative to the workspace.
    pub file: String,
    /// Line of the file, from 1.
    pub line: Option<u32>,
    /// The text of the comment.
    pub comment: String,
}

/// A question of the agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionRow {
    /// Topic of the question.
    pub category: String,
    /// The text of the question.
    pub question: String,
    /// The only answers allowed; empty allows any.
    pub options: Vec<String>,
    /// The answer taken when an optional question gets none.
    pub default: Option<String>,
    /// True if a person has to answer.
    pub required: bool,
    /// Status of the question.
    #[serde(deserialize_with = "known_or_default")]
    pub status: QuestionStatusKind,
    /// The answer, once there is one.
    pub answer: Option<String>,
    /// Time at which it was settled.
    pub settled_at: Option<i64>,
    /// Time at which it is looked at again if there is no answer.
    pub expires_at: Option<i64>,
    /// Number of answers that were no option.
    pub tries: u32,
    /// Id and body of the client's own request, when the client waits for the answer by its own
    /// protocol.
    pub request: Option<(String, String)>,
    /// The attempt that asks; a client's request ends with it, the question does not.
    pub attempt: u32,
}

/// A value or thing that the agent asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DependencyRow {
    /// The kind of dependency.
    #[serde(rename = "type", deserialize_with = "known_or_default")]
    pub kind: DependencyKind,
    /// Name of the dependency.
    pub name: String,
    /// Purpose, as the agent describes it.
    pub description: String,
    /// The value taken when an optional one is not provided.
    pub default: Option<String>,
    /// True if the task fails without it.
    pub required: bool,
    /// Status of the dependency.
    #[serde(deserialize_with = "known_or_default")]
    pub status: DependencyStatus,
    /// The value, sealed with [`SecretKey`](crate::SecretKey). Never shown.
    pub sealed: Option<String>,
    /// Reason of the rejection.
    pub reason: Option<String>,
    /// Time at which it was settled.
    pub settled_at: Option<i64>,
    /// Time at which it is decided without a person.
    pub expires_at: Option<i64>,
}

/// A tool call that an agent's client asks permission for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionRow {
    /// The attempt that asks. The request ends with it.
    pub attempt: u32,
    /// Name of the tool.
    pub tool: String,
    /// Input of the tool, as JSON.
    pub input: String,
    /// Request id that the reply must name.
    pub request_id: String,
    /// Content that the reply must repeat, as JSON.
    pub request_body: String,
    /// Status of the request.
    #[serde(deserialize_with = "known_or_default")]
    pub status: PermissionStatus,
    /// The decider: `person`, or the id of the rule.
    pub by: Option<String>,
    /// Reason of the denial.
    pub reason: Option<String>,
    /// Time at which it was settled.
    pub settled_at: Option<i64>,
}

/// A checkpoint: a saved state of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointRow {
    /// Its origin: `auto`, `user` or `system`.
    pub created_by: String,
    /// Reason for saving it.
    pub reason: String,
    /// The attempt that was at work.
    pub attempt: u32,
    /// Status of the task.
    #[serde(deserialize_with = "known_or_default")]
    pub status: TaskStatus,
    /// The current phase, from 1.
    pub phase: u32,
    /// The current step: number, total, name.
    pub step: Option<(u32, u32, String)>,
    /// Progress of the task, in per cent.
    pub progress: u32,
    /// Path of its file, relative to the workspace.
    pub file: String,
    /// The hidden git ref that holds the code.
    pub code_ref: Option<String>,
    /// The session id of the agent's client.
    pub session: Option<String>,
}

/// A verification of a finished phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerificationRow {
    /// Number of the verification.
    pub number: u32,
    /// The verified phase, from 1.
    pub phase: u32,
    /// Git ref of the verified code.
    pub code_ref: Option<String>,
    /// Result; `None` while it runs.
    pub passed: Option<bool>,
    /// Problems that were found.
    pub issues: Vec<String>,
    /// Results by criterion, from a verifying agent.
    pub criteria: Vec<CriterionRow>,
    /// Time of its end.
    pub ended_at: Option<i64>,
}

/// One criterion that a verifying agent checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CriterionRow {
    /// Id of the criterion.
    pub id: String,
    /// True if the criterion is met.
    pub passed: bool,
    /// Findings of the verifying agent.
    pub details: Option<String>,
    /// Correction that the agent suggests.
    pub suggestion: Option<String>,
}

/// A message from a person to the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageRow {
    /// The text of the message.
    pub text: String,
    /// Status of the message.
    #[serde(deserialize_with = "known_or_default")]
    pub status: MessageStatus,
    /// Time at which it was delivered or withdrawn.
    pub settled_at: Option<i64>,
}

/// A rule that decides permission requests of clients. Open while it is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleRow {
    /// The content of the rule.
    pub rule: ToolPermissionRule,
    /// Number of requests it has decided.
    pub uses: u64,
    /// Time at which it was removed.
    pub removed_at: Option<i64>,
}

/// An event with its sequence number.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// Server-wide number, increasing, never given twice.
    pub sequence: u64,
    /// The job it is about.
    pub job: String,
    /// Time of the event.
    pub at: Timestamp,
    /// The kind of event.
    pub kind: EventKind,
    /// Content of the event.
    pub body: Value,
}

named! {
    /// The kinds of events, as clients tell them apart.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[expect(missing_docs, reason = "each is the word it writes")]
    pub enum EventKind {
        Transition = "transition",
        Review = "review",
        Question = "question",
        Dependency = "dependency",
        Agent = "agent",
    }
}

/// An effect to be executed.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectRow {
    /// Its number, increasing, never given twice. Those of one job are executed in this order.
    pub id: u64,
    /// The job it follows from.
    pub job: String,
    /// The kind of effect.
    pub kind: String,
    /// Everything that its execution needs.
    pub body: Value,
    /// Time of the decision.
    pub at: Timestamp,
    /// Earliest time of its execution.
    pub due: Timestamp,
    /// Number of failed tries.
    pub tries: u32,
}

/// A recorded try to execute an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// The id of the effect.
    pub effect: u64,
    /// The kind of effect.
    pub kind: String,
    /// Number of the try, from 1.
    pub try_number: u32,
    /// Time of the try.
    pub at: Timestamp,
    /// Result of the try, as text.
    pub note: String,
}

/// Tokens and money used for a job on one day by one agent. It outlives the job.
#[derive(Debug, Clone, PartialEq)]
pub struct SpendRow {
    /// Day, in days since 1970, in UTC.
    pub day: i64,
    /// The job that used them.
    pub job: String,
    /// The agent, by its name in the settings.
    pub agent: String,
    /// Number of tokens used.
    pub tokens: u64,
    /// Cost in US dollars; 0 when the client reports none.
    pub usd: f64,
}

/// A timer of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct TimerRow {
    /// The job it belongs to.
    pub job: String,
    /// Key of the timer within its job.
    pub key: String,
    /// The version of the job that set it: tells a timer from an earlier one with the same key.
    pub generation: u64,
    /// Time at which it fires.
    pub due: Timestamp,
    /// Content that it delivers.
    pub body: Value,
}
