//! A develop run as people read it.

use crate::commands::here::{one_line, printable};
use crate::output::{Output, Tone};
use bowline_engine::files::View;
use bowline_engine::machines::develop::{ATTEMPTS_MAX, CheckpointStatus, Gate, Run};
use serde_json::Value;

/// Feature, phase, gates and checkpoints.
pub(crate) fn overview(output: &Output, view: &View) -> Vec<String> {
    let value = &printable(view.document.value());
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let mut head = format!(
        "{}  {}",
        output.tone(Tone::Strong, text("feature")),
        text("phase")
    );
    if !text("strategy").is_empty() {
        head.push_str(&format!("  {}", text("strategy")));
    }
    let mut lines = vec![head];
    for (name, open) in value["gates"].as_object().into_iter().flatten() {
        let (mark, tone) = if open == &Value::Bool(true) {
            ("✓", Tone::Good)
        } else {
            ("·", Tone::Faint)
        };
        lines.push(output.tone(tone, &format!("  {mark} {name}")));
    }
    for (id, checkpoint) in value["checkpoints"].as_object().into_iter().flatten() {
        let status = checkpoint["status"].as_str().unwrap_or_default();
        let (mark, tone) = match status {
            "passed" => ("✓", Tone::Good),
            "in_progress" => ("▶", Tone::Busy),
            "escalated" | "failed" => ("✗", Tone::Bad),
            _ => ("·", Tone::Faint),
        };
        let mut line = format!("  {mark} {id}  {status}");
        if status == "in_progress" {
            let iteration = &checkpoint["iteration"];
            line.push_str(&format!(" (iter {iteration}/{ATTEMPTS_MAX})"));
        }
        lines.push(output.tone(tone, &line));
    }
    lines
}

/// Feature and phase, gates, checkpoints: three lines for whoever comes back to a run.
pub(crate) fn report(output: &Output, run: &Run) -> Vec<String> {
    let head = output.say("Previous session", "이전 세션");
    let gates: Vec<String> = Gate::ALL
        .into_iter()
        .map(|gate| format!("{}={}", gate.name(), run.gates.is_open(gate)))
        .collect();
    let checkpoints: Vec<String> = run
        .checkpoints
        .iter()
        .map(|one| match one.status {
            CheckpointStatus::InProgress => format!(
                "{} in_progress (iter {}/{ATTEMPTS_MAX})",
                one.id, one.iteration
            ),
            CheckpointStatus::Pending
            | CheckpointStatus::Passed
            | CheckpointStatus::Escalated
            | CheckpointStatus::Failed => format!("{} {}", one.id, one.status.name()),
        })
        .collect();
    let checkpoints = match checkpoints.is_empty() {
        true => "-".to_owned(),
        false => checkpoints.join(", "),
    };
    vec![
        format!(
            "{head}: '{}', Phase {}",
            one_line(&run.feature),
            run.phase.name()
        ),
        format!("Gates: {}", gates.join(", ")),
        format!("Checkpoints: {checkpoints}"),
    ]
}
