//! `gemini` with our hooks, which it reads in a folder that is trusted. Its shell switches git's hooks off, so it has no others.

use super::{Guarded, each_has, installed, last};
use bowline_test_support::model_server::{ModelServer, Reply};
use bowline_test_support::works;
use serde_json::json;
use std::path::PathBuf;
use std::process::Command;

/// A named model: otherwise it asks one which to take.
const MODEL: &str = "gemini-2.5-flash";

/// Writes its settings: how it identifies itself, and that it trusts the workspace.
pub(super) fn settings(world: &Guarded) -> PathBuf {
    let home = world.0.root().join("home/.gemini");
    std::fs::create_dir_all(&home).unwrap();
    let key = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
    let path = home.join("settings.json");
    std::fs::write(&path, key.to_string()).unwrap();
    let mut trusted = serde_json::Map::new();
    let project = world
        .0
        .path("")
        .to_str()
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    trusted.insert(project, json!("TRUST_FOLDER"));
    let trusted = serde_json::Value::Object(trusted).to_string();
    std::fs::write(home.join("trustedFolders.json"), trusted).unwrap();
    path
}

pub(super) fn arguments(client: &mut Command, model: &ModelServer, prompt: &str) {
    client
        .env("GOOGLE_GEMINI_BASE_URL", model.url())
        .env("GEMINI_API_KEY", "opens-nothing")
        .env("GEMINI_TELEMETRY_ENABLED", "false")
        .args(["-p", prompt, "-m", MODEL, "-o", "stream-json"])
        .args(["--approval-mode", "yolo"]);
}

fn run(world: &Guarded, program: &str, model: &ModelServer, prompt: &str) {
    settings(world);
    let mut client = world.client(program);
    arguments(&mut client, model, prompt);
    world.run(client);
}

fn shell(command: &str) -> Reply {
    Reply::tool(
        "I do it.",
        "run_shell_command",
        json!({"command": command, "description": "does it"}),
    )
}

#[test]
fn gemini_is_held_back_and_knows_why() {
    let Some(program) = installed("BOWLINE_GEMINI") else {
        return;
    };
    let world = Guarded::new("gemini");
    let file = world.0.path("src/new.txt");
    let model = ModelServer::start([
        Reply::tool(
            "I write.",
            "write_file",
            json!({"file_path": file, "content": "x\n"}),
        ),
        shell("echo x > src/new.txt"),
        shell("git commit --allow-empty -m 'too early'"),
        shell("ls src"),
        Reply::text("I give up."),
    ])
    .unwrap();
    run(&world, &program, &model, "write the file");
    let denied = [
        "Tool execution blocked: [PHASE GATE] IMPLEMENT: writing ",
        "src/new.txt",
        "closed gates: review_clean_pass",
        "next: ask a person to run: bowline develop back REVIEW",
    ];
    let asked = model.asked();
    each_has(
        &asked,
        &[
            &[
                "Where the work stands",
                "Closed now: writing files (until review_clean_pass)",
                "<hook_context>Develop run 'Ferry times', phase IMPLEMENT. Ask a person",
            ],
            &denied,
            &denied,
            &["[PHASE GATE] IMPLEMENT: git commit is closed."],
            &["old.txt"],
        ],
    );
    assert!(!last(&asked[4]).contains("[PHASE GATE]"));
    assert_eq!(model.left(), 0);
    world.held();
    works(
        "BOWLINE_GEMINI",
        "writing and committing are denied while a gate is closed",
    );
}

#[test]
fn gemini_goes_on_at_a_checkpoint_but_not_for_ever() {
    let Some(program) = installed("BOWLINE_GEMINI") else {
        return;
    };
    let world = Guarded::new("gemini");
    world.working();
    let model = ModelServer::start((0..4).map(|_| Reply::text("I stop."))).unwrap();
    run(&world, &program, &model, "go on");
    let held: &[&str] = &["Checkpoint cp-1 is in progress (attempt 1 of 3)."];
    let card: &[&str] = &["Next: bowline develop checkpoint pass cp-1"];
    each_has(&model.asked(), &[card, held, held, held]);
    assert_eq!(model.left(), 0);
    works(
        "BOWLINE_GEMINI",
        "it is sent on in the middle of a checkpoint",
    );
}
