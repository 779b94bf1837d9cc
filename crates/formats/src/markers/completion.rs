//! Parses the lines that may follow `=== PHASE N COMPLETE ===` and `=== CUSTOM TASK COMPLETE ===`.

use super::FIELD_CHARS_MAX;
use super::event::MarkerContent;
use super::text::{decode_text, longer_than_field, normalise_text, split_lines, trim};

/// File extensions that identify a line as a file name even without a bullet.
const FILE_ENDINGS: [&str; 9] = ["md", "ts", "tsx", "js", "jsx", "json", "yaml", "yml", "txt"];

/// The kind of completion a marker announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompletionKind {
    Phase(u32),
    Custom,
}

impl CompletionKind {
    /// True if `line` belongs to the completion. `first` is set if no line came before it.
    pub(super) fn accepts_line(self, line: &[u8], first: bool) -> bool {
        let line = decode_text(line);
        match self {
            Self::Phase(_) => phase_line(&line).is_some(),
            Self::Custom => match custom_line(&line) {
                Some(CustomLine::Further) => !first,
                line => line.is_some(),
            },
        }
    }

    /// Builds the event from the lines taken. Overlong text is cut so that the completion is not
    /// lost.
    pub(super) fn parse_body(self, body: &str) -> MarkerContent {
        match self {
            Self::Phase(phase) => {
                let mut name = None;
                let mut deliverables = Vec::new();
                for line in split_lines(body).filter_map(phase_line) {
                    match line {
                        PhaseLine::Name(text) if name.is_none() => name = Some(cut_to_field(text)),
                        PhaseLine::File(path) if !longer_than_field(path) => {
                            deliverables.push(normalise_text(path));
                        }
                        PhaseLine::Name(_) | PhaseLine::File(_) | PhaseLine::Other => {}
                    }
                }
                MarkerContent::PhaseComplete {
                    phase,
                    name: name.unwrap_or_else(|| format!("Phase {phase}")),
                    deliverables,
                }
            }
            Self::Custom => {
                let (mut task, mut summary): (Option<String>, Option<String>) = (None, None);
                let mut in_summary = false;
                for line in split_lines(body) {
                    match custom_line(line) {
                        Some(CustomLine::Task(text)) => {
                            task.get_or_insert_with(|| text.to_owned());
                            in_summary = false;
                        }
                        Some(CustomLine::Summary(text)) => {
                            summary.get_or_insert_with(|| text.to_owned());
                            in_summary = true;
                        }
                        Some(CustomLine::Further) => {
                            let value = if in_summary { &mut summary } else { &mut task };
                            if let Some(value) = value {
                                value.push('\n');
                                value.push_str(line.trim());
                            }
                        }
                        None => {}
                    }
                }
                let value = |text: Option<String>| {
                    text.map(|text| cut_to_field(&text))
                        .filter(|text| !text.is_empty())
                };
                MarkerContent::CustomComplete {
                    task: value(task),
                    summary: value(summary),
                }
            }
        }
    }
}

/// True if an unfinished `line` can be taken as complete because it ends with a file name.
pub(super) fn names_file(line: &[u8]) -> bool {
    let line = decode_text(line);
    matches!(phase_line(&line), Some(PhaseLine::File(path)) if has_file_ending(path))
}

enum PhaseLine<'a> {
    Name(&'a str),
    File(&'a str),
    /// A line of the list with nothing to keep.
    Other,
}

fn phase_line(line: &str) -> Option<PhaseLine<'_>> {
    let line = trim(line);
    if line.starts_with("===") || strip_word(line, "Ready for review").is_some() {
        return None;
    }
    if let Some(rest) = strip_word(line, "Completed:") {
        return Some(phase_in_parentheses(rest).map_or(PhaseLine::Other, PhaseLine::Name));
    }
    if let Some(rest) = strip_word(line, "Phase:") {
        let name = rest.trim();
        return Some(if name.is_empty() {
            PhaseLine::Other
        } else {
            PhaseLine::Name(name)
        });
    }
    let heading =
        strip_word(line, "Documents created:").or_else(|| strip_word(line, "Files created:"));
    if heading.is_some_and(|rest| rest.trim().is_empty()) {
        return Some(PhaseLine::Other);
    }
    let line = heading.unwrap_or(line);
    let bulleted = line.starts_with('-') || line.starts_with("* ");
    let item = line
        .strip_prefix("* ")
        .unwrap_or(line)
        .trim_start_matches(|c: char| c == '-' || c.is_whitespace())
        .trim_matches('`');
    if item.is_empty() {
        return None;
    }
    let path_like = || item.contains(['/', '.']) && !item.contains(char::is_whitespace);
    if has_file_ending(item) || (bulleted && path_like()) {
        Some(PhaseLine::File(item))
    } else {
        bulleted.then_some(PhaseLine::Other)
    }
}

enum CustomLine<'a> {
    Task(&'a str),
    Summary(&'a str),
    /// An indented line that continues the value before it.
    Further,
}

fn custom_line(line: &str) -> Option<CustomLine<'_>> {
    if line.trim().is_empty() {
        None
    } else if line.starts_with([' ', '\t']) {
        Some(CustomLine::Further)
    } else if let Some(rest) = strip_word(line, "Task:") {
        Some(CustomLine::Task(rest))
    } else {
        strip_word(line, "Summary:").map(CustomLine::Summary)
    }
}

/// Returns the name in `Phase 2 (Design)`.
fn phase_in_parentheses(text: &str) -> Option<&str> {
    let rest = strip_word(text.trim_start(), "Phase")?.trim_start();
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let inner = after.trim_start().strip_prefix('(')?;
    let name = inner[..inner.find(')')?].trim();
    (after.len() < rest.len() && !name.is_empty()).then_some(name)
}

/// Strips `word`, which is ASCII, from the start of `text` in any case.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.as_bytes().get(..word.len())?;
    head.eq_ignore_ascii_case(word.as_bytes())
        .then(|| &text[word.len()..])
}

fn has_file_ending(path: &str) -> bool {
    memchr::memrchr(b'.', path.as_bytes())
        .filter(|dot| *dot > 0)
        .is_some_and(|dot| {
            FILE_ENDINGS
                .iter()
                .any(|ending| ending.eq_ignore_ascii_case(&path[dot + 1..]))
        })
}

fn cut_to_field(text: &str) -> String {
    let text = normalise_text(text);
    if longer_than_field(&text) {
        text.chars().take(FIELD_CHARS_MAX).collect()
    } else {
        text
    }
}
