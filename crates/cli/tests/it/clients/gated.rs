//! The gate holds whatever tool writes: an Edit of a subagent, a file tool of another MCP server; and an agent that wants to stop
//! is sent on.

use super::kind::Kind;
use super::{Guarded, each_has};
use bowline_test_support::model_server::{ModelReply, ModelServer};
use bowline_test_support::record_client_result;
use serde_json::json;

/// A server with one tool, which writes a file.
const FILES: &str = r#"
const lines = require("readline").createInterface({ input: process.stdin })
const schema = { type: "object", properties: { path: { type: "string" }, content: { type: "string" } } }
const tools = [{ name: "write_file", description: "Writes a file", inputSchema: schema }]
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = (result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }))
  if (method === "initialize") {
    const serverInfo = { name: "files", version: "1" }
    answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo })
  } else if (method === "tools/list") answer({ tools })
  else if (method === "tools/call") {
    require("fs").writeFileSync(params.arguments.path, params.arguments.content)
    answer({ content: [{ type: "text", text: "written" }] })
  } else console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } }))
})
"#;

#[test]
fn an_edit_of_a_subagent_and_a_file_tool_of_another_server_are_gated() {
    let kind = Kind::Claude;
    let Some(program) = kind.installed() else {
        return;
    };
    let world = Guarded::new("claude");
    world.0.write("files.js", FILES);
    let servers = json!({ "mcpServers": {
            "files": { "command": "node", "args": [world.0.path("files.js")] },
        } });
    let run = |model: &ModelServer| {
        let mut client = kind.run(&world, &program, model, "change it");
        client.args(["--mcp-config", &servers.to_string()]);
        client.args(["--allowedTools", "Agent,Edit,Read,mcp__files__write_file"]);
        world.run(client)
    };
    let written = world.0.path("src/new.txt");
    let file = || {
        let input = json!({ "path": written, "content": "x\n" });
        ModelReply::tool_call("I write.", "mcp__files__write_file", input)
    };
    let helper = || {
        let input = json!({
            "description": "helps", "prompt": "edit it", "subagent_type": "general-purpose",
            "run_in_background": false,
        });
        ModelReply::tool_call("I have it done.", "Agent", input)
    };
    let edited = world.0.path("src/old.txt");
    let read = || ModelReply::tool_call("I read.", "Read", json!({ "file_path": edited }));
    let edit = || {
        let input = json!({ "file_path": edited, "old_string": "old", "new_string": "new" });
        ModelReply::tool_call("I edit.", "Edit", input)
    };
    let script = || {
        let said = ["It is as it is.", "Done."].map(ModelReply::text);
        let [said, done] = said;
        [file(), helper(), read(), edit(), said, done]
    };
    let model = ModelServer::start(script()).unwrap();
    run(&model);
    let denied: &[&str] = &[
        "[PHASE GATE] IMPLEMENT: writing ",
        "closed gates: review_clean_pass",
    ];
    let nothing: &[&str] = &[];
    let said: &[&str] = &["It is as it is."];
    each_has(
        &model.received_requests(),
        &[&["change it"], denied, &["edit it"], nothing, denied, said],
    );
    world.held();
    assert_eq!(world.0.read("src/old.txt"), "old\n");

    // The same hands with the gate open.
    world.working();
    let model = ModelServer::start(script()).unwrap();
    run(&model);
    assert_eq!(model.replies_left(), 0);
    assert_eq!(world.0.read("src/old.txt"), "new\n");
    assert_eq!(world.0.read("src/new.txt"), "x\n");
    record_client_result(
        kind.variable(),
        "an Edit of a subagent and a file tool of another MCP server are gated",
    );
}

#[test]
fn codex_and_gemini_go_on_at_a_checkpoint_but_not_for_ever() {
    for kind in [Kind::Codex, Kind::Gemini] {
        let Some(program) = kind.installed() else {
            continue;
        };
        let world = Guarded::new(kind.name());
        world.working();
        let model = ModelServer::start((0..4).map(|_| ModelReply::text("I stop."))).unwrap();
        world.run(kind.run(&world, &program, &model, "go on"));
        let held: &[&str] = &["Checkpoint cp-1 is in progress (attempt 1 of 3)."];
        let card: &[&str] = &["Next: bowline develop checkpoint pass cp-1"];
        each_has(&model.received_requests(), &[card, held, held, held]);
        assert_eq!(model.replies_left(), 0);
        record_client_result(
            kind.variable(),
            "it is sent on in the middle of a checkpoint",
        );
    }
}
