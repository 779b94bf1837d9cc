//! The rows: what is kept of jobs, and of everything that belongs to them.

use bowline_formats::agents::Resume;
use bowline_formats::permission_rule::PermissionRule;
use bowline_machines::Timestamp;
use bowline_machines::job::Job;
use bowline_machines::named;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// A job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRow {
    /// Its id, `task_…`.
    pub id: String,
    /// Counts its changes, from 1.
    pub version: u64,
    /// The state of its machine. Shared, as the next is: whoever decides, writes and answers looks at the same one.
    pub job: Arc<Job>,
    /// What else is known of it.
    pub about: Arc<About>,
}

impl JobRow {
    /// The state of its machine, for whoever changes it.
    pub fn job_mut(&mut self) -> &mut Job {
        Arc::make_mut(&mut self.job)
    }

    /// What else is known of it, for whoever changes that.
    pub fn about_mut(&mut self) -> &mut About {
        Arc::make_mut(&mut self.about)
    }
}

/// What is known of a job besides what its machine decides on. Times are seconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Its type by name.
    #[serde(skip_serializing_if = "is_default")]
    pub type_name: Option<String>,
    /// How urgent it is.
    #[serde(skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// The agent wanted, by its name in the settings.
    #[serde(skip_serializing_if = "is_default")]
    pub agent: Option<String>,
    /// The folder it works in, where a person named one.
    #[serde(skip_serializing_if = "is_default")]
    pub workspace: Option<String>,
    /// The real path of that folder, resolved when the task was made and again when it was assigned.
    #[serde(skip_serializing_if = "is_default")]
    pub real_workspace: Option<String>,
    /// A person lets it work in a folder that another task holds.
    #[serde(skip_serializing_if = "is_default")]
    pub share_workspace: bool,
    /// The repository whose worktree the folder is, where it is one.
    #[serde(skip_serializing_if = "is_default")]
    pub repository: Option<String>,
    /// A word to find it by.
    #[serde(skip_serializing_if = "is_default")]
    pub label: Option<String>,
    /// What it may use.
    #[serde(skip_serializing_if = "is_default")]
    pub budget: Budget,
    /// When it was made.
    #[serde(skip_serializing_if = "is_default")]
    pub created_at: i64,
    /// When it last moved.
    #[serde(skip_serializing_if = "is_default")]
    pub updated_at: i64,
    /// How many transitions it and its agent have made.
    #[serde(skip_serializing_if = "is_default")]
    pub moves: u64,
    /// The task and checkpoint it was forked from.
    #[serde(skip_serializing_if = "is_default")]
    pub forked_from: Option<(String, String)>,
    /// How far the output of the present attempt has been processed.
    #[serde(skip_serializing_if = "is_default")]
    pub place: Place,
    /// The word that markers of the present attempt may carry.
    #[serde(skip_serializing_if = "is_default")]
    pub nonce: String,
    /// The client's own conversation.
    #[serde(skip_serializing_if = "is_default")]
    pub session: Option<String>,
    /// Messages written to the present attempt, also those that wait.
    #[serde(skip_serializing_if = "is_default")]
    pub inputs: u64,
    /// Messages of the present attempt before the first of those, by which its client was greeted.
    #[serde(skip_serializing_if = "is_default")]
    pub input_offset: u64,
    /// Ids of what people said and processes have read, the oldest first.
    #[serde(skip_serializing_if = "is_default")]
    pub history: Vec<String>,
    /// How many there were before those.
    #[serde(skip_serializing_if = "is_default")]
    pub history_left_out: u64,
    /// The number of the last order to the present attempt.
    #[serde(skip_serializing_if = "is_default")]
    pub orders: u64,
    /// Prompts that have not been answered by the end of a turn.
    #[serde(skip_serializing_if = "is_default")]
    pub prompts_open: u32,
    /// Turns so far.
    #[serde(skip_serializing_if = "is_default")]
    pub turns: u32,
    /// The present attempt has ended a turn and said nothing since.
    #[serde(skip_serializing_if = "is_default")]
    pub turn_over: bool,
    /// When the limit is over that was met in the present turn.
    #[serde(skip_serializing_if = "is_default")]
    pub limited_until: Option<i64>,
    /// Tokens of the present conversation, where the client counts over all of it.
    #[serde(skip_serializing_if = "is_default")]
    pub session_tokens: u64,
    /// Money so far, of counts that are over: most clients count anew in every process.
    #[serde(skip_serializing_if = "is_default")]
    pub cost_before_usd: f64,
    /// Money so far, of the present count, as the client told it.
    #[serde(skip_serializing_if = "is_default")]
    pub cost_usd: f64,
    /// When processes were started, those of the last hour.
    #[serde(skip_serializing_if = "is_default")]
    pub starts: Vec<i64>,
    /// When the present attempt was started.
    #[serde(skip_serializing_if = "is_default")]
    pub attempt_at: Option<i64>,
    /// When it began to wait for what it waits for.
    #[serde(skip_serializing_if = "is_default")]
    pub waits_since: Option<i64>,
    /// When it last printed something; written now and then.
    #[serde(skip_serializing_if = "is_default")]
    pub output_at: Option<i64>,
    /// The code as it was when the present phase began.
    #[serde(skip_serializing_if = "is_default")]
    pub phase_ref: Option<String>,
    /// The latest checkpoint: its id and when it was saved.
    #[serde(skip_serializing_if = "is_default")]
    pub checkpoint: Option<(String, i64)>,
    /// The steps its agent said it began, by phase and number; those of a phase that is worked on again are its last ones.
    #[serde(skip_serializing_if = "is_default")]
    pub steps: Vec<StepBegun>,
}

