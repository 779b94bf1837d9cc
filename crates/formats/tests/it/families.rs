//! The families of `.claude/orchestrate-state.json` that are about, one test for each row of what
//! they look like.

use crate::golden;
use bowline_formats::StateFormat as _;
use bowline_formats::finding::Severity;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{
    FOREIGN, OrchestrateFile, OrchestrationMeta, OrchestrationSummary, RunMode, mask_webhooks,
    plan_file, read_facts, summarise_document,
};
use bowline_formats::time;
use bowline_machines::Timestamp;
use bowline_machines::orchestrate::NodeStatus;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp(1_777_900_000);

fn read(value: &Value) -> OrchestrationSummary {
    summarise_document(&JsonDocument::new(value.clone()))
        .unwrap_or_else(|fatal| panic!("{fatal:?}\n{value}"))
}

fn codes(summary: &OrchestrationSummary) -> Vec<&str> {
    summary
        .findings
        .iter()
        .map(|finding| finding.code)
        .collect()
}

/// The file after its first change: of this version, legal, and with the same facts.
fn changed(value: &Value) -> Value {
    let document = JsonDocument::new(value.clone());
    let run = OrchestrateFile::read_state(&document).unwrap().state;
    let mut new = value.clone();
    OrchestrateFile::write_state(&run, &mut new, NOW);
    let text = document.reconcile(&new).text().to_owned();
    let new = JsonDocument::from_text(text).unwrap();
    golden::validate("orchestrate", new.value());
    assert_eq!(new.value()["version"], "2.0");
    assert!(new.value()["mode"].is_string());
    let (before, after) = (read(value), summarise_document(&new).unwrap());
    assert_eq!(after.done, before.done, "{value}");
    for status in [
        NodeStatus::Completed,
        NodeStatus::Failed,
        NodeStatus::InProgress,
    ] {
        let sorted = |it: &OrchestrationSummary| {
            let mut ids = it.ids_with_status(status).to_vec();
            ids.sort();
            ids
        };
        assert_eq!(sorted(&after), sorted(&before), "{value}");
    }
    let open = |it: &OrchestrationSummary| {
        [NodeStatus::Ready, NodeStatus::Pending, NodeStatus::Blocked]
            .iter()
            .map(|status| it.ids_with_status(*status).len())
            .sum::<usize>()
    };
    assert_eq!(open(&after), open(&before), "{value}");
    assert_eq!(after.counts, before.counts, "{value}");
    assert_eq!(after.plan_file, before.plan_file, "{value}");
    assert_eq!(after.meta.slack_webhook_url, before.meta.slack_webhook_url);
    assert_eq!(after.meta.project, before.meta.project);
    new.value().clone()
}

#[test]
fn family_a_lists_without_their_optional_parts_are_read_without_noise() {
    let value = json!({
        "version": "2.0", "mode": "ultra-thin",
        "execution": {"current_phase": 1, "started_at": "2026-01-02T03:04:05Z", "last_updated": "2026-01-02T05:00:00Z"},
        "tasks": {"pending": ["P2-T1"], "ready": ["P1-R1-T2"], "in_progress": [], "completed": ["P0-T0.1", "P1-R1-T1"], "failed": []},
        "checkpoints": {"phase_0": {"completed_at": "2026-01-02T04:00:00Z", "tasks": 1, "merged": true}},
    });
    let found = read(&value);
    assert_eq!(codes(&found), Vec::<&str>::new());
    assert_eq!((found.done, found.total, &found.phase), (2, 4, &json!(1)));
    assert_eq!(
        found.ids_with_status(NodeStatus::Completed),
        ["P0-T0.1", "P1-R1-T1"]
    );
    assert_eq!(found.phases_done, [0]);
    let read = OrchestrateFile::read_state(&JsonDocument::new(value.clone())).unwrap();
    assert_eq!(read.findings, vec![]);
    changed(&value);

    // Neither version nor mode, and only the lists somebody needed.
    let bare = json!({"execution": {"current_phase": 0}, "tasks": {"completed": ["T0.1"], "pending": ["T0.2"]}});
    let found = self::read(&bare);
    assert_eq!(codes(&found), Vec::<&str>::new());
    assert_eq!((found.done, found.total), (1, 2));
    let new = changed(&bare);
    assert!(
        new["execution"].get("started_at").is_none(),
        "no time is made up"
    );
}

