//! The dispatcher: takes a batch of inputs, lets the state machines decide, commits all of it at
//! once, and then acts.

use super::commit_queue::{AfterCommit, PendingCommit};
use super::dispatch_loop::DispatchLoop;
use super::folder_claims::real_path;
use super::job_index::JobIndex;
use super::message_delivery::{UnreadMessage, is_over};
use super::outage::{FailureCounters, Outage, WatchedStore};
use super::request::{RequestError, SubmittedRequest};
use super::request_handlers::{new_id, not_found};
use super::worker_pool::{FinishedWork, WorkExecutor, WorkerPool};
use super::{
    AgentDriver, JobsConfig, Listeners, ReplyCallback, SharedConfig, Tokens, current_config,
    workspace_metadata,
};
use crate::core::attempts::{AttemptEvent, AttemptLoop};
use crate::core::output_parser::FirstMessage;
use bowline_formats::agents::{AgentProtocol, ResumePoint, TokenUsage, UsagePeriod};
use bowline_formats::markers::CriterionResult;
use bowline_machines::job::{AgentMarker, Command, Job, JobMachine, JobState, Refusal, TimerKind};
use bowline_machines::{Machine as _, Timestamp};
use bowline_store::{
    AddedSpend, EffectRow, JobAttributes, JobChange, JobRecord, JobRow, NextJobState, RecordQuery,
    SecretKey, Store, StoreError, StoreStep, TimerChange, TimerRow,
};
use bowline_words::message::ServerThing;
use serde::Deserialize as _;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Inputs decided and committed as one batch; the store writes one batch while the next is decided.
pub(super) const BATCH_INPUTS_MAX: usize = 32;
/// Pending commits beyond which the dispatcher waits.
const COMMITS_PENDING_MAX: usize = 256;
/// Longest sleep: clocks are set, and offsets of silent output have to be stored.
const TICK_MS: u64 = 1_000;

/// Input of the dispatcher.
pub(super) enum DispatcherInput {
    Request(Box<SubmittedRequest>, ReplyCallback),
    AgentEvent(AttemptEvent),
    Finished(Box<FinishedWork>),
    /// Another user of the store found it damaged.
    Damaged(Outage),
    Stop(Sender<()>),
}

impl std::fmt::Debug for DispatcherInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DispatcherInput::Request(asked, _) => write!(f, "Asked({:?})", asked.request),
            DispatcherInput::AgentEvent(news) => write!(f, "News({})", news.id),
            DispatcherInput::Finished(it) => write!(f, "Finished({} {})", it.effect, it.job),
            DispatcherInput::Damaged(outage) => write!(f, "Damaged({})", outage.reason),
            DispatcherInput::Stop(_) => f.write_str("Stop"),
        }
    }
}

/// An attempt that may have a process.
#[derive(Debug)]
pub(super) struct AttemptProgress {
    pub(super) job: String,
    /// Number of the attempt; for a verifying agent, of the verification.
    pub(super) number: u32,
    pub(super) verifies: bool,
    /// Start of a verifying agent, or when it was found again.
    pub(super) since: i64,
    /// True if this process started it and therefore knows why a start failed.
    pub(super) begun_here: bool,
    pub(super) first_message: FirstMessage,
    /// Offset and resume point of processed output that are not stored yet.
    pub(super) unwritten: Option<(u64, ResumePoint)>,
    /// Messages handed over that it has not read, and the number up to which it has read.
    pub(super) handed_over: Vec<UnreadMessage>,
    pub(super) read: u64,
    /// For a verifying agent: its protocol, result and usage.
    pub(super) protocol: AgentProtocol,
    pub(super) found: Option<Vec<CriterionResult>>,
    /// For a verifying agent: the files that the phase produced.
    pub(super) files: Vec<String>,
    pub(super) used: ProcessUsage,
}

/// Usage of one process.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProcessUsage {
    pub(super) tokens: u64,
    pub(super) usd: f64,
}

impl ProcessUsage {
    pub(super) fn add_usage(&mut self, usage: TokenUsage) {
        let total = usage.input.saturating_add(usage.output);
        self.tokens = match usage.since {
            UsagePeriod::Turn => self.tokens.saturating_add(total),
            UsagePeriod::Session => total,
        };
        // Clients report the cost of their process so far.
        self.usd = usage.cost_usd.unwrap_or(self.usd);
    }
}

