//! `bowline` alone and `bowline status`: what is here, and what can be done next.

use crate::commands::{develop_view, memory_view, orchestrate_view, thinking};
use crate::korean;
use crate::output::{Output, Tone, exit_code};
use bowline_engine::files::{KnownFile, View};
use bowline_engine::formats::finding::Severity;
use bowline_engine::kinds::FileKind;
use bowline_engine::{Context, Error, workspace};
use bowline_words::Lang;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unicode_width::UnicodeWidthStr as _;

/// Everything here in a line or two each.
pub(crate) fn show(context: &Context, output: &Output, folder: &Path) -> Result<ExitCode, Error> {
    let mut files = Vec::new();
    let mut worst = ExitCode::SUCCESS;
    for (kind, path) in workspace::discover(context, folder) {
        match KnownFile::new(context, kind, &path).view(context) {
            Ok(view) => {
                let view = reachable(context, view);
                if output.json {
                    let mut value = output.view_json(&view);
                    value["status"] = json!(view.examined.status);
                    files.push(value);
                } else {
                    brief(output, &view);
                    files.push(Value::Null);
                }
            }
            Err(error) => {
                worst = exit_code(error.class());
                let mut entry = json!({ "kind": kind.name(), "path": path });
                entry["error"] = output.error_json(&error);
                files.push(entry);
                if !output.json {
                    output.error(&error);
                }
            }
        }
    }
    if output.json {
        output.line(&json!({ "files": files }).to_string());
    } else if files.is_empty() {
        output.line(output.say(
            "No state files here yet. Begin with one of:",
            "아직 상태 파일이 없습니다. 다음 중 하나로 시작하세요:",
        ));
        let mut shown = Vec::new();
        for command in FileKind::ALL.map(FileKind::how_to_begin) {
            if !shown.contains(&command) {
                shown.push(command);
                output.line(&format!("  {command}"));
            }
        }
    }
    Ok(worst)
}

/// One file in full, or everything here.
pub(crate) fn status(
    context: &Context,
    output: &Output,
    folder: &Path,
    what: Option<&str>,
) -> Result<ExitCode, Error> {
    let (kind, path) = match workspace::resolve(context, folder, what) {
        Err(Error::NothingHere { path }) if what.is_none() => {
            let mut below = workspace::discover(context, folder);
            match below.len() {
                0 => return Err(Error::NothingHere { path }),
                1 => below.remove(0),
                _ => return show(context, output, folder),
            }
        }
        Err(Error::Ambiguous { .. }) if what.is_none() => return show(context, output, folder),
        Ok(_) if what.is_none() && !output.json && several(context, folder) => {
            return show(context, output, folder);
        }
        resolved => resolved?,
    };
    let view = KnownFile::new(context, kind, &path).view(context)?;
    status_of(output, &reachable(context, view))
}

/// Whether more than one piece of work is here.
fn several(context: &Context, folder: &Path) -> bool {
    let found = workspace::discover(context, folder);
    found.iter().filter(|(kind, _)| kind.has_moves()).count() > 1
}

/// A look whose next commands work where the caller stands: for a file that is not found from there they name its folder.
pub(crate) fn reachable(context: &Context, mut view: View) -> View {
    let mut findings = view.examined.findings.iter();
    if findings.any(|finding| finding.severity == Severity::ReadOnly) {
        // Every command would be refused.
        view.examined.next.clear();
    }
    let here = current_folder();
    if workspace::locate(context, view.kind, &here) == view.path {
        return view;
    }
    let Some(root) = view
        .path
        .to_str()
        .and_then(|path| path.strip_suffix(view.kind.relative_path()))
        .map(|root| Path::new(root.trim_end_matches('/')))
    else {
        return named(view, &here);
    };
    let root = root.strip_prefix(&here).unwrap_or(root);
    let root = quoted(&root.display().to_string());
    for command in &mut view.examined.next {
        *command = command.replacen("bowline ", &format!("bowline -C {root} "), 1);
    }
    view
}

/// The same for a memory that is kept elsewhere than its name says: only its folder can be named.
fn named(mut view: View, here: &Path) -> View {
    let Some(folder) = view.path.parent() else {
        return view;
    };
    let folder = folder.strip_prefix(here).unwrap_or(folder);
    let folder = quoted(&folder.display().to_string());
    let noun = format!("bowline {} ", view.kind.noun());
    for command in &mut view.examined.next {
        *command = command.replacen(&noun, &format!("{noun}--dir {folder} "), 1);
    }
    view
}

