//! The tools over HTTP: whoever the token says, with their rights and no others.

use crate::fake_job_service::{AGENT_TOKEN, World};
use bowline_engine::machines::job::{Command, Job, JobKind};
use bowline_server::client::{ApiClient, HttpResponse};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const HEADERS: [(&str, &str); 2] = [
    ("Accept", "application/json, text/event-stream"),
    ("MCP-Protocol-Version", "2025-11-25"),
];

fn asked(client: &ApiClient, method: &str, params: Value) -> HttpResponse {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    client
        .send_request("POST", "/mcp", Some(&body), &HEADERS)
        .unwrap()
}

/// The body of an answer, whether it came as JSON or as the one event of a stream.
fn told(answer: &HttpResponse) -> Value {
    assert_eq!(
        answer.status,
        200,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    let text = String::from_utf8_lossy(&answer.body);
    let event = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("data: {"));
    match event {
        Some(rest) => serde_json::from_str(&format!("{{{rest}")).unwrap(),
        None => answer.json(),
    }
}

pub(crate) fn called(client: &ApiClient, tool: &str, arguments: Value) -> (bool, Value) {
    let answer = asked(
        client,
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    );
    let told = told(&answer);
    let text = told["result"]["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{tool}: {told}"));
    let good = told["result"]["isError"] != true;
    (good, serde_json::from_str(text).unwrap())
}

fn names(client: &ApiClient) -> Vec<String> {
    let listed = told(&asked(client, "tools/list", json!({})));
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

fn world() -> World {
    World::with_project(|_| {})
}

#[test]
fn a_person_has_the_tools_of_a_person_in_a_workspace() {
    let world = world();
    let person = world.person();
    let hello = told(&asked(
        &person,
        "initialize",
        json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }),
    ));
    assert_eq!(hello["result"]["serverInfo"]["name"], "bowline");
    assert!(names(&person).contains(&"task_approve".to_owned()));
    let (good, made) = called(
        &person,
        "task_new",
        json!({ "title": "T", "type": "custom", "description": "d" }),
    );
    assert!(good, "{made}");
    let (good, list) = called(&person, "task_list", json!({}));
    assert!(good && list["tasks"][0]["id"] == made["id"], "{list}");
    let (good, told) = called(&person, "task_approve", json!({ "id": made["id"] }));
    assert!(!good && told["error"]["code"].is_string(), "{told}");
    let (good, told) = called(&person, "thinking_new", json!({ "id": "t", "goal": "g" }));
    assert!(good, "{told}");
    assert!(world.project().join("thinking_state.json").exists());
    let (good, told) = called(
        &person,
        "thinking_new",
        json!({ "id": "t", "goal": "g", "dir": "../x" }),
    );
    assert!(!good && told["error"]["code"] == "bad_input", "{told}");
    let named = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let lost = person.send_request("POST", "/mcp?workspace=ws_none", Some(&named), &HEADERS);
    assert_eq!(lost.unwrap().status, 404);
}

#[test]
fn the_newer_generation_is_served_too() {
    let world = world();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": "probe", "method": "server/discover", "params": { "_meta": meta } });
    let headers = [
        HEADERS[0],
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "server/discover"),
    ];
    let answer = world
        .person()
        .send_request("POST", "/mcp", Some(&body), &headers)
        .unwrap();
    let told = told(&answer);
    let versions = told["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{told}");
}

#[test]
fn nobody_gets_nothing_and_an_agent_is_no_person() {
    let world = world();
    let wrong = asked(&world.with_token("guessed"), "tools/list", json!({}));
    assert_eq!(wrong.status, 401);
    let client = ApiClient::for_url(&world.url, None, bowline_words::Lang::En).unwrap();
    assert_eq!(asked(&client, "tools/list", json!({})).status, 401);
    let job = Job {
        title: "Shop".into(),
        description: "Tea".into(),
        kind: Some(JobKind::with_reviewed_phases(["Planning", "Design"])),
        ..Job::default()
    };
    world.job_service.put("task_agent", &job);
    world.post("/api/tasks/task_agent/submit", &json!({}));
    let assign = Command::Assign {
        completed: BTreeSet::new(),
        held_by: None,
    };
    world.job_service.decide("task_agent", assign).unwrap();
    let agent = world.with_token(AGENT_TOKEN);
    let tools = names(&agent);
    assert!(tools.contains(&"agent_ask".to_owned()), "{tools:?}");
    assert!(!tools.contains(&"task_approve".to_owned()));
    let (good, told) = called(&agent, "task_approve", json!({ "id": "task_agent" }));
    assert!(!good && told["error"]["code"] == "needs_person", "{told}");
    // Files are worked on where the agent is: the server would follow links, and run commands, in rights of its own.
    let run = json!({ "id": "cp-1", "run": "touch escaped" });
    for (tool, arguments) in [
        ("memory_task_new", json!({ "name": "n", "goal": "g" })),
        ("develop_checkpoint_pass", run),
        ("bowline_status", json!({})),
        (
            "bowline_verb",
            json!({ "noun": "thinking", "verb": "status" }),
        ),
    ] {
        assert!(tool == "bowline_verb" || !tools.contains(&tool.to_owned()));
        let (good, told) = called(&agent, tool, arguments);
        assert!(!good && told["error"]["code"] == "bad_input", "{told}");
    }
    let (good, shown) = called(&agent, "task_show", json!({ "id": "task_agent" }));
    assert!(good && shown["id"] == "task_agent", "{shown}");
    let (good, told) = called(
        &agent,
        "agent_step",
        json!({ "step": 1, "of": 3, "name": "read" }),
    );
    assert!(good, "{told}");
    let shown = world.get("/api/tasks/task_agent").json();
    assert_eq!(shown["agentState"]["currentStep"], "read");
}

#[test]
fn what_is_no_message_is_refused() {
    let world = world();
    let person = world.person();
    let get = person.send_request("GET", "/mcp", None, &HEADERS).unwrap();
    assert_eq!(get.status, 405);
    let big = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "x": "y".repeat(2 << 20) } });
    let big = person.send_request("POST", "/mcp", Some(&big), &HEADERS);
    assert!(big.is_err() || big.is_ok_and(|answer| answer.status == 413));
    let odd = person
        .send_request("POST", "/mcp", Some(&json!([1, 2])), &HEADERS)
        .unwrap();
    assert!((400..500).contains(&odd.status), "{}", odd.status);
}
