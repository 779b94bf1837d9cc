//! Effects of a transition of a job.

use crate::kernel::Timestamp;

named! {
    /// An effect to execute once the next state is durable. The effects of a transition keep their
    /// order. Its serialized form is what the store keeps until an effect is done; the effects
    /// without one become other parts of the commit.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Effect {
        /// A line of the transition log, to be written in the same commit as the state. It is
        /// listed here and not derived from before and after, because one transition may pass
        /// through a state that neither shows.
        #[cfg_attr(feature = "serde", serde(skip))]
        Log(TransitionEntry) = "log",
        /// Puts the job into the queue.
        #[cfg_attr(feature = "serde", serde(skip))]
        Enqueue = "enqueue",
        /// Removes it from the queue.
        #[cfg_attr(feature = "serde", serde(skip))]
        RemoveFromQueue = "remove from queue",
        /// Starts a process. Its first messages follow as an effect of their own.
        #[cfg_attr(feature = "serde", serde(rename = "spawn"))]
        Spawn {
            /// Number of the new attempt.
            #[cfg_attr(feature = "serde", serde(rename = "attempt", default))]
            attempt: u32,
            /// The point at which it begins.
            #[cfg_attr(feature = "serde", serde(rename = "from"))]
            from: SpawnFrom,
        } = "spawn",
        /// Brings the process to a level. The latest level wanted of an attempt counts.
        #[cfg_attr(feature = "serde", serde(rename = "signal"))]
        Signal {
            /// Number of the attempt.
            #[cfg_attr(feature = "serde", serde(rename = "attempt", default))]
            attempt: u32,
            /// The wanted level.
            #[cfg_attr(feature = "serde", serde(rename = "want"))]
            want: ProcessLevel,
        } = "signal",
        /// Sends messages to the process, as one input.
        #[cfg_attr(feature = "serde", serde(rename = "tell"))]
        SendMessage {
            /// Number of the attempt.
            #[cfg_attr(feature = "serde", serde(rename = "attempt", default))]
            attempt: u32,
            /// Number among the inputs of the attempt, from 1. The dispatcher replaces
            /// [`UNNUMBERED`]: only it knows which inputs the agent's client counts.
            #[cfg_attr(feature = "serde", serde(rename = "number", default))]
            number: u64,
            /// The messages to send; none for a process that begins without any.
            #[cfg_attr(feature = "serde", serde(rename = "say", default))]
            messages: Vec<MessageToAgent>,
        } = "tell",
        /// Interrupts the turn of the process.
        #[cfg_attr(feature = "serde", serde(rename = "interrupt"))]
        Interrupt {
            /// Number of the attempt.
            #[cfg_attr(feature = "serde", serde(rename = "attempt", default))]
            attempt: u32,
            /// Number among the inputs of the attempt; it stays [`UNNUMBERED`] where an interrupt
            /// is no input.
            #[cfg_attr(feature = "serde", serde(rename = "number", default))]
            number: u64,
        } = "interrupt",
        /// Saves a checkpoint.
        #[cfg_attr(feature = "serde", serde(rename = "snapshot"))]
        Snapshot(SnapshotReason) = "snapshot",
        /// Verifies the phase and reports the outcome with this verification number.
        #[cfg_attr(feature = "serde", serde(rename = "verify"))]
        Verify {
            /// Number of the verification.
            #[cfg_attr(feature = "serde", serde(rename = "verification", default))]
            verification: u32,
            /// Number of the phase, from 1.
            #[cfg_attr(feature = "serde", serde(rename = "phase", default))]
            phase: u32,
        } = "verify",
        /// Notifies people of an event.
        #[cfg_attr(feature = "serde", serde(rename = "notify"))]
        Notify(JobNotification) = "notify",
        /// Starts a timer.
        #[cfg_attr(feature = "serde", serde(skip))]
        Timer {
            /// Time at which the timer fires.
            at: Timestamp,
            /// The command that it leads to.
            kind: TimerKind,
        } = "timer",
        /// Packs the deliverables into an archive.
        #[cfg_attr(feature = "serde", serde(rename = "zip_artifacts"))]
        ZipArtifacts = "zip_artifacts",
        /// Keeps the whole error log as an artefact.
        #[cfg_attr(feature = "serde", serde(rename = "save_error_log"))]
        SaveErrorLog = "save_error_log",
        /// Creates the task that replaces this one.
        #[cfg_attr(feature = "serde", serde(skip))]
        CreateRetry {
            /// Id for the new task.
            id: String,
        } = "create the retry",
        /// Creates the task that begins at a checkpoint of this one.
        #[cfg_attr(feature = "serde", serde(skip))]
        CreateFork {
            /// Id for the new task.
            id: String,
            /// The checkpoint to begin at.
            checkpoint: super::JobCheckpoint,
        } = "create the fork",
        /// Removes the job and all that belongs to it.
        #[cfg_attr(feature = "serde", serde(rename = "remove"))]
        Remove = "remove",
    }
}

