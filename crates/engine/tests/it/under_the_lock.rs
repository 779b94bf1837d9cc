//! Whoever changes a document decides on it as it is under the lock: repair, undo and restore too.
//!
//! Each test lets somebody else write in the last moment before the lock is taken.

use crate::{begun, context, state_file};
use bowline_engine::files::{Changed, KnownFile};
use bowline_engine::kinds::FileKind;
use bowline_engine::machines::thinking::{Run, Stage};
use bowline_engine::operations::memory::MemoryFolder;
use bowline_engine::{Context, doctor, history};
use bowline_test_support::{Fault, FaultyDisk};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A context in which `act` is done once, right before a lock is given its name.
pub(crate) fn with_somebody_quicker(act: impl Fn() + Send + Sync + 'static) -> Context {
    let done = AtomicBool::new(false);
    let disk = FaultyDisk::new(0, Fault::Io, false).meddled(move |operation| {
        if operation == "publish" && !done.swap(true, Ordering::SeqCst) {
            act();
        }
    });
    Context {
        disk: Arc::new(disk),
        ..context()
    }
}

fn output(folder: &Path, name: &str) -> Changed<Run> {
    bowline_engine::operations::thinking::ThinkingRun::at(&context(), folder)
        .output(&context(), Stage::Planning, &[name.into()])
        .unwrap()
}

fn at(context: &Context, folder: &Path) -> KnownFile {
    KnownFile::new(context, FileKind::Thinking, &state_file(folder))
}

fn outputs(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(state_file(folder)).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let mut outputs: Vec<String> =
        serde_json::from_value(value["stages"]["planning"]["outputs"].clone()).unwrap();
    outputs.sort();
    outputs
}

#[test]
fn a_repair_keeps_what_came_after_it_began() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path());
    let stale = fs::read_to_string(state_file(folder.path())).unwrap();
    output(folder.path(), "lost.md");
    fs::write(state_file(folder.path()), stale.replace("에세이", "수필")).unwrap();
    let path = folder.path().to_owned();
    let quicker = with_somebody_quicker(move || drop(output(&path, "late.md")));
    doctor::repair(&quicker, &at(&quicker, folder.path())).unwrap();
    assert_eq!(
        outputs(folder.path()),
        ["a.md", "b.md", "late.md", "lost.md"]
    );
}

#[test]
fn an_undo_takes_back_what_is_the_last_under_the_lock_and_names_it() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path());
    output(folder.path(), "c.md");
    let path = folder.path().to_owned();
    let quicker = with_somebody_quicker(move || drop(output(&path, "late.md")));
    let undone = history::undo(
        &quicker,
        &at(&quicker, folder.path()),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 5 }));
    assert_eq!(outputs(folder.path()), ["a.md", "b.md", "c.md"]);
}

#[test]
fn a_restore_is_refused_for_a_version_that_is_no_longer_history() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path());
    let restored = |sequence| {
        history::restore(
            &context(),
            &at(&context(), folder.path()),
            sequence,
            bowline_engine::history::Back::from_now(false),
        )
    };
    assert_eq!(restored(9).unwrap_err().code(), "no_such_transition");
    restored(2).unwrap();
    assert_eq!(outputs(folder.path()), [""; 0]);
}

/// A change that somebody's write pushed out before it was acknowledged.
fn with_a_voided_line(folder: &Path) {
    let path = state_file(folder);
    let edited = fs::read_to_string(&path).unwrap().replace("에세이", "수필");
    let done = AtomicBool::new(false);
    let disk = FaultyDisk::new(0, Fault::Io, false).meddled(move |operation| {
        if operation == "exchange" && !done.swap(true, Ordering::SeqCst) {
            fs::write(&path, &edited).unwrap();
        }
    });
    let context = Context {
        disk: Arc::new(disk),
        ..context()
    };
    bowline_engine::operations::thinking::ThinkingRun::at(&context, folder)
        .output(&context, Stage::Planning, &["c.md".into()])
        .unwrap();
}

