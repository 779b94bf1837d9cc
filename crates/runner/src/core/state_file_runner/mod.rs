//! Runs agents on a state file: one loop for every kind of work whose file others may change
//! meanwhile.
//!
//! The kind is behind [`StateFileWork`]: it names the units that are ready, changes the state file,
//! writes prompts and judges results. The loop has the rest: attempts, their records, limits,
//! waiting, and recovery from whatever ended an earlier run.
//!
//! **After a crash.** The state file changes first, then the record, then the attempt. A record
//! whose try differs from that of the state file was settled there and is ignored. Otherwise its
//! attempt continues: a live agent's output is read again from the start, and an agent that is gone
//! counts as it ended.

mod running_unit;
mod work;

pub use work::{
    AttemptBrief, AttemptOutcome, CheckJob, IdleReason, NextStep, StateFileWork, WorkEnd,
    WorkLimits, WorkProgress, WorkReport, WorkScreen, WorkUnit,
};

use super::attempt_record::{AttemptRecord, AttemptStage};
use super::attempts::{AttemptEvent, AttemptEventKind, AttemptLoop};
use super::breakers::{CircuitBreakers, StartWindow};
use super::cleanup::remove_old_attempts;
use super::failure::FailureReason;
use super::stop_handle::StopHandle;
use bowline_engine::agent_run_lock::AgentRunLock;
use bowline_engine::agents::shim_program;
use bowline_engine::statefiles::{ContentHash, write_atomically};
use bowline_engine::supervisor::WantedState;
use bowline_engine::words::not_run;
use bowline_engine::{Context, Error, ExitClass};
use bowline_formats::settings::BowlineSettings;
use bowline_words::message::Reason;
use running_unit::RunningUnit;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Longest time between two reads of the state file: others may have changed it.
const REREAD_MS_MAX: i64 = 2_000;
/// Attempts in a row that never started, before that counts as a failure.
const NEVER_STARTED_MAX: u32 = 3;
/// Time in which a second request to leave ends the agents too.
const LEAVE_GRACE_MS: i64 = 1_000;
/// Letters of a unit's id in a file name.
const NAME_CHARS_MAX: usize = 40;

enum RunnerInput<C> {
    Attempt(AttemptEvent),
    Checked(String, Box<C>),
    Leave,
    Stop,
}

/// Everything a run is made of.
pub struct RunnerParts<'s> {
    pub context: Context,
    /// Exclusive right to run on this state file.
    pub place: AgentRunLock,
    /// Identity of the run in the state file: records of another one are ignored.
    pub identity: String,
    /// Name of the run for people, used in attempts.
    pub name: String,
    pub settings: BowlineSettings,
    pub rules: WorkLimits,
    /// Observer of what happens.
    pub screen: &'s mut dyn WorkScreen,
}

/// Runs a state file's work until all is done, nothing can go on, or the run is asked to leave.
/// `begun` receives the handle for that.
pub fn run_work<W: StateFileWork>(
    parts: RunnerParts<'_>,
    work: W,
    begun: impl FnOnce(StopHandle),
) -> Result<WorkReport, Error> {
    let (inputs, events) = channel();
    let sink = inputs.clone();
    let attempts = AttemptLoop::spawn(shim_program(), move |news| {
        let _ = sink.send(RunnerInput::Attempt(news));
    })
    .map_err(|error| Error::ProgramFailed {
        program: "run".into(),
        message: error.to_string(),
    })?;
    let stopped = inputs.clone();
    begun(StopHandle::new(move |ending| {
        let _ = stopped.send(if ending {
            RunnerInput::Stop
        } else {
            RunnerInput::Leave
        });
    }));
    let RunnerParts {
        context,
        place,
        identity,
        name,
        settings,
        rules,
        screen,
    } = parts;
    let breakers = CircuitBreakers::from_limits(&settings.limits);
    let notes = earlier_records(&place);
    let earlier = notes.iter().flat_map(|(_, note)| note.starts.clone());
    let earlier: Vec<i64> = earlier.collect();
    remove_old_attempts(place.folder(), &|attempt| {
        let open = notes
            .iter()
            .filter(|(_, note)| note.stage == AttemptStage::Running);
        let mut open = open.map(|(name, note)| format!("{name}-{}", note.attempt));
        open.any(|id| id == attempt)
    });
    let key = ContentHash::of_bytes(format!("{} {identity}", place.folder().display()).as_bytes());
    let mut runner = StateFileRunner {
        began_ms: context.clock.now_ms(),
        began: Instant::now(),
        key: key.to_string().chars().take(10).collect(),
        starts: StartWindow::new(breakers.starts_per_hour, earlier),
        breakers,
        context,
        place,
        name,
        settings,
        rules,
        screen,
        work,
        attempts,
        inputs,
        running: BTreeMap::new(),
        resting: BTreeMap::new(),
        limits: BTreeMap::new(),
        never_started: BTreeMap::new(),
        started: 0,
        failed: Vec::new(),
        leaving_ms: None,
        ending: false,
        stopped: None,
    };
    runner.run_loop(&events)
}