pub(super) struct JobDispatcher {
    /// Configuration as of the start of this round.
    pub(super) config: Arc<JobsConfig>,
    /// Source of the configuration, if it can change.
    shared: Option<SharedConfig>,
    pub(super) store: WatchedStore,
    pub(super) key: SecretKey,
    pub(super) failures: Arc<FailureCounters>,
    pub(super) attempts: Box<dyn AgentDriver>,
    pub(super) workers: Box<dyn WorkExecutor>,
    pub(super) tokens: Tokens,
    pub(super) listeners: Listeners,
    /// Every job that is not over, and jobs that were just read.
    pub(super) rows: BTreeMap<String, JobRow>,
    /// Jobs whose removal is decided and not durable yet: the store still has them.
    pub(super) removed: BTreeSet<String>,
    /// Records that wait for a person, and those changed since the last commit.
    pub(super) open: BTreeMap<String, JobRecord>,
    pub(super) timers: BTreeMap<(String, String), TimerRow>,
    /// Effects to execute, by job, in order.
    pub(super) effects: BTreeMap<String, VecDeque<EffectRow>>,
    /// Jobs whose first effect is in the worker pool.
    pub(super) busy: BTreeSet<String>,
    /// Jobs whose effect failed for lack of a resource: number of tries, and time of the next one.
    pub(super) held: BTreeMap<String, (u32, Timestamp)>,
    /// Effects of running verifications, by job.
    pub(super) verifying: BTreeMap<String, u64>,
    pub(super) live: BTreeMap<String, AttemptProgress>,
    /// Messages that ended attempts have not read, by job, in order.
    pub(super) unread: BTreeMap<String, Vec<UnreadMessage>>,
    /// Jobs and timers by what is next for them.
    pub(super) index: JobIndex,
    /// Jobs whose metadata file must be rewritten once their change is durable.
    pub(super) stale_metadata: BTreeSet<String>,
    /// Jobs whose client requested a permission since rules were last applied.
    pub(super) asking: BTreeSet<String>,
    pub(super) batch: Vec<(StoreStep, AfterCommit)>,
    pub(super) requests: BTreeSet<String>,
    /// Pending commits, the oldest first.
    pub(super) commits: VecDeque<PendingCommit>,
    /// Wakes the dispatcher when a commit is durable.
    pub(super) wake: Arc<dyn Fn() + Send + Sync>,
    /// True if the batch is a single request: it is committed on this thread.
    pub(super) alone: bool,
    /// Set when the store failed: nothing is decided any more, and a new dispatcher continues from
    /// what is durable.
    pub(super) broken: Option<Outage>,
}

impl JobDispatcher {
    pub(super) fn open(
        shared: SharedConfig,
        store: Arc<dyn Store>,
        key: SecretKey,
        dispatch_loop: &Arc<DispatchLoop>,
        listeners: Listeners,
        tokens: Tokens,
        workers: Arc<WorkerPool>,
    ) -> Result<JobDispatcher, Outage> {
        let config = current_config(&shared);
        let (news, flushed) = (dispatch_loop.clone(), dispatch_loop.clone());
        // A dispatcher that has ended drops events; the next one finds the agents.
        let retries = &dispatch_loop.failures.retries;
        let attempts =
            AttemptLoop::spawn_counting_retries(config.shim.clone(), retries, move |it| {
                drop(news.submit(DispatcherInput::AgentEvent(it)));
            });
        let attempts = attempts.map_err(|error| Outage::from_error(&error))?;
        let wake = Arc::new(move || flushed.on_flushed());
        let dispatcher =
            JobDispatcher::with_drivers(config, store, key, Box::new(attempts), Box::new(workers))?;
        Ok(JobDispatcher {
            shared: Some(shared),
            listeners,
            tokens,
            wake,
            failures: dispatch_loop.failures.clone(),
            ..dispatcher
        })
    }

    /// Releases agents and store. Every agent goes on; requests that are not durable are refused.
    pub(super) fn close(mut self, outage: Outage) {
        self.broken.get_or_insert(outage);
        self.refuse_pending();
        self.attempts.release_agents();
    }

