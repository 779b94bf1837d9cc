//! Random walks over a job: invariants that hold after any commands.
#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

use super::play::{NOON, Play, assign, phase_complete};
use super::*;
use crate::kernel::{CodedRefusal as _, Machine as _, Timestamp};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;

/// All possible pairs of task and agent status.
pub(super) const PAIRS: [(&str, &str); 11] = [
    ("draft", "idle"),
    ("pending", "idle"),
    ("in_progress", "running"),
    ("in_progress", "paused"),
    ("in_progress", "waiting_dependency"),
    ("in_progress", "waiting_question"),
    ("in_progress", "waiting_review"),
    ("review", "waiting_review"),
    ("completed", "completed"),
    ("failed", "failed"),
    ("failed", "idle"),
];

/// A command whose ids and numbers are filled in from the current job.
#[derive(Debug, Clone)]
enum Move {
    Act(JobAction),
    Say(AgentMarker),
    SayStale(AgentMarker),
    Assign,
    Passed,
    Failed,
    Exit(i32),
    SpawnFailed,
    Recover,
    RateLimitReset,
    QuestionTimeout,
    DependencyTimeout,
    Breaker(bool),
    Restore(u32),
    Stuck,
    Evict,
}

fn fill(job: &Job, tick: usize, wanted: Move) -> Command {
    let attempt = job.attempt;
    let question = job
        .open_question()
        .map_or_else(|| "q_none".into(), |question| question.id.clone());
    let dependency = job
        .open_dependency()
        .map_or_else(|| "dep_none".into(), |needed| needed.id.clone());
    let review = job
        .open_review()
        .map_or_else(|| "rev_none".into(), |review| review.id.clone());
    let permission = job
        .permissions
        .first()
        .map_or_else(|| "perm_none".into(), |wanted| wanted.id.clone());
    match wanted {
        Move::Stuck => Command::Stuck { attempt },
        Move::Evict => Command::EvictStoppedAgent { attempt },
        Move::Act(action) => match action {
            JobAction::Submit => Command::Submit,
            JobAction::Delete => Command::Delete { dependents: vec![] },
            JobAction::Cancel => Command::Cancel,
            JobAction::Pause => Command::Pause,
            JobAction::Resume => Command::Resume,
            JobAction::Approve => Command::Approve {
                review,
                comment: None,
            },
            JobAction::RequestChanges => Command::RequestChanges {
                review,
                feedback: "more".into(),
            },
            JobAction::Archive => Command::Archive,
            JobAction::Retry => Command::Retry {
                new: "task_new".into(),
            },
            JobAction::Answer => Command::Answer {
                question,
                text: "yes".into(),
            },
            JobAction::Provide => Command::Provide { dependency },
            JobAction::Reject => Command::Reject {
                dependency,
                reason: "no".into(),
            },
            JobAction::Edit => Command::Edit(DraftChanges::default()),
            JobAction::Skip => Command::Skip { question },
            JobAction::Permit => Command::Permit { permission },
            JobAction::Deny => Command::Deny {
                permission,
                reason: "no".into(),
            },
            JobAction::Checkpoint => Command::SaveCheckpoint,
            JobAction::Restore => restore(1),
            JobAction::Fork => Command::Fork {
                new: "task_fork".into(),
                checkpoint: checkpoint(1),
            },
            JobAction::Say => Command::SendMessage {
                id: format!("say_{tick}"),
                text: "tea".into(),
            },
            JobAction::Interrupt => Command::Interrupt,
        },
        Move::Say(marker) => Command::MarkerRead {
            attempt,
            marker: fresh(marker, tick),
        },
        Move::SayStale(marker) => Command::MarkerRead {
            attempt: attempt.saturating_sub(1),
            marker,
        },
        Move::Assign => assign(&[]),
        Move::Passed => Command::VerificationPassed {
            verification: job.verifications,
            review: format!("rev_{tick}"),
            deliverables: 9,
        },
        Move::Failed => Command::VerificationFailed {
            verification: job.verifications,
            issues: vec!["short".into()],
        },
        Move::Exit(code) => Command::AgentExit {
            attempt,
            code: Some(code),
        },
        Move::SpawnFailed => Command::SpawnFailed {
            attempt,
            message: "no such program".into(),
        },
        Move::Recover => Command::Recover { attempt },
        Move::RateLimitReset => Command::RateLimitReset,
        Move::QuestionTimeout => Command::QuestionTimeout { question },
        Move::DependencyTimeout => Command::DependencyTimeout { dependency },
        Move::Breaker(ends) => Command::Breaker {
            reason: "tokens".into(),
            ends,
            until: None,
        },
        Move::Restore(phase) => restore(phase),
    }
}

