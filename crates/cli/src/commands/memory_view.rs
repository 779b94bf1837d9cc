//! Text views of the memory files.

use crate::commands::status::{
    format_duration, one_line, pad_text, progress_bar, status_word, truncate_text,
};
use crate::output::{CommandOutput, TextTone};
use bowline_engine::advice::NextCommand;
use bowline_engine::formats::time;
use bowline_engine::operations::memory::{
    ActiveTask, AgentMemory, DefaultSummary, HistoryEntry, PlanStep, SharedContext, StepStatus,
    TRIES_MAX, TaskMemory, TaskResult, compute_statistics,
};
use bowline_words::message::Label;
use serde_json::{Map, Value};
use unicode_width::UnicodeWidthStr as _;

/// Most entries of the history that are shown.
const HISTORY_SHOWN_MAX: usize = 10;

/// Returns lines with the current task, its steps and the queue.
pub(crate) fn task_state(
    output: &CommandOutput,
    memory: &TaskMemory,
    next: &[NextCommand],
) -> Vec<String> {
    let mut lines = match &memory.current {
        None => vec![output.label(Label::NoCurrentTask)],
        Some(task) => current_task_lines(output, task, next),
    };
    lines.extend(memory.queue.iter().map(|task| {
        let line = format!(
            "  {} {}  {}",
            output.label(Label::Queued),
            one_line(&task.id),
            one_line(&task.name)
        );
        output.colour_text(TextTone::Faint, &line)
    }));
    lines
}

fn current_task_lines(
    output: &CommandOutput,
    task: &ActiveTask,
    next: &[NextCommand],
) -> Vec<String> {
    let (steps, done) = (&task.plan.steps, task.plan.completed_steps());
    let status = status_word(output, task.status.name());
    let name = one_line(&format!("{}  {}", task.id, task.name));
    let name = output.colour_text(TextTone::Strong, &name);
    let percent = (done * 100).checked_div(steps.len()).unwrap_or(0);
    let bar = progress_bar(u32::try_from(percent).unwrap_or(100));
    let mut lines = vec![format!("{name}  {bar} {status} {done}/{}", steps.len())];
    if !task.plan.goal.is_empty() {
        let goal = one_line(&task.plan.goal);
        lines.push(format!("{}: {goal}", output.label(Label::Goal)));
    }
    let width = name_width(steps.iter().map(|step| &step.name));
    lines.extend(steps.iter().map(|step| {
        let id = step.id.to_string();
        let advised =
            |one: &&NextCommand| one.verb == "step start" && one.target.as_ref() == Some(&id);
        let free = step.status == StepStatus::Pending && next.iter().any(|one| advised(&one));
        step_line(output, step, width, free)
    }));
    let open = task.issues.iter().filter(|issue| !issue.resolved);
    lines.extend(open.map(|issue| {
        let (step, message) = (output.label(Label::Step), one_line(&issue.message));
        let line = format!("  ! {step} {}: {message}", issue.step_id);
        output.colour_text(TextTone::Bad, &line)
    }));
    lines
}

/// Returns the width of the column of names: that of the longest name, up to a limit.
fn name_width<'n>(names: impl Iterator<Item = &'n String>) -> usize {
    const WIDTH_MAX: usize = 48;
    let widths = names.map(|name| one_line(name).width());
    widths.max().unwrap_or(0).min(WIDTH_MAX)
}

