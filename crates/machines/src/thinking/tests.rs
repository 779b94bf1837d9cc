//! Named rules one by one, and invariants over random commands.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::*;
use crate::kernel::{CodedRefusal as _, Machine as _};
use proptest::prelude::*;

const NOON: Timestamp = Timestamp(1_760_356_800);

fn after_minutes(minutes: i64) -> Timestamp {
    Timestamp(NOON.0 + minutes * 60)
}

fn all_files() -> OutputFiles {
    OutputFiles::from_paths([
        "ideas.md",
        "thinking/selection/selected.json",
        "drafts/draft_v1.md",
    ])
}

fn start(stage: ThinkingStage) -> Command {
    Command::Start {
        stage,
        override_reason: None,
        by: Actor::Agent,
        seen: all_files(),
    }
}

fn complete(stage: ThinkingStage, outputs: &[&str]) -> Command {
    Command::Complete {
        stage,
        outputs: outputs.iter().map(|&path| path.into()).collect(),
        seen: all_files(),
        checks: vec![],
    }
}

fn fail(stage: ThinkingStage) -> Command {
    Command::Fail {
        stage,
        code: "draft_too_short".into(),
        message: "320 words of 500".into(),
    }
}

/// Runs commands ten minutes apart; the outcome of the last one is returned with the state before
/// it.
fn play(commands: Vec<Command>) -> Result<ThinkingRunState, Refusal> {
    let mut run = ThinkingRunState::new();
    for (tick, command) in commands.into_iter().enumerate() {
        let at = after_minutes(10 * i64::try_from(tick).unwrap());
        run = ThinkingMachine::step(&run, command, at)?.next;
    }
    Ok(run)
}

fn until_creation_starts() -> Vec<Command> {
    vec![
        start(ThinkingStage::Planning),
        complete(ThinkingStage::Planning, &["ideas.md"]),
        start(ThinkingStage::Selection),
        complete(ThinkingStage::Selection, &[]),
        start(ThinkingStage::Creation),
    ]
}

#[test]
fn a_fresh_run_is_pending_with_no_progress() {
    let run = ThinkingRunState::new();
    assert_eq!(
        (run.overall_status(), run.progress_percentage()),
        (StageStatus::Pending, 0)
    );
}

#[test]
fn three_stages_with_one_failure_between_give_75_percent() {
    let mut commands = until_creation_starts();
    commands.extend([
        fail(ThinkingStage::Creation),
        start(ThinkingStage::Creation),
    ]);
    commands.push(complete(ThinkingStage::Creation, &["drafts/draft_v1.md"]));
    let run = play(commands).unwrap();
    assert_eq!(run.progress_percentage(), 75);
    assert_eq!(run.overall_status(), StageStatus::InProgress);
    assert_eq!(run.current, ThinkingStage::Creation);
    let creation = run.stage(ThinkingStage::Creation);
    assert_eq!(
        (creation.retry_count, creation.duration_minutes),
        (1, Some(10))
    );
    assert_eq!(creation.error, None);
}

#[test]
fn failing_keeps_outputs_and_records_time_and_reason() {
    let mut commands = until_creation_starts();
    commands.push(Command::Output {
        stage: ThinkingStage::Creation,
        paths: vec!["drafts/draft_v1.md".into()],
    });
    commands.push(fail(ThinkingStage::Creation));
    let run = play(commands).unwrap();
    let creation = run.stage(ThinkingStage::Creation);
    assert_eq!(creation.outputs, ["drafts/draft_v1.md"]);
    assert_eq!(creation.duration_minutes, Some(20));
    assert_eq!(creation.error.as_ref().unwrap().code, "draft_too_short");
    assert_eq!(run.overall_status(), StageStatus::InProgress);
}

#[test]
fn the_third_failure_ends_the_run_until_a_person_overrides() {
    let mut commands = until_creation_starts();
    commands.extend([
        fail(ThinkingStage::Creation),
        start(ThinkingStage::Creation),
    ]);
    commands.extend([
        fail(ThinkingStage::Creation),
        start(ThinkingStage::Creation),
        fail(ThinkingStage::Creation),
    ]);
    let run = play(commands).unwrap();
    assert_eq!(run.overall_status(), StageStatus::Failed);
    let refused = ThinkingMachine::step(&run, start(ThinkingStage::Creation), NOON).unwrap_err();
    assert_eq!(refused.code(), "retries_exhausted");
    let reopened = Command::Start {
        stage: ThinkingStage::Creation,
        override_reason: Some("shorter brief agreed".into()),
        by: Actor::Person,
        seen: all_files(),
    };
    let run = ThinkingMachine::step(&run, reopened, NOON).unwrap().next;
    assert_eq!(run.stage(ThinkingStage::Creation).retry_count, 0);
    assert_eq!(run.overall_status(), StageStatus::InProgress);
}

