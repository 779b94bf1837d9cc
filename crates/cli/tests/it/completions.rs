//! `completions`, `schema` and `explain`.

use crate::environment::TestEnvironment;
use bowline_test_support::{MissingRequirement, skip_test};

#[test]
fn completions_name_every_command() {
    let world = TestEnvironment::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.data(&format!("completions {shell}"), 0);
        for word in ["thinking", "doctor", "restore", "explain", "dry-run"] {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
        let path = world.path(shell);
        std::fs::write(&path, script).unwrap();
        match world.program(shell).arg("-n").arg(&path).output() {
            Ok(output) => assert!(output.status.success(), "{shell}: {output:?}"),
            Err(_) => skip_test(
                MissingRequirement::Shell,
                &format!("{shell} is not installed; its script is not parsed"),
            ),
        }
    }
}

#[test]
fn schemas_are_json() {
    let world = TestEnvironment::new();
    let names = world.data("schema", 0);
    assert!(names.lines().any(|name| name == "thinking"), "{names}");
    for name in names.lines() {
        let schema = world.json(&format!("schema {name}"), 0);
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
    }
    for line in [
        "schema knots",
        "schema knots --lang ko",
        "schema knots --json",
    ] {
        let output = world.quietly(line, 3);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("'knots'"), "{text}");
        assert!(names.lines().all(|name| text.contains(name)), "{text}");
    }
}

#[test]
fn explain() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "explain outputs_missing",
        "explain knots",
        "explain knots --lang ko"
    ]));
}