#[test]
fn family_b_flat_lists() {
    let value = json!({
        "project": "ferry", "version": "0.4.2",
        "tasks_file": "docs/planning/06-tasks.md",
        "current_phase": 2, "completed_phases": [0, 1],
        "completed_tasks": ["P0-T1", "P1-T1", "P1-T2"],
        "in_progress_tasks": ["P2-T1"], "failed_tasks": [{"task_id": "P2-T2", "error": "no quay", "attempts": 3}],
        "skipped_tasks": ["P1-T3"], "next_tasks": ["P2-T3"],
        "total_tasks": 12, "created_at": "2026-01-21T18:00:00+09:00", "slack_webhook_url": "https://hooks.slack.com/services/A/B/C",
        "notes": ["스키마 확정"],
    });
    let found = read(&value);
    assert_eq!(codes(&found), ["older_version"]);
    assert_eq!((found.done, found.total, &found.phase), (4, 12, &json!(2)));
    assert_eq!(
        found.ids_with_status(NodeStatus::Completed),
        ["P0-T1", "P1-T1", "P1-T2", "P1-T3"]
    );
    assert_eq!(found.ids_with_status(NodeStatus::InProgress), ["P2-T1"]);
    assert_eq!(found.ids_with_status(NodeStatus::Failed), ["P2-T2"]);
    assert_eq!(found.ids_with_status(NodeStatus::Pending), ["P2-T3"]);
    assert_eq!(found.phases_done, [0, 1]);
    assert_eq!(
        found.plan_file.as_deref(),
        Some("docs/planning/06-tasks.md")
    );
    assert_eq!(found.meta.mode, RunMode::Normal);
    let new = changed(&value);
    assert_eq!(new["notes"], json!(["스키마 확정"]));
    assert_eq!(new["program_version"], "0.4.2");
    assert_eq!(new["execution"]["started_at"], "2026-01-21T09:00:00Z");
    assert_eq!(new["bookkeeping"]["tasks"]["P1-T3"]["skipped"], true);
    assert_eq!(new["bookkeeping"]["tasks"]["P2-T2"]["error"], "no quay");
    assert_eq!(
        new["config"]["slack_webhook_url"],
        "https://hooks.slack.com/services/A/B/C"
    );
}

#[test]
fn family_b_a_number_stays_a_number() {
    let value = json!({"current_phase": "P3", "completed_tasks": 13, "total_tasks": 27, "current_task": "P3-T2", "last_updated": "2026-02-01"});
    let found = read(&value);
    assert_eq!((found.done, found.total, &found.phase), (13, 27, &json!(3)));
    assert_eq!(
        found.ids_with_status(NodeStatus::Completed),
        Vec::<String>::new()
    );
    assert_eq!(found.ids_with_status(NodeStatus::InProgress), ["P3-T2"]);
    let new = changed(&value);
    assert_eq!(
        new["bookkeeping"]["counts"],
        json!({"completed": 13, "total": 27})
    );
    assert_eq!(
        new["execution"]["started_at"], "2026-02-01T00:00:00Z",
        "from its sibling"
    );
}

#[test]
fn family_b_only_phases() {
    for value in [
        json!({"current_phase": 2, "completed_phases": ["P0", "P1"], "started_at": "2026-01-02T03:04:05.000Z"}),
        json!({"phase_status": {"P0": "completed", "P1": "completed", "P2": "in_progress"}, "current_phase": 2}),
        json!({"current_phase": 2, "phases": [{"id": "P0", "status": "completed"}, {"phase": 1, "status": "done"}, {"id": "P2", "status": "pending"}]}),
        json!({"current_phase": 2, "phases": {"P0: 준비": "done", "phase_1_core": {"status": "completed"}, "Phase 2": "pending"}}),
        json!({"current_phase": 2, "phases": {"0": {"status": "completed", "completed_at": "2026-01-02T03:04:05"}, "1": {"status": "completed"}, "2": {"status": "pending"}}}),
    ] {
        let found = read(&value);
        assert_eq!(found.phases_done, [0, 1], "{value}");
        assert_eq!((found.done, &found.phase), (0, &json!(2)), "{value}");
        let new = changed(&value);
        assert_eq!(read(&new).phases_done, [0, 1], "{new}");
    }
}

