//! Tasks as people read them.

use super::remote::{Remote, Told, items, tell, text};
use crate::output::{Output, Tone};
use bowline_engine::post::encoded;
use bowline_words::message::Desk;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Columns of a title in a list.
const TITLE_WIDTH: usize = 36;

/// The texts of a list, on one line.
fn joined(list: &Value, between: &str) -> String {
    let texts = list.as_array().into_iter().flatten();
    let texts: Vec<&str> = texts.filter_map(Value::as_str).collect();
    texts.join(between)
}

/// A page of answers: as it is for whoever reads JSON, else what `line` says of each.
fn paged(output: &Output, page: &Value, line: impl Fn(&Value) -> String) {
    if output.json {
        output.line(&page.to_string());
        return;
    }
    for item in items(page) {
        output.line(&line(item));
    }
}

/// The same, with a word where there is nothing.
fn paged_or(output: &Output, page: &Value, nothing: Desk, line: impl Fn(&Value) -> String) {
    paged(output, page, line);
    if !output.json && items(page).next().is_none() {
        output.line(&nothing.say(output.lang));
    }
}

/// A text cut and filled to a width.
fn fitted(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let wide = letter.width().unwrap_or(0);
        if used + wide > width {
            break;
        }
        out.push(letter);
        used += wide;
    }
    out.push_str(&" ".repeat(width - used));
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

/// One line for a task.
fn line(output: &Output, task: &Value) -> String {
    let agent = &task["agentState"];
    let mut note = match (text(agent, "status"), text(agent, "pausedBy")) {
        ("idle" | "running" | "completed" | "failed", _) => text(agent, "currentStep").to_owned(),
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
        fitted(text(task, "title"), TITLE_WIDTH),
        note.trim_end(),
    )
    .trim_end()
    .to_owned()
}

pub(super) fn list(output: &Output, page: &Value) {
    paged_or(output, page, Desk::NoTasks, |task| line(output, task));
}

pub(super) fn inbox(output: &Output, page: &Value) {
    paged_or(output, page, Desk::NothingWaits, |item| {
        let task = text(item, "taskId");
        let (what, next) = match text(item, "kind") {
            "review" => {
                let phase = &item["review"]["phase"];
                let next = format!("bowline task approve {task}");
                (format!("phase {phase}"), next)
            }
            "question" => {
                let question = text(&item["question"], "question").to_owned();
                (question, format!("bowline task answer {task} TEXT"))
            }
            "dependency" => {
                let name = text(&item["dependency"], "name").to_owned();
                (name, format!("bowline task provide {task}"))
            }
            "permission" => {
                let wanted = &item["permission"];
                let what = format!("{} {}", text(wanted, "tool"), wanted["input"]);
                (what, format!("bowline task permit {}", text(item, "id")))
            }
            _ => (
                text(item, "reason").to_owned(),
                format!("bowline task show {task}"),
            ),
        };
        let next = output.tone(Tone::Faint, &format!("    {next}"));
        let (kind, title) = (text(item, "kind"), text(item, "title"));
        format!("{kind}  {title}: {what}\n{next}")
    });
}

pub(super) fn show(remote: &Remote<'_>, id: &str) -> Told<ExitCode> {
    let output = remote.output;
    let path = format!("/api/tasks/{}", encoded(id));
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
    put(Desk::Type, text(&task, "type"));
    put(Desk::Folder, text(&task, "workspace"));
    let step = text(&agent, "currentStep");
    put(Desk::Step, step);
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
        format!("{} {}", text(failure, "code"), text(failure, "message")).trim(),
    );
    for question in remote.pending(id, "questions")? {
        let options = joined(&question["options"], " | ");
        let asked = format!("{} {options}", text(&question, "question"));
        put(Desk::Asks, &asked);
    }
    for needed in remote.pending(id, "dependencies")? {
        let (name, what) = (text(&needed, "name"), text(&needed, "description"));
        put(Desk::Needs, &format!("{name} ({what})"));
    }
    for wanted in remote.pending(id, "permissions")? {
        let call = format!("{} {}", text(&wanted, "tool"), wanted["input"]);
        put(Desk::WantsLeave, &call);
    }
    for review in remote.pending(id, "reviews")? {
        put(Desk::InReview, &joined(&review["deliverables"], ", "));
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
            text(it, "trigger"),
        ));
    }
}

pub(super) fn checkpoints(output: &Output, page: &Value) {
    paged(output, page, |it| {
        format!(
            "{}  {}  {}  {} {}%",
            text(it, "id"),
            text(it, "createdAt"),
            text(it, "reason"),
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
            text(it, "text"),
        )
    });
}

pub(super) fn artifacts(output: &Output, page: &Value) {
    paged(output, page, |it| {
        let warn = match it["holdsSecret"] == true {
            true => Desk::HoldsSecret.say(output.lang),
            false => String::new(),
        };
        format!("{:>10}  {}{warn}", it["bytes"], text(it, "path"))
    });
}

/// A board of all tasks that is drawn anew whenever something happens. On no terminal: one line of JSON or text per event.
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
                        text(moved, "trigger")
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
