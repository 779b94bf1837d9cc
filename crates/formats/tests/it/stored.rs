//! The texts of jobs, effects and steps of runs as the store and the run journal keep them, and
//! what is read from damaged ones.
//!
//! `tests/stored/texts.jsonl` holds the texts of the program that came before, byte for byte.
//! `tests/stored/damage.txt` lists for each place what is read when the key is absent or holds
//! something else; what is not listed is refused. `BOWLINE_BLESS=1` writes both anew: a line may be
//! added then, but none that an older program may have stored may change.

use bowline_formats::orchestrate::RecordedStep;
use bowline_machines::job::{
    AgentDependency, AgentMarker, AgentQuestion, Command, DependencyKind, DependencyStatus,
    DependencyValue as Given, Effect, FailureCode, Job, JobCheckpoint, JobFailure, JobKind,
    JobLimits, JobMachine, JobNotification, JobState, MessageToAgent, PauseCause,
    PermissionRequest, PhaseReview, PhaseSpec, ProcessLevel, ProcessState, QuestionStatus,
    ReportedStep, ReviewStatus, SnapshotReason, SpawnFrom, StepProgress, TimerKind,
};
use bowline_machines::orchestrate::{Command as RunCommand, PhaseEnd};
use bowline_machines::table::{MachineCatalogue as _, TABLE_TIME};
use bowline_machines::{Actor, Machine as _, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Steps of the random walk over jobs, and how many of them pass between two jobs that are kept.
const WALK_STEPS: usize = 1_600;
const WALK_KEPT_EVERY: usize = 40;

/// A stored text, and what a text reads as: the text that is written for it.
struct Stored {
    kind: &'static str,
    text: String,
    again: fn(&str) -> Option<String>,
}

fn stored<T: Serialize + DeserializeOwned + PartialEq + Debug>(
    kind: &'static str,
    value: &T,
) -> Stored {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&text).unwrap(), *value);
    let tree = serde_json::to_value(value).unwrap();
    assert_eq!(tree.to_string(), text);
    assert_eq!(serde_json::from_value::<T>(tree).unwrap(), *value);
    Stored {
        kind,
        text,
        again: |text| {
            let read: T = serde_json::from_str(text).ok()?;
            serde_json::to_string(&read).ok()
        },
    }
}

fn s(text: &str) -> String {
    text.to_owned()
}

fn markers() -> Vec<AgentMarker> {
    let mut all = vec![
        AgentMarker::PhaseComplete {
            phase: 2,
            deliverables: vec![s("docs/01.md"), s("차.md")],
        },
        AgentMarker::PhaseComplete {
            phase: 0,
            deliverables: vec![],
        },
        AgentMarker::CustomComplete,
        AgentMarker::RateLimit { until: TABLE_TIME },
        AgentMarker::ErrorFatal {
            message: s("disk \"gone\"\n"),
            details: Some(s("sda1")),
        },
        AgentMarker::ErrorFatal {
            message: s(""),
            details: None,
        },
        AgentMarker::ErrorNotify { message: s("slow") },
        AgentMarker::Step(ReportedStep {
            number: 1,
            of: 2,
            name: s("idea"),
        }),
        AgentMarker::Permission(permission()),
        AgentMarker::Withdrawn { request: s("r-1") },
        AgentMarker::TurnEnded {
            question: s("q_turn"),
        },
        AgentMarker::TurnLimited,
        AgentMarker::Malformed {
            details: s("no type"),
        },
    ];
    all.extend(questions().into_iter().map(AgentMarker::Question));
    all.extend(
        dependencies()
            .into_iter()
            .map(AgentMarker::DependencyRequest),
    );
    all
}

fn permission() -> PermissionRequest {
    PermissionRequest {
        id: s("perm_1"),
        request: s("r-1"),
        tool: s("Bash"),
    }
}

