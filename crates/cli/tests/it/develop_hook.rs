//! What the hook tells an agent, in both languages, and how far it looks.

use crate::environment::TestEnvironment;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

/// Sends a message to the hook as a client would; its exit code and everything it says.
fn asked(world: &TestEnvironment, message: &Value) -> (i32, String) {
    let mut child = world
        .hook(&[env!("CARGO_BIN_EXE_bowline"), "hook"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(message.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8(told).unwrap();
    (output.status.code().unwrap(), world.normal(&told))
}

fn shell(folder: &Path, command: &str) -> Value {
    json!({
        "hook_event_name": "PreToolUse", "cwd": folder, "tool_name": "Bash", "tool_input": {"command": command},
    })
}

fn write(folder: &Path, path: &Path) -> Value {
    json!({
        "hook_event_name": "PreToolUse", "cwd": folder, "tool_name": "Write",
        "tool_input": {"file_path": path, "content": "x"},
    })
}

/// A run in IMPLEMENT whose first gate was closed again: nothing may be written.
fn closed() -> TestEnvironment {
    let world = TestEnvironment::implementing();
    world.quietly("develop gate reset review_clean_pass", 0);
    world
}

#[test]
fn denials_and_card_are_korean_where_the_language_is() {
    let world = closed().with("BOWLINE_LANG", "ko");
    let here = world.path("");
    let (code, edit) = asked(&world, &write(&here, &world.path("src.txt")));
    assert_eq!(code, 2);
    assert!(edit.starts_with("[PHASE GATE] IMPLEMENT phase에서 파일 수정이 차단되었습니다.\n"));
    let (code, commit) = asked(&world, &shell(&here, "git commit -m work"));
    assert_eq!(code, 2);
    assert!(commit.starts_with("[PHASE GATE] IMPLEMENT phase에서 종료 명령이 차단되었습니다.\n차단된 명령: git commit -m work\n"));
    assert!(commit.contains("\n미충족 gate: review_clean_pass\n"));
    let (_, hidden) = asked(&world, &shell(&here, "\"$X\" y"));
    let (_, state) = asked(&world, &shell(&here, "rm -r .develop-workflow"));
    let (code, card) = asked(
        &world,
        &json!({"hook_event_name": "SessionStart", "cwd": here}),
    );
    assert_eq!(code, 0);
    let card: Value = serde_json::from_str(&card).unwrap();
    let card = card["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(card.split_whitespace().count() <= 300);
    check!([&edit, &commit, &hidden, &state, card].join("\n"));
}

#[test]
fn the_card_names_what_changed_and_its_times_have_one_zone() {
    // Nine hours before UTC in the file, UTC in the journal.
    let world = TestEnvironment::repository().with("TZ", "Asia/Seoul");
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review --checkpoint cp-1", 0);
    world.write("review.ok", "");
    world.quietly("develop gate pass review_clean_pass", 0);
    world.quietly("develop implement", 0);
    world.quietly("develop checkpoint start cp-1", 0);
    let message = json!({"hook_event_name": "SessionStart", "cwd": world.path("")});
    let (_, card) = asked(&world, &message);
    let card: Value = serde_json::from_str(&card).unwrap();
    let card = card["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(
        card.contains("gate review_clean_pass closed -> open"),
        "{card}"
    );
    assert!(
        card.contains("checkpoint cp-1 pending -> in_progress"),
        "{card}"
    );
    assert!(
        card.contains("2026-03-01T09:00:00") && !card.contains("T18:00:00"),
        "{card}"
    );
    check!(card);
}

#[test]
fn a_session_elsewhere_is_held_where_it_writes() {
    let world = closed();
    let elsewhere = world.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let inside = world.path("src.txt");
    let deny = |message: Value| {
        let (code, told) = asked(&world, &message);
        assert_eq!(code, 2, "{message}");
        assert!(told.contains("[PHASE GATE]"), "{told}");
    };
    let allow = |message: Value| {
        let (code, told) = asked(&world, &message);
        assert_eq!((code, told.as_str()), (0, ""), "{message}");
    };
    for from in [&elsewhere, Path::new("/"), &world.root()] {
        deny(write(from, &inside));
        deny(write(from, &world.path("new/folder/src.txt")));
        deny(shell(from, &format!("echo x > {}", inside.display())));
        deny(shell(
            from,
            &format!("cd {} && echo x > src.txt", world.path("").display()),
        ));
        deny(shell(
            from,
            &format!("rm -rf {}", world.path(".develop-workflow").display()),
        ));
        allow(write(from, &elsewhere.join("notes.txt")));
        allow(shell(from, &format!("cat {}", inside.display())));
        allow(shell(
            from,
            &format!("echo x > {}", elsewhere.join("x").display()),
        ));
        // What does not land there is no business of that run.
        allow(shell(from, "git commit -m elsewhere"));
    }
    // A link is followed to where it leads.
    std::os::unix::fs::symlink(world.path(""), elsewhere.join("link")).unwrap();
    deny(write(&elsewhere, &elsewhere.join("link/src.txt")));
    // What git ignores is free there as well.
    world.write(".gitignore", ".develop-workflow/\nnotes/\n");
    allow(write(&elsewhere, &world.path("notes/today.txt")));
    // And a run of one's own does not hide the other one.
    let own = TestEnvironment::reviewed();
    let (code, _) = asked(&world, &write(&own.path(""), &inside));
    assert_eq!(code, 2);
}
