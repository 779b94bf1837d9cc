//! A corpus of damaged files: never a panic, never a silent loss.

use crate::{Essay, context, state_file};
use bowline_engine::Error;
use bowline_engine::doctor;
use bowline_engine::formats::json::JsonDocument;
use bowline_engine::machines::thinking::ThinkingStage;
use bowline_engine::operations::thinking::ThinkingRun;
use std::fs;
use std::path::Path;

/// Every way a file of this content may be found damaged.
fn corpus(good: &str) -> Vec<(String, Vec<u8>)> {
    let mut cases: Vec<(String, Vec<u8>)> = Vec::new();
    let bytes = good.as_bytes();
    for length in (0..bytes.len()).step_by(7) {
        cases.push((format!("cut at {length}"), bytes[..length].to_vec()));
    }
    for at in (0..bytes.len()).step_by(11) {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 1 << (at % 8);
        cases.push((format!("bit flipped at {at}"), flipped));
    }
    let replaced = [
        ("\"stages\"", "\"stage\""),
        ("\"status\": \"in_progress\"", "\"status\": NaN"),
        ("\"status\": \"in_progress\"", "\"status\": \"going\""),
        ("\"status\": \"in_progress\"", "\"status\": 7"),
        ("\"status\": \"in_progress\"", "\"status\": null"),
        ("\"outputs\"", "\"outputs\": {}, \"outputs\""),
        (
            "\"progress_percentage\": 0",
            "\"progress_percentage\": 1e999",
        ),
        (
            "\"progress_percentage\": 0",
            "\"progress_percentage\": -Infinity",
        ),
        (
            "\"current_stage\": \"planning\"",
            "\"current_stage\": [\"planning\"]",
        ),
        ("\"a.md\"", "42"),
        ("\"a.md\"", "\"../../etc/passwd\""),
        (
            "\"started_at\": \"2026-02-03T04:05:06Z\"",
            "\"started_at\": \"yesterday\"",
        ),
        (
            "\"planning\": {",
            "\"planning\": {\"status\": \"completed\", ",
        ),
        ("{", "{{"),
        ("\n", "\0"),
    ];
    for (from, to) in replaced {
        cases.push((
            format!("{from} becomes {to}"),
            good.replacen(from, to, 1).into_bytes(),
        ));
    }
    cases.push((
        "byte order mark".into(),
        format!("\u{feff}{good}").into_bytes(),
    ));
    cases.push((
        "windows line ends".into(),
        good.replace('\n', "\r\n").into_bytes(),
    ));
    cases.push(("blank".into(), b" \n\n".to_vec()));
    cases.push(("nested".into(), "[".repeat(200_000).into_bytes()));
    cases.push((
        "nested objects".into(),
        "{\"a\":".repeat(200_000).into_bytes(),
    ));
    cases.push(("a list".into(), b"[]".to_vec()));
    cases.push(("latin-1".into(), b"{\"title\": \"caf\xe9\"}".to_vec()));
    cases.push((
        "utf-16".into(),
        good.encode_utf16().flat_map(u16::to_le_bytes).collect(),
    ));
    cases.push((
        "an html page".into(),
        b"<html><body>502</body></html>".to_vec(),
    ));
    cases.push((
        "conflict marks".into(),
        format!("<<<<<<< HEAD\n{good}=======\n{good}>>>>>>> x\n").into_bytes(),
    ));
    cases.push(("twice".into(), format!("{good}{good}").into_bytes()));
    cases
}

/// Whether some file beside the state file, or its journal, still has what was damaged.
fn kept(folder: &Path, damaged: &[u8]) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let name = entry.file_name().into_string().unwrap();
        name.contains(".damaged-") && fs::read(entry.path()).unwrap() == damaged
    })
}

#[test]
fn every_damaged_file_is_told_set_aside_and_restored() {
    let template = Essay::begun();
    let good = template.text();
    let cases = corpus(&good);
    assert!(cases.len() >= 200, "{} cases", cases.len());
    for (name, damaged) in cases {
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(template.folder()).unwrap().flatten() {
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        fs::write(state_file(folder.path()), &damaged).unwrap();
        // Long ago: a file changed just now would be looked at twice before it is called damaged.
        let file = fs::File::options()
            .write(true)
            .open(state_file(folder.path()))
            .unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        let run = ThinkingRun::in_folder(&context(), folder.path());
        let seen = run.file().read_view(&context());
        let after_reading = fs::read(state_file(folder.path())).unwrap();
        assert_eq!(after_reading, damaged, "{name}: reading changed the file");
        let unreadable = matches!(seen, Err(Error::Damaged { .. } | Error::File(_)));
        assert!(unreadable || seen.is_ok(), "{name}: {:?}", seen.err());

        let diagnosis = doctor::repair_file(&context(), run.file())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let view = run
            .file()
            .read_view(&context())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        if unreadable {
            assert!(
                kept(folder.path(), &damaged),
                "{name}: what was damaged is gone"
            );
            assert!(!diagnosis.repairs.is_empty(), "{name}: repaired in silence");
            assert_eq!(
                view.document.text(),
                good,
                "{name}: an acknowledged transition is gone"
            );
        } else if damaged != good.as_bytes() {
            assert!(!diagnosis.findings.is_empty(), "{name}: changed in silence");
        }
    }
}

#[test]
fn a_damaged_file_that_was_never_ours_is_set_aside_before_a_fresh_start() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(state_file(folder.path()), b"{ torn").unwrap();
    let run = ThinkingRun::in_folder(&context(), folder.path());
    let changed = run
        .start_stage(&context(), ThinkingStage::Planning, None)
        .unwrap();
    assert!(
        changed
            .view
            .notices
            .iter()
            .any(|notice| notice.code() == "restored")
    );
    assert!(kept(folder.path(), b"{ torn"));
}

#[test]
fn a_changing_verb_restores_first_and_goes_on() {
    let essay = Essay::begun();
    essay.write("");
    let changed = essay.output("c.md");
    let outputs = &changed.view.document.value()["stages"]["planning"]["outputs"];
    assert_eq!(outputs, &serde_json::json!(["a.md", "b.md", "c.md"]));
}

#[test]
fn a_file_of_100_megabytes_is_refused_and_left_alone() {
    let essay = Essay::begun();
    let path = essay.path();
    // Sparse: no disk is filled for this.
    fs::File::create(&path).unwrap().set_len(100 << 20).unwrap();
    let error = essay.file().read_view(&context()).unwrap_err();
    assert_eq!(error.code(), "file_too_big");
    assert_eq!(fs::metadata(&path).unwrap().len(), 100 << 20);
}

#[test]
fn a_missing_file_with_a_journal_is_damage_not_a_new_beginning() {
    let essay = Essay::begun();
    let before = essay.text();
    fs::remove_file(essay.path()).unwrap();
    assert!(matches!(
        essay.file().read_view(&context()),
        Err(Error::Damaged { .. })
    ));
    essay.repair();
    let document = JsonDocument::parse(&fs::read(essay.path()).unwrap()).unwrap();
    assert_eq!(document.text(), before);
}
