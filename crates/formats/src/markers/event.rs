//! Events that the parser reports: a closed set with owned data.

use bowline_machines::job::DependencyKind;
use bowline_machines::named;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{FIELD_CHARS_MAX, MESSAGE_BYTES_MAX};

/// A marker found in the output, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerEvent {
    /// Absolute offset of the first byte of the marker.
    pub start: u64,
    /// Position from which a new parser continues once this event has been handled.
    pub resume: ParserResumePoint,
    pub kind: MarkerContent,
}

impl MarkerEvent {
    /// Returns the absolute offset behind the last byte that belongs to this event.
    pub fn end_offset(&self) -> u64 {
        self.resume.offset
    }
}

/// A position in the stream and the parser state needed there.
///
/// A parser made with [`MarkerParser::resume_at`](super::MarkerParser::resume_at) and fed the bytes
/// from `offset` on reports exactly the events that the first parser had yet to report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParserResumePoint {
    /// Absolute offset of the next byte to push.
    pub offset: u64,
    /// True if the offset lies inside a line whose rest is ignored.
    pub mid_line: bool,
    /// The code fence that is open at the offset.
    pub fence: Option<CodeFence>,
    /// True if the agent has used its nonce, so that markers without it no longer count.
    pub nonce_used: bool,
}

/// An open code fence, as far as needed to recognise its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFence {
    /// True for `~`, false for a backtick.
    pub tilde: bool,
    /// Number of fence characters that opened it; a closing fence has at least as many.
    pub length: u32,
}

/// The content of a marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkerContent {
    /// `=== PHASE N COMPLETE ===` with the lines that belong to it.
    PhaseComplete {
        /// Number of the phase, from 1.
        phase: u32,
        /// The name given, else `Phase N`.
        name: String,
        /// The files listed, as written. Only a hint: the files on disk decide.
        deliverables: Vec<String>,
    },
    /// `=== CUSTOM TASK COMPLETE ===` with the lines that belong to it.
    CustomComplete {
        /// Value of the `Task:` line.
        task: Option<String>,
        /// Value of the `Summary:` line.
        summary: Option<String>,
    },
    DependencyRequest(DependencyRequest),
    UserQuestion(UserQuestion),
    Error(AgentErrorReport),
    /// A progress line such as `Step 3/9: name`.
    Step {
        /// Number of the step that begins.
        step: u32,
        /// Total number of steps.
        of: u32,
        name: String,
    },
    /// A progress line such as `Starting Phase 2: name`.
    PhaseStarting {
        phase: u32,
        name: String,
    },
    /// `=== VERIFICATION_RESULT ===` and the JSON after it.
    VerificationResult {
        /// The criteria checked, in the order given.
        criteria: Vec<CriterionResult>,
    },
    /// A marker that breaks the grammar. It changes no state; the agent gets an error reply.
    Malformed(MalformedMarker),
    /// A well-formed marker that is ignored because of its nonce.
    Ignored {
        marker: MarkerName,
        reason: IgnoredReason,
    },
}

named! {
    /// Markers that agents write.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum MarkerName {
        /// A phase is complete.
        PhaseComplete = "PHASE_COMPLETE",
        /// A task without phases is complete.
        CustomComplete = "CUSTOM_COMPLETE",
        /// A verifying agent reports its result.
        VerificationResult = "VERIFICATION_RESULT",
        /// The agent needs a value from a person.
        DependencyRequest = "DEPENDENCY_REQUEST",
        /// The agent asks a person a question.
        UserQuestion = "USER_QUESTION",
        /// The agent reports an error.
        Error = "ERROR",
    }
}

impl std::fmt::Display for MarkerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Reasons why a well-formed marker is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoredReason {
    /// The marker carries no nonce although the agent has used its nonce before.
    NonceMissing,
    /// The marker carries a nonce that is not this agent's.
    NonceWrong,
}

named! {
    /// The category of a question.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum QuestionCategory {
        /// A business decision.
        Business = "business",
        /// A part of the task that is unclear.
        Clarification = "clarification",
        /// One of several options.
        Choice = "choice",
        /// A yes or no.
        Confirmation = "confirmation",
    }
}

