//! Input that nobody meant, in both languages: reported clearly, and nothing is changed.

use crate::environment::TestEnvironment;
use std::io::Write as _;
use std::process::Stdio;

#[test]
fn words_and_files_that_cannot_be_meant() {
    let world = TestEnvironment::begun();
    world.write("plan.json", r#"{"steps": [{"name": "a", "id": -3}]}"#);
    let lines = [
        "thinking --dir thinking_state.json status",
        "memory --dir thinking_state.json/deeper init",
        "thinking feedback apply --from .",
        "thinking feedback record --metric goal_achievement=3 --target 5",
        "thinking new '' --title T --dir elsewhere",
        "memory task new T --plan plan.json",
        "memory task new T --step x",
        "memory agent get UPPER a",
        "restore one",
        "explain nothing",
        "schema nothing",
    ];
    let before = world.everything();
    let korean: Vec<String> = lines
        .iter()
        .map(|line| format!("{line} --lang ko"))
        .collect();
    let korean: Vec<&str> = korean.iter().map(String::as_str).collect();
    check!("words_en", world.session(&lines));
    check!("words_ko", world.session(&korean));
    assert_eq!(before, world.everything());
}

#[test]
fn a_clock_that_is_no_time() {
    let world = TestEnvironment::begun().with("BOWLINE_CLOCK", "noon");
    check!(world.session(&[
        "status",
        "status --lang ko",
        "thinking start planning --json"
    ]));
}

#[test]
fn usage_in_korean() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "knot --lang ko",
        "thinkin --lang=ko",
        "--lang ko --json thinking start",
        "thinking start --lang ko",
        "thinking start sleeping --lang ko",
        "thinking status --none --lang ko",
        "memory step complete x --lang ko",
        "memory task new T --plan p --step name=a --lang ko",
        "memory --lang ko --json",
    ]));
}

#[test]
fn a_folder_in_place_of_the_backup() {
    let world = TestEnvironment::planned();
    std::fs::remove_file(world.path("thinking_state.json.bak")).unwrap();
    std::fs::create_dir(world.path("thinking_state.json.bak")).unwrap();
    let before = world.everything();
    check!(world.session(&[
        "thinking start selection",
        "thinking start selection --lang ko"
    ]));
    assert_eq!(before, world.everything());
}

/// A file where the folder of the copies should be.
#[test]
fn what_the_disk_says_is_in_the_json_too() {
    let world = TestEnvironment::new();
    world.quietly("memory init", 0);
    world.write(".claude/memory/backup", "not a folder\n");
    let answer = world.json("memory backup --json", 70);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("Not a directory"), "{message}");
    let hint = answer["error"]["hint"].as_str().unwrap();
    assert_eq!(hint, "a file stands where a folder is needed: move it away");
}

#[test]
fn values_from_the_standard_input() {
    let world = TestEnvironment::new();
    let give = |line: &str, input: &[u8]| {
        let mut process = world
            .bowline(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        process.stdin.take().unwrap().write_all(input).unwrap();
        world.told(line, &process.wait_with_output().unwrap())
    };
    let large = vec![b'x'; 300 * 1024];
    let text = [
        give("memory context set shared_data.note -", b"a line\n"),
        give("memory context append shared_data.list -", b"{\"n\": 1}"),
        world.run("memory context get shared_data"),
        give("memory context set shared_data.large -", &large),
        give("memory agent append scout cache.odd -", b"\xff\xfe"),
        world.run("memory context get shared_data"),
    ];
    check!(text.join("\n"));
}

/// What is advised can be pasted where the reader stands.
#[test]
fn advice_names_the_folder_of_a_memory_elsewhere() {
    let world = TestEnvironment::new();
    world.quietly("memory --dir 'my notes' task new T --step name=a", 0);
    let status = world.json("memory --dir 'my notes' status --json", 0);
    let advised = status["next"][0].as_str().unwrap();
    assert_eq!(advised, "bowline memory --dir 'my notes' step start 1");
    world.quietly(advised.strip_prefix("bowline ").unwrap(), 0);
}

#[test]
fn a_history_that_was_removed_comes_back_and_is_told() {
    let world = TestEnvironment::new();
    world.quietly("memory task new First", 0);
    std::fs::remove_file(world.path(".claude/memory/task-history.json")).unwrap();
    let talk = world.talk("memory task finish", 0);
    assert!(
        talk.contains("note[restored]: the file was missing: "),
        "{talk}"
    );
}
