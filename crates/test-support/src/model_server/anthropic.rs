//! The Messages API, as `claude` uses it.

use super::http::Connection;
use super::{Limit, Part, Reply, Shared, Usage, pieces, unique};
use serde_json::{Value, json};
use std::io;

pub(super) fn answer(
    connection: &mut Connection,
    shared: &Shared,
    request: &Value,
    reply: Reply,
) -> io::Result<()> {
    let streamed = request["stream"] == true;
    let model = request["model"].as_str().unwrap_or("scripted");
    match reply {
        Reply::Limited(limit) => refuse(connection, &limit),
        Reply::Parts(parts, usage) if !streamed => {
            let content: Vec<Value> = parts.iter().enumerate().map(block).collect();
            connection.json(200, &[], &message(model, &content, stop(&parts), usage))
        }
        Reply::Parts(parts, usage) => {
            begin(connection, model, usage)?;
            for (index, part) in parts.iter().enumerate() {
                stream_part(connection, index, part)?;
            }
            connection.event(&json!({
                "type": "message_delta",
                "delta": {"stop_reason": stop(&parts), "stop_sequence": null},
                "usage": {"output_tokens": usage.output},
            }))?;
            connection.event(&json!({"type": "message_stop"}))
        }
        Reply::Hold(text) => {
            begin(connection, model, Usage::default())?;
            open_text(connection, 0)?;
            stream_text(connection, 0, &text)?;
            shared.hold(connection)
        }
    }
}

fn begin(connection: &mut Connection, model: &str, usage: Usage) -> io::Result<()> {
    connection.begin_events()?;
    let message = message(model, &[], Value::Null, Usage { output: 1, ..usage });
    connection.event(&json!({"type": "message_start", "message": message}))
}

fn message(model: &str, content: &[Value], stop: Value, usage: Usage) -> Value {
    json!({
        "id": unique("msg", 0),
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

fn stop(parts: &[Part]) -> Value {
    if parts.iter().any(|part| matches!(part, Part::Tool { .. })) {
        "tool_use".into()
    } else {
        "end_turn".into()
    }
}

fn block((index, part): (usize, &Part)) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Tool { name, input } => {
            json!({"type": "tool_use", "id": unique("toolu", index), "name": name, "input": input})
        }
    }
}

fn stream_part(connection: &mut Connection, index: usize, part: &Part) -> io::Result<()> {
    match part {
        Part::Text(text) => {
            open_text(connection, index)?;
            stream_text(connection, index, text)?;
        }
        Part::Tool { name, input } => {
            let block = json!({"type": "tool_use", "id": unique("toolu", index), "name": name, "input": {}});
            connection.event(
                &json!({"type": "content_block_start", "index": index, "content_block": block}),
            )?;
            let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
            connection
                .event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
        }
    }
    connection.event(&json!({"type": "content_block_stop", "index": index}))
}

fn open_text(connection: &mut Connection, index: usize) -> io::Result<()> {
    let block = json!({"type": "text", "text": ""});
    connection
        .event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
}

fn stream_text(connection: &mut Connection, index: usize, text: &str) -> io::Result<()> {
    for piece in pieces(text) {
        let delta = json!({"type": "text_delta", "text": piece});
        connection
            .event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
    }
    Ok(())
}

fn refuse(connection: &mut Connection, limit: &Limit) -> io::Result<()> {
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
    connection.json(429, &headers, &json!({"type": "error", "error": error}))
}
