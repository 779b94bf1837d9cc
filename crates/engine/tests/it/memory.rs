//! The memory folder: two files that must agree, whatever happens in between.

use crate::{codes, context};
use bowline_engine::Context;
use bowline_engine::doctor;
use bowline_engine::files::KnownFile;
use bowline_engine::history::{self, RestoreOptions};
use bowline_engine::kinds::FileKind;
use bowline_engine::machines::Actor;
use bowline_engine::operations::memory::{
    FailureKind, FinishReport, MemoryFolder, NewStep, NewTask,
};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn begun(folder: &Path) -> MemoryFolder {
    let memory = MemoryFolder::in_folder(&context(), folder);
    let step = |name: &str, dependencies: &[u32]| NewStep {
        name: name.into(),
        agent: "writer".into(),
        dependencies: dependencies.to_vec(),
        ..NewStep::default()
    };
    let new = NewTask {
        name: "안내서".into(),
        goal: "읽히는 안내서".into(),
        steps: vec![step("자료", &[]), step("그림", &[]), step("글", &[1, 2])],
        ..NewTask::default()
    };
    memory.task_new(&context(), &new).unwrap();
    memory
}

/// A task without steps.
fn task(name: &str) -> NewTask {
    NewTask {
        name: name.into(),
        ..NewTask::default()
    }
}

fn finish() -> FinishReport {
    FinishReport {
        lessons: vec!["먼저 묻기".into()],
        tokens: Some(1200),
        ..FinishReport::default()
    }
}

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn a_finished_task_is_in_the_history_exactly_once() {
    let folder = tempfile::tempdir().unwrap();
    let memory = begun(folder.path());
    for id in [1, 2, 3] {
        memory.step_start(&context(), id).unwrap();
        memory.step_complete(&context(), id, None, vec![]).unwrap();
    }
    memory.task_finish(&context(), finish()).unwrap();
    memory.settle_effects(&context()).unwrap();
    memory.settle_effects(&context()).unwrap();
    let history = json(folder.path(), "task-history.json");
    assert_eq!(history["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(history["tasks"][0]["result"], "success");
    assert_eq!(history["statistics"]["success_rate"], 1);
    assert_eq!(
        json(folder.path(), "task-state.json")["current_task"],
        Value::Null
    );
}

#[test]
fn a_crash_between_the_two_files_is_made_good_by_the_next_command() {
    let folder = tempfile::tempdir().unwrap();
    let memory = begun(folder.path());
    memory.step_start(&context(), 1).unwrap();
    // The history cannot be written: the state is committed, the history owes an entry.
    let history = folder.path().join("task-history.json");
    let kept = fs::read(&history).unwrap();
    fs::remove_file(&history).unwrap();
    fs::remove_file(folder.path().join("task-history.json.journal.jsonl")).unwrap();
    fs::create_dir(&history).unwrap();
    let cancelled = memory.task_cancel(&context());
    assert!(cancelled.is_err());
    fs::remove_dir(&history).unwrap();
    fs::write(&history, kept).unwrap();
    // Either nothing happened, or it happened and is still owed; in both cases the next command leaves both files right.
    memory.task_new(&context(), &task("next")).unwrap();
    let state = json(folder.path(), "task-state.json");
    let history = json(folder.path(), "task-history.json");
    let current = state["current_task"]["name"].as_str().unwrap();
    let past = history["tasks"].as_array().unwrap().len();
    assert!(
        matches!((current, past), ("안내서", 0) | ("next", 1)),
        "{current} {past}"
    );
}

/// Stopped between the commit and the file, as by a kill; or the file removed by somebody.
#[test]
fn init_brings_a_file_into_place_of_which_only_the_journal_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let memory = begun(folder.path());
    let state = folder.path().join("task-state.json");
    let kept = fs::read(&state).unwrap();
    fs::remove_file(&state).unwrap();
    assert_eq!(
        memory.create_files(&context()).unwrap(),
        [FileKind::TaskState]
    );
    assert_eq!(fs::read(&state).unwrap(), kept);
    assert!(memory.create_files(&context()).unwrap().is_empty());
}

#[test]
fn a_current_task_that_the_history_has_is_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let memory = begun(folder.path());
    let before = fs::read(folder.path().join("task-state.json")).unwrap();
    memory.task_cancel(&context()).unwrap();
    // Somebody puts the old file back.
    fs::write(folder.path().join("task-state.json"), before).unwrap();
    memory.task_new(&context(), &task("next")).unwrap();
    let state = json(folder.path(), "task-state.json");
    assert_eq!(state["current_task"]["name"], "next");
    let history = json(folder.path(), "task-history.json");
    assert_eq!(history["tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn an_escalated_task_is_recovered_by_a_person_only() {
    let folder = tempfile::tempdir().unwrap();
    let memory = begun(folder.path());
    memory.step_start(&context(), 1).unwrap();
    let failed = memory.step_fail(&context(), 1, FailureKind::Critical, "no key");
    assert!(failed.unwrap().state.escalated);
    let agent = Context {
        actor: Some(Actor::Agent),
        ..context()
    };
    let refused = memory.task_recover(&agent, None);
    assert_eq!(refused.unwrap_err().code(), "needs_person");
    memory.task_recover(&context(), None).unwrap();
    assert_eq!(
        json(folder.path(), "task-state.json")["current_task"]["status"],
        "in_progress"
    );
}

#[test]
fn values_are_set_by_path_and_protected_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFolder::in_folder(&context(), folder.path());
    memory
        .context_set(&context(), "shared_data.topic", &json!("매듭"))
        .unwrap();
    assert_eq!(
        memory.context_get(&context(), "shared_data.topic").unwrap(),
        "매듭"
    );
    for path in ["version", "last_updated", "session.id", "", "a..b"] {
        assert!(
            memory.context_set(&context(), path, &json!(1)).is_err(),
            "{path}"
        );
    }
    let missing = memory.context_get(&context(), "shared_data.nothing");
    assert_eq!(missing.unwrap_err().code(), "path_not_found");
    assert!(
        memory
            .agent_set(&context(), "../x", "cache.a", &json!(1))
            .is_err()
    );
    memory
        .agent_set(&context(), "writer", "cache.a", &json!([1]))
        .unwrap();
    assert_eq!(
        memory.agent_get(&context(), "writer", "cache.a.0").unwrap(),
        1
    );
}

#[test]
fn backups_are_kept_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let memory = begun(folder.path());
    assert_eq!(memory.back_up(&context()).unwrap().len(), 3);
    memory.task_cancel(&context()).unwrap();
    memory.restore_copy(&context(), None, None).unwrap();
    let state = KnownFile::new(
        &context(),
        FileKind::TaskState,
        &folder.path().join("task-state.json"),
    );
    assert!(state.read_view(&context()).is_ok());
    for _ in 0..30 {
        memory.back_up(&context()).unwrap();
    }
    let copies = fs::read_dir(folder.path().join("backup"))
        .unwrap()
        .flatten();
    let states = copies.filter(|copy| {
        copy.file_name()
            .to_string_lossy()
            .starts_with("task-state-")
    });
    assert_eq!(states.count(), 20);
}

