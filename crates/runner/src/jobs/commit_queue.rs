//! Pending commits: decided steps become durable first, and only then are answered, published and
//! executed.
//!
//! Requests are decided optimistically on top of the batch being flushed. Replies are held until
//! that batch is durable; if it fails, they fail with it. This holds for requests only: events of
//! agents, results of the worker pool and effects are acted on at once, and wait until no commit is
//! pending.

use super::ReplyCallback;
use super::dispatcher::JobDispatcher;
use super::outage::Outage;
use super::request::{JobResponse, RequestError};
use super::request_handlers::not_found;
use bowline_formats::agents::ResumePoint;
use bowline_machines::job::{Job, JobState};
use bowline_store::{CommitHandle, CommitOutcome, JobChange, JobRow, Store as _, StoreStep};
use bowline_words::message::ServerThing;
use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Action that follows once a step is durable.
pub(super) enum AfterCommit {
    Nothing,
    Reply(ReplyCallback, PendingReply),
    /// The job is removed: its files are deleted too.
    Remove(ReplyCallback, Box<JobRow>),
    Processed {
        attempt: String,
        upto: u64,
        resume: ResumePoint,
    },
}

impl AfterCommit {
    /// Refuses the caller: the step is not known to be durable.
    fn refuse_caller(self, refused: impl FnOnce() -> RequestError) {
        if let AfterCommit::Reply(reply, _) | AfterCommit::Remove(reply, _) = self {
            reply(Err(refused()));
        }
    }
}

/// Content of the response to a request.
#[derive(Default)]
pub(super) struct PendingReply {
    pub(super) job: Option<String>,
    pub(super) made: Option<String>,
    /// The job as it is with the whole batch committed.
    pub(super) row: Option<Box<JobRow>>,
}

/// A batch of steps that is being made durable.
pub(super) struct PendingCommit {
    advancing: CommitHandle,
    afters: Vec<AfterCommit>,
    /// For each step, its job if it is about one job alone.
    subjects: Vec<Option<String>>,
    requests: BTreeSet<String>,
    /// Jobs and records that the batch changes: until it is durable, only memory has them as they
    /// are.
    jobs: BTreeSet<String>,
    records: BTreeSet<String>,
    /// Jobs whose metadata file must be rewritten then.
    stale_metadata: Vec<JobRow>,
}

impl JobDispatcher {
    /// True if a request waits to be committed.
    pub(super) fn is_staged(&self, request: &str) -> bool {
        let mut under_way = self.commits.iter();
        self.requests.contains(request) || under_way.any(|it| it.requests.contains(request))
    }

    /// True if no effect is pending or decided: requests may then be decided while the batch is
    /// flushed.
    pub(super) fn is_quiet(&self) -> bool {
        let quiet = |change: &JobChange| change.effects.is_empty();
        self.effects.is_empty()
            && (self.batch.iter()).all(|(step, _)| step.changes.iter().all(quiet))
    }

    /// Commits everything decided and waits; then replies, publishes and queues effects.
    pub(super) fn commit_and_wait(&mut self) {
        self.start_next_commit(true);
    }

    /// Waits for the pending commits. Everything that acts at once, and not by an effect, begins
    /// with this.
    pub(super) fn await_commits(&mut self) {
        if !self.commits.is_empty() {
            self.commit_and_wait();
        }
    }

    /// Commits what was decided and finishes the commits that are durable; with `wait`, all of
    /// them. The store flushes batches that queue up meanwhile together and in order, because each
    /// rests on the one before and fails with it.
    pub(super) fn start_next_commit(&mut self, wait: bool) {
        // Decisions after a failed read are worthless.
        self.broken = self.broken.take().or_else(|| self.store.failure());
        if self.broken.is_none() && !self.batch.is_empty() {
            let commit = self.start_commit();
            self.commits.push_back(commit);
        }
        while self.broken.is_none()
            && let Some(commit) = self.commits.front_mut()
        {
            let Some(answer) = (commit.advancing)(wait) else {
                return;
            };
            let outcomes = answer.unwrap_or_else(|error| {
                self.broken = Some(Outage::from_error(&error));
                Vec::new()
            });
            // Only this dispatcher writes: otherwise another process has the store, or it is not
            // what it was.
            let expected = |(it, subject): (&CommitOutcome, &Option<String>)| match it {
                CommitOutcome::Applied { .. } => true,
                it => is_about_removed(it, subject),
            };
            let mut each = outcomes.iter().zip(&commit.subjects);
            if let Some((other, _)) = each.find(|it| !expected(*it)) {
                let reason = format!("the store went another way: {other}");
                self.broken = Some(Outage::fault(reason));
            }
            if let Some(commit) = self.commits.pop_front() {
                self.on_committed(commit, outcomes);
            }
        }
        self.refuse_pending();
    }

    /// Refuses everything that waits to be durable, once the store has failed.
    pub(super) fn refuse_pending(&mut self) {
        let Some(outage) = &self.broken else {
            return;
        };
        let mut under_way: Vec<PendingCommit> = std::mem::take(&mut self.commits).into();
        for commit in &mut under_way {
            // The store may commit it all the same: the next dispatcher must find it done or not.
            let _ = (commit.advancing)(true);
        }
        let decided = std::mem::take(&mut self.batch).into_iter();
        let under_way = under_way.into_iter().flat_map(|it| it.afters);
        for after in under_way.chain(decided.map(|(_, after)| after)) {
            after.refuse_caller(|| outage.clone().into());
        }
    }

