//! The Messages API, as `claude` uses it.

use super::http::HttpConnection;
use super::{
    ModelReply, ModelState, ReachedLimit, ReplyPart, ReplyUsage, stream_pieces, unique_id,
};
use serde_json::{Value, json};
use std::io;

pub(super) fn answer_request(
    connection: &mut HttpConnection,
    shared: &ModelState,
    request: &Value,
    reply: ModelReply,
) -> io::Result<()> {
    let streamed = request["stream"] == true;
    let model = request["model"].as_str().unwrap_or("scripted");
    match reply {
        ModelReply::Limited(limit) => refuse(connection, &limit),
        ModelReply::Parts(parts, usage) if !streamed => {
            let content: Vec<Value> = parts.iter().enumerate().map(block).collect();
            connection.send_json(200, &[], &message(model, &content, stop(&parts), usage))
        }
        ModelReply::Parts(parts, usage) => {
            begin(connection, model, usage)?;
            for (index, part) in parts.iter().enumerate() {
                stream_part(connection, index, part)?;
            }
            connection.send_event(&json!({
                "type": "message_delta",
                "delta": {"stop_reason": stop(&parts), "stop_sequence": null},
                "usage": {"output_tokens": usage.output},
            }))?;
            connection.send_event(&json!({"type": "message_stop"}))
        }
        ModelReply::Hold(text) => {
            begin(connection, model, ReplyUsage::default())?;
            open_text(connection, 0)?;
            stream_text(connection, 0, &text)?;
            shared.hold_stream(connection)
        }
    }
}

fn begin(connection: &mut HttpConnection, model: &str, usage: ReplyUsage) -> io::Result<()> {
    connection.begin_events()?;
    let message = message(model, &[], Value::Null, ReplyUsage { output: 1, ..usage });
    connection.send_event(&json!({"type": "message_start", "message": message}))
}

fn message(model: &str, content: &[Value], stop: Value, usage: ReplyUsage) -> Value {
    json!({
        "id": unique_id("msg", 0),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": usage.output,
        },
    })
}

fn stop(parts: &[ReplyPart]) -> Value {
    if parts
        .iter()
        .any(|part| matches!(part, ReplyPart::Tool { .. }))
    {
        "tool_use".into()
    } else {
        "end_turn".into()
    }
}

fn block((index, part): (usize, &ReplyPart)) -> Value {
    match part {
        ReplyPart::Text(text) => json!({"type": "text", "text": text}),
        ReplyPart::Tool { name, input } => {
            json!({"type": "tool_use", "id": unique_id("toolu", index), "name": name, "input": input})
        }
    }
}

fn stream_part(connection: &mut HttpConnection, index: usize, part: &ReplyPart) -> io::Result<()> {
    match part {
        ReplyPart::Text(text) => {
            open_text(connection, index)?;
            stream_text(connection, index, text)?;
        }
        ReplyPart::Tool { name, input } => {
            let block = json!({"type": "tool_use", "id": unique_id("toolu", index), "name": name, "input": {}});
            connection.send_event(
                &json!({"type": "content_block_start", "index": index, "content_block": block}),
            )?;
            let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
            connection.send_event(
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            )?;
        }
    }
    connection.send_event(&json!({"type": "content_block_stop", "index": index}))
}

fn open_text(connection: &mut HttpConnection, index: usize) -> io::Result<()> {
    let block = json!({"type": "text", "text": ""});
    connection
        .send_event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
}

fn stream_text(connection: &mut HttpConnection, index: usize, text: &str) -> io::Result<()> {
    for piece in stream_pieces(text) {
        let delta = json!({"type": "text_delta", "text": piece});
        connection
            .send_event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
    }
    Ok(())
}

fn refuse(connection: &mut HttpConnection, limit: &ReachedLimit) -> io::Result<()> {
    let mut headers = Vec::new();
    if let Some(seconds) = limit.retry_after_s {
        headers.push(("retry-after", seconds.to_string()));
    }
    if let Some(at) = limit.resets_at {
        headers.push(("anthropic-ratelimit-unified-status", "rejected".to_owned()));
        headers.push(("anthropic-ratelimit-unified-reset", at.to_string()));
        headers.push(("x-should-retry", "false".to_owned()));
    }
    let error = json!({"type": "rate_limit_error", "message": limit.message});
    connection.send_json(429, &headers, &json!({"type": "error", "error": error}))
}
