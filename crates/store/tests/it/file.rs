//! What a store in a file promises beyond the others.

use crate::{NOON, about, apply, create, draft};
use bowline_machines::Timestamp;
use bowline_store::{
    JobChange, JobQuery, NextJobState, RetentionLimits, SpendQuery, SqliteStore, Store, StoreError,
    StoreStep,
};
use std::sync::Arc;

#[test]
fn one_process_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let refused = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    drop(store);
    SqliteStore::open(&path).unwrap();
}

/// What is asked for while somebody else has the store waits, and is done once they let go.
fn waits_for<T: Send + 'static>(
    held: impl FnOnce(),
    asked: impl FnOnce() -> T + Send + 'static,
) -> T {
    const LOOK: std::time::Duration = std::time::Duration::from_millis(100);
    const BOUND: std::time::Duration = std::time::Duration::from_secs(30);
    let (done, answers) = std::sync::mpsc::channel();
    let asking = std::thread::spawn(move || done.send(asked()).unwrap());
    assert!(answers.recv_timeout(LOOK).is_err(), "it did not wait");
    held();
    let answer = answers.recv_timeout(BOUND).unwrap();
    asking.join().unwrap();
    answer
}

#[test]
fn a_store_that_its_last_server_is_about_to_leave_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let last = SqliteStore::open(&path).unwrap();
    apply(&last, create("task_a", "Tea"));
    let next = waits_for(|| drop(last), move || SqliteStore::open(&path).unwrap());
    assert!(next.find_job("task_a").unwrap().is_some());
}

#[test]
fn a_change_waits_for_somebody_else_who_writes_into_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Arc::new(SqliteStore::open(&path).unwrap());
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let asked = store.clone();
    waits_for(
        || other.execute_batch("COMMIT").unwrap(),
        move || apply(&*asked, create("task_a", "Tea")),
    );
    // Whoever reads has not been kept waiting, and the change is there.
    assert!(store.find_job("task_a").unwrap().is_some());
}

#[test]
fn a_copy_made_in_use_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store.db")).unwrap();
    for number in 0..50 {
        apply(&store, create(&format!("task_{number}"), "Tea"));
    }
    let copy = folder.path().join("copy.db");
    store.write_backup(&copy).unwrap();
    apply(&store, create("task_later", "Tea"));
    let copy = SqliteStore::open(&copy).unwrap();
    assert_eq!(copy.list_jobs(&JobQuery::default()).unwrap().len(), 50);
    assert_eq!(copy.find_job("task_later").unwrap(), None);
}

#[test]
fn a_copy_replaces_nothing_and_a_merged_log_leaves_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    apply(&store, create("task_a", "Tea"));
    let copy = folder.path().join("copy.db");
    std::fs::write(&copy, "mine").unwrap();
    assert!(store.write_backup(&copy).is_err());
    assert!(SqliteStore::backup_file(&path, &copy).is_err());
    assert_eq!(std::fs::read(&copy).unwrap(), b"mine");
    store.merge_log().unwrap();
    let alone = folder.path().join("alone.db");
    std::fs::copy(&path, &alone).unwrap();
    let alone = SqliteStore::open(&alone).unwrap();
    assert!(alone.find_job("task_a").unwrap().is_some());
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .filter(|it| it.contains(".new-"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_log_that_another_program_reads_is_not_called_merged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    apply(&store, create("task_a", "Tea"));
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM job").unwrap();
    apply(&store, create("task_b", "Tea"));
    let refused = store.merge_log().unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    drop(reader);
    store.merge_log().unwrap();
}

#[test]
fn damaged_pages_are_found_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    apply(&store, create("task_a", "Tea"));
    drop(store);
    SqliteStore::verify_file(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    for byte in &mut bytes[4_096..4_160] {
        *byte = !*byte;
    }
    std::fs::write(&path, &bytes).unwrap();
    for refused in [
        SqliteStore::open(&path).map(drop),
        SqliteStore::verify_file(&path),
    ] {
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, StoreError::DamagedFile { .. }),
            "{refused}"
        );
        assert_eq!(refused.code(), "store_damaged");
    }
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_store_of_a_newer_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(SqliteStore::open(&path).unwrap());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(raw);
    let refused = SqliteStore::open(&path).unwrap_err();
    assert!(
        matches!(refused, StoreError::Newer { found: 99, .. }),
        "{refused}"
    );
}

