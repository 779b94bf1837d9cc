//! Where the files that Bowline took over say it themselves: each point by a test of its own.

use crate::environment::{NOW, TestEnvironment};
use serde_json::{Value, json};

const TASK_STATE: &str = ".claude/memory/task-state.json";
const TASK_HISTORY: &str = ".claude/memory/task-history.json";
const EARLIER: &str = "2026-02-28T09:00:00Z";

fn earlier(world: &TestEnvironment, line: &str) {
    let output = world
        .bowline(line)
        .env("BOWLINE_CLOCK", EARLIER)
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

fn task(world: &TestEnvironment) {
    world.quietly(
        "memory task new ferry --goal cross --step name=row,agent=rower",
        0,
    );
    world.quietly("memory step start 1", 0);
}

#[test]
fn doctor_of_a_folder_checks_every_file_of_it() {
    let world = TestEnvironment::new();
    world.quietly("thinking --dir below new essay --goal g", 0);
    world.quietly("-C below memory init", 0);
    let told = world.json("doctor below --json", 0);
    let mut kinds: Vec<&str> = told["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        ["shared-context", "task-history", "task-state", "thinking"]
    );
    // The folder of the memory itself is one, too, and damage in any of them is reported.
    world.write("below/.claude/memory/task-history.json", "{ torn");
    let told = world.run("doctor below/.claude/memory");
    assert!(
        told.contains("✗ task-history") && told.contains("✓ task-state"),
        "{told}"
    );
    world.quietly("doctor --repair below", 0);
    world.quietly("doctor below", 0);
    // A folder with nothing in it says so.
    std::fs::create_dir(world.path("empty")).unwrap();
    world.quietly("doctor empty", 3);
}

#[test]
fn a_plan_in_a_circle_is_set_aside_for_a_new_file_and_told() {
    let world = TestEnvironment::new();
    let step = |id: u32, needs: u32| {
        json!({
            "id": id, "name": "s", "agent": "a", "cluster": "c", "status": "pending", "dependencies": [needs],
            "started_at": null, "completed_at": null, "output": null, "error": null,
        })
    };
    let state = json!({
        "version": "1.0",
        "current_task": {
            "id": "task-2026-03-01-001", "name": "round", "status": "in_progress", "started_at": NOW, "updated_at": NOW,
            "orchestrator": "orchestrator",
            "plan": {"goal": "g", "success_criteria": [], "steps": [step(1, 2), step(2, 1)], "current_step": 1},
            "context": {"user_request": "", "constraints": [], "resources": []}, "artifacts": [], "issues": [],
        },
        "pending_tasks": [], "last_updated": NOW,
    });
    world.write(TASK_STATE, state.to_string());
    // Reading changes nothing and names the repair.
    let told = world.run("memory status");
    assert!(told.contains("doctor --repair"), "{told}");
    assert_eq!(world.read_json(TASK_STATE), state);
    let told = world.talk("memory task new straight --goal g", 0);
    assert!(told.contains("damaged-"), "{told}");
    let aside = world
        .everything()
        .into_iter()
        .find(|(path, _)| path.to_string_lossy().contains("task-state.json.damaged-"));
    assert_eq!(
        serde_json::from_slice::<Value>(&aside.unwrap().1).unwrap(),
        state
    );
    assert_eq!(
        world.read_json(TASK_STATE)["current_task"]["name"],
        "straight"
    );
}

#[test]
fn tokens_used_is_always_there() {
    let world = TestEnvironment::new();
    task(&world);
    world.quietly("memory step complete 1", 0);
    world.quietly("memory task finish", 0);
    let metrics = &world.read_json(TASK_HISTORY)["tasks"][0]["metrics"];
    assert_eq!(metrics.get("tokens_used"), Some(&Value::Null), "{metrics}");
}

#[test]
fn complete_records_the_required_files_it_found() {
    let world = TestEnvironment::new();
    world.quietly("thinking new essay --goal g", 0);
    for name in [
        "plan.md",
        "thinking/selection/selected.json",
        "drafts/draft_v1.md",
        "drafts/draft_v2.md",
    ] {
        world.write(name, "{}");
    }
    for line in [
        "thinking start planning",
        "thinking complete planning --output plan.md",
        "thinking start selection",
        "thinking complete selection",
        "thinking start creation",
        "thinking complete creation",
    ] {
        world.quietly(line, 0);
    }
    let stages = &world.read_json("thinking_state.json")["stages"];
    assert_eq!(
        stages["selection"]["outputs"],
        json!(["thinking/selection/selected.json"])
    );
    assert_eq!(
        stages["creation"]["outputs"],
        json!(["drafts/draft_v1.md", "drafts/draft_v2.md"])
    );
}

#[test]
fn the_current_stage_is_the_one_to_work_on() {
    let world = TestEnvironment::new();
    world.quietly("thinking new essay --goal g", 0);
    let told = world.run("thinking complete creation");
    assert!(
        told.contains("current stage is 'planning'")
            && told.contains("bowline thinking start planning"),
        "{told}"
    );
    world.quietly("thinking start planning", 0);
    let told = world.run("thinking complete creation");
    assert!(
        told.contains("bowline thinking complete planning --output PATH"),
        "{told}"
    );
    let told = world.run("thinking complete creation --lang ko");
    assert!(told.contains("지금 할 단계: 'planning'"), "{told}");
}

#[test]
fn thinking_new_asks_for_a_goal() {
    let world = TestEnvironment::new();
    let told = world.talk("thinking new essay", 0);
    assert!(told.contains("note: the task has no goal"), "{told}");
    let output = world.quietly("thinking --dir other new essay --goal g", 0);
    assert_eq!(output.stderr, b"");
    if let Some(output) =
        crate::init::on_a_terminal(&world, "thinking --dir asked new essay", "to cross\n")
    {
        assert!(output.status.success(), "{output:?}");
        let goal = world.read_json("asked/thinking_state.json")["goal"].clone();
        assert_eq!(goal, "to cross");
    }
}

#[test]
fn after_resume_the_next_command_is_the_review_again() {
    let world = TestEnvironment::reviewed();
    let told = world.run("develop resume");
    assert!(
        told.contains("next: bowline develop gate pass review_clean_pass"),
        "{told}"
    );
    assert!(told.contains("the review is run again"), "{told}");
    world.write("review.ok", "");
    world.quietly("develop gate pass review_clean_pass", 0);
    let told = world.run("develop resume");
    assert!(told.contains("next: bowline develop implement"), "{told}");
    assert!(!told.contains("again"), "{told}");
}

#[test]
fn artifacts_may_be_data() {
    let world = TestEnvironment::new();
    task(&world);
    world.quietly(
        "memory step complete 1 --artifact map.png:chart --data 'tides.csv:high and low'",
        0,
    );
    let made = &world.read_json(TASK_STATE)["current_task"]["artifacts"];
    assert_eq!(
        made,
        &json!([
            {"type": "file", "path": "map.png", "description": "chart"},
            {"type": "data", "path": "tides.csv", "description": "high and low"},
        ])
    );
    world.quietly("memory task finish", 0);
    assert_eq!(
        world.read_json(TASK_HISTORY)["tasks"][0]["artifacts"][1]["type"],
        "data"
    );
}

#[test]
fn caches_are_pruned_when_a_task_ends() {
    for end in ["memory task finish", "memory task cancel"] {
        let world = TestEnvironment::new();
        task(&world);
        let many: Vec<u32> = (0..150).collect();
        let memory = json!({
            "version": "1.0", "agent": "rower", "preferences": {}, "cache": {"recent_topics": many},
            "statistics": {}, "last_updated": NOW,
        });
        world.write(".claude/memory/agents/rower.json", memory.to_string());
        world.quietly(end, 0);
        let cache =
            world.read_json(".claude/memory/agents/rower.json")["cache"]["recent_topics"].clone();
        assert_eq!(cache.as_array().unwrap().len(), 100, "{end}");
    }
}

#[test]
fn webhook_addresses_are_masked_in_every_output() {
    const SECRET: &str = "T0000-s3cret";
    let world = TestEnvironment::new();
    world.write(
        "TASKS.md",
        "# TASKS: ferry\n\n## Phase 1: boats\n### [ ] T1.1: hull\n### [ ] T1.2: sail\n",
    );
    world.quietly("orchestrate init", 0);
    let file = ".claude/orchestrate-state.json";
    let address = format!("https://hooks.slack.com/services/{SECRET}");
    let mut state = world.read_json(file);
    state["config"] = json!({ "slack_webhook_url": address });
    state["notes"] = json!([format!("post to {address}")]);
    world.write(file, state.to_string());
    let mut said = String::new();
    for line in [
        "",
        "--json",
        "status",
        "status --json",
        "orchestrate status",
        "orchestrate status --json",
        "orchestrate next --json",
        "orchestrate start T1.1 --no-git --json",
        "orchestrate fail T1.1 --retry --json",
        "orchestrate graph",
        "orchestrate verify --json",
        "orchestrate rebuild --json",
        "doctor",
        "doctor --json",
        "history orchestrate",
        "history orchestrate --json",
        "undo orchestrate --dry-run",
        "undo orchestrate --json",
    ] {
        let output = world.bowline(line).output().unwrap();
        said += &format!(
            "{line}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    // Of the wrong kind it is named, and not shown.
    state["config"] = json!({ "slack_webhook_url": [address] });
    world.write(file, state.to_string());
    for line in [
        "doctor",
        "doctor --json",
        "orchestrate status --json",
        "status --lang ko",
    ] {
        said += &world.run(line);
    }
    assert!(!said.contains(SECRET), "{said}");
}

#[test]
fn numbers_too_large_and_deep_nesting_are_named_for_what_they_are() {
    let world = TestEnvironment::new();
    world.write(
        "thinking_state.json",
        "{\"version\": \"1.0\",\n \"weight\": 1e400}",
    );
    let told = world.run("thinking status");
    assert!(
        told.contains("the number at line 2") && !told.contains("not JSON"),
        "{told}"
    );
    let told = world.run("thinking status --lang ko");
    assert!(told.contains("너무 큽니다"), "{told}");
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    world.write("thinking_state.json", &deep);
    let told = world.run("thinking status");
    assert!(
        told.contains("nested more than 128 levels") && !told.contains("not JSON"),
        "{told}"
    );
    // Nor is either taken for a text where a value is given.
    world.quietly("memory init", 0);
    for value in ["1e400", deep.as_str()] {
        let told = world.run(&format!("memory context set shared_data.x {value}"));
        assert!(
            told.contains("too large") || told.contains("nested more"),
            "{told}"
        );
    }
}

#[test]
fn updated_at_does_not_go_back_with_the_clock() {
    let world = TestEnvironment::new();
    world.quietly("thinking new essay --goal g", 0);
    earlier(&world, "thinking start planning");
    let state = world.read_json("thinking_state.json");
    assert_eq!(state["updated_at"], NOW);
    task(&world);
    earlier(&world, "memory step complete 1");
    let state = world.read_json(TASK_STATE);
    assert_eq!(
        (&state["last_updated"], &state["current_task"]["updated_at"]),
        (&json!(NOW), &json!(NOW))
    );
    world.quietly("memory context set shared_data.a 1", 0);
    earlier(&world, "memory context set shared_data.a 2");
    assert_eq!(
        world.read_json(".claude/memory/shared-context.json")["last_updated"],
        NOW
    );
    let develop = TestEnvironment::reviewed();
    let before = develop.read_json(".develop-workflow/state.json")["updated_at"].clone();
    develop.write("review.ok", "");
    earlier(&develop, "develop gate pass review_clean_pass");
    assert_eq!(
        develop.read_json(".develop-workflow/state.json")["updated_at"],
        before
    );
}
