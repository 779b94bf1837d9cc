//! The Gemini API, as `gemini` uses it.

use super::http::Connection;
use super::{Limit, Part, Reply, Shared, Usage};
use serde_json::{Value, json};
use std::io;

pub(super) fn answer(
    connection: &mut Connection,
    shared: &Shared,
    _request: &Value,
    reply: Reply,
) -> io::Result<()> {
    match reply {
        Reply::Limited(limit) => refuse(connection, &limit),
        Reply::Parts(parts, usage) => {
            connection.begin_events()?;
            connection.data(&chunk(&parts, Some(usage)))
        }
        Reply::Hold(text) => {
            connection.begin_events()?;
            connection.data(&chunk(&[Part::Text(text)], None))?;
            shared.hold(connection)
        }
    }
}

/// A piece of an answer; the last one has the figures.
fn chunk(parts: &[Part], usage: Option<Usage>) -> Value {
    let parts: Vec<Value> = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => json!({"text": text}),
            Part::Tool { name, input } => json!({"functionCall": {"name": name, "args": input}}),
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

fn refuse(connection: &mut Connection, limit: &Limit) -> io::Result<()> {
    let error = json!({"code": 429, "message": limit.message, "status": "RESOURCE_EXHAUSTED"});
    connection.json(429, &[], &json!({"error": error}))
}