#[test]
fn lines_that_were_voided_are_no_history() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path());
    with_a_voided_line(folder.path());
    let file = at(&context(), folder.path());
    let numbers: Vec<(u64, String)> = history::transitions(&file)
        .unwrap()
        .into_iter()
        .map(|one| (one.sequence, one.trigger))
        .collect();
    let expected = [
        (1, "NEW"),
        (2, "START"),
        (3, "OUTPUT"),
        (5, "OUTSIDE_EDIT"),
        (6, "OUTPUT"),
    ];
    assert_eq!(
        numbers,
        expected.map(|(number, name)| (number, name.to_owned()))
    );
    let refused = history::restore(
        &context(),
        &file,
        4,
        bowline_engine::history::Back::from_now(false),
    );
    assert_eq!(refused.unwrap_err().code(), "no_such_transition");
    history::undo(
        &context(),
        &file,
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(outputs(folder.path()), ["a.md", "b.md"]);
    // Undoing the edit leads to the version before it, not to the change that was never acknowledged.
    let undone = history::undo(
        &context(),
        &file,
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 5 }));
    assert_eq!(outputs(folder.path()), ["a.md", "b.md"]);
    assert!(
        fs::read_to_string(state_file(folder.path()))
            .unwrap()
            .contains("에세이")
    );
}

#[test]
fn the_document_of_another_task_is_not_completed_by_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    for name in ["a.md", "b.md"] {
        fs::write(folder.path().join(name), "x").unwrap();
    }
    let stranger = fs::read_to_string(state_file(folder.path()))
        .unwrap()
        .replace("essay-1", "novel-7");
    run.complete(&context(), Stage::Planning, &[]).unwrap();
    fs::write(state_file(folder.path()), stranger).unwrap();
    let view = run.file().view(&context()).unwrap();
    let codes: Vec<_> = view.notices.iter().map(|notice| notice.code()).collect();
    assert_eq!(codes, ["another_task"]);
    let repaired = doctor::repair(&context(), run.file()).unwrap();
    assert!(repaired.repairs.is_empty(), "{:?}", repaired.repairs);
    let view = run.file().view(&context()).unwrap();
    assert_eq!(view.document.value()["task_id"], "novel-7");
    assert_eq!(
        view.document.value()["stages"]["planning"]["status"],
        "in_progress"
    );
}

#[test]
fn an_older_version_put_back_by_hand_is_adopted_told_and_not_rolled_forward() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    output(folder.path(), "c.md");
    output(folder.path(), "d.md");
    // As the recovery by hand goes: the backup over the file.
    fs::copy(
        folder.path().join("thinking_state.json.bak"),
        state_file(folder.path()),
    )
    .unwrap();
    let view = run.file().view(&context()).unwrap();
    let told: Vec<String> = view.notices.iter().map(ToString::to_string).collect();
    assert!(
        told[0].contains("as it was after transition 4, which takes back #5 OUTPUT"),
        "{told:?}"
    );
    doctor::repair(&context(), run.file()).unwrap();
    assert_eq!(outputs(folder.path()), ["a.md", "b.md", "c.md"]);
    output(folder.path(), "e.md");
    doctor::repair(&context(), run.file()).unwrap();
    assert_eq!(outputs(folder.path()), ["a.md", "b.md", "c.md", "e.md"]);
    let transitions = history::transitions(run.file()).unwrap();
    let edit = transitions
        .iter()
        .find(|one| one.trigger == "OUTSIDE_EDIT")
        .unwrap();
    assert_eq!(edit.metadata, json!({ "putBack": 4 }));
}

#[test]
fn an_undo_after_a_repair_names_what_the_repair_had_applied_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let stale = fs::read_to_string(state_file(folder.path())).unwrap();
    output(folder.path(), "c.md");
    fs::write(state_file(folder.path()), stale.replace("에세이", "수필")).unwrap();
    output(folder.path(), "d.md");
    doctor::repair(&context(), run.file()).unwrap();
    assert_eq!(outputs(folder.path()), ["a.md", "b.md", "c.md", "d.md"]);
    let undone = history::undo(
        &context(),
        run.file(),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 7, "with": [4] }));
    assert_eq!(outputs(folder.path()), ["a.md", "b.md", "d.md"]);
    // What was undone once is not undone again.
    let undone = history::undo(
        &context(),
        run.file(),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 6 }));
    assert_eq!(outputs(folder.path()), ["a.md", "b.md"]);
}