#[test]
fn a_task_that_is_owed_to_the_history_keeps_its_id() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path());
    let lock = folder.path().join("task-history.json.lock");
    fs::write(&lock, "somebody").unwrap();
    let hurried = Context {
        lock_wait: std::time::Duration::from_millis(50),
        clock: bowline_engine::clock::Clock::System,
        ..context()
    };
    let memory = MemoryFolder::in_folder(&hurried, folder.path());
    let finished = memory.task_finish(&hurried, finish()).unwrap();
    assert_eq!(codes(&finished.view.notices), ["history_owed"]);
    let state = memory.state_file();
    assert!(!doctor::examine_file(&hurried, state).unwrap().is_healthy());
    // While it is owed, no new task may take its id.
    let next = task("next");
    assert_eq!(
        memory.task_new(&hurried, &next).unwrap_err().code(),
        "locked"
    );
    fs::remove_file(&lock).unwrap();
    memory.task_new(&hurried, &next).unwrap();
    let history = json(folder.path(), "task-history.json");
    let state = json(folder.path(), "task-state.json");
    assert_eq!(history["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(state["current_task"]["name"], "next");
    assert_ne!(state["current_task"]["id"], history["tasks"][0]["id"]);
    assert!(
        doctor::examine_file(&hurried, memory.state_file())
            .unwrap()
            .is_healthy()
    );
}

#[test]
fn a_refusal_makes_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("memory");
    let memory = MemoryFolder::in_folder(&context(), &place);
    let refused = memory.step_start(&context(), 1);
    assert_eq!(refused.unwrap_err().code(), "no_task");
    assert!(
        memory
            .context_set(&context(), "version", &json!(3))
            .is_err()
    );
    assert!(
        memory
            .agent_set(&context(), "writer", "version", &json!(3))
            .is_err()
    );
    assert!(!place.exists());
}

/// Names begun and summaries of tasks finished, as they were acknowledged, by several workers at once.
fn begin_and_finish_side_by_side(folder: &Path, rounds: usize) -> (Vec<String>, Vec<String>) {
    const WORKERS: usize = 2;
    MemoryFolder::in_folder(&context(), folder)
        .create_files(&context())
        .unwrap();
    let worker = |number: usize| {
        let memory = MemoryFolder::in_folder(&context(), folder);
        let (mut begun, mut finished) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let name = format!("{number}-{round}");
            if number < WORKERS {
                memory.task_new(&context(), &task(&name)).unwrap();
                begun.push(name);
            } else {
                let finish = FinishReport {
                    summary: Some(name.clone()),
                    ..FinishReport::default()
                };
                match memory.task_finish(&context(), finish) {
                    Ok(_) => finished.push(name),
                    Err(error) => assert_eq!(error.code(), "no_task", "{error}"),
                }
            }
        }
        (begun, finished)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2 * WORKERS)
            .map(|number| scope.spawn(move || worker(number)))
            .collect();
        let mut all = (Vec::new(), Vec::new());
        for one in workers {
            let (begun, finished) = one.join().unwrap();
            all.0.extend(begun);
            all.1.extend(finished);
        }
        all
    })
}

