//! Our messages, as each client reads them.

use bowline_formats::agents::launch::{self, Conversation};
use bowline_formats::agents::{Adapter, Delivery, Protocol, Request, Start, ToAgent, What, Writer};
use bowline_formats::markers::write::Message;
use serde_json::{Value, json};

fn input(delivery: Delivery) -> Value {
    let Delivery::Input(text) = delivery else {
        panic!("{delivery:?}");
    };
    let line = text.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'), "{line}");
    serde_json::from_str(line).unwrap()
}

/// The request in the one line that asks for something.
fn request(protocol: Protocol, line: &str) -> Request<'static> {
    let mut found = None;
    Adapter::new(protocol, None).push(line.as_bytes(), &mut |event| match event.what {
        What::Asks { request, .. } => found = request.map(Request::into_owned),
        What::WantsPermission { request, .. } => found = Some(request.into_owned()),
        other => panic!("{other:?}"),
    });
    found.unwrap()
}

#[test]
fn plain_text_is_told_in_markers() {
    let mut writer = Writer::new(Protocol::Markers);
    assert_eq!(writer.greeting(), "");
    let new = Start::New { cwd: "/project" };
    assert_eq!(writer.open(new), Delivery::Nothing);
    assert_eq!(
        writer.write(ToAgent::Prompt("do\nit")),
        Delivery::Input("do\nit\n".to_owned())
    );
    let told = Message::ProtocolError { details: "odd" };
    assert_eq!(
        writer.write(ToAgent::Told(told)),
        Delivery::Input(told.to_text())
    );
    assert_eq!(writer.write(ToAgent::Interrupt), Delivery::EndRun);
}

#[test]
fn codex_hears_in_its_next_run() {
    let mut writer = Writer::new(Protocol::CodexJson);
    assert_eq!(
        writer.write(ToAgent::Prompt("blue")),
        Delivery::NextRun("blue".to_owned())
    );
    assert_eq!(writer.write(ToAgent::Interrupt), Delivery::EndRun);
    let options = ["-s".to_owned(), "read-only".to_owned()];
    assert_eq!(
        launch::codex(Conversation::New { id: None }, &options, "-v?"),
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
        launch::codex(Conversation::Resume { id: "t-1" }, &[], "go"),
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
    let mut writer = Writer::new(Protocol::ClaudeStreamJson);
    assert_eq!(
        input(writer.write(ToAgent::Prompt("line\n\"two\""))),
        json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "line\n\"two\""}]},
            "parent_tool_use_id": null,
        })
    );
    let asked = r#"{"type":"control_request","request_id":"r\"1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","options":[{"label":"a"}]}]}}}
"#;
    let request = request(Protocol::ClaudeStreamJson, asked);
    let answered = ToAgent::Answers {
        request: &request,
        answers: &[("Which?", "a")],
    };
    let questions = json!([{"question": "Which?", "options": [{"label": "a"}]}]);
    assert_eq!(
        input(writer.write(answered)),
        json!({"type": "control_response", "response": {
            "subtype": "success", "request_id": "r\"1", "response": {
                "behavior": "allow",
                "updatedInput": {"questions": questions, "answers": {"Which?": "a"}},
            },
        }})
    );
    let permitted = writer.write(ToAgent::Permit { request: &request });
    assert_eq!(
        input(permitted)["response"]["response"],
        json!({"behavior": "allow", "updatedInput": {"questions": questions}})
    );
    let denied = ToAgent::Deny {
        request: &request,
        reason: "no",
    };
    assert_eq!(
        input(writer.write(denied))["response"]["response"],
        json!({"behavior": "deny", "message": "no"})
    );
    for number in 1..3 {
        assert_eq!(
            input(writer.write(ToAgent::Interrupt)),
            json!({
                "type": "control_request",
                "request_id": format!("interrupt-{number}"),
                "request": {"subtype": "interrupt"},
            })
        );
    }
    let unsupported = input(writer.write(ToAgent::Unsupported { request: &request }));
    assert_eq!(unsupported["response"]["subtype"], "error");
    let id = Conversation::New { id: Some("u-1") };
    assert!(launch::claude(id, &[]).ends_with(&["--session-id".to_owned(), "u-1".to_owned()]));
    let id = Conversation::Resume { id: "u-1" };
    assert!(launch::claude(id, &[]).ends_with(&["--resume".to_owned(), "u-1".to_owned()]));
}

#[test]
fn acp_hears_after_its_session_has_begun() {
    let mut writer = Writer::new(Protocol::Acp);
    let greeting: Value = serde_json::from_str(&writer.greeting()).unwrap();
    assert_eq!(greeting["method"], "initialize");
    // A client may refuse a conversation before it has answered the greeting.
    let new = Start::New { cwd: "/project" };
    assert_eq!(writer.open(new), Delivery::Later);
    writer.initialized();
    assert_eq!(input(writer.open(new))["method"], "session/new");
    let resumed = writer.open(Start::Resume {
        cwd: "/project",
        session: "a-0",
    });
    assert_eq!(input(resumed)["id"], "session-load:a-0");
    assert_eq!(writer.write(ToAgent::Prompt("go")), Delivery::Later);
    writer.session("a-1");
    assert_eq!(
        input(writer.write(ToAgent::Prompt("go"))),
        json!({"jsonrpc": "2.0", "id": "prompt:1", "method": "session/prompt", "params": {
            "sessionId": "a-1", "prompt": [{"type": "text", "text": "go"}],
        }})
    );
    assert_eq!(
        input(writer.write(ToAgent::Interrupt)),
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "a-1"}})
    );
    let asked = r#"{"id":7,"method":"session/request_permission","params":{"toolCall":{},"options":[{"optionId":"no","kind":"reject_always"},{"optionId":"yes","kind":"allow_once"}]}}
"#;
    let request = request(Protocol::Acp, asked);
    let selected = |option: &str| json!({"outcome": {"outcome": "selected", "optionId": option}});
    let permitted = input(writer.write(ToAgent::Permit { request: &request }));
    assert_eq!(
        (&permitted["id"], &permitted["result"]),
        (&json!(7), &selected("yes"))
    );
    let denied = ToAgent::Deny {
        request: &request,
        reason: "no",
    };
    assert_eq!(input(writer.write(denied))["result"], selected("no"));
    let unsupported = input(writer.write(ToAgent::Unsupported { request: &request }));
    assert_eq!(unsupported["error"]["code"], -32601);
}

#[test]
fn protocols_are_found_by_name() {
    for protocol in Protocol::ALL {
        assert_eq!(Protocol::from_name(protocol.name()), Some(protocol));
    }
    assert_eq!(Protocol::from_name("telepathy"), None);
}
