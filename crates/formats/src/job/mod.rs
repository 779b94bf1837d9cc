//! A job as it is kept: the state of its machine, and the effects that follow a step, in JSON.
//!
//! Keys that are not known are passed over and keys that are missing have a meaning where they came later, so that a program
//! and the one before it read each other's texts.

mod wire;

pub use wire::{Unreadable, Wire};

use bowline_machines::job::{
    Checkpoint, Dependency, DependencyKind, DependencyStatus, Event, Failure, FailureCode, Job,
    Kind, Level, Life, Limits, Marker, Message, PausedBy, Permission, PhaseSpec, Process, Question,
    QuestionStatus, Reached, Review, ReviewStatus, SnapshotReason, SpawnFrom, StepAt, TimerKind,
    Value as Given,
};
use bowline_machines::named;
use serde::Serializer;
use serde::ser::{SerializeStruct as _, SerializeStructVariant as _};
use serde_json::Value;
use wire::{Spelled, record, variants, words};

words!(
    DependencyKind,
    DependencyStatus,
    FailureCode,
    Level,
    ReviewStatus,
    SnapshotReason,
);
record!(Job {
    title,
    description,
    kind,
    limits,
    depends_on,
    scheduled_for,
    life,
    started_at,
    attempt,
    process,
    exits,
    losses,
    stuck,
    reminded,
    interrupts,
    phase,
    step,
    reached,
    reworks,
    verifications,
    reviews,
    questions,
    dependencies,
    permissions,
    waiting,
    unsaid,
    tokens,
    begins_at,
    retry_of,
    retried_by,
    archived,
});
variants!(Kind {
    Custom = "custom",
    Phased { phases, complete_on_exit } = "phased",
});
record!(PhaseSpec { name, review });
record!(Limits {
    reworks_max,
    question_timeout_s,
    dependency_timeout_s,
    checkpoint_s,
    silence_s,
    losses_max,
});
variants!(Life {
    Draft = "draft",
    Pending = "pending",
    Running = "running",
    Paused(by) = "paused",
    Asking = "asking",
    Needing = "needing",
    Permitting = "permitting",
    Verifying { deliverables } = "verifying",
    Reviewing = "reviewing",
    Completed { at } = "completed",
    Failed(failure) = "failed",
});
variants!(PausedBy {
    Person = "user",
    RateLimit { until } = "rate_limit",
    Breaker { reason, until } = "breaker",
});
variants!(Process {
    Live = "live",
    Gone = "gone",
});
record!(StepAt { number, of, name });
record!(Reached { done, of });
record!(Failure {
    code,
    message,
    details,
    at,
});
record!(Review {
    id,
    phase,
    status,
    deliverables,
    comment,
    created_at,
    reviewed_at,
});
record!(Question {
    id,
    text,
    options,
    default,
    required,
    status,
});
variants!(QuestionStatus {
    Pending = "pending",
    Answered(answer) = "answered",
    Skipped = "skipped",
    Timeout = "timeout",
});
record!(Permission { id, request, tool });
record!(Checkpoint { id, phase, step });
record!(Dependency {
    id,
    kind,
    name,
    description,
    default,
    required,
    status,
});
variants!(Marker {
    PhaseComplete { phase, deliverables } = "phase_complete",
    CustomComplete = "custom_complete",
    Question(question) = "question",
    DependencyRequest(needed) = "dependency_request",
    RateLimit { until } = "rate_limit",
    ErrorFatal { message, details } = "error_fatal",
    ErrorNotify { message } = "error_notify",
    Step(step) = "step",
    Permission(wanted) = "permission",
    Withdrawn { request } = "withdrawn",
    TurnEnded { question } = "turn_ended",
    TurnLimited = "turn_limited",
    Malformed { details } = "malformed",
});
variants!(Message {
    PhaseStart { phase } = "phase_start",
    ReviewApproved { review, feedback } = "review_approved",
    ReviewRejected { review, reason } = "review_rejected",
    Rework { phase, attempt, of, issues } = "rework",
    DependencyProvided { name, value } = "dependency_provided",
    DependencyRejected { name, reason } = "dependency_rejected",
    QuestionAnswer { question, answer } = "question_answer",
    Said { id, text } = "said",
    Reminder { phase } = "reminder",
    Permitted { permission } = "permitted",
    Denied { permission, reason } = "denied",
    ProtocolError { details } = "protocol_error",
});
variants!(Given {
    Kept = "kept",
    Text(text) = "text",
});
variants!(SpawnFrom {
    Start = "start",
    Latest = "latest",
    Checkpoint(id) = "checkpoint",
});
variants!(Event {
    TaskStarted = "task.started",
    TaskCompleted = "task.completed",
    TaskFailed = "task.failed",
    PhaseCompleted { phase } = "phase.completed",
    ReviewCreated { id } = "review.created",
    DependencyRequested { id } = "dependency.requested",
    QuestionAsked { id } = "question.asked",
    PermissionWanted { id } = "permission.wanted",
    BreakerTripped { reason } = "agent.breaker",
    AgentError { message } = "agent.error",
});
variants!(TimerKind {
    Scheduled = "scheduled",
    RateLimitReset = "rate_limit_reset",
    Checkpoint = "checkpoint",
    Silence = "silence",
    Turn = "turn",
    Question { id } = "question",
    Dependency { id } = "dependency",
});

named! {
    /// What has to be carried out after a step, as it is kept until it is done.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Carry {
        /// Start a process.
        Spawn {
            /// Its number.
            attempt: u32,
            /// Where it begins.
            from: SpawnFrom,
        } = "spawn",
        /// Bring a process to a level.
        Signal {
            /// Which process.
            attempt: u32,
            /// The level.
            want: Level,
        } = "signal",
        /// Write to a process.
        Tell {
            /// Which process.
            attempt: u32,
            /// Numbers the messages of the attempt, from 1; the first one is its prompt.
            number: u64,
            /// What.
            say: Vec<Message>,
        } = "tell",
        /// Interrupt a process.
        Interrupt {
            /// Which process.
            attempt: u32,
            /// Its number among the messages of the attempt; 0 where it is none.
            number: u64,
        } = "interrupt",
        /// Save a checkpoint.
        Snapshot(SnapshotReason) = "snapshot",
        /// Check a phase.
        Verify {
            /// The ticket.
            verification: u32,
            /// The phase, from 1.
            phase: u32,
        } = "verify",
        /// Tell people.
        Notify(Event) = "notify",
        /// Pack the deliverables.
        ZipArtifacts = "zip_artifacts",
        /// Keep the whole error log.
        SaveErrorLog = "save_error_log",
        /// Remove what belongs to the job on the disk.
        Remove = "remove",
    }
}

variants!(Carry {
    Spawn { attempt, from } = "spawn",
    Signal { attempt, want } = "signal",
    Tell { attempt, number, say } = "tell",
    Interrupt { attempt, number } = "interrupt",
    Snapshot(reason) = "snapshot",
    Verify { verification, phase } = "verify",
    Notify(event) = "notify",
    ZipArtifacts = "zip_artifacts",
    SaveErrorLog = "save_error_log",
    Remove = "remove",
});
