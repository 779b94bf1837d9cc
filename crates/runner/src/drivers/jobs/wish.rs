//! What people and agents want of jobs, and what comes of it.

use super::named_workspace::WorkspaceFault;
use super::outage::Outage;
use bowline_formats::permission_rule::PermissionRule;
use bowline_machines::job::{Fork, Marker, Refusal};
use bowline_store::{About, Budget, FileComment, JobRow, Priority, Settle, StoreError};

/// Something somebody wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Given by whoever asks: the same one is never carried out twice.
    pub request: Option<String>,
    /// The version of the job the wish is about; any when absent.
    pub version: Option<u64>,
    /// What.
    pub wish: Wish,
}

/// What somebody wants of jobs. Ids are whole; where a verb takes nothing else, it is the one of what the verb is about.
#[derive(Clone, PartialEq)]
#[expect(missing_docs, reason = "each is the verb it stands for")]
pub enum Wish {
    Create {
        title: String,
        description: String,
        depends_on: Vec<String>,
        scheduled_for: Option<i64>,
        about: Box<About>,
        submit: bool,
    },
    Edit {
        task: String,
        edit: Box<Edit>,
    },
    Submit(String),
    Cancel(String),
    Pause(String),
    Resume(String),
    Retry(String),
    Archive(String),
    Delete(String),
    Checkpoint(String),
    Restore {
        task: String,
        checkpoint: String,
    },
    Fork {
        checkpoint: String,
        fork: Fork,
    },
    Say {
        task: String,
        text: String,
    },
    /// Takes back what was said and not yet told.
    Unsay(String),
    Interrupt(String),
    Approve {
        review: String,
        comment: Option<String>,
    },
    RequestChanges {
        review: String,
        feedback: String,
        comments: Vec<FileComment>,
    },
    /// Approves the review of a task that is open.
    ApproveTask {
        task: String,
        comment: Option<String>,
    },
    /// Requests changes in the review of a task that is open.
    RequestTaskChanges {
        task: String,
        feedback: String,
        comments: Vec<FileComment>,
    },
    Answer {
        question: String,
        text: String,
    },
    Skip(String),
    Provide {
        dependency: String,
        value: String,
    },
    Reject {
        dependency: String,
        reason: String,
    },
    Permit(String),
    Deny {
        permission: String,
        reason: String,
    },
    /// Answers several at once: all of them, or none.
    Decide {
        permissions: Vec<String>,
        /// Why not; they are permitted without.
        denied: Option<String>,
    },
    /// Answers whatever fits from now on, and what waits now.
    AddRule(Box<PermissionRule>),
    RemoveRule(String),
    /// The agent of an attempt says something exactly. Questions, dependencies and permissions get their id here.
    Said {
        task: String,
        attempt: u32,
        marker: Box<Marker>,
    },
    Tokens {
        task: String,
        attempt: u32,
        used: u64,
        /// Dollars more, where the agent knows.
        usd: f64,
    },
    /// A notification was delivered, or was not.
    Settle(Settle),
}

