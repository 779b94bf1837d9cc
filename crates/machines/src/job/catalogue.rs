//! The representative states and commands of a job of two reviewed phases.

use super::{
    Checkpoint, Command, Dependency, Edit, Effect, Job, JobMachine, Kind, Marker, Message,
    Permission, Question, StepAt,
};
use crate::kernel::{Machine as _, Timestamp};
use crate::table::{AT, Catalogue, EARLIER};
use std::collections::BTreeSet;

/// A rate limit that is over when the table is computed.
const OVER: Timestamp = Timestamp(EARLIER.0 + 60);
/// The end of a rate limit that lasts beyond that time.
const LATER: Timestamp = Timestamp(AT.0 + 60);

impl Catalogue for JobMachine {
    const KIND: &'static str = "job";

    fn states() -> Vec<(&'static str, Job)> {
        let draft = Job {
            title: "Shop".into(),
            description: "A shop for tea".into(),
            kind: Some(Kind::reviewed(["Planning", "Design"])),
            ..Job::draft()
        };
        let pending = after(&draft, [Command::Submit]);
        let assign = Command::Assign {
            completed: BTreeSet::new(),
            held_by: None,
        };
        let running = after(&pending, [assign]);
        let once_ended = Command::AgentExit {
            attempt: 1,
            code: Some(1),
        };
        let verifying = after(&running, [said(phase_complete(1))]);
        let review = after(&verifying, [passed(1)]);
        let approve = || Command::Approve {
            review: "rev_1".into(),
            comment: None,
        };
        let second = after(&review, [approve()]);
        let mut last_review = after(&second, [said(phase_complete(2)), passed(2)]);
        // The commands below name one review only.
        for (review, id) in last_review.reviews.iter_mut().zip(["rev_0", "rev_1"]) {
            review.id = id.into();
        }
        let mut last_rework = verifying.clone();
        last_rework.reworks = last_rework.limits.reworks_max;
        let gone = after(&verifying, [once_ended.clone(), passed(1)]);
        let limited = |until| after(&running, [said(Marker::RateLimit { until })]);
        vec![
            ("empty draft", Job::draft()),
            ("draft", draft),
            ("pending", pending.clone()),
            ("running", running.clone()),
            ("running, respawned", after(&running, [once_ended])),
            (
                "running, lost once",
                after(&running, [Command::Recover { attempt: 1 }]),
            ),
            ("running, reminded", after(&running, [said(turn_ended())])),
            ("paused by a person", after(&running, [Command::Pause])),
            ("paused by a rate limit", limited(OVER)),
            ("paused by a breaker", after(&running, [breaker(false)])),
            ("waiting for an answer", after(&running, [said(question())])),
            (
                "waiting for two answers",
                after(&running, [said(question()), said(second_question())]),
            ),
            (
                "waiting for a dependency",
                after(&running, [said(dependency())]),
            ),
            (
                "waiting for a permission",
                after(&running, [said(permission())]),
            ),
            (
                "waiting, a phase done after it",
                after(&running, [said(question()), said(phase_complete(1))]),
            ),
            ("verifying", verifying),
            ("verifying, reworks used up", last_rework),
            ("in review", review),
            ("in review, agent gone", gone),
            ("last review", last_review.clone()),
            ("completed", after(&last_review, [approve()])),
            ("failed", after(&running, [Command::Cancel])),
            ("cancelled in the queue", after(&pending, [Command::Cancel])),
        ]
    }