fn questions() -> Vec<AgentQuestion> {
    let statuses = [
        QuestionStatus::Pending,
        QuestionStatus::Answered(s("green")),
        QuestionStatus::Skipped,
        QuestionStatus::Timeout,
    ];
    let question = |(place, status): (usize, QuestionStatus)| AgentQuestion {
        id: format!("q_{place}"),
        text: s("Which tea?"),
        options: ["green", "black"]
            .iter()
            .take(place)
            .map(|it| s(it))
            .collect(),
        default: (place > 1).then(|| s("green")),
        required: place % 2 == 1,
        status,
    };
    statuses.into_iter().enumerate().map(question).collect()
}

fn dependencies() -> Vec<AgentDependency> {
    let dependency = |(place, kind): (usize, DependencyKind)| AgentDependency {
        id: format!("dep_{place}"),
        kind,
        name: s("TEA_KEY"),
        description: s("to order tea"),
        default: (place > 2).then(|| s("none")),
        required: place % 2 == 0,
        status: DependencyStatus::ALL[place % DependencyStatus::ALL.len()],
    };
    DependencyKind::ALL
        .into_iter()
        .enumerate()
        .map(dependency)
        .collect()
}

fn messages() -> Vec<MessageToAgent> {
    vec![
        MessageToAgent::PhaseStart { phase: 1 },
        MessageToAgent::PhaseStart { phase: 0 },
        MessageToAgent::ReviewApproved {
            review: s("rev_1"),
            feedback: Some(s("good")),
        },
        MessageToAgent::ReviewApproved {
            review: s("rev_1"),
            feedback: None,
        },
        MessageToAgent::ReviewRejected {
            review: s("rev_1"),
            reason: s("more"),
        },
        MessageToAgent::Rework {
            phase: 1,
            attempt: 2,
            of: 3,
            issues: vec![s("too short")],
        },
        MessageToAgent::Rework {
            phase: 1,
            attempt: 2,
            of: 3,
            issues: vec![],
        },
        MessageToAgent::DependencyProvided {
            name: s("KEY"),
            value: Given::Kept,
        },
        MessageToAgent::DependencyProvided {
            name: s("KEY"),
            value: Given::Text(s("")),
        },
        MessageToAgent::DependencyRejected {
            name: s("KEY"),
            reason: s("no account"),
        },
        MessageToAgent::QuestionAnswer {
            question: s("q_1"),
            answer: s("green"),
        },
        MessageToAgent::UserMessage {
            id: s("say_1"),
            text: s("Use green."),
        },
        MessageToAgent::Reminder { phase: 3 },
        MessageToAgent::Permitted {
            permission: s("perm_1"),
        },
        MessageToAgent::Denied {
            permission: s("perm_1"),
            reason: s("not here"),
        },
        MessageToAgent::ProtocolError {
            details: s("no type"),
        },
    ]
}

fn lives() -> Vec<JobState> {
    let mut all = vec![
        JobState::Draft,
        JobState::Pending,
        JobState::Running,
        JobState::Paused(PauseCause::Person),
        JobState::Paused(PauseCause::RateLimit { until: TABLE_TIME }),
        JobState::Paused(PauseCause::Breaker {
            reason: s("budget"),
            until: None,
        }),
        JobState::Paused(PauseCause::Breaker {
            reason: s("budget"),
            until: Some(Timestamp(-1)),
        }),
        JobState::Asking,
        JobState::Needing,
        JobState::Permitting,
        JobState::Verifying {
            deliverables: vec![],
        },
        JobState::Verifying {
            deliverables: vec![s("01_idea.md")],
        },
        JobState::Reviewing,
        JobState::Completed { at: Timestamp(0) },
    ];
    all.extend(
        FailureCode::ALL
            .into_iter()
            .enumerate()
            .map(|(place, code)| {
                JobState::Failed(JobFailure {
                    code,
                    message: s("It failed."),
                    details: (place % 2 == 0).then(|| s("line 1\nline 2")),
                    at: TABLE_TIME,
                })
            }),
    );
    all
}

