//! `bowline thinking`.

use crate::args::{FeedbackVerb, StageName, ThinkingArgs, ThinkingVerb};
use crate::commands::{here, named_folder, thinking_board};
use crate::output::{Output, Tone};
use bowline_engine::files::{Changed, View};
use bowline_engine::formats::engagement;
use bowline_engine::kinds::FileKind;
use bowline_engine::machines::thinking::{Execution, RETRIES_MAX, Stage};
use bowline_engine::operations::thinking::ThinkingRun;
use bowline_engine::words::shown;
use bowline_engine::{Context, Error, workspace};
use bowline_words::message::{Advice, Wrong};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &Output,
    folder: &Path,
    args: &ThinkingArgs,
) -> Result<ExitCode, Error> {
    let run = ThinkingRun::at(context, &task_folder(context, folder, args)?);
    let (changed, text) = match &args.verb {
        ThinkingVerb::New { id, title, goal } => {
            let title = title.as_ref().unwrap_or(id);
            let changed = run.create(context, id, title, goal)?;
            let text = match output.lang {
                bowline_words::Lang::En => format!("✓ Task '{id}' created"),
                bowline_words::Lang::Ko => format!("✓ 작업 '{id}'을(를) 만들었습니다"),
            };
            (changed, text)
        }
        ThinkingVerb::Start {
            stage,
            override_reason,
        } => {
            let stage = Stage::from(*stage);
            let changed = run.start(context, stage, override_reason.as_deref())?;
            (
                changed,
                output
                    .say("✓ Stage '{}' started", "✓ '{}' 단계를 시작했습니다")
                    .replace("{}", stage.name()),
            )
        }
        ThinkingVerb::Output { stage, paths } => {
            let stage = Stage::from(*stage);
            let changed = run.output(context, stage, paths)?;
            let text = output.say(
                "✓ Stage '{}': outputs recorded",
                "✓ '{}' 단계의 산출물을 기록했습니다",
            );
            (changed, text.replace("{}", stage.name()))
        }
        ThinkingVerb::Complete { stage, outputs } => {
            let stage = Stage::from(*stage);
            let changed = run.complete(context, stage, outputs)?;
            let text = completed(output, stage, &changed);
            (changed, text)
        }
        ThinkingVerb::Fail {
            stage,
            code,
            message,
        } => {
            let stage = Stage::from(*stage);
            let changed = run.fail(context, stage, code, message)?;
            let text = failed(output, stage, &changed);
            (changed, text)
        }
        ThinkingVerb::Evaluate { scores } => {
            let changed = run.evaluate(context, &pairs(scores)?)?;
            let score = &changed.view.document.value()["core_values_evaluation"]["weighted_score"];
            let text = format!(
                "✓ {} {}",
                output.say("Weighted score", "가중 평균"),
                dash(score)
            );
            (changed, text)
        }
        ThinkingVerb::Quality { metrics } => {
            let changed = run.measure(context, &pairs(metrics)?)?;
            (
                changed,
                output
                    .say("✓ Quality recorded", "✓ 품질 지표를 기록했습니다")
                    .to_owned(),
            )
        }
        ThinkingVerb::Feedback(verb) => feedback(context, output, folder, &run, verb)?,
        ThinkingVerb::Status { all: true } => {
            let start = args.dir.as_ref().map(|dir| named_folder(folder, dir));
            let start = start.unwrap_or_else(|| Ok(folder.to_owned()))?;
            return thinking_board::show(context, output, &start);
        }
        ThinkingVerb::Status { all: false } => {
            let view = here::reachable(context, run.file().view(context)?);
            return here::status_of(output, &view);
        }
    };
    let view = here::reachable(context, changed.view);
    output.changed(&Changed { view, ..changed }, &text);
    Ok(ExitCode::SUCCESS)
}

fn task_folder(context: &Context, folder: &Path, args: &ThinkingArgs) -> Result<PathBuf, Error> {
    match (&args.dir, &args.verb) {
        (Some(dir), _) => named_folder(folder, dir),
        (None, ThinkingVerb::New { .. }) => Ok(folder.to_owned()),
        (None, _) => {
            let path = workspace::locate(context, FileKind::Thinking, folder);
            let parent = path.parent().map(Path::to_owned);
            Ok(parent.unwrap_or_else(|| folder.to_owned()))
        }
    }
}

