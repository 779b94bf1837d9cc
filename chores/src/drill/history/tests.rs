//! The checker finds what was lost without a word, and only that.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::check::Story;
use super::operations::{FILES, token};
use super::{Answer, Done};
use bowline_engine::statefiles::{DocumentChange, FileLayout, StateFile, WriteRequest};
use bowline_formats::transition::{LINE_TYPE, Transition};
use serde_json::{Value, json, value::to_raw_value};
use std::path::{Path, PathBuf};

const NAME: &str = FILES[0];
/// More operations than any of these stories has.
const COUNT: usize = 10;

/// A state file that is a list of tokens, and what was answered about it.
struct Tale {
    path: PathBuf,
    file: StateFile,
    done: Vec<Done>,
}

impl Tale {
    fn new(name: &str) -> Self {
        let id = std::process::id();
        let folder = std::env::temp_dir().join(format!("bowline-history-check-{name}-{id}"));
        let path = folder.join("state.json");
        let mut tale = Tale {
            file: StateFile::new(FileLayout::new(&path)),
            path,
            done: Vec::new(),
        };
        tale.moved("INIT", json!({}), &[]);
        tale
    }

    fn text(numbers: &[usize]) -> String {
        let all: Vec<String> = numbers.iter().map(|number| token(*number)).collect();
        format!("{all:?}\n")
    }

    /// A transition after which the document has these tokens.
    fn moved(&mut self, trigger: &str, metadata: Value, numbers: &[usize]) -> u64 {
        let transition = Transition {
            timestamp: String::new(),
            task_id: String::new(),
            line_type: LINE_TYPE.to_owned(),
            entity: "file".to_owned(),
            from: None,
            to: "there".to_owned(),
            trigger: trigger.to_owned(),
            metadata,
            sequence: 0,
        };
        let change = DocumentChange {
            transition: Some(to_raw_value(&transition).unwrap()),
            ..DocumentChange::replace_with(Self::text(numbers))
        };
        let updated = self.file.update(&WriteRequest::default(), |_| {
            Ok::<_, std::convert::Infallible>(Some(change.clone()))
        });
        updated.unwrap().seq.unwrap()
    }

    /// An acknowledged append of the last of these tokens.
    fn append(&mut self, numbers: &[usize]) -> u64 {
        let sequence = self.moved("APPEND", json!({}), numbers);
        self.acknowledge(*numbers.last().unwrap(), sequence);
        sequence
    }

    fn acknowledge(&mut self, number: usize, sequence: u64) {
        self.done.push(Done {
            number,
            words: "memory context append log".to_owned(),
            manner: "plain",
            marked: true,
            answer: Answer::Acknowledged {
                file: NAME,
                sequence,
                to: "there".to_owned(),
            },
        });
    }

    /// Somebody who takes no lock.
    fn edit(&self, numbers: &[usize]) {
        std::fs::write(&self.path, Self::text(numbers)).unwrap();
    }

    fn wrong(&self) -> Vec<String> {
        let story = Story::read(NAME, &self.path, &self.file, COUNT).unwrap();
        story.violations(&self.done, None).unwrap()
    }
}

impl Drop for Tale {
    fn drop(&mut self) {
        // The folder is of this test alone; whatever is left of it harms nobody.
        let _ = std::fs::remove_dir_all(self.path.parent().unwrap_or(Path::new("")));
    }
}

#[track_caller]
fn finds(tale: &Tale, wanted: &[&str]) {
    let wrong = tale.wrong();
    assert_eq!(wrong.len(), wanted.len(), "{wrong:#?}");
    for (found, wanted) in wrong.iter().zip(wanted) {
        assert!(found.contains(wanted), "{found} should say {wanted}");
    }
}

#[test]
fn what_is_named_is_no_loss() {
    let mut tale = Tale::new("named");
    let first = tale.append(&[1]);
    let second = tale.append(&[1, 2]);
    tale.moved("UNDO", json!({ "undone": second }), &[1]);
    tale.append(&[1, 3]);
    tale.moved("RESTORE", json!({ "restored": first }), &[1]);
    tale.append(&[1, 4]);
    tale.edit(&[1, 9]);
    tale.append(&[1, 9, 5]);
    tale.moved("REPAIR", json!({ "reapplied": [7] }), &[1, 4, 9, 5]);
    finds(&tale, &[]);
}

