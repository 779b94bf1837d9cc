//! `.claude/orchestrate-state.json`.

use crate::golden;
use bowline_formats::StateFormat as _;
use bowline_formats::finding::Severity;
use bowline_formats::json::JsonDocument;
use bowline_formats::orchestrate::{
    OrchestrateFile, OrchestrationMeta, RunMode, WebhookUrl, new_document, read_facts,
};
use bowline_formats::time;
use bowline_machines::orchestrate::{
    Command, NextWork, NodeSpec, NodeStatus, OrchestrateMachine, OrchestrationLimits,
    OrchestrationState, PhaseEnd, TaskGraph, next_work,
};
use bowline_machines::{Actor, Machine as _, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_777_900_000);

fn ids(run: &OrchestrationState, status: NodeStatus) -> String {
    run.ids_with_status(status).join(" ")
}

#[test]
fn the_golden_file_reads_validates_and_comes_back() {
    let (document, read) = golden::read::<OrchestrateFile>("orchestrate.json", &[]);
    golden::validate("orchestrate", document.value());
    golden::unchanged::<OrchestrateFile>(&document, &read.state, "/execution/last_updated");
    let place = "/bookkeeping/tasks/T1.4/attempts";
    golden::one_field(&document, place, json!(2), "1", "2");
    golden::one_field(
        &document,
        "/tasks/completed/2",
        json!("T1.9"),
        "T1.2",
        "T1.9",
    );
    let run = read.state;
    assert_eq!(run.find_node("T1.3").unwrap().attempts, 10);
    assert_eq!(run.graph().phase_of("ship-it"), Some(2));
    assert_eq!(run.metrics().average_task_time_seconds, 90);
}

#[test]
fn overlapping_lists_and_wrong_counts_are_found_and_the_strongest_counts() {
    let findings = [
        "overlapping_lists /tasks/ready",
        "unlisted_task /tasks/completed",
        "derived_mismatch /checkpoints/phase_1/progress",
        "derived_mismatch /metrics/total_tasks",
    ];
    let (document, read) = golden::read::<OrchestrateFile>("orchestrate-overlap.json", &findings);
    golden::validate("orchestrate", document.value());
    let run = &read.state;
    assert_eq!(
        ids(run, NodeStatus::Completed),
        "T0.5.1 T0.5.2 T0.5.3 T1.1 T1.2"
    );
    assert_eq!(ids(run, NodeStatus::InProgress), "T1.3");
    assert_eq!(ids(run, NodeStatus::Ready), "T1.4");
    assert_eq!(read.fixed["tasks"]["ready"], json!(["T1.4"]));
    let completed = json!(["T0.5.1", "T1.1", "T1.2", "T0.5.2", "T0.5.3"]);
    assert_eq!(read.fixed["tasks"]["completed"], completed);
    assert_eq!(
        read.fixed["checkpoints"]["phase_1"]["progress"],
        json!("2/7")
    );
    let mended = OrchestrateFile::read_state(&document.reconcile(&read.fixed)).unwrap();
    assert_eq!((mended.state, mended.findings), (read.state, vec![]));
}

#[test]
fn a_file_as_it_was_begun_reads_with_what_is_ready() {
    let findings = [
        "derived_mismatch /tasks/pending",
        "derived_mismatch /metrics/total_tasks",
    ];
    let (document, read) = golden::read::<OrchestrateFile>("orchestrate-init.json", &findings);
    golden::validate("orchestrate", document.value());
    assert_eq!(ids(&read.state, NodeStatus::Ready), "T0.1 T0.2");
    assert_eq!(
        read.findings[0].message.to_string(),
        "T0.1, T0.2 are made something else by the rest of the file"
    );

    let specs = ["T0.1", "T0.2", "T1.1"].map(|id| spec(id, &[]));
    let graph = Arc::new(TaskGraph::new(specs.to_vec()).unwrap());
    let at = time::parse_time("2026-05-04T09:00:00Z").unwrap();
    let run = OrchestrationState::new(graph, OrchestrationLimits::default(), at);
    let meta = OrchestrationMeta {
        project: "ferry-times".into(),
        mode: RunMode::UltraThin,
        slack_webhook_url: None,
    };
    let fresh = new_document(&meta, &run, at);
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(fresh.value()), keys(document.value()));
    assert!(fresh.value() == &read.fixed, "{fresh}");
}

