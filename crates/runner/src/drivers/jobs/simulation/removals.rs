//! Removals of tasks whose files a worker has in hand, or whose effect waits to be tried again.

use super::super::Wish;
use super::super::desk::{Desk, Input};
use super::super::folders::note_removal;
use super::super::workshop::{Came, Finished, Task};
use super::{create, folder, prepare};
use bowline_machines::Timestamp;
use bowline_machines::job::Job;
use bowline_store::{About, JobRow, Key};
use std::path::PathBuf;
use std::sync::Arc;

#[test]
fn a_task_deleted_while_its_effect_waits_leaves_nothing_in_memory() {
    let folder = folder();
    let key = Key::open(&folder.path().join("key")).unwrap();
    let mut run = prepare(1, folder.path(), &key);
    run.begin();
    run.command(None, create("3", false));
    let id = run.rows()[0].id.clone();
    let desk = run.desk.as_mut().unwrap();
    desk.held.insert(id.clone(), (1, Timestamp(i64::MAX - 1)));
    desk.busy.insert(id.clone());
    run.command(Some(&id), Wish::Delete(id.clone()));
    assert_eq!(run.rows(), []);
    let desk = run.desk.as_ref().unwrap();
    assert!(desk.held.is_empty() && desk.busy.is_empty());
}

#[test]
fn a_new_dispatcher_removes_no_files_that_a_worker_has_in_hand() {
    let folder = folder();
    let key = Key::open(&folder.path().join("key")).unwrap();
    let run = prepare(1, folder.path(), &key);
    let row = JobRow {
        id: "task_gone".into(),
        version: 0,
        job: Job::draft().into(),
        about: About::default().into(),
    };
    note_removal(&run.config, &row);
    run.world().bench.push(Task::ErrorLog {
        effect: 1,
        job: row.id.clone(),
        from: Vec::new(),
        to: PathBuf::new(),
        secrets: Vec::new(),
    });
    let port = || Box::new(run.shared.clone());
    let desk = Desk::with(
        Arc::clone(&run.config),
        run.store.clone(),
        key,
        port(),
        port(),
    );
    let mut desk = desk.unwrap();
    let waits: Vec<&String> = desk.leaving.keys().collect();
    assert_eq!(waits, [&row.id]);
    run.world().bench.clear();
    let finished = Finished {
        effect: 1,
        job: row.id,
        what: Came::Done,
    };
    desk.turn(vec![Input::Finished(Box::new(finished))]);
    assert!(desk.leaving.is_empty());
}
