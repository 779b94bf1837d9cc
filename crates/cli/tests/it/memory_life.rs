//! The life of tasks in the memory, from the first step to the history.

use crate::environment::TestEnvironment;
use serde_json::json;

const STATE: &str = ".claude/memory/task-state.json";
const HISTORY: &str = ".claude/memory/task-history.json";

/// The same world at another time.
fn at(world: TestEnvironment, time: &str) -> TestEnvironment {
    world.with("BOWLINE_CLOCK", time)
}

#[test]
fn two_parallel_steps_one_of_which_escalates_and_is_recovered() {
    let mut world = TestEnvironment::new();
    let mut text = world.session(&[
        "memory task new 'Ferry guide' --goal 'a guide people use' --step name=harbours,agent=scout --step name=fares,agent=clerk --step 'name=write,agent=scribe,deps=1+2'",
        "memory status",
        "memory step start 1",
        "memory step start 2",
        "memory status --lang ko",
        "memory step start 3",
    ]);
    for _ in 0..3 {
        text += &world.run("memory step fail 2 --type resource --message 'the price list is gone'");
        text += &world.run("memory step start 2");
    }
    world = at(world, "2026-03-01T09:05:00Z");
    text += &world.session(&["memory step complete 1", "memory status"]);
    let task = &world.read_json(STATE)["current_task"];
    assert_eq!(task["status"], "failed");
    assert_eq!(
        task["issues"],
        json!([{
            "step_id": 2, "type": "resource", "message": "the price list is gone",
            "resolution": "escalate", "resolved": false,
        }])
    );
    check!("two_parallel_steps", text);
    world = at(world, "2026-03-01T10:00:00Z");
    check!(
        "recovered_and_finished",
        world.session(&[
            "memory task recover --reason 'a new list came'",
            "memory step start 2",
            "memory step fail 2 --message 'one more hitch'",
            "memory step start 2",
            "memory step complete 2",
            "memory step start 3",
            "memory task pause",
            "memory step complete 3",
            "memory task resume",
            "memory step complete 3 --artifact 'guide.md:the guide'",
            "memory status",
            "memory task finish --lesson 'ask for the list first' --tokens 1200",
            "memory history",
            "memory history --lang ko",
        ])
    );
    let entry = &world.read_json(HISTORY)["tasks"][0];
    assert_eq!(entry["result"], "success");
    assert_eq!(entry["duration_seconds"], 3600);
    // Three tries before the recovery and one after it.
    assert_eq!(
        entry["metrics"],
        json!({ "steps_total": 3, "steps_completed": 3, "retries": 4, "tokens_used": 1200 })
    );
}

/// One task a day from 2026-01-01 on: every third fails, each takes as many seconds as its number.
#[test]
fn a_history_of_150_tasks_keeps_100_and_only_summaries_after_30_days() {
    let mut world = TestEnvironment::new();
    let day = |number: i64, seconds: i64| {
        // Days since 1970 of 2026-01-01, at noon.
        let moment = (20_454 + number) * 86_400 + 43_200 + seconds;
        bowline_engine::formats::time::format_utc(bowline_engine::machines::Timestamp(moment))
    };
    for number in 0..150 {
        world = at(world, &day(number, 0));
        world.quietly(&format!("memory task new 'Task {number}'"), 0);
        let result = if number % 3 == 0 {
            "failure"
        } else {
            "success"
        };
        world = at(world, &day(number, number));
        world.quietly(
            &format!("memory task finish --result {result} --lesson 'lesson {number}'"),
            0,
        );
    }
    let history = world.read_json(HISTORY);
    let tasks = history["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 100);
    for (task, number) in tasks.iter().zip(50..150_i64) {
        assert_eq!(task["name"], format!("Task {number}"));
        assert_eq!(task["duration_seconds"], number);
        let mut keys: Vec<&str> = task
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        keys.sort_unstable();
        let summary = [
            "completed_at",
            "duration_seconds",
            "id",
            "name",
            "result",
            "started_at",
            "summary",
        ];
        if 149 - number >= 30 {
            assert_eq!(keys, summary, "task {number} is {} days old", 149 - number);
        } else {
            assert!(
                keys.contains(&"lessons") && keys.contains(&"metrics"),
                "task {number}"
            );
        }
    }
    // Of 50..=149 those divisible by three are 51, 54 … 147: 33 failures.
    assert_eq!(
        history["statistics"],
        json!({ "total_tasks": 100, "success_rate": 0.67, "avg_duration_seconds": 100 })
    );
    let shown = world.session(&["memory history", "memory history --lang ko", "memory prune"]);
    // A month later nothing is left but summaries.
    world = at(world, &day(200, 0));
    let later = world.session(&["--dry-run memory prune", "memory prune", "memory prune"]);
    check!([shown, later].join("\n"));
    let history = world.read_json(HISTORY);
    let full = history["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|task| task.get("lessons").is_some());
    assert_eq!(full.count(), 0);
    assert_eq!(history["statistics"]["total_tasks"], 100);
}

#[test]
fn appending_makes_lists_grow() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "memory context append shared_data.notes 'first line'",
        "memory context append shared_data.notes '{\"line\": 2}' --lang ko",
        "memory context get shared_data.notes",
        "memory agent append scout cache.recent_topics ferries",
        "memory agent append scout cache.recent_topics trains --json",
        "memory agent get scout cache.recent_topics",
        "memory context set shared_data.topic ferries",
        "memory context append shared_data.topic more",
        "memory context append shared_data.topic more --lang ko",
        "memory context append shared_data more",
        "memory context append version 2",
    ]));
}