/// A job in which nothing has the value that is left out.
fn full_job() -> Job {
    let review = |(place, status): (usize, ReviewStatus)| PhaseReview {
        id: format!("rev_{place}"),
        phase: 1,
        status,
        deliverables: vec![s("a"); place],
        comment: (place > 0).then(|| s("good")),
        created_at: TABLE_TIME,
        reviewed_at: (place > 0).then_some(TABLE_TIME),
    };
    Job {
        title: s("Shop \u{1f375}"),
        description: s("A shop\tfor \\ tea"),
        kind: Some(JobKind::Phased {
            phases: vec![
                PhaseSpec {
                    name: s("Planning"),
                    review: true,
                },
                PhaseSpec {
                    name: s("Design"),
                    review: false,
                },
            ],
            complete_on_exit: true,
        }),
        limits: JobLimits::default(),
        depends_on: vec![s("task_a"), s("task_b")],
        scheduled_for: Some(TABLE_TIME),
        state: JobState::Running,
        started_at: Some(TABLE_TIME),
        attempt: 4_294_967_295,
        process: ProcessState::Live,
        exits: 1,
        losses: 2,
        stuck: true,
        reminded: true,
        interrupts: 3,
        phase: 2,
        step: Some(ReportedStep {
            number: 1,
            of: 2,
            name: s("idea"),
        }),
        reached: StepProgress { done: 1, of: 2 },
        reworks: 1,
        verifications: 4,
        reviews: ReviewStatus::ALL
            .into_iter()
            .enumerate()
            .map(review)
            .collect(),
        questions: questions(),
        dependencies: dependencies(),
        permissions: vec![permission()],
        queued_markers: markers().into(),
        queued_messages: messages(),
        tokens: u64::MAX,
        begins_at: Some(JobCheckpoint {
            id: s("cp_1"),
            phase: 1,
            step: Some(ReportedStep {
                number: 0,
                of: 0,
                name: s(""),
            }),
        }),
        retry_of: Some(s("task_c")),
        retried_by: Some(s("task_d")),
        archived: true,
    }
}

fn empty_job() -> Job {
    Job {
        kind: Some(JobKind::Phased {
            phases: vec![],
            complete_on_exit: false,
        }),
        limits: JobLimits {
            reworks_max: 0,
            question_timeout_s: 0,
            dependency_timeout_s: 0,
            checkpoint_s: 0,
            silence_s: 0,
            losses_max: 0,
        },
        reached: StepProgress { done: 0, of: 0 },
        begins_at: Some(JobCheckpoint {
            id: s(""),
            phase: 0,
            step: None,
        }),
        ..Job::draft()
    }
}

/// The jobs of a random walk with the commands of the catalogue, always the same one.
fn walked_jobs() -> Vec<Job> {
    let (states, commands) = (JobMachine::sample_states(), JobMachine::sample_commands());
    let mut chance: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = |below: usize| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        usize::try_from(chance % u64::try_from(below).unwrap()).unwrap()
    };
    let mut job = Job::draft();
    let mut kept = Vec::new();
    for round in 0..WALK_STEPS {
        if round % WALK_KEPT_EVERY == 0 {
            kept.push(std::mem::replace(
                &mut job,
                states[next(states.len())].1.clone(),
            ));
        }
        let command = commands[next(commands.len())].1.clone();
        // A walk that ends soon says little.
        if matches!(command, Command::Cancel | Command::Delete { .. }) {
            continue;
        }
        if let Ok(step) = JobMachine::step(&job, command, TABLE_TIME) {
            job = step.next;
        }
    }
    kept
}

