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
use bowline_machines::job::{Command, DraftChanges, Job, JobKind, JobMachine};
use bowline_store::{
    CommitOutcome, JobAttributes, JobChange, MemoryStore, NewEffect, NewEvent, SqliteStore, Store,
    StoreStep,
};
use serde_json::json;

const NOON: Timestamp = Timestamp(1_700_000_000);

/// Each store, empty.
fn every_store(check: impl Fn(&dyn Store)) {
    check(&MemoryStore::new());
    let folder = tempfile::tempdir().unwrap();
    check(&SqliteStore::open(&folder.path().join("store.db")).unwrap());
}

fn draft(title: &str) -> Job {
    let edit = Command::Edit(DraftChanges {
        title: Some(title.into()),
        description: Some("for the shop".into()),
        kind: Some(JobKind::with_reviewed_phases(["Planning", "Design"])),
        ..DraftChanges::default()
    });
    JobMachine::step(&Job::draft(), edit, NOON).unwrap().next
}

fn submitted(job: &Job) -> Job {
    JobMachine::step(job, Command::Submit, NOON).unwrap().next
}

fn about(created_at: i64) -> JobAttributes {
    JobAttributes {
        type_name: Some("create_app".into()),
        created_at,
        ..JobAttributes::default()
    }
}

fn create(id: &str, title: &str) -> StoreStep {
    let mut step = StoreStep::empty_at(NOON);
    let change = JobChange::replace_state(id, 0, draft(title), about(NOON.0));
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
fn apply(store: &dyn Store, step: StoreStep) -> CommitOutcome {
    let outcome = store.commit_steps(vec![step]).unwrap().remove(0);
    assert!(
        matches!(outcome, CommitOutcome::Applied { .. }),
        "{outcome:?}"
    );
    outcome
}
