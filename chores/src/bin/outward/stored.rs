//! Names in stored texts: samples of every state, effect, timer and command, written as the store
//! and the journals write them.
//!
//! `every` makes the compiler ask for a sample of each variant, and a struct without `..` asks
//! for each field, so that no stored name is missing.

use bowline_formats::markers::write::MarkerMessage as MarkersMessage;
use bowline_formats::orchestrate::RecordedStep;
use bowline_machines::job::{
    AgentDependency, AgentMarker, AgentQuestion, DependencyKind, DependencyStatus,
    DependencyValue as Given, Effect, FailureCode, Job, JobCheckpoint, JobFailure, JobKind,
    JobLimits, JobNotification, JobState, MessageToAgent, PauseCause, PermissionRequest,
    PhaseReview, PhaseSpec, ProcessLevel, ProcessState, QuestionStatus, ReportedStep, ReviewStatus,
    SnapshotReason, SpawnFrom, StepProgress, TimerKind, TransitionEntity, TransitionEntry,
    TransitionTrigger,
};
use bowline_machines::orchestrate::{Command, PhaseEnd};
use bowline_machines::{Actor, Timestamp};
use serde_json::Value;
use std::collections::BTreeSet;

/// The text of every sample: it is no name, and left out.
const SAMPLE: &str = "?";
const AT: Timestamp = Timestamp(1);

/// A sample of every variant of an enum; a variant without one does not compile.
macro_rules! every {
    ($type:ident { $($variant:ident $(($held:expr))? $({ $($field:ident: $value:expr),+ $(,)? })?),+ $(,)? }) => {{
        fn _all(it: &$type) {
            match it { $($type::$variant { .. } => (),)+ }
        }
        [$($type::$variant $(($held))? $({ $($field: $value),+ })?),+]
    }};
}

/// Returns the lines of everything that is stored for jobs and in journals of orchestrations.
pub(crate) fn lines() -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for job in jobs() {
        collect("stored", "job", &stored(&job), &mut lines);
    }
    for effect in effects() {
        collect("stored", "effect", &stored(&effect), &mut lines);
    }
    for timer in timers() {
        collect("stored", "timer", &stored(&timer), &mut lines);
    }
    for command in commands() {
        let step = RecordedStep { at: AT, command };
        collect("stored", "orchestrate-step", &stored(&step), &mut lines);
    }
    lines
}

/// Returns the stored form of a value. One that cannot be written would be missing in the page,
/// which the comparison tells.
fn stored(it: &impl serde::Serialize) -> Value {
    serde_json::to_value(it).unwrap_or_default()
}

