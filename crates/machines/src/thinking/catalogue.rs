//! The representative states and commands of a thinking run, seen from its second stage.

use super::{
    AppliedLesson, Command, Effect, MeasuredOutcome, OutputFiles, RETRIES_MAX, StageError,
    StageState, StageStatus, ThinkingMachine, ThinkingRunState, ThinkingStage, ThresholdCheck,
    ThresholdQuantity, ValueWeights,
};
use crate::kernel::Actor;
use crate::table::{MachineCatalogue, PAST_TIME, TABLE_TIME};

const SELECTED: &str = "thinking/selection/selected.json";
const IDEAS: &str = "thinking/planning/ideas.json";

impl MachineCatalogue for ThinkingMachine {
    const KIND: &'static str = "thinking";

    fn sample_states() -> Vec<(&'static str, ThinkingRunState)> {
        let fresh = ThinkingRunState::new();
        let mut waiting = fresh.clone();
        waiting.stages[0] = completed_stage(&[IDEAS]);
        let with = |state: StageState| {
            let mut run = waiting.clone();
            run.current = ThinkingStage::Selection;
            run.stages[1] = state;
            run
        };
        let mut finished = with(completed_stage(&[SELECTED]));
        finished.current = ThinkingStage::Reflection;
        finished.stages[2] = completed_stage(&["drafts/draft_v1.md"]);
        finished.stages[3] = completed_stage(&[]);
        vec![
            ("planning pending", fresh),
            ("selection pending", waiting.clone()),
            ("selection in progress", with(begun_stage())),
            ("selection failed once", with(failed_stage(1))),
            ("selection failed for good", with(failed_stage(RETRIES_MAX))),
            ("selection completed", with(completed_stage(&[SELECTED]))),
            ("all completed", finished),
        ]
    }

    fn sample_commands() -> Vec<(&'static str, Command)> {
        let stage = ThinkingStage::Selection;
        let seen = || OutputFiles::from_paths([SELECTED, IDEAS, "drafts/draft_v1.md"]);
        let start = |override_reason: Option<&str>, by, seen| Command::Start {
            stage,
            override_reason: override_reason.map(Into::into),
            by,
            seen,
        };
        let complete = |outputs: &[&str], seen, checks| Command::Complete {
            stage,
            outputs: outputs.iter().map(|&path| path.into()).collect(),
            seen,
            checks,
        };
        vec![
            ("start", start(None, Actor::Agent, seen())),
            (
                "start, outputs gone",
                start(None, Actor::Agent, OutputFiles::default()),
            ),
            (
                "start --override",
                start(Some("new brief"), Actor::Person, seen()),
            ),
            (
                "start --override by an agent",
                start(Some("new brief"), Actor::Agent, seen()),
            ),
            (
                "output",
                Command::Output {
                    stage,
                    paths: vec!["thinking/selection/rationale.md".into()],
                },
            ),
            (
                "output outside the folder",
                Command::Output {
                    stage,
                    paths: vec!["../secret".into()],
                },
            ),
            ("complete", complete(&[SELECTED], seen(), vec![])),
            (
                "complete, outputs gone",
                complete(&[SELECTED], OutputFiles::default(), vec![]),
            ),
            (
                "complete, below threshold",
                complete(
                    &[SELECTED],
                    seen(),
                    vec![ThresholdCheck {
                        criterion: ThresholdQuantity::Named("tone".into()),
                        value: Some(7.0),
                        threshold: 8.0,
                    }],
                ),
            ),
            (
                "fail",
                Command::Fail {
                    stage,
                    code: "no_winner".into(),
                    message: "all scores equal".into(),
                },
            ),
            (
                "evaluate",
                Command::Evaluate {
                    scores: vec![("practicality".into(), 8.0), ("trust".into(), 7.0)],
                    weights: ValueWeights::default(),
                },
            ),
            (
                "evaluate, unknown value",
                Command::Evaluate {
                    scores: vec![("speed".into(), 8.0)],
                    weights: ValueWeights::default(),
                },
            ),
            (
                "quality",
                Command::Measure {
                    metrics: vec![("completeness".into(), 0.5)],
                },
            ),
            (
                "quality out of range",
                Command::Measure {
                    metrics: vec![("completeness".into(), 1.5)],
                },
            ),
            (
                "feedback record",
                Command::RecordFeedback(MeasuredOutcome {
                    metric: "engagement_rate".into(),
                    actual: 0.068,
                    target: 0.05,
                    learnings: vec!["comparisons help".into()],
                    improvements: vec![],
                    stages: vec![],
                }),
            ),
            (
                "feedback apply",
                Command::ApplyFeedback(AppliedLesson {
                    task_id: "essay-001".into(),
                    learnings: vec!["comparisons help".into()],
                    stages: vec![ThinkingStage::Planning],
                }),
            ),
        ]
    }

    fn state_label(run: &ThinkingRunState) -> String {
        if run.overall_status() == StageStatus::Completed {
            return "run completed".into();
        }
        let state = run.stage(ThinkingStage::Selection);
        match state.status {
            StageStatus::Pending
                if run.stage(ThinkingStage::Planning).status == StageStatus::Completed =>
            {
                "pending, may start".into()
            }
            StageStatus::Pending => "pending".into(),
            StageStatus::InProgress => "in progress".into(),
            StageStatus::Completed => "completed".into(),
            StageStatus::Failed if state.is_exhausted() => "failed for good".into(),
            StageStatus::Failed => "failed, may retry".into(),
        }
    }

    fn describe_effect(effect: &Effect) -> String {
        match effect {
            Effect::AskPerson(_) => "ask a person".into(),
        }
    }
}

fn begun_stage() -> StageState {
    StageState {
        status: StageStatus::InProgress,
        started_at: Some(PAST_TIME),
        ..StageState::pending()
    }
}

fn completed_stage(outputs: &[&str]) -> StageState {
    StageState {
        status: StageStatus::Completed,
        completed_at: Some(TABLE_TIME),
        duration_minutes: Some(60),
        outputs: outputs.iter().map(|&path| path.into()).collect(),
        ..begun_stage()
    }
}

fn failed_stage(retry_count: u32) -> StageState {
    StageState {
        status: StageStatus::Failed,
        completed_at: Some(TABLE_TIME),
        duration_minutes: Some(60),
        error: Some(StageError {
            code: "no_winner".into(),
            message: "all scores equal".into(),
            at: TABLE_TIME,
        }),
        retry_count,
        ..begun_stage()
    }
}
