//! Text views of tasks, as people read them.

use super::remote::{PAGE_ITEMS, RemoteResult, RemoteServer};
use super::task_review::{NamedFiles, change_lines};
use super::task_words::{prose_lines, quote_lines, quote_lines_in_list};
use crate::output::{CommandOutput, TextTone};
use bowline_engine::formats::rest::routes::{
    EventQuery, PageQuery, TaskQuery, TypedRequest, events, get_agent, get_inbox, get_task,
    list_artifacts, list_checkpoints, list_reviews, list_sayings, list_tasks, list_transitions,
};
use bowline_engine::formats::rest::{
    Agent, EventBody, InboxKind, Page, Question, Task, WaitReason, sent_name,
};
use bowline_engine::formats::rest::{AgentStatus, ReviewStatus, TaskStatus};
use bowline_engine::formats::tool_input::input_lines;
use bowline_engine::formats::transition::Transition;
use bowline_engine::formats::visible;
use bowline_words::message::TaskOutput;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Width of a title in a list, in columns.
const TITLE_WIDTH: usize = 36;

/// Prints a page of a list: as it was sent in JSON mode, else `line` of each item, or `nothing`.
fn print_page<T: DeserializeOwned>(
    remote: &RemoteServer<'_>,
    request: &TypedRequest<Page<T>>,
    nothing: Option<TaskOutput>,
    line: impl Fn(&T) -> String,
) -> RemoteResult<ExitCode> {
    let output = remote.output;
    let json = remote.json(request)?;
    if output.json {
        output.print_line(&json.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    let items = remote.read::<Page<T>>(&json)?.items;
    items.iter().for_each(|item| output.print_line(&line(item)));
    if let Some(nothing) = nothing.filter(|_| items.is_empty()) {
        output.print_line(&nothing.say(output.lang));
    }
    Ok(ExitCode::SUCCESS)
}

/// Pads a text to a width, or cuts it with `…`.
fn fit_text(text: &str, width: usize) -> String {
    let (mark, room) = match text.width() > width {
        true => ("…", width - 1),
        false => ("", width),
    };
    let mut out = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let wide = letter.width().unwrap_or(0);
        if used + wide > room {
            break;
        }
        out.push(letter);
        used += wide;
    }
    out.push_str(mark);
    out.push_str(&" ".repeat(room - used));
    out
}

fn status_tone(status: TaskStatus) -> TextTone {
    match status {
        TaskStatus::Completed => TextTone::Good,
        TaskStatus::Failed => TextTone::Bad,
        TaskStatus::InProgress | TaskStatus::Review => TextTone::Busy,
        TaskStatus::Draft | TaskStatus::Pending => TextTone::Faint,
    }
}

/// Formats a task on one line.
fn task_line(output: &CommandOutput, task: &Task) -> String {
    let agent = &task.agent_state;
    let mut note = match (agent.status, agent.paused_by) {
        (
            AgentStatus::Idle | AgentStatus::Running | AgentStatus::Completed | AgentStatus::Failed,
            _,
        ) => visible::escape_title(given(&agent.current_step)),
        (status, None) => status.name().to_owned(),
        (status, Some(by)) => {
            let (status, by) = (status.name(), by.name());
            format!("{status} ({by} {})", given(&agent.resume_at))
        }
    };
    if task.needs_you {
        note = format!("{} {note}", TaskOutput::NeedsYou.say(output.lang));
    }
    let phase = match task.current_phase {
        Some(phase) => format!("{phase}/{}", task.total_phases),
        None => "-".to_owned(),
    };
    format!(
        "{}  {}  {:>5}  {}%  {}  {}",
        fit_text(&task.id, task.id.width().max(12)),
        output.colour_text(status_tone(task.status), &fit_text(task.status.name(), 11)),
        phase,
        task.progress,
        fit_text(&visible::escape_title(&task.title), TITLE_WIDTH),
        note.trim_end(),
    )
    .trim_end()
    .to_owned()
}

/// Returns the text; empty if there is none.
fn given(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

pub(super) fn print_tasks(
    remote: &RemoteServer<'_>,
    request: &TypedRequest<Page<Task>>,
) -> RemoteResult<ExitCode> {
    print_page(remote, request, Some(TaskOutput::NoTasks), |task| {
        task_line(remote.output, task)
    })
}

/// Returns lines with a question and the answers it allows.
fn question_lines(question: &Question) -> Vec<String> {
    let mut lines = prose_lines(&question.question);
    let options = question.options.iter();
    lines.extend(options.map(|option| format!("- {}", visible::escape_title(option))));
    lines
}

pub(super) fn print_inbox(remote: &RemoteServer<'_>) -> RemoteResult<ExitCode> {
    let output = remote.output;
    print_page(
        remote,
        &get_inbox(),
        Some(TaskOutput::NothingWaits),
        |item| {
            let task = &item.task_id;
            let (what, words, next) = match item.kind {
                InboxKind::Review => {
                    let phase = item.review.as_ref().map_or(0, |review| review.phase);
                    let next = format!("bowline task approve {task}");
                    (format!("phase {phase}"), Vec::new(), next)
                }
                InboxKind::Question => {
                    let lines = item.question.as_ref().map(question_lines);
                    let next = format!("bowline task answer {task} TEXT");
                    (
                        TaskOutput::Asks.say(output.lang),
                        lines.unwrap_or_default(),
                        next,
                    )
                }
                InboxKind::Dependency => {
                    let needed = item.dependency.iter();
                    let lines = needed.flat_map(|needed| {
                        let mut lines = vec![visible::escape_name(&needed.name)];
                        lines.extend(prose_lines(&needed.description));
                        lines
                    });
                    let next = format!("bowline task provide {task}");
                    (TaskOutput::Needs.say(output.lang), lines.collect(), next)
                }
                InboxKind::Permission => {
                    let wanted = item.permission.as_ref();
                    let tool = visible::escape_name(wanted.map_or("", |wanted| &wanted.tool));
                    let what = format!("{} {tool}", TaskOutput::WantsLeave.say(output.lang));
                    let lines = wanted.map(|wanted| input_lines(&wanted.input));
                    let next = format!("bowline task permit {}", item.id);
                    (what, lines.unwrap_or_default(), next)
                }
                InboxKind::Task => (
                    visible::escape_title(given(&item.reason)),
                    Vec::new(),
                    format!("bowline task show {task}"),
                ),
            };
            let (kind, title) = (sent_name(&item.kind), visible::escape_title(&item.title));
            let agent = visible::escape_name(&item.agent);
            let mut lines = vec![format!("{kind}  {title}: {agent} {what}")];
            lines.extend(quote_lines_in_list(&words, output.lang, task));
            if item.kind == InboxKind::Review {
                let changes = change_lines(remote, &item.id, NamedFiles::Deleted);
                lines.extend(changes.iter().map(|line| format!("    {line}")));
            }
            lines.push(output.colour_text(TextTone::Faint, &format!("    {next}")));
            lines.join("\n")
        },
    )
}

pub(super) fn print_task(remote: &RemoteServer<'_>, id: &str) -> RemoteResult<ExitCode> {
    let output = remote.output;
    let mut task_json = remote.json(&get_task(id))?;
    let agent_json = remote.json(&get_agent(id))?;
    if output.json {
        task_json["agentState"] = agent_json;
        output.print_line(&task_json.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    let task: Task = remote.read(&task_json)?;
    let agent: Agent = remote.read(&agent_json)?;
    output.print_line(&task_line(output, &task));
    let put = |what: TaskOutput, value: &str| {
        if !value.is_empty() {
            output.print_line(&format!("  {}: {value}", what.say(output.lang)));
        }
    };
    put(
        TaskOutput::Type,
        &visible::escape_name(given(&task.task_type)),
    );
    put(
        TaskOutput::Folder,
        &visible::escape_name(given(&task.workspace)),
    );
    let waits_for = task.waiting_for.join(", ");
    let waits_for = match task.wait_reason {
        Some(WaitReason::WorkspaceBusy) => {
            TaskOutput::HoldsWorkspace { task: waits_for }.say(output.lang)
        }
        Some(WaitReason::ScheduledLater | WaitReason::WaitingForTasks) | None => waits_for,
    };
    put(TaskOutput::WaitsFor, &waits_for);
    put(
        TaskOutput::Step,
        &visible::escape_title(given(&agent.current_step)),
    );
    put(TaskOutput::Checkpoint, given(&agent.checkpoint.last_saved));
    put(TaskOutput::LastOutput, given(&agent.last_output));
    let usd = agent.cost_usd;
    let spent = TaskOutput::Spent {
        tokens: agent.tokens_used,
        usd: usd.map_or_else(String::new, |usd| format!(", ${usd:.2}")),
    };
    put(TaskOutput::Spend, &spent.say(output.lang));
    if let Some(failure) = &task.failure {
        let failure = visible::escape_title(&format!("{} {}", failure.code, failure.message));
        put(TaskOutput::Failed, failure.trim());
    }
    let quote = |lines: &[String]| {
        quote_lines(lines)
            .iter()
            .for_each(|line| output.print_line(line))
    };
    for question in remote.open_questions(id)? {
        put(TaskOutput::Asks, &question.id);
        quote(&question_lines(&question));
    }
    for needed in remote.open_dependencies(id)? {
        put(TaskOutput::Needs, &visible::escape_name(&needed.name));
        quote(&prose_lines(&needed.description));
    }
    for wanted in remote.open_permissions(id)? {
        put(TaskOutput::WantsLeave, &visible::escape_name(&wanted.tool));
        quote(&input_lines(&wanted.input));
    }
    let reviews = remote.pending(&list_reviews(id), |it| it.status == ReviewStatus::Pending)?;
    for review in reviews {
        put(
            TaskOutput::InReview,
            &visible::escape_name(&review.deliverables.join(", ")),
        );
        let changes = change_lines(remote, &review.id, NamedFiles::All);
        changes
            .iter()
            .for_each(|line| output.print_line(&format!("    {line}")));
    }
    let allowed: Vec<&str> = task.allowed_actions.iter().map(|it| it.name()).collect();
    put(TaskOutput::AllowedNow, &allowed.join(", "));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn print_transitions(remote: &RemoteServer<'_>, task: &str) -> RemoteResult<ExitCode> {
    let output = remote.output;
    let mut cursor = None;
    loop {
        let limit = Some(PAGE_ITEMS);
        let request = list_transitions(task, &PageQuery { limit, cursor });
        let json = remote.json(&request)?;
        // Items as they were sent; each is read only where it is formatted.
        let page: Page<Value> = remote.read(&json)?;
        for item in &page.items {
            if output.json {
                output.print_line(&item.to_string());
                continue;
            }
            let it: Transition = remote.read(item)?;
            output.print_line(&format!(
                "#{} {}  {:<5}  {} -> {}  {}",
                it.sequence,
                it.timestamp,
                it.entity,
                it.from.unwrap_or_default(),
                it.to,
                visible::escape_name(&it.trigger),
            ));
        }
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(ExitCode::SUCCESS),
        }
    }
}

pub(super) fn print_checkpoints(remote: &RemoteServer<'_>, task: &str) -> RemoteResult<ExitCode> {
    print_page(remote, &list_checkpoints(task), None, |it| {
        format!(
            "{}  {}  {}  {} {}%",
            it.id,
            it.created_at,
            visible::escape_name(&it.reason),
            TaskOutput::Phase.say(remote.output.lang),
            it.progress,
        )
    })
}

pub(super) fn print_messages(remote: &RemoteServer<'_>, task: &str) -> RemoteResult<ExitCode> {
    print_page(remote, &list_sayings(task), None, |it| {
        format!(
            "{}  {}  {:<9}  {}",
            it.id,
            it.created_at,
            it.status.name(),
            visible::escape_title(&it.text),
        )
    })
}

pub(super) fn print_artifacts(remote: &RemoteServer<'_>, task: &str) -> RemoteResult<ExitCode> {
    print_page(remote, &list_artifacts(task), None, |it| {
        let warn = match it.holds_secret {
            true => TaskOutput::HoldsSecret.say(remote.output.lang),
            false => String::new(),
        };
        format!("{}  {}{warn}", it.bytes, visible::escape_name(&it.path))
    })
}

/// Draws a board of all tasks, again at every event. Without a terminal, prints one line of JSON or
/// text per event.
pub(super) fn watch_tasks(remote: &RemoteServer<'_>) -> RemoteResult<ExitCode> {
    let output = remote.output;
    let drawn = std::io::stdout().is_terminal() && !output.json;
    let mut since = None;
    loop {
        if drawn {
            let page = remote.get(&list_tasks(&TaskQuery {
                limit: Some(PAGE_ITEMS),
                ..TaskQuery::default()
            }))?;
            let mut board = String::from("\u{1b}[H\u{1b}[2J");
            for task in &page.items {
                board.push_str(&task_line(output, task));
                board.push('\n');
            }
            crate::output::record_stdout_result(std::io::stdout().write_all(board.as_bytes()));
            crate::output::record_stdout_result(std::io::stdout().flush());
        }
        let events = events(&EventQuery::default());
        let followed = remote.client.follow(&events, since, |name, id, data| {
            since = id.or(since);
            if name == "hello" {
                return true;
            }
            if drawn {
                return false;
            }
            if name == "log" {
                return true;
            }
            if output.json {
                output.print_line(data);
            } else if let Ok(event) = serde_json::from_str::<EventBody>(data) {
                // Only a transition has a trigger.
                let transition = Transition::deserialize(&event.data);
                let trigger = transition.map_or_else(|_| String::new(), |it| it.trigger);
                output.print_line(&format!(
                    "{}  {}  {name} {}",
                    event.timestamp,
                    event.task_id,
                    visible::escape_name(&trigger)
                ));
            }
            true
        });
        followed.map_err(|error| remote.failed(error))?;
        if !drawn {
            return Ok(ExitCode::SUCCESS);
        }
    }
}
