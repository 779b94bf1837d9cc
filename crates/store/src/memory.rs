//! The model: a store in memory. What it does is what every store does.

use crate::advance::{
    CommitOutcome, EffectResult, IdempotentRequest, JobChange, NextJobState, StoreStep, TimerChange,
};
use crate::rows::{
    DeliveryRow, EffectRow, EventRow, JobRecord, JobRow, NO_JOB, SpendRow, TimerRow,
};
use crate::{
    EventQuery, JobQuery, PrunedCounts, RecordQuery, RetentionLimits, SpendQuery, Store,
    StoreError, day_of,
};
use bowline_machines::Timestamp;
use bowline_machines::job::TaskStatus;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// A store that forgets everything with its process. For tests, and for simulations that make
/// thousands of runs.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<MemoryTables>);

#[derive(Debug, Default)]
struct MemoryTables {
    jobs: BTreeMap<String, JobRow>,
    records: BTreeMap<String, JobRecord>,
    events: BTreeMap<u64, EventRow>,
    effects: BTreeMap<u64, (EffectRow, bool)>,
    deliveries: Vec<(String, DeliveryRow)>,
    timers: BTreeMap<(String, String), TimerRow>,
    requests: BTreeMap<String, (Timestamp, IdempotentRequest)>,
    /// By day, job and agent.
    spend: BTreeMap<(i64, String, String), (u64, f64)>,
    last_event: u64,
    /// Up to here, events of removed jobs are deleted.
    feed_floor: u64,
    last_effect: u64,
}

impl MemoryStore {
    /// An empty one.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    fn lock_tables(&self) -> MutexGuard<'_, MemoryTables> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl MemoryTables {
    fn job_version(&self, job: &str) -> u64 {
        self.jobs.get(job).map_or(0, |row| row.version)
    }

    fn apply_step(&mut self, step: StoreStep) -> CommitOutcome {
        if let Some(request) = &step.request
            && let Some((_, known)) = self.requests.get(&request.id)
        {
            return match known.print == request.print {
                true => CommitOutcome::AlreadyApplied {
                    answer: known.answer.clone(),
                },
                false => CommitOutcome::RequestReused,
            };
        }
        for change in &step.changes {
            let version = self.job_version(&change.job);
            let fired = change.timers.iter().all(|timer| match timer {
                TimerChange::Fired { key, generation } => self
                    .timers
                    .get(&(change.job.clone(), key.clone()))
                    .is_some_and(|timer| timer.generation == *generation),
                TimerChange::Set { .. } | TimerChange::Clear { .. } => true,
            });
            if version != change.expected || !fired {
                let job = change.job.clone();
                return CommitOutcome::Conflict { job, version };
            }
        }
        let (mut events, mut effects) = (Vec::new(), Vec::new());
        for change in step.changes {
            self.apply_change(change, step.at, &mut events, &mut effects);
        }
        for settle in step.settled {
            // What has ended is not settled again.
            let Some((effect, open @ true)) = self.effects.get_mut(&settle.effect) else {
                continue;
            };
            let note = match settle.end {
                EffectResult::Done => {
                    *open = false;
                    None
                }
                EffectResult::Delivered { note } | EffectResult::GivenUp { note } => {
                    *open = false;
                    Some(note)
                }
                EffectResult::Again { due, note } => {
                    effect.due = due;
                    Some(note)
                }
            };
            if let Some(note) = note {
                effect.tries += 1;
                let row = DeliveryRow {
                    effect: effect.id,
                    kind: effect.kind.clone(),
                    try_number: effect.tries,
                    at: step.at,
                    note,
                };
                self.deliveries.push((effect.job.clone(), row));
            }
            let job_removed = effect.job != NO_JOB && !self.jobs.contains_key(&effect.job);
            if job_removed && !*open {
                self.effects.remove(&settle.effect);
                self.deliveries
                    .retain(|(_, row)| row.effect != settle.effect);
            }
        }
        if let Some(request) = step.request {
            self.requests.insert(request.id.clone(), (step.at, request));
        }
        CommitOutcome::Applied { events, effects }
    }

