//! Decides what a run does next. It never waits and never does I/O: events come in, orders go out
//! through [`ConductorPorts`].
//!
//! Everything needed after a crash is durable before it is acted upon: the state file has the
//! tasks, the notes have their attempts.

mod landings;
mod outcomes;
mod starts;

use super::ports::{
    ConductorEvent, ConductorPorts, FileOverlap, GitJob, RunError, RunNotice, RunRequest,
    TaskAgentEvent,
};
use super::repo::WorktreeOutcome;
use super::task_record::{TaskRecord, TaskStage};
use crate::core::breakers::{CircuitBreakers, StartWindow, add_start};
use crate::core::failure::FailureReason;
use crate::core::output_parser::FirstMessage;
use crate::core::retry::{RetryDecision, next_attempt};
use bowline_engine::machines::orchestrate::{
    Command, NextWork, NodeId, NodeStatus, PhaseEnd, next_work,
};
use bowline_engine::supervisor::WantedState;
use bowline_words::Lang;
use bowline_words::message::Reason;
use outcomes::exhausted_limit;
use std::collections::{BTreeMap, BTreeSet};

/// Conflicts in a row that a task's agent may fail to resolve before a person has to.
const CONFLICTS_MAX: u32 = 3;
/// Time that a leaving run stays, so that it can be asked to end its agents too.
const LEAVE_GRACE_MS: i64 = 1_000;
/// Wait between two tries of a blocked landing.
const BLOCKED_MS: i64 = 2_000;
/// Tries of a blocked landing before the run ends and reports it.
const BLOCKED_TRIES_MAX: u32 = 15;
/// The longest wait before a failed task is retried.
const BACKOFF_MS_MAX: i64 = 60_000;
/// Wait between two checks of a machine that is short of a resource.
const SHORT_MS: i64 = 5_000;
/// Errors of git in one worktree before it is recreated.
const GIT_ERRORS_MAX: u32 = 2;
/// Attempts of one task in a row that never started before that counts as a failure.
const NEVER_STARTED_MAX: u32 = 3;

/// Limits and policies of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRules {
    /// Tasks worked on at once at most, whatever the state file allows.
    pub tasks_max: usize,
    /// The run ends after this phase.
    pub last_phase: Option<u32>,
    /// Each task is repeated until the agent prints the promise.
    pub ralph: bool,
    /// Repetitions at most in mode ralph.
    pub iterations_max: u32,
    /// Wait before the first retry.
    pub backoff_ms: i64,
    /// Budgets of one task and of all tasks together.
    pub breakers: CircuitBreakers,
    /// Wait between two looks at a pull request.
    pub proposal_ms: i64,
    /// Tasks may start on work that has not landed yet.
    pub stack: bool,
    /// Tasks that land at once at most: one if they land on a branch.
    pub landings_max: usize,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// Every phase is finished, or all that were asked for.
    AllDone,
    /// No task can continue without a person.
    Stalled,
    /// A phase did not land, or a landing is blocked.
    Stuck { why: FailureReason },
    /// A person asked the run to leave; agents may continue.
    Left,
}

impl std::fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunOutcome::AllDone => f.write_str("all done"),
            RunOutcome::Stalled => f.write_str("stalled"),
            RunOutcome::Stuck { why } => write!(f, "stuck: {}", why.render_line(Lang::En)),
            RunOutcome::Left => f.write_str("left"),
        }
    }
}

/// A task that is being worked on: preparing, running or landing.
#[derive(Debug)]
struct RunningTask {
    note: TaskRecord,
    /// Start of the current attempt, in milliseconds since 1970.
    since_ms: i64,
    last_output_ms: i64,
    done: bool,
    promised: bool,
    failed: Option<FailureReason>,
    limited: Option<i64>,
    /// The reason, if the conductor ended the attempt.
    end_reason: Option<FailureReason>,
    /// A person ended the task for good.
    given_up: bool,
    /// Dollars of this attempt that the note already includes.
    usd: f64,
    /// Time of the next try of a blocked landing, and the number of tries so far.
    blocked: Option<(i64, u32)>,
    never_started: u32,
    first_message: FirstMessage,
}

