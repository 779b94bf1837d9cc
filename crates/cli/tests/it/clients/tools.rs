//! The real `claude` with our tools and our plugin: whole runs by tools alone, the commands, and a machine without Bowline.

use super::{Guarded, each_has, installed, last};
use crate::environment::TestEnvironment;
use bowline_test_support::model_server::{ModelServer, Reply};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const PLAN: &str =
    "# Ferries\n\n## Phase 1: Start\n\n- [ ] T1.1: Read\n- [ ] T1.2: Write (depends: T1.1)\n";

fn checkout() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

fn claude(world: &Guarded, program: &str, model: &ModelServer) -> Command {
    let mut client = world.client(program);
    client
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "opens-nothing")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("DISABLE_TELEMETRY", "1")
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

fn tool(name: &str, input: Value) -> Reply {
    Reply::tool("I do it.", &format!("mcp__bowline__{name}"), input)
}

fn write(world: &Guarded, path: &str) -> Reply {
    let file = json!({ "file_path": world.0.path(path), "content": "{}\n" });
    Reply::tool("I write.", "Write", file)
}

#[test]
fn claude_works_by_tools() {
    let Some(program) = installed("BOWLINE_CLAUDE") else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    world.0.quietly("init --agent claude", 0);
    world.0.write("TASKS.md", PLAN);
    let mut script = vec![
        tool("bowline_status", json!({})),
        tool("thinking_new", json!({ "id": "t-1", "goal": "A post" })),
    ];
    for (stage, output) in [
        ("planning", "thinking/planning/ideas.json"),
        ("selection", "thinking/selection/selected.json"),
        ("creation", "drafts/draft_v1.md"),
        ("reflection", "thinking/reflection/notes.md"),
    ] {
        script.push(tool("thinking_start", json!({ "stage": stage })));
        script.push(write(&world, output));
        let done = json!({ "stage": stage, "outputs": [output] });
        script.push(tool("thinking_complete", done));
    }
    let steps =
        json!([{ "name": "Read", "agent": "a" }, { "name": "Write", "agent": "b", "deps": [1] }]);
    let task = json!({ "name": "Times", "goal": "A table", "steps": steps });
    script.push(tool("memory_task_new", task));
    for id in [1, 2] {
        script.push(tool("memory_step_start", json!({ "id": id })));
        script.push(tool(
            "memory_step_complete",
            json!({ "id": id, "output": "ok" }),
        ));
    }
    let lessons = json!({ "summary": "done", "lessons": ["ask the harbour"] });
    script.push(tool("memory_task_finish", lessons));
    script.push(tool("orchestrate_init", json!({})));
    for id in ["T1.1", "T1.2"] {
        script.push(tool("orchestrate_next", json!({})));
        script.push(tool("orchestrate_start", json!({ "id": id })));
        script.push(tool("orchestrate_complete", json!({ "id": id })));
    }
    script.push(tool(
        "orchestrate_phase_finish",
        json!({ "phase": 1, "no_git": true }),
    ));
    script.push(tool("orchestrate_next", json!({})));
    // What is a person's is refused with a word that says so.
    script.push(tool(
        "bowline_verb",
        json!({ "noun": "bowline", "verb": "undo" }),
    ));
    let count = script.len();
    script.push(Reply::text("All done."));
    let model = ModelServer::start(script).unwrap();
    let begun = run(&world, &program, &model, &["do all of it"]);
    let servers = begun["mcp_servers"].to_string();
    assert!(servers.contains("connected"), "{servers}");
    assert_eq!(model.left(), 0);
    let asked = model.asked();
    assert_eq!(asked.len(), count + 1);
    // Every tool did what it was asked to, but for the last.
    for one in &asked[1..count] {
        let told = last(one);
        assert!(!told.contains("\"error\""), "{told}");
    }
    assert!(
        last(&asked[count - 1]).contains("ALL_DONE"),
        "{}",
        last(&asked[count - 1])
    );
    assert!(last(&asked[count]).contains("needs_person"));
    let state = |line: &str| -> Value {
        let output = world.0.quietly(line, 0);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let thinking = state("thinking status --json");
    assert_eq!(thinking["state"]["overall_status"], "completed");
    let memory = state("memory history --json");
    assert_eq!(memory["state"]["tasks"][0]["result"], "success");
    assert_eq!(state("orchestrate status --json")["done"], 2);
}

#[test]
fn the_plugin_installs_and_its_commands_work() {
    let Some(program) = installed("BOWLINE_CLAUDE") else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    let model = ModelServer::start([]).unwrap();
    let root = checkout();
    for arguments in [
        vec!["validate", root.join("plugin").to_str().unwrap()],
        vec!["marketplace", "add", root.to_str().unwrap()],
        vec!["install", "bowline@bowline"],
    ] {
        let mut client = claude(&world, &program, &model);
        client.arg("plugin").args(&arguments);
        world.run(client);
    }
    for (command, words) in [
        ("develop", ["Develop: ferry times", "AskUserQuestion"]),
        (
            "orchestrate",
            ["Work off the plan: ferry times", "orchestrate_next"],
        ),
        (
            "auto-orchestrate",
            ["Arguments: ferry times --ultra-thin", "one line per change"],
        ),
        (
            "thinking",
            ["Goal: ferry times", "thinking/selection/selected.json"],
        ),
        ("memory", ["Task: ferry times", "memory_task_finish"]),
    ] {
        let given = match command {
            "auto-orchestrate" => "ferry times --ultra-thin",
            _ => "ferry times",
        };
        let model = ModelServer::start([
            Reply::tool(
                "I look.",
                "mcp__plugin_bowline_bowline__bowline_status",
                json!({}),
            ),
            Reply::text("I see."),
        ])
        .unwrap();
        let begun = run(
            &world,
            &program,
            &model,
            &[&format!("/bowline:{command} {given}")],
        );
        assert!(begun["skills"].to_string().contains("bowline"), "{begun}");
        each_has(&model.asked(), &[&words, &["begin"]]);
    }
}

/// The plugin asks the gate like the hooks of `init` do.
#[test]
fn the_plugin_holds_the_gate() {
    let Some(program) = installed("BOWLINE_CLAUDE") else {
        return;
    };
    let world = Guarded::new("claude");
    world.0.quietly("init --uninstall", 0);
    let model = ModelServer::start([
        write(&world, "src/new.txt"),
        Reply::text("They do not let me."),
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
        &model.asked(),
        &[&["Where the work stands", "write it"], denied],
    );
    world.held();
}

/// A colleague's machine, where Bowline is not: every tool goes on, and the session is told.
#[test]
fn without_bowline_the_client_works_and_says_so() {
    let Some(program) = installed("BOWLINE_CLAUDE") else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    world.0.write(
        ".mcp.json",
        r#"{"mcpServers":{"bowline":{"command":"bowline","args":["mcp"]}}}"#,
    );
    let model = ModelServer::start([write(&world, "src/new.txt"), Reply::text("Done.")]).unwrap();
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
    each_has(&model.asked(), &[told, &[]]);
    assert!(world.0.path("src/new.txt").exists());
}

/// Another client calls one tool by the name it gives it, and the file is there.
fn called(world: &Guarded, model: &ModelServer) {
    let asked = model.asked();
    let tools = asked.first().map(|one| one.body["tools"].to_string());
    let made = world.0.path("thinking_state.json").exists();
    assert!(made, "offered: {}", tools.unwrap_or_default());
    assert!(
        last(&asked[1]).contains("bowline thinking start planning"),
        "{}",
        last(&asked[1])
    );
    assert_eq!(model.left(), 0);
}

fn begin(name: &str) -> ModelServer {
    let begin = Reply::tool("I begin.", name, json!({ "id": "t-1", "goal": "A post" }));
    ModelServer::start([begin, Reply::text("Done.")]).unwrap()
}

#[test]
fn gemini_has_the_tools() {
    let Some(program) = installed("BOWLINE_GEMINI") else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    world.0.quietly("init --agent gemini", 0);
    let model = begin("mcp_bowline_thinking_new");
    super::gemini::settings(&world);
    let mut client = world.client(&program);
    super::gemini::arguments(&mut client, &model, "begin");
    world.run(client);
    called(&world, &model);
}

#[test]
fn opencode_has_the_tools() {
    let Some(program) = installed("BOWLINE_OPENCODE") else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    world.0.quietly("init --agent opencode", 0);
    let model = begin("bowline_thinking_new");
    super::sandboxed::opencode_settings(&world, &model);
    let mut client = world.client(&program);
    super::sandboxed::opencode_arguments(&mut client, "begin");
    world.run(client);
    called(&world, &model);
}
