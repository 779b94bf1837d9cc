//! `bowline develop`: whole runs, their words in both languages, and what an agent may not.

use crate::environment::TestEnvironment;
use serde_json::Value;

const STATE: &str = ".develop-workflow/state.json";

fn golden(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/tests/golden/");
    std::fs::read_to_string(format!("{folder}{name}.json")).unwrap()
}

fn parsed(text: &str) -> Value {
    let line = text.lines().find(|line| line.starts_with('{')).unwrap();
    serde_json::from_str(line).unwrap()
}

#[test]
fn a_whole_run() {
    let world = TestEnvironment::repository();
    let mut told = world.session(&[
        "develop start 'Ferry times'",
        "develop review --checkpoint cp-1 --checkpoint cp-2",
        "develop gate pass review_clean_pass",
    ]);
    world.write("review.ok", "");
    told += &world.session(&[
        "develop gate pass review_clean_pass",
        "develop implement",
        "develop checkpoint start cp-1",
        "develop checkpoint pass cp-1 --run 'echo two tests failed; exit 1'",
        "develop checkpoint pass cp-1 --run true",
        "develop checkpoint start cp-2",
        "develop checkpoint fail cp-2 --class DESIGN_MISMATCH",
        "develop resume",
        "develop checkpoint start cp-2 --override 'the design was changed'",
        "develop checkpoint pass cp-2",
        "develop gate pass architect_verified",
    ]);
    world.write("build.ok", "");
    world.write("code.ok", "");
    told += &world.session(&[
        "develop gate pass architect_verified",
        "develop pr",
        "develop gate pass re_review_clean",
        "verify",
        "develop done",
        "develop resume",
        "develop start 'Harbour map'",
        "develop status",
    ]);
    check!(told);
    let kept: Vec<_> = std::fs::read_dir(world.path(".develop-workflow"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(kept, ["state.json"], "nothing else lives in the folder");
}

#[test]
fn a_whole_run_in_korean() {
    let world = TestEnvironment::repository().with("LANG", "ko_KR.UTF-8");
    world.write("review.ok", "");
    check!(world.session(&[
        "develop start '뱃시간'",
        "develop start '다른 기능'",
        "develop resume",
        "develop review --checkpoint cp-1",
        "develop resume",
        "develop gate pass review_clean_pass",
        "develop implement --strategy direct",
        "develop checkpoint start cp-1",
        "develop resume",
        "develop gate pass architect_verified",
        "develop pr",
        "develop checkpoint pass cp-9",
        "develop checkpoint pass cp-1",
        "develop gate pass architect_verified",
        "develop back REVIEW",
        "develop back PR",
        "develop gate reset review_clean_pass",
        "develop implement",
        "develop adopt",
        "develop seal",
        "develop reset",
        "develop status",
    ]));
}

#[test]
fn what_an_agent_may_not() {
    let world = TestEnvironment::repository();
    world.write(
        "bowline.toml",
        "[develop.gates.re_review_clean]\nrun = \"true\"\n",
    );
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review --checkpoint cp-1", 0);
    let agent = world.with("CLAUDECODE", "1");
    let before = agent.everything();
    let told = agent.session(&[
        "develop start 'Another' --fresh",
        "develop back DESIGN",
        "develop reset",
        "develop seal",
        "undo develop",
        "restore develop 1",
        "develop gate pass review_clean_pass",
        "develop gate pass review_clean_pass --run true",
        "develop gate pass review_clean_pass --by-hand 'trust me'",
        "develop gate pass review_clean_pass --by-hand 'trust me' --lang ko",
        "develop resume",
    ]);
    assert_eq!(before, agent.everything(), "a refusal changed something");
    check!(told);
}

#[test]
fn an_agent_passes_a_gate_by_the_sealed_command_only() {
    let world = TestEnvironment::reviewed();
    world.write("review.ok", "");
    let agent = world.with("CLAUDECODE", "1");
    check!(agent.session(&[
        "develop gate pass review_clean_pass --run 'exit 7'",
        "develop status",
    ]));
}

#[test]
fn a_run_an_agent_began_has_no_seal() {
    let world = TestEnvironment::repository().with("CLAUDECODE", "1");
    world.write("review.ok", "");
    check!(world.session(&[
        "develop start 'Ferry times'",
        "develop review",
        "develop gate pass review_clean_pass",
        "develop resume",
    ]));
}

#[test]
fn the_file_has_the_documented_shape_and_its_time_moves_at_boundaries() {
    let world = TestEnvironment::repository().with("TZ", "Asia/Seoul");
    world.quietly("develop start 'Ferry times'", 0);
    let begun = world.read(STATE);
    let later = world.with("BOWLINE_CLOCK", "2026-03-01T10:30:00Z");
    later.quietly("develop seal", 0);
    assert_eq!(begun, later.read(STATE), "a seal is no boundary");
    later.quietly("develop review --checkpoint cp-1", 0);
    check!(format!("{begun}{}", later.read(STATE)));
}

#[test]
fn json_of_every_sort() {
    let world = TestEnvironment::repository();
    world.write("review.ok", "");
    check!(world.session(&[
        "develop start 'Ferry times' --json",
        "develop start 'Another' --json",
        "develop review --checkpoint cp-1 --json",
        "develop gate pass review_clean_pass --json",
        "develop implement --json",
        "develop checkpoint start cp-1 --json",
        "develop checkpoint pass cp-1 --run false --json",
        "develop resume --json",
        "develop gate pass architect_verified --json",
        "develop status --json",
        "verify --json --key nowhere",
        "develop reset --json",
        "develop resume --json",
    ]));
}

#[test]
fn a_dry_run_writes_and_runs_nothing() {
    let world = TestEnvironment::repository();
    let told = world.run("--dry-run develop start 'Ferry times'");
    assert!(!world.path(".develop-workflow").exists());
    assert!(!world.root().join("home/state").exists(), "no seal either");
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review --checkpoint cp-1", 0);
    let before = world.everything();
    let more = world.session(&[
        "--dry-run develop gate pass review_clean_pass",
        "--dry-run develop gate pass review_clean_pass --json",
        "--dry-run develop seal",
        "--dry-run develop reset",
    ]);
    assert_eq!(before, world.everything());
    check!(format!("{told}\n{more}"));
}

#[test]
fn gates_phase_and_checkpoints_of_an_outside_edit_are_not_believed() {
    let world = TestEnvironment::reviewed();
    let edited = world
        .read(STATE)
        .replace("\"phase\": \"REVIEW\"", "\"phase\": \"PR\"")
        .replace("false", "true")
        .replace("pending", "passed")
        .replace("\"iteration\": 0", "\"iteration\": 1")
        .replace("Ferry times", "Ferry times and prices");
    world.write(STATE, &edited);
    check!(world.session(&[
        "develop status",
        "develop status --lang ko",
        "develop done",
        "develop implement",
        "develop gate reset review_clean_pass",
        "develop status",
        "history -n 2",
    ]));
    assert!(world.read(STATE).contains("Ferry times and prices"));
    assert!(!world.read(STATE).contains("true"));
}

#[test]
fn a_file_that_is_gone_is_damage_while_the_run_is_open() {
    let world = TestEnvironment::reviewed();
    world.write("review.ok", "");
    world.quietly("develop gate pass review_clean_pass", 0);
    std::fs::remove_file(world.path(STATE)).unwrap();
    check!(world.session(&[
        "develop status",
        "develop implement",
        "develop start 'Another'",
        "develop status --lang ko",
        "doctor",
        "doctor --repair",
        "develop status",
        "develop implement",
    ]));
}

#[test]
fn a_torn_file_is_repaired_by_the_doctor_only_and_with_closed_gates() {
    let world = TestEnvironment::reviewed();
    world.write("review.ok", "");
    world.quietly("develop gate pass review_clean_pass", 0);
    world.write(STATE, "{ \"phase\": \"PR\", ");
    check!(world.session(&[
        "develop implement",
        "develop resume --json",
        "doctor --repair",
        "develop status",
    ]));
}

#[test]
fn a_journal_that_cannot_be_read_opens_nothing() {
    let world = TestEnvironment::reviewed();
    let forged = world.read(STATE).replace("false", "true");
    let journal = world.side().join("state.json.journal.jsonl");
    std::fs::write(journal, "what?\n").unwrap();
    world.write(STATE, forged);
    check!(world.session(&[
        "develop implement",
        "develop status",
        "doctor --repair",
        "develop status",
    ]));
}

#[test]
fn going_back_in_time_opens_no_gate() {
    let world = TestEnvironment::implementing();
    for line in ["undo develop", "restore develop 3"] {
        world.quietly(line, 0);
        let state = parsed(&world.run("develop status --json"))["state"].clone();
        assert_eq!(state["phase"], "REVIEW", "{line}");
        assert_eq!(state["gates"]["review_clean_pass"], false, "{line}");
    }
}

#[test]
fn a_run_of_another_program_is_believed_until_it_is_adopted() {
    let world = TestEnvironment::new();
    world.write(STATE, golden("develop"));
    check!(world.session(&[
        "develop resume",
        "develop checkpoint pass cp-2",
        "develop adopt",
        "develop adopt",
        "develop checkpoint start cp-4",
        "develop resume",
    ]));
}

#[test]
fn a_finished_run_may_be_removed_by_anyone() {
    let world = TestEnvironment::new();
    world.quietly("develop start 'Ferry times'", 0);
    for (verb, gate) in [
        ("review", "review_clean_pass"),
        ("implement", "architect_verified"),
        ("pr", "re_review_clean"),
    ] {
        world.quietly(&format!("develop {verb}"), 0);
        world.quietly(
            &format!("develop gate pass {gate} --by-hand 'looked at it'"),
            0,
        );
    }
    world.quietly("develop done", 0);
    std::fs::remove_file(world.path(STATE)).unwrap();
    check!(world.session(&[
        "",
        "develop status",
        "develop start 'Harbour map'",
        "develop status"
    ]));
}

#[test]
fn checkpoints_come_from_a_contract() {
    let world = TestEnvironment::new();
    world.write(
        "docs/design.md",
        "# Ferry times\n\n```yaml\ncheckpoints:\n  - id: checkpoint-1\n    validation: {command: \"test -f one\", \
         expected: all tests pass}\n  - id: checkpoint-2\n    dependencies: [checkpoint-1]\n```\n",
    );
    world.write(
        "docs/circle.yaml",
        "checkpoints: [{id: a, dependencies: [a]}]\n",
    );
    world.write("docs/empty.md", "# Nothing\n");
    world.quietly("develop start 'Ferry times'", 0);
    check!(world.session(&[
        "develop review --contract docs/circle.yaml",
        "develop review --contract docs/empty.md",
        "develop review --contract docs/nowhere.md",
        "develop review --contract docs/design.md",
        "develop review --contract docs/design.md --checkpoint cp-3",
        "develop status",
    ]));
}

#[test]
fn the_strategy_comes_from_flag_settings_or_facts() {
    let cases: [(&str, &str, &str, &str, &str); 7] = [
        ("--checkpoint a", "", "", "", "direct"),
        ("--checkpoint a b", "", "", "", "subagent"),
        ("--checkpoint a b c d e", "", "1", "", "agent-teams"),
        ("--checkpoint a b c d e", "", "", "", "subagent"),
        ("--checkpoint a b", "direct", "", "", "direct"),
        (
            "--checkpoint a b",
            "direct",
            "",
            "--strategy agent-teams",
            "agent-teams",
        ),
        ("--contract chain.yaml", "auto", "", "", "direct"),
    ];
    for (review, settings, teams, flag, wanted) in cases {
        let world = TestEnvironment::new().with("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", teams);
        world.write(
            "chain.yaml",
            "checkpoints: [{id: a}, {id: b, dependencies: [a]}]\n",
        );
        if !settings.is_empty() {
            world.write(
                ".develop-workflow.yaml",
                format!("develop:\n  implement:\n    strategy: {settings}\n"),
            );
        }
        world.quietly("develop start 'Ferry times'", 0);
        world.quietly(&format!("develop review {review}"), 0);
        world.quietly(
            "develop gate pass review_clean_pass --by-hand 'read by three'",
            0,
        );
        let told = world.run(&format!("develop implement {flag} --json"));
        assert_eq!(
            parsed(&told)["state"]["strategy"],
            wanted,
            "{review} {settings} {flag}"
        );
    }
}

#[test]
fn a_folder_that_git_shows_is_warned_about() {
    let world = TestEnvironment::repository();
    world.write(".gitignore", "target/\n");
    check!(world.session(&[
        "develop start 'Ferry times' --lang ko --json",
        "develop reset --dry-run --json",
    ]));
}

#[test]
fn a_linked_worktree_shares_the_run() {
    let world = TestEnvironment::reviewed();
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "start"]);
    world.git(&["worktree", "add", "-q", "../side"]);
    let forged = world.read(STATE).replace("false", "true");
    let shared = world.run("-C ../side develop resume");
    // A second file in the other worktree is the same run, and its gates are not believed.
    let side = world.root().join("side/.develop-workflow");
    std::fs::create_dir(&side).unwrap();
    std::fs::write(side.join("state.json"), forged).unwrap();
    check!(format!(
        "{shared}\n{}",
        world.run("-C ../side develop implement")
    ));
}

#[test]
fn a_project_may_allow_fewer_attempts() {
    let world = TestEnvironment::new();
    let settings = ".develop-workflow.yaml";
    world.write(settings, "develop:\n  implement:\n    max_retries: 2\n");
    world.quietly("develop start 'Ferry times'", 0);
    world.quietly("develop review --checkpoint cp-1", 0);
    world.quietly("develop gate pass review_clean_pass --by-hand 'read'", 0);
    world.quietly("develop implement", 0);
    world.quietly("develop checkpoint start cp-1", 0);
    let told = world.session(&[
        "develop checkpoint fail cp-1",
        "develop checkpoint pass cp-1 --run false",
        "develop checkpoint start cp-1",
    ]);
    world.write(settings, "develop: [");
    check!(format!(
        "{told}\n{}",
        world.run("develop checkpoint fail cp-1")
    ));
}
