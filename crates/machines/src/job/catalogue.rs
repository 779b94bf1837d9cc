//! The representative states and commands of a job of two reviewed phases.

use super::{
    AgentDependency, AgentMarker, AgentQuestion, Command, DraftChanges, Effect, Job, JobCheckpoint,
    JobKind, JobMachine, MessageToAgent, PermissionRequest, ReportedStep,
};
use crate::kernel::{Machine as _, Timestamp};
use crate::table::{MachineCatalogue, PAST_TIME, TABLE_TIME};
use std::collections::BTreeSet;

/// A rate limit that is over when the table is computed.
const OVER: Timestamp = Timestamp(PAST_TIME.0 + 60);
/// The end of a rate limit that lasts beyond that time.
const LATER: Timestamp = Timestamp(TABLE_TIME.0 + 60);

impl MachineCatalogue for JobMachine {
    const KIND: &'static str = "job";

    fn sample_states() -> Vec<(&'static str, Job)> {
        let draft = Job {
            title: "Shop".into(),
            description: "A shop for tea".into(),
            kind: Some(JobKind::with_reviewed_phases(["Planning", "Design"])),
            ..Job::draft()
        };
        let pending = apply_all(&draft, [Command::Submit]);
        let assign = Command::Assign {
            completed: BTreeSet::new(),
            held_by: None,
        };
        let running = apply_all(&pending, [assign]);
        let once_ended = Command::AgentExit {
            attempt: 1,
            code: Some(1),
        };
        let verifying = apply_all(&running, [marker_command(phase_complete(1))]);
        let review = apply_all(&verifying, [verification_passed(1)]);
        let approve = || Command::Approve {
            review: "rev_1".into(),
            comment: None,
        };
        let second = apply_all(&review, [approve()]);
        let mut last_review = apply_all(
            &second,
            [marker_command(phase_complete(2)), verification_passed(2)],
        );
        // The commands below name one review only.
        for (review, id) in last_review.reviews.iter_mut().zip(["rev_0", "rev_1"]) {
            review.id = id.into();
        }
        let mut last_rework = verifying.clone();
        last_rework.reworks = last_rework.limits.reworks_max;
        let gone = apply_all(&verifying, [once_ended.clone(), verification_passed(1)]);
        let limited =
            |until| apply_all(&running, [marker_command(AgentMarker::RateLimit { until })]);
        vec![
            ("empty draft", Job::draft()),
            ("draft", draft),
            ("pending", pending.clone()),
            ("running", running.clone()),
            ("running, respawned", apply_all(&running, [once_ended])),
            (
                "running, lost once",
                apply_all(&running, [Command::Recover { attempt: 1 }]),
            ),
            (
                "running, reminded",
                apply_all(&running, [marker_command(turn_ended())]),
            ),
            ("paused by a person", apply_all(&running, [Command::Pause])),
            ("paused by a rate limit", limited(OVER)),
            (
                "paused by a breaker",
                apply_all(&running, [breaker_command(false)]),
            ),
            (
                "waiting for an answer",
                apply_all(&running, [marker_command(first_question())]),
            ),
            (
                "waiting for two answers",
                apply_all(
                    &running,
                    [
                        marker_command(first_question()),
                        marker_command(second_question()),
                    ],
                ),
            ),
            (
                "waiting for a dependency",
                apply_all(&running, [marker_command(sample_dependency())]),
            ),
            (
                "waiting for a permission",
                apply_all(&running, [marker_command(sample_permission())]),
            ),
            (
                "waiting, a phase done after it",
                apply_all(
                    &running,
                    [
                        marker_command(first_question()),
                        marker_command(phase_complete(1)),
                    ],
                ),
            ),
            ("verifying", verifying),
            ("verifying, reworks used up", last_rework),
            ("in review", review),
            ("in review, agent gone", gone),
            ("last review", last_review.clone()),
            ("completed", apply_all(&last_review, [approve()])),
            ("failed", apply_all(&running, [Command::Cancel])),
            (
                "cancelled in the queue",
                apply_all(&pending, [Command::Cancel]),
            ),
        ]
    }

