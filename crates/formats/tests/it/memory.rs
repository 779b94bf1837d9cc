//! The files of the memory folder.

use crate::golden;
use bowline_formats::StateFormat;
use bowline_formats::finding::Severity;
use bowline_formats::json::JsonDocument;
use bowline_formats::memory::agent_memory::{self, AgentMemoryFile, CACHE_ENTRIES_MAX};
use bowline_formats::memory::path::{self, VALUE_BYTES_MAX};
use bowline_formats::memory::shared_context::{self, SharedContextFile};
use bowline_formats::memory::task_history::{self, TaskHistoryFile};
use bowline_formats::memory::task_state::{self, TaskStateFile};
use bowline_machines::plan::{
    self, Command, NewStep, NewTask, PlanMachine, StepStatus, TaskMemory,
};
use bowline_machines::{Machine as _, Timestamp};
use bowline_words::Lang;
use bowline_words::message::PathTrouble;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp(1_772_500_000);

#[test]
fn the_golden_task_states_read_validate_and_come_back() {
    let (document, read) = golden::read::<TaskStateFile>("task-state.json", &[]);
    let task = read.state.current.as_ref().unwrap();
    assert_eq!(task.plan.current_step(), Some(2));
    assert_eq!(read.state.queue.len(), 1);
    golden::validate("task-state", document.value());
    golden::unchanged::<TaskStateFile>(&document, &read.state, "/last_updated");
    golden::one_field(
        &document,
        "/current_task/plan/steps/0/output/confidence",
        json!(0.95),
        "0.90",
        "0.95",
    );

    let (document, read) = golden::read::<TaskStateFile>("task-state-schema.json", &[]);
    golden::validate("task-state", document.value());
    golden::unchanged::<TaskStateFile>(&document, &read.state, "/last_updated");
    golden::one_field(
        &document,
        "/current_task/status",
        json!("paused"),
        "\"in_progress\"",
        "\"paused\"",
    );

    let (document, read) = golden::read::<TaskStateFile>("task-state-empty.json", &[]);
    assert_eq!(read.state, TaskMemory::default());
    golden::validate("task-state", document.value());
    golden::unchanged::<TaskStateFile>(&document, &read.state, "/last_updated");
    let at = bowline_formats::time::parse_time("2026-03-03T10:00:00Z").unwrap();
    assert_eq!(task_state::new_document(at).text(), document.text());
}

#[test]
fn a_task_that_only_says_what_it_must_gets_its_defaults() {
    let (document, read) = golden::read::<TaskStateFile>(
        "task-state-init.json",
        &[
            "missing_field /version",
            "missing_field /current_task/updated_at",
            "derived_mismatch /current_task/plan/current_step",
            "missing_field /current_task/orchestrator",
            "missing_field /current_task/context/user_request",
            "missing_field /current_task/context/constraints",
            "missing_field /current_task/context/resources",
            "missing_field /current_task/artifacts",
            "missing_field /current_task/issues",
            "missing_field /pending_tasks",
            "missing_field /last_updated",
        ],
    );
    assert!(read.worst_severity() < Some(Severity::Error));
    golden::validate("task-state", &read.fixed);
    let mended = document.reconcile(&read.fixed);
    let again = TaskStateFile::read_state(&mended).unwrap();
    assert_eq!((again.state, again.findings), (read.state, vec![]));
}

