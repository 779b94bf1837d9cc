//! What an agent says in the Agent Client Protocol, version 1: JSON-RPC, one message per line.
//!
//! Our own requests have ids that say what they are (see [`id`]), so that a response can be read without remembering them.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::{ProtocolError, Request, Since, TurnEnd, Usage, What};
use super::stream::{Text, broke_off, or_empty};
use super::words::Words;

/// How the ids of our requests begin.
pub(super) mod id {
    /// The handshake.
    pub(in super::super) const INITIALIZE: &str = "initialize";
    /// A new conversation.
    pub(in super::super) const NEW: &str = "session-new";
    /// An old conversation. The id of the conversation follows, because the response does not have it.
    pub(in super::super) const LOAD: &str = "session-load:";
    /// A prompt. A number follows.
    pub(in super::super) const PROMPT: &str = "prompt:";
}

pub(super) fn read(
    line: &[u8],
    words: &mut Words,
    emit: &mut impl FnMut(What<'_>),
) -> Result<(), serde_json::Error> {
    let line: Line<'_> = serde_json::from_slice(line)?;
    match (line.method, line.id) {
        (Some(method), None) if method.is("session/update") => {
            if let Some(params) = line.params {
                let Params { update } = serde_json::from_str(params.get())?;
                updated(update, words, emit);
            }
        }
        (Some(_), None) => {}
        (Some(method), Some(id)) => {
            words.end(emit);
            asked(&method, id, line.params, emit)?;
        }
        (None, Some(id)) => {
            let Ok(id) = serde_json::from_str::<Text<'_>>(id.get()) else {
                return Ok(());
            };
            if id.0.starts_with(id::PROMPT) {
                words.end(emit);
            }
            answered(&id.0, line.result, line.error, emit)?;
        }
        (None, None) => {
            if let Some(error) = line.error {
                refused(error, emit);
            }
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<Failure<'a>>,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    update: Update<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Update<'a> {
    #[serde(borrow)]
    session_update: Text<'a>,
    /// A chunk's block, or the list of blocks of a tool call.
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Option<Text<'a>>,
    #[serde(borrow)]
    title: Option<Text<'a>>,
    #[serde(borrow)]
    raw_input: Option<&'a RawValue>,
    #[serde(borrow)]
    cost: Option<Cost<'a>>,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Cost<'a> {
    amount: Option<f64>,
    #[serde(borrow)]
    currency: Option<Text<'a>>,
}

fn updated(update: Update<'_>, words: &mut Words, emit: &mut impl FnMut(What<'_>)) {
    match &*update.session_update.0 {
        "agent_message_chunk" => {
            let chunk = update.content.map(|content| content.get());
            // A picture or a link is no words.
            if let Some(Chunk { text: Some(text) }) =
                chunk.and_then(|chunk| serde_json::from_str(chunk).ok())
            {
                words.piece(text.0, emit);
            }
        }
        "tool_call" => {
            words.end(emit);
            emit(What::ToolUsed {
                id: or_empty(update.tool_call_id),
                name: or_empty(update.title),
                input: update.raw_input.map_or("null", RawValue::get).into(),
            });
        }
        "usage_update" => {
            let dollars = update
                .cost
                .filter(|cost| cost.currency.as_ref().is_none_or(|it| it.is("USD")))
                .and_then(|cost| cost.amount);
            if dollars.is_some() {
                emit(What::Usage(Usage {
                    since: Since::Turn,
                    cost_usd: dollars,
                    ..Usage::default()
                }));
            }
        }
        _ => {}
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Permission<'a> {
    #[serde(borrow)]
    tool_call: ToolCall<'a>,
    #[serde(borrow)]
    options: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCall<'a> {
    #[serde(borrow)]
    title: Option<Text<'a>>,
    #[serde(borrow)]
    raw_input: Option<&'a RawValue>,
}

fn asked(
    method: &Text<'_>,
    id: &RawValue,
    params: Option<&RawValue>,
    emit: &mut impl FnMut(What<'_>),
) -> Result<(), serde_json::Error> {
    let params = params.map_or("null", RawValue::get);
    if method.is("session/request_permission") {
        let permission: Permission<'_> = serde_json::from_str(params)?;
        let raw_input = permission.tool_call.raw_input;
        emit(What::WantsPermission {
            request: Request {
                id: id.get().into(),
                body: permission.options.get().into(),
            },
            tool: or_empty(permission.tool_call.title),
            input: raw_input.map_or("null", RawValue::get).into(),
        });
    } else {
        emit(What::ProtocolError(ProtocolError::Unsupported {
            request: Request {
                id: id.get().into(),
                body: Cow::Borrowed("null"),
            },
            method: Cow::Borrowed(&method.0),
        }));
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(borrow)]
    session_id: Option<Text<'a>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cached_read_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

fn answered(
    id: &str,
    result: Option<&RawValue>,
    error: Option<Failure<'_>>,
    emit: &mut impl FnMut(What<'_>),
) -> Result<(), serde_json::Error> {
    let prompted = id.starts_with(id::PROMPT);
    if let Some(error) = error {
        if prompted {
            broke_off(or_empty(error.message), emit);
        } else {
            refused(error, emit);
        }
        return Ok(());
    }
    let answer = match result.map(RawValue::get) {
        None | Some("null") => None,
        Some(result) => Some(serde_json::from_str::<Answer<'_>>(result)?),
    };
    if let Some(session) = id.strip_prefix(id::LOAD) {
        emit(What::Session {
            id: session.into(),
            model: None,
        });
    }
    let Some(answer) = answer else {
        return Ok(());
    };
    if id == id::NEW
        && let Some(session) = answer.session_id
    {
        emit(What::Session {
            id: session.0,
            model: None,
        });
    }
    if prompted {
        if let Some(tokens) = answer.usage {
            emit(What::Usage(Usage {
                since: Since::Turn,
                input: tokens.input_tokens,
                cached: tokens.cached_read_tokens,
                output: tokens.output_tokens,
                cost_usd: None,
            }));
        }
        let end = match &*or_empty(answer.stop_reason) {
            "cancelled" => TurnEnd::Interrupted,
            "max_tokens" | "max_turn_requests" => TurnEnd::OutOfBudget,
            "refusal" => TurnEnd::Refused,
            _ => TurnEnd::Completed,
        };
        emit(What::TurnEnded(end));
    }
    Ok(())
}

fn refused(error: Failure<'_>, emit: &mut impl FnMut(What<'_>)) {
    emit(What::ProtocolError(ProtocolError::Refused {
        message: or_empty(error.message),
    }));
}
