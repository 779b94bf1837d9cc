//! `bowline init`: what it refuses, what it keeps, and that it leaves as it came. And the question that only a terminal is asked.

use crate::environment::{TestEnvironment, write_executable};
use bowline_test_support::{MissingRequirement, skip_test};
use serde_json::Value;
use std::io::Write as _;
use std::process::{Output, Stdio};

#[test]
fn hooks_that_other_repositories_use_are_left_alone() {
    let world = TestEnvironment::repository();
    let shared = world.root().join("shared-hooks");
    std::fs::create_dir(&shared).unwrap();
    world.git(&["config", "core.hooksPath", shared.to_str().unwrap()]);
    let before = world.everything();
    let told = world.session(&["init", "init --lang ko", "init --json"]);
    assert_eq!(world.everything(), before);
    assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 0);
    // The same when a person's own settings say so, for all repositories at once.
    world.git(&["config", "--unset", "core.hooksPath"]);
    world.git(&[
        "config",
        "--global",
        "core.hooksPath",
        shared.to_str().unwrap(),
    ]);
    world.quietly("init", 2);
    assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 0);
    // As the hint says.
    world.git(&["config", "core.hooksPath", ".git/hooks"]);
    world.quietly("init", 0);
    assert!(world.path(".git/hooks/reference-transaction").exists());
    check!(told);
}

#[test]
fn hooks_in_the_work_tree_are_installed_with_a_warning() {
    let world = TestEnvironment::repository();
    world.git(&["config", "core.hooksPath", ".githooks"]);
    let told = world.talk("init", 0);
    assert!(
        told.contains("warning: core.hooksPath leads into the work tree"),
        "{told}"
    );
    assert!(world.path(".githooks/pre-commit").exists());
    assert!(!world.path(".git/hooks/pre-commit").exists());
    let korean = world.talk("init --lang ko", 0);
    assert!(korean.contains("경고: core.hooksPath"));
}

#[test]
fn what_init_put_in_it_takes_out_to_the_byte() {
    let hook = "#!/bin/sh\necho mine\n";
    // Each as somebody might have left it: no line end, Windows' line ends, odd spaces.
    let exclude = [
        "# mine\n*.log\n",
        "*.log",
        "*.log\r\n*.tmp\r\n",
        "",
        "\n\n*.log\n\n",
    ];
    let claude = [
        "{\"permissions\":{\"allow\":[\"Bash(ls:*)\"]}}",
        "{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}\n\t\t]\n\t}\n}\n",
        "{\r\n  \"env\": { \"A\": \"1\" }\r\n}\r\n",
        "{ \"model\" : \"x\" }",
        "{\"a\":{\"b\":[1, 2,3]}}\n\n",
    ];
    for (exclude, claude) in exclude.iter().zip(claude) {
        let world = TestEnvironment::repository();
        world.write(".git/info/exclude", exclude);
        world.write(".claude/settings.json", claude);
        world.write(".codex/hooks.json", claude);
        write_executable(&world.path(".git/hooks/pre-commit"), hook);
        // Not executable: git would not run it, and neither may we.
        world.write(".git/hooks/pre-push", hook);
        let before = world.everything();
        world.quietly("init --agent claude --agent codex", 0);
        assert_ne!(world.everything(), before);
        world.quietly("init --agent claude --agent codex", 0);
        world.quietly("init --uninstall", 0);
        let after = world.everything();
        for (path, bytes) in &before {
            let left = after.get(path).map(|left| String::from_utf8_lossy(left));
            assert_eq!(
                left,
                Some(String::from_utf8_lossy(bytes)),
                "{}",
                path.display()
            );
        }
        assert_eq!(after.len(), before.len());
    }
}

#[test]
fn settings_of_a_person_are_kept() {
    let world = TestEnvironment::repository();
    let mine = "{\n  // not JSON\n}";
    world.write(
        ".claude/settings.json",
        "{\n    \"permissions\": {\"allow\": [\"Bash(ls:*)\"]},\n    \"hooks\": {\n        \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}],\n        \"Notification\": []\n    },\n    \"statusLine\": 1.50\n}\n",
    );
    world.quietly("init --agent claude", 0);
    let text = world.read(".claude/settings.json");
    assert!(
        text.contains("\"statusLine\": 1.50")
            && text.contains("    \"permissions\": {\"allow\": [\"Bash(ls:*)\"]}")
    );
    let settings: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(settings["hooks"]["Notification"], serde_json::json!([]));
    let hooks = settings["hooks"]["PreToolUse"].as_array().unwrap();
    assert_eq!(hooks[0]["hooks"][0]["command"], "mine");
    assert_eq!(hooks.len(), 2, "{text}");
    // What cannot be read is not touched, and nothing else either.
    let other = TestEnvironment::repository();
    other.write(".codex/hooks.json", mine);
    let before = other.everything();
    other.quietly("init --agent codex", 2);
    assert_eq!(other.everything(), before);
}