impl RunningTask {
    fn new(note: TaskRecord, now: i64) -> RunningTask {
        RunningTask {
            note,
            since_ms: now,
            last_output_ms: now,
            done: false,
            promised: false,
            failed: None,
            limited: None,
            end_reason: None,
            given_up: false,
            usd: 0.0,
            blocked: None,
            never_started: 0,
            first_message: FirstMessage::start_wait(now),
        }
    }

    /// True if an agent is working on the task.
    fn has_agent(&self) -> bool {
        self.note.stage == TaskStage::Running
    }

    /// True if an agent starts as soon as the worktree is ready.
    fn is_due(&self) -> bool {
        self.note.stage == TaskStage::Room && self.note.parked_until_ms.is_none()
    }
}

/// State machine that schedules the tasks of a run.
#[derive(Debug)]
pub struct Conductor {
    rules: RunRules,
    running: BTreeMap<NodeId, RunningTask>,
    /// Ready tasks that wait for a retry, and until when.
    resting: BTreeMap<NodeId, i64>,
    /// Time until which an agent's rate limit holds, by agent.
    limits: BTreeMap<String, i64>,
    starts: StartWindow,
    /// The reasons of tasks that failed for good in this run.
    failure_reasons: BTreeMap<NodeId, FailureReason>,
    /// Time of the next check while the machine is short of a resource.
    short_until: Option<i64>,
    /// The shortage was reported to people.
    shortage_reported: bool,
    /// Tasks to land, in order of arrival.
    queue: Vec<NodeId>,
    /// Tasks whose landing is in progress.
    landing: BTreeSet<NodeId>,
    /// Files in which running tasks met a conflict, oldest conflict first. These tasks land before
    /// others that change the files.
    reserved: Vec<FileOverlap>,
    /// Tasks to land that wait for others to land reserved files first, with those others.
    held: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// Pairs of tasks with predicted conflicts, the smaller id first.
    overlaps: BTreeSet<(NodeId, NodeId)>,
    /// Paths that running tasks declare to change, if they declare any.
    touching: BTreeMap<NodeId, Vec<String>>,
    finishing: Option<u32>,
    phase_blocked: Option<(i64, u32)>,
    paused: bool,
    /// Time at which the run leaves, once it was asked to.
    leaving: Option<i64>,
    ending: bool,
    stuck: Option<FailureReason>,
}

impl Conductor {
    /// Creates a conductor without state; [`Conductor::resume_run`] loads it.
    pub fn new(rules: RunRules) -> Conductor {
        Conductor {
            running: BTreeMap::new(),
            resting: BTreeMap::new(),
            limits: BTreeMap::new(),
            starts: StartWindow::new(rules.breakers.starts_per_hour, Vec::new()),
            failure_reasons: BTreeMap::new(),
            short_until: None,
            shortage_reported: false,
            queue: Vec::new(),
            landing: BTreeSet::new(),
            reserved: Vec::new(),
            held: BTreeMap::new(),
            overlaps: BTreeSet::new(),
            touching: BTreeMap::new(),
            finishing: None,
            phase_blocked: None,
            paused: false,
            leaving: None,
            ending: false,
            stuck: None,
            rules,
        }
    }

    /// Returns why a task failed for good in this run.
    pub fn why_failed(&self, id: &str) -> Option<&FailureReason> {
        self.failure_reasons.get(id)
    }

    /// True if the run is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// True if agents are ended when the run leaves, instead of continuing.
    pub fn ends_agents(&self) -> bool {
        self.ending
    }

    /// Returns the tasks that are being worked on, with their stages.
    pub fn running_tasks(&self) -> impl Iterator<Item = (&NodeId, TaskStage)> {
        self.running.iter().map(|(id, task)| (id, task.note.stage))
    }

