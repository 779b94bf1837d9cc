//! Parser for the output of `codex exec --json`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::agent_text::AgentText;
use super::event::{AgentEventKind, TokenUsage, TurnEnd, UsagePeriod};
use super::structured::{ClientFailure, JsonText, emit_failed_turn, or_empty, raw_json};

pub(super) fn parse_line(
    line: &[u8],
    words: &mut AgentText,
    emit: &mut impl FnMut(AgentEventKind<'_>),
) -> Result<(), serde_json::Error> {
    let line: CodexLine<'_> = serde_json::from_slice(line)?;
    match &*line.kind.0 {
        "thread.started" => {
            if let Some(id) = line.thread_id {
                emit(AgentEventKind::Session {
                    id: id.0,
                    model: None,
                });
            }
        }
        "item.started" => {
            if let Some(item) = line.item {
                emit_started_item(item, emit);
            }
        }
        "item.completed" => {
            if let Some(item) = line.item {
                emit_completed_item(item, words, emit);
            }
        }
        "turn.completed" => {
            if let Some(tokens) = line.usage {
                emit(AgentEventKind::Usage(TokenUsage {
                    since: UsagePeriod::Session,
                    input: tokens
                        .input_tokens
                        .saturating_sub(tokens.cached_input_tokens),
                    cached: tokens.cached_input_tokens,
                    output: tokens.output_tokens,
                    cost_usd: None,
                }));
            }
            emit(AgentEventKind::TurnEnded(TurnEnd::Completed));
        }
        // There is no machine-readable reason and no time, so the message text decides.
        "turn.failed" => {
            emit_failed_turn(or_empty(line.error.and_then(|error| error.message)), emit)
        }
        "error" => emit_error_notice(or_empty(line.message), emit),
        _ => {}
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct CodexLine<'a> {
    #[serde(rename = "type")]
    kind: JsonText<'a>,
    thread_id: Option<JsonText<'a>>,
    item: Option<CodexItem<'a>>,
    usage: Option<CodexTokens>,
    error: Option<ClientFailure<'a>>,
    message: Option<JsonText<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct CodexItem<'a> {
    id: Option<JsonText<'a>>,
    #[serde(rename = "type")]
    kind: JsonText<'a>,
    text: Option<JsonText<'a>>,
    message: Option<JsonText<'a>>,
    command: Option<&'a RawValue>,
    changes: Option<&'a RawValue>,
    query: Option<&'a RawValue>,
    server: Option<JsonText<'a>>,
    tool: Option<JsonText<'a>>,
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CodexTokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

/// Reports items that take time when they start.
fn emit_started_item(item: CodexItem<'_>, emit: &mut impl FnMut(AgentEventKind<'_>)) {
    let (name, input) = match &*item.kind.0 {
        "command_execution" => (item.kind.0, item.command),
        "mcp_tool_call" => {
            let name = format!("{}.{}", or_empty(item.server), or_empty(item.tool));
            (name.into(), item.arguments)
        }
        "collab_tool_call" => (item.tool.unwrap_or(item.kind).0, item.arguments),
        _ => return,
    };
    emit_tool_use(item.id, name, input, emit);
}

/// Reports items that take no time when they end, because they are not always announced.
fn emit_completed_item(
    item: CodexItem<'_>,
    words: &mut AgentText,
    emit: &mut impl FnMut(AgentEventKind<'_>),
) {
    match &*item.kind.0 {
        "agent_message" => words.parse_text(or_empty(item.text), emit),
        "file_change" => emit_tool_use(item.id, item.kind.0, item.changes, emit),
        "web_search" => emit_tool_use(item.id, item.kind.0, item.query, emit),
        "error" => emit(AgentEventKind::Noticed {
            message: or_empty(item.message),
            details: None,
        }),
        _ => {}
    }
}

fn emit_tool_use<'a>(
    id: Option<JsonText<'a>>,
    name: Cow<'a, str>,
    input: Option<&'a RawValue>,
    emit: &mut impl FnMut(AgentEventKind<'_>),
) {
    emit(AgentEventKind::ToolUsed {
        id: or_empty(id),
        name,
        input: raw_json(input).into(),
    });
}

/// Reports an `error` line. It does not end the turn: the client retries, or `turn.failed` follows.
fn emit_error_notice(message: Cow<'_, str>, emit: &mut impl FnMut(AgentEventKind<'_>)) {
    if message.starts_with("Reconnecting") {
        emit(AgentEventKind::Retrying {
            delay_ms: None,
            message,
        });
    } else {
        emit(AgentEventKind::Noticed {
            message,
            details: None,
        });
    }
}
