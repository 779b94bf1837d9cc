//! `bowline develop run`.

use super::*;

pub(super) const DESIGN: &str = "\
# Ferry times

```yaml
checkpoints:
  - id: cp-1
    description: read the timetable
    validation: { command: \"test -f times.txt || { echo 'times.txt is missing'; false; }\" }
  - id: cp-2
    description: search it
    dependencies: [cp-1]
    validation: { command: \"grep -q ten times.txt\" }
```
";

pub(super) const GATES: &str = "\
[develop.gates.review_clean_pass]
run = \"test -f review.ok\"
[develop.gates.architect_verified]
run = \"test -f build.ok || { echo 'build.ok is missing'; false; }\"
[develop.gates.re_review_clean]
run = \"test -f code.ok\"
";

pub(super) fn repository(agent: &str, settings: &str) -> TestEnvironment {
    let world = project(agent, settings);
    world.git(&["init", "-q"]);
    world.write(".gitignore", ".develop-workflow/\n");
    world
}

/// A run in IMPLEMENT with the contract above.
fn implementing(agent: &str) -> TestEnvironment {
    let world = repository(agent, GATES);
    world.write("docs/design.md", DESIGN);
    world.write("review.ok", "");
    good(&world, "develop start 'Ferry times'");
    good(&world, "develop review --contract docs/design.md");
    good(&world, "develop gate pass review_clean_pass");
    good(&world, "develop implement");
    world
}

fn state(world: &TestEnvironment) -> Value {
    world.read_json(".develop-workflow/state.json")
}

#[test]
fn checkpoints_are_tried_until_their_commands_are_green() {
    let world = implementing(
        "case $BOWLINE_CHECKPOINT in cp-1) [ $BOWLINE_TRY = 2 ] && echo eight > times.txt;; cp-2) echo ten >> times.txt;; esac; exit 0",
    );
    let dry = good(&world, "--dry-run develop run");
    assert_eq!(dry, "(dry run) would start cp-1 (script)\n");
    let text = good(&world, "develop run");
    assert!(
        text.starts_with("✓ 2/2 done\n  next: bowline develop gate pass architect_verified\n"),
        "{text}"
    );
    assert!(
        text.contains("✗ cp-1 failed and is tried again: 'test -f times.txt"),
        "{text}"
    );
    let checkpoints = &state(&world)["checkpoints"];
    assert_eq!(
        checkpoints["cp-1"],
        serde_json::json!({ "status": "passed", "iteration": 2 })
    );
    assert_eq!(
        checkpoints["cp-2"],
        serde_json::json!({ "status": "passed", "iteration": 1 })
    );
    let first = seen(&world, "cp-1-1.md");
    for said in [
        "Feature: Ferry times",
        "read the timetable",
        "test -f times.txt",
        "attempt 1 of 3",
    ] {
        assert!(first.contains(said), "{said} is not in\n{first}");
    }
    assert!(seen(&world, "cp-1-2.md").contains("times.txt is missing"));
    assert!(seen(&world, "cp-2-1.md").contains("It builds on:\n- cp-1"));
    // The gate is not opened by a run that was not asked to.
    assert_eq!(state(&world)["gates"]["architect_verified"], false);
}

#[test]
fn the_third_red_attempt_asks_a_person_and_a_hopeless_one_at_once() {
    let world = implementing("exit 0");
    let (body, code) = answer(&world, "develop run --json");
    assert_eq!(code, Some(1), "{body}");
    assert_eq!(body["failed"][0]["id"], "cp-1");
    assert_eq!((starts(&world, "cp-1"), starts(&world, "cp-2")), (3, 0));
    let checkpoint = &state(&world)["checkpoints"]["cp-1"];
    assert_eq!(
        (&checkpoint["status"], &checkpoint["iteration"]),
        (&"escalated".into(), &3.into())
    );
    let (text, code) = ran(&world, "develop run");
    assert_eq!((code, starts(&world, "cp-1")), (Some(1), 3), "{text}");
    let world = implementing("echo \"FAIL:cp-1:DESIGN_MISMATCH: there is no timetable\"");
    let (text, code) = ran(&world, "develop run");
    assert_eq!((code, starts(&world, "cp-1")), (Some(1), 1), "{text}");
    assert_eq!(state(&world)["checkpoints"]["cp-1"]["status"], "escalated");
}

