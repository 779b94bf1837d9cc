//! The representative states and commands of a thinking run, seen from its second stage.

use super::{
    AppliedLesson, Check, Command, Criterion, Effect, Execution, RETRIES_MAX, Run, Seen, Stage,
    StageError, StageState, Status, ThinkingMachine, Weights,
};
use crate::kernel::Actor;
use crate::table::{AT, Catalogue, EARLIER};

const SELECTED: &str = "thinking/selection/selected.json";
const IDEAS: &str = "thinking/planning/ideas.json";

impl Catalogue for ThinkingMachine {
    const KIND: &'static str = "thinking";

    fn states() -> Vec<(&'static str, Run)> {
        let fresh = Run::new();
        let mut waiting = fresh.clone();
        waiting.stages[0] = done(&[IDEAS]);
        let with = |state: StageState| {
            let mut run = waiting.clone();
            run.current = Stage::Selection;
            run.stages[1] = state;
            run
        };
        let mut finished = with(done(&[SELECTED]));
        finished.current = Stage::Reflection;
        finished.stages[2] = done(&["drafts/draft_v1.md"]);
        finished.stages[3] = done(&[]);
        vec![
            ("planning pending", fresh),
            ("selection pending", waiting.clone()),
            ("selection in progress", with(begun())),
            ("selection failed once", with(failed(1))),
            ("selection failed for good", with(failed(RETRIES_MAX))),
            ("selection completed", with(done(&[SELECTED]))),
            ("all completed", finished),
        ]
    }

    fn commands() -> Vec<(&'static str, Command)> {
        let stage = Stage::Selection;
        let seen = || Seen::of([SELECTED, IDEAS, "drafts/draft_v1.md"]);
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
                start(None, Actor::Agent, Seen::default()),
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
                complete(&[SELECTED], Seen::default(), vec![]),
            ),
            (
                "complete, below threshold",
                complete(
                    &[SELECTED],
                    seen(),
                    vec![Check {
                        criterion: Criterion::Named("tone".into()),
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
                    weights: Weights::default(),
                },
            ),
            (
                "evaluate, unknown value",
                Command::Evaluate {
                    scores: vec![("speed".into(), 8.0)],
                    weights: Weights::default(),
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
                Command::RecordFeedback(Execution {
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
                    stages: vec![Stage::Planning],
                }),
            ),
        ]
    }

    fn label(run: &Run) -> String {
        if run.overall() == Status::Completed {
            return "run completed".into();
        }
        let state = run.stage(Stage::Selection);
        match state.status {
            Status::Pending if run.stage(Stage::Planning).status == Status::Completed => {
                "pending, may start".into()
            }
            Status::Pending => "pending".into(),
            Status::InProgress => "in progress".into(),
            Status::Completed => "completed".into(),
            Status::Failed if state.exhausted() => "failed for good".into(),
            Status::Failed => "failed, may retry".into(),
        }
    }

    fn effect(effect: &Effect) -> String {
        match effect {
            Effect::AskPerson(_) => "ask a person".into(),
        }
    }
}

fn begun() -> StageState {
    StageState {
        status: Status::InProgress,
        started_at: Some(EARLIER),
        ..StageState::pending()
    }
}

fn done(outputs: &[&str]) -> StageState {
    StageState {
        status: Status::Completed,
        completed_at: Some(AT),
        duration_minutes: Some(60),
        outputs: outputs.iter().map(|&path| path.into()).collect(),
        ..begun()
    }
}

fn failed(retry_count: u32) -> StageState {
    StageState {
        status: Status::Failed,
        completed_at: Some(AT),
        duration_minutes: Some(60),
        error: Some(StageError {
            code: "no_winner".into(),
            message: "all scores equal".into(),
            at: AT,
        }),
        retry_count,
        ..begun()
    }
}
