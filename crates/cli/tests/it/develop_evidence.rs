//! Seal and evidence: what makes them stale, signatures, limits, and commands that outlive nobody.

use crate::environment::TestEnvironment;
use bowline_test_support::wait_until;
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

const STATE: &str = ".develop-workflow/state.json";
const BOUND: Duration = Duration::from_secs(20);

fn evidence(world: &TestEnvironment) -> Vec<Value> {
    let text = std::fs::read_to_string(world.run_folder().join("evidence.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A run in IMPLEMENT with everything passed but `architect_verified`.
fn implemented() -> TestEnvironment {
    let world = TestEnvironment::reviewed();
    for name in ["review.ok", "build.ok", "code.ok"] {
        world.write(name, "");
    }
    world.quietly("develop gate pass review_clean_pass", 0);
    world.quietly("develop implement", 0);
    for id in ["cp-1", "cp-2"] {
        world.quietly(&format!("develop checkpoint start {id}"), 0);
        world.quietly(&format!("develop checkpoint pass {id}"), 0);
    }
    world
}

#[test]
fn evidence_says_what_was_run_and_on_what() {
    let world = implemented().with("SERVICE_TOKEN", "open-sesame");
    world.write(
        "bowline.toml",
        "[develop]\nenvironment = [\"SERVICE_TOKEN\"]\n[develop.gates.architect_verified]\nrun = \"echo $SERVICE_TOKEN; seq 5000\"\n",
    );
    world.quietly("develop seal", 0);
    world.quietly("develop gate pass architect_verified", 0);
    let lines = evidence(&world);
    let last = lines.last().unwrap();
    assert_eq!(last["gate"], "architect_verified");
    assert_eq!(last["source"], "sealed");
    assert_eq!(last["exit_code"], 0);
    assert_eq!(last["by"], "person");
    assert_eq!(last["output_bytes"], 23_893 + 12, "{last}");
    let tail = last["output_tail"].as_str().unwrap();
    assert!(tail.ends_with("4999\n5000\n") && tail.len() <= 4096);
    assert!(last["tree"].as_str().unwrap().starts_with("git:"));
    assert!(
        !world.read(STATE).contains("evidence"),
        "not in the state file"
    );
    // A secret near the end is masked.
    world.quietly("develop gate reset architect_verified", 0);
    world.write(
        "bowline.toml",
        "[develop]\nenvironment = [\"SERVICE_TOKEN\"]\n[develop.gates.architect_verified]\nrun = \"echo $SERVICE_TOKEN\"\n",
    );
    world.quietly("develop seal", 0);
    world.quietly("develop gate pass architect_verified", 0);
    assert_eq!(evidence(&world).last().unwrap()["output_tail"], "***\n");
}

#[test]
fn a_changed_sealed_file_makes_everything_stale_until_it_is_sealed_again() {
    let world = implemented();
    let told = |world: &TestEnvironment| {
        world.session(&[
            "develop gate pass architect_verified",
            "verify",
            "develop pr --lang ko",
        ])
    };
    world.quietly("develop gate pass architect_verified", 0);
    world.write("tests/crossing.txt", "nothing is tested\n");
    world.write("tests/new.txt", "\n");
    let stale = told(&world);
    world.quietly("develop seal", 0);
    world.quietly("develop gate reset architect_verified", 0);
    world.quietly("develop gate pass architect_verified", 0);
    check!(format!(
        "{stale}\n{}",
        world.session(&["develop pr", "verify", "history -n 2"])
    ));
}

#[test]
fn an_agent_cannot_choose_the_command_by_editing_the_policy_or_the_seal() {
    let world = implemented();
    std::fs::remove_file(world.path("build.ok")).unwrap();
    let seal = world.run_folder().join("seal.json");
    let agent = world.with("CLAUDECODE", "1");
    let honest = agent.read("bowline.toml");
    agent.write("bowline.toml", honest.replace("test -f build.ok", "true"));
    let policy = agent.run("develop gate pass architect_verified");
    agent.write("bowline.toml", honest);
    let text = std::fs::read_to_string(&seal).unwrap();
    std::fs::write(&seal, text.replace("test -f build.ok", "true")).unwrap();
    let forged = agent.run("develop gate pass architect_verified");
    check!(format!("{policy}\n{forged}"));
}

#[test]
fn the_tree_counts() {
    let world = implemented();
    world.quietly("develop gate pass architect_verified", 0);
    world.write("notes.txt", "one more thing\n");
    let stale = world.run("develop pr");
    world.quietly("develop gate reset architect_verified", 0);
    world.quietly("develop gate pass architect_verified", 0);
    check!(format!(
        "{stale}\n{}",
        world.session(&["develop pr", "verify"])
    ));
}

#[test]
fn verify_looks_at_the_tree_and_leaves_the_index_alone() {
    let world = implemented();
    world.git(&["add", "tests"]);
    world.quietly("develop gate pass architect_verified", 0);
    let index = std::fs::read(world.path(".git/index")).unwrap();
    let objects = |world: &TestEnvironment| {
        world
            .everything()
            .keys()
            .filter(|path| path.to_string_lossy().contains("/objects/"))
            .count()
    };
    let before = objects(&world);
    let good = world.run("verify");
    world.write("src/ferry.txt", "changed after the tests\n");
    let untracked = world.run("verify");
    std::fs::remove_file(world.path("src/ferry.txt")).unwrap();
    // What git ignores is no part of the tree.
    world.write(".develop-workflow/notes", "mine\n");
    let ignored = world.run("verify");
    assert_eq!(index, std::fs::read(world.path(".git/index")).unwrap());
    assert_eq!(
        before,
        objects(&world),
        "no object was left in the repository"
    );
    check!([good, untracked, ignored].join("\n"));
}

#[test]
fn signatures() {
    let world = implemented();
    let unsigned = {
        world.quietly("develop gate pass architect_verified", 0);
        world.write("../home/key", "a key nobody guesses\n");
        world.write("../home/other", "another key nobody guesses\n");
        world.run("verify --key ../home/key")
    };
    let key = world.root().join("home/key");
    let world = world.with("BOWLINE_EVIDENCE_KEY_FILE", key.to_str().unwrap());
    world.quietly("develop back REVIEW", 0);
    world.quietly("develop gate pass review_clean_pass", 0);
    let told = world.session(&[
        "verify --key ../home/key",
        "verify --key ../home/other",
        "verify --key ../home/nowhere",
    ]);
    // A line that was changed by hand has a signature no more.
    let path = world.run_folder().join("evidence.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("test -f review.ok", "test -f /")).unwrap();
    check!([unsigned, told, world.run("verify --key ../home/key")].join("\n"));
}

#[test]
fn verify_needs_evidence() {
    let world = TestEnvironment::new();
    let nothing = world.run("verify");
    let golden = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../formats/tests/golden/develop.json"
    );
    world.write(STATE, std::fs::read_to_string(golden).unwrap());
    let unknown = world.session(&["verify", "verify --lang ko", "verify --json"]);
    let other = TestEnvironment::new();
    other.quietly("develop start 'Ferry times'", 0);
    check!([nothing, unknown, other.run("verify")].join("\n"));
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    let world = TestEnvironment::repository();
    let policy = world.read("bowline.toml");
    let slow = policy
        .replacen("[develop]\n", "[develop]\ntimeout = \"1s\"\n", 1)
        .replace(
            "test -f review.ok",
            "echo $$ > .develop-workflow/pid; sleep 1000 & wait",
        );
    world.write("bowline.toml", slow);
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review", 0);
    check!(world.run("develop gate pass review_clean_pass"));
    assert_eq!(evidence(&world).last().unwrap()["exit_code"], 124);
    assert!(
        wait_until(BOUND, || !alive(&world)),
        "the command still runs"
    );
}

/// Where a command writes its id: in the tree it would be a change.
const PID: &str = ".develop-workflow/pid";

/// Whether the process that wrote its id still runs.
fn alive(world: &TestEnvironment) -> bool {
    let pid = world.read(PID);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn a_command_does_not_outlive_a_bowline_that_is_killed() {
    let world = TestEnvironment::repository();
    let policy = world.read("bowline.toml");
    world.write(
        "bowline.toml",
        policy.replace(
            "test -f review.ok",
            "echo $$ > .develop-workflow/pid; sleep 1000",
        ),
    );
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review", 0);
    let mut waiting = world
        .bowline("develop gate pass review_clean_pass")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = || world.path(PID).exists() && !world.read(PID).is_empty();
    assert!(wait_until(BOUND, begun), "the command never began");
    assert!(alive(&world));
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(
        wait_until(BOUND, || !alive(&world)),
        "the command still runs"
    );
    let state = world.read_json(STATE);
    assert_eq!(state["gates"]["review_clean_pass"], false);
}

#[test]
fn a_broken_policy_is_named_before_anything_happens() {
    let world = TestEnvironment::repository();
    world.write("bowline.toml", "[develop.gates.reviewed]\nrun = \"true\"\n");
    let told = world.session(&["develop start 'Ferry times'", "develop start 'x' --json"]);
    assert!(!world.path(STATE).exists());
    check!(told);
}
