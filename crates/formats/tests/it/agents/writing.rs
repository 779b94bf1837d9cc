//! Our messages, as each client reads them.

use bowline_formats::agents::launch::{self, ClientSession};
use bowline_formats::agents::{
    AgentAdapter, AgentEventKind, AgentInputWriter, AgentProtocol, ClientRequest, InputDelivery,
    SessionToOpen, ToAgent,
};
use bowline_formats::markers::write::MarkerMessage;
use serde_json::{Value, json};

fn input(delivery: InputDelivery) -> Value {
    let InputDelivery::Input(text) = delivery else {
        panic!("{delivery:?}");
    };
    let line = text.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'), "{line}");
    serde_json::from_str(line).unwrap()
}

/// The request in the one line that asks for something.
fn request(protocol: AgentProtocol, line: &str) -> ClientRequest<'static> {
    let mut found = None;
    AgentAdapter::new(protocol, None).push(line.as_bytes(), &mut |event| match event.what {
        AgentEventKind::Asks { request, .. } => found = request.map(ClientRequest::into_owned),
        AgentEventKind::WantsPermission { request, .. } => found = Some(request.into_owned()),
        other => panic!("{other:?}"),
    });
    found.unwrap()
}

#[test]
fn plain_text_is_told_in_markers() {
    let mut writer = AgentInputWriter::new(AgentProtocol::Markers);
    assert_eq!(writer.handshake_message(), "");
    let new = SessionToOpen::New { cwd: "/project" };
    assert_eq!(writer.open_session(new), InputDelivery::Nothing);
    assert_eq!(
        writer.encode_message(ToAgent::Prompt("do\nit")),
        InputDelivery::Input("do\nit\n".to_owned())
    );
    let told = MarkerMessage::ProtocolError { details: "odd" };
    assert_eq!(
        writer.encode_message(ToAgent::Notice(told)),
        InputDelivery::Input(told.to_text())
    );
    assert_eq!(
        writer.encode_message(ToAgent::Interrupt),
        InputDelivery::EndRun
    );
}

#[test]
fn codex_hears_in_its_next_run() {
    let mut writer = AgentInputWriter::new(AgentProtocol::CodexJson);
    assert_eq!(
        writer.encode_message(ToAgent::Prompt("blue")),
        InputDelivery::NextRun("blue".to_owned())
    );
    assert_eq!(
        writer.encode_message(ToAgent::Interrupt),
        InputDelivery::EndRun
    );
    let options = ["-s".to_owned(), "read-only".to_owned()];
    assert_eq!(
        launch::codex_arguments(ClientSession::New { id: None }, &options, "-v?"),
        [
            "exec",
            "-s",
            "read-only",
            "--json",
            "--skip-git-repo-check",
            "--",
            "-v?"
        ]
    );
    assert_eq!(
        launch::codex_arguments(ClientSession::Resume { id: "t-1" }, &[], "go"),
        [
            "exec",
            "resume",
            "--json",
            "--skip-git-repo-check",
            "--",
            "t-1",
            "go"
        ]
    );
}

#[test]
fn claude_hears_prompts_answers_and_interrupts() {
    let mut writer = AgentInputWriter::new(AgentProtocol::ClaudeStreamJson);
    assert_eq!(
        input(writer.encode_message(ToAgent::Prompt("line\n\"two\""))),
        json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "line\n\"two\""}]},
            "parent_tool_use_id": null,
        })
    );
    let asked = r#"{"type":"control_request","request_id":"r\"1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","options":[{"label":"a"}]}]}}}
