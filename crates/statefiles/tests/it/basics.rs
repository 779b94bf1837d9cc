//! One process, no faults: what each operation leaves on disk.

use bowline_statefiles::{
    DocumentChange, FileLayout, FileSituation, RealDisk, RepairCallbacks, RepairSource, StateFile,
    StateFileError, UpdateError, WriteRequest, append_line, kind,
};

use crate::support::{
    NOW_MS, Place, STAMP, add, document_at, make, outside, request, rescue, set, set_important,
};

#[test]
fn a_life_of_one_file() {
    let place = Place::on_disk();
    let file = place.file();
    assert_eq!(file.load().unwrap().situation, FileSituation::Absent);
    assert_eq!(place.names(), [""; 0], "reading writes nothing");

    set(&file, "a\n").unwrap();
    assert_eq!(place.names(), ["state.json", "state.json.journal.jsonl"]);
    add(&file, "b").unwrap();
    assert_eq!(
        place.names(),
        ["state.json", "state.json.bak", "state.json.journal.jsonl"]
    );
    assert_eq!(
        (place.read("state.json"), place.read("state.json.bak")),
        ("a\nb\n".into(), "a\n".into())
    );

    let snapshot = file.load().unwrap();
    assert_eq!(
        (snapshot.situation, snapshot.seq),
        (FileSituation::Clean, 2)
    );
    let kinds: Vec<_> = file
        .read_history()
        .unwrap()
        .effective_lines()
        .map(|line| (line.seq, line.kind.clone()))
        .collect();
    assert_eq!(kinds, [(1, "change".to_owned()), (2, "change".to_owned())]);
    assert_eq!(document_at(&file, 1).unwrap().as_deref(), Some("a\n"));
    assert_eq!(document_at(&file, 2).unwrap().as_deref(), Some("a\nb\n"));
    assert!(matches!(
        document_at(&file, 3),
        Err(StateFileError::NoSuchVersion { seq: 3, .. })
    ));
}

#[test]
fn a_refusal_leaves_no_trace() {
    let place = Place::new();
    let file = StateFile::new(FileLayout::new(place.path("deep/er/state.json")));
    let refused = file.update(&request("r"), |_| Err::<Option<DocumentChange>, _>("no"));
    assert!(matches!(refused, Err(UpdateError::Refused("no"))));
    let kept = file.update(&request("r"), |_| Ok::<_, &str>(None)).unwrap();
    assert_eq!(kept.seq, None);
    assert_eq!(place.names(), [""; 0]);
    set(&file, "x").unwrap();
    assert_eq!(
        place.names(),
        ["deep"],
        "folders come with the first document"
    );
}

#[test]
fn an_unmanaged_file_is_adopted_with_its_first_version() {
    let place = Place::new();
    place.write("state.json", "\u{feff}{\r\n \"n\": 0.90\r\n}");
    let file = place.file();
    assert_eq!(file.load().unwrap().situation, FileSituation::Unmanaged);
    add(&file, "x").unwrap();
    assert_eq!(
        place.read("state.json"),
        "\u{feff}{\r\n \"n\": 0.90\r\n}x\n",
        "no byte but ours"
    );
    let lines = file.read_history().unwrap().all_lines().to_vec();
    assert_eq!(
        lines
            .iter()
            .map(|line| line.kind.as_str())
            .collect::<Vec<_>>(),
        [kind::BASE, kind::CHANGE]
    );
    assert_eq!(
        document_at(&file, 1).unwrap().as_deref(),
        Some("\u{feff}{\r\n \"n\": 0.90\r\n}")
    );
}

#[test]
fn an_empty_file_is_a_document() {
    let place = Place::new();
    place.write("state.json", "");
    add(&place.file(), "x").unwrap();
    assert_eq!(place.read("state.json"), "x\n");
    assert_eq!(place.read("state.json.bak"), "");
}

#[test]
fn an_outside_edit_is_reported_adopted_and_can_be_undone() {
    let place = Place::new();
    let file = place.file();
    set(&file, "a\nb\n").unwrap();
    add(&file, "c").unwrap();
    place.write("state.json", "a\nB\nc\n");
    let snapshot = file.load().unwrap();
    assert_eq!(snapshot.situation, outside("a\nb\nc\n"));
    assert_eq!(snapshot.text().unwrap(), Some("a\nB\nc\n"));
    let updated = add(&file, "d").unwrap();
    assert!(
        matches!(updated.snapshot.situation, FileSituation::Outside { .. }),
        "the decision knew"
    );
    assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
    let versions = file.read_history().unwrap().versions(2);
    let seen: Vec<_> = versions
        .iter()
        .map(|version| (version.line.kind.as_str(), version.after.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            ("outside", Some("a\nB\nc\n")),
            ("change", Some("a\nB\nc\nd\n"))
        ]
    );
    assert_eq!(versions[0].before.as_deref(), Some("a\nb\nc\n"));
}

