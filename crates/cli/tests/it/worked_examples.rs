//! The worked examples of the documentation, each through the command line: the numbers that people check first.

use crate::environment::{THINKING, TestEnvironment, text};
use serde_json::{Value, json};

/// The content task of the documentation: planning and selection done, creation failed once, retried and completed.
fn content_task() -> TestEnvironment {
    let mut world = TestEnvironment::new();
    for (path, text) in [
        ("thinking/planning/ideas.json", "{\"ideas\": []}\n"),
        ("thinking/planning/research.md", "what others wrote\n"),
        (
            "thinking/selection/selected.json",
            "{\"selected_idea\": 2}\n",
        ),
        ("drafts/draft_v1.md", "too short\n"),
        ("drafts/draft_v2.md", "long enough\n"),
    ] {
        world.write(path, text);
    }
    let mut at = |time: &str, line: &str| {
        world = std::mem::replace(&mut world, TestEnvironment::new())
            .with("BOWLINE_CLOCK", &format!("2025-10-13T{time}Z"));
        world.quietly(line, 0)
    };
    at(
        "10:00:00",
        "thinking new content-001 --title 'Working with AI' --goal 'posts people share'",
    );
    at("10:00:00", "thinking start planning");
    at(
        "10:10:00",
        "thinking complete planning --output thinking/planning/ideas.json --output thinking/planning/research.md",
    );
    at("10:15:00", "thinking start selection");
    at(
        "10:25:30",
        "thinking complete selection --output thinking/selection/selected.json",
    );
    at("10:30:00", "thinking start creation");
    let failed = at(
        "10:35:00",
        "thinking fail creation --code draft_too_short --message 'Draft is 320 words, minimum 500 required'",
    );
    assert_eq!(
        text(&failed.stdout),
        "✗ Stage 'creation' failed (retry 1/3)\n"
    );
    at("10:40:00", "thinking start creation");
    let completed = at(
        "10:55:59",
        "thinking complete creation --output drafts/draft_v1.md --output drafts/draft_v2.md",
    );
    assert_eq!(
        text(&completed.stdout),
        "✓ Stage 'creation' completed in 15 minutes\n"
    );
    world
}

fn state(world: &TestEnvironment) -> Value {
    world.read_json(THINKING)
}

#[test]
fn creation_fails_once_is_retried_and_completes_at_75_percent_in_progress() {
    let world = content_task();
    let status = world.data("thinking status", 0);
    assert!(status.contains("in_progress 75%"), "{status}");
    let json = world.json("thinking status --json", 0);
    assert_eq!(json["state"], state(&world));
    assert_eq!(json["state"]["current_stage"], "creation");
}

/// Field by field as documented, and nothing else.
#[test]
fn the_file_of_the_example_has_the_documented_fields() {
    let world = content_task();
    let stage = |kind: &str, from: &str, to: &str, minutes: u64, outputs: &[&str]| {
        json!({
            "status": "completed",
            "thinking_type": kind,
            "started_at": format!("2025-10-13T{from}Z"),
            "completed_at": format!("2025-10-13T{to}Z"),
            "duration_minutes": minutes,
            "outputs": outputs,
        })
    };
    let mut creation = stage(
        "generative",
        "10:40:00",
        "10:55:59",
        15,
        &["drafts/draft_v1.md", "drafts/draft_v2.md"],
    );
    creation["retry_count"] = json!(1);
    let expected = json!({
        "task_id": "content-001",
        "title": "Working with AI",
        "goal": "posts people share",
        "created_at": "2025-10-13T10:00:00Z",
        "updated_at": "2025-10-13T10:55:59Z",
        "current_stage": "creation",
        "overall_status": "in_progress",
        "progress_percentage": 75,
        "stages": {
            "planning": stage("divergent", "10:00:00", "10:10:00", 10, &["thinking/planning/ideas.json", "thinking/planning/research.md"]),
            "selection": stage("convergent", "10:15:00", "10:25:30", 10, &["thinking/selection/selected.json"]),
            "creation": creation,
            "reflection": {
                "status": "pending",
                "thinking_type": "critical",
                "started_at": null,
                "completed_at": null,
                "duration_minutes": null,
                "outputs": [],
            },
        },
        "core_values_evaluation": { "practicality": null, "trust": null, "innovation": null, "weighted_score": null },
        "quality_metrics": { "completeness": null, "consistency": null, "alignment_with_values": null },
        "feedback": { "from_previous_tasks": [], "for_next_tasks": [] },
    });
    assert_eq!(state(&world), expected);
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&state(&world)), keys(&expected), "in this order");
}