named! {
    /// Severity of a reported error.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ErrorSeverity {
        /// Work can continue later.
        Recoverable = "recoverable",
        /// Work cannot continue.
        Fatal = "fatal",
    }
}

named! {
    /// The recovery that an agent proposes after an error.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "openapi", derive(schemars::JsonSchema), schemars(rename_all = "snake_case"))]
    pub enum Recovery {
        /// Pause, and continue automatically later.
        PauseAndRetry = "pause_and_retry",
        /// Save a checkpoint and fail.
        CheckpointAndFail = "checkpoint_and_fail",
        /// Notify the user and continue.
        NotifyUser = "notify_user",
    }
}

impl Recovery {
    /// Returns the recovery after an error reported as fatal, or with seconds to wait.
    pub const fn of_report(fatal: bool, retry_after: Option<u64>) -> Recovery {
        match (fatal, retry_after) {
            (true, _) => Recovery::CheckpointAndFail,
            (false, Some(_)) => Recovery::PauseAndRetry,
            (false, None) => Recovery::NotifyUser,
        }
    }
}

named! {
    /// The result of one criterion.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CriterionStatus {
        Passed = "passed",
        Failed = "failed",
    }
}

/// A value that the agent requests from a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyRequest {
    pub kind: DependencyKind,
    /// The requested name, such as `MAPS_API_KEY`.
    pub name: String,
    /// Purpose for which the agent needs the value.
    pub description: String,
    /// False if work can continue without the value.
    pub required: bool,
    /// Value used if an optional one is not supplied.
    pub default: Option<String>,
}

/// A question from an agent to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    pub category: QuestionCategory,
    pub question: String,
    /// The answers to choose from; empty if free text is wanted.
    pub options: Vec<String>,
    /// Answer used if no person answers.
    pub default: Option<String>,
    /// False if work can continue without an answer.
    pub required: bool,
}

/// An error that the agent reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentErrorReport {
    pub severity: ErrorSeverity,
    /// One sentence; empty only in the one-line form.
    pub message: String,
    pub details: Option<String>,
    pub recovery: Recovery,
    /// Seconds to wait before continuing.
    pub retry_after_s: Option<u64>,
    /// Time at which a rate limit is lifted.
    pub reset_at: Option<jiff::Timestamp>,
}

/// The result of checking one criterion of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriterionResult {
    pub id: String,
    pub status: CriterionStatus,
    /// The observation behind the result.
    pub details: Option<String>,
    /// Proposed correction.
    pub suggestion: Option<String>,
    pub affected_documents: Vec<String>,
}

/// Grammar errors of a marker. `Display` gives the text that is sent to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MalformedMarker {
    /// A required field is absent or empty.
    #[error("{marker} missing required field '{field}'")]
    MissingField {
        marker: MarkerName,
        field: &'static str,
    },
    /// The value of a field is not of the expected form.
    #[error("{marker} field '{field}' must be {expected}, not '{found}'")]
    BadValue {
        marker: MarkerName,
        field: &'static str,
        /// Description of valid values.
        expected: String,
        /// The value present, cut to a readable length.
        found: String,
    },
    #[error("{marker} field '{field}' exceeds {FIELD_CHARS_MAX} characters")]
    FieldTooLong {
        marker: MarkerName,
        field: &'static str,
    },
    #[error("{marker} exceeds {MESSAGE_BYTES_MAX} bytes")]
    TooLong { marker: MarkerName },
    /// Another marker or the end of the output came before the closing tag.
    #[error("{marker} is not closed before {before}")]
    NotClosed {
        marker: MarkerName,
        /// The marker or end that came instead of the closing tag.
        before: &'static str,
    },
    /// The JSON of the message is invalid.
    #[error("{marker} has invalid JSON: {problem}")]
    BadJson {
        marker: MarkerName,
        /// Description of the JSON error.
        problem: String,
    },
}

impl MalformedMarker {
    /// Returns the stable error code.
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
