//! Whoever changes a document decides on it as it is under the lock: repair, undo and restore too.
//!
//! Each test lets somebody else write in the last moment before the lock is taken.

use crate::{Essay, codes, context, meddled, output, state_file, with_somebody_quicker};
use bowline_engine::files::{FileNotice, KnownFile};
use bowline_engine::history::{self, RestoreOptions};
use bowline_engine::kinds::FileKind;
use bowline_engine::machines::thinking::ThinkingStage;
use bowline_engine::operations::memory::MemoryFolder;
use bowline_engine::{Context, doctor};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn at(context: &Context, folder: &Path) -> KnownFile {
    KnownFile::new(context, FileKind::Thinking, &state_file(folder))
}

#[test]
fn a_repair_keeps_what_came_after_it_began() {
    let essay = Essay::begun();
    let stale = essay.text();
    essay.output("lost.md");
    essay.write(stale.replace("에세이", "수필"));
    let path = essay.folder().to_owned();
    let quicker = with_somebody_quicker(move || drop(output(&context(), &path, "late.md")));
    doctor::repair_file(&quicker, &at(&quicker, essay.folder())).unwrap();
    assert_eq!(essay.outputs(), ["a.md", "b.md", "late.md", "lost.md"]);
}

#[test]
fn an_undo_takes_back_what_is_the_last_under_the_lock_and_names_it() {
    let essay = Essay::begun();
    essay.output("c.md");
    let path = essay.folder().to_owned();
    let quicker = with_somebody_quicker(move || drop(output(&context(), &path, "late.md")));
    let file = at(&quicker, essay.folder());
    let undone = history::undo_transition(&quicker, &file, RestoreOptions::default()).unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 5 }));
    assert_eq!(essay.outputs(), ["a.md", "b.md", "c.md"]);
}

#[test]
fn a_restore_is_refused_for_a_version_that_is_no_longer_history() {
    let essay = Essay::begun();
    assert_eq!(essay.restore(9).unwrap_err().code(), "no_such_transition");
    essay.restore(2).unwrap();
    assert_eq!(essay.outputs(), [""; 0]);
}

/// A context in which somebody writes the file in the moment of our first changes of it, a text each.
fn overwritten(essay: &Essay, texts: Vec<String>) -> Context {
    let path = essay.path();
    meddled("exchange", move |before| {
        if let Some(text) = texts.get(before) {
            fs::write(&path, text).unwrap();
        }
    })
}

#[test]
fn lines_that_were_voided_are_no_history() {
    let essay = Essay::begun();
    // A change that somebody's write pushed out before it was acknowledged.
    let edited = essay.text().replace("에세이", "수필");
    output(&overwritten(&essay, vec![edited]), essay.folder(), "c.md");
    let numbers: Vec<(u64, String)> = history::read_transitions(essay.file())
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
    let refused = essay.restore(4);
    assert_eq!(refused.unwrap_err().code(), "no_such_transition");
    essay.undo().unwrap();
    assert_eq!(essay.outputs(), ["a.md", "b.md"]);
    // Undoing the edit leads to the version before it, not to the change that was never acknowledged.
    let undone = essay.undo().unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 5 }));
    assert_eq!(essay.outputs(), ["a.md", "b.md"]);
    assert!(essay.text().contains("에세이"));
}

#[test]
fn the_document_of_another_task_is_not_completed_by_this_one() {
    let essay = Essay::begun();
    essay.write_outputs();
    let stranger = essay.text().replace("essay-1", "novel-7");
    essay
        .run
        .complete_stage(&context(), ThinkingStage::Planning, &[])
        .unwrap();
    essay.write(stranger);
    let view = essay.view();
    assert_eq!(codes(&view.notices), ["another_task"]);
    let repaired = essay.repair();
    assert!(repaired.repairs.is_empty(), "{:?}", repaired.repairs);
    let view = essay.view();
    assert_eq!(view.document.value()["task_id"], "novel-7");
    assert_eq!(
        view.document.value()["stages"]["planning"]["status"],
        "in_progress"
    );
}

#[test]
fn an_older_version_put_back_by_hand_is_adopted_told_and_not_rolled_forward() {
    let essay = Essay::begun();
    essay.output("c.md");
    essay.output("d.md");
    // As the recovery by hand goes: the backup over the file.
    fs::copy(essay.folder().join("thinking_state.json.bak"), essay.path()).unwrap();
    let view = essay.view();
    let told: Vec<String> = view.notices.iter().map(ToString::to_string).collect();
    assert!(
        told[0].contains("as it was after transition 4, which takes back #5 OUTPUT"),
        "{told:?}"
    );
    essay.repair();
    assert_eq!(essay.outputs(), ["a.md", "b.md", "c.md"]);
    essay.output("e.md");
    essay.repair();
    assert_eq!(essay.outputs(), ["a.md", "b.md", "c.md", "e.md"]);
    let transitions = history::read_transitions(essay.file()).unwrap();
    let edit = transitions
        .iter()
        .find(|one| one.trigger == "OUTSIDE_EDIT")
        .unwrap();
    assert_eq!(edit.metadata, json!({ "putBack": 4 }));
}

