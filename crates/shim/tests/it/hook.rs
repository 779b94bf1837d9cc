//! The gate hook as its clients meet it.

use crate::world::{World, run};
use serde_json::{Value, json};
use std::fs;

const REVIEWED: &[&str] = &["review_clean_pass"];
const ALL: &[&str] = &["review_clean_pass", "architect_verified", "re_review_clean"];

#[test]
fn without_a_run_everything_goes() {
    let world = World::new();
    assert!(world.bash("git push && echo x > src/a.rs").allowed());
    assert!(world.write(&world.root.join("src/a.rs")).allowed());
    assert!(world.bash("echo 'unclosed").allowed());
}

#[test]
fn a_closed_gate_denies_with_exit_2_a_reason_and_the_next_command() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", &[]));
    let outcome = world.bash("echo x > src/a.rs && git status");
    assert_eq!(outcome.code, Some(2));
    assert_eq!(outcome.stdout, "");
    let reason = outcome
        .stderr
        .replace(&*world.root.to_string_lossy(), "ROOT");
    assert_eq!(
        reason,
        "\
[PHASE GATE] IMPLEMENT: writing ROOT/src/a.rs (>) is closed.
blocked: echo x > src/a.rs && git status
closed gates: review_clean_pass
next: ask a person to run: bowline develop back REVIEW
"
    );
    assert!(world.bash("git commit -m x").denied());
    assert!(world.write(&world.root.join("src/a.rs")).denied());
    assert!(world.bash("git status").allowed());
    assert!(world.bash("cargo test > /tmp/log").allowed());
    assert!(world.bash("echo x > target/a").allowed(), "git ignores it");
}

#[test]
fn open_gates_let_through_what_they_open() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", REVIEWED));
    assert!(world.write(&world.root.join("src/a.rs")).allowed());
    assert!(world.bash("git commit -m x").allowed());
    world.commit(&run("PR", &ALL[..2]));
    assert!(world.write(&world.root.join("src/a.rs")).allowed());
    world
        .bash("git push")
        .denied_with("bowline develop gate pass re_review_clean --by-hand REASON");
    world.commit(&run("PR", ALL));
    assert!(world.bash("git push").allowed());
}

#[test]
fn an_edited_gate_opens_nothing_and_is_told() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", &[]));
    world.scribble(&run("DONE", ALL));
    world.bash("git push").denied_with(
        "not believed, because bowline did not write it: phase, gates.review_clean_pass",
    );
}

#[test]
fn the_runs_own_file_is_closed_in_every_phase_of_a_run_of_ours() {
    let world = World::new();
    for phase in ["DESIGN", "REVIEW", "IMPLEMENT", "PR", "DONE"] {
        world.commit(&run(phase, ALL));
        let outcome = world.write(&world.file());
        assert!(outcome.denied(), "{phase}: {outcome:?}");
        assert!(outcome.stderr.contains("gate pass"), "{}", outcome.stderr);
        assert!(world.bash("rm -rf .develop-workflow").denied(), "{phase}");
        assert!(world.bash("cat .develop-workflow/state.json").allowed());
    }
}

#[test]
fn a_run_of_another_program_is_believed_and_may_edit_its_own_file() {
    let world = World::new();
    world.scribble(&run("IMPLEMENT", &[]));
    assert!(world.write(&world.file()).allowed());
    assert!(world.write(&world.root.join("src/a.rs")).denied());
    world.scribble(&run("MERGE", REVIEWED));
    assert!(world.write(&world.root.join("src/a.rs")).denied());
    world.scribble(&run("MERGE", ALL));
    assert!(world.bash("git push").allowed());
}

#[test]
fn a_missing_file_of_an_open_run_denies_with_the_repair() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", REVIEWED));
    fs::remove_dir_all(world.file().parent().unwrap()).unwrap();
    for folder in [world.root.clone(), world.root.join("src")] {
        world
            .bash_in(&folder, "git push")
            .denied_with("bowline doctor --repair");
    }
    assert!(world.bash("ls").allowed());
    // A file above the repository does not stand in for it.
    let above = world.base.join(".develop-workflow/state.json");
    fs::create_dir_all(above.parent().unwrap()).unwrap();
    fs::write(above, run("DESIGN", ALL)).unwrap();
    assert!(world.bash("git push").denied());
}

#[test]
fn a_damaged_file_denies_what_counts() {
    let world = World::new();
    world.scribble("{ torn");
    world
        .bash("git push")
        .denied_with("bowline doctor --repair");
    assert!(world.bash("git status").allowed());
}