    /// Continues the work of an earlier conductor.
    pub fn resume_run(&mut self, ports: &mut impl ConductorPorts) -> Result<(), RunError> {
        let now = ports.now_ms();
        if let Some(max) = self.rules.breakers.starts_per_hour {
            self.starts = StartWindow::new(Some(max), ports.recorded_starts());
        }
        for id in ports.run_state().ids_with_status(NodeStatus::InProgress) {
            let mut note = ports.task_record(&id);
            if note.stage == TaskStage::Running {
                // Its output is read from the start and counted again.
                note.used = note.before;
            }
            let task = RunningTask::new(note.clone(), now);
            self.running.insert(id.clone(), task);
            self.record_declared_paths(ports, &id);
            self.reserve_paths(&id);
            match note.stage {
                TaskStage::Landing => self.queue_landing(ports, &id),
                TaskStage::Room if note.parked_until_ms.is_some() => {}
                TaskStage::Room => self.request_worktree(ports, &id, &note),
                TaskStage::Running => ports.request_attach(&id, &note),
            }
        }
        for id in ports.run_state().ids_with_status(NodeStatus::Ready) {
            let note = ports.task_record(&id);
            if note.not_before_ms > now {
                self.resting.insert(id, note.not_before_ms);
            }
        }
        self.start_ready_tasks(ports)
    }

    /// Applies an event and does what follows.
    pub fn on_event(
        &mut self,
        ports: &mut impl ConductorPorts,
        event: ConductorEvent,
    ) -> Result<(), RunError> {
        match event {
            ConductorEvent::WorktreePrepared { id, prepared } => {
                self.on_worktree_prepared(ports, &id, prepared)?
            }
            ConductorEvent::Attempt {
                id,
                number,
                event: life,
            } => self.on_attempt_event(ports, &id, number, life)?,
            ConductorEvent::Landed { id, outcome } => {
                self.landing.remove(&id);
                self.on_land_outcome(ports, &id, outcome)?;
            }
            ConductorEvent::Forecast { id, overlaps } => self.apply_forecast(ports, &id, overlaps),
            ConductorEvent::PhaseEnded { phase, outcome } => {
                self.on_phase_outcome(ports, phase, outcome)?
            }
        }
        self.start_ready_tasks(ports)
    }

    /// Applies a request from outside, where the rules allow it.
    pub fn on_request(
        &mut self,
        ports: &mut impl ConductorPorts,
        request: RunRequest,
    ) -> Result<(), RunError> {
        match request {
            RunRequest::Pause | RunRequest::Continue => {
                self.paused = request == RunRequest::Pause;
                let want = match self.paused {
                    true => WantedState::Paused,
                    false => WantedState::Running,
                };
                let now = ports.now_ms();
                for (id, task) in &mut self.running {
                    if task.note.stage == TaskStage::Running {
                        // Time spent paused does not count as silence.
                        task.last_output_ms = now;
                        ports.request_state(id, task.note.attempt, want);
                    }
                }
            }
            RunRequest::Leave if self.leaving.is_none() => {
                let agents = self.running.values().any(RunningTask::has_agent);
                if agents {
                    ports.queue_notice(RunNotice::Leaving);
                }
                let patience = if agents { LEAVE_GRACE_MS } else { 0 };
                self.leaving = Some(ports.now_ms() + patience);
            }
            RunRequest::Leave => {}
            RunRequest::Stop => {
                self.leaving = Some(ports.now_ms());
                self.ending = true;
                for (id, task) in &self.running {
                    if task.note.stage == TaskStage::Running {
                        ports.request_state(id, task.note.attempt, WantedState::Ended);
                    }
                }
            }
            RunRequest::Move(command) => self.apply_move(ports, command)?,
        }
        self.start_ready_tasks(ports)
    }

