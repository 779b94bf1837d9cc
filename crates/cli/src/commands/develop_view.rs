//! Text views of a develop run.

use crate::commands::status::{one_line, status_word};
use crate::output::{CommandOutput, TextTone};
use bowline_engine::operations::develop::{ATTEMPTS_MAX, CheckpointStatus, DevelopRunState, Gate};
use bowline_words::message::Label;

/// Returns lines with the feature, phase, gates and checkpoints.
pub(crate) fn develop_overview(
    output: &CommandOutput,
    run: Option<&DevelopRunState>,
) -> Vec<String> {
    let Some(run) = run else {
        return Vec::new();
    };
    let feature = output.colour_text(TextTone::Strong, &one_line(&run.feature));
    let mut head = format!("{feature}  {}", run.phase.name());
    if let Some(strategy) = run.strategy {
        head.push_str(&format!("  {}", strategy.name()));
    }
    let mut lines = vec![head];
    for gate in Gate::ALL {
        let (mark, tone) = match run.gates.is_open(gate) {
            true => ("✓", TextTone::Good),
            false => ("·", TextTone::Faint),
        };
        lines.push(output.colour_text(tone, &format!("  {mark} {}", gate.name())));
    }
    for one in &run.checkpoints {
        let (mark, tone) = match one.status {
            CheckpointStatus::Passed => ("✓", TextTone::Good),
            CheckpointStatus::InProgress => ("▶", TextTone::Busy),
            CheckpointStatus::Escalated | CheckpointStatus::Failed => ("✗", TextTone::Bad),
            CheckpointStatus::Pending => ("·", TextTone::Faint),
        };
        let status = status_word(output, one.status.name());
        let mut line = format!("  {mark} {}  {status}", one_line(&one.id));
        if one.status == CheckpointStatus::InProgress {
            let (count, max) = (one.iteration, ATTEMPTS_MAX);
            line.push_str(&format!(" {}", output.label(Label::Attempt { count, max })));
        }
        lines.push(output.colour_text(tone, &line));
    }
    lines
}

/// Returns three lines for resuming a run: feature and phase, gates, checkpoints.
pub(crate) fn resume_report(output: &CommandOutput, run: &DevelopRunState) -> Vec<String> {
    let head = output.label(Label::PreviousSession);
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
