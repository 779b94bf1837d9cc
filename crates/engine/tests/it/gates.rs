//! Passing a gate while the disk fails or the process is killed, at every single operation.
//!
//! Each part runs in a process of its own: a develop run keeps its journal below `$XDG_STATE_HOME`, which belongs to a
//! whole process.

use crate::{context, with_somebody_quicker};
use bowline_engine::develop::evidence::CommandObserver;
use bowline_engine::machines::develop::{DevelopPhase, Gate};
use bowline_engine::operations::develop::{DevelopRun, GateProof, PassOutcome};
use bowline_engine::statefiles::{Disk, FileSituation, StateFile};
use bowline_engine::{Context, Error};
use bowline_test_support::{DiskFault, FaultyDisk};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

const PART: &str = "ENGINE_TEST_PART";
/// Says that passing the gate was acknowledged.
const ACKNOWLEDGED: &str = "acknowledged";
const GATE: Gate = Gate::ReviewCleanPass;

/// A place that no flush has to wait for.
fn place() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

fn child(folder: &Path, part: &str) -> ExitStatus {
    let entry = "gates::entry";
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            entry,
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .env_remove("BOWLINE_WORKSPACE")
        .env(PART, part)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap()
}

#[test]
#[ignore = "the entry point of child processes"]
fn entry() {
    let part = std::env::var(PART).unwrap();
    let folder = std::env::current_dir().unwrap();
    let words: Vec<&str> = part.split('|').collect();
    match words.as_slice() {
        ["prepare", command] => prepare(&folder.join("project"), command),
        ["kill", at] => {
            let disk = FaultyDisk::new(at.parse().unwrap(), DiskFault::Kill, false);
            let done = pass(&folder.join("project"), Arc::new(disk));
            let word = done.map_or_else(|error| error.code().to_owned(), |_| "passed".to_owned());
            std::fs::write(folder.join(ACKNOWLEDGED), word).unwrap();
        }
        ["check", command, acknowledged] => {
            let passed = Some(*acknowledged == "passed");
            check(&folder.join("project"), *command == "true", passed, &part);
        }
        ["fail everywhere", command] => fail_everywhere(&folder, command),
        ["another run"] => another_run(&folder.join("project")),
        other => panic!("no such part: {other:?}"),
    }
}

#[test]
fn a_transition_is_never_noted_under_another_run() {
    let place = place();
    assert!(child(place.path(), "prepare|true").success());
    assert!(child(place.path(), "another run").success());
}

/// The run is thrown away and another begun while a command about the first waits for the lock.
fn another_run(project: &Path) {
    let path = project.to_owned();
    let quicker = with_somebody_quicker(move || {
        let run = DevelopRun::in_folder(&context(), &path);
        run.discard_run(&context()).unwrap();
        run.start_run(&context(), "two", false).unwrap();
        run.enter_review(&context(), &[], None).unwrap();
    });
    let refused = DevelopRun::in_folder(&quicker, project).go_back(&quicker, DevelopPhase::Design);
    assert!(matches!(refused, Err(Error::RunChanged)), "{refused:?}");
    let left = DevelopRun::in_folder(&context(), project).read_run(&context());
    assert_eq!(left.unwrap().unwrap().phase, DevelopPhase::Review);
}

/// A run in REVIEW whose gate opens by a command.
fn prepare(project: &Path, command: &str) {
    std::fs::create_dir_all(project).unwrap();
    let policy = format!("[develop.gates.{}]\nrun = \"{command}\"\n", GATE.name());
    std::fs::write(project.join("bowline.toml"), policy).unwrap();
    let run = DevelopRun::in_folder(&context(), project);
    run.start_run(&context(), "Ferry times", false).unwrap();
    run.enter_review(&context(), &["cp-1".into()], None)
        .unwrap();
}

fn pass(project: &Path, disk: Arc<dyn Disk>) -> Result<PassOutcome, Error> {
    let context = Context { disk, ..context() };
    let nobody: &dyn CommandObserver = &();
    DevelopRun::in_folder(&context, project).gate_pass(&context, GATE, GateProof::default(), nobody)
}

