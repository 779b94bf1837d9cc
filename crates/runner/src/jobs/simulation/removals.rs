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
    let desk = run.desk.as_mut().unwrap();
    desk.held.insert(id.clone(), (1, Timestamp(i64::MAX - 1)));
    desk.busy.insert(id.clone());
    run.command(Some(&id), JobRequest::Delete(id.clone()));
    assert_eq!(run.rows(), []);
    let desk = run.desk.as_ref().unwrap();
    assert!(desk.held.is_empty() && desk.busy.is_empty());
}
