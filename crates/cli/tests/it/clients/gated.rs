//! The gate holds whatever tool writes or commits: those of a client, an Edit of a subagent, a file tool of another MCP server.

use super::kind::Kind;
use super::{Guarded, each_has, last};
use bowline_test_support::model_server::{ModelServer, Reply};
use bowline_test_support::works;
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
    for kind in [Kind::Claude, Kind::OlderClaude] {
        let Some(program) = kind.installed() else {
            continue;
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
            Reply::tool("I write.", "mcp__files__write_file", input)
        };
        let helper = || {
            let input = json!({
                "description": "helps", "prompt": "edit it", "subagent_type": "general-purpose",
                "run_in_background": false,
            });
            Reply::tool("I have it done.", "Agent", input)
        };
        let edited = world.0.path("src/old.txt");
        let read = || Reply::tool("I read.", "Read", json!({ "file_path": edited }));
        let edit = || {
            let input = json!({ "file_path": edited, "old_string": "old", "new_string": "new" });
            Reply::tool("I edit.", "Edit", input)
        };
        let script = || {
            let said = ["It is as it is.", "Done."].map(Reply::text);
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
            &model.asked(),
            &[&["change it"], denied, &["edit it"], nothing, denied, said],
        );
        world.held();
        assert_eq!(world.0.read("src/old.txt"), "old\n");

        // The same hands with the gate open.
        world.working();
        let model = ModelServer::start(script()).unwrap();
        run(&model);
        assert_eq!(model.left(), 0);
        assert_eq!(world.0.read("src/old.txt"), "new\n");
        assert_eq!(world.0.read("src/new.txt"), "x\n");
        works(
            kind.variable(),
            "an Edit of a subagent and a file tool of another MCP server are gated",
        );
    }
}

#[test]
fn gemini_is_held_back_and_knows_why() {
    let card: &[&str] = &[
        "Where the work stands",
        "Closed now: writing files (until review_clean_pass)",
        "<hook_context>Develop run 'Ferry times', phase IMPLEMENT. Ask a person",
    ];
    is_held_back(Kind::Gemini, card);
}

/// The card is not among its messages; `card.rs` looks for it elsewhere.
#[test]
fn opencode_is_held_back_and_knows_why() {
    is_held_back(Kind::Opencode, &["write the file"]);
}

fn is_held_back(kind: Kind, card: &[&str]) {
    let Some(program) = kind.installed() else {
        return;
    };
    let world = Guarded::new(kind.name());
    // Those of git would hold a commit as well; here the client's alone are asked.
    std::fs::remove_dir_all(world.0.path(".git/hooks")).unwrap();
    let model = ModelServer::start([
        kind.write(&world, "src/new.txt"),
        kind.shell("echo x > src/new.txt"),
        kind.shell("git commit --allow-empty -m 'too early'"),
        kind.shell("ls src"),
        Reply::text("I give up."),
    ])
    .unwrap();
    world.run(kind.run(&world, &program, &model, "write the file"));
    let denied: &[&str] = &[
        "[PHASE GATE] IMPLEMENT: writing ",
        "src/new.txt",
        "closed gates: review_clean_pass",
        "next: ask a person to run: bowline develop back REVIEW",
    ];
    let commit: &[&str] = &["[PHASE GATE] IMPLEMENT: git commit is closed."];
    let asked = model.asked();
    each_has(&asked, &[card, denied, denied, commit, &["old.txt"]]);
    assert!(!last(&asked[4]).contains("[PHASE GATE]"));
    assert_eq!(model.left(), 0);
    world.held();
    works(
        kind.variable(),
        "writing and committing are denied while a gate is closed",
    );
}
