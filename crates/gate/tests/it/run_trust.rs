//! What is believed: the journal against a file that anybody may have written.

use bowline_gate::run_trust::{RunTrust, TrustedRun, assess_state_file};
use bowline_machines::develop::{CheckpointStatus, DevelopPhase, Gate};
use bowline_statefiles::{DocumentChange, FileLayout, StateFile, WriteRequest};
use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;

/// A workspace with a side folder of its own.
struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
    side: PathBuf,
    file: StateFile,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app/.develop-workflow/state.json");
        let side = folder.path().join("side");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = StateFile::new(FileLayout::new(&path).with_side_folder(&side));
        Place {
            _folder: folder,
            path,
            side,
            file,
        }
    }

    /// Writes as Bowline does.
    fn commit(&self, text: &str) {
        let request = WriteRequest {
            id: "r".into(),
            at: "2026-03-01T10:00:00Z".into(),
            ..WriteRequest::default()
        };
        let decide =
            |_: &_| -> Result<_, Infallible> { Ok(Some(DocumentChange::replace_with(text))) };
        self.file.update(&request, decide).unwrap();
    }

    /// Writes as anybody else does.
    fn scribble(&self, text: &str) {
        fs::write(&self.path, text).unwrap();
    }

    fn assess(&self) -> RunTrust {
        assess_state_file(&self.path, &self.file)
    }

    fn believed(&self) -> TrustedRun {
        match self.assess() {
            RunTrust::Run(believed) => *believed,
            other => panic!("no run: {other:?}"),
        }
    }

    fn journal(&self) -> PathBuf {
        self.side.join("state.json.journal.jsonl")
    }
}

/// A document; `open` lists the gates that are open.
fn run(phase: &str, feature: &str, open: &[&str]) -> String {
    let gate = |name: &str| open.contains(&name);
    format!(
        r#"{{
  "phase": "{phase}", "strategy": "direct", "feature": "{feature}",
  "started_at": "2026-03-01T10:00:00", "updated_at": "2026-03-01T11:00:00",
  "gates": {{"review_clean_pass": {}, "architect_verified": {}, "re_review_clean": {}}},
  "checkpoints": {{"cp-1": {{"status": "in_progress", "iteration": 2}}}}
}}
"#,
        gate("review_clean_pass"),
        gate("architect_verified"),
        gate("re_review_clean")
    )
}

#[test]
fn no_file_and_no_journal_is_no_run() {
    assert_eq!(Place::new().assess(), RunTrust::Nothing);
}

#[test]
fn what_bowline_wrote_is_believed() {
    let place = Place::new();
    place.commit(&run("DESIGN", "ferry", &[]));
    place.commit(&run("IMPLEMENT", "ferry", &["review_clean_pass"]));
    let believed = place.believed();
    assert!(believed.owned);
    assert_eq!(believed.run.phase, DevelopPhase::Implement);
    assert!(believed.run.gates.is_open(Gate::ReviewCleanPass));
    assert_eq!((believed.distrusted.len(), believed.sequence), (0, 2));
}

#[test]
fn a_run_without_a_journal_is_believed_as_it_stands() {
    let place = Place::new();
    place.scribble(&run("PR", "ferry", &["review_clean_pass"]));
    let believed = place.believed();
    assert!(!believed.owned);
    assert_eq!(believed.run.phase, DevelopPhase::Pr);
    assert!(believed.run.gates.is_open(Gate::ReviewCleanPass));
}

#[test]
fn gates_phase_and_checkpoints_of_an_edit_are_not_believed_its_words_are() {
    let place = Place::new();
    place.commit(&run("IMPLEMENT", "ferry", &[]));
    let edited = run("DONE", "ferry, faster", &["review_clean_pass"])
        .replace("in_progress", "passed")
        .replace("\"iteration\": 2", "\"iteration\": 1");
    place.scribble(&edited);
    let believed = place.believed();
    assert_eq!(believed.run.phase, DevelopPhase::Implement);
    assert_eq!(believed.run.feature, "ferry, faster");
    assert!(!believed.run.gates.is_open(Gate::ReviewCleanPass));
    assert_eq!(
        believed.run.checkpoints[0].status,
        CheckpointStatus::InProgress
    );
    assert_eq!(
        believed.distrusted,
        ["phase", "gates.review_clean_pass", "checkpoints.cp-1"]
    );
}

#[test]
fn an_older_version_put_back_opens_nothing() {
    let place = Place::new();
    let open = run("IMPLEMENT", "ferry", &["review_clean_pass"]);
    place.commit(&open);
    place.commit(&run("IMPLEMENT", "ferry", &[]));
    place.commit(&run("IMPLEMENT", "ferry, faster", &[]));
    place.scribble(&open);
    assert_eq!(place.believed().distrusted, ["gates.review_clean_pass"]);
    assert!(!place.believed().run.gates.is_open(Gate::ReviewCleanPass));
}