    fn commands() -> Vec<(&'static str, Command)> {
        let exit = |attempt, code| Command::AgentExit {
            attempt,
            code: Some(code),
        };
        let mut all = vec![
            (
                "edit",
                Command::Edit(Edit {
                    title: Some("Tea shop".into()),
                    ..Edit::default()
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
            ("phase 1 complete", said(phase_complete(1))),
            ("phase 2 complete", said(phase_complete(2))),
            ("custom complete", said(Marker::CustomComplete)),
            ("question", said(second_question())),
            ("dependency request", said(dependency())),
            ("permission wanted", said(permission())),
            ("turn ended", said(turn_ended())),
            ("turn ended at a limit", said(Marker::TurnLimited)),
            (
                "request withdrawn",
                said(Marker::Withdrawn {
                    request: "r-1".into(),
                }),
            ),
            ("rate limit", said(Marker::RateLimit { until: LATER })),
            (
                "fatal error",
                said(Marker::ErrorFatal {
                    message: "disk gone".into(),
                    details: None,
                }),
            ),
            (
                "error to notify",
                said(Marker::ErrorNotify {
                    message: "slow".into(),
                }),
            ),
            (
                "step",
                said(Marker::Step(StepAt {
                    number: 1,
                    of: 2,
                    name: "idea".into(),
                })),
            ),
            (
                "malformed marker",
                said(Marker::Malformed {
                    details: "no type".into(),
                }),
            ),
            (
                "tokens",
                Command::Tokens {
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
            ("make room", Command::Shed { attempt: 1 }),
            ("checkpoint due", Command::CheckpointDue),
            ("verification passed", passed(1)),
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

    fn label(job: &Job) -> String {
        let (task, agent) = (job.task_status().name(), job.agent_status().name());
        format!("{task}, {agent}")
    }

    fn effect(effect: &Effect) -> String {
        match effect {
            Effect::Log(moved) => {
                let (entity, trigger) = (moved.entity.name(), moved.trigger.name());
                format!("{entity} {} → {} ({trigger})", moved.from, moved.to)
            }
            Effect::Spawn { attempt, .. } => format!("spawn {attempt}"),
            Effect::Signal { attempt, want } => format!("want {attempt} {}", want.name()),
            Effect::Tell { say, .. } => {
                let say: Vec<&str> = say.iter().map(Message::name).collect();
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
            Command::Say {
                id: "say_1".into(),
                text: "Use green.".into(),
            },
        ),
        ("take back", Command::Unsay { id: "say_1".into() }),
        ("interrupt", Command::Interrupt),
        ("checkpoint", Command::SaveCheckpoint),
        (
            "fork",
            Command::Fork {
                new: "task_e".into(),
                checkpoint: checkpoint(),
            },
        ),
        ("pause", Command::Pause),
        ("resume", Command::Resume),
        ("rate limit reset", Command::RateLimitReset),
        ("breaker", breaker(false)),
        ("breaker that ends", breaker(true)),
        ("cancel", Command::Cancel),
        (
            "restore",
            Command::Restore {
                checkpoint: checkpoint(),
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
fn after<const N: usize>(job: &Job, commands: [Command; N]) -> Job {
    let mut job = job.clone();
    for command in commands {
        if let Ok(step) = JobMachine::step(&job, command, EARLIER) {
            job = step.next;
        }
    }
    job
}

/// Makes a marker command of the first attempt.
fn said(marker: Marker) -> Command {
    Command::Said { attempt: 1, marker }
}

fn phase_complete(phase: u32) -> Marker {
    Marker::PhaseComplete {
        phase,
        deliverables: vec!["docs/planning/01_idea.md".into()],
    }
}

fn question() -> Marker {
    Marker::Question(Question::asked("q_1", "Which tea?", false))
}

fn second_question() -> Marker {
    Marker::Question(Question::asked("q_2", "Which cup?", true))
}

fn dependency() -> Marker {
    Marker::DependencyRequest(Dependency::requested("dep_1", "TEA_API_KEY", true))
}

fn permission() -> Marker {
    Marker::Permission(Permission {
        id: "perm_1".into(),
        request: "r-1".into(),
        tool: "Bash".into(),
    })
}

fn turn_ended() -> Marker {
    Marker::TurnEnded {
        question: "q_turn".into(),
    }
}

fn checkpoint() -> Checkpoint {
    Checkpoint {
        id: "cp_1".into(),
        phase: 1,
        step: None,
    }
}

fn passed(verification: u32) -> Command {
    Command::VerificationPassed {
        verification,
        review: format!("rev_{verification}"),
        deliverables: 9,
    }
}

fn breaker(ends: bool) -> Command {
    Command::Breaker {
        reason: "budget of 1000 tokens".into(),
        ends,
        until: None,
    }
}
