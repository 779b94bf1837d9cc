//! Verbs of thinking runs.

use crate::answer::{Done, changed, viewed};
use crate::desk::{Desk, Role};
use crate::given::Given;
use crate::table::Kind::{self, Float, Numbers, Text, Texts};
use crate::table::{Arg, Verb};
use bowline_engine::operations::thinking::{Execution, RETRIES_MAX, Stage};
use serde_json::json;

/// The words of [`Stage`].
pub(crate) const STAGES: &[&str] = &["planning", "selection", "creation", "reflection"];

const STAGE: Arg = Arg::need("stage", Kind::Word(STAGES));
const DIR: Arg = Arg::may("dir", Text).rare();

pub(crate) static VERBS: &[Verb] = &[
    Verb::new(
        "thinking_new",
        Role::Agent,
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
        Role::Agent,
        "Begin a stage, or retry a failed one",
        &[STAGE, Arg::may("override", Text).of_person(), DIR],
        start,
    ),
    Verb::new(
        "thinking_complete",
        Role::Agent,
        "End a stage; its output files must exist",
        &[STAGE.brief(), Arg::may("outputs", Texts), DIR],
        complete,
    ),
    Verb::new(
        "thinking_fail",
        Role::Agent,
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
        Role::Agent,
        "Record files of a stage that are made",
        &[STAGE.brief(), Arg::need("paths", Texts), DIR],
        output,
    )
    .rare(),
    Verb::new(
        "thinking_evaluate",
        Role::Agent,
        "Score the work 0-10 against the core values",
        &[Arg::need("scores", Numbers), DIR],
        evaluate,
    )
    .rare(),
    Verb::new(
        "thinking_quality",
        Role::Agent,
        "Record quality metrics 0-1",
        &[Arg::need("metrics", Numbers), DIR],
        quality,
    )
    .rare(),
    Verb::new(
        "thinking_feedback_record",
        Role::Agent,
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
        Role::Agent,
        "Take over the lessons of another task's folder",
        &[Arg::need("from", Text), DIR],
        apply,
    )
    .rare(),
    Verb::new(
        "thinking_status",
        Role::ReadOnly,
        "The run",
        &[DIR],
        |desk, given| {
            let run = desk.thinking(given.text("dir"), false)?;
            viewed(desk, &run.file().view(&desk.context)?)
        },
    )
    .rare(),
];

/// Returns the stage; the table accepts no other word.
fn stage(given: &Given) -> Stage {
    Stage::from_name(given.word("stage")).unwrap_or(Stage::Planning)
}

fn new(desk: &Desk, given: &Given) -> Done {
    let run = desk.thinking(given.text("dir"), true)?;
    let id = given.word("id");
    let title = given.text("title").unwrap_or(id);
    let made = run.create(&desk.context, id, title, given.word("goal"))?;
    changed(desk, &made, json!({}))
}

fn start(desk: &Desk, given: &Given) -> Done {
    let run = desk.thinking(given.text("dir"), false)?;
    let moved = run.start(&desk.context, stage(given), given.text("override"))?;
    changed(desk, &moved, json!({}))
}

fn output(desk: &Desk, given: &Given) -> Done {
    let run = desk.thinking(given.text("dir"), false)?;
    let moved = run.output(&desk.context, stage(given), &given.texts("paths"))?;
    changed(desk, &moved, json!({}))
}

fn complete(desk: &Desk, given: &Given) -> Done {
    let run = desk.thinking(given.text("dir"), false)?;
    let moved = run.complete(&desk.context, stage(given), &given.texts("outputs"))?;
    let minutes = moved.state.stage(stage(given)).duration_minutes;
    let progress = moved.state.progress_percentage();
    changed(
        desk,
        &moved,
        json!({ "minutes": minutes, "progress": progress }),
    )
}

fn fail(desk: &Desk, given: &Given) -> Done {
    let run = desk.thinking(given.text("dir"), false)?;
    let (code, message) = (given.word("code"), given.word("message"));
    let moved = run.fail(&desk.context, stage(given), code, message)?;
    let state = moved.state.stage(stage(given));
    let facts = json!({ "retries": state.retry_count, "retriesMax": RETRIES_MAX, "exhausted": state.exhausted() });
    changed(desk, &moved, facts)
}

fn evaluate(desk: &Desk, given: &Given) -> Done {
    let run = desk.thinking(given.text("dir"), false)?;
    let moved = run.evaluate(&desk.context, &given.numbers("scores"))?;
    let weighted = moved.state.evaluation.weighted;
    changed(desk, &moved, json!({ "weightedScore": weighted }))
}

fn quality(desk: &Desk, given: &Given) -> Done {
    let run = desk.thinking(given.text("dir"), false)?;
    let moved = run.measure(&desk.context, &given.numbers("metrics"))?;
    changed(desk, &moved, json!({}))
}

fn record(desk: &Desk, given: &Given) -> Done {
    let run = desk.thinking(given.text("dir"), false)?;
    let stages = given.texts("stages");
    let execution = Execution {
        metric: given.word("metric").to_owned(),
        actual: given.float("actual"),
        target: given.float("target"),
        learnings: given.texts("learnings"),
        improvements: given.texts("improvements"),
        stages: stages
            .iter()
            .filter_map(|it| Stage::from_name(it))
            .collect(),
    };
    let moved = run.record(&desk.context, &execution)?;
    let achieved = moved.state.feedback.goal_achievement;
    changed(desk, &moved, json!({ "goalAchievement": achieved }))
}

fn apply(desk: &Desk, given: &Given) -> Done {
    let run = desk.thinking(given.text("dir"), false)?;
    let from = desk.path(given.word("from"))?;
    changed(desk, &run.apply(&desk.context, &from)?, json!({}))
}