#[test]
fn numbers_of_their_own_and_lists_that_are_numbers_make_the_total() {
    let value =
        json!({"completed_tasks": ["T1.1"], "failed_tasks": ["T1.2"], "remaining_tasks": 12});
    assert_eq!((read(&value).done, read(&value).total), (1, 14));
    let value = json!({"current_phase": 1, "progress": {"completed": 10, "total": 20}});
    assert_eq!((read(&value).done, read(&value).total), (10, 20));
    changed(&value);
}

#[test]
fn numbers_that_are_written_as_text_are_numbers() {
    for (value, done, total) in [
        (
            json!({"completed_tasks": "13/27", "current_phase": 1}),
            13,
            27,
        ),
        (
            json!({"completedTasks": "13", "totalTasks": "27", "currentPhase": 1}),
            13,
            27,
        ),
        (
            json!({"completed_count": 7, "total_count": 9, "current_phase": 2}),
            7,
            9,
        ),
    ] {
        let found = read(&value);
        assert_eq!((found.done, found.total), (done, total), "{value}");
        changed(&value);
    }
}

#[test]
fn family_c_camel_case() {
    let value = json!({
        "currentPhase": 1,
        "completedTasks": {
            "P0-T1": {"status": "completed", "completedAt": "2026-01-02T03:04:05Z", "testResults": {"passed": 12}},
            "P1-T1": {"status": "in_progress"},
        },
        "failedTasks": [], "completedPhases": [0], "startedAt": "2026-01-01T00:00:00Z", "lastUpdated": "2026-01-02T03:04:05Z",
        "slackWebhookUrl": "https://hooks.slack.com/services/D/E/F", "worktrees": {"1": "worktree/phase-1"}, "remainingTasks": ["P1-T2"],
    });
    let found = read(&value);
    assert_eq!(codes(&found), ["older_version"]);
    assert_eq!(found.ids_with_status(NodeStatus::Completed), ["P0-T1"]);
    assert_eq!(found.ids_with_status(NodeStatus::InProgress), ["P1-T1"]);
    assert_eq!(found.ids_with_status(NodeStatus::Pending), ["P1-T2"]);
    assert_eq!((found.done, found.total, &found.phase), (1, 3, &json!(1)));
    let new = changed(&value);
    assert_eq!(
        new["bookkeeping"]["tasks"]["P0-T1"]["testResults"],
        json!({"passed": 12})
    );
    assert_eq!(new["worktrees"], value["worktrees"]);
    assert!(new.get("slackWebhookUrl").is_none());

    let list =
        json!({"currentPhase": "DONE", "completedTasks": ["T1.1", "T1.2"], "remainingTasks": 0});
    let found = read(&list);
    assert_eq!((found.done, &found.phase), (2, &json!("DONE")));
    changed(&list);
}

#[test]
fn family_d_lists_at_the_top() {
    let value = json!({
        "completed": ["P0-T1", "P0-T2"], "inProgress": ["P1-T1"], "failed": [],
        "phases": {"P0": "done", "P1": "partial", "P2": "pending"}, "updated_at": "2026-03-04T05:06:07",
    });
    let found = read(&value);
    assert_eq!(codes(&found), ["older_version"]);
    assert_eq!(
        found.ids_with_status(NodeStatus::Completed),
        ["P0-T1", "P0-T2"]
    );
    assert_eq!(found.ids_with_status(NodeStatus::InProgress), ["P1-T1"]);
    assert_eq!(
        (found.done, found.total, &found.phases_done),
        (2, 3, &vec![0])
    );
    let new = changed(&value);
    assert_eq!(
        new["phases"], value["phases"],
        "what was partial stays told"
    );
    assert_eq!(new["execution"]["last_updated"], time::format_utc(NOW));
}

#[test]
fn family_e_a_placeholder_is_a_run_not_yet_begun() {
    for value in [
        json!({"project": "ferry", "created_at": "2026-01-02T03:04:05Z"}),
        json!({"project_name": "ferry", "createdAt": "2026-01-02", "status": "initialized"}),
    ] {
        let found = read(&value);
        assert_eq!(
            (found.done, found.total, &found.phase),
            (0, 0, &Value::Null)
        );
        assert_eq!(found.meta.project, "ferry");
        let new = changed(&value);
        assert_eq!(new["project"], "ferry");
    }
}

