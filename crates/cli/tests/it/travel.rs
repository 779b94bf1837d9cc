//! `history`, `undo` and `restore`.

use crate::environment::{THINKING, TestEnvironment};

#[test]
fn history() {
    let world = TestEnvironment::planned();
    check!(world.session(&[
        "history",
        "history --lang ko",
        "history -n 1",
        "history thinking --json",
        "history nowhere/thinking_state.json",
        "history nowhere/thinking_state.json --json",
    ]));
}

#[test]
fn an_empty_folder_has_no_history() {
    let world = TestEnvironment::new();
    check!(world.session(&["history", "history --json", "undo --lang ko", "restore 1"]));
}

#[test]
fn undo_and_restore() {
    let world = TestEnvironment::planned();
    let completed = world.read(THINKING);
    let text = world.session(&[
        "--dry-run undo",
        "undo",
        "undo --lang ko",
        "undo",
        "restore 99",
        "restore 99 --lang ko",
        "restore 3",
        "history",
    ]);
    assert_eq!(world.read(THINKING), completed, "restored byte for byte");
    check!(text);
}

#[test]
fn undo_as_json() {
    let world = TestEnvironment::begun();
    check!(world.session(&["undo --json", "undo --json"]));
}

#[test]
fn an_agent_may_not_go_back() {
    let world = TestEnvironment::planned().with("CLAUDECODE", "1");
    let before = world.everything();
    check!(world.session(&["undo", "restore 1 --lang ko", "undo --json"]));
    assert_eq!(before, world.everything());
}
