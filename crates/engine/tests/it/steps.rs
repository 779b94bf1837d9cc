//! A run that holds its file and commits steps: others see them before the file has them, and after a kill too.

use crate::{codes, context, torn_orchestration};
use bowline_engine::doctor;
use bowline_engine::files::{FileNotice, KnownFile};
use bowline_engine::formats::orchestrate::RecordedStep;
use bowline_engine::machines::Timestamp;
use bowline_engine::machines::orchestrate::Command as Order;
use bowline_engine::operations::orchestrate::Orchestration;
use bowline_engine::statefiles::{
    BatchStep, FileLayout, FileSituation, StateFile, StateFileGuard, WriteRequest,
};
use bowline_test_support::wait_until;
use serde_json::json;
use serde_json::value::to_raw_value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const PART: &str = "BOWLINE_TEST_HOLD";
/// Says that the steps are committed.
const COMMITTED: &str = "committed";

const TASKS: &str = "\
## Phase 1: app
### [ ] Phase 1, T1.1: list
### [ ] Phase 1, T1.2: search
**의존성**: T1.1
### [ ] Phase 1, T1.3: map
";

fn step(order: Order, seconds: i64) -> BatchStep {
    let at = Timestamp(context().now().0 + seconds);
    let recorded = RecordedStep { at, command: order };
    BatchStep {
        id: format!("step-{seconds}"),
        at: "2026-02-03T04:05:06Z".into(),
        logical: to_raw_value(&recorded).unwrap(),
        transition: None,
        effects: None,
    }
}

/// Takes the file and commits steps.
fn commit(path: &Path, steps: &[BatchStep]) -> StateFileGuard {
    let request = WriteRequest {
        id: "run".into(),
        what: "run".into(),
        ..WriteRequest::default()
    };
    let mut held = StateFile::new(FileLayout::new(path))
        .lock_for_writing(&request)
        .unwrap();
    held.commit_steps(&request, steps).unwrap();
    held
}

/// Another process: holds the file with steps that it does not have, and lives until it is killed.
#[test]
#[ignore = "the entry point of child processes"]
fn entry() {
    let path = PathBuf::from(std::env::var_os(PART).unwrap());
    let steps = [
        step(Order::Start { id: "T1.1".into() }, 10),
        step(Order::Start { id: "T1.3".into() }, 20),
        step(Order::Complete { id: "T1.1".into() }, 40),
    ];
    let _held = commit(&path, &steps);
    fs::write(path.with_file_name(COMMITTED), "").unwrap();
    std::io::read_to_string(std::io::stdin()).unwrap();
}

/// A run of the tasks above.
fn begun(folder: &Path) -> KnownFile {
    fs::write(folder.join("TASKS.md"), TASKS).unwrap();
    let file = torn_orchestration(folder);
    doctor::repair_file(&context(), &file).unwrap();
    file
}

#[test]
fn committed_steps_are_seen_while_the_file_is_held_and_completed_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = begun(folder.path());
    let before = fs::read(&file.path).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "steps::entry", "--ignored", "--test-threads=1"])
        .env(PART, &file.path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let sign = file.path.with_file_name(COMMITTED);
    let committed = wait_until(Duration::from_secs(30), || sign.exists());
    assert!(committed, "{:?}", child.try_wait());
    let seen = || file.read_view(&context()).unwrap();
    let view = seen();
    assert_eq!(fs::read(&file.path).unwrap(), before, "not written yet");
    let tasks = &view.document.value()["tasks"];
    assert_eq!(tasks["completed"], json!(["T1.1"]));
    assert_eq!(tasks["in_progress"], json!(["T1.3"]));
    assert_eq!(tasks["ready"], json!(["T1.2"]));
    assert_eq!(
        view.document.value()["execution"]["last_updated"],
        "2026-02-03T04:05:46Z"
    );
    assert_eq!(view.examined.findings, []);
    assert!(
        matches!(
            view.notices[..],
            [FileNotice::RolledForward {
                lines: 3,
                completed: false
            }]
        ),
        "{:?}",
        view.notices
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read(&file.path).unwrap(), before);
    assert_eq!(seen().document.text(), view.document.text());

    // The next writer completes the file, whoever it is.
    let diagnosis = doctor::repair_file(&context(), &file).unwrap();
    assert!(diagnosis.is_healthy(), "{diagnosis:?}");
    let written = fs::read_to_string(&file.path).unwrap();
    assert_eq!(written, view.document.text());
    assert!(seen().notices.is_empty());
    // It has them now: nothing is left for a reader to apply.
    let plain = StateFile::new(FileLayout::new(&file.path));
    assert_eq!(plain.load().unwrap().situation, FileSituation::Clean);
}

#[test]
fn a_step_that_is_not_legal_is_told_and_not_applied() {
    let folder = tempfile::tempdir().unwrap();
    let file = begun(folder.path());
    let before = fs::read_to_string(&file.path).unwrap();
    commit(
        &file.path,
        &[step(Order::Complete { id: "T1.2".into() }, 10)],
    );
    let view = file.read_view(&context()).unwrap();
    assert_eq!(view.document.text(), before);
    assert_eq!(
        codes(&view.notices),
        ["journal_does_not_fit", "older_version_put_back"]
    );
}

#[test]
fn a_run_takes_in_what_others_change_in_its_plan_and_not_what_it_ticked_itself() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path());
    let plan = folder.path().join("TASKS.md");
    let (context, done) = (context(), |id: &str| [id.into()]);
    let mut owned = Orchestration::in_folder(&context, folder.path())
        .take_ownership(&context, |config| config)
        .unwrap();
    assert!(!owned.reread_plan(&context).unwrap());
    owned.tick_tasks(&context, &done("T1.1")).unwrap();
    let ticked = fs::read_to_string(&plan).unwrap();
    assert_eq!(ticked, TASKS.replacen("[ ]", "[x]", 1));
    assert!(!owned.reread_plan(&context).unwrap());

    // Theirs comes between two ticks of ours, and nobody looks before the second.
    let more = format!("{ticked}### [ ] Phase 1, T1.4: more\n");
    fs::write(&plan, &more).unwrap();
    owned.tick_tasks(&context, &done("T1.3")).unwrap();
    assert!(owned.reread_plan(&context).unwrap());
    assert!(owned.run().find_node("T1.4").is_some());
    assert!(!owned.reread_plan(&context).unwrap());

    fs::remove_file(&plan).unwrap();
    assert!(!owned.reread_plan(&context).unwrap());
    assert!(owned.plan().is_none());
    assert!(owned.run().find_node("T1.4").is_some());
}