#[test]
fn family_e_another_programs_file_is_not_an_orchestration() {
    for value in [
        json!({"sessions": [{"id": "a"}], "agents": {"planner": "idle"}}),
        json!({"nodes": [], "edges": [], "version": 3}),
        json!({"name": "deploy", "steps": ["build", "push"], "created_at": "2026-01-02"}),
        json!({"currentPhase": "design", "tasks": [{"id": "task-1", "status": "pending"}], "swarm": true}),
        json!({"completed": true, "result": {"score": 3}}),
    ] {
        let document = JsonDocument::new(value.clone());
        for findings in [
            OrchestrateFile::read_state(&document).unwrap_err(),
            read_facts(&document).unwrap_err(),
        ] {
            assert_eq!(findings.len(), 1, "{value}");
            assert_eq!(
                (findings[0].code, findings[0].severity),
                (FOREIGN, Severity::Fatal),
                "{value}"
            );
        }
    }
}

#[test]
fn words_for_the_phase() {
    for (told, shown) in [
        (json!(5), json!(5)),
        (json!("P5"), json!(5)),
        (json!("Phase 5"), json!(5)),
        (json!("phase_5"), json!(5)),
        (json!("M2"), json!(2)),
        (json!("P1.5"), json!(1)),
        (json!("DONE"), json!("DONE")),
        (json!("COMPLETE"), json!("COMPLETE")),
        (json!("completed"), json!("completed")),
        (json!(null), json!(null)),
    ] {
        for value in [
            json!({"current_phase": told, "completed_tasks": ["T1.1"]}),
            json!({"execution": {"current_phase": told}, "tasks": {"completed": ["T1.1"]}}),
        ] {
            let found = read(&value);
            assert_eq!(found.phase, shown, "{value}");
            assert!(!codes(&found).contains(&"unknown_phase"), "{value}");
            changed(&value);
        }
    }
}

#[test]
fn an_unknown_word_for_the_phase_is_kept_and_asked_about() {
    for value in [
        json!({"current_phase": "beta", "completed_tasks": ["T1.1"]}),
        json!({"execution": {"current_phase": "beta"}, "tasks": {"completed": ["T1.1"]}}),
    ] {
        let found = read(&value);
        assert_eq!(found.phase, "beta");
        let asked = found
            .findings
            .iter()
            .find(|it| it.code == "unknown_phase")
            .unwrap();
        assert_eq!((asked.severity, &asked.repair), (Severity::Warning, &None));
        let new = changed(&value);
        assert_eq!(new["bookkeeping"]["phase_word"], "beta");
    }
}

#[test]
fn words_for_the_mode() {
    for (told, mode, noted) in [
        ("normal", RunMode::Normal, None),
        ("ultra-thin", RunMode::UltraThin, None),
        ("ralph", RunMode::Ralph, None),
        ("auto-orchestrate", RunMode::Normal, Some(Severity::Note)),
        ("standard", RunMode::Normal, Some(Severity::Note)),
        ("turbo", RunMode::Normal, Some(Severity::Warning)),
    ] {
        for value in [
            json!({"mode": told, "completed_tasks": []}),
            json!({"mode": told, "tasks": {"completed": []}}),
        ] {
            let found = read(&value);
            assert_eq!(found.meta.mode, mode, "{value}");
            let note = found
                .findings
                .iter()
                .find(|it| it.pointer == "/mode")
                .map(|it| it.severity);
            assert_eq!(note, noted, "{value}");
            assert_eq!(
                OrchestrationMeta::from_document(&changed(&value)).mode,
                mode
            );
        }
    }
}

#[test]
fn times_come_from_siblings_and_never_from_1970() {
    for (value, started) in [
        (
            json!({"completed_tasks": [], "created_at": "2026-01-21T18:00:00+09:00"}),
            Some("2026-01-21T09:00:00Z"),
        ),
        (
            json!({"completed_tasks": [], "last_updated": "2026-01-21T09:00:00.000Z"}),
            Some("2026-01-21T09:00:00Z"),
        ),
        (
            json!({"completed_tasks": [], "startedAt": "2026-01-21"}),
            Some("2026-01-21T00:00:00Z"),
        ),
        (
            json!({"completed_tasks": [], "started_at": "2026-01-21T09:00:00"}),
            Some("2026-01-21T09:00:00Z"),
        ),
        (json!({"completed_tasks": []}), None),
        (
            json!({"tasks": {"completed": []}, "execution": {"started_at": "soon"}}),
            None,
        ),
    ] {
        let new = changed(&value);
        assert_eq!(
            new["execution"].get("started_at").and_then(Value::as_str),
            started,
            "{value}"
        );
        assert!(!new.to_string().contains("1970"), "{new}");
    }
}

