//! History, undo and restore.

use crate::{begun, context, state_file};
use bowline_engine::machines::Actor;
use bowline_engine::machines::thinking::Stage;
use bowline_engine::{Context, history};
use std::fs;

#[test]
fn undo_walks_back_and_every_step_is_a_transition() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let third = fs::read_to_string(state_file(folder.path())).unwrap();
    let fourth = run
        .output(&context(), Stage::Planning, &["c.md".into()])
        .unwrap();
    history::undo(
        &context(),
        run.file(),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(
        fs::read_to_string(state_file(folder.path())).unwrap(),
        third
    );
    history::undo(
        &context(),
        run.file(),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    history::undo(
        &context(),
        run.file(),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(
        history::undo(
            &context(),
            run.file(),
            bowline_engine::history::Back::from_now(false)
        )
        .unwrap_err()
        .code(),
        "nothing_to_undo"
    );
    let triggers: Vec<String> = history::transitions(run.file())
        .unwrap()
        .into_iter()
        .map(|one| one.trigger)
        .collect();
    assert_eq!(
        triggers,
        ["NEW", "START", "OUTPUT", "OUTPUT", "UNDO", "UNDO", "UNDO"]
    );
    history::restore(
        &context(),
        run.file(),
        4,
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(
        fs::read_to_string(state_file(folder.path())).unwrap(),
        fourth.view.document.text()
    );
}

#[test]
fn going_back_is_a_persons_move() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let agent = Context {
        actor: Some(Actor::Agent),
        ..context()
    };
    assert_eq!(
        history::undo(
            &agent,
            run.file(),
            bowline_engine::history::Back::from_now(false)
        )
        .unwrap_err()
        .code(),
        "needs_person"
    );
    assert_eq!(
        history::restore(
            &agent,
            run.file(),
            1,
            bowline_engine::history::Back::from_now(false)
        )
        .unwrap_err()
        .code(),
        "needs_person"
    );
}

#[test]
fn a_dry_run_decides_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let before = fs::read(state_file(folder.path())).unwrap();
    let dry = Context {
        dry_run: true,
        ..context()
    };
    let changed = run.output(&dry, Stage::Planning, &["c.md".into()]).unwrap();
    assert_eq!(
        changed.view.document.value()["stages"]["planning"]["outputs"][2],
        "c.md"
    );
    assert_eq!(fs::read(state_file(folder.path())).unwrap(), before);
    assert_eq!(history::transitions(run.file()).unwrap().len(), 3);
}

#[test]
fn the_first_change_of_a_strangers_file_can_be_undone() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path());
    for name in ["journal.jsonl", "bak"] {
        fs::remove_file(folder.path().join(format!("thinking_state.json.{name}"))).unwrap();
    }
    let before = fs::read_to_string(state_file(folder.path())).unwrap();
    let run = bowline_engine::operations::thinking::ThinkingRun::at(&context(), folder.path());
    run.output(&context(), Stage::Planning, &["c.md".into()])
        .unwrap();
    history::undo(
        &context(),
        run.file(),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(
        fs::read_to_string(state_file(folder.path())).unwrap(),
        before
    );
}

#[test]
fn a_link_out_of_the_folder_is_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    for name in ["a.md", "b.md"] {
        fs::write(folder.path().join(name), "x").unwrap();
    }
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
    let refused = run.complete(&context(), Stage::Planning, &["link".into()]);
    assert_eq!(refused.unwrap_err().code(), "path_escapes");
    run.complete(&context(), Stage::Planning, &[]).unwrap();
}

#[test]
fn a_journal_with_missing_lines_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let path = folder.path().join("thinking_state.json.journal.jsonl");
    let lines = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = lines
        .lines()
        .enumerate()
        .filter(|(at, _)| *at != 1)
        .map(|(_, line)| line)
        .collect();
    fs::write(&path, format!("{}\n", kept.join("\n"))).unwrap();
    let findings = bowline_engine::doctor::examine(&context(), run.file())
        .unwrap()
        .findings;
    assert!(
        findings
            .iter()
            .any(|finding| finding.code == "journal_broken"),
        "{findings:?}"
    );
}
