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

use super::commit_queue::AfterCommit;
use super::dispatcher::{AttemptProgress, JobDispatcher};
use super::message_delivery::UnreadMessage;
use super::named_workspace::check_workspace;
use super::phase_files::PhaseChanges;
use super::request_handlers::new_id;
use super::worker_pool::{FinishedWork, WorkItem, WorkOutcome};
use super::{ReplyCallback, attempt_id, verifier_id};
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
pub(super) enum EffectProgress {
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

impl JobDispatcher {
    pub(super) fn execute_effects(&mut self) {
        let jobs: Vec<String> = self.effects.keys().cloned().collect();
        for job in jobs {
            while !self.busy.contains(&job) {
                let Some(effect) = self.effects.get(&job).and_then(|it| it.front()).cloned() else {
                    self.effects.remove(&job);
                    break;
                };
                let carried = match Effect::deserialize(&effect.body) {
                    Ok(wanted) => self.execute_effect(&effect, wanted),
                    // Stored by a newer program: it waits for that one.
                    Err(_) => EffectProgress::Waits,
                };
                match carried {
                    EffectProgress::Waits => break,
                    EffectProgress::Busy => {
                        self.busy.insert(job.clone());
                        break;
                    }
                    EffectProgress::Done => {
                        self.settle_effect(effect.id, EffectResult::Done);
                        self.pop_effect(&job);
                    }
                    EffectProgress::Kept => self.pop_effect(&job),
                }
            }
        }
    }

    fn pop_effect(&mut self, job: &str) {
        if let Some(of) = self.effects.get_mut(job) {
            of.pop_front();
        }
    }

    pub(super) fn settle_effect(&mut self, effect: u64, end: EffectResult) {
        let mut advance = StoreStep::empty_at(self.now());
        advance.settled.push(SettledEffect { effect, end });
        self.stage_step(advance, AfterCommit::Nothing);
    }

    fn execute_effect(&mut self, effect: &EffectRow, wanted: Effect) -> EffectProgress {
        let job = effect.job.clone();
        let Ok(row) = self.row(&job) else {
            // The job is gone; a failed store is noted, and nothing is settled.
            return EffectProgress::Done;
        };
        match wanted {
            Effect::Spawn { attempt, from } => self.execute_spawn(effect.id, &row, attempt, from),
            Effect::Signal { attempt, want } => {
                let id = attempt_id(&job, attempt);
                if !self.attach_if_started(&row, attempt) {
                    return EffectProgress::Done;
                }
                self.attempts.request_level(&id, wanted_level(want));
                if want != ProcessLevel::Ended {
                    return EffectProgress::Done;
                }
                // Nothing else watches an attempt that is over for its job.
                self.note_handed_over(&id, vec![empty_delivery(effect.id, 0)]);
                EffectProgress::Kept
            }
            Effect::SendMessage {
                attempt,
                number,
                messages: say,
            } => {
                let effect = effect.id;
                let message = UnreadMessage {
                    effect,
                    number,
                    say,
                };
                self.deliver_message(&row, attempt, message)
            }
            Effect::Interrupt { attempt, number } => {
                let id = attempt_id(&job, attempt);
                if !self.live.contains_key(&id) {
                    return EffectProgress::Done;
                }
                self.interrupt_attempt(&row, &id, number);
                if number == UNNUMBERED {
                    return EffectProgress::Done;
                }
                // Sent again until it is read: later messages have the numbers that follow.
                self.note_handed_over(&id, vec![empty_delivery(effect.id, number)]);
                EffectProgress::Kept
            }
            Effect::Snapshot(reason) => {
                self.submit_checkpoint(effect.id, row, reason.name());
                EffectProgress::Busy
            }
            Effect::Verify {
                verification,
                phase,
            } => {
                if !awaits_verification(&row, verification) {
                    let taken_up = self.is_verifier_started(&job, verification)
                        && self.start_verifier(effect.id, &row, verification, &[]);
                    return if taken_up {
                        EffectProgress::Busy
                    } else {
                        EffectProgress::Done
                    };
                }
                let spec = row.about.type_name.as_ref();
                let spec = spec.and_then(|name| self.config.types.get(name));
                self.workers.submit_work(WorkItem::Check {
                    effect: effect.id,
                    job,
                    verification,
                    workspace: self.config.workspace(&row),
                    phase: spec.and_then(|spec| spec.phase(phase)).cloned(),
                    changes: self.phase_changes(&row),
                    limit: Duration::from_secs(self.config.verify_s),
                    environment: self.config.environment.clone(),
                });
                EffectProgress::Busy
            }
            Effect::Notify(_) if self.config.notifies => EffectProgress::Kept,
            Effect::Notify(_) => EffectProgress::Done,
            Effect::ZipArtifacts => {
                let Ok(secrets) = self.secret_values(&job) else {
                    return EffectProgress::Waits;
                };
                self.workers.submit_work(WorkItem::Archive {
                    effect: effect.id,
                    workspace: self.config.workspace(&row),
                    to: self.archive_folder(&job).join("artifacts.zip"),
                    secrets,
                    job,
                });
                EffectProgress::Busy
            }
            Effect::SaveErrorLog => {
                let Ok(secrets) = self.secret_values(&job) else {
                    return EffectProgress::Waits;
                };
                let folder = |attempt| self.config.attempt_folder(&attempt_id(&job, attempt));
                self.workers.submit_work(WorkItem::ErrorLog {
                    effect: effect.id,
                    from: (1..=row.job.attempt)
                        .map(|it| folder(it).join("err"))
                        .collect(),
                    to: self.archive_folder(&job).join("error.log"),
                    secrets,
                    job,
                });
                EffectProgress::Busy
            }
            // All but the first have no stored form.
            Effect::Remove
            | Effect::Log(_)
            | Effect::Enqueue
            | Effect::RemoveFromQueue
            | Effect::Timer { .. }
            | Effect::CreateRetry { .. }
            | Effect::CreateFork { .. } => EffectProgress::Done,
        }
    }

