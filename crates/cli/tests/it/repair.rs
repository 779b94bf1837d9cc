//! `doctor`, and what changing verbs do with damage.

use crate::environment::{THINKING, TestEnvironment, text};

#[test]
fn a_healthy_file() {
    let world = TestEnvironment::planned();
    let before = world.everything();
    check!(world.session(&[
        "doctor",
        "doctor --repair",
        "doctor --json",
        "doctor thinking --lang ko"
    ]));
    assert_eq!(before, world.everything());
}

#[test]
fn nothing_to_examine() {
    let world = TestEnvironment::new();
    check!(world.session(&[
        "doctor",
        "doctor --json",
        "doctor --repair --lang ko",
        "doctor x.json"
    ]));
}

/// As after a crash between the commit and the replace.
#[test]
fn a_change_that_had_not_reached_the_file_is_completed() {
    let world = TestEnvironment::planned();
    let good = world.read(THINKING);
    let before = world.read(&format!("{THINKING}.bak"));
    world.write(THINKING, &before);
    world.write(&format!(".{THINKING}.bowline-swap"), &good);
    check!(world.session(&["doctor", "doctor --repair", "doctor --repair"]));
    assert_eq!(world.read(THINKING), good);
}

/// As the recovery by hand goes: `cp thinking_state.json.bak thinking_state.json`.
#[test]
fn an_older_version_put_back_by_hand_stays() {
    let world = TestEnvironment::planned();
    let before = world.read(&format!("{THINKING}.bak"));
    world.write(THINKING, &before);
    check!(world.session(&[
        "status",
        "--lang ko doctor",
        "doctor --repair",
        "doctor --repair",
        "history"
    ]));
    assert_eq!(world.read(THINKING), before);
}

#[test]
fn odd_fields() {
    let world = TestEnvironment::planned();
    let odd = world
        .read(THINKING)
        .replace(
            "\"current_stage\": \"planning\"",
            "\"current_stage\": \"dreaming\"",
        )
        .replace("\"progress_percentage\": 25", "\"progress_percentage\": 80")
        .replace(
            "\"updated_at\": \"2026-03-01T09:00:00Z\"",
            "\"updated_at\": \"yesterday\"",
        );
    world.write(THINKING, odd);
    check!(world.session(&[
        "doctor",
        "doctor --lang ko",
        "doctor --json",
        "doctor --repair",
        "doctor",
    ]));
}

#[test]
fn a_torn_file_is_refused_by_readers_and_restored_by_the_doctor() {
    let world = TestEnvironment::planned();
    let good = world.read(THINKING);
    world.write(THINKING, &good[..good.len() / 2]);
    let before = world.everything();
    let read = world.session(&["status", "status --lang ko", "doctor", "doctor --json"]);
    assert_eq!(before, world.everything(), "a reader changed something");
    let repaired = world.session(&["doctor --repair", "doctor", "history -n 1"]);
    assert_eq!(world.read(THINKING), good, "nothing acknowledged is lost");
    assert_eq!(
        world.read("thinking_state.json.damaged-20260301T090000Z"),
        good[..good.len() / 2],
        "the damaged file is kept"
    );
    check!(format!("{read}\n{repaired}"));
}

#[test]
fn a_changing_verb_repairs_first_and_says_so() {
    let world = TestEnvironment::planned();
    world.write(THINKING, "[1, 2, 3]\n");
    check!(world.session(&["status", "thinking start selection", "status", "history"]));
}

#[test]
fn a_file_that_is_gone_comes_back() {
    let world = TestEnvironment::planned();
    let good = world.read(THINKING);
    std::fs::remove_file(world.path(THINKING)).unwrap();
    let text = world.session(&[
        "thinking status",
        "thinking status --lang ko",
        "thinking start selection --lang ko",
    ]);
    assert!(world.read(THINKING).len() > good.len());
    check!(text);
}

#[test]
fn a_damaged_file_that_bowline_never_wrote_starts_anew() {
    let world = TestEnvironment::new();
    world.write(THINKING, "not json at all");
    check!(world.session(&["doctor", "doctor --repair", "status"]));
    assert_eq!(
        world.read("thinking_state.json.damaged-20260301T090000Z"),
        "not json at all"
    );
}

