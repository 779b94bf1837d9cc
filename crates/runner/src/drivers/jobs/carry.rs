//! Executes effects in the order of each job, at least once.
//!
//! | effect | safe to repeat because |
//! |---|---|
//! | spawn | an attempt whose folder exists is attached to; a lost one never starts again |
//! | signal | it sets a state and the last one counts; an end is settled with its attempt |
//! | tell | it is sent under one number until a process has read it (`message_delivery.rs`) |
//! | interrupt | as a message it has a number; as a signal, one too many is harmless |
//! | snapshot | each has its own id: a second one is a second checkpoint |
//! | verify | the result of another verification is refused |
//! | zip, error log | the same file is written again |
//! | notify | the receiver has its number |

use super::decide::new_id;
use super::delivery::Told;
use super::desk::{Desk, Live};
use super::flight::After;
use super::named_workspace::check_workspace;
use super::phase_files::PhaseChanges;
use super::workshop::{Came, Finished, Task};
use super::{Reply, attempt_id, verifier_id};
use bowline_formats::checkpoint::ProvidedDependency;
use bowline_machines::Timestamp;
use bowline_machines::job::{
    Command, Effect, JobState, ProcessLevel, ProcessState, SpawnFrom, UNNUMBERED,
};
use bowline_store::{
    EffectResult, EffectRow, JobAttributes, JobChange, JobRecord, JobRow, RecordBody, RecordKind,
    RecordQuery, Resource, SettledEffect, Store as _, StoreError, StoreStep, VerificationRow,
};
use bowline_supervisor::WantedState;
use serde::Deserialize as _;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Seconds until an effect that failed for lack of a resource is tried again, and the number of
/// tries unless the task depends on it.
const HELD_S: i64 = 1;
const HELD_TRIES_MAX: u32 = 10;

/// Progress of an effect after one call.
pub(super) enum Carried {
    /// The effect is done.
    Done,
    /// The effect is settled later: when a process has read it, when its attempt is over, or when
    /// the notification was delivered.
    Kept,
    /// The effect waits, and those behind it too.
    Waits,
    /// A worker executes the effect.
    Busy,
}

impl Desk {
    pub(super) fn carry_all(&mut self) {
        let jobs: Vec<String> = self.effects.keys().cloned().collect();
        for job in jobs {
            while !self.busy.contains(&job) {
                let Some(effect) = self.effects.get(&job).and_then(|it| it.front()).cloned() else {
                    self.effects.remove(&job);
                    break;
                };
                let carried = match Effect::deserialize(&effect.body) {
                    Ok(wanted) => self.carry(&effect, wanted),
                    // Stored by a newer program: it waits for that one.
                    Err(_) => Carried::Waits,
                };
                match carried {
                    Carried::Waits => break,
                    Carried::Busy => {
                        self.busy.insert(job.clone());
                        break;
                    }
                    Carried::Done => {
                        self.settle(effect.id, EffectResult::Done);
                        self.pop(&job);
                    }
                    Carried::Kept => self.pop(&job),
                }
            }
        }
    }

    fn pop(&mut self, job: &str) {
        if let Some(of) = self.effects.get_mut(job) {
            of.pop_front();
        }
    }

    pub(super) fn settle(&mut self, effect: u64, end: EffectResult) {
        let mut advance = StoreStep::empty_at(self.now());
        advance.settled.push(SettledEffect { effect, end });
        self.stage(advance, After::Nothing);
    }