fn effects() -> Vec<Effect> {
    let from = [
        SpawnFrom::Start,
        SpawnFrom::Latest,
        SpawnFrom::Checkpoint(s("cp_1")),
    ];
    let events = [
        JobNotification::TaskStarted,
        JobNotification::TaskCompleted,
        JobNotification::TaskFailed,
        JobNotification::PhaseCompleted { phase: 1 },
        JobNotification::ReviewCreated { id: s("rev_1") },
        JobNotification::DependencyRequested { id: s("dep_1") },
        JobNotification::QuestionAsked { id: s("q_1") },
        JobNotification::PermissionWanted { id: s("perm_1") },
        JobNotification::BreakerTripped {
            reason: s("budget"),
        },
        JobNotification::AgentError { message: s("slow") },
    ];
    let mut all = vec![
        Effect::SendMessage {
            attempt: 0,
            number: 0,
            messages: vec![],
        },
        Effect::SendMessage {
            attempt: 1,
            number: 1,
            messages: messages(),
        },
        Effect::Interrupt {
            attempt: 1,
            number: 2,
        },
        Effect::Verify {
            verification: 1,
            phase: 2,
        },
        Effect::ZipArtifacts,
        Effect::SaveErrorLog,
        Effect::Remove,
    ];
    all.extend(from.map(|from| Effect::Spawn { attempt: 1, from }));
    all.extend(ProcessLevel::ALL.map(|want| Effect::Signal { attempt: 1, want }));
    all.extend(SnapshotReason::ALL.map(Effect::Snapshot));
    all.extend(events.map(Effect::Notify));
    all
}

fn timers() -> Vec<TimerKind> {
    vec![
        TimerKind::Scheduled,
        TimerKind::RateLimitReset,
        TimerKind::Checkpoint,
        TimerKind::Silence,
        TimerKind::Turn,
        TimerKind::Question { id: s("q_1") },
        TimerKind::Dependency { id: s("dep_1") },
    ]
}

fn run_commands() -> Vec<RunCommand> {
    let ends = [
        PhaseEnd::Merged {
            commit: "9f8e7d6".into(),
        },
        PhaseEnd::NoGit,
        PhaseEnd::ChecksRed,
        PhaseEnd::Conflict,
    ];
    let id = || "T1.1".into();
    let mut all = vec![
        RunCommand::Start { id: id() },
        RunCommand::StartAhead { id: id() },
        RunCommand::Recall { id: id() },
        RunCommand::Complete { id: id() },
        RunCommand::Fail {
            id: id(),
            reason: Some("망".into()),
            retry: true,
        },
        RunCommand::Fail {
            id: id(),
            reason: None,
            retry: false,
        },
        RunCommand::ForceComplete {
            id: id(),
            by: Actor::Person,
            reason: None,
        },
        RunCommand::ForceComplete {
            id: id(),
            by: Actor::Agent,
            reason: Some("so".into()),
        },
        RunCommand::Retry { id: id() },
        RunCommand::Lost { gone: vec![] },
        RunCommand::Lost {
            gone: vec![id(), "T1.2".into()],
        },
        RunCommand::SetWorktree { path: None },
        RunCommand::SetWorktree {
            path: Some("../t".into()),
        },
    ];
    all.extend(ends.into_iter().enumerate().map(|(place, end)| {
        let worktree = (place > 0).then(|| "w".into());
        RunCommand::PhaseFinish {
            phase: 1,
            end,
            worktree,
        }
    }));
    all
}

fn all_stored() -> Vec<Stored> {
    let mut jobs = vec![full_job(), empty_job()];
    jobs.extend(lives().into_iter().map(|life| Job {
        state: life,
        ..Job::draft()
    }));
    jobs.push(Job {
        kind: Some(JobKind::Custom),
        ..Job::draft()
    });
    jobs.extend(JobMachine::sample_states().into_iter().map(|(_, job)| job));
    jobs.extend(walked_jobs());
    let mut all: Vec<Stored> = jobs.iter().map(|it| stored("job", it)).collect();
    all.extend(effects().iter().map(|it| stored("effect", it)));
    all.extend(timers().iter().map(|it| stored("timer", it)));
    let steps = run_commands().into_iter();
    let steps = steps.map(|command| RecordedStep {
        at: TABLE_TIME,
        command,
    });
    all.extend(steps.map(|it| stored("step of a run", &it)));
    all
}

