//! The MCP Inspector's own command line: it lists the tools by its strict rules, and calls every one, of `bowline mcp` and of
//! the server.

use super::installed;
use crate::environment::{TestEnvironment, text};
use crate::serve::Server;
use bowline_test_support::record_client_result;
use serde_json::{Value, json};
use std::process::Output;

/// What it ends with when a tool refuses, which is an answer like any other.
const REFUSED: i32 = 5;

fn world() -> TestEnvironment {
    let world = TestEnvironment::repository();
    let plan = "# Ferries\n\n## Phase 1: All\n\n- [ ] T1.1: Harbour\n";
    world.write("TASKS.md", plan);
    world
}

/// Something that may stand there, by the schema.
fn value(schema: &Value) -> Value {
    match (schema["enum"].as_array(), schema["type"].as_str()) {
        (Some(words), _) => words[0].clone(),
        (None, Some("integer" | "number")) => json!(1),
        (None, Some("boolean")) => json!(true),
        (None, Some("array")) => json!([value(&schema["items"])]),
        (None, Some("object")) => json!({ "name": "x" }),
        (None, _) => json!("x"),
    }
}

#[test]
fn the_inspector_has_no_complaint() {
    let program = env!("CARGO_BIN_EXE_bowline");
    has_no_complaint(&world(), &[program, "mcp", "--role", "person"]);
}

#[test]
fn the_inspector_has_no_complaint_of_the_server() {
    let server = Server::with(world(), "--workspace .");
    let shown = format!(
        "Authorization: Bearer {}",
        server.world.read("data/token").trim()
    );
    let url = format!("{}/mcp", server.url);
    has_no_complaint(
        &server.world,
        &[&url, "--transport", "http", "--header", &shown],
    );
}

fn has_no_complaint(world: &TestEnvironment, target: &[&str]) {
    let Some(program) = installed("BOWLINE_INSPECTOR") else {
        return;
    };
    let ask = |arguments: &[&str]| -> Output {
        let mut client = world.program("node");
        client
            .args([&program, "--cli"])
            .args(target)
            .arg("--method")
            .args(arguments);
        client.output().unwrap()
    };
    let listed = ask(&["tools/list", "--strict"]);
    let said = text(&listed.stderr);
    assert!(listed.status.success(), "{said}");
    // Schemas that others may not understand are warned of here.
    assert_eq!(said.trim(), "");
    let list: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let tools = list["tools"].as_array().unwrap();
    let (mut done, mut refused) = (0, 0);
    for tool in tools {
        let (name, schema) = (tool["name"].as_str().unwrap(), &tool["inputSchema"]);
        let needed = schema["required"].as_array().into_iter().flatten();
        let pairs = needed.map(|field| {
            let field = field.as_str().unwrap();
            match value(&schema["properties"][field]) {
                Value::String(text) => format!("{field}={text}"),
                other => format!("{field}={other}"),
            }
        });
        let pairs: Vec<String> = pairs.collect();
        let mut arguments = vec!["tools/call", "--tool-name", name];
        for pair in &pairs {
            arguments.extend(["--tool-arg", pair]);
        }
        let called = ask(&arguments);
        let said = String::from_utf8_lossy(&called.stderr).into_owned();
        let answer: Value = serde_json::from_slice(&called.stdout)
            .unwrap_or_else(|error| panic!("{name} {pairs:?}: {error}\n{said}"));
        let text = answer["content"][0]["text"].as_str().unwrap();
        let body: Value = serde_json::from_str(text).unwrap();
        match called.status.code() {
            Some(0) => done += 1,
            Some(REFUSED) => {
                let error = &body["error"];
                assert!(
                    error["code"].is_string() && error["hint"].is_string(),
                    "{body}"
                );
                refused += 1;
            }
            other => panic!("{name} {pairs:?}: {other:?}\n{said}"),
        }
    }
    assert!(
        tools.len() > 30 && done > 5,
        "{done} done and {refused} refused with code and hint, of {}",
        tools.len()
    );
    let resources = ask(&["resources/list"]);
    assert!(resources.status.success());
    let read = ask(&["resources/read", "--uri", "bowline://card"]);
    assert!(read.status.success());
    record_client_result("BOWLINE_INSPECTOR", "our tools are called (MCP)");
}
