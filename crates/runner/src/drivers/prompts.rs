//! Parts that prompts of every kind have in common: lists, earlier errors, and how to hand back a
//! result.

use crate::core::attempt_record::AttemptRecord;
use crate::core::failure::FailureReason;
use crate::core::text::{first_chars, last_chars};
use serde_json::Value;
use std::fmt::Write as _;

/// Characters of an earlier error that are repeated, from its end.
const ERROR_CHARS_MAX: usize = 2_000;
/// Characters of one line of a list.
const LINE_CHARS_MAX: usize = 400;
/// Lines of a list.
const LINES_MAX: usize = 30;

/// Builder for a prompt.
#[derive(Debug, Default)]
pub(super) struct PromptBuilder(String);

impl PromptBuilder {
    pub(super) fn add_line(&mut self, text: &str) -> &mut Self {
        self.0.push_str(text);
        self.0.push('\n');
        self
    }

    /// Adds a labelled text unless it is empty.
    pub(super) fn add_labelled(&mut self, name: &str, text: &str, chars: usize) -> &mut Self {
        match text.trim() {
            "" => self,
            text => self.add_line(&format!("{name}: {}", first_chars(text, chars))),
        }
    }

    /// Adds a list below a heading unless it is empty.
    pub(super) fn add_list<T: AsRef<str>>(
        &mut self,
        heading: &str,
        items: impl IntoIterator<Item = T>,
    ) -> &mut Self {
        let mut items = items.into_iter();
        let mut lines = String::new();
        for item in items.by_ref().take(LINES_MAX) {
            let item = first_chars(item.as_ref().trim(), LINE_CHARS_MAX).replace('\n', "\n  ");
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "- {item}");
        }
        let more = items.count();
        if more > 0 {
            let _ = writeln!(lines, "- … and {more} more");
        }
        if !lines.is_empty() {
            self.0.push('\n');
            self.add_line(heading);
            self.0.push_str(&lines);
        }
        self
    }

    /// Adds a JSON document below a heading unless it is empty.
    pub(super) fn add_document(&mut self, heading: &str, value: &Value, chars: usize) -> &mut Self {
        let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
        if value.is_null() || empty {
            return self;
        }
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        self.0.push('\n');
        self.add_line(heading).add_line(&first_chars(&text, chars))
    }

    /// Adds earlier failures, all of them once there are several, and the advice for that many.
    pub(super) fn add_failures(&mut self, note: &AttemptRecord, advice: &[&str]) -> &mut Self {
        let Some(last) = note.failures.last() else {
            return self;
        };
        self.0.push('\n');
        match note.failures.as_slice() {
            [_] => {
                self.add_line("An earlier try failed with:");
                self.add_line(&last_chars(&last.error, ERROR_CHARS_MAX));
            }
            several => {
                self.add_line("Earlier tries failed:");
                for failure in several {
                    self.add_line(&format!("- attempt {}:", failure.attempt));
                    self.add_line(&last_chars(&failure.error, ERROR_CHARS_MAX));
                }
            }
        }
        let index = note.failures.len().min(advice.len());
        match index.checked_sub(1).and_then(|at| advice.get(at)) {
            Some(advice) => self.add_line(advice),
            None => self,
        }
    }

    /// Adds how to end the work and returns the prompt. `hands` describes the result to hand back.
    pub(super) fn finish_prompt(&mut self, id: &str, hands: &str) -> String {
        self.0.push('\n');
        self.add_line(
            "Nobody answers questions: decide yourself, and say what you assumed. End when you are done. Hand this back, as JSON in \
             the file that $BOWLINE_RESULT_FILE names, or at the end of your words between a line [RESULT] and a line [/RESULT]:",
        );
        self.add_line(hands);
        self.add_line(&format!(
            "If you cannot do it, end with one line instead: FAIL:{id}:reason"
        ));
        std::mem::take(&mut self.0)
    }
}

/// Returns the strings of a list in a result.
pub(super) fn string_list(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the numbers of an object in a result.
pub(super) fn number_members(value: Option<&Value>) -> Vec<(String, f64)> {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    let number = |(name, value): (&String, &Value)| Some((name.clone(), value.as_f64()?));
    members.filter_map(number).collect()
}

/// Returns the reason if a result says that the work failed.
pub(super) fn reported_failure(result: Option<&Value>) -> Option<FailureReason> {
    let result = result?;
    let status = result.get("status").and_then(Value::as_str)?;
    if !["failure", "failed"].contains(&status) {
        return None;
    }
    let why = result.get("summary").and_then(Value::as_str);
    Some(FailureReason::from_text(why.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::attempt_record::push_failure;

    #[test]
    fn lists_and_errors_are_bounded_and_nothing_is_said_of_nothing() {
        let mut prompt = PromptBuilder::default();
        prompt.add_list("Empty:", Vec::<String>::new());
        prompt.add_document("None:", &Value::Null, 10);
        prompt.add_failures(&AttemptRecord::default(), &["look closer"]);
        prompt.add_list(
            "Many:",
            (0..40).map(|n| format!("{n} {}", "x".repeat(1_000))),
        );
        let text = prompt.finish_prompt("u", "{}");
        assert!(!text.contains("Empty") && !text.contains("None") && !text.contains("look closer"));
        assert!(text.contains("… and 10 more") && text.len() < 20_000);
        let mut note = AttemptRecord::default();
        push_failure(&mut note.failures, 1, &"e".repeat(10_000));
        let mut prompt = PromptBuilder::default();
        assert!(prompt.add_failures(&note, &["look closer"]).0.len() < 3_000);
        assert!(prompt.0.ends_with("look closer\n"));
    }
}