fn completed(output: &Output, stage: Stage, changed: &Changed) -> String {
    let minutes = stage_value(&changed.view, stage, "duration_minutes")
        .as_i64()
        .unwrap_or(0);
    let text = output.say(
        "✓ Stage '{}' completed in {m} minutes",
        "✓ '{}' 단계를 {m}분 만에 완료했습니다",
    );
    text.replace("{}", stage.name())
        .replace("{m}", &minutes.to_string())
}

fn failed(output: &Output, stage: Stage, changed: &Changed) -> String {
    let count = stage_value(&changed.view, stage, "retry_count")
        .as_u64()
        .unwrap_or(0);
    let text = if count >= u64::from(RETRIES_MAX) {
        output.say(
            "✗ Stage '{}' failed (max retries exceeded)",
            "✗ '{}' 단계가 실패했습니다 (재시도 초과)",
        )
    } else {
        output.say(
            "✗ Stage '{}' failed (retry {n}/{max})",
            "✗ '{}' 단계가 실패했습니다 (재시도 {n}/{max})",
        )
    };
    text.replace("{}", stage.name())
        .replace("{n}", &count.to_string())
        .replace("{max}", &RETRIES_MAX.to_string())
}

fn feedback(
    context: &Context,
    output: &Output,
    folder: &Path,
    run: &ThinkingRun,
    verb: &FeedbackVerb,
) -> Result<(Changed, String), Error> {
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
            let mut execution = execution(metric.as_deref(), target.as_deref(), from.as_deref())?;
            execution.learnings.extend(learnings.iter().cloned());
            execution.improvements.extend(improvements.iter().cloned());
            execution.stages = stages.iter().map(|&stage| stage.into()).collect();
            let changed = run.record(context, &execution)?;
            let achievement =
                &changed.view.document.value()["feedback"]["from_execution"]["goal_achievement"];
            let text = format!(
                "✓ {} {}",
                output.say("Goal achievement", "목표 달성률"),
                dash(achievement)
            );
            Ok((changed, text))
        }
        FeedbackVerb::Apply { from } => {
            let changed = run.apply(context, &folder.join(from))?;
            Ok((
                changed,
                output
                    .say("✓ Feedback applied", "✓ 피드백을 반영했습니다")
                    .to_owned(),
            ))
        }
    }
}

/// What came of the work: from the command line, from a file, or the file's with a word from the command line.
fn execution(
    metric: Option<&str>,
    target: Option<&str>,
    from: Option<&Path>,
) -> Result<Execution, Error> {
    let target = target.map(number).transpose()?;
    let Some(path) = from else {
        let (metric, actual) = pair(metric.unwrap_or_default())?;
        return Ok(Execution {
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
    let measured = ThinkingRun::measured(path, metric)?;
    let target = target.or(measured.target).ok_or_else(|| Error::BadInput {
        message: Wrong::NoTarget { path: shown(path) },
        hint: Advice::SayTarget,
    })?;
    Ok(Execution {
        metric: measured.metric,
        actual: measured.actual,
        target,
        learnings: measured.learnings,
        improvements: measured.improvements,
        stages: Vec::new(),
    })
}

/// Title, goal, stages and what was made of them.
pub(crate) fn overview(output: &Output, view: &View) -> Vec<String> {
    let value = &here::printable(view.document.value());
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let title = format!("{}  {}", text("task_id"), text("title"));
    let title = output.tone(Tone::Strong, title.trim());
    let mut lines = vec![format!("{title}  {}", here::standing(output, view))];
    if !text("goal").is_empty() {
        lines.push(format!("{}: {}", output.say("goal", "목표"), text("goal")));
    }
    lines.extend(stages(output, view));
    let quality = named_numbers(&value["quality_metrics"], &[]);
    let scores = named_numbers(&value["core_values_evaluation"], &["weighted_score"]);
    let score = &value["core_values_evaluation"]["weighted_score"];
    let achieved = &value["feedback"]["from_execution"]["goal_achievement"];
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("{name}: {value}"));
        }
    };
    let score = if score.is_number() {
        format!("{score}  ")
    } else {
        String::new()
    };
    fact(output.say("score", "점수"), format!("{score}{scores}"));
    fact(output.say("quality", "품질"), quality);
    if achieved.is_number() {
        fact(
            output.say("goal achievement", "목표 달성률"),
            achieved.to_string(),
        );
    }
    lines
}

