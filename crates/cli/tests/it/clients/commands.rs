//! Our commands in the clients: the plugin of this checkout in `claude` and `codex`, its skills in `gemini` and `opencode`. What
//! a command tells the model to call is called as it stands there, and does its work.

use super::kind::Kind;
use super::one_project::codex_with_plugin;
use super::tools::{checkout, claude};
use super::{Guarded, codex, gemini, last, pages, sandboxed, texts};
use crate::environment::TestEnvironment;
use bowline_test_support::model_server::{ModelReply, ModelServer};
use bowline_test_support::record_client_result;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

const PLAN: &str =
    "# Ferries\n\n## Phase 1: Start\n\n- [ ] T1.1: Read\n- [ ] T1.2: Write (depends: T1.1)\n";
const PROMPT: &str = "ferry times";

/// A tool of the plugin's own server.
fn tool(name: &str, input: Value) -> ModelReply {
    let name = format!("mcp__plugin_bowline_bowline__{name}");
    ModelReply::tool_call("I do it.", &name, input)
}

fn verb(noun: &str, verb: &str, args: Value) -> ModelReply {
    let input = json!({ "noun": noun, "verb": verb, "args": args });
    tool("bowline_verb", input)
}

/// A command by the name that a person types, words that its text must have, and what the model then calls.
fn script(command: &str) -> (&'static str, [&'static str; 2], Vec<ModelReply>) {
    match command {
        "develop" => {
            let choices = ["이어서 진행 / Continue", "처음부터 / Start over"];
            let options =
                choices.map(|label| json!({ "label": label, "description": "as it says" }));
            let question = json!({
                "question": "Go on?", "header": "Run", "multiSelect": false, "options": options,
            });
            let ask = json!({ "questions": [question] });
            let calls = vec![
                verb("develop", "resume", json!({})),
                ModelReply::tool_call("I ask.", "AskUserQuestion", ask),
                tool("develop_gate_pass", json!({ "gate": "review_clean_pass" })),
                tool("develop_implement", json!({})),
                tool("develop_checkpoint_start", json!({ "id": "cp-1" })),
                tool(
                    "develop_checkpoint_pass",
                    json!({ "id": "cp-1", "run": "true" }),
                ),
                tool("develop_checkpoint_start", json!({ "id": "cp-2" })),
                tool(
                    "develop_checkpoint_pass",
                    json!({ "id": "cp-2", "run": "true" }),
                ),
                tool("develop_gate_pass", json!({ "gate": "architect_verified" })),
                tool("develop_pr", json!({})),
                tool("develop_gate_pass", json!({ "gate": "re_review_clean" })),
                tool("develop_done", json!({})),
            ];
            (
                "/develop",
                ["Develop: ferry times", "AskUserQuestion"],
                calls,
            )
        }
        "orchestrate" => {
            let mut calls = vec![
                tool("bowline_status", json!({})),
                tool("orchestrate_init", json!({ "file": "TASKS.md" })),
            ];
            for id in ["T1.1", "T1.2"] {
                calls.push(tool("orchestrate_next", json!({})));
                calls.push(tool("orchestrate_start", json!({ "id": id })));
                calls.push(tool("orchestrate_complete", json!({ "id": id })));
            }
            let finish = json!({ "phase": 1, "no_git": true });
            calls.push(tool("orchestrate_phase_finish", finish));
            calls.push(tool("orchestrate_next", json!({})));
            let words = ["Work off the plan: ferry times", "orchestrate_next"];
            ("/orchestrate", words, calls)
        }
        "auto-orchestrate" => {
            let init = json!({ "file": "TASKS.md", "mode": "ultra-thin", "parallel": 2 });
            let run = json!({
                "command": "bowline orchestrate run --parallel 2", "description": "starts it",
            });
            let calls = vec![
                tool("orchestrate_init", init),
                ModelReply::tool_call("I start it.", "Bash", run),
                tool("orchestrate_next", json!({})),
                verb("orchestrate", "verify", json!({})),
            ];
            let words = ["Arguments: ferry times --ultra-thin", "one line per change"];
            ("/auto-orchestrate", words, calls)
        }
        "thinking" => {
            let mut calls = vec![
                tool("bowline_status", json!({})),
                tool(
                    "thinking_new",
                    json!({ "id": "t-1", "title": "Ferries", "goal": PROMPT }),
                ),
            ];
            for (stage, output) in [
                ("planning", "thinking/planning/ideas.json"),
                ("selection", "thinking/selection/selected.json"),
                ("creation", "drafts/draft_v1.md"),
                ("reflection", "thinking/reflection/notes.md"),
            ] {
                let make = format!("mkdir -p $(dirname {output}); echo '{{}}' > {output}");
                calls.push(tool("thinking_start", json!({ "stage": stage })));
                let make = json!({ "command": make, "description": "makes it" });
                calls.push(ModelReply::tool_call("I make it.", "Bash", make));
                let done = json!({ "stage": stage, "outputs": [output] });
                calls.push(tool("thinking_complete", done));
            }
            let words = ["Goal: ferry times", "thinking/selection/selected.json"];
            ("/thinking", words, calls)
        }
        "memory" => {
            let steps = json!([{ "name": "Read", "agent": "a" }, { "name": "Write", "agent": "b", "deps": [1] }]);
            let task = json!({ "name": "Times", "goal": PROMPT, "criteria": ["all harbours"], "steps": steps });
            let mut calls = vec![
                verb("memory", "status", json!({})),
                verb("memory", "history", json!({})),
                tool("memory_task_new", task),
            ];
            for id in [1, 2] {
                calls.push(tool("memory_step_start", json!({ "id": id })));
                let done = json!({ "id": id, "output": "ok", "artifacts": [] });
                calls.push(tool("memory_step_complete", done));
            }
            let shared = json!({ "key": "shared_data.topic", "value": "ferries" });
            calls.push(tool("memory_context_set", shared));
            let own = json!({ "name": "b", "key": "preferences.tone", "value": "plain" });
            calls.push(verb("memory", "agent set", own));
            let lessons = json!({ "summary": "done", "lessons": ["ask the harbour"] });
            calls.push(tool("memory_task_finish", lessons));
            // Newer ones have a command of their own by the short name.
            (
                "/bowline:memory",
                ["Task: ferry times", "memory_task_finish"],
                calls,
            )
        }
        other => unreachable!("{other}"),
    }
}