/// After an interruption: an open gate has green evidence, an acknowledged one is open, and the next command works.
fn check(project: &Path, green: bool, acknowledged: Option<bool>, what: &str) {
    let context = context();
    let run = DevelopRun::in_folder(&context, project);
    let now = run.read_run(&context).unwrap().unwrap();
    let open = now.gates.is_open(GATE);
    assert!(!open || green, "{what}: a red command opened the gate");
    assert!(
        open || acknowledged != Some(true),
        "{what}: it was acknowledged"
    );
    if open {
        let verified = run.verify_evidence(&context, None).unwrap();
        assert_eq!(verified.len(), 1, "{what}");
        assert_eq!(verified[0].evidence.exit_code, 0, "{what}");
    }
    let again = run.gate_pass(&context, GATE, GateProof::default(), &());
    match (open, green) {
        (true, _) => assert_eq!(again.unwrap_err().code(), "gate_already_open", "{what}"),
        (false, true) => assert!(again.is_ok(), "{what}: {:?}", again.err()),
        (false, false) => assert_eq!(again.unwrap_err().code(), "evidence_red", "{what}"),
    }
    run.gate_reset(&context, GATE).unwrap();
    let state = StateFile::new(layout(project));
    assert_eq!(
        state.load().unwrap().situation,
        FileSituation::Clean,
        "{what}"
    );
}

fn layout(project: &Path) -> bowline_engine::statefiles::FileLayout {
    let side = std::fs::read_dir(project.parent().unwrap().join("state/bowline/develop"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|side| journal_is_of(side, project))
        .unwrap();
    let file = project.join(".develop-workflow/state.json");
    bowline_engine::statefiles::FileLayout::new(file).with_side_folder(side)
}

fn journal_is_of(side: &Path, project: &Path) -> bool {
    let journal = std::fs::read_to_string(side.join("state.json.journal.jsonl"));
    let project = project.display().to_string();
    journal.is_ok_and(|text| text.contains(&format!("{project}/")))
}

/// The n-th operation fails, once or from then on, for every n until none fails.
fn fail_everywhere(folder: &Path, command: &str) {
    for lasting in [false, true] {
        for fault in [DiskFault::Io, DiskFault::Full] {
            for at in 1.. {
                let project: PathBuf = folder.join(format!("{fault:?}-{lasting}-{at}"));
                prepare(&project, command);
                let disk = Arc::new(FaultyDisk::new(at, fault, lasting));
                let done = pass(&project, disk.clone());
                let what = format!(
                    "operation {at} ({:?}) {fault:?}, lasting {lasting}: {:?}",
                    disk.failed_operation(),
                    done.as_ref().err()
                );
                let hit = disk.failed_operation().is_some();
                assert!(hit || done.is_ok() == (command == "true"), "{what}");
                check(&project, command == "true", Some(done.is_ok()), &what);
                std::fs::remove_dir_all(&project).unwrap();
                if !hit {
                    assert!(at > 10, "only {at} operations");
                    break;
                }
            }
        }
    }
}

fn kill_everywhere(command: &str) {
    for at in 1.. {
        let place = place();
        assert!(child(place.path(), &format!("prepare|{command}")).success());
        let status = child(place.path(), &format!("kill|{at}"));
        let killed = status.signal() == Some(9);
        assert!(killed || status.success(), "killed at {at}: {status}");
        let acknowledged = std::fs::read_to_string(place.path().join(ACKNOWLEDGED)).ok();
        let word = acknowledged.clone().unwrap_or_default();
        let checked = child(place.path(), &format!("check|{command}|{word}"));
        assert!(
            checked.success(),
            "killed at operation {at}, acknowledged: {acknowledged:?}"
        );
        if !killed {
            let wanted = if command == "true" {
                "passed"
            } else {
                "evidence_red"
            };
            assert_eq!(acknowledged.as_deref(), Some(wanted));
            assert!(at > 10, "only {at} operations");
            return;
        }
        assert_eq!(acknowledged, None, "killed at operation {at}");
    }
}

#[test]
fn a_disk_that_fails_anywhere_opens_no_gate_and_closes_none() {
    for command in ["true", "false"] {
        let place = place();
        let status = child(place.path(), &format!("fail everywhere|{command}"));
        assert!(status.success(), "{command}: {status}");
    }
}

#[test]
fn killed_anywhere_while_a_gate_is_passed() {
    kill_everywhere("true");
}

#[test]
fn killed_anywhere_while_a_gate_stays_closed() {
    kill_everywhere("false");
}