    /// Creates a dispatcher on given drivers of agents and workers.
    pub(super) fn with_drivers(
        config: Arc<JobsConfig>,
        store: Arc<dyn Store>,
        key: SecretKey,
        attempts: Box<dyn AgentDriver>,
        workers: Box<dyn WorkExecutor>,
    ) -> Result<JobDispatcher, Outage> {
        for folder in ["attempts", "workspaces", "tasks", "side", "archives"] {
            std::fs::create_dir_all(config.data.join(folder))
                .map_err(|error| Outage::from_error(&error))?;
        }
        let index = JobIndex::new(&config.data);
        let mut dispatcher = JobDispatcher {
            config,
            shared: None,
            key,
            attempts,
            workers,
            tokens: Tokens::default(),
            listeners: Listeners::default(),
            rows: BTreeMap::new(),
            removed: BTreeSet::new(),
            open: BTreeMap::new(),
            timers: BTreeMap::new(),
            effects: BTreeMap::new(),
            busy: BTreeSet::new(),
            held: BTreeMap::new(),
            verifying: BTreeMap::new(),
            live: BTreeMap::new(),
            unread: BTreeMap::new(),
            index,
            stale_metadata: BTreeSet::new(),
            asking: BTreeSet::new(),
            batch: Vec::new(),
            requests: BTreeSet::new(),
            commits: VecDeque::new(),
            wake: Arc::new(|| {}),
            alone: false,
            broken: None,
            failures: Arc::default(),
            store: WatchedStore::new(store),
        };
        dispatcher
            .load_rows()
            .map_err(|error| Outage::from_error(&error))?;
        dispatcher
            .finish_removals()
            .map_err(|error| Outage::from_error(&error))?;
        Ok(dispatcher)
    }

    /// Deletes files of removed tasks that an earlier process did not get to.
    fn finish_removals(&mut self) -> Result<(), StoreError> {
        for row in workspace_metadata::noted_removals(&self.config) {
            match self.store.find_job(&row.id)? {
                Some(_) => workspace_metadata::forget_removal(&self.config, &row.id),
                None => self.remove_files(row, Box::new(|_| {})),
            }
        }
        Ok(())
    }

    /// Loads everything that is not over from the store.
    fn load_rows(&mut self) -> Result<(), StoreError> {
        for mut row in self.store.open_jobs()? {
            if row.about.real_workspace.is_none() {
                resolve_workspace(&mut row);
            }
            self.index.update_job(None, Some(&row));
            self.rows.insert(row.id.clone(), row);
        }
        let open = RecordQuery {
            open: true,
            ..RecordQuery::default()
        };
        for record in self.store.list_records(&open)? {
            self.open.insert(record.id.clone(), record);
        }
        for timer in self.store.list_timers()? {
            self.index.update_timer(None, Some(&timer));
            self.timers
                .insert((timer.job.clone(), timer.key.clone()), timer);
        }
        for effect in self.store.open_effects()? {
            let of = self.effects.entry(effect.job.clone()).or_default();
            of.push_back(effect);
        }
        Ok(())
    }

    pub(super) fn now(&self) -> Timestamp {
        #[cfg(test)]
        if let Some(now) = super::simulation::now() {
            return now;
        }
        self.config.clock.now()
    }

    /// Continues with the state found in the store and on the machine.
    pub(super) fn resume_jobs(&mut self) {
        self.reconcile();
        self.run_until_idle();
    }

    /// Processes a batch of inputs: decides, commits and acts. Returns the sender of a request to
    /// stop.
    pub(super) fn run_round(&mut self, together: Vec<DispatcherInput>) -> Option<Sender<()>> {
        if let Some(shared) = &self.shared {
            self.config = current_config(shared);
        }
        let mut stop = None;
        for input in together {
            match input {
                DispatcherInput::Request(asked, reply) => self.on_request(*asked, reply),
                DispatcherInput::AgentEvent(news) => {
                    self.await_commits();
                    self.on_agent_event(news);
                }
                DispatcherInput::Finished(finished) => {
                    self.await_commits();
                    self.on_work_finished(*finished);
                }
                DispatcherInput::Damaged(outage) => drop(self.broken.get_or_insert(outage)),
                DispatcherInput::Stop(answer) => stop = Some(answer),
            }
        }
        self.store_offsets();
        self.report_silent_clients();
        self.run_until_idle();
        if stop.is_some() {
            self.commit_and_wait();
        }
        stop
    }

