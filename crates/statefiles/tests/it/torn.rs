//! Journals that end or break where they should not.

use bowline_statefiles::{
    DocumentChange, FileSituation, FileSnapshot, Incident, RepairSource, UpdateError,
};
use bowline_test_support::drill::check_journal;

use crate::support::{Place, STAMP, add, document_at, good_disk, outside, request, rescue, set};

const JOURNAL: &str = "state.json.journal.jsonl";

#[test]
fn a_journal_cut_at_every_length_of_its_last_line() {
    let source = Place::new();
    set(&source.file(), "a\n").unwrap();
    add(&source.file(), "b").unwrap();
    let committed = source.read(JOURNAL);
    add(&source.file(), "c").unwrap();
    let whole = source.read(JOURNAL);
    for length in committed.len()..=whole.len() {
        let place = Place::new();
        place.write("state.json", "a\nb\n");
        place.write(".state.json.bowline-new", "a\nb\nc\n");
        place.write(JOURNAL, &whole.as_bytes()[..length]);
        let snapshot = place.file().load().unwrap();
        let complete = length == whole.len();
        let expected = if complete {
            FileSituation::RolledForward { lines: 1 }
        } else {
            FileSituation::Clean
        };
        assert_eq!(snapshot.situation, expected, "cut at {length}");
        assert_eq!(
            snapshot.text().unwrap(),
            Some(if complete { "a\nb\nc\n" } else { "a\nb\n" })
        );
        assert_eq!(snapshot.findings, []);
        add(&place.file(), "d").unwrap();
        let lines = check_journal(&place.file()).unwrap();
        assert_eq!(lines.len(), if complete { 4 } else { 3 }, "cut at {length}");
        assert_eq!(place.file().load().unwrap().situation, FileSituation::Clean);
    }
}

#[test]
fn a_journal_cut_anywhere_never_stops_the_work() {
    let source = Place::new();
    set(&source.file(), "a\n").unwrap();
    add(&source.file(), "b").unwrap();
    let whole = source.read(JOURNAL);
    for length in 0..whole.len() {
        let place = Place::new();
        place.write("state.json", "a\nb\n");
        place.write(JOURNAL, &whole.as_bytes()[..length]);
        add(&place.file(), "d").unwrap();
        assert_eq!(place.read("state.json"), "a\nb\nd\n", "cut at {length}");
        check_journal(&place.file()).unwrap();
    }
}

#[test]
fn a_last_line_with_a_wrong_sum_was_never_committed() {
    let place = Place::new();
    set(&place.file(), "a\n").unwrap();
    let committed = place.read(JOURNAL);
    add(&place.file(), "b").unwrap();
    let whole = place.read(JOURNAL);
    place.write(
        JOURNAL,
        committed.clone() + &whole[committed.len()..].replace("\"del\"", "\"dle\""),
    );
    place.write("state.json", "a\n");
    assert_eq!(place.file().load().unwrap().situation, FileSituation::Clean);
    place.write(JOURNAL, committed.clone() + &"\0".repeat(300));
    assert_eq!(place.file().load().unwrap().situation, FileSituation::Clean);
    add(&place.file(), "c").unwrap();
    assert_eq!(check_journal(&place.file()).unwrap().len(), 2);
}

#[test]
fn a_bad_line_in_the_middle_is_a_finding() {
    let place = Place::new();
    for text in ["a\n", "b\n", "c\n", "d\n"] {
        set(&place.file(), text).unwrap();
    }
    let lines: Vec<String> = place.read(JOURNAL).lines().map(str::to_owned).collect();
    let broken = [&lines[0], "{\"seq\":2,", &lines[2], &lines[3], ""]
        .map(str::to_owned)
        .join("\n");
    place.write(JOURNAL, &broken);
    let file = place.file();
    assert_eq!(
        file.load().unwrap().situation,
        FileSituation::Clean,
        "the end is what counts"
    );
    let history = file.read_history().unwrap();
    let offset = lines[0].len() as u64 + 1;
    assert_eq!(history.findings, [Incident::BadJournalLine { offset }]);
    assert_eq!(history.all_lines().len(), 3);
    add(&file, "e").unwrap();
    assert_eq!(place.read("state.json"), "d\ne\n");
    assert_eq!(document_at(&file, 1).unwrap().as_deref(), Some("a\n"));
    assert_eq!(document_at(&file, 3).unwrap_err().code(), "not_rebuildable");
}

