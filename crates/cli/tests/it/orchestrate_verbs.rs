//! The moves of `bowline orchestrate`, from a plan to the end of its phases.

use crate::environment::{TestEnvironment, text};
use bowline_engine::actor::ACTOR_VARIABLE;
use serde_json::{Value, json};

const STATE: &str = ".claude/orchestrate-state.json";

const PLAN: &str = "\
# TASKS: 나루터

## Phase 0: 준비
### [x] P0-T1: 저장소

## Phase 1: 시간표 (Timetable)
### P1-R1: 배편
#### [ ] P1-R1-T1: 모델
#### [ ] P1-R1-T2: API
- **의존**: T1
### P1-S1: Screens
#### [ ] P1-S1-T1: List
- depends on: P1-R1
#### [ ] P1-S1-T2: Map

```mermaid
graph LR
  P1-S1-T1 --> P1-S1-T2
```

## Phase 2: Tickets
#### [ ] P2-T1: Sell
#### [ ] P2-T2: Refund
- **의존**: P2-T1
";

fn planned() -> TestEnvironment {
    let world = TestEnvironment::new();
    world.write("TASKS.md", PLAN);
    world
}

fn state(world: &TestEnvironment) -> Value {
    world.read_json(STATE)
}

fn next(world: &TestEnvironment) -> String {
    let answer = world.bowline("orchestrate next").output().unwrap();
    assert!(answer.stderr.is_empty(), "{answer:?}");
    text(&answer.stdout)
}

#[test]
fn the_state_file_is_whole_from_the_beginning() {
    let world = planned();
    check!(world.session(&[
        "orchestrate init --parallel 2 --ultra-thin --dry-run",
        "orchestrate next",
        "orchestrate init --parallel 2 --ultra-thin",
        "orchestrate init",
        "orchestrate init --lang ko",
        "orchestrate next",
        "orchestrate status",
    ]));
    let state = state(&world);
    check!("state_file", serde_json::to_string_pretty(&state).unwrap());
    assert_eq!(state["tasks"]["ready"], json!(["P1-R1-T1"]));
    assert_eq!(state["tasks"]["completed"], json!(["P0-T1"]));
    // Only what somebody wrote: the order of the phases is no dependency.
    assert_eq!(state["dependencies"].as_object().unwrap().len(), 4);
}

#[test]
fn a_run_from_plan_to_end() {
    let world = planned();
    check!(world.session(&[
        "orchestrate init",
        "orchestrate start R1-T1",
        "orchestrate next",
        "orchestrate complete R1-T1",
        "orchestrate start P1-R1-T2 --lang ko",
        "orchestrate complete P1-R1-T2 --lang ko",
        "orchestrate next",
        "orchestrate start P1-S1-T1 --no-git",
        "orchestrate complete P1-S1-T1",
        "orchestrate start S1-T2",
        "orchestrate complete S1-T2",
        "orchestrate next",
        "orchestrate next --phase 2",
        "orchestrate next --phase 7",
        "orchestrate phase finish 1 --no-git",
        "orchestrate next --phase 1",
        "orchestrate next --json",
        "orchestrate start P2-T1",
        "orchestrate complete P2-T1",
        "orchestrate force-complete P2-T2 --reason 'sold by hand'",
        "orchestrate next",
        "orchestrate phase finish 2 --lang ko",
        "orchestrate next",
        "orchestrate verify",
        "history orchestrate -n 3",
    ]));
    // Every box is ticked and nothing else has changed.
    assert_eq!(world.read("TASKS.md"), PLAN.replace("[ ]", "[x]"));
}

#[test]
fn a_failure_blocks_exactly_what_needs_it_until_it_is_retried() {
    let world = planned();
    world.quietly("orchestrate init", 0);
    world.quietly("orchestrate start R1-T1", 0);
    check!(world.session(&[
        "orchestrate fail R1-T1 --retry",
        "orchestrate start R1-T1",
        "orchestrate fail R1-T1 --reason 'no\nschema'",
        "orchestrate next",
        "orchestrate next --json",
        "orchestrate start R1-T2",
        "orchestrate start R1-T2 --lang ko",
    ]));
    let blocked = &state(&world)["tasks"];
    assert_eq!(
        blocked["blocked"],
        json!(["P1-R1-T2", "P1-S1-T1", "P1-S1-T2"])
    );
    assert_eq!(blocked["pending"], json!(["P2-T1", "P2-T2"]));
    world.quietly("orchestrate retry R1-T1", 0);
    assert_eq!(next(&world), "READY:P1-R1-T1\n");
    assert_eq!(state(&world)["tasks"]["blocked"], json!([]));
}

