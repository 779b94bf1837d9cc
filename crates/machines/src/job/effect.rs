//! What follows a step of a job.

use crate::kernel::Timestamp;

/// What must follow a step, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A line of the transition log, to be written in the same commit as the state. It is told here and not derived
    /// from before and after, because one step may pass through a state that neither shows.
    Log(JobTransition),
    /// Put the job into the queue.
    Enqueue,
    /// Take it out of the queue.
    RemoveFromQueue,
    /// Start a process.
    Spawn {
        /// Its number.
        attempt: u32,
        /// Where it begins.
        from: SpawnFrom,
        /// What it is told first.
        say: Vec<Message>,
    },
    /// Bring the process to a level. Always the latest wish for that attempt.
    Signal {
        /// Which process.
        attempt: u32,
        /// The level.
        want: Level,
    },
    /// Write to the process.
    Tell {
        /// Which process.
        attempt: u32,
        /// What.
        message: Message,
    },
    /// Interrupt what the process does.
    Interrupt {
        /// Which process.
        attempt: u32,
        /// Counts the interrupts of the job.
        number: u32,
    },
    /// Save a checkpoint.
    Snapshot(SnapshotReason),
    /// Check the phase, and answer with the ticket.
    Verify {
        /// The ticket.
        verification: u32,
        /// The phase, from 1.
        phase: u32,
        /// What the agent says it made.
        deliverables: Vec<String>,
    },
    /// Tell people.
    Notify(Event),
    /// Come back at a time.
    Timer {
        /// When.
        at: Timestamp,
        /// With what.
        kind: TimerKind,
    },
    /// Pack the deliverables.
    ZipArtifacts,
    /// Keep the whole error log as an artefact.
    SaveErrorLog,
    /// Make the task that takes the place of this one.
    CreateRetry {
        /// Its id.
        id: String,
    },
    /// Make the task that begins at a checkpoint of this one.
    CreateFork {
        /// Its id.
        id: String,
        /// Where it begins.
        checkpoint: super::Checkpoint,
    },
    /// Remove the job and all that belongs to it.
    Remove,
}

/// One line of the transition log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTransition {
    /// Who moved.
    pub entity: Entity,
    /// From which status.
    pub from: &'static str,
    /// To which; the same when a process was replaced.
    pub to: &'static str,
    /// Why.
    pub trigger: Trigger,
    /// What else is to be known.
    pub metadata: Vec<(&'static str, Fact)>,
}

/// Task or agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entity {
    /// The task.
    Task,
    /// Its agent.
    Agent,
}

impl Entity {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Entity::Task => "task",
            Entity::Agent => "agent",
        }
    }
}

/// A value in the metadata of a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// Why something moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the word it writes")]
pub enum Trigger {
    Submit,
    Assign,
    PhaseComplete,
    VerificationFailed,
    Approve,
    RequestChanges,
    DependencyRequest,
    DependencyProvided,
    UserQuestion,
    Answer,
    Pause,
    Resume,
    RateLimit,
    RateLimitReset,
    ErrorFatal,
    AgentExit,
    Cancel,
    Recover,
    Restore,
}

impl Trigger {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Trigger::Submit => "SUBMIT",
            Trigger::Assign => "ASSIGN",
            Trigger::PhaseComplete => "PHASE_COMPLETE",
            Trigger::VerificationFailed => "VERIFICATION_FAILED",
            Trigger::Approve => "APPROVE",
            Trigger::RequestChanges => "REQUEST_CHANGES",
            Trigger::DependencyRequest => "DEPENDENCY_REQUEST",
            Trigger::DependencyProvided => "DEPENDENCY_PROVIDED",
            Trigger::UserQuestion => "USER_QUESTION",
            Trigger::Answer => "ANSWER",
            Trigger::Pause => "PAUSE",
            Trigger::Resume => "RESUME",
            Trigger::RateLimit => "RATE_LIMIT",
            Trigger::RateLimitReset => "RATE_LIMIT_RESET",
            Trigger::ErrorFatal => "ERROR_FATAL",
            Trigger::AgentExit => "AGENT_EXIT",
            Trigger::Cancel => "CANCEL",
            Trigger::Recover => "RECOVER",
            Trigger::Restore => "RESTORE",
        }
    }
}

/// Where a new process begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpawnFrom {
    /// With nothing.
    Start,
    /// At the latest checkpoint, or in the client's own session.
    Latest,
    /// At a checkpoint a person chose.
    Checkpoint(String),
}

/// The level a process is wanted at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It runs.
    Running,
    /// It is stopped.
    Paused,
    /// It is gone.
    Ended,
}

