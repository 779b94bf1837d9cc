//! A state file and the plan beside it: whether they belong together, and whose totals count.

use crate::environment::TestEnvironment;
use serde_json::{Value, json};

/// A plan of so many tasks.
fn plan(count: usize) -> String {
    let task = |number: usize| format!("### [ ] P1-T{number}.1: Step {number}\n");
    let tasks: String = (1..=count).map(task).collect();
    format!("# TASKS: Ferry\n## Phase 1: Crossing\n{tasks}")
}

fn world(plan: &str, state: &Value) -> TestEnvironment {
    let world = TestEnvironment::new();
    if !plan.is_empty() {
        world.write("TASKS.md", plan);
    }
    let state = serde_json::to_string_pretty(state).unwrap();
    world.write(".claude/orchestrate-state.json", state);
    world
}

fn done(ids: &[&str]) -> Value {
    json!({ "version": "1.0", "tasks": { "completed": ids, "in_progress": [], "failed": [] } })
}

fn total(world: &TestEnvironment) -> Value {
    world.read_json(".claude/orchestrate-state.json")["metrics"]["total_tasks"].clone()
}

#[test]
fn a_state_of_another_plan_is_told_and_not_counted_by_it() {
    let theirs = ["LOGIN-1", "LOGIN-2", "LOGIN-3", "LOGIN-4"];
    let foreign = world(&plan(9), &done(&theirs));
    for (lang, said) in [("en", "belongs to another plan"), ("ko", "다른 계획의 것")] {
        let told = foreign.talk(&format!("--lang {lang} orchestrate status"), 0);
        assert!(
            told.contains("[another_plan]") && told.contains(said),
            "{told}"
        );
    }
    let status = foreign.json("orchestrate status --json", 0);
    assert_eq!(
        (&status["done"], &status["total"]),
        (&json!(4), &json!(4)),
        "{status}"
    );
    let told = foreign.data("doctor", 0) + &foreign.talk("doctor", 0);
    assert!(told.contains("another_plan"), "{told}");
    // The same ids in the plan, whole or without their phase, are the state's own.
    let own = world(&plan(9), &done(&["P1-T1.1", "P1-T2.1", "T3.1"]));
    assert!(!own.talk("orchestrate status", 0).contains("another_plan"));
    let status = own.json("orchestrate status --json", 0);
    assert_eq!(status["total"], 9, "{status}");
}

#[test]
fn a_named_plan_that_is_not_there_is_told() {
    let mut state = done(&["P1-T1.1"]);
    state["tasks_file"] = "docs/gone.md".into();
    let world = world(&plan(3), &state);
    for (lang, said) in [
        ("en", "is not there: docs/gone.md"),
        ("ko", "계획 파일이 없습니다: docs/gone.md"),
    ] {
        let told = world.talk(&format!("--lang {lang} orchestrate status"), 0);
        assert!(
            told.contains("[plan_not_there]") && told.contains(said),
            "{told}"
        );
    }
    world.write("docs/gone.md", plan(5));
    assert!(
        !world
            .talk("orchestrate status", 0)
            .contains("plan_not_there")
    );
    assert_eq!(world.json("orchestrate status --json", 0)["total"], 5);
}

#[test]
fn a_repair_beside_a_plan_takes_totals_from_the_plan() {
    let ids: Vec<String> = (1..=10).map(|number| format!("P1-T{number}.1")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let metrics = |total: usize| {
        json!({ "total_tasks": total, "completed_count": 10, "failed_count": 0,
            "average_task_time_seconds": 0 })
    };
    let mut without_graph = done(&ids);
    without_graph["metrics"] = metrics(45);
    let mut with_graph = without_graph.clone();
    let needs: serde_json::Map<String, Value> =
        ids.iter().map(|id| ((*id).to_owned(), json!([]))).collect();
    with_graph["dependencies"] = needs.into();
    for state in [&without_graph, &with_graph] {
        let world = world(&plan(45), state);
        assert!(!world.data("doctor", 0).contains("total_tasks"));
        world.quietly("doctor --repair", 0);
        assert_eq!(total(&world), 45);
    }
    // One that is wrong becomes the plan's, and not that of what the file names.
    with_graph["metrics"] = metrics(12);
    let wrong = world(&plan(45), &with_graph);
    wrong.quietly("doctor --repair", 0);
    assert_eq!(total(&wrong), 45);
    // Without a plan and a graph nobody knows better.
    let alone = world("", &without_graph);
    alone.quietly("doctor --repair", 0);
    assert_eq!(total(&alone), 45);
}

#[test]
fn an_id_that_stands_within_longer_ones_is_not_in_the_plan() {
    // `T1` is within every `P1-T1.1`, and none of the file's tasks is in the plan.
    let foreign = world(&plan(19), &done(&["P9-T1", "P9-T2", "P9-T3", "T1"]));
    let told = foreign.talk("orchestrate status", 0);
    assert!(told.contains("[another_plan]"), "{told}");
    assert_eq!(foreign.json("orchestrate status --json", 0)["total"], 4);
    // Groups, ids without their phase and whole words of the text are.
    let text = "# TASKS: F\n## Phase 1: A\n### P1-R1: Users\n#### [ ] P1-R1-T1: Model\n\
                ### [ ] P1-T2.1: Api\n- was P0-T9 before\n";
    for id in ["P1-R1", "T2.1", "P1-T2.1", "P0-T9"] {
        let own = world(text, &done(&[id, "X-1", "X-2"]));
        let told = own.talk("orchestrate status", 0);
        assert!(!told.contains("another_plan"), "{id}: {told}");
    }
}
