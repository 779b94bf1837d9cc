//! `.develop-workflow/state.json`.

use crate::golden;
use bowline_formats::StateFormat as _;
use bowline_formats::develop::{DevelopFile, new_document};
use bowline_formats::json::JsonDocument;
use bowline_machines::develop::{
    CheckpointStatus, Command, DevelopMachine, DevelopPhase, Gate, ImplementationStrategy,
    StrategyChoice, SubmittedEvidence,
};
use bowline_machines::{Actor, Machine as _, Timestamp};
use serde_json::json;

const NOW: Timestamp = Timestamp(1_775_480_400);

#[test]
fn the_golden_files_read_validate_and_come_back() {
    for (name, findings) in [
        ("develop.json", &[][..]),
        ("develop-design.json", &[]),
        ("develop-merge.json", &["older_name /phase"]),
        ("develop-auto.json", &[]),
    ] {
        let (document, read) = golden::read::<DevelopFile>(name, findings);
        golden::validate("develop", document.value());
        golden::unchanged::<DevelopFile>(&document, &read.state, "/updated_at");
    }
    let (document, read) = golden::read::<DevelopFile>("develop.json", &[]);
    golden::one_field(&document, "/checkpoints/cp-2/iteration", json!(2), "1", "2");
    golden::one_field(
        &document,
        "/gates/architect_verified",
        json!(true),
        "false",
        "true",
    );
    let run = read.state.unwrap();
    let ids: Vec<&str> = run.checkpoints.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["cp-1", "cp-3", "cp-2", "cp-4"]);
    assert_eq!(run.strategy, Some(ImplementationStrategy::Subagent));

    let (_, read) = golden::read::<DevelopFile>("develop-merge.json", &["older_name /phase"]);
    assert_eq!(read.state.unwrap().phase, DevelopPhase::Pr);
    let (_, read) = golden::read::<DevelopFile>("develop-auto.json", &[]);
    assert_eq!(
        read.state.unwrap().checkpoints[1].status,
        CheckpointStatus::Failed
    );
    let (document, _) = golden::read::<DevelopFile>("develop-design.json", &[]);
    assert_eq!(
        new_document("사진 일괄 올리기", NOW).text(),
        document.text()
    );
}

#[test]
fn a_whole_run_goes_through_the_file_with_documented_keys_only() {
    let evidence = || SubmittedEvidence::ByHand {
        reason: "seen".into(),
    };
    let pass = |gate| Command::GatePass {
        gate,
        evidence: evidence(),
        by: Actor::Person,
    };
    let mut document = new_document("a", NOW);
    for command in [
        Command::Review {
            checkpoints: vec!["cp-1".into(), "cp/2~".into()],
        },
        pass(Gate::ReviewCleanPass),
        Command::Implement {
            choice: StrategyChoice::Named(ImplementationStrategy::Direct),
        },
        Command::CheckpointStart {
            id: "cp/2~".into(),
            override_reason: None,
            by: Actor::Agent,
        },
        Command::Back {
            phase: DevelopPhase::Design,
            by: Actor::Person,
        },
    ] {
        let read = DevelopFile::read_state(&document).unwrap();
        assert_eq!(read.findings, vec![]);
        let at = Timestamp(NOW.0 + 60);
        let next = DevelopMachine::step(&read.state, command, at).unwrap().next;
        let mut value = document.value().clone();
        DevelopFile::write_state(&next, &mut value, at);
        document = JsonDocument::from_text(document.reconcile(&value).text().into()).unwrap();
        golden::validate("develop", document.value());
        assert_eq!(DevelopFile::read_state(&document).unwrap().state, next);
    }
    let known = [
        "phase",
        "strategy",
        "feature",
        "started_at",
        "updated_at",
        "gates",
        "checkpoints",
    ];
    let keys = document.value().as_object().unwrap();
    assert!(keys.keys().all(|key| known.contains(&key.as_str())));
    assert_eq!(keys["updated_at"], json!("2026-04-06T13:01:00"));
}

#[test]
fn a_repair_closes_gates_and_never_opens_one() {
    let mut value = golden::load("develop.json").value().clone();
    value["gates"] =
        json!({"review_clean_pass": "true", "architect_verified": true, "re_review_clean": true});
    value["checkpoints"]["cp-1"]["iteration"] = json!(9);
    value["strategy"] = json!("whatever");
    value["updated_at"] = json!("2026-01-01T00:00:00");
    let document = JsonDocument::new(value);
    let read = DevelopFile::read_state(&document).unwrap();
    let found: Vec<String> = read
        .findings
        .iter()
        .map(|it| format!("{} {}", it.code, it.pointer))
        .collect();
    assert_eq!(
        found,
        [
            "unknown_word /strategy",
            "wrong_type /gates/review_clean_pass",
            "rule_broken /gates/architect_verified",
            "rule_broken /gates/re_review_clean",
            "rule_broken /gates/re_review_clean",
            "rule_broken /gates/architect_verified",
            "rule_broken /checkpoints/cp-1",
            "rule_broken /updated_at",
        ]
    );
    let mended = document.reconcile(&read.fixed);
    assert_eq!(DevelopFile::read_state(&mended).unwrap().findings, vec![]);
    let gates =
        json!({"review_clean_pass": false, "architect_verified": false, "re_review_clean": false});
    assert_eq!(mended.value()["gates"], gates);
}

#[test]
fn a_file_without_a_phase_is_not_read() {
    for text in [
        "{}",
        "[]",
        "{\"phase\": \"SHIP\", \"gates\": {}}",
        "{\"phase\": null}",
    ] {
        let document = JsonDocument::from_text(text.into()).unwrap();
        assert!(DevelopFile::read_state(&document).is_err(), "{text}");
    }
    let document = JsonDocument::from_text("{\"phase\": \"implement\"}".into()).unwrap();
    let run = DevelopFile::read_state(&document).unwrap().state.unwrap();
    assert!(!run.gates.is_open(Gate::ReviewCleanPass));
}
