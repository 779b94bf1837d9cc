//! Text and JSON views of an orchestration.

use crate::commands::status::{one_line, pad_text, status_word};
use crate::output::{CommandOutput, TextTone};
use bowline_engine::files::FileView;
use bowline_engine::formats::orchestrate::OrchestrationSummary;
use bowline_engine::operations::orchestrate::{NodeStatus, RunOverview, overview_from_view};
use bowline_runner::orchestrate::control_socket;
use bowline_words::message::{Label, OutputNote};
use serde_json::{Value, json};

/// Most ids shown of one list.
const IDS_SHOWN_MAX: usize = 8;

/// Returns lines with the project, phase, progress and the tasks by status.
pub(crate) fn orchestration_overview(output: &CommandOutput, view: &FileView) -> Vec<String> {
    // The view was made from a file that could be read.
    let Ok(glance) = overview_from_view(view.clone()) else {
        return Vec::new();
    };
    let summary = &glance.summary;
    let phase = match &summary.phase {
        Value::String(word) => one_line(word),
        Value::Null => "-".to_owned(),
        number => number.to_string(),
    };
    let mut lines = vec![format!(
        "{}  {} {phase}  {}/{}",
        output.colour_text(TextTone::Strong, &one_line(&summary.meta.project)),
        output.label(Label::Phase),
        glance.done_count(),
        glance.total_count(),
    )];
    for (status, tone) in [
        (NodeStatus::InProgress, TextTone::Busy),
        (NodeStatus::Ready, TextTone::Strong),
        (NodeStatus::Failed, TextTone::Bad),
        (NodeStatus::Blocked, TextTone::Bad),
        (NodeStatus::Pending, TextTone::Faint),
        (NodeStatus::Completed, TextTone::Good),
    ] {
        let ids = summary.ids_with_status(status);
        let Some(count) = task_count(summary, status) else {
            continue;
        };
        let shown = ids[..ids.len().min(IDS_SHOWN_MAX)].join(" ");
        let more = if ids.len() > IDS_SHOWN_MAX {
            " …"
        } else {
            ""
        };
        let word = pad_text(&status_word(output, status.name()), 12);
        let line = format!("  {word} {count:>4}  {shown}{more}");
        lines.push(output.colour_text(tone, line.trim_end()));
    }
    if let Some(paused) = owning_run_paused(view) {
        let (said, tone) = match paused {
            true => (OutputNote::RunStandsStill, TextTone::Strong),
            false => (OutputNote::RunAtWork, TextTone::Busy),
        };
        lines.push(format!(
            "  {}",
            output.colour_text(tone, &said.say(output.lang))
        ));
    }
    lines
}

/// Returns the number of tasks in a list: of its ids, or the number in the file if that is larger.
fn task_count(summary: &OrchestrationSummary, status: NodeStatus) -> Option<u64> {
    let ids = u64::try_from(summary.ids_with_status(status).len()).unwrap_or(u64::MAX);
    let counted = summary
        .counts
        .iter()
        .find(|(name, _)| name == status.name());
    Some(ids.max(counted.map_or(0, |(_, number)| *number))).filter(|count| *count > 0)
}

/// Adds what every family of the file has to the JSON of a view.
pub(crate) fn add_json(body: &mut Value, glance: &RunOverview) {
    let summary = &glance.summary;
    let mut lists = serde_json::Map::new();
    for (status, ids) in &summary.lists {
        // A list that is only a number has no ids to show.
        let counted = summary.counts.iter().any(|(name, _)| name == status.name());
        if !ids.is_empty() || !counted {
            lists.insert(status.name().into(), json!(ids));
        }
    }
    body["project"] = json!(summary.meta.project);
    body["mode"] = json!(summary.meta.mode.name());
    body["done"] = json!(glance.done_count());
    body["total"] = json!(glance.total_count());
    body["phase"] = summary.phase.clone();
    body["phasesDone"] = json!(summary.phases_done);
    body["plan"] = json!(glance.plan.as_ref().map(|plan| &plan.path));
    body["counts"] = summary
        .counts
        .iter()
        .map(|(name, number)| (name.clone(), json!(number)))
        .collect();
    for (name, ids) in &lists {
        body[name] = ids.clone();
    }
    body["tasks"] = lists.into();
    if let Some(paused) = owning_run_paused(&glance.view) {
        body["run"] = json!(if paused { "paused" } else { "running" });
    }
}

/// Returns `true` if the run that owns the file is paused; `None` if no run owns it.
fn owning_run_paused(view: &FileView) -> Option<bool> {
    control_socket::is_open(&view.path).then(|| control_socket::is_paused(&view.path))
}
