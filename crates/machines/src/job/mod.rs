//! Jobs: a task and the agent that works on it, as one thing that moves as one.
//!
//! The task's and the agent's status are both read off [`Life`], so a pair that makes no sense cannot be written down.

mod actions;
mod agent;
mod asks;
mod catalogue;
mod command;
mod effect;
mod going;
mod kind;
mod people;
#[cfg(test)]
mod play;
mod refusal;
mod status;
mod step;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_going;
mod turn;
mod violations;
#[cfg(test)]
mod walk;

pub use actions::{Action, allowed_actions};
pub use asks::{
    Dependency, DependencyKind, DependencyStatus, Permission, Question, QuestionStatus, Review,
    ReviewStatus,
};
pub use command::{Checkpoint, Command, Edit, Marker};
pub use effect::{
    Effect, Entity, Event, Fact, JobTransition, Level, Message, SnapshotReason, SpawnFrom,
    TimerKind, Trigger, Value,
};
pub use kind::{Kind, Limits, PhaseSpec};
pub use refusal::Refusal;
pub use status::{AgentStatus, BlockedBy, TaskStatus};
pub use step::JobMachine;

use crate::kernel::Timestamp;
use std::collections::VecDeque;

/// Markers that may wait while the agent is stopped. A caller that is refused keeps the marker and offers it again.
pub const MARKERS_WAITING_MAX: usize = 1_000;

/// A task and its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What it is called; may be empty in a draft.
    pub title: String,
    /// What is wanted; may be empty in a draft.
    pub description: String,
    /// The type of work; a draft may lack it.
    pub kind: Option<Kind>,
    /// How often and how long.
    pub limits: Limits,
    /// Tasks that must be completed before this one is assigned.
    pub depends_on: Vec<String>,
    /// Not to be assigned before.
    pub scheduled_for: Option<Timestamp>,
    /// Where task and agent stand.
    pub life: Life,
    /// First assignment.
    pub started_at: Option<Timestamp>,
    /// Number of the latest process; words of an earlier one are refused. 0 before the first.
    pub attempt: u32,
    /// Whether that process is there.
    pub process: Process,
    /// Processes that ended by themselves since the last sign of progress.
    pub exits: u32,
    /// Processes that were lost since the last sign of progress.
    pub losses: u32,
    /// A silent process was replaced since the last sign of progress.
    pub stuck: bool,
    /// The agent was reminded of its markers since the last sign of progress.
    pub reminded: bool,
    /// Interrupts so far.
    pub interrupts: u32,
    /// The phase worked on, from 1; 0 before the first assignment.
    pub phase: u32,
    /// The step the agent said it is at.
    pub step: Option<StepAt>,
    /// The furthest point of this phase.
    pub reached: Reached,
    /// Reworks of this phase since a person last looked at it.
    pub reworks: u32,
    /// Verifications so far, over all phases: the ticket that tells a late answer from the awaited one.
    pub verifications: u32,
    /// All reviews, oldest first.
    pub reviews: Vec<Review>,
    /// All questions, oldest first.
    pub questions: Vec<Question>,
    /// All dependency requests, oldest first.
    pub dependencies: Vec<Dependency>,
    /// Tools the client waits to be allowed, oldest first. Only those that are open: an agent may ask for many.
    pub permissions: Vec<Permission>,
    /// Markers read while the agent was stopped, in stream order.
    pub waiting: VecDeque<Marker>,
    /// What the agent is to be told when it goes on.
    pub unsaid: Vec<Message>,
    /// Tokens used over all attempts.
    pub tokens: u64,
    /// Where the first process begins, when that is not the start.
    pub begins_at: Option<Checkpoint>,
    /// The failed task this one takes the place of.
    pub retry_of: Option<String>,
    /// The task that took the place of this one.
    pub retried_by: Option<String>,
    /// Hidden from the list.
    pub archived: bool,
}