impl Wish {
    /// The word it is told of by.
    pub(super) fn verb(&self) -> &'static str {
        match self {
            Wish::Create { .. } => "create",
            Wish::Edit { .. } => "edit",
            Wish::Submit { .. } => "submit",
            Wish::Cancel { .. } => "cancel",
            Wish::Pause { .. } => "pause",
            Wish::Resume { .. } => "resume",
            Wish::Retry { .. } => "retry",
            Wish::Archive { .. } => "archive",
            Wish::Delete { .. } => "delete",
            Wish::Checkpoint { .. } => "checkpoint",
            Wish::Restore { .. } => "restore",
            Wish::Fork { .. } => "fork",
            Wish::Say { .. } => "say",
            Wish::Unsay { .. } => "unsay",
            Wish::Interrupt { .. } => "interrupt",
            Wish::Approve { .. } | Wish::ApproveTask { .. } => "approve",
            Wish::RequestChanges { .. } | Wish::RequestTaskChanges { .. } => "request-changes",
            Wish::Answer { .. } => "answer",
            Wish::Skip { .. } => "skip",
            Wish::Provide { .. } => "provide",
            Wish::Reject { .. } => "reject",
            Wish::Permit { .. } => "permit",
            Wish::Deny { .. } => "deny",
            Wish::Decide { .. } => "decide",
            Wish::AddRule { .. } => "add",
            Wish::RemoveRule { .. } => "remove",
            Wish::Said { .. } => "said",
            Wish::Tokens { .. } => "tokens",
            Wish::Settle(_) => "settle",
        }
    }

    /// Everything a request asks for, as text, without any value that was given: a repeated request has the same.
    pub(super) fn fingerprint(&self) -> String {
        let rest = match self {
            Wish::Create {
                title,
                description,
                depends_on,
                scheduled_for,
                about,
                submit,
            } => {
                format!(
                    "{title:?} {description:?} {depends_on:?} {scheduled_for:?} {about:?} {submit}"
                )
            }
            Wish::Edit { task, edit } => format!("{task} {edit:?}"),
            Wish::Submit(task)
            | Wish::Cancel(task)
            | Wish::Pause(task)
            | Wish::Resume(task)
            | Wish::Retry(task)
            | Wish::Archive(task)
            | Wish::Delete(task)
            | Wish::Checkpoint(task)
            | Wish::Interrupt(task) => task.clone(),
            Wish::Restore { task, checkpoint } => format!("{task} {checkpoint}"),
            Wish::Fork { checkpoint, fork } => format!("{checkpoint} {fork:?}"),
            Wish::Say { task, text } => format!("{task} {text:?}"),
            Wish::Unsay(said) => said.clone(),
            Wish::Approve { review, comment } => format!("{review} {comment:?}"),
            Wish::RequestChanges {
                review,
                feedback,
                comments,
            } => format!("{review} {feedback:?} {comments:?}"),
            Wish::ApproveTask { task, comment } => format!("{task} {comment:?}"),
            Wish::RequestTaskChanges {
                task,
                feedback,
                comments,
            } => format!("{task} {feedback:?} {comments:?}"),
            Wish::Answer { question, text } => format!("{question} {text:?}"),
            Wish::Skip(question) => question.clone(),
            Wish::Provide { dependency, .. } => dependency.clone(),
            Wish::Reject { dependency, reason } => format!("{dependency} {reason:?}"),
            Wish::Permit(permission) => permission.clone(),
            Wish::Deny { permission, reason } => format!("{permission} {reason:?}"),
            Wish::Decide {
                permissions,
                denied,
            } => format!("{permissions:?} {denied:?}"),
            Wish::AddRule(rule) => format!("rule {rule:?}"),
            Wish::RemoveRule(rule) => format!("rule {rule}"),
            Wish::Said {
                task,
                attempt,
                marker,
            } => format!("{task} {attempt} {marker:?}"),
            Wish::Tokens {
                task,
                attempt,
                used,
                usd,
            } => format!("{task} {attempt} {used} {usd}"),
            Wish::Settle(settled) => settled.effect.to_string(),
        };
        format!("{} {rest}", self.verb())
    }
}

impl std::fmt::Debug for Wish {
    /// Never a value that was given.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wish")
    }
}

/// Changes to a draft; `None` leaves a field alone.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "each is the field it changes")]
pub struct Edit {
    pub title: Option<String>,
    pub description: Option<String>,
    pub type_name: Option<String>,
    pub priority: Option<Priority>,
    pub depends_on: Option<Vec<String>>,
    pub agent: Option<String>,
    pub scheduled_for: Option<Option<i64>>,
    pub label: Option<Option<String>>,
    pub budget: Option<Budget>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The job afterwards; the new one of a retry or a fork; nothing when it was deleted.
    pub row: Option<JobRow>,
    /// The question, dependency, saying or rule that was made.
    pub made: Option<String>,
}

/// Why nothing came of it.
#[derive(Debug)]
pub enum Refused {
    /// A rule.
    Rule(Refusal),
    /// There is no such thing.
    NoSuch {
        /// Task, review, …
        what: &'static str,
        /// Which.
        id: String,
    },
    /// The job moved on.
    Changed {
        /// Its version now.
        version: u64,
    },
    /// The request's id was used for something else.
    RequestReused,
    /// There is no such type of work.
    UnknownType {
        /// As it was named.
        name: String,
    },
    /// There is no such agent.
    UnknownAgent {
        /// As it was named.
        name: String,
    },
    /// Tasks that would wait for each other.
    Cycle {
        /// One after the other.
        tasks: Vec<String>,
    },
    /// A value that a dependency does not take.
    BadValue {
        /// Why not.
        why: String,
    },
    /// A folder that cannot be a workspace.
    BadWorkspace {
        /// As it was named.
        path: String,
        /// Why not.
        fault: WorkspaceFault,
    },
    /// A dependency named like a variable that changes what programs do.
    ProtectedName {
        /// The name.
        name: String,
    },
    /// An answer that is nearly an option.
    NearMiss {
        /// As it was given.
        answer: String,
        /// The option that is meant.
        suggestion: String,
    },
    /// The server stops.
    Draining,
    /// Nothing can be decided at the moment. Whether a step under way is durable is not known.
    Unavailable(Outage),
    /// The store failed.
    Store(StoreError),
    /// Something else failed.
    Failed(String),
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Refused::Rule(refusal)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Refused::Store(error)
    }
}
