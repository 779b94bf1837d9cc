//! Files of every kind, whoever made them: looked at, examined and repaired.

use crate::environment::TestEnvironment;

const DEVELOP: &str = ".develop-workflow/state.json";
const ORCHESTRATE: &str = ".claude/orchestrate-state.json";

fn golden(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/tests/golden/");
    std::fs::read_to_string(format!("{folder}{name}.json")).unwrap()
}

#[test]
fn a_develop_file() {
    let world = TestEnvironment::new();
    world.write(DEVELOP, golden("develop"));
    let before = world.everything();
    check!(world.session(&["", "status", "status --lang ko", "doctor", "history"]));
    assert_eq!(before, world.everything(), "looking changed something");
}

#[test]
fn a_torn_develop_file_without_a_journal_is_not_made_up() {
    let world = TestEnvironment::new();
    let whole = golden("develop");
    let torn = &whole[..whole.len() / 2];
    world.write(DEVELOP, torn);
    check!(world.session(&["status", "doctor", "doctor --repair", "status"]));
    assert_eq!(world.read(DEVELOP), torn);
}

#[test]
fn an_orchestrate_file() {
    let world = TestEnvironment::new();
    world.write(ORCHESTRATE, golden("orchestrate"));
    let before = world.everything();
    check!(world.session(&["", "status", "status --lang ko", "doctor"]));
    assert_eq!(before, world.everything(), "looking changed something");
}

#[test]
fn overlapping_lists_are_found_and_repaired() {
    let world = TestEnvironment::new();
    world.write(ORCHESTRATE, golden("orchestrate-overlap"));
    check!(world.session(&["doctor", "doctor --lang ko", "doctor --repair", "doctor"]));
}

#[test]
fn a_newer_file_is_read_only() {
    let world = TestEnvironment::new();
    world.quietly("memory init", 0);
    let state = ".claude/memory/task-state.json";
    let newer = world
        .read(state)
        .replacen("\"version\": \"1.", "\"version\": \"99.", 1);
    assert!(newer.contains("\"99."), "{newer}");
    world.write(state, &newer);
    check!(world.session(&[
        "status task-state",
        "memory task new Later",
        "memory task new Later --lang ko",
        "memory task new Later --json",
    ]));
    assert_eq!(world.read(state), newer);
}

#[test]
fn several_kinds_in_one_folder() {
    let world = TestEnvironment::begun();
    world.quietly("memory init", 0);
    world.write(DEVELOP, golden("develop-design"));
    check!(world.session(&[
        "",
        "status",
        "history",
        "undo",
        "doctor",
        "status --lang ko"
    ]));
}

#[test]
fn undo_in_the_memory() {
    let world = TestEnvironment::new();
    world.quietly("memory init", 0);
    world.quietly("memory task new One --step 'name=a'", 0);
    world.quietly("memory step start 1", 0);
    check!(world.session(&["undo task-state", "memory status", "history task-state"]));
}