#[test]
fn tasks_begun_and_finished_at_the_same_time_are_all_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut begun, mut finished) = begin_and_finish_side_by_side(folder.path(), 20);
    let state = json(folder.path(), "task-state.json");
    let history = json(folder.path(), "task-history.json");
    let past = history["tasks"].as_array().unwrap();
    let mut tasks: Vec<&Value> = past.iter().collect();
    tasks.extend(
        state["current_task"]
            .as_object()
            .map(|_| &state["current_task"]),
    );
    tasks.extend(state["pending_tasks"].as_array().unwrap());
    let texts = |tasks: &[&Value], member: &str| {
        let texts = tasks
            .iter()
            .map(|task| task[member].as_str().unwrap().to_owned());
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        texts
    };
    begun.sort();
    assert_eq!(texts(&tasks, "name"), begun);
    let summaries = past.iter().collect::<Vec<_>>();
    finished.sort();
    assert_eq!(texts(&summaries, "summary"), finished);
    let mut ids = texts(&tasks, "id");
    ids.dedup();
    assert_eq!(ids.len(), tasks.len());
}

/// An id that somebody may have written down is not given to another task, even after the first is taken back.
#[test]
fn an_id_is_never_given_out_twice() {
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFolder::in_folder(&context(), folder.path());
    memory.create_files(&context()).unwrap();
    let new = task("first");
    let first = memory.task_new(&context(), &new).unwrap();
    history::undo_transition(&context(), memory.state_file(), RestoreOptions::default()).unwrap();
    let second = memory.task_new(&context(), &new).unwrap();
    assert_ne!(first.moved.metadata["id"], second.moved.metadata["id"]);
}

#[test]
fn a_finished_task_that_is_current_is_told_by_readers_and_cleared_even_by_a_refused_verb() {
    let folder = tempfile::tempdir().unwrap();
    let memory = begun(folder.path());
    memory.task_cancel(&context()).unwrap();
    history::undo_transition(
        &context(),
        memory.state_file(),
        RestoreOptions::from_now(true),
    )
    .unwrap();
    let view = memory.state_file().read_view(&context()).unwrap();
    assert_eq!(codes(&view.notices), ["finished_task_current"]);
    let refused = memory.step_start(&context(), 1);
    let error = refused.unwrap_err();
    assert_eq!(error.code(), "no_task");
    let bowline_engine::Error::AfterRepair { notices, .. } = error else {
        panic!("the repair went unsaid");
    };
    assert_eq!(codes(&notices), ["finished_task_cleared"]);
    let view = memory.state_file().read_view(&context()).unwrap();
    assert!(view.notices.is_empty());
}

#[test]
fn the_doctor_clears_a_finished_task() {
    let folder = tempfile::tempdir().unwrap();
    let memory = begun(folder.path());
    memory.task_cancel(&context()).unwrap();
    history::undo_transition(
        &context(),
        memory.state_file(),
        RestoreOptions::from_now(true),
    )
    .unwrap();
    let found = doctor::examine_file(&context(), memory.state_file())
        .unwrap()
        .findings;
    assert!(found.iter().any(|one| one.code == "finished_task_current"));
    let repaired = doctor::repair_file(&context(), memory.state_file()).unwrap();
    assert!(repaired.remaining.is_empty(), "{:?}", repaired.remaining);
    let state = json(folder.path(), "task-state.json");
    assert_eq!(state["current_task"], Value::Null);
}

/// The current task with two changes behind it, and then file and journals gone.
fn only_copies_left(folder: &Path, beside: bool, dated: bool) -> MemoryFolder {
    let memory = begun(folder);
    memory.step_start(&context(), 1).unwrap();
    memory.back_up(&context()).unwrap();
    for name in ["task-state.json", "task-state.json.journal.jsonl"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    if !beside {
        fs::remove_file(folder.join("task-state.json.bak")).unwrap();
    }
    if !dated {
        fs::remove_dir_all(folder.join("backup")).unwrap();
    }
    memory
}

#[test]
fn a_removed_file_comes_back_from_its_copies() {
    for (beside, dated) in [(true, true), (true, false), (false, true)] {
        let folder = tempfile::tempdir().unwrap();
        let memory = only_copies_left(folder.path(), beside, dated);
        let told = memory.state_file().read_view(&context()).unwrap_err();
        assert_eq!(told.code(), "damaged", "{told}");
        memory.restore_copy(&context(), None, None).unwrap();
        let state = json(folder.path(), "task-state.json");
        assert_eq!(state["current_task"]["name"], "안내서");
    }
}

#[test]
fn a_changing_verb_restores_a_removed_file_first_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let memory = only_copies_left(folder.path(), false, true);
    let changed = memory.task_cancel(&context()).unwrap();
    assert_eq!(codes(&changed.view.notices), ["restored"]);
    let history = json(folder.path(), "task-history.json");
    assert_eq!(history["tasks"][0]["name"], "안내서");
}