#[test]
fn the_short_form_is_read_and_its_secret_never_told() {
    let (document, read) = golden::read::<OrchestrateFile>("orchestrate-short.json", &[]);
    golden::validate("orchestrate", document.value());
    assert_eq!(next_work(&read.state), NextWork::Ready(vec!["T1.1".into()]));
    let mut value = document.value().clone();
    let at = time::parse_time("2026-05-04T10:30:00Z").unwrap();
    OrchestrateFile::write_state(&read.state, &mut value, at);
    let edited = document.reconcile(&value);
    let gone = edited.text().replace(",\n    \"blocked\": []", "");
    assert_eq!(gone, document.text());

    let meta = OrchestrationMeta::from_document(document.value());
    let url = meta.slack_webhook_url.clone().unwrap();
    assert!(url.expose().ends_with("FFF"));
    assert!(!format!("{meta:?}").contains("example.invalid"));
    meta.write_to(&mut value);
    assert_eq!(document.reconcile(&value), edited);

    let mut value = golden::load("orchestrate-overlap.json").value().clone();
    value["config"]["slack_webhook_url"] = json!(["https://hooks.example.invalid/x"]);
    let read = OrchestrateFile::read_state(&JsonDocument::new(value)).unwrap();
    assert!(
        read.findings
            .iter()
            .any(|it| it.pointer == "/config/slack_webhook_url")
    );
    assert!(!format!("{:?}", read.findings).contains("example.invalid"));
}

#[test]
fn older_files_are_understood_and_brought_up_to_date_by_the_first_change() {
    let (document, read) =
        golden::read::<OrchestrateFile>("orchestrate-v1.json", &["older_version /version"]);
    assert_eq!(read.worst_severity(), Some(Severity::Note));
    let run = read.state;
    assert_eq!(ids(&run, NodeStatus::Completed), "T0.1 T0.2 T1.1");
    assert_eq!(ids(&run, NodeStatus::Failed), "T1.2");
    assert_eq!(
        run.find_node("T1.2").unwrap().error.as_deref(),
        Some("no such quay")
    );
    assert_eq!(
        run.find_phase(0).unwrap().completed_at,
        time::parse_time("2026-04-20T10:00:00Z")
    );
    assert_eq!(
        OrchestrationMeta::from_document(document.value()).slack_webhook_url,
        Some(WebhookUrl::new(
            "https://hooks.example.invalid/services/GGG/HHH/III"
        ))
    );
    golden::validate("orchestrate", &read.fixed);

    let command = Command::Retry { id: "T1.2".into() };
    let next = OrchestrateMachine::step(&run, command, NOW).unwrap().next;
    let mut value = document.value().clone();
    OrchestrateFile::write_state(&next, &mut value, NOW);
    golden::validate("orchestrate", &value);
    assert_eq!(value["version"], json!("2.0"));
    assert_eq!(value["decisions"], json!(["PostgreSQL 대신 SQLite"]));
    assert!(value.get("completed_tasks").is_none());
    let again = OrchestrateFile::read_state(&document.reconcile(&value)).unwrap();
    assert_eq!((again.state, again.findings), (next, vec![]));

    let findings = ["older_version /version"];
    let (_, read) = golden::read::<OrchestrateFile>("orchestrate-v1-short.json", &findings);
    assert_eq!(ids(&read.state, NodeStatus::Completed), "T0.1 T0.2");

    let mut value = golden::load("orchestrate.json").value().clone();
    value["version"] = json!("3.1");
    let read = OrchestrateFile::read_state(&JsonDocument::new(value)).unwrap();
    assert_eq!(read.worst_severity(), Some(Severity::ReadOnly));
}

#[test]
fn tasks_that_wait_for_each_other_are_refused_with_their_path() {
    let mut value = golden::load("orchestrate.json").value().clone();
    value["dependencies"]["T1.6"] = json!(["T1.7"]);
    let fatal = OrchestrateFile::read_state(&JsonDocument::new(value)).unwrap_err();
    let last = fatal.last().unwrap();
    assert_eq!(last.code, "circular_dependency");
    assert_eq!(
        last.message.to_string(),
        "tasks depend on each other: T1.6->T1.7->T1.6"
    );
    for text in ["{}", "[]", "{\"version\": \"2.0\"}", "{\"tasks\": []}"] {
        let document = JsonDocument::from_text(text.into()).unwrap();
        assert!(OrchestrateFile::read_state(&document).is_err(), "{text}");
    }
}

#[test]
fn a_forced_completion_by_hand_unblocks_what_waited() {
    let mut value = golden::load("orchestrate.json").value().clone();
    value["tasks"]["failed"] = json!([]);
    value["tasks"]["completed"]
        .as_array_mut()
        .unwrap()
        .push(json!("T1.3"));
    let read = OrchestrateFile::read_state(&JsonDocument::new(value)).unwrap();
    assert_eq!(ids(&read.state, NodeStatus::Blocked), "");
    assert_eq!(
        read.state.find_node("T1.5").unwrap().status,
        NodeStatus::Pending
    );
    let found: Vec<&str> = read.findings.iter().map(|it| it.pointer.as_str()).collect();
    let wanted = [
        "/tasks/blocked",
        "/checkpoints/phase_1/progress",
        "/metrics/completed_count",
        "/metrics/failed_count",
    ];
    assert_eq!(found, wanted);
}

fn spec(id: &str, needs: &[&str]) -> NodeSpec {
    NodeSpec {
        id: id.into(),
        phase: id[1..].split('.').next().unwrap().parse().unwrap(),
        section: 0,
        dependencies: needs.iter().map(|&id| id.into()).collect(),
    }
}

