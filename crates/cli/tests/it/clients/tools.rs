//! The real `claude` with our tools and our plugin: whole runs by tools alone, the gate, and a machine without Bowline.

use super::kind::Kind;
use super::{Guarded, each_has, installed, last};
use crate::environment::TestEnvironment;
use bowline_test_support::model_server::{ModelReply, ModelServer};
use bowline_test_support::record_client_result;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};

const PLAN: &str =
    "# Ferries\n\n## Phase 1: Start\n\n- [ ] T1.1: Read\n- [ ] T1.2: Write (depends: T1.1)\n";

pub(super) fn checkout() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

pub(super) fn claude(world: &Guarded, program: &str, model: &ModelServer) -> Command {
    let mut client = world.client(program);
    client
        .envs(model.variables_of_claude())
        // The script names tools at once; a real model may look for them first.
        .env("ENABLE_TOOL_SEARCH", "false");
    client
}

/// One run with a prompt; gives what it said at its beginning.
fn run(world: &Guarded, program: &str, model: &ModelServer, arguments: &[&str]) -> Value {
    let mut client = claude(world, program, model);
    client
        .arg("-p")
        .args(arguments)
        .args(["--output-format", "stream-json", "--verbose"])
        .args(["--permission-mode", "acceptEdits", "--allowedTools"])
        .arg("Bash,Write,mcp__bowline,mcp__plugin_bowline_bowline");
    let printed = world.run(client);
    let lines = printed.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line
    });
    let mut lines = lines.filter(|line| line["subtype"] == "init");
    lines.next().unwrap()
}

pub(super) fn tool(name: &str, input: Value) -> ModelReply {
    ModelReply::tool_call("I do it.", &format!("mcp__bowline__{name}"), input)
}

fn write(world: &Guarded, path: &str) -> ModelReply {
    let file = json!({ "file_path": world.0.path(path), "content": "{}\n" });
    ModelReply::tool_call("I write.", "Write", file)
}

const CALLS: &str = "our tools are called (MCP)";

#[test]
fn claude_works_by_tools() {
    works_by_tools(Kind::Claude);
}

#[test]
fn codex_works_by_tools() {
    works_by_tools(Kind::Codex);
}

#[test]
fn gemini_works_by_tools() {
    works_by_tools(Kind::Gemini);
}

#[test]
fn opencode_works_by_tools() {
    works_by_tools(Kind::Opencode);
}

/// A thinking run, a task of the memory and a plan, each to its end.
fn whole_runs(kind: Kind, world: &Guarded) -> Vec<ModelReply> {
    let tool = |name: &str, input: Value| kind.tool(name, input);
    let mut script = kind.looks_for("bowline status, thinking new start complete");
    script.push(tool("bowline_status", json!({})));
    script.push(tool(
        "thinking_new",
        json!({ "id": "t-1", "goal": "A post" }),
    ));
    for (stage, output) in [
        ("planning", "thinking/planning/ideas.json"),
        ("selection", "thinking/selection/selected.json"),
        ("creation", "drafts/draft_v1.md"),
        ("reflection", "thinking/reflection/notes.md"),
    ] {
        script.push(tool("thinking_start", json!({ "stage": stage })));
        script.push(kind.write(world, output));
        let done = json!({ "stage": stage, "outputs": [output] });
        script.push(tool("thinking_complete", done));
    }
    script.extend(kind.looks_for("memory task new finish, step start complete"));
    let steps =
        json!([{ "name": "Read", "agent": "a" }, { "name": "Write", "agent": "b", "deps": [1] }]);
    let task = json!({ "name": "Times", "goal": "A table", "steps": steps });
    script.push(tool("memory_task_new", task));
    for id in [1, 2] {
        script.push(tool("memory_step_start", json!({ "id": id })));
        let done = json!({ "id": id, "output": "ok" });
        script.push(tool("memory_step_complete", done));
    }
    let lessons = json!({ "summary": "done", "lessons": ["ask the harbour"] });
    script.push(tool("memory_task_finish", lessons));
    script.extend(kind.looks_for("orchestrate init next start complete phase finish"));
    script.push(tool("orchestrate_init", json!({})));
    for id in ["T1.1", "T1.2"] {
        script.push(tool("orchestrate_next", json!({})));
        script.push(tool("orchestrate_start", json!({ "id": id })));
        script.push(tool("orchestrate_complete", json!({ "id": id })));
    }
    let finish = json!({ "phase": 1, "no_git": true });
    script.push(tool("orchestrate_phase_finish", finish));
    script.push(tool("orchestrate_next", json!({})));
    // What is a person's is refused with a word that says so.
    script.extend(kind.looks_for("bowline verb"));
    let undo = json!({ "noun": "bowline", "verb": "undo" });
    script.push(tool("bowline_verb", undo));
    script
}