#[test]
fn what_is_refused_changes_nothing() {
    let world = planned();
    world.quietly("orchestrate init", 0);
    world.quietly("orchestrate start R1-T1", 0);
    let before = world.everything();
    check!(world.session(&[
        "orchestrate start T9.9",
        "orchestrate start T9.9 --lang ko",
        "orchestrate start T2",
        "orchestrate start T2 --lang ko",
        "orchestrate start P1-R1-T1",
        "orchestrate start P1-R1-T2",
        "orchestrate start P2-T1 --lang ko",
        "orchestrate complete P1-R1-T2",
        "orchestrate complete P0-T1 --json",
        "orchestrate retry P1-R1-T1",
        "orchestrate retry P1-R1-T1 --lang ko",
        "orchestrate fail P1-R1-T1",
        "orchestrate fail P1-R1-T1 --reason ' '",
        "orchestrate phase finish 1",
        "orchestrate phase finish 1 --lang ko",
        "orchestrate phase finish 0",
        "orchestrate phase finish 2",
        "orchestrate phase finish 9",
    ]));
    assert_eq!(before, world.everything(), "a refusal changed something");
}

#[test]
fn bad_plans_are_refused_and_leave_nothing() {
    let world = TestEnvironment::new();
    assert_eq!(
        world.run("orchestrate next"),
        world.run("orchestrate next"),
        "the answer is the same twice"
    );
    check!(
        "no_plan",
        world.session(&["orchestrate next", "orchestrate init"])
    );
    let mut told = String::new();
    for text in [
        "### [ ] T1.1: a\n의존: T1.2\n### [ ] T1.2: b\n의존: T1.1\n",
        "### [ ] T1.1: a\n의존: T1.9\n",
        "### [ ] T1.1: a\n### [ ] T1.1: b\n",
        "",
    ] {
        world.write("TASKS.md", text);
        let before = world.everything();
        told += &world.session(&["orchestrate init", "orchestrate init --lang ko"]);
        assert_eq!(before, world.everything(), "something was left behind");
    }
    check!("bad_plans", told);
    // A plan that becomes bad while it is worked off.
    world.write("TASKS.md", PLAN);
    world.quietly("orchestrate init", 0);
    world.write("TASKS.md", "### [ ] P1-R1-T1: a\n의존: P1-R1-T1\n");
    check!("became_bad", world.session(&["orchestrate next"]));
}

#[test]
fn a_damaged_file_is_told_and_left() {
    let world = planned();
    world.write(STATE, "{\"tasks\": {\"comp");
    let before = world.everything();
    let line = world.data("orchestrate next", 4);
    assert!(line.starts_with("ERROR:STATE_CORRUPT:"), "{line}");
    assert_eq!(line.lines().count(), 1);
    assert_eq!(before, world.everything(), "looking changed something");
}

#[test]
fn places_limit_what_is_ready() {
    let world = TestEnvironment::new();
    world.write("TASKS.md", "- [ ] T1.1: a\n- [ ] T1.2: b\n- [ ] T1.3: c\n");
    world.quietly("orchestrate init --parallel 2", 0);
    assert_eq!(next(&world), "READY:T1.1,T1.2\n");
    world.quietly("orchestrate start T1.1", 0);
    assert_eq!(next(&world), "READY:T1.2\n");
    world.quietly("orchestrate start T1.2", 0);
    assert_eq!(next(&world), "WAIT\n");
    world.quietly("orchestrate start T1.3", 1);
}

#[test]
fn a_half_phase_follows_what_stands_before_it() {
    let world = TestEnvironment::new();
    world.write(
        "TASKS.md",
        "## Phase 1: A\n- [ ] P1-T1: a\n## Phase 1.5: B\n- [ ] P1-T2: b\n",
    );
    world.quietly("orchestrate init", 0);
    assert_eq!(next(&world), "READY:P1-T1\n");
    world.quietly("orchestrate start P1-T2", 1);
    world.quietly("orchestrate start P1-T1", 0);
    assert_eq!(next(&world), "WAIT\n");
    world.quietly("orchestrate complete P1-T1", 0);
    assert_eq!(next(&world), "READY:P1-T2\n");
}

