//! Jobs: a task and its agent as one aggregate.
//!
//! The status of the task and of the agent both derive from [`JobState`], so that an impossible
//! pair cannot be expressed.

mod actions;
mod agent;
mod answers;
mod catalogue;
mod command;
mod effect;
mod kind;
mod pending_input;
#[cfg(test)]
mod play;
mod recovery;
mod refusal;
mod status;
mod step;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_recovery;
mod transition;
mod violations;
#[cfg(test)]
mod walk;

pub use actions::{JobAction, allowed_actions};
pub use command::{AgentMarker, Command, DraftChanges, JobCheckpoint};
pub use effect::{
    DependencyValue, Effect, JobNotification, MessageStatus, MessageToAgent, ProcessLevel,
    SnapshotReason, SpawnFrom, TimerKind, TransitionEntity, TransitionEntry, TransitionFact,
    TransitionTrigger, UNNUMBERED,
};
pub use kind::{JobKind, JobLimits, PhaseSpec, Priority};
pub use pending_input::{
    AgentDependency, AgentQuestion, DependencyKind, DependencyStatus, PermissionRequest,
    PermissionStatus, PhaseReview, QuestionStatus, QuestionStatusKind, ReviewStatus,
};
pub use refusal::{JobRefusalSubject, Refusal};
pub use status::{AgentStatus, BlockedBy, TaskStatus};
pub use step::JobMachine;

use crate::kernel::Timestamp;
use std::collections::VecDeque;

/// Number of markers queued while the agent is stopped. A caller that is refused keeps the marker
/// and offers it again.
pub const MARKERS_WAITING_MAX: usize = 1_000;

/// A task and its agent, the state of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Job {
    /// Title of the task; may be empty in a draft.
    #[cfg_attr(feature = "serde", serde(rename = "title"))]
    pub title: String,
    /// Description of the work; may be empty in a draft.
    #[cfg_attr(feature = "serde", serde(rename = "description"))]
    pub description: String,
    /// The type of work; a draft may lack it.
    #[cfg_attr(feature = "serde", serde(rename = "kind", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub kind: Option<JobKind>,
    /// The limits of the job.
    #[cfg_attr(feature = "serde", serde(rename = "limits"))]
    pub limits: JobLimits,
    /// Tasks that must be completed before this one is assigned.
    #[cfg_attr(feature = "serde", serde(rename = "depends_on", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub depends_on: Vec<String>,
    /// Earliest time of the assignment.
    #[cfg_attr(feature = "serde", serde(rename = "scheduled_for", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub scheduled_for: Option<Timestamp>,
    /// The state from which both statuses derive.
    #[cfg_attr(feature = "serde", serde(rename = "life"))]
    pub state: JobState,
    /// Time of the first assignment.
    #[cfg_attr(feature = "serde", serde(rename = "started_at", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub started_at: Option<Timestamp>,
    /// Number of the latest process, 0 before the first; reports of an earlier one are refused.
    #[cfg_attr(feature = "serde", serde(rename = "attempt", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub attempt: u32,
    /// State of the latest process.
    #[cfg_attr(feature = "serde", serde(rename = "process"))]
    pub process: ProcessState,
    /// Number of processes that ended by themselves since the last sign of progress.
    #[cfg_attr(feature = "serde", serde(rename = "exits", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub exits: u32,
    /// Number of processes that were lost since the last sign of progress.
    #[cfg_attr(feature = "serde", serde(rename = "losses", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub losses: u32,
    /// True if a silent process was replaced since the last sign of progress.
    #[cfg_attr(feature = "serde", serde(rename = "stuck", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub stuck: bool,
    /// True if the agent was reminded of its markers since the last sign of progress.
    #[cfg_attr(feature = "serde", serde(rename = "reminded", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub reminded: bool,
    /// Number of interrupts so far.
    #[cfg_attr(feature = "serde", serde(rename = "interrupts", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub interrupts: u32,
    /// Number of the current phase, from 1; 0 before the first assignment.
    #[cfg_attr(feature = "serde", serde(rename = "phase", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub phase: u32,
    /// The step that the agent reported last in this phase.
    #[cfg_attr(feature = "serde", serde(rename = "step", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub step: Option<ReportedStep>,
    /// The furthest point reached in this phase.
    #[cfg_attr(feature = "serde", serde(rename = "reached"))]
    pub reached: StepProgress,
    /// Reworks of this phase since a person last looked at it.
    #[cfg_attr(feature = "serde", serde(rename = "reworks", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub reworks: u32,
    /// Number of verifications so far, over all phases. The latest number distinguishes the
    /// awaited result from a late one.
    #[cfg_attr(feature = "serde", serde(rename = "verifications", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub verifications: u32,
    /// All reviews, oldest first.
    #[cfg_attr(feature = "serde", serde(rename = "reviews", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub reviews: Vec<PhaseReview>,
    /// All questions, oldest first.
    #[cfg_attr(feature = "serde", serde(rename = "questions", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub questions: Vec<AgentQuestion>,
    /// All dependency requests, oldest first.
    #[cfg_attr(feature = "serde", serde(rename = "dependencies", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub dependencies: Vec<AgentDependency>,
    /// Open requests for tools, oldest first. Closed ones are dropped, because an agent may make
    /// many.
    #[cfg_attr(feature = "serde", serde(rename = "permissions", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub permissions: Vec<PermissionRequest>,
    /// Markers read while the agent was stopped, in stream order.
    #[cfg_attr(feature = "serde", serde(rename = "waiting", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub queued_markers: VecDeque<AgentMarker>,
    /// Messages queued for the agent until it runs again.
    #[cfg_attr(feature = "serde", serde(rename = "unsaid", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub queued_messages: Vec<MessageToAgent>,
    /// Tokens used over all attempts.
    #[cfg_attr(feature = "serde", serde(rename = "tokens", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub tokens: u64,
    /// The checkpoint at which the first process begins; absent to begin without earlier work.
    #[cfg_attr(feature = "serde", serde(rename = "begins_at", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub begins_at: Option<JobCheckpoint>,
    /// The failed task that this one replaces.
    #[cfg_attr(feature = "serde", serde(rename = "retry_of", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub retry_of: Option<String>,
    /// The task that replaced this one.
    #[cfg_attr(feature = "serde", serde(rename = "retried_by", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub retried_by: Option<String>,
    /// True if the task is hidden from the list.
    #[cfg_attr(feature = "serde", serde(rename = "archived", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub archived: bool,
}