fn graph() -> Arc<TaskGraph> {
    let nodes = vec![
        spec("T0.1", &[]),
        spec("T0.2", &["T0.1"]),
        spec("T1.1", &[]),
        spec("T1.2", &["T1.1", "T0.2"]),
        spec("T1.10", &["T1.2"]),
        spec("T2.1", &["T1.10"]),
    ];
    Arc::new(TaskGraph::new(nodes).unwrap())
}

fn command() -> impl Strategy<Value = Command> {
    let ids = prop::sample::select(vec!["T0.1", "T0.2", "T1.1", "T1.2", "T1.10", "T2.1"]);
    let id = ids.prop_map(Arc::<str>::from);
    let some = |id: &Arc<str>| Some(id.clone());
    prop_oneof![
        4 => id.clone().prop_map(|id| Command::Start { id }),
        4 => id.clone().prop_map(|id| Command::Complete { id }),
        1 => (id.clone(), any::<bool>()).prop_map(move |(id, retry)| Command::Fail { reason: some(&id), id, retry }),
        1 => id.clone().prop_map(|id| Command::ForceComplete { id, by: Actor::Person, reason: None }),
        1 => id.clone().prop_map(|id| Command::Retry { id }),
        1 => id.prop_map(|id| Command::Lost { gone: vec![id] }),
        3 => (0..3u32, 0..4).prop_map(|(phase, end)| Command::PhaseFinish {
            phase,
            end: match end {
                0 => PhaseEnd::NoGit,
                1 => PhaseEnd::Conflict,
                _ => PhaseEnd::Merged { commit: "abcdef1".into() },
            },
            worktree: Some("worktree/next".into()),
        }),
    ]
}

proptest! {
    #[test]
    fn any_run_goes_through_the_file_unharmed(commands in prop::collection::vec(command(), 1..60)) {
        let meta = OrchestrationMeta { project: "p".into(), mode: RunMode::Ralph, slack_webhook_url: None };
        let mut run = OrchestrationState::new(graph(), OrchestrationLimits { max_parallel: 0, retry_limit: 2 }, NOW);
        let mut document = new_document(&meta, &run, NOW);
        let mut at = NOW;
        for command in commands {
            at = Timestamp(at.0 + 7);
            let Ok(step) = OrchestrateMachine::step(&run, command, at) else { continue };
            let mut value = document.value().clone();
            OrchestrateFile::write_state(&step.next, &mut value, at);
            document = JsonDocument::from_text(document.reconcile(&value).text().into()).unwrap();
            let read = OrchestrateFile::read_state(&document).unwrap();
            prop_assert_eq!(&read.findings, &vec![]);
            prop_assert_eq!(&read.state, &step.next);
            run = read.state;
        }
        golden::validate("orchestrate", document.value());
    }
}

#[test]
fn a_hundred_thousand_tasks_are_read_and_written() {
    let count = 100_000;
    let id = |index: usize| format!("T{}.{}", index / 50_000, index % 50_000);
    let nodes = (0..count).map(|index| NodeSpec {
        id: id(index).into(),
        phase: u32::try_from(index / 50_000).unwrap(),
        section: 0,
        dependencies: match index % 50_000 {
            0 => vec![],
            _ => vec![id(index - 1).into()],
        },
    });
    let graph = Arc::new(TaskGraph::new(nodes.collect()).unwrap());
    let run = OrchestrationState::new(graph, OrchestrationLimits::default(), NOW);
    let meta = OrchestrationMeta {
        project: "p".into(),
        mode: RunMode::Normal,
        slack_webhook_url: None,
    };
    let mut document = new_document(&meta, &run, NOW);
    let mut state = run;
    for command in [
        Command::Start { id: "T0.0".into() },
        Command::Fail {
            id: "T0.0".into(),
            reason: Some("x".into()),
            retry: false,
        },
    ] {
        state = OrchestrateMachine::step(&state, command, NOW).unwrap().next;
        let mut value = document.value().clone();
        OrchestrateFile::write_state(&state, &mut value, NOW);
        document = document.reconcile(&value);
    }
    let read =
        OrchestrateFile::read_state(&JsonDocument::from_text(document.text().into()).unwrap())
            .unwrap();
    assert_eq!(read.findings, vec![]);
    assert!(read.state == state);
    assert_eq!(state.count_status(NodeStatus::Blocked), 49_999);
    assert_eq!(read_facts(&document).unwrap().state.nodes.len(), count);

    // Everything at odds with everything: still one walk.
    let mut value = document.value().clone();
    value["tasks"]["ready"] = value["tasks"]["blocked"].clone();
    value["bookkeeping"]["tasks"] = (0..count)
        .map(|index| (id(index), json!({"attempts": 1})))
        .collect();
    let odd = document.reconcile(&value);
    let read = OrchestrateFile::read_state(&odd).unwrap();
    assert!(read.findings.len() < 10);
    let mut value = odd.value().clone();
    OrchestrateFile::write_state(&state, &mut value, NOW);
    assert_eq!(odd.reconcile(&value).text(), document.text());
}
