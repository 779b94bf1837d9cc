//! Decides what a run does next. It never waits and never does I/O: events come in, orders go out
//! through [`Ports`].
//!
//! Everything needed after a crash is durable before it is acted upon: the state file has the
//! tasks, the notes have their attempts.

mod landings;
mod outcomes;
mod starts;

use super::note::{Note, Stage};
use super::ports::{Event, Job, Life, Overlap, Ports, Told, Trouble, Wish};
use super::repo::Prepared;
use crate::core::breakers::{Breakers, Starts, one_more};
use crate::core::hearing::FirstMessage;
use crate::core::ladder::{Verdict, climb};
use crate::core::why::Why;
use bowline_engine::machines::orchestrate::{
    Command, NextWork, NodeId, NodeStatus, PhaseEnd, next_work,
};
use bowline_engine::supervisor::WantedState;
use bowline_words::Lang;
use bowline_words::message::Reason;
use outcomes::tripped;
use std::collections::{BTreeMap, BTreeSet};

/// Conflicts in a row that a task's agent may fail to resolve before a person has to.
const CONFLICTS_MAX: u32 = 3;
/// Time that a leaving run stays, so that it can be asked to end its agents too.
const LEAVE_MS: i64 = 1_000;
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
const NOT_BEGUN_MAX: u32 = 3;

/// Limits and policies of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Tasks worked on at once at most, whatever the state file allows.
    pub flights_max: usize,
    /// The run ends after this phase.
    pub last_phase: Option<u32>,
    /// Each task is repeated until the agent prints the promise.
    pub ralph: bool,
    /// Repetitions at most in mode ralph.
    pub iterations_max: u32,
    /// Wait before the first retry.
    pub backoff_ms: i64,
    /// Budgets of one task and of all tasks together.
    pub breakers: Breakers,
    /// Wait between two looks at a pull request.
    pub proposal_ms: i64,
    /// Tasks may start on work that has not landed yet.
    pub stack: bool,
    /// Tasks that land at once at most: one if they land on a branch.
    pub landings_max: usize,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Every phase is finished, or all that were asked for.
    AllDone,
    /// No task can continue without a person.
    Stalled,
    /// A phase did not land, or a landing is blocked.
    Stuck { why: Why },
    /// A person asked the run to leave; agents may continue.
    Left,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::AllDone => f.write_str("all done"),
            Ended::Stalled => f.write_str("stalled"),
            Ended::Stuck { why } => write!(f, "stuck: {}", why.line(Lang::En)),
            Ended::Left => f.write_str("left"),
        }
    }
}

/// A task that is being worked on: preparing, running or landing.
#[derive(Debug)]
struct Flight {
    note: Note,
    /// Start of the current attempt, in milliseconds since 1970.
    since_ms: i64,
    heard_ms: i64,
    done: bool,
    promised: bool,
    failed: Option<Why>,
    limited: Option<i64>,
    /// The reason, if the conductor ended the attempt.
    ended: Option<Why>,
    /// A person ended the task for good.
    given_up: bool,
    /// Dollars of this attempt that the note already includes.
    usd: f64,
    /// Time of the next try of a blocked landing, and the number of tries so far.
    blocked: Option<(i64, u32)>,
    not_begun: u32,
    first_message: FirstMessage,
}

impl Flight {
    fn of(note: Note, now: i64) -> Flight {
        Flight {
            note,
            since_ms: now,
            heard_ms: now,
            done: false,
            promised: false,
            failed: None,
            limited: None,
            ended: None,
            given_up: false,
            usd: 0.0,
            blocked: None,
            not_begun: 0,
            first_message: FirstMessage::awaited(now),
        }
    }

    /// True if an agent is working on the task.
    fn runs(&self) -> bool {
        self.note.stage == Stage::Running
    }

    /// True if an agent starts as soon as the worktree is ready.
    fn is_due(&self) -> bool {
        self.note.stage == Stage::Room && self.note.parked_until_ms.is_none()
    }
}

