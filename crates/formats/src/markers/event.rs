//! What the parser reports: a closed set of events, with owned data.

use bowline_machines::job::DependencyKind;
use bowline_machines::named;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{FIELD_CHARS_MAX, MESSAGE_BYTES_MAX};

/// One thing the agent said, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Absolute offset of the first byte of the marker.
    pub start: u64,
    /// Where a new parser goes on after this event has been acted upon.
    pub resume: Resume,
    /// What was said.
    pub kind: Kind,
}

impl Event {
    /// Absolute offset behind the last byte that belongs to this event.
    pub fn end(&self) -> u64 {
        self.resume.offset
    }
}

/// A place in the stream and the little that must be remembered there.
///
/// A parser made with [`Parser::resume_at`](super::Parser::resume_at) and fed the bytes from `offset` on reports exactly
/// the events the first parser had still to report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// Absolute offset of the next byte to push.
    pub offset: u64,
    /// The offset lies inside a line whose rest does not matter.
    pub mid_line: bool,
    /// The code fence that is open there.
    pub fence: Option<Fence>,
    /// The agent has used its nonce, so markers without it no longer count.
    pub nonce_used: bool,
}

/// An open code fence: what it takes to close it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// `~` if true, else a backtick.
    pub tilde: bool,
    /// How many of them opened it; at least as many close it.
    pub length: u32,
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `=== PHASE N COMPLETE ===` with the lines that belong to it.
    PhaseComplete {
        /// The phase, from 1.
        phase: u32,
        /// The name given, else `Phase N`.
        name: String,
        /// The files listed, as written. A hint: what counts is on disk.
        deliverables: Vec<String>,
    },
    /// `=== CUSTOM TASK COMPLETE ===`.
    CustomComplete {
        /// `Task:` line.
        task: Option<String>,
        /// `Summary:` line.
        summary: Option<String>,
    },
    /// `[DEPENDENCY_REQUEST]`.
    DependencyRequest(DependencyRequest),
    /// `[USER_QUESTION]`.
    UserQuestion(UserQuestion),
    /// `[ERROR]`.
    Error(ErrorReport),
    /// `Step 3/9: name`.
    Step {
        /// The step begun.
        step: u32,
        /// How many there are.
        of: u32,
        /// Its name.
        name: String,
    },
    /// `Starting Phase 2: name`.
    PhaseStarting {
        /// The phase.
        phase: u32,
        /// Its name.
        name: String,
    },
    /// `=== VERIFICATION_RESULT ===` and the JSON after it.
    VerificationResult {
        /// What was looked at, in the order given.
        criteria: Vec<Criterion>,
    },
    /// A marker that breaks the grammar. It changes no state and is answered.
    Malformed(Malformed),
    /// A well-spelled marker that does not count.
    Ignored {
        /// Which.
        marker: Marker,
        /// Why.
        reason: IgnoredReason,
    },
}

named! {
    /// The markers that have a name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum Marker {
        /// A phase is complete.
        PhaseComplete = "PHASE_COMPLETE",
        /// A task without phases is complete.
        CustomComplete = "CUSTOM_COMPLETE",
        /// A verifying agent's findings.
        VerificationResult = "VERIFICATION_RESULT",
        /// Something the agent needs from a person.
        DependencyRequest = "DEPENDENCY_REQUEST",
        /// A question to a person.
        UserQuestion = "USER_QUESTION",
        /// The agent reports an error.
        Error = "ERROR",
    }
}

impl std::fmt::Display for Marker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a marker does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoredReason {
    /// It carries no nonce although the agent has used its nonce before.
    NonceMissing,
    /// It carries a nonce that is not this agent's.
    NonceWrong,
}

named! {
    /// What sort of thing an agent needs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
    pub enum DependencyType {
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
    /// What a question is about.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Category {
        /// A business decision.
        Business = "business",
        /// Something unclear in the task.
        Clarification = "clarification",
        /// One of several options.
        Choice = "choice",
        /// Yes or no.
        Confirmation = "confirmation",
    }
}

