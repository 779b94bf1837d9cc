//! The conversation of a task: the agent's part is read from its output, the others' from the
//! records.
//!
//! Output has no times. A client that receives prompts answers each with one turn, so messages to
//! it stand before the turn that answers them. For an agent with plain-text output, only its
//! questions and the messages to it are shown.

use bowline_engine::formats::time::format_utc;
use bowline_engine::machines::Timestamp;
use bowline_engine::machines::job::{DependencyStatus, MessageStatus, PermissionStatus};
use bowline_formats::agents::{AgentAdapter, AgentEvent, AgentEventKind, AgentProtocol};
use bowline_formats::rest::{ToolUse, Utterance};
use bowline_store::{JobRecord, JobRow, RecordBody, ReviewRow};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Maximum number of bytes read from the output of all attempts together.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;
/// Maximum size of a text that is shown whole.
const TEXT_BYTES_MAX: usize = 64 << 10;
const CHUNK_BYTES: usize = 64 << 10;

/// Builds the conversation, in order.
pub(crate) fn build_conversation(
    row: &JobRow,
    records: &[JobRecord],
    protocol: AgentProtocol,
    logs: &[PathBuf],
) -> Vec<Utterance> {
    let mut said = match protocol {
        AgentProtocol::Markers => entries_by_time(row, records),
        AgentProtocol::ClaudeStreamJson | AgentProtocol::CodexJson | AgentProtocol::Acp => {
            let mut talk = ConversationBuilder::new(row, records, protocol == AgentProtocol::Acp);
            let mut left = OUTPUT_BYTES_MAX;
            for log in logs {
                read_log(log, protocol, &mut left, &mut talk);
            }
            talk.entries.extend(talk.prompts);
            talk.entries
        }
    };
    let mut phase = 1;
    for (index, one) in (0u64..).zip(&mut said) {
        one.index = index;
        // A message with a review belongs to the reviewed phase; what follows an approval belongs
        // to the next.
        phase = one.phase.unwrap_or(phase);
        one.phase = Some(phase);
        if one.about.as_deref() == Some("approved") {
            phase += 1;
        }
    }
    said
}

fn read_log(log: &Path, protocol: AgentProtocol, left: &mut u64, talk: &mut ConversationBuilder) {
    let Ok(file) = std::fs::File::open(log) else {
        return;
    };
    let mut file = file.take(*left);
    let mut adapter = AgentAdapter::new(protocol, None);
    let mut piece = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = file.read(&mut piece) {
        adapter.push(&piece[..count], &mut |event| talk.add_event(event));
    }
    adapter.finish(&mut |event| talk.add_event(event));
    *left = file.limit();
}

/// Builder of a conversation with a client that receives prompts.
struct ConversationBuilder {
    entries: Vec<Utterance>,
    /// Messages to the agent; each starts a turn.
    prompts: VecDeque<Utterance>,
    /// Questions and permissions that the client waited for within a turn, with their answers.
    questions: VecDeque<Vec<Utterance>>,
    permissions: VecDeque<Vec<Utterance>>,
    /// True if the client prints texts in pieces.
    pieces: bool,
    /// True if the next event begins a turn.
    at_turn_start: bool,
}

impl ConversationBuilder {
    fn new(row: &JobRow, records: &[JobRecord], pieces: bool) -> ConversationBuilder {
        let mut prompts = vec![(row.about.created_at, description_entry(row))];
        let mut asked = VecDeque::new();
        let mut permits = VecDeque::new();
        for record in records {
            match &record.body {
                RecordBody::Question(it) if it.request.is_some() => {
                    asked.push_back(record_entries(record))
                }
                RecordBody::Permission(_) => permits.push_back(record_entries(record)),
                // The question itself is in the agent's output.
                RecordBody::Question(it) => {
                    let answered = record_entries(record).into_iter().skip(1);
                    prompts.extend(answered.map(|one| (it.settled_at.unwrap_or_default(), one)));
                }
                _ => {
                    prompts.extend(
                        record_entries(record)
                            .into_iter()
                            .map(|one| (settled_at(record).unwrap_or(record.at.0), one)),
                    );
                }
            }
        }
        prompts.sort_by_key(|(at, _)| *at);
        ConversationBuilder {
            entries: Vec::new(),
            prompts: prompts.into_iter().map(|(_, one)| one).collect(),
            questions: asked,
            permissions: permits,
            pieces,
            at_turn_start: true,
        }
    }

