//! Operations on real files.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests play the part of other programs, and a test that cannot unwrap has failed"
)]

mod damage;
mod gates;
mod guarded;
mod memory;
mod outside;
mod steps;
mod travel;
mod under_the_lock;

use bowline_engine::Context;
use bowline_engine::clock::Clock;
use bowline_engine::machines::Actor;
use bowline_engine::machines::thinking::Stage;
use bowline_engine::operations::thinking::ThinkingRun;
use std::path::{Path, PathBuf};
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
        here: "/".into(),
        variables: bowline_engine::context::Variables::default(),
        seen: bowline_engine::context::Seen::default(),
    }
}

/// A thinking run with planning in progress and two outputs: three transitions.
fn begun(folder: &Path) -> ThinkingRun {
    let run = ThinkingRun::at(&context(), folder);
    run.create(&context(), "essay-1", "에세이", "읽히는 글")
        .unwrap();
    run.start(&context(), Stage::Planning, None).unwrap();
    run.output(&context(), Stage::Planning, &["a.md".into(), "b.md".into()])
        .unwrap();
    run
}

fn state_file(folder: &Path) -> PathBuf {
    folder.join("thinking_state.json")
}
