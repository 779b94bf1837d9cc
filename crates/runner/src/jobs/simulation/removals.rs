//! Removals of tasks whose effect waits to be tried again.

use super::super::JobRequest;
use super::{create, folder, prepare};
use bowline_machines::Timestamp;
use bowline_store::SecretKey;

#[test]
fn a_task_deleted_while_its_effect_waits_leaves_nothing_in_memory() {
    let folder = folder();
    let key = SecretKey::open(&folder.path().join("key")).unwrap();
    let mut run = prepare(1, folder.path(), &key);
    run.begin();
    run.command(None, create("3", false));
    let id = run.rows()[0].id.clone();
    let dispatcher = run.dispatcher.as_mut().unwrap();
    dispatcher
        .held
        .insert(id.clone(), (1, Timestamp(i64::MAX - 1)));
    dispatcher.busy.insert(id.clone());
    run.command(Some(&id), JobRequest::Delete(id.clone()));
    assert_eq!(run.rows(), []);
    let dispatcher = run.dispatcher.as_ref().unwrap();
    assert!(dispatcher.held.is_empty() && dispatcher.busy.is_empty());
}
