//! Text views of tasks, as people read them.

use super::remote::{Remote, Told, items, tell, text};
use super::task_review::{NamedFiles, change_lines};
use super::task_words::{barred, barred_for_list, prose_lines};
use crate::output::{Output, Tone};
use bowline_engine::formats::tool_input::input_lines;
use bowline_engine::formats::visible;
use bowline_engine::webhook::encode_segment;
use bowline_words::message::Desk;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Width of a title in a list, in columns.
const TITLE_WIDTH: usize = 36;

/// Joins the texts of a list.
fn joined(list: &Value, between: &str) -> String {
    let texts = list.as_array().into_iter().flatten();
    let texts: Vec<&str> = texts.filter_map(Value::as_str).collect();
    texts.join(between)
}

/// Prints a page of answers: as it is in JSON mode, else `line` of each item.
fn paged(output: &Output, page: &Value, line: impl Fn(&Value) -> String) {
    if output.json {
        output.line(&page.to_string());
        return;
    }
    for item in items(page) {
        output.line(&line(item));
    }
}

/// Prints a page of answers, or `nothing` if the page is empty.
fn paged_or(output: &Output, page: &Value, nothing: Desk, line: impl Fn(&Value) -> String) {
    paged(output, page, line);
    if !output.json && items(page).next().is_none() {
        output.line(&nothing.say(output.lang));
    }
}

