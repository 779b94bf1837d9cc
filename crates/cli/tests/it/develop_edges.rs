//! Develop runs at their edges: files of others, empty commands, what was sealed and changed since.

use crate::environment::TestEnvironment;
use serde_json::Value;

const STATE: &str = ".develop-workflow/state.json";

/// The file of another program, in a phase.
fn foreign(phase: &str) -> TestEnvironment {
    let world = TestEnvironment::repository();
    let gates =
        r#"{"review_clean_pass": true, "architect_verified": true, "re_review_clean": false}"#;
    let text = format!(
        r#"{{"phase": "{phase}", "feature": "ferry", "started_at": "2026-03-01T09:00:00", "updated_at": "2026-03-01T09:00:00", "gates": {gates}, "checkpoints": {{}}}}"#
    );
    world.write(STATE, text);
    world
}

fn state(world: &TestEnvironment) -> Value {
    world.read_json(STATE)
}

#[test]
fn a_gate_of_another_programs_run_is_passed_without_taking_it_over() {
    for proof in ["--by-hand 'looked at it'", "--run true"] {
        let world = foreign("PR");
        world.quietly(&format!("develop gate pass re_review_clean {proof}"), 0);
        assert_eq!(state(&world)["gates"]["re_review_clean"], true, "{proof}");
        world.quietly("develop status", 0);
        world.quietly("develop done", 0);
    }
    // A red command opens nothing and breaks nothing.
    let world = foreign("PR");
    world.quietly("develop gate pass re_review_clean --run false", 1);
    world.quietly("develop status", 0);
    assert_eq!(state(&world)["gates"]["architect_verified"], true);
    world.quietly("develop seal", 0);
    world.quietly("develop status", 0);
}

#[test]
fn a_finished_run_of_another_program_makes_way() {
    let world = foreign("DONE");
    world.quietly("develop start tides", 0);
    assert_eq!(state(&world)["feature"], "tides");
    assert_eq!(state(&world)["phase"], "DESIGN");
}

#[test]
fn an_empty_command_shows_nothing() {
    let world = TestEnvironment::repository();
    world.quietly("develop start ferry", 0);
    world.quietly("develop review --checkpoint cp-1,cp-2 --checkpoint cp-3", 0);
    let ids: Vec<String> = state(&world)["checkpoints"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(ids, ["cp-1", "cp-2", "cp-3"]);
    let before = world.everything();
    for line in [
        "develop gate pass review_clean_pass --run ''",
        "develop gate pass review_clean_pass --run '  '",
        "develop checkpoint pass cp-1 --run ''",
    ] {
        let told = world.talk(line, 2);
        assert!(told.contains("the command of --run is empty"), "{told}");
    }
    assert_eq!(before, world.everything());
}

#[test]
fn what_was_sealed_and_changed_is_the_next_thing_to_look_at() {
    let world = TestEnvironment::reviewed();
    world.write("review.ok", "");
    let next = |world: &TestEnvironment| {
        let told = world.json("develop resume --json", 0);
        told["next"][0].as_str().unwrap().to_owned()
    };
    assert_eq!(next(&world), "bowline develop gate pass review_clean_pass");
    let policy = world.read("bowline.toml");
    world.write("bowline.toml", format!("{policy}\n# looked at by nobody\n"));
    assert_eq!(next(&world), "bowline develop seal");
    world.quietly("develop seal", 0);
    assert_eq!(next(&world), "bowline develop gate pass review_clean_pass");
}

#[test]
fn for_an_agent_the_command_of_the_contract_decides() {
    let world = TestEnvironment::repository();
    world.write(
        "contract.yaml",
        "checkpoints:\n  - id: cp-1\n    description: tides\n    validation:\n      command: test -e tides\n",
    );
    world.quietly("develop start ferry", 0);
    world.quietly("develop review --contract contract.yaml", 0);
    world.write("review.ok", "");
    world.quietly("develop gate pass review_clean_pass", 0);
    world.quietly("develop implement", 0);
    let world = world.with("CLAUDECODE", "1");
    world.quietly("develop checkpoint start cp-1", 0);
    world.quietly("develop checkpoint pass cp-1", 1);
    world.quietly("develop checkpoint pass cp-1 --run true", 1);
    assert_eq!(state(&world)["checkpoints"]["cp-1"]["iteration"], 3);
    world.write("tides", "");
    world.quietly("develop checkpoint pass cp-1", 0);
    assert_eq!(state(&world)["checkpoints"]["cp-1"]["status"], "passed");
}