#[test]
fn a_stale_edit_loses_nothing_silently() {
    let world = TestEnvironment::begun();
    // Somebody has the file open in an editor …
    let stale = world
        .read(THINKING)
        .replace("an essay people finish", "an essay");
    world.write("thinking/planning/ideas.json", "{}\n");
    world.quietly(
        "thinking complete planning --output thinking/planning/ideas.json",
        0,
    );
    // … and saves it after the stage was completed.
    world.write(THINKING, stale);
    let told = world.session(&["status", "status --lang ko", "doctor", "doctor --json"]);
    let repaired = world.session(&["doctor --repair", "status", "doctor", "history"]);
    check!(format!("{told}\n{repaired}"));
    assert!(
        world.read(THINKING).contains("\"goal\": \"an essay\""),
        "the edit stays"
    );
}

#[test]
fn one_hopeless_file_does_not_hide_the_others() {
    let world = TestEnvironment::new();
    world.quietly("thinking new --dir first one --title First", 0);
    world.quietly("thinking new --dir 'second try' two --title Second", 0);
    let file = world.path("first").join(THINKING);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    check!(world.session(&["doctor", "doctor --json", "", "doctor first"]));
}

/// Every odd thing a reader finds is reported in the reader's language.
#[test]
fn findings_are_told_in_korean() {
    let thinking = serde_json::json!({
        "version": 1, "task_id": 7, "title": null, "created_at": "soon", "updated_at": 5,
        "current_stage": "dreaming", "overall_status": "fine", "progress_percentage": 80,
        "stages": {
            "planning": { "status": "completed", "outputs": ["../x", 3], "started_at": "2026-03-01T09:00:00Z",
                "completed_at": "2026-03-01T08:00:00Z", "retry_count": 9, "error": "odd" },
            "selection": { "status": "DONE", "outputs": "none" },
            "creation": 4,
        },
        "core_values_evaluation": { "practicality": 80, "trust": "much" },
        "quality_metrics": { "completeness": 7 },
        "feedback": { "from_previous_tasks": [3], "for_next_tasks": [{ "apply_to_stages": ["x"] }], "from_execution": { "a": null } },
    });
    let state = serde_json::json!({
        "version": "odd",
        "current_task": {
            "id": "task-1", "name": 3, "status": "pending", "started_at": "2026-03-01T09:00:00Z",
            "updated_at": "2026-03-01T08:00:00Z",
            "plan": { "goal": null, "steps": [
                { "id": 1, "name": "a", "status": "completed", "dependencies": ["2", "x"], "error": "bad", "retries": 7 },
                { "id": 1, "status": "failed" }, 5,
            ], "current_step": 9 },
            "artifacts": ["a.md", 3], "issues": [{ "step_id": 1, "resolution": "escalate", "resolved": true }, 4],
        },
        "pending_tasks": ["later", 3],
    });
    let history = serde_json::json!({
        "version": "1.0", "tasks": [
            { "id": "a", "result": "fine" }, { "id": "a", "result": "success" }, 3,
        ], "statistics": { "total_tasks": 9 },
    });
    let world = TestEnvironment::new();
    world.write(THINKING, thinking.to_string());
    world.write(".claude/memory/task-state.json", state.to_string());
    world.write(".claude/memory/task-history.json", history.to_string());
    world.write(
        ".claude/memory/shared-context.json",
        r#"{"session": 3, "shared_data": []}"#,
    );
    world.write(
        ".claude/memory/agents/scout.json",
        r#"{"version": "9", "agent": "Scout", "cache": 3}"#,
    );
    let output = world.bowline("doctor --lang ko").output().unwrap();
    let text = text(&output.stdout);
    let hangul = |line: &&str| line.contains(|letter: char| ('가'..='힣').contains(&letter));
    let told = text.lines().filter(|line| line.starts_with("  "));
    // Behind the word and the code, or the word and a colon.
    let words = told.map(|line| line.split_once(": ").map_or(line, |(_, words)| words));
    let (korean, english): (Vec<&str>, Vec<&str>) = words.partition(hangul);
    let english: Vec<&str> = english
        .into_iter()
        .filter(|line| !line.starts_with("bowline "))
        .collect();
    assert!(english.is_empty(), "{english:#?}");
    assert!(korean.len() > 60, "only {} lines", korean.len());
}
