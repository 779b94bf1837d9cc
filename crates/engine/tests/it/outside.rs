//! Edits around the lock: adopted, told, and never silently losing what was acknowledged.

use crate::{Essay, codes, context, outputs};
use bowline_engine::doctor;

#[test]
fn an_edit_of_the_last_version_is_adopted_and_kept() {
    let essay = Essay::begun();
    let text = essay.text();
    essay.write(text.replace("읽히는 글", "짧은 글"));
    assert_eq!(codes(&essay.view().notices), ["outside_edit"]);
    let changed = essay.output("c.md");
    assert_eq!(codes(&changed.view.notices), ["outside_edit"]);
    assert_eq!(changed.view.document.value()["goal"], "짧은 글");
    assert!(
        doctor::examine(&context(), essay.file())
            .unwrap()
            .findings
            .is_empty()
    );
}

#[test]
fn an_edit_of_an_older_version_names_what_it_lost_and_the_doctor_brings_it_back() {
    let essay = Essay::begun();
    let stale = essay.text();
    essay.output("c.md");
    essay.output("d.md");
    essay.write(stale.replace("읽히는 글", "짧은 글"));

    let view = essay.view();
    assert_eq!(codes(&view.notices), ["lost_transition"]);
    let told = view.notices[0].to_string();
    assert!(
        told.contains("#4 OUTPUT") && told.contains("#5 OUTPUT"),
        "{told}"
    );

    // Life goes on; the loss is still known afterwards.
    let changed = essay.output("e.md");
    assert_eq!(codes(&changed.view.notices), ["lost_transition"]);
    let diagnosis = doctor::examine(&context(), essay.file()).unwrap();
    assert!(!diagnosis.healthy());

    let repaired = essay.repair();
    assert!(repaired.healthy());
    let view = essay.view();
    assert_eq!(
        outputs(view.document.value()),
        ["a.md", "b.md", "c.md", "d.md", "e.md"]
    );
    assert_eq!(view.document.value()["goal"], "짧은 글");
    assert!(doctor::examine(&context(), essay.file()).unwrap().healthy());
    assert!(
        essay.repair().repairs.is_empty(),
        "a second repair has nothing to do"
    );
}

#[test]
fn the_doctor_heals_a_stale_edit_that_nobody_adopted_yet() {
    let essay = Essay::begun();
    let stale = essay.text();
    essay.output("c.md");
    essay.write(stale.replace("에세이", "수필"));
    essay.repair();
    let view = essay.view();
    assert_eq!(
        view.document.value()["stages"]["planning"]["outputs"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(view.document.value()["title"], "수필");
}

#[test]
fn what_was_taken_back_on_purpose_is_not_brought_back() {
    let essay = Essay::begun();
    let stale = essay.text();
    essay.output("c.md");
    essay.write(stale.replace("에세이", "수필"));
    essay.output("d.md");
    essay.repair();
    // The person goes back to before the repair: the loss is theirs now.
    essay.restore(6).unwrap();
    assert!(essay.repair().repairs.is_empty());
}

#[test]
fn an_edit_that_undoes_another_edit_does_not_take_acknowledged_work_with_it() {
    let essay = Essay::begun();
    let third = essay.text();
    essay.output("c.md");
    essay.output("d.md");
    let fifth = essay.text();
    // First somebody overwrites two updates, then somebody else who saw them overwrites that.
    essay.write(third.replace("에세이", "수필"));
    essay.output("e.md");
    essay.write(fifth.replace("에세이", "산문"));
    essay.output("f.md");
    essay.repair();
    let view = essay.view();
    assert_eq!(
        outputs(view.document.value()),
        ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md"]
    );
}

#[test]
fn an_editor_that_held_the_file_open_for_long_loses_nothing() {
    let essay = Essay::begun();
    let stale = essay.text();
    for number in 0..150 {
        essay.output(&format!("{number}.md"));
    }
    essay.write(stale.replace("에세이", "수필"));
    let told = essay.view().notices[0].to_string();
    assert_eq!(told.matches('#').count(), 150, "{told}");
    essay.repair();
    let view = essay.view();
    let outputs = &view.document.value()["stages"]["planning"]["outputs"];
    assert_eq!(outputs.as_array().unwrap().len(), 152);
}
