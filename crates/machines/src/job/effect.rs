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

named! {
    /// Task or agent.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Entity {
        /// The task.
        Task = "task",
        /// Its agent.
        Agent = "agent",
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

named! {
    /// Why something moved.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the word it writes")]
    pub enum Trigger {
        Submit = "SUBMIT",
        Assign = "ASSIGN",
        PhaseComplete = "PHASE_COMPLETE",
        VerificationFailed = "VERIFICATION_FAILED",
        Approve = "APPROVE",
        RequestChanges = "REQUEST_CHANGES",
        DependencyRequest = "DEPENDENCY_REQUEST",
        DependencyProvided = "DEPENDENCY_PROVIDED",
        UserQuestion = "USER_QUESTION",
        Answer = "ANSWER",
        Pause = "PAUSE",
        Resume = "RESUME",
        RateLimit = "RATE_LIMIT",
        RateLimitReset = "RATE_LIMIT_RESET",
        ErrorFatal = "ERROR_FATAL",
        AgentExit = "AGENT_EXIT",
        Cancel = "CANCEL",
        Recover = "RECOVER",
        Restore = "RESTORE",
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

named! {
    /// The level a process is wanted at.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Level {
        /// It runs.
        Running = "running",
        /// It is stopped.
        Paused = "paused",
        /// It is gone.
        Ended = "ended",
    }
}

named! {
    /// What an agent is told.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Message {
        /// Begin a phase.
        PhaseStart {
            /// Which, from 1.
            phase: u32,
        } = "PHASE_START",
        /// A person approved.
        ReviewApproved {
            /// The review.
            review: String,
            /// What the person said.
            feedback: Option<String>,
        } = "REVIEW_APPROVED",
        /// A person wants changes.
        ReviewRejected {
            /// The review.
            review: String,
            /// Which.
            reason: String,
        } = "REVIEW_REJECTED",
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
        } = "REWORK",
        /// A dependency is there.
        DependencyProvided {
            /// Its name.
            name: String,
            /// Its value.
            value: Value,
        } = "DEPENDENCY_PROVIDED",
        /// An optional dependency will not come.
        DependencyRejected {
            /// Its name.
            name: String,
            /// Why.
            reason: String,
        } = "DEPENDENCY_REJECTED",
        /// An answer.
        QuestionAnswer {
            /// The question.
            question: String,
            /// The answer.
            answer: String,
        } = "question_answer",
        /// A word of a person.
        Said {
            /// Its id.
            id: String,
            /// The word.
            text: String,
        } = "USER_MESSAGE",
        /// It ended its turn, but nothing it said tells how the work stands.
        Reminder {
            /// The phase, from 1.
            phase: u32,
        } = "REMINDER",
        /// A tool was allowed.
        Permitted {
            /// The permission.
            permission: String,
        } = "permitted",
        /// A tool was denied.
        Denied {
            /// The permission.
            permission: String,
            /// Why.
            reason: String,
        } = "denied",
        /// The agent broke the protocol.
        ProtocolError {
            /// How.
            details: String,
        } = "PROTOCOL_ERROR",
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

named! {
    /// Why a checkpoint is saved.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the word it writes")]
    pub enum SnapshotReason {
        Interval = "interval",
        Manual = "manual",
        Completed = "completed",
        Failed = "failed",
        RateLimit = "rate_limit",
        Error = "error",
        PhaseComplete = "phase_complete",
        UserPause = "user_pause",
        DependencyRequest = "dependency_request",
        UserQuestion = "user_question",
    }
}

named! {
    /// What people are told.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Event {
        /// Its agent was started for the first time.
        TaskStarted = "task.started",
        /// It is done.
        TaskCompleted = "task.completed",
        /// It is over.
        TaskFailed = "task.failed",
        /// A phase passed its verification.
        PhaseCompleted {
            /// Which, from 1.
            phase: u32,
        } = "phase.completed",
        /// A review waits.
        ReviewCreated {
            /// Which.
            id: String,
        } = "review.created",
        /// A dependency waits.
        DependencyRequested {
            /// Which.
            id: String,
        } = "dependency.requested",
        /// A question waits, or still waits.
        QuestionAsked {
            /// Which.
            id: String,
        } = "question.asked",
        /// A tool waits to be allowed.
        PermissionWanted {
            /// Which.
            id: String,
        } = "permission.wanted",
        /// The agent was stopped by a breaker.
        BreakerTripped {
            /// Which limit.
            reason: String,
        } = "agent.breaker",
        /// The agent reports something and goes on.
        AgentError {
            /// What.
            message: String,
        } = "agent.error",
    }
}

named! {
    /// What a timer comes back with.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum TimerKind {
        /// The job may be assigned.
        Scheduled = "scheduled",
        /// A pause ends by itself.
        RateLimitReset = "rate_limit_reset",
        /// It is time for a checkpoint.
        Checkpoint = "checkpoint",
        /// It is time to look whether the agent still prints.
        Silence = "silence",
        /// It is time to look whether an agent that ended a turn has begun another.
        Turn = "turn",
        /// A question waited long enough.
        Question {
            /// Which.
            id: String,
        } = "question",
        /// A dependency waited long enough.
        Dependency {
            /// Which.
            id: String,
        } = "dependency",
    }
}