struct StateFileRunner<'s, W: StateFileWork> {
    /// Clock when the run began, and a monotonic watch since then: a clock that is set or stands
    /// still must not prolong a wait.
    began_ms: i64,
    began: Instant,
    key: String,
    breakers: CircuitBreakers,
    context: Context,
    place: AgentRunLock,
    name: String,
    settings: BowlineSettings,
    rules: WorkLimits,
    screen: &'s mut dyn WorkScreen,
    work: W,
    attempts: AttemptLoop,
    inputs: Sender<RunnerInput<W::Checked>>,
    running: BTreeMap<String, RunningUnit>,
    /// Units that wait before they are tried again.
    resting: BTreeMap<String, i64>,
    /// End of the rate limit of each client.
    limits: BTreeMap<String, i64>,
    /// Attempts in a row that never started, by unit.
    never_started: BTreeMap<String, u32>,
    starts: StartWindow,
    started: u32,
    failed: Vec<(String, FailureReason)>,
    /// End of the time in which a stop ends the agents too; set by the first request to leave.
    leaving_ms: Option<i64>,
    ending: bool,
    stopped: Option<Error>,
}

impl<W: StateFileWork> StateFileRunner<'_, W> {
    fn now_ms(&self) -> i64 {
        let passed = i64::try_from(self.began.elapsed().as_millis());
        self.began_ms.saturating_add(passed.unwrap_or(i64::MAX))
    }

    fn run_loop(
        &mut self,
        events: &Receiver<RunnerInput<W::Checked>>,
    ) -> Result<WorkReport, Error> {
        // Output alone does not change the state file.
        let mut moved = true;
        let mut open = true;
        loop {
            if moved {
                open = self.start_ready_units()?;
            }
            if let Some(ended) = self.run_end(open)? {
                return Ok(self.build_report(ended));
            }
            let now = self.now_ms();
            let wake = self
                .next_wake_ms()
                .map_or(REREAD_MS_MAX, |at| (at - now).clamp(0, REREAD_MS_MAX));
            let event = events.recv_timeout(Duration::from_millis(wake.unsigned_abs()));
            moved = match event {
                Ok(RunnerInput::Attempt(news)) => {
                    let words = matches!(news.kind, AttemptEventKind::Output { .. });
                    self.on_attempt_event(news)?;
                    !words
                }
                Ok(RunnerInput::Checked(id, found)) => {
                    self.on_checked(&id, *found)?;
                    true
                }
                Ok(RunnerInput::Leave) => {
                    self.begin_leaving();
                    true
                }
                Ok(RunnerInput::Stop) => {
                    self.begin_leaving();
                    self.ending = true;
                    for (id, running_unit) in &self.running {
                        if running_unit.note.stage == AttemptStage::Running {
                            self.attempts.set_wanted_state(
                                &self.attempt_id(id, &running_unit.note),
                                WantedState::Ended,
                            );
                        }
                    }
                    true
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => true,
            };
            self.enforce_limits();
        }
    }

    /// Starts nothing new. A second request within [`LEAVE_GRACE_MS`] ends the agents too.
    fn begin_leaving(&mut self) {
        if self.leaving_ms.is_none() {
            self.leaving_ms = Some(self.now_ms() + LEAVE_GRACE_MS);
            if self.running.values().any(RunningUnit::has_agent) {
                self.show_progress(WorkProgress::Leaving);
            }
        }
    }

    fn run_end(&mut self, open: bool) -> Result<Option<WorkEnd>, Error> {
        if let Some(at) = self.leaving_ms {
            let busy = self.running.values().any(RunningUnit::has_agent);
            let waits = busy && (self.ending || self.now_ms() < at);
            return Ok((!waits).then_some(WorkEnd::Left));
        }
        if !self.running.is_empty() {
            return Ok(None);
        }
        if let Some(error) = self.stopped.take() {
            return Ok(Some(WorkEnd::Stopped(Box::new(error))));
        }
        if open {
            return Ok(None);
        }
        Ok(Some(match self.work.idle_reason()? {
            IdleReason::Done => WorkEnd::Done,
            IdleReason::Stopped(error) => WorkEnd::Stopped(error),
        }))
    }

    fn build_report(&mut self, ended: WorkEnd) -> WorkReport {
        let (done, total) = self.work.done_and_total();
        let running = self.running.iter();
        let running = running.filter(|(_, running_unit)| running_unit.has_agent());
        WorkReport {
            ended,
            done,
            total,
            failed: std::mem::take(&mut self.failed),
            going_on: running.map(|(id, _)| id.clone()).collect(),
        }
    }

    fn next_wake_ms(&self) -> Option<i64> {
        let resting = self.resting.values().copied();
        let running_wakes = self.running.values().filter_map(|running_unit| {
            let running = running_unit.has_agent() && running_unit.end_reason.is_none();
            let left = running_unit
                .time_ms
                .map(|max| max - running_unit.note.round_ms);
            let worked = self
                .breakers
                .worked_ms
                .map(|max| max - running_unit.note.worked_ms);
            let deadlines = [
                Some(
                    running_unit
                        .last_output_ms
                        .saturating_add(self.breakers.silent_ms),
                ),
                left.map(|left| running_unit.since_ms.saturating_add(left)),
                worked.map(|left| running_unit.since_ms.saturating_add(left)),
                running_unit.first_message.due_ms(),
            ];
            deadlines.into_iter().flatten().min().filter(|_| running)
        });
        let idle = self.leaving_ms.is_some() || self.stopped.is_some();
        let leaving = self.leaving_ms.filter(|_| !self.ending);
        resting
            .filter(|_| !idle)
            .chain(running_wakes)
            .chain(leaving)
            .min()
    }

    /// Starts every unit that may be started. False if nothing is left that this run may still do.
    fn start_ready_units(&mut self) -> Result<bool, Error> {
        if self.leaving_ms.is_some() || self.stopped.is_some() {
            return Ok(false);
        }
        loop {
            let units = self.work.ready_units()?;
            let now = self.now_ms();
            let waits =
                |id: &String, at: &i64| *at > now && units.iter().any(|unit| unit.id == *id);
            self.resting.retain(|id, at| waits(id, at));
            let free = |unit: &&WorkUnit| {
                !self.running.contains_key(&unit.id) && !self.resting.contains_key(&unit.id)
            };
            let Some(unit) = units.iter().find(free).cloned() else {
                return Ok(!units.is_empty());
            };
            if self.running.len() >= self.rules.parallel {
                return Ok(true);
            }
            self.continue_or_start(unit)?;
            if self.stopped.is_some() {
                return Ok(false);
            }
        }
    }

    /// Continues a unit from its record, starts it, or lets it wait.
    fn continue_or_start(&mut self, unit: WorkUnit) -> Result<(), Error> {
        let now = self.now_ms();
        let mut note = self.read_record(&unit.id);
        if note.round != unit.round || !unit.in_progress {
            note.end_try();
        }
        if unit.round == 0 && !unit.in_progress {
            // A fresh start: earlier failures are ignored.
            note.failures.clear();
        }
        match (note.stage, note.reply.take()) {
            (AttemptStage::Running, _) => return self.attach_attempt(unit, note),
            (AttemptStage::Checking, Some(reply)) => {
                self.show_progress(WorkProgress::Found {
                    id: unit.id.clone(),
                });
                return self.judge_outcome(&unit, note, AttemptOutcome::Ended(reply));
            }
            (AttemptStage::Checking | AttemptStage::Idle, _) => note.stage = AttemptStage::Idle,
        }
        let client = self.work.unit_client(&unit)?;
        if let Err(missing) = client.check_installed(&self.context, &self.settings) {
            self.stopped = Some(missing);
            return Ok(());
        }
        let limit = self.limits.get(&client.name).copied().unwrap_or(0);
        let start = self.starts.full_until(now, 0).unwrap_or(now);
        let wait = note.not_before_ms.max(limit).max(start);
        if wait > now {
            self.resting.insert(unit.id, wait);
            return Ok(());
        }
        if let Some(why) = self.breakers.exceeded_limit(&note.used, note.worked_ms) {
            let id = unit.id;
            self.stopped = Some(Error::Breaker { id, why });
            return Ok(());
        }
        match self.work.check_before_start(&unit) {
            Ok(None) => {}
            Ok(Some(job)) => return self.apply_next_step(&unit, note, NextStep::Check(job)),
            Err(error) => return self.stop_with_error(error),
        }
        if let Some(max) = self.rules.starts_max.filter(|max| self.started >= *max) {
            self.stopped = Some(Error::StartsSpent { max });
            return Ok(());
        }
        let unit = match unit.in_progress {
            true => unit,
            false => match self.work.start_unit(&unit) {
                Ok(unit) => unit,
                Err(error) => return self.stop_with_error(error),
            },
        };
        self.start_attempt(unit, note, &client)
    }

    /// Ends the run: a refusal of the rules once the running agents have ended, any other error at
    /// once.
    fn stop_with_error(&mut self, error: Error) -> Result<(), Error> {
        match error.exit_class() {
            ExitClass::Refused | ExitClass::NotFound => {
                self.stopped.get_or_insert(error);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn on_attempt_event(&mut self, news: AttemptEvent) -> Result<(), Error> {
        let named = |(id, running_unit): (&String, &RunningUnit)| {
            (self.attempt_id(id, &running_unit.note) == *news.id).then(|| id.clone())
        };
        let Some(id) = self.running.iter().find_map(named) else {
            return Ok(());
        };
        let now = self.now_ms();
        let Some(running_unit) = self.running.get_mut(&id) else {
            return Ok(());
        };
        match news.kind {
            AttemptEventKind::Running { .. } => {
                running_unit.last_output_ms = now;
                self.never_started.remove(&id);
                Ok(())
            }
            AttemptEventKind::Output {
                offset,
                bytes,
                events,
                resume,
            } => {
                running_unit.last_output_ms = now;
                let words = running_unit.parser.parse_output(&bytes, &events);
                for event in &events {
                    super::output_parser::reply_unattended(&self.attempts, &news.id, event);
                }
                let upto = offset + bytes.len() as u64;
                self.attempts.confirm_processed(&news.id, upto, resume);
                self.on_signals(&id, words)
            }
            AttemptEventKind::Exited { exit, error_tail } => {
                let words = running_unit.parser.finish_output();
                self.on_signals(&id, words)?;
                self.on_exit(&id, exit.code, exit.asked, &error_tail)
            }
            AttemptEventKind::Lost(_) => self.fail_unit(&id, Reason::Lost.into()),
            AttemptEventKind::NeverStarted { message } => {
                let count = self.never_started.entry(id.clone()).or_default();
                *count += 1;
                match message {
                    Some(said) => {
                        let why = not_run(&said);
                        self.fail_unit(&id, Reason::NotRun { why }.into())
                    }
                    None if *count >= NEVER_STARTED_MAX => {
                        self.fail_unit(&id, Reason::NotBegun.into())
                    }
                    None => self.requeue_unit(&id, 0),
                }
            }
            AttemptEventKind::StateChanged(_)
            | AttemptEventKind::Blocked(_)
            | AttemptEventKind::ShimUnreachable { .. }
            | AttemptEventKind::Refused { .. }
            | AttemptEventKind::InputRead { .. }
            | AttemptEventKind::Undelivered(_) => Ok(()),
        }
    }

    fn fail_unit(&mut self, id: &str, why: FailureReason) -> Result<(), Error> {
        let Some(running_unit) = self.running.remove(id) else {
            return Ok(());
        };
        self.judge_outcome(
            &running_unit.unit,
            running_unit.note,
            AttemptOutcome::Failed(why),
        )
    }

    /// Judges the outcome of an attempt. Its result is stored first: neither a crash nor a state
    /// file that takes no change now loses it.
    fn judge_outcome(
        &mut self,
        unit: &WorkUnit,
        mut note: AttemptRecord,
        outcome: AttemptOutcome,
    ) -> Result<(), Error> {
        match &outcome {
            AttemptOutcome::Ended(reply) => {
                note.stage = AttemptStage::Checking;
                note.reply = Some(reply.clone());
            }
            AttemptOutcome::Failed(_) => note.stage = AttemptStage::Idle,
        }
        self.write_record(&unit.id, &note)?;
        let broke = match &outcome {
            AttemptOutcome::Failed(FailureReason {
                reason: Reason::Breaker { spent },
                ..
            }) => Some(spent.clone()),
            AttemptOutcome::Failed(_) | AttemptOutcome::Ended(_) => None,
        };
        let after = self.work.judge_attempt(unit, &note, outcome);
        if let Some(why) = broke {
            let id = unit.id.clone();
            self.stopped.get_or_insert(Error::Breaker { id, why });
        }
        match after {
            Ok(after) => self.apply_next_step(unit, note, after),
            Err(error) => self.stop_with_error(error),
        }
    }

    fn on_checked(&mut self, id: &str, found: W::Checked) -> Result<(), Error> {
        let Some(running_unit) = self.running.remove(id) else {
            return Ok(());
        };
        match self
            .work
            .apply_check(&running_unit.unit, &running_unit.note, found)
        {
            Ok(after) => self.apply_next_step(&running_unit.unit, running_unit.note, after),
            Err(error) => self.stop_with_error(error),
        }
    }

    fn apply_next_step(
        &mut self,
        unit: &WorkUnit,
        mut note: AttemptRecord,
        after: NextStep<W::Checked>,
    ) -> Result<(), Error> {
        let id = unit.id.clone();
        match after {
            NextStep::Done => {
                note.end_try();
                note.failures.clear();
                self.write_record(&id, &note)?;
                let (done, total) = self.work.done_and_total();
                self.show_progress(WorkProgress::Done { id, done, total });
            }
            NextStep::Retry { wait_ms, why } => {
                note.record_failure(&why.to_string());
                note.end_try();
                note.not_before_ms = self.now_ms() + wait_ms;
                self.write_record(&id, &note)?;
                let again = true;
                self.show_progress(WorkProgress::Failed { id, why, again });
            }
            NextStep::GaveUp { why } => {
                note.record_failure(&why.to_string());
                note.end_try();
                self.write_record(&id, &note)?;
                self.failed.push((id.clone(), why.clone()));
                let again = false;
                self.show_progress(WorkProgress::Failed { id, why, again });
            }
            NextStep::Check(job) => {
                self.show_progress(WorkProgress::Checking { id: id.clone() });
                let (inputs, name) = (self.inputs.clone(), id.clone());
                let thread = std::thread::Builder::new().name("check".into());
                let begun = thread.spawn(move || {
                    let found = Box::new(job());
                    let _ = inputs.send(RunnerInput::Checked(name, found));
                });
                begun.map_err(|error| Error::ProgramFailed {
                    program: "run".into(),
                    message: error.to_string(),
                })?;
                let running_unit = RunningUnit::new_checking(unit.clone(), note, self.now_ms());
                self.running.insert(id, running_unit);
            }
        }
        Ok(())
    }

    fn show_progress(&mut self, progress: WorkProgress) {
        self.screen.show_progress(&progress);
    }

    fn attempt_id(&self, id: &str, note: &AttemptRecord) -> String {
        format!("{}-{}-{}", self.key, file_name(id), note.attempt)
    }

    fn path_in(&self, folder: &str, name: &str) -> PathBuf {
        self.place.folder().join(folder).join(name)
    }

    fn read_record(&self, id: &str) -> AttemptRecord {
        let name = format!("{}-{}.json", self.key, file_name(id));
        let text = std::fs::read(self.path_in("notes", &name)).unwrap_or_default();
        // A record that cannot be read counts as none: its work starts anew.
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn write_record(&self, id: &str, note: &AttemptRecord) -> Result<(), Error> {
        let name = format!("{}-{}.json", self.key, file_name(id));
        let text = serde_json::to_vec(note).unwrap_or_default();
        write_atomically(
            &*self.context.disk,
            &self.path_in("notes", &name),
            &text,
            None,
        )
        .map_err(Error::File)
    }
}

/// Returns the records of earlier runs, each with the prefix of its attempt ids.
fn earlier_records(place: &AgentRunLock) -> Vec<(String, AttemptRecord)> {
    let files = std::fs::read_dir(place.folder().join("notes"));
    let files = files.into_iter().flatten().flatten();
    let read = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let name = path.file_stem()?.to_str()?.to_owned();
        let note = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        Some((name, note))
    };
    files.filter_map(read).collect()
}

/// Returns a name for files: the id if it can be one, else a part of it and its hash.
fn file_name(id: &str) -> String {
    let plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_".contains(*letter);
    let name: String = id.chars().filter(plain).take(NAME_CHARS_MAX).collect();
    match name == id {
        true => name,
        false => {
            let hash = ContentHash::of_bytes(id.as_bytes()).to_string();
            format!("{name}.{}", hash.chars().take(8).collect::<String>())
        }
    }
}
