//! Reading the output of each kind of client, against merely finding the line ends.

use crate::Outcome;
use crate::options::Options;
use crate::output::{CHUNK_BYTES, MIX_BYTES, Mix, measured};
use crate::report::Report;
use bowline_formats::agents::{AgentAdapter, AgentEventKind, AgentProtocol};
use serde_json::{Value, json};

pub(crate) fn run(options: &Options) -> Outcome<Report> {
    let rounds = options.rounds(40, 8);
    let promise = "at least 200 MB/s for each protocol";
    let (rows, bound) = measured(&mixes(), rounds, promise)?;
    Ok(Report {
        name: "agents",
        about: format!(
            "The adapters over {} MB of each client's output in pieces of 64 KiB, per second of one core's time, against counting line \
             ends in the same bytes. {rounds} rounds in turns; every event must be found. The agent's words are \
             searched for markers, too.",
            MIX_BYTES / 1_000_000
        ),
        columns: &["output", "events per MB", "line ends MB/s", "adapter MB/s"],
        rows,
        bound: Some(bound),
    })
}

/// How many events were understood, and how many were not.
fn read(protocol: AgentProtocol, bytes: &[u8]) -> (usize, usize) {
    let (mut good, mut bad) = (0, 0);
    let mut count = |event: bowline_formats::agents::AgentEvent<'_>| match event.what {
        AgentEventKind::Malformed(_)
        | AgentEventKind::Ignored { .. }
        | AgentEventKind::ProtocolError(_) => bad += 1,
        _ => good += 1,
    };
    let mut adapter = AgentAdapter::new(protocol, None);
    for chunk in bytes.chunks(CHUNK_BYTES) {
        adapter.push(chunk, &mut count);
    }
    adapter.finish(&mut count);
    (good, bad)
}

fn mixes() -> Vec<Mix> {
    vec![
        mix(
            "a working session",
            AgentProtocol::ClaudeStreamJson,
            claude_session,
        ),
        mix(
            "nothing but words",
            AgentProtocol::ClaudeStreamJson,
            |number| (claude_says(&paragraphs(number)), 1),
        ),
        mix(
            "nothing but tool calls",
            AgentProtocol::ClaudeStreamJson,
            |number| (claude_uses(number), 1),
        ),
        mix(
            "nothing but questions",
            AgentProtocol::ClaudeStreamJson,
            |number| (claude_says(&question(number)), 2),
        ),
        mix("tool output", AgentProtocol::ClaudeStreamJson, |number| {
            (claude_result(number), 0)
        }),
        mix("a working session", AgentProtocol::CodexJson, codex_session),
        mix("nothing but words", AgentProtocol::CodexJson, |number| {
            (codex_says(&paragraphs(number)), 1)
        }),
        mix("command output", AgentProtocol::CodexJson, |number| {
            (codex_ran(number), 0)
        }),
        mix("a working session", AgentProtocol::Acp, acp_session),
        mix(
            "nothing but words, a few at a time",
            AgentProtocol::Acp,
            |number| (acp_says(&format!("and then part {number} ")), 1),
        ),
        mix("tool output", AgentProtocol::Acp, |number| {
            (acp_result(number), 0)
        }),
    ]
}

/// Output of about [`MIX_BYTES`]; `line` gives the next line and says how many events it has.
fn mix(name: &str, protocol: AgentProtocol, line: impl Fn(usize) -> (Value, usize)) -> Mix {
    let mut text = String::with_capacity(MIX_BYTES + 65_536);
    let mut events = 0;
    // What comes before the session is the repeated past, and passed over.
    if protocol == AgentProtocol::Acp {
        let opened = json!({"jsonrpc": "2.0", "id": "session-new", "result": {"sessionId": "a-1"}});
        text.push_str(&format!("{opened}\n"));
        events += 1;
    }
    for number in 0.. {
        if text.len() >= MIX_BYTES {
            break;
        }
        let (value, more) = line(number);
        text.push_str(&value.to_string());
        text.push('\n');
        events += more;
    }
    Mix {
        name: format!("`{}`: {name}", protocol.name()),
        text,
        events,
        read: Box::new(move |bytes| read(protocol, bytes)),
    }
}