/// Where task and agent stand, together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// Being written. Task `draft`, agent `idle`.
    Draft,
    /// In the queue. Task `pending`, agent `idle`.
    Pending,
    /// At work. Task `in_progress`, agent `running`.
    Running,
    /// Stopped, nothing is asked. Task `in_progress`, agent `paused`.
    Paused(PausedBy),
    /// Stopped until every open question is answered. Task `in_progress`, agent `waiting_question`.
    Asking,
    /// Stopped until every open dependency is settled. Task `in_progress`, agent `waiting_dependency`.
    Needing,
    /// Its client waits until a person allows or denies a tool. Task `in_progress`, agent `waiting_question`.
    Permitting,
    /// A finished phase is being checked. Task `in_progress`, agent `waiting_review`.
    Verifying {
        /// What the agent says it made.
        deliverables: Vec<String>,
    },
    /// A person looks at a checked phase. Task `review`, agent `waiting_review`.
    Reviewing,
    /// Done. Both `completed`.
    Completed {
        /// When.
        at: Timestamp,
    },
    /// Over. Task `failed`, agent `failed`, or `idle` when none was ever started.
    Failed(Failure),
}

named! {
    /// Who stopped an agent that is paused.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum PausedBy {
        /// A person: only a person resumes it.
        Person = "user",
        /// A rate limit: it goes on by itself.
        RateLimit {
            /// When.
            until: Timestamp,
        } = "rate_limit",
        /// A breaker: a person decides, unless it goes on by itself.
        Breaker {
            /// Which limit was passed.
            reason: String,
            /// When it goes on by itself.
            until: Option<Timestamp>,
        } = "breaker",
    }
}

impl PausedBy {
    /// When it ends by itself.
    pub const fn until(&self) -> Option<Timestamp> {
        match self {
            PausedBy::Person => None,
            PausedBy::RateLimit { until } => Some(*until),
            PausedBy::Breaker { until, .. } => *until,
        }
    }
}

/// Whether the latest attempt has a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// It is there, running or stopped.
    Live,
    /// There is none: going on means starting one.
    Gone,
}

/// The step an agent said it is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepAt {
    /// From 1.
    pub number: u32,
    /// Of how many.
    pub of: u32,
    /// Its name.
    pub name: String,
}

/// A part of a phase: `done` of `of`. Never falls within a phase, so that progress does not either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// Steps.
    pub done: u32,
    /// Of how many, at least 1.
    pub of: u32,
}

impl Reached {
    /// Nothing yet.
    pub const START: Reached = Reached { done: 0, of: 1 };
    /// The whole phase.
    pub const END: Reached = Reached { done: 1, of: 1 };

    /// Further than the other.
    pub fn is_beyond(self, other: Reached) -> bool {
        u64::from(self.done) * u64::from(other.of) > u64::from(other.done) * u64::from(self.of)
    }
}

/// Why a task failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// For programs.
    pub code: FailureCode,
    /// For people.
    pub message: String,
    /// More, when there is more.
    pub details: Option<String>,
    /// When.
    pub at: Timestamp,
}

named! {
    /// The reasons a task fails for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FailureCode {
        /// The agent reported a fatal error.
        AgentFatal = "agent_fatal",
        /// Verification failed once more than there are reworks.
        VerificationFailed = "verification_failed",
        /// A person gave it up.
        Cancelled = "cancelled",
        /// The process ended, and ended again without progress.
        AgentExited = "agent_exited",
        /// The process could not be started.
        SpawnFailed = "spawn_failed",
        /// A required dependency was refused.
        DependencyRejected = "dependency_rejected",
        /// Nobody provided a required dependency in time.
        DependencyTimeout = "dependency_timeout",
        /// A budget or limit was passed.
        Breaker = "breaker",
    }
}

impl Default for Job {
    fn default() -> Self {
        Job::draft()
    }
}

/// How a fork differs from its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// Title of the new task.
    pub title: String,
    /// What the agent shall do differently; may be empty.
    pub instructions: String,
    /// Whether it is queued at once.
    pub submit: bool,
}