    /// Returns the code before and after the present phase if both were saved.
    fn phase_changes(&self, row: &JobRow) -> Option<PhaseChanges> {
        let (from, to) = (row.about.phase_ref.clone()?, self.saved_code(&row.about)?);
        Some(PhaseChanges {
            repository: super::worker_pool::code_repository(&self.config, row).ok()?,
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
    fn is_verifier_started(&self, job: &str, verification: u32) -> bool {
        let begun = self.config.attempt_folder(&verifier_id(job, verification));
        begun.exists()
    }

    fn archive_folder(&self, job: &str) -> std::path::PathBuf {
        self.config.data.join("archives").join(job)
    }

    fn secret_values(&self, job: &str) -> Result<Vec<String>, StoreError> {
        let values = self.provided_values(job)?.into_iter();
        Ok(values.map(|(_, value)| value).collect())
    }

    fn execute_spawn(
        &mut self,
        effect: u64,
        row: &JobRow,
        attempt: u32,
        from: SpawnFrom,
    ) -> EffectProgress {
        let current = row.job.attempt == attempt && row.job.process == ProcessState::Live;
        if !current {
            return EffectProgress::Done;
        }
        // No attempt starts while an earlier one may be alive.
        let earlier = |live: &AttemptProgress| live.job == row.id && !live.verifies;
        let id = attempt_id(&row.id, attempt);
        if self
            .live
            .iter()
            .any(|(known, live)| earlier(live) && *known != id)
        {
            return EffectProgress::Waits;
        }
        if self.config.attempt_folder(&id).exists() {
            self.attach_if_started(row, attempt);
            return EffectProgress::Done;
        }
        if !row.about.share_workspace && self.is_folder_being_left(row) {
            return EffectProgress::Waits;
        }
        if row.about.starts.len() > self.config.runs_per_hour {
            self.break_for_starts(row, attempt);
            return EffectProgress::Done;
        }
        if let Some(path) = &row.about.workspace
            && let Err(fault) = check_workspace(&self.config.data, Path::new(path))
        {
            let message = format!("the workspace {path} {fault}");
            let command = Command::SpawnFailed { attempt, message };
            if let Ok(change) = self.step(row, command) {
                self.stage_change(change);
            }
            return EffectProgress::Done;
        }
        let restore = match &from {
            SpawnFrom::Start | SpawnFrom::Latest => None,
            SpawnFrom::Checkpoint(checkpoint) => self.checkpoint_code(row, checkpoint),
        };
        // A folder of the server begins empty, unless it is a copy.
        let filled = row.about.workspace.is_some() || restore.is_some();
        let first_state =
            (attempt == 1 && filled).then(|| (Arc::clone(&self.config), Box::new(row.clone())));
        self.workers.submit_work(WorkItem::Prepare {
            effect,
            job: row.id.clone(),
            attempt,
            workspace: self.config.workspace(row),
            records: self.config.record_folder(row),
            restore,
            first_state,
            environment: self.config.environment.clone(),
        });
        EffectProgress::Busy
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
            other.is_some_and(|other| self.index.claims().do_overlap(row, &other))
        })
    }

    /// Returns the code of a checkpoint: repository, ref, and whether the folder is new.
    fn checkpoint_code(
        &self,
        row: &JobRow,
        checkpoint: &str,
    ) -> Option<(std::path::PathBuf, String, bool)> {
        let record = self.record(checkpoint)?;
        let RecordBody::Checkpoint(saved) = record.body else {
            return None;
        };
        let owner = self.row(&record.job).ok()?;
        let repository = super::worker_pool::code_repository(&self.config, &owner).ok()?;
        Some((repository, saved.code_ref?, record.job != row.id))
    }

    /// Stops a job with too many starts in an hour. It resumes by itself when the oldest start is
    /// an hour ago.
    fn break_for_starts(&mut self, row: &JobRow, attempt: u32) {
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

    fn submit_checkpoint(&mut self, effect: u64, row: JobRow, reason: &'static str) {
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
        let log = self
            .config
            .attempt_folder(&attempt_id(&row.id, row.job.attempt));
        self.workers.submit_work(WorkItem::Snapshot {
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
    pub(super) fn remove_files(&mut self, row: JobRow, reply: ReplyCallback) {
        self.held.remove(&row.id);
        self.busy.remove(&row.id);
        self.workers.remove_task_files(row, reply);
    }

    /// Handles an outcome of the worker pool.
    pub(super) fn on_work_finished(&mut self, finished: FinishedWork) {
        let FinishedWork { effect, job, what } = finished;
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
            WorkOutcome::Done => {}
            // Unless the attempt was given up or replaced while its folder was prepared.
            WorkOutcome::Ready { attempt } => {
                if row.job.attempt == attempt
                    && row.job.process == ProcessState::Live
                    && let Err(message) = self.start_attempt(&row)
                {
                    if self.hold_effect(&job, &message, u32::MAX) {
                        return;
                    }
                    let command = Command::SpawnFailed { attempt, message };
                    advance.changes.extend(self.step(&row, command).ok());
                }
            }
            WorkOutcome::Saved { id, at, row: saved } => {
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
                JobDispatcher::add_record(&mut change, record);
                advance.changes.push(change);
            }
            WorkOutcome::Checked {
                verification,
                issues,
                files,
            } => {
                let wanted = issues.is_empty() && awaits_verification(&row, verification);
                if (wanted || self.is_verifier_started(&job, verification))
                    && self.start_verifier(effect, &row, verification, &files)
                {
                    // The verifying agent's result settles the effect.
                    self.busy.insert(job);
                    return;
                }
                let change =
                    self.record_verification(&row, verification, issues, Vec::new(), files);
                advance.changes.extend(change);
            }
            WorkOutcome::Failed(note) => {
                // An attempt needs its folder; everything else goes on without.
                let first = self.effects.get(&job).and_then(|it| it.front());
                let wanted = first.and_then(|it| Effect::deserialize(&it.body).ok());
                // Effects that a task cannot go on without are tried without end.
                let tries = match wanted {
                    Some(Effect::Spawn { .. } | Effect::Verify { .. }) => u32::MAX,
                    Some(_) | None => HELD_TRIES_MAX,
                };
                if self.hold_effect(&job, &note, tries) {
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
        self.pop_effect(&job);
        self.stage_step(advance, AfterCommit::Nothing);
    }

    /// Keeps an effect that failed for lack of a resource, to try it again soon. True if it is
    /// kept.
    fn hold_effect(&mut self, job: &str, note: &str, tries_max: u32) -> bool {
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
    pub(super) fn release_held_effects(&mut self) {
        let now = self.now();
        for (job, (_, at)) in &mut self.held {
            if *at <= now {
                *at = Timestamp(i64::MAX);
                self.busy.remove(job);
            }
        }
    }

    /// Builds the change and the records for the result of a verification.
    pub(super) fn record_verification(
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
        JobDispatcher::add_record(&mut change, record);
        Some(change)
    }
}

/// True if the job waits for this verification.
pub(super) fn awaits_verification(row: &JobRow, verification: u32) -> bool {
    matches!(row.job.state, JobState::Verifying { .. }) && row.job.verifications == verification
}

/// Returns the delivery of an effect that is settled when its number is read, or with 0 when its
/// attempt ends.
fn empty_delivery(effect: u64, number: u64) -> UnreadMessage {
    let say = Vec::new();
    UnreadMessage {
        effect,
        number,
        say,
    }
}

pub(super) fn wanted_level(want: ProcessLevel) -> WantedState {
    match want {
        ProcessLevel::Running => WantedState::Running,
        ProcessLevel::Paused => WantedState::Paused,
        ProcessLevel::Ended => WantedState::Ended,
    }
}
