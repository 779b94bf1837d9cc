//! Parser for agents that speak the Agent Client Protocol, version 1: JSON-RPC, one message per
//! line.
//!
//! The ids of our own requests say what they are (see [`id`]), so a response can be read without
//! remembering its request.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::agent_text::AgentText;
use super::event::{
    AgentEventKind, ClientRequest, ProtocolError, TokenUsage, TurnEnd, UsagePeriod,
};
use super::structured::{ClientFailure, JsonText, emit_failed_turn, or_empty, raw_json};

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
pub(super) struct AcpConnection {
    /// True once the session is open. An agent that loads a session first repeats its history.
    begun: bool,
    /// Announced tool calls. Agents send the complete input in a later message.
    calls: Vec<AnnouncedCall>,
    /// Id of the message whose text came last.
    message: Option<String>,
}

#[derive(Debug)]
struct AnnouncedCall {
    id: String,
    name: String,
    /// The input as it was announced, as JSON.
    input: String,
    /// The diffs shown in an editor, as JSON. Some agents do not repeat them when they ask for
    /// permission.
    differences: Option<String>,
}

impl AcpConnection {
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
        let calls = self.calls.iter().map(AnnouncedCall::held_bytes);
        calls.sum::<usize>() + self.message.as_ref().map_or(0, String::len)
    }

    /// Holds back an announced call, or reports it at once when the limit is reached.
    fn hold_call(&mut self, call: AnnouncedCall, emit: &mut impl FnMut(AgentEventKind<'_>)) {
        if self.buffered_bytes() + call.held_bytes() > CALLS_BYTES_MAX {
            call.emit_tool_use(None, emit);
        } else {
            self.calls.push(call);
        }
    }

    /// Reports an announced call with the input known by now.
    fn report_held_call(
        &mut self,
        id: &str,
        input: Option<&RawValue>,
        emit: &mut impl FnMut(AgentEventKind<'_>),
    ) {
        if let Some(at) = self.calls.iter().position(|call| call.id == id) {
            self.calls.remove(at).emit_tool_use(input, emit);
        }
    }

    /// Returns the diffs that an announced call shows.
    fn differences_of_call(&mut self, id: &str) -> Option<&mut String> {
        let call = self.calls.iter_mut().find(|call| call.id == id)?;
        call.differences.as_mut()
    }

    /// Reports every call that is still held back.
    pub(super) fn report_held_calls(&mut self, emit: &mut impl FnMut(AgentEventKind<'_>)) {
        for call in self.calls.drain(..) {
            call.emit_tool_use(None, emit);
        }
    }
}

impl AnnouncedCall {
    fn held_bytes(&self) -> usize {
        let differences = self.differences.as_ref().map_or(0, String::len);
        size_of::<Self>() + self.id.len() + self.name.len() + self.input.len() + differences
    }

    fn emit_tool_use(self, input: Option<&RawValue>, emit: &mut impl FnMut(AgentEventKind<'_>)) {
        emit(AgentEventKind::ToolUsed {
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

pub(super) fn parse_line(
    line: &[u8],
    words: &mut AgentText,
    talk: &mut AcpConnection,
    emit: &mut impl FnMut(AgentEventKind<'_>),
) -> Result<(), serde_json::Error> {
    let line: AcpMessage<'_> = serde_json::from_slice(line)?;
    match (line.method, line.id) {
        (Some(method), None) if method.is("session/update") => {
            if let Some(params) = line.params.filter(|_| talk.begun) {
                let UpdateParams { update } = serde_json::from_str(params.get())?;
                handle_update(update, words, talk, emit);
            }
        }
        (Some(_), None) => {}
        (Some(method), Some(id)) => {
            words.end_text(emit);
            handle_request(&method, id, line.params, talk, emit)?;
        }
        (None, Some(id)) => {
            let Ok(id) = serde_json::from_str::<JsonText<'_>>(id.get()) else {
                return Ok(());
            };
            if id.0.starts_with(id::PROMPT) {
                words.end_text(emit);
                talk.report_held_calls(emit);
            }
            talk.begun |= line.error.is_none() && (id.is(id::NEW) || id.0.starts_with(id::LOAD));
            handle_response(&id.0, line.result, line.error, emit)?;
        }
        (None, None) => {
            if let Some(error) = line.error {
                emit_refusal(error, emit);
            }
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct AcpMessage<'a> {
    method: Option<JsonText<'a>>,
    id: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<ClientFailure<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct UpdateParams<'a> {
    update: SessionUpdate<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct SessionUpdate<'a> {
    session_update: JsonText<'a>,
    /// The block of a chunk, or the list of blocks of a tool call.
    content: Option<&'a RawValue>,
    tool_call_id: Option<JsonText<'a>>,
    /// Name of the tool. Older agents send only `title`, which is meant for people.
    name: Option<JsonText<'a>>,
    title: Option<JsonText<'a>>,
    status: Option<JsonText<'a>>,
    message_id: Option<JsonText<'a>>,
    raw_input: Option<&'a RawValue>,
    cost: Option<SessionCost<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct TextChunk<'a> {
    text: Option<JsonText<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct SessionCost<'a> {
    amount: Option<f64>,
    currency: Option<JsonText<'a>>,
}

fn handle_update(
    update: SessionUpdate<'_>,
    words: &mut AgentText,
    talk: &mut AcpConnection,
    emit: &mut impl FnMut(AgentEventKind<'_>),
) {
    let status = |name: &str| update.status.as_ref().is_some_and(|it| it.is(name));
    let (pending, ended) = (status("pending"), status("completed") || status("failed"));
    match &*update.session_update.0 {
        "agent_message_chunk" => {
            let message = update.message_id.map(|id| id.0.into_owned());
            if message != talk.message {
                words.end_text(emit);
                talk.message = message;
            }
            let chunk = update.content.map(|content| content.get());
            // An image or a link is not text.
            if let Some(TextChunk { text: Some(text) }) =
                chunk.and_then(|chunk| serde_json::from_str(chunk).ok())
            {
                words.parse_chunk(text.0, emit);
            }
        }
        "tool_call" => {
            words.end_text(emit);
            let call = AnnouncedCall {
                id: or_empty(update.tool_call_id).into_owned(),
                name: or_empty(update.name.or(update.title)).into_owned(),
                input: raw_json(update.raw_input).to_owned(),
                differences: differences_in(update.content),
            };
            if pending || call.differences.is_some() {
                talk.hold_call(call, emit);
            } else {
                call.emit_tool_use(None, emit);
            }
        }
        "tool_call_update" => {
            let id = or_empty(update.tool_call_id);
            let over = ended || !pending && talk.differences_of_call(&id).is_none();
            if update.raw_input.is_some() || over {
                words.end_text(emit);
                talk.report_held_call(&id, update.raw_input, emit);
            } else if let (Some(shown), Some(new)) = (
                talk.differences_of_call(&id),
                differences_in(update.content),
            ) {
                *shown = new;
            }
        }
        "usage_update" => {
            let dollars = update
                .cost
                .filter(|cost| cost.currency.as_ref().is_none_or(|it| it.is("USD")))
                .and_then(|cost| cost.amount);
            if dollars.is_some() {
                emit(AgentEventKind::Usage(TokenUsage {
                    since: UsagePeriod::Turn,
                    cost_usd: dollars,
                    ..TokenUsage::default()
                }));
            }
        }
        _ => {}
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct PermissionParams<'a> {
    tool_call: PermissionToolCall<'a>,
    options: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct PermissionToolCall<'a> {
    tool_call_id: Option<JsonText<'a>>,
    name: Option<JsonText<'a>>,
    title: Option<JsonText<'a>>,
    raw_input: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    locations: Option<&'a RawValue>,
}

/// Returns the content of a call as JSON if it contains diffs.
fn differences_in(content: Option<&RawValue>) -> Option<String> {
    #[derive(Deserialize)]
    struct ContentType<'a> {
        #[serde(rename = "type", borrow)]
        kind: Option<JsonText<'a>>,
    }
    let content = content?.get();
    let kinds: Vec<ContentType<'_>> = serde_json::from_str(content).ok()?;
    let differs = |it: &ContentType<'_>| it.kind.as_ref().is_some_and(|kind| kind.is("diff"));
    kinds.iter().any(differs).then(|| content.to_owned())
}

/// Returns the input of the tool call as JSON. Some agents send only what an editor would show:
/// diffs and locations.
fn input_of(call: &PermissionToolCall<'_>, announced: Option<&str>) -> String {
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

fn handle_request(
    method: &JsonText<'_>,
    id: &RawValue,
    params: Option<&RawValue>,
    talk: &mut AcpConnection,
    emit: &mut impl FnMut(AgentEventKind<'_>),
) -> Result<(), serde_json::Error> {
    let params = raw_json(params);
    if method.is("session/request_permission") {
        let permission: PermissionParams<'_> = serde_json::from_str(params)?;
        let call = permission.tool_call;
        let of = or_empty(call.tool_call_id.clone());
        let input = input_of(&call, talk.differences_of_call(&of).map(|it| it.as_str()));
        talk.report_held_call(&of, call.raw_input, emit);
        emit(AgentEventKind::WantsPermission {
            request: ClientRequest {
                id: id.get().into(),
                body: permission.options.get().into(),
            },
            tool: or_empty(call.name.or(call.title)),
            input: input.into(),
        });
    } else {
        emit(AgentEventKind::ProtocolError(ProtocolError::Unsupported {
            request: ClientRequest {
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
struct RequestResult<'a> {
    session_id: Option<JsonText<'a>>,
    stop_reason: Option<JsonText<'a>>,
    usage: Option<AcpTokens>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AcpTokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cached_read_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

fn handle_response(
    id: &str,
    result: Option<&RawValue>,
    error: Option<ClientFailure<'_>>,
    emit: &mut impl FnMut(AgentEventKind<'_>),
) -> Result<(), serde_json::Error> {
    let prompted = id.starts_with(id::PROMPT);
    if let Some(error) = error {
        if prompted {
            emit_failed_turn(or_empty(error.message), emit);
        } else {
            emit_refusal(error, emit);
        }
        return Ok(());
    }
    if id == id::INITIALIZE {
        emit(AgentEventKind::Initialized);
        return Ok(());
    }
    let answer = match result.map(RawValue::get) {
        None | Some("null") => None,
        Some(result) => Some(serde_json::from_str::<RequestResult<'_>>(result)?),
    };
    if let Some(session) = id.strip_prefix(id::LOAD) {
        emit(AgentEventKind::Session {
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
        emit(AgentEventKind::Session {
            id: session.0,
            model: None,
        });
    }
    if prompted {
        if let Some(tokens) = answer.usage {
            emit(AgentEventKind::Usage(TokenUsage {
                since: UsagePeriod::Turn,
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
        emit(AgentEventKind::TurnEnded(end));
    }
    Ok(())
}

fn emit_refusal(error: ClientFailure<'_>, emit: &mut impl FnMut(AgentEventKind<'_>)) {
    emit(AgentEventKind::ProtocolError(ProtocolError::Refused {
        message: or_empty(error.message),
    }));
}
