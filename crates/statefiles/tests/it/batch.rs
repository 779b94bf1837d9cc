//! A long holder of the lock: many steps with one flush, the file now and then; effects and
//! rotation.

use std::sync::Arc;

use bowline_statefiles::{
    DocumentChange, FileSituation, StateFile, StateFileError, WriteOutcome, kind,
};
use bowline_test_support::drill::check_journal;
use serde_json::value::RawValue;

use crate::scenario::{AddLines, step};
use crate::support::{Place, add, document_at, make, outside, request, set};

fn with_replay(place: &Place) -> StateFile {
    place.file().with_replay(Arc::new(AddLines))
}

#[test]
fn steps_are_seen_before_the_file_is_written() {
    let place = Place::new();
    let file = with_replay(&place);
    set(&file, "a\n").unwrap();
    let mut held = file.lock_for_writing(&request("run")).unwrap();
    assert_eq!(
        held.commit_steps(&request("run"), &[step("b"), step("c")])
            .unwrap(),
        3
    );
    assert_eq!(place.read("state.json"), "a\n");
    let seen = file.load().unwrap();
    assert_eq!(seen.situation, FileSituation::RolledForward { lines: 2 });
    assert_eq!(seen.text().unwrap(), Some("a\nb\nc\n"));
    assert!(
        matches!(place.file().load(), Err(StateFileError::NeedsReplay { .. })),
        "not guessed"
    );
    assert!(matches!(
        held.replace_document(&request("run"), &DocumentChange::replace_with("x")),
        Err(StateFileError::StepsNotWritten { .. })
    ));

    let written = held.write_document(&request("run"), "a\nb\nc\n").unwrap();
    assert_eq!(written, WriteOutcome::Done { seq: 4 });
    assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
    assert_eq!(place.file().load().unwrap().situation, FileSituation::Clean);
    held.commit_steps(&request("run"), &[step("d")]).unwrap();
    drop(held);
    assert_eq!(document_at(&file, 3).unwrap().as_deref(), Some("a\nb\nc\n"));
    assert_eq!(document_at(&file, 2).unwrap().as_deref(), Some("a\nb\n"));
    // The next command completes the file.
    add(&file, "e").unwrap();
    assert_eq!(place.read("state.json"), "a\nb\nc\nd\ne\n");
    check_journal(&file).unwrap();
}

#[test]
fn an_unmanaged_file_can_be_run_on_at_once() {
    let place = Place::new();
    place.write("state.json", "a\n");
    let file = with_replay(&place);
    let mut held = file.lock_for_writing(&request("run")).unwrap();
    held.commit_steps(&request("run"), &[step("b")]).unwrap();
    drop(held);
    assert_eq!(file.load().unwrap().text().unwrap(), Some("a\nb\n"));
    let nothing = Place::new();
    let mut held = with_replay(&nothing)
        .lock_for_writing(&request("run"))
        .unwrap();
    assert!(matches!(
        held.commit_steps(&request("run"), &[step("b")]),
        Err(StateFileError::NoDocument { .. })
    ));
}

#[test]
fn an_edit_during_a_run_is_noticed_at_the_next_write() {
    let place = Place::new();
    let file = with_replay(&place);
    set(&file, "a\n").unwrap();
    let mut held = file.lock_for_writing(&request("run")).unwrap();
    held.commit_steps(&request("run"), &[step("b")]).unwrap();
    place.write("state.json", "edited\n");
    assert_eq!(file.load().unwrap().situation, outside("a\nb\n"));
    assert_eq!(
        held.write_document(&request("run"), "a\nb\n").unwrap(),
        WriteOutcome::Theirs
    );
    assert_eq!(held.snapshot().text().unwrap(), Some("edited\n"));
    assert_eq!(held.snapshot().situation, outside("a\nb\n"));
    assert_eq!(place.read("state.json"), "edited\n");
    assert!(matches!(
        held.write_document(&request("run"), "edited\nb\n").unwrap(),
        WriteOutcome::Done { .. }
    ));
    drop(held);
    assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
    check_journal(&file).unwrap();
}

#[test]
fn an_edit_after_a_run_that_left_steps_can_be_worked_on() {
    let place = Place::new();
    let file = with_replay(&place);
    set(&file, "a\n").unwrap();
    let mut held = file.lock_for_writing(&request("run")).unwrap();
    held.commit_steps(&request("run"), &[step("b")]).unwrap();
    drop(held);
    place.write("state.json", "edited\n");
    let updated = add(&file, "c").unwrap();
    assert_eq!(updated.snapshot.situation, outside("a\nb\n"));
    assert_eq!(place.read("state.json"), "edited\nc\n");
    check_journal(&file).unwrap();
    assert_eq!(document_at(&file, 2).unwrap().as_deref(), Some("a\nb\n"));
}

fn with_effects(file: &StateFile, text: &str, effects: &str) -> u64 {
    let effects = RawValue::from_string(effects.to_owned()).unwrap();
    let change = DocumentChange {
        effects: Some(effects),
        ..DocumentChange::replace_with(text)
    };
    let updated = make(file, &request(text), |_| change.clone());
    updated.unwrap().seq.unwrap()
}

#[test]
fn effects_stay_pending_until_they_are_done_even_over_rotations() {
    let place = Place::new();
    let file = place.file().with_journal_bytes_max(300);
    let first = with_effects(&file, "1\n", "[\"spawn\"]");
    let second = with_effects(&file, "2\n", "[{\"signal\":15}]");
    let pending = |file: &StateFile| -> Vec<_> {
        let pending = file.pending_effects().unwrap();
        pending
            .iter()
            .map(|pending| (pending.seq, pending.effects.get().to_owned()))
            .collect()
    };
    assert_eq!(
        pending(&file),
        [
            (first, "[\"spawn\"]".to_owned()),
            (second, "[{\"signal\":15}]".to_owned())
        ]
    );
    file.record_executed_effects(&request("done"), &[first])
        .unwrap();
    for n in 0..20 {
        add(&file, &n.to_string()).unwrap();
    }
    assert_eq!(pending(&file), [(second, "[{\"signal\":15}]".to_owned())]);
    file.record_executed_effects(&request("done"), &[second])
        .unwrap();
    assert_eq!(pending(&file), []);
}

#[test]
fn a_long_journal_is_rotated_and_one_older_kept() {
    let place = Place::new();
    let file = place.file().with_journal_bytes_max(2_000);
    set(&file, "0\n").unwrap();
    for n in 1..60 {
        add(&file, &n.to_string()).unwrap();
    }
    assert_eq!(
        place.names(),
        [
            "state.json",
            "state.json.bak",
            "state.json.journal.1.jsonl",
            "state.json.journal.jsonl"
        ]
    );
    assert!(place.read("state.json.journal.jsonl").len() < 4_000);
    let lines = check_journal(&file).unwrap();
    assert!(lines.len() < 60, "the oldest are gone");
    assert_eq!(lines[0].kind, kind::BASE);
    // Every version that is still told can be rebuilt, across the seam of the two journals.
    for line in &lines {
        let text = document_at(&file, line.seq).unwrap().unwrap();
        assert_eq!(
            line.after,
            Some(bowline_statefiles::ContentHash::of_bytes(text.as_bytes())),
            "{}",
            line.seq
        );
    }
    assert_eq!(
        file.read_history()
            .unwrap()
            .versions(0)
            .last()
            .unwrap()
            .after,
        Some(place.read("state.json"))
    );
}