/// A world in which the command has something to work on.
fn world(command: &str) -> Guarded {
    if command != "develop" {
        let world = Guarded(TestEnvironment::repository());
        world.0.write("TASKS.md", PLAN);
        if command == "auto-orchestrate" {
            let agent = "[defaults]\nagent = \"hand\"\n[agent.hand]\ncommand = [\"sh\", \"hand.sh\"]\nprotocol = \"markers\"\n";
            world.0.write("bowline.toml", agent);
            world.0.write(
                "hand.sh",
                "echo x > \"$BOWLINE_TASK_ID.txt\"\necho DONE:$BOWLINE_TASK_ID\n",
            );
        }
        world.commit_all();
        return world;
    }
    let world = TestEnvironment::reviewed();
    for name in ["review.ok", "build.ok", "code.ok"] {
        world.write(name, "");
    }
    let world = Guarded(world);
    world.commit_all();
    world
}

fn ended(world: &Guarded, command: &str) {
    let state = |line: &str| -> Value { world.0.json(line, 0) };
    match command {
        "develop" => assert_eq!(state("develop status --json")["state"]["phase"], "DONE"),
        "orchestrate" | "auto-orchestrate" => {
            assert_eq!(state("orchestrate status --json")["done"], 2);
        }
        "thinking" => {
            let thinking = state("thinking status --json");
            assert_eq!(thinking["state"]["overall_status"], "completed");
        }
        _ => {
            let history = state("memory history --json");
            assert_eq!(history["state"]["tasks"][0]["result"], "success");
        }
    }
}

const COMMANDS: [&str; 5] = [
    "develop",
    "orchestrate",
    "auto-orchestrate",
    "thinking",
    "memory",
];

#[test]
fn the_plugin_installs_and_its_commands_work() {
    let kind = Kind::Claude;
    let Some(program) = kind.installed() else {
        return;
    };
    let plugin = checkout().join("plugin");
    for command in COMMANDS {
        let world = world(command);
        let (typed, words, calls) = script(command);
        let count = calls.len();
        let model = ModelServer::start(calls).unwrap();
        model.push_reply(ModelReply::text("All done."));
        let mut client = claude(&world, &program, &model);
        client.args(["plugin", "validate", plugin.to_str().unwrap()]);
        world.run(client);
        let told = pages::follow(&world, kind, &program);
        assert!(told.contains("bowline@bowline"), "{told}");
        // The plugin alone, without what `init` put in.
        world.0.quietly("init --uninstall", 0);
        let thin = match command {
            "auto-orchestrate" => " --ultra-thin",
            _ => "",
        };
        let prompt = format!("{typed} {PROMPT}{thin}");
        let questions = talk(claude(&world, &program, &model), &prompt);
        let asked = model.received_requests();
        assert_eq!(
            (model.replies_left(), asked.len()),
            (0, count + 1),
            "{typed}"
        );
        let told = last(&asked[0]);
        for word in words {
            assert!(told.contains(word), "no {word:?} in:\n{told}");
        }
        for one in &asked[1..] {
            let told = last(one);
            let failed = told.contains("\"error\"") || told.contains("error[");
            assert!(!failed, "{typed}: {told}");
        }
        // A person is asked by the client's own tool, and their answer is passed on.
        let wanted = usize::from(command == "develop");
        assert_eq!(questions, wanted, "{typed}");
        if command == "develop" {
            assert!(last(&asked[2]).contains("Continue"), "{}", last(&asked[2]));
        }
        ended(&world, command);
    }
    record_client_result(
        kind.variable(),
        "the plugin of the checkout installs, and each of its commands does its work",
    );
    record_client_result(kind.variable(), "our commands are there");
    record_client_result(
        kind.variable(),
        "`/develop` asks a person by the client's own question tool",
    );
}

