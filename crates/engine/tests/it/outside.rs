//! Edits around the lock: adopted, told, and never silently losing what was acknowledged.

use crate::{begun, context, state_file};
use bowline_engine::doctor;
use bowline_engine::machines::thinking::Stage;
use std::fs;

fn codes(notices: &[bowline_engine::files::Notice]) -> Vec<&'static str> {
    notices
        .iter()
        .map(bowline_engine::files::Notice::code)
        .collect()
}

/// The recorded outputs of planning, sorted: a repair adds at the end what was lost in the middle.
fn outputs(view: &bowline_engine::files::View) -> Vec<String> {
    let list = &view.document.value()["stages"]["planning"]["outputs"];
    let mut outputs: Vec<String> = serde_json::from_value(list.clone()).unwrap();
    outputs.sort();
    outputs
}

#[test]
fn an_edit_of_the_last_version_is_adopted_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let text = fs::read_to_string(state_file(folder.path())).unwrap();
    fs::write(
        state_file(folder.path()),
        text.replace("읽히는 글", "짧은 글"),
    )
    .unwrap();
    assert_eq!(
        codes(&run.file().view(&context()).unwrap().notices),
        ["outside_edit"]
    );
    let changed = run
        .output(&context(), Stage::Planning, &["c.md".into()])
        .unwrap();
    assert_eq!(codes(&changed.view.notices), ["outside_edit"]);
    assert_eq!(changed.view.document.value()["goal"], "짧은 글");
    assert!(
        doctor::examine(&context(), run.file())
            .unwrap()
            .findings
            .is_empty()
    );
}

#[test]
fn an_edit_of_an_older_version_names_what_it_lost_and_the_doctor_brings_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let stale = fs::read_to_string(state_file(folder.path())).unwrap();
    run.output(&context(), Stage::Planning, &["c.md".into()])
        .unwrap();
    run.output(&context(), Stage::Planning, &["d.md".into()])
        .unwrap();
    fs::write(
        state_file(folder.path()),
        stale.replace("읽히는 글", "짧은 글"),
    )
    .unwrap();

    let view = run.file().view(&context()).unwrap();
    assert_eq!(codes(&view.notices), ["lost_transition"]);
    let told = view.notices[0].to_string();
    assert!(
        told.contains("#4 OUTPUT") && told.contains("#5 OUTPUT"),
        "{told}"
    );

    // Life goes on; the loss is still known afterwards.
    let changed = run
        .output(&context(), Stage::Planning, &["e.md".into()])
        .unwrap();
    assert_eq!(codes(&changed.view.notices), ["lost_transition"]);
    let diagnosis = doctor::examine(&context(), run.file()).unwrap();
    assert!(!diagnosis.healthy());

    let repaired = doctor::repair(&context(), run.file()).unwrap();
    assert!(repaired.healthy());
    let view = run.file().view(&context()).unwrap();
    assert_eq!(outputs(&view), ["a.md", "b.md", "c.md", "d.md", "e.md"]);
    assert_eq!(view.document.value()["goal"], "짧은 글");
    assert!(doctor::examine(&context(), run.file()).unwrap().healthy());
    assert!(
        doctor::repair(&context(), run.file())
            .unwrap()
            .repairs
            .is_empty(),
        "a second repair has nothing to do"
    );
}

#[test]
fn the_doctor_heals_a_stale_edit_that_nobody_adopted_yet() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let stale = fs::read_to_string(state_file(folder.path())).unwrap();
    run.output(&context(), Stage::Planning, &["c.md".into()])
        .unwrap();
    fs::write(state_file(folder.path()), stale.replace("에세이", "수필")).unwrap();
    doctor::repair(&context(), run.file()).unwrap();
    let view = run.file().view(&context()).unwrap();
    assert_eq!(
        view.document.value()["stages"]["planning"]["outputs"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(view.document.value()["title"], "수필");
}

#[test]
fn what_was_taken_back_on_purpose_is_not_brought_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let stale = fs::read_to_string(state_file(folder.path())).unwrap();
    run.output(&context(), Stage::Planning, &["c.md".into()])
        .unwrap();
    fs::write(state_file(folder.path()), stale.replace("에세이", "수필")).unwrap();
    run.output(&context(), Stage::Planning, &["d.md".into()])
        .unwrap();
    doctor::repair(&context(), run.file()).unwrap();
    // The person goes back to before the repair: the loss is theirs now.
    bowline_engine::history::restore(
        &context(),
        run.file(),
        6,
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert!(
        doctor::repair(&context(), run.file())
            .unwrap()
            .repairs
            .is_empty()
    );
}

#[test]
fn an_edit_that_undoes_another_edit_does_not_take_acknowledged_work_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let output = |name: &str| {
        run.output(&context(), Stage::Planning, &[name.into()])
            .unwrap();
    };
    let third = fs::read_to_string(state_file(folder.path())).unwrap();
    output("c.md");
    output("d.md");
    let fifth = fs::read_to_string(state_file(folder.path())).unwrap();
    // First somebody overwrites two updates, then somebody else who saw them overwrites that.
    fs::write(state_file(folder.path()), third.replace("에세이", "수필")).unwrap();
    output("e.md");
    fs::write(state_file(folder.path()), fifth.replace("에세이", "산문")).unwrap();
    output("f.md");
    doctor::repair(&context(), run.file()).unwrap();
    let view = run.file().view(&context()).unwrap();
    assert_eq!(
        outputs(&view),
        ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md"]
    );
}

#[test]
fn an_editor_that_held_the_file_open_for_long_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let stale = fs::read_to_string(state_file(folder.path())).unwrap();
    for number in 0..150 {
        run.output(&context(), Stage::Planning, &[format!("{number}.md")])
            .unwrap();
    }
    fs::write(state_file(folder.path()), stale.replace("에세이", "수필")).unwrap();
    let told = run.file().view(&context()).unwrap().notices[0].to_string();
    assert_eq!(told.matches('#').count(), 150, "{told}");
    doctor::repair(&context(), run.file()).unwrap();
    let view = run.file().view(&context()).unwrap();
    let outputs = &view.document.value()["stages"]["planning"]["outputs"];
    assert_eq!(outputs.as_array().unwrap().len(), 152);
}
