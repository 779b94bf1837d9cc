//! An orchestration as people read it.

use crate::commands::here::printable;
use crate::output::{Output, Tone};
use bowline_engine::files::View;
use serde_json::Value;

/// Ids shown of one list.
const IDS_SHOWN_MAX: usize = 8;

/// Project, phase, progress and the lists.
pub(crate) fn overview(output: &Output, view: &View) -> Vec<String> {
    // What the file says of its numbers may be wrong; the repaired value is not.
    let value = &printable(&view.examined.fixed);
    let metrics = &value["metrics"];
    let mut lines = vec![format!(
        "{}  {} {}  {}/{}",
        output.tone(Tone::Strong, value["project"].as_str().unwrap_or_default()),
        output.say("phase", "단계"),
        value["execution"]["current_phase"],
        metrics["completed_count"],
        metrics["total_tasks"],
    )];
    for (name, tone) in [
        ("in_progress", Tone::Busy),
        ("ready", Tone::Strong),
        ("failed", Tone::Bad),
        ("blocked", Tone::Bad),
        ("pending", Tone::Faint),
        ("completed", Tone::Good),
    ] {
        let ids = value["tasks"][name]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        if ids.is_empty() {
            continue;
        }
        let shown: Vec<&str> = ids
            .iter()
            .take(IDS_SHOWN_MAX)
            .filter_map(Value::as_str)
            .collect();
        let more = if ids.len() > IDS_SHOWN_MAX {
            " …"
        } else {
            ""
        };
        let line = format!("  {name:<12} {:>4}  {}{more}", ids.len(), shown.join(" "));
        lines.push(output.tone(tone, &line));
    }
    lines
}
