//! What a job asks of people: reviews, questions and dependencies.

use crate::kernel::Timestamp;

/// A phase laid before a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Its id.
    pub id: String,
    /// The phase, from 1.
    pub phase: u32,
    /// Where it stands.
    pub status: ReviewStatus,
    /// What the agent says it made.
    pub deliverables: Vec<String>,
    /// The person's comment or feedback.
    pub comment: Option<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was decided.
    pub reviewed_at: Option<Timestamp>,
}

impl Review {
    /// Still to be decided.
    pub fn is_open(&self) -> bool {
        self.status == ReviewStatus::Pending
    }
}

named! {
    /// Where a review stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ReviewStatus {
        /// To be decided.
        Pending = "pending",
        /// The phase is good.
        Approved = "approved",
        /// The phase is to be changed, or was set back to a checkpoint.
        ChangesRequested = "changes_requested",
    }
}

/// A question of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its id.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// The only answers allowed; empty allows any.
    pub options: Vec<String>,
    /// Taken when nobody answers an optional question.
    pub default: Option<String>,
    /// Only a person's answer will do.
    pub required: bool,
    /// Where it stands.
    pub status: QuestionStatus,
}

impl Question {
    /// A question as the agent asks it.
    pub fn asked(id: impl Into<String>, text: impl Into<String>, required: bool) -> Self {
        Question {
            id: id.into(),
            text: text.into(),
            options: Vec::new(),
            default: None,
            required,
            status: QuestionStatus::Pending,
        }
    }

    /// Still without an answer.
    pub fn is_open(&self) -> bool {
        self.status == QuestionStatus::Pending
    }

    /// The answer in the spelling of the options, when it is one of them.
    pub fn accepts(&self, answer: &str) -> Option<String> {
        let answer = answer.trim();
        if self.options.is_empty() {
            return Some(answer.into());
        }
        let exact = self.options.iter().find(|option| *option == answer);
        let close = || {
            let wanted = answer.to_lowercase();
            self.options
                .iter()
                .find(|option| option.trim().to_lowercase() == wanted)
        };
        exact.or_else(close).cloned()
    }
}

named! {
    /// Where a question stands.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum QuestionStatus {
        /// Nobody has answered.
        Pending = "pending",
        /// A person has.
        Answered(String) = "answered",
        /// A person skipped it, or the task ended first.
        Skipped = "skipped",
        /// Nobody answered in time.
        Timeout = "timeout",
    }
}

/// A tool that an agent's client waits to be allowed. It dies with the attempt that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// Its id.
    pub id: String,
    /// The client's own id of it: it may withdraw it.
    pub request: String,
    /// The tool.
    pub tool: String,
}

/// Something the agent needs from a person. Its value is never here: only that one was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// Its id.
    pub id: String,
    /// What sort of thing.
    pub kind: DependencyKind,
    /// Its name (`STRIPE_SECRET_KEY`).
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Taken when an optional one is not provided.
    pub default: Option<String>,
    /// The task fails without it.
    pub required: bool,
    /// Where it stands.
    pub status: DependencyStatus,
}

impl Dependency {
    /// A dependency as the agent requests it.
    pub fn requested(id: impl Into<String>, name: impl Into<String>, required: bool) -> Self {
        Dependency {
            id: id.into(),
            kind: DependencyKind::EnvVariable,
            name: name.into(),
            description: String::new(),
            default: None,
            required,
            status: DependencyStatus::Pending,
        }
    }

    /// Still to be settled.
    pub fn is_open(&self) -> bool {
        self.status == DependencyStatus::Pending
    }
}

named! {
    /// What sort of thing an agent needs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DependencyKind {
        /// A key to a service.
        ApiKey = "api_key",
        /// An environment variable.
        EnvVariable = "env_variable",
        /// The address of a service.
        Service = "service",
        /// A file.
        File = "file",
        /// A yes or no.
        Permission = "permission",
        /// A package.
        Package = "package",
    }
}

named! {
    /// Where a dependency stands.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DependencyStatus {
        /// Nobody has settled it.
        Pending = "pending",
        /// A valid value was given.
        Provided = "provided",
        /// A person refused it, or the task ended first.
        Rejected = "rejected",
        /// Nobody settled it in time.
        Timeout = "timeout",
    }
}
