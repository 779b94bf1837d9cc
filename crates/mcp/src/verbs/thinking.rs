//! Verbs of thinking runs.

use crate::answer::{Done, changed, viewed};
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::table::Kind::{self, Float, Numbers, Text, Texts};
use crate::table::{Arg, Verb};
use bowline_engine::operations::thinking::{MeasuredOutcome, RETRIES_MAX, ThinkingStage};
use serde_json::json;

/// The words of [`Stage`].
pub(crate) const STAGES: &[&str] = &["planning", "selection", "creation", "reflection"];

const STAGE: Arg = Arg::need("stage", Kind::Word(STAGES));
const DIR: Arg = Arg::may("dir", Text).rare();

pub(crate) static VERBS: &[Verb] = &[
    Verb::new(
        "thinking_new",
        SessionRole::Agent,
        "Begin a thinking run: planning, selection, creation, reflection",
        &[
            Arg::need("id", Text),
            Arg::may("title", Text).rare(),
            Arg::need("goal", Text),
            DIR,
        ],
        new,
    ),
    Verb::new(
        "thinking_start",
        SessionRole::Agent,
        "Begin a stage, or retry a failed one",
        &[STAGE, Arg::may("override", Text).of_person(), DIR],
        start,
    ),
    Verb::new(
        "thinking_complete",
        SessionRole::Agent,
        "End a stage; its output files must exist",
        &[STAGE.brief(), Arg::may("outputs", Texts), DIR],
        complete,
    ),
    Verb::new(
        "thinking_fail",
        SessionRole::Agent,
        "Say that a stage failed",
        &[
            STAGE.brief(),
            Arg::need("code", Text),
            Arg::need("message", Text),
            DIR,
        ],
        fail,
    ),
    Verb::new(
        "thinking_output",
        SessionRole::Agent,
        "Record files of a stage that are made",
        &[STAGE.brief(), Arg::need("paths", Texts), DIR],
        output,
    )
    .rare(),
    Verb::new(
        "thinking_evaluate",
        SessionRole::Agent,
        "Score the work 0-10 against the core values",
        &[Arg::need("scores", Numbers), DIR],
        evaluate,
    )
    .rare(),
    Verb::new(
        "thinking_quality",
        SessionRole::Agent,
        "Record quality metrics 0-1",
        &[Arg::need("metrics", Numbers), DIR],
        quality,
    )
    .rare(),
    Verb::new(
        "thinking_feedback_record",
        SessionRole::Agent,
        "Record what came of the work, and lessons for the next",
        &[
            Arg::need("metric", Text),
            Arg::need("actual", Float),
            Arg::need("target", Float),
            Arg::may("learnings", Texts),
            Arg::may("improvements", Texts),
            Arg::may("stages", Texts),
            DIR,
        ],
        record,
    )
    .rare(),
    Verb::new(
        "thinking_feedback_apply",
        SessionRole::Agent,
        "Take over the lessons of another task's folder",
        &[Arg::need("from", Text), DIR],
        apply,
    )
    .rare(),
    Verb::new(
        "thinking_status",
        SessionRole::ReadOnly,
        "The run",
        &[DIR],
        |desk, given| {
            let run = desk.thinking_run(given.text("dir"), false)?;
            viewed(desk, &run.file().read_view(&desk.context)?)
        },
    )
    .rare(),
];

/// Returns the stage; the table accepts no other word.
fn stage(given: &ToolArguments) -> ThinkingStage {
    ThinkingStage::from_name(given.required_text("stage")).unwrap_or(ThinkingStage::Planning)
}

fn new(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.thinking_run(given.text("dir"), true)?;
    let id = given.required_text("id");
    let title = given.text("title").unwrap_or(id);
    let made = run.create_run(&desk.context, id, title, given.required_text("goal"))?;
    changed(desk, &made, json!({}))
}

fn start(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.thinking_run(given.text("dir"), false)?;
    let moved = run.start_stage(&desk.context, stage(given), given.text("override"))?;
    changed(desk, &moved, json!({}))
}

fn output(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.thinking_run(given.text("dir"), false)?;
    let moved = run.record_outputs(&desk.context, stage(given), &given.texts("paths"))?;
    changed(desk, &moved, json!({}))
}

fn complete(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.thinking_run(given.text("dir"), false)?;
    let moved = run.complete_stage(&desk.context, stage(given), &given.texts("outputs"))?;
    let minutes = moved.state.stage(stage(given)).duration_minutes;
    let progress = moved.state.progress_percentage();
    changed(
        desk,
        &moved,
        json!({ "minutes": minutes, "progress": progress }),
    )
}

fn fail(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.thinking_run(given.text("dir"), false)?;
    let (code, message) = (given.required_text("code"), given.required_text("message"));
    let moved = run.fail_stage(&desk.context, stage(given), code, message)?;
    let state = moved.state.stage(stage(given));
    let facts = json!({ "retries": state.retry_count, "retriesMax": RETRIES_MAX, "exhausted": state.is_exhausted() });
    changed(desk, &moved, facts)
}

fn evaluate(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.thinking_run(given.text("dir"), false)?;
    let moved = run.evaluate_work(&desk.context, &given.numbers("scores"))?;
    let weighted = moved.state.evaluation.weighted;
    changed(desk, &moved, json!({ "weightedScore": weighted }))
}

fn quality(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.thinking_run(given.text("dir"), false)?;
    let moved = run.record_metrics(&desk.context, &given.numbers("metrics"))?;
    changed(desk, &moved, json!({}))
}

fn record(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.thinking_run(given.text("dir"), false)?;
    let stages = given.texts("stages");
    let execution = MeasuredOutcome {
        metric: given.required_text("metric").to_owned(),
        actual: given.float("actual"),
        target: given.float("target"),
        learnings: given.texts("learnings"),
        improvements: given.texts("improvements"),
        stages: stages
            .iter()
            .filter_map(|it| ThinkingStage::from_name(it))
            .collect(),
    };
    let moved = run.record_outcome(&desk.context, &execution)?;
    let achieved = moved.state.feedback.goal_achievement;
    changed(desk, &moved, json!({ "goalAchievement": achieved }))
}

fn apply(desk: &ToolSession, given: &ToolArguments) -> Done {
    let run = desk.thinking_run(given.text("dir"), false)?;
    let from = desk.resolve_path(given.required_text("from"))?;
    changed(desk, &run.apply_lessons(&desk.context, &from)?, json!({}))
}
