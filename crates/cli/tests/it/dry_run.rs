//! `--dry-run`: every verb that writes says that it did not, and did not.

use crate::environment::TestEnvironment;

/// Every verb that writes, in a world where it is allowed.
const WRITING: [&str; 30] = [
    "thinking new --dir elsewhere essay-002 --title Again",
    "thinking start selection",
    "thinking output planning more.md",
    "thinking complete planning --output ideas.md",
    "thinking fail planning --code c --message m",
    "thinking evaluate practicality=8",
    "thinking quality completeness=0.5",
    "thinking feedback record --metric reach=12 --target 10",
    "thinking feedback apply --from old",
    "thinking run",
    "memory init",
    "memory task new Third",
    "memory task pause",
    "memory task resume",
    "memory task cancel",
    "memory task finish",
    "memory task recover",
    "memory task drop task-2026-03-01-002",
    "memory step add name=more",
    "memory step start 2",
    "memory step complete 1",
    "memory step fail 1 --message m",
    "memory context set shared_data.topic ferries",
    "memory context append shared_data.notes one",
    "memory context session new",
    "memory agent set scout cache.rows 12",
    "memory agent append scout cache.topics one",
    "memory run",
    "memory prune",
    "memory backup",
];
/// Writing verbs that belong to no noun; and one that needs a copy to go back to.
const PERSONS: [&str; 4] = [
    "memory restore",
    "undo thinking",
    "restore thinking 1",
    "doctor --repair",
];
/// Verbs that only read, and are therefore not in the lists above.
const READING: [&str; 5] = [
    "thinking status",
    "memory context get",
    "memory agent get",
    "memory history",
    "memory status",
];

/// A thinking run in its first stage beside one with lessons, and a task with a step in progress and one queued.
fn busy() -> TestEnvironment {
    let world = TestEnvironment::begun();
    world.write("ideas.md", "ideas\n");
    for line in [
        "thinking new --dir old old-1 --title Old",
        "thinking --dir old feedback record --metric reach=12 --target 10 --learning early",
        "memory init",
        "memory task new First --step name=a --step name=b",
        "memory task new Second",
        "memory step start 1",
        "memory backup",
    ] {
        world.quietly(line, 0);
    }
    world
}

/// What a verb needs first where [`busy`] does not allow it.
fn before(line: &str) -> &'static [&'static str] {
    match line {
        "thinking start selection" => &["thinking complete planning --output ideas.md"],
        "memory task resume" => &["memory task pause"],
        "memory task recover" => &["memory step fail 1 --type critical --message m"],
        _ => &[],
    }
}

#[test]
fn every_writing_verb_says_that_it_is_a_dry_run_and_changes_nothing() {
    let world = busy();
    for line in WRITING.into_iter().chain(PERSONS) {
        let other = busy();
        let needs = before(line);
        let world = if needs.is_empty() { &world } else { &other };
        for need in needs {
            world.quietly(need, 0);
        }
        let files = world.everything();
        let text = world.data(&format!("--dry-run {line}"), 0);
        let lines: Vec<&str> = text.lines().collect();
        let marked = |mark: &str, line: &&&str| line.starts_with(mark);
        assert!(
            lines.iter().any(|line| marked("(dry run) ", &line)),
            "{line}: {text}"
        );
        let korean = world.data(&format!("--dry-run {line} --lang ko"), 0);
        assert!(korean.contains("(시험 실행) "), "{line}: {korean}");
        let json = world.json(&format!("--dry-run {line} --json"), 0);
        assert_eq!(json["dryRun"], true, "{line}: {json}");
        assert_eq!(world.everything(), files, "{line} wrote something");
    }
}

#[test]
fn no_writing_verb_is_forgotten() {
    let world = TestEnvironment::new();
    let listed = |verb: &str| {
        let mut known = WRITING.iter().chain(&READING);
        known.any(|line| line.starts_with(verb))
    };
    let mut open = vec!["thinking".to_owned(), "memory".to_owned()];
    let mut seen = 0;
    while let Some(noun) = open.pop() {
        let help = world.data(&format!("{noun} --help"), 0);
        let Some((_, verbs)) = help.split_once("Commands:\n") else {
            seen += 1;
            assert!(
                listed(&noun) || PERSONS.contains(&noun.as_str()),
                "'{noun}' is neither a writing nor a reading verb of this test"
            );
            continue;
        };
        let verbs = verbs.lines().take_while(|line| !line.trim().is_empty());
        let names = verbs.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        let names = names.filter(|name| *name != "help");
        open.extend(names.map(|name| format!("{noun} {name}")));
    }
    assert!(seen > 25, "only {seen} verbs were found");
}

#[test]
fn a_dry_run_makes_no_memory_and_no_folder() {
    let world = TestEnvironment::new();
    for line in [
        "memory init",
        "memory task new First --step name=a",
        "memory context set shared_data.a 1",
        "memory agent append scout cache.a 1",
        "memory context session new",
        "memory prune",
        "thinking new --dir far/away x --title X",
    ] {
        world.quietly(&format!("--dry-run {line}"), 0);
        assert!(
            std::fs::read_dir(world.path("")).unwrap().next().is_none(),
            "{line}"
        );
    }
}

#[test]
fn a_dry_run_waits_for_no_lock() {
    let world = TestEnvironment::begun();
    let name = "thinking_state.json.lock";
    world.write(name, "held by a test");
    let lock = std::fs::File::open(world.path(name)).unwrap();
    lock.lock().unwrap();
    world.quietly("--dry-run thinking fail planning --code c --message m", 0);
    world.quietly("thinking fail planning --code c --message m", 5);
}