/// The state of a job, which determines the status of the task and of its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum JobState {
    /// A draft. Task `draft`, agent `idle`.
    #[cfg_attr(feature = "serde", serde(rename = "draft"))]
    Draft,
    /// Queued. Task `pending`, agent `idle`.
    #[cfg_attr(feature = "serde", serde(rename = "pending"))]
    Pending,
    /// The agent works. Task `in_progress`, agent `running`.
    #[cfg_attr(feature = "serde", serde(rename = "running"))]
    Running,
    /// Stopped by a person or a limit. Task `in_progress`, agent `paused`.
    #[cfg_attr(feature = "serde", serde(rename = "paused"))]
    Paused(PauseCause),
    /// Stopped until every open question is answered. Task `in_progress`, agent `waiting_question`.
    #[cfg_attr(feature = "serde", serde(rename = "asking"))]
    Asking,
    /// Stopped until every open dependency is settled. Task `in_progress`, agent
    /// `waiting_dependency`.
    #[cfg_attr(feature = "serde", serde(rename = "needing"))]
    Needing,
    /// Waiting until a person allows or denies a tool. Task `in_progress`, agent
    /// `waiting_question`.
    #[cfg_attr(feature = "serde", serde(rename = "permitting"))]
    Permitting,
    /// A finished phase is being verified. Task `in_progress`, agent `waiting_review`.
    #[cfg_attr(feature = "serde", serde(rename = "verifying"))]
    Verifying {
        /// The files that the agent reports as made.
        #[cfg_attr(feature = "serde", serde(rename = "deliverables", default))]
        deliverables: Vec<String>,
    },
    /// A person reviews a verified phase. Task `review`, agent `waiting_review`.
    #[cfg_attr(feature = "serde", serde(rename = "reviewing"))]
    Reviewing,
    /// Finished. Both `completed`.
    #[cfg_attr(feature = "serde", serde(rename = "completed"))]
    Completed {
        /// Time at which the task was completed.
        #[cfg_attr(feature = "serde", serde(rename = "at"))]
        at: Timestamp,
    },
    /// Ended without success. Task `failed`, agent `failed`, or `idle` when no agent was ever
    /// started.
    #[cfg_attr(feature = "serde", serde(rename = "failed"))]
    Failed(JobFailure),
}