    fn carry(&mut self, effect: &EffectRow, wanted: Effect) -> Carried {
        let job = effect.job.clone();
        let Ok(row) = self.row(&job) else {
            // The job is gone; a failed store is noted, and nothing is settled.
            return Carried::Done;
        };
        match wanted {
            Effect::Spawn { attempt, from } => self.carry_spawn(effect.id, &row, attempt, from),
            Effect::Signal { attempt, want } => {
                let id = attempt_id(&job, attempt);
                if !self.attached(&row, attempt) {
                    return Carried::Done;
                }
                self.attempts.want(&id, level(want));
                if want != ProcessLevel::Ended {
                    return Carried::Done;
                }
                // Nothing else watches an attempt that is over for its job.
                self.hand_over(&id, vec![without_words(effect.id, 0)]);
                Carried::Kept
            }
            Effect::SendMessage {
                attempt,
                number,
                messages: say,
            } => {
                let effect = effect.id;
                let message = Told {
                    effect,
                    number,
                    say,
                };
                self.deliver(&row, attempt, message)
            }
            Effect::Interrupt { attempt, number } => {
                let id = attempt_id(&job, attempt);
                if !self.live.contains_key(&id) {
                    return Carried::Done;
                }
                self.interrupt(&row, &id, number);
                if number == UNNUMBERED {
                    return Carried::Done;
                }
                // Sent again until it is read: later messages have the numbers that follow.
                self.hand_over(&id, vec![without_words(effect.id, number)]);
                Carried::Kept
            }
            Effect::Snapshot(reason) => {
                self.snapshot(effect.id, row, reason.name());
                Carried::Busy
            }
            Effect::Verify {
                verification,
                phase,
            } => {
                if !awaits(&row, verification) {
                    let taken_up = self.looks_already(&job, verification)
                        && self.begin_verifier(effect.id, &row, verification, &[]);
                    return if taken_up {
                        Carried::Busy
                    } else {
                        Carried::Done
                    };
                }
                let spec = row.about.type_name.as_ref();
                let spec = spec.and_then(|name| self.config.types.get(name));
                self.workshop.give(Task::Check {
                    effect: effect.id,
                    job,
                    verification,
                    workspace: self.config.workspace(&row),
                    phase: spec.and_then(|spec| spec.phase(phase)).cloned(),
                    changes: self.phase_changes(&row),
                    limit: Duration::from_secs(self.config.verify_s),
                    environment: self.config.environment.clone(),
                });
                Carried::Busy
            }
            Effect::Notify(_) if self.config.notifies => Carried::Kept,
            Effect::Notify(_) => Carried::Done,
            Effect::ZipArtifacts => {
                let Ok(secrets) = self.values(&job) else {
                    return Carried::Waits;
                };
                self.workshop.give(Task::Archive {
                    effect: effect.id,
                    workspace: self.config.workspace(&row),
                    to: self.archive_of(&job).join("artifacts.zip"),
                    secrets,
                    job,
                });
                Carried::Busy
            }
            Effect::SaveErrorLog => {
                let Ok(secrets) = self.values(&job) else {
                    return Carried::Waits;
                };
                let folder = |attempt| self.config.attempt(&attempt_id(&job, attempt));
                self.workshop.give(Task::ErrorLog {
                    effect: effect.id,
                    from: (1..=row.job.attempt)
                        .map(|it| folder(it).join("err"))
                        .collect(),
                    to: self.archive_of(&job).join("error.log"),
                    secrets,
                    job,
                });
                Carried::Busy
            }
            // All but the first have no stored form.
            Effect::Remove
            | Effect::Log(_)
            | Effect::Enqueue
            | Effect::RemoveFromQueue
            | Effect::Timer { .. }
            | Effect::CreateRetry { .. }
            | Effect::CreateFork { .. } => Carried::Done,
        }
    }

    /// Returns the code before and after the present phase if both were saved.
    fn phase_changes(&self, row: &JobRow) -> Option<PhaseChanges> {
        let (from, to) = (row.about.phase_ref.clone()?, self.saved_code(&row.about)?);
        Some(PhaseChanges {
            repository: super::workshop::repository(&self.config, row).ok()?,
            from,
            to,
            list: self
                .config
                .data
                .join("side")
                .join(format!("{}.names", row.id)),
        })
    }

    /// True if an earlier process started the verifying agent. It is attached to even if no job
    /// waits for it, because it has to be ended.
    fn looks_already(&self, job: &str, verification: u32) -> bool {
        let begun = self.config.attempt(&verifier_id(job, verification));
        begun.exists()
    }

