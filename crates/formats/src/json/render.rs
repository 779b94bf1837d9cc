//! Renders values as text in a given style.

use serde_json::Value;
use std::fmt::Write as _;

/// Layout of the text around a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JsonLayout {
    /// One member per line.
    Lines {
        /// Indent of the line on which the value starts.
        indent: String,
        unit: String,
        newline: String,
    },
    /// All on one line.
    Inline {
        /// True if a blank follows colons and commas.
        spaced: bool,
    },
}

/// Renders a value in a style.
pub(super) fn render_value(value: &Value, style: &JsonLayout) -> String {
    match style {
        JsonLayout::Lines {
            indent,
            unit,
            newline,
        } => render_lines(value, indent, unit, newline),
        JsonLayout::Inline { spaced } => render_inline(value, *spaced),
    }
}

/// Renders a value over several lines; `indent` is that of the line on which it starts.
pub(super) fn render_lines(value: &Value, indent: &str, unit: &str, newline: &str) -> String {
    let deeper = format!("{indent}{unit}");
    let mut out = String::new();
    let (open, close, members) = match value {
        Value::Array(items) if !items.is_empty() => {
            let members: Vec<String> = items
                .iter()
                .map(|item| render_lines(item, &deeper, unit, newline))
                .collect();
            ('[', ']', members)
        }
        Value::Object(map) if !map.is_empty() => {
            let members = map
                .iter()
                .map(|(key, item)| {
                    format!(
                        "{}: {}",
                        render_key(key),
                        render_lines(item, &deeper, unit, newline)
                    )
                })
                .collect();
            ('{', '}', members)
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => return value.to_string(),
    };
    out.push(open);
    for (index, member) in members.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{newline}{deeper}{member}");
    }
    let _ = write!(out, "{newline}{indent}{close}");
    out
}

fn render_inline(value: &Value, spaced: bool) -> String {
    let (comma, colon) = if spaced { (", ", ": ") } else { (",", ":") };
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| render_inline(item, spaced))
                .collect();
            format!("[{}]", items.join(comma))
        }
        Value::Object(map) => {
            let members: Vec<String> = map
                .iter()
                .map(|(key, item)| {
                    format!("{}{colon}{}", render_key(key), render_inline(item, spaced))
                })
                .collect();
            format!("{{{}}}", members.join(comma))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// Renders a key as JSON text.
pub(super) fn render_key(key: &str) -> String {
    Value::from(key).to_string()
}