#[test]
fn an_outside_edit_without_any_source_is_adopted_whole() {
    let place = Place::new();
    let file = place.file();
    set(&file, "a\n").unwrap();
    add(&file, "b").unwrap();
    // Cut the history: only the last line stays, and the backup is another text.
    let journal = place.read("state.json.journal.jsonl");
    place.write(
        "state.json.journal.jsonl",
        journal.lines().nth(1).unwrap().to_owned() + "\n",
    );
    place.write("state.json.bak", "junk");
    place.write("state.json", "z\n");
    assert_eq!(
        file.load().unwrap().situation,
        FileSituation::Outside { ours: None }
    );
    add(&file, "y").unwrap();
    let lines = file.read_history().unwrap().all_lines().to_vec();
    let kinds: Vec<_> = lines.iter().map(|line| line.kind.as_str()).collect();
    // The backup was nothing of ours: it is kept under another name instead of being written over.
    assert_eq!(kinds, ["change", "aside", "outside", "change"]);
    assert_eq!(lines[2].document.as_deref(), Some("z\n"));
    assert_eq!(document_at(&file, 5).unwrap().as_deref(), Some("z\ny\n"));
    assert_eq!(place.read(&format!("state.json.damaged-{STAMP}")), "junk");
}

#[test]
fn a_look_with_its_history_has_every_line_up_to_it() {
    let place = Place::new();
    let file = place.file().with_history().with_journal_bytes_max(600);
    let numbers = |seen: &bowline_statefiles::FileSnapshot| -> Vec<u64> {
        let lines = seen.history.as_ref().unwrap().all_lines();
        lines.iter().map(|line| line.seq).collect()
    };
    for round in 1..12 {
        let updated = add(&file, &format!("line {round}")).unwrap();
        let seen = file.load().unwrap();
        assert_eq!(numbers(&seen).last(), Some(&seen.seq));
        // What was appended under the lock is in it as if it had been read again.
        assert!(numbers(&updated.snapshot).ends_with(&numbers(&seen)));
        place.write(
            "state.json",
            format!("{}edited\n", place.read("state.json")),
        );
    }
    assert_eq!(place.file().load().unwrap().history.map(drop), None);
}

#[test]
fn a_removed_file_is_missing_not_absent() {
    let place = Place::new();
    let file = place.file();
    set(&file, "a\n").unwrap();
    std::fs::remove_file(place.main()).unwrap();
    assert_eq!(
        file.load().unwrap().situation,
        FileSituation::Missing {
            ours: Some("a\n".to_owned())
        }
    );
    add(&file, "b").unwrap();
    assert_eq!(
        place.read("state.json"),
        "b\n",
        "nothing comes back by itself"
    );
    assert_eq!(document_at(&file, 1).unwrap().as_deref(), Some("a\n"));
    assert_eq!(document_at(&file, 2).unwrap(), None);
    assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
}

#[test]
fn the_version_before_the_last_change_rolls_forward() {
    let place = Place::new();
    let file = place.file();
    set(&file, "a\n").unwrap();
    set(&file, "b\n").unwrap();
    place.write("state.json", "a\n");
    place.write(".state.json.bowline-swap", "b\n");
    let snapshot = file.load().unwrap();
    assert_eq!(
        snapshot.situation,
        FileSituation::RolledForward { lines: 1 }
    );
    assert_eq!(snapshot.text().unwrap(), Some("b\n"));
    assert_eq!(place.read("state.json"), "a\n", "a reader writes nothing");
    let updated = add(&file, "c").unwrap();
    assert_eq!(
        updated.snapshot.situation,
        FileSituation::RolledForward { lines: 1 }
    );
    assert_eq!(place.read("state.json"), "b\nc\n");
    assert_eq!(file.read_history().unwrap().all_lines().len(), 3);
}

