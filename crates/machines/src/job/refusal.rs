//! Reasons why a job refuses a command.

use super::{AgentStatus, Job, JobAction, TaskStatus, allowed_actions};
use crate::kernel::{CodedRefusal, Timestamp};

named! {
    /// An item of a job, or a text of a command, that a refusal is about.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the word it writes")]
    pub enum JobRefusalSubject {
        Review = "review",
        Question = "question",
        Dependency = "dependency",
        Permission = "permission",
        Message = "message",
        Feedback = "feedback",
        Answer = "answer",
        PhaseList = "list of phases",
    }
}

/// The reason why a job refuses a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The state of the job does not allow the command.
    #[error("cannot {command}: the task is {}, its agent {}", task.name(), agent.name())]
    NotAllowed {
        /// Name of the command.
        command: &'static str,
        /// Current status of the task.
        task: TaskStatus,
        /// Current status of its agent.
        agent: AgentStatus,
        /// The actions allowed instead.
        allowed: Vec<JobAction>,
    },
    /// The draft lacks required fields.
    #[error("the task lacks {}", missing.join(", "))]
    Incomplete {
        /// Names of the missing fields.
        missing: Vec<&'static str>,
    },
    /// The scheduled time has not come.
    #[error("the task is scheduled for later")]
    ScheduledLater {
        /// The earliest time of the assignment.
        scheduled_for: Timestamp,
    },
    /// Tasks that it depends on are not completed.
    #[error("the task waits for {}", tasks.join(", "))]
    WaitingForTasks {
        /// Ids of those tasks.
        tasks: Vec<String>,
    },
    /// Another task holds the workspace.
    #[error("task '{by}' holds the workspace")]
    WorkspaceBusy {
        /// Id of that task.
        by: String,
    },
    /// The report is about an attempt that is over.
    #[error("attempt {attempt} is over; the current attempt is {current}")]
    StaleAttempt {
        /// Number of the reported attempt.
        attempt: u32,
        /// Number of the current attempt.
        current: u32,
    },
    /// The result is of a verification that is no longer awaited.
    #[error("verification {verification} is over; the current one is {current}")]
    StaleVerification {
        /// Number of the reported verification.
        verification: u32,
        /// Number of the current verification.
        current: u32,
    },
    /// No review, question, dependency or permission has that id.
    #[error("there is no {} '{id}' here", what.name())]
    Unknown {
        /// The item or text.
        what: JobRefusalSubject,
        /// The unknown id.
        id: String,
    },
    /// The item is decided already.
    #[error("{} '{id}' is already {status}", what.name())]
    Settled {
        /// The item or text.
        what: JobRefusalSubject,
        /// Id of the item.
        id: String,
        /// Status of the decision.
        status: &'static str,
    },
    /// A required text is empty.
    #[error("{} must not be empty", what.name())]
    Empty {
        /// The item or text.
        what: JobRefusalSubject,
    },
    /// The question does not allow this answer.
    #[error("'{answer}' is not one of the options")]
    NotAnOption {
        /// The refused answer.
        answer: String,
        /// The allowed answers.
        options: Vec<String>,
    },
    /// The question is required and cannot be skipped.
    #[error("question '{id}' is required")]
    QuestionRequired {
        /// Id of the question.
        id: String,
    },
    /// The rate limit is not over.
    #[error("the rate limit is not over yet")]
    NotDue {
        /// The end of the rate limit.
        until: Timestamp,
    },
    /// Too many markers are queued; see [`super::MARKERS_WAITING_MAX`].
    #[error("{} markers wait already", super::MARKERS_WAITING_MAX)]
    TooManyWaiting,
    /// The checkpoint's phase does not exist in this type of work.
    #[error("the checkpoint is of phase {phase}, but the task has {total}")]
    NoSuchPhase {
        /// Phase of the checkpoint.
        phase: u32,
        /// Number of phases of the type.
        total: u32,
    },
    /// The task was retried already.
    #[error("the task was already retried as '{by}'")]
    AlreadyRetried {
        /// Id of the new task.
        by: String,
    },
    /// Other tasks depend on this one.
    #[error("other tasks depend on it: {}", tasks.join(", "))]
    DependedOn {
        /// Ids of those tasks.
        tasks: Vec<String>,
    },
}

impl Refusal {
    /// Makes the refusal of a state that does not allow the command. [`Refusal::for_command`] sets
    /// the command's name.
    pub(super) fn not_allowed(job: &Job) -> Self {
        Refusal::NotAllowed {
            command: "do that",
            task: job.task_status(),
            agent: job.agent_status(),
            allowed: allowed_actions(job),
        }
    }

    /// Sets the command's name in a refusal of the state.
    pub(super) fn for_command(mut self, name: &'static str) -> Self {
        if let Refusal::NotAllowed { command, .. } = &mut self {
            *command = name;
        }
        self
    }
}

impl CodedRefusal for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Refusal::NotAllowed { .. } => "not_allowed",
            Refusal::Incomplete { .. } => "incomplete",
            Refusal::ScheduledLater { .. } => "scheduled_later",
            Refusal::WaitingForTasks { .. } => "waiting_for_tasks",
            Refusal::WorkspaceBusy { .. } => "workspace_busy",
            Refusal::StaleAttempt { .. } => "stale_attempt",
            Refusal::StaleVerification { .. } => "stale_verification",
            Refusal::Unknown { .. } => "unknown_id",
            Refusal::Settled { .. } => "already_settled",
            Refusal::Empty { .. } => "empty_text",
            Refusal::NotAnOption { .. } => "not_an_option",
            Refusal::QuestionRequired { .. } => "question_required",
            Refusal::NotDue { .. } => "not_due",
            Refusal::TooManyWaiting => "too_many_waiting",
            Refusal::NoSuchPhase { .. } => "no_such_phase",
            Refusal::AlreadyRetried { .. } => "already_retried",
            Refusal::DependedOn { .. } => "depended_on",
        }
    }
}