/// The number of an input that the dispatcher has not numbered.
pub const UNNUMBERED: u64 = 0;

/// One line of the transition log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionEntry {
    /// The side of the job that changed.
    pub entity: TransitionEntity,
    /// Name of the status before.
    pub from: &'static str,
    /// Name of the status after; the same when a process was replaced.
    pub to: &'static str,
    /// The cause of the change.
    pub trigger: TransitionTrigger,
    /// Further facts, by key.
    pub metadata: Vec<(&'static str, TransitionFact)>,
}

named! {
    /// The side of a job that a transition changed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TransitionEntity {
        /// The task of the job.
        Task = "task",
        /// The agent of the job.
        Agent = "agent",
    }
}

/// A value in the metadata of a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransitionFact {
    /// A whole number.
    Number(u64),
    /// A text.
    Text(String),
}

named! {
    /// The cause of a transition.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the word it writes")]
    pub enum TransitionTrigger {
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

/// The point at which a new process begins.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SpawnFrom {
    /// Without any earlier work.
    #[cfg_attr(feature = "serde", serde(rename = "start"))]
    Start,
    /// At the latest checkpoint, or in the client's own session.
    #[cfg_attr(feature = "serde", serde(rename = "latest"))]
    Latest,
    /// At a checkpoint a person chose.
    #[cfg_attr(feature = "serde", serde(rename = "checkpoint"))]
    Checkpoint(String),
}

named! {
    /// The level that a process is wanted at.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ProcessLevel {
        /// The process runs.
        Running = "running",
        /// The process is stopped.
        Paused = "paused",
        /// The process is ended.
        Ended = "ended",
    }
}

