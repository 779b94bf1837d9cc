//! An agent that forgets everything between two commands: what `resume` says is all it has.

use crate::environment::TestEnvironment;
use serde_json::Value;
use std::io::Write as _;
use std::process::Stdio;

const ROUNDS: usize = 20;
const STATE: &str = ".develop-workflow/state.json";

/// What comes next, from `resume --json` alone.
fn asked(world: &TestEnvironment) -> (String, bool) {
    let answer = world.json("develop resume --json", 0);
    let command = answer["next"][0].as_str().unwrap().to_owned();
    (command, answer["needsPerson"].as_bool().unwrap())
}

/// The card a client gets from the hook after it has compacted its conversation.
fn card(world: &TestEnvironment) -> String {
    let message = serde_json::json!({
        "session_id": "s", "cwd": world.path(""), "hook_event_name": "SessionStart", "source": "compact",
    });
    let mut hook = world.hook(&[env!("CARGO_BIN_EXE_bowline"), "hook"]);
    hook.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut hook = hook.spawn().unwrap();
    let mut input = hook.stdin.take().unwrap();
    input.write_all(message.to_string().as_bytes()).unwrap();
    drop(input);
    let output = hook.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let words = &answer["hookSpecificOutput"]["additionalContext"];
    words.as_str().unwrap().to_owned()
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
        let card = card(&agent);
        let words = card.split_whitespace().count();
        assert!(words <= 300, "round {round}: {words} words\n{card}");
        let state = agent.read_json(STATE);
        let phase = state["phase"].as_str().unwrap();
        let stands = format!("Develop run 'Ferry times', phase {phase}.");
        assert!(card.contains(&stands), "round {round}:\n{card}");
        let next = card.lines().find_map(|line| line.strip_prefix("Next: "));
        assert_eq!(next, Some(command.as_str()), "round {round}:\n{card}");
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