#[test]
fn a_step_is_found_by_its_number_and_only_its_fields_change() {
    let (document, read) = golden::read::<TaskStateFile>("task-state.json", &[]);
    let command = Command::StepComplete {
        id: 3,
        output: Some(r#"{"type":"file","path":"drafts/1.md"}"#.into()),
        artifacts: vec![],
    };
    let next = PlanMachine::step(&read.state, command, NOW).unwrap().next;
    let mut value = document.value().clone();
    TaskStateFile::write_state(&next, &mut value, NOW);
    let edited = document.reconcile(&value);
    let changed: Vec<(&str, &str)> = document
        .text()
        .lines()
        .zip(edited.text().lines())
        .filter(|(old, new)| old != new)
        .map(|(old, new)| (old.trim(), new.trim()))
        .collect();
    assert_eq!(changed[0].1, r#""updated_at": "2026-03-03T01:06:40Z","#);
    assert_eq!(
        changed[1],
        (r#""status": "in_progress","#, r#""status": "completed","#)
    );
    assert!(edited.text().contains("\"reviewer\": \"lee\""));
    assert!(edited.text().contains("\"confidence\": 0.90"));
    let again = TaskStateFile::read_state(&edited).unwrap();
    assert_eq!((again.state, again.findings), (next, vec![]));
}

#[test]
fn a_whole_life_goes_through_the_file() {
    let mut document = task_state::new_document(NOW);
    let new = |id: &str| {
        let steps = vec![
            NewStep {
                name: "one".into(),
                ..NewStep::default()
            },
            NewStep {
                name: "two".into(),
                dependencies: vec![1],
                ..NewStep::default()
            },
        ];
        Command::NewTask(NewTask {
            id: id.into(),
            name: "n".into(),
            steps,
            ..NewTask::default()
        })
    };
    let done = |id| Command::StepComplete {
        id,
        output: None,
        artifacts: vec![],
    };
    let commands = [
        new("task-2026-03-03-001"),
        new("task-2026-03-03-002"),
        Command::StepStart { id: 1 },
        Command::StepFail {
            id: 1,
            kind: plan::FailureKind::Transient,
            message: "x".into(),
        },
        Command::StepStart { id: 1 },
        done(1),
        Command::TaskPause,
        Command::TaskResume,
        Command::TaskCancel,
    ];
    for command in commands {
        let read = TaskStateFile::read_state(&document).unwrap();
        assert_eq!(read.findings, vec![]);
        let next = PlanMachine::step(&read.state, command, NOW).unwrap().next;
        let mut value = document.value().clone();
        TaskStateFile::write_state(&next, &mut value, NOW);
        document = JsonDocument::from_text(document.reconcile(&value).text().into()).unwrap();
        golden::validate("task-state", document.value());
        assert_eq!(TaskStateFile::read_state(&document).unwrap().state, next);
    }
    let current = TaskStateFile::read_state(&document)
        .unwrap()
        .state
        .current
        .unwrap();
    assert_eq!(current.id, "task-2026-03-03-002");
    assert_eq!(current.plan.steps[0].status, StepStatus::Pending);
}

#[test]
fn broken_rules_are_found_at_their_place_and_mended() {
    let mut value = golden::load("task-state.json").value().clone();
    value["current_task"]["status"] = json!("pending");
    value["current_task"]["plan"]["steps"][0]["completed_at"] = json!(null);
    value["current_task"]["plan"]["steps"][3]["dependencies"] = json!([2, 3, 9]);
    let document = JsonDocument::new(value);
    let read = TaskStateFile::read_state(&document).unwrap();
    let found: Vec<String> = read
        .findings
        .iter()
        .map(|it| format!("{} {} {}", it.pointer, it.message, it.repair.is_some()))
        .collect();
    assert_eq!(
        found,
        [
            "/current_task plan_is_sound: task-2026-03-02-002 step 4 depends on step 9, which does not exist false",
            "/current_task pending_task_is_not_begun: task-2026-03-02-002 is pending, but step 1 was begun true",
            "/current_task/plan/steps/0 completed_at_exactly_when_completed: step 1 is completed true",
        ]
    );
    let again = TaskStateFile::read_state(&document.reconcile(&read.fixed)).unwrap();
    assert_eq!(again.findings.len(), 1);
}

#[test]
fn a_file_without_a_word_about_tasks_is_not_read_as_empty() {
    for text in [
        "{}",
        "[]",
        "{\"current_task\": 3}",
        "{\"version\": \"1.0\"}",
    ] {
        let document = JsonDocument::from_text(text.into()).unwrap();
        assert!(TaskStateFile::read_state(&document).is_err(), "{text}");
        assert!(TaskHistoryFile::read_state(&document).is_err(), "{text}");
        assert!(SharedContextFile::read_state(&document).is_err(), "{text}");
        assert!(AgentMemoryFile::read_state(&document).is_err(), "{text}");
    }
}

#[test]
fn versions_of_another_age_are_told_apart() {
    let with = |version: Value| {
        let mut value = golden::load("task-state-empty.json").value().clone();
        value["version"] = version;
        let document = JsonDocument::new(value);
        let read = TaskStateFile::read_state(&document).unwrap();
        let mut value = document.value().clone();
        TaskStateFile::write_state(&read.state, &mut value, NOW);
        (read.worst_severity(), value["version"].clone())
    };
    assert_eq!(with(json!("1.7")), (None, json!("1.7")));
    assert_eq!(with(json!("2.0")).0, Some(Severity::ReadOnly));
    assert_eq!(with(json!("0.9")), (Some(Severity::Note), json!("1.0")));
    assert_eq!(with(json!(1.0)), (None, json!(1.0)));
}

#[test]
fn the_golden_histories_read_validate_and_come_back() {
    let (document, read) = golden::read::<TaskHistoryFile>("task-history.json", &[]);
    golden::validate("task-history", document.value());
    let mut value = document.value().clone();
    TaskHistoryFile::write_state(&read.state, &mut value, NOW);
    assert_eq!(document.reconcile(&value).text(), document.text());
    golden::one_field(&document, "/tasks/1/metrics/retries", json!(2), "1", "2");

    let (document, read) = golden::read::<TaskHistoryFile>(
        "task-history-counts.json",
        &[
            "derived_mismatch /statistics/total_tasks",
            "derived_mismatch /statistics/success_rate",
            "derived_mismatch /statistics/avg_duration_seconds",
        ],
    );
    golden::validate("task-history", document.value());
    assert_eq!(
        read.fixed["statistics"],
        json!({"total_tasks": 1, "success_rate": 1, "avg_duration_seconds": 300})
    );
    golden::validate("task-history", task_history::new_document().value());
}

#[test]
fn old_entries_keep_their_summary_and_nothing_else() {
    let (document, read) = golden::read::<TaskHistoryFile>("task-history.json", &[]);
    let mut entries = read.state;
    let late = Timestamp(entries[1].completed_at.0 + 31 * 86_400);
    plan::prune_history(&mut entries, late);
    let mut value = document.value().clone();
    TaskHistoryFile::write_state(&entries, &mut value, late);
    let keys: Vec<&String> = value["tasks"][1].as_object().unwrap().keys().collect();
    let kept = [
        "id",
        "name",
        "result",
        "started_at",
        "completed_at",
        "duration_seconds",
        "summary",
    ];
    assert_eq!(keys, kept);
    let again = TaskHistoryFile::read_state(&document.reconcile(&value)).unwrap();
    assert_eq!((again.state, again.findings), (entries, vec![]));
}

#[test]
fn the_golden_open_files_read_validate_and_come_back() {
    let (document, read) = golden::read::<SharedContextFile>("shared-context.json", &[]);
    golden::validate("shared-context", document.value());
    golden::unchanged::<SharedContextFile>(&document, &read.state, "/last_updated");
    let place = "/shared_data/research_results/trails/confidence";
    golden::one_field(&document, place, json!(0.5), "0.90", "0.5");

    let (document, read) = golden::read::<AgentMemoryFile>("agent-memory.json", &[]);
    golden::validate("agent-memory", document.value());
    golden::unchanged::<AgentMemoryFile>(&document, &read.state, "/last_updated");
    golden::one_field(
        &document,
        "/statistics/posts_written",
        json!(13),
        "12",
        "13",
    );

    let fresh = shared_context::new_document("session-2026-03-03-001", NOW);
    golden::validate("shared-context", fresh.value());
    assert_eq!(
        SharedContextFile::read_state(&fresh).unwrap().findings,
        vec![]
    );
    let fresh = agent_memory::new_document("editor", NOW);
    golden::validate("agent-memory", fresh.value());
    assert_eq!(
        AgentMemoryFile::read_state(&fresh).unwrap().findings,
        vec![]
    );
}

#[test]
fn paths_read_and_set_all_but_the_skeleton() {
    let mut value = golden::load("shared-context.json").value().clone();
    let skeleton = &shared_context::SKELETON;
    let mut set = |path: &str, new: Value| path::set_value(skeleton, &mut value, path, new, NOW);
    set("shared_data.research_results.trails.count", json!(8)).unwrap();
    set("shared_data.a.b", path::value_of("{\"c\": [1]}")).unwrap();
    set("shared_data.a.b.c.1", path::value_of("plain words")).unwrap();
    set("extra", json!(1)).unwrap();
    for (path, code) in [
        ("version", "path_protected"),
        ("session.id", "path_protected"),
        ("session", "path_protected"),
        ("last_updated", "path_protected"),
        ("shared_data", "must_be_object"),
        ("shared_data.current_topic.x", "no_members"),
        ("shared_data.a.b.c.9", "no_members"),
        ("", "bad_path"),
        ("a..b", "bad_path"),
    ] {
        let error = set(path, json!("x")).unwrap_err();
        assert_eq!(path::path_trouble_code(&error), code, "{path}");
    }
    let large = json!("x".repeat(VALUE_BYTES_MAX));
    assert!(matches!(
        set("shared_data.x", large),
        Err(PathTrouble::TooLarge { .. })
    ));
    assert_eq!(
        path::get_value(&value, "shared_data.a.b.c"),
        Ok(&json!([1, "plain words"]))
    );
    assert_eq!(value["last_updated"], json!("2026-03-03T01:06:40Z"));
    let missing = path::get_value(&value, "shared_data.nothing").unwrap_err();
    assert_eq!(
        missing.say(Lang::En).0,
        "there is nothing at 'shared_data.nothing'"
    );
    golden::validate("shared-context", &value);
}

#[test]
fn appending_makes_lists_grow_and_nothing_else() {
    let mut value = golden::load("shared-context.json").value().clone();
    let skeleton = &shared_context::SKELETON;
    let mut append =
        |path: &str, new: Value| path::append_value(skeleton, &mut value, path, new, NOW);
    append("shared_data.notes.log", json!("first")).unwrap();
    append("shared_data.notes.log", json!({"n": 2})).unwrap();
    for (path, code) in [
        ("version", "path_protected"),
        ("session.id", "path_protected"),
        ("shared_data", "must_be_object"),
        ("shared_data.notes", "not_a_list"),
        ("shared_data.current_topic", "not_a_list"),
        ("shared_data.current_topic.x", "no_members"),
        ("a..b", "bad_path"),
    ] {
        let error = append(path, json!("x")).unwrap_err();
        assert_eq!(path::path_trouble_code(&error), code, "{path}");
    }
    let large = json!("x".repeat(VALUE_BYTES_MAX));
    assert!(matches!(
        append("shared_data.x", large),
        Err(PathTrouble::TooLarge { .. })
    ));
    assert_eq!(
        path::get_value(&value, "shared_data.notes.log"),
        Ok(&json!(["first", {"n": 2}]))
    );
    assert_eq!(value["last_updated"], json!("2026-03-03T01:06:40Z"));
    golden::validate("shared-context", &value);
}

#[test]
fn caches_keep_their_latest_entries_and_go_with_their_agent() {
    let (_, read) = golden::read::<AgentMemoryFile>("agent-memory.json", &[]);
    let mut memory = read.state;
    let soon = memory.last_updated;
    assert_eq!(agent_memory::prune_cache(&memory, soon), None);
    let many: Vec<usize> = (0..CACHE_ENTRIES_MAX + 5).collect();
    memory.cache.insert("recent_topics".into(), json!(many));
    let cut = agent_memory::prune_cache(&memory, soon).unwrap();
    assert_eq!(cut.cache["recent_topics"][0], json!(5));
    let later = Timestamp(soon.0 + 30 * 86_400);
    assert!(
        agent_memory::prune_cache(&memory, later)
            .unwrap()
            .cache
            .is_empty()
    );
    assert!(agent_memory::is_name("a-1") && !agent_memory::is_name("../a"));
}
