//! One suite for every store, and random runs of the same steps on all of them.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

mod conformance;
mod differential;
mod file;
mod recorded;
mod sealed;

use bowline_machines::Machine as _;
use bowline_machines::Timestamp;
use bowline_machines::job::{Command, Edit, Job, JobMachine, Kind};
use bowline_store::{About, Advance, Change, Memory, NewEffect, NewEvent, Outcome, Sqlite, Store};
use serde_json::json;

const NOON: Timestamp = Timestamp(1_700_000_000);

/// Each store, empty.
fn every_store(check: impl Fn(&dyn Store)) {
    check(&Memory::new());
    let folder = tempfile::tempdir().unwrap();
    check(&Sqlite::open(&folder.path().join("store.db")).unwrap());
}

fn draft(title: &str) -> Job {
    let edit = Command::Edit(Edit {
        title: Some(title.into()),
        description: Some("for the shop".into()),
        kind: Some(Kind::reviewed(["Planning", "Design"])),
        ..Edit::default()
    });
    JobMachine::step(&Job::draft(), edit, NOON).unwrap().next
}

fn submitted(job: &Job) -> Job {
    JobMachine::step(job, Command::Submit, NOON).unwrap().next
}

fn about(created_at: i64) -> About {
    About {
        type_name: Some("create_app".into()),
        created_at,
        ..About::default()
    }
}

fn create(id: &str, title: &str) -> Advance {
    let mut step = Advance::at(NOON);
    let change = Change::to(id, 0, draft(title), about(NOON.0));
    step.changes.push(change);
    step
}

fn event(text: &str) -> NewEvent {
    NewEvent {
        kind: bowline_store::EventKind::Transition,
        body: json!({ "text": text }),
    }
}

fn effect(kind: &str) -> NewEffect {
    NewEffect {
        kind: kind.into(),
        body: json!({ "do": kind }),
        due: NOON,
    }
}

/// One step that must be applied.
fn apply(store: &dyn Store, step: Advance) -> Outcome {
    let outcome = store.advance(vec![step]).unwrap().remove(0);
    assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
    outcome
}