#[test]
fn an_edit_that_was_noted_in_the_journal_is_still_not_believed() {
    let place = Place::new();
    place.commit(&run("IMPLEMENT", "ferry", &[]));
    place.scribble(&run("IMPLEMENT", "ferry", &["review_clean_pass"]));
    // The note alone, as a writer leaves it that met the edit and then refused to go on.
    let request = WriteRequest {
        id: "r".into(),
        ..WriteRequest::default()
    };
    let mut held = place.file.lock_for_writing(&request).unwrap();
    held.commit_steps(&request, &[]).unwrap();
    drop(held);
    let snapshot = place.file.load().unwrap();
    assert_eq!(snapshot.last_kind.as_deref(), Some("outside"));
    let believed = place.believed();
    assert!(!believed.run.gates.is_open(Gate::ReviewCleanPass));
    assert_eq!(believed.distrusted, ["gates.review_clean_pass"]);
}

#[test]
fn a_change_that_has_not_reached_the_file_is_believed() {
    let place = Place::new();
    let before = run("IMPLEMENT", "ferry", &["review_clean_pass"]);
    place.commit(&before);
    place.commit(&run("IMPLEMENT", "ferry", &[]));
    // A crash between the journal line and the replace.
    let before = before.into_bytes();
    fs::write(&place.path, &before).unwrap();
    fs::write(
        place.path.with_file_name(".state.json.bowline-swap"),
        run("IMPLEMENT", "ferry", &[]),
    )
    .unwrap();
    let believed = place.believed();
    assert!(!believed.run.gates.is_open(Gate::ReviewCleanPass));
}

#[test]
fn an_open_run_whose_file_is_gone_is_missed() {
    let place = Place::new();
    place.commit(&run("IMPLEMENT", "ferry", &["review_clean_pass"]));
    fs::remove_file(&place.path).unwrap();
    let RunTrust::Missing { path, last } = place.assess() else {
        panic!("{:?}", place.assess());
    };
    assert_eq!(path, place.path);
    assert_eq!(last.unwrap().phase, DevelopPhase::Implement);
}

#[test]
fn a_finished_run_is_not_missed() {
    let place = Place::new();
    place.commit(&run("DONE", "ferry", &[]));
    fs::remove_file(&place.path).unwrap();
    assert_eq!(place.assess(), RunTrust::Nothing);
}

#[test]
fn a_run_that_was_thrown_away_is_not_missed_and_the_next_file_is_somebody_elses() {
    let place = Place::new();
    place.commit(&run("IMPLEMENT", "ferry", &["review_clean_pass"]));
    let decide = |_: &_| -> Result<_, Infallible> { Ok(Some(DocumentChange::removal())) };
    place.file.update(&WriteRequest::default(), decide).unwrap();
    assert_eq!(place.assess(), RunTrust::Nothing);
    place.scribble(&run("IMPLEMENT", "harbour", &["review_clean_pass"]));
    let believed = place.believed();
    assert!(!believed.owned && believed.distrusted.is_empty());
    assert!(believed.run.gates.is_open(Gate::ReviewCleanPass));
    place.commit(&run("REVIEW", "harbour", &[]));
    place.scribble(&run("IMPLEMENT", "harbour", &["review_clean_pass"]));
    assert_eq!(place.believed().run.phase, DevelopPhase::Review);
}

#[test]
fn what_cannot_be_read_is_damage() {
    for text in ["", "{ torn", "[]", "{\"phase\": \"LUNCH\"}", "\u{0}"] {
        let place = Place::new();
        place.scribble(text);
        assert!(
            matches!(place.assess(), RunTrust::Damaged { .. }),
            "unowned {text:?}"
        );
        let place = Place::new();
        place.commit(&run("DESIGN", "ferry", &[]));
        place.scribble(text);
        assert!(
            matches!(place.assess(), RunTrust::Damaged { .. }),
            "owned {text:?}"
        );
    }
    let place = Place::new();
    fs::create_dir(&place.path).unwrap();
    assert!(matches!(place.assess(), RunTrust::Damaged { .. }));
}

#[test]
fn a_journal_that_cannot_be_read_is_damage() {
    let place = Place::new();
    place.commit(&run("IMPLEMENT", "ferry", &[]));
    place.scribble(&run("IMPLEMENT", "ferry", &["review_clean_pass"]));
    fs::write(place.journal(), "garbage\nmore garbage\n").unwrap();
    assert!(matches!(place.assess(), RunTrust::Damaged { .. }));
}

#[test]
fn looking_writes_nothing() {
    let place = Place::new();
    place.commit(&run("IMPLEMENT", "ferry", &[]));
    place.scribble(&run("DONE", "ferry", &[]));
    let names = || {
        let mut names: Vec<_> = [place.side.as_path(), place.path.parent().unwrap()]
            .into_iter()
            .flat_map(|folder| fs::read_dir(folder).unwrap())
            .map(|entry| {
                let entry = entry.unwrap();
                (entry.file_name(), entry.metadata().unwrap().len())
            })
            .collect();
        names.sort();
        names
    };
    let before = names();
    place.believed();
    assert_eq!(names(), before);
}
