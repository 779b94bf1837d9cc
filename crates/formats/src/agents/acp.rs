//! Parser for agents that speak the Agent Client Protocol, version 1: JSON-RPC, one message per
//! line.
//!
//! The ids of our own requests say what they are (see [`id`]), so a response can be read without
//! remembering its request.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::event::{ProtocolError, Request, Since, TurnEnd, Usage, What};
use super::stream::{Failure, Text, broke_off, or_empty, raw};
use super::words::Words;

/// Ids of our requests, or their prefixes.
pub(super) mod id {
    /// Id of the protocol handshake.
    pub(in super::super) const INITIALIZE: &str = "initialize";
    /// Id of the request for a new session.
    pub(in super::super) const NEW: &str = "session-new";
    /// Prefix for loading an earlier session. The session id follows, because the response lacks
    /// it.
    pub(in super::super) const LOAD: &str = "session-load:";
    /// Prefix for a prompt. A number follows.
    pub(in super::super) const PROMPT: &str = "prompt:";
}

/// Limit on the bytes of tool calls held back together. Further calls are reported as they come.
const CALLS_BYTES_MAX: usize = 64 << 10;

/// State of the connection that is kept from line to line.
#[derive(Debug)]
pub(super) struct Talk {
    /// True once the session is open. An agent that loads a session first repeats its history.
    begun: bool,
    /// Announced tool calls. Agents send the complete input in a later message.
    calls: Vec<Call>,
    /// Id of the message whose text came last.
    message: Option<String>,
}

#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    /// The input as it was announced, as JSON.
    input: String,
    /// The diffs shown in an editor, as JSON. Some agents do not repeat them when they ask for
    /// permission.
    differences: Option<String>,
}

impl Talk {
    /// Creates the state. `begun` is true when reading starts inside an open session.
    pub(super) fn new(begun: bool) -> Self {
        Self {
            begun,
            calls: Vec::new(),
            message: None,
        }
    }

    /// True if earlier lines are needed to understand the next ones.
    pub(super) fn is_open(&self) -> bool {
        !self.begun || !self.calls.is_empty()
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        let calls = self.calls.iter().map(Call::bytes);
        calls.sum::<usize>() + self.message.as_ref().map_or(0, String::len)
    }

