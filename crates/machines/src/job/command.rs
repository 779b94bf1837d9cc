//! Commands that people, agents and the runner give to a job.

use super::{AgentDependency, AgentQuestion, JobKind, PermissionRequest, ReportedStep};
use crate::kernel::Timestamp;
use std::collections::BTreeSet;

named! {
    /// A command or an observation. The text of each names the command in a refusal.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Command {
        /// Changes a draft.
        Edit(DraftChanges) = "edit",
        /// Puts a draft into the queue.
        Submit = "submit",
        /// Gives a queued job its agent. The caller has a free place for it.
        Assign {
            /// Ids of the tasks known to be completed.
            completed: BTreeSet<String>,
            /// The task that holds the workspace, or an earlier one that is queued for it.
            held_by: Option<String>,
        } = "assign",
        /// A task that this one depends on was retried: the new one replaces it.
        Redirect {
            /// Id of the failed task.
            from: String,
            /// Id of the task that replaces it.
            to: String,
        } = "redirect",
        /// A marker was parsed from the agent's output.
        MarkerRead {
            /// Number of the attempt that wrote it.
            attempt: u32,
            /// The parsed marker.
            marker: AgentMarker,
        } = "listen",
        /// The agent used tokens.
        CountTokens {
            /// Number of the attempt that used them.
            attempt: u32,
            /// Tokens used since the last count.
            used: u64,
        } = "count tokens",
        /// The process of an attempt ended.
        AgentExit {
            /// Number of the attempt.
            attempt: u32,
            /// Its exit code; `None` when a signal ended it.
            code: Option<i32>,
        } = "end the agent",
        /// The process of an attempt could not be started.
        SpawnFailed {
            /// Number of the attempt.
            attempt: u32,
            /// Description of the failure.
            message: String,
        } = "fail the start",
        /// The process of an attempt was lost through no fault of its own; this is found after a
        /// restart.
        Recover {
            /// Number of the attempt.
            attempt: u32,
        } = "recover",
        /// A verification found no issues.
        VerificationPassed {
            /// Number of the verification, from the effect that started it.
            verification: u32,
            /// Id for the review, if the phase has one.
            review: String,
            /// Number of files that the phase left on disk.
            deliverables: u64,
        } = "verify",
        /// A verification found issues.
        VerificationFailed {
            /// Number of the verification, from the effect that started it.
            verification: u32,
            /// Descriptions of the issues.
            issues: Vec<String>,
        } = "verify",
        /// A person approves the phase.
        Approve {
            /// Id of the review.
            review: String,
            /// A comment for the agent.
            comment: Option<String>,
        } = "approve",
        /// A person wants the phase changed.
        RequestChanges {
            /// Id of the review.
            review: String,
            /// The changes to make.
            feedback: String,
        } = "request changes",
        /// A person answers a question.
        Answer {
            /// Id of the question.
            question: String,
            /// The person's answer.
            text: String,
        } = "answer",
        /// A person skips an optional question.
        Skip {
            /// Id of the question.
            question: String,
        } = "skip",
        /// The time limit of a question passed.
        QuestionTimeout {
            /// Id of the question.
            question: String,
        } = "time a question out",
        /// A person provided a value, which is valid and stored already.
        Provide {
            /// Id of the dependency.
            dependency: String,
        } = "provide",
        /// A person rejects a dependency.
        Reject {
            /// Id of the dependency.
            dependency: String,
            /// The person's reason.
            reason: String,
        } = "reject",
        /// The time limit of a dependency passed.
        DependencyTimeout {
            /// Id of the dependency.
            dependency: String,
        } = "time a dependency out",
        /// A person stops the agent.
        Pause = "pause",
        /// A person resumes a paused agent, also one that a rate limit or a breaker paused.
        Resume = "resume",
        /// The time has come at which a pause ends by itself.
        RateLimitReset = "end the pause",
        /// The timer of the regular checkpoint fired.
        CheckpointDue = "checkpoint",
        /// A person wants a checkpoint.
        SaveCheckpoint = "checkpoint",
        /// The agent has printed nothing for too long.
        Stuck {
            /// Number of the attempt.
            attempt: u32,
        } = "call the agent stuck",
        /// Evicts a stopped process to free its place; resuming the job starts a new one.
        EvictStoppedAgent {
            /// Number of the attempt.
            attempt: u32,
        } = "make room",
        /// A person sends the agent a message. It is delivered without interrupting the agent.
        SendMessage {
            /// Id of the message.
            id: String,
            /// Text of the message.
            text: String,
        } = "say",
        /// A person withdraws a message that was not delivered yet.
        WithdrawMessage {
            /// Id of the message.
            id: String,
        } = "take back",
        /// A person interrupts the agent's turn.
        Interrupt = "interrupt",
        /// A person, or a person's rule, allows a tool.
        Permit {
            /// Id of the permission.
            permission: String,
        } = "permit",
        /// A person, or a person's rule, denies a tool.
        Deny {
            /// Id of the permission.
            permission: String,
            /// Reason for the agent.
            reason: String,
        } = "deny",
        /// A budget or limit was exceeded.
        Breaker {
            /// Description of the limit.
            reason: String,
            /// True to fail the task, false to pause it until a person decides.
            ends: bool,
            /// The time at which the pause ends by itself, if it does.
            until: Option<Timestamp>,
        } = "break",
        /// A person cancels the task.
        Cancel = "cancel",
        /// A person restores the job to a checkpoint.
        Restore {
            /// The checkpoint to begin at.
            checkpoint: JobCheckpoint,
            /// The task that holds the workspace; it matters only to a failed job.
            held_by: Option<String>,
        } = "restore",
        /// A person retries a failed task.
        Retry {
            /// Id for the new task.
            new: String,
        } = "retry",
        /// A person forks a new task from a checkpoint of this one.
        Fork {
            /// Id for the new task.
            new: String,
            /// The checkpoint to begin at.
            checkpoint: JobCheckpoint,
        } = "fork",
        /// A person archives a completed task.
        Archive = "archive",
        /// A person deletes the task.
        Delete {
            /// Ids of the tasks that depend on it.
            dependents: Vec<String>,
        } = "delete",
    }
}

