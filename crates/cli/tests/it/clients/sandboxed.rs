//! The real clients in the sandbox: they write where the gate lets them, their verbs reach Bowline, and everything else stays
//! out of their reach.

use super::kind::Kind;
use super::{Guarded, installed, last};
use bowline_test_support::model_server::{ModelReply, ModelServer};
use bowline_test_support::record_client_result;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What an agent tries after it has done its work; every line of it must come to nothing.
const ESCAPE: &str = "cat ../secret; ls / ; touch ../escaped; touch /escaped; \
    echo '{}' > \"$HOME/.claude/settings.json\"; \
    echo '{}' > \"$HOME/.claude.json\"; echo x >> \"$HOME/codex/config.toml\"; \
    echo '{}' > \"$HOME/.gemini/settings.json\"; touch \"$HOME/made\"; echo tried";

/// A client of ours in the sandbox: it may talk to the model, and to nobody else.
fn sandboxed(world: &Guarded, program: &str, model: &ModelServer) -> Command {
    let port = model.url().rsplit(':').next().unwrap().to_owned();
    let mut client = world.client(env!("CARGO_BIN_EXE_bowline"));
    client.args(["run-agent", "--sandbox", "--connect", &port, "--", program]);
    client
}

/// A world with a run at its first checkpoint, and a secret beside the workspace.
fn working(client: &str) -> Guarded {
    let world = Guarded::new(client);
    world.working();
    std::fs::write(world.0.root().join("secret"), "a person's token").unwrap();
    world.0.write("try.sh", ESCAPE);
    world
}

/// What must have come of it.
fn done(world: &Guarded, model: &ModelServer, printed: &str) {
    let asked = model.received_requests();
    let told: String = asked.iter().map(last).collect();
    assert_eq!(model.replies_left(), 0, "{told}\n{printed}");
    assert!(!told.contains("[PHASE GATE]"), "{told}");
    assert!(told.contains("cp-1: passed"), "{told}");
    assert!(told.contains("tried"), "{told}");
    assert!(!told.contains("a person's token"), "{told}");
    assert_eq!(world.0.read("src/new.txt"), "x\n");
    let status = world.0.quietly("develop status --json", 0).stdout;
    assert!(
        String::from_utf8(status)
            .unwrap()
            .contains("\"cp-1\":{\"status\":\"passed\"")
    );
    let root = world.0.root();
    for name in ["escaped", "home/made", "home/.claude.json"] {
        assert!(!root.join(name).exists(), "{name}");
    }
    assert!(!Path::new("/escaped").exists());
    assert!(root.join("home/state/bowline/develop").exists());
}

const PASS: &str = "bowline develop checkpoint pass cp-1 --run 'test -f src/new.txt'";

#[test]
fn claude_works_in_the_sandbox() {
    let Some(program) = installed("BOWLINE_CLAUDE") else {
        return;
    };
    let world = working("claude");
    let home = world.0.root().join("home");
    std::fs::create_dir_all(home.join(".claude")).unwrap();
    let settings = home.join(".claude/settings.json");
    std::fs::write(&settings, "{\"env\": {}}").unwrap();
    let shell = |command: &str| Kind::Claude.shell(command);
    let write = json!({"file_path": world.0.path("src/new.txt"), "content": "x\n"});
    let model = ModelServer::start([
        ModelReply::tool_call("I write.", "Write", write),
        shell(PASS),
        shell("sh try.sh"),
        ModelReply::text("Done."),
    ])
    .unwrap();
    let mut client = sandboxed(&world, &program, &model);
    client
        .envs(model.variables_of_claude())
        .args(["-p", "write the file", "--permission-mode", "acceptEdits"])
        .args(["--output-format", "stream-json", "--verbose"])
        .args(["--allowedTools", "Bash,Write"]);
    let printed = world.run(client);
    done(&world, &model, &printed);
    assert_eq!(std::fs::read_to_string(settings).unwrap(), "{\"env\": {}}");
    record_client_result("BOWLINE_CLAUDE", "it works in the sandbox");
}

