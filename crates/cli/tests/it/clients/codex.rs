//! `codex` with our hooks, which it runs when they are trusted; without them git's hooks remain.

use super::kind::Kind;
use super::{BY_HAND, Guarded, PERSONS_MOVE, UNDER_AN_AGENT, each_has, installed, last};
use crate::environment::TestEnvironment;
use bowline_test_support::model_server::{ModelReply, ModelServer};
use bowline_test_support::record_client_result;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A model for which it offers its tool for patches; who answers to the name is the script.
const MODEL: &str = "gpt-5.5";

/// Writes the settings by which it asks the scripted model.
pub(super) fn settings(home: &Path, model: &ModelServer) -> PathBuf {
    std::fs::create_dir_all(home).unwrap();
    let settings = format!(
        "model = \"{MODEL}\"\nsandbox_mode = \"danger-full-access\"\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]\nname = \"scripted\"\n\
         base_url = \"{}/v1\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 0\n\
         stream_max_retries = 0\n",
        model.url()
    );
    let path = home.join("config.toml");
    std::fs::write(&path, settings).unwrap();
    path
}

fn run(world: &Guarded, program: &str, model: &ModelServer, trusted: bool, arguments: &[&str]) {
    // Its hooks are read in a folder that is trusted, and run when they are, too.
    let mut client = match trusted {
        true => trusting(world, program, model),
        false => started(world, program, model),
    };
    client
        .args(trusted.then_some("--dangerously-bypass-hook-trust"))
        .args(arguments);
    world.run(client);
}

/// The client with the scripted model; what it is to do follows.
fn started(world: &Guarded, program: &str, model: &ModelServer) -> Command {
    let home = world.0.root().join("home/codex");
    settings(&home, model);
    let mut client = world.client(program);
    client
        .env("CODEX_HOME", &home)
        .env("SCRIPTED_KEY", "opens-nothing")
        .arg("exec");
    client
}

/// The same in a folder that a person trusts, so that the settings of the project hold.
pub(super) fn trusting(world: &Guarded, program: &str, model: &ModelServer) -> Command {
    let client = started(world, program, model);
    let settings = world.0.root().join("home/codex/config.toml");
    let project = world.0.path("").canonicalize().unwrap();
    let trust = format!(
        "\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        project.display()
    );
    let text = std::fs::read_to_string(&settings).unwrap() + &trust;
    std::fs::write(&settings, text).unwrap();
    client
}

/// It finds the tools of servers by looking for them.
pub(super) fn looks_for(words: &str) -> ModelReply {
    ModelReply::tool_call(
        "I look.",
        "tool_search",
        json!({ "query": words, "limit": 20 }),
    )
}

fn shell(command: &str) -> ModelReply {
    Kind::Codex.shell(command)
}

#[test]
fn codex_is_held_back_and_knows_why() {
    let Some(program) = installed("BOWLINE_CODEX") else {
        return;
    };
    let world = Guarded::new("codex");
    let patch = "*** Begin Patch\n*** Add File: src/new.txt\n+x\n*** End Patch\n";
    let model = ModelServer::start([
        ModelReply::tool_call("I patch.", "apply_patch", json!(patch)),
        shell("echo x > src/new.txt"),
        shell(&format!("apply_patch <<'EOF'\n{patch}EOF\n")),
        shell("git commit --allow-empty -m 'too early'"),
        // What is typed into a program that runs is not asked about, so a shell that waits for it is not started.
        ModelReply::tool_call(
            "I type.",
            "exec_command",
            json!({"cmd": "bash", "tty": true, "yield_time_ms": 300}),
        ),
        shell("ls src"),
        ModelReply::text("I give up."),
    ])
    .unwrap();
    run(&world, &program, &model, true, &["write the file"]);
    let denied = [
        "Command blocked by PreToolUse hook: [PHASE GATE] IMPLEMENT: writing ",
        "src/new.txt",
        "closed gates: review_clean_pass",
        "next: ask a person to run: bowline develop back REVIEW",
    ];
    let asked = model.received_requests();
    each_has(
        &asked,
        &[
            &[
                "Where the work stands",
                "Closed now: writing files (until review_clean_pass)",
                "Develop run 'Ferry times', phase IMPLEMENT. Ask a person",
            ],
            &denied,
            &denied,
            &denied,
            &["[PHASE GATE] IMPLEMENT: git commit is closed."],
            &["[PHASE GATE] IMPLEMENT: ", "bash"],
            &["old.txt"],
        ],
    );
    assert!(!last(&asked[6]).contains("[PHASE GATE]"));
    assert_eq!(model.replies_left(), 0);
    world.held();
    record_client_result(
        "BOWLINE_CODEX",
        "writing and committing are denied while a gate is closed",
    );
    record_client_result("BOWLINE_CODEX", "the resume card is told at the start");
}

