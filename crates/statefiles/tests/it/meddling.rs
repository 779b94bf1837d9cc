//! Somebody who takes no lock writes in the very moment of our write.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bowline_statefiles::{
    DocumentChange, FileSituation, Incident, StateFile, StateFileError, UpdateError, kind,
};
use bowline_test_support::drill::check_journal;
use bowline_test_support::{DiskFault, FaultyDisk, wait_until};
use serde_json::value::RawValue;

use crate::support::{Place, STAMP, add, good_disk, outside, request, set, state_file};

/// Replaces a file as a careful stranger does.
fn move_in(path: &Path, text: &str) {
    let scratch = path.with_extension("stranger");
    std::fs::write(&scratch, text).unwrap();
    std::fs::rename(scratch, path).unwrap();
}

/// A file on a disk where `act` is done right before the `nth` call of `operation`.
fn meddled(
    place: &Place,
    operation: &'static str,
    nth: usize,
    plain: bool,
    act: impl Fn(&Path) + Send + Sync + 'static,
) -> StateFile {
    let disk = good_disk();
    let disk = if plain {
        disk.without_modern_operations()
    } else {
        disk
    };
    place.meddled_file(operation, disk, move |before, path| {
        if before + 1 == nth {
            act(path);
        }
    })
}

#[test]
fn the_change_is_made_again_on_their_version() {
    for plain in [false, true] {
        let place = Place::new();
        set(&place.file(), "a\n").unwrap();
        let file = meddled(&place, "exchange", 1, plain, |path| {
            move_in(path, "a\ntheirs\n")
        });
        let updated = add(&file, "ours").unwrap();
        assert_eq!(updated.snapshot.situation, outside("a\n"));
        assert_eq!(place.read("state.json"), "a\ntheirs\nours\n");
        let lines = check_journal(&file).unwrap();
        let told: Vec<_> = lines
            .iter()
            .map(|line| (line.seq, line.kind.as_str(), line.voids))
            .collect();
        assert_eq!(
            told,
            [
                (1, "change", None),
                (2, "change", None),
                (3, "outside", Some(2)),
                (4, "change", None)
            ]
        );
        assert_eq!(updated.seq, Some(4));
        let versions = file.read_history().unwrap().versions(0);
        let seqs: Vec<_> = versions.iter().map(|version| version.line.seq).collect();
        assert_eq!(
            seqs,
            [1, 3, 4],
            "the change that was taken back is not told"
        );
        assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
    }
}

#[test]
fn a_refusal_on_their_version_leaves_theirs_in_place() {
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    let file = meddled(&place, "exchange", 1, false, |path| {
        move_in(path, "closed\n")
    });
    let effects = RawValue::from_string("[\"spawn\"]".to_owned()).unwrap();
    let refused = file.update(&request("r"), |now| match now.text().unwrap() {
        Some("a\n") => Ok(Some(DocumentChange {
            effects: Some(effects.clone()),
            ..DocumentChange::replace_with("b\n")
        })),
        other => Err(other.map(str::to_owned)),
    });
    assert!(matches!(refused, Err(UpdateError::Refused(Some(seen))) if seen == "closed\n"));
    assert_eq!(place.read("state.json"), "closed\n");
    assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
    assert_eq!(
        file.pending_effects().unwrap().len(),
        0,
        "nothing is done for a change that was taken back"
    );
}

#[test]
fn yet_another_version_while_theirs_is_put_back() {
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    let file = place.meddled_file("exchange", good_disk(), |before, path| match before {
        0 => move_in(path, "a\nx\n"),
        1 => move_in(path, "a\nx\ny\n"),
        _ => {}
    });
    add(&file, "ours").unwrap();
    assert_eq!(place.read("state.json"), "a\nx\ny\nours\n");
    check_journal(&file).unwrap();
    assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
}

#[test]
fn removed_in_the_same_moment() {
    for plain in [false, true] {
        let place = Place::new();
        set(&place.file(), "a\n").unwrap();
        let file = meddled(&place, "exchange", 1, plain, |path| {
            std::fs::remove_file(path).unwrap()
        });
        add(&file, "ours").unwrap();
        assert_eq!(place.read("state.json"), "ours\n");
        check_journal(&file).unwrap();
        assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
    }
}