/// Some sentences, as agents write between two calls.
fn paragraphs(number: usize) -> String {
    format!(
        "I looked at part {number} of the list. The \"first\" check went well, the second needs another look:\n\n\
         - the table of contents has no entry for it\n- `render()` is called twice\n\nNext I will read the tests and \
         then change the function that writes the summary.\n"
    )
}

fn question(number: usize) -> String {
    format!(
        "[USER_QUESTION]\ncategory: choice\nquestion: Where should picture {number} live?\noptions:\n  - in the repository\n  - in a \
         bucket\nrequired: false\n[/USER_QUESTION]\n"
    )
}

/// A file as a tool shows it.
fn source(number: usize) -> String {
    (0..60)
        .map(|line| {
            format!("{line:>5}\tlet value_{line} = compute(&input[{number}..], \"name\")?;\n")
        })
        .collect()
}

fn claude_session(number: usize) -> (Value, usize) {
    match number % 10 {
        0 => (claude_says(&paragraphs(number)), 1),
        9 => (claude_says(&question(number)), 2),
        odd if odd % 2 == 1 => (claude_uses(number), 1),
        _ => (claude_result(number), 0),
    }
}

fn claude_message(content: Value) -> Value {
    json!({
        "type": "assistant",
        "message": {
            "id": "msg_01", "type": "message", "role": "assistant", "model": "model-1", "content": [content],
            "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 4, "cache_creation_input_tokens": 900, "cache_read_input_tokens": 20_000,
                "output_tokens": 1, "service_tier": "standard"},
        },
        "parent_tool_use_id": null,
        "session_id": "11111111-2222-4333-8444-555555555555",
        "uuid": "5ce35f47-1e52-4f33-9d74-afd97080db80",
    })
}

fn claude_says(text: &str) -> Value {
    claude_message(json!({"type": "text", "text": text}))
}

fn claude_uses(number: usize) -> Value {
    let input = json!({"command": format!("grep -n 'part {number}' src/*.rs"), "description": "Looks for it"});
    claude_message(json!({"type": "tool_use", "id": "toolu_01", "name": "Bash", "input": input}))
}

fn claude_result(number: usize) -> Value {
    let text = source(number);
    json!({
        "type": "user",
        "message": {"role": "user", "content": [
            {"tool_use_id": "toolu_01", "type": "tool_result", "content": text, "is_error": false},
        ]},
        "parent_tool_use_id": null,
        "session_id": "11111111-2222-4333-8444-555555555555",
        "tool_use_result": {"stdout": text, "stderr": "", "interrupted": false},
    })
}

fn codex_session(number: usize) -> (Value, usize) {
    match number % 10 {
        0 => (codex_says(&paragraphs(number)), 1),
        9 => (codex_says(&question(number)), 2),
        odd if odd % 2 == 1 => {
            let item = json!({"id": "item_7", "type": "command_execution", "command": "/bin/bash -lc 'cat src/part.rs'",
                "aggregated_output": "", "exit_code": null, "status": "in_progress"});
            (json!({"type": "item.started", "item": item}), 1)
        }
        _ => (codex_ran(number), 0),
    }
}

fn codex_says(text: &str) -> Value {
    let item = json!({"id": "item_8", "type": "agent_message", "text": text});
    json!({"type": "item.completed", "item": item})
}

fn codex_ran(number: usize) -> Value {
    let item = json!({"id": "item_7", "type": "command_execution", "command": "/bin/bash -lc 'cat src/part.rs'",
        "aggregated_output": source(number), "exit_code": 0, "status": "completed"});
    json!({"type": "item.completed", "item": item})
}

fn acp_session(number: usize) -> (Value, usize) {
    match number % 10 {
        0..5 => (
            acp_says(&format!("and then part {number}, which is long\n")),
            1,
        ),
        5 | 7 => {
            let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c-1", "title": "cat src/part.rs", "kind": "read",
                "status": "pending", "rawInput": {"path": "src/part.rs"}});
            (acp(&call), 1)
        }
        _ => (acp_result(number), 0),
    }
}

fn acp(update: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "a-1", "update": update}})
}

fn acp_says(text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    acp(&json!({"sessionUpdate": "agent_message_chunk", "content": content}))
}

fn acp_result(number: usize) -> Value {
    let content = json!([{"type": "content", "content": {"type": "text", "text": source(number)}}]);
    acp(
        &json!({"sessionUpdate": "tool_call_update", "toolCallId": "c-1", "status": "completed", "content": content}),
    )
}
