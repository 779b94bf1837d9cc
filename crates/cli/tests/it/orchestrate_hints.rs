//! Every verb of an orchestration in every state a plan of two phases can be brought to: what is refused says what to do instead,
//! changes nothing, and none of the commands it names is refused in turn.

use crate::environment::TestEnvironment;
use serde_json::Value;

const PLAN: &str = "# TASKS: P\n## Phase 0: A\n### [ ] T0.1: Quay\n### [ ] T0.2: Boat\n- depends on: T0.1\n\
                    ## Phase 1: B\n### [ ] T1.1: Crew\n";
const SETTINGS: &str = "[defaults]\nagent = \"script\"\n[agent.script]\ncommand = [\"true\"]\n[orchestrate]\nbackoff = 0\n";

/// What brings a plan to each state, one verb after the other.
const STATES: [(&str, &[&str]); 9] = [
    ("a plan alone", &[]),
    ("begun", &["init"]),
    ("one at work", &["init", "start T0.1"]),
    (
        "one to be tried again",
        &["init", "start T0.1", "fail T0.1 --retry --reason given"],
    ),
    (
        "one failed",
        &["init", "start T0.1", "fail T0.1 --reason given"],
    ),
    ("one done", &["init", "start T0.1", "complete T0.1"]),
    (
        "a phase done",
        &[
            "init",
            "start T0.1",
            "complete T0.1",
            "start T0.2",
            "complete T0.2",
        ],
    ),
    (
        "a phase finished",
        &[
            "init",
            "start T0.1",
            "complete T0.1",
            "start T0.2",
            "complete T0.2",
            "phase finish 0 --no-git",
        ],
    ),
    (
        "all done",
        &[
            "init",
            "force-complete T0.1",
            "force-complete T0.2",
            "phase finish 0 --no-git",
            "force-complete T1.1",
            "phase finish 1 --no-git",
        ],
    ),
];

const VERBS: [&str; 27] = [
    "init",
    "next",
    "status",
    "verify",
    "rebuild",
    "graph",
    "timeline",
    "rescue",
    "start T0.1",
    "start T0.2",
    "start T1.1",
    "start T9.9",
    "complete T0.1",
    "complete T0.2",
    "complete T9.9",
    "fail T0.1 --reason given",
    "fail T0.2 --reason given",
    "retry T0.1",
    "retry T0.2",
    "force-complete T0.1",
    "force-complete T9.9",
    "phase finish 0 --no-git",
    "phase finish 1 --no-git",
    "phase finish 7 --no-git",
    "pause",
    "continue",
    "stop",
];

fn world(verbs: &[&str]) -> TestEnvironment {
    let world = TestEnvironment::new();
    world.write("TASKS.md", PLAN);
    world.write("bowline.toml", SETTINGS);
    for verb in verbs {
        world.quietly(&format!("orchestrate {verb}"), 0);
    }
    world
}

#[test]
fn no_hint_of_an_orchestration_is_refused_itself() {
    let (mut refused, mut hints) = (0, 0);
    for (name, before) in STATES {
        let world = world(before);
        let whole = world.everything();
        for verb in VERBS {
            let cell = format!("{name}: {verb}");
            let line = format!("--json --dry-run orchestrate {verb}");
            let output = world.bowline(&line).output().unwrap();
            if matches!(output.status.code(), Some(0)) {
                continue;
            }
            refused += 1;
            let told = world.told(&line, &output);
            assert_eq!(
                world.everything(),
                whole,
                "{cell} changed something\n{told}"
            );
            let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) else {
                panic!("{cell}\n{told}");
            };
            // `next` and `verify` answer, and only say by their code that not all is well.
            let Some(hint) = answer["error"]["hint"].as_str() else {
                assert!(["next", "verify"].contains(&verb), "{cell}\n{told}");
                continue;
            };
            assert!(!hint.is_empty(), "{cell}\n{told}");
            hints += world.try_hints(&cell, hint);
        }
    }
    assert!(
        refused > 60 && hints > 20,
        "{refused} refused, {hints} hints"
    );
}