#[test]
fn an_older_version_put_back_is_an_outside_edit() {
    let place = Place::new();
    let file = place.file();
    for text in ["a\n", "b\n", "c\n"] {
        set(&file, text).unwrap();
    }
    // The backup, too: a crash in between would have left the next version under another name.
    for older in ["b\n", "a\n"] {
        place.write("state.json", older);
        let snapshot = file.load().unwrap();
        assert_eq!(snapshot.text().unwrap(), Some(older));
        assert_eq!(snapshot.situation, outside("c\n"));
    }
}

#[test]
fn a_no_change_with_a_transition_is_one_line_and_no_replace() {
    let place = Place::new();
    let file = place.file();
    set(&file, "a\n").unwrap();
    set(&file, "a\n").unwrap();
    assert_eq!(place.names(), ["state.json", "state.json.journal.jsonl"]);
    assert_eq!(file.load().unwrap().seq, 2);
}

#[test]
fn companions_can_live_elsewhere() {
    let place = Place::new();
    let layout =
        FileLayout::new(place.path("work/state.json")).with_side_folder(place.path("own/side"));
    let file = StateFile::new(layout);
    set(&file, "a\n").unwrap();
    set(&file, "b\n").unwrap();
    assert_eq!(place.names_in("work"), ["state.json"]);
    assert_eq!(
        place.names_in("own/side"),
        ["state.json.bak", "state.json.journal.jsonl"]
    );
}

#[test]
fn important_changes_leave_dated_copies_of_the_version_before() {
    let place = Place::new();
    let file = place.archived_file();
    for n in 0..6_i64 {
        let request = WriteRequest {
            now_ms: NOW_MS + n / 2 * 1000,
            ..request("r")
        };
        let text = format!("{n}\n");
        let made = match n {
            1 => make(&file, &request, |_| {
                DocumentChange::replace_with(text.clone())
            }),
            _ => set_important(&file, &request, &text),
        };
        made.unwrap();
    }
    // Before change 2 (second 1), 3 (second 1), 4 and 5 (second 2); the oldest was pruned.
    assert_eq!(
        place.names_in("backup"),
        [
            "state-20260102T030406Z-2.json",
            "state-20260102T030407Z-2.json",
            "state-20260102T030407Z.json"
        ]
    );
    assert_eq!(place.read("backup/state-20260102T030407Z-2.json"), "4\n");
}

#[test]
fn recovery_takes_the_first_good_source() {
    let check = |damage: &dyn Fn(&Place),
                 good: &dyn Fn(&str) -> bool,
                 source: RepairSource,
                 text: &str| {
        let place = Place::new();
        let file = place.archived_file();
        for n in ["one", "two", "three"] {
            set_important(&file, &request("r"), n).unwrap();
        }
        damage(&place);
        let rescue = RepairCallbacks {
            rebuild: &|| Some("rebuilt".to_owned()),
            empty: &|| Some("empty".to_owned()),
            ..rescue(good)
        };
        let recovered = file
            .recover_document(&request("fix"), "does not parse", &rescue)
            .unwrap();
        let source = match source {
            RepairSource::Backup(name) => RepairSource::Backup(place.folder.path().join(name)),
            RepairSource::Archive(name) => RepairSource::Archive(place.folder.path().join(name)),
            other => other,
        };
        assert_eq!((recovered.source, recovered.text.as_str()), (source, text));
        assert_eq!(place.read("state.json"), text);
        let snapshot = file.load().unwrap();
        assert_eq!(snapshot.situation, FileSituation::Clean);
        if let Some(aside) = &recovered.set_aside {
            assert_eq!(*aside, place.path(&format!("state.json.damaged-{STAMP}")));
            assert!(
                !good(&String::from_utf8_lossy(&std::fs::read(aside).unwrap())),
                "the damaged one was kept"
            );
            let line = file
                .read_history()
                .unwrap()
                .all_lines()
                .last()
                .unwrap()
                .clone();
            assert_eq!(line.kind, kind::REPAIR);
            assert!(
                line.note.starts_with("does not parse; restored from "),
                "{}",
                line.note
            );
        }
    };
    let broken = |place: &Place| place.write("state.json", b"{\xff");
    let gone = |place: &Place| std::fs::remove_file(place.main()).unwrap();
    let no_journal = |place: &Place| {
        broken(place);
        std::fs::remove_file(place.path("state.json.journal.jsonl")).unwrap();
    };
    check(
        &broken,
        &|text| ["two", "three"].contains(&text),
        RepairSource::Journal,
        "three",
    );
    check(
        &gone,
        &|text| ["two", "three"].contains(&text),
        RepairSource::Journal,
        "three",
    );
    check(
        &no_journal,
        &|text| text == "two",
        RepairSource::Backup("state.json.bak".into()),
        "two",
    );
    let first_copy = format!("backup/state-{STAMP}.json");
    check(
        &no_journal,
        &|text| text == "one",
        RepairSource::Archive(first_copy.into()),
        "one",
    );
    // The journal knows an older version than the newest: better than none, and told as what it is.
    check(
        &broken,
        &|text| text == "one",
        RepairSource::Version { seq: 1 },
        "one",
    );
    check(
        &broken,
        &|text| text == "rebuilt",
        RepairSource::Rebuilt,
        "rebuilt",
    );
    check(
        &broken,
        &|text| text == "empty",
        RepairSource::Empty,
        "empty",
    );
    check(
        &|_| {},
        &|text| text == "three",
        RepairSource::Intact,
        "three",
    );
}

