//! Named rules of jobs, one by one.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::play::{NOON, Play, assign, phase_complete};
use super::*;
use crate::kernel::{CodedRefusal as _, Machine as _, Timestamp};
use crate::table::MachineCatalogue as _;

fn ask(id: &str, text: &str) -> AgentMarker {
    AgentMarker::Question(AgentQuestion::without_options(id, text, true))
}

fn need(id: &str, required: bool) -> AgentMarker {
    AgentMarker::DependencyRequest(AgentDependency::on_env_variable(
        id,
        "STRIPE_SECRET_KEY",
        required,
    ))
}

fn answer(question: &str, text: &str) -> Command {
    Command::Answer {
        question: question.into(),
        text: text.into(),
    }
}

fn step(number: u32, of: u32) -> AgentMarker {
    AgentMarker::Step(ReportedStep {
        number,
        of,
        name: "03_users".into(),
    })
}

fn fatal() -> AgentMarker {
    AgentMarker::ErrorFatal {
        message: "no network".into(),
        details: None,
    }
}

#[test]
fn an_incomplete_draft_names_what_it_lacks() {
    let refused = JobMachine::step(&Job::draft(), Command::Submit, NOON).unwrap_err();
    assert_eq!(
        (refused.code(), refused.to_string().as_str()),
        ("incomplete", "the task lacks title, type, description")
    );
}

#[test]
fn assigning_starts_the_first_process_with_the_first_phase() {
    let play = Play::running();
    assert_eq!(play.pair(), ("in_progress", "running"));
    assert_eq!(play.spawned(), Some((1, SpawnFrom::Start)));
    assert_eq!(
        play.sent_messages(),
        [MessageToAgent::PhaseStart { phase: 1 }]
    );
    assert_eq!(
        play.logged(),
        [
            "task pending → in_progress (ASSIGN)",
            "agent idle → running (ASSIGN)"
        ]
    );
}

#[test]
fn a_job_waits_for_its_time_for_other_tasks_and_for_its_workspace() {
    let mut play = Play::new(JobKind::Custom);
    play.go(Command::Edit(DraftChanges {
        depends_on: Some(vec!["task_a".into()]),
        scheduled_for: Some(Some(Timestamp(NOON.0 + 60))),
        ..DraftChanges::default()
    }));
    play.go(Command::Submit);
    assert_eq!(play.code(assign(&["task_a"])), "scheduled_later");
    play.at = Timestamp(NOON.0 + 60);
    assert_eq!(play.code(assign(&[])), "waiting_for_tasks");
    play.go(Command::Redirect {
        from: "task_a".into(),
        to: "task_b".into(),
    });
    assert_eq!(play.code(assign(&["task_a"])), "waiting_for_tasks");
    let busy = Command::Assign {
        completed: ["task_b".to_owned()].into(),
        held_by: Some("task_c".into()),
    };
    assert_eq!(play.code(busy), "workspace_busy");
    play.go(assign(&["task_b"]));
    assert_eq!(play.pair(), ("in_progress", "running"));
}

#[test]
fn a_finished_phase_is_verified_in_progress_and_then_reviewed() {
    let mut play = Play::running();
    play.say(phase_complete(1));
    assert_eq!(play.pair(), ("in_progress", "waiting_review"));
    assert_eq!(play.job.blocked_by(), Some(BlockedBy::Review));
    assert_eq!(play.wants(), [ProcessLevel::Paused]);
    assert!(matches!(play.effects[0], Effect::Signal { .. }));
    let Effect::Log(moved) = &play.effects[1] else {
        panic!("{:?}", play.effects)
    };
    assert_eq!(moved.metadata, [("phase", TransitionFact::Number(1))]);
    play.go(Command::VerificationPassed {
        verification: 1,
        review: "rev_a".into(),
        deliverables: 7,
    });
    // The number of files on disk counts, not the number that the agent reports.
    let found = play.effects.iter().find_map(|effect| match effect {
        Effect::Log(moved) => Some(moved.metadata.clone()),
        _ => None,
    });
    let metadata = vec![
        ("phase", TransitionFact::Number(1)),
        ("deliverables", TransitionFact::Number(7)),
    ];
    assert_eq!(found, Some(metadata));
    assert_eq!(play.pair(), ("review", "waiting_review"));
    assert_eq!(
        play.logged(),
        ["task in_progress → review (PHASE_COMPLETE)"]
    );
    assert_eq!(play.job.open_review().unwrap().id, "rev_a");
    assert_eq!(play.job.progress_percent(), 25);
}

