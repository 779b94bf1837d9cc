//! `bowline orchestrate`: plans and state files as they are found, looked at and left alone.

use crate::environment::TestEnvironment;
use serde_json::{Value, json};

const STATE: &str = ".claude/orchestrate-state.json";

const PLAN: &str = "\
# TASKS: 나루터

## Phase 0: 준비
### [x] P0-T1: 저장소
- **담당**: backend-specialist

## Phase 1: 시간표 (Timetable)
**Worktree**: `worktree/phase-1-timetable`
### P1-R1: 배편
#### [x] P1-R1-T1: 모델
- **의존**: P0-T1
#### [ ] P1-R1-T2: API
- **의존**: T1
- **병렬**: P1-S1
### P1-S1: 화면
#### [ ] P1-S1-T1: 목록
- **의존**: P1-R1, P1-R9-T1
";

#[test]
fn a_plan_is_shown_with_what_was_not_understood() {
    let world = TestEnvironment::new();
    world.write("TASKS.md", PLAN);
    let before = world.everything();
    check!(world.session(&[
        "orchestrate plan",
        "orchestrate plan --lang ko",
        "orchestrate plan --json",
        "orchestrate plan nowhere.md",
        "orchestrate plan nowhere.md --lang ko",
    ]));
    assert_eq!(before, world.everything(), "looking changed something");
}

#[test]
fn bad_plans_get_their_code_with_a_line_and_change_nothing() {
    let world = TestEnvironment::new();
    let large = "- [ ] T1.1: a\n".repeat(800_000);
    for (text, code, line) in [
        (
            "### [ ] T1.1: a\n의존: T1.2\n### [ ] T1.2: b\n의존: T1.1\n",
            "CIRCULAR_DEP",
            1,
        ),
        ("### [ ] T1.1: a\n의존: T1.9\n", "MISSING_DEP", 2),
        ("### [ ] T1.1: a\n### [ ] T1.1: b\n", "DUPLICATE_ID", 2),
        ("", "PARSE_FAIL", 1),
        ("\n\n### [ ] Phase 2, T1.1: a\n", "WRONG_PHASE", 3),
        (
            "### [ ] T1.1: a\n의존: T2.1\n### [ ] T2.1: b\n",
            "LATER_PHASE_DEP",
            1,
        ),
        (&large, "TOO_LARGE", 714_286),
    ] {
        world.write("TASKS.md", text);
        let before = world.everything();
        let plan = world.json("orchestrate plan --json", 0);
        let errors: Vec<&Value> = plan["notes"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["severity"] == "error")
            .collect();
        assert_eq!(errors.len(), 1, "{code}: {errors:?}");
        assert_eq!(
            (&errors[0]["code"], &errors[0]["line"]),
            (&json!(code), &json!(line))
        );
        assert_eq!(before, world.everything(), "looking changed something");
    }
}

#[test]
fn the_total_comes_from_the_plan_and_the_rest_from_the_file() {
    let world = TestEnvironment::new();
    world.write("docs/plan.md", PLAN);
    world.write("TASKS.md", "### [ ] T9.9: 다른 계획\n");
    world.write(
        STATE,
        r#"{"tasks_file": "docs/plan.md", "current_phase": "P1", "completed_tasks": ["P0-T1"], "in_progress": ["P1-R1-T1"],
            "slack_webhook_url": "https://hooks.slack.com/services/SE/CR/ET"}"#,
    );
    let before = world.everything();
    let status = world.json("orchestrate status --json", 0);
    assert_eq!(
        (&status["done"], &status["total"], &status["phase"]),
        (&json!(1), &json!(4), &json!(1))
    );
    assert_eq!(status["tasks"]["in_progress"], json!(["P1-R1-T1"]));
    // Letters of the secret may stand in the path of the world by chance.
    assert!(!status["state"].to_string().contains("CR"), "{status}");
    assert!(!status.to_string().contains("SE/CR"), "{status}");
    check!(world.session(&[
        "orchestrate status",
        "orchestrate status --lang ko",
        "doctor"
    ]));
    for line in [
        "status",
        "status --json",
        "orchestrate status",
        "doctor --json",
        "",
    ] {
        assert!(!world.run(line).contains("SE/CR/ET"), "{line}");
    }
    assert_eq!(before, world.everything(), "looking changed something");

    // A repair of a file that is only older leaves it as it is.
    world.quietly("doctor --repair", 0);
    assert_eq!(before, world.everything(), "there was nothing to repair");
}

#[test]
fn a_file_that_knows_numbers_or_phases_only() {
    let world = TestEnvironment::new();
    world.write("TASKS.md", PLAN);
    for (state, done) in [
        (
            r#"{"completed_tasks": 3, "total_tasks": 9, "current_phase": 1}"#,
            3,
        ),
        (r#"{"completed_phases": ["P0"], "current_phase": 1}"#, 1),
        (
            r#"{"completed_phases": ["P0"], "current_phase": 1, "in_progress_tasks": ["P1-R1-T2"]}"#,
            1,
        ),
        (
            r#"{"project": "나루터", "created_at": "2026-01-02T03:04:05Z"}"#,
            0,
        ),
    ] {
        world.write(STATE, state);
        let status = world.json("orchestrate status --json", 0);
        assert_eq!(
            (&status["done"], &status["total"]),
            (&json!(done), &json!(4)),
            "{state}"
        );
    }
}

#[test]
fn another_programs_file_is_left_alone() {
    let world = TestEnvironment::new();
    world.write("TASKS.md", PLAN);
    world.write(STATE, r#"{"sessions": [], "swarm": {"agents": 3}}"#);
    let before = world.everything();
    check!(world.session(&[
        "orchestrate status",
        "orchestrate status --json --lang ko",
        "doctor",
        "doctor --repair",
    ]));
    assert_eq!(before, world.everything(), "it was touched");
}

#[test]
fn a_readable_file_is_never_replaced_by_the_boxes_of_the_plan() {
    let world = TestEnvironment::new();
    world.write("TASKS.md", PLAN.replace(", P1-R9-T1", ""));
    // Two tasks that need each other: it cannot be used as it is, and knows more than the plan.
    let state = r#"{"execution": {"current_phase": 1}, "tasks": {"completed": ["P0-T1", "P1-S1-T1"], "pending": ["T8.1", "T8.2"]},
        "dependencies": {"T8.1": ["T8.2"], "T8.2": ["T8.1"]}}"#;
    world.write(STATE, state);
    world.quietly("doctor --repair", 4);
    assert_eq!(world.read(STATE), state);
    // One that is no JSON at all says nothing, and is rebuilt.
    world.write(STATE, "{\"tasks\": {\"comp");
    world.quietly("doctor --repair", 0);
    let status = world.json("orchestrate status --json", 0);
    assert_eq!((&status["done"], &status["total"]), (&json!(2), &json!(4)));
}
