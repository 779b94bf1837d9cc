//! What a store writes, written down and written again without it: the floor of a durable transition.

use crate::Outcome;
use bowline_machines::Timestamp;
use bowline_machines::job::TaskStatus;
use bowline_store::{
    CommitOutcome as Applied, DeliveryRow, EffectRow, EventQuery, EventRow, JobChange, JobQuery,
    JobRecord, JobRow, NextJobState, PrunedCounts, RecordQuery, RetentionLimits, SpendQuery,
    SpendRow, SqliteStore, Store, StoreError, StoreStep, TimerChange, TimerRow,
};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, TransactionBehavior, params_from_iter};
use serde_json::Value;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The store, which keeps what it was given to write, commit by commit.
#[derive(Debug)]
pub(crate) struct Recording {
    store: SqliteStore,
    commits: Mutex<Vec<Vec<StoreStep>>>,
}

impl Recording {
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        Ok(Recording {
            store: SqliteStore::open(path)?,
            commits: Mutex::default(),
        })
    }

    pub(crate) fn take(&self) -> Vec<Vec<StoreStep>> {
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *commits)
    }
}

impl Store for Recording {
    fn commit_steps(&self, steps: Vec<StoreStep>) -> Result<Vec<Applied>, StoreError> {
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        commits.push(steps.clone());
        self.store.commit_steps(steps)
    }
    fn prune_rows(&self, kept: &RetentionLimits) -> Result<PrunedCounts, StoreError> {
        self.store.prune_rows(kept)
    }
    fn write_backup(&self, to: &Path) -> Result<(), StoreError> {
        self.store.write_backup(to)
    }
    fn find_job(&self, id: &str) -> Result<Option<JobRow>, StoreError> {
        self.store.find_job(id)
    }
    fn list_jobs(&self, wanted: &JobQuery) -> Result<Vec<JobRow>, StoreError> {
        self.store.list_jobs(wanted)
    }
    fn open_jobs(&self) -> Result<Vec<JobRow>, StoreError> {
        self.store.open_jobs()
    }
    fn count_by_status(&self) -> Result<Vec<(TaskStatus, u64)>, StoreError> {
        self.store.count_by_status()
    }
    fn dependents_of(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.store.dependents_of(id)
    }
    fn find_record(&self, id: &str) -> Result<Option<JobRecord>, StoreError> {
        self.store.find_record(id)
    }
    fn list_records(&self, wanted: &RecordQuery) -> Result<Vec<JobRecord>, StoreError> {
        self.store.list_records(wanted)
    }
    fn list_events(&self, wanted: &EventQuery) -> Result<Vec<EventRow>, StoreError> {
        self.store.list_events(wanted)
    }
    fn feed_range(&self) -> Result<(u64, u64), StoreError> {
        self.store.feed_range()
    }
    fn open_effects(&self) -> Result<Vec<EffectRow>, StoreError> {
        self.store.open_effects()
    }
    fn deliveries_of(&self, job: &str) -> Result<Vec<DeliveryRow>, StoreError> {
        self.store.deliveries_of(job)
    }
    fn list_timers(&self) -> Result<Vec<TimerRow>, StoreError> {
        self.store.list_timers()
    }
    fn list_spend(&self, wanted: &SpendQuery) -> Result<Vec<SpendRow>, StoreError> {
        self.store.list_spend(wanted)
    }
    fn stored_response(&self, id: &str) -> Result<Option<Value>, StoreError> {
        self.store.stored_response(id)
    }
}

/// A statement with everything it writes.
pub(crate) type Row = (&'static str, Vec<Cell>);

/// The rows of a step, spelled beforehand. What is looked at before writing is not among them.
pub(crate) fn rows(step: &StoreStep) -> Vec<Row> {
    step.changes
        .iter()
        .flat_map(|change| of_change(change, step.at))
        .collect()
}

fn of_change(change: &JobChange, at: Timestamp) -> Vec<Row> {
    let text = |text: &str| Cell::from(text.to_owned());
    let json = |value: &Value| Cell::from(value.to_string());
    let number = |number: u64| Cell::from(i64::try_from(number).unwrap_or(i64::MAX));
    let mut rows = Vec::new();
    if let NextJobState::Is(job, about) = &change.next {
        let about_text = serde_json::to_string(about).unwrap_or_default();
        let named = |name: &Option<String>| name.clone().map_or(Cell::Null, Cell::from);
        rows.push((
            "INSERT INTO job (id, version, status, type_name, label, archived, created_at, title, description, state, about)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (id) DO UPDATE SET version = ?2, status = ?3, type_name = ?4, label = ?5, archived = ?6,
                created_at = ?7, title = ?8, description = ?9, state = ?10, about = ?11",
            vec![
                text(&change.job),
                number(change.expected + 1),
                text(job.task_status().name()),
                named(&about.type_name),
                named(&about.label),
                Cell::from(job.archived),
                Cell::from(about.created_at),
                text(&job.title),
                text(&job.description),
                Cell::from(serde_json::to_string(job).unwrap_or_default()),
                Cell::from(about_text),
            ],
        ));
    }
    for event in &change.events {
        rows.push((
            "INSERT INTO event (job, at, kind, body) VALUES (?1, ?2, ?3, ?4)",
            vec![
                text(&change.job),
                Cell::from(at.0),
                text(event.kind.name()),
                json(&event.body),
            ],
        ));
    }
    for effect in &change.effects {
        rows.push((
            "INSERT INTO effect (job, kind, body, at, due, tries, open) VALUES (?1, ?2, ?3, ?4, ?5, 0, 1)",
            vec![
                text(&change.job),
                text(&effect.kind),
                json(&effect.body),
                Cell::from(at.0),
                Cell::from(effect.due.0),
            ],
        ));
    }
    for timer in &change.timers {
        if let TimerChange::Set { key, due, body } = timer {
            rows.push((
                "INSERT OR REPLACE INTO timer (job, key, generation, due, body) VALUES (?1, ?2, ?3, ?4, ?5)",
                vec![
                    text(&change.job),
                    text(key),
                    number(change.expected + 1),
                    Cell::from(due.0),
                    json(body),
                ],
            ));
        }
    }
    rows
}

/// The same tables and settings, without the store.
pub(crate) fn connect(path: &Path) -> Outcome<Connection> {
    // It makes the tables, and lets go of them.
    drop(SqliteStore::open(path)?);
    let db = Connection::open(path)?;
    db.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = full; PRAGMA foreign_keys = on",
    )?;
    Ok(db)
}

/// One commit of these rows.
pub(crate) fn commit(db: &mut Connection, rows: &[Row]) -> Outcome {
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (sql, cells) in rows {
        change
            .prepare_cached(sql)?
            .execute(params_from_iter(cells))?;
    }
    Ok(change.commit()?)
}