#[test]
fn a_plan_that_changed_is_taken_over() {
    let world = planned();
    world.quietly("orchestrate init", 0);
    world.quietly("orchestrate start R1-T1", 0);
    world.quietly("orchestrate fail R1-T1 --reason 'no schema'", 0);
    let grown = PLAN.replace("[ ] P1-S1-T1", "[x] P1-S1-T1") + "#### [ ] P2-T3: Print\n";
    world.write("TASKS.md", grown);
    check!(world.session(&[
        "orchestrate verify",
        "orchestrate verify --lang ko",
        "orchestrate rebuild",
        "orchestrate verify",
        "orchestrate next",
    ]));
    let state = state(&world);
    assert_eq!(state["tasks"]["failed"], json!(["P1-R1-T1"]));
    assert_eq!(
        state["bookkeeping"]["tasks"]["P1-R1-T1"]["error"],
        "no schema"
    );
    assert_eq!(
        state["tasks"]["pending"],
        json!(["P2-T1", "P2-T2", "P2-T3"])
    );
}

#[test]
fn an_edit_by_hand_unblocks_what_needs_it() {
    let world = planned();
    world.quietly("orchestrate init", 0);
    world.quietly("orchestrate start R1-T1", 0);
    world.quietly("orchestrate fail R1-T1 --reason r", 0);
    let mut state = state(&world);
    state["tasks"]["failed"] = json!([]);
    state["tasks"]["completed"] = json!(["P0-T1", "P1-R1-T1"]);
    world.write(STATE, state.to_string());
    assert!(world.run("orchestrate next").contains("READY:P1-R1-T2"));
    world.quietly("orchestrate start R1-T2", 0);
    let state = self::state(&world);
    assert_eq!(state["metrics"]["completed_count"], 2);
    assert_eq!(state["tasks"]["blocked"], json!([]));
}

#[test]
fn a_plan_of_another_name_is_found_again_and_one_without_a_box_is_told() {
    let world = TestEnvironment::new();
    world.write("docs/work.md", "### T1.1: a\n### T1.2: b\n");
    world.quietly("orchestrate init docs/work.md --mode ralph", 0);
    assert_eq!(state(&world)["tasks_file"], "docs/work.md");
    assert_eq!(state(&world)["mode"], "ralph");
    world.quietly("orchestrate start T1.1", 0);
    check!(world.session(&["orchestrate complete T1.1", "orchestrate verify"]));
}

#[test]
fn an_agent_forces_nothing() {
    let world = planned().with(ACTOR_VARIABLE, "agent");
    world.quietly("orchestrate init", 0);
    let before = world.everything();
    let told = world.run("orchestrate force-complete R1-T1");
    assert!(told.contains("only a person may force"), "{told}");
    assert!(told.contains("[exit 1]"), "{told}");
    assert_eq!(before, world.everything(), "it was forced");
}

#[test]
fn two_who_tick_at_once_both_leave_their_mark() {
    let world = TestEnvironment::new();
    let plan: String = (1..=8).map(|n| format!("- [ ] T1.{n}: a\n")).collect();
    world.write("TASKS.md", &plan);
    world.quietly("orchestrate init", 0);
    for n in 1..=8 {
        world.quietly(&format!("orchestrate start T1.{n}"), 0);
    }
    let all: Vec<_> = (1..=8)
        .map(|n| {
            let line = format!("orchestrate complete T1.{n}");
            world.bowline(&line).spawn().unwrap()
        })
        .collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(world.read("TASKS.md"), plan.replace("[ ]", "[x]"));
}

#[test]
fn the_graph_is_drawn_with_its_longest_chain() {
    let world = planned();
    check!(world.session(&[
        "orchestrate graph",
        "orchestrate graph --format dot",
        "orchestrate graph --format svg",
        "orchestrate graph --format gif",
    ]));
    world.quietly("orchestrate init", 0);
    let body = world.json("orchestrate graph --json", 0);
    assert_eq!(
        body["criticalPath"],
        json!([
            "P0-T1", "P1-R1-T1", "P1-R1-T2", "P1-S1-T1", "P1-S1-T2", "P2-T1", "P2-T2"
        ])
    );
    let plan: String = (1..=2_200).map(|n| format!("- [ ] T1.{n}: a\n")).collect();
    let world = TestEnvironment::new();
    world.write("TASKS.md", plan);
    let body = world.json("orchestrate graph --json --format dot", 0);
    assert_eq!(body["leftOut"], 200);
}
