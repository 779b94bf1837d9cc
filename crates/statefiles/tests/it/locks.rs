//! Our lock, other people's locks, and leftovers of both.

use std::time::Duration;

use bowline_statefiles::{
    FOREIGN_LOCK_FRESH_MS, Incident, LockHolder, StateFile, StateFileError, WriteRequest,
};
use bowline_test_support::{DiskFault, FaultyDisk};

use crate::support::{Place, request, set};

const LOCK: &str = "state.json.lock";
/// Larger than any process id of Linux.
const NOBODY: u32 = 999_999_999;

fn impatient(place: &Place) -> StateFile {
    place.file().with_lock_wait(Duration::from_millis(30))
}

/// A request made `later_ms` after the lock file was written.
fn later(place: &Place, later_ms: i64) -> WriteRequest {
    let modified = std::fs::metadata(place.path(LOCK))
        .unwrap()
        .modified()
        .unwrap();
    let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
    let now_ms = i64::try_from(since.as_millis()).unwrap() + later_ms;
    WriteRequest {
        now_ms,
        ..request("later")
    }
}

#[test]
fn the_second_is_told_who_is_first() {
    let place = Place::new();
    for plain in [false, true] {
        let disk = FaultyDisk::new(0, DiskFault::Io, false);
        let disk = std::sync::Arc::new(if plain {
            disk.without_modern_operations()
        } else {
            disk
        });
        let file = impatient(&place).with_disk(disk);
        let held = file.lock_for_writing(&request("first")).unwrap();
        let owner: LockHolder = serde_json::from_str(&place.read(LOCK)).unwrap();
        assert_eq!((owner.bowline, owner.pid), (1, Some(std::process::id())));
        assert!(owner.start.is_some_and(|ticks| ticks > 0) && !owner.host.is_empty());
        match file.lock_for_writing(&request("second")) {
            Err(StateFileError::Locked {
                owner: named,
                waited_ms,
                ..
            }) => {
                assert_eq!(*named, owner);
                assert!((30..5_000).contains(&waited_ms), "{waited_ms}");
                assert!(
                    named
                        .to_string()
                        .ends_with("(test) since 2026-01-02T03:04:05Z"),
                    "{named}"
                );
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(file.lock_owner(0).unwrap(), Some(owner));
        drop(held);
        assert_eq!(place.names(), [""; 0]);
        assert_eq!(file.lock_owner(0).unwrap(), None);
    }
}

#[test]
fn a_waiter_gets_the_lock_when_it_is_released() {
    let place = Place::new();
    let held = place.file().lock_for_writing(&request("first")).unwrap();
    let file = place.file().with_lock_wait(Duration::from_secs(60));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || set(&file, "second\n").map(|_| ()));
        drop(held);
        waiter.join().unwrap().unwrap();
    });
    assert_eq!(place.read("state.json"), "second\n");
}

#[test]
fn the_leftover_of_a_dead_process_is_taken_at_once() {
    let place = Place::new();
    place.write(
        LOCK,
        format!("{{\"bowline\":1,\"pid\":{NOBODY},\"what\":\"died\"}}\n"),
    );
    let file = place.file().with_lock_wait(Duration::ZERO);
    let held = file.lock_for_writing(&request("r")).unwrap();
    assert_eq!(held.snapshot().findings, []);
    assert!(
        place
            .read(LOCK)
            .contains(&format!("\"pid\":{}", std::process::id()))
    );
    drop(held);
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn a_foreign_lock_is_honoured_while_it_may_be_alive() {
    let stale_ms = FOREIGN_LOCK_FRESH_MS + 1_000;
    let dead = NOBODY.to_string();
    let cases: [(&str, i64, bool); 9] = [
        ("", 1_000, false),
        ("", stale_ms, true),
        ("", -stale_ms, true),
        ("locked by a script\n", 1_000, false),
        ("locked by a script\n", stale_ms, true),
        ("1\n", stale_ms, false),
        ("{\"pid\": 1, \"user\": \"x\"}", stale_ms, false),
        (&dead, stale_ms, true),
        (&dead, 1_000, false),
    ];
    for (content, age_ms, taken) in cases {
        let place = Place::new();
        place.write(LOCK, content);
        let context = format!("{content:?} after {age_ms} ms");
        let request = later(&place, age_ms);
        match impatient(&place).lock_for_writing(&request) {
            Ok(held) if taken => {
                let findings: Vec<_> = held
                    .snapshot()
                    .findings
                    .iter()
                    .map(Incident::code)
                    .collect();
                assert_eq!(findings, ["foreign_lock_taken_over"], "{context}");
                drop(held);
                assert_eq!(place.names(), [""; 0], "{context}");
            }
            Err(StateFileError::Locked { owner, .. }) if !taken => {
                assert_eq!(owner.bowline, 0, "{context}");
                assert_eq!(place.read(LOCK), content, "{context}: left as it was");
            }
            other => panic!("{context}: {other:?}"),
        }
    }
}

#[test]
fn a_newer_lock_of_somebody_else_is_not_removed() {
    let place = Place::new();
    let held = place.file().lock_for_writing(&request("r")).unwrap();
    std::fs::remove_file(place.path(LOCK)).unwrap();
    place.write(LOCK, "mine");
    drop(held);
    assert_eq!(place.read(LOCK), "mine");
}

#[test]
fn a_folder_as_lock_is_respected() {
    let place = Place::new();
    std::fs::create_dir(place.path(LOCK)).unwrap();
    assert_eq!(
        impatient(&place)
            .lock_for_writing(&request("r"))
            .unwrap_err()
            .code(),
        "locked"
    );
}