named! {
    /// A message to an agent.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum MessageToAgent {
        /// Asks for work on a phase.
        #[cfg_attr(feature = "serde", serde(rename = "phase_start"))]
        PhaseStart {
            /// Number of the phase, from 1.
            #[cfg_attr(feature = "serde", serde(rename = "phase", default))]
            phase: u32,
        } = "PHASE_START",
        /// A person approved the phase.
        #[cfg_attr(feature = "serde", serde(rename = "review_approved"))]
        ReviewApproved {
            /// Id of the review.
            #[cfg_attr(feature = "serde", serde(rename = "review"))]
            review: String,
            /// The person's comment.
            #[cfg_attr(feature = "serde", serde(rename = "feedback", default))]
            feedback: Option<String>,
        } = "REVIEW_APPROVED",
        /// A person wants changes.
        #[cfg_attr(feature = "serde", serde(rename = "review_rejected"))]
        ReviewRejected {
            /// Id of the review.
            #[cfg_attr(feature = "serde", serde(rename = "review"))]
            review: String,
            /// The changes to make.
            #[cfg_attr(feature = "serde", serde(rename = "reason"))]
            reason: String,
        } = "REVIEW_REJECTED",
        /// Verification found issues.
        #[cfg_attr(feature = "serde", serde(rename = "rework"))]
        Rework {
            /// Number of the phase, from 1.
            #[cfg_attr(feature = "serde", serde(rename = "phase", default))]
            phase: u32,
            /// Number of the rework, from 1.
            #[cfg_attr(feature = "serde", serde(rename = "attempt", default))]
            attempt: u32,
            /// Number of reworks allowed.
            #[cfg_attr(feature = "serde", serde(rename = "of", default))]
            of: u32,
            /// Descriptions of the issues.
            #[cfg_attr(feature = "serde", serde(rename = "issues", default))]
            issues: Vec<String>,
        } = "REWORK",
        /// A dependency was provided.
        #[cfg_attr(feature = "serde", serde(rename = "dependency_provided"))]
        DependencyProvided {
            /// Name of the dependency.
            #[cfg_attr(feature = "serde", serde(rename = "name"))]
            name: String,
            /// The place of its value.
            #[cfg_attr(feature = "serde", serde(rename = "value"))]
            value: DependencyValue,
        } = "DEPENDENCY_PROVIDED",
        /// An optional dependency was rejected.
        #[cfg_attr(feature = "serde", serde(rename = "dependency_rejected"))]
        DependencyRejected {
            /// Name of the dependency.
            #[cfg_attr(feature = "serde", serde(rename = "name"))]
            name: String,
            /// The person's reason.
            #[cfg_attr(feature = "serde", serde(rename = "reason"))]
            reason: String,
        } = "DEPENDENCY_REJECTED",
        /// A question was answered.
        #[cfg_attr(feature = "serde", serde(rename = "question_answer"))]
        QuestionAnswer {
            /// Id of the question.
            #[cfg_attr(feature = "serde", serde(rename = "question"))]
            question: String,
            /// The answer, in the spelling of the options.
            #[cfg_attr(feature = "serde", serde(rename = "answer"))]
            answer: String,
        } = "question_answer",
        /// A person sent a message.
        #[cfg_attr(feature = "serde", serde(rename = "said"))]
        UserMessage {
            /// Id of the message.
            #[cfg_attr(feature = "serde", serde(rename = "id"))]
            id: String,
            /// Text of the message.
            #[cfg_attr(feature = "serde", serde(rename = "text"))]
            text: String,
        } = "USER_MESSAGE",
        /// Asks an agent that ended its turn to report how the work stands.
        #[cfg_attr(feature = "serde", serde(rename = "reminder"))]
        Reminder {
            /// Number of the phase, from 1.
            #[cfg_attr(feature = "serde", serde(rename = "phase", default))]
            phase: u32,
        } = "REMINDER",
        /// A tool was allowed.
        #[cfg_attr(feature = "serde", serde(rename = "permitted"))]
        Permitted {
            /// Id of the permission.
            #[cfg_attr(feature = "serde", serde(rename = "permission"))]
            permission: String,
        } = "permitted",
        /// A tool was denied.
        #[cfg_attr(feature = "serde", serde(rename = "denied"))]
        Denied {
            /// Id of the permission.
            #[cfg_attr(feature = "serde", serde(rename = "permission"))]
            permission: String,
            /// Reason for the agent.
            #[cfg_attr(feature = "serde", serde(rename = "reason"))]
            reason: String,
        } = "denied",
        /// A marker of the agent was wrong.
        #[cfg_attr(feature = "serde", serde(rename = "protocol_error"))]
        ProtocolError {
            /// Description of the fault.
            #[cfg_attr(feature = "serde", serde(rename = "details"))]
            details: String,
        } = "PROTOCOL_ERROR",
    }
}

/// The place of a dependency's value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum DependencyValue {
    /// Encrypted in the store, under the dependency's name.
    #[cfg_attr(feature = "serde", serde(rename = "kept"))]
    Kept,
    /// The text itself: the default of an optional dependency, or nothing.
    #[cfg_attr(feature = "serde", serde(rename = "text"))]
    Text(String),
}

named! {
    /// The status of a person's message to the agent.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum MessageStatus {
        /// No process of the agent has read it yet.
        #[default]
        Queued = "queued",
        /// A process of the agent has read it.
        Delivered = "delivered",
        /// The task ended first, or a person withdrew it.
        Withdrawn = "withdrawn",
    }
}

