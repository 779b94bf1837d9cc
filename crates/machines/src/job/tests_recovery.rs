//! Named rules of recovery, messages and permissions.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::play::{NOON, Play, phase_complete};
use super::*;

fn recover(play: &mut Play) {
    let attempt = play.job.attempt;
    play.go(Command::Recover { attempt });
}

#[test]
fn a_lost_process_is_replaced_at_once_then_later_and_later_and_at_last_by_a_person() {
    let mut play = Play::running();
    recover(&mut play);
    assert_eq!(play.spawned(), Some((2, SpawnFrom::Latest)));
    for seconds in [10, 20, 40, 80] {
        recover(&mut play);
        let until = Timestamp(play.at.0 + seconds);
        let JobState::Paused(by) = &play.job.state else {
            panic!("{:?}", play.job.state)
        };
        assert_eq!((by.kind().name(), by.ends_at()), ("breaker", Some(until)));
        assert_eq!(play.code(Command::RateLimitReset), "not_due");
        play.at = until;
        play.go(Command::RateLimitReset);
        assert!(play.spawned().is_some());
    }
    recover(&mut play);
    let JobState::Paused(by) = &play.job.state else {
        panic!("{:?}", play.job.state)
    };
    assert_eq!(by.ends_at(), None);
    assert_eq!(play.code(Command::RateLimitReset), "not_allowed");
    play.go(Command::Resume);
    assert_eq!(play.pair(), ("in_progress", "running"));
    play.say(AgentMarker::Step(ReportedStep {
        number: 1,
        of: 2,
        name: "idea".into(),
    }));
    recover(&mut play);
    assert_eq!(play.pair(), ("in_progress", "running"), "it got somewhere");
}

#[test]
fn a_silent_agent_is_replaced_once_and_then_a_person_decides() {
    let mut play = Play::running();
    play.go(Command::Stuck { attempt: 1 });
    assert_eq!(play.wants(), [ProcessLevel::Ended]);
    assert_eq!(play.spawned(), Some((2, SpawnFrom::Latest)));
    assert_eq!(play.code(Command::Stuck { attempt: 1 }), "stale_attempt");
    play.go(Command::Stuck { attempt: 2 });
    assert_eq!(play.pair(), ("in_progress", "paused"));
    assert_eq!(play.wants(), [ProcessLevel::Paused]);
}

#[test]
fn a_checkpoint_is_saved_in_intervals_at_work_only_and_by_hand_whenever_there_is_work() {
    let mut play = Play::running();
    play.go(Command::CheckpointDue);
    let due = Effect::Timer {
        at: Timestamp(NOON.0 + 600),
        kind: TimerKind::Checkpoint,
    };
    let saved = Effect::Snapshot(SnapshotReason::Interval);
    assert_eq!(play.effects, [saved, due]);
    play.go(Command::Pause);
    assert_eq!(play.code(Command::CheckpointDue), "not_allowed");
    play.go(Command::SaveCheckpoint);
    let saved = Effect::Snapshot(SnapshotReason::Manual);
    assert_eq!(play.effects, [saved]);
}

#[test]
fn a_word_waits_until_the_agent_listens_and_can_be_taken_back_until_then() {
    let say = |id: &str| Command::SendMessage {
        id: id.into(),
        text: "green".into(),
    };
    let said = |id: &str| MessageToAgent::UserMessage {
        id: id.into(),
        text: "green".into(),
    };
    let mut play = Play::running();
    play.go(say("say_1"));
    assert_eq!(play.sent_messages(), [said("say_1")]);
    assert_eq!(play.wants(), [], "nothing is interrupted");
    play.go(Command::Pause).go(say("say_2")).go(say("say_3"));
    assert_eq!(play.sent_messages(), []);
    play.go(Command::WithdrawMessage { id: "say_2".into() });
    let gone = Command::WithdrawMessage { id: "say_1".into() };
    assert_eq!(play.code(gone), "already_settled");
    play.go(Command::Resume);
    assert_eq!(play.sent_messages(), [said("say_3")]);
}

fn wants(id: &str) -> AgentMarker {
    AgentMarker::Permission(PermissionRequest {
        id: id.into(),
        request: format!("r-{id}"),
        tool: "Bash".into(),
    })
}

#[test]
fn a_tool_waits_to_be_allowed_and_is_never_shown_as_work() {
    let mut play = Play::running();
    play.say(wants("perm_1")).say(wants("perm_2"));
    assert_eq!(play.pair(), ("in_progress", "waiting_question"));
    play.go(Command::Permit {
        permission: "perm_1".into(),
    });
    assert_eq!(play.pair(), ("in_progress", "waiting_question"));
    play.go(Command::Deny {
        permission: "perm_2".into(),
        reason: "not here".into(),
    });
    let expected = [
        MessageToAgent::Permitted {
            permission: "perm_1".into(),
        },
        MessageToAgent::Denied {
            permission: "perm_2".into(),
            reason: "not here".into(),
        },
    ];
    assert_eq!(play.sent_messages(), expected);
    assert_eq!(play.pair(), ("in_progress", "running"));
    play.say(wants("perm_3")).say(AgentMarker::Withdrawn {
        request: "r-perm_3".into(),
    });
    assert_eq!(play.pair(), ("in_progress", "running"));
    assert_eq!(play.sent_messages(), []);
}

