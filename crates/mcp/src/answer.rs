//! Answers of tools: a small object of bounded size, or a refusal with code and hint.

use crate::session::ToolSession;
use bowline_engine::files::{ChangeOutcome, FileNotice, FileView};
use bowline_engine::{Error, advice};
use bowline_words::Lang;
use bowline_words::message::ToolNo;
use serde_json::{Value, json};

/// The size of an answer: about 4,000 tokens of a model's window.
pub(crate) const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// Entries kept of a list that is cut.
const ENTRIES_MAX: usize = 20;
/// Characters kept of a text that is cut.
const TEXT_CHARS_MAX: usize = 400;

/// A refusal with code and rendered texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRefusal {
    /// Stable code that `bowline explain` documents.
    pub code: String,
    /// Message about the failure.
    pub message: String,
    /// Advice for the next step.
    pub hint: String,
}

/// Error of a tool call.
#[derive(Debug)]
pub(crate) enum ToolError {
    /// The engine refused.
    Engine(Box<Error>),
    /// The engine refused, with the evidence of the commands it ran.
    WithEvidence(Box<Error>, Value),
    /// The task server, a run, or the tool itself refused.
    Rendered(ToolRefusal),
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        ToolError::Engine(Box::new(error))
    }
}

impl From<ToolRefusal> for ToolError {
    fn from(refused: ToolRefusal) -> Self {
        ToolError::Rendered(refused)
    }
}

/// Result of a tool call.
pub(crate) type ToolResult = Result<Value, ToolError>;

impl ToolError {
    /// Creates the error of a call that does not fit its tool.
    pub(crate) fn from_tool_fault(no: &ToolNo, lang: Lang) -> ToolError {
        let (message, hint) = no.say(lang);
        ToolError::Rendered(ToolRefusal {
            code: code(no).to_owned(),
            message,
            hint,
        })
    }

    /// Converts the error into the JSON that `--json` prints on the command line.
    pub(crate) fn to_json(&self, session: &ToolSession) -> Value {
        let (error, seen) = match self {
            ToolError::Engine(error) => (error, None),
            ToolError::WithEvidence(error, seen) => (error, Some(seen)),
            ToolError::Rendered(refused) => {
                let ToolRefusal {
                    code,
                    message,
                    hint,
                } = refused;
                return json!({ "error": { "code": code, "message": message, "hint": hint } });
            }
        };
        let (mut message, hint) = error.render_message(session.lang);
        for cause in error.render_causes(session.lang) {
            message.push_str(&format!(": {cause}"));
        }
        let mut body = json!({ "code": error.code(), "message": message, "hint": hint });
        if let Some(seen) = seen {
            body["evidence"] = seen.clone();
        }
        json!({ "error": body })
    }
}

fn code(no: &ToolNo) -> &'static str {
    match no {
        ToolNo::ReadOnly { .. } => "read_only_role",
        ToolNo::Lacks { .. }
        | ToolNo::NotOf { .. }
        | ToolNo::TakesNo { .. }
        | ToolNo::NoTool { .. }
        | ToolNo::NoNoun { .. }
        | ToolNo::NoFiles { .. }
        | ToolNo::Outside { .. } => "bad_input",
        ToolNo::NoResource { .. } => "unknown_id",
        ToolNo::TooBig { .. } => "file_too_big",
    }
}

/// Builds the answer to a change: the transition, the next commands, and further facts of the verb.
pub(crate) fn answer_change<S>(
    session: &ToolSession,
    changed: &ChangeOutcome<S>,
    facts: Value,
) -> ToolResult {
    let view = &changed.view;
    let mut body = json!({
        "kind": view.kind.name(),
        "path": session.display_path(&view.path),
        "status": view.examined.status,
        "from": changed.moved.from,
        "to": changed.moved.to,
        "sequence": view.sequence,
    });
    if let (Value::Object(body), Value::Object(facts)) = (&mut body, facts) {
        body.extend(facts);
    }
    add_advice(session, view, &mut body);
    Ok(body)
}