#[test]
fn the_weighted_score_of_8_7_8_is_7_7() {
    let scores = [("practicality", 8.0), ("trust", 7.0), ("innovation", 8.0)];
    let evaluate = |count: usize| Command::Evaluate {
        scores: scores[..count]
            .iter()
            .map(|&(name, score)| (name.into(), score))
            .collect(),
        weights: ValueWeights::default(),
    };
    assert_eq!(play(vec![evaluate(2)]).unwrap().evaluation.weighted, None);
    assert_eq!(
        play(vec![evaluate(3)]).unwrap().evaluation.weighted,
        Some(7.7)
    );
}

#[test]
fn achievement_is_actual_over_target() {
    let record = Command::RecordFeedback(MeasuredOutcome {
        metric: "engagement_rate".into(),
        actual: 0.068,
        target: 0.05,
        learnings: vec!["comparisons help".into()],
        improvements: vec!["compare earlier".into()],
        stages: vec![ThinkingStage::Planning],
    });
    let feedback = play(vec![record]).unwrap().feedback;
    assert_eq!(feedback.goal_achievement, Some(1.36));
    assert_eq!(
        feedback.for_next_tasks[0].learnings,
        ["comparisons help", "compare earlier"]
    );
}

#[test]
fn a_measurement_that_taught_nothing_is_no_lesson() {
    let record = Command::RecordFeedback(MeasuredOutcome {
        metric: "engagement_rate".into(),
        actual: 0.068,
        target: 0.05,
        learnings: vec![],
        improvements: vec![],
        stages: vec![],
    });
    let feedback = play(vec![record]).unwrap().feedback;
    assert_eq!(feedback.goal_achievement, Some(1.36));
    assert!(feedback.for_next_tasks.is_empty());
}

/// Nothing could be written down of a goal that was reached without end.
#[test]
fn an_achievement_that_is_no_number_is_refused() {
    let record = Command::RecordFeedback(MeasuredOutcome {
        metric: "visits".into(),
        actual: 1e308,
        target: 1e-308,
        learnings: vec![],
        improvements: vec![],
        stages: vec![],
    });
    let refused = play(vec![record]).unwrap_err();
    assert_eq!(refused.code(), "bad_target");
}

#[test]
fn nothing_is_taken_over_from_a_task_without_lessons() {
    let apply = Command::ApplyFeedback(AppliedLesson {
        task_id: "essay-1".into(),
        learnings: vec![],
        stages: ThinkingStage::ALL.to_vec(),
    });
    assert_eq!(play(vec![apply]).unwrap_err().code(), "no_lessons");
}

#[test]
fn a_completed_run_advises_only_what_was_not_judged_yet() {
    let mut run = ThinkingRunState::new();
    for stage in &mut run.stages {
        stage.status = StageStatus::Completed;
    }
    let verbs = |run: &ThinkingRunState| {
        let advice = ThinkingMachine::advice(run);
        advice.iter().map(|one| one.verb).collect::<Vec<_>>()
    };
    assert_eq!(verbs(&run), ["evaluate", "quality", "feedback record"]);
    run.evaluation.weighted = Some(7.7);
    run.metrics = QualityMetrics([Some(0.5), None, Some(0.5)]);
    assert_eq!(verbs(&run), ["quality", "feedback record"]);
    run.metrics = QualityMetrics([Some(0.5); 3]);
    run.feedback.goal_achievement = Some(1.36);
    assert!(verbs(&run).is_empty());
}

#[test]
fn outputs_stay_inside_the_folder() {
    for path in ["", " ", "/etc/passwd", "../x", "a/../../x", "a\\b", "a/.."] {
        let output = Command::Output {
            stage: ThinkingStage::Planning,
            paths: vec![path.into()],
        };
        let refused = play(vec![start(ThinkingStage::Planning), output]).unwrap_err();
        assert_eq!(refused.code(), "path_escapes", "{path}");
    }
}