    fn archive_of(&self, job: &str) -> std::path::PathBuf {
        self.config.data.join("archives").join(job)
    }

    fn values(&self, job: &str) -> Result<Vec<String>, StoreError> {
        let values = self.provided(job)?.into_iter();
        Ok(values.map(|(_, value)| value).collect())
    }

    fn carry_spawn(&mut self, effect: u64, row: &JobRow, attempt: u32, from: SpawnFrom) -> Carried {
        let current = row.job.attempt == attempt && row.job.process == ProcessState::Live;
        if !current {
            return Carried::Done;
        }
        // No attempt starts while an earlier one may be alive.
        let earlier = |live: &Live| live.job == row.id && !live.verifies;
        let id = attempt_id(&row.id, attempt);
        if self
            .live
            .iter()
            .any(|(known, live)| earlier(live) && *known != id)
        {
            return Carried::Waits;
        }
        if self.config.attempt(&id).exists() {
            self.attached(row, attempt);
            return Carried::Done;
        }
        if !row.about.share_workspace && self.is_folder_being_left(row) {
            return Carried::Waits;
        }
        if row.about.starts.len() > self.config.runs_per_hour {
            self.too_many_runs(row, attempt);
            return Carried::Done;
        }
        if let Some(path) = &row.about.workspace
            && let Err(fault) = check_workspace(&self.config.data, Path::new(path))
        {
            let message = format!("the workspace {path} {fault}");
            let command = Command::SpawnFailed { attempt, message };
            if let Ok(change) = self.step(row, command) {
                self.stage_change(change);
            }
            return Carried::Done;
        }
        let restore = match &from {
            SpawnFrom::Start | SpawnFrom::Latest => None,
            SpawnFrom::Checkpoint(checkpoint) => self.code_of(row, checkpoint),
        };
        // A folder of the server begins empty, unless it is a copy.
        let filled = row.about.workspace.is_some() || restore.is_some();
        let first_state =
            (attempt == 1 && filled).then(|| (Arc::clone(&self.config), Box::new(row.clone())));
        self.workshop.give(Task::Prepare {
            effect,
            job: row.id.clone(),
            attempt,
            workspace: self.config.workspace(row),
            records: self.config.record_folder(row),
            restore,
            first_state,
            environment: self.config.environment.clone(),
        });
        Carried::Busy
    }

    /// True if a task that is over still has a process in the same folder, or files there to be
    /// saved.
    fn is_folder_being_left(&self, row: &JobRow) -> bool {
        let saves = |effect: &EffectRow| {
            let wanted = Effect::deserialize(&effect.body);
            matches!(wanted, Ok(Effect::Snapshot(_) | Effect::ZipArtifacts))
        };
        let saving = self.effects.iter();
        let saving = saving.filter(|(_, of)| of.iter().any(saves));
        let saving = saving.map(|(job, _)| job);
        let alive = self.live.values().map(|live| &live.job);
        let others = alive.chain(saving).filter(|job| **job != row.id);
        let others: BTreeSet<&String> = others.collect();
        others.into_iter().any(|job| {
            let over = |other: &JobRow| {
                matches!(
                    other.job.state,
                    JobState::Completed { .. } | JobState::Failed(_)
                )
            };
            let other = self.row(job).ok().filter(over);
            other.is_some_and(|other| self.index.claims().overlap(row, &other))
        })
    }

    /// Returns the code of a checkpoint: repository, ref, and whether the folder is new.
    fn code_of(
        &self,
        row: &JobRow,
        checkpoint: &str,
    ) -> Option<(std::path::PathBuf, String, bool)> {
        let record = self.record(checkpoint)?;
        let RecordBody::Checkpoint(saved) = record.body else {
            return None;
        };
        let owner = self.row(&record.job).ok()?;
        let repository = super::workshop::repository(&self.config, &owner).ok()?;
        Some((repository, saved.code_ref?, record.job != row.id))
    }

