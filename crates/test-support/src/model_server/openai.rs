//! The Responses API, as `codex` uses it.

use super::http::HttpConnection;
use super::{
    ModelReply, ModelState, ReachedLimit, ReplyPart, ReplyUsage, stream_pieces, unique_id,
};
use serde_json::{Value, json};
use std::io;

/// The one answer's id; the clients do not compare them.
const RESPONSE_ID: &str = "resp_scripted";
/// The tool that finds others.
const TOOL_SEARCH: &str = "tool_search";

pub(super) fn answer_request(
    connection: &mut HttpConnection,
    shared: &ModelState,
    _request: &Value,
    reply: ModelReply,
) -> io::Result<()> {
    match reply {
        ModelReply::Limited(limit) => refuse(connection, &limit),
        ModelReply::Parts(parts, usage) => {
            begin(connection)?;
            for (index, part) in parts.iter().enumerate() {
                stream_part(connection, index, part)?;
            }
            connection.send_event(&json!({
                "type": "response.completed",
                "response": {"id": RESPONSE_ID, "usage": figures(usage)},
            }))
        }
        ModelReply::Hold(text) => {
            begin(connection)?;
            stream_text(connection, 0, &text)?;
            shared.hold_stream(connection)
        }
    }
}

fn begin(connection: &mut HttpConnection) -> io::Result<()> {
    connection.begin_events()?;
    connection.send_event(&json!({"type": "response.created", "response": {"id": RESPONSE_ID}}))
}

fn figures(usage: ReplyUsage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    })
}

fn stream_part(connection: &mut HttpConnection, index: usize, part: &ReplyPart) -> io::Result<()> {
    let item = match part {
        ReplyPart::Text(text) => {
            stream_text(connection, index, text)?;
            json!({
                "type": "message",
                "id": format!("msg_{index}"),
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            })
        }
        // A tool that takes plain text, such as a patch.
        ReplyPart::Tool {
            name,
            input: Value::String(text),
        } => json!({
            "type": "custom_tool_call",
            "id": format!("ctc_{index}"),
            "call_id": unique_id("call", index),
            "name": name,
            "input": text,
        }),
        // Tools of servers are looked for before they are called.
        ReplyPart::Tool { name, input } if name == TOOL_SEARCH => json!({
            "type": "tool_search_call",
            "id": format!("ts_{index}"),
            "call_id": unique_id("search", index),
            "status": "completed",
            "execution": "client",
            "arguments": input,
        }),
        ReplyPart::Tool { name, input } => {
            let mut call = json!({
                "type": "function_call",
                "id": format!("fc_{index}"),
                "call_id": unique_id("call", index),
                "name": name,
                "arguments": input.to_string(),
            });
            // They stand in a name space of their server.
            if let Some((space, name)) = name.rsplit_once("__") {
                call["namespace"] = space.into();
                call["name"] = name.into();
            }
            call
        }
    };
    connection.send_event(
        &json!({"type": "response.output_item.done", "output_index": index, "item": item}),
    )
}

fn stream_text(connection: &mut HttpConnection, index: usize, text: &str) -> io::Result<()> {
    let id = format!("msg_{index}");
    let item = json!({"type": "message", "id": id, "role": "assistant", "content": []});
    connection.send_event(
        &json!({"type": "response.output_item.added", "output_index": index, "item": item}),
    )?;
    for piece in stream_pieces(text) {
        connection.send_event(&json!({
            "type": "response.output_text.delta",
            "item_id": id,
            "output_index": index,
            "content_index": 0,
            "delta": piece,
        }))?;
    }
    Ok(())
}

fn refuse(connection: &mut HttpConnection, limit: &ReachedLimit) -> io::Result<()> {
    let mut headers = Vec::new();
    if let Some(seconds) = limit.retry_after_s {
        headers.push(("retry-after", seconds.to_string()));
    }
    let error = json!({
        "type": "usage_limit_reached",
        "message": limit.message,
        "resets_at": limit.resets_at,
    });
    connection.send_json(429, &headers, &json!({"error": error}))
}