/// State machine that schedules the tasks of a run.
#[derive(Debug)]
pub struct Conductor {
    rules: Rules,
    flights: BTreeMap<NodeId, Flight>,
    /// Ready tasks that wait for a retry, and until when.
    resting: BTreeMap<NodeId, i64>,
    /// Time until which an agent's rate limit holds, by agent.
    limits: BTreeMap<String, i64>,
    starts: Starts,
    /// The reasons of tasks that failed for good in this run.
    lost: BTreeMap<NodeId, Why>,
    /// Time of the next check while the machine is short of a resource.
    short: Option<i64>,
    /// The shortage was reported to people.
    told_short: bool,
    /// Tasks to land, in order of arrival.
    queue: Vec<NodeId>,
    /// Tasks whose landing is in progress.
    landing: BTreeSet<NodeId>,
    /// Files in which running tasks met a conflict, oldest conflict first. These tasks land before
    /// others that change the files.
    reserved: Vec<Overlap>,
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
    stuck: Option<Why>,
}

impl Conductor {
    /// Creates a conductor without state; [`Conductor::resume`] loads it.
    pub fn new(rules: Rules) -> Conductor {
        Conductor {
            flights: BTreeMap::new(),
            resting: BTreeMap::new(),
            limits: BTreeMap::new(),
            starts: Starts::new(rules.breakers.starts_per_hour, Vec::new()),
            lost: BTreeMap::new(),
            short: None,
            told_short: false,
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
    pub fn why_failed(&self, id: &str) -> Option<&Why> {
        self.lost.get(id)
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
    pub fn flying(&self) -> impl Iterator<Item = (&NodeId, Stage)> {
        self.flights
            .iter()
            .map(|(id, flight)| (id, flight.note.stage))
    }

    /// Continues the work of an earlier conductor.
    pub fn resume(&mut self, ports: &mut impl Ports) -> Result<(), Trouble> {
        let now = ports.now_ms();
        if let Some(max) = self.rules.breakers.starts_per_hour {
            self.starts = Starts::new(Some(max), ports.starts());
        }
        for id in ports.run().ids_with_status(NodeStatus::InProgress) {
            let mut note = ports.note(&id);
            if note.stage == Stage::Running {
                // Its output is read from the start and counted again.
                note.used = note.before;
            }
            let flight = Flight::of(note.clone(), now);
            self.flights.insert(id.clone(), flight);
            self.touch(ports, &id);
            self.reserve(&id);
            match note.stage {
                Stage::Landing => self.line_up(ports, &id),
                Stage::Room if note.parked_until_ms.is_some() => {}
                Stage::Room => self.room(ports, &id, &note),
                Stage::Running => ports.attach(&id, &note),
            }
        }
        for id in ports.run().ids_with_status(NodeStatus::Ready) {
            let note = ports.note(&id);
            if note.not_before_ms > now {
                self.resting.insert(id, note.not_before_ms);
            }
        }
        self.advance(ports)
    }

    /// Applies an event and does what follows.
    pub fn hear(&mut self, ports: &mut impl Ports, event: Event) -> Result<(), Trouble> {
        match event {
            Event::Room { id, prepared } => self.room_made(ports, &id, prepared)?,
            Event::Attempt { id, number, life } => self.lived(ports, &id, number, life)?,
            Event::Landed { id, outcome } => {
                self.landing.remove(&id);
                self.landed(ports, &id, outcome)?;
            }
            Event::Forecast { id, overlaps } => self.forecast(ports, &id, overlaps),
            Event::PhaseEnded { phase, outcome } => self.phase_ended(ports, phase, outcome)?,
        }
        self.advance(ports)
    }

    /// Applies a request from outside, where the rules allow it.
    pub fn wish(&mut self, ports: &mut impl Ports, wish: Wish) -> Result<(), Trouble> {
        match wish {
            Wish::Pause | Wish::Continue => {
                self.paused = wish == Wish::Pause;
                let want = match self.paused {
                    true => WantedState::Paused,
                    false => WantedState::Running,
                };
                let now = ports.now_ms();
                for (id, flight) in &mut self.flights {
                    if flight.note.stage == Stage::Running {
                        // Time spent paused does not count as silence.
                        flight.heard_ms = now;
                        ports.want(id, flight.note.attempt, want);
                    }
                }
            }
            Wish::Leave if self.leaving.is_none() => {
                let agents = self.flights.values().any(Flight::runs);
                if agents {
                    ports.tell(Told::Leaving);
                }
                let patience = if agents { LEAVE_MS } else { 0 };
                self.leaving = Some(ports.now_ms() + patience);
            }
            Wish::Leave => {}
            Wish::Stop => {
                self.leaving = Some(ports.now_ms());
                self.ending = true;
                for (id, flight) in &self.flights {
                    if flight.note.stage == Stage::Running {
                        ports.want(id, flight.note.attempt, WantedState::Ended);
                    }
                }
            }
            Wish::Move(command) => self.moved(ports, command)?,
        }
        self.advance(ports)
    }

    fn moved(&mut self, ports: &mut impl Ports, command: Command) -> Result<(), Trouble> {
        match &command {
            // The agent's work is declared done: it lands as if the agent had exited.
            Command::Complete { id } if self.flies(id, Stage::Running) => {
                if let Some(flight) = self.flights.get_mut(id) {
                    flight.done = true;
                    ports.hang_up(id, flight.note.attempt);
                }
                return Ok(());
            }
            // It is about to be completed or failed anyway, and a claim is no evidence.
            Command::Complete { id } if self.flights.contains_key(id) => return Ok(()),
            Command::Fail { id, reason, retry } if self.flies(id, Stage::Running) => {
                if let Some(flight) = self.flights.get_mut(id) {
                    flight.given_up = !retry;
                    flight.ended = Some(Why::said(reason.as_deref().unwrap_or_default()));
                    ports.want(id, flight.note.attempt, WantedState::Ended);
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
        ports.commit(command.clone())?;
        match command {
            Command::ForceComplete { id, .. } | Command::Complete { id } => {
                if let Some(flight) = self.comes_down(&id) {
                    ports.want(&id, flight.note.attempt, WantedState::Ended);
                }
            }
            Command::Retry { id } => {
                let mut note = ports.note(&id);
                note.forgive();
                note.fresh = true;
                ports.remember(&id, &note)?;
                self.resting.remove(&id);
                self.stuck = None;
            }
            Command::Start { id } => {
                let note = ports.note(&id);
                self.take_off(ports, &id, note)?;
            }
            // No agent is running: its worktree is being prepared, or it is landing. The result is
            // ignored.
            Command::Fail { id, .. } => drop(self.comes_down(&id)),
            Command::StartAhead { .. }
            | Command::Recall { .. }
            | Command::Lost { .. }
            | Command::PhaseFinish { .. }
            | Command::SetWorktree { .. } => {}
        }
        Ok(())
    }

    fn flies(&self, id: &NodeId, stage: Stage) -> bool {
        let flight = self.flights.get(id);
        flight.is_some_and(|flight| flight.note.stage == stage)
    }

    /// Returns the outcome of the run, if it has ended.
    pub fn ended(&self, ports: &impl Ports) -> Option<Ended> {
        let quiet = self.flights.is_empty() && self.finishing.is_none();
        if let Some(at) = self.leaving {
            // A second request ends the agents too: leave time for it.
            let stays = self.ending || ports.now_ms() < at;
            let busy = stays && self.flights.values().any(Flight::runs);
            return (!busy).then_some(Ended::Left);
        }
        if let Some(why) = &self.stuck
            && quiet
        {
            return Some(Ended::Stuck { why: why.clone() });
        }
        let passed = self.rules.last_phase < Some(ports.run().current_phase());
        if quiet && self.rules.last_phase.is_some() && passed {
            return Some(Ended::AllDone);
        }
        if !quiet {
            return None;
        }
        match next_work(ports.run()) {
            NextWork::AllDone => Some(Ended::AllDone),
            NextWork::Stalled(_) if self.resting.is_empty() => Some(Ended::Stalled),
            NextWork::Stalled(_) | NextWork::Ready(_) | NextWork::Wait | NextWork::PhaseDone(_) => {
                None
            }
        }
    }

    /// Returns when to call [`Conductor::tick`] if no event arrives before.
    pub fn wakes_ms(&self) -> Option<i64> {
        let flights = self.flights.values().flat_map(|flight| {
            let running = flight.note.stage == Stage::Running && flight.ended.is_none();
            let deadline = |from: i64, max: Option<i64>| {
                max.filter(|_| running && !self.paused)
                    .map(|max| from.saturating_add(max))
            };
            let left = self.rules.breakers.worked_ms;
            let left = left.map(|max| max.saturating_sub(flight.note.worked_ms));
            [
                flight
                    .note
                    .parked_until_ms
                    .max(self.short.filter(|_| flight.note.parked_until_ms.is_some())),
                flight.blocked.map(|(at, _)| at),
                deadline(flight.heard_ms, Some(self.rules.breakers.silent_ms)),
                deadline(flight.since_ms, left),
                flight
                    .first_message
                    .due_ms()
                    .filter(|_| running && !self.paused),
            ]
        });
        let resting = self.resting.values().copied().map(Some);
        flights
            .chain(resting)
            .chain([
                self.short,
                self.phase_blocked.map(|(at, _)| at),
                self.starts.wakes_ms(),
            ])
            .flatten()
            .min()
    }

    /// Applies the passing of time: retries, deadlines and checks that are due.
    pub fn tick(&mut self, ports: &mut impl Ports) -> Result<(), Trouble> {
        let now = ports.now_ms();
        self.short = self.short.filter(|at| *at > now);
        self.starts.forget(now);
        let ids: Vec<NodeId> = self.flights.keys().cloned().collect();
        for id in ids {
            self.look(ports, &id, now)?;
        }
        self.resting.retain(|_, at| *at > now);
        if let (Some(phase), Some((at, _))) = (self.finishing, self.phase_blocked)
            && at <= now
        {
            self.phase_blocked = self.phase_blocked.map(|(_, tries)| (i64::MAX, tries));
            ports.ask(Job::FinishPhase { phase });
        }
        self.advance(ports)
    }

    fn look(&mut self, ports: &mut impl Ports, id: &NodeId, now: i64) -> Result<(), Trouble> {
        let (breakers, paused) = (self.rules.breakers.clone(), self.paused);
        let parked = |flight: &Flight| flight.note.parked_until_ms.is_some_and(|at| at <= now);
        if self.flights.get(id).is_some_and(parked) && self.is_short(ports, now) {
            return Ok(());
        }
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        if parked(flight) {
            flight.note.parked_until_ms = None;
            let note = flight.note.clone();
            ports.remember(id, &note)?;
            self.reserve(id);
            self.room(ports, id, &note);
            return Ok(());
        }
        if let Some((at, tries)) = flight.blocked
            && at <= now
        {
            flight.blocked = Some((i64::MAX, tries));
            self.line_up(ports, id);
            return Ok(());
        }
        if flight.note.stage != Stage::Running || flight.ended.is_some() || paused {
            return Ok(());
        }
        if let Some(seconds) = flight.first_message.overdue_s(now)
            && ports.speaks_protocol(id)
        {
            let id = id.clone();
            ports.tell(Told::NothingValid { id, seconds });
        }
        let worked = flight.note.worked_ms + (now - flight.since_ms);
        let reason = if now - flight.heard_ms >= breakers.silent_ms {
            let seconds = breakers.silent_ms / 1_000;
            Reason::Silent { seconds }
        } else if let Some(spent) = breakers.worked_out(worked) {
            Reason::Breaker { spent }
        } else {
            return Ok(());
        };
        flight.ended = Some(reason.into());
        ports.want(id, flight.note.attempt, WantedState::Ended);
        Ok(())
    }

    fn room(&mut self, ports: &mut impl Ports, id: &NodeId, note: &Note) {
        let id = id.clone();
        let (merge, fresh) = (note.merge && !note.fresh, note.fresh);
        let on = note.on.as_deref().map(NodeId::from);
        ports.ask(Job::Room {
            id,
            merge,
            on,
            fresh,
        });
    }

    fn room_made(
        &mut self,
        ports: &mut impl Ports,
        id: &NodeId,
        prepared: Prepared,
    ) -> Result<(), Trouble> {
        if self.leaving.is_some() || !self.flies(id, Stage::Room) {
            return Ok(());
        }
        let note = self.flights.get_mut(id).map(|flight| &mut flight.note);
        match (prepared, note) {
            (Prepared::Ready { renewed }, Some(note)) => {
                // The prompt names where the earlier work is kept.
                note.fresh |= renewed && note.attempt > 0;
                self.begin(ports, id)
            }
            (Prepared::Broken { why }, Some(note)) => {
                note.failed_again(&why.to_string());
                self.broken(ports, id, why)
            }
            (Prepared::Failed { why }, Some(_)) => self.fail(ports, id, why, false),
            (_, None) => Ok(()),
        }
    }

    fn begin(&mut self, ports: &mut impl Ports, id: &NodeId) -> Result<(), Trouble> {
        if self.came_to_nothing(ports, id) {
            return self.recall(ports, id);
        }
        let now = ports.now_ms();
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        if let Some(why) = tripped(&self.rules.breakers, &flight.note) {
            return self.fail(ports, id, why, true);
        }
        if let Some(until) = self.starts.full_until(now, 0) {
            return self.park(ports, id, until);
        }
        let not_begun = flight.not_begun;
        let mut note = flight.note.clone();
        self.starts.begun(now);
        one_more(&mut note.starts, now);
        note.attempt += 1;
        note.renewed = std::mem::take(&mut note.fresh);
        note.recalled = false;
        note.before = note.used;
        note.stage = Stage::Running;
        ports.remember(id, &note)?;
        ports.begin(id, &note);
        let attempt = note.attempt;
        *flight = Flight::of(note, now);
        flight.not_begun = not_begun;
        ports.tell(Told::Begun {
            id: id.clone(),
            attempt,
        });
        if self.paused {
            ports.want(id, attempt, WantedState::Paused);
        }
        Ok(())
    }

    fn lived(
        &mut self,
        ports: &mut impl Ports,
        id: &NodeId,
        number: u32,
        life: Life,
    ) -> Result<(), Trouble> {
        let now = ports.now_ms();
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        // Ignore events of an earlier attempt.
        if flight.note.attempt != number || flight.note.stage != Stage::Running {
            return Ok(());
        }
        match life {
            Life::Running => {
                flight.heard_ms = now;
                Ok(())
            }
            Life::Said(words) => {
                flight.heard_ms = now;
                self.said(ports, id, words)
            }
            Life::Exited { code, asked, tail } => {
                flight.note.worked_ms += (now - flight.since_ms).max(0);
                self.exited(ports, id, code, asked, &tail)
            }
            Life::Lost => {
                let why = Why::from(Reason::Lost);
                flight.note.failed(&why.to_string());
                flight.note.stage = Stage::Room;
                let note = flight.note.clone();
                ports.remember(id, &note)?;
                ports.commit(Command::Lost {
                    gone: vec![id.clone()],
                })?;
                self.comes_down(id);
                self.tell_failed(ports, id, why);
                Ok(())
            }
            Life::NotBegun { why } => {
                flight.not_begun += 1;
                flight.note.stage = Stage::Room;
                match why {
                    Some(why) => self.fail(ports, id, why, false),
                    None if flight.not_begun >= NOT_BEGUN_MAX => {
                        self.fail(ports, id, Reason::NotBegun.into(), false)
                    }
                    None => self.begin(ports, id),
                }
            }
        }
    }
}
