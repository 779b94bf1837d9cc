//! Why a job refuses a command.

use super::{Action, AgentStatus, Job, TaskStatus, allowed_actions};
use crate::kernel::{Refuse, Timestamp};

/// Why a job refuses a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not in this state.
    #[error("cannot {command}: the task is {}, its agent {}", task.name(), agent.name())]
    NotAllowed {
        /// What was wanted.
        command: &'static str,
        /// Where the task stands.
        task: TaskStatus,
        /// Where its agent stands.
        agent: AgentStatus,
        /// What is allowed instead.
        allowed: Vec<Action>,
    },
    /// A draft lacks something.
    #[error("the task lacks {}", missing.join(", "))]
    Incomplete {
        /// What.
        missing: Vec<&'static str>,
    },
    /// It is too early.
    #[error("the task is scheduled for later")]
    ScheduledLater {
        /// When it may be assigned.
        scheduled_for: Timestamp,
    },
    /// Other tasks come first.
    #[error("the task waits for {}", tasks.join(", "))]
    WaitingForTasks {
        /// Which.
        tasks: Vec<String>,
    },
    /// Another task holds its workspace.
    #[error("task '{by}' holds the workspace")]
    WorkspaceBusy {
        /// Which.
        by: String,
    },
    /// Words of a process that is no longer the one.
    #[error("attempt {attempt} is over; the current attempt is {current}")]
    StaleAttempt {
        /// Whose words.
        attempt: u32,
        /// Whose count.
        current: u32,
    },
    /// The answer to a verification nobody waits for any more.
    #[error("verification {verification} is over; the current one is {current}")]
    StaleVerification {
        /// Whose answer.
        verification: u32,
        /// Whose counts.
        current: u32,
    },
    /// No such review, question or dependency.
    #[error("there is no {what} '{id}' here")]
    Unknown {
        /// Review, question or dependency.
        what: &'static str,
        /// The id.
        id: String,
    },
    /// Decided before.
    #[error("{what} '{id}' is already {status}")]
    Settled {
        /// Review, question or dependency.
        what: &'static str,
        /// The id.
        id: String,
        /// How.
        status: &'static str,
    },
    /// A text that says nothing.
    #[error("{what} must not be empty")]
    Empty {
        /// Which.
        what: &'static str,
    },
    /// An answer the question does not allow.
    #[error("'{answer}' is not one of the options")]
    NotAnOption {
        /// The answer.
        answer: String,
        /// What is allowed.
        options: Vec<String>,
    },
    /// A question that cannot be skipped.
    #[error("question '{id}' is required")]
    QuestionRequired {
        /// Which.
        id: String,
    },
    /// The rate limit is not over.
    #[error("the rate limit is not over yet")]
    NotDue {
        /// When it is.
        until: Timestamp,
    },
    /// More markers than can wait.
    #[error("{} markers wait already", super::MARKERS_WAITING_MAX)]
    TooManyWaiting,
    /// A checkpoint of another type of work.
    #[error("the checkpoint is of phase {phase}, but the task has {total}")]
    NoSuchPhase {
        /// The checkpoint's.
        phase: u32,
        /// How many there are.
        total: u32,
    },
    /// Another task took its place.
    #[error("the task was already retried as '{by}'")]
    AlreadyRetried {
        /// Which.
        by: String,
    },
    /// Others need it.
    #[error("other tasks depend on it: {}", tasks.join(", "))]
    DependedOn {
        /// Which.
        tasks: Vec<String>,
    },
}

impl Refusal {
    /// Not in this state. The command's name is added by [`Refusal::of`].
    pub(super) fn not_allowed(job: &Job) -> Self {
        Refusal::NotAllowed {
            command: "do that",
            task: job.task_status(),
            agent: job.agent_status(),
            allowed: allowed_actions(job),
        }
    }

    /// The same, naming the command.
    pub(super) fn of(mut self, name: &'static str) -> Self {
        if let Refusal::NotAllowed { command, .. } = &mut self {
            *command = name;
        }
        self
    }
}

impl Refuse for Refusal {
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
