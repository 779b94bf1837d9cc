//! Operations on real files.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests play the part of other programs, and a test that cannot unwrap has failed"
)]

mod damage;
mod gates;
mod guarded;
mod lookback;
mod memory;
mod outside;
mod steps;
mod travel;
mod under_the_lock;

use bowline_engine::clock::Clock;
use bowline_engine::doctor::{self, Diagnosis};
use bowline_engine::files::{ChangeOutcome, FileNotice, FileView, KnownFile};
use bowline_engine::history::{self, RestoreOptions};
use bowline_engine::kinds::FileKind;
use bowline_engine::machines::Actor;
use bowline_engine::machines::thinking::{ThinkingRunState, ThinkingStage};
use bowline_engine::operations::thinking::ThinkingRun;
use bowline_engine::{Context, Error};
use bowline_test_support::{DiskFault, FaultyDisk};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A person's context at a fixed time.
fn context() -> Context {
    Context {
        clock: Clock::Fixed("2026-02-03T04:05:06Z".parse().unwrap()),
        actor: Some(Actor::Person),
        lock_wait: Duration::from_secs(5),
        dry_run: false,
        what: "test".into(),
        disk: std::sync::Arc::new(bowline_engine::statefiles::RealDisk),
        evidence_key: None,
        unsandboxed_signing: false,
        here: "/".into(),
        variables: bowline_engine::context::EnvVars::default(),
        lang: bowline_words::Lang::En,
        seen: bowline_engine::context::ExpectedVersion::default(),
    }
}

/// A thinking run with planning in progress and two outputs: three transitions.
struct Essay {
    folder: tempfile::TempDir,
    run: ThinkingRun,
}

impl Essay {
    fn begun() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let run = ThinkingRun::in_folder(&context(), folder.path());
        run.create_run(&context(), "essay-1", "에세이", "읽히는 글")
            .unwrap();
        run.start_stage(&context(), ThinkingStage::Planning, None)
            .unwrap();
        run.record_outputs(
            &context(),
            ThinkingStage::Planning,
            &["a.md".into(), "b.md".into()],
        )
        .unwrap();
        Essay { folder, run }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn path(&self) -> PathBuf {
        state_file(self.folder())
    }

    fn file(&self) -> &KnownFile {
        self.run.file()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// Writes the state file as another program does.
    fn write(&self, text: impl AsRef<[u8]>) {
        fs::write(self.path(), text).unwrap();
    }

    /// Makes the two outputs, so that planning can be completed.
    fn write_outputs(&self) {
        for name in ["a.md", "b.md"] {
            fs::write(self.folder().join(name), "x").unwrap();
        }
    }

    fn output(&self, name: &str) -> ChangeOutcome<ThinkingRunState> {
        output(&context(), self.folder(), name)
    }

    fn outputs(&self) -> Vec<String> {
        outputs(&serde_json::from_str(&self.text()).unwrap())
    }

    fn view(&self) -> FileView {
        self.file().read_view(&context()).unwrap()
    }

    fn repair(&self) -> Diagnosis {
        doctor::repair_file(&context(), self.file()).unwrap()
    }

    fn undo(&self) -> Result<ChangeOutcome<u64>, Error> {
        history::undo_transition(&context(), self.file(), RestoreOptions::default())
    }

    fn restore(&self, sequence: u64) -> Result<ChangeOutcome, Error> {
        history::restore_version(&context(), self.file(), sequence, RestoreOptions::default())
    }
}

/// Records one more output of planning.
fn output(context: &Context, folder: &Path, name: &str) -> ChangeOutcome<ThinkingRunState> {
    ThinkingRun::in_folder(context, folder)
        .record_outputs(context, ThinkingStage::Planning, &[name.into()])
        .unwrap()
}

/// The recorded outputs of planning, sorted: a repair adds at the end what was lost in the middle.
fn outputs(document: &Value) -> Vec<String> {
    let list = document["stages"]["planning"]["outputs"].clone();
    let mut outputs: Vec<String> = serde_json::from_value(list).unwrap();
    outputs.sort();
    outputs
}

fn state_file(folder: &Path) -> PathBuf {
    folder.join("thinking_state.json")
}

/// A file of an orchestration that a program left torn.
fn torn_orchestration(folder: &Path) -> KnownFile {
    fs::create_dir(folder.join(".claude")).unwrap();
    let path = folder.join(".claude/orchestrate-state.json");
    fs::write(&path, b"{ torn").unwrap();
    KnownFile::new(&context(), FileKind::Orchestrate, &path)
}

fn codes(notices: &[FileNotice]) -> Vec<&'static str> {
    notices.iter().map(FileNotice::code).collect()
}

/// A context in which `act` is done right before each call of `operation`, with the number of those before it.
fn meddled(operation: &'static str, act: impl Fn(usize) + Send + Sync + 'static) -> Context {
    let calls = AtomicUsize::new(0);
    let disk = FaultyDisk::new(0, DiskFault::Io, false).with_hook(move |name| {
        if name == operation {
            act(calls.fetch_add(1, Ordering::SeqCst));
        }
    });
    Context {
        disk: Arc::new(disk),
        ..context()
    }
}

/// A context in which `act` is done once, right before a lock is given its name.
fn with_somebody_quicker(act: impl Fn() + Send + Sync + 'static) -> Context {
    meddled("publish", move |before| {
        if before == 0 {
            act();
        }
    })
}