#[test]
fn the_third_failure_of_a_stage_fails_the_run_and_start_is_refused_without_override() {
    let world = TestEnvironment::begun();
    for attempt in 1..=3 {
        world.quietly(
            "thinking fail planning --code no_ideas --message 'nothing came up'",
            0,
        );
        if attempt < 3 {
            assert_eq!(state(&world)["overall_status"], "in_progress");
            world.quietly("thinking start planning", 0);
        }
    }
    assert_eq!(state(&world)["overall_status"], "failed");
    let before = world.everything();
    let refused = world.json("thinking start planning --json", 1);
    assert_eq!(refused["error"]["code"], "retries_exhausted");
    assert_eq!(world.everything(), before);
    world.quietly(
        "thinking start planning --override 'a new brief came in'",
        0,
    );
    assert_eq!(state(&world)["overall_status"], "in_progress");
    assert_eq!(state(&world)["stages"]["planning"]["retry_count"], 0);
}

#[test]
fn scores_of_8_7_8_weigh_7_7() {
    let world = TestEnvironment::begun();
    let told = world.data("thinking evaluate practicality=8 trust=7 innovation=8", 0);
    assert_eq!(told, "✓ Weighted score 7.7\n");
    assert_eq!(
        state(&world)["core_values_evaluation"],
        json!({ "practicality": 8, "trust": 7, "innovation": 8, "weighted_score": 7.7 })
    );
}

/// However the numbers are given: percent or fraction, on the command line or in a file.
#[test]
fn a_rate_of_6_8_percent_against_5_achieves_1_36_and_arrives_in_the_next_task() {
    let lesson = "--learning 'comparisons help' --improvement 'compare earlier' --stage planning --stage selection";
    for (given, file) in [
        ("--metric engagement_rate=6.8% --target 5%", ""),
        ("--metric engagement_rate=0.068 --target 0.05", ""),
        (
            "--from feedback/engagement.json",
            r#"{"views": 5000, "engagement_rate": "6.8%", "target": "5%"}"#,
        ),
        (
            "--from feedback/engagement.json --metric engagement_rate --target 5%",
            r#"{"views": 5000, "engagement_rate": 0.068}"#,
        ),
    ] {
        let world = TestEnvironment::begun();
        world.write("feedback/engagement.json", file);
        let told = world.data(&format!("thinking feedback record {given} {lesson}"), 0);
        assert_eq!(told, "✓ Goal achievement 1.36\n");
        assert_eq!(
            state(&world)["feedback"],
            json!({
                "from_previous_tasks": [],
                "for_next_tasks": [{
                    "learnings": ["comparisons help", "compare earlier"],
                    "apply_to_stages": ["planning", "selection"],
                }],
                "from_execution": { "engagement_rate": 0.068, "goal_achievement": 1.36 },
                "learnings": ["comparisons help"],
                "improvements": ["compare earlier"],
            }),
            "{given}"
        );
        world.quietly("thinking new --dir next content-002 --title Next", 0);
        world.quietly("thinking --dir next feedback apply --from .", 0);
        let next = world.read_json("next/thinking_state.json");
        assert_eq!(
            next["feedback"]["from_previous_tasks"],
            json!([{
                "task_id": "essay-001",
                "learnings": ["comparisons help", "compare earlier"],
                "apply_to_stages": ["planning", "selection"],
            }])
        );
    }
}

#[test]
fn a_file_of_feedback_that_says_too_little_is_wrong_usage() {
    let world = TestEnvironment::begun();
    world.write("a.json", "{\"reach\": 12}");
    world.write("b.json", "{\"reach\": 12, \"views\": 3, \"target\": 10}");
    world.write("c.json", "not json");
    let before = world.everything();
    check!(world.session(&[
        "thinking feedback record --from a.json",
        "thinking feedback record --from b.json",
        "thinking feedback record --from b.json --metric likes",
        "thinking feedback record --from b.json --metric views=9",
        "thinking feedback record --from c.json",
        "thinking feedback record --from nowhere.json",
        "thinking feedback record --metric reach=12",
    ]));
    assert_eq!(world.everything(), before);
}
