//! What people, agents and the world say to a job.

use super::{Dependency, Kind, Permission, Question, StepAt};
use crate::kernel::Timestamp;
use std::collections::BTreeSet;

named! {
    /// What somebody wants of a job, or what was observed. The words are what it is called in a refusal.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Command {
        /// Change a draft.
        Edit(Edit) = "edit",
        /// Put a draft into the queue.
        Submit = "submit",
        /// Give a queued job its agent. The caller has a free place for it.
        Assign {
            /// Tasks known to be completed.
            completed: BTreeSet<String>,
            /// The task that holds the workspace, or an earlier one that waits for it.
            held_by: Option<String>,
        } = "assign",
        /// A task this one depends on was retried: the new one takes its place.
        Redirect {
            /// The failed task.
            from: String,
            /// The one in its place.
            to: String,
        } = "redirect",
        /// The agent said something that counts.
        Said {
            /// The attempt that said it.
            attempt: u32,
            /// What.
            marker: Marker,
        } = "listen",
        /// The agent used tokens.
        Tokens {
            /// The attempt that used them.
            attempt: u32,
            /// How many more.
            used: u64,
        } = "count tokens",
        /// The process of an attempt ended.
        AgentExit {
            /// Which.
            attempt: u32,
            /// Its exit code; `None` when a signal ended it.
            code: Option<i32>,
        } = "end the agent",
        /// The process of an attempt could not be started.
        SpawnFailed {
            /// Which.
            attempt: u32,
            /// Why.
            message: String,
        } = "fail the start",
        /// The process of an attempt was lost through no fault of its own, found after a restart.
        Recover {
            /// Which.
            attempt: u32,
        } = "recover",
        /// A verification found nothing wrong.
        VerificationPassed {
            /// Its ticket, from the effect that asked for it.
            verification: u32,
            /// Id for the review, if the phase has one.
            review: String,
            /// How many files the phase left on the disk.
            deliverables: u64,
        } = "verify",
        /// A verification found something.
        VerificationFailed {
            /// Its ticket, from the effect that asked for it.
            verification: u32,
            /// What.
            issues: Vec<String>,
        } = "verify",
        /// A person approves the phase.
        Approve {
            /// The review.
            review: String,
            /// A word for the agent.
            comment: Option<String>,
        } = "approve",
        /// A person wants the phase changed.
        RequestChanges {
            /// The review.
            review: String,
            /// What to change.
            feedback: String,
        } = "request changes",
        /// A person answers.
        Answer {
            /// The question.
            question: String,
            /// The answer.
            text: String,
        } = "answer",
        /// A person will not answer an optional question.
        Skip {
            /// The question.
            question: String,
        } = "skip",
        /// A question waited as long as it may.
        QuestionTimeout {
            /// The question.
            question: String,
        } = "time a question out",
        /// A person gave a value, and it is valid.
        Provide {
            /// The dependency.
            dependency: String,
        } = "provide",
        /// A person refuses a dependency.
        Reject {
            /// The dependency.
            dependency: String,
            /// Why.
            reason: String,
        } = "reject",
        /// A dependency waited as long as it may.
        DependencyTimeout {
            /// The dependency.
            dependency: String,
        } = "time a dependency out",
        /// A person stops the agent.
        Pause = "pause",
        /// A person lets it go on, whoever stopped it.
        Resume = "resume",
        /// The time at which a pause ends by itself has come.
        RateLimitReset = "end the pause",
        /// It is time for a checkpoint.
        CheckpointDue = "checkpoint",
        /// A person wants a checkpoint.
        SaveCheckpoint = "checkpoint",
        /// The agent has printed nothing for too long.
        Stuck {
            /// Which.
            attempt: u32,
        } = "call the agent stuck",
        /// A stopped process is to make room; it is started anew when the job goes on.
        Shed {
            /// Which.
            attempt: u32,
        } = "make room",
        /// A person has a word for the agent. It is told when the agent listens, and interrupts nothing.
        Say {
            /// Id of what is said.
            id: String,
            /// What.
            text: String,
        } = "say",
        /// A person takes a word back that the agent has not been told.
        Unsay {
            /// Id of what was said.
            id: String,
        } = "take back",
        /// A person interrupts what the agent does.
        Interrupt = "interrupt",
        /// A person, or a rule a person made, allows a tool.
        Permit {
            /// The permission.
            permission: String,
        } = "permit",
        /// A person, or a rule a person made, denies a tool.
        Deny {
            /// The permission.
            permission: String,
            /// Why.
            reason: String,
        } = "deny",
        /// A budget or limit was passed.
        Breaker {
            /// Which.
            reason: String,
            /// Over, or stopped until a person decides.
            ends: bool,
            /// When it goes on by itself, if it does.
            until: Option<Timestamp>,
        } = "break",
        /// A person gives it up.
        Cancel = "cancel",
        /// A person sets the job back to a checkpoint.
        Restore {
            /// Which.
            checkpoint: Checkpoint,
            /// The task that holds the workspace; it matters to a failed job alone.
            held_by: Option<String>,
        } = "restore",
        /// A person wants a failed task done anew.
        Retry {
            /// Id for the new task.
            new: String,
        } = "retry",
        /// A person wants another task that begins at a checkpoint of this one.
        Fork {
            /// Id for the new task.
            new: String,
            /// Where it begins.
            checkpoint: Checkpoint,
        } = "fork",
        /// A person puts a completed task away.
        Archive = "archive",
        /// A person removes it.
        Delete {
            /// Tasks that depend on it.
            dependents: Vec<String>,
        } = "delete",
    }
}

/// What the agent said, once read out of its output. Those read while it is stopped wait their turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    /// A phase is done.
    PhaseComplete {
        /// Which, from 1.
        phase: u32,
        /// What was made.
        deliverables: Vec<String>,
    },
    /// The work of a type without phases is done.
    CustomComplete,
    /// A question, with the id it got when it was read.
    Question(Question),
    /// A request, with the id it got when it was read.
    DependencyRequest(Dependency),
    /// The model is over its limit.
    RateLimit {
        /// When to go on.
        until: Timestamp,
    },
    /// It cannot go on.
    ErrorFatal {
        /// Why.
        message: String,
        /// More.
        details: Option<String>,
    },
    /// Something a person should know; it goes on.
    ErrorNotify {
        /// What.
        message: String,
    },
    /// It began a step.
    Step(StepAt),
    /// Its client waits to be allowed a tool.
    Permission(Permission),
    /// Its client needs no reply to a request any more.
    Withdrawn {
        /// The client's own id of it.
        request: String,
    },
    /// Its client has come to the end of a turn and waits for a prompt.
    TurnEnded {
        /// Id for the question, if a person is asked what to do.
        question: String,
    },
    /// Its client has given its turn up at a limit and waits for a prompt.
    TurnLimited,
    /// It tried to say something and failed.
    Malformed {
        /// What is wrong with it.
        details: String,
    },
}

/// Changes to a draft; `None` leaves a field alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// New title.
    pub title: Option<String>,
    /// New description.
    pub description: Option<String>,
    /// New type.
    pub kind: Option<Kind>,
    /// New list of tasks to wait for.
    pub depends_on: Option<Vec<String>>,
    /// New earliest time; the inner `None` takes it away.
    pub scheduled_for: Option<Option<Timestamp>>,
}

/// What a checkpoint says of the job, read from the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id.
    pub id: String,
    /// The phase, from 1.
    pub phase: u32,
    /// The step.
    pub step: Option<StepAt>,
}