/// When an agent said that it is at a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepBegun {
    /// The phase it belongs to.
    pub phase: u32,
    /// From 1.
    pub number: u32,
    /// What the agent calls it.
    pub name: String,
    /// When.
    pub at: i64,
}

/// Most is as it was when the job was made, most of the time: that is not written.
fn is_default<T: Default + PartialEq>(it: &T) -> bool {
    *it == T::default()
}

impl About {
    /// Money so far, over all attempts.
    pub fn cost(&self) -> f64 {
        self.cost_before_usd + self.cost_usd
    }
}

/// How far the output of an attempt has been processed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Which attempt.
    pub attempt: u32,
    /// Where its adapter goes on.
    pub resume: Resume,
}

named! {
    /// How urgent.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Priority {
        /// When nothing else is to be done.
        Low = "low",
        /// As most.
        #[default]
        Normal = "normal",
        /// Before most.
        High = "high",
        /// Before everything.
        Critical = "critical",
    }
}

/// What a job may use; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Money.
    pub usd: Option<f64>,
    /// Time since it was assigned.
    pub minutes: Option<u64>,
}

/// A row that people look at.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its id, `rev_… q_… dep_… perm_… cp_… ver_… say_… rule_…`.
    pub id: String,
    /// The job it belongs to; [`NO_JOB`] for what belongs to none.
    pub job: String,
    /// A person is waited for.
    pub open: bool,
    /// When it was made.
    pub at: Timestamp,
    /// What it says.
    pub body: RecordBody,
}

/// The job of rows that belong to none: it has no state, and so no version.
pub const NO_JOB: &str = "";

/// What a row says. The state of the machine is the truth of what is open; a row repeats it with what only people need.
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
    Said(SaidRow),
    Rule(RuleRow),
}

impl RecordBody {
    /// Which kind it is.
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
    /// The kinds of rows, by their words in the store.
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

/// A phase laid before a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewRow {
    /// The phase, from 1.
    pub phase: u32,
    /// Where it stands.
    pub status: String,
    /// What is on the disk, from the workspace.
    pub deliverables: Vec<String>,
    /// The person's comment or feedback.
    pub comment: Option<String>,
    /// What the person says of single files.
    pub comments: Vec<FileComment>,
    /// When it was decided.
    pub reviewed_at: Option<i64>,
    /// The code as it was when the phase began.
    pub base_ref: Option<String>,
    /// The code that is laid before the person, the very tree that was verified.
    pub code_ref: Option<String>,
}

/// What a person says of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileComment {
    /// Which, from the workspace.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u32>,
    /// What.
    pub comment: String,
}

/// A question of the agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionRow {
    /// What it is about.
    pub category: String,
    /// What is asked.
    pub question: String,
    /// The only answers allowed; empty allows any.
    pub options: Vec<String>,
    /// Taken when nobody answers an optional question.
    pub default: Option<String>,
    /// Only a person's answer will do.
    pub required: bool,
    /// Where it stands.
    pub status: String,
    /// What was answered.
    pub answer: Option<String>,
    /// When it was settled.
    pub settled_at: Option<i64>,
    /// When it is looked at again without an answer.
    pub expires_at: Option<i64>,
    /// Answers that were no option.
    pub tries: u32,
    /// Id and body of the client's own request, where it waits for the answer in its own way.
    pub request: Option<(String, String)>,
    /// The attempt that asks; a request dies with it, the question does not.
    pub attempt: u32,
}

/// Something the agent needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DependencyRow {
    /// What sort of thing.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Taken when an optional one is not provided.
    pub default: Option<String>,
    /// The task fails without it.
    pub required: bool,
    /// Where it stands.
    pub status: String,
    /// The value, sealed with [`Key`](crate::Key). Never shown.
    pub sealed: Option<String>,
    /// Why it was refused.
    pub reason: Option<String>,
    /// When it was settled.
    pub settled_at: Option<i64>,
    /// When it is decided without a person.
    pub expires_at: Option<i64>,
}