    fn start_commit(&mut self) -> PendingCommit {
        let (steps, mut afters): (Vec<StoreStep>, Vec<AfterCommit>) =
            std::mem::take(&mut self.batch).into_iter().unzip();
        let subjects = steps.iter().map(|step| match step.changes.as_slice() {
            [change] => Some(change.job.clone()),
            _ => None,
        });
        let subjects = subjects.collect();
        let (mut jobs, mut records) = (BTreeSet::new(), BTreeSet::new());
        for change in steps.iter().flat_map(|step| &step.changes) {
            jobs.insert(change.job.clone());
            records.extend(change.records.iter().map(|record| record.id.clone()));
        }
        for after in &mut afters {
            if let AfterCommit::Reply(_, answer) = after {
                let row = answer.job.as_ref().and_then(|id| self.row(id).ok());
                answer.row = row.map(Box::new);
            }
        }
        let stale_metadata = std::mem::take(&mut self.stale_metadata).into_iter();
        let stale_metadata = stale_metadata
            .filter_map(|id| self.rows.get(&id).cloned())
            .collect();
        let advancing: CommitHandle = if self.alone && steps.len() == 1 && self.commits.is_empty() {
            let mut answer = Some(self.store.commit_steps(steps));
            Box::new(move |_| answer.take())
        } else {
            let wake = self.wake.clone();
            self.store.begin_commit(steps, Box::new(move || wake()))
        };
        PendingCommit {
            advancing,
            afters,
            subjects,
            requests: std::mem::take(&mut self.requests),
            jobs,
            records,
            stale_metadata,
        }
    }

    /// Acts on a batch that is durable. Steps without an outcome are not.
    fn on_committed(&mut self, commit: PendingCommit, outcomes: Vec<CommitOutcome>) {
        if self.broken.is_none() {
            let at = self.now();
            for row in commit.stale_metadata {
                self.workers.rewrite_metadata(row, at);
            }
        }
        self.publish_events(&outcomes);
        let mut outcomes = outcomes.into_iter();
        for (after, subject) in commit.afters.into_iter().zip(commit.subjects) {
            let effects = match (outcomes.next(), &self.broken) {
                (Some(CommitOutcome::Applied { effects, .. }), _) => effects,
                (_, Some(outage)) => {
                    after.refuse_caller(|| outage.clone().into());
                    continue;
                }
                // A step about a removed job changes nothing; the other steps go on.
                (_, None) => {
                    let job = subject.unwrap_or_default();
                    self.failures.dropped_steps.fetch_add(1, Ordering::Relaxed);
                    self.forget_job(&job);
                    after.refuse_caller(|| not_found(ServerThing::Task, &job));
                    continue;
                }
            };
            for effect in effects {
                let of = self.effects.entry(effect.job.clone()).or_default();
                of.push_back(effect);
            }
            match after {
                AfterCommit::Nothing => {}
                AfterCommit::Reply(reply, PendingReply { row, made, .. }) => {
                    let row = row.map(|row| *row);
                    reply(Ok(JobResponse { row, made }));
                }
                AfterCommit::Remove(reply, row) => self.remove_files(*row, reply),
                AfterCommit::Processed {
                    attempt,
                    upto,
                    resume,
                } => self.attempts.acknowledge_output(&attempt, upto, resume),
            }
        }
        // A job that is over leaves memory, unless a pending commit changes it.
        let over =
            |job: &Job| matches!(job.state, JobState::Completed { .. } | JobState::Failed(_));
        for id in commit.jobs {
            // Its removal is durable, or none was decided: the store knows.
            if !self.commits.iter().any(|it| it.jobs.contains(&id)) {
                self.removed.remove(&id);
            }
            let is_over = self.rows.get(&id).is_some_and(|row| over(&row.job));
            if is_over && !self.commits.iter().any(|it| it.jobs.contains(&id)) {
                let gone = self.rows.remove(&id);
                self.index.update_job(gone.as_ref(), None);
            }
        }
        for id in commit.records {
            let is_over = self.open.get(&id).is_some_and(|record| !record.open);
            if is_over && !self.commits.iter().any(|it| it.records.contains(&id)) {
                self.open.remove(&id);
            }
        }
    }

    fn publish_events(&self, outcomes: &[CommitOutcome]) {
        let listeners = self.listeners.lock();
        let mut listeners = listeners.unwrap_or_else(PoisonError::into_inner);
        if listeners.is_empty() {
            return;
        }
        for outcome in outcomes {
            let CommitOutcome::Applied { events, .. } = outcome else {
                continue;
            };
            for event in events {
                listeners.retain(|it| it.send(event.clone()).is_ok());
            }
        }
    }
}

/// True if a step was not applied because its only job had been removed.
fn is_about_removed(outcome: &CommitOutcome, subject: &Option<String>) -> bool {
    matches!(outcome, CommitOutcome::Conflict { job, version: 0 } if subject.as_ref() == Some(job))
}