#[test]
fn checkpoints_of_two_phases_and_of_a_part_of_one() {
    let value = json!({
        "execution": {"current_phase": 5, "started_at": "2026-01-02T03:04:05Z", "last_updated": "2026-01-02T03:04:05Z"},
        "tasks": {"completed": ["P3-T1"], "pending": ["P5-T2"]},
        "checkpoints": {
            "phase_3_4": {"completed_at": "2026-01-02T03:04:05Z", "tasks": ["P3-T1", "P4-T1"], "merged": true},
            "phase_5_t1": {"merged": true, "tasks": ["P5-T1"]},
            "phase_0": {"tasks": 3, "merged": true},
        },
    });
    let found = read(&value);
    assert_eq!(codes(&found), Vec::<&str>::new());
    assert_eq!(found.phases_done, [0, 3, 4]);
    assert_eq!(
        found.ids_with_status(NodeStatus::Completed),
        ["P3-T1", "P5-T1", "P4-T1"]
    );
    let new = changed(&value);
    for key in ["phase_3_4", "phase_5_t1"] {
        assert_eq!(new["checkpoints"][key], value["checkpoints"][key]);
    }
}

#[test]
fn the_plan_a_file_names() {
    for (key, path) in [
        ("tasks_file", "docs/plan.md"),
        ("tasks_doc", "/srv/plan.md"),
        ("tasksFile", "TASKS.md"),
    ] {
        assert_eq!(plan_file(&json!({"completed": [], key: path})), Some(path));
    }
    assert_eq!(plan_file(&json!({"completed": []})), None);
}

#[test]
fn lists_of_something_else_are_kept() {
    let value =
        json!({"completed_tasks": ["T1.1: 로그인", "모두 끝남", "T1.2"], "current_phase": 1});
    let found = read(&value);
    assert_eq!(
        found.ids_with_status(NodeStatus::Completed),
        ["T1.1", "T1.2"]
    );
    assert!(codes(&found).contains(&"bad_id"));
    assert_eq!(changed(&value)["completed_tasks"], value["completed_tasks"]);
}

#[test]
fn addresses_are_masked_wherever_they_stand() {
    let address = "https://hooks.slack.com/services/A/B/C";
    let value = json!({
        "slack_webhook_url": address, "slackWebhookUrl": address, "config": {"slack_webhook_url": address},
        "notes": [address], "slack": {"webhook": address}, "project": "p",
    });
    let shown = mask_webhooks(&value).to_string();
    assert!(!shown.contains("services"), "{shown}");
    assert!(shown.contains("\"project\":\"p\""));
    assert!(
        !format!(
            "{:?}",
            read(&json!({"completed": [], "slack_webhook_url": address}))
        )
        .contains("services")
    );
}

#[test]
fn phases_that_are_done_are_named_in_many_ways() {
    let value = json!({"currentPhase": 3, "completedPhases": [
        0, "P1", {"phase": 2, "completedAt": "2026-01-02T00:00:00Z", "note": "kept"}]});
    assert_eq!(read(&value).phases_done, [0, 1, 2]);
    let new = changed(&value);
    assert_eq!(new["completedPhases"][2]["note"], "kept");
    let named = json!({"current_phase": 2, "completed_phases": ["Phase 0: Setup", "phase_1"]});
    assert_eq!(read(&named).phases_done, [0, 1]);
}

#[test]
fn lists_of_another_program_do_not_make_a_file_ours() {
    for value in [
        json!({"completed": ["init", "build"], "failed": ["deploy"], "engine": "x"}),
        json!({"failed": [], "queue": [], "workers": {}}),
        json!({"todo": ["write docs"], "agents": []}),
    ] {
        let found = summarise_document(&JsonDocument::new(value.clone()));
        let codes: Vec<&str> = found.unwrap_err().iter().map(|it| it.code).collect();
        assert_eq!(codes, ["not_an_orchestration"], "{value}");
    }
    let begun = json!({"completed": [], "in_progress": [], "failed": []});
    assert_eq!(read(&begun).done, 0);
}