#[test]
fn the_entry_of_an_earlier_version_is_brought_up_to_date_and_taken_out() {
    let path = ".codex/config.toml";
    let (theirs, more) = ("model = \"x\"\n", "tool_timeout_sec = 900\n");
    let earlier = "[mcp_servers.bowline]\ncommand = \"bowline\"\nargs = [\"mcp\"]\n";
    let world = TestEnvironment::repository();
    world.write(path, theirs);
    world.quietly("init --agent codex", 0);
    let now = world.read(path);
    let earlier = format!("{theirs}\n{earlier}");
    assert!(now.starts_with(&earlier) && now != earlier, "{now}");
    world.write(path, format!("{earlier}{more}"));
    world.quietly("init --agent codex", 0);
    assert_eq!(world.read(path), format!("{now}{more}"));
    // The one as it is now, and one that was never brought up to date.
    for text in [format!("{now}{more}"), earlier] {
        world.write(path, text);
        world.quietly("init --uninstall", 0);
        assert_eq!(world.read(path), theirs);
    }
    // Another command under our name is a person's own: it stays, and they are informed.
    let mine = "[mcp_servers.bowline]\ncommand = \"mine\"\n";
    world.write(path, mine);
    for line in ["init --agent codex", "init --uninstall"] {
        let told = world.talk(line, 0);
        let kept = "warning: .codex/config.toml is left as it is";
        assert!(told.contains(kept), "{line}: {told}");
        assert_eq!(world.read(path), mine);
    }
}

/// A command line on a terminal of its own, with what somebody types there.
pub(crate) fn on_a_terminal(world: &TestEnvironment, line: &str, typed: &str) -> Option<Output> {
    let command = format!("{} {line}", env!("CARGO_BIN_EXE_bowline"));
    let mut script = world.program("script");
    script.args(["-qec", &command, "/dev/null"]);
    let started = script
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(_) => {
            skip_test(
                MissingRequirement::Program,
                "there is no 'script' to make a terminal with",
            );
            return None;
        }
    };
    child
        .stdin
        .take()
        .unwrap()
        .write_all(typed.as_bytes())
        .unwrap();
    Some(child.wait_with_output().unwrap())
}

#[test]
fn on_a_terminal_start_asks_what_to_do_with_an_open_run() {
    let feature = |world: &TestEnvironment| {
        let state = world.read_json(".develop-workflow/state.json");
        format!(
            "{} {}",
            state["feature"].as_str().unwrap(),
            state["phase"].as_str().unwrap()
        )
    };
    for (typed, code, left, said) in [
        ("1\n", 0, "Ferry times REVIEW", "the review is run again"),
        (
            "2\n",
            0,
            "Harbour map DESIGN",
            "Phase DESIGN: 'Harbour map'",
        ),
        ("\n", 1, "Ferry times REVIEW", "error[run_open]"),
        ("maybe\n", 1, "Ferry times REVIEW", "error[run_open]"),
    ] {
        let world = TestEnvironment::reviewed();
        let Some(output) = on_a_terminal(&world, "develop start 'Harbour map'", typed) else {
            return;
        };
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            told.contains("Previous session: 'Ferry times', Phase REVIEW"),
            "{told}"
        );
        assert!(told.contains("1) go on  2) from the beginning"), "{told}");
        assert!(told.contains(said), "{typed:?}: {told}");
        assert_eq!(output.status.code(), Some(code), "{typed:?}: {told}");
        assert_eq!(feature(&world), left);
    }
    // An agent is not asked: to begin anew is a person's move.
    let world = TestEnvironment::reviewed().with("CLAUDECODE", "1");
    if let Some(output) = on_a_terminal(&world, "develop start 'Harbour map'", "2\n") {
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(feature(&world), "Ferry times REVIEW");
    }
}

/// No hook sees what a script of an agent's runs: the engine itself asks whose move it is.
#[test]
fn a_script_of_an_agents_cannot_run_init_while_a_gate_is_closed() {
    let world = TestEnvironment::implementing();
    world.quietly("develop gate reset review_clean_pass", 0);
    crate::environment::write_executable(
        &world.path("build.sh"),
        "#!/bin/sh\nexec \"$BOWLINE\" init --agent claude\n",
    );
    let before = world.everything();
    let output = world
        .program("./build.sh")
        .env("BOWLINE", env!("CARGO_BIN_EXE_bowline"))
        .env("CLAUDECODE", "1")
        .env_remove("BOWLINE_ACTOR")
        .output()
        .unwrap();
    let told = crate::environment::text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("error[needs_person]"), "{told}");
    assert_eq!(before, world.everything(), "nothing is written");
    world.quietly("init --agent claude", 0);
}