    fn apply_change(
        &mut self,
        change: JobChange,
        at: Timestamp,
        events: &mut Vec<EventRow>,
        effects: &mut Vec<EffectRow>,
    ) {
        let id = change.job;
        let version = match change.next {
            NextJobState::Is(job, about) => {
                let version = change.expected + 1;
                let row = JobRow {
                    id: id.clone(),
                    version,
                    job,
                    about,
                };
                self.jobs.insert(id.clone(), row);
                version
            }
            NextJobState::Same => change.expected,
            NextJobState::Gone => {
                self.jobs.remove(&id);
                self.records.retain(|_, record| record.job != id);
                self.timers.retain(|(job, _), _| *job != id);
                self.effects.retain(|_, (effect, _)| effect.job != id);
                self.deliveries.retain(|(job, _)| *job != id);
                let floor = self.feed_floor;
                self.events
                    .retain(|sequence, event| *sequence > floor || event.job != id);
                change.expected
            }
        };
        for event in change.events {
            self.last_event += 1;
            let row = EventRow {
                sequence: self.last_event,
                job: id.clone(),
                at,
                kind: event.kind,
                body: event.body,
            };
            self.events.insert(row.sequence, row.clone());
            events.push(row);
        }
        for effect in change.effects {
            self.last_effect += 1;
            let row = EffectRow {
                id: self.last_effect,
                job: id.clone(),
                kind: effect.kind,
                body: effect.body,
                at,
                due: effect.due,
                tries: 0,
            };
            self.effects.insert(row.id, (row.clone(), true));
            effects.push(row);
        }
        for record in change.records {
            self.records.insert(record.id.clone(), record);
        }
        if let Some(spent) = change.spent {
            let place = (day_of(at), id.clone(), spent.agent);
            let (tokens, usd) = self.spend.entry(place).or_default();
            *tokens += spent.tokens;
            *usd += spent.usd;
        }
        for timer in change.timers {
            match timer {
                TimerChange::Set { key, due, body } => {
                    let row = TimerRow {
                        job: id.clone(),
                        key: key.clone(),
                        generation: version,
                        due,
                        body,
                    };
                    self.timers.insert((id.clone(), key), row);
                }
                TimerChange::Clear { key } | TimerChange::Fired { key, .. } => {
                    self.timers.remove(&(id.clone(), key));
                }
            }
        }
    }
}

fn matches_query(row: &JobRow, wanted: &JobQuery) -> bool {
    let status = wanted.status.is_none_or(|it| it == row.job.task_status());
    let of_type = wanted.type_name.is_none() || wanted.type_name == row.about.type_name;
    let label = wanted.label.is_none() || wanted.label == row.about.label;
    let text = wanted.text.as_ref().is_none_or(|text| {
        let text = text.to_lowercase();
        row.job.title.to_lowercase().contains(&text)
            || row.job.description.to_lowercase().contains(&text)
    });
    let place = (row.about.created_at, row.id.as_str());
    let behind = wanted
        .after
        .as_ref()
        .is_none_or(|(at, id)| place < (at.0, id.as_str()));
    let shown = wanted.archived || !row.job.archived;
    status && of_type && label && text && behind && shown
}

fn take_limited<T>(items: impl Iterator<Item = T>, limit: usize) -> Vec<T> {
    match limit {
        0 => items.collect(),
        limit => items.take(limit).collect(),
    }
}

impl Store for MemoryStore {
    fn commit_steps(&self, steps: Vec<StoreStep>) -> Result<Vec<CommitOutcome>, StoreError> {
        let mut tables = self.lock_tables();
        Ok(steps
            .into_iter()
            .map(|step| tables.apply_step(step))
            .collect())
    }

    fn prune_rows(&self, kept: &RetentionLimits) -> Result<PrunedCounts, StoreError> {
        let mut tables = self.lock_tables();
        let tables = &mut *tables;
        let count = |tables: &MemoryTables| {
            (
                tables.events.len() as u64,
                tables.requests.len() as u64,
                tables.effects.len() as u64,
            )
        };
        let had = count(tables);
        let floor = tables.last_event.saturating_sub(kept.events);
        tables.feed_floor = tables.feed_floor.max(floor);
        let jobs = &tables.jobs;
        tables.events.retain(|sequence, event| {
            *sequence > floor || event.job == NO_JOB || jobs.contains_key(&event.job)
        });
        let mut newest: Vec<_> = tables
            .requests
            .iter()
            .map(|(id, (at, answer))| {
                (
                    std::cmp::Reverse(*at),
                    id.clone(),
                    answer.answer.to_string().len() as u64,
                )
            })
            .collect();
        newest.sort();
        let mut bytes = 0;
        for (rank, (std::cmp::Reverse(at), id, length)) in (0..).zip(newest) {
            bytes += length;
            let beyond: bool = rank >= kept.requests || bytes > kept.request_bytes;
            if beyond && at < kept.requests_until || at < kept.requests_from {
                tables.requests.remove(&id);
            }
        }
        if let Some(from) = kept.effects_from {
            tables
                .effects
                .retain(|_, (effect, open)| *open || effect.at >= from);
            let effects = &tables.effects;
            tables
                .deliveries
                .retain(|(_, row)| effects.contains_key(&row.effect));
        }
        let has = count(tables);
        Ok(PrunedCounts {
            events: had.0 - has.0,
            requests: had.1 - has.1,
            effects: had.2 - has.2,
        })
    }

    fn write_backup(&self, to: &Path) -> Result<(), StoreError> {
        Err(StoreError::Unsafe {
            path: to.display().to_string(),
            why: "a store in memory has no file".into(),
        })
    }

    fn find_job(&self, id: &str) -> Result<Option<JobRow>, StoreError> {
        Ok(self.lock_tables().jobs.get(id).cloned())
    }

