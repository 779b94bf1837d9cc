//! Parser for the output of `claude --output-format stream-json --verbose`.
//!
//! Unused fields and unknown messages are ignored: new versions bring both. The order of keys does
//! not matter; a leading `type` only saves reading the line twice.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::agent_text::AgentText;
use super::event::{
    AgentEventKind, ClientRequest, ProtocolError, TokenUsage, TurnEnd, UsagePeriod,
};
use super::structured::{JsonText, or_empty, raw_json};
use crate::markers::{QuestionCategory, UserQuestion};

/// Name of the tool by which the model asks a person.
const QUESTION_TOOL: &str = "AskUserQuestion";

/// HTTP status of a model service that has had too many requests.
const TOO_MANY_REQUESTS: u16 = 429;

pub(super) fn parse_line(
    line: &[u8],
    words: &mut AgentText,
    emit: &mut impl FnMut(AgentEventKind<'_>),
) -> Result<(), serde_json::Error> {
    let kind = match leading_type(line) {
        Some(kind) => Cow::Borrowed(kind),
        None => serde_json::from_slice::<LineType<'_>>(line)?.kind.0,
    };
    match &*kind {
        "assistant" => emit_assistant_content(serde_json::from_slice(line)?, words, emit),
        "system" => emit_system_event(serde_json::from_slice(line)?, emit),
        "result" => emit_turn_result(serde_json::from_slice(line)?, emit),
        "rate_limit_event" => emit_limit(serde_json::from_slice(line)?, emit),
        "control_request" => control_request(serde_json::from_slice(line)?, emit)?,
        "control_response" => control_response(serde_json::from_slice(line)?, emit),
        "control_cancel_request" => {
            let cancel: CancelRequest<'_> = serde_json::from_slice(line)?;
            emit(AgentEventKind::Withdrawn {
                request: cancel.request_id.get().into(),
            });
        }
        _ => {}
    }
    Ok(())
}

/// Returns the type if it is the first key of the line and contains no escape.
fn leading_type(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(br#"{"type":""#)?;
    let word = &rest[..memchr::memchr(b'"', rest)?];
    std::str::from_utf8(word)
        .ok()
        .filter(|word| !word.contains('\\'))
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct LineType<'a> {
    #[serde(rename = "type")]
    kind: JsonText<'a>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct AssistantLine<'a> {
    message: AssistantMessage<'a>,
    parent_tool_use_id: Option<JsonText<'a>>,
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct AssistantMessage<'a> {
    content: Vec<ContentBlock<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ContentBlock<'a> {
    #[serde(rename = "type")]
    kind: JsonText<'a>,
    text: Option<JsonText<'a>>,
    id: Option<JsonText<'a>>,
    name: Option<JsonText<'a>>,
    input: Option<&'a RawValue>,
}

fn emit_assistant_content(
    line: AssistantLine<'_>,
    words: &mut AgentText,
    emit: &mut impl FnMut(AgentEventKind<'_>),
) {
    // A subagent's text is its parent's tool output. The text of an error is the client's own, and
    // the result repeats it.
    if line.parent_tool_use_id.is_some() || line.error.is_some() {
        return;
    }
    for block in line.message.content {
        match &*block.kind.0 {
            "text" => words.parse_text(or_empty(block.text), emit),
            "tool_use" => emit(AgentEventKind::ToolUsed {
                id: or_empty(block.id),
                name: or_empty(block.name),
                input: raw_json(block.input).into(),
            }),
            _ => {}
        }
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct SystemLine<'a> {
    subtype: JsonText<'a>,
    session_id: Option<JsonText<'a>>,
    model: Option<JsonText<'a>>,
    error: Option<&'a RawValue>,
    retry_delay_ms: Option<f64>,
}

fn emit_system_event(line: SystemLine<'_>, emit: &mut impl FnMut(AgentEventKind<'_>)) {
    match (&*line.subtype.0, line.session_id) {
        ("init", Some(id)) => emit(AgentEventKind::Session {
            id: id.0,
            model: line.model.map(|model| model.0),
        }),
        ("api_retry", _) => emit(AgentEventKind::Retrying {
            delay_ms: line.retry_delay_ms.and_then(whole_number),
            message: text_or_json(line.error),
        }),
        _ => {}
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ResultLine<'a> {
    subtype: Option<JsonText<'a>>,
    #[serde(default)]
    is_error: bool,
    result: Option<JsonText<'a>>,
    #[serde(default)]
    errors: Vec<JsonText<'a>>,
    terminal_reason: Option<JsonText<'a>>,
    api_error_status: Option<u16>,
    usage: Option<ClaudeTokens>,
    total_cost_usd: Option<f64>,
}

#[derive(Deserialize)]
struct ClaudeTokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

fn emit_turn_result(line: ResultLine<'_>, emit: &mut impl FnMut(AgentEventKind<'_>)) {
    if let Some(tokens) = line.usage {
        emit(AgentEventKind::Usage(TokenUsage {
            since: UsagePeriod::Turn,
            // Tokens written to the cache were read for the first time.
            input: tokens
                .input_tokens
                .saturating_add(tokens.cache_creation_input_tokens),
            cached: tokens.cache_read_input_tokens,
            output: tokens.output_tokens,
            cost_usd: line.total_cost_usd,
        }));
    }
    let subtype = or_empty(line.subtype);
    let message = || {
        let first = line.errors.into_iter().next();
        line.result.or(first).map_or(subtype.clone(), |text| text.0)
    };
    let aborted = line
        .terminal_reason
        .is_some_and(|reason| reason.0.starts_with("aborted"));
    // A turn that ran into a limit has the subtype `success`.
    let end = if line.api_error_status == Some(TOO_MANY_REQUESTS) {
        emit(AgentEventKind::Limit {
            until: None,
            retry_after_s: None,
            message: message(),
        });
        TurnEnd::Limited
    } else if aborted {
        TurnEnd::Interrupted
    } else if matches!(&*subtype, "error_max_turns" | "error_max_budget_usd") {
        TurnEnd::OutOfBudget
    } else if line.is_error || subtype.starts_with("error") {
        emit(AgentEventKind::Failed {
            message: message(),
            details: None,
        });
        TurnEnd::Failed
    } else {
        TurnEnd::Completed
    };
    emit(AgentEventKind::TurnEnded(end));
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct LimitLine<'a> {
    rate_limit_info: LimitInfo<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct LimitInfo<'a> {
    status: JsonText<'a>,
    resets_at: Option<f64>,
    rate_limit_type: Option<JsonText<'a>>,
}

fn emit_limit(line: LimitLine<'_>, emit: &mut impl FnMut(AgentEventKind<'_>)) {
    let info = line.rate_limit_info;
    if info.status.is("rejected") {
        let seconds = info.resets_at.and_then(whole_number);
        emit(AgentEventKind::Limit {
            until: seconds
                .and_then(|seconds| i64::try_from(seconds).ok())
                .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok()),
            retry_after_s: None,
            message: or_empty(info.rate_limit_type),
        });
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ControlRequest<'a> {
    request_id: &'a RawValue,
    request: ControlRequestBody<'a>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ControlRequestBody<'a> {
    subtype: JsonText<'a>,
    tool_name: Option<JsonText<'a>>,
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct QuestionToolInput<'a> {
    questions: Vec<QuestionToolItem<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct QuestionToolItem<'a> {
    question: JsonText<'a>,
    #[serde(default)]
    options: Vec<QuestionToolOption<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct QuestionToolOption<'a> {
    label: JsonText<'a>,
}

fn control_request(
    line: ControlRequest<'_>,
    emit: &mut impl FnMut(AgentEventKind<'_>),
) -> Result<(), serde_json::Error> {
    let asked = line.request;
    let request = ClientRequest {
        id: line.request_id.get().into(),
        body: raw_json(asked.input).into(),
    };
    if !asked.subtype.is("can_use_tool") {
        emit(AgentEventKind::ProtocolError(ProtocolError::Unsupported {
            request,
            method: asked.subtype.0,
        }));
        return Ok(());
    }
    let tool = or_empty(asked.tool_name);
    if tool == QUESTION_TOOL {
        let QuestionToolInput { questions } = serde_json::from_str(&request.body)?;
        emit(AgentEventKind::Asks {
            questions: questions.into_iter().map(asked_of_a_person).collect(),
            request: Some(request.clone()),
        });
    } else {
        let input = request.body.clone();
        emit(AgentEventKind::WantsPermission {
            request,
            tool,
            input,
        });
    }
    Ok(())
}

fn asked_of_a_person(question: QuestionToolItem<'_>) -> UserQuestion {
    let labels = question.options.into_iter();
    let options: Vec<String> = labels.map(|one| one.label.0.into_owned()).collect();
    UserQuestion {
        category: if options.is_empty() {
            QuestionCategory::Clarification
        } else {
            QuestionCategory::Choice
        },
        question: question.question.0.into_owned(),
        options,
        default: None,
        required: true,
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ControlResponse<'a> {
    response: ControlResponseBody<'a>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ControlResponseBody<'a> {
    subtype: JsonText<'a>,
    error: Option<&'a RawValue>,
}

fn control_response(line: ControlResponse<'_>, emit: &mut impl FnMut(AgentEventKind<'_>)) {
    if line.response.subtype.is("error") {
        emit(AgentEventKind::ProtocolError(ProtocolError::Refused {
            message: text_or_json(line.response.error),
        }));
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct CancelRequest<'a> {
    request_id: &'a RawValue,
}

/// Returns the text of a value that usually is a string.
fn text_or_json(value: Option<&RawValue>) -> Cow<'_, str> {
    let Some(value) = value else {
        return Cow::default();
    };
    serde_json::from_str::<JsonText<'_>>(value.get()).map_or(value.get().into(), |text| text.0)
}

/// Drops the fraction of a number of seconds or milliseconds; `None` out of range.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cut to the range, and only numbers that make sense pass"
)]
fn whole_number(number: f64) -> Option<u64> {
    (0.0..1e15).contains(&number).then_some(number as u64)
}
