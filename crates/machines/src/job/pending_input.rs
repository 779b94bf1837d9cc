//! Requests of a job to people: reviews, questions, permissions and dependencies.

use crate::kernel::Timestamp;

/// A request to a person to review a finished phase.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PhaseReview {
    /// Id of the review.
    #[cfg_attr(feature = "serde", serde(rename = "id"))]
    pub id: String,
    /// Number of the phase, from 1.
    #[cfg_attr(feature = "serde", serde(rename = "phase", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub phase: u32,
    /// Current status of the review.
    #[cfg_attr(feature = "serde", serde(rename = "status"))]
    pub status: ReviewStatus,
    /// The files that the agent reports as made.
    #[cfg_attr(feature = "serde", serde(rename = "deliverables", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub deliverables: Vec<String>,
    /// The person's comment or feedback, set with the decision.
    #[cfg_attr(feature = "serde", serde(rename = "comment", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub comment: Option<String>,
    /// Time at which the review was opened.
    #[cfg_attr(feature = "serde", serde(rename = "created_at"))]
    pub created_at: Timestamp,
    /// Time of the decision, absent while the review is open.
    #[cfg_attr(feature = "serde", serde(rename = "reviewed_at", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub reviewed_at: Option<Timestamp>,
}

impl PhaseReview {
    /// True until the review is decided.
    pub fn is_open(&self) -> bool {
        self.status == ReviewStatus::Pending
    }
}

named! {
    /// The status of a review.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum ReviewStatus {
        /// The decision is open.
        #[default]
        Pending = "pending",
        /// A person approved the phase.
        Approved = "approved",
        /// A person wants changes, or the task was set back to a checkpoint.
        ChangesRequested = "changes_requested",
    }
}

/// A question that the agent asks a person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AgentQuestion {
    /// Id of the question.
    #[cfg_attr(feature = "serde", serde(rename = "id"))]
    pub id: String,
    /// Text of the question.
    #[cfg_attr(feature = "serde", serde(rename = "text"))]
    pub text: String,
    /// The allowed answers; empty allows any.
    #[cfg_attr(feature = "serde", serde(rename = "options", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub options: Vec<String>,
    /// The answer used when no person answers an optional question.
    #[cfg_attr(feature = "serde", serde(rename = "default", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub default: Option<String>,
    /// True if only a person's answer is accepted.
    #[cfg_attr(feature = "serde", serde(rename = "required", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub required: bool,
    /// Current status of the question.
    #[cfg_attr(feature = "serde", serde(rename = "status"))]
    pub status: QuestionStatus,
}

impl AgentQuestion {
    /// Makes an open question without options or a default.
    pub fn without_options(id: impl Into<String>, text: impl Into<String>, required: bool) -> Self {
        AgentQuestion {
            id: id.into(),
            text: text.into(),
            options: Vec::new(),
            default: None,
            required,
            status: QuestionStatus::Pending,
        }
    }

    /// True until the question is answered, skipped or timed out.
    pub fn is_open(&self) -> bool {
        self.status == QuestionStatus::Pending
    }

    /// Returns the answer in the spelling of the options if it is allowed.
    pub fn accepted_answer(&self, answer: &str) -> Option<String> {
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

/// The status of a question, with the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum QuestionStatus {
    /// The question is open.
    #[cfg_attr(feature = "serde", serde(rename = "pending"))]
    Pending,
    /// A person gave this answer.
    #[cfg_attr(feature = "serde", serde(rename = "answered"))]
    Answered(String),
    /// A person skipped it, or the task ended first.
    #[cfg_attr(feature = "serde", serde(rename = "skipped"))]
    Skipped,
    /// The time limit passed without an answer.
    #[cfg_attr(feature = "serde", serde(rename = "timeout"))]
    Timeout,
}

impl QuestionStatus {
    /// Returns the status without the answer.
    pub const fn kind(&self) -> QuestionStatusKind {
        match self {
            QuestionStatus::Pending => QuestionStatusKind::Pending,
            QuestionStatus::Answered(_) => QuestionStatusKind::Answered,
            QuestionStatus::Skipped => QuestionStatusKind::Skipped,
            QuestionStatus::Timeout => QuestionStatusKind::Timeout,
        }
    }
}

named! {
    /// The status of a question.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum QuestionStatusKind {
        /// The question is open.
        #[default]
        Pending = "pending",
        /// A person answered it.
        Answered = "answered",
        /// A person skipped it, or the task ended first.
        Skipped = "skipped",
        /// The time limit passed without an answer.
        Timeout = "timeout",
    }
}

