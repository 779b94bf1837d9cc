//! `doctor`, and what changing verbs do with damage.

use crate::environment::{THINKING, TestEnvironment};

#[test]
fn a_healthy_file() {
    let world = TestEnvironment::planned();
    let before = world.everything();
    check!(world.session(&[
        "doctor",
        "doctor --repair",
        "doctor --json",
        "doctor thinking --lang ko"
    ]));
    assert_eq!(before, world.everything());
}

#[test]
fn nothing_to_examine() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "doctor",
        "doctor --json",
        "doctor --repair --lang ko",
        "doctor x.json"
    ]));
}

#[test]
fn odd_fields() {
    let world = TestEnvironment::planned();
    let odd = world
        .read(THINKING)
        .replace(
            "\"current_stage\": \"planning\"",
            "\"current_stage\": \"dreaming\"",
        )
        .replace("\"progress_percentage\": 25", "\"progress_percentage\": 80")
        .replace(
            "\"updated_at\": \"2026-03-01T09:00:00Z\"",
            "\"updated_at\": \"yesterday\"",
        );
    world.write(THINKING, odd);
    check!(world.session(&[
        "doctor",
        "doctor --lang ko",
        "doctor --json",
        "doctor --repair",
        "doctor",
    ]));
}

#[test]
fn a_torn_file_is_refused_by_readers_and_restored_by_the_doctor() {
    let world = TestEnvironment::planned();
    let good = world.read(THINKING);
    world.write(THINKING, &good[..good.len() / 2]);
    let before = world.everything();
    let read = world.session(&["status", "status --lang ko", "doctor", "doctor --json"]);
    assert_eq!(before, world.everything(), "a reader changed something");
    let repaired = world.session(&["doctor --repair", "doctor", "history -n 1"]);
    assert_eq!(world.read(THINKING), good, "nothing acknowledged is lost");
    assert_eq!(
        world.read("thinking_state.json.damaged-20260301T090000Z"),
        good[..good.len() / 2],
        "the damaged file is kept"
    );
    check!(format!("{read}\n{repaired}"));
}

#[test]
fn a_changing_verb_repairs_first_and_says_so() {
    let world = TestEnvironment::planned();
    world.write(THINKING, "[1, 2, 3]\n");
    check!(world.session(&["status", "thinking start selection", "status", "history"]));
}

#[test]
fn a_file_that_is_gone_comes_back() {
    let world = TestEnvironment::planned();
    let good = world.read(THINKING);
    std::fs::remove_file(world.path(THINKING)).unwrap();
    let text = world.session(&[
        "thinking status",
        "thinking status --lang ko",
        "thinking start selection --lang ko",
    ]);
    assert!(world.read(THINKING).len() > good.len());
    check!(text);
}

#[test]
fn a_damaged_file_that_bowline_never_wrote_starts_anew() {
    let world = TestEnvironment::new();
    world.write(THINKING, "not json at all");
    check!(world.session(&["doctor", "doctor --repair", "status"]));
    assert_eq!(
        world.read("thinking_state.json.damaged-20260301T090000Z"),
        "not json at all"
    );
}

#[test]
fn a_stale_edit_loses_nothing_silently() {
    let world = TestEnvironment::begun();
    // Somebody has the file open in an editor …
    let stale = world
        .read(THINKING)
        .replace("an essay people finish", "an essay");
    world.write("thinking/planning/ideas.json", "{}\n");
    world.quietly(
        "thinking complete planning --output thinking/planning/ideas.json",
        0,
    );
    // … and saves it after the stage was completed.
    world.write(THINKING, stale);
    let told = world.session(&["status", "status --lang ko", "doctor", "doctor --json"]);
    let repaired = world.session(&["doctor --repair", "status", "doctor", "history"]);
    check!(format!("{told}\n{repaired}"));
    assert!(
        world.read(THINKING).contains("\"goal\": \"an essay\""),
        "the edit stays"
    );
}

#[test]
fn one_hopeless_file_does_not_hide_the_others() {
    let world = TestEnvironment::new();
    world.quietly("thinking new --dir first one --title First", 0);
    world.quietly("thinking new --dir 'second try' two --title Second", 0);
    let file = world.path("first").join(THINKING);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    check!(world.session(&["doctor", "doctor --json", "", "doctor first"]));
}
