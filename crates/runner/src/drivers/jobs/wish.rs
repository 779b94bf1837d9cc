//! Requests of people and agents about jobs, with their responses and errors.

use super::named_workspace::WorkspaceFault;
use super::outage::Outage;
use bowline_formats::permission_rule::PermissionRule;
use bowline_machines::job::{Fork, Marker, Priority, Refusal};
use bowline_store::{About, Budget, FileComment, JobRow, RecordKind, Settle, StoreError};
use bowline_words::message::{ServerThing, ValueFault};

/// A request with the conditions under which it is carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Idempotency key of the caller: a request with the same key is carried out once.
    pub request: Option<String>,
    /// Version of the job that the request is about; any if none.
    pub version: Option<u64>,
    pub wish: Wish,
}

/// A request about jobs. Ids are complete; a variant with one string has the id of its object.
#[derive(Clone, PartialEq)]
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
    /// Withdraws a message that no agent has been given yet.
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
    /// Approves the open review of a task.
    ApproveTask {
        task: String,
        comment: Option<String>,
    },
    /// Requests changes in the open review of a task.
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
    /// Answers several permissions at once: all of them, or none.
    Decide {
        permissions: Vec<String>,
        /// Reason to deny them; permitted if none.
        denied: Option<String>,
    },
    /// Adds a rule that answers matching permissions from now on, and those that wait.
    AddRule(Box<PermissionRule>),
    RemoveRule(String),
    /// A typed report of an attempt's agent. Questions, dependencies and permissions get their id
    /// here.
    Said {
        task: String,
        attempt: u32,
        marker: Box<Marker>,
    },
    Tokens {
        task: String,
        attempt: u32,
        used: u64,
        /// Additional dollars, if the agent knows them.
        usd: f64,
    },
    /// Reports that a notification was delivered, or was not.
    Settle(Settle),
}

impl Wish {
    /// Returns the verb that events and messages use for the request.
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

    /// Returns everything a request asks for as text, to recognise a repeated one. Secret values
    /// are left out.
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
    /// Prints the verb and the ids, and no text: it may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.verb())?;
        match self {
            Wish::Create { .. } | Wish::AddRule(_) => Ok(()),
            Wish::Edit { task: id, .. }
            | Wish::Submit(id)
            | Wish::Cancel(id)
            | Wish::Pause(id)
            | Wish::Resume(id)
            | Wish::Retry(id)
            | Wish::Archive(id)
            | Wish::Delete(id)
            | Wish::Checkpoint(id)
            | Wish::Fork { checkpoint: id, .. }
            | Wish::Say { task: id, .. }
            | Wish::Unsay(id)
            | Wish::Interrupt(id)
            | Wish::Approve { review: id, .. }
            | Wish::RequestChanges { review: id, .. }
            | Wish::ApproveTask { task: id, .. }
            | Wish::RequestTaskChanges { task: id, .. }
            | Wish::Answer { question: id, .. }
            | Wish::Skip(id)
            | Wish::Provide { dependency: id, .. }
            | Wish::Reject { dependency: id, .. }
            | Wish::Permit(id)
            | Wish::Deny { permission: id, .. }
            | Wish::RemoveRule(id) => write!(f, " {id}"),
            Wish::Restore { task, checkpoint } => write!(f, " {task} {checkpoint}"),
            Wish::Decide { permissions, .. } => write!(f, " {}", permissions.join(" ")),
            Wish::Said { task, attempt, .. } | Wish::Tokens { task, attempt, .. } => {
                write!(f, " {task} attempt {attempt}")
            }
            Wish::Settle(settled) => write!(f, " effect {}", settled.effect),
        }
    }
}

/// Changes to a draft; `None` keeps a field.
#[derive(Debug, Clone, Default, PartialEq)]
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

/// Response to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The job afterwards; the new one of a retry or a fork; none if it was deleted.
    pub row: Option<JobRow>,
    /// Id of the question, dependency, message or rule that was created.
    pub made: Option<String>,
}

/// Reason why a request failed. Its text is for logs.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The state machine refused the command.
    #[error(transparent)]
    Rule(Refusal),
    /// The object does not exist.
    #[error("there is no {what} '{id}'")]
    NoSuch {
        /// Kind of the object: task, review, …
        what: ServerThing,
        /// Id as it was given.
        id: String,
    },
    /// The job changed since the version that was named.
    #[error("the task was changed; its version is {version}")]
    Changed {
        /// Present version.
        version: u64,
    },
    /// The idempotency key was used for a different request.
    #[error("the request id was used for another request")]
    RequestReused,
    /// The type of work does not exist.
    #[error("there is no type '{name}'")]
    UnknownType {
        /// Name as it was given.
        name: String,
    },
    /// The agent does not exist.
    #[error("there is no agent '{name}'")]
    UnknownAgent {
        /// Name as it was given.
        name: String,
    },
    /// The tasks would wait for each other.
    #[error("the tasks would wait for each other: {}", tasks.join(" -> "))]
    Cycle {
        /// Ids in the order of the dependencies.
        tasks: Vec<String>,
    },
    /// The dependency does not take this value.
    #[error("the value cannot be used: {fault}")]
    BadValue { fault: ValueFault },
    /// The folder cannot be a workspace.
    #[error("the workspace {path} {fault}")]
    BadWorkspace {
        /// Path as it was given.
        path: String,
        fault: WorkspaceFault,
    },
    /// The dependency is named like a variable that changes what programs do.
    #[error("the environment variable '{name}' is protected")]
    ProtectedName {
        /// Name of the variable.
        name: String,
    },
    /// The answer is nearly an option.
    #[error("the answer is nearly '{suggestion}'")]
    NearMiss {
        /// Answer as it was given.
        answer: String,
        /// Option that is probably meant.
        suggestion: String,
    },
    /// The server stops.
    #[error("the server stops")]
    Draining,
    /// Nothing can be decided at the moment. It is not known whether a step in flight is durable.
    #[error("{}", _0.reason)]
    Unavailable(Outage),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
    /// Another error, explained in English.
    #[error("{_0}")]
    Failed(String),
}

/// Returns what refusals call a record of this kind.
pub fn record_thing(kind: RecordKind) -> ServerThing {
    match kind {
        RecordKind::Review => ServerThing::Review,
        RecordKind::Question => ServerThing::Question,
        RecordKind::Dependency => ServerThing::Dependency,
        RecordKind::Permission => ServerThing::Permission,
        RecordKind::Checkpoint => ServerThing::Checkpoint,
        RecordKind::Verification => ServerThing::Verification,
        RecordKind::Said => ServerThing::Message,
        RecordKind::Rule => ServerThing::Rule,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_text_names_the_request_and_no_value() {
        let wish = Wish::Provide {
            dependency: "dep_1".into(),
            value: "s3cret".into(),
        };
        assert_eq!(format!("{wish:?}"), "provide dep_1");
        let asked = Asked {
            request: None,
            version: Some(3),
            wish,
        };
        assert!(!format!("{asked:?}").contains("s3cret"), "{asked:?}");
        let (what, id) = (ServerThing::StateFile, "a".to_owned());
        let refused = Refused::NoSuch { what, id };
        assert_eq!(refused.to_string(), "there is no state file 'a'");
    }

    #[test]
    fn a_record_has_the_name_of_its_kind() {
        for kind in RecordKind::ALL {
            let name = match kind {
                RecordKind::Said => "message",
                _ => kind.name(),
            };
            assert_eq!(record_thing(kind).to_string(), name);
        }
    }
}