#[test]
fn approval_tells_the_agent_before_it_wakes() {
    let mut play = Play::running();
    let review = play.reach_review();
    play.go(Command::Approve {
        review: review.clone(),
        comment: Some("fine".into()),
    });
    assert_eq!(
        play.sent_messages(),
        [
            MessageToAgent::ReviewApproved {
                review,
                feedback: Some("fine".into())
            },
            MessageToAgent::PhaseStart { phase: 2 }
        ]
    );
    let awake = Effect::Signal {
        attempt: 1,
        want: ProcessLevel::Running,
    };
    assert_eq!(play.effects.last(), Some(&awake));
    assert_eq!(play.job.current_phase(), Some(2));
}

#[test]
fn the_last_approval_is_logged_as_two_moves_each() {
    let mut play = Play::new(JobKind::with_reviewed_phases(["Planning"]));
    play.go(Command::Submit).go(assign(&[]));
    play.reach_review();
    play.approve();
    assert_eq!(
        play.logged(),
        [
            "task review → in_progress (APPROVE)",
            "agent waiting_review → running (APPROVE)",
            "task in_progress → completed (APPROVE)",
            "agent running → completed (APPROVE)",
        ]
    );
    assert_eq!(
        (play.wants(), play.sent_messages()),
        (vec![ProcessLevel::Ended], vec![])
    );
    assert!(play.effects.contains(&Effect::ZipArtifacts));
    assert_eq!(play.job.progress_percent(), 100);
}

#[test]
fn requested_changes_come_back_with_the_feedback() {
    let mut play = Play::running();
    let review = play.reach_review();
    let change = |feedback: &str| Command::RequestChanges {
        review: review.clone(),
        feedback: feedback.into(),
    };
    assert_eq!(play.code(change(" ")), "empty_text");
    play.go(change("prices are missing"));
    assert_eq!(play.pair(), ("in_progress", "running"));
    let reason = "prices are missing".into();
    let rejected = MessageToAgent::ReviewRejected {
        review: review.clone(),
        reason,
    };
    assert_eq!(play.sent_messages(), [rejected]);
    assert_eq!(play.code(change("again")), "already_settled");
}

#[test]
fn the_fourth_failing_verification_fails_the_task() {
    let mut play = Play::running();
    for rework in 1..=3 {
        play.say(phase_complete(1)).fail_verification();
        assert_eq!(play.pair(), ("in_progress", "running"));
        let issues = vec!["01_idea.md is too short".into()];
        let (phase, attempt, of) = (1, rework, 3);
        let message = MessageToAgent::Rework {
            phase,
            attempt,
            of,
            issues,
        };
        assert_eq!(play.sent_messages(), [message]);
    }
    play.say(phase_complete(1)).fail_verification();
    assert_eq!(play.pair(), ("failed", "failed"));
    let code = play.job.failure().unwrap().code;
    assert_eq!(code, FailureCode::VerificationFailed);
}

#[test]
fn the_answer_of_an_earlier_verification_is_stale() {
    let mut play = Play::running();
    play.say(phase_complete(1)).fail_verification();
    play.say(phase_complete(1));
    let passed = Command::VerificationPassed {
        verification: 1,
        review: "rev".into(),
        deliverables: 9,
    };
    assert_eq!(play.code(passed), "stale_verification");
}

#[test]
fn a_phase_without_review_leads_to_the_next_one() {
    let phase = |name: &str, review| PhaseSpec {
        name: name.into(),
        review,
    };
    let mut play = Play::new(JobKind::Phased {
        phases: vec![phase("draft", false), phase("final", false)],
        complete_on_exit: true,
    });
    play.go(Command::Submit).go(assign(&[])).exit(0);
    assert_eq!(play.pair(), ("in_progress", "waiting_review"));
    assert_eq!(play.wants(), []);
    let passed = |verification| Command::VerificationPassed {
        verification,
        review: "unused".into(),
        deliverables: 9,
    };
    play.go(passed(1));
    assert_eq!(play.spawned(), Some((2, SpawnFrom::Latest)));
    assert_eq!(
        play.sent_messages(),
        [MessageToAgent::PhaseStart { phase: 2 }]
    );
    play.exit(0).go(passed(2));
    assert_eq!(play.pair(), ("completed", "completed"));
    assert_eq!(play.job.reviews, []);
}