#[test]
fn a_clock_set_back_gives_no_negative_duration() {
    let run = ThinkingMachine::step(
        &ThinkingRunState::new(),
        start(ThinkingStage::Planning),
        after_minutes(60),
    )
    .unwrap()
    .next;
    let run = ThinkingMachine::step(&run, complete(ThinkingStage::Planning, &["ideas.md"]), NOON)
        .unwrap()
        .next;
    assert_eq!(run.stage(ThinkingStage::Planning).duration_minutes, Some(0));
}

fn any_stage() -> impl Strategy<Value = ThinkingStage> {
    prop::sample::select(ThinkingStage::ALL.to_vec())
}

fn any_command() -> impl Strategy<Value = Command> {
    let seen = prop_oneof![Just(all_files()), Just(OutputFiles::default())];
    prop_oneof![
        4 => (any_stage(), any::<bool>(), any::<bool>(), seen.clone()).prop_map(|(stage, person, forced, seen)| {
            Command::Start {
                stage,
                override_reason: forced.then(|| "reason".into()),
                by: if person { Actor::Person } else { Actor::Agent },
                seen,
            }
        }),
        1 => any_stage().prop_map(|stage| Command::Output { stage, paths: vec!["drafts/draft_v1.md".into()] }),
        4 => (any_stage(), seen).prop_map(|(stage, seen)| Command::Complete {
            stage, outputs: vec!["ideas.md".into()], seen, checks: vec![],
        }),
        3 => any_stage().prop_map(fail),
        1 => Just(Command::Measure { metrics: vec![("consistency".into(), 0.9)] }),
    ]
}

proptest! {
    #[test]
    fn random_commands_keep_every_invariant(commands in prop::collection::vec((any_command(), 0i64..90), 0..60)) {
        let mut run = ThinkingRunState::new();
        let mut now = NOON;
        for (command, minutes) in commands {
            now = Timestamp(now.0 + minutes * 60);
            if let Ok(step) = ThinkingMachine::step(&run, command, now) {
                run = step.next;
            }
            prop_assert_eq!(ThinkingMachine::violations(&run), vec![]);
            let completed = run.stages.iter().filter(|stage| stage.status == StageStatus::Completed).count();
            prop_assert_eq!(run.progress_percentage() as usize, completed * 25);
            prop_assert_eq!(run.overall_status() == StageStatus::Failed, run.stages.iter().any(StageState::is_exhausted));
            prop_assert!(run.stages.iter().filter(|stage| stage.status == StageStatus::InProgress).count() <= 1);
        }
    }

    #[test]
    fn what_is_advised_is_never_refused_for_its_state(commands in prop::collection::vec(any_command(), 0..40)) {
        let mut run = ThinkingRunState::new();
        for command in commands {
            if let Ok(step) = ThinkingMachine::step(&run, command, NOON) {
                run = step.next;
            }
        }
        for advice in ThinkingMachine::advice(&run) {
            let stage = advice.target.as_deref().and_then(ThinkingStage::from_name);
            let command = match (advice.verb, stage) {
                ("start", Some(stage)) if advice.options.is_empty() => start(stage),
                ("complete", Some(stage)) => complete(stage, &["ideas.md"]),
                ("fail", Some(stage)) => fail(stage),
                ("output", Some(stage)) => Command::Output { stage, paths: vec!["ideas.md".into()] },
                _ => continue,
            };
            let outcome = ThinkingMachine::step(&run, command, NOON);
            let only_outputs = matches!(
                outcome,
                Err(Refusal::OutputsMissing { .. } | Refusal::NoOutput { .. })
            );
            prop_assert!(outcome.is_ok() || only_outputs, "{:?} {:?}", advice, outcome);
        }
    }
}

#[test]
fn a_lesson_is_for_the_stages_it_names() {
    let feedback = RunFeedback {
        from_previous_tasks: vec![AppliedLesson {
            task_id: "ferries".into(),
            learnings: vec!["short".into(), "early".into()],
            stages: vec![ThinkingStage::Creation],
        }],
        ..RunFeedback::default()
    };
    let told: Vec<_> = feedback.lessons_for(ThinkingStage::Creation).collect();
    assert_eq!(told, [("ferries", "short"), ("ferries", "early")]);
    assert_eq!(feedback.lessons_for(ThinkingStage::Planning).count(), 0);
}
