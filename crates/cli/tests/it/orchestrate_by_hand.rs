//! Phases worked on without a run: the worktree of a phase, and its merge.

use crate::orchestrate_run::project;
use bowline_test_support::wait_until;
use std::time::Duration;

const PLAN: &str = "\
# TASKS: Ferry

## Phase 0: Quay
- [ ] T0.1: Stones

## Phase 1: Timetable
- [ ] T1.1: Model
";

const CHECKS: &str = "checks = [[\"sh\", \"-c\", \"test ! -e red\"]]\n";

/// Reads of the repository neither ignore what is ours nor touch anything else of git's.
#[test]
fn verify_writes_nothing_into_the_repository() {
    let world = project(PLAN, "exit 1\n", CHECKS);
    world.quietly("orchestrate init", 0);
    for id in ["T0.1", "T1.1"] {
        world.quietly(&format!("orchestrate start {id}"), 0);
        world.quietly(&format!("orchestrate complete {id}"), 0);
        if id == "T0.1" {
            world.quietly("orchestrate phase finish 0", 0);
        }
    }
    world.write(".git/info/exclude", "# theirs\n");
    let before = world.everything();
    world.run("orchestrate verify");
    assert_eq!(before, world.everything());
}

#[test]
fn the_work_of_a_phase_has_its_worktree_and_lands_when_it_is_finished() {
    let world = project(PLAN, "exit 1\n", CHECKS);
    let root = world.path("");
    let place = root.join("worktree/phase-1-timetable");
    world.quietly("orchestrate init", 0);
    world.quietly("orchestrate start T0.1", 0);
    world.quietly("orchestrate complete T0.1", 0);
    let told = world.run("orchestrate phase finish 0");
    assert!(
        told.contains("✓ Phase 0 finished; phase 1 is current"),
        "{told}"
    );
    assert!(!place.exists());

    let told = world.run("orchestrate start T1.1 --dry-run");
    assert!(told.contains("T1.1") && !place.exists(), "{told}");
    let told = world.run("orchestrate start T1.1");
    assert!(told.contains("✓ Task 'T1.1' started in "), "{told}");
    assert!(told.contains("worktree/phase-1-timetable"), "{told}");
    world.quietly("orchestrate complete T1.1", 0);

    // What is on no branch is not left behind in silence.
    std::fs::write(place.join("model.txt"), "boats\n").unwrap();
    std::fs::write(place.join("red"), "").unwrap();
    let told = world.run("orchestrate phase finish 1");
    assert!(
        told.contains("error[no_merge]: phase 1 did not land"),
        "{told}"
    );
    assert!(told.contains("changes that are not committed"), "{told}");
    let told = world.run("orchestrate phase finish 1 --lang ko");
    assert!(told.contains("커밋하지 않은 변경이 있습니다"), "{told}");

    // What is red on the merged tree does not land.
    let folder = place.display().to_string();
    world.git(&["-C", &folder, "add", "--all"]);
    world.git(&["-C", &folder, "commit", "--quiet", "--message=model"]);
    let told = world.run("orchestrate phase finish 1");
    assert!(told.contains("a check of the phase failed"), "{told}");
    assert!(place.exists() && !root.join("model.txt").exists());

    world.git(&["-C", &folder, "rm", "--quiet", "red"]);
    world.git(&["-C", &folder, "commit", "--quiet", "--message=green"]);
    let told = world.run("orchestrate phase finish 1");
    assert!(told.contains("✓ Phase 1 finished; all is done"), "{told}");
    assert_eq!(
        std::fs::read_to_string(root.join("model.txt")).unwrap(),
        "boats\n"
    );
    assert!(wait_until(Duration::from_secs(10), || !place.exists()));
    let merge = world.git(&["log", "-1", "--format=%s|%P"]);
    let (subject, parents) = merge.split_once('|').unwrap();
    assert!(subject.starts_with("Phase 1 "), "{merge}");
    assert_eq!(parents.split(' ').count(), 2, "{merge}");
    let state = world.read_json(".claude/orchestrate-state.json");
    let checkpoint = &state["checkpoints"]["phase_1"];
    assert_eq!(checkpoint["merged"], true, "{state}");
    let head = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(checkpoint["merge_commit"], head[..7], "{state}");
    assert_eq!(
        world.run("orchestrate next").lines().nth(1),
        Some("ALL_DONE")
    );
}

#[test]
fn before_the_first_commit_the_project_itself_is_the_place() {
    let world = crate::environment::TestEnvironment::new();
    world.write("TASKS.md", "## Phase 1: Timetable\n- [ ] T1.1: Model\n");
    world.git(&["init", "--quiet"]);
    world.quietly("orchestrate init", 0);
    let told = world.run("orchestrate start T1.1");
    assert!(told.ends_with("✓ Task 'T1.1' started\n"), "{told}");
    assert!(!world.path("worktree").exists());
}
