//! `history`, `undo` and `restore`.

use crate::environment::{THINKING, TestEnvironment};
use bowline_engine::statefiles::{DocumentChange, FileLayout, StateFile, WriteRequest};

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

#[test]
fn history_and_restore_say_where_a_history_begins_and_why() {
    let world = TestEnvironment::planned();
    let text = world.read(THINKING);
    let file =
        StateFile::new(FileLayout::new(world.path(THINKING))).with_journal_bytes_max(8 * 1024);
    for number in 0..300 {
        let text = text.replace("an essay", &format!("an essay of {number} pages"));
        let update = |_: &_| {
            Ok::<_, std::convert::Infallible>(Some(DocumentChange::replace_with(text.clone())))
        };
        file.update(&WriteRequest::default(), update).unwrap();
    }
    let told = world.run("history thinking");
    let begins = "only the current journal and the one before it are kept";
    assert!(
        told.contains("the history begins with transition "),
        "{told}"
    );
    assert!(told.contains(begins), "{told}");
    let told = world.talk("restore thinking 1", 3);
    assert!(told.contains("has no transition 1 any more"), "{told}");
    assert!(told.contains(begins), "{told}");
}