#[test]
fn a_permission_dies_with_its_attempt() {
    let mut play = Play::running();
    play.say(wants("perm_1"));
    recover(&mut play);
    assert_eq!(play.spawned(), Some((2, SpawnFrom::Latest)));
    assert_eq!(play.pair(), ("in_progress", "running"));
    let late = Command::Permit {
        permission: "perm_1".into(),
    };
    assert_eq!(play.code(late), "not_allowed");
}

#[test]
fn a_turn_that_says_nothing_is_answered_with_a_reminder_and_then_with_a_person() {
    let ended = |question: &str| AgentMarker::TurnEnded {
        question: question.into(),
    };
    let mut play = Play::running();
    play.say(ended("q_1"));
    assert_eq!(
        play.sent_messages(),
        [MessageToAgent::Reminder { phase: 1 }]
    );
    play.say(ended("q_2"));
    assert_eq!(play.pair(), ("in_progress", "waiting_question"));
    assert_eq!(play.job.open_question().unwrap().id, "q_2");
    play.go(Command::Answer {
        question: "q_2".into(),
        text: "go on".into(),
    });
    play.say(phase_complete(1)).say(ended("q_3"));
    assert_eq!(play.pair(), ("in_progress", "waiting_review"));
    assert!(
        play.job.queued_markers.is_empty(),
        "the end of a turn that said so"
    );
}

#[test]
fn a_turn_that_a_limit_ended_is_gone_on_with_when_the_limit_is_over() {
    let until = Timestamp(NOON.0 + 60);
    let mut play = Play::running();
    play.say(AgentMarker::RateLimit { until })
        .say(AgentMarker::TurnLimited);
    assert_eq!(play.sent_messages(), []);
    play.at = until;
    play.go(Command::RateLimitReset);
    assert_eq!(
        play.sent_messages(),
        [MessageToAgent::Reminder { phase: 1 }]
    );
    assert_eq!(play.wants(), [ProcessLevel::Running]);
    // A turn that ended at a limit is not one without a report.
    assert!(!play.job.reminded);
    // Reminded at once if the limit is already over.
    play.say(AgentMarker::TurnLimited);
    assert_eq!(
        play.sent_messages(),
        [MessageToAgent::Reminder { phase: 1 }]
    );
    // After the end of a phase the review decides how to continue.
    play.say(phase_complete(1)).say(AgentMarker::TurnLimited);
    assert_eq!(play.job.queued_messages, []);
}

#[test]
fn a_stopped_process_makes_room_and_the_next_one_receives_what_waited() {
    let mut play = Play::running();
    play.say(AgentMarker::Question(AgentQuestion::without_options(
        "q_1", "Which?", true,
    )));
    play.go(Command::EvictStoppedAgent { attempt: 1 });
    assert_eq!(play.wants(), [ProcessLevel::Ended]);
    play.go(Command::Answer {
        question: "q_1".into(),
        text: "green".into(),
    });
    assert_eq!(play.spawned(), Some((2, SpawnFrom::Latest)));
    let answer = MessageToAgent::QuestionAnswer {
        question: "q_1".into(),
        answer: "green".into(),
    };
    assert_eq!(play.sent_messages(), [answer]);
}

#[test]
fn a_fork_begins_where_its_checkpoint_was_and_leaves_the_task_alone() {
    let mut play = Play::running();
    play.reach_review();
    play.approve();
    let before = play.job.clone();
    let checkpoint = JobCheckpoint {
        id: "cp_1".into(),
        phase: 2,
        step: None,
    };
    let fork = Command::Fork {
        new: "task_b".into(),
        checkpoint: checkpoint.clone(),
    };
    play.go(fork);
    assert_eq!(play.job, before);
    let mut other = Play::running();
    let fork = |submit| ForkOptions {
        title: "A fork".into(),
        instructions: " Use tea leaves.\n".into(),
        submit,
    };
    other.job = before.new_fork(checkpoint.clone(), fork(true));
    assert_eq!(other.job.title, "A fork");
    let description = format!("{}\n\nUse tea leaves.", before.description);
    assert_eq!(other.job.description, description);
    other.go(super::play::assign(&[]));
    assert_eq!(other.job.phase, 2);
    let from = SpawnFrom::Checkpoint("cp_1".into());
    assert_eq!(other.spawned(), Some((1, from)));
    // As a draft it waits for its submission, and keeps to types that have its phase.
    other.job = before.new_fork(checkpoint, fork(false));
    assert_eq!(other.job.state, JobState::Draft);
    let one_phase = Command::Edit(DraftChanges {
        kind: Some(JobKind::with_reviewed_phases(["Only"])),
        ..DraftChanges::default()
    });
    assert_eq!(other.code(one_phase), "no_such_phase");
    other.go(Command::Submit);
    other.go(super::play::assign(&[]));
    assert_eq!(other.job.phase, 2);
}

#[test]
fn an_interrupt_is_for_an_agent_that_runs() {
    let mut play = Play::running();
    play.go(Command::Interrupt);
    let interrupt = Effect::Interrupt {
        attempt: 1,
        number: UNNUMBERED,
    };
    assert_eq!(
        (&play.effects[..], play.job.interrupts),
        (&[interrupt][..], 1)
    );
    play.go(Command::Pause);
    assert_eq!(play.code(Command::Interrupt), "not_allowed");
}
