//! What switches git's hooks off in plain sight, and hooks that a project commits: with the real git and the real shim.

use crate::attacks::{Gated, fed};
use crate::environment::{TestEnvironment, text};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

#[test]
fn a_push_that_only_shows_is_let_through_by_gits_hook() {
    let gated = Gated::new();
    let remote = gated.0.root().join("remote.git");
    let remote = remote.to_str().unwrap();
    gated.git(&["init", "-q", "--bare", remote], true);
    gated.git(&["remote", "add", "origin", remote], true);
    for dry in ["--dry-run", "-n"] {
        gated.git(&["push", "-q", dry, "origin", "HEAD:refs/heads/x"], true);
    }
    gated.git(&["push", "-q", "origin", "HEAD:refs/heads/x"], false);
    // The word alone is not enough.
    gated.git(
        &[
            "push",
            "-q",
            "-o",
            "--dry-run",
            "origin",
            "HEAD:refs/heads/x",
        ],
        false,
    );
    gated.git(
        &[
            "push",
            "-q",
            "--dry-run",
            "--no-dry-run",
            "origin",
            "HEAD:refs/heads/x",
        ],
        false,
    );
}

#[test]
fn hooks_switched_off_and_branches_moved_as_files_count_as_commits() {
    let gated = Gated::new();
    // Files may be written in this phase; nothing may be committed.
    assert_eq!(gated.hook("echo more >> src.txt"), None);
    for command in [
        "git config core.hooksPath /dev/null",
        "git config --global core.hooksPath /dev/null",
        "git -c core.hooksPath=/dev/null branch -f main HEAD",
        "GIT_CONFIG_GLOBAL=/tmp/none ./release.sh",
        "HOME=/tmp ./release.sh",
        "git rev-parse HEAD > .git/refs/heads/other",
        "cp .git/ORIG_HEAD .git/HEAD",
        "git show-ref | tee .git/packed-refs",
        "chmod -R a-x .git",
    ] {
        let denied = gated.hook(command);
        assert!(denied.is_some(), "{command}");
    }
    gated.held();
}

#[test]
fn cleaning_a_run_away_is_removing_it() {
    let gated = Gated::new();
    assert!(
        gated
            .hook("git clean -fdx")
            .unwrap()
            .contains("changed by bowline only")
    );
    // 'init' makes git ignore the run, so that this one leaves it there.
    assert_eq!(gated.hook("git clean -fd"), None);
}

fn asked(
    world: &TestEnvironment,
    folder: &Path,
    command: &str,
    path: &str,
    message: &Value,
) -> Output {
    let mut hook = world.hook(&["sh", "-c", command]);
    hook.current_dir(folder).env("PATH", path);
    fed(hook, message.to_string().as_bytes())
}

fn command(world: &TestEnvironment, file: &str, event: &str) -> String {
    let settings = world.read_json(file);
    let handler = &settings["hooks"][event][0]["hooks"][0];
    assert_eq!(handler.get("onFailure"), None);
    handler["command"].as_str().unwrap().to_owned()
}

const COMMITTED: [(&str, &str); 3] = [
    (".claude/settings.json", "PreToolUse"),
    (".codex/hooks.json", "PreToolUse"),
    (".gemini/settings.json", "BeforeTool"),
];

#[test]
fn a_committed_hook_works_where_bowline_is_absent() {
    let world = TestEnvironment::repository();
    world.quietly(
        "init --agent claude --agent codex --agent gemini --agent opencode",
        0,
    );
    let own = Path::new(env!("CARGO_BIN_EXE_bowline")).parent().unwrap();
    let colleague = world.root().join("colleague");
    std::fs::create_dir(&colleague).unwrap();
    for (file, event) in COMMITTED {
        assert!(!world.read(file).contains(own.to_str().unwrap()), "{file}");
        let command = command(&world, file, event);
        let message = json!({"hook_event_name": event, "cwd": colleague, "tool_name": "Bash", "tool_input": {"command": "git push"}});
        let output = asked(&world, &colleague, &command, "/usr/bin:/bin", &message);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let told = text(&output.stderr);
        assert!(told.contains("bowline-shim is not on PATH"), "{told}");
    }
    let start = command(&world, ".claude/settings.json", "SessionStart");
    let output = asked(&world, &colleague, &start, "/usr/bin:/bin", &json!({}));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        told["systemMessage"]
            .as_str()
            .unwrap()
            .contains("not on PATH"),
        "{told}"
    );
    let plugin = world.read(".opencode/plugins/bowline.js");
    assert!(!plugin.contains(own.to_str().unwrap()), "{plugin}");
}

#[test]
fn a_committed_hook_holds_where_bowline_is() {
    let gated = Gated::new();
    let world = &gated.0;
    world.quietly("init --agent claude --agent codex --agent gemini", 0);
    let root = world.path("");
    let own = Path::new(env!("CARGO_BIN_EXE_bowline")).parent().unwrap();
    let named = format!("{}:/usr/bin:/bin", own.display());
    for (file, event) in COMMITTED {
        let command = command(world, file, event);
        let message = json!({"hook_event_name": event, "cwd": root, "tool_name": "Bash", "tool_input": {"command": "git commit -m x"}});
        let code = |path: &str| asked(world, &root, &command, path, &message).status.code();
        assert_eq!(code("/usr/bin:/bin"), Some(2), "{file}");
        // What is said comes once: in Claude Code by a person's own settings.
        let start = self::command(world, file, "SessionStart");
        let message = json!({"hook_event_name": "SessionStart", "cwd": root});
        let said = asked(world, &root, &start, "/usr/bin:/bin", &message).stdout;
        assert_eq!(said.is_empty(), file.starts_with(".claude"), "{file}");
        // In another worktree there is no launcher, but the name.
        std::fs::rename(world.path(".git/bowline-shim"), world.root().join("aside")).unwrap();
        assert_eq!(code(&named), Some(2), "{file}");
        std::fs::rename(world.root().join("aside"), world.path(".git/bowline-shim")).unwrap();
    }
}

#[test]
fn settings_with_a_path_of_one_machine_are_migrated() {
    let world = TestEnvironment::repository();
    let old = json!({"model": "x", "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [
        {"type": "command", "command": "/opt/somebody/bin/bowline-shim hook", "timeout": 10, "onFailure": "block"}]}]}});
    world.write(".claude/settings.json", old.to_string());
    world.quietly("init --agent claude", 0);
    let committed = world.read(".claude/settings.json");
    assert!(
        !committed.contains("somebody") && !committed.contains("onFailure"),
        "{committed}"
    );
    let personal = world.read(".claude/settings.local.json");
    assert!(
        personal.contains("/bowline-shim hook") && personal.contains("\"block\""),
        "{personal}"
    );
    assert!(
        world
            .read(".git/info/exclude")
            .contains(".claude/settings.local.json")
    );
    world.quietly("init --uninstall", 0);
    assert_eq!(world.read(".claude/settings.json"), "{\"model\":\"x\"}");
    assert!(!world.path(".claude/settings.local.json").exists());
    assert!(!world.path(".git/bowline-shim").exists());
}