named! {
    /// How bad an error is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Severity {
        /// Work can go on later.
        Recoverable = "recoverable",
        /// Work cannot go on.
        Fatal = "fatal",
    }
}

named! {
    /// How an agent means to go on after an error.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
    pub enum Recovery {
        /// Stop, and go on by itself later.
        PauseAndRetry = "pause_and_retry",
        /// It is over.
        CheckpointAndFail = "checkpoint_and_fail",
        /// Tell people, and go on.
        NotifyUser = "notify_user",
    }
}

named! {
    /// The outcome for one criterion.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CriterionStatus {
        /// It holds.
        Passed = "passed",
        /// It does not.
        Failed = "failed",
    }
}

/// Something the agent needs from a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyRequest {
    /// What kind of thing.
    pub kind: DependencyKind,
    /// Its name, such as `MAPS_API_KEY`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether work can go on without it.
    pub required: bool,
    /// What to use if an optional one is not given.
    pub default: Option<String>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    /// What it is about.
    pub category: Category,
    /// The question.
    pub question: String,
    /// The answers to choose from; empty if free text is wanted.
    pub options: Vec<String>,
    /// What to take if nobody answers.
    pub default: Option<String>,
    /// Whether work can go on without an answer.
    pub required: bool,
}

/// An error the agent reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReport {
    /// How bad it is.
    pub severity: Severity,
    /// One sentence; empty only in the one-line form.
    pub message: String,
    /// More about it.
    pub details: Option<String>,
    /// What to do.
    pub recovery: Recovery,
    /// Seconds to wait before going on.
    pub retry_after_s: Option<u64>,
    /// When a limit is lifted.
    pub reset_at: Option<jiff::Timestamp>,
}

/// One criterion of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// Its id.
    pub id: String,
    /// The outcome.
    pub status: CriterionStatus,
    /// What was found.
    pub details: Option<String>,
    /// What to do about it.
    pub suggestion: Option<String>,
    /// The files concerned.
    pub affected_documents: Vec<String>,
}

/// How a marker breaks the grammar. The message is what the agent is told.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Malformed {
    /// A required field is absent or empty.
    #[error("{marker} missing required field '{field}'")]
    MissingField {
        /// The marker.
        marker: Marker,
        /// The field.
        field: &'static str,
    },
    /// A field has a word, number or time that it may not have.
    #[error("{marker} field '{field}' must be {expected}, not '{found}'")]
    BadValue {
        /// The marker.
        marker: Marker,
        /// The field.
        field: &'static str,
        /// What would be right.
        expected: String,
        /// What is there, cut to a readable length.
        found: String,
    },
    /// A field is too long.
    #[error("{marker} field '{field}' exceeds {FIELD_CHARS_MAX} characters")]
    FieldTooLong {
        /// The marker.
        marker: Marker,
        /// The field.
        field: &'static str,
    },
    /// The message is too long.
    #[error("{marker} exceeds {MESSAGE_BYTES_MAX} bytes")]
    TooLong {
        /// The marker.
        marker: Marker,
    },
    /// Another marker or the end of the output came before the closing tag.
    #[error("{marker} is not closed before {before}")]
    NotClosed {
        /// The marker.
        marker: Marker,
        /// What came instead.
        before: &'static str,
    },
    /// The JSON of the message cannot be used.
    #[error("{marker} has invalid JSON: {problem}")]
    BadJson {
        /// The marker.
        marker: Marker,
        /// What is wrong with it.
        problem: String,
    },
}

impl Malformed {
    /// A stable word for this kind of defect.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingField { .. } => "marker_field_missing",
            Self::BadValue { .. } => "marker_value_invalid",
            Self::FieldTooLong { .. } => "marker_field_too_long",
            Self::TooLong { .. } => "marker_too_long",
            Self::NotClosed { .. } => "marker_not_closed",
            Self::BadJson { .. } => "marker_json_invalid",
        }
    }
}