#[test]
fn custom_work_completes_by_its_own_marker_only() {
    let mut play = Play::new(JobKind::Custom);
    play.go(Command::Submit).go(assign(&[]));
    play.say(phase_complete(1));
    assert!(matches!(
        play.sent_messages()[..],
        [MessageToAgent::ProtocolError { .. }]
    ));
    play.say(AgentMarker::CustomComplete);
    assert_eq!(play.pair(), ("completed", "completed"));
    let mut phased = Play::running();
    phased.say(AgentMarker::CustomComplete);
    assert!(matches!(
        phased.sent_messages()[..],
        [MessageToAgent::ProtocolError { .. }]
    ));
    assert_eq!(phased.pair(), ("in_progress", "running"));
}

#[test]
fn the_agent_stays_stopped_until_the_last_answer() {
    let mut play = Play::running();
    play.say(ask("q_1", "Which tea?"))
        .say(ask("q_2", "Which cup?"));
    assert_eq!(play.pair(), ("in_progress", "waiting_question"));
    play.go(answer("q_2", "blue"));
    assert_eq!(play.pair(), ("in_progress", "waiting_question"));
    assert_eq!(play.effects, []);
    assert_eq!(play.code(answer("q_2", "red")), "already_settled");
    play.go(answer("q_1", "green"));
    assert_eq!(play.pair(), ("in_progress", "running"));
    assert_eq!(play.sent_messages().len(), 2);
    assert_eq!(play.wants(), [ProcessLevel::Running]);
}

#[test]
fn a_question_answered_before_does_not_stop_the_agent() {
    let mut play = Play::running();
    play.say(ask("q_1", "Which tea?"))
        .go(answer("q_1", "green"));
    play.say(ask("q_9", "Which tea? "));
    assert_eq!(play.pair(), ("in_progress", "running"));
    let known = MessageToAgent::QuestionAnswer {
        question: "q_1".into(),
        answer: "green".into(),
    };
    assert_eq!((play.sent_messages(), play.wants()), (vec![known], vec![]));
}

#[test]
fn a_question_or_request_read_twice_is_one() {
    let mut play = Play::running();
    play.say(ask("q_1", "Which tea?"))
        .say(ask("q_1", "Which tea?"));
    assert_eq!((play.job.questions.len(), play.effects.len()), (1, 0));
    let mut play = Play::running();
    play.say(need("dep_1", true)).say(need("dep_1", true));
    assert_eq!((play.job.dependencies.len(), play.effects.len()), (1, 0));
}

#[test]
fn an_answer_must_be_one_of_the_options() {
    let mut play = Play::running();
    let options = vec!["Green".into(), "Black".into()];
    play.say(AgentMarker::Question(AgentQuestion {
        options,
        ..AgentQuestion::without_options("q_1", "Which tea?", true)
    }));
    assert_eq!(play.code(answer("q_1", "white")), "not_an_option");
    play.go(answer("q_1", " green "));
    let spelt = QuestionStatus::Answered("Green".into());
    assert_eq!(play.job.questions[0].status, spelt);
}

#[test]
fn time_decides_optional_questions_and_recalls_required_ones() {
    let timeout = || Command::QuestionTimeout {
        question: "q_1".into(),
    };
    let skip = Command::Skip {
        question: "q_1".into(),
    };
    let mut play = Play::running();
    play.say(ask("q_1", "Which tea?"));
    assert_eq!(play.code(skip), "question_required");
    play.go(timeout());
    assert_eq!(play.pair(), ("in_progress", "waiting_question"));
    let asked = Effect::Notify(JobNotification::QuestionAsked { id: "q_1".into() });
    assert!(play.effects.contains(&asked));
    let mut play = Play::running();
    play.say(AgentMarker::Question(AgentQuestion::without_options(
        "q_1",
        "Which tea?",
        false,
    )));
    play.go(timeout());
    assert_eq!(play.pair(), ("in_progress", "running"));
    let skipped = MessageToAgent::QuestionAnswer {
        question: "q_1".into(),
        answer: "skip".into(),
    };
    assert_eq!(play.sent_messages(), [skipped]);
}