#[test]
fn an_undo_after_a_repair_names_what_the_repair_had_applied_again() {
    let essay = Essay::begun();
    let stale = essay.text();
    essay.output("c.md");
    essay.write(stale.replace("에세이", "수필"));
    essay.output("d.md");
    essay.repair();
    assert_eq!(essay.outputs(), ["a.md", "b.md", "c.md", "d.md"]);
    let undone = essay.undo().unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 7, "with": [4] }));
    assert_eq!(essay.outputs(), ["a.md", "b.md", "d.md"]);
    // What was undone once is not undone again.
    let undone = essay.undo().unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 6 }));
    assert_eq!(essay.outputs(), ["a.md", "b.md"]);
}

#[test]
fn reading_never_says_that_it_completed_something() {
    let essay = Essay::begun();
    let before = essay.text();
    essay.output("c.md");
    // As a crash between the commit and the exchange leaves it.
    fs::rename(
        essay.path(),
        essay.folder().join(".thinking_state.json.bowline-swap"),
    )
    .unwrap();
    essay.write(before);
    let told = |notices: &[FileNotice]| notices[0].to_string();
    let read = essay.view();
    assert!(
        told(&read.notices).contains("the next change completes"),
        "{}",
        told(&read.notices)
    );
    let changed = essay.output("d.md");
    assert!(told(&changed.view.notices).ends_with("were completed"));
    assert_eq!(essay.outputs(), ["a.md", "b.md", "c.md", "d.md"]);
}

#[test]
fn a_torn_write_of_another_program_takes_no_acknowledged_change_with_it() {
    let essay = Essay::begun();
    essay.output("c.md");
    let half = essay.text()[..30].to_owned();
    let changed = output(&overwritten(&essay, vec![half]), essay.folder(), "d.md");
    assert_eq!(essay.outputs(), ["a.md", "b.md", "c.md", "d.md"]);
    let told = changed.view.notices[0].to_string();
    assert!(
        told.contains("restored from the journal as it was last written"),
        "{told}"
    );
}

#[test]
fn the_newest_copy_is_chosen_under_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let memory = |context: &Context| MemoryFolder::in_folder(context, folder.path());
    memory(&context()).create_files(&context()).unwrap();
    memory(&context())
        .context_set(&context(), "shared_data.n", &json!(1))
        .unwrap();
    memory(&context()).back_up(&context()).unwrap();
    let path = folder.path().to_owned();
    let quicker = with_somebody_quicker(move || {
        let memory = MemoryFolder::in_folder(&context(), &path);
        memory
            .context_set(&context(), "shared_data.n", &json!(2))
            .unwrap();
        memory.back_up(&context()).unwrap();
    });
    memory(&quicker)
        .restore_copy(&quicker, Some("shared-context"), None)
        .unwrap();
    let n = memory(&context())
        .context_get(&context(), "shared_data.n")
        .unwrap();
    assert_eq!(n, json!(2));
}

#[test]
fn an_undo_right_after_an_edit_of_somebody_takes_that_edit_back() {
    let essay = Essay::begun();
    essay.output("c.md");
    let ours = essay.text();
    essay.write(ours.replace("에세이", "수필"));
    let undone = essay.undo().unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 5 }));
    assert_eq!(essay.text(), ours);
    let told = history::read_transitions(essay.file()).unwrap();
    assert_eq!(
        (told[4].sequence, told[4].trigger.as_str()),
        (5, "OUTSIDE_EDIT")
    );
}

#[test]
fn a_list_that_both_sides_began_is_joined() {
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFolder::in_folder(&context(), folder.path());
    memory.create_files(&context()).unwrap();
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
    doctor::repair_file(&context(), memory.shared_file()).unwrap();
    let log = memory.context_get(&context(), "shared_data.log").unwrap();
    assert_eq!(log, json!(["two", "one"]));
}

#[test]
fn a_copy_is_never_made_of_half_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFolder::in_folder(&context(), folder.path());
    memory.create_files(&context()).unwrap();
    memory
        .context_set(&context(), "shared_data.n", &json!(1))
        .unwrap();
    fs::write(folder.path().join("shared-context.json"), "{\"version").unwrap();
    let copies = memory.back_up(&context()).unwrap();
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
    let essay = Essay::begun();
    let stale = essay.text();
    essay.output("c.md");
    essay.write(stale.replace("에세이", "수필"));
    essay.output("d.md");
    essay.undo().unwrap();
    assert_eq!(essay.outputs(), ["a.md", "b.md"]);
    essay.repair();
    assert_eq!(essay.outputs(), ["a.md", "b.md", "c.md"]);
}