    /// Decides, commits and acts until nothing is left to do at once.
    fn run_until_idle(&mut self) {
        self.release_held_effects();
        loop {
            self.fire_timers();
            self.assign_agents();
            self.evict_stopped_agents();
            self.end_verifiers();
            self.apply_rules();
            if self.is_quiet() {
                self.start_next_commit(self.commits.len() >= COMMITS_PENDING_MAX);
                return;
            }
            self.commit_and_wait();
            if self.broken.is_some() {
                return;
            }
            self.execute_effects();
            if self.batch.is_empty() {
                return;
            }
        }
    }

    /// Returns the time until something is due by itself.
    pub(super) fn time_to_next(&self) -> Duration {
        let now = self.now().0;
        let next = match self.is_full() {
            false => self.index.next_timer(Timestamp(i64::MIN)),
            // A due job that waits for a free slot is looked at when there is one.
            true => self.index.next_timer(Timestamp(now)),
        };
        let next = next.map(|due| due.0 - now);
        let due = self.effects.values().filter_map(VecDeque::front);
        let due = due
            .map(|effect| effect.due.0 - now)
            .filter(|left| *left > 0);
        let next = next.into_iter().chain(due).min().unwrap_or(i64::MAX);
        let ms = u64::try_from(next.max(0))
            .unwrap_or(0)
            .saturating_mul(1_000);
        Duration::from_millis(ms.clamp(10, TICK_MS))
    }

    /// Returns a job from memory or from the store.
    pub(super) fn row(&self, id: &str) -> Result<JobRow, RequestError> {
        if let Some(row) = self.rows.get(id) {
            return Ok(row.clone());
        }
        let kept = match self.removed.contains(id) {
            true => None,
            false => self.store.find_job(id)?,
        };
        kept.ok_or_else(|| not_found(ServerThing::Task, id))
    }

    /// Returns a record as it will be once everything is committed.
    pub(super) fn record(&self, id: &str) -> Option<JobRecord> {
        let known = self.open.get(id).cloned();
        known.or_else(|| self.store.find_record(id).ok().flatten())
    }

    /// Lets the state machine decide and builds the store change.
    pub(super) fn step(&self, row: &JobRow, command: Command) -> Result<JobChange, RequestError> {
        let at = self.now();
        let step = JobMachine::step(&row.job, command, at)?;
        Ok(self.build_store_change(
            row,
            step.next,
            JobAttributes::clone(&row.about),
            step.effects,
            at,
        ))
    }

    /// Adds a decided step to the next commit. Rows in memory change as if it were durable.
    pub(super) fn stage_step(&mut self, mut advance: StoreStep, after: AfterCommit) {
        for change in &mut advance.changes {
            change.spent = self.usage_added(change);
            if matches!(&change.next, NextJobState::Is(job, _) if is_over(job))
                && let Some(unread) = self.unread.remove(&change.job)
            {
                self.settle_withdrawn(&unread, change, &mut advance.settled);
            }
        }
        for change in &advance.changes {
            let mut version = change.expected;
            match &change.next {
                NextJobState::Is(job, about) => {
                    version += 1;
                    if !job.permissions.is_empty() {
                        self.asking.insert(change.job.clone());
                    }
                    let row = JobRow {
                        id: change.job.clone(),
                        version,
                        job: Arc::clone(job),
                        about: Arc::clone(about),
                    };
                    let before = self.rows.get(&row.id);
                    if changes_metadata(before, &row) {
                        self.stale_metadata.insert(row.id.clone());
                    }
                    self.index.update_job(before, Some(&row));
                    if matches!(row.job.state, JobState::Completed { .. }) {
                        let waiting = self.store.dependents_of(&row.id).unwrap_or_default();
                        let waiting = waiting.iter().filter_map(|id| self.rows.get(id));
                        waiting.for_each(|row| self.index.enqueue_pending(row));
                    }
                    self.rows.insert(row.id.clone(), row);
                }
                NextJobState::Same => {}
                NextJobState::Gone => {
                    self.forget_job(&change.job);
                    self.removed.insert(change.job.clone());
                }
            }
            for record in &change.records {
                self.open.insert(record.id.clone(), record.clone());
            }
            for timer in &change.timers {
                match timer {
                    TimerChange::Set { key, due, body } => {
                        let row = TimerRow {
                            job: change.job.clone(),
                            key: key.clone(),
                            generation: version,
                            due: *due,
                            body: body.clone(),
                        };
                        let place = (change.job.clone(), key.clone());
                        self.index.update_timer(self.timers.get(&place), Some(&row));
                        self.timers.insert(place, row);
                    }
                    TimerChange::Clear { key } | TimerChange::Fired { key, .. } => {
                        let gone = self.timers.remove(&(change.job.clone(), key.clone()));
                        self.index.update_timer(gone.as_ref(), None);
                    }
                }
            }
        }
        if let Some(request) = &advance.request {
            self.requests.insert(request.id.clone());
        }
        self.batch.push((advance, after));
    }

