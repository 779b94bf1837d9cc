//! Messages that a scripted agent reads from standard input.

use bowline_engine::formats::scenario::ScenarioProtocol;
use serde_json::Value;
use std::io::{self, BufRead as _};

/// One message to the agent.
pub(super) struct InputMessage {
    /// Name of a block, `type` of a JSON line, `interrupt`, or empty.
    pub(super) name: String,
    /// Content: the lines of a block, the text of a prompt, an answer.
    pub(super) text: String,
}

/// Reads messages from standard input one by one.
pub(super) struct MessageReader {
    speech: ScenarioProtocol,
}

impl MessageReader {
    pub(super) fn new(speech: ScenarioProtocol) -> Self {
        Self { speech }
    }

    /// Returns the next message; `None` at the end of the input.
    pub(super) fn next_message(&mut self) -> io::Result<Option<InputMessage>> {
        let Some(line) = read_line()? else {
            return Ok(None);
        };
        match self.speech {
            ScenarioProtocol::ClaudeStreamJson => Ok(Some(parse_structured(&line))),
            ScenarioProtocol::Markers | ScenarioProtocol::CodexJson => parse_plain(line).map(Some),
        }
    }
}

fn read_line() -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Parses a block with its lines, a JSON line, or a line of text.
fn parse_plain(first: String) -> io::Result<InputMessage> {
    if let Some(name) = first
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        let end = format!("[/{name}]");
        let mut lines = Vec::new();
        while let Some(line) = read_line()? {
            if line == end {
                break;
            }
            lines.push(line);
        }
        return Ok(InputMessage {
            name: name.to_owned(),
            text: lines.join("\n"),
        });
    }
    let value: Value = serde_json::from_str(&first).unwrap_or_default();
    let name = value["type"].as_str().unwrap_or_default().to_owned();
    let text = value["answer"].as_str().map(str::to_owned);
    Ok(InputMessage {
        name,
        text: text.unwrap_or(first),
    })
}

fn parse_structured(line: &str) -> InputMessage {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    let name = value["type"].as_str().unwrap_or_default();
    if value["request"]["subtype"] == "interrupt" {
        return InputMessage {
            name: "interrupt".to_owned(),
            text: value["request_id"].as_str().unwrap_or_default().to_owned(),
        };
    }
    let text = match name {
        "user" => value["message"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        "control_response" => join_answers(&value["response"]["response"]),
        _ => line.to_owned(),
    };
    InputMessage {
        name: name.to_owned(),
        text,
    }
}

/// Returns the answers in a reply, each on a line; else the reply itself.
fn join_answers(reply: &Value) -> String {
    match reply["updatedInput"]["answers"].as_object() {
        None => reply.to_string(),
        Some(answers) => {
            let answers = answers.values().filter_map(Value::as_str);
            answers.collect::<Vec<_>>().join("\n")
        }
    }
}
