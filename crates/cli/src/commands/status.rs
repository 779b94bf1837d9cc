//! `bowline` alone and `bowline status`: the state files here, and the possible next commands.

use crate::commands::{develop_view, memory_view, orchestrate_view, thinking};
use crate::output::{CommandOutput, TextTone, exit_code};
use bowline_engine::files::{FileView, KnownFile};
use bowline_engine::kinds::{DocumentState, FileKind};
use bowline_engine::{Context, Error, advice, workspace};
use bowline_words::message::{Label, OutputNote, Status};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use unicode_width::UnicodeWidthStr as _;

/// Prints every state file here on a line or two each.
pub(crate) fn print_overview(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
) -> Result<ExitCode, Error> {
    let mut files = Vec::new();
    let mut worst = ExitCode::SUCCESS;
    for (kind, path) in workspace::discover_files(context, folder) {
        match KnownFile::new(context, kind, &path).read_view(context) {
            Ok(view) => {
                if output.json {
                    let mut value = output.view_json(context, &view);
                    value["status"] = json!(view.examined.status);
                    files.push(value);
                } else {
                    print_brief_view(context, output, &view);
                    files.push(Value::Null);
                }
            }
            Err(error) => {
                worst = exit_code(error.exit_class());
                let mut entry = json!({ "kind": kind.name(), "path": path });
                entry["error"] = output.error_json(&error);
                files.push(entry);
                if !output.json {
                    output.print_error(&error);
                }
            }
        }
    }
    if output.json {
        output.print_line(&json!({ "files": files }).to_string());
    } else if files.is_empty() {
        output.print_line(&OutputNote::NothingYet.say(output.lang));
        let mut shown = Vec::new();
        for command in FileKind::ALL.map(FileKind::how_to_begin) {
            if !shown.contains(&command) {
                shown.push(command);
                output.print_line(&format!("  {command}"));
            }
        }
    }
    Ok(worst)
}

/// Prints one file in full, or every state file here.
pub(crate) fn print_status(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    what: Option<&str>,
) -> Result<ExitCode, Error> {
    let (kind, path) = match workspace::resolve_file(context, folder, what) {
        Err(Error::NothingHere { path }) if what.is_none() => {
            let mut below = workspace::discover_files(context, folder);
            match below.len() {
                0 => return Err(Error::NothingHere { path }),
                1 => below.remove(0),
                _ => return print_overview(context, output, folder),
            }
        }
        Err(Error::Ambiguous { .. }) if what.is_none() => {
            return print_overview(context, output, folder);
        }
        Ok(_) if what.is_none() && !output.json && has_several_runs(context, folder) => {
            return print_overview(context, output, folder);
        }
        resolved => resolved?,
    };
    let view = KnownFile::new(context, kind, &path).read_view(context)?;
    print_view(context, output, &view)
}

/// True if more than one piece of work is here.
fn has_several_runs(context: &Context, folder: &Path) -> bool {
    let found = workspace::discover_files(context, folder);
    found.iter().filter(|(kind, _)| kind.has_moves()).count() > 1
}

/// Prints one file in full.
pub(crate) fn print_view(
    context: &Context,
    output: &CommandOutput,
    view: &FileView,
) -> Result<ExitCode, Error> {
    if output.json {
        output.print_line(&output.view_json(context, view).to_string());
        return Ok(ExitCode::SUCCESS);
    }
    output.print_notices(&view.notices);
    let lines = match &view.examined.state {
        DocumentState::Thinking(sheet) => thinking::thinking_overview(output, sheet),
        DocumentState::TaskState(memory) => {
            memory_view::task_state(output, memory, &view.examined.next)
        }
        DocumentState::TaskHistory(entries) => memory_view::task_history(output, entries),
        DocumentState::SharedContext(shared) => memory_view::shared_context(shared),
        DocumentState::AgentMemory(memory) => memory_view::agent_memory(memory),
        DocumentState::Develop(run) => develop_view::develop_overview(output, run.as_deref()),
        DocumentState::Orchestrate => orchestrate_view::orchestration_overview(output, view),
    };
    for line in lines {
        output.print_line(&line);
    }
    print_findings(output, view);
    print_next_commands(context, output, view);
    Ok(ExitCode::SUCCESS)
}

fn print_brief_view(context: &Context, output: &CommandOutput, view: &FileView) {
    let path = view.path.strip_prefix(&context.here).unwrap_or(&view.path);
    let name = output.colour_text(TextTone::Strong, view.kind.name());
    output.print_line(&format!(
        "{name}  {}  {}",
        format_status(
            output,
            &view.examined.status,
            view.sheet().map(|sheet| sheet.run.progress_percentage())
        ),
        output.colour_text(TextTone::Faint, &path.display().to_string())
    ));
    output.print_notices(&view.notices);
    print_findings(output, view);
    print_next_commands(context, output, view);
}

/// Formats a status, with a progress bar if the percentage is known.
pub(crate) fn format_status(output: &CommandOutput, word: &str, percent: Option<u32>) -> String {
    let status = status_word(output, word);
    let tone = match word {
        "completed" => TextTone::Good,
        "failed" => TextTone::Bad,
        "in_progress" => TextTone::Busy,
        _ => TextTone::Faint,
    };
    let status = output.colour_text(tone, &status);
    match percent {
        Some(percent) => format!("{} {status} {percent}%", progress_bar(percent)),
        None => status,
    }
}

/// Formats a progress bar of ten cells.
pub(crate) fn progress_bar(percent: u32) -> String {
    let full = usize::try_from(percent.min(100) / 10).unwrap_or(0);
    format!("{}{}", "█".repeat(full), "░".repeat(10 - full))
}

fn print_findings(output: &CommandOutput, view: &FileView) {
    for finding in &view.examined.findings {
        output.print_stderr(&output.format_finding(finding, Some(&view.document)));
    }
}

pub(crate) fn print_next_commands(context: &Context, output: &CommandOutput, view: &FileView) {
    for (index, command) in advice::suggested_commands(context, view).iter().enumerate() {
        let head = match index {
            0 => output.label(Label::Next),
            _ => "    ".to_owned(),
        };
        let colon = if index == 0 { ":" } else { " " };
        output.print_line(&format!("  {head}{colon} {command}"));
    }
}

/// Translates a status word into the language of the output.
pub(crate) fn status_word(output: &CommandOutput, word: &str) -> String {
    Status::from_word(word).say(output.lang)
}

/// Formats a time span in its largest unit.
pub(crate) fn format_duration(output: &CommandOutput, seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let label = match seconds {
        MINUTE..HOUR => Label::Minutes {
            count: seconds / MINUTE,
        },
        HOUR..DAY => Label::Hours {
            count: seconds / HOUR,
        },
        DAY.. => Label::Days {
            count: seconds / DAY,
        },
        _ => Label::Seconds { count: seconds },
    };
    output.label(label)
}

/// Puts a text on one line: line ends and tabs become spaces, other control characters a
/// replacement sign, so that a terminal only shows it.
pub(crate) fn one_line(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' | '\r' | '\t' => ' ',
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    text.chars().map(shown).collect()
}

/// Cuts a text to a width in columns, with `…` at the end.
pub(crate) fn truncate_text(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for letter in text.chars() {
        cut.push(letter);
        // One column is for the `…`.
        if cut.width() >= width {
            cut.pop();
            break;
        }
    }
    format!("{cut}…")
}

/// Pads a text to a width on the screen: Korean letters are two columns wide.
pub(crate) fn pad_text(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}