/// The cause of a pause, with what decides how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PauseCause {
    /// Paused by a person; only a person resumes it.
    #[cfg_attr(feature = "serde", serde(rename = "user"))]
    Person,
    /// Paused by a rate limit; it ends by itself.
    #[cfg_attr(feature = "serde", serde(rename = "rate_limit"))]
    RateLimit {
        /// End of the rate limit.
        #[cfg_attr(feature = "serde", serde(rename = "until"))]
        until: Timestamp,
    },
    /// Paused by a breaker; a person decides, unless it ends by itself.
    #[cfg_attr(feature = "serde", serde(rename = "breaker"))]
    Breaker {
        /// Description of the limit that was exceeded.
        #[cfg_attr(feature = "serde", serde(rename = "reason"))]
        reason: String,
        /// Time at which the pause ends by itself, if it does.
        #[cfg_attr(feature = "serde", serde(rename = "until", default))]
        until: Option<Timestamp>,
    },
}

named! {
    /// The cause of a pause.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PausedByKind {
        /// A person paused the agent, and only a person resumes it.
        Person = "user",
        /// A rate limit of the model paused the agent; the pause ends by itself.
        RateLimit = "rate_limit",
        /// A breaker paused the agent; a person decides, unless the pause ends by itself.
        Breaker = "breaker",
    }
}

impl PauseCause {
    /// Returns the cause alone.
    pub const fn kind(&self) -> PausedByKind {
        match self {
            PauseCause::Person => PausedByKind::Person,
            PauseCause::RateLimit { .. } => PausedByKind::RateLimit,
            PauseCause::Breaker { .. } => PausedByKind::Breaker,
        }
    }

    /// Returns the time at which the pause ends by itself.
    pub const fn ends_at(&self) -> Option<Timestamp> {
        match self {
            PauseCause::Person => None,
            PauseCause::RateLimit { until } => Some(*until),
            PauseCause::Breaker { until, .. } => *until,
        }
    }
}

/// The state of the latest attempt's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ProcessState {
    /// The process exists, running or stopped.
    #[cfg_attr(feature = "serde", serde(rename = "live"))]
    Live,
    /// No process exists: resuming starts one.
    #[cfg_attr(feature = "serde", serde(rename = "gone"))]
    Gone,
}

/// The step that an agent reported.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReportedStep {
    /// Number of the step, from 1.
    #[cfg_attr(feature = "serde", serde(rename = "number", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub number: u32,
    /// Number of steps in all.
    #[cfg_attr(feature = "serde", serde(rename = "of", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub of: u32,
    /// Name of the step.
    #[cfg_attr(feature = "serde", serde(rename = "name"))]
    pub name: String,
}

/// The completed part of a phase. It never falls within a phase, so that progress does not either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepProgress {
    /// Number of completed steps.
    #[cfg_attr(feature = "serde", serde(rename = "done", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub done: u32,
    /// Number of steps in all, at least 1.
    #[cfg_attr(feature = "serde", serde(rename = "of", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub of: u32,
}

impl StepProgress {
    /// No step is completed.
    pub const START: StepProgress = StepProgress { done: 0, of: 1 };
    /// The whole phase is completed.
    pub const END: StepProgress = StepProgress { done: 1, of: 1 };

    /// True if this part is larger than the other.
    pub fn is_beyond(self, other: StepProgress) -> bool {
        u64::from(self.done) * u64::from(other.of) > u64::from(other.done) * u64::from(self.of)
    }
}

/// The reason why a task failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobFailure {
    /// A code for programs.
    #[cfg_attr(feature = "serde", serde(rename = "code"))]
    pub code: FailureCode,
    /// A sentence for people.
    #[cfg_attr(feature = "serde", serde(rename = "message"))]
    pub message: String,
    /// Further details, such as the issues of a verification.
    #[cfg_attr(feature = "serde", serde(rename = "details", default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub details: Option<String>,
    /// Time of the failure.
    #[cfg_attr(feature = "serde", serde(rename = "at"))]
    pub at: Timestamp,
}

named! {
    /// The code of a failure.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FailureCode {
        /// The agent reported a fatal error.
        AgentFatal = "agent_fatal",
        /// Verification failed after all allowed reworks.
        VerificationFailed = "verification_failed",
        /// A person cancelled the task.
        Cancelled = "cancelled",
        /// The process ended a second time without progress.
        AgentExited = "agent_exited",
        /// The process could not be started.
        SpawnFailed = "spawn_failed",
        /// A required dependency was rejected.
        DependencyRejected = "dependency_rejected",
        /// A required dependency was not provided in time.
        DependencyTimeout = "dependency_timeout",
        /// A budget or limit was exceeded.
        Breaker = "breaker",
    }
}

impl Default for Job {
    fn default() -> Self {
        Job::draft()
    }
}

/// The changes that a fork makes to its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkOptions {
    /// Title of the new task.
    pub title: String,
    /// Instructions for the new agent, added to the description; may be empty.
    pub instructions: String,
    /// True to queue the new task at once, false to keep it as a draft.
    pub submit: bool,
}

