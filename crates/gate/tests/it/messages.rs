//! Messages of the clients, as they are sent.

use bowline_formats::hook::{HookEvent, HookMessage, HookResponse};
use bowline_gate::tool_call::ToolCall;
use serde_json::{Value, json};

fn read(message: &Value) -> HookMessage {
    HookMessage::parse(message.to_string().as_bytes()).unwrap()
}

/// What a tool is asked to do.
fn call(tool: &str, input: Value) -> ToolCall {
    let message = json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
    ToolCall::from_message(&read(&message))
}

fn shell(command: &str) -> ToolCall {
    ToolCall::Shell {
        command: command.into(),
        folder: None,
    }
}

fn writes(paths: &[&str]) -> ToolCall {
    ToolCall::Write {
        paths: paths.iter().map(|path| Some((*path).to_owned())).collect(),
    }
}

#[test]
fn claude_code() {
    let message = read(&json!({
        "session_id": "s1", "transcript_path": "t.jsonl", "cwd": "/app", "prompt_id": "p", "permission_mode": "default",
        "effort": {"level": "medium"}, "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": {"file_path": "/app/hello.txt", "content": "git push\n"}, "tool_use_id": "toolu_1",
    }));
    assert_eq!(message.event, Some(HookEvent::PreToolUse));
    assert_eq!(message.cwd.as_deref(), Some("/app"));
    assert_eq!(
        ToolCall::from_message(&message),
        writes(&["/app/hello.txt"])
    );
    assert_eq!(message.session_id, "s1");
    let stop =
        read(&json!({"hook_event_name": "Stop", "stop_hook_active": true, "session_id": "s1"}));
    assert_eq!(
        (stop.event, stop.stop_hook_active),
        (Some(HookEvent::Stop), true)
    );
    let start = read(&json!({"hook_event_name": "SessionStart", "source": "compact"}));
    assert_eq!(
        (start.event, start.source.as_str()),
        (Some(HookEvent::SessionStart), "compact")
    );
}

#[test]
fn what_each_tool_is_asked_to_do() {
    assert_eq!(
        call("Bash", json!({"command": "ls", "description": "list"})),
        shell("ls")
    );
    let typed = json!({"session_id": 3, "chars": "git push\n"});
    assert_eq!(call("write_stdin", typed), shell("git push\n"));
    assert_eq!(
        call("run_shell_command", json!({"command": "ls"})),
        shell("ls")
    );
    assert_eq!(call("bash", json!({"command": "ls"})), shell("ls"));
    assert_eq!(
        call(
            "shell",
            json!({"command": ["bash", "-lc", "it's"], "workdir": "/app/x"})
        ),
        ToolCall::Shell {
            command: "'bash' '-lc' 'it'\\''s'".into(),
            folder: Some("/app/x".into())
        }
    );
    assert_eq!(
        call("Edit", json!({"file_path": "a", "old_string": "x"})),
        writes(&["a"])
    );
    assert_eq!(call("edit", json!({"filePath": "a"})), writes(&["a"]));
    assert_eq!(
        call("NotebookEdit", json!({"notebook_path": "a.ipynb"})),
        writes(&["a.ipynb"])
    );
    assert_eq!(
        call("write_file", json!({"file_path": "a", "content": "x"})),
        writes(&["a"])
    );
    assert_eq!(call("replace", json!({"file_path": "a"})), writes(&["a"]));
    assert_eq!(
        call(
            "mcp__fs__move_file",
            json!({"source": "a", "destination": "b"})
        ),
        writes(&["b", "a"])
    );
    assert_eq!(
        call(
            "apply_patch",
            json!({"command": "*** Begin Patch\n*** Update File: a.rs\n@@\n*** Add File: b.rs\n+x\n"})
        ),
        writes(&["a.rs", "b.rs"])
    );
    assert_eq!(
        call("Write", json!({"content": "x"})),
        ToolCall::Write { paths: vec![None] }
    );
    assert_eq!(
        call("apply_patch", json!({})),
        ToolCall::Write { paths: vec![None] }
    );
    for tool in [
        "Read",
        "Grep",
        "Glob",
        "TodoWrite",
        "WebFetch",
        "Task",
        "mcp__db__query",
    ] {
        let input = json!({"file_path": "a", "path": "b", "query": "update x"});
        assert_eq!(call(tool, input), ToolCall::Other, "{tool}");
    }
}