fn step_line(output: &CommandOutput, step: &PlanStep, width: usize, free: bool) -> String {
    let (mark, tone) = match step.status {
        StepStatus::Completed => ("✓", TextTone::Good),
        StepStatus::InProgress => ("▶", TextTone::Busy),
        StepStatus::Failed => ("✗", TextTone::Bad),
        StepStatus::Pending => ("·", TextTone::Faint),
    };
    let mut facts = vec![one_line(&step.agent)];
    if !step.dependencies.is_empty() {
        let needs: Vec<String> = step.dependencies.iter().map(u32::to_string).collect();
        facts.push(format!(
            "{} {}",
            output.label(Label::After),
            needs.join("+")
        ));
    }
    if free {
        facts.push(output.label(Label::MayStart));
    }
    if let (Some(from), Some(to)) = (step.started_at, step.completed_at) {
        facts.push(format_duration(output, to.seconds_since(from)));
    }
    if step.retries > 0 {
        facts.push(output.label(Label::Retries {
            count: step.retries,
            max: TRIES_MAX,
        }));
    }
    if let Some(error) = &step.error {
        facts.push(one_line(&error.message));
    }
    facts.retain(|fact| !fact.is_empty());
    let line = format!(
        "  {mark} {:>2}  {}  {}  {}",
        step.id,
        pad_text(&truncate_text(&one_line(&step.name), width), width),
        pad_text(&status_word(output, step.status.name()), 11),
        facts.join(" · ")
    );
    output.colour_text(tone, line.trim_end())
}

/// Returns lines with the totals of all finished tasks, and the newest of them.
pub(crate) fn task_history(output: &CommandOutput, tasks: &[HistoryEntry]) -> Vec<String> {
    let all = compute_statistics(tasks);
    let mut lines = vec![output.label(Label::Totals {
        tasks: all.total_tasks,
        percent: format!("{:.0}", all.success_rate * 100.0),
        average: format_duration(output, all.avg_duration_seconds),
    })];
    let hidden = tasks.len().saturating_sub(HISTORY_SHOWN_MAX);
    let shown = &tasks[hidden..];
    let width = name_width(shown.iter().map(|task| &task.name));
    lines.extend(shown.iter().rev().map(|task| {
        let (mark, tone) = match task.result {
            TaskResult::Success => ("✓", TextTone::Good),
            TaskResult::Partial => ("▶", TextTone::Busy),
            TaskResult::Failure => ("✗", TextTone::Bad),
        };
        let line = format!(
            "  {mark} {}  {}  {}  {}  {}",
            one_line(&task.id),
            pad_text(&truncate_text(&one_line(&task.name), width), width),
            pad_text(&status_word(output, task.result.name()), 7),
            pad_text(&format_duration(output, task.duration_seconds), 6),
            output.label(summary_label(&task.summary))
        );
        output.colour_text(tone, line.trim_end())
    }));
    if hidden > 0 {
        let text = output.label(Label::Earlier { count: hidden });
        lines.push(output.colour_text(TextTone::Faint, &format!("  {text}")));
    }
    lines
}

fn summary_label(text: &str) -> Label {
    match DefaultSummary::parse(text) {
        Some(DefaultSummary::Steps { completed, total }) => {
            Label::StepsCompleted { completed, total }
        }
        Some(DefaultSummary::Cancelled) => Label::TaskCancelled,
        None => Label::Summary {
            text: one_line(text),
        },
    }
}

/// Returns lines with the session and its shared values.
pub(crate) fn shared_context(shared: &SharedContext) -> Vec<String> {
    let began = time::format_utc(shared.session_started_at);
    let mut lines = vec![format!("{}  {began}", one_line(&shared.session_id))];
    lines.extend(section_lines("shared_data", &shared.shared_data));
    lines.extend(section_lines("preferences", &shared.preferences));
    lines
}

/// Returns lines with the memory of one agent.
pub(crate) fn agent_memory(memory: &AgentMemory) -> Vec<String> {
    let mut lines = vec![one_line(&memory.agent)];
    lines.extend(section_lines("preferences", &memory.preferences));
    lines.extend(section_lines("cache", &memory.cache));
    lines.extend(section_lines("statistics", &memory.statistics));
    lines
}

fn section_lines(name: &str, members: &Map<String, Value>) -> impl Iterator<Item = String> {
    let line = move |(key, value): (&String, &Value)| {
        one_line(&format!("  {name}.{key}: {}", short_value(value)))
    };
    members.iter().map(line)
}

/// Formats a value on one line that fits a screen.
fn short_value(value: &Value) -> String {
    const WIDTH_MAX: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= WIDTH_MAX {
        return text;
    }
    let cut: String = text.chars().take(WIDTH_MAX).collect();
    format!("{cut}…")
}