impl Level {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Running => "running",
            Level::Paused => "paused",
            Level::Ended => "ended",
        }
    }
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Begin a phase.
    PhaseStart {
        /// Which, from 1.
        phase: u32,
    },
    /// A person approved.
    ReviewApproved {
        /// The review.
        review: String,
        /// What the person said.
        feedback: Option<String>,
    },
    /// A person wants changes.
    ReviewRejected {
        /// The review.
        review: String,
        /// Which.
        reason: String,
    },
    /// Verification found something.
    Rework {
        /// The phase, from 1.
        phase: u32,
        /// Which rework, from 1.
        attempt: u32,
        /// Of how many.
        of: u32,
        /// What was found.
        issues: Vec<String>,
    },
    /// A dependency is there.
    DependencyProvided {
        /// Its name.
        name: String,
        /// Its value.
        value: Value,
    },
    /// An optional dependency will not come.
    DependencyRejected {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// An answer.
    QuestionAnswer {
        /// The question.
        question: String,
        /// The answer.
        answer: String,
    },
    /// A word of a person.
    Said {
        /// Its id.
        id: String,
        /// The word.
        text: String,
    },
    /// It ended its turn, but nothing it said tells how the work stands.
    Reminder {
        /// The phase, from 1.
        phase: u32,
    },
    /// A tool was allowed.
    Permitted {
        /// The permission.
        permission: String,
    },
    /// A tool was denied.
    Denied {
        /// The permission.
        permission: String,
        /// Why.
        reason: String,
    },
    /// The agent broke the protocol.
    ProtocolError {
        /// How.
        details: String,
    },
}

impl Message {
    /// The word on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Message::PhaseStart { .. } => "PHASE_START",
            Message::ReviewApproved { .. } => "REVIEW_APPROVED",
            Message::ReviewRejected { .. } => "REVIEW_REJECTED",
            Message::Rework { .. } => "REWORK",
            Message::DependencyProvided { .. } => "DEPENDENCY_PROVIDED",
            Message::DependencyRejected { .. } => "DEPENDENCY_REJECTED",
            Message::QuestionAnswer { .. } => "question_answer",
            Message::Said { .. } => "USER_MESSAGE",
            Message::Reminder { .. } => "REMINDER",
            Message::Permitted { .. } => "permitted",
            Message::Denied { .. } => "denied",
            Message::ProtocolError { .. } => "PROTOCOL_ERROR",
        }
    }
}

/// Where the value of a dependency is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Encrypted in the store, under the dependency's name.
    Kept,
    /// Here: the default of an optional one, or nothing.
    Text(String),
}

/// Why a checkpoint is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the word it writes")]
pub enum SnapshotReason {
    Interval,
    Manual,
    Completed,
    Failed,
    RateLimit,
    Error,
    PhaseComplete,
    UserPause,
    DependencyRequest,
    UserQuestion,
}

impl SnapshotReason {
    /// The word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            SnapshotReason::Interval => "interval",
            SnapshotReason::Manual => "manual",
            SnapshotReason::Completed => "completed",
            SnapshotReason::Failed => "failed",
            SnapshotReason::RateLimit => "rate_limit",
            SnapshotReason::Error => "error",
            SnapshotReason::PhaseComplete => "phase_complete",
            SnapshotReason::UserPause => "user_pause",
            SnapshotReason::DependencyRequest => "dependency_request",
            SnapshotReason::UserQuestion => "user_question",
        }
    }
}

/// What people are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Its agent was started for the first time.
    TaskStarted,
    /// It is done.
    TaskCompleted,
    /// It is over.
    TaskFailed,
    /// A phase passed its verification.
    PhaseCompleted {
        /// Which, from 1.
        phase: u32,
    },
    /// A review waits.
    ReviewCreated {
        /// Which.
        id: String,
    },
    /// A dependency waits.
    DependencyRequested {
        /// Which.
        id: String,
    },
    /// A question waits, or still waits.
    QuestionAsked {
        /// Which.
        id: String,
    },
    /// A tool waits to be allowed.
    PermissionWanted {
        /// Which.
        id: String,
    },
    /// The agent was stopped by a breaker.
    BreakerTripped {
        /// Which limit.
        reason: String,
    },
    /// The agent reports something and goes on.
    AgentError {
        /// What.
        message: String,
    },
}

impl Event {
    /// The word on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Event::TaskStarted => "task.started",
            Event::TaskCompleted => "task.completed",
            Event::TaskFailed => "task.failed",
            Event::PhaseCompleted { .. } => "phase.completed",
            Event::ReviewCreated { .. } => "review.created",
            Event::DependencyRequested { .. } => "dependency.requested",
            Event::QuestionAsked { .. } => "question.asked",
            Event::PermissionWanted { .. } => "permission.wanted",
            Event::BreakerTripped { .. } => "agent.breaker",
            Event::AgentError { .. } => "agent.error",
        }
    }
}

/// What a timer comes back with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimerKind {
    /// The job may be assigned.
    Scheduled,
    /// A pause ends by itself.
    RateLimitReset,
    /// It is time for a checkpoint.
    Checkpoint,
    /// It is time to look whether the agent still prints.
    Silence,
    /// It is time to look whether an agent that ended a turn has begun another.
    Turn,
    /// A question waited long enough.
    Question {
        /// Which.
        id: String,
    },
    /// A dependency waited long enough.
    Dependency {
        /// Which.
        id: String,
    },
}

impl TimerKind {
    /// The word for it. With the id of a question or dependency it names a timer of a job.
    pub const fn name(&self) -> &'static str {
        match self {
            TimerKind::Scheduled => "scheduled",
            TimerKind::RateLimitReset => "rate_limit_reset",
            TimerKind::Checkpoint => "checkpoint",
            TimerKind::Silence => "silence",
            TimerKind::Turn => "turn",
            TimerKind::Question { .. } => "question",
            TimerKind::Dependency { .. } => "dependency",
        }
    }
}