#[test]
fn a_dependency_is_asked_for_once() {
    let mut play = Play::running();
    play.say(need("dep_1", true));
    assert_eq!(play.pair(), ("in_progress", "waiting_dependency"));
    play.go(Command::Provide {
        dependency: "dep_1".into(),
    });
    let provided = MessageToAgent::DependencyProvided {
        name: "STRIPE_SECRET_KEY".into(),
        value: DependencyValue::Kept,
    };
    assert_eq!(play.sent_messages(), std::slice::from_ref(&provided));
    play.say(need("dep_2", true));
    assert_eq!(play.pair(), ("in_progress", "running"));
    assert_eq!(
        (play.sent_messages(), play.wants()),
        (vec![provided], vec![])
    );
}

#[test]
fn a_required_dependency_fails_the_task_and_an_optional_one_does_not() {
    let reject = || Command::Reject {
        dependency: "dep_1".into(),
        reason: "no account".into(),
    };
    let timeout = || Command::DependencyTimeout {
        dependency: "dep_1".into(),
    };
    let codes = [
        (reject(), FailureCode::DependencyRejected),
        (timeout(), FailureCode::DependencyTimeout),
    ];
    for (command, code) in codes {
        let mut play = Play::running();
        play.say(need("dep_1", true)).go(command);
        assert_eq!(play.job.failure().unwrap().code, code);
        assert_eq!(play.wants(), [ProcessLevel::Ended]);
    }
    let mut play = Play::running();
    play.say(need("dep_1", false)).go(reject());
    assert_eq!(play.pair(), ("in_progress", "running"));
    let mut play = Play::running();
    play.say(need("dep_1", false)).go(timeout());
    let empty = MessageToAgent::DependencyProvided {
        name: "STRIPE_SECRET_KEY".into(),
        value: DependencyValue::Text(String::new()),
    };
    assert_eq!(play.sent_messages(), [empty]);
}

#[test]
fn markers_read_while_stopped_have_their_turn_in_order() {
    let mut play = Play::running();
    play.say(ask("q_1", "Which tea?"));
    play.say(need("dep_1", true)).say(ask("q_2", "Which cup?"));
    play.say(phase_complete(1));
    play.go(answer("q_1", "green"));
    assert_eq!(play.pair(), ("in_progress", "waiting_dependency"));
    assert_eq!((play.wants(), play.sent_messages()), (vec![], vec![]));
    play.go(Command::Provide {
        dependency: "dep_1".into(),
    });
    assert_eq!(play.pair(), ("in_progress", "waiting_question"));
    play.go(answer("q_2", "blue"));
    assert_eq!(play.pair(), ("in_progress", "waiting_review"));
    play.fail_verification();
    assert_eq!(play.sent_messages().len(), 4);
}

#[test]
fn a_fatal_error_drops_what_waits() {
    let mut play = Play::running();
    play.say(ask("q_1", "Which tea?"))
        .say(phase_complete(1))
        .say(fatal());
    assert_eq!(play.pair(), ("failed", "failed"));
    assert_eq!(play.job.queued_markers.len(), 0);
    assert_eq!(play.job.questions[0].status, QuestionStatus::Skipped);
}

#[test]
fn a_fatal_error_after_a_finished_phase_leaves_the_review_alone() {
    let mut play = Play::running();
    play.reach_review();
    play.say(fatal());
    assert_eq!(play.pair(), ("review", "waiting_review"));
    play.approve();
    assert_eq!(play.pair(), ("failed", "failed"));
}

#[test]
fn many_steps_take_one_place_in_the_queue() {
    let mut play = Play::running();
    play.go(Command::Pause).say(step(1, 9)).say(step(2, 9));
    assert_eq!(play.job.queued_markers.len(), 1);
    play.go(Command::Resume);
    assert_eq!(play.job.step.as_ref().unwrap().number, 2);
}