/// Compares a text with the file of that name, or writes the file when it is blessed.
#[track_caller]
fn is_as_kept(name: &str, now: &str) {
    let path = format!("{}/tests/stored/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BOWLINE_BLESS").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    for (number, (kept, now)) in kept.lines().zip(now.lines()).enumerate() {
        assert_eq!(now, kept, "line {} of {name}", number + 1);
    }
    assert_eq!(now.lines().count(), kept.lines().count(), "{name}");
}

#[test]
fn texts_are_those_of_the_program_before() {
    let lines: Vec<String> = all_stored().into_iter().map(|it| it.text + "\n").collect();
    is_as_kept("texts.jsonl", &lines.concat());
}

/// The places of a tree, each with its path for people: numbers of items say nothing.
fn places(value: &Value, pointer: &str, path: &str, into: &mut Vec<(String, String)>) {
    into.push((pointer.to_owned(), path.to_owned()));
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let (pointer, path) = (format!("{pointer}/{key}"), format!("{path}/{key}"));
                places(value, &pointer, &path, into);
            }
        }
        Value::Array(items) => {
            for (number, value) in items.iter().enumerate() {
                places(
                    value,
                    &format!("{pointer}/{number}"),
                    &format!("{path}/*"),
                    into,
                );
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What stands at a place of the text that is written for a damaged one, unless it is refused.
fn outcome(stored: &Stored, damaged: &Value, pointer: &str) -> Option<String> {
    let again = (stored.again)(&damaged.to_string())?;
    let again: Value = serde_json::from_str(&again).unwrap();
    let there = again.pointer(pointer);
    Some(there.map_or_else(|| "absent".into(), Value::to_string))
}

/// What is accepted at a place, and what it reads as: all else is refused.
fn accepted_at(stored: &Stored, whole: &Value, pointer: &str) -> Vec<String> {
    let mut accepted = Vec::new();
    for text in ["null", "true", "-1", "1.5", "4294967296", "\"x\"", "{}"] {
        let mut damaged = whole.clone();
        *damaged.pointer_mut(pointer).unwrap() = serde_json::from_str(text).unwrap();
        let outcome = outcome(stored, &damaged, pointer);
        accepted.extend(outcome.map(|it| format!("{text} is {it}")));
    }
    let mut damaged = whole.clone();
    let parent = pointer.rsplit_once('/');
    let object = parent.and_then(|(parent, key)| Some((damaged.pointer_mut(parent)?, key)));
    if let Some((Value::Object(map), key)) = object {
        map.remove(key);
        let outcome = outcome(stored, &damaged, pointer);
        accepted.extend(outcome.map(|it| format!("absent is {it}")));
    }
    let mut damaged = whole.clone();
    if let Some(Value::Object(map)) = damaged.pointer_mut(pointer) {
        map.insert(s("later"), 1.into());
        if let Some(again) = (stored.again)(&damaged.to_string()) {
            assert_eq!(again, stored.text);
            accepted.push(s("an unknown key is passed over"));
        }
    }
    accepted
}

#[test]
fn damaged_texts_read_as_by_the_program_before() {
    let mut lines: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for stored in all_stored() {
        let whole: Value = serde_json::from_str(&stored.text).unwrap();
        let mut found = Vec::new();
        places(&whole, "", stored.kind, &mut found);
        for (pointer, path) in found {
            let accepted = accepted_at(&stored, &whole, &pointer);
            lines.entry(path).or_default().extend(accepted);
        }
    }
    let line = |(path, accepted): (String, BTreeSet<String>)| {
        let accepted: Vec<String> = accepted.into_iter().collect();
        match accepted.is_empty() {
            true => format!("{path}: all is refused\n"),
            false => format!("{path}: {}\n", accepted.join(", ")),
        }
    };
    is_as_kept(
        "damage.txt",
        &lines.into_iter().map(line).collect::<String>(),
    );
}