    fn apply_move(
        &mut self,
        ports: &mut impl ConductorPorts,
        command: Command,
    ) -> Result<(), RunError> {
        match &command {
            // The agent's work is declared done: it lands as if the agent had exited.
            Command::Complete { id } if self.is_in_stage(id, TaskStage::Running) => {
                if let Some(task) = self.running.get_mut(id) {
                    task.done = true;
                    ports.request_input_close(id, task.note.attempt);
                }
                return Ok(());
            }
            // It is about to be completed or failed anyway, and a claim is no evidence.
            Command::Complete { id } if self.running.contains_key(id) => return Ok(()),
            Command::Fail { id, reason, retry } if self.is_in_stage(id, TaskStage::Running) => {
                if let Some(task) = self.running.get_mut(id) {
                    task.given_up = !retry;
                    task.end_reason = Some(FailureReason::from_text(
                        reason.as_deref().unwrap_or_default(),
                    ));
                    ports.request_state(id, task.note.attempt, WantedState::Ended);
                }
                return Ok(());
            }
            Command::Start { .. }
            | Command::StartAhead { .. }
            | Command::Recall { .. }
            | Command::Complete { .. }
            | Command::Fail { .. }
            | Command::ForceComplete { .. }
            | Command::Retry { .. }
            | Command::Lost { .. }
            | Command::PhaseFinish { .. }
            | Command::SetWorktree { .. } => {}
        }
        ports.apply_command(command.clone())?;
        match command {
            Command::ForceComplete { id, .. } | Command::Complete { id } => {
                if let Some(task) = self.remove_task(&id) {
                    ports.request_state(&id, task.note.attempt, WantedState::Ended);
                }
            }
            Command::Retry { id } => {
                let mut note = ports.task_record(&id);
                note.reset_for_retry();
                note.fresh = true;
                ports.store_record(&id, &note)?;
                self.resting.remove(&id);
                self.stuck = None;
            }
            Command::Start { id } => {
                let note = ports.task_record(&id);
                self.start_task(ports, &id, note)?;
            }
            // No agent is running: its worktree is being prepared, or it is landing. The result is
            // ignored.
            Command::Fail { id, .. } => drop(self.remove_task(&id)),
            Command::StartAhead { .. }
            | Command::Recall { .. }
            | Command::Lost { .. }
            | Command::PhaseFinish { .. }
            | Command::SetWorktree { .. } => {}
        }
        Ok(())
    }

    fn is_in_stage(&self, id: &NodeId, stage: TaskStage) -> bool {
        let task = self.running.get(id);
        task.is_some_and(|task| task.note.stage == stage)
    }

    /// Returns the outcome of the run, if it has ended.
    pub fn run_outcome(&self, ports: &impl ConductorPorts) -> Option<RunOutcome> {
        let quiet = self.running.is_empty() && self.finishing.is_none();
        if let Some(at) = self.leaving {
            // A second request ends the agents too: leave time for it.
            let stays = self.ending || ports.now_ms() < at;
            let busy = stays && self.running.values().any(RunningTask::has_agent);
            return (!busy).then_some(RunOutcome::Left);
        }
        if let Some(why) = &self.stuck
            && quiet
        {
            return Some(RunOutcome::Stuck { why: why.clone() });
        }
        let passed = self.rules.last_phase < Some(ports.run_state().current_phase());
        if quiet && self.rules.last_phase.is_some() && passed {
            return Some(RunOutcome::AllDone);
        }
        if !quiet {
            return None;
        }
        match next_work(ports.run_state()) {
            NextWork::AllDone => Some(RunOutcome::AllDone),
            NextWork::Stalled(_) if self.resting.is_empty() => Some(RunOutcome::Stalled),
            NextWork::Stalled(_) | NextWork::Ready(_) | NextWork::Wait | NextWork::PhaseDone(_) => {
                None
            }
        }
    }