/// A tool an agent's client wants to use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionRow {
    /// The attempt that asks. It dies with it.
    pub attempt: u32,
    /// The tool.
    pub tool: String,
    /// What it would be used with, as JSON.
    pub input: String,
    /// What the reply must name.
    pub request_id: String,
    /// What the reply has to repeat, as JSON.
    pub request_body: String,
    /// `pending`, `permitted`, `denied` or `withdrawn`.
    pub status: String,
    /// Who settled it: `person`, or the rule.
    pub by: Option<String>,
    /// Why it was denied.
    pub reason: Option<String>,
    /// When it was settled.
    pub settled_at: Option<i64>,
}

/// A saved state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointRow {
    /// Who asked: `auto`, `user` or `system`.
    pub created_by: String,
    /// Why.
    pub reason: String,
    /// The attempt that was at work.
    pub attempt: u32,
    /// The task's status.
    pub status: String,
    /// The phase, from 1.
    pub phase: u32,
    /// The step: number, of how many, name.
    pub step: Option<(u32, u32, String)>,
    /// How far the task had come.
    pub progress: u32,
    /// The file, from the workspace.
    pub file: String,
    /// The hidden git ref that holds the code.
    pub code_ref: Option<String>,
    /// The client's own conversation.
    pub session: Option<String>,
}

/// A look at a finished phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerificationRow {
    /// Its ticket.
    pub number: u32,
    /// The phase, from 1.
    pub phase: u32,
    /// The code it saw.
    pub code_ref: Option<String>,
    /// Whether it passed; `None` while it runs.
    pub passed: Option<bool>,
    /// What was found.
    pub issues: Vec<String>,
    /// What a verifying agent looked at.
    pub criteria: Vec<CriterionRow>,
    /// When it ended.
    pub ended_at: Option<i64>,
}

/// One thing a verifying agent looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CriterionRow {
    /// Its id.
    pub id: String,
    /// Whether it holds.
    pub passed: bool,
    /// What was found.
    pub details: Option<String>,
    /// What to do about it.
    pub suggestion: Option<String>,
}

/// What a person said to the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SaidRow {
    /// What.
    pub text: String,
    /// `queued`, `delivered` or `withdrawn`.
    pub status: String,
    /// When it was delivered or withdrawn.
    pub settled_at: Option<i64>,
}

/// A rule that answers clients which ask leave for a tool. Open while it counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleRow {
    /// What it says.
    pub rule: PermissionRule,
    /// How often it has answered.
    pub uses: u64,
    /// When it was taken back.
    pub removed_at: Option<i64>,
}

/// Something that happened, with its place in the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// Server-wide, rising, never given twice.
    pub sequence: u64,
    /// The job it is about.
    pub job: String,
    /// When.
    pub at: Timestamp,
    /// What sort of thing.
    pub kind: EventKind,
    /// What.
    pub body: Value,
}

named! {
    /// The sorts of events, as listeners tell them apart.
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

/// Something to be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectRow {
    /// Its number, rising, never given twice. Those of one job are carried out in this order.
    pub id: u64,
    /// The job it follows from.
    pub job: String,
    /// Its sort.
    pub kind: String,
    /// All that is needed for it.
    pub body: Value,
    /// When it was decided.
    pub at: Timestamp,
    /// Not before.
    pub due: Timestamp,
    /// Tries that failed.
    pub tries: u32,
}

/// A try to carry an effect out, where that is to be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// The effect.
    pub effect: u64,
    /// Its sort.
    pub kind: String,
    /// Which try, from 1.
    pub try_number: u32,
    /// When.
    pub at: Timestamp,
    /// What came of it.
    pub note: String,
}

/// What was used for a job on one day with one agent. It stays when the job is forgotten: what is spent is spent.
#[derive(Debug, Clone, PartialEq)]
pub struct SpendRow {
    /// Days since 1970, in UTC.
    pub day: i64,
    /// For which job.
    pub job: String,
    /// Who, by its name in the settings.
    pub agent: String,
    /// Tokens.
    pub tokens: u64,
    /// Money; 0 where the client tells none.
    pub usd: f64,
}

/// A timer.
#[derive(Debug, Clone, PartialEq)]
pub struct TimerRow {
    /// Whose.
    pub job: String,
    /// Which of its timers.
    pub key: String,
    /// The version of the job that set it: tells a timer from an earlier one with the same key.
    pub generation: u64,
    /// When it comes back.
    pub due: Timestamp,
    /// With what.
    pub body: Value,
}
