//! State files and the card as resources, and news of them in both generations.

use crate::wire::{Server, Wire};
use bowline_mcp::SessionRole;
use serde_json::{Value, json};

const CARD: &str = "bowline://card";
const STATE: &str = "bowline://state/thinking_state.json";

fn uris(wire: &mut Wire) -> Vec<String> {
    let listed = wire.ask("resources/list", json!({}));
    let all = listed["result"]["resources"].as_array().unwrap().clone();
    let uri = |one: &Value| one["uri"].as_str().unwrap().to_owned();
    all.iter().map(uri).collect()
}

fn begun() -> Wire {
    let mut wire = Wire::new(SessionRole::Agent);
    wire.done("thinking_new", json!({ "id": "t-1", "goal": "Write it" }));
    wire
}

#[test]
fn state_files_and_the_card_can_be_read() {
    let mut wire = begun();
    assert_eq!(uris(&mut wire), [CARD, STATE]);
    let read = wire.ask("resources/read", json!({ "uri": STATE }));
    let contents = &read["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "application/json");
    let state: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!(state["task_id"], "t-1");
    let card = wire.ask("resources/read", json!({ "uri": CARD }));
    let card = card["result"]["contents"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(card.contains("thinking_state.json"), "{card}");
}

#[test]
fn nothing_else_can_be_read() {
    let mut wire = begun();
    wire.write("secret.json", "{}");
    for uri in [
        "bowline://state/secret.json",
        "bowline://state/../thinking_state.json",
        "bowline://state//etc/passwd",
        "file:///etc/passwd",
        "",
    ] {
        let told = wire.ask("resources/read", json!({ "uri": uri }));
        assert_eq!(told["error"]["code"], -32002, "{uri}: {told}");
        assert_eq!(told["error"]["data"]["error"]["code"], "unknown_id");
    }
}

#[test]
fn a_damaged_file_is_told_with_its_repair() {
    let mut wire = begun();
    wire.write("thinking_state.json", "{ \"task_id\": ");
    let told = wire.ask("resources/read", json!({ "uri": STATE }));
    let error = &told["error"]["data"]["error"];
    assert_eq!(error["code"], "damaged", "{told}");
    assert!(error["hint"].as_str().unwrap().contains("doctor"), "{told}");
    wire.refused("thinking_status", json!({}), "damaged");
}

#[test]
fn the_older_generation_subscribes_and_hears_of_every_hand() {
    let mut wire = begun();
    // What was there before is known before the first news.
    wire.ask("resources/subscribe", json!({ "uri": STATE }));
    wire.done("thinking_start", json!({ "stage": "planning" }));
    let news = wire.notified("notifications/resources/updated");
    assert_eq!(news["params"]["uri"], STATE);
    // An editor's hand, around every tool.
    let state = std::fs::read_to_string(wire.folder.join("thinking_state.json")).unwrap();
    wire.write(
        "thinking_state.json",
        &state.replace("Write it", "Write it well"),
    );
    let news = wire.notified("notifications/resources/updated");
    assert_eq!(news["params"]["uri"], STATE);
    // A new file is news for everybody.
    wire.done("memory_init", json!({}));
    wire.notified("notifications/resources/list_changed");
    wire.ask("resources/unsubscribe", json!({ "uri": STATE }));
}

#[test]
fn the_newer_generation_listens() {
    let mut wire = Wire::silent(SessionRole::Agent, Server::default());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let made = wire.ask(
        "tools/call",
        json!({
            "name": "thinking_new", "arguments": { "id": "t", "goal": "g" }, "_meta": meta,
        }),
    );
    assert_eq!(made["result"]["isError"], false, "{made}");
    let listen = json!({ "jsonrpc": "2.0", "id": "listen-1", "method": "subscriptions/listen", "params": {
        "notifications": { "resourceSubscriptions": [STATE, CARD] }, "_meta": meta,
    } });
    wire.send(&listen.to_string());
    let told = wire.notified("notifications/subscriptions/acknowledged");
    let accepted = &told["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*accepted, json!([STATE, CARD]), "{told}");
    // The watch begins behind the word that it will: until it has, changes are made.
    for round in 0.. {
        let path = format!("note-{round}");
        let made = json!({
            "name": "thinking_fail", "_meta": meta,
            "arguments": { "stage": "planning", "code": path, "message": "m" },
        });
        let start = json!({ "name": "thinking_start", "_meta": meta, "arguments": { "stage": "planning" } });
        wire.ask("tools/call", start);
        wire.ask("tools/call", made);
        let heard = wire.heard.iter().any(|told| told["params"]["uri"] == STATE);
        if heard || round >= 3 {
            break;
        }
    }
    let news = wire.notified("notifications/resources/updated");
    let id = &news["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*id, "listen-1", "{news}");
}