#[test]
fn a_rate_limit_ends_by_itself_but_never_ends_a_persons_pause() {
    let until = Timestamp(NOON.0 + 60);
    let mut play = Play::running();
    play.say(AgentMarker::RateLimit { until });
    assert_eq!(play.pair(), ("in_progress", "paused"));
    assert_eq!(play.code(Command::RateLimitReset), "not_due");
    play.at = until;
    play.go(Command::RateLimitReset);
    assert_eq!(play.pair(), ("in_progress", "running"));
    play.go(Command::Pause);
    assert_eq!(play.code(Command::RateLimitReset), "not_allowed");
    let until = Timestamp(until.0 + 60);
    play.say(AgentMarker::RateLimit { until });
    assert_eq!(play.job.state, JobState::Paused(PauseCause::Person));
    play.go(Command::Resume);
    let limited = JobState::Paused(PauseCause::RateLimit { until });
    assert_eq!(play.job.state, limited);
}

#[test]
fn a_breaker_stops_or_ends() {
    let breaker = |ends| Command::Breaker {
        reason: "tokens".into(),
        ends,
        until: None,
    };
    let mut play = Play::running();
    play.go(breaker(false));
    assert_eq!(play.pair(), ("in_progress", "paused"));
    assert_eq!(play.code(breaker(false)), "not_allowed");
    play.go(breaker(true));
    assert_eq!(play.job.failure().unwrap().code, FailureCode::Breaker);
}

#[test]
fn an_exit_is_answered_by_one_respawn_without_progress() {
    let mut play = Play::running();
    play.exit(0);
    assert_eq!(play.spawned(), Some((2, SpawnFrom::Latest)));
    assert_eq!(play.logged(), ["agent running → running (AGENT_EXIT)"]);
    play.say(step(1, 9)).exit(1);
    assert_eq!(play.spawned(), Some((3, SpawnFrom::Latest)));
    play.say(step(1, 9)).exit(1);
    assert_eq!(play.job.failure().unwrap().code, FailureCode::AgentExited);
    assert_eq!(play.wants(), []);
}

#[test]
fn words_of_an_earlier_attempt_are_stale() {
    let mut play = Play::running();
    play.exit(1);
    let marker = phase_complete(1);
    let said = Command::MarkerRead { attempt: 1, marker };
    assert_eq!(play.code(said), "stale_attempt");
    let code = Some(0);
    let exit = Command::AgentExit { attempt: 1, code };
    assert_eq!(play.code(exit), "stale_attempt");
}

#[test]
fn an_exit_while_somebody_else_must_move_is_normal() {
    let mut play = Play::running();
    play.say(ask("q_1", "Which tea?")).exit(0);
    assert_eq!(play.pair(), ("in_progress", "waiting_question"));
    play.go(answer("q_1", "green"));
    assert_eq!(play.spawned(), Some((2, SpawnFrom::Latest)));
    let green = MessageToAgent::QuestionAnswer {
        question: "q_1".into(),
        answer: "green".into(),
    };
    assert_eq!(play.sent_messages(), [green]);
    play.reach_review();
    play.exit(0).approve();
    assert_eq!(play.spawned(), Some((3, SpawnFrom::Latest)));
    assert_eq!(play.sent_messages().len(), 2);
}

#[test]
fn a_process_that_cannot_start_fails_the_task() {
    let mut play = Play::running();
    play.go(Command::SpawnFailed {
        attempt: 1,
        message: "no such program".into(),
    });
    assert_eq!(play.job.failure().unwrap().code, FailureCode::SpawnFailed);
}

#[test]
fn cancelling_in_the_queue_leaves_the_agent_idle() {
    let mut play = Play::new(JobKind::Custom);
    play.go(Command::Submit).go(Command::Cancel);
    assert_eq!(play.pair(), ("failed", "idle"));
    assert!(play.effects.contains(&Effect::RemoveFromQueue));
    let mut play = Play::running();
    play.go(Command::Cancel);
    assert_eq!(play.pair(), ("failed", "failed"));
    assert_eq!(play.wants(), [ProcessLevel::Ended]);
}

