//! Checkpoints of a task, transition lines, and the configuration's schema.

use crate::golden;
use bowline_formats::StateFormat as _;
use bowline_formats::checkpoint::{CheckpointFile, file_name, new_document};
use bowline_formats::json::JsonDocument;
use bowline_formats::transition::{LINE_TYPE, Transition};
use bowline_machines::job::{AgentStatus, BlockedBy};
use serde_json::json;

#[test]
fn the_golden_checkpoint_reads_validates_and_comes_back() {
    let (document, read) = golden::read::<CheckpointFile>("checkpoint.json", &[]);
    golden::validate("checkpoint", document.value());
    golden::unchanged::<CheckpointFile>(&document, &read.state, "/createdAt");
    golden::one_field(
        &document,
        "/agent/tokensUsed",
        json!(12_600),
        "12500",
        "12600",
    );
    let checkpoint = read.state;
    assert_eq!(checkpoint.agent_status, AgentStatus::WaitingQuestion);
    assert_eq!(checkpoint.blocked_by, Some(BlockedBy::Question));
    assert_eq!(checkpoint.variables, ["HARBOUR_KEY", "OLD_KEY"]);
    assert_eq!(
        file_name(checkpoint.created_at),
        "checkpoint_2026-05-04T10-20-30Z.json"
    );

    let fresh = new_document(&checkpoint);
    golden::validate("checkpoint", fresh.value());
    let again = CheckpointFile::read_state(&fresh).unwrap();
    assert_eq!((again.state, again.findings), (checkpoint, vec![]));
}

#[test]
fn a_value_in_the_environment_is_found_taken_out_and_never_told() {
    let mut value = golden::load("checkpoint.json").value().clone();
    value["environment"]["variables"]["HARBOUR_KEY"] = json!("hunter2hunter2");
    let document = JsonDocument::new(value);
    let read = CheckpointFile::read_state(&document).unwrap();
    assert_eq!(read.findings[0].code, "secret_in_file");
    assert!(!format!("{:?} {:?}", read.findings, read.state).contains("hunter2"));
    assert!(!read.fixed.to_string().contains("hunter2"));
    let mut written = document.value().clone();
    CheckpointFile::write_state(&read.state, &mut written, read.state.created_at);
    assert!(!written.to_string().contains("hunter2"));
}

#[test]
fn transition_lines_are_read_with_and_without_entity_and_number() {
    for name in ["transition.json", "transition-bare.json"] {
        let document = golden::load(name);
        golden::validate("transition", document.value());
        let line: Transition = serde_json::from_value(document.value().clone()).unwrap();
        assert_eq!(line.line_type, LINE_TYPE);
        let written = serde_json::to_value(&line).unwrap();
        golden::validate("transition", &written);
        assert_eq!(document.reconcile(document.value()), document);
    }
    let document = golden::load("transition.json");
    golden::one_field(&document, "/metadata/phase", json!(2), "1", "2");
}

#[test]
fn the_schema_of_the_configuration_takes_what_is_documented_and_nothing_else() {
    let document = golden::load("config.json");
    golden::validate("config", document.value());
    golden::validate("config", &json!({}));
    for (pointer, wrong) in [
        ("/agent/mine/command", json!("my-agent")),
        ("/agent/mine/protocol", json!("smoke")),
        ("/type/leaflet/phases", json!([])),
        ("/limits/retry_after", json!("soon")),
        ("/develop/gates/architect_verified", json!({"cmd": "x"})),
        ("/orchestrate/checks", json!(["make"])),
        ("/unknown", json!({})),
    ] {
        let mut value = document.value().clone();
        bowline_formats::document_reader::put_value(&mut value, pointer, wrong);
        assert!(!golden::is_valid("config", &value), "{pointer}");
    }
}
