//! Requests of people and agents about jobs, with their responses and errors.

use super::named_workspace::WorkspaceFault;
use super::outage::Outage;
use bowline_formats::permission_rule::ToolPermissionRule;
use bowline_machines::job::{Command, ForkOptions, Priority, Refusal};
use bowline_store::{
    FileCommentRow, JobAttributes, JobBudget, JobRow, RecordKind, SettledEffect, StoreError,
};
use bowline_words::message::{ServerThing, ValueFault};
use serde_json::{Value, json};

/// A request with the conditions under which it is carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct SubmittedRequest {
    /// Idempotency key of the caller: a request with the same key is carried out once.
    pub key: Option<String>,
    /// Version of the job that the request is about; any if none.
    pub version: Option<u64>,
    pub request: JobRequest,
}

/// A request about jobs: a command for the state machine of one, or what becomes commands with
/// facts that only the dispatcher has, such as new ids, or has to keep beside the machine. Ids are
/// complete; a variant with one string has the id of its object.
#[derive(Clone, PartialEq)]
pub enum JobRequest {
    /// A command for the job with this id: of a person, or a typed report of its agent, whose
    /// questions and dependencies get their id here.
    Command(String, Command),
    /// A person's answer to the record that the command names, for the job of that record.
    RecordCommand(Command),
    Create {
        title: String,
        description: String,
        depends_on: Vec<String>,
        scheduled_for: Option<i64>,
        about: Box<JobAttributes>,
        submit: bool,
    },
    Edit {
        task: String,
        edit: Box<DraftEdit>,
    },
    Retry(String),
    Delete(String),
    Restore {
        task: String,
        checkpoint: String,
    },
    Fork {
        checkpoint: String,
        fork: ForkOptions,
    },
    SendMessage {
        task: String,
        text: String,
    },
    RequestChanges {
        review: String,
        feedback: String,
        comments: Vec<FileCommentRow>,
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
        comments: Vec<FileCommentRow>,
    },
    Provide {
        dependency: String,
        value: String,
    },
    /// Answers several permissions at once: all of them, or none.
    Decide {
        permissions: Vec<String>,
        /// Reason to deny them; permitted if none.
        denied: Option<String>,
    },
    /// Adds a rule that answers matching permissions from now on, and those that wait.
    AddRule(Box<ToolPermissionRule>),
    RemoveRule(String),
    Tokens {
        task: String,
        attempt: u32,
        used: u64,
        /// Additional dollars, if the agent knows them.
        usd: f64,
    },
    /// Reports that a notification was delivered, or was not.
    Settle(SettledEffect),
}

