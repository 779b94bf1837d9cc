//! Looking back over a long history: read from its end, and honest about where it begins.

use crate::{Essay, meddled};
use bowline_engine::files::KnownFile;
use bowline_engine::history::{self, RestoreOptions};
use bowline_engine::kinds::FileKind;
use bowline_engine::statefiles::{
    DocumentChange, FileLayout, JOURNAL_BYTES_MAX, StateFile, WriteRequest,
};
use bowline_engine::{Context, Error};
use bowline_formats::transition::{LINE_TYPE, Transition};
use serde_json::json;
use serde_json::value::to_raw_value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Gives the essay so many titles, one after the other, with a journal of at most `journal_bytes_max`.
fn retitle(essay: &Essay, titles: usize, journal_bytes_max: u64) {
    let file =
        StateFile::new(FileLayout::new(essay.path())).with_journal_bytes_max(journal_bytes_max);
    let text = essay.text();
    for number in 0..titles {
        let transition = Transition {
            timestamp: String::new(),
            task_id: "essay-1".to_owned(),
            line_type: LINE_TYPE.to_owned(),
            entity: "thinking".to_owned(),
            from: None,
            to: "in_progress".to_owned(),
            trigger: "TITLE".to_owned(),
            metadata: json!({ "title": number }),
            sequence: 0,
        };
        let change = DocumentChange {
            transition: Some(to_raw_value(&transition).unwrap()),
            ..DocumentChange::replace_with(text.replace("에세이", &format!("에세이 {number}")))
        };
        let updated = file.update(&WriteRequest::default(), |_| {
            Ok::<_, std::convert::Infallible>(Some(change.clone()))
        });
        updated.unwrap();
    }
}

fn title(essay: &Essay) -> String {
    let view = essay.view();
    view.document.value()["title"].as_str().unwrap().to_owned()
}

/// A context that counts the reads of journals.
fn counting() -> (Context, Arc<AtomicUsize>) {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let context = meddled("read_at", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    (context, reads)
}

fn at(context: &Context, essay: &Essay) -> KnownFile {
    KnownFile::new(context, FileKind::Thinking, &essay.path())
}

#[test]
fn the_last_transitions_are_read_from_the_end() {
    let essay = Essay::begun();
    retitle(&essay, 400, JOURNAL_BYTES_MAX);
    let all = history::read_transitions(essay.file()).unwrap();
    let (context, reads) = counting();
    let last = history::last_transitions(&at(&context, &essay), Some(10)).unwrap();
    assert_eq!(last.transitions, all[all.len() - 10..]);
    let few = reads.swap(0, Ordering::SeqCst);
    history::read_transitions(&at(&context, &essay)).unwrap();
    let whole = reads.load(Ordering::SeqCst);
    assert!(few * 4 < whole, "{few} reads instead of {whole}");

    // A version that is put back is named, however old it is.
    let text = essay.text();
    essay.write(text.replace("에세이 399", "에세이 7"));
    essay.output("c.md");
    let last = history::last_transitions(essay.file(), Some(2)).unwrap();
    assert_eq!(last.transitions[0].metadata["putBack"], 11);
}

#[test]
fn an_undo_reads_the_end_and_goes_the_same_way() {
    let essay = Essay::begun();
    retitle(&essay, 400, JOURNAL_BYTES_MAX);
    let (context, reads) = counting();
    history::undo_transition(&context, &at(&context, &essay), RestoreOptions::default()).unwrap();
    let few = reads.swap(0, Ordering::SeqCst);
    assert_eq!(title(&essay), "에세이 398");
    history::read_transitions(&at(&context, &essay)).unwrap();
    let whole = reads.load(Ordering::SeqCst);
    assert!(few * 2 < whole, "{few} reads instead of {whole}");
    for number in (300..398).rev() {
        essay.undo().unwrap();
        assert_eq!(title(&essay), format!("에세이 {number}"));
    }
    essay.restore(5).unwrap();
    assert_eq!(title(&essay), "에세이 1");
    essay.restore(390).unwrap();
    assert_eq!(title(&essay), "에세이 386");
}

#[test]
fn a_history_that_lost_its_beginning_says_where_it_begins() {
    let essay = Essay::begun();
    retitle(&essay, 5, JOURNAL_BYTES_MAX);
    let whole = history::last_transitions(essay.file(), None).unwrap();
    assert_eq!(whole.begins, None);
    retitle(&essay, 60, 8 * 1024);
    let kept = history::last_transitions(essay.file(), None).unwrap();
    let first = kept.begins.unwrap();
    assert!(first.sequence > 4, "{first:?}");
    let some = history::last_transitions(essay.file(), Some(3)).unwrap();
    assert_eq!((some.transitions.len(), some.begins), (3, None));

    let gone = essay.restore(4).unwrap_err();
    assert_eq!(gone.code(), "no_such_transition");
    let (said, number) = (gone.to_string(), first.sequence.to_string());
    assert!(said.contains(&number) && said.contains("journal"), "{said}");
    let never = essay.restore(9_999).unwrap_err();
    assert!(matches!(
        never,
        Error::NoSuchTransition { begins: None, .. }
    ));
    essay.restore(first.sequence).unwrap();
}
