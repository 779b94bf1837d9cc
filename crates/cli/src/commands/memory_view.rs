//! The files of the memory, as people read them.

use crate::commands::here::{bar, cut, duration, pad, printable, status_word};
use crate::output::{Output, Tone};
use bowline_engine::files::View;
use bowline_engine::formats::time;
use bowline_engine::machines::plan::TRIES_MAX;
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

/// Entries of the history shown at once.
const HISTORY_SHOWN_MAX: usize = 10;

/// The current task with its steps, and the queue behind it.
pub(crate) fn task_state(output: &Output, view: &View) -> Vec<String> {
    let value = &printable(view.document.value());
    let task = &value["current_task"];
    let mut lines = Vec::new();
    if task.is_null() {
        lines.push(
            output
                .say("no current task", "현재 작업이 없습니다")
                .to_owned(),
        );
    } else {
        let steps = task["plan"]["steps"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let done = steps
            .iter()
            .filter(|step| step["status"] == "completed")
            .count();
        let status = status_word(output, text(&task["status"]));
        let name = output.tone(
            Tone::Strong,
            &format!("{}  {}", text(&task["id"]), text(&task["name"])),
        );
        let percent = (done * 100).checked_div(steps.len()).unwrap_or(0);
        let bar = bar(u64::try_from(percent).unwrap_or(100));
        lines.push(format!("{name}  {bar} {status} {done}/{}", steps.len()));
        if !text(&task["plan"]["goal"]).is_empty() {
            lines.push(format!(
                "{}: {}",
                output.say("goal", "목표"),
                text(&task["plan"]["goal"])
            ));
        }
        let ready = startable(view);
        let width = name_width(&steps);
        lines.extend(steps.iter().map(|step| {
            let free = ready.contains(&step["id"].to_string()) && step["status"] == "pending";
            step_line(output, step, width, free)
        }));
        let open = task["issues"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|issue| issue["resolved"] != true);
        lines.extend(open.map(|issue| {
            let line = format!(
                "  ! {} {}: {}",
                output.say("step", "단계"),
                issue["step_id"],
                text(&issue["message"])
            );
            output.tone(Tone::Bad, &line)
        }));
    }
    let queue = value["pending_tasks"].as_array().into_iter().flatten();
    lines.extend(queue.map(|task| {
        let line = format!(
            "  {} {}  {}",
            output.say("queued", "대기열"),
            text(&task["id"]),
            text(&task["name"])
        );
        output.tone(Tone::Faint, &line)
    }));
    lines
}

/// The numbers of the steps that may be started now, side by side, as the engine advises.
fn startable(view: &View) -> Vec<String> {
    let next = view.examined.next.iter();
    let ids = next.filter_map(|line| line.split_once(" step start ").map(|(_, id)| id.to_owned()));
    ids.collect()
}

/// The column of names: as wide as the longest, within reason.
fn name_width(items: &[Value]) -> usize {
    const WIDTH_MAX: usize = 48;
    let widths = items.iter().map(|item| text(&item["name"]).width());
    widths.max().unwrap_or(0).min(WIDTH_MAX)
}

fn step_line(output: &Output, step: &Value, width: usize, free: bool) -> String {
    let word = text(&step["status"]);
    let (mark, tone) = mark(word);
    let mut facts = vec![text(&step["agent"]).to_owned()];
    let needs: Vec<String> = step["dependencies"]
        .as_array()
        .into_iter()
        .flatten()
        .map(Value::to_string)
        .collect();
    if !needs.is_empty() {
        facts.push(format!(
            "{} {}",
            output.say("after", "선행"),
            needs.join("+")
        ));
    }
    if free {
        facts.push(output.say("may start", "시작 가능").to_owned());
    }
    if let Some(seconds) = seconds_between(&step["started_at"], &step["completed_at"]) {
        facts.push(duration(output, seconds));
    }
    if let Some(tries) = step["retries"].as_u64().filter(|tries| *tries > 0) {
        facts.push(format!(
            "{} {tries}/{TRIES_MAX}",
            output.say("retry", "재시도")
        ));
    }
    if let Some(message) = step["error"]["message"].as_str() {
        facts.push(message.to_owned());
    }
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    let line = format!(
        "  {mark} {:>2}  {}  {}  {}",
        step["id"].to_string(),
        pad(&cut(text(&step["name"]), width), width),
        pad(&status_word(output, word), 11),
        facts.join(" · ")
    );
    output.tone(tone, line.trim_end())
}

/// The newest tasks that are over, and the numbers of all.
pub(crate) fn task_history(output: &Output, view: &View) -> Vec<String> {
    let value = &printable(view.document.value());
    let statistics = &value["statistics"];
    let mut lines = vec![format!(
        "{}{} · {} {:.0}% · {} {}",
        statistics["total_tasks"],
        match statistics["total_tasks"].as_u64() {
            Some(1) => output.say(" task", "개 작업"),
            _ => output.say(" tasks", "개 작업"),
        },
        output.say("success", "성공률"),
        statistics["success_rate"].as_f64().unwrap_or(0.0) * 100.0,
        output.say("average", "평균"),
        duration(
            output,
            statistics["avg_duration_seconds"].as_i64().unwrap_or(0)
        ),
    )];
    let tasks = value["tasks"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let shown = tasks.iter().rev().take(HISTORY_SHOWN_MAX);
    let width = name_width(&tasks[tasks.len().saturating_sub(HISTORY_SHOWN_MAX)..]);
    lines.extend(shown.map(|task| {
        let (mark, tone) = mark(text(&task["result"]));
        let took = duration(output, task["duration_seconds"].as_i64().unwrap_or(0));
        let line = format!(
            "  {mark} {}  {}  {}  {}  {}",
            text(&task["id"]),
            pad(&cut(text(&task["name"]), width), width),
            pad(&status_word(output, text(&task["result"])), 7),
            pad(&took, 6),
            text(&task["summary"])
        );
        output.tone(tone, line.trim_end())
    }));
    let hidden = tasks.len().saturating_sub(HISTORY_SHOWN_MAX);
    if hidden > 0 {
        let text = output.say("  … and {} earlier", "  … 이전 작업 {}개");
        lines.push(output.tone(Tone::Faint, &text.replace("{}", &hidden.to_string())));
    }
    lines
}

/// Seconds from one time of a document to another, where it has both.
fn seconds_between(from: &Value, to: &Value) -> Option<i64> {
    let (from, to) = (time::parse(from.as_str()?)?, time::parse(to.as_str()?)?);
    Some(to.seconds_since(from))
}

/// The session and what is shared in it.
pub(crate) fn shared_context(view: &View) -> Vec<String> {
    let value = &printable(view.document.value());
    let mut lines = vec![format!(
        "{}  {}",
        text(&value["session"]["id"]),
        text(&value["session"]["started_at"])
    )];
    lines.extend(section(value, "shared_data"));
    lines.extend(section(value, "preferences"));
    lines
}

/// What an agent remembers.
pub(crate) fn agent_memory(view: &View) -> Vec<String> {
    let value = &printable(view.document.value());
    let mut lines = vec![text(&value["agent"]).to_owned()];
    for name in ["preferences", "cache", "statistics"] {
        lines.extend(section(value, name));
    }
    lines
}

fn section(value: &Value, name: &str) -> Vec<String> {
    let members = value[name].as_object().into_iter().flatten();
    members
        .map(|(key, value)| format!("  {name}.{key}: {}", short(value)))
        .collect()
}

/// A value in one line that fits a screen.
fn short(value: &Value) -> String {
    const WIDTH_MAX: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= WIDTH_MAX {
        return text;
    }
    let cut: String = text.chars().take(WIDTH_MAX).collect();
    format!("{cut}…")
}

fn mark(word: &str) -> (&'static str, Tone) {
    match word {
        "completed" | "success" => ("✓", Tone::Good),
        "in_progress" | "partial" => ("▶", Tone::Busy),
        "failed" | "failure" => ("✗", Tone::Bad),
        _ => ("·", Tone::Faint),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
