//! `thinking_state.json`.

use crate::golden;
use bowline_formats::StateFormat as _;
use bowline_formats::json::JsonDocument;
use bowline_formats::thinking::{ThinkingFile, new_document};
use bowline_machines::Timestamp;
use bowline_machines::thinking::{StageStatus, ThinkingRunState, ThinkingStage};
use serde_json::json;

#[test]
fn the_golden_files_read_validate_and_come_back() {
    let (document, read) = golden::read::<ThinkingFile>("thinking.json", &[]);
    assert_eq!(read.state.progress_percentage(), 75);
    golden::validate("thinking", document.value());
    golden::unchanged::<ThinkingFile>(&document, &read.state, "/updated_at");
    golden::one_field(
        &document,
        "/quality_metrics/consistency",
        json!(0.95),
        "0.90",
        "0.95",
    );
    golden::one_field(
        &document,
        "/stages/reflection/status",
        json!("failed"),
        "\"in_progress\"",
        "\"failed\"",
    );

    let (document, read) = golden::read::<ThinkingFile>("thinking-failed.json", &[]);
    assert_eq!(
        read.state.stage(ThinkingStage::Planning).status,
        StageStatus::Failed
    );
    golden::validate("thinking", document.value());
    golden::unchanged::<ThinkingFile>(&document, &read.state, "/updated_at");
}

#[test]
fn a_new_file_is_pending_and_valid() {
    let document = new_document("essay-1", "에세이", "읽히는 글", Timestamp(1_767_225_600));
    golden::validate("thinking", document.value());
    let read = ThinkingFile::read_state(&document).unwrap();
    assert_eq!(
        (read.state, read.findings),
        (ThinkingRunState::new(), vec![])
    );
    assert!(document.text().ends_with("}\n"));
    assert!(document.text().contains("\"title\": \"에세이\""));
    assert_eq!(
        document.value()["stages"]["planning"]
            .as_object()
            .unwrap()
            .len(),
        6
    );
}

#[test]
fn what_other_writers_leave_behind_is_found_and_mended() {
    let mut value = golden::load("thinking.json").value().clone();
    value["overall_status"] = json!("pending");
    value["progress_percentage"] = json!(50);
    value["stages"]["planning"]["status"] = json!("Done");
    value["stages"]["reflection"]["error"] =
        json!({"code": "x", "message": "y", "timestamp": "2026-01-05T09:00:00Z"});
    value["stages"]["creation"]["retry_count"] = json!("1");
    value["current_stage"] = json!("creation");
    let document = JsonDocument::new(value);
    let read = ThinkingFile::read_state(&document).unwrap();
    let found: Vec<_> = read
        .findings
        .iter()
        .map(|one| format!("{} {} {}", one.severity.name(), one.code, one.pointer))
        .collect();
    assert_eq!(
        found,
        [
            "warning unknown_word /stages/planning/status",
            "error wrong_type /stages/creation/retry_count",
            "warning derived_mismatch /overall_status",
            "warning derived_mismatch /progress_percentage",
            "error rule_broken /current_stage",
            "error rule_broken /stages/reflection/error",
        ]
    );
    let mended = document.reconcile(&read.fixed);
    assert_eq!(ThinkingFile::read_state(&mended).unwrap().findings, vec![]);
}

#[test]
fn a_file_without_stages_is_not_read_as_a_fresh_one() {
    for text in ["[]", "{}", "{\"stages\": 3}", "null"] {
        let document = JsonDocument::from_text(text.into()).unwrap();
        assert!(ThinkingFile::read_state(&document).is_err(), "{text}");
    }
}

#[test]
fn two_stages_in_progress_are_found_and_left_to_a_person() {
    let mut value = golden::load("thinking.json").value().clone();
    value["stages"]["creation"]["status"] = json!("in_progress");
    value["stages"]["creation"]["completed_at"] = json!(null);
    value["overall_status"] = json!("in_progress");
    value["progress_percentage"] = json!(50);
    let read = ThinkingFile::read_state(&JsonDocument::new(value.clone())).unwrap();
    assert_eq!(read.fixed, value, "no repair chooses between them");
    let found: Vec<_> = read
        .findings
        .iter()
        .map(|one| (one.code, one.pointer.as_str(), one.repair.is_some()))
        .collect();
    assert_eq!(
        found,
        [
            ("rule_broken", "/stages/creation", false),
            ("rule_broken", "/stages/reflection", false),
        ]
    );
}