#[test]
fn reading_never_says_that_it_completed_something() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let path = state_file(folder.path());
    let before = fs::read_to_string(&path).unwrap();
    output(folder.path(), "c.md");
    // As a crash between the commit and the exchange leaves it.
    fs::rename(
        &path,
        folder.path().join(".thinking_state.json.bowline-swap"),
    )
    .unwrap();
    fs::write(&path, before).unwrap();
    let told = |notices: &[bowline_engine::files::Notice]| notices[0].to_string();
    let read = run.file().view(&context()).unwrap();
    assert!(
        told(&read.notices).contains("the next change completes"),
        "{}",
        told(&read.notices)
    );
    let changed = output(folder.path(), "d.md");
    assert!(told(&changed.view.notices).ends_with("were completed"));
    assert_eq!(outputs(folder.path()), ["a.md", "b.md", "c.md", "d.md"]);
}

#[test]
fn a_torn_write_of_another_program_takes_no_acknowledged_change_with_it() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path());
    output(folder.path(), "c.md");
    let path = state_file(folder.path());
    let mut half = fs::read_to_string(&path).unwrap();
    half.truncate(30);
    let done = AtomicBool::new(false);
    let disk = FaultyDisk::new(0, Fault::Io, false).meddled(move |operation| {
        if operation == "exchange" && !done.swap(true, Ordering::SeqCst) {
            fs::write(&path, &half).unwrap();
        }
    });
    let torn = Context {
        disk: Arc::new(disk),
        ..context()
    };
    let changed = bowline_engine::operations::thinking::ThinkingRun::at(&torn, folder.path())
        .output(&torn, Stage::Planning, &["d.md".into()])
        .unwrap();
    assert_eq!(outputs(folder.path()), ["a.md", "b.md", "c.md", "d.md"]);
    let told = changed.view.notices[0].to_string();
    assert!(
        told.contains("restored from the journal as it was last written"),
        "{told}"
    );
}

#[test]
fn the_newest_copy_is_chosen_under_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let memory = |context: &Context| MemoryFolder::at(context, folder.path());
    memory(&context()).init(&context()).unwrap();
    memory(&context())
        .context_set(&context(), "shared_data.n", &json!(1))
        .unwrap();
    memory(&context()).backup(&context()).unwrap();
    let path = folder.path().to_owned();
    let quicker = with_somebody_quicker(move || {
        let memory = MemoryFolder::at(&context(), &path);
        memory
            .context_set(&context(), "shared_data.n", &json!(2))
            .unwrap();
        memory.backup(&context()).unwrap();
    });
    memory(&quicker)
        .restore(&quicker, Some("shared-context"), None)
        .unwrap();
    let n = memory(&context())
        .context_get(&context(), "shared_data.n")
        .unwrap();
    assert_eq!(n, json!(2));
}

#[test]
fn an_undo_right_after_an_edit_of_somebody_takes_that_edit_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    output(folder.path(), "c.md");
    let path = state_file(folder.path());
    let ours = fs::read_to_string(&path).unwrap();
    fs::write(&path, ours.replace("에세이", "수필")).unwrap();
    let undone = history::undo(
        &context(),
        run.file(),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 5 }));
    assert_eq!(fs::read_to_string(&path).unwrap(), ours);
    let told = history::transitions(run.file()).unwrap();
    assert_eq!(
        (told[4].sequence, told[4].trigger.as_str()),
        (5, "OUTSIDE_EDIT")
    );
}

#[test]
fn a_list_that_both_sides_began_is_joined() {
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFolder::at(&context(), folder.path());
    memory.init(&context()).unwrap();
    let path = folder.path().join("shared-context.json");
    let before = fs::read_to_string(&path).unwrap();
    let append = |value: &str| {
        memory
            .context_append(&context(), "shared_data.log", &json!(value))
            .unwrap();
    };
    append("one");
    let edited = before.replacen('{', "{\n  \"somebody\": 1,", 1);
    fs::write(&path, edited).unwrap();
    append("two");
    doctor::repair(&context(), memory.shared()).unwrap();
    let log = memory.context_get(&context(), "shared_data.log").unwrap();
    assert_eq!(log, json!(["two", "one"]));
}

#[test]
fn a_copy_is_never_made_of_half_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFolder::at(&context(), folder.path());
    memory.init(&context()).unwrap();
    memory
        .context_set(&context(), "shared_data.n", &json!(1))
        .unwrap();
    fs::write(folder.path().join("shared-context.json"), "{\"version").unwrap();
    let copies = memory.backup(&context()).unwrap();
    for copy in copies {
        let text = fs::read_to_string(&copy).unwrap();
        assert!(
            serde_json::from_str::<Value>(&text).is_ok(),
            "{copy:?}: {text}"
        );
    }
    let n = memory.context_get(&context(), "shared_data.n").unwrap();
    assert_eq!(n, json!(1));
}