impl JobRequest {
    /// Returns the verb that events and messages use for the request.
    pub(super) fn verb(&self) -> &'static str {
        match self {
            JobRequest::Command(_, command) | JobRequest::RecordCommand(command) => match command {
                Command::MarkerRead { .. } => "said",
                Command::WithdrawMessage { .. } => "unsay",
                command => command.name(),
            },
            JobRequest::Create { .. } => "create",
            JobRequest::Edit { .. } => "edit",
            JobRequest::Retry { .. } => "retry",
            JobRequest::Delete { .. } => "delete",
            JobRequest::Restore { .. } => "restore",
            JobRequest::Fork { .. } => "fork",
            JobRequest::SendMessage { .. } => "say",
            JobRequest::ApproveTask { .. } => "approve",
            JobRequest::RequestChanges { .. } | JobRequest::RequestTaskChanges { .. } => {
                "request-changes"
            }
            JobRequest::Provide { .. } => "provide",
            JobRequest::Decide { .. } => "decide",
            JobRequest::AddRule { .. } => "add",
            JobRequest::RemoveRule { .. } => "remove",
            JobRequest::Tokens { .. } => "tokens",
            JobRequest::Settle(_) => "settle",
        }
    }

    /// Returns everything a request asks for as text, to recognise a repeated one. The store keeps
    /// it, so that structures are written by their stored names. Secret values are left out.
    pub(super) fn fingerprint(&self) -> String {
        let rest = match self {
            JobRequest::Command(task, Command::MarkerRead { attempt, marker }) => {
                format!("{task} {attempt} {}", json!(marker))
            }
            JobRequest::Command(task, _) => task.clone(),
            JobRequest::RecordCommand(command) => match command {
                Command::Approve { review, comment } => format!("{review} {comment:?}"),
                Command::Answer { question, text } => format!("{question} {text:?}"),
                Command::Reject { dependency, reason } => format!("{dependency} {reason:?}"),
                Command::Deny { permission, reason } => format!("{permission} {reason:?}"),
                command => record_id(command).to_owned(),
            },
            JobRequest::Create {
                title,
                description,
                depends_on,
                scheduled_for,
                about,
                submit,
            } => {
                let about = json!(about);
                format!(
                    "{title:?} {description:?} {depends_on:?} {scheduled_for:?} {about} {submit}"
                )
            }
            JobRequest::Edit { task, edit } => format!("{task} {}", edit.stored_form()),
            JobRequest::Retry(task) | JobRequest::Delete(task) => task.clone(),
            JobRequest::Restore { task, checkpoint } => format!("{task} {checkpoint}"),
            JobRequest::Fork { checkpoint, fork } => {
                let ForkOptions {
                    title,
                    instructions,
                    submit,
                } = fork;
                format!("{checkpoint} {title:?} {instructions:?} {submit}")
            }
            JobRequest::SendMessage { task, text } => format!("{task} {text:?}"),
            JobRequest::RequestChanges {
                review,
                feedback,
                comments,
            } => format!("{review} {feedback:?} {}", json!(comments)),
            JobRequest::ApproveTask { task, comment } => format!("{task} {comment:?}"),
            JobRequest::RequestTaskChanges {
                task,
                feedback,
                comments,
            } => format!("{task} {feedback:?} {}", json!(comments)),
            JobRequest::Provide { dependency, .. } => dependency.clone(),
            JobRequest::Decide {
                permissions,
                denied,
            } => format!("{permissions:?} {denied:?}"),
            JobRequest::AddRule(rule) => format!("rule {}", json!(rule)),
            JobRequest::RemoveRule(rule) => format!("rule {rule}"),
            JobRequest::Tokens {
                task,
                attempt,
                used,
                usd,
            } => format!("{task} {attempt} {used} {usd}"),
            JobRequest::Settle(settled) => settled.effect.to_string(),
        };
        format!("{} {rest}", self.verb())
    }
}

/// Returns the kind and id of the record that a command names, if a person's request may.
pub(super) fn record_of(command: &Command) -> Option<(RecordKind, &str)> {
    Some(match command {
        Command::Approve { review, .. } => (RecordKind::Review, review),
        Command::Answer { question, .. } | Command::Skip { question } => {
            (RecordKind::Question, question)
        }
        Command::Reject { dependency, .. } => (RecordKind::Dependency, dependency),
        Command::Permit { permission } | Command::Deny { permission, .. } => {
            (RecordKind::Permission, permission)
        }
        Command::WithdrawMessage { id } => (RecordKind::Said, id),
        _ => return None,
    })
}

fn record_id(command: &Command) -> &str {
    record_of(command).map_or("", |(_, id)| id)
}

impl std::fmt::Debug for JobRequest {
    /// Prints the verb and the ids, and no text: it may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.verb())?;
        match self {
            JobRequest::Create { .. } | JobRequest::AddRule(_) => Ok(()),
            JobRequest::Command(task, Command::MarkerRead { attempt, .. })
            | JobRequest::Tokens { task, attempt, .. } => write!(f, " {task} attempt {attempt}"),
            JobRequest::RecordCommand(command) => write!(f, " {}", record_id(command)),
            JobRequest::Command(id, _)
            | JobRequest::Edit { task: id, .. }
            | JobRequest::Retry(id)
            | JobRequest::Delete(id)
            | JobRequest::Fork { checkpoint: id, .. }
            | JobRequest::SendMessage { task: id, .. }
            | JobRequest::ApproveTask { task: id, .. }
            | JobRequest::RequestChanges { review: id, .. }
            | JobRequest::RequestTaskChanges { task: id, .. }
            | JobRequest::Provide { dependency: id, .. }
            | JobRequest::RemoveRule(id) => write!(f, " {id}"),
            JobRequest::Restore { task, checkpoint } => write!(f, " {task} {checkpoint}"),
            JobRequest::Decide { permissions, .. } => write!(f, " {}", permissions.join(" ")),
            JobRequest::Settle(settled) => write!(f, " effect {}", settled.effect),
        }
    }
}

