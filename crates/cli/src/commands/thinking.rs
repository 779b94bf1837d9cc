//! `bowline thinking`.

use crate::args::{FeedbackVerb, ThinkingArgs, ThinkingVerb};
use crate::commands::{resolve_dir_option, runs, status, thinking_board};
use crate::output::{CommandOutput, TextTone};
use bowline_engine::files::ChangeOutcome;
use bowline_engine::formats::engagement;
use bowline_engine::kinds::FileKind;
use bowline_engine::operations::thinking::{
    MeasuredOutcome, QualityMetric, RETRIES_MAX, StageState, StageStatus, ThinkingRun,
    ThinkingRunState, ThinkingSheet, ThinkingStage,
};
use bowline_engine::words::display_path;
use bowline_engine::{Context, Error, workspace};
use bowline_words::message::{Advice, Confirmation, Label, OutputNote, Wrong};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    args: &ThinkingArgs,
) -> Result<ExitCode, Error> {
    let run = ThinkingRun::in_folder(context, &task_folder(context, folder, args)?);
    let print_changed = |changed: ChangeOutcome<_>, did: Confirmation| {
        Ok(output.print_change(context, &changed, &did))
    };
    match &args.verb {
        ThinkingVerb::New { id, title, goal } => {
            let title = title.as_ref().unwrap_or(id);
            let given = goal
                .clone()
                .or_else(|| output.ask_person(&OutputNote::AskGoal));
            let goal = given.unwrap_or_default();
            let changed = run.create_run(context, id, title, goal.trim())?;
            let code = output.print_change(
                context,
                &changed,
                &Confirmation::ThinkingCreated { id: id.clone() },
            );
            if goal.trim().is_empty() && !output.json {
                output.print_remark(Label::Note, &OutputNote::NoGoal);
            }
            Ok(code)
        }
        ThinkingVerb::Start {
            stage,
            override_reason,
        } => {
            let changed = run.start_stage(context, *stage, override_reason.as_deref())?;
            let stage = stage.name();
            print_changed(changed, Confirmation::StageStarted { stage })
        }
        ThinkingVerb::Output { stage, paths } => {
            let changed = run.record_outputs(context, *stage, paths)?;
            let stage = stage.name();
            print_changed(changed, Confirmation::OutputsRecorded { stage })
        }
        ThinkingVerb::Complete { stage, outputs } => {
            let (stage, outputs) = stage_and_outputs(*stage, outputs)?;
            let changed = run.complete_stage(context, stage, outputs)?;
            let minutes = changed.state.stage(stage).duration_minutes.unwrap_or(0);
            let stage = stage.name();
            print_changed(changed, Confirmation::StageCompleted { stage, minutes })
        }
        ThinkingVerb::Fail {
            stage,
            code,
            message,
        } => {
            let changed = run.fail_stage(context, *stage, code, message)?;
            let state = changed.state.stage(*stage);
            let (stage, tries) = (stage.name(), state.retry_count);
            let did = match state.is_exhausted() {
                true => Confirmation::StageExhausted { stage },
                false => Confirmation::StageFailed {
                    stage,
                    tries,
                    max: RETRIES_MAX,
                },
            };
            print_changed(changed, did)
        }
        ThinkingVerb::Evaluate { scores } => {
            let changed = run.evaluate_work(context, &parse_pairs(scores)?)?;
            let evaluation = &changed.state.evaluation;
            let open = evaluation.scores.iter().filter(|one| one.value.is_none());
            let open: Vec<&str> = open.map(|one| one.name.as_str()).collect();
            let did = match evaluation.weighted {
                Some(score) => Confirmation::Scored {
                    score: score.to_string(),
                },
                None => Confirmation::ScoresMissing {
                    names: open.join(", "),
                },
            };
            print_changed(changed, did)
        }
        ThinkingVerb::Quality { metrics } => print_changed(
            run.record_metrics(context, &parse_pairs(metrics)?)?,
            Confirmation::QualityRecorded,
        ),
        ThinkingVerb::Feedback(verb) => {
            let (changed, did) = run_feedback_verb(context, folder, &run, verb)?;
            print_changed(changed, did)
        }
        ThinkingVerb::Run { agent, stage } => {
            runs::run_thinking(context, output, &run, agent.as_ref(), *stage)
        }
        ThinkingVerb::Status { all: true } => {
            let start = args.dir.as_ref().map(|dir| resolve_dir_option(folder, dir));
            let start = start.unwrap_or_else(|| Ok(folder.to_owned()))?;
            thinking_board::print_board(context, output, &start)
        }
        ThinkingVerb::Status { all: false } => {
            status::print_view(context, output, &run.file().read_view(context)?)
        }
    }
}

