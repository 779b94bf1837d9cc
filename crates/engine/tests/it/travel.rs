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
    history::undo(&context(), run.file(), false).unwrap();
    assert_eq!(
        fs::read_to_string(state_file(folder.path())).unwrap(),
        third
    );
    history::undo(&context(), run.file(), false).unwrap();
    history::undo(&context(), run.file(), false).unwrap();
    assert_eq!(
        history::undo(&context(), run.file(), false)
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
    history::restore(&context(), run.file(), 4, false).unwrap();
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
        history::undo(&agent, run.file(), false).unwrap_err().code(),
        "needs_person"
    );
    assert_eq!(
        history::restore(&agent, run.file(), 1, false)
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