#[test]
fn a_command_that_cannot_be_read_is_hidden() {
    let hidden = |tool: &str| ToolCall::Hidden { tool: tool.into() };
    for input in [
        json!({"command": 5}),
        json!({"command": {"a": "b"}}),
        json!({"command": ["git", 5]}),
        json!({}),
        json!("git push"),
        json!(null),
    ] {
        assert_eq!(call("Bash", input.clone()), hidden("Bash"), "{input}");
        assert_eq!(
            call("run_shell_command", input.clone()),
            hidden("run_shell_command"),
            "{input}"
        );
    }
    assert_eq!(
        call("shell", json!({"command": null, "cmd": "ls"})),
        shell("ls")
    );
    // These ask for what a shell printed, or end it.
    assert_eq!(call("BashOutput", json!({"bash_id": "3"})), ToolCall::Other);
    assert_eq!(call("KillShell", json!({"shell_id": "3"})), ToolCall::Other);
}

#[test]
fn tools_of_git_and_its_hosts() {
    let call = |tool: &str| {
        let input = json!({"owner": "me", "repo": "ferry", "message": "x"});
        call(tool, input)
    };
    for tool in [
        "mcp__git__git_commit",
        "mcp__github__merge_pull_request",
        "mcp__github__delete_file",
        "mcp__x__createOrUpdateFile",
        "gitlab_create_merge_request",
    ] {
        assert_eq!(call(tool), ToolCall::Finish { tool: tool.into() });
    }
    for tool in [
        "mcp__github__pull_request_read",
        "mcp__github__create_pull_request_review",
        "mcp__github__create_issue",
        "mcp__github__get_commit",
        "mcp__git__git_add",
        "mcp__digital__amount",
    ] {
        assert_eq!(call(tool), ToolCall::Other, "{tool}");
    }
}

#[test]
fn other_clients_name_events_in_their_own_way() {
    for (name, event) in [
        ("BeforeTool", HookEvent::PreToolUse),
        ("tool.execute.before", HookEvent::PreToolUse),
        ("beforeShellExecution", HookEvent::PreToolUse),
        ("AfterTool", HookEvent::PostToolUse),
        ("PreCompress", HookEvent::PreCompact),
        ("AfterAgent", HookEvent::Stop),
        ("pre-tool-use", HookEvent::PreToolUse),
        ("user-prompt-submit", HookEvent::UserPromptSubmit),
    ] {
        assert_eq!(HookEvent::from_name(name), Some(event), "{name}");
    }
    for event in HookEvent::ALL {
        assert_eq!(HookEvent::from_name(event.name()), Some(event));
        assert_eq!(HookEvent::from_name(event.client_name()), Some(event));
    }
    assert_eq!(HookEvent::from_name("SubagentStop"), None);
    let cursor = read(
        &json!({"hook_event_name": "beforeShellExecution", "command": "git push", "cwd": "/app"}),
    );
    let wanted = ToolCall::Shell {
        command: "git push".into(),
        folder: Some("/app".into()),
    };
    assert_eq!(ToolCall::from_message(&cursor), wanted);
}

#[test]
fn odd_messages_are_read_as_far_as_they_go() {
    let empty = read(&json!({}));
    assert_eq!(
        (
            empty.event,
            empty.cwd.clone(),
            ToolCall::from_message(&empty)
        ),
        (None, None, ToolCall::Other)
    );
    let odd = read(
        &json!({"cwd": 3, "tool_name": ["x"], "tool_input": "text", "hook_event_name": "PreToolUse"}),
    );
    assert_eq!(
        (odd.event, odd.cwd.clone(), ToolCall::from_message(&odd)),
        (Some(HookEvent::PreToolUse), None, ToolCall::Other)
    );
    for bytes in [&b""[..], b"[]", b"null", b"{", b"\xff\xfe"] {
        assert!(HookMessage::parse(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn answers() {
    assert_eq!(
        HookResponse::silent(),
        HookResponse {
            stdout: String::new(),
            stderr: String::new(),
            code: 0
        }
    );
    let deny = HookResponse::deny("no\n");
    assert_eq!(
        (deny.code, deny.stdout.as_str(), deny.stderr.as_str()),
        (2, "", "no\n")
    );
    assert_eq!(
        HookResponse::add_context(HookEvent::SessionStart, "here").stdout,
        "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"here\"}}\n"
    );
    assert_eq!(
        HookResponse::keep_working("more").stdout,
        "{\"decision\":\"block\",\"reason\":\"more\"}\n"
    );
}