    /// Stops a job with too many starts in an hour. It resumes by itself when the oldest start is
    /// an hour ago.
    fn too_many_runs(&mut self, row: &JobRow, attempt: u32) {
        let oldest = row.about.starts.first().copied().unwrap_or(self.now().0);
        let command = Command::Breaker {
            reason: format!("more than {} starts in an hour", self.config.runs_per_hour),
            ends: false,
            until: Some(bowline_machines::Timestamp(oldest + 3_600)),
        };
        for command in [command, Command::EvictStoppedAgent { attempt }] {
            let Ok(row) = self.row(&row.id) else { return };
            if let Ok(change) = self.step(&row, command) {
                self.stage_change(change);
            }
        }
    }

    fn snapshot(&mut self, effect: u64, row: JobRow, reason: &'static str) {
        let wanted = RecordQuery {
            job: Some(row.id.clone()),
            kind: Some(RecordKind::Dependency),
            open: false,
        };
        let given = self.store.list_records(&wanted).unwrap_or_default();
        let provided: Vec<ProvidedDependency> = given
            .into_iter()
            .filter_map(|record| match record.body {
                RecordBody::Dependency(it) if it.sealed.is_some() => Some(ProvidedDependency {
                    kind: it.kind.name().into(),
                    name: it.name,
                    at: bowline_machines::Timestamp(it.settled_at.unwrap_or(0)),
                }),
                _ => None,
            })
            .collect();
        let log = self.config.attempt(&attempt_id(&row.id, row.job.attempt));
        self.workshop.give(Task::Snapshot {
            effect,
            at: self.now(),
            reason,
            id: new_id("cp"),
            variables: provided.iter().map(|it| it.name.clone()).collect(),
            provided,
            log: log.join("log"),
            config: self.config.clone(),
            row: Box::new(row),
        });
    }

    /// Deletes the files of a removed job once no worker uses them.
    pub(super) fn remove_files(&mut self, row: JobRow, reply: Reply) {
        self.held.remove(&row.id);
        self.busy.remove(&row.id);
        self.workshop.remove(row, reply);
    }

    /// Handles an outcome of the worker pool.
    pub(super) fn finished(&mut self, finished: Finished) {
        let Finished { effect, job, what } = finished;
        let first = self.effects.get(&job).and_then(|it| it.front());
        if first.is_none_or(|it| it.id != effect) {
            // Settled before the dispatcher restarted, or of a job that was removed.
            if first.is_none() {
                self.busy.remove(&job);
            }
            return;
        }
        self.busy.remove(&job);
        let Ok(row) = self.row(&job) else { return };
        let mut advance = StoreStep::empty_at(self.now());
        let mut end = EffectResult::Done;
        match what {
            Came::Done => {}
            // Unless the attempt was given up or replaced while its folder was prepared.
            Came::Ready { attempt } => {
                if row.job.attempt == attempt
                    && row.job.process == ProcessState::Live
                    && let Err(message) = self.begin_attempt(&row)
                {
                    if self.hold(&job, &message, u32::MAX) {
                        return;
                    }
                    let command = Command::SpawnFailed { attempt, message };
                    advance.changes.extend(self.step(&row, command).ok());
                }
            }
            Came::Saved { id, at, row: saved } => {
                let mut about = JobAttributes::clone(&row.about);
                about.checkpoint = Some((id.clone(), at.0));
                let mut change =
                    JobChange::replace_state(&job, row.version, row.job.clone(), about);
                let record = JobRecord {
                    id,
                    job: job.clone(),
                    open: false,
                    at,
                    body: RecordBody::Checkpoint(*saved),
                };
                Desk::show(&mut change, record);
                advance.changes.push(change);
            }
            Came::Checked {
                verification,
                issues,
                files,
            } => {
                let wanted = issues.is_empty() && awaits(&row, verification);
                if (wanted || self.looks_already(&job, verification))
                    && self.begin_verifier(effect, &row, verification, &files)
                {
                    // The verifying agent's result settles the effect.
                    self.busy.insert(job);
                    return;
                }
                let change = self.verified(&row, verification, issues, Vec::new(), files);
                advance.changes.extend(change);
            }
            Came::Failed(note) => {
                // An attempt needs its folder; everything else goes on without.
                let first = self.effects.get(&job).and_then(|it| it.front());
                let wanted = first.and_then(|it| Effect::deserialize(&it.body).ok());
                // Effects that a task cannot go on without are tried without end.
                let tries = match wanted {
                    Some(Effect::Spawn { .. } | Effect::Verify { .. }) => u32::MAX,
                    Some(_) | None => HELD_TRIES_MAX,
                };
                if self.hold(&job, &note, tries) {
                    return;
                }
                if let Some(Effect::Spawn { attempt, .. }) = wanted {
                    let message = note.clone();
                    let command = Command::SpawnFailed { attempt, message };
                    advance.changes.extend(self.step(&row, command).ok());
                }
                end = EffectResult::GivenUp { note };
            }
        }
        advance.settled.push(SettledEffect { effect, end });
        self.held.remove(&job);
        self.pop(&job);
        self.stage(advance, After::Nothing);
    }

