//! Reading.

use crate::rows::{
    DeliveryRow, EffectRow, EventKind, EventRow, JobAttributes, JobRecord, JobRow, RecordBody,
    SpendRow, TimerRow,
};
use crate::{EventQuery, JobQuery, RecordQuery, SpendQuery, StoreError};
use bowline_machines::Timestamp;
use bowline_machines::job::{Job, TaskStatus};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};
use serde_json::Value;

const JOB: &str = "SELECT id, version, state, about FROM job";

/// What a row holds, before it is made sense of.
type RowResult<T> = rusqlite::Result<T>;

fn query_all<T>(
    connection: &Connection,
    sql: &str,
    arguments: Vec<Sql>,
    mut make: impl FnMut(&Row<'_>) -> RowResult<Result<T, StoreError>>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(StoreError::failed)?;
    let rows = statement
        .query_map(params_from_iter(arguments), |row| make(row))
        .map_err(StoreError::failed)?;
    rows.map(|row| row.map_err(StoreError::failed)?).collect()
}

fn query_by_id<T>(
    connection: &Connection,
    sql: &str,
    id: &str,
    make: impl FnMut(&Row<'_>) -> RowResult<Result<T, StoreError>>,
) -> Result<Option<T>, StoreError> {
    let rows = query_all(connection, sql, vec![id.to_owned().into()], make)?;
    Ok(rows.into_iter().next())
}

fn parse_json(id: &str, text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|error| damaged_row(id, &error))
}

fn damaged_row(id: &str, why: &impl ToString) -> StoreError {
    StoreError::Damaged {
        id: id.to_owned(),
        why: why.to_string(),
    }
}

fn read_unsigned(row: &Row<'_>, index: usize) -> RowResult<u64> {
    let number: i64 = row.get(index)?;
    Ok(u64::try_from(number).unwrap_or(0))
}

fn read_timestamp(row: &Row<'_>, index: usize) -> RowResult<Timestamp> {
    row.get(index).map(Timestamp)
}

fn job_from_row(row: &Row<'_>) -> RowResult<Result<JobRow, StoreError>> {
    let id: String = row.get(0)?;
    let version = read_unsigned(row, 1)?;
    let (state, about): (String, String) = (row.get(2)?, row.get(3)?);
    let make = || {
        let job: Job = serde_json::from_str(&state).map_err(|error| damaged_row(&id, &error))?;
        let about: JobAttributes =
            serde_json::from_str(&about).map_err(|error| damaged_row(&id, &error))?;
        Ok((job.into(), about.into()))
    };
    let made = make();
    Ok(made.map(|(job, about)| JobRow {
        id,
        version,
        job,
        about,
    }))
}

pub(super) fn find_job(connection: &Connection, id: &str) -> Result<Option<JobRow>, StoreError> {
    query_by_id(
        connection,
        &format!("{JOB} WHERE id = ?1"),
        id,
        job_from_row,
    )
}

pub(super) fn list_jobs(
    connection: &Connection,
    wanted: &JobQuery,
) -> Result<Vec<JobRow>, StoreError> {
    let mut sql = format!("{JOB} WHERE 1");
    let mut arguments: Vec<Sql> = Vec::new();
    let mut add = |condition: &str, values: &[Sql]| {
        sql.push_str(" AND ");
        sql.push_str(condition);
        arguments.extend_from_slice(values);
    };
    if let Some(status) = wanted.status {
        add("status = ?", &[status.name().to_owned().into()]);
    }
    if let Some(name) = &wanted.type_name {
        add("type_name = ?", &[name.clone().into()]);
    }
    if let Some(label) = &wanted.label {
        add("label = ?", &[label.clone().into()]);
    }
    if !wanted.archived {
        add("archived = 0", &[]);
    }
    if let Some((at, id)) = &wanted.after {
        add(
            "(created_at, id) < (?, ?)",
            &[at.0.into(), id.clone().into()],
        );
    }
    sql.push_str(" ORDER BY created_at DESC, id DESC");
    // Cases of other alphabets than the Latin one are not the engine's: a text is looked for here.
    let text = wanted.text.as_ref().map(|text| text.to_lowercase());
    if text.is_none() && wanted.limit > 0 {
        sql.push_str(&format!(" LIMIT {}", wanted.limit));
    }
    let mut rows = query_all(connection, &sql, arguments, job_from_row)?;
    if let Some(text) = text {
        rows.retain(|row| {
            row.job.title.to_lowercase().contains(&text)
                || row.job.description.to_lowercase().contains(&text)
        });
        if wanted.limit > 0 {
            rows.truncate(wanted.limit);
        }
    }
    Ok(rows)
}

pub(super) fn open_jobs(connection: &Connection) -> Result<Vec<JobRow>, StoreError> {
    let sql = format!(
        "{JOB} WHERE status IN ('draft', 'pending', 'in_progress', 'review') ORDER BY created_at, id"
    );
    query_all(connection, &sql, vec![], job_from_row)
}

pub(super) fn count_by_status(
    connection: &Connection,
) -> Result<Vec<(TaskStatus, u64)>, StoreError> {
    let sql = "SELECT status, count(*) FROM job GROUP BY status";
    let mut counts = query_all(connection, sql, vec![], |row| {
        let name: String = row.get(0)?;
        let count = read_unsigned(row, 1)?;
        let status = TaskStatus::from_name(&name);
        Ok(status
            .map(|status| (status, count))
            .ok_or_else(|| damaged_row(&name, &"no such status")))
    })?;
    counts.sort();
    Ok(counts)
}

pub(super) fn dependents_of(connection: &Connection, id: &str) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT job FROM needs WHERE on_job = ?1 ORDER BY job";
    query_all(connection, sql, vec![id.to_owned().into()], |row| {
        row.get(0).map(Ok)
    })
}