#[test]
fn an_undo_of_a_later_change_does_not_settle_an_older_loss() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let stale = fs::read_to_string(state_file(folder.path())).unwrap();
    output(folder.path(), "c.md");
    fs::write(state_file(folder.path()), stale.replace("에세이", "수필")).unwrap();
    output(folder.path(), "d.md");
    history::undo(
        &context(),
        run.file(),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(outputs(folder.path()), ["a.md", "b.md"]);
    doctor::repair(&context(), run.file()).unwrap();
    assert_eq!(outputs(folder.path()), ["a.md", "b.md", "c.md"]);
}

#[test]
fn what_was_undone_after_it_was_lost_does_not_come_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    let stale = fs::read_to_string(state_file(folder.path())).unwrap();
    output(folder.path(), "c.md");
    fs::write(state_file(folder.path()), stale.replace("에세이", "수필")).unwrap();
    // First the edit, then what it had lost.
    history::undo(
        &context(),
        run.file(),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    let undone = history::undo(
        &context(),
        run.file(),
        bowline_engine::history::Back::from_now(false),
    )
    .unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 4 }));
    doctor::repair(&context(), run.file()).unwrap();
    assert_eq!(outputs(folder.path()), ["a.md", "b.md"]);
}

#[test]
fn half_a_write_in_passing_hides_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path());
    let stale = fs::read_to_string(state_file(folder.path())).unwrap();
    output(folder.path(), "c.md");
    // Somebody who read before that writes in two halves, each in the moment of a change of ours.
    let path = state_file(folder.path());
    let whole = stale.replace("에세이", "수필");
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let disk = FaultyDisk::new(0, Fault::Io, false).meddled(move |operation| {
        if operation == "exchange" {
            match calls.fetch_add(1, Ordering::SeqCst) {
                0 => fs::write(&path, &whole[..30]).unwrap(),
                1 => fs::write(&path, &whole).unwrap(),
                _ => {}
            }
        }
    });
    let torn = Context {
        disk: Arc::new(disk),
        ..context()
    };
    bowline_engine::operations::thinking::ThinkingRun::at(&torn, folder.path())
        .output(&torn, Stage::Planning, &["d.md".into()])
        .unwrap();
    doctor::repair(&context(), &at(&context(), folder.path())).unwrap();
    assert_eq!(outputs(folder.path()), ["a.md", "b.md", "c.md", "d.md"]);
}

#[test]
fn a_task_with_the_same_id_is_another_task_when_it_began_at_another_time() {
    let folder = tempfile::tempdir().unwrap();
    let run = begun(folder.path());
    for name in ["a.md", "b.md"] {
        fs::write(folder.path().join(name), "x").unwrap();
    }
    let other = fs::read_to_string(state_file(folder.path()))
        .unwrap()
        .replace("2026-02-03T04:05:06Z", "2026-01-01T00:00:00Z");
    run.complete(&context(), Stage::Planning, &[]).unwrap();
    fs::write(state_file(folder.path()), other).unwrap();
    doctor::repair(&context(), run.file()).unwrap();
    let view = run.file().view(&context()).unwrap();
    assert_eq!(
        view.document.value()["stages"]["planning"]["status"],
        "in_progress"
    );
}

#[test]
fn a_queued_task_that_was_lost_comes_back_whatever_became_of_the_current_one() {
    use bowline_engine::operations::memory::NewTask;
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFolder::at(&context(), folder.path());
    let path = folder.path().join("task-state.json");
    let new = |name: &str| {
        let task = NewTask {
            name: name.into(),
            ..NewTask::default()
        };
        memory.task_new(&context(), &task).unwrap();
    };
    new("first");
    new("second");
    let stale = fs::read_to_string(&path).unwrap();
    new("third");
    fs::write(&path, stale.replacen('{', "{\n  \"somebody\": 1,", 1)).unwrap();
    let told = memory.state().view(&context()).unwrap().notices;
    assert_eq!(told[0].code(), "lost_transition");
    // Another task becomes the current one before anybody repairs.
    memory.task_cancel(&context()).unwrap();
    doctor::repair(&context(), memory.state()).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("third"));
}