#[test]
fn every_worktree_is_held_by_the_same_run() {
    let world = World::new();
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "first"]);
    world.git(&["worktree", "add", "-q", "../linked"]);
    let linked = world.base.join("linked");
    world.commit(&run("IMPLEMENT", &[]));
    assert!(world.bash_in(&linked, "git commit -m x").denied());
    assert!(world.bash_in(&linked, "echo x > a.rs").denied());
    // Its own file there would be one that Bowline did not write.
    let own = linked.join(".develop-workflow/state.json");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, run("DONE", ALL)).unwrap();
    assert!(world.bash_in(&linked, "git commit -m x").denied());
    // From the main worktree a path in the other one is inside too.
    assert!(world.bash("echo x > ../linked/a.rs").denied());
}

#[test]
fn links_lead_where_they_lead() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", &[]));
    let way = world.base.join("way");
    std::os::unix::fs::symlink(world.root.join("src"), &way).unwrap();
    assert!(world.bash("echo x > ../way/a.rs").denied());
    assert!(world.bash("echo x > ../elsewhere/a.rs").allowed());
    let nowhere = world.base.join("nowhere");
    std::os::unix::fs::symlink(world.root.join("src/new.rs"), &nowhere).unwrap();
    assert!(world.bash("echo x > ../nowhere").denied());
    assert!(
        world.bash("echo x > ../way/../notes").denied(),
        "the parent of the folder the link leads to"
    );
}

#[test]
fn aliases_of_git_are_asked_for() {
    let world = World::new();
    world.git(&["config", "alias.ship", "!git push"]);
    world.git(&["config", "alias.ci", "commit -v"]);
    world.git(&["config", "alias.st", "status"]);
    world.commit(&run("IMPLEMENT", &[]));
    assert!(world.bash("git ship").denied());
    assert!(world.bash("git ci").denied());
    assert!(world.bash("git st").allowed());
    assert!(world.bash("git no-such-command").allowed());
}

#[test]
fn what_the_hook_cannot_read_is_denied_where_there_is_a_run() {
    let world = World::new();
    for input in [&b""[..], b"{", b"[]", b"\xff\xfe", b"null"] {
        let outcome = world.hook_in(&world.root, &["pre-tool-use"], input);
        assert!(outcome.allowed(), "nothing to guard: {outcome:?}");
    }
    world.commit(&run("DESIGN", &[]));
    for input in [&b""[..], b"{", b"[]", b"\xff\xfe", b"null"] {
        let outcome = world.hook_in(&world.root, &["pre-tool-use"], input);
        assert!(outcome.denied(), "{outcome:?}");
        let outcome = world.hook_in(&world.root, &[], input);
        assert!(outcome.denied(), "{outcome:?}");
        // Every other event fails open and leaves a line.
        for event in [
            "session-start",
            "stop",
            "pre-compact",
            "post-tool-use",
            "user-prompt-submit",
        ] {
            let outcome = world.hook_in(&world.root, &[event], input);
            assert!(outcome.allowed(), "{event}: {outcome:?}");
        }
    }
    let log = fs::read_to_string(world.base.join("state/bowline/hook.log")).unwrap();
    assert!(
        log.contains("stop: the client's message is not JSON"),
        "{log}"
    );
}

#[test]
fn unknown_events_and_tools_go_on() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", &[]));
    assert!(
        world
            .hook(&json!({"hook_event_name": "NeverHeardOf", "cwd": world.root}))
            .allowed()
    );
    let read = json!({
        "hook_event_name": "PreToolUse", "cwd": world.root, "tool_name": "Read", "tool_input": {"file_path": "src/a.rs"},
    });
    assert!(world.hook(&read).allowed());
}

#[test]
fn the_project_of_the_client_stands_in_for_a_folder_without_a_run() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", &[]));
    let outside = world.base.join("home");
    let message = json!({
        "hook_event_name": "PreToolUse", "cwd": outside, "tool_name": "Bash",
        "tool_input": {"command": "eval \"$(cat x)\""},
    });
    assert!(world.hook(&message).allowed(), "no run is seen from there");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_bowline-shim"))
        .arg("hook")
        .current_dir(&outside)
        .env("XDG_STATE_HOME", world.base.join("state"))
        .env("CLAUDE_PROJECT_DIR", &world.root)
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        message.to_string().as_bytes(),
    )
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

fn context(world: &World, message: &Value) -> String {
    let outcome = world.hook(message);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], message["hook_event_name"]);
    output["additionalContext"].as_str().unwrap().to_owned()
}