/// Pads a text to a width, or cuts it with `…`.
fn fitted(text: &str, width: usize) -> String {
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

fn tone(task: &Value) -> Tone {
    match text(task, "status") {
        "completed" => Tone::Good,
        "failed" => Tone::Bad,
        "in_progress" | "review" => Tone::Busy,
        _ => Tone::Faint,
    }
}

/// Formats a task on one line.
fn line(output: &Output, task: &Value) -> String {
    let agent = &task["agentState"];
    let mut note = match (text(agent, "status"), text(agent, "pausedBy")) {
        ("idle" | "running" | "completed" | "failed", _) => {
            visible::title(text(agent, "currentStep"))
        }
        (status, "") => status.to_owned(),
        (status, by) => format!("{status} ({by} {})", text(agent, "resumeAt")),
    };
    if task["needsYou"] == true {
        note = format!("{} {note}", Desk::NeedsYou.say(output.lang));
    }
    let phase = match task["currentPhase"].as_u64() {
        Some(phase) => format!("{phase}/{}", task["totalPhases"]),
        None => "-".to_owned(),
    };
    format!(
        "{}  {}  {:>5}  {:>4}%  {}  {}",
        fitted(text(task, "id"), text(task, "id").width().max(12)),
        output.tone(tone(task), &fitted(text(task, "status"), 11)),
        phase,
        task["progress"],
        fitted(&visible::title(text(task, "title")), TITLE_WIDTH),
        note.trim_end(),
    )
    .trim_end()
    .to_owned()
}

pub(super) fn list(output: &Output, page: &Value) {
    paged_or(output, page, Desk::NoTasks, |task| line(output, task));
}

/// Returns lines with a question and the answers it allows.
fn question_lines(question: &Value) -> Vec<String> {
    let mut lines = prose_lines(text(question, "question"));
    let options = question["options"].as_array().into_iter().flatten();
    let options = options.filter_map(Value::as_str);
    lines.extend(options.map(|option| format!("- {}", visible::title(option))));
    lines
}

pub(super) fn inbox(remote: &Remote<'_>, page: &Value) {
    let output = remote.output;
    paged_or(output, page, Desk::NothingWaits, |item| {
        let task = text(item, "taskId");
        let (what, words, next) = match text(item, "kind") {
            "review" => {
                let phase = format!("phase {}", item["review"]["phase"]);
                (phase, Vec::new(), format!("bowline task approve {task}"))
            }
            "question" => {
                let lines = question_lines(&item["question"]);
                let next = format!("bowline task answer {task} TEXT");
                (Desk::Asks.say(output.lang), lines, next)
            }
            "dependency" => {
                let needed = &item["dependency"];
                let mut lines = vec![visible::name(text(needed, "name"))];
                lines.extend(prose_lines(text(needed, "description")));
                let next = format!("bowline task provide {task}");
                (Desk::Needs.say(output.lang), lines, next)
            }
            "permission" => {
                let wanted = &item["permission"];
                let tool = visible::name(text(wanted, "tool"));
                let what = format!("{} {tool}", Desk::WantsLeave.say(output.lang));
                let next = format!("bowline task permit {}", text(item, "id"));
                (what, input_lines(&wanted["input"]), next)
            }
            _ => (
                visible::title(text(item, "reason")),
                Vec::new(),
                format!("bowline task show {task}"),
            ),
        };
        let (kind, title) = (text(item, "kind"), visible::title(text(item, "title")));
        let agent = visible::name(text(item, "agent"));
        let mut lines = vec![format!("{kind}  {title}: {agent} {what}")];
        lines.extend(barred_for_list(&words, output.lang, task));
        if kind == "review" {
            let changes = change_lines(remote, text(item, "id"), NamedFiles::Deleted);
            lines.extend(changes.iter().map(|line| format!("    {line}")));
        }
        lines.push(output.tone(Tone::Faint, &format!("    {next}")));
        lines.join("\n")
    });
}

fn ids(list: &serde_json::Value) -> String {
    let ids = list.as_array().into_iter().flatten();
    let ids: Vec<&str> = ids.filter_map(|it| it.as_str()).collect();
    ids.join(", ")
}

pub(super) fn show(remote: &Remote<'_>, id: &str) -> Told<ExitCode> {
    let output = remote.output;
    let path = format!("/api/tasks/{}", encode_segment(id));
    let task = remote.get(&path)?;
    let agent = remote.get(&format!("{path}/agent"))?;
    if output.json {
        let mut body = task;
        body["agentState"] = agent;
        output.line(&body.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    output.line(&line(output, &task));
    let put = |what: Desk, value: &str| {
        if !value.is_empty() {
            output.line(&format!("  {}: {value}", what.say(output.lang)));
        }
    };
    put(Desk::Type, &visible::name(text(&task, "type")));
    put(Desk::Folder, &visible::name(text(&task, "workspace")));
    let waits_for = ids(&task["waitingFor"]);
    let waits_for = match text(&task, "waitReason") == "workspace_busy" {
        true => Desk::HoldsWorkspace { task: waits_for }.say(output.lang),
        false => waits_for,
    };
    put(Desk::WaitsFor, &waits_for);
    put(Desk::Step, &visible::title(text(&agent, "currentStep")));
    put(Desk::Checkpoint, text(&agent["checkpoint"], "lastSaved"));
    put(Desk::LastOutput, text(&agent, "lastOutput"));
    let usd = agent["costUsd"].as_f64();
    let spent = Desk::Spent {
        tokens: agent["tokensUsed"].as_u64().unwrap_or(0),
        usd: usd.map_or_else(String::new, |usd| format!(", ${usd:.2}")),
    };
    put(Desk::Spend, &spent.say(output.lang));
    let failure = &task["failure"];
    put(
        Desk::Failed,
        visible::title(&format!(
            "{} {}",
            text(failure, "code"),
            text(failure, "message")
        ))
        .trim(),
    );
    let quote = |lines: &[String]| barred(lines).iter().for_each(|line| output.line(line));
    for question in remote.pending(id, "questions")? {
        put(Desk::Asks, text(&question, "id"));
        quote(&question_lines(&question));
    }
    for needed in remote.pending(id, "dependencies")? {
        put(Desk::Needs, &visible::name(text(&needed, "name")));
        quote(&prose_lines(text(&needed, "description")));
    }
    for wanted in remote.pending(id, "permissions")? {
        put(Desk::WantsLeave, &visible::name(text(&wanted, "tool")));
        quote(&input_lines(&wanted["input"]));
    }
    for review in remote.pending(id, "reviews")? {
        let files = joined(&review["deliverables"], ", ");
        put(Desk::InReview, &visible::name(&files));
        let changes = change_lines(remote, text(&review, "id"), NamedFiles::All);
        changes
            .iter()
            .for_each(|line| output.line(&format!("    {line}")));
    }
    put(Desk::AllowedNow, &joined(&task["allowedActions"], ", "));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn transitions(output: &Output, page: &Value) {
    for it in items(page) {
        if output.json {
            output.line(&it.to_string());
            continue;
        }
        output.line(&format!(
            "#{:<4} {}  {:<5}  {} -> {}  {}",
            it["sequence"],
            text(it, "timestamp"),
            text(it, "entity"),
            text(it, "from"),
            text(it, "to"),
            visible::name(text(it, "trigger")),
        ));
    }
}

pub(super) fn checkpoints(output: &Output, page: &Value) {
    paged(output, page, |it| {
        format!(
            "{}  {}  {}  {} {}%",
            text(it, "id"),
            text(it, "createdAt"),
            visible::name(text(it, "reason")),
            Desk::Phase.say(output.lang),
            it["progress"],
        )
    });
}

pub(super) fn sayings(output: &Output, page: &Value) {
    paged(output, page, |it| {
        format!(
            "{}  {}  {:<9}  {}",
            text(it, "id"),
            text(it, "createdAt"),
            text(it, "status"),
            visible::title(text(it, "text")),
        )
    });
}

pub(super) fn artifacts(output: &Output, page: &Value) {
    paged(output, page, |it| {
        let warn = match it["holdsSecret"] == true {
            true => Desk::HoldsSecret.say(output.lang),
            false => String::new(),
        };
        let path = visible::name(text(it, "path"));
        format!("{:>10}  {path}{warn}", it["bytes"])
    });
}

/// Draws a board of all tasks, again at every event. Without a terminal, prints one line of JSON or
/// text per event.
pub(super) fn watch(remote: &Remote<'_>) -> Told<ExitCode> {
    let output = remote.output;
    let drawn = std::io::stdout().is_terminal() && !output.json;
    let mut since = None;
    loop {
        if drawn {
            let page = remote.get("/api/tasks?limit=1000")?;
            let mut board = String::from("\u{1b}[H\u{1b}[2J");
            for task in items(&page) {
                board.push_str(&line(output, task));
                board.push('\n');
            }
            crate::output::printed(std::io::stdout().write_all(board.as_bytes()));
            crate::output::printed(std::io::stdout().flush());
        }
        let listened = remote
            .client
            .events("/api/events", since, |name, id, data| {
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
                    output.line(data);
                } else {
                    let body: Value = serde_json::from_str(data).unwrap_or_else(|_| json!({}));
                    let moved = &body["data"];
                    output.line(&format!(
                        "{}  {}  {} {}",
                        text(&body, "timestamp"),
                        text(&body, "taskId"),
                        name,
                        visible::name(text(moved, "trigger"))
                    ));
                }
                true
            });
        match listened {
            Ok(None) if drawn => {}
            Ok(None) => return Ok(ExitCode::SUCCESS),
            Ok(Some(answer)) => return Err(remote.refused(&answer)),
            Err(trouble) => return Err(tell(output, &trouble)),
        }
    }
}
