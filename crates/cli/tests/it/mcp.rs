//! `bowline mcp` as a client starts it: a process, lines in and lines out, in the rights of whoever started it.

use crate::environment::TestEnvironment;
use crate::sandboxed;
use bowline_engine::formats::hook::HookMessage;
use bowline_gate::tool_call::ToolCall;
use bowline_mcp::table::VERBS;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long an answer may take.
pub(crate) const BOUND: Duration = Duration::from_secs(30);

pub(crate) struct Client {
    child: Child,
    to: Option<ChildStdin>,
    pub(crate) from: Receiver<String>,
    number: u64,
}

impl Client {
    pub(crate) fn start(world: &TestEnvironment, line: &str) -> Client {
        let mut command = world.bowline(line);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let to = child.stdin.take();
        Client {
            child,
            to,
            from,
            number: 0,
        }
    }

    pub(crate) fn send(&mut self, line: &str) {
        let to = self.to.as_mut().unwrap();
        to.write_all(format!("{line}\n").as_bytes()).unwrap();
        to.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let id = self.number;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request.to_string());
        loop {
            let line = self.from.recv_timeout(BOUND).unwrap();
            let told: Value = serde_json::from_str(&line).unwrap();
            if told["id"] == id {
                return told;
            }
        }
    }

    pub(crate) fn greet(&mut self) {
        let hello = self.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let told = self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        let text = told["result"]["content"][0]["text"].as_str().unwrap();
        serde_json::from_str(text).unwrap()
    }

    /// The input ends: so does the server, and well.
    pub(crate) fn end(mut self) {
        drop(self.to.take());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status:?}");
    }
}

#[test]
fn what_a_tool_does_the_command_line_sees() {
    let world = TestEnvironment::new();
    let mut client = Client::start(&world, "mcp");
    client.greet();
    let made = json!({ "id": "essay-1", "title": "Knots", "goal": "An essay" });
    assert_eq!(client.call("thinking_new", made)["status"], "pending");
    client.call("thinking_start", json!({ "stage": "planning" }));
    let status = world.json("thinking status --json", 0);
    assert_eq!(
        status["state"]["stages"]["planning"]["status"],
        "in_progress"
    );
    // And the other way round.
    world.write("thinking/planning/ideas.json", "{}");
    world.quietly(
        "thinking complete planning --output thinking/planning/ideas.json",
        0,
    );
    let again = client.call("thinking_start", json!({ "stage": "planning" }));
    assert_eq!(again["error"]["code"], "already_completed");
    client.end();
}

/// Worlds of tests act for a person. An agent's connection has an agent's rights all the same, and a person's the person's.
#[test]
fn rights_are_those_of_the_role_and_of_whoever_asks() {
    let world = TestEnvironment::reviewed();
    let mut agent = Client::start(&world, "mcp");
    agent.greet();
    let pass = json!({ "gate": "review_clean_pass", "by_hand": "I say so" });
    let told = agent.call("develop_gate_pass", pass.clone());
    assert_eq!(told["error"]["code"], "needs_person", "{told}");
    assert_eq!(
        agent.call("develop_reset", json!({}))["error"]["code"],
        "needs_person"
    );
    agent.end();
    // Under a client `--role person` changes what is offered, and nothing else.
    let client = TestEnvironment::reviewed().with("CLAUDECODE", "1");
    let mut posing = Client::start(&client, "mcp --role person");
    posing.greet();
    let told = posing.call("develop_gate_pass", pass.clone());
    assert_eq!(told["error"]["code"], "needs_person", "{told}");
    posing.end();
    let mut person = Client::start(&world, "mcp --role person");
    person.greet();
    let told = person.call("develop_gate_pass", pass);
    assert_eq!(told["openGates"], json!(["review_clean_pass"]), "{told}");
    person.end();
}

