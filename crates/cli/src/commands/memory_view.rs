//! The files of the memory, as people read them.

use crate::commands::here::{pad, status_word};
use crate::output::{Output, Tone};
use bowline_engine::files::View;
use serde_json::Value;

/// Entries of the history shown at once.
const HISTORY_SHOWN_MAX: usize = 10;

/// The current task with its steps, and the queue behind it.
pub(crate) fn task_state(output: &Output, view: &View) -> Vec<String> {
    let value = view.document.value();
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
        lines.push(format!("{name}  {status} {done}/{}", steps.len()));
        if !text(&task["plan"]["goal"]).is_empty() {
            lines.push(format!(
                "{}: {}",
                output.say("goal", "목표"),
                text(&task["plan"]["goal"])
            ));
        }
        lines.extend(steps.iter().map(|step| step_line(output, step)));
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

fn step_line(output: &Output, step: &Value) -> String {
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
    if let Some(message) = step["error"]["message"].as_str() {
        facts.push(message.to_owned());
    }
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    let line = format!(
        "  {mark} {:>2}  {}  {}  {}",
        step["id"].to_string(),
        pad(text(&step["name"]), 24),
        pad(&status_word(output, word), 12),
        facts.join(" · ")
    );
    output.tone(tone, line.trim_end())
}

/// The newest tasks that are over, and the numbers of all.
pub(crate) fn task_history(output: &Output, view: &View) -> Vec<String> {
    let value = view.document.value();
    let statistics = &value["statistics"];
    let mut lines = vec![format!(
        "{} {} · {} {:.0}% · {} {} s",
        statistics["total_tasks"],
        match statistics["total_tasks"].as_u64() {
            Some(1) => output.say("task", "개 작업"),
            _ => output.say("tasks", "개 작업"),
        },
        output.say("success", "성공률"),
        statistics["success_rate"].as_f64().unwrap_or(0.0) * 100.0,
        output.say("average", "평균"),
        statistics["avg_duration_seconds"],
    )];
    let tasks = value["tasks"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let shown = tasks.iter().rev().take(HISTORY_SHOWN_MAX);
    lines.extend(shown.map(|task| {
        let (mark, tone) = mark(text(&task["result"]));
        let line = format!(
            "  {mark} {}  {}  {}",
            text(&task["id"]),
            pad(text(&task["name"]), 24),
            text(&task["summary"])
        );
        output.tone(tone, line.trim_end())
    }));
    lines
}

/// The session and what is shared in it.
pub(crate) fn shared_context(view: &View) -> Vec<String> {
    let value = view.document.value();
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
    let value = view.document.value();
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