"#;
    let request = request(AgentProtocol::ClaudeStreamJson, asked);
    let answered = ToAgent::Answers {
        request: &request,
        answers: &[("Which?", "a")],
    };
    let questions = json!([{"question": "Which?", "options": [{"label": "a"}]}]);
    assert_eq!(
        input(writer.encode_message(answered)),
        json!({"type": "control_response", "response": {
            "subtype": "success", "request_id": "r\"1", "response": {
                "behavior": "allow",
                "updatedInput": {"questions": questions, "answers": {"Which?": "a"}},
            },
        }})
    );
    let permitted = writer.encode_message(ToAgent::Permit { request: &request });
    assert_eq!(
        input(permitted)["response"]["response"],
        json!({"behavior": "allow", "updatedInput": {"questions": questions}})
    );
    let denied = ToAgent::Deny {
        request: &request,
        reason: "no",
    };
    assert_eq!(
        input(writer.encode_message(denied))["response"]["response"],
        json!({"behavior": "deny", "message": "no"})
    );
    for number in 1..3 {
        assert_eq!(
            input(writer.encode_message(ToAgent::Interrupt)),
            json!({
                "type": "control_request",
                "request_id": format!("interrupt-{number}"),
                "request": {"subtype": "interrupt"},
            })
        );
    }
    let unsupported = input(writer.encode_message(ToAgent::Unsupported { request: &request }));
    assert_eq!(unsupported["response"]["subtype"], "error");
    let id = ClientSession::New { id: Some("u-1") };
    assert!(
        launch::claude_arguments(id, &[]).ends_with(&["--session-id".to_owned(), "u-1".to_owned()])
    );
    let id = ClientSession::Resume { id: "u-1" };
    assert!(
        launch::claude_arguments(id, &[]).ends_with(&["--resume".to_owned(), "u-1".to_owned()])
    );
}

#[test]
fn acp_hears_after_its_session_has_begun() {
    let mut writer = AgentInputWriter::new(AgentProtocol::Acp);
    let greeting: Value = serde_json::from_str(&writer.handshake_message()).unwrap();
    assert_eq!(greeting["method"], "initialize");
    // A client may refuse a conversation before it has answered the greeting.
    let new = SessionToOpen::New { cwd: "/project" };
    assert_eq!(writer.open_session(new), InputDelivery::Later);
    writer.set_initialized();
    assert_eq!(input(writer.open_session(new))["method"], "session/new");
    let resumed = writer.open_session(SessionToOpen::Resume {
        cwd: "/project",
        session: "a-0",
    });
    assert_eq!(input(resumed)["id"], "session-load:a-0");
    assert_eq!(
        writer.encode_message(ToAgent::Prompt("go")),
        InputDelivery::Later
    );
    writer.set_session("a-1");
    assert_eq!(
        input(writer.encode_message(ToAgent::Prompt("go"))),
        json!({"jsonrpc": "2.0", "id": "prompt:1", "method": "session/prompt", "params": {
            "sessionId": "a-1", "prompt": [{"type": "text", "text": "go"}],
        }})
    );
    assert_eq!(
        input(writer.encode_message(ToAgent::Interrupt)),
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "a-1"}})
    );
    let asked = r#"{"id":7,"method":"session/request_permission","params":{"toolCall":{},"options":[{"optionId":"no","kind":"reject_always"},{"optionId":"yes","kind":"allow_once"}]}}
"#;
    let request = request(AgentProtocol::Acp, asked);
    let selected = |option: &str| json!({"outcome": {"outcome": "selected", "optionId": option}});
    let permitted = input(writer.encode_message(ToAgent::Permit { request: &request }));
    assert_eq!(
        (&permitted["id"], &permitted["result"]),
        (&json!(7), &selected("yes"))
    );
    let denied = ToAgent::Deny {
        request: &request,
        reason: "no",
    };
    assert_eq!(
        input(writer.encode_message(denied))["result"],
        selected("no")
    );
    let unsupported = input(writer.encode_message(ToAgent::Unsupported { request: &request }));
    assert_eq!(unsupported["error"]["code"], -32601);
}

#[test]
fn protocols_are_found_by_name() {
    for protocol in AgentProtocol::ALL {
        assert_eq!(AgentProtocol::from_name(protocol.name()), Some(protocol));
    }
    assert_eq!(AgentProtocol::from_name("telepathy"), None);
}
