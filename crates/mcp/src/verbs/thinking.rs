//! Verbs of thinking runs.

use crate::answer::{ToolResult, answer_change, answer_view};
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::table::ParameterType::{self, Float, Numbers, Text, Texts};
use crate::table::{ToolParameter, ToolVerb};
use bowline_engine::operations::thinking::{MeasuredOutcome, RETRIES_MAX, ThinkingStage};
use serde_json::json;

/// The words of [`Stage`].
pub(crate) const STAGES: &[&str] = &["planning", "selection", "creation", "reflection"];

const STAGE: ToolParameter = ToolParameter::required("stage", ParameterType::Word(STAGES));
const DIR: ToolParameter = ToolParameter::optional("dir", Text).hide_from_list();

pub(crate) static VERBS: &[ToolVerb] = &[
    ToolVerb::new(
        "thinking_new",
        SessionRole::Agent,
        "Begin a thinking run: planning, selection, creation, reflection",
        &[
            ToolParameter::required("id", Text),
            ToolParameter::optional("title", Text).hide_from_list(),
            ToolParameter::required("goal", Text),
            DIR,
        ],
        create_run,
    ),
    ToolVerb::new(
        "thinking_start",
        SessionRole::Agent,
        "Begin a stage, or retry a failed one",
        &[
            STAGE,
            ToolParameter::optional("override", Text).for_person_only(),
            DIR,
        ],
        start_stage,
    ),
    ToolVerb::new(
        "thinking_complete",
        SessionRole::Agent,
        "End a stage; its output files must exist",
        &[
            STAGE.list_name_only(),
            ToolParameter::optional("outputs", Texts),
            DIR,
        ],
        complete_stage,
    ),
    ToolVerb::new(
        "thinking_fail",
        SessionRole::Agent,
        "Say that a stage failed",
        &[
            STAGE.list_name_only(),
            ToolParameter::required("code", Text),
            ToolParameter::required("message", Text),
            DIR,
        ],
        fail_stage,
    ),
    ToolVerb::new(
        "thinking_output",
        SessionRole::Agent,
        "Record files of a stage that are made",
        &[
            STAGE.list_name_only(),
            ToolParameter::required("paths", Texts),
            DIR,
        ],
        record_outputs,
    )
    .mark_rare(),
    ToolVerb::new(
        "thinking_evaluate",
        SessionRole::Agent,
        "Score the work 0-10 against the core values",
        &[ToolParameter::required("scores", Numbers), DIR],
        record_scores,
    )
    .mark_rare(),
    ToolVerb::new(
        "thinking_quality",
        SessionRole::Agent,
        "Record quality metrics 0-1",
        &[ToolParameter::required("metrics", Numbers), DIR],
        record_metrics,
    )
    .mark_rare(),
    ToolVerb::new(
        "thinking_feedback_record",
        SessionRole::Agent,
        "Record what came of the work, and lessons for the next",
        &[
            ToolParameter::required("metric", Text),
            ToolParameter::required("actual", Float),
            ToolParameter::required("target", Float),
            ToolParameter::optional("learnings", Texts),
            ToolParameter::optional("improvements", Texts),
            ToolParameter::optional("stages", Texts),
            DIR,
        ],
        record_execution,
    )
    .mark_rare(),
    ToolVerb::new(
        "thinking_feedback_apply",
        SessionRole::Agent,
        "Take over the lessons of another task's folder",
        &[ToolParameter::required("from", Text), DIR],
        apply_feedback,
    )
    .mark_rare(),
    ToolVerb::new(
        "thinking_status",
        SessionRole::ReadOnly,
        "The run",
        &[DIR],
        |session, given| {
            let run = session.thinking_run(given.text("dir"), false)?;
            answer_view(session, &run.file().read_view(&session.context)?)
        },
    )
    .mark_rare(),
];

/// Returns the stage; the table accepts no other word.
fn stage_argument(given: &ToolArguments) -> ThinkingStage {
    ThinkingStage::from_name(given.required_text("stage")).unwrap_or(ThinkingStage::Planning)
}

fn create_run(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.thinking_run(given.text("dir"), true)?;
    let id = given.required_text("id");
    let title = given.text("title").unwrap_or(id);
    let made = run.create_run(&session.context, id, title, given.required_text("goal"))?;
    answer_change(session, &made, json!({}))
}

fn start_stage(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.thinking_run(given.text("dir"), false)?;
    let moved = run.start_stage(
        &session.context,
        stage_argument(given),
        given.text("override"),
    )?;
    answer_change(session, &moved, json!({}))
}

fn record_outputs(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.thinking_run(given.text("dir"), false)?;
    let moved = run.record_outputs(
        &session.context,
        stage_argument(given),
        &given.texts("paths"),
    )?;
    answer_change(session, &moved, json!({}))
}

fn complete_stage(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.thinking_run(given.text("dir"), false)?;
    let moved = run.complete_stage(
        &session.context,
        stage_argument(given),
        &given.texts("outputs"),
    )?;
    let minutes = moved.state.stage(stage_argument(given)).duration_minutes;
    let progress = moved.state.progress_percentage();
    answer_change(
        session,
        &moved,
        json!({ "minutes": minutes, "progress": progress }),
    )
}

fn fail_stage(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.thinking_run(given.text("dir"), false)?;
    let (code, message) = (given.required_text("code"), given.required_text("message"));
    let moved = run.fail_stage(&session.context, stage_argument(given), code, message)?;
    let state = moved.state.stage(stage_argument(given));
    let facts = json!({ "retries": state.retry_count, "retriesMax": RETRIES_MAX, "exhausted": state.is_exhausted() });
    answer_change(session, &moved, facts)
}

fn record_scores(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.thinking_run(given.text("dir"), false)?;
    let moved = run.evaluate_work(&session.context, &given.numbers("scores"))?;
    let weighted = moved.state.evaluation.weighted;
    answer_change(session, &moved, json!({ "weightedScore": weighted }))
}

fn record_metrics(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.thinking_run(given.text("dir"), false)?;
    let moved = run.record_metrics(&session.context, &given.numbers("metrics"))?;
    answer_change(session, &moved, json!({}))
}

fn record_execution(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.thinking_run(given.text("dir"), false)?;
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
    let moved = run.record_outcome(&session.context, &execution)?;
    let achieved = moved.state.feedback.goal_achievement;
    answer_change(session, &moved, json!({ "goalAchievement": achieved }))
}

fn apply_feedback(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let run = session.thinking_run(given.text("dir"), false)?;
    let from = session.resolve_path(given.required_text("from"))?;
    answer_change(
        session,
        &run.apply_lessons(&session.context, &from)?,
        json!({}),
    )
}
