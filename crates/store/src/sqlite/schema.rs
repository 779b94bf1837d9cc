//! The tables, and how an older store becomes a newer one.

use crate::StoreError;
use rusqlite::{Connection, TransactionBehavior};

/// One entry per version, in order. An entry that was published never changes.
const MIGRATIONS: [&str; 3] = [
    "
CREATE TABLE job (
    id TEXT PRIMARY KEY NOT NULL,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    type_name TEXT,
    label TEXT,
    archived INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    state TEXT NOT NULL,
    about TEXT NOT NULL
) STRICT;
CREATE INDEX job_created ON job (created_at, id);
CREATE INDEX job_status ON job (status, created_at, id);
CREATE TABLE needs (
    job TEXT NOT NULL,
    on_job TEXT NOT NULL,
    PRIMARY KEY (on_job, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX needs_job ON needs (job);
CREATE TABLE record (
    id TEXT PRIMARY KEY NOT NULL,
    job TEXT NOT NULL,
    kind TEXT NOT NULL,
    open INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX record_job ON record (job, kind, at);
CREATE INDEX record_open ON record (kind, at) WHERE open = 1;
CREATE TABLE event (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX event_job ON event (job, sequence);
CREATE TABLE effect (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    job TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    due INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    open INTEGER NOT NULL
) STRICT;
CREATE INDEX effect_open ON effect (id) WHERE open = 1;
CREATE INDEX effect_job ON effect (job);
CREATE TABLE delivery (
    effect INTEGER NOT NULL,
    job TEXT NOT NULL,
    try_number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (effect, try_number)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_job ON delivery (job);
CREATE TABLE timer (
    job TEXT NOT NULL,
    key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    due INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (job, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE request (
    id TEXT PRIMARY KEY NOT NULL,
    at INTEGER NOT NULL,
    print TEXT NOT NULL,
    answer TEXT NOT NULL
) STRICT, WITHOUT ROWID;
",
    "
CREATE TABLE spend (
    day INTEGER NOT NULL,
    job TEXT NOT NULL,
    agent TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    usd REAL NOT NULL,
    PRIMARY KEY (day, job, agent)
) STRICT, WITHOUT ROWID;
CREATE INDEX spend_job ON spend (job);
",
    "
CREATE TABLE feed (floor INTEGER NOT NULL) STRICT;
INSERT INTO feed VALUES (0);
CREATE INDEX request_at ON request (at);
",
];

/// The version that this program writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Brings a store to [`VERSION`], step by step, each whole or not at all.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let found: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(StoreError::failed)?;
    if found > VERSION {
        let known = VERSION;
        return Err(StoreError::Newer { found, known });
    }
    let done = usize::try_from(found).unwrap_or(0);
    for (index, sql) in MIGRATIONS.iter().enumerate().skip(done) {
        let mut step = || -> rusqlite::Result<()> {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            change.execute_batch(sql)?;
            change.execute_batch(&format!("PRAGMA user_version = {}", index + 1))?;
            change.commit()
        };
        step().map_err(StoreError::failed)?;
    }
    Ok(())
}