/// Builds the answer to reading a state file.
pub(crate) fn answer_view(session: &ToolSession, view: &FileView) -> ToolResult {
    let mut body = json!({
        "kind": view.kind.name(),
        "path": session.display_path(&view.path),
        "status": view.examined.status,
        "state": view.masked_document(),
    });
    add_advice(session, view, &mut body);
    Ok(body)
}

fn add_advice(session: &ToolSession, view: &FileView, body: &mut Value) {
    let next = advice::suggested_commands(&session.context, view);
    if !next.is_empty() {
        body["next"] = next.into();
    }
    let notices = view
        .notices
        .iter()
        .filter(|notice| !matches!(notice, FileNotice::Mended(_)))
        .map(|notice| notice.render_notice(session.lang));
    let findings = view.examined.findings.iter();
    let findings =
        findings.map(|one| format!("{}: {}", one.pointer, one.message.say(session.lang)));
    let notes: Vec<String> = notices.chain(findings).take(ENTRIES_MAX).collect();
    if !notes.is_empty() {
        body["notes"] = notes.into();
    }
}

/// Serialises the answer, cut to its bound: first long texts, then long lists, then the deepest
/// levels.
pub(crate) fn serialise_bounded(mut body: Value) -> String {
    let whole = body.to_string();
    if whole.len() <= ANSWER_BYTES_MAX {
        return whole;
    }
    for depth in (0..=6).rev() {
        truncate_value(&mut body, depth);
        if let Value::Object(map) = &mut body {
            // Marks the answer as incomplete.
            map.insert("cut".into(), json!({ "bytes": whole.len() }));
        }
        let text = body.to_string();
        if text.len() <= ANSWER_BYTES_MAX {
            return text;
        }
    }
    json!({ "cut": { "bytes": whole.len() } }).to_string()
}

/// Keeps `depth` levels, and of each list and text the beginning.
fn truncate_value(value: &mut Value, depth: usize) {
    match value {
        Value::String(text) => {
            if let Some((at, _)) = text.char_indices().nth(TEXT_CHARS_MAX) {
                text.truncate(at);
                text.push('…');
            }
        }
        Value::Array(_) | Value::Object(_) if depth == 0 => *value = Value::from("…"),
        Value::Array(items) => {
            let more = items.len().saturating_sub(ENTRIES_MAX);
            items.truncate(ENTRIES_MAX);
            for item in items.iter_mut() {
                truncate_value(item, depth - 1);
            }
            if more > 0 {
                items.push(Value::from(format!("… {more}")));
            }
        }
        Value::Object(map) => {
            let more = map.len().saturating_sub(4 * ENTRIES_MAX);
            let mut seen = 0;
            map.retain(|_, _| {
                seen += 1;
                seen <= 4 * ENTRIES_MAX
            });
            for (_, item) in map.iter_mut() {
                truncate_value(item, depth - 1);
            }
            if more > 0 {
                map.insert("…".into(), json!(more));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_answer_is_whole() {
        let body = json!({ "a": [1, 2, { "b": "c" }] });
        assert_eq!(serialise_bounded(body.clone()), body.to_string());
    }

    #[test]
    fn whatever_is_answered_is_bounded_and_says_that_it_was_cut() {
        let deep = (0..200).fold(json!("x".repeat(500)), |inner, _| json!([inner, "y"]));
        let wide: Value = (0..5_000)
            .map(|n| (format!("key{n}"), json!({ "text": "가".repeat(300) })))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let list = json!({ "items": vec![json!({ "id": "a".repeat(90) }); 10_000] });
        for body in [json!({ "deep": vec![deep; 200] }), wide, list] {
            let text = serialise_bounded(body);
            assert!(text.len() <= ANSWER_BYTES_MAX, "{}", text.len());
            let read: Value = serde_json::from_str(&text).unwrap_or_default();
            assert!(read["cut"]["bytes"].as_u64() > Some(16 * 1024), "{text}");
        }
    }
}