#[test]
fn a_run_that_is_killed_goes_on_at_the_same_attempt() {
    let world = implementing(
        "echo $$ > $seen/agent\nwhile [ ! -e $seen/go ]; do sleep 0.05; done\necho ten > times.txt",
    );
    let mut child = begun(&world, "develop run");
    until_seen(&world, "agent");
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(world.root().join("seen/go"), "").unwrap();
    let text = good(&world, "develop run");
    assert!(text.contains("▸ cp-1 goes on"), "{text}");
    assert_eq!(starts(&world, "cp-1"), 1);
    assert_eq!(state(&world)["checkpoints"]["cp-1"]["iteration"], 1);
}

#[test]
fn so_many_agents_and_no_more() {
    let world = implementing("exit 0");
    let (text, code) = ran(&world, "develop run --max-iterations 2");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("error[starts_spent]"), "{text}");
    assert_eq!(starts(&world, "cp-1"), 2);
    assert_eq!(
        state(&world)["checkpoints"]["cp-1"]["status"],
        "in_progress"
    );
}

#[test]
fn what_nothing_can_judge_is_not_begun() {
    let world = repository("exit 0", GATES);
    world.write("review.ok", "");
    good(&world, "develop start 'Ferry times'");
    let (text, code) = ran(&world, "develop run");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("error[wrong_phase]"), "{text}");
    good(&world, "develop review --checkpoint cp-1");
    good(&world, "develop gate pass review_clean_pass");
    good(&world, "develop implement");
    let (text, code) = ran(&world, "develop run");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("error[no_validation]"), "{text}");
    assert_eq!(starts(&world, "cp-1"), 0);
    assert_eq!(state(&world)["checkpoints"]["cp-1"]["status"], "pending");
}

/// Does what each part of an unattended run asks for; the whole is red once.
pub(super) const ALONE: &str = r#"
case $BOWLINE_TASK_ID in
  DESIGN) mkdir -p docs; cp $seen/design.md docs/design.md; echo '{"contract": "docs/design.md"}' > $BOWLINE_RESULT_FILE;;
  review_clean_pass) if [ $BOWLINE_TRY = 1 ]; then echo '{"blocking": 1, "issues": ["no error cases"]}' > $BOWLINE_RESULT_FILE
    else touch review.ok; echo '{"blocking": 0}' > $BOWLINE_RESULT_FILE; fi;;
  cp-1|cp-2) echo ten > times.txt;;
  architect_verified) touch build.ok;;
  re_review_clean) touch code.ok;;
  pull-request) echo '{"pull_request": "none here"}' > $BOWLINE_RESULT_FILE;;
esac
"#;

#[test]
fn unattended_it_goes_through_every_phase_that_its_gates_open() {
    let world = repository(ALONE, GATES);
    std::fs::write(world.root().join("seen/design.md"), DESIGN).unwrap();
    let text = good(&world, "develop run --auto 'Ferry times'");
    let state = state(&world);
    assert_eq!(state["phase"], "DONE", "{text}");
    for gate in ["review_clean_pass", "architect_verified", "re_review_clean"] {
        assert_eq!(state["gates"][gate], true, "{gate}\n{text}");
    }
    assert!(seen(&world, "review_clean_pass-2.md").contains("no error cases"));
    // Tried first, and mended only because it was red.
    assert!(seen(&world, "architect_verified-1.md").contains("build.ok is missing"));
    let history = good(&world, "history develop");
    assert_eq!(history.matches("GATE_PASS").count(), 3, "{history}");
}

#[test]
fn unattended_no_gate_opens_without_a_sealed_command() {
    let world = repository(ALONE, "");
    std::fs::write(world.root().join("seen/design.md"), DESIGN).unwrap();
    let (text, code) = ran(&world, "develop run --auto 'Ferry times'");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("error[evidence_required]"), "{text}");
    assert_eq!(state(&world)["phase"], "REVIEW");
    assert_eq!(state(&world)["gates"]["review_clean_pass"], false);
}
