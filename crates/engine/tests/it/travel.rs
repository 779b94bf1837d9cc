//! History, undo and restore.

use crate::{Essay, context};
use bowline_engine::Context;
use bowline_engine::history::{self, RestoreOptions};
use bowline_engine::machines::Actor;
use bowline_engine::machines::thinking::ThinkingStage;
use std::fs;

#[test]
fn undo_walks_back_and_every_step_is_a_transition() {
    let essay = Essay::begun();
    let third = essay.text();
    let fourth = essay.output("c.md");
    essay.undo().unwrap();
    assert_eq!(essay.text(), third);
    essay.undo().unwrap();
    essay.undo().unwrap();
    assert_eq!(essay.undo().unwrap_err().code(), "nothing_to_undo");
    let triggers: Vec<String> = history::read_transitions(essay.file())
        .unwrap()
        .into_iter()
        .map(|one| one.trigger)
        .collect();
    assert_eq!(
        triggers,
        ["NEW", "START", "OUTPUT", "OUTPUT", "UNDO", "UNDO", "UNDO"]
    );
    essay.restore(4).unwrap();
    assert_eq!(essay.text(), fourth.view.document.text());
}

#[test]
fn going_back_is_a_persons_move() {
    let essay = Essay::begun();
    let agent = Context {
        actor: Some(Actor::Agent),
        ..context()
    };
    assert_eq!(
        history::undo_transition(&agent, essay.file(), RestoreOptions::default())
            .unwrap_err()
            .code(),
        "needs_person"
    );
    assert_eq!(
        history::restore_version(&agent, essay.file(), 1, RestoreOptions::default())
            .unwrap_err()
            .code(),
        "needs_person"
    );
}

#[test]
fn a_dry_run_decides_and_writes_nothing() {
    let essay = Essay::begun();
    let before = essay.text();
    let dry = Context {
        dry_run: true,
        ..context()
    };
    let changed = essay
        .run
        .record_outputs(&dry, ThinkingStage::Planning, &["c.md".into()])
        .unwrap();
    assert_eq!(
        changed.view.document.value()["stages"]["planning"]["outputs"][2],
        "c.md"
    );
    assert_eq!(essay.text(), before);
    assert_eq!(history::read_transitions(essay.file()).unwrap().len(), 3);
}

#[test]
fn the_first_change_of_a_strangers_file_can_be_undone() {
    let essay = Essay::begun();
    for name in ["journal.jsonl", "bak"] {
        fs::remove_file(essay.folder().join(format!("thinking_state.json.{name}"))).unwrap();
    }
    let before = essay.text();
    essay.output("c.md");
    essay.undo().unwrap();
    assert_eq!(essay.text(), before);
}

#[test]
fn a_link_out_of_the_folder_is_no_output() {
    let essay = Essay::begun();
    essay.write_outputs();
    std::os::unix::fs::symlink("/etc/passwd", essay.folder().join("link")).unwrap();
    let refused = essay
        .run
        .complete_stage(&context(), ThinkingStage::Planning, &["link".into()]);
    assert_eq!(refused.unwrap_err().code(), "path_escapes");
    essay
        .run
        .complete_stage(&context(), ThinkingStage::Planning, &[])
        .unwrap();
}

#[test]
fn a_journal_with_missing_lines_is_told() {
    let essay = Essay::begun();
    let path = essay.folder().join("thinking_state.json.journal.jsonl");
    let lines = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = lines
        .lines()
        .enumerate()
        .filter(|(at, _)| *at != 1)
        .map(|(_, line)| line)
        .collect();
    fs::write(&path, format!("{}\n", kept.join("\n"))).unwrap();
    let findings = bowline_engine::doctor::examine_file(&context(), essay.file())
        .unwrap()
        .findings;
    assert!(
        findings
            .iter()
            .any(|finding| finding.code == "journal_broken"),
        "{findings:?}"
    );
}