#[test]
fn a_journal_without_one_good_line_is_set_aside() {
    let place = Place::new();
    place.write("state.json", "a\n");
    place.write(JOURNAL, "garbage\nmore garbage\nand more\n");
    let file = place.file();
    assert_eq!(file.load().unwrap().situation, FileSituation::Unmanaged);
    let updated = add(&file, "b").unwrap();
    let path = place.path(&format!("{JOURNAL}.damaged-{STAMP}"));
    assert_eq!(
        updated.snapshot.findings,
        [Incident::JournalSetAside { path: path.clone() }]
    );
    assert!(
        std::fs::read_to_string(path)
            .unwrap()
            .starts_with("garbage\n")
    );
    assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
}

#[test]
fn a_journal_that_a_decision_needs_is_not_set_aside_before_it_is_asked() {
    let place = Place::new();
    place.write("state.json", "a\n");
    place.write(JOURNAL, "garbage\nmore garbage\nand more\n");
    let file = place.file().with_history();
    let refused = file.update(&request("r"), |now: &FileSnapshot| {
        match now.journal_damaged {
            true => Err("nothing is known"),
            false => Ok(Some(DocumentChange::replace_with("b\n"))),
        }
    });
    assert!(matches!(
        refused,
        Err(UpdateError::Refused("nothing is known"))
    ));
    assert_eq!(place.read(JOURNAL), "garbage\nmore garbage\nand more\n");
    let aside = |now: &str| format!("{JOURNAL}.damaged-{now}");
    add(&file, "b").unwrap();
    assert!(place.read(&aside(STAMP)).starts_with("garbage\n"));
    assert_eq!(file.load().unwrap().situation, FileSituation::Clean);
}

#[test]
fn only_the_end_of_a_long_journal_is_read() {
    let place = Place::new();
    let file = place.file();
    set(&file, &"x\n".repeat(50_000)).unwrap();
    add(&file, "y").unwrap();
    let journal = place.read(JOURNAL);
    // Nonsense in the first line goes unnoticed, because nobody looks there.
    place.write(JOURNAL, journal.replacen("\"kind\"", "\"dnik\"", 1));
    let snapshot = file.load().unwrap();
    assert_eq!(
        (snapshot.situation, snapshot.findings),
        (FileSituation::Clean, vec![])
    );
}

#[test]
fn a_damaged_last_line_that_took_a_change_back_does_not_bring_it_back() {
    let place = Place::new();
    for text in ["a\n", "b\n", "a\n"] {
        set(&place.file(), text).unwrap();
    }
    let journal = place.read(JOURNAL);
    place.write(JOURNAL, &journal[..journal.len() - 3]);
    let snapshot = place.file().load().unwrap();
    assert_eq!(snapshot.text().unwrap(), Some("a\n"));
    assert_eq!(snapshot.situation, outside("b\n"));
    add(&place.file(), "c").unwrap();
    assert_eq!(place.read("state.json"), "a\nc\n");
}

/// Somebody empties and rewrites the file in the moment of our write; what they had written by then
/// does not parse. The backup is two versions old.
#[test]
fn repair_takes_the_newest_committed_version_and_not_the_backup() {
    let place = Place::new();
    for text in ["good 1\n", "good 2\n", "good 3\n"] {
        set(&place.file(), text).unwrap();
    }
    let file = place.meddled_file("exchange", good_disk(), |before, path| {
        if before == 0 {
            std::fs::write(path, "goo").unwrap();
        }
    });
    let good = |text: &str| text.starts_with("good ");
    let refused = file.update(&request("r"), |now| match now.text().unwrap() {
        Some(text) if good(text) => Ok(Some(DocumentChange::replace_with("good 4\n"))),
        other => Err(other.map(str::to_owned)),
    });
    assert!(refused.is_err());
    assert_eq!(place.read("state.json.bak"), "good 2\n");
    let recovered = place
        .file()
        .recover_document(&request("fix"), "does not parse", &rescue(&good))
        .unwrap();
    assert_eq!(
        (recovered.source, recovered.text.as_str()),
        (RepairSource::Journal, "good 3\n"),
        "what was taken back in that moment was never acknowledged"
    );
}

#[test]
fn a_gap_in_the_journal_is_bridged_by_a_copy() {
    let place = Place::new();
    for n in 1..=4 {
        set(&place.file(), &format!("good {n}\n")).unwrap();
    }
    let lines: Vec<String> = place.read(JOURNAL).lines().map(str::to_owned).collect();
    // Without its first two lines nothing in the journal says where the others begin; the backup
    // does.
    place.write(JOURNAL, format!("{}\n{}\n", lines[2], lines[3]));
    place.write("state.json", "broken");
    let good = |text: &str| text.starts_with("good ");
    let recovered = place
        .file()
        .recover_document(&request("fix"), "does not parse", &rescue(&good))
        .unwrap();
    assert_eq!(
        (recovered.source, recovered.text.as_str()),
        (RepairSource::Journal, "good 4\n")
    );
}