#[test]
fn created_in_the_same_moment() {
    for plain in [false, true] {
        let place = Place::new();
        // The first exclusive rename on a file system without unnamed files is that of the lock.
        let nth = if plain { 2 } else { 1 };
        let file = meddled(&place, "rename_new", nth, plain, |path| {
            move_in(path, "theirs\n")
        });
        add(&file, "ours").unwrap();
        assert_eq!(place.read("state.json"), "theirs\nours\n");
        check_journal(&file).unwrap();
        assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
    }
}

#[test]
fn bytes_that_are_not_text_are_kept_aside() {
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    let file = meddled(&place, "exchange", 1, false, |path| {
        std::fs::write(path, b"\xff").unwrap()
    });
    let updated = add(&file, "ours").unwrap();
    assert_eq!(place.read("state.json"), "a\nours\n");
    let codes: Vec<_> = updated
        .snapshot
        .findings
        .iter()
        .map(Incident::code)
        .collect();
    assert_eq!(codes, ["kept_aside"]);
    assert!(place.names().iter().any(|name| name.contains(".damaged-")));
}

#[test]
fn somebody_who_never_stops_is_named() {
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    let file = place.meddled_file("exchange", good_disk(), |before, path| {
        move_in(path, &format!("{before}\n"));
    });
    let error = add(&file, "ours").unwrap_err();
    let contended = |error: &StateFileError| error.code() == "contended";
    let inner = std::error::Error::source(&error)
        .and_then(|source| source.downcast_ref::<Box<StateFileError>>());
    assert!(
        contended(&error) || inner.is_some_and(|inner| contended(inner)),
        "{error:?}"
    );
    add(&place.file(), "later").unwrap();
    check_journal(&place.file()).unwrap();
}

/// Whatever fails while their version is between the names, it is not lost without a word.
#[test]
fn their_version_survives_a_failure_at_every_operation() {
    for at in 1.. {
        let place = Place::new();
        set(&place.file(), "a\n").unwrap();
        let disk = FaultyDisk::new(at, DiskFault::Io, true);
        let disk = Arc::new(place.meddled("exchange", disk, |before, path| {
            if before == 0 {
                move_in(path, "a\ntheirs\n");
            }
        }));
        let done = add(&place.file().with_disk(disk.clone()), "ours");
        let next = add(&place.file(), "next").unwrap();
        let text = String::from_utf8(next.snapshot.bytes.unwrap()).unwrap();
        let context = format!(
            "operation {at} ({:?}): {done:?} then {text:?}",
            disk.failed_operation()
        );
        check_journal(&place.file()).unwrap_or_else(|error| panic!("{context}: {error}"));
        let lines = place.file().read_history().unwrap().all_lines().to_vec();
        let told = lines.iter().any(|line| line.kind == kind::OUTSIDE);
        assert!(text.starts_with("a\n"), "{context}");
        let exchanged = text.contains("theirs");
        assert!(exchanged == told, "{context}");
        if done.is_ok() {
            assert!(text.contains("ours"), "{context}");
            if disk.failed_operation().is_none() {
                assert_eq!(text, "a\ntheirs\nours\nnext\n");
                return;
            }
        }
        let hidden: Vec<_> = place
            .names()
            .into_iter()
            .filter(|name| name.starts_with('.'))
            .collect();
        assert_eq!(hidden, [""; 0], "{context}");
    }
}

