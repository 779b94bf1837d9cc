//! Files whose loss must not be a way around a rule: gates stay closed, tasks come back from their list.

use crate::{context, torn_orchestration};
use bowline_engine::doctor;
use std::fs;

const TASKS: &str = "\
# TASKS: ferry

## Phase 0: ground
### [x] Phase 0, T0.1: timetable
### [x] Phase 0, T0.2: map

## Phase 1: app
### [ ] Phase 1, T1.1: list
### [ ] Phase 1, T1.2: search
**의존성**: T1.1
";

#[test]
fn every_file_that_names_our_hooks_is_known_to_the_gate() {
    for client in bowline_engine::install::AgentClient::ALL {
        let file = client.settings_path();
        let guards = bowline_formats::client_hooks::GUARDS;
        assert!(guards.contains(&file), "{file}");
    }
}

#[test]
fn a_lost_orchestration_is_rebuilt_from_its_tasks() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("TASKS.md"), TASKS).unwrap();
    let file = torn_orchestration(folder.path());
    let diagnosis = doctor::repair_file(&context(), &file).unwrap();
    assert!(diagnosis.is_healthy());
    let view = file.read_view(&context()).unwrap();
    let value = view.document.value();
    assert_eq!(value["project"], "ferry");
    assert_eq!(
        value["tasks"]["completed"],
        serde_json::json!(["T0.1", "T0.2"])
    );
    assert_eq!(value["tasks"]["ready"], serde_json::json!(["T1.1"]));
    assert_eq!(value["dependencies"], serde_json::json!({"T1.2": ["T1.1"]}));
    assert_eq!(view.examined.findings, vec![]);
}

#[test]
fn an_orchestration_without_tasks_is_not_made_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = torn_orchestration(folder.path());
    let error = doctor::repair_file(&context(), &file).unwrap_err();
    assert_eq!(error.code(), "nothing_to_restore");
    assert_eq!(fs::read(&file.path).unwrap(), b"{ torn");
}

#[test]
fn two_edits_in_a_row_of_the_kind_people_make_with_jq_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("TASKS.md"), TASKS).unwrap();
    let file = torn_orchestration(folder.path());
    let path = &file.path;
    fs::write(path, b"").unwrap();
    doctor::repair_file(&context(), &file).unwrap();
    // The documented way to force a task: take it out of one list, put it into another, and leave the rest.
    let mut value: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    value["tasks"]["ready"] = serde_json::json!([]);
    value["tasks"]["completed"] = serde_json::json!(["T0.1", "T0.2", "T1.1"]);
    fs::write(path, serde_json::to_vec_pretty(&value).unwrap()).unwrap();
    let diagnosis = doctor::repair_file(&context(), &file).unwrap();
    assert!(!diagnosis.findings.is_empty());
    let view = file.read_view(&context()).unwrap();
    assert_eq!(
        view.document.value()["tasks"]["ready"],
        serde_json::json!(["T1.2"])
    );
    assert_eq!(view.document.value()["metrics"]["completed_count"], 3);
}