#[test]
fn red_evidence_comes_with_the_reason() {
    let world = TestEnvironment::reviewed();
    let mut client = Client::start(&world, "mcp");
    client.greet();
    let pass = json!({ "gate": "review_clean_pass" });
    let told = client.call("develop_gate_pass", pass.clone());
    assert_eq!(told["error"]["code"], "evidence_red", "{told}");
    assert_eq!(told["error"]["evidence"][0]["exitCode"], 1, "{told}");
    world.write("review.ok", "");
    let told = client.call("develop_gate_pass", pass);
    assert_eq!(told["openGates"], json!(["review_clean_pass"]), "{told}");
    client.call("develop_implement", json!({}));
    client.call("develop_checkpoint_start", json!({ "id": "cp-1" }));
    let red = json!({ "id": "cp-1", "run": "echo the ferry is late; false" });
    let told = client.call("develop_checkpoint_pass", red);
    assert_eq!(told["checkpoint"]["attempt"], 2, "{told}");
    let output = told["evidence"][0]["output"].as_str().unwrap();
    assert!(output.contains("the ferry is late"), "{told}");
    client.end();
}

#[test]
fn without_a_server_tasks_are_refused_and_nothing_else() {
    let world = TestEnvironment::new();
    let mut client = Client::start(&world, "mcp --role read-only");
    client.greet();
    let told = client.call("task_list", json!({}));
    assert_eq!(told["error"]["code"], "server_unreachable", "{told}");
    let told = client.call("agent_done", json!({}));
    assert_eq!(told["error"]["code"], "read_only_role", "{told}");
    client.end();
    let mut client = Client::start(&world, "mcp --lang ko");
    client.greet();
    let told = client.call("agent_done", json!({}));
    assert_eq!(told["error"]["code"], "needs_agent", "{told}");
    let korean = told["error"]["message"].as_str().unwrap();
    assert!(korean.contains("에이전트"), "{korean}");
    client.end();
}

/// A client that goes away leaves nothing behind.
#[test]
fn it_ends_with_its_input() {
    let world = TestEnvironment::new();
    Client::start(&world, "mcp").end();
    let mut client = Client::start(&world, "mcp");
    client.greet();
    client.end();
    let mut client = Client::start(&world, "mcp");
    client.send("this is no message");
    client.end();
}

/// In a sandbox the records of a run cannot be written: a tool goes out by the relay, as the command does.
#[test]
fn a_tool_reaches_out_of_the_sandbox() {
    if !sandboxed::enforced() {
        return;
    }
    let world = sandboxed::working();
    let request = |id: u32, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let call = |tool: &str, arguments: Value| json!({ "name": tool, "arguments": arguments });
    let red = call(
        "develop_checkpoint_pass",
        json!({ "id": "cp-1", "run": "false" }),
    );
    let reset = call("develop_reset", json!({}));
    let lines = [
        request(1, "initialize", hello),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        request(2, "tools/call", red),
        request(3, "tools/call", reset),
    ];
    world.write("requests", lines.join("\n") + "\n");
    // The input stays open until both answers are there.
    let script = "mkfifo in; exec 3<>in; bowline mcp <in >out & cat requests >in\n\
                  n=0; until grep -q '\"id\":2' out && grep -q '\"id\":3' out || [ $n = 300 ]; do sleep 0.1; n=$((n+1)); done\n\
                  kill $!\n";
    let output = sandboxed::sandboxed(&world, "", script);
    let told = world.read("out");
    let answers: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let body = |id: u64| -> Value {
        let answer = answers.iter().find(|answer| answer["id"] == id);
        let answer = answer.unwrap_or_else(|| panic!("{told}\n{output:?}"));
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
    };
    assert_eq!(body(2)["to"], "in_progress", "{told}");
    assert_eq!(body(3)["error"]["code"], "needs_person", "{told}");
    let state = world.read_json(".develop-workflow/state.json");
    assert_eq!(state["checkpoints"]["cp-1"]["iteration"], 2);
}

/// Our own tools decide for themselves what is open; a client's hook, which goes by names, takes none of them for a tool that writes
/// files or runs commands.
#[test]
fn no_tool_is_taken_for_one_that_writes_files() {
    for verb in VERBS.iter().copied().flatten() {
        let args = verb
            .takes
            .iter()
            .map(|arg| (arg.name.to_owned(), json!("x")));
        let args: serde_json::Map<_, _> = args.collect();
        for prefix in [
            "mcp__bowline__",
            "mcp__plugin_bowline_bowline__",
            "mcp_bowline_",
            "bowline_",
        ] {
            let tool = format!("{prefix}{}", verb.name);
            let message =
                json!({ "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": args });
            let read = HookMessage::parse(message.to_string().as_bytes()).unwrap();
            assert_eq!(
                ToolCall::from_message(&read),
                ToolCall::Other,
                "{tool} {args:?}"
            );
        }
    }
}
