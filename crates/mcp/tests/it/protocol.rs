//! Both generations of the protocol, and messages that are none.

use crate::wire::{Server, Wire};
use bowline_mcp::SessionRole;
use serde_json::{Value, json};

const NEWER: &str = "2026-07-28";

/// What every request of the newer generation carries.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": NEWER,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn the_older_generation_shakes_hands() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut wire = Wire::silent(SessionRole::Agent, Server::default());
        let told = wire.ask(
            "initialize",
            json!({
                "protocolVersion": version, "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        let result = &told["result"];
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "bowline");
        assert_eq!(result["capabilities"]["resources"]["subscribe"], true);
        assert!(
            result["instructions"]
                .as_str()
                .unwrap()
                .contains("bowline_status")
        );
        wire.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(wire.ask("ping", json!({}))["result"], json!({}));
        let listed = wire.ask("tools/list", json!({}));
        assert!(listed["result"]["tools"].as_array().unwrap().len() > 20);
        assert!(listed["result"].get("resultType").is_none(), "{listed}");
    }
}

/// As `claude` begins: a question without a handshake, by an id that is a text.
#[test]
fn the_newer_generation_needs_no_handshake() {
    let mut wire = Wire::silent(SessionRole::Agent, Server::default());
    let id = json!("server-discover-probe-1");
    let told = wire.ask_as(&id, "server/discover", json!({ "_meta": meta() }));
    let result = &told["result"];
    let versions = result["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(NEWER)), "{told}");
    let listed = wire.ask("tools/list", json!({ "_meta": meta() }));
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    let called = wire.ask(
        "tools/call",
        json!({
            "name": "memory_context_set", "_meta": meta(),
            "arguments": { "key": "shared_data.topic", "value": "ferries" },
        }),
    );
    assert_eq!(called["result"]["isError"], false, "{called}");
    // What belongs to the older one is not there.
    assert_eq!(
        wire.ask("ping", json!({ "_meta": meta() }))["error"]["code"],
        -32601
    );
}

#[test]
fn what_is_no_request_is_answered_or_passed_over_and_the_next_one_works() {
    let mut wire = Wire::new(SessionRole::Agent);
    for line in [
        "",
        "{",
        "not JSON at all",
        "\u{0}\u{1}",
        "[1,2",
        "\"text\"\u{7}",
    ] {
        wire.send(line);
    }
    // JSON that is no message gets an error; there is no id to answer to.
    wire.send(r#"{"jsonrpc":"2.0","id":{"a":1},"method":7}"#);
    wire.send(r#"{"hello":"world"}"#);
    assert_eq!(wire.ask("ping", json!({}))["result"], json!({}));
    let told = wire.ask("no/such/method", json!({}));
    assert_eq!(told["error"]["code"], -32601);
    let told = wire.ask(
        "tools/call",
        json!({ "name": "no_such_tool", "arguments": {} }),
    );
    assert_eq!(told["error"]["code"], -32602, "{told}");
    let told = wire.ask(
        "tools/call",
        json!({ "name": "bowline_status", "arguments": [1] }),
    );
    assert!(told["error"]["code"].is_i64(), "{told}");
    let told = wire.ask("tools/call", json!({}));
    assert!(told["error"]["code"].is_i64(), "{told}");
    wire.done("bowline_status", json!({}));
}

#[test]
fn ids_of_any_sort_come_back_as_they_are() {
    let mut wire = Wire::new(SessionRole::ReadOnly);
    for id in [
        json!(0),
        json!(9_007_199_254_740_991_i64),
        json!("a b"),
        json!("한글"),
    ] {
        assert_eq!(wire.ask_as(&id, "ping", json!({}))["id"], id);
    }
}

/// Larger than any value may be, and smaller than what a line may be: refused by a rule, with an error.
#[test]
fn large_input_is_refused_and_larger_input_is_passed_over() {
    let mut wire = Wire::new(SessionRole::Agent);
    let value = json!({ "key": "shared_data.x", "value": "x".repeat(900_000) });
    let (good, body) = wire.call("memory_context_set", value);
    assert!(!good && body["error"]["code"].is_string(), "{body}");
    assert!(body.to_string().len() < 2_000);
    let name = "n".repeat(100_000);
    let told = wire.ask("tools/call", json!({ "name": name, "arguments": {} }));
    assert!(told.to_string().len() < 500, "told back");
    let (_, body) = wire.call("bowline_verb", json!({ "noun": name }));
    assert!(body.to_string().len() < 1_000);
    assert_eq!(wire.ask("ping", json!({}))["result"], json!({}));
}

/// A client that asks many things at once gets every answer.
#[test]
fn many_calls_at_once_are_all_answered() {
    let mut wire = Wire::new(SessionRole::Agent);
    for number in 100..160 {
        let request = json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
            "name": "memory_context_append",
            "arguments": { "key": "shared_data.list", "value": number },
        } });
        wire.send(&request.to_string());
    }
    let mut seen: Vec<u64> = Vec::new();
    while seen.len() < 60 {
        let told = wire.hear();
        if let Some(id) = told["id"].as_u64() {
            assert_ne!(told["result"]["isError"], true, "{told}");
            seen.push(id);
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (100..160).collect::<Vec<u64>>());
    let list = wire.done("memory_context_get", json!({ "key": "shared_data.list" }));
    assert_eq!(list["value"].as_array().unwrap().len(), 60);
}

/// Longer than a message may be: the request is answered, and the connection goes on.
#[test]
fn a_request_that_is_too_long_is_answered() {
    let mut wire = Wire::new(SessionRole::Agent);
    let value = "x".repeat(5 << 20);
    let told = wire.ask(
        "tools/call",
        json!({ "name": "memory_context_set", "arguments": { "key": "shared_data.long", "value": value } }),
    );
    assert_eq!(told["error"]["code"], -32600, "{told}");
    assert_eq!(told["error"]["message"], "the message is longer than 4 MiB");
    wire.done(
        "memory_context_set",
        json!({ "key": "shared_data.short", "value": "x" }),
    );
    assert_eq!(
        wire.ask("no/such/method", json!({}))["error"]["code"],
        -32601
    );
}
