//! The Responses API, as `codex` uses it.

use super::http::Connection;
use super::{Limit, Part, Reply, Shared, Usage, pieces, unique};
use serde_json::{Value, json};
use std::io;

/// The one answer's id; the clients do not compare them.
const RESPONSE_ID: &str = "resp_scripted";
/// The tool that finds others.
const TOOL_SEARCH: &str = "tool_search";

pub(super) fn answer(
    connection: &mut Connection,
    shared: &Shared,
    _request: &Value,
    reply: Reply,
) -> io::Result<()> {
    match reply {
        Reply::Limited(limit) => refuse(connection, &limit),
        Reply::Parts(parts, usage) => {
            begin(connection)?;
            for (index, part) in parts.iter().enumerate() {
                stream_part(connection, index, part)?;
            }
            connection.event(&json!({
                "type": "response.completed",
                "response": {"id": RESPONSE_ID, "usage": figures(usage)},
            }))
        }
        Reply::Hold(text) => {
            begin(connection)?;
            stream_text(connection, 0, &text)?;
            shared.hold(connection)
        }
    }
}

fn begin(connection: &mut Connection) -> io::Result<()> {
    connection.begin_events()?;
    connection.event(&json!({"type": "response.created", "response": {"id": RESPONSE_ID}}))
}

fn figures(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    })
}

fn stream_part(connection: &mut Connection, index: usize, part: &Part) -> io::Result<()> {
    let item = match part {
        Part::Text(text) => {
            stream_text(connection, index, text)?;
            json!({
                "type": "message",
                "id": format!("msg_{index}"),
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            })
        }
        // A tool that takes plain text, such as a patch.
        Part::Tool {
            name,
            input: Value::String(text),
        } => json!({
            "type": "custom_tool_call",
            "id": format!("ctc_{index}"),
            "call_id": unique("call", index),
            "name": name,
            "input": text,
        }),
        // Tools of servers are looked for before they are called.
        Part::Tool { name, input } if name == TOOL_SEARCH => json!({
            "type": "tool_search_call",
            "id": format!("ts_{index}"),
            "call_id": unique("search", index),
            "status": "completed",
            "execution": "client",
            "arguments": input,
        }),
        Part::Tool { name, input } => {
            let mut call = json!({
                "type": "function_call",
                "id": format!("fc_{index}"),
                "call_id": unique("call", index),
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
    connection
        .event(&json!({"type": "response.output_item.done", "output_index": index, "item": item}))
}

fn stream_text(connection: &mut Connection, index: usize, text: &str) -> io::Result<()> {
    let id = format!("msg_{index}");
    let item = json!({"type": "message", "id": id, "role": "assistant", "content": []});
    connection.event(
        &json!({"type": "response.output_item.added", "output_index": index, "item": item}),
    )?;
    for piece in pieces(text) {
        connection.event(&json!({
            "type": "response.output_text.delta",
            "item_id": id,
            "output_index": index,
            "content_index": 0,
            "delta": piece,
        }))?;
    }
    Ok(())
}

fn refuse(connection: &mut Connection, limit: &Limit) -> io::Result<()> {
    let mut headers = Vec::new();
    if let Some(seconds) = limit.retry_after_s {
        headers.push(("retry-after", seconds.to_string()));
    }
    let error = json!({
        "type": "usage_limit_reached",
        "message": limit.message,
        "resets_at": limit.resets_at,
    });
    connection.json(429, &headers, &json!({"error": error}))
}
