//! Rules that answer permission requests of agent clients, so that a person need not answer each
//! one.
//!
//! A rule names a tool and a pattern per input field. `*` stands for any characters except those by
//! which a shell continues with something else, and never for `..`: `cargo test *` does not permit
//! `cargo test; rm -r ~`, and `/shop/*` does not permit `/shop/../etc/passwd`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Characters that `*` never matches: a shell uses them to start another command, file or value.
const SHELL: [char; 12] = [
    '\n', '\r', '\0', ';', '&', '|', '`', '$', '<', '>', '(', ')',
];

/// A rule that permits or denies the use of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolPermissionRule {
    /// Name of the tool, as its client spells it.
    pub tool: String,
    /// Patterns of input fields by name; other fields are free.
    pub input: BTreeMap<String, String>,
    /// True if the rule denies, false if it permits.
    pub denies: bool,
    /// Reason given to the agent on a denial.
    pub reason: String,
    /// Id of the task it is limited to; `None` for all tasks.
    pub task: Option<String>,
}

impl ToolPermissionRule {
    /// True if the rule applies to this use of a tool; `input` is JSON.
    pub fn applies_to(&self, task: &str, tool: &str, input: &str) -> bool {
        if self.tool != tool || self.task.as_ref().is_some_and(|it| it != task) {
            return false;
        }
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        self.input.iter().all(|(name, pattern)| match &input[name] {
            Value::Null => false,
            Value::String(text) => stands_for(pattern, text),
            other => stands_for(pattern, &other.to_string()),
        })
    }
}

/// Returns the rule that decides: the first one that denies, else the first one that permits.
pub fn deciding_rule<'a, T>(
    rules: impl Iterator<Item = (T, &'a ToolPermissionRule)>,
    (task, tool, input): (&str, &str, &str),
) -> Option<(T, &'a ToolPermissionRule)> {
    let mut permits = None;
    for (id, rule) in rules.filter(|(_, rule)| rule.applies_to(task, tool, input)) {
        if rule.denies {
            return Some((id, rule));
        }
        permits = permits.or(Some((id, rule)));
    }
    permits
}

/// True if the text matches the pattern. Without `*` both must be equal.
fn stands_for(pattern: &str, text: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = parts.as_slice() else {
        return pattern == text;
    };
    let climbs = |text: &str| text.split('/').any(|part| part == "..");
    if climbs(text) && !climbs(pattern) {
        return false;
    }
    let free = |text: &str| !text.contains(SHELL);
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    // The earliest match of each part leaves the most text for the parts behind it.
    for part in middle {
        let Some(at) = rest.find(part).filter(|at| free(&rest[..*at])) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.strip_suffix(last).is_some_and(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(tool: &str, input: &[(&str, &str)], denies: bool) -> ToolPermissionRule {
        let pair = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        ToolPermissionRule {
            tool: tool.into(),
            input: input.iter().map(pair).collect(),
            denies,
            ..ToolPermissionRule::default()
        }
    }

    #[test]
    fn a_star_stands_for_letters_of_one_command_and_one_folder() {
        for (pattern, text, stands) in [
            ("cargo test", "cargo test", true),
            ("cargo test", "cargo test --all", false),
            ("cargo test*", "cargo test --all", true),
            ("cargo * --offline", "cargo test -p tea --offline", true),
            ("*", "ls -la", true),
            ("cargo test*", "cargo test; rm -r ~", false),
            ("cargo test*", "cargo test && ls", false),
            ("cargo test*", "cargo test $(ls)", false),
            ("cargo test*", "cargo test\nls", false),
            ("cargo test*", "cargo test > /etc/passwd", false),
            ("/shop/*", "/shop/src/tea.rs", true),
            ("/shop/*", "/shop/../etc/passwd", false),
            ("/shop/*", "/shop/..", false),
            ("/shop/*", "/shopping", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ls; *", "ls; pwd", true),
        ] {
            assert_eq!(stands_for(pattern, text), stands, "{pattern} for {text:?}");
        }
    }

    #[test]
    fn a_rule_looks_at_the_tool_its_fields_and_the_task() {
        let tests = rule("Bash", &[("command", "cargo test*")], false);
        let fits = |input: &str| tests.applies_to("task_a", "Bash", input);
        assert!(fits(r#"{"command":"cargo test","description":"run"}"#));
        assert!(!fits(r#"{"description":"cargo test"}"#));
        assert!(!fits("no JSON"));
        assert!(!tests.applies_to("task_a", "Shell", r#"{"command":"cargo test"}"#));
        let mut here = rule("Read", &[], false);
        assert!(here.applies_to("task_a", "Read", "{}"));
        here.task = Some("task_b".into());
        assert!(!here.applies_to("task_a", "Read", "{}"));
        let number = rule("Wait", &[("seconds", "5")], false);
        assert!(number.applies_to("task_a", "Wait", r#"{"seconds":5}"#));
    }

    #[test]
    fn a_denial_comes_before_every_leave() {
        let rules = [
            rule("Bash", &[], false),
            rule("Bash", &[("command", "git push*")], true),
        ];
        let decides = |command: &str| {
            let input = serde_json::json!({ "command": command }).to_string();
            let asked = ("task_a", "Bash", input.as_str());
            deciding_rule((0..).zip(&rules), asked).map(|(index, _)| index)
        };
        assert_eq!(decides("git push origin"), Some(1));
        assert_eq!(decides("ls"), Some(0));
        assert_eq!(
            deciding_rule((0..).zip(&rules), ("task_a", "Write", "{}")),
            None
        );
    }
}