fn task_folder(context: &Context, folder: &Path, args: &ThinkingArgs) -> Result<PathBuf, Error> {
    match (&args.dir, &args.verb) {
        (Some(dir), _) => resolve_dir_option(folder, dir),
        (None, ThinkingVerb::New { .. }) => Ok(folder.to_owned()),
        (None, _) => {
            let path = workspace::locate_file(context, FileKind::Thinking, folder);
            let parent = path.parent().map(Path::to_owned);
            Ok(parent.unwrap_or_else(|| folder.to_owned()))
        }
    }
}

/// Returns the stage and the outputs; a stage behind `--output PATH` is not taken for a path.
fn stage_and_outputs(
    stage: Option<ThinkingStage>,
    outputs: &[String],
) -> Result<(ThinkingStage, &[String]), Error> {
    let behind = outputs.split_last().and_then(|(last, before)| {
        let stage = ThinkingStage::from_name(last)?;
        (!before.is_empty()).then_some((stage, before))
    });
    let given = stage.map(|stage| (stage, outputs));
    given.or(behind).ok_or(Error::BadInput {
        message: Wrong::StageMissing,
        hint: Advice::StageFirst,
    })
}

fn run_feedback_verb(
    context: &Context,
    folder: &Path,
    run: &ThinkingRun,
    verb: &FeedbackVerb,
) -> Result<(ChangeOutcome<ThinkingRunState>, Confirmation), Error> {
    match verb {
        FeedbackVerb::Record {
            metric,
            target,
            from,
            learnings,
            improvements,
            stages,
        } => {
            let from = from.as_ref().map(|path| folder.join(path));
            let mut execution =
                read_execution(metric.as_deref(), target.as_deref(), from.as_deref())?;
            execution.learnings.extend(learnings.iter().cloned());
            execution.improvements.extend(improvements.iter().cloned());
            execution.stages.clone_from(stages);
            let changed = run.record_outcome(context, &execution)?;
            let achieved = changed.state.feedback.goal_achievement;
            let value = achieved.map_or_else(|| "-".to_owned(), |value| value.to_string());
            Ok((changed, Confirmation::GoalAchieved { value }))
        }
        FeedbackVerb::Apply { from } => {
            let changed = run.apply_lessons(context, &folder.join(from))?;
            Ok((changed, Confirmation::FeedbackApplied))
        }
    }
}

/// Reads the result of an execution from the command line, from a file, or from a file with options
/// on top.
fn read_execution(
    metric: Option<&str>,
    target: Option<&str>,
    from: Option<&Path>,
) -> Result<MeasuredOutcome, Error> {
    let target = target.map(parse_number).transpose()?;
    let Some(path) = from else {
        let (metric, actual) = parse_pair(metric.unwrap_or_default())?;
        return Ok(MeasuredOutcome {
            metric,
            actual,
            target: target.unwrap_or_default(),
            learnings: Vec::new(),
            improvements: Vec::new(),
            stages: Vec::new(),
        });
    };
    if let Some(metric) = metric.filter(|metric| metric.contains('=')) {
        return Err(Error::BadInput {
            message: Wrong::ValueTwice {
                metric: metric.into(),
            },
            hint: Advice::MetricNameAlone,
        });
    }
    let measured = ThinkingRun::read_measurements(path, metric)?;
    let target = target.or(measured.target).ok_or_else(|| Error::BadInput {
        message: Wrong::NoTarget {
            path: display_path(path),
        },
        hint: Advice::SayTarget,
    })?;
    Ok(MeasuredOutcome {
        metric: measured.metric,
        actual: measured.actual,
        target,
        learnings: measured.learnings,
        improvements: measured.improvements,
        stages: Vec::new(),
    })
}