fn restore(phase: u32) -> Command {
    Command::Restore {
        checkpoint: checkpoint(phase),
        held_by: None,
    }
}

fn checkpoint(phase: u32) -> JobCheckpoint {
    JobCheckpoint {
        id: "cp_1".into(),
        phase,
        step: None,
    }
}

/// Gives every question and request an id of its own, as the reader of the output does.
fn fresh(marker: AgentMarker, tick: usize) -> AgentMarker {
    match marker {
        AgentMarker::Question(question) => AgentMarker::Question(AgentQuestion {
            id: format!("q_{tick}"),
            ..question
        }),
        AgentMarker::DependencyRequest(needed) => AgentMarker::DependencyRequest(AgentDependency {
            id: format!("dep_{tick}"),
            ..needed
        }),
        AgentMarker::Permission(wanted) => AgentMarker::Permission(PermissionRequest {
            id: format!("perm_{tick}"),
            ..wanted
        }),
        AgentMarker::TurnEnded { .. } => AgentMarker::TurnEnded {
            question: format!("q_{tick}"),
        },
        marker @ (AgentMarker::PhaseComplete { .. }
        | AgentMarker::CustomComplete
        | AgentMarker::RateLimit { .. }
        | AgentMarker::ErrorFatal { .. }
        | AgentMarker::ErrorNotify { .. }
        | AgentMarker::Step(_)
        | AgentMarker::Withdrawn { .. }
        | AgentMarker::TurnLimited
        | AgentMarker::Malformed { .. }) => marker,
    }
}

fn any_marker() -> impl Strategy<Value = AgentMarker> {
    prop_oneof![
        6 => (1u32..4).prop_map(phase_complete),
        1 => Just(AgentMarker::CustomComplete),
        4 => ("[ab]", any::<bool>()).prop_map(|(text, required)| {
            AgentMarker::Question(AgentQuestion::without_options("", text, required))
        }),
        4 => ("[AB]", any::<bool>()).prop_map(|(name, required)| {
            AgentMarker::DependencyRequest(AgentDependency::on_env_variable("", name, required))
        }),
        2 => (0i64..600).prop_map(|seconds| AgentMarker::RateLimit { until: Timestamp(NOON.0 + seconds) }),
        1 => Just(AgentMarker::ErrorFatal { message: "gone".into(), details: None }),
        1 => Just(AgentMarker::ErrorNotify { message: "slow".into() }),
        3 => (0u32..6, 0u32..6).prop_map(|(number, of)| {
            AgentMarker::Step(ReportedStep { number, of, name: "idea".into() })
        }),
        2 => "[rs]".prop_map(|request| AgentMarker::Permission(PermissionRequest {
            id: String::new(), request, tool: "Bash".into()
        })),
        1 => "[rs]".prop_map(|request| AgentMarker::Withdrawn { request }),
        1 => Just(AgentMarker::TurnEnded { question: String::new() }),
        1 => Just(AgentMarker::TurnLimited),
        1 => Just(AgentMarker::Malformed { details: "no type".into() }),
    ]
}