const RECORD: &str = "SELECT id, job, open, at, body FROM record";

fn record_from_row(row: &Row<'_>) -> RowResult<Result<JobRecord, StoreError>> {
    let id: String = row.get(0)?;
    let (job, open, at) = (row.get(1)?, row.get(2)?, read_timestamp(row, 3)?);
    let body: String = row.get(4)?;
    let body: Result<RecordBody, _> = serde_json::from_str(&body);
    Ok(match body {
        Ok(body) => Ok(JobRecord {
            id,
            job,
            open,
            at,
            body,
        }),
        Err(error) => Err(damaged_row(&id, &error)),
    })
}

pub(super) fn find_record(
    connection: &Connection,
    id: &str,
) -> Result<Option<JobRecord>, StoreError> {
    let sql = format!("{RECORD} WHERE id = ?1");
    query_by_id(connection, &sql, id, record_from_row)
}

pub(super) fn list_records(
    connection: &Connection,
    wanted: &RecordQuery,
) -> Result<Vec<JobRecord>, StoreError> {
    let mut sql = format!("{RECORD} WHERE 1");
    let mut arguments: Vec<Sql> = Vec::new();
    if let Some(job) = &wanted.job {
        sql.push_str(" AND job = ?");
        arguments.push(job.clone().into());
    }
    if let Some(kind) = wanted.kind {
        sql.push_str(" AND kind = ?");
        arguments.push(kind.name().to_owned().into());
    }
    if wanted.open {
        sql.push_str(" AND open = 1");
    }
    sql.push_str(" ORDER BY at, id");
    query_all(connection, &sql, arguments, record_from_row)
}

pub(super) fn list_events(
    connection: &Connection,
    wanted: &EventQuery,
) -> Result<Vec<EventRow>, StoreError> {
    let mut sql =
        String::from("SELECT sequence, job, at, kind, body FROM event WHERE sequence > ?");
    let after = i64::try_from(wanted.after).unwrap_or(i64::MAX);
    let mut arguments: Vec<Sql> = vec![after.into()];
    if let Some(job) = &wanted.job {
        sql.push_str(" AND job = ?");
        arguments.push(job.clone().into());
    }
    if let Some(kind) = wanted.kind {
        sql.push_str(" AND kind = ?");
        arguments.push(kind.name().to_owned().into());
    }
    sql.push_str(" ORDER BY sequence");
    if wanted.limit > 0 {
        sql.push_str(&format!(" LIMIT {}", wanted.limit));
    }
    query_all(connection, &sql, arguments, |row| {
        let sequence = read_unsigned(row, 0)?;
        let (job, at) = (row.get(1)?, read_timestamp(row, 2)?);
        let (kind, body): (String, String) = (row.get(3)?, row.get(4)?);
        let id = sequence.to_string();
        let kind = EventKind::from_name(&kind).ok_or_else(|| damaged_row(&id, &"no such kind"));
        Ok(kind.and_then(|kind| {
            Ok(EventRow {
                sequence,
                job,
                at,
                kind,
                body: parse_json(&id, &body)?,
            })
        }))
    })
}