    fn add_event(&mut self, event: AgentEvent<'_>) {
        if !matches!(
            event.what,
            AgentEventKind::TurnEnded(_)
                | AgentEventKind::Initialized
                | AgentEventKind::Session { .. }
                | AgentEventKind::Usage(_)
        ) && std::mem::take(&mut self.at_turn_start)
        {
            self.entries.extend(self.prompts.pop_front());
        }
        match event.what {
            AgentEventKind::Said(text) => self.add_text(&text),
            AgentEventKind::ToolUsed { name, input, .. } => {
                let input = match input.len() > TEXT_BYTES_MAX {
                    true => Value::from(truncate_text(&input)),
                    false => serde_json::from_str(&input).unwrap_or_else(|_| input.as_ref().into()),
                };
                let name = name.into_owned();
                let mut one = new_entry("assistant", String::new(), None);
                one.tool = Some(ToolUse { name, input });
                self.entries.push(one);
            }
            AgentEventKind::Asks {
                request: Some(_), ..
            } => self
                .entries
                .extend(self.questions.pop_front().into_iter().flatten()),
            AgentEventKind::WantsPermission { .. } => {
                self.entries
                    .extend(self.permissions.pop_front().into_iter().flatten());
            }
            AgentEventKind::TurnEnded(_) => self.at_turn_start = true,
            _ => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        let goes_on = self.entries.last_mut().filter(|last| {
            self.pieces && last.role == "assistant" && last.tool.is_none() && last.about.is_none()
        });
        match goes_on {
            Some(last) if last.content.len() + text.len() <= TEXT_BYTES_MAX => {
                last.content.push_str(text);
            }
            _ if text.trim().is_empty() => {}
            _ => self
                .entries
                .push(new_entry("assistant", truncate_text(text), None)),
        }
    }
}

/// Lists questions and messages, in the order of time.
fn entries_by_time(row: &JobRow, records: &[JobRecord]) -> Vec<Utterance> {
    let mut all = vec![description_entry(row)];
    all.extend(records.iter().flat_map(record_entries));
    // All times have one format, so text order is time order.
    all.sort_by(|one, other| one.timestamp.cmp(&other.timestamp));
    all
}

fn description_entry(row: &JobRow) -> Utterance {
    let at = Some(Timestamp(row.about.created_at));
    entry_about("user", "description", row.job.description.clone(), at)
}

fn settled_at(record: &JobRecord) -> Option<i64> {
    match &record.body {
        RecordBody::Review(it) => it.reviewed_at,
        RecordBody::Question(it) => it.settled_at,
        RecordBody::Dependency(it) => it.settled_at,
        RecordBody::Permission(it) => it.settled_at,
        RecordBody::Verification(it) => it.ended_at,
        RecordBody::Said(it) => it.settled_at,
        RecordBody::Checkpoint(_) | RecordBody::Rule(_) => None,
    }
}

/// Converts a record to its part of the conversation: the question, and the message to the agent.
fn record_entries(record: &JobRecord) -> Vec<Utterance> {
    let at = settled_at(record).map(Timestamp);
    let one = |role, about: &str, content| vec![entry_about(role, about, content, at)];
    match &record.body {
        RecordBody::Review(it) if it.reviewed_at.is_some() => {
            let mut all = one("user", it.status.name(), review_text(it));
            for said in &mut all {
                said.phase = Some(it.phase);
            }
            all
        }
        RecordBody::Question(it) => {
            let mut all = vec![new_entry("assistant", it.question.clone(), Some(record.at))];
            if let Some(answer) = &it.answer {
                all.extend(one("user", "answer", answer.clone()));
            }
            all
        }
        RecordBody::Dependency(it) if it.status == DependencyStatus::Provided => {
            one("system", "provided", it.name.clone())
        }
        RecordBody::Permission(it)
            if matches!(
                it.status,
                PermissionStatus::Permitted | PermissionStatus::Denied
            ) =>
        {
            let reason = it.reason.as_deref().map(|why| format!(": {why}"));
            let words = format!("{}{}", it.tool, reason.unwrap_or_default());
            one("system", it.status.name(), words)
        }
        RecordBody::Verification(it) if it.passed == Some(false) => {
            one("system", "found", it.issues.join("\n"))
        }
        RecordBody::Said(it) if it.status == MessageStatus::Delivered => {
            one("user", "said", it.text.clone())
        }
        _ => Vec::new(),
    }
}

/// Joins the comment of a review and its comments on files.
fn review_text(review: &ReviewRow) -> String {
    let about = review.comments.iter().map(|it| {
        let line = it.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("`{}{line}` {}", it.file, it.comment)
    });
    let words = review.comment.iter().cloned();
    words.chain(about).collect::<Vec<_>>().join("\n\n")
}

fn entry_about(role: &str, about: &str, content: String, at: Option<Timestamp>) -> Utterance {
    let mut one = new_entry(role, content, at);
    one.about = Some(about.into());
    one
}

fn new_entry(role: &str, content: String, at: Option<Timestamp>) -> Utterance {
    Utterance {
        index: 0,
        role: role.into(),
        content,
        timestamp: at.map(format_utc),
        phase: None,
        about: None,
        tool: None,
    }
}

/// Cuts a text that is too long to be shown whole.
fn truncate_text(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    match end == text.len() {
        true => text.into(),
        false => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::{ConversationBuilder, entry_about, truncate_text};
    use bowline_engine::machines::Timestamp;
    use bowline_formats::agents::{AgentAdapter, AgentProtocol};
    use std::collections::VecDeque;

    fn words(talk: &ConversationBuilder) -> Vec<String> {
        let word = |one: &super::Utterance| match (&one.tool, &one.about) {
            (Some(tool), _) => format!("uses {} {}", tool.name, tool.input["file_path"]),
            (None, Some(about)) => format!("{about}: {}", one.content),
            (None, None) => one.content.clone(),
        };
        talk.entries.iter().map(word).collect()
    }

    #[test]
    fn what_an_agent_is_told_stands_before_the_turn_that_answers_it() {
        let at = Some(Timestamp(1));
        let prompts = ["wanted", "better"].map(|it| entry_about("user", "said", it.into(), at));
        let mut talk = ConversationBuilder {
            entries: Vec::new(),
            prompts: VecDeque::from(prompts),
            questions: VecDeque::new(),
            permissions: VecDeque::from([vec![entry_about("system", "denied", "Bash".into(), at)]]),
            pieces: false,
            at_turn_start: true,
        };
        let output = concat!(
            r#"{"type":"system","subtype":"init","session_id":"s"}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"a.ts"}}]}}"#,
            "\n",
            r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}"#,
            "\n",
            r#"{"type":"result","subtype":"success","is_error":false,"usage":{"input_tokens":1,"output_tokens":1}}"#,
            "\n",
            r#"{"type":"system","subtype":"init","session_id":"s"}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}"#,
            "\n",
        );
        let mut adapter = AgentAdapter::new(AgentProtocol::ClaudeStreamJson, None);
        // In pieces of any size.
        for piece in output.as_bytes().chunks(7) {
            adapter.push(piece, &mut |event| talk.add_event(event));
        }
        assert_eq!(
            words(&talk),
            [
                "said: wanted",
                "I look.",
                "uses Read \"a.ts\"",
                "denied: Bash",
                "said: better",
                "Done."
            ]
        );
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        let long = "가".repeat(super::TEXT_BYTES_MAX);
        let shown = truncate_text(&long);
        assert!(shown.len() <= super::TEXT_BYTES_MAX + "…".len());
        assert!(shown.ends_with("가…"));
    }
}