#[test]
fn codex_works_in_the_sandbox() {
    let Some(program) = installed("BOWLINE_CODEX") else {
        return;
    };
    let world = working("codex");
    let shell = |command: &str| Kind::Codex.shell(command);
    let patch = "*** Begin Patch\n*** Add File: src/new.txt\n+x\n*** End Patch\n";
    // Its shell is a login shell, which has a path of its own.
    let pass = PASS.replace("bowline", env!("CARGO_BIN_EXE_bowline"));
    let model = ModelServer::start([
        ModelReply::tool_call("I patch.", "apply_patch", json!(patch)),
        shell(&pass),
        shell("sh try.sh"),
        ModelReply::text("Done."),
    ])
    .unwrap();
    let home = world.0.root().join("home/codex");
    let settings = super::codex::settings(&home, &model);
    let before = std::fs::read_to_string(&settings).unwrap();
    let mut client = sandboxed(&world, &program, &model);
    client
        .env("CODEX_HOME", &home)
        .env("SCRIPTED_KEY", "opens-nothing")
        .args(["exec", "-s", "danger-full-access"])
        .args(["--dangerously-bypass-hook-trust", "write the file"]);
    let printed = world.run(client);
    done(&world, &model, &printed);
    assert_eq!(std::fs::read_to_string(settings).unwrap(), before);
    record_client_result("BOWLINE_CODEX", "it works in the sandbox");
}

#[test]
fn gemini_works_in_the_sandbox() {
    let Some(program) = installed("BOWLINE_GEMINI") else {
        return;
    };
    let world = working("gemini");
    let shell = |command: &str| Kind::Gemini.shell(command);
    let write = json!({"file_path": world.0.path("src/new.txt"), "content": "x\n"});
    let model = ModelServer::start([
        ModelReply::tool_call("I write.", "write_file", write),
        shell(PASS),
        shell("sh try.sh"),
        ModelReply::text("Done."),
    ])
    .unwrap();
    let settings = super::gemini::settings(&world);
    let before = std::fs::read_to_string(&settings).unwrap();
    let mut client = sandboxed(&world, &program, &model);
    super::gemini::arguments(&mut client, &model, "write the file");
    let printed = world.run(client);
    done(&world, &model, &printed);
    assert_eq!(std::fs::read_to_string(settings).unwrap(), before);
    record_client_result("BOWLINE_GEMINI", "it works in the sandbox");
}

/// Writes its settings; where, and what.
pub(super) fn opencode_settings(world: &Guarded, model: &ModelServer) -> (PathBuf, String) {
    let folder = world.0.root().join("home/config/opencode");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = folder.join("opencode.json");
    let text = json!({
        "model": "anthropic/claude-sonnet-4-5",
        "small_model": "anthropic/claude-sonnet-4-5",
        "autoupdate": false,
        "share": "disabled",
        "provider": {"anthropic": {"options": {"baseURL": format!("{}/v1", model.url()), "apiKey": "opens-nothing"}}},
    })
    .to_string();
    std::fs::write(&settings, &text).unwrap();
    (settings, text)
}

pub(super) fn opencode_arguments(client: &mut Command, prompt: &str) {
    client
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        // For a plugin it would fetch a package, and wait for that.
        .env("npm_config_registry", "http://127.0.0.1:9")
        .env("npm_config_fetch_retries", "0")
        .args(["run", "--print-logs", "--format", "json", prompt]);
}

#[test]
fn opencode_works_in_the_sandbox() {
    let Some(program) = installed("BOWLINE_OPENCODE") else {
        return;
    };
    let world = working("opencode");
    let shell = |command: &str| Kind::Opencode.shell(command);
    let write = json!({"filePath": world.0.path("src/new.txt"), "content": "x\n"});
    let model = ModelServer::start([
        ModelReply::tool_call("I write.", "write", write),
        shell(PASS),
        shell("sh try.sh"),
        ModelReply::text("Done."),
    ])
    .unwrap();
    let (settings, text) = opencode_settings(&world, &model);
    let mut client = sandboxed(&world, &program, &model);
    opencode_arguments(&mut client, "write the file");
    let printed = world.run(client);
    done(&world, &model, &printed);
    assert_eq!(std::fs::read_to_string(settings).unwrap(), text);
    record_client_result("BOWLINE_OPENCODE", "it works in the sandbox");
}
