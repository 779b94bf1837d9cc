//! `bowline` alone and `bowline status`.

use crate::environment::{THINKING, TestEnvironment};

#[test]
fn an_empty_folder() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "",
        "--lang ko",
        "--json",
        "status",
        "status --json",
        "status thinking",
        "status thinking --lang ko",
        "status notes.txt",
        "thinking status --json",
    ]));
    assert!(world.everything().is_empty(), "looking made files");
}

#[test]
fn one_file() {
    let world = TestEnvironment::planned();
    let before = world.everything();
    check!(world.session(&[
        "",
        "--lang ko",
        "--json",
        "status",
        "status --lang ko",
        "status thinking_state.json",
        "thinking status --json",
    ]));
    assert_eq!(before, world.everything(), "looking changed something");
}

#[test]
fn several_files() {
    let world = TestEnvironment::new();
    world.quietly("thinking new --dir first one --title First", 0);
    world.quietly("thinking new --dir deep/below/second two --title Second", 0);
    check!(world.session(&["", "status", "status first", "--json"]));
}

#[test]
fn a_damaged_file_among_others() {
    let world = TestEnvironment::new();
    world.quietly("thinking new --dir first one --title First", 0);
    world.quietly("thinking new --dir second two --title Second", 0);
    world.write("first/thinking_state.json", "{ \"task_id\": \"on");
    check!(world.session(&[
        "",
        "--lang ko",
        "--json",
        "status first",
        "status first --json"
    ]));
}

#[test]
fn the_language_comes_from_the_locale() {
    let korean = TestEnvironment::new().with("LANG", "ko_KR.UTF-8");
    let mixed = TestEnvironment::new()
        .with("LANG", "ko_KR.UTF-8")
        .with("LC_ALL", "en_GB.UTF-8");
    let mut text = korean.session(&["", "--lang en"]);
    text.push_str(&mixed.run(""));
    check!(text);
}

#[test]
fn no_colour_where_nobody_looks() {
    let world = TestEnvironment::planned();
    for name in ["", "status", "history", "doctor"] {
        assert!(!world.run(name).contains('\u{1b}'), "{name} is coloured");
    }
}

#[test]
fn odd_fields_are_told_and_kept_until_something_changes() {
    let world = TestEnvironment::planned();
    let odd = world
        .read(THINKING)
        .replace("\"in_progress\"", "\"running\"")
        .replace(
            "\"progress_percentage\": 25",
            "\"progress_percentage\": \"many\"",
        )
        .replace("\"goal\":", "\"owner\": \"mina\",\n  \"goal\":");
    world.write(THINKING, &odd);
    let looked = world.session(&["", "status --lang ko", "status --json"]);
    assert_eq!(world.read(THINKING), odd, "looking changed the file");
    let changed = world.run("thinking start selection");
    check!(format!("{looked}\n{changed}"));
    assert!(world.read(THINKING).contains("\"owner\": \"mina\""));
}