/// Somebody removes the lock file of a live writer, because it is in their way, and runs a command
/// of their own.
#[test]
fn a_removed_lock_file_lets_nobody_in_beside_a_live_writer() {
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    let (send, second) = std::sync::mpsc::channel();
    // Between our commit and our exchange: the worst moment.
    let file = place.meddled_file("exchange", good_disk(), move |before, path| {
        if before == 0 {
            std::fs::remove_file(path.with_extension("json.lock")).unwrap();
            let (tried, locks) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let watched = tried.clone();
            // It locks its own lock file, then the journal; whatever it does after that, it has
            // tried both.
            let theirs = good_disk().with_hook(move |name| {
                let before = match name {
                    "try_lock" => locks.fetch_add(1, Ordering::SeqCst),
                    _ => locks.load(Ordering::SeqCst),
                };
                watched.store(before, Ordering::SeqCst);
            });
            let file = state_file(path).with_disk(Arc::new(theirs));
            send.send(std::thread::spawn(move || add(&file, "second")))
                .unwrap();
            assert!(wait_until(Duration::from_secs(10), || {
                tried.load(Ordering::SeqCst) >= 2
            }));
        }
    });
    let first = add(&file, "first").unwrap();
    let second = second.recv().unwrap().join().unwrap().unwrap();
    assert_eq!((first.seq, second.seq), (Some(2), Some(3)));
    assert_eq!(place.read("state.json"), "a\nfirst\nsecond\n");
    assert_eq!(second.snapshot.findings, [Incident::LockRemoved]);
    check_journal(&place.file()).unwrap();
}

/// A program that writes through a file it opened before our exchange writes into the backup,
/// unseen.
#[test]
fn a_write_through_an_old_descriptor_is_kept_and_told() {
    use std::io::Write as _;
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    let mut opened = std::fs::OpenOptions::new()
        .append(true)
        .open(place.main())
        .unwrap();
    add(&place.file(), "b").unwrap();
    opened.write_all(b"late\n").unwrap();
    opened.sync_all().unwrap();
    let told = add(&place.file(), "c").unwrap();
    let kept = place.path(&format!("state.json.damaged-{STAMP}"));
    assert_eq!(
        told.snapshot.findings,
        [Incident::KeptAside { path: kept.clone() }]
    );
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "a\nlate\n");
    assert_eq!(place.read("state.json"), "a\nb\nc\n");
    assert_eq!(place.read("state.json.bak"), "a\nb\n");
    let quiet = add(&place.file(), "d").unwrap();
    assert_eq!(quiet.snapshot.findings, []);
}

/// The file may have been touched or edited since, so that its times tell nothing.
#[test]
fn a_write_through_an_old_descriptor_is_kept_whatever_became_of_the_file() {
    use std::io::Write as _;
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    let mut opened = std::fs::OpenOptions::new()
        .append(true)
        .open(place.main())
        .unwrap();
    add(&place.file(), "b").unwrap();
    opened.write_all(b"late\n").unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(place.main())
        .unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_modified(written + Duration::from_secs(5)).unwrap();
    add(&place.file(), "c").unwrap();
    assert_eq!(
        place.read(&format!("state.json.damaged-{STAMP}")),
        "a\nlate\n"
    );
}

/// A copy of the folder made in the middle of a write brings one along, or somebody puts one there.
#[test]
fn a_swap_file_that_does_not_belong_to_the_last_change_takes_nothing_back() {
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    add(&place.file(), "b").unwrap();
    place.write(".state.json.bowline-swap", "a\nsomething else\n");
    let told = add(&place.file(), "c").unwrap();
    assert_eq!(place.read("state.json"), "a\nb\nc\n");
    let kept = place.path(&format!("state.json.damaged-{STAMP}"));
    assert_eq!(told.snapshot.findings, [Incident::KeptAside { path: kept }]);
    let seqs: Vec<u64> = place
        .file()
        .read_history()
        .unwrap()
        .effective_lines()
        .map(|line| line.seq)
        .collect();
    assert_eq!(seqs, [1, 2, 3, 4]);
}

#[test]
fn a_change_that_was_taken_back_is_no_history() {
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    let file = meddled(&place, "exchange", 1, false, |path| {
        move_in(path, "a\ntheirs\n")
    });
    add(&file, "ours").unwrap();
    let history = file.read_history().unwrap();
    let seqs: Vec<u64> = history.effective_lines().map(|line| line.seq).collect();
    assert_eq!(seqs, [1, 3, 4]);
    assert_eq!(history.version_before(4), Some(3));
    assert_eq!(history.version_before(3), Some(1), "not the one taken back");
    assert_eq!(history.version_before(1), None);
}