#[test]
fn every_start_of_a_session_gets_the_card() {
    let world = World::new();
    world.commit(&run("REVIEW", &[]));
    world.commit(&run("IMPLEMENT", REVIEWED));
    for source in ["startup", "resume", "clear", "compact"] {
        let message = json!({"hook_event_name": "SessionStart", "source": source, "cwd": world.root, "session_id": "s"});
        let card = context(&world, &message);
        assert!(
            card.contains("Develop run 'ferry', phase IMPLEMENT."),
            "{card}"
        );
        assert!(card.contains("cp-2 in_progress (iter 2/3)"), "{card}");
        assert!(
            card.contains("Next: bowline develop checkpoint pass cp-2"),
            "{card}"
        );
    }
    let empty = World::new();
    let message =
        json!({"hook_event_name": "SessionStart", "source": "startup", "cwd": empty.root});
    assert!(empty.hook(&message).allowed());
}

#[test]
fn a_prompt_gets_a_reminder_and_a_broken_file_a_warning() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", REVIEWED));
    let prompt =
        json!({"hook_event_name": "UserPromptSubmit", "cwd": world.root, "prompt": "go on"});
    let words = context(&world, &prompt);
    assert_eq!(
        words,
        "Develop run 'ferry', phase IMPLEMENT. Next: bowline develop checkpoint pass cp-2"
    );
    let after = json!({"hook_event_name": "PostToolUse", "cwd": world.root, "tool_name": "Bash", "tool_input": {"command": "ls"}});
    assert!(world.hook(&after).allowed());
    world.scribble(&run("IMPLEMENT", ALL));
    assert!(
        context(&world, &after)
            .contains("not believed: gates.architect_verified, gates.re_review_clean")
    );
    fs::remove_file(world.file()).unwrap();
    assert!(context(&world, &after).contains("bowline doctor --repair"));
    let compact = json!({"hook_event_name": "PreCompact", "cwd": world.root, "trigger": "auto"});
    assert!(world.hook(&compact).allowed());
}

#[test]
fn a_stop_is_held_back_at_a_checkpoint_and_never_for_ever() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", REVIEWED));
    let stop = |session: &str, active: bool| {
        let message = json!({
            "hook_event_name": "Stop", "cwd": world.root, "session_id": session, "stop_hook_active": active,
        });
        let outcome = world.hook(&message);
        assert_eq!(outcome.code, Some(0));
        !outcome.stdout.is_empty()
    };
    let held: Vec<bool> = (0..6).map(|round| stop("a", round > 0)).collect();
    assert_eq!(held, [true, true, true, false, false, false]);
    assert!(stop("b", false), "another session begins anew");
    // Something moved: the run is worth going on with, but not without end.
    let mut total = 0;
    for round in 0..40 {
        let feature = format!("ferry {round}");
        world.commit(&run("IMPLEMENT", REVIEWED).replace("ferry", &feature));
        total += usize::from(stop("c", true));
    }
    assert_eq!(total, 30);
    // Nothing in progress, or nobody reviewed it: the agent may stop.
    world.commit(&run("IMPLEMENT", REVIEWED).replace("in_progress", "escalated"));
    assert!(!stop("d", false));
    world.commit(&run("IMPLEMENT", &[]));
    assert!(!stop("d", false));
    world.commit(&run("PR", ALL));
    assert!(!stop("d", false));
}

#[test]
fn the_reason_to_go_on_names_the_commands() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", REVIEWED));
    let message = json!({"hook_event_name": "Stop", "cwd": world.root, "session_id": "s"});
    let answer: Value = serde_json::from_str(&world.hook(&message).stdout).unwrap();
    assert_eq!(answer["decision"], "block");
    let reason = answer["reason"].as_str().unwrap();
    assert!(
        reason.contains("cp-2 is in progress (attempt 2 of 3)"),
        "{reason}"
    );
    assert!(
        reason.contains("bowline develop checkpoint pass cp-2"),
        "{reason}"
    );
}

#[test]
fn a_word_that_is_no_event_is_taken_from_the_message() {
    let world = World::new();
    world.commit(&run("IMPLEMENT", &[]));
    let message = json!({
        "hook_event_name": "PreToolUse", "cwd": world.root, "tool_name": "Bash", "tool_input": {"command": "git push"},
    });
    for word in ["no-such-event", "pre-tool-use"] {
        let outcome = world.hook_in(&world.root, &[word], message.to_string().as_bytes());
        assert!(outcome.denied(), "{word}: {outcome:?}");
    }
}
