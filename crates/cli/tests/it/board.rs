//! `thinking status --all`: every run below a folder.

use crate::environment::TestEnvironment;

/// Four runs in four states, and one that nobody can read.
fn runs() -> TestEnvironment {
    let world = TestEnvironment::new();
    for (folder, title) in [
        ("tasks/ferries", "Night ferries"),
        ("tasks/trains", "밤 기차 안내서"),
        (
            "tasks/deep/er/still/buses",
            "Buses of the coast, with every stop and all the fares of the year",
        ),
        ("tasks/trams", "Trams"),
        ("tasks/torn", "Torn"),
    ] {
        let id = folder.rsplit('/').next().unwrap();
        world.quietly(
            &format!("thinking new --dir {folder} {id} --title '{title}'"),
            0,
        );
    }
    for _ in 0..3 {
        world.quietly("-C tasks/trains thinking start planning", 0);
        world.quietly(
            "-C tasks/trains thinking fail planning --code c --message m",
            0,
        );
    }
    world.quietly("-C tasks/ferries thinking start planning", 0);
    world.quietly(
        "-C tasks/ferries thinking evaluate practicality=8 trust=7 innovation=8",
        0,
    );
    for path in [
        "ideas.md",
        "thinking/selection/selected.json",
        "drafts/draft_v1.md",
    ] {
        world.write(&format!("tasks/trams/{path}"), "made\n");
    }
    for stage in ["planning", "selection", "creation", "reflection"] {
        world.quietly(&format!("-C tasks/trams thinking start {stage}"), 0);
        world.quietly(
            &format!("-C tasks/trams thinking complete {stage} --output ideas.md"),
            0,
        );
    }
    world.write("tasks/torn/thinking_state.json", "{ \"task_id\":");
    world.with("BOWLINE_CLOCK", "2026-03-03T11:00:00Z")
}

#[test]
fn every_run_below_a_folder() {
    let world = runs();
    let before = world.everything();
    check!(world.session(&[
        "thinking status --all",
        "thinking status --all --lang ko",
        "thinking --dir tasks/deep status --all",
        "-C tasks/trams thinking status --all",
        "-C tasks/trams thinking status --all --json",
        "-C tasks/torn thinking status --all --json",
    ]));
    assert_eq!(world.everything(), before);
}

#[test]
fn no_run_at_all() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "thinking status --all",
        "thinking status --all --lang ko",
        "thinking status --all --json",
    ]));
}
