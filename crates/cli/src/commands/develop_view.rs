//! A develop run as people read it.

use crate::output::{Output, Tone};
use bowline_engine::files::View;
use serde_json::Value;

/// Feature, phase, gates and checkpoints.
pub(crate) fn overview(output: &Output, view: &View) -> Vec<String> {
    let value = view.document.value();
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
            line.push_str(&format!(" (iter {}/3)", checkpoint["iteration"]));
        }
        lines.push(output.tone(tone, &line));
    }
    lines
}