#[test]
fn what_was_undone_after_it_was_lost_does_not_come_again() {
    let essay = Essay::begun();
    let stale = essay.text();
    essay.output("c.md");
    essay.write(stale.replace("에세이", "수필"));
    // First the edit, then what it had lost.
    essay.undo().unwrap();
    let undone = essay.undo().unwrap();
    assert_eq!(undone.moved.metadata, json!({ "undone": 4 }));
    essay.repair();
    assert_eq!(essay.outputs(), ["a.md", "b.md"]);
}

#[test]
fn half_a_write_in_passing_hides_no_loss() {
    let essay = Essay::begun();
    let stale = essay.text();
    essay.output("c.md");
    // Somebody who read before that writes in two halves, each in the moment of a change of ours.
    let whole = stale.replace("에세이", "수필");
    let texts = vec![whole[..30].to_owned(), whole];
    output(&overwritten(&essay, texts), essay.folder(), "d.md");
    essay.repair();
    assert_eq!(essay.outputs(), ["a.md", "b.md", "c.md", "d.md"]);
}

#[test]
fn a_task_with_the_same_id_is_another_task_when_it_began_at_another_time() {
    let essay = Essay::begun();
    essay.write_outputs();
    let other = essay
        .text()
        .replace("2026-02-03T04:05:06Z", "2026-01-01T00:00:00Z");
    essay
        .run
        .complete_stage(&context(), ThinkingStage::Planning, &[])
        .unwrap();
    essay.write(other);
    essay.repair();
    let view = essay.view();
    assert_eq!(
        view.document.value()["stages"]["planning"]["status"],
        "in_progress"
    );
}

#[test]
fn a_queued_task_that_was_lost_comes_back_whatever_became_of_the_current_one() {
    use bowline_engine::operations::memory::NewTask;
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFolder::in_folder(&context(), folder.path());
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
    let told = memory.state_file().read_view(&context()).unwrap().notices;
    assert_eq!(told[0].code(), "lost_transition");
    // Another task becomes the current one before anybody repairs.
    memory.task_cancel(&context()).unwrap();
    doctor::repair_file(&context(), memory.state_file()).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("third"));
}

#[test]
fn a_value_that_an_editor_read_before_it_was_acknowledged_is_appended_once() {
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFolder::in_folder(&context(), folder.path());
    memory.create_files(&context()).unwrap();
    let first = memory.context_append(&context(), "shared_data.log", &json!("a"));
    let path = first.unwrap().view.path;
    // An editor writes right before our exchange, reads what is in place after it, and is first to write again: its own
    // version goes back into place, and then it writes what it has read.
    let (file, read) = (path.clone(), std::sync::Mutex::new(String::new()));
    let editor = meddled("exchange", move |before| match before {
        0 => {
            let text = fs::read_to_string(&file).unwrap();
            fs::write(&file, text + " ").unwrap();
        }
        1 => *read.lock().unwrap() = fs::read_to_string(&file).unwrap(),
        2 => fs::write(&file, read.lock().unwrap().as_str().to_owned() + "\n").unwrap(),
        _ => {}
    });
    let quicker = MemoryFolder::in_folder(&editor, folder.path());
    let value = json!("b");
    quicker
        .context_append(&editor, "shared_data.log", &value)
        .unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\"b\"").count(), 1, "{text}");
}

#[test]
fn a_value_is_appended_again_where_an_editor_put_back_a_version_without_its_list() {
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFolder::in_folder(&context(), folder.path());
    let first = memory.agent_append(&context(), "builder", "preferences.log", &json!("a"));
    let path = first.unwrap().view.path;
    let text = fs::read_to_string(&path).unwrap();
    // An editor writes a version without the list in the moment of our exchange.
    let mut older: Value = serde_json::from_str(&text).unwrap();
    older["preferences"] = json!({});
    // Its time is that of our change, which proves nothing.
    let at = older["last_updated"].as_str().unwrap();
    let empty = text
        .replace("\"a\"", "")
        .replace(at, "2001-01-01T00:00:00Z");
    fs::write(&path, &empty).unwrap();
    let file = path.clone();
    let editor = meddled("exchange", move |before| {
        if before == 0 {
            fs::write(&file, older.to_string()).unwrap();
        }
    });
    let quicker = MemoryFolder::in_folder(&editor, folder.path());
    quicker
        .agent_append(&editor, "builder", "preferences.log", &json!("b"))
        .unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\"b\"").count(), 1, "{text}");
}