    fn list_jobs(&self, wanted: &JobQuery) -> Result<Vec<JobRow>, StoreError> {
        let tables = self.lock_tables();
        let rows = tables
            .jobs
            .values()
            .filter(|row| matches_query(row, wanted));
        let mut rows: Vec<JobRow> = rows.cloned().collect();
        rows.sort_by(|a, b| (b.about.created_at, &b.id).cmp(&(a.about.created_at, &a.id)));
        Ok(take_limited(rows.into_iter(), wanted.limit))
    }

    fn open_jobs(&self) -> Result<Vec<JobRow>, StoreError> {
        let tables = self.lock_tables();
        let open = |row: &&JobRow| {
            !matches!(
                row.job.task_status(),
                TaskStatus::Completed | TaskStatus::Failed
            )
        };
        let mut rows: Vec<JobRow> = tables.jobs.values().filter(open).cloned().collect();
        rows.sort_by(|a, b| (a.about.created_at, &a.id).cmp(&(b.about.created_at, &b.id)));
        Ok(rows)
    }

    fn count_by_status(&self) -> Result<Vec<(TaskStatus, u64)>, StoreError> {
        let mut counts = BTreeMap::new();
        for row in self.lock_tables().jobs.values() {
            *counts.entry(row.job.task_status()).or_insert(0) += 1;
        }
        Ok(counts.into_iter().collect())
    }

    fn dependents_of(&self, id: &str) -> Result<Vec<String>, StoreError> {
        let tables = self.lock_tables();
        let rows = tables.jobs.values();
        let depends = |row: &&JobRow| row.job.depends_on.iter().any(|it| it == id);
        Ok(rows.filter(depends).map(|row| row.id.clone()).collect())
    }

    fn find_record(&self, id: &str) -> Result<Option<JobRecord>, StoreError> {
        Ok(self.lock_tables().records.get(id).cloned())
    }

    fn list_records(&self, wanted: &RecordQuery) -> Result<Vec<JobRecord>, StoreError> {
        let tables = self.lock_tables();
        let fits = |record: &&JobRecord| {
            wanted.job.as_ref().is_none_or(|job| *job == record.job)
                && wanted.kind.is_none_or(|kind| kind == record.body.kind())
                && (!wanted.open || record.open)
        };
        let mut rows: Vec<JobRecord> = tables.records.values().filter(fits).cloned().collect();
        rows.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        Ok(rows)
    }

    fn list_events(&self, wanted: &EventQuery) -> Result<Vec<EventRow>, StoreError> {
        let tables = self.lock_tables();
        let fits = |event: &&EventRow| {
            wanted.job.as_ref().is_none_or(|job| *job == event.job)
                && wanted.kind.is_none_or(|kind| kind == event.kind)
        };
        let behind = tables.events.range(wanted.after + 1..);
        let rows = behind.map(|(_, event)| event).filter(fits).cloned();
        Ok(take_limited(rows, wanted.limit))
    }

    fn feed_range(&self) -> Result<(u64, u64), StoreError> {
        let tables = self.lock_tables();
        let oldest = tables.events.keys().next().copied();
        let oldest = oldest.map_or(0, |it| it.max(tables.feed_floor + 1));
        let newest = tables.events.keys().next_back().copied().unwrap_or(0);
        Ok((oldest, newest))
    }

    fn open_effects(&self) -> Result<Vec<EffectRow>, StoreError> {
        let tables = self.lock_tables();
        let open = tables.effects.values().filter(|(_, open)| *open);
        Ok(open.map(|(effect, _)| effect.clone()).collect())
    }

    fn deliveries_of(&self, job: &str) -> Result<Vec<DeliveryRow>, StoreError> {
        let tables = self.lock_tables();
        let of = tables.deliveries.iter().filter(|(of, _)| of == job);
        let mut rows: Vec<DeliveryRow> = of.map(|(_, row)| row.clone()).collect();
        rows.sort_by_key(|row| (row.effect, row.try_number));
        Ok(rows)
    }

    fn list_timers(&self) -> Result<Vec<TimerRow>, StoreError> {
        let mut rows: Vec<TimerRow> = self.lock_tables().timers.values().cloned().collect();
        rows.sort_by(|a, b| (a.due, &a.job, &a.key).cmp(&(b.due, &b.job, &b.key)));
        Ok(rows)
    }

    fn list_spend(&self, wanted: &SpendQuery) -> Result<Vec<SpendRow>, StoreError> {
        let tables = self.lock_tables();
        let rows = tables
            .spend
            .iter()
            .map(|((day, job, agent), (tokens, usd))| SpendRow {
                day: *day,
                job: job.clone(),
                agent: agent.clone(),
                tokens: *tokens,
                usd: *usd,
            });
        let fits = |row: &SpendRow| {
            wanted.job.as_ref().is_none_or(|job| *job == row.job)
                && wanted.from_day.is_none_or(|day| day <= row.day)
        };
        Ok(rows.filter(fits).collect())
    }

    fn stored_response(&self, id: &str) -> Result<Option<Value>, StoreError> {
        let tables = self.lock_tables();
        let known = tables.requests.get(id);
        Ok(known.map(|(_, request)| request.answer.clone()))
    }
}