/// A tool that needs a person's permission. The request ends with the attempt that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PermissionRequest {
    /// Id of the permission.
    #[cfg_attr(feature = "serde", serde(rename = "id"))]
    pub id: String,
    /// The client's own id of the request, with which it may withdraw it.
    #[cfg_attr(feature = "serde", serde(rename = "request"))]
    pub request: String,
    /// Name of the tool.
    #[cfg_attr(feature = "serde", serde(rename = "tool"))]
    pub tool: String,
}

named! {
    /// The status of a permission.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum PermissionStatus {
        /// The request is open.
        Pending = "pending",
        /// A person or a rule permitted the tool call.
        Permitted = "permitted",
        /// A person or a rule denied the tool call.
        Denied = "denied",
        /// The request is over, and its end is not known.
        #[default]
        Expired = "expired",
        /// The client withdrew the request, or the attempt that made it ended.
        Withdrawn = "withdrawn",
    }
}

/// Something the agent needs from a person. The value itself is stored elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AgentDependency {
    /// Id of the dependency.
    #[cfg_attr(feature = "serde", serde(rename = "id"))]
    pub id: String,
    /// The kind of thing that is needed.
    #[cfg_attr(feature = "serde", serde(rename = "kind"))]
    pub kind: DependencyKind,
    /// Name of the dependency (`STRIPE_SECRET_KEY`).
    #[cfg_attr(feature = "serde", serde(rename = "name"))]
    pub name: String,
    /// Purpose of the dependency, in the agent's words.
    #[cfg_attr(feature = "serde", serde(rename = "description"))]
    pub description: String,
    /// The value used when an optional dependency is not provided.
    #[cfg_attr(feature = "serde", serde(rename = "default", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub default: Option<String>,
    /// True if the task fails without it.
    #[cfg_attr(feature = "serde", serde(rename = "required", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub required: bool,
    /// Current status of the dependency.
    #[cfg_attr(feature = "serde", serde(rename = "status"))]
    pub status: DependencyStatus,
}

impl AgentDependency {
    /// Makes an open dependency on an environment variable.
    pub fn on_env_variable(id: impl Into<String>, name: impl Into<String>, required: bool) -> Self {
        AgentDependency {
            id: id.into(),
            kind: DependencyKind::EnvVariable,
            name: name.into(),
            description: String::new(),
            default: None,
            required,
            status: DependencyStatus::Pending,
        }
    }

    /// True until the dependency is provided, rejected or timed out.
    pub fn is_open(&self) -> bool {
        self.status == DependencyStatus::Pending
    }
}

named! {
    /// The kind of thing that an agent needs.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum DependencyKind {
        /// A key to a service.
        ApiKey = "api_key",
        /// An environment variable.
        #[default]
        EnvVariable = "env_variable",
        /// The address of a service.
        Service = "service",
        /// A file's content.
        File = "file",
        /// A yes or no.
        Permission = "permission",
        /// An installed package.
        Package = "package",
    }
}

named! {
    /// The status of a dependency.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum DependencyStatus {
        /// The dependency is open.
        #[default]
        Pending = "pending",
        /// A valid value was given.
        Provided = "provided",
        /// A person rejected it, or the task ended first.
        Rejected = "rejected",
        /// The time limit passed without a value.
        Timeout = "timeout",
    }
}