/// A marker parsed from the agent's output. Markers read while the agent is stopped are queued.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AgentMarker {
    /// A phase is done.
    #[cfg_attr(feature = "serde", serde(rename = "phase_complete"))]
    PhaseComplete {
        /// Number of the phase, from 1.
        #[cfg_attr(feature = "serde", serde(rename = "phase", default))]
        phase: u32,
        /// The files that the agent reports as made.
        #[cfg_attr(feature = "serde", serde(rename = "deliverables", default))]
        deliverables: Vec<String>,
    },
    /// The work of a type without phases is done.
    #[cfg_attr(feature = "serde", serde(rename = "custom_complete"))]
    CustomComplete,
    /// A question, with the id given to it when it was read.
    #[cfg_attr(feature = "serde", serde(rename = "question"))]
    Question(AgentQuestion),
    /// A request, with the id given to it when it was read.
    #[cfg_attr(feature = "serde", serde(rename = "dependency_request"))]
    DependencyRequest(AgentDependency),
    /// The model's rate limit is reached.
    #[cfg_attr(feature = "serde", serde(rename = "rate_limit"))]
    RateLimit {
        /// Time at which to continue.
        #[cfg_attr(feature = "serde", serde(rename = "until"))]
        until: Timestamp,
    },
    /// An error after which the agent cannot continue.
    #[cfg_attr(feature = "serde", serde(rename = "error_fatal"))]
    ErrorFatal {
        /// The error message.
        #[cfg_attr(feature = "serde", serde(rename = "message"))]
        message: String,
        /// Further details of the error.
        #[cfg_attr(feature = "serde", serde(rename = "details", default))]
        details: Option<String>,
    },
    /// An error that a person should know of; the agent continues.
    #[cfg_attr(feature = "serde", serde(rename = "error_notify"))]
    ErrorNotify {
        /// The error message.
        #[cfg_attr(feature = "serde", serde(rename = "message"))]
        message: String,
    },
    /// The agent began a step.
    #[cfg_attr(feature = "serde", serde(rename = "step"))]
    Step(ReportedStep),
    /// Its client requests permission for a tool.
    #[cfg_attr(feature = "serde", serde(rename = "permission"))]
    Permission(PermissionRequest),
    /// Its client no longer needs a reply to a request.
    #[cfg_attr(feature = "serde", serde(rename = "withdrawn"))]
    Withdrawn {
        /// The client's own id of the request.
        #[cfg_attr(feature = "serde", serde(rename = "request"))]
        request: String,
    },
    /// Its client finished a turn and waits for a prompt.
    #[cfg_attr(feature = "serde", serde(rename = "turn_ended"))]
    TurnEnded {
        /// Id for the question, if a person is asked what to do.
        #[cfg_attr(feature = "serde", serde(rename = "question"))]
        question: String,
    },
    /// Its client ended the turn at a limit and waits for a prompt.
    #[cfg_attr(feature = "serde", serde(rename = "turn_limited"))]
    TurnLimited,
    /// A marker that could not be parsed.
    #[cfg_attr(feature = "serde", serde(rename = "malformed"))]
    Malformed {
        /// Description of the fault.
        #[cfg_attr(feature = "serde", serde(rename = "details"))]
        details: String,
    },
}

/// Changes to a draft; `None` keeps a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DraftChanges {
    /// The new title.
    pub title: Option<String>,
    /// The new description.
    pub description: Option<String>,
    /// The new type of work.
    pub kind: Option<JobKind>,
    /// The new list of tasks to wait for.
    pub depends_on: Option<Vec<String>>,
    /// The new earliest time; the inner `None` removes it.
    pub scheduled_for: Option<Option<Timestamp>>,
}

/// The part of a checkpoint file that concerns the job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobCheckpoint {
    /// Id of the checkpoint.
    #[cfg_attr(feature = "serde", serde(rename = "id"))]
    pub id: String,
    /// Number of the phase, from 1.
    #[cfg_attr(feature = "serde", serde(rename = "phase", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub phase: u32,
    /// The step that the agent had reported, if any.
    #[cfg_attr(feature = "serde", serde(rename = "step", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub step: Option<ReportedStep>,
}