#[test]
fn text_that_is_not_utf8_can_be_read_and_not_updated() {
    let place = Place::new();
    place.write("state.json", b"ab\xff");
    let file = place.file();
    let snapshot = file.load().unwrap();
    assert_eq!(snapshot.bytes.as_deref(), Some(&b"ab\xff"[..]));
    assert!(matches!(
        snapshot.text(),
        Err(StateFileError::NotUtf8 { valid_bytes: 2, .. })
    ));
    assert_eq!(set(&file, "x").unwrap_err().code(), "not_utf8");
    assert_eq!(place.names(), ["state.json"]);
}

#[test]
fn a_removal_is_ours_and_what_comes_back_is_not() {
    let place = Place::new();
    let file = place.file();
    set(&file, "a\n").unwrap();
    let gone = file.update(&request("gone"), |_| {
        Ok::<_, &str>(Some(DocumentChange::removal()))
    });
    assert_eq!(gone.unwrap().seq, Some(2));
    assert_eq!(
        place.names(),
        ["state.json.bak", "state.json.journal.jsonl"]
    );
    assert_eq!(file.load().unwrap().situation, FileSituation::Absent);
    assert_eq!(document_at(&file, 2).unwrap(), None);
    assert_eq!(document_at(&file, 1).unwrap().as_deref(), Some("a\n"));

    // The very version that was removed: nobody may take that for a removal that was interrupted.
    for text in ["a\n", "b\n"] {
        place.write("state.json", text);
        let snapshot = file.load().unwrap();
        assert_eq!(snapshot.situation, FileSituation::Outside { ours: None });
        assert_eq!(snapshot.text().unwrap(), Some(text));
    }
    add(&file, "c").unwrap();
    assert_eq!(place.read("state.json"), "b\nc\n");
    assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
}

#[test]
fn a_torn_line_spoils_no_other() {
    let place = Place::new();
    let path = place.path("deep/lines.jsonl");
    append_line(&RealDisk, &path, "1").unwrap();
    append_line(&RealDisk, &path, "2").unwrap();
    place.write("deep/lines.jsonl", "1\n2\n3 is to");
    append_line(&RealDisk, &path, "4").unwrap();
    assert_eq!(place.read("deep/lines.jsonl"), "1\n2\n3 is to\n4\n");
}

#[test]
fn copies_sort_by_their_sequence_and_not_by_a_clock_that_was_ahead() {
    let place = Place::new();
    let file = place.archived_file();
    set(&file, "0\n").unwrap();
    // An hour ahead for two copies, then right again; more copies in one second than are kept.
    let hours = [1, 1, 0, 0, 0, 0, 0];
    for (n, hour) in hours.into_iter().enumerate() {
        let request = WriteRequest {
            now_ms: NOW_MS + hour * 3_600_000,
            ..request("r")
        };
        let copy = file.archive_copy(&request, &|_| true).unwrap().unwrap();
        let copies = file.archived_copies().unwrap();
        assert_eq!(copies[0], copy, "the newest is the one just made");
        assert_eq!(
            std::fs::read_to_string(&copy).unwrap(),
            format!("{n}\n"),
            "what was reported is there"
        );
        set(&file, &format!("{}\n", n + 1)).unwrap();
    }
    let kept: Vec<_> = file
        .archived_copies()
        .unwrap()
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(kept, ["6\n", "5\n", "4\n"]);
}
