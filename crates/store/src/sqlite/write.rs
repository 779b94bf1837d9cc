//! Writing: a group of steps in one transaction, each looked at before anything of it is written.

use crate::advance::{
    CommitOutcome, EffectResult, JobChange, NextJobState, SettledEffect, StoreStep, TimerChange,
};
use crate::rows::{EffectRow, EventRow, NO_JOB};
use crate::{PrunedCounts, RetentionLimits, StoreError, day_of};
use bowline_machines::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

type SqlResult<T> = rusqlite::Result<T>;

/// A step, and the texts of its rows: spelled by whoever hands it over, since the thread that
/// writes has the most to do.
pub(super) struct EncodedStep {
    step: StoreStep,
    texts: Vec<EncodedRows>,
}

/// Of one change, each list in its order.
struct EncodedRows {
    state: String,
    about: String,
    events: Vec<String>,
    effects: Vec<String>,
    records: Vec<String>,
}

impl From<StoreStep> for EncodedStep {
    fn from(step: StoreStep) -> Self {
        let texts = step.changes.iter().map(|change| {
            let (state, about) = match &change.next {
                NextJobState::Is(job, about) => (encode_json(job), encode_json(about)),
                NextJobState::Same | NextJobState::Gone => (String::new(), String::new()),
            };
            let events = change.events.iter().map(|it| it.body.to_string());
            let effects = change.effects.iter().map(|it| it.body.to_string());
            let records = change.records.iter().map(|it| encode_json(&it.body));
            EncodedRows {
                state,
                about,
                events: events.collect(),
                effects: effects.collect(),
                records: records.collect(),
            }
        });
        EncodedStep {
            texts: texts.collect(),
            step,
        }
    }
}

/// Strings, numbers and lists of them: they always have a spelling.
fn encode_json(it: &impl serde::Serialize) -> String {
    serde_json::to_string(it).unwrap_or_default()
}

/// Applies the steps of all callers and commits once. An error rolls everything back.
pub(super) fn commit_group(
    connection: &mut Connection,
    callers: Vec<Vec<EncodedStep>>,
) -> Result<Vec<Vec<CommitOutcome>>, StoreError> {
    let apply_all = || -> SqlResult<Vec<Vec<CommitOutcome>>> {
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut outcomes = Vec::with_capacity(callers.len());
        for steps in callers {
            let steps = steps.into_iter();
            let of_one: SqlResult<Vec<CommitOutcome>> =
                steps.map(|step| apply_step(&change, step)).collect();
            outcomes.push(of_one?);
        }
        change.commit()?;
        Ok(outcomes)
    };
    apply_all().map_err(StoreError::failed)
}