impl Job {
    /// Makes an empty draft.
    pub fn draft() -> Self {
        Job {
            title: String::new(),
            description: String::new(),
            kind: None,
            limits: JobLimits::default(),
            depends_on: Vec::new(),
            scheduled_for: None,
            state: JobState::Draft,
            started_at: None,
            attempt: 0,
            process: ProcessState::Gone,
            exits: 0,
            losses: 0,
            stuck: false,
            reminded: false,
            interrupts: 0,
            phase: 0,
            step: None,
            reached: StepProgress::START,
            reworks: 0,
            verifications: 0,
            reviews: Vec::new(),
            questions: Vec::new(),
            dependencies: Vec::new(),
            permissions: Vec::new(),
            queued_markers: VecDeque::new(),
            queued_messages: Vec::new(),
            tokens: 0,
            begins_at: None,
            retry_of: None,
            retried_by: None,
            archived: false,
        }
    }

    /// Makes the task that retries this one, known as `id`: pending, with no work done.
    pub fn new_retry(&self, id: impl Into<String>) -> Job {
        Job {
            title: self.title.clone(),
            description: self.description.clone(),
            kind: self.kind.clone(),
            limits: self.limits,
            depends_on: self.depends_on.clone(),
            state: JobState::Pending,
            retry_of: Some(id.into()),
            ..Job::draft()
        }
    }

    /// Makes the task that begins at a checkpoint of this one, with no work done: pending, or a
    /// draft. The instructions become the last paragraph of its description.
    pub fn new_fork(&self, checkpoint: JobCheckpoint, fork: ForkOptions) -> Job {
        let instructions = fork.instructions.trim();
        let description = match (self.description.trim_end(), instructions) {
            (description, "") => description.to_owned(),
            ("", instructions) => instructions.to_owned(),
            (description, instructions) => format!("{description}\n\n{instructions}"),
        };
        Job {
            title: fork.title,
            description,
            state: match fork.submit {
                true => JobState::Pending,
                false => JobState::Draft,
            },
            begins_at: Some(checkpoint),
            retry_of: None,
            depends_on: Vec::new(),
            ..self.new_retry("")
        }
    }

    /// Returns the number of the current phase, from 1; `None` before the first assignment.
    pub fn current_phase(&self) -> Option<u32> {
        (self.phase > 0).then_some(self.phase)
    }

    /// Returns the number of phases of the type; 0 for a draft without one.
    pub fn total_phases(&self) -> u32 {
        self.kind.as_ref().map_or(0, JobKind::total_phases)
    }

    /// Returns the progress in whole percent, rounded: completed phases, and the completed part of
    /// the current one.
    pub fn progress_percent(&self) -> u32 {
        let total = u64::from(self.total_phases());
        match self.state {
            JobState::Completed { .. } => return 100,
            JobState::Draft
            | JobState::Pending
            | JobState::Running
            | JobState::Paused(_)
            | JobState::Asking
            | JobState::Needing
            | JobState::Permitting
            | JobState::Verifying { .. }
            | JobState::Reviewing
            | JobState::Failed(_) => {}
        }
        if total == 0 || self.phase == 0 {
            return 0;
        }
        let StepProgress { done, of } = self.reached;
        let (done, of) = (u64::from(done), u64::from(of.max(1)));
        let behind = u64::from(self.phase - 1);
        let percent = (200 * (behind * of + done) + total * of) / (2 * total * of);
        u32::try_from(percent).map_or(100, |percent| percent.min(100))
    }

    /// Returns the review that is open, if there is one.
    pub fn open_review(&self) -> Option<&PhaseReview> {
        self.reviews.iter().find(|review| review.is_open())
    }

    /// Returns the oldest open question.
    pub fn open_question(&self) -> Option<&AgentQuestion> {
        self.questions.iter().find(|question| question.is_open())
    }

    /// Returns the oldest open dependency.
    pub fn open_dependency(&self) -> Option<&AgentDependency> {
        self.dependencies.iter().find(|needed| needed.is_open())
    }

    /// Returns the failure while the task is failed.
    pub fn failure(&self) -> Option<&JobFailure> {
        match &self.state {
            JobState::Failed(failure) => Some(failure),
            JobState::Draft
            | JobState::Pending
            | JobState::Running
            | JobState::Paused(_)
            | JobState::Asking
            | JobState::Needing
            | JobState::Permitting
            | JobState::Verifying { .. }
            | JobState::Reviewing
            | JobState::Completed { .. } => None,
        }
    }
}