named! {
    /// The reason for which a checkpoint is saved.
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
    /// An event that people are notified of.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum JobNotification {
        /// Its agent was started for the first time.
        #[cfg_attr(feature = "serde", serde(rename = "task.started"))]
        TaskStarted = "task.started",
        /// The task is completed.
        #[cfg_attr(feature = "serde", serde(rename = "task.completed"))]
        TaskCompleted = "task.completed",
        /// The task has failed.
        #[cfg_attr(feature = "serde", serde(rename = "task.failed"))]
        TaskFailed = "task.failed",
        /// A phase passed its verification.
        #[cfg_attr(feature = "serde", serde(rename = "phase.completed"))]
        PhaseCompleted {
            /// Number of the phase, from 1.
            #[cfg_attr(feature = "serde", serde(rename = "phase", default))]
            phase: u32,
        } = "phase.completed",
        /// A review was opened.
        #[cfg_attr(feature = "serde", serde(rename = "review.created"))]
        ReviewCreated {
            /// Id of the review.
            #[cfg_attr(feature = "serde", serde(rename = "id"))]
            id: String,
        } = "review.created",
        /// A dependency was requested.
        #[cfg_attr(feature = "serde", serde(rename = "dependency.requested"))]
        DependencyRequested {
            /// Id of the dependency.
            #[cfg_attr(feature = "serde", serde(rename = "id"))]
            id: String,
        } = "dependency.requested",
        /// A question was asked, or is still open after its time limit.
        #[cfg_attr(feature = "serde", serde(rename = "question.asked"))]
        QuestionAsked {
            /// Id of the question.
            #[cfg_attr(feature = "serde", serde(rename = "id"))]
            id: String,
        } = "question.asked",
        /// A tool needs permission.
        #[cfg_attr(feature = "serde", serde(rename = "permission.wanted"))]
        PermissionWanted {
            /// Id of the permission.
            #[cfg_attr(feature = "serde", serde(rename = "id"))]
            id: String,
        } = "permission.wanted",
        /// The agent was stopped by a breaker.
        #[cfg_attr(feature = "serde", serde(rename = "agent.breaker"))]
        BreakerTripped {
            /// Description of the limit.
            #[cfg_attr(feature = "serde", serde(rename = "reason"))]
            reason: String,
        } = "agent.breaker",
        /// The agent reports an error and continues.
        #[cfg_attr(feature = "serde", serde(rename = "agent.error"))]
        AgentError {
            /// The error message.
            #[cfg_attr(feature = "serde", serde(rename = "message"))]
            message: String,
        } = "agent.error",
    }
}

named! {
    /// The purpose of a timer.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum TimerKind {
        /// The scheduled time of the job has come.
        #[cfg_attr(feature = "serde", serde(rename = "scheduled"))]
        Scheduled = "scheduled",
        /// A pause ends by itself.
        #[cfg_attr(feature = "serde", serde(rename = "rate_limit_reset"))]
        RateLimitReset = "rate_limit_reset",
        /// A regular checkpoint is due.
        #[cfg_attr(feature = "serde", serde(rename = "checkpoint"))]
        Checkpoint = "checkpoint",
        /// Checks that the agent still prints output.
        #[cfg_attr(feature = "serde", serde(rename = "silence"))]
        Silence = "silence",
        /// Checks that an agent that ended a turn has begun another.
        #[cfg_attr(feature = "serde", serde(rename = "turn"))]
        Turn = "turn",
        /// The time limit of a question passed.
        #[cfg_attr(feature = "serde", serde(rename = "question"))]
        Question {
            /// Id of the question.
            #[cfg_attr(feature = "serde", serde(rename = "id"))]
            id: String,
        } = "question",
        /// The time limit of a dependency passed.
        #[cfg_attr(feature = "serde", serde(rename = "dependency"))]
        Dependency {
            /// Id of the dependency.
            #[cfg_attr(feature = "serde", serde(rename = "id"))]
            id: String,
        } = "dependency",
    }
}