/// A number of ours as SQLite has it. None of them comes near the end of either.
fn to_sql_integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn from_sql_integer(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn apply_step(
    db: &Transaction<'_>,
    EncodedStep { step, texts }: EncodedStep,
) -> SqlResult<CommitOutcome> {
    if let Some(request) = &step.request {
        let known: Option<(String, String)> = db
            .prepare_cached("SELECT print, answer FROM request WHERE id = ?1")?
            .query_row([&request.id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((print, answer)) = known {
            return Ok(match print == request.print {
                true => CommitOutcome::AlreadyApplied {
                    answer: serde_json::from_str(&answer).unwrap_or_default(),
                },
                false => CommitOutcome::RequestReused,
            });
        }
    }
    // A job that moves alone is looked at by the statement that moves it; of several, each is
    // looked at before any moves.
    let alone = matches!(
        step.changes.as_slice(),
        [JobChange { next: NextJobState::Is(..), timers, .. }] if !timers.iter().any(is_fired)
    );
    if !alone {
        for change in &step.changes {
            let version = job_version(db, &change.job)?;
            if version != change.expected || !are_fired_timers_current(db, change)? {
                let job = change.job.clone();
                return Ok(CommitOutcome::Conflict { job, version });
            }
        }
    }
    let (mut events, mut effects) = (Vec::new(), Vec::new());
    for (change, texts) in step.changes.into_iter().zip(texts) {
        let Some(version_now) = write_job(db, &change, &texts)? else {
            if !alone {
                // A step moves a job once.
                return Err(rusqlite::Error::StatementChangedRows(0));
            }
            let version = job_version(db, &change.job)?;
            let job = change.job;
            return Ok(CommitOutcome::Conflict { job, version });
        };
        let (rows, at) = ((&mut events, &mut effects), step.at);
        write_rows(db, change, &texts, version_now, at, rows)?;
    }
    for settled in &step.settled {
        settle_effect(db, settled, step.at)?;
    }
    if let Some(request) = &step.request {
        let answer = request.answer.to_string();
        db.prepare_cached("INSERT INTO request (id, at, print, answer) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![request.id, step.at.0, request.print, answer])?;
    }
    Ok(CommitOutcome::Applied { events, effects })
}

/// Where a job is; 0 when it does not exist.
fn job_version(db: &Transaction<'_>, job: &str) -> SqlResult<u64> {
    let version: Option<i64> = db
        .prepare_cached("SELECT version FROM job WHERE id = ?1")?
        .query_row([job], |row| row.get(0))
        .optional()?;
    Ok(from_sql_integer(version.unwrap_or(0)))
}

fn is_fired(timer: &TimerChange) -> bool {
    matches!(timer, TimerChange::Fired { .. })
}

fn are_fired_timers_current(db: &Transaction<'_>, change: &JobChange) -> SqlResult<bool> {
    for timer in &change.timers {
        let TimerChange::Fired { key, generation } = timer else {
            continue;
        };
        let found: Option<i64> = db
            .prepare_cached("SELECT generation FROM timer WHERE job = ?1 AND key = ?2")?
            .query_row(params![change.job, key], |row| row.get(0))
            .optional()?;
        if found.map(from_sql_integer) != Some(*generation) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn write_rows(
    db: &Transaction<'_>,
    change: JobChange,
    texts: &EncodedRows,
    version: u64,
    at: Timestamp,
    (events, effects): (&mut Vec<EventRow>, &mut Vec<EffectRow>),
) -> SqlResult<()> {
    for (event, body) in change.events.into_iter().zip(&texts.events) {
        let sql = "INSERT INTO event (job, at, kind, body) VALUES (?1, ?2, ?3, ?4)";
        db.prepare_cached(sql)?
            .execute(params![change.job, at.0, event.kind.name(), body])?;
        events.push(EventRow {
            sequence: from_sql_integer(db.last_insert_rowid()),
            job: change.job.clone(),
            at,
            kind: event.kind,
            body: event.body,
        });
    }
    for (effect, body) in change.effects.into_iter().zip(&texts.effects) {
        let sql = "INSERT INTO effect (job, kind, body, at, due, tries, open)
            VALUES (?1, ?2, ?3, ?4, ?5, 0, 1)";
        db.prepare_cached(sql)?.execute(params![
            change.job,
            effect.kind,
            body,
            at.0,
            effect.due.0
        ])?;
        effects.push(EffectRow {
            id: from_sql_integer(db.last_insert_rowid()),
            job: change.job.clone(),
            kind: effect.kind,
            body: effect.body,
            at,
            due: effect.due,
            tries: 0,
        });
    }
    for (record, body) in change.records.iter().zip(&texts.records) {
        let sql = "INSERT OR REPLACE INTO record (id, job, kind, open, at, body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let kind = record.body.kind().name();
        db.prepare_cached(sql)?.execute(params![
            record.id,
            record.job,
            kind,
            record.open,
            record.at.0,
            body
        ])?;
    }
    if let Some(spent) = &change.spent {
        let sql = "INSERT INTO spend (day, job, agent, tokens, usd) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT DO UPDATE SET tokens = tokens + ?4, usd = usd + ?5";
        let day = day_of(at);
        db.prepare_cached(sql)?.execute(params![
            day,
            change.job,
            spent.agent,
            to_sql_integer(spent.tokens),
            spent.usd
        ])?;
    }
    for timer in &change.timers {
        match timer {
            TimerChange::Set { key, due, body } => {
                let sql = "INSERT OR REPLACE INTO timer (job, key, generation, due, body)
                    VALUES (?1, ?2, ?3, ?4, ?5)";
                let body = body.to_string();
                db.prepare_cached(sql)?.execute(params![
                    change.job,
                    key,
                    to_sql_integer(version),
                    due.0,
                    body
                ])?;
            }
            TimerChange::Clear { key } | TimerChange::Fired { key, .. } => {
                db.prepare_cached("DELETE FROM timer WHERE job = ?1 AND key = ?2")?
                    .execute(params![change.job, key])?;
            }
        }
    }
    Ok(())
}

/// As it is found: nothing that an index is made of changes, and none is touched. Most changes are
/// of this sort.
const IN_PLACE: &str =
    "UPDATE job SET version = ?2, type_name = ?4, label = ?5, archived = ?6, title = ?8,
        description = ?9, state = ?10, about = ?11
    WHERE id = ?1 AND version = ?2 - 1 AND status = ?3 AND created_at = ?7";
const MOVED: &str =
    "UPDATE job SET version = ?2, status = ?3, type_name = ?4, label = ?5, archived = ?6,
        created_at = ?7, title = ?8, description = ?9, state = ?10, about = ?11
    WHERE id = ?1 AND version = ?2 - 1";
const NEW: &str =
    "INSERT INTO job (id, version, status, type_name, label, archived, created_at, title,
        description, state, about)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (id) DO NOTHING";

/// The job itself; says which version it is at now. Nothing where it is not at the version that was
/// decided on.
fn write_job(
    db: &Transaction<'_>,
    change: &JobChange,
    texts: &EncodedRows,
) -> SqlResult<Option<u64>> {
    match &change.next {
        NextJobState::Same => Ok(Some(change.expected)),
        NextJobState::Gone => {
            for table in ["record", "timer", "effect", "delivery", "needs"] {
                let sql = format!("DELETE FROM {table} WHERE job = ?1");
                db.prepare_cached(&sql)?.execute([&change.job])?;
            }
            let sql = "DELETE FROM event WHERE job = ?1 AND sequence <= (SELECT floor FROM feed)";
            db.prepare_cached(sql)?.execute([&change.job])?;
            db.prepare_cached("DELETE FROM job WHERE id = ?1")?
                .execute([&change.job])?;
            Ok(Some(change.expected))
        }
        NextJobState::Is(job, about) => {
            let version = change.expected + 1;
            let is_new = change.expected == 0;
            let put = |sql: &str| -> SqlResult<bool> {
                let put = db.prepare_cached(sql)?.execute(params![
                    change.job,
                    to_sql_integer(version),
                    job.task_status().name(),
                    about.type_name,
                    about.label,
                    job.archived,
                    about.created_at,
                    job.title,
                    job.description,
                    texts.state,
                    texts.about
                ])?;
                Ok(put > 0)
            };
            let done = match is_new {
                true => put(NEW)?,
                false => put(IN_PLACE)? || put(MOVED)?,
            };
            if !done {
                return Ok(None);
            }
            // What a job waits for changes only while it is written or waits.
            if job.attempt == 0 {
                if !is_new {
                    db.prepare_cached("DELETE FROM needs WHERE job = ?1")?
                        .execute([&change.job])?;
                }
                for needed in &job.depends_on {
                    db.prepare_cached("INSERT OR IGNORE INTO needs (job, on_job) VALUES (?1, ?2)")?
                        .execute([&change.job, needed])?;
                }
            }
            Ok(Some(version))
        }
    }
}

fn settle_effect(db: &Transaction<'_>, settled: &SettledEffect, at: Timestamp) -> SqlResult<()> {
    let (open, due, note) = match &settled.end {
        EffectResult::Done => (false, None, None),
        EffectResult::Delivered { note } | EffectResult::GivenUp { note } => {
            (false, None, Some(note))
        }
        EffectResult::Again { due, note } => (true, Some(due.0), Some(note)),
    };
    // What has ended is not settled again.
    let sql = "UPDATE effect SET open = ?2, due = coalesce(?3, due), tries = tries + ?4
        WHERE id = ?1 AND open = 1
        RETURNING job <> ?5 AND NOT EXISTS (SELECT 1 FROM job WHERE job.id = effect.job)";
    let id = to_sql_integer(settled.effect);
    let job_removed: Option<bool> = db
        .prepare_cached(sql)?
        .query_row(params![id, open, due, note.is_some(), NO_JOB], |row| {
            row.get(0)
        })
        .optional()?;
    if job_removed == Some(true) && !open {
        for sql in [
            "DELETE FROM delivery WHERE effect = ?1",
            "DELETE FROM effect WHERE id = ?1",
        ] {
            db.prepare_cached(sql)?.execute([id])?;
        }
        return Ok(());
    }
    if let Some(note) = note
        && job_removed.is_some()
    {
        let sql = "INSERT INTO delivery (effect, job, try_number, at, note)
            SELECT id, job, tries, ?2, ?3 FROM effect WHERE id = ?1";
        db.prepare_cached(sql)?.execute(params![id, at.0, note])?;
    }
    Ok(())
}

pub(super) fn prune_rows(
    connection: &mut Connection,
    kept: &RetentionLimits,
) -> Result<PrunedCounts, StoreError> {
    let mut prune = || -> SqlResult<PrunedCounts> {
        let db = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sql = "SELECT floor, coalesce((SELECT max(sequence) FROM event), 0) FROM feed";
        let (floor, newest) = db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (floor, newest): (i64, i64) = (floor, newest);
        let next = newest
            .saturating_sub(to_sql_integer(kept.events))
            .max(floor);
        let sql = "DELETE FROM event WHERE sequence > ?1 AND sequence <= ?2 AND job <> ?3
            AND NOT EXISTS (SELECT 1 FROM job WHERE job.id = event.job)";
        let events = db.execute(sql, params![floor, next, NO_JOB])?;
        db.execute("UPDATE feed SET floor = ?1", [next])?;
        let sql = "DELETE FROM request WHERE at < ?1 OR (at < ?2 AND id IN
            (SELECT id FROM
                (SELECT id, row_number() OVER newest AS rank, sum(octet_length(answer)) OVER newest AS bytes
                 FROM request WINDOW newest AS (ORDER BY at DESC, id))
             WHERE rank > ?3 OR bytes > ?4))";
        let (from, until) = (kept.requests_from.0, kept.requests_until.0);
        let (count, bytes) = (
            to_sql_integer(kept.requests),
            to_sql_integer(kept.request_bytes),
        );
        let requests = db.execute(sql, params![from, until, count, bytes])?;
        let mut effects = 0;
        if let Some(from) = kept.effects_from {
            let sql = "DELETE FROM effect WHERE at < ?1 AND open = 0";
            effects = db.execute(sql, [from.0])?;
            let sql = "DELETE FROM delivery WHERE effect NOT IN (SELECT id FROM effect)";
            db.execute(sql, [])?;
        }
        db.commit()?;
        Ok(PrunedCounts {
            events: events as u64,
            requests: requests as u64,
            effects: effects as u64,
        })
    };
    prune().map_err(StoreError::failed)
}