#[test]
fn the_version_of_a_users_program_is_kept() {
    for version in ["0.9", "3.1", "1.2.3"] {
        let value = json!({"version": version, "current_phase": 0, "completed_tasks": ["T0.1"]});
        assert_eq!(changed(&value)["program_version"], version);
    }
}

#[test]
fn entries_of_2_0_lists_may_say_more_than_their_id() {
    let value = json!({
        "version": "2.0", "mode": "ultra-thin",
        "execution": {"currentPhase": 1, "startedAt": "2026-01-02T03:04:05Z"},
        "tasks": {
            "completed": [{"id": "T0.1", "completed_at": "2026-01-02T03:04:05Z"}, "T0.2: Quay", {"task_id": "T1.1", "status": "failed"}],
            "inProgress": "T1.2", "skipped": ["T0.3"], "failed": [{"id": "T1.3", "error": "no quay", "attempts": 3}],
        },
        "checkpoints": {"phase_0": {"tasks": [{"id": "T0.1"}, {"id": "T0.2"}], "merged": true}},
        "bookkeeping": {"tasks": {"T0.2": {"note": "by hand"}}},
    });
    let found = read(&value);
    assert_eq!(codes(&found), ["older_version"]);
    assert_eq!(
        found.ids_with_status(NodeStatus::Completed),
        ["T0.1", "T0.2", "T0.3"]
    );
    assert_eq!(found.ids_with_status(NodeStatus::Failed), ["T1.1", "T1.3"]);
    assert_eq!(found.ids_with_status(NodeStatus::InProgress), ["T1.2"]);
    assert_eq!((found.done, found.total, &found.phase), (3, 6, &json!(1)));
    let new = changed(&value);
    assert_eq!(new["bookkeeping"]["tasks"]["T1.3"]["error"], "no quay");
    assert_eq!(new["bookkeeping"]["tasks"]["T0.3"]["skipped"], true);
    assert_eq!(new["bookkeeping"]["tasks"]["T0.2"]["note"], "by hand");
}

#[test]
fn tasks_by_phase_are_tasks_and_phases_are_none() {
    for value in [
        json!({"execution": {"current_phase": 1}, "tasks": {"phase_0": {"T0.1": "completed"}, "P1": {"T1.1": {"status": "in_progress"}, "T1.2": "pending"}}}),
        json!({"current_phase": 1, "completed_tasks": {"P0": ["T0.1"]}, "in_progress": {"P1": ["T1.1"]}, "next_tasks": ["T1.2"], "current_task": "none"}),
        json!({"currentPhase": "phase-1", "phases": {"phase-0": {"status": "completed", "tasks": {"T0.1": "done"}}, "phase-1": {"tasks": {"T1.1": "running", "T1.2": "todo"}}}}),
        json!({"current_phase": {"number": 1, "name": "Core"}, "P0": {"status": "done", "tasks": ["T0.1"]}, "P1": {"in_progress": ["T1.1"], "tasks": ["T1.2"]}}),
        json!({"current_phase": "Phase 1: Core", "task_status": {"T0.1": "completed", "T1.1": "in_progress", "T1.2": "pending"}}),
    ] {
        let found = read(&value);
        assert_eq!(codes(&found), ["older_version"], "{value}");
        assert_eq!(
            found.ids_with_status(NodeStatus::Completed),
            ["T0.1"],
            "{value}"
        );
        assert_eq!(
            found.ids_with_status(NodeStatus::InProgress),
            ["T1.1"],
            "{value}"
        );
        assert_eq!(
            found.ids_with_status(NodeStatus::Pending),
            ["T1.2"],
            "{value}"
        );
        assert_eq!((found.total, &found.phase), (3, &json!(1)), "{value}");
        changed(&value);
    }
}

#[test]
fn how_many_there_are_is_told_beside_the_lists_of_any_family() {
    for value in [
        json!({"tasks": {"completed": ["T1.1"]}, "stats": {"total": 9, "completed": 1}}),
        json!({"tasks": {"completed": ["T1.1"]}, "total_tasks": 9}),
        json!({"tasks": {"completed": ["T1.1"]}, "metrics": {"total_tasks": 9}, "total_tasks": 12}),
        json!({"tasks": {"total": 9, "completed": ["T1.1"]}}),
        json!({"tasks": {"total": 9, "completed": 1}, "current_phase": 1}),
    ] {
        let found = read(&value);
        assert_eq!((found.done, found.total), (1, 9), "{value}");
        changed(&value);
    }
}