fn works_by_tools(kind: Kind) {
    let Some(program) = kind.installed() else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    world.0.quietly(&format!("init --agent {}", kind.name()), 0);
    world.0.write("TASKS.md", PLAN);
    let script = whole_runs(kind, &world);
    let count = script.len();
    let model = ModelServer::start(script).unwrap();
    model.push_reply(ModelReply::text("All done."));
    let printed = world.run(kind.run(&world, &program, &model, "do all of it"));
    assert_eq!(model.replies_left(), 0, "{printed}");
    let asked = model.received_requests();
    assert_eq!(asked.len(), count + 1);
    // Every tool did what it was asked to, but for the last.
    for one in &asked[1..count] {
        let told = last(one);
        let refused = told.contains("\"error\"") || told.contains("\\\"error\\\"");
        assert!(!refused, "{told}");
    }
    // A refusal reaches the model with what to do instead.
    let refused = last(&asked[count]);
    for word in ["needs_person", "hint"] {
        assert!(refused.contains(word), "no {word:?} in:\n{refused}");
    }
    if kind == Kind::Codex {
        // It has no tools of servers in its first question: it looks for them, and finds ours.
        let found = last(&asked[1]);
        assert!(found.contains("mcp__bowline"), "{found}");
    }
    let state = |line: &str| -> Value {
        let output = world.0.quietly(line, 0);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let thinking = state("thinking status --json");
    assert_eq!(thinking["state"]["overall_status"], "completed");
    let memory = state("memory history --json");
    assert_eq!(memory["state"]["tasks"][0]["result"], "success");
    assert_eq!(state("orchestrate status --json")["done"], 2);
    record_client_result(kind.variable(), CALLS);
    record_client_result(
        kind.variable(),
        "whole runs by tools: thinking, memory, an orchestration",
    );
}

/// The plugin asks the gate like the hooks of `init` do.
#[test]
fn the_plugin_holds_the_gate() {
    let variable = Kind::Claude.variable();
    let Some(program) = installed(variable) else {
        return;
    };
    let world = Guarded::new("claude");
    world.0.quietly("init --uninstall", 0);
    let model = ModelServer::start([
        write(&world, "src/new.txt"),
        ModelReply::text("They do not let me."),
    ])
    .unwrap();
    let plugin = checkout().join("plugin");
    run(
        &world,
        &program,
        &model,
        &["write it", "--plugin-dir", plugin.to_str().unwrap()],
    );
    let denied: &[&str] = &[
        "[PHASE GATE] IMPLEMENT: writing ",
        "closed gates: review_clean_pass",
    ];
    each_has(
        &model.received_requests(),
        &[&["Where the work stands", "write it"], denied],
    );
    world.held();
    record_client_result(variable, "the resume card is told at the start");
    record_client_result(
        variable,
        "writing and committing are denied while a gate is closed",
    );
}

/// A person who has the plugin, on a machine where Bowline is not: every tool goes on, and the session is informed.
#[test]
fn without_bowline_the_plugin_says_so() {
    let variable = Kind::Claude.variable();
    let Some(program) = installed(variable) else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    let model =
        ModelServer::start([write(&world, "src/new.txt"), ModelReply::text("Done.")]).unwrap();
    let plugin = checkout().join("plugin");
    let mut client = claude(&world, &program, &model);
    client
        .env("PATH", std::env::var_os("PATH").unwrap())
        .args([
            "-p",
            "write it",
            "--output-format",
            "stream-json",
            "--verbose",
        ])
        .args([
            "--permission-mode",
            "acceptEdits",
            "--allowedTools",
            "Write",
        ])
        .args(["--plugin-dir", plugin.to_str().unwrap()]);
    world.run(client);
    let told: &[&str] = &["Bowline is not installed on this machine", "write it"];
    each_has(&model.received_requests(), &[told, &[]]);
    assert!(world.0.path("src/new.txt").exists());
    record_client_result(
        variable,
        "with the plugin and without Bowline it works, and says what is missing",
    );
}

/// Another client calls one tool by the name it gives it, and the file is there.
fn called(world: &Guarded, model: &ModelServer) {
    let asked = model.received_requests();
    let tools = asked.first().map(|one| one.body["tools"].to_string());
    let made = world.0.path("thinking_state.json").exists();
    assert!(made, "offered: {}", tools.unwrap_or_default());
    assert!(
        last(&asked[1]).contains("bowline thinking start planning"),
        "{}",
        last(&asked[1])
    );
    assert_eq!(model.replies_left(), 0);
}

fn begin(name: &str) -> ModelServer {
    let begin = ModelReply::tool_call("I begin.", name, json!({ "id": "t-1", "goal": "A post" }));
    ModelServer::start([begin, ModelReply::text("Done.")]).unwrap()
}

/// An editor that speaks ACP hands the tools over with the session; the agent behind it calls one.
#[test]
fn an_acp_agent_has_the_tools() {
    let (Some(program), Some(executable)) =
        (installed("BOWLINE_CLAUDE_ACP"), installed("BOWLINE_CLAUDE"))
    else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    let model = begin("mcp__bowline__thinking_new");
    let mut client = claude(&world, &program, &model);
    client
        .env("CLAUDE_CODE_EXECUTABLE", executable)
        .env("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false");
    let mut editor = Editor::start(client);
    editor.ask(
        "initialize",
        json!({ "protocolVersion": 1, "clientCapabilities": {} }),
    );
    let ours = json!({
        "name": "bowline", "command": env!("CARGO_BIN_EXE_bowline"), "args": ["mcp"], "env": [],
    });
    let session = json!({ "cwd": world.0.path(""), "mcpServers": [ours] });
    let session = editor.ask("session/new", session)["sessionId"].clone();
    let prompt = json!([{ "type": "text", "text": "begin" }]);
    let ended = editor.ask(
        "session/prompt",
        json!({ "sessionId": session, "prompt": prompt }),
    );
    assert_eq!(ended["stopReason"], "end_turn", "{ended}");
    assert_eq!(editor.permitted, 1, "it asks the editor first");
    called(&world, &model);
    record_client_result("BOWLINE_CLAUDE_ACP", CALLS);
}

/// The other end of the Agent Client Protocol: asks, and permits whatever it is asked for.
struct Editor {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Value>,
    asked: u64,
    permitted: usize,
}

impl Editor {
    fn start(mut client: Command) -> Editor {
        let mut child = client
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            let lines = lines.filter_map(|line| serde_json::from_str(&line).ok());
            // Whoever listened may have gone.
            lines
                .map_while(|line| sender.send(line).ok())
                .for_each(drop);
        });
        let (asked, permitted) = (0, 0);
        Editor {
            child,
            input,
            lines,
            asked,
            permitted,
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let told = self.lines.recv_timeout(super::BOUND).unwrap();
            if told["method"] == "session/request_permission" {
                let options = told["params"]["options"].as_array().unwrap();
                let allow = options
                    .iter()
                    .find(|it| it["kind"] == "allow_once")
                    .unwrap();
                let outcome = json!({ "outcome": "selected", "optionId": allow["optionId"] });
                let result = json!({ "outcome": outcome });
                self.send(&json!({ "jsonrpc": "2.0", "id": told["id"], "result": result }));
                self.permitted += 1;
            } else if told["id"] == id && told.get("method").is_none() {
                assert!(told.get("error").is_none(), "{method}: {told}");
                return told["result"].clone();
            }
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