impl Job {
    /// An empty draft.
    pub fn draft() -> Self {
        Job {
            title: String::new(),
            description: String::new(),
            kind: None,
            limits: Limits::default(),
            depends_on: Vec::new(),
            scheduled_for: None,
            life: Life::Draft,
            started_at: None,
            attempt: 0,
            process: Process::Gone,
            exits: 0,
            losses: 0,
            stuck: false,
            reminded: false,
            interrupts: 0,
            phase: 0,
            step: None,
            reached: Reached::START,
            reworks: 0,
            verifications: 0,
            reviews: Vec::new(),
            questions: Vec::new(),
            dependencies: Vec::new(),
            permissions: Vec::new(),
            waiting: VecDeque::new(),
            unsaid: Vec::new(),
            tokens: 0,
            begins_at: None,
            retry_of: None,
            retried_by: None,
            archived: false,
        }
    }

    /// The new task that a retry of this one, known as `id`, makes: pending, with nothing done.
    pub fn retried(&self, id: impl Into<String>) -> Job {
        Job {
            title: self.title.clone(),
            description: self.description.clone(),
            kind: self.kind.clone(),
            limits: self.limits,
            depends_on: self.depends_on.clone(),
            life: Life::Pending,
            retry_of: Some(id.into()),
            ..Job::draft()
        }
    }

    /// The new task that begins at a checkpoint of this one, with nothing done: pending, or a draft. What shall be different
    /// is the last paragraph of its description.
    pub fn forked(&self, checkpoint: Checkpoint, fork: Fork) -> Job {
        let instructions = fork.instructions.trim();
        let description = match (self.description.trim_end(), instructions) {
            (description, "") => description.to_owned(),
            ("", instructions) => instructions.to_owned(),
            (description, instructions) => format!("{description}\n\n{instructions}"),
        };
        Job {
            title: fork.title,
            description,
            life: match fork.submit {
                true => Life::Pending,
                false => Life::Draft,
            },
            begins_at: Some(checkpoint),
            retry_of: None,
            depends_on: Vec::new(),
            ..self.retried("")
        }
    }

    /// The phase worked on, from 1; `None` before the first assignment.
    pub fn current_phase(&self) -> Option<u32> {
        (self.phase > 0).then_some(self.phase)
    }

    /// How many phases the type has; 0 for a draft without one.
    pub fn total_phases(&self) -> u32 {
        self.kind.as_ref().map_or(0, Kind::total_phases)
    }

    /// Whole percent of the task, rounded: what lies behind, and the part of the current phase.
    pub fn progress(&self) -> u32 {
        let total = u64::from(self.total_phases());
        match self.life {
            Life::Completed { .. } => return 100,
            Life::Draft
            | Life::Pending
            | Life::Running
            | Life::Paused(_)
            | Life::Asking
            | Life::Needing
            | Life::Permitting
            | Life::Verifying { .. }
            | Life::Reviewing
            | Life::Failed(_) => {}
        }
        if total == 0 || self.phase == 0 {
            return 0;
        }
        let Reached { done, of } = self.reached;
        let (done, of) = (u64::from(done), u64::from(of.max(1)));
        let behind = u64::from(self.phase - 1);
        let percent = (200 * (behind * of + done) + total * of) / (2 * total * of);
        u32::try_from(percent).map_or(100, |percent| percent.min(100))
    }

    /// The review a person is asked for.
    pub fn open_review(&self) -> Option<&Review> {
        self.reviews.iter().find(|review| review.is_open())
    }

    /// The oldest question without an answer.
    pub fn open_question(&self) -> Option<&Question> {
        self.questions.iter().find(|question| question.is_open())
    }

    /// The oldest dependency nobody has settled.
    pub fn open_dependency(&self) -> Option<&Dependency> {
        self.dependencies.iter().find(|needed| needed.is_open())
    }

    /// Why it failed, while it is failed.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.life {
            Life::Failed(failure) => Some(failure),
            Life::Draft
            | Life::Pending
            | Life::Running
            | Life::Paused(_)
            | Life::Asking
            | Life::Needing
            | Life::Permitting
            | Life::Verifying { .. }
            | Life::Reviewing
            | Life::Completed { .. } => None,
        }
    }
}
