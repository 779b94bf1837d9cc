//! The Gemini API, as `gemini` uses it.

use super::http::HttpConnection;
use super::{ModelReply, ModelState, ReachedLimit, ReplyPart, ReplyUsage};
use serde_json::{Value, json};
use std::io;

pub(super) fn answer_request(
    connection: &mut HttpConnection,
    shared: &ModelState,
    _request: &Value,
    reply: ModelReply,
) -> io::Result<()> {
    match reply {
        ModelReply::Limited(limit) => refuse(connection, &limit),
        ModelReply::Parts(parts, usage) => {
            connection.begin_events()?;
            connection.send_data(&chunk(&parts, Some(usage)))
        }
        ModelReply::Hold(text) => {
            connection.begin_events()?;
            connection.send_data(&chunk(&[ReplyPart::Text(text)], None))?;
            shared.hold_stream(connection)
        }
    }
}

/// A piece of an answer; the last one has the figures.
fn chunk(parts: &[ReplyPart], usage: Option<ReplyUsage>) -> Value {
    let parts: Vec<Value> = parts
        .iter()
        .map(|part| match part {
            ReplyPart::Text(text) => json!({"text": text}),
            ReplyPart::Tool { name, input } => {
                json!({"functionCall": {"name": name, "args": input}})
            }
        })
        .collect();
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    let mut chunk = json!({"modelVersion": "scripted"});
    if let Some(usage) = usage {
        candidate["finishReason"] = json!("STOP");
        chunk["usageMetadata"] = json!({
            "promptTokenCount": usage.input,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.input + usage.output,
        });
    }
    chunk["candidates"] = json!([candidate]);
    chunk
}

fn refuse(connection: &mut HttpConnection, limit: &ReachedLimit) -> io::Result<()> {
    let error = json!({"code": 429, "message": limit.message, "status": "RESOURCE_EXHAUSTED"});
    connection.send_json(429, &[], &json!({"error": error}))
}