    /// Holds back an announced call, or reports it at once when the limit is reached.
    fn announced(&mut self, call: Call, emit: &mut impl FnMut(What<'_>)) {
        if self.buffered_bytes() + call.bytes() > CALLS_BYTES_MAX {
            call.report(None, emit);
        } else {
            self.calls.push(call);
        }
    }

    /// Reports an announced call with the input known by now.
    fn used(&mut self, id: &str, input: Option<&RawValue>, emit: &mut impl FnMut(What<'_>)) {
        if let Some(at) = self.calls.iter().position(|call| call.id == id) {
            self.calls.remove(at).report(input, emit);
        }
    }

    /// Returns the diffs that an announced call shows.
    fn differences(&mut self, id: &str) -> Option<&mut String> {
        let call = self.calls.iter_mut().find(|call| call.id == id)?;
        call.differences.as_mut()
    }

    /// Reports every call that is still held back.
    pub(super) fn over(&mut self, emit: &mut impl FnMut(What<'_>)) {
        for call in self.calls.drain(..) {
            call.report(None, emit);
        }
    }
}

impl Call {
    fn bytes(&self) -> usize {
        let differences = self.differences.as_ref().map_or(0, String::len);
        size_of::<Self>() + self.id.len() + self.name.len() + self.input.len() + differences
    }

    fn report(self, input: Option<&RawValue>, emit: &mut impl FnMut(What<'_>)) {
        emit(What::ToolUsed {
            id: self.id.into(),
            name: self.name.into(),
            input: match (input, &self.differences) {
                (Some(input), _) => input.get().into(),
                (None, Some(shown)) if self.input == "null" => {
                    format!("{{\"content\":{shown}}}").into()
                }
                (None, _) => self.input.into(),
            },
        });
    }
}

pub(super) fn read(
    line: &[u8],
    words: &mut Words,
    talk: &mut Talk,
    emit: &mut impl FnMut(What<'_>),
) -> Result<(), serde_json::Error> {
    let line: Line<'_> = serde_json::from_slice(line)?;
    match (line.method, line.id) {
        (Some(method), None) if method.is("session/update") => {
            if let Some(params) = line.params.filter(|_| talk.begun) {
                let Params { update } = serde_json::from_str(params.get())?;
                updated(update, words, talk, emit);
            }
        }
        (Some(_), None) => {}
        (Some(method), Some(id)) => {
            words.end(emit);
            asked(&method, id, line.params, talk, emit)?;
        }
        (None, Some(id)) => {
            let Ok(id) = serde_json::from_str::<Text<'_>>(id.get()) else {
                return Ok(());
            };
            if id.0.starts_with(id::PROMPT) {
                words.end(emit);
                talk.over(emit);
            }
            talk.begun |= line.error.is_none() && (id.is(id::NEW) || id.0.starts_with(id::LOAD));
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
#[serde(bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    method: Option<Text<'a>>,
    id: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<Failure<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Params<'a> {
    update: Update<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Update<'a> {
    session_update: Text<'a>,
    /// The block of a chunk, or the list of blocks of a tool call.
    content: Option<&'a RawValue>,
    tool_call_id: Option<Text<'a>>,
    /// Name of the tool. Older agents send only `title`, which is meant for people.
    name: Option<Text<'a>>,
    title: Option<Text<'a>>,
    status: Option<Text<'a>>,
    message_id: Option<Text<'a>>,
    raw_input: Option<&'a RawValue>,
    cost: Option<Cost<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Chunk<'a> {
    text: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Cost<'a> {
    amount: Option<f64>,
    currency: Option<Text<'a>>,
}

fn updated(
    update: Update<'_>,
    words: &mut Words,
    talk: &mut Talk,
    emit: &mut impl FnMut(What<'_>),
) {
    let status = |name: &str| update.status.as_ref().is_some_and(|it| it.is(name));
    let (pending, ended) = (status("pending"), status("completed") || status("failed"));
    match &*update.session_update.0 {
        "agent_message_chunk" => {
            let message = update.message_id.map(|id| id.0.into_owned());
            if message != talk.message {
                words.end(emit);
                talk.message = message;
            }
            let chunk = update.content.map(|content| content.get());
            // An image or a link is not text.
            if let Some(Chunk { text: Some(text) }) =
                chunk.and_then(|chunk| serde_json::from_str(chunk).ok())
            {
                words.piece(text.0, emit);
            }
        }
        "tool_call" => {
            words.end(emit);
            let call = Call {
                id: or_empty(update.tool_call_id).into_owned(),
                name: or_empty(update.name.or(update.title)).into_owned(),
                input: raw(update.raw_input).to_owned(),
                differences: differences_in(update.content),
            };
            if pending || call.differences.is_some() {
                talk.announced(call, emit);
            } else {
                call.report(None, emit);
            }
        }
        "tool_call_update" => {
            let id = or_empty(update.tool_call_id);
            let over = ended || !pending && talk.differences(&id).is_none();
            if update.raw_input.is_some() || over {
                words.end(emit);
                talk.used(&id, update.raw_input, emit);
            } else if let (Some(shown), Some(new)) =
                (talk.differences(&id), differences_in(update.content))
            {
                *shown = new;
            }
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
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Permission<'a> {
    tool_call: ToolCall<'a>,
    options: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct ToolCall<'a> {
    tool_call_id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    title: Option<Text<'a>>,
    raw_input: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    locations: Option<&'a RawValue>,
}

/// Returns the content of a call as JSON if it contains diffs.
fn differences_in(content: Option<&RawValue>) -> Option<String> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: Option<Text<'a>>,
    }
    let content = content?.get();
    let kinds: Vec<Kind<'_>> = serde_json::from_str(content).ok()?;
    let differs = |it: &Kind<'_>| it.kind.as_ref().is_some_and(|kind| kind.is("diff"));
    kinds.iter().any(differs).then(|| content.to_owned())
}

/// Returns the input of the tool call as JSON. Some agents send only what an editor would show:
/// diffs and locations.
fn input_of(call: &ToolCall<'_>, announced: Option<&str>) -> String {
    if let Some(input) = call.raw_input {
        return input.get().to_owned();
    }
    let content = call.content.map(RawValue::get).or(announced);
    let shown = [
        ("content", content),
        ("locations", call.locations.map(RawValue::get)),
    ];
    let fields: Vec<String> = shown
        .iter()
        .filter_map(|(name, value)| Some(format!("\"{name}\":{}", (*value)?)))
        .collect();
    match fields.is_empty() {
        true => "null".to_owned(),
        false => format!("{{{}}}", fields.join(",")),
    }
}

fn asked(
    method: &Text<'_>,
    id: &RawValue,
    params: Option<&RawValue>,
    talk: &mut Talk,
    emit: &mut impl FnMut(What<'_>),
) -> Result<(), serde_json::Error> {
    let params = raw(params);
    if method.is("session/request_permission") {
        let permission: Permission<'_> = serde_json::from_str(params)?;
        let call = permission.tool_call;
        let of = or_empty(call.tool_call_id.clone());
        let input = input_of(&call, talk.differences(&of).map(|it| it.as_str()));
        talk.used(&of, call.raw_input, emit);
        emit(What::WantsPermission {
            request: Request {
                id: id.get().into(),
                body: permission.options.get().into(),
            },
            tool: or_empty(call.name.or(call.title)),
            input: input.into(),
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
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Answer<'a> {
    session_id: Option<Text<'a>>,
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
    if id == id::INITIALIZE {
        emit(What::Initialized);
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