/// Returns lines with the title, goal, stages and results.
pub(crate) fn thinking_overview(output: &CommandOutput, sheet: &ThinkingSheet) -> Vec<String> {
    let run = &sheet.run;
    let title = status::one_line(&format!("{}  {}", sheet.task_id, sheet.title));
    let title = output.colour_text(TextTone::Strong, title.trim());
    let percent = Some(run.progress_percentage());
    let standing = status::format_status(output, run.overall_status().name(), percent);
    let mut lines = vec![format!("{title}  {standing}")];
    let fact = |lines: &mut Vec<String>, label: Label, value: String| {
        if !value.is_empty() {
            lines.push(format!("{}: {value}", output.label(label)));
        }
    };
    fact(&mut lines, Label::Goal, status::one_line(&sheet.goal));
    lines.extend(ThinkingStage::ALL.map(|stage| stage_line(output, stage, run.stage(stage))));
    lines.extend(lesson_lines(output, run));
    let named = |numbers: Vec<(&str, Option<f64>)>| {
        let numbers = numbers.into_iter();
        let texts = numbers.filter_map(|(name, value)| Some(format!("{name} {}", value?)));
        texts.collect::<Vec<_>>().join(" · ")
    };
    let scores = run.evaluation.scores.iter();
    let scores = named(scores.map(|one| (one.name.as_str(), one.value)).collect());
    let weighted = run.evaluation.weighted.map(|score| format!("{score}  "));
    let scores = format!("{}{scores}", weighted.unwrap_or_default());
    fact(&mut lines, Label::Score, status::one_line(&scores));
    let metrics = QualityMetric::ALL.map(|metric| (metric.name(), run.metrics.get(metric)));
    fact(&mut lines, Label::Quality, named(metrics.to_vec()));
    let achieved = run.feedback.goal_achievement.map(|value| value.to_string());
    let achieved = achieved.unwrap_or_default();
    fact(&mut lines, Label::GoalAchievement, achieved);
    lines
}

/// Returns what earlier tasks learnt for the stage in progress, or the next one.
fn lesson_lines(output: &CommandOutput, run: &ThinkingRunState) -> Vec<String> {
    let open = |stage: &ThinkingStage| run.stage(*stage).status != StageStatus::Completed;
    let Some(stage) = ThinkingStage::ALL.into_iter().find(open) else {
        return Vec::new();
    };
    let lessons = run.feedback.lessons_for(stage);
    let lessons = lessons.map(|(task, text)| status::one_line(&format!("  - {text} ({task})")));
    let mut lines: Vec<String> = lessons.collect();
    if !lines.is_empty() {
        let label = output.label(Label::LessonsFor {
            stage: stage.name(),
        });
        lines.insert(0, format!("{label}:"));
    }
    lines
}

fn stage_line(output: &CommandOutput, stage: ThinkingStage, state: &StageState) -> String {
    let (mark, tone) = match state.status {
        StageStatus::Completed => ("✓", TextTone::Good),
        StageStatus::InProgress => ("▶", TextTone::Busy),
        StageStatus::Failed => ("✗", TextTone::Bad),
        StageStatus::Pending => ("·", TextTone::Faint),
    };
    let mut facts = Vec::new();
    if let Some(count) = state.duration_minutes {
        facts.push(output.label(Label::Minutes { count }));
    }
    if !state.outputs.is_empty() {
        let count = state.outputs.len();
        facts.push(output.label(Label::Outputs { count }));
    }
    if state.retry_count > 0 {
        facts.push(output.label(Label::Retries {
            count: state.retry_count,
            max: RETRIES_MAX,
        }));
    }
    if let Some(error) = &state.error {
        facts.push(status::one_line(&error.message));
    }
    let status = status::status_word(output, state.status.name());
    let line = format!(
        "  {mark} {:<11} {}  {}",
        stage.name(),
        status::pad_text(&status, 12),
        facts.join(" · ")
    );
    output.colour_text(tone, line.trim_end())
}

fn parse_pairs(texts: &[String]) -> Result<Vec<(String, f64)>, Error> {
    let mut pairs: Vec<(String, f64)> = Vec::new();
    for text in texts {
        let (name, value) = parse_pair(text)?;
        if pairs.iter().any(|(given, _)| *given == name) {
            return Err(Error::BadInput {
                message: Wrong::GivenTwice { name },
                hint: Advice::EachOnce,
            });
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

fn parse_pair(text: &str) -> Result<(String, f64), Error> {
    let (name, value) = text.split_once('=').ok_or_else(|| Error::BadInput {
        message: Wrong::NotNameValue { text: text.into() },
        hint: Advice::PairExample,
    })?;
    Ok((name.trim().to_owned(), parse_number(value)?))
}

/// Parses a number; percent becomes a fraction.
fn parse_number(text: &str) -> Result<f64, Error> {
    engagement::parse_number(text).ok_or_else(|| Error::BadInput {
        message: Wrong::NotANumber { text: text.into() },
        hint: Advice::NumberExample,
    })
}
