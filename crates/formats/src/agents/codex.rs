//! Parser for the output of `codex exec --json`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::{Since, TurnEnd, Usage, What};
use super::stream::{Failure, Text, broke_off, or_empty, raw};
use super::words::Words;

pub(super) fn read(
    line: &[u8],
    words: &mut Words,
    emit: &mut impl FnMut(What<'_>),
) -> Result<(), serde_json::Error> {
    let line: Line<'_> = serde_json::from_slice(line)?;
    match &*line.kind.0 {
        "thread.started" => {
            if let Some(id) = line.thread_id {
                emit(What::Session {
                    id: id.0,
                    model: None,
                });
            }
        }
        "item.started" => {
            if let Some(item) = line.item {
                started(item, emit);
            }
        }
        "item.completed" => {
            if let Some(item) = line.item {
                completed(item, words, emit);
            }
        }
        "turn.completed" => {
            if let Some(tokens) = line.usage {
                emit(What::Usage(Usage {
                    since: Since::Session,
                    input: tokens
                        .input_tokens
                        .saturating_sub(tokens.cached_input_tokens),
                    cached: tokens.cached_input_tokens,
                    output: tokens.output_tokens,
                    cost_usd: None,
                }));
            }
            emit(What::TurnEnded(TurnEnd::Completed));
        }
        // There is no machine-readable reason and no time, so the message text decides.
        "turn.failed" => broke_off(or_empty(line.error.and_then(|error| error.message)), emit),
        "error" => trouble(or_empty(line.message), emit),
        _ => {}
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    thread_id: Option<Text<'a>>,
    item: Option<Item<'a>>,
    usage: Option<Tokens>,
    error: Option<Failure<'a>>,
    message: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Item<'a> {
    id: Option<Text<'a>>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Option<Text<'a>>,
    message: Option<Text<'a>>,
    command: Option<&'a RawValue>,
    changes: Option<&'a RawValue>,
    query: Option<&'a RawValue>,
    server: Option<Text<'a>>,
    tool: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

/// Reports items that take time when they start.
fn started(item: Item<'_>, emit: &mut impl FnMut(What<'_>)) {
    let (name, input) = match &*item.kind.0 {
        "command_execution" => (item.kind.0, item.command),
        "mcp_tool_call" => {
            let name = format!("{}.{}", or_empty(item.server), or_empty(item.tool));
            (name.into(), item.arguments)
        }
        "collab_tool_call" => (item.tool.unwrap_or(item.kind).0, item.arguments),
        _ => return,
    };
    used(item.id, name, input, emit);
}

/// Reports items that take no time when they end, because they are not always announced.
fn completed(item: Item<'_>, words: &mut Words, emit: &mut impl FnMut(What<'_>)) {
    match &*item.kind.0 {
        "agent_message" => words.text(or_empty(item.text), emit),
        "file_change" => used(item.id, item.kind.0, item.changes, emit),
        "web_search" => used(item.id, item.kind.0, item.query, emit),
        "error" => emit(What::Noticed {
            message: or_empty(item.message),
            details: None,
        }),
        _ => {}
    }
}

fn used<'a>(
    id: Option<Text<'a>>,
    name: Cow<'a, str>,
    input: Option<&'a RawValue>,
    emit: &mut impl FnMut(What<'_>),
) {
    emit(What::ToolUsed {
        id: or_empty(id),
        name,
        input: raw(input).into(),
    });
}

/// Reports an `error` line. It does not end the turn: the client retries, or `turn.failed` follows.
fn trouble(message: Cow<'_, str>, emit: &mut impl FnMut(What<'_>)) {
    if message.starts_with("Reconnecting") {
        emit(What::Retrying {
            delay_ms: None,
            message,
        });
    } else {
        emit(What::Noticed {
            message,
            details: None,
        });
    }
}