/// Members that are numbers, in one line.
fn named_numbers(value: &Value, but: &[&str]) -> String {
    let members = value.as_object().into_iter().flatten();
    let numbers =
        members.filter(|(name, value)| value.is_number() && !but.contains(&name.as_str()));
    let texts: Vec<String> = numbers
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    texts.join(" · ")
}

/// The four stages, one per line.
fn stages(output: &Output, view: &View) -> Vec<String> {
    let mut lines = Vec::new();
    for stage in Stage::ALL {
        let word = stage_value(view, stage, "status")
            .as_str()
            .unwrap_or("pending")
            .to_owned();
        let (mark, tone) = match word.as_str() {
            "completed" => ("✓", Tone::Good),
            "in_progress" => ("▶", Tone::Busy),
            "failed" => ("✗", Tone::Bad),
            _ => ("·", Tone::Faint),
        };
        let mut facts = Vec::new();
        if let Some(minutes) = stage_value(view, stage, "duration_minutes").as_i64() {
            facts.push(
                output
                    .say("{} min", "{}분")
                    .replace("{}", &minutes.to_string()),
            );
        }
        let outputs = stage_value(view, stage, "outputs")
            .as_array()
            .map_or(0, Vec::len);
        if outputs > 0 {
            let text = match outputs {
                1 => output.say("{} output", "산출물 {}개"),
                _ => output.say("{} outputs", "산출물 {}개"),
            };
            facts.push(text.replace("{}", &outputs.to_string()));
        }
        let retries = stage_value(view, stage, "retry_count")
            .as_u64()
            .unwrap_or(0);
        if retries > 0 {
            facts.push(format!(
                "{} {retries}/{RETRIES_MAX}",
                output.say("retry", "재시도")
            ));
        }
        if let Some(message) = stage_value(view, stage, "error")
            .get("message")
            .and_then(Value::as_str)
        {
            facts.push(here::one_line(message));
        }
        let status = here::status_word(output, &word);
        let line = format!(
            "  {mark} {:<11} {}  {}",
            stage.name(),
            here::pad(&status, 12),
            facts.join(" · ")
        );
        lines.push(output.tone(tone, line.trim_end()));
    }
    lines
}

fn stage_value<'v>(view: &'v View, stage: Stage, field: &str) -> &'v Value {
    &view.document.value()["stages"][stage.name()][field]
}

fn dash(value: &Value) -> String {
    if value.is_null() {
        "-".to_owned()
    } else {
        value.to_string()
    }
}

fn pairs(texts: &[String]) -> Result<Vec<(String, f64)>, Error> {
    let mut pairs: Vec<(String, f64)> = Vec::new();
    for text in texts {
        let (name, value) = pair(text)?;
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

fn pair(text: &str) -> Result<(String, f64), Error> {
    let (name, value) = text.split_once('=').ok_or_else(|| Error::BadInput {
        message: Wrong::NotNameValue { text: text.into() },
        hint: Advice::PairExample,
    })?;
    Ok((name.trim().to_owned(), number(value)?))
}

/// A number; percent becomes a fraction.
fn number(text: &str) -> Result<f64, Error> {
    engagement::number(text).ok_or_else(|| Error::BadInput {
        message: Wrong::NotANumber { text: text.into() },
        hint: Advice::NumberExample,
    })
}

impl From<StageName> for Stage {
    fn from(name: StageName) -> Self {
        match name {
            StageName::Planning => Stage::Planning,
            StageName::Selection => Stage::Selection,
            StageName::Creation => Stage::Creation,
            StageName::Reflection => Stage::Reflection,
        }
    }
}
