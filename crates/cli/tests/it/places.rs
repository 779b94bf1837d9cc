//! Which file is meant: `-C`, `BOWLINE_WORKSPACE`, ancestors, and linked worktrees.

use crate::environment::{THINKING, TestEnvironment};

#[test]
fn a_folder_by_name() {
    let world = TestEnvironment::new();
    world.quietly("-C . thinking new --dir one one --title One", 0);
    check!(world.session(&[
        "-C one thinking start planning",
        "-C one/ status",
        "status one",
        "thinking --dir one status",
    ]));
}

#[test]
fn from_below() {
    let world = TestEnvironment::begun();
    std::fs::create_dir_all(world.path("drafts/old")).unwrap();
    check!(world.session(&[
        "-C drafts/old",
        "-C drafts/old thinking fail planning --code c --message m"
    ]));
    assert!(world.read(THINKING).contains("\"failed\""));
}

#[test]
fn the_named_workspace_wins() {
    let world = TestEnvironment::begun();
    world.quietly("thinking new --dir other two --title Two", 0);
    let other = world.path("other").display().to_string();
    let world = world.with("BOWLINE_WORKSPACE", &other);
    check!(world.session(&[
        "status thinking",
        "thinking start planning",
        "history thinking"
    ]));
}

#[test]
fn a_linked_worktree_uses_the_file_of_the_main_one() {
    let world = TestEnvironment::new();
    std::fs::create_dir(world.path("main")).unwrap();
    let main = world.path("main");
    world.git_in(&main, &["init", "--quiet"]);
    world.git_in(
        &main,
        &["commit", "--quiet", "--allow-empty", "-m", "first"],
    );
    world.git_in(&main, &["worktree", "add", "--quiet", "../linked"]);
    world.quietly("-C main thinking new essay-001 --title T", 0);
    std::fs::create_dir(world.path("linked/deep")).unwrap();
    check!(world.session(&[
        "-C linked/deep",
        "-C linked/deep thinking start planning",
        "-C main status"
    ]));
    assert!(!world.path("linked").join(THINKING).exists());
}

#[test]
fn an_unmanaged_file_is_read_and_then_kept() {
    let world = TestEnvironment::planned();
    let text = world.read(THINKING);
    let fresh = TestEnvironment::new();
    fresh.write(THINKING, text);
    check!(fresh.session(&[
        "status",
        "history",
        "thinking start selection",
        "history",
        "undo",
        "doctor"
    ]));
}

#[test]
fn a_run_in_a_folder_of_its_own_is_meant_before_the_memory_around_it() {
    let world = TestEnvironment::new();
    world.quietly("memory task new 'Ferry guide' --step name=fares", 0);
    world.quietly("thinking new essay --dir tasks/essay --title E", 0);
    for line in [
        "history tasks/essay",
        "status tasks/essay",
        "doctor tasks/essay",
        "history -C tasks/essay",
    ] {
        let told = world.run(line);
        assert!(!told.contains("[exit"), "{told}");
        assert!(!told.contains("Ferry guide"), "{told}");
    }
    world.quietly("history", 0);
}