fn any_move() -> impl Strategy<Value = Move> {
    // Commands that end a job are rare, so that walks get far.
    let going = [
        JobAction::Pause,
        JobAction::Resume,
        JobAction::Resume,
        JobAction::Approve,
        JobAction::Approve,
        JobAction::RequestChanges,
        JobAction::Answer,
        JobAction::Answer,
        JobAction::Provide,
        JobAction::Provide,
        JobAction::Permit,
        JobAction::Permit,
        JobAction::Say,
    ];
    prop_oneof![
        12 => prop::sample::select(going.to_vec()).prop_map(Move::Act),
        3 => prop::sample::select(JobAction::ALL.to_vec()).prop_map(Move::Act),
        12 => any_marker().prop_map(Move::Say),
        1 => any_marker().prop_map(Move::SayStale),
        1 => Just(Move::Assign),
        5 => Just(Move::Passed),
        2 => Just(Move::Failed),
        2 => (0i32..2).prop_map(Move::Exit),
        1 => Just(Move::Recover),
        2 => Just(Move::RateLimitReset),
        1 => Just(Move::QuestionTimeout),
        1 => prop_oneof![Just(Move::Stuck), Just(Move::Evict)],
        1 => prop_oneof![
            Just(Move::DependencyTimeout), Just(Move::SpawnFailed),
            any::<bool>().prop_map(Move::Breaker), (0u32..4).prop_map(Move::Restore)
        ],
    ]
}

fn any_kind() -> impl Strategy<Value = JobKind> {
    let phases = prop::collection::vec(any::<bool>(), 1..4);
    prop_oneof![
        1 => Just(JobKind::Custom),
        4 => (phases, any::<bool>()).prop_map(|(reviews, complete_on_exit)| JobKind::Phased {
            phases: reviews
                .into_iter()
                .map(|review| PhaseSpec { name: "phase".into(), review })
                .collect(),
            complete_on_exit,
        }),
    ]
}

fn is_final(job: &Job) -> bool {
    matches!(job.state, JobState::Completed { .. } | JobState::Failed(_))
}

/// Walks; after every accepted command `check` gets the job before, the command, and the step.
fn walk(
    kind: JobKind,
    moves: Vec<(Move, i64)>,
    mut check: impl FnMut(&Job, &Command, &Job, &[Effect]) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut job = Play::new(kind).job;
    let mut now = NOON;
    let start = [(Move::Act(JobAction::Submit), 0)];
    for (tick, (wanted, seconds)) in start.into_iter().chain(moves).enumerate() {
        now = Timestamp(now.0 + seconds);
        let command = fill(&job, tick, wanted);
        if let Ok(step) = JobMachine::step(&job, command.clone(), now) {
            check(&job, &command, &step.next, &step.effects)?;
            job = step.next;
        }
    }
    Ok(())
}

fn moves() -> impl Strategy<Value = Vec<(Move, i64)>> {
    let first = prop_oneof![
        15 => Just(Move::Assign),
        1 => any_move(),
    ];
    let rest = prop::collection::vec((any_move(), 0i64..60), 0..80);
    (first, rest).prop_map(|(first, mut moves)| {
        moves.insert(0, (first, 0));
        moves
    })
}

/// Checks the walks themselves: they must reach every pair.
#[test]
fn the_walks_reach_every_pair() {
    let mut runner = TestRunner::deterministic();
    let mut reached = BTreeSet::from([PAIRS[0]]);
    for _ in 0..300 {
        let tree = (any_kind(), moves()).new_tree(&mut runner);
        let (kind, moves) = tree.expect("the strategies filter nothing").current();
        let walked = walk(kind, moves, |_, _, job, _| {
            reached.insert((job.task_status().name(), job.agent_status().name()));
            Ok(())
        });
        assert!(walked.is_ok(), "{walked:?}");
    }
    assert_eq!(reached, BTreeSet::from(PAIRS));
}