/// The folder the caller stands in, whatever `-C` says.
fn current_folder() -> PathBuf {
    std::path::absolute(".").unwrap_or_else(|_| PathBuf::from("."))
}

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// One file in full.
pub(crate) fn status_of(output: &Output, view: &View) -> Result<ExitCode, Error> {
    if output.json {
        output.line(&output.view_json(view).to_string());
        return Ok(ExitCode::SUCCESS);
    }
    output.notices(&view.notices);
    let lines = match view.kind {
        FileKind::Thinking => thinking::overview(output, view),
        FileKind::TaskState => memory_view::task_state(output, view),
        FileKind::TaskHistory => memory_view::task_history(output, view),
        FileKind::SharedContext => memory_view::shared_context(view),
        FileKind::AgentMemory => memory_view::agent_memory(view),
        FileKind::Develop => develop_view::overview(output, view),
        FileKind::Orchestrate => orchestrate_view::overview(output, view),
    };
    for line in lines {
        output.line(&line);
    }
    findings(output, view);
    next(output, view);
    Ok(ExitCode::SUCCESS)
}

fn brief(output: &Output, view: &View) {
    let here = current_folder();
    let path = view.path.strip_prefix(&here).unwrap_or(&view.path);
    let name = output.tone(Tone::Strong, view.kind.name());
    output.line(&format!(
        "{name}  {}  {}",
        standing(output, view),
        output.tone(Tone::Faint, &path.display().to_string())
    ));
    output.notices(&view.notices);
    findings(output, view);
    next(output, view);
}

pub(crate) fn standing(output: &Output, view: &View) -> String {
    let status = status_word(output, &view.examined.status);
    let tone = match view.examined.status.as_str() {
        "completed" => Tone::Good,
        "failed" => Tone::Bad,
        "in_progress" => Tone::Busy,
        _ => Tone::Faint,
    };
    let status = output.tone(tone, &status);
    match view
        .document
        .value()
        .get("progress_percentage")
        .and_then(Value::as_u64)
    {
        Some(percent) => format!("{} {status} {percent}%", bar(percent)),
        None => status,
    }
}

/// A progress bar of ten cells.
pub(crate) fn bar(percent: u64) -> String {
    let full = usize::try_from(percent.min(100) / 10).unwrap_or(0);
    format!("{}{}", "█".repeat(full), "░".repeat(10 - full))
}

fn findings(output: &Output, view: &View) {
    for finding in &view.examined.findings {
        output.talk(&output.finding(finding, Some(&view.document)));
    }
}

pub(crate) fn next(output: &Output, view: &View) {
    for (index, command) in view.examined.next.iter().enumerate() {
        let head = if index == 0 {
            output.say("next", "다음")
        } else {
            "    "
        };
        let colon = if index == 0 { ":" } else { " " };
        output.line(&format!("  {head}{colon} {command}"));
    }
}

/// A status word in the language of the output.
pub(crate) fn status_word(output: &Output, word: &str) -> String {
    match output.lang {
        Lang::En => word.to_owned(),
        Lang::Ko => korean::status(word),
    }
}

/// A time span in its largest unit.
pub(crate) fn duration(output: &Output, seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let (count, text) = match seconds {
        MINUTE..HOUR => (seconds / MINUTE, output.say("{} min", "{}분")),
        HOUR..DAY => (seconds / HOUR, output.say("{} h", "{}시간")),
        DAY.. => (seconds / DAY, output.say("{} d", "{}일")),
        _ => (seconds, output.say("{} s", "{}초")),
    };
    text.replace("{}", &count.to_string())
}

/// A text in one line that a terminal only shows: line ends and tabs become spaces, other control characters a sign.
pub(crate) fn one_line(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' | '\r' | '\t' => ' ',
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    text.chars().map(shown).collect()
}

/// A value whose texts, names included, are each in [`one_line`].
pub(crate) fn printable(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(one_line(text)),
        Value::Array(items) => items.iter().map(printable).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, value)| (one_line(name), printable(value)));
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// So much of a text as a column can bear.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for letter in text.chars() {
        cut.push(letter);
        // One column is for the sign that something is missing.
        if cut.width() >= width {
            cut.pop();
            break;
        }
    }
    format!("{cut}…")
}

/// A text padded to a width on the screen: Korean letters are two columns wide.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}
