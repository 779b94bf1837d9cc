//! An agent that forgets everything between two commands: what `resume` says is all it has.

use crate::environment::{TestEnvironment, as_a_person};
use serde_json::Value;

const ROUNDS: usize = 20;

/// What comes next, from `resume --json` alone.
fn asked(world: &TestEnvironment) -> (String, bool) {
    let output = world.quietly("develop resume --json", 0);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let command = answer["next"][0].as_str().unwrap().to_owned();
    (command, answer["needsPerson"].as_bool().unwrap())
}

fn design(checkpoints: usize) -> String {
    let one = |number| {
        format!(
            "  - id: checkpoint-{number}\n    validation: {{command: \"test -f 'part {number}'\"}}\n"
        )
    };
    let all: String = (1..=checkpoints).map(one).collect();
    format!("# Ferry times\n\n```yaml\ncheckpoints:\n{all}```\n")
}

#[test]
fn twenty_rounds() {
    if !as_a_person() {
        return;
    }
    let world = TestEnvironment::repository();
    for name in ["review.ok", "build.ok", "code.ok"] {
        world.write(name, "");
    }
    for number in 1..=7 {
        world.write(&format!("part {number}"), "");
    }
    world.write("design.md", design(7));
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review --contract design.md", 0);
    let agent = world.with("CLAUDECODE", "1");
    let mut seen = Vec::new();
    for round in 1..=ROUNDS {
        let (command, needs_person) = asked(&agent);
        assert!(!needs_person, "round {round}: {command}");
        let line = command.strip_prefix("bowline ").unwrap();
        // Through a shell, as an agent would.
        let bowline = env!("CARGO_BIN_EXE_bowline");
        let ended = agent
            .program("sh")
            .args(["-c", &format!("'{bowline}' {line}")])
            .output()
            .unwrap();
        assert!(
            ended.status.success(),
            "round {round}: {command}\n{ended:?}"
        );
        seen.push(command);
    }
    assert_eq!(
        asked(&agent).0,
        "bowline develop start FEATURE",
        "the run is over"
    );
    check!(seen.join("\n"));
}

#[test]
fn what_takes_a_person_says_so() {
    if !as_a_person() {
        return;
    }
    let world = TestEnvironment::new();
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review --checkpoint cp-1", 0);
    let mut seen = Vec::new();
    let mut round = |world: &TestEnvironment| {
        let (command, needs_person) = asked(world);
        assert!(needs_person, "{command}");
        let line = command.strip_prefix("bowline ").unwrap().to_owned();
        seen.push(command);
        line
    };
    let line = round(&world);
    let refused = world
        .bowline(&line)
        .env("CLAUDECODE", "1")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1), "an agent is refused");
    world.quietly(&line, 0);
    world.quietly("develop implement", 0);
    world.quietly("develop checkpoint start cp-1", 0);
    world.quietly("develop checkpoint fail cp-1 --class env_issue", 0);
    let line = round(&world);
    world.quietly(&line, 0);
    world.quietly("develop gate reset review_clean_pass", 0);
    let line = round(&world);
    world.quietly(&line, 0);
    check!(seen.join("\n"));
}