/// Adds the paths of all keys in a value, and its texts other than samples and times.
pub(crate) fn collect(section: &str, path: &str, value: &Value, lines: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = format!("{path}.{key}");
                lines.insert(format!("{section} {path}"));
                collect(section, &path, value, lines);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(section, &format!("{path}[]"), item, lines);
            }
        }
        Value::String(word) if word != SAMPLE && !word.contains(':') => {
            lines.insert(format!("{section} {path} = {word}"));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn text() -> String {
    SAMPLE.into()
}

fn jobs() -> Vec<Job> {
    let paused = every! { PauseCause {
        Person,
        RateLimit { until: AT },
        Breaker { reason: text(), until: Some(AT) },
    }};
    let failed = FailureCode::ALL.map(|code| JobFailure {
        code,
        message: text(),
        details: Some(text()),
        at: AT,
    });
    let lives = every! { JobState {
        Draft,
        Pending,
        Running,
        Paused(PauseCause::Person),
        Asking,
        Needing,
        Permitting,
        Verifying { deliverables: vec![text()] },
        Reviewing,
        Completed { at: AT },
        Failed(failed[0].clone()),
    }};
    let phases = vec![PhaseSpec {
        name: text(),
        review: true,
    }];
    let kinds = every! { JobKind { Custom, Phased { phases: phases, complete_on_exit: true } }};
    let processes = every! { ProcessState { Live, Gone } };
    let lives = lives.into_iter().chain(paused.map(JobState::Paused));
    let lives = lives.chain(failed.map(JobState::Failed));
    let kinds = kinds.map(Some).map(|kind| Job { kind, ..job() });
    let processes = processes.map(|process| Job { process, ..job() });
    let jobs = lives.map(|life| Job {
        state: life,
        ..job()
    });
    jobs.chain(kinds).chain(processes).collect()
}

/// Makes a job in which no field is absent.
fn job() -> Job {
    let review = |status| PhaseReview {
        id: text(),
        phase: 1,
        status,
        deliverables: vec![text()],
        comment: Some(text()),
        created_at: AT,
        reviewed_at: Some(AT),
    };
    let statuses = every! { QuestionStatus { Pending, Answered(text()), Skipped, Timeout } };
    Job {
        title: text(),
        description: text(),
        kind: Some(JobKind::Custom),
        limits: JobLimits {
            reworks_max: 1,
            question_timeout_s: 1,
            dependency_timeout_s: 1,
            checkpoint_s: 1,
            silence_s: 1,
            losses_max: 1,
        },
        depends_on: vec![text()],
        scheduled_for: Some(AT),
        state: JobState::Running,
        started_at: Some(AT),
        attempt: 1,
        process: ProcessState::Live,
        exits: 1,
        losses: 1,
        stuck: true,
        reminded: true,
        interrupts: 1,
        phase: 1,
        step: Some(step_at()),
        reached: StepProgress { done: 1, of: 1 },
        reworks: 1,
        verifications: 1,
        reviews: ReviewStatus::ALL.map(review).to_vec(),
        questions: statuses.map(question).to_vec(),
        dependencies: dependencies(),
        permissions: vec![permission()],
        queued_markers: markers().into(),
        queued_messages: messages(),
        tokens: 1,
        begins_at: Some(JobCheckpoint {
            id: text(),
            phase: 1,
            step: Some(step_at()),
        }),
        retry_of: Some(text()),
        retried_by: Some(text()),
        archived: true,
    }
}

fn step_at() -> ReportedStep {
    ReportedStep {
        number: 1,
        of: 1,
        name: text(),
    }
}

fn permission() -> PermissionRequest {
    PermissionRequest {
        id: text(),
        request: text(),
        tool: text(),
    }
}

fn question(status: QuestionStatus) -> AgentQuestion {
    AgentQuestion {
        id: text(),
        text: text(),
        options: vec![text()],
        default: Some(text()),
        required: true,
        status,
    }
}

fn dependency(kind: DependencyKind, status: DependencyStatus) -> AgentDependency {
    AgentDependency {
        id: text(),
        kind,
        name: text(),
        description: text(),
        default: Some(text()),
        required: true,
        status,
    }
}

fn dependencies() -> Vec<AgentDependency> {
    let kinds = DependencyKind::ALL.map(|kind| dependency(kind, DependencyStatus::Pending));
    let statuses = DependencyStatus::ALL.map(|status| dependency(DependencyKind::File, status));
    kinds.into_iter().chain(statuses).collect()
}

fn markers() -> Vec<AgentMarker> {
    let markers = every! { AgentMarker {
        PhaseComplete { phase: 1, deliverables: vec![text()] },
        CustomComplete,
        Question(question(QuestionStatus::Pending)),
        DependencyRequest(dependency(DependencyKind::File, DependencyStatus::Pending)),
        RateLimit { until: AT },
        ErrorFatal { message: text(), details: Some(text()) },
        ErrorNotify { message: text() },
        Step(step_at()),
        Permission(permission()),
        Withdrawn { request: text() },
        TurnEnded { question: text() },
        TurnLimited,
        Malformed { details: text() },
    }};
    markers.to_vec()
}

fn messages() -> Vec<MessageToAgent> {
    let messages = every! { MessageToAgent {
        PhaseStart { phase: 1 },
        ReviewApproved { review: text(), feedback: Some(text()) },
        ReviewRejected { review: text(), reason: text() },
        Rework { phase: 1, attempt: 1, of: 1, issues: vec![text()] },
        DependencyProvided { name: text(), value: Given::Kept },
        DependencyRejected { name: text(), reason: text() },
        QuestionAnswer { question: text(), answer: text() },
        UserMessage { id: text(), text: text() },
        Reminder { phase: 1 },
        Permitted { permission: text() },
        Denied { permission: text(), reason: text() },
        ProtocolError { details: text() },
    }};
    let values = every! { Given { Kept, Text(text()) } };
    let provided = values.map(|value| MessageToAgent::DependencyProvided {
        name: text(),
        value,
    });
    messages.into_iter().chain(provided).collect()
}

fn effects() -> Vec<Effect> {
    let origins = every! { SpawnFrom { Start, Latest, Checkpoint(text()) } };
    let events = every! { JobNotification {
        TaskStarted,
        TaskCompleted,
        TaskFailed,
        PhaseCompleted { phase: 1 },
        ReviewCreated { id: text() },
        DependencyRequested { id: text() },
        QuestionAsked { id: text() },
        PermissionWanted { id: text() },
        BreakerTripped { reason: text() },
        AgentError { message: text() },
    }};
    let line = TransitionEntry {
        entity: TransitionEntity::Task,
        from: SAMPLE,
        to: SAMPLE,
        trigger: TransitionTrigger::Submit,
        metadata: Vec::new(),
    };
    let checkpoint = JobCheckpoint {
        id: text(),
        phase: 1,
        step: None,
    };
    // Those without a stored form add no names.
    let effects = every! { Effect {
        Log(line),
        Enqueue,
        RemoveFromQueue,
        Timer { at: AT, kind: TimerKind::Scheduled },
        CreateRetry { id: text() },
        CreateFork { id: text(), checkpoint: checkpoint },
        Spawn { attempt: 1, from: SpawnFrom::Start },
        Signal { attempt: 1, want: ProcessLevel::Running },
        SendMessage { attempt: 1, number: 1, messages: messages() },
        Interrupt { attempt: 1, number: 1 },
        Snapshot(SnapshotReason::Manual),
        Verify { verification: 1, phase: 1 },
        Notify(JobNotification::TaskStarted),
        ZipArtifacts,
        SaveErrorLog,
        Remove,
    }};
    let spawn = |from| Effect::Spawn { attempt: 1, from };
    let signal = |want| Effect::Signal { attempt: 1, want };
    effects
        .into_iter()
        .chain(origins.map(spawn))
        .chain(ProcessLevel::ALL.map(signal))
        .chain(SnapshotReason::ALL.map(Effect::Snapshot))
        .chain(events.map(Effect::Notify))
        .collect()
}

fn timers() -> Vec<TimerKind> {
    let timers = every! { TimerKind {
        Scheduled,
        RateLimitReset,
        Checkpoint,
        Silence,
        Turn,
        Question { id: text() },
        Dependency { id: text() },
    }};
    timers.to_vec()
}

fn commands() -> Vec<Command> {
    let reason = || Some(SAMPLE.into());
    let ends = every! { PhaseEnd {
        Merged { commit: SAMPLE.into() },
        NoGit,
        ChecksRed,
        Conflict,
    }};
    let commands = every! { Command {
        Start { id: SAMPLE.into() },
        StartAhead { id: SAMPLE.into() },
        Recall { id: SAMPLE.into() },
        Complete { id: SAMPLE.into() },
        Fail { id: SAMPLE.into(), reason: reason(), retry: true },
        ForceComplete { id: SAMPLE.into(), by: Actor::Person, reason: reason() },
        Retry { id: SAMPLE.into() },
        Lost { gone: vec![SAMPLE.into()] },
        PhaseFinish { phase: 1, end: PhaseEnd::NoGit, worktree: reason() },
        SetWorktree { path: reason() },
    }};
    let actors = every! { Actor { Person, Agent } };
    let forced = actors.map(|by| Command::ForceComplete {
        id: SAMPLE.into(),
        by,
        reason: None,
    });
    let finished = ends.map(|end| Command::PhaseFinish {
        phase: 1,
        end,
        worktree: None,
    });
    commands.into_iter().chain(forced).chain(finished).collect()
}

/// Returns the tags and fields of every message to an agent that reads markers.
pub(crate) fn messages_to_agents() -> BTreeSet<String> {
    let issues = [text()];
    let some = Some(SAMPLE);
    let messages = every! { MarkersMessage {
        PhaseStart { phase: 1, name: SAMPLE, prompt_file: SAMPLE, prompt: SAMPLE },
        ReviewApproved { review_id: SAMPLE, feedback: some },
        ReviewRejected { review_id: SAMPLE, reason: SAMPLE, suggestions: some },
        Rework { phase: 1, attempt: 1, of: 1, issues: &issues },
        DependencyProvided { name: SAMPLE, value: SAMPLE },
        DependencyRejected { name: SAMPLE, reason: SAMPLE },
        QuestionAnswer { question_id: SAMPLE, answer: SAMPLE },
        ProtocolError { details: SAMPLE },
    }};
    let mut lines = BTreeSet::new();
    for message in messages {
        let text = message.to_text();
        if let Ok(json) = serde_json::from_str::<Value>(&text) {
            collect("message", "json", &json, &mut lines);
            continue;
        }
        let tag = text.lines().next().unwrap_or_default().to_owned();
        lines.insert(format!("message {tag}"));
        let fields = text.lines().filter_map(|line| line.split_once(':'));
        lines.extend(fields.map(|(field, _)| format!("message {tag} {field}")));
    }
    lines
}