/// A conversation in which a person takes the first answer of every question; gives how many there were.
fn talk(mut client: Command, prompt: &str) -> usize {
    let mut child = client
        .args(["-p", "--output-format", "stream-json", "--verbose"])
        .args(["--input-format", "stream-json"])
        .args(["--permission-prompt-tool", "stdio"])
        .args(["--permission-mode", "acceptEdits", "--allowedTools"])
        .arg("Bash,Write,mcp__plugin_bowline_bowline")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let message = json!({ "role": "user", "content": [{ "type": "text", "text": prompt }] });
    let message = json!({ "type": "user", "message": message, "parent_tool_use_id": null });
    writeln!(input, "{message}").unwrap();
    let mut questions = 0;
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["type"] == "result" {
            break;
        }
        let request = &line["request"];
        if request["subtype"] != "can_use_tool" {
            continue;
        }
        assert_eq!(request["tool_name"], "AskUserQuestion", "{line}");
        questions += 1;
        let mut answered = request["input"].clone();
        let question = &request["input"]["questions"][0];
        let name = question["question"].as_str().unwrap();
        answered["answers"] = json!({ name: question["options"][0]["label"] });
        let allow = json!({ "behavior": "allow", "updatedInput": answered });
        let response =
            json!({ "subtype": "success", "request_id": line["request_id"], "response": allow });
        writeln!(
            input,
            "{}",
            json!({ "type": "control_response", "response": response })
        )
        .unwrap();
    }
    drop(input);
    child.wait().unwrap();
    questions
}

const SKILLS: &str = "our commands are there";

/// It takes the plugin as it is, and what is typed with a `$` in front brings the command.
#[test]
fn codex_has_the_plugin_and_its_commands() {
    let Some(program) = Kind::Codex.installed() else {
        return;
    };
    let world = Guarded::new("codex");
    let task =
        json!({ "name": "Times", "goal": "A table", "steps": [{ "name": "Read", "agent": "a" }] });
    let model = ModelServer::start([
        Kind::Codex.write(&world, "src/new.txt"),
        codex::looks_for("bowline status"),
        Kind::Codex.tool("bowline_status", json!({})),
        codex::looks_for("memory task new"),
        Kind::Codex.tool("memory_task_new", task),
        ModelReply::text("I see."),
    ])
    .unwrap();
    let mut client = codex_with_plugin(&world, &program, &model);
    // The plugin alone.
    world.0.quietly("init --uninstall", 0);
    client.arg("$bowline:develop ferry times");
    world.run(client);
    let asked = model.received_requests();
    let first = texts(&asked[0].body["input"]);
    for words in ["ferry times", "Keep the state with the `develop_*` tools"] {
        assert!(first.contains(words), "no {words:?} in:\n{first}");
    }
    let denied = last(&asked[1]);
    assert!(denied.contains("[PHASE GATE]"), "{denied}");
    assert!(
        last(&asked[3]).contains("Ferry times"),
        "{}",
        last(&asked[3])
    );
    // `exec` asks nobody: what the plugin says of our tools lets it call those that change something.
    let made = last(&asked[5]);
    assert!(!made.contains("requires approval"), "{made}");
    let memory = world.0.read(".claude/memory/task-state.json");
    assert!(memory.contains("Times"), "{memory}");
    world.held();
    record_client_result(Kind::Codex.variable(), SKILLS);
    record_client_result(
        Kind::Codex.variable(),
        "the plugin of the checkout installs, holds the gate and has the tools",
    );
}

#[test]
fn gemini_has_the_commands() {
    let Some(program) = Kind::Gemini.installed() else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    gemini::settings(&world);
    let told = pages::follow(&world, Kind::Gemini, &program);
    assert!(told.contains("bowline"), "{told}");
    let model = ModelServer::start([
        ModelReply::tool_call("I look.", "activate_skill", json!({ "name": "develop" })),
        ModelReply::text("I see."),
    ])
    .unwrap();
    let mut client = world.client(&program);
    gemini::arguments(&mut client, &model, "develop ferry times");
    world.run(client);
    let asked = model.received_requests();
    let told = last(&asked[1]);
    assert!(
        told.contains("Keep the state with the `develop_*` tools"),
        "{told}"
    );
    record_client_result(Kind::Gemini.variable(), SKILLS);
}

#[test]
fn opencode_has_the_commands() {
    let Some(program) = Kind::Opencode.installed() else {
        return;
    };
    let world = Guarded(TestEnvironment::repository());
    let told = pages::follow(&world, Kind::Opencode, &program);
    assert!(told.contains("bowline"), "{told}");
    let model = ModelServer::start([ModelReply::text("I see.")]).unwrap();
    sandboxed::opencode_settings(&world, &model);
    let mut client = world.client(&program);
    sandboxed::opencode_arguments(&mut client, PROMPT);
    client.args(["--command", "develop"]);
    world.run(client);
    let told = last(&model.received_requests()[0]);
    for words in [
        "Develop:",
        PROMPT,
        "Keep the state with the `develop_*` tools",
    ] {
        assert!(told.contains(words), "no {words:?} in:\n{told}");
    }
    record_client_result(Kind::Opencode.variable(), SKILLS);
}