#[test]
fn an_undo_takes_back_what_it_names_and_no_more() {
    let mut tale = Tale::new("undo");
    let first = tale.append(&[1]);
    tale.append(&[1, 2]);
    tale.moved("UNDO", json!({ "undone": first }), &[]);
    finds(
        &tale,
        &["undo #4 names #2 and also goes over #3", "lost by #4 UNDO"],
    );
}

#[test]
fn a_restore_leaves_what_was_there_then() {
    let mut tale = Tale::new("restore");
    tale.append(&[1]);
    let second = tale.append(&[1, 2]);
    tale.moved("RESTORE", json!({ "restored": second }), &[2]);
    finds(&tale, &["lost by #4 RESTORE"]);
}

#[test]
fn a_repair_takes_nothing_away() {
    let mut tale = Tale::new("repair");
    tale.append(&[1]);
    tale.moved("REPAIR", json!({ "reapplied": [] }), &[]);
    finds(&tale, &["lost by #3 REPAIR"]);
}

#[test]
fn a_repair_brings_back_what_an_edit_lost() {
    let mut tale = Tale::new("edit");
    tale.append(&[1]);
    tale.edit(&[9]);
    tale.append(&[9, 2]);
    finds(&tale, &["lost by the edit #3, and never brought back"]);
    tale.moved("REPAIR", json!({ "reapplied": [] }), &[9, 2]);
    finds(
        &tale,
        &["lost by the edit #3, and the repair #5 leaves it lost"],
    );
}

#[test]
fn a_step_that_is_completed_again_replaces_the_output_that_an_edit_lost() {
    for (step, wanted) in [(2, &[][..]), (3, &["lost by the edit #3"][..])] {
        let mut tale = Tale::new(&format!("completed-again-{step}"));
        let first = tale.moved("STEP_COMPLETE", json!({ "step": 2 }), &[1]);
        tale.acknowledge(1, first);
        tale.edit(&[9]);
        tale.moved("STEP_COMPLETE", json!({ "step": step }), &[9, 2]);
        finds(&tale, wanted);
    }
}

#[test]
fn a_version_put_back_lacks_what_it_lacked_then() {
    let mut tale = Tale::new("put-back");
    tale.append(&[1]);
    tale.edit(&[9]);
    tale.append(&[9, 2]);
    tale.append(&[9, 2, 3]);
    tale.edit(&[9, 2]);
    tale.moved("SET", json!({}), &[9, 2, 8]);
    finds(&tale, &["lost by the edit #3, and never brought back"]);
    let story = Story::read(NAME, &tale.path, &tale.file, COUNT).unwrap();
    assert_eq!(story.unnamed(&tale.done, None, "#5 ").unwrap().len(), 1);
    assert!(story.unnamed(&tale.done, None, "#2 ").unwrap().is_empty());
}

#[test]
fn a_lost_way_back_is_named_for_what_it_brought() {
    let mut tale = Tale::new("way-back");
    let first = tale.append(&[1]);
    let second = tale.append(&[1, 2]);
    tale.moved("RESTORE", json!({ "restored": first }), &[1]);
    tale.moved("RESTORE", json!({ "restored": second }), &[1, 2]);
    tale.edit(&[1, 9]);
    tale.moved("SET", json!({}), &[1, 9, 8]);
    let story = Story::read(NAME, &tale.path, &tale.file, COUNT).unwrap();
    let unnamed = |findings| story.unnamed(&tale.done, None, findings).unwrap().len();
    assert_eq!([unnamed("#5 "), unnamed("#3 "), unnamed("#2 ")], [0, 0, 1]);
}

#[test]
fn an_appended_value_is_there_once() {
    let mut tale = Tale::new("doubled");
    tale.append(&[1]);
    tale.moved("REPAIR", json!({ "reapplied": [2] }), &[1, 1]);
    finds(&tale, &["is there 2 times"]);
}

#[test]
fn an_acknowledged_transition_has_its_line_and_its_version() {
    let mut tale = Tale::new("line");
    let first = tale.append(&[1]);
    tale.acknowledge(2, first);
    tale.acknowledge(3, first + 1);
    finds(
        &tale,
        &[
            "#2 was acknowledged and is not in",
            "#3 was acknowledged and has no line",
        ],
    );
}

#[test]
fn the_file_is_the_last_version() {
    let mut tale = Tale::new("last");
    tale.append(&[1]);
    tale.edit(&[1, 1]);
    finds(&tale, &["the file is not the last version"]);
}