/// Changes to a draft; `None` keeps a field.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DraftEdit {
    pub title: Option<String>,
    pub description: Option<String>,
    pub type_name: Option<String>,
    pub priority: Option<Priority>,
    pub depends_on: Option<Vec<String>>,
    pub agent: Option<String>,
    pub scheduled_for: Option<Option<i64>>,
    pub label: Option<Option<String>>,
    pub budget: Option<JobBudget>,
}

impl DraftEdit {
    fn stored_form(&self) -> Value {
        let DraftEdit {
            title,
            description,
            type_name,
            priority,
            depends_on,
            agent,
            scheduled_for,
            label,
            budget,
        } = self;
        json!({
            "title": title,
            "description": description,
            "type": type_name,
            "priority": priority,
            "depends_on": depends_on,
            "agent": agent,
            // A value that is taken away is not one that stays.
            "scheduled_for": scheduled_for.map(|it| [it]),
            "label": label.as_ref().map(|it| [it]),
            "budget": budget,
        })
    }
}

/// Response to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct JobResponse {
    /// The job afterwards; the new one of a retry or a fork; none if it was deleted.
    pub row: Option<JobRow>,
    /// Id of the question, dependency, message or rule that was created.
    pub made: Option<String>,
}

/// Reason why a request failed. Its text is for logs.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
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
    /// Nothing can be decided at the moment. It is not known whether a pending step is durable.
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

impl From<Refusal> for RequestError {
    fn from(refusal: Refusal) -> Self {
        RequestError::Rule(refusal)
    }
}

impl From<StoreError> for RequestError {
    fn from(error: StoreError) -> Self {
        RequestError::Store(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_machines::job::AgentMarker;

    #[test]
    fn debug_text_names_the_request_and_no_value() {
        let request = JobRequest::Provide {
            dependency: "dep_1".into(),
            value: "s3cret".into(),
        };
        assert_eq!(format!("{request:?}"), "provide dep_1");
        let asked = SubmittedRequest {
            key: None,
            version: Some(3),
            request,
        };
        assert!(!format!("{asked:?}").contains("s3cret"), "{asked:?}");
        let (what, id) = (ServerThing::StateFile, "a".to_owned());
        let refused = RequestError::NoSuch { what, id };
        assert_eq!(refused.to_string(), "there is no state file 'a'");
    }

    #[test]
    fn a_command_is_recognised_by_the_text_that_the_store_keeps() {
        let text = || "a".to_owned();
        let of_job = [
            (Command::Submit, "submit t"),
            (Command::SaveCheckpoint, "checkpoint t"),
            (
                Command::MarkerRead {
                    attempt: 1,
                    marker: AgentMarker::CustomComplete,
                },
                "said t 1 \"custom_complete\"",
            ),
        ];
        for (command, kept) in of_job {
            assert_eq!(JobRequest::Command("t".into(), command).fingerprint(), kept);
        }
        let approve = Command::Approve {
            review: text(),
            comment: None,
        };
        let answer = Command::Answer {
            question: text(),
            text: text(),
        };
        let reject = Command::Reject {
            dependency: text(),
            reason: text(),
        };
        let deny = Command::Deny {
            permission: text(),
            reason: text(),
        };
        let of_record = [
            (approve, "approve a None"),
            (answer, "answer a \"a\""),
            (Command::Skip { question: text() }, "skip a"),
            (reject, "reject a \"a\""),
            (Command::Permit { permission: text() }, "permit a"),
            (deny, "deny a \"a\""),
            (Command::WithdrawMessage { id: text() }, "unsay a"),
        ];
        for (command, kept) in of_record {
            assert_eq!(JobRequest::RecordCommand(command).fingerprint(), kept);
        }
    }

    #[test]
    fn a_fingerprint_names_no_type() {
        let create = JobRequest::Create {
            title: "tea".into(),
            description: String::new(),
            depends_on: Vec::new(),
            scheduled_for: None,
            about: Box::new(JobAttributes {
                type_name: Some("docs".into()),
                ..JobAttributes::default()
            }),
            submit: true,
        };
        let edit = JobRequest::Edit {
            task: "task_1".into(),
            edit: Box::new(DraftEdit {
                label: Some(None),
                ..DraftEdit::default()
            }),
        };
        for request in [create, edit, JobRequest::AddRule(Box::default())] {
            let print = request.fingerprint();
            let names_type = ["JobAttributes", "JobBudget", "DraftEdit", "Rule {"];
            assert!(!names_type.iter().any(|it| print.contains(it)), "{print}");
            assert!(print.contains("\":"), "{print}");
        }
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
