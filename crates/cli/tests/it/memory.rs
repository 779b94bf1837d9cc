//! The verbs of `bowline memory`.

use crate::environment::TestEnvironment;

const FILES: [&str; 3] = [
    ".claude/memory/task-state.json",
    ".claude/memory/task-history.json",
    ".claude/memory/shared-context.json",
];

/// A task with two steps, the second after the first.
fn planned() -> TestEnvironment {
    let world = TestEnvironment::new();
    world.quietly("memory init", 0);
    world.quietly(
        "memory task new 'Ferry timetable' --goal 'a page people use' --step 'name=collect,agent=scout' --step 'name=write,agent=scribe,deps=1'",
        0,
    );
    world
}

#[test]
fn a_whole_task() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "memory init",
        "memory init",
        "memory task new 'Ferry timetable' --goal 'a page people use' --step 'name=collect,agent=scout' --step 'name=write,agent=scribe,deps=1'",
        "memory task new 'Second thing'",
        "memory status",
        "memory step start 1",
        "memory step complete 1 --output '{\"rows\": 12}' --artifact data/rows.csv:timetable",
        "memory step start 2",
        "memory step complete 2",
        "memory task finish --summary 'it is online' --lesson 'ask the captain'",
        "memory status",
        "memory history",
        "status --lang ko",
        "history task-state",
    ]));
    for file in FILES {
        assert!(world.path(file).is_file(), "{file} is missing");
    }
}

#[test]
fn refusals() {
    let world = planned();
    let lines = [
        "memory step start 2",
        "memory step complete 1",
        "memory step start 9",
        "memory task resume",
        "memory task new Loop --step 'name=a,deps=2' --step 'name=b,deps=1'",
        "memory step fail 1 --type odd --message m",
        "memory context set version 9",
        "memory context get shared_data.nothing",
        "memory agent set 'Bad Name' a b",
        "memory restore nowhere",
    ];
    let [english, korean] = world.refusals(&lines);
    check!("refusals_en", english);
    check!("refusals_ko", korean);
}

#[test]
fn context_and_agents() {
    let world = planned();
    check!(world.session(&[
        "memory context set shared_data.current_topic 'night ferries'",
        "memory context get shared_data.current_topic",
        "memory context get shared_data --json",
        "memory agent set scout cache.rows 12",
        "memory agent get scout cache",
    ]));
}

#[test]
fn reading_an_empty_memory_writes_nothing() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "memory status",
        "memory status --json",
        "memory history",
        "memory context get shared_data --lang ko",
    ]));
    assert!(world.everything().is_empty(), "{:?}", world.everything());
}

#[test]
fn a_dry_run_writes_nothing() {
    let world = planned();
    let before = world.everything();
    check!(world.session(&[
        "--dry-run memory step start 1",
        "--dry-run memory task cancel",
        "--dry-run memory context set shared_data.a 1",
        "--dry-run memory prune",
        "--dry-run memory backup",
    ]));
    assert_eq!(before, world.everything());
}