#[test]
fn codex_is_no_person_whatever_it_takes_off() {
    let Some(program) = installed("BOWLINE_CODEX") else {
        return;
    };
    for trusted in [true, false] {
        let world = Guarded::new("codex");
        world.disguised();
        let replies = [BY_HAND, "./x.sh", "exec ./x.sh", "setsid -w ./x.sh"].map(shell);
        let replies = replies
            .into_iter()
            .chain([ModelReply::text("They do not let me.")]);
        let model = ModelServer::start(replies).unwrap();
        run(&world, &program, &model, trusted, &["be somebody else"]);
        // Without its hooks nobody reads the line; the state is another one there, and no person's move is made.
        let first: &[&str] = if trusted {
            &[PERSONS_MOVE]
        } else {
            &["error["]
        };
        let rest: &[&str] = &[UNDER_AN_AGENT];
        each_has(
            &model.received_requests(),
            &[&["be somebody else"], first, rest, rest, rest],
        );
        assert_eq!(model.replies_left(), 0);
    }
    record_client_result(
        "BOWLINE_CODEX",
        "a person's move is refused, whatever it takes off",
    );
}

#[test]
fn what_codex_does_without_trusted_hooks_is_held_by_git() {
    let Some(program) = installed("BOWLINE_CODEX") else {
        return;
    };
    let world = Guarded::new("codex");
    let model = ModelServer::start([
        shell("echo x >> src/old.txt && git add -A && git commit -m 'too early'"),
        shell("git commit --no-verify -m 'too early'"),
        ModelReply::text("I give up."),
    ])
    .unwrap();
    run(&world, &program, &model, false, &["write the file"]);
    each_has(
        &model.received_requests(),
        &[
            &["write the file"],
            &[
                "Process exited with code 1",
                "[PHASE GATE] IMPLEMENT: git commit is closed.",
                "closed gates: review_clean_pass",
            ],
            &["[PHASE GATE] IMPLEMENT: moving HEAD is closed."],
        ],
    );
    // The file is written: nobody was asked about that. It is not committed.
    assert_eq!(world.0.read("src/old.txt"), "old\nx\n");
    world.held();
}

/// `exec` asks nobody: what a person would have to approve is refused.
#[test]
fn codex_exec_calls_changing_tools() {
    let Some(program) = installed("BOWLINE_CODEX") else {
        return;
    };
    let mode = "default_tools_approval_mode = \"approve\"\n";
    // By the settings that `init` writes, and by what our tools say of themselves.
    for by_settings in [true, false] {
        let world = Guarded(TestEnvironment::repository());
        world.0.quietly("init --agent codex", 0);
        let settings = world.0.read(".codex/config.toml");
        assert!(settings.contains(mode), "{settings}");
        if !by_settings {
            world
                .0
                .write(".codex/config.toml", settings.replace(mode, ""));
        }
        let task = json!({ "name": "Times", "goal": "A table", "steps": [{ "name": "Read", "agent": "a" }] });
        let model = ModelServer::start([
            looks_for("memory task new"),
            Kind::Codex.tool("memory_task_new", task),
            ModelReply::text("Done."),
        ])
        .unwrap();
        let mut client = Kind::Codex.run(&world, &program, &model, "plan it");
        client.args(["--sandbox", "workspace-write"]);
        world.run(client);
        let told = last(&model.received_requests()[2]);
        assert!(!told.contains("requires approval"), "{told}");
        assert!(
            world
                .0
                .read(".claude/memory/task-state.json")
                .contains("Times")
        );
    }
    record_client_result(
        "BOWLINE_CODEX",
        "`exec` calls changing tools without a question",
    );
}