    /// Drops everything about a job from memory.
    pub(super) fn forget_job(&mut self, job: &str) {
        let before = self.rows.remove(job);
        self.index.update_job(before.as_ref(), None);
        self.effects.remove(job);
        self.unread.remove(job);
        self.open.retain(|_, record| record.job != job);
        for key in self.timer_keys(job) {
            let gone = self.timers.remove(&(job.to_owned(), key));
            self.index.update_timer(gone.as_ref(), None);
        }
    }

    /// Returns the keys of a job's timers.
    pub(super) fn timer_keys(&self, job: &str) -> Vec<String> {
        let of = self.timers.range((job.to_owned(), String::new())..);
        let of = of.take_while(|((owner, _), _)| owner == job);
        of.map(|((_, key), _)| key.clone()).collect()
    }

    /// Returns the usage that a change adds, so that it is stored together with its cause.
    fn usage_added(&self, change: &JobChange) -> Option<AddedSpend> {
        let NextJobState::Is(job, about) = &change.next else {
            return None;
        };
        if job.tokens == 0 && about.total_cost_usd() == 0.0 {
            return None;
        }
        let before = self.row(&change.job).ok()?;
        let tokens = job.tokens.saturating_sub(before.job.tokens);
        let usd = (about.total_cost_usd() - before.about.total_cost_usd()).max(0.0);
        let agent = about.agent.as_ref().unwrap_or(&self.config.default_agent);
        (tokens > 0 || usd > 0.0).then(|| AddedSpend {
            agent: agent.clone(),
            tokens,
            usd,
        })
    }

    /// Stages one change that has no caller waiting for it.
    pub(super) fn stage_change(&mut self, change: JobChange) {
        let mut advance = StoreStep::empty_at(self.now());
        advance.changes.push(change);
        self.stage_step(advance, AfterCommit::Nothing);
    }

    /// Fires every timer that is due, once.
    fn fire_timers(&mut self) {
        let now = self.now();
        let due = self.index.timers_until(now);
        let due: Vec<TimerRow> = due
            .filter_map(|place| self.timers.get(place).cloned())
            .collect();
        for timer in due {
            let Ok(mut row) = self.row(&timer.job) else {
                let gone = self.timers.remove(&(timer.job, timer.key));
                self.index.update_timer(gone.as_ref(), None);
                continue;
            };
            let fired = TimerChange::Fired {
                key: timer.key.clone(),
                generation: timer.generation,
            };
            let kind = TimerKind::deserialize(&timer.body).ok();
            if kind == Some(TimerKind::RateLimitReset) && self.is_full() {
                // A job that resumes by itself waits for a slot, and gets it before new jobs.
                continue;
            }
            let command = kind.and_then(|kind| {
                Some(match kind {
                    TimerKind::Scheduled => return None,
                    TimerKind::RateLimitReset => Command::RateLimitReset,
                    TimerKind::Checkpoint => Command::CheckpointDue,
                    TimerKind::Silence => {
                        let silent = now.0 - self.last_output_at(&row);
                        if silent < row.job.limits.silence_s {
                            return None;
                        }
                        Command::Stuck {
                            attempt: row.job.attempt,
                        }
                    }
                    TimerKind::Turn => {
                        if !row.about.turn_over {
                            return None;
                        }
                        // Input that seemed unanswered was taken into the turn that ended.
                        row.attributes_mut().prompts_open = 0;
                        Command::MarkerRead {
                            attempt: row.job.attempt,
                            marker: AgentMarker::TurnEnded {
                                question: new_id("q"),
                            },
                        }
                    }
                    TimerKind::Question { id } => Command::QuestionTimeout { question: id },
                    TimerKind::Dependency { id } => Command::DependencyTimeout { dependency: id },
                })
            });
            let decided = command.and_then(|command| self.step(&row, command).ok());
            let mut change = decided.unwrap_or_else(|| {
                let mut same = JobChange::replace_state(
                    &row.id,
                    row.version,
                    row.job.clone(),
                    row.about.clone(),
                );
                if timer.key == TimerKind::Silence.name() && row.job.state == JobState::Running {
                    // There was output since: checked again when that is as long ago.
                    same.timers.push(TimerChange::Set {
                        key: timer.key.clone(),
                        due: Timestamp(self.last_output_at(&row) + row.job.limits.silence_s),
                        body: timer.body.clone(),
                    });
                }
                same
            });
            // Inserted first, so that a timer set anew by the same step stays.
            change.timers.insert(0, fired);
            self.stage_change(change);
        }
    }