    fn sample_commands() -> Vec<(&'static str, Command)> {
        let exit = |attempt, code| Command::AgentExit {
            attempt,
            code: Some(code),
        };
        let mut all = vec![
            (
                "edit",
                Command::Edit(DraftChanges {
                    title: Some("Tea shop".into()),
                    ..DraftChanges::default()
                }),
            ),
            ("submit", Command::Submit),
            (
                "assign",
                Command::Assign {
                    completed: BTreeSet::new(),
                    held_by: None,
                },
            ),
            (
                "assign (workspace busy)",
                Command::Assign {
                    completed: BTreeSet::new(),
                    held_by: Some("task_b".into()),
                },
            ),
            (
                "redirect",
                Command::Redirect {
                    from: "task_a".into(),
                    to: "task_b".into(),
                },
            ),
            ("phase 1 complete", marker_command(phase_complete(1))),
            ("phase 2 complete", marker_command(phase_complete(2))),
            (
                "custom complete",
                marker_command(AgentMarker::CustomComplete),
            ),
            ("question", marker_command(second_question())),
            ("dependency request", marker_command(sample_dependency())),
            ("permission wanted", marker_command(sample_permission())),
            ("turn ended", marker_command(turn_ended())),
            (
                "turn ended at a limit",
                marker_command(AgentMarker::TurnLimited),
            ),
            (
                "request withdrawn",
                marker_command(AgentMarker::Withdrawn {
                    request: "r-1".into(),
                }),
            ),
            (
                "rate limit",
                marker_command(AgentMarker::RateLimit { until: LATER }),
            ),
            (
                "fatal error",
                marker_command(AgentMarker::ErrorFatal {
                    message: "disk gone".into(),
                    details: None,
                }),
            ),
            (
                "error to notify",
                marker_command(AgentMarker::ErrorNotify {
                    message: "slow".into(),
                }),
            ),
            (
                "step",
                marker_command(AgentMarker::Step(ReportedStep {
                    number: 1,
                    of: 2,
                    name: "idea".into(),
                })),
            ),
            (
                "malformed marker",
                marker_command(AgentMarker::Malformed {
                    details: "no type".into(),
                }),
            ),
            (
                "tokens",
                Command::CountTokens {
                    attempt: 1,
                    used: 10,
                },
            ),
            ("agent exit 0", exit(1, 0)),
            ("agent exit of attempt 2", exit(2, 1)),
            (
                "spawn failed",
                Command::SpawnFailed {
                    attempt: 1,
                    message: "no such program".into(),
                },
            ),
            ("recover", Command::Recover { attempt: 1 }),
            ("recover attempt 2", Command::Recover { attempt: 2 }),
            ("stuck", Command::Stuck { attempt: 1 }),
            ("make room", Command::EvictStoppedAgent { attempt: 1 }),
            ("checkpoint due", Command::CheckpointDue),
            ("verification passed", verification_passed(1)),
            (
                "verification failed",
                Command::VerificationFailed {
                    verification: 1,
                    issues: vec!["01_idea.md is too short".into()],
                },
            ),
        ];
        all.extend(persons_commands());
        all
    }

    fn state_label(job: &Job) -> String {
        let (task, agent) = (job.task_status().name(), job.agent_status().name());
        format!("{task}, {agent}")
    }

    fn describe_effect(effect: &Effect) -> String {
        match effect {
            Effect::Log(moved) => {
                let (entity, trigger) = (moved.entity.name(), moved.trigger.name());
                format!("{entity} {} → {} ({trigger})", moved.from, moved.to)
            }
            Effect::Spawn { attempt, .. } => format!("spawn {attempt}"),
            Effect::Signal { attempt, want } => format!("want {attempt} {}", want.name()),
            Effect::SendMessage { messages: say, .. } => {
                let say: Vec<&str> = say.iter().map(MessageToAgent::name).collect();
                format!("tell [{}]", say.join(" "))
            }
            Effect::Interrupt { attempt, .. } => format!("interrupt {attempt}"),
            Effect::Snapshot(reason) => format!("snapshot {}", reason.name()),
            Effect::Verify { verification, .. } => format!("verify {verification}"),
            Effect::Notify(event) => format!("notify {}", event.name()),
            Effect::Timer { kind, .. } => format!("timer {}", kind.name()),
            Effect::Enqueue
            | Effect::RemoveFromQueue
            | Effect::ZipArtifacts
            | Effect::SaveErrorLog
            | Effect::CreateRetry { .. }
            | Effect::CreateFork { .. }
            | Effect::Remove => effect.name().replace('_', " "),
        }
    }
}