proptest! {
    #[test]
    fn every_invariant_holds_wherever_commands_lead(kind in any_kind(), moves in moves()) {
        walk(kind, moves, |_, _, job, _| {
            prop_assert_eq!(JobMachine::violations(job), vec![]);
            let pair = (job.task_status().name(), job.agent_status().name());
            prop_assert!(PAIRS.contains(&pair), "{:?}", pair);
            let blocked = job.blocked_by().map(BlockedBy::name);
            let waits = pair.1.strip_prefix("waiting_");
            prop_assert_eq!(blocked, waits);
            Ok(())
        })?;
    }

    #[test]
    fn attempts_never_fall_and_progress_never_falls_within_a_phase(kind in any_kind(), moves in moves()) {
        walk(kind, moves, |before, command, after, _| {
            prop_assert!(after.attempt >= before.attempt);
            let restored = matches!(command, Command::Restore { .. });
            if before.phase == after.phase && !restored {
                prop_assert!(after.progress_percent() >= before.progress_percent(), "{:?}", command);
            }
            Ok(())
        })?;
    }

    #[test]
    fn an_ended_task_is_left_only_by_a_restore(kind in any_kind(), moves in moves()) {
        walk(kind, moves, |before, command, after, _| {
            if is_final(before) && before.state != after.state {
                prop_assert!(matches!(command, Command::Restore { .. }), "{:?}", command);
                prop_assert_eq!(before.task_status(), TaskStatus::Failed);
            }
            Ok(())
        })?;
    }

    #[test]
    fn the_log_leads_from_the_state_before_to_the_state_after(kind in any_kind(), moves in moves()) {
        walk(kind, moves, |before, command, after, effects| {
            let mut task = before.task_status().name();
            let mut agent = before.agent_status().name();
            for effect in effects {
                let Effect::Log(moved) = effect else { continue };
                let place = match moved.entity {
                    TransitionEntity::Task => &mut task,
                    TransitionEntity::Agent => &mut agent,
                };
                prop_assert_eq!(*place, moved.from, "{:?}", command);
                *place = moved.to;
            }
            prop_assert_eq!(task, after.task_status().name());
            prop_assert_eq!(agent, after.agent_status().name());
            Ok(())
        })?;
    }

    #[test]
    fn the_process_is_where_the_effects_bring_it(kind in any_kind(), moves in moves()) {
        let mut processes: Vec<(u32, ProcessLevel)> = vec![];
        walk(kind, moves, |_, command, after, effects| {
            // An exit or a loss is observed, not requested.
            if let Command::AgentExit { attempt, .. } | Command::Recover { attempt }
                | Command::SpawnFailed { attempt, .. } = command
            {
                processes.retain(|(number, _)| number != attempt);
            }
            for effect in effects {
                match effect {
                    Effect::Spawn { attempt, .. } => processes.push((*attempt, ProcessLevel::Running)),
                    Effect::Signal { attempt, want } => {
                        processes.retain(|(number, _)| number != attempt);
                        if *want != ProcessLevel::Ended {
                            processes.push((*attempt, *want));
                        }
                    }
                    Effect::SendMessage { attempt, .. } => {
                        prop_assert!(processes.iter().any(|(number, _)| number == attempt));
                    }
                    _ => {}
                }
            }
            let expected = match (after.process, &after.state) {
                (ProcessState::Gone, _) => vec![],
                (ProcessState::Live, JobState::Running) => vec![(after.attempt, ProcessLevel::Running)],
                (ProcessState::Live, _) => vec![(after.attempt, ProcessLevel::Paused)],
            };
            prop_assert_eq!(&processes, &expected, "{:?}", command);
            Ok(())
        })?;
    }

    #[test]
    fn allowed_actions_are_exactly_those_accepted(kind in any_kind(), moves in moves()) {
        walk(kind, moves, |_, _, job, _| {
            let allowed = allowed_actions(job);
            for action in JobAction::ALL {
                let outcome = JobMachine::step(job, fill(job, 999, Move::Act(action)), NOON);
                prop_assert_eq!(outcome.is_ok(), allowed.contains(&action), "{:?} {:?}", action, job.state);
                if let Err(refusal) = outcome {
                    prop_assert!(["not_allowed", "already_retried", "question_required"].contains(&refusal.code()), "{}", refusal);
                }
            }
            Ok(())
        })?;
    }
}