    /// Returns when to call [`Conductor::on_timer`] if no event arrives before.
    pub fn next_wake_ms(&self) -> Option<i64> {
        let running_wakes = self.running.values().flat_map(|task| {
            let running = task.note.stage == TaskStage::Running && task.end_reason.is_none();
            let deadline = |from: i64, max: Option<i64>| {
                max.filter(|_| running && !self.paused)
                    .map(|max| from.saturating_add(max))
            };
            let left = self.rules.breakers.worked_ms;
            let left = left.map(|max| max.saturating_sub(task.note.worked_ms));
            [
                task.note.parked_until_ms.max(
                    self.short_until
                        .filter(|_| task.note.parked_until_ms.is_some()),
                ),
                task.blocked.map(|(at, _)| at),
                deadline(task.last_output_ms, Some(self.rules.breakers.silent_ms)),
                deadline(task.since_ms, left),
                task.first_message
                    .due_ms()
                    .filter(|_| running && !self.paused),
            ]
        });
        let resting = self.resting.values().copied().map(Some);
        running_wakes
            .chain(resting)
            .chain([
                self.short_until,
                self.phase_blocked.map(|(at, _)| at),
                self.starts.next_expiry_ms(),
            ])
            .flatten()
            .min()
    }

    /// Applies the passing of time: retries, deadlines and checks that are due.
    pub fn on_timer(&mut self, ports: &mut impl ConductorPorts) -> Result<(), RunError> {
        let now = ports.now_ms();
        self.short_until = self.short_until.filter(|at| *at > now);
        self.starts.drop_expired(now);
        let ids: Vec<NodeId> = self.running.keys().cloned().collect();
        for id in ids {
            self.check_deadlines(ports, &id, now)?;
        }
        self.resting.retain(|_, at| *at > now);
        if let (Some(phase), Some((at, _))) = (self.finishing, self.phase_blocked)
            && at <= now
        {
            self.phase_blocked = self.phase_blocked.map(|(_, tries)| (i64::MAX, tries));
            ports.request_job(GitJob::FinishPhase { phase });
        }
        self.start_ready_tasks(ports)
    }

    fn check_deadlines(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        now: i64,
    ) -> Result<(), RunError> {
        let (breakers, paused) = (self.rules.breakers.clone(), self.paused);
        let parked = |task: &RunningTask| task.note.parked_until_ms.is_some_and(|at| at <= now);
        if self.running.get(id).is_some_and(parked) && self.is_short(ports, now) {
            return Ok(());
        }
        let Some(task) = self.running.get_mut(id) else {
            return Ok(());
        };
        if parked(task) {
            task.note.parked_until_ms = None;
            let note = task.note.clone();
            ports.store_record(id, &note)?;
            self.reserve_paths(id);
            self.request_worktree(ports, id, &note);
            return Ok(());
        }
        if let Some((at, tries)) = task.blocked
            && at <= now
        {
            task.blocked = Some((i64::MAX, tries));
            self.queue_landing(ports, id);
            return Ok(());
        }
        if task.note.stage != TaskStage::Running || task.end_reason.is_some() || paused {
            return Ok(());
        }
        if let Some(seconds) = task.first_message.overdue_s(now)
            && ports.speaks_protocol(id)
        {
            let id = id.clone();
            ports.queue_notice(RunNotice::NothingValid { id, seconds });
        }
        let worked = task.note.worked_ms + (now - task.since_ms);
        let reason = if now - task.last_output_ms >= breakers.silent_ms {
            let seconds = breakers.silent_ms / 1_000;
            Reason::Silent { seconds }
        } else if let Some(spent) = breakers.exceeded_working_time(worked) {
            Reason::Breaker { spent }
        } else {
            return Ok(());
        };
        task.end_reason = Some(reason.into());
        ports.request_state(id, task.note.attempt, WantedState::Ended);
        Ok(())
    }

    fn request_worktree(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        note: &TaskRecord,
    ) {
        let id = id.clone();
        let (merge, fresh) = (note.merge && !note.fresh, note.fresh);
        let on = note.on.as_deref().map(NodeId::from);
        ports.request_job(GitJob::PrepareWorktree {
            id,
            merge,
            on,
            fresh,
        });
    }