    /// Keeps an effect that failed for lack of a resource, to try it again soon. True if it is
    /// kept.
    fn hold(&mut self, job: &str, note: &str, tries_max: u32) -> bool {
        let tries = self.held.get(job).map_or(0, |(tries, _)| *tries);
        if Resource::named_in(note).is_none() || tries >= tries_max {
            return false;
        }
        self.failures.retries.fetch_add(1, Ordering::Relaxed);
        let at = Timestamp(self.now().0 + HELD_S);
        self.held
            .insert(job.to_owned(), (tries.saturating_add(1), at));
        self.busy.insert(job.to_owned());
        true
    }

    /// Releases held effects whose time has come.
    pub(super) fn release_held(&mut self) {
        let now = self.now();
        for (job, (_, at)) in &mut self.held {
            if *at <= now {
                *at = Timestamp(i64::MAX);
                self.busy.remove(job);
            }
        }
    }

    /// Builds the change and the records for the result of a verification.
    pub(super) fn verified(
        &self,
        row: &JobRow,
        verification: u32,
        issues: Vec<String>,
        criteria: Vec<bowline_store::CriterionRow>,
        files: Vec<String>,
    ) -> Option<JobChange> {
        let passed = issues.is_empty();
        let command = match passed {
            true => Command::VerificationPassed {
                verification,
                review: new_id("rev"),
                deliverables: files.len() as u64,
            },
            false => Command::VerificationFailed {
                verification,
                issues: issues.clone(),
            },
        };
        let mut change = self.step(row, command).ok()?;
        let code_ref = self.saved_code(&row.about);
        for record in &mut change.records {
            if let RecordBody::Review(review) = &mut record.body
                && record.open
            {
                review.deliverables = files.clone();
                review.code_ref = code_ref.clone();
                review.base_ref = row.about.phase_ref.clone();
            }
        }
        let body = VerificationRow {
            number: verification,
            phase: row.job.phase,
            code_ref,
            passed: Some(passed),
            issues,
            criteria,
            ended_at: Some(self.now().0),
        };
        let record = JobRecord {
            id: format!("ver_{}_{verification}", row.id.trim_start_matches("task_")),
            job: row.id.clone(),
            open: false,
            at: self.now(),
            body: RecordBody::Verification(body),
        };
        Desk::show(&mut change, record);
        Some(change)
    }
}

/// True if the job waits for this verification.
pub(super) fn awaits(row: &JobRow, verification: u32) -> bool {
    matches!(row.job.state, JobState::Verifying { .. }) && row.job.verifications == verification
}

/// Returns the delivery of an effect that is settled when its number is read, or with 0 when its
/// attempt ends.
fn without_words(effect: u64, number: u64) -> Told {
    let say = Vec::new();
    Told {
        effect,
        number,
        say,
    }
}

pub(super) fn level(want: ProcessLevel) -> WantedState {
    match want {
        ProcessLevel::Running => WantedState::Running,
        ProcessLevel::Paused => WantedState::Paused,
        ProcessLevel::Ended => WantedState::Ended,
    }
}