#[test]
fn a_review_is_not_cancelled() {
    let mut play = Play::running();
    play.reach_review();
    let refused = JobMachine::step(&play.job, Command::Cancel, NOON).unwrap_err();
    assert_eq!(refused.code(), "not_allowed");
    // The refusal names the way out: request changes, and then cancel.
    let Refusal::NotAllowed {
        command: "cancel",
        task: TaskStatus::Review,
        allowed,
        ..
    } = refused
    else {
        panic!("{refused:?}");
    };
    assert!(allowed.contains(&JobAction::RequestChanges), "{allowed:?}");
}

#[test]
fn restoring_ends_the_old_process_and_starts_at_the_checkpoint() {
    let restore = |held_by: Option<&str>| Command::Restore {
        checkpoint: JobCheckpoint {
            id: "cp_1".into(),
            phase: 1,
            step: Some(ReportedStep {
                number: 3,
                of: 9,
                name: "03_users".into(),
            }),
        },
        held_by: held_by.map(str::to_owned),
    };
    let mut play = Play::running();
    assert_eq!(play.code(restore(None)), "not_allowed");
    play.reach_review();
    play.say(ask("q_1", "Which tea?"))
        .go(restore(Some("task_a")));
    assert_eq!(play.pair(), ("in_progress", "running"));
    assert_eq!(play.wants(), [ProcessLevel::Ended]);
    let from = SpawnFrom::Checkpoint("cp_1".into());
    assert_eq!(play.spawned(), Some((2, from)));
    assert_eq!(
        (play.job.progress_percent(), play.job.queued_markers.len()),
        (8, 0)
    );
    play.go(Command::Cancel);
    assert_eq!(play.code(restore(Some("task_a"))), "workspace_busy");
    play.go(restore(None));
    assert_eq!(play.pair(), ("in_progress", "running"));
    assert_eq!(play.job.attempt, 3);
}

#[test]
fn a_retry_is_a_new_task_and_happens_once() {
    let retry = || Command::Retry {
        new: "task_2".into(),
    };
    let mut play = Play::running();
    assert_eq!(play.code(retry()), "not_allowed");
    play.go(Command::Cancel).go(retry());
    assert_eq!(play.job.retried_by.as_deref(), Some("task_2"));
    assert_eq!(play.code(retry()), "already_retried");
    let new = play.job.new_retry("task_1");
    assert_eq!(new.task_status(), TaskStatus::Pending);
    assert_eq!(new.retry_of.as_deref(), Some("task_1"));
    assert_eq!(JobMachine::violations(&new), []);
}

#[test]
fn what_others_depend_on_is_not_deleted() {
    let play = Play::new(JobKind::Custom);
    let dependents = vec!["task_b".into()];
    assert_eq!(play.code(Command::Delete { dependents }), "depended_on");
}

#[test]
fn progress_of_phase_two_step_three_of_five_is_forty() {
    let mut play = Play::running();
    assert_eq!(play.job.progress_percent(), 0);
    play.reach_review();
    play.approve().say(step(3, 5));
    assert_eq!(play.job.progress_percent(), 40);
    play.say(step(7, 5)).say(step(1, 5));
    assert_eq!(play.job.progress_percent(), 40);
    assert_eq!(play.job.step.as_ref().unwrap().number, 1);
    play.reach_review();
    assert_eq!(play.job.progress_percent(), 50);
}

#[test]
fn the_queue_of_markers_is_bounded() {
    let mut play = Play::running();
    play.go(Command::Pause);
    for n in 0..MARKERS_WAITING_MAX {
        play.job
            .queued_markers
            .push_back(ask(&format!("q_{n}"), "again?"));
    }
    let marker = ask("q_last", "again?");
    let said = Command::MarkerRead { attempt: 1, marker };
    assert_eq!(play.code(said), "too_many_waiting");
}

#[test]
fn the_table_shows_every_pair_of_statuses() {
    let labels: std::collections::BTreeSet<String> = JobMachine::sample_states()
        .iter()
        .map(|(_, job)| JobMachine::state_label(job))
        .collect();
    assert_eq!(labels.len(), super::walk::PAIRS.len());
    for (name, job) in JobMachine::sample_states() {
        assert_eq!(JobMachine::violations(&job), [], "{name}");
    }
}