    fn on_worktree_prepared(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        prepared: WorktreeOutcome,
    ) -> Result<(), RunError> {
        if self.leaving.is_some() || !self.is_in_stage(id, TaskStage::Room) {
            return Ok(());
        }
        let note = self.running.get_mut(id).map(|task| &mut task.note);
        match (prepared, note) {
            (WorktreeOutcome::Ready { renewed }, Some(note)) => {
                // The prompt names where the earlier work is kept.
                note.fresh |= renewed && note.attempt > 0;
                self.start_attempt(ports, id)
            }
            (WorktreeOutcome::Broken { why }, Some(note)) => {
                note.extend_last_failure(&why.to_string());
                self.fail_broken_worktree(ports, id, why)
            }
            (WorktreeOutcome::Failed { why }, Some(_)) => self.fail_attempt(ports, id, why, false),
            (_, None) => Ok(()),
        }
    }

    fn start_attempt(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
    ) -> Result<(), RunError> {
        if self.base_task_failed(ports, id) {
            return self.recall_task(ports, id);
        }
        let now = ports.now_ms();
        let Some(task) = self.running.get_mut(id) else {
            return Ok(());
        };
        if let Some(why) = exhausted_limit(&self.rules.breakers, &task.note) {
            return self.fail_attempt(ports, id, why, true);
        }
        if let Some(until) = self.starts.full_until(now, 0) {
            return self.park_task(ports, id, until);
        }
        let not_begun = task.never_started;
        let mut note = task.note.clone();
        self.starts.record_start(now);
        add_start(&mut note.starts, now);
        note.attempt += 1;
        note.renewed = std::mem::take(&mut note.fresh);
        note.recalled = false;
        note.before = note.used;
        note.stage = TaskStage::Running;
        ports.store_record(id, &note)?;
        ports.request_start(id, &note);
        let attempt = note.attempt;
        *task = RunningTask::new(note, now);
        task.never_started = not_begun;
        ports.queue_notice(RunNotice::Begun {
            id: id.clone(),
            attempt,
        });
        if self.paused {
            ports.request_state(id, attempt, WantedState::Paused);
        }
        Ok(())
    }

    fn on_attempt_event(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        number: u32,
        life: TaskAgentEvent,
    ) -> Result<(), RunError> {
        let now = ports.now_ms();
        let Some(task) = self.running.get_mut(id) else {
            return Ok(());
        };
        // Ignore events of an earlier attempt.
        if task.note.attempt != number || task.note.stage != TaskStage::Running {
            return Ok(());
        }
        match life {
            TaskAgentEvent::Running => {
                task.last_output_ms = now;
                Ok(())
            }
            TaskAgentEvent::Signals(words) => {
                task.last_output_ms = now;
                self.on_signals(ports, id, words)
            }
            TaskAgentEvent::Exited { code, asked, tail } => {
                task.note.worked_ms += (now - task.since_ms).max(0);
                self.on_exit(ports, id, code, asked, &tail)
            }
            TaskAgentEvent::Lost => {
                let why = FailureReason::from(Reason::Lost);
                task.note.record_failure(&why.to_string());
                task.note.stage = TaskStage::Room;
                let note = task.note.clone();
                ports.store_record(id, &note)?;
                ports.apply_command(Command::Lost {
                    gone: vec![id.clone()],
                })?;
                self.remove_task(id);
                self.report_failure(ports, id, why);
                Ok(())
            }
            TaskAgentEvent::NeverStarted { why } => {
                task.never_started += 1;
                task.note.stage = TaskStage::Room;
                match why {
                    Some(why) => self.fail_attempt(ports, id, why, false),
                    None if task.never_started >= NEVER_STARTED_MAX => {
                        self.fail_attempt(ports, id, Reason::NotBegun.into(), false)
                    }
                    None => self.start_attempt(ports, id),
                }
            }
        }
    }
}