#[test]
fn an_older_store_becomes_a_newer_one_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    apply(&store, create("task_a", "Tea"));
    drop(store);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(
        "DROP TABLE spend; DROP TABLE feed; DROP INDEX request_at; PRAGMA user_version = 1",
    )
    .unwrap();
    drop(raw);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.list_spend(&SpendQuery::default()).unwrap(), []);
    assert_eq!(store.feed_range().unwrap(), (0, 0));
    assert!(store.find_job("task_a").unwrap().is_some());
}

#[test]
fn a_row_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    apply(&store, create("task_a", "Tea"));
    drop(store);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch("UPDATE job SET state = '{\"title\":7}'")
        .unwrap();
    drop(raw);
    let store = SqliteStore::open(&path).unwrap();
    let damaged = store.find_job("task_a").unwrap_err();
    assert!(
        matches!(&damaged, StoreError::Damaged { id, .. } if id == "task_a"),
        "{damaged}"
    );
}

#[test]
fn many_callers_at_once_are_all_answered_and_all_durable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Arc::new(SqliteStore::open(&path).unwrap());
    let callers: Vec<_> = (0..16)
        .map(|caller| {
            let store = store.clone();
            std::thread::spawn(move || {
                for number in 0..20 {
                    apply(&*store, create(&format!("task_{caller}_{number}"), "Tea"));
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join().unwrap();
    }
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.list_jobs(&JobQuery::default()).unwrap().len(), 320);
}

/// A log that is never in the file to its last page never begins anew.
#[test]
fn the_log_stays_short_however_long_others_write() {
    const STEPS: usize = 100;
    const COMMITS: usize = 60;
    // Pages in which it is brought in, those that are written meanwhile, and as many again for a
    // slow disk.
    const BYTES_MAX: u64 = 4 * 1_000 * 4_120;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    for commit in 0..COMMITS {
        let steps = (0..STEPS).map(|step| create(&format!("task_{commit}_{step}"), "Tea"));
        let mut waits = store.begin_commit(steps.collect(), Box::new(|| {}));
        waits(true).unwrap().unwrap();
    }
    let log = std::fs::metadata(folder.path().join("store.db-wal")).unwrap();
    assert!(log.len() < BYTES_MAX, "{} bytes", log.len());
    let all = store.list_jobs(&JobQuery::default()).unwrap();
    assert_eq!(all.len(), STEPS * COMMITS);
}

const KEEP_NOTHING: RetentionLimits = RetentionLimits {
    events: 0,
    requests: 0,
    request_bytes: 0,
    requests_from: Timestamp(i64::MAX),
    requests_until: Timestamp(i64::MAX),
    effects_from: None,
};

fn remove(id: &str) -> StoreStep {
    let mut gone = JobChange::replace_state(id, 1, draft("Tea"), about(NOON.0));
    gone.next = NextJobState::Gone;
    let mut step = StoreStep::empty_at(NOON);
    step.changes.push(gone);
    step
}

#[test]
fn the_room_of_deleted_tasks_is_given_back() {
    const TASKS: usize = 200;
    const ROUNDS: usize = 10;
    const BYTES_MAX: u64 = 256 << 10;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let long = "Tea. ".repeat(20_000);
    for number in 0..TASKS {
        apply(&store, create(&format!("task_{number}"), &long));
    }
    let bytes = || {
        let files = std::fs::read_dir(folder.path()).unwrap();
        let bytes = files.map(|file| file.unwrap().metadata().unwrap().len());
        bytes.sum::<u64>()
    };
    assert!(bytes() > (TASKS * long.len()) as u64);
    for number in 0..TASKS {
        apply(&store, remove(&format!("task_{number}")));
    }
    for _ in 0..ROUNDS {
        store.prune_rows(&KEEP_NOTHING).unwrap();
    }
    assert!(bytes() < BYTES_MAX, "{} bytes", bytes());
    assert_eq!(store.list_jobs(&JobQuery::default()).unwrap(), []);
}

#[test]
fn a_store_that_could_not_give_room_back_can_once_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    apply(&store, create("task_a", "Tea"));
    drop(store);
    let mode = || -> i64 {
        let file = rusqlite::Connection::open(&path).unwrap();
        file.query_row("PRAGMA auto_vacuum", [], |row| row.get(0))
            .unwrap()
    };
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch("PRAGMA auto_vacuum = 0; VACUUM")
        .unwrap();
    drop(file);
    assert_eq!(mode(), 0);
    let store = SqliteStore::open(&path).unwrap();
    assert!(store.find_job("task_a").unwrap().is_some());
    drop(store);
    assert_eq!(mode(), 2);
}