    /// True if as many agents work as may.
    fn is_full(&self) -> bool {
        self.index.working_count() >= self.config.slots as usize
    }

    /// Returns when the agent of a job last printed something, as far as known.
    fn last_output_at(&self, row: &JobRow) -> i64 {
        row.about.output_at.or(row.about.attempt_at).unwrap_or(0)
    }

    /// Assigns agents to queued jobs, the most urgent and oldest first, while slots are free.
    fn assign_agents(&mut self) {
        while !self.is_full() {
            let Some(mut row) = self
                .index
                .next_queued()
                .and_then(|id| self.rows.get(id))
                .cloned()
            else {
                return;
            };
            resolve_workspace(&mut row);
            let done = |id: &&String| {
                let row = self.row(id);
                row.is_ok_and(|row| matches!(row.job.state, JobState::Completed { .. }))
            };
            let completed = row.job.depends_on.iter().filter(done).cloned().collect();
            let held_by = self.index.claims().task_waited_for(&row);
            match self.step(&row, Command::Assign { completed, held_by }) {
                Ok(change) => self.stage_change(change),
                Err(RequestError::Rule(Refusal::WorkspaceBusy { .. })) => {
                    self.index.wait_for_folder(&row);
                }
                // It waits for its time or for another job; either of them wakes it.
                Err(_) => self.index.dequeue(&row),
            }
        }
    }

    /// Evicts stopped agents beyond four times the slots, the longest waiting first.
    fn evict_stopped_agents(&mut self) {
        let kept = self.config.slots as usize * 4;
        let beyond = self.index.stopped_agents().len().saturating_sub(kept);
        let longest: Vec<String> = self
            .index
            .stopped_agents()
            .iter()
            .take(beyond)
            .map(|(_, id)| id.clone())
            .collect();
        for id in longest {
            let Ok(row) = self.row(&id) else { continue };
            let attempt = row.job.attempt;
            if let Ok(change) = self.step(&row, Command::EvictStoppedAgent { attempt }) {
                self.stage_change(change);
            }
        }
    }
}

/// Stores the real path of a folder that a person named: links may have changed.
pub(super) fn resolve_workspace(row: &mut JobRow) {
    let Some(named) = &row.about.workspace else {
        return;
    };
    let real = real_path(Path::new(named)).to_string_lossy().into_owned();
    if row.about.real_workspace.as_ref() != Some(&real) {
        row.attributes_mut().real_workspace = Some(real);
    }
}

/// True if the metadata file of a job has to be rewritten after this change.
fn changes_metadata(before: Option<&JobRow>, row: &JobRow) -> bool {
    let metadata_facts = |job: &Job| {
        (
            job.task_status(),
            job.agent_status(),
            job.phase,
            job.archived,
        )
    };
    row.job.state != JobState::Draft
        && before.is_none_or(|it| metadata_facts(&it.job) != metadata_facts(&row.job))
}