pub(super) fn feed_range(connection: &Connection) -> Result<(u64, u64), StoreError> {
    let sql = "SELECT coalesce(max(min(sequence), (SELECT floor + 1 FROM feed)), 0),
            coalesce(max(sequence), 0)
        FROM event";
    connection
        .query_row(sql, [], |row| {
            Ok((read_unsigned(row, 0)?, read_unsigned(row, 1)?))
        })
        .map_err(StoreError::failed)
}

pub(super) fn open_effects(connection: &Connection) -> Result<Vec<EffectRow>, StoreError> {
    let sql = "SELECT id, job, kind, body, at, due, tries FROM effect WHERE open = 1 ORDER BY id";
    query_all(connection, sql, vec![], |row| {
        let id = read_unsigned(row, 0)?;
        let (job, kind) = (row.get(1)?, row.get(2)?);
        let body: String = row.get(3)?;
        let (at, due, tries) = (
            read_timestamp(row, 4)?,
            read_timestamp(row, 5)?,
            row.get(6)?,
        );
        Ok(parse_json(&id.to_string(), &body).map(|body| EffectRow {
            id,
            job,
            kind,
            body,
            at,
            due,
            tries,
        }))
    })
}

pub(super) fn deliveries_of(
    connection: &Connection,
    job: &str,
) -> Result<Vec<DeliveryRow>, StoreError> {
    let sql = "SELECT effect, kind, try_number, delivery.at, note FROM delivery
        JOIN effect ON effect.id = delivery.effect WHERE delivery.job = ?1 ORDER BY effect, try_number";
    query_all(connection, sql, vec![job.to_owned().into()], |row| {
        Ok(Ok(DeliveryRow {
            effect: read_unsigned(row, 0)?,
            kind: row.get(1)?,
            try_number: row.get(2)?,
            at: read_timestamp(row, 3)?,
            note: row.get(4)?,
        }))
    })
}

pub(super) fn list_timers(connection: &Connection) -> Result<Vec<TimerRow>, StoreError> {
    let sql = "SELECT job, key, generation, due, body FROM timer ORDER BY due, job, key";
    query_all(connection, sql, vec![], |row| {
        let (job, key): (String, String) = (row.get(0)?, row.get(1)?);
        let (generation, due) = (read_unsigned(row, 2)?, read_timestamp(row, 3)?);
        let body: String = row.get(4)?;
        Ok(parse_json(&key, &body).map(|body| TimerRow {
            job,
            key,
            generation,
            due,
            body,
        }))
    })
}

pub(super) fn list_spend(
    connection: &Connection,
    wanted: &SpendQuery,
) -> Result<Vec<SpendRow>, StoreError> {
    let mut sql = String::from("SELECT day, job, agent, tokens, usd FROM spend WHERE 1");
    let mut arguments: Vec<Sql> = Vec::new();
    if let Some(job) = &wanted.job {
        sql.push_str(" AND job = ?");
        arguments.push(job.clone().into());
    }
    if let Some(day) = wanted.from_day {
        sql.push_str(" AND day >= ?");
        arguments.push(day.into());
    }
    sql.push_str(" ORDER BY day, job, agent");
    query_all(connection, &sql, arguments, |row| {
        Ok(Ok(SpendRow {
            day: row.get(0)?,
            job: row.get(1)?,
            agent: row.get(2)?,
            tokens: read_unsigned(row, 3)?,
            usd: row.get(4)?,
        }))
    })
}

pub(super) fn stored_response(
    connection: &Connection,
    id: &str,
) -> Result<Option<Value>, StoreError> {
    let sql = "SELECT answer FROM request WHERE id = ?1";
    let answer: Option<String> = connection
        .query_row(sql, [id], |row| row.get(0))
        .optional()
        .map_err(StoreError::failed)?;
    answer.map(|answer| parse_json(id, &answer)).transpose()
}
