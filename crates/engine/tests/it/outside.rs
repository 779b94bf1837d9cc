//! Edits around the lock: adopted, reported, and never silently losing what was acknowledged.

use crate::{Essay, codes, context, meddled, output, outputs};
use bowline_engine::{doctor, history};
use std::fs;

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
        doctor::examine_file(&context(), essay.file())
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
    let diagnosis = doctor::examine_file(&context(), essay.file()).unwrap();
    assert!(!diagnosis.is_healthy());

    let repaired = essay.repair();
    assert!(repaired.is_healthy());
    let view = essay.view();
    assert_eq!(
        outputs(view.document.value()),
        ["a.md", "b.md", "c.md", "d.md", "e.md"]
    );
    assert_eq!(view.document.value()["goal"], "짧은 글");
    assert!(
        doctor::examine_file(&context(), essay.file())
            .unwrap()
            .is_healthy()
    );
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

/// Records an output while an editor truncates the file in the moment of the exchange, and never writes again.
fn output_while_truncated(essay: &Essay, name: &str) {
    let path = essay.path();
    let truncated = meddled("exchange", move |before| {
        if before == 0 {
            fs::write(&path, "").unwrap();
        }
    });
    output(&truncated, essay.folder(), name);
}

fn findings(essay: &Essay) -> Vec<String> {
    let diagnosis = doctor::examine_file(&context(), essay.file()).unwrap();
    let findings = diagnosis.findings.iter();
    findings
        .map(|one| format!("{} {}", one.code, one.message))
        .collect()
}

#[test]
fn an_empty_file_seen_again_is_not_an_older_version_put_back() {
    let essay = Essay::begun();
    let stale = essay.text();
    essay.output("c.md");
    essay.write(stale.replace("에세이", "수필"));
    output_while_truncated(&essay, "d.md");
    output_while_truncated(&essay, "e.md");
    output_while_truncated(&essay, "f.md");

    let found = findings(&essay);
    assert!(found[0].contains("#4 OUTPUT"), "{found:?}");
    for one in history::read_transitions(essay.file()).unwrap() {
        assert!(one.metadata.get("putBack").is_none(), "{one:?}");
    }
    essay.repair();
    assert_eq!(
        essay.outputs(),
        ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md"]
    );
    assert_eq!(findings(&essay), [""; 0]);
}

#[test]
fn a_version_put_back_settles_only_what_came_after_it() {
    let essay = Essay::begun();
    let stale = essay.text();
    essay.output("c.md");
    essay.write(stale.replace("에세이", "수필"));
    essay.output("d.md");
    let sixth = essay.text();
    essay.output("e.md");
    // A person goes back to before e; the loss of c is older than that, and stays a loss.
    essay.write(&sixth);
    let found = findings(&essay).join("; ");
    assert!(
        found.contains("#4 OUTPUT") && !found.contains("lost_transition #7"),
        "{found}"
    );
    essay.output("f.md");
    let found = findings(&essay).join("; ");
    assert!(found.contains("#4 OUTPUT"), "{found}");
    assert!(!found.contains("#7 OUTPUT"), "{found}");
    essay.repair();
    assert_eq!(essay.outputs(), ["a.md", "b.md", "c.md", "d.md", "f.md"]);

    // A version from before the repair lacks c again, and so says the doctor.
    essay.write(&sixth);
    let found = findings(&essay).join("; ");
    assert!(found.contains("#4 OUTPUT"), "{found}");
}

#[test]
fn a_version_put_back_from_before_a_loss_has_no_loss() {
    let essay = Essay::begun();
    let third = essay.text();
    essay.output("c.md");
    essay.write(third.replace("에세이", "수필"));
    essay.output("d.md");
    essay.write(&third);
    let found = findings(&essay).join("; ");
    assert!(!found.contains("lost_transition"), "{found}");
    essay.output("e.md");
    assert_eq!(findings(&essay), [""; 0]);
    assert_eq!(essay.outputs(), ["a.md", "b.md", "e.md"]);
}