#[test]
fn a_damaged_context_is_repaired_by_the_verb_that_writes_it() {
    let world = TestEnvironment::new();
    world.quietly("memory context append shared_data.notes one", 0);
    world.write(".claude/memory/shared-context.json", "{ \"version\": ");
    let talk = world.talk("memory context append shared_data.notes two", 0);
    assert!(
        talk.contains("restored from the journal as it was last written"),
        "{talk}"
    );
    let notes = world
        .quietly("memory context get shared_data.notes", 0)
        .stdout;
    assert_eq!(String::from_utf8(notes).unwrap(), "[\"one\",\"two\"]\n");
}

#[test]
fn files_of_other_programs_are_left_alone_by_every_kind() {
    for (path, text, verb) in [
        (
            "thinking_state.json",
            r#"{"cluster_id": "c1", "cluster_name": "research", "current_stage": "reasoning", "agents": []}"#,
            "thinking start planning",
        ),
        (
            "thinking_state.json",
            r#"{"stages": ["build", "test"], "pipeline": 7}"#,
            "thinking status",
        ),
        (
            ".claude/memory/shared-context.json",
            r#"{"session": "abc", "messages": [{"role": "user"}]}"#,
            "memory context append shared_data.notes one",
        ),
        (
            ".claude/memory/task-state.json",
            r#"{"current_task": "ship it", "progress": 40, "todo": ["a"]}"#,
            "memory status",
        ),
        (
            ".claude/memory/task-state.json",
            r#"{"tasks": [{"name": "a", "state": "open"}]}"#,
            "memory task new two",
        ),
        (
            ".claude/memory/task-history.json",
            r#"{"entries": [1, 2], "owner": "x"}"#,
            "memory history",
        ),
        (
            "thinking_state.json",
            r#"{"task_id": "t", "title": "a", "goal": "b", "state": "open"}"#,
            "thinking start planning",
        ),
        (
            "thinking_state.json",
            r#"[{"thought": 1}]"#,
            "thinking start planning",
        ),
        (
            ".claude/memory/shared-context.json",
            r#"{"session": {"id": "abc"}, "messages": []}"#,
            "memory context append shared_data.notes one",
        ),
        (
            ".claude/memory/task-history.json",
            r#"{"tasks": [], "owner": "x"}"#,
            "memory prune",
        ),
        (
            ".claude/memory/task-state.json",
            "[]",
            "memory task new two",
        ),
        (
            ".claude/memory/task-state.json",
            r#"{"current_task": null, "board": {}}"#,
            "memory task new two",
        ),
        (
            ".claude/memory/agents/writer.json",
            r#"{"agent": "writer", "model": "x"}"#,
            "memory agent set writer preferences.a 1",
        ),
        (
            ".develop-workflow/state.json",
            r#"{"phase": "build", "steps": []}"#,
            "develop review",
        ),
        (".develop-workflow/state.json", "[1]", "develop start again"),
        (
            ".claude/orchestrate-state.json",
            "[1]",
            "orchestrate status",
        ),
    ] {
        let world = TestEnvironment::new();
        world.write(path, text);
        let told = |verb: &str| {
            let told = world.run(verb);
            assert!(!told.contains("damaged"), "{verb} on {path}: {told}");
            told
        };
        told(verb);
        assert!(told("doctor").contains("another_programs_file"));
        assert!(told("doctor --repair").contains("was written by another program"));
        assert_eq!(world.read(path), text, "{path} was touched");
    }
}