fn persons_commands() -> Vec<(&'static str, Command)> {
    vec![
        (
            "approve",
            Command::Approve {
                review: "rev_1".into(),
                comment: None,
            },
        ),
        (
            "request changes",
            Command::RequestChanges {
                review: "rev_1".into(),
                feedback: "more about tea".into(),
            },
        ),
        (
            "answer",
            Command::Answer {
                question: "q_1".into(),
                text: "green".into(),
            },
        ),
        (
            "skip",
            Command::Skip {
                question: "q_1".into(),
            },
        ),
        (
            "question timeout",
            Command::QuestionTimeout {
                question: "q_1".into(),
            },
        ),
        (
            "provide",
            Command::Provide {
                dependency: "dep_1".into(),
            },
        ),
        (
            "reject",
            Command::Reject {
                dependency: "dep_1".into(),
                reason: "no account".into(),
            },
        ),
        (
            "dependency timeout",
            Command::DependencyTimeout {
                dependency: "dep_1".into(),
            },
        ),
        (
            "permit",
            Command::Permit {
                permission: "perm_1".into(),
            },
        ),
        (
            "deny",
            Command::Deny {
                permission: "perm_1".into(),
                reason: "not here".into(),
            },
        ),
        (
            "say",
            Command::SendMessage {
                id: "say_1".into(),
                text: "Use green.".into(),
            },
        ),
        ("take back", Command::WithdrawMessage { id: "say_1".into() }),
        ("interrupt", Command::Interrupt),
        ("checkpoint", Command::SaveCheckpoint),
        (
            "fork",
            Command::Fork {
                new: "task_e".into(),
                checkpoint: sample_checkpoint(),
            },
        ),
        ("pause", Command::Pause),
        ("resume", Command::Resume),
        ("rate limit reset", Command::RateLimitReset),
        ("breaker", breaker_command(false)),
        ("breaker that ends", breaker_command(true)),
        ("cancel", Command::Cancel),
        (
            "restore",
            Command::Restore {
                checkpoint: sample_checkpoint(),
                held_by: None,
            },
        ),
        (
            "retry",
            Command::Retry {
                new: "task_c".into(),
            },
        ),
        ("archive", Command::Archive),
        (
            "delete",
            Command::Delete {
                dependents: Vec::new(),
            },
        ),
        (
            "delete, others depend on it",
            Command::Delete {
                dependents: vec!["task_d".into()],
            },
        ),
    ]
}

/// Applies commands, all of which must be legal: the test of the labels would show one that is not.
fn apply_all<const N: usize>(job: &Job, commands: [Command; N]) -> Job {
    let mut job = job.clone();
    for command in commands {
        if let Ok(step) = JobMachine::step(&job, command, PAST_TIME) {
            job = step.next;
        }
    }
    job
}

/// Makes a marker command of the first attempt.
fn marker_command(marker: AgentMarker) -> Command {
    Command::MarkerRead { attempt: 1, marker }
}

fn phase_complete(phase: u32) -> AgentMarker {
    AgentMarker::PhaseComplete {
        phase,
        deliverables: vec!["docs/planning/01_idea.md".into()],
    }
}

fn first_question() -> AgentMarker {
    AgentMarker::Question(AgentQuestion::without_options("q_1", "Which tea?", false))
}

fn second_question() -> AgentMarker {
    AgentMarker::Question(AgentQuestion::without_options("q_2", "Which cup?", true))
}

fn sample_dependency() -> AgentMarker {
    AgentMarker::DependencyRequest(AgentDependency::on_env_variable(
        "dep_1",
        "TEA_API_KEY",
        true,
    ))
}

fn sample_permission() -> AgentMarker {
    AgentMarker::Permission(PermissionRequest {
        id: "perm_1".into(),
        request: "r-1".into(),
        tool: "Bash".into(),
    })
}

fn turn_ended() -> AgentMarker {
    AgentMarker::TurnEnded {
        question: "q_turn".into(),
    }
}

fn sample_checkpoint() -> JobCheckpoint {
    JobCheckpoint {
        id: "cp_1".into(),
        phase: 1,
        step: None,
    }
}

fn verification_passed(verification: u32) -> Command {
    Command::VerificationPassed {
        verification,
        review: format!("rev_{verification}"),
        deliverables: 9,
    }
}

fn breaker_command(ends: bool) -> Command {
    Command::Breaker {
        reason: "budget of 1000 tokens".into(),
        ends,
        until: None,
    }
}
