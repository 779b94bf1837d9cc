//! Simulates a run from a seed: time, agents, landings and disk are simulated, the conductor and
//! the rules are real.
//!
//! What the real ports make durable survives a simulated crash; all else is forgotten, and a new
//! conductor continues.

use super::conductor::{Conductor, Ended, Rules};
use super::note::Note;
use super::ports::{Event, Job, Landed, Life, Overlap, PhaseEnded, Ports, Shortage, Told, Trouble};
use super::repo::Prepared;
use crate::core::breakers::one_more;
use crate::core::hearing::{Lifted, Word};
use crate::core::why::Why;
use bowline_engine::Error;
use bowline_engine::machines::orchestrate::{
    Command, Effect, NodeId, NodeStatus, OrchestrateMachine, OrchestrationLimits,
    OrchestrationState, PhaseEnd, TaskGraph,
};
use bowline_engine::machines::{Machine as _, Timestamp};
use bowline_engine::supervisor::WantedState;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of events of one run; a run with more counts as endless.
const EVENTS_MAX: u64 = 1_000_000;
/// Start of the simulated time, in milliseconds since 1970.
const BEGIN_MS: i64 = 1_800_000_000_000;

/// Odds of failures, each out of a thousand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Odds {
    /// An attempt fails.
    pub fails: u64,
    /// An agent is lost.
    pub lost: u64,
    /// An agent meets a limit.
    pub limited: u64,
    /// A landing meets a conflict.
    pub conflict: u64,
    /// The evidence command fails.
    pub red: u64,
    /// A landing waits for a review, which may ask for changes.
    pub proposed: u64,
    /// Two tasks conflict while they are being worked on.
    pub overlap: u64,
    /// The machine is short of a resource, per check.
    pub short: u64,
    /// The conductor crashes, per event.
    pub crash: u64,
}

impl Odds {
    /// Nothing fails.
    pub const NONE: Odds = Odds {
        fails: 0,
        lost: 0,
        limited: 0,
        conflict: 0,
        red: 0,
        proposed: 0,
        overlap: 0,
        short: 0,
        crash: 0,
    };
    /// Much fails.
    pub const BAD: Odds = Odds {
        fails: 120,
        lost: 40,
        limited: 40,
        conflict: 60,
        red: 40,
        proposed: 200,
        overlap: 300,
        short: 100,
        crash: 30,
    };
}

/// The outcome of a simulated run.
#[derive(Debug, Clone)]
pub struct Rehearsed {
    pub ended: Ended,
    /// Simulated time that the run took.
    pub took_ms: i64,
    /// Final state of the run.
    pub run: OrchestrationState,
    pub crashes: u64,
    /// Attempts started.
    pub attempts: u64,
    /// Violations of what must always hold.
    pub wrong: Vec<String>,
}

/// Pseudo-random numbers from a seed.
#[derive(Debug, Clone)]
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn one_in_thousand(&mut self, odds: u64) -> bool {
        self.next() % 1_000 < odds
    }

    fn between(&mut self, from: i64, to: i64) -> i64 {
        let span = to.saturating_sub(from).max(1).unsigned_abs();
        from + i64::try_from(self.next() % span).unwrap_or(0)
    }
}

/// A simulated agent, which survives a crash of the conductor.
#[derive(Debug, Clone)]
struct Agent {
    number: u32,
    /// Time of its end, at which its events occur.
    ends_ms: i64,
    fate: Vec<Life>,
}

#[derive(Debug)]
struct World {
    now: i64,
    chance: Chance,
    odds: Odds,
    /// Minimum and maximum time that a task takes.
    takes_ms: (i64, i64),
    run: OrchestrationState,
    notes: BTreeMap<NodeId, Note>,
    agents: BTreeMap<NodeId, Agent>,
    /// All attempts ever started.
    begun: BTreeSet<(NodeId, u32)>,
    /// Tasks whose work is on a branch.
    landed: BTreeSet<NodeId>,
    /// Tasks that were completed in the state file.
    acknowledged: BTreeSet<NodeId>,
    merged: BTreeSet<u32>,
    /// Future events by time; forgotten at a crash.
    heard: BTreeMap<(i64, u64), Event>,
    /// A landing is in progress; there must be one at a time.
    landing: bool,
    /// Agents that may start within an hour, and the latest starts.
    starts_max: Option<usize>,
    starts: Vec<i64>,
    count: u64,
    wrong: Vec<String>,
}

impl World {
    fn soon(&mut self, after: i64, event: Event) {
        self.count += 1;
        self.heard.insert((self.now + after, self.count), event);
    }

    /// Schedules the events of an agent's end.
    fn watch(&mut self, id: &NodeId) {
        let Some(agent) = self.agents.get(id).cloned() else {
            return;
        };
        let after = (agent.ends_ms - self.now).max(1);
        for life in agent.fate {
            let (id, number) = (id.clone(), agent.number);
            self.soon(after, Event::Attempt { id, number, life });
        }
    }

    fn fate(&mut self) -> Vec<Life> {
        let odds = self.odds;
        let exit = |code| Life::Exited {
            code: Some(code),
            asked: false,
            tail: String::new(),
        };
        if self.chance.one_in_thousand(odds.lost) {
            return vec![Life::Lost];
        }
        if self.chance.one_in_thousand(odds.limited) {
            let seconds = self.chance.between(1, 3_600);
            return vec![
                Life::Said(vec![Word::Limit(Lifted::After(seconds))]),
                exit(1),
            ];
        }
        if self.chance.one_in_thousand(odds.fails) {
            let why = format!("error of kind {}", self.chance.next() % 3);
            return vec![Life::Said(vec![Word::Failed(why)]), exit(0)];
        }
        vec![Life::Running, Life::Said(vec![Word::Complete]), exit(0)]
    }
}

impl Ports for World {
    fn now_ms(&self) -> i64 {
        self.now
    }

    fn run(&self) -> &OrchestrationState {
        &self.run
    }

    fn commit(&mut self, command: Command) -> Result<Vec<Effect>, Trouble> {
        let at = Timestamp(self.now / 1_000);
        let step = OrchestrateMachine::step(&self.run, command.clone(), at)
            .map_err(|refusal| Error::Refused(refusal.into()))?;
        self.run = step.next;
        if let Command::Complete { id } = &command {
            if !self.landed.contains(id) {
                self.wrong.push(format!("{id} is done and did not land"));
            }
            if !self.acknowledged.insert(id.clone()) {
                self.wrong.push(format!("{id} was done twice"));
            }
        }
        Ok(step.effects)
    }

    fn shortage(&mut self) -> Option<Shortage> {
        let short = self.chance.one_in_thousand(self.odds.short);
        short.then_some(Shortage::Disk { free: 0, wanted: 1 })
    }

    /// Lets every third task declare to change one of two folders.
    fn touches(&self, id: &NodeId) -> Vec<String> {
        let sum: u32 = id.bytes().map(u32::from).sum();
        match sum % 3 {
            0 => vec![format!("part-{}", sum % 2)],
            _ => Vec::new(),
        }
    }

    fn note(&mut self, id: &NodeId) -> Note {
        self.notes.get(id).cloned().unwrap_or_default()
    }

    fn starts(&self) -> Vec<i64> {
        let notes = self.notes.values();
        notes.flat_map(|note| note.starts.clone()).collect()
    }

    fn remember(&mut self, id: &NodeId, note: &Note) -> Result<(), Trouble> {
        self.notes.insert(id.clone(), note.clone());
        Ok(())
    }

    fn ask(&mut self, job: Job) {
        let after = self.chance.between(1, 2_000);
        match job {
            Job::Room { id, .. } => self.soon(
                after,
                Event::Room {
                    id,
                    prepared: Prepared::Ready { renewed: false },
                },
            ),
            Job::Clean { .. } => {}
            Job::Forecast { id, others } => {
                let odds = self.odds.overlap;
                let mut overlaps = Vec::new();
                for with in others {
                    if self.chance.one_in_thousand(odds) {
                        let paths = vec!["shared".into()];
                        overlaps.push(Overlap { with, paths });
                    }
                }
                self.soon(after, Event::Forecast { id, overlaps });
            }
            Job::Land { id, reserved } => {
                let odds = self.odds;
                if !self.run.open_needs(&id).is_empty() {
                    self.wrong.push(format!("{id} lands before what it needs"));
                }
                if std::mem::replace(&mut self.landing, true) {
                    self.wrong.push(format!("{id} lands beside another"));
                }
                let outcome = if self.landed.contains(&id) {
                    Landed::Done
                } else if !reserved.is_empty() && self.chance.one_in_thousand(500) {
                    Landed::Held { by: reserved }
                } else if self.chance.one_in_thousand(odds.proposed) {
                    match self.chance.next() % 8 {
                        0 => Landed::SentBack {
                            why: Why::said(&format!("reviewer {} says no", self.chance.next() % 9)),
                        },
                        _ => Landed::Proposed {
                            url: "http://localhost/1".into(),
                        },
                    }
                } else if self.chance.one_in_thousand(odds.conflict) {
                    Landed::Conflict {
                        paths: vec!["shared".into()],
                        hunks: String::new(),
                        base: self.landed.len().to_string(),
                    }
                } else if self.chance.one_in_thousand(odds.red) {
                    Landed::Red {
                        why: Why::said(&format!("test {} failed", self.chance.next() % 4)),
                    }
                } else {
                    // On the branch from now on, even if the conductor crashes before it learns of
                    // it.
                    self.landed.insert(id.clone());
                    Landed::Done
                };
                self.soon(after, Event::Landed { id, outcome });
            }
            Job::FinishPhase { phase } => {
                self.merged.insert(phase);
                let end = PhaseEnd::Merged {
                    commit: "0123456".into(),
                };
                let outcome = PhaseEnded::Ended { end, why: None };
                self.soon(after, Event::PhaseEnded { phase, outcome });
            }
        }
    }

    fn begin(&mut self, id: &NodeId, note: &Note) {
        let number = note.attempt;
        if !self.begun.insert((id.clone(), number)) {
            self.wrong
                .push(format!("attempt {number} of {id} was begun twice"));
        }
        if self.agents.contains_key(id) {
            self.wrong.push(format!("{id} has two agents at once"));
        }
        if self.acknowledged.contains(id) {
            self.wrong.push(format!("{id} is done and was begun again"));
        }
        one_more(&mut self.starts, self.now);
        if self.starts_max.is_some_and(|max| self.starts.len() > max) {
            let count = self.starts.len();
            self.wrong
                .push(format!("{count} agents were begun within an hour"));
        }
        let takes = self.chance.between(self.takes_ms.0, self.takes_ms.1);
        let fate = self.fate();
        self.agents.insert(
            id.clone(),
            Agent {
                number,
                ends_ms: self.now + takes,
                fate,
            },
        );
        self.watch(id);
    }

    fn attach(&mut self, id: &NodeId, note: &Note) {
        match self.agents.get(id) {
            Some(agent) if agent.number == note.attempt => self.watch(id),
            Some(_) | None => {
                let (id, number) = (id.clone(), note.attempt);
                let life = Life::NotBegun { why: None };
                self.soon(1, Event::Attempt { id, number, life });
            }
        }
    }

    fn want(&mut self, id: &NodeId, number: u32, want: WantedState) {
        let lives = self
            .agents
            .get(id)
            .is_some_and(|agent| agent.number == number);
        let limited = |life: &Life| matches!(life, Life::Exited { code: Some(1), .. });
        if want != WantedState::Ended || !lives {
            return;
        }
        // One that met a limit ends by itself.
        if self
            .agents
            .get(id)
            .is_some_and(|agent| agent.fate.iter().any(limited))
        {
            return;
        }
        let life = Life::Exited {
            code: None,
            asked: true,
            tail: String::new(),
        };
        let id = id.clone();
        self.soon(10, Event::Attempt { id, number, life });
    }

    fn repeat(&mut self, _id: &NodeId, _number: u32) -> bool {
        false
    }

    fn hang_up(&mut self, _id: &NodeId, _number: u32) {}

    fn worktree_of(&self, _phase: u32) -> Option<Arc<str>> {
        None
    }

    fn agent_of(&self, _id: &NodeId) -> String {
        "simulated".into()
    }

    fn speaks_protocol(&self, _id: &NodeId) -> bool {
        true
    }

    fn tell(&mut self, _told: Told) {}
}

/// Runs a graph of tasks through the real conductor over simulated time.
pub fn rehearse(
    graph: Arc<TaskGraph>,
    config: OrchestrationLimits,
    rules: &Rules,
    odds: Odds,
    takes_ms: (i64, i64),
    seed: u64,
) -> Result<Rehearsed, Error> {
    let run = OrchestrationState::new(graph, config, Timestamp(BEGIN_MS / 1_000));
    rehearse_from(run, rules, odds, takes_ms, seed)
}

/// Simulates a run from its current state; tasks in progress are started again.
pub fn rehearse_from(
    run: OrchestrationState,
    rules: &Rules,
    odds: Odds,
    takes_ms: (i64, i64),
    seed: u64,
) -> Result<Rehearsed, Error> {
    let mut world = World {
        now: BEGIN_MS,
        chance: Chance(seed),
        odds,
        takes_ms,
        landed: run
            .ids_with_status(NodeStatus::Completed)
            .into_iter()
            .collect(),
        acknowledged: run
            .ids_with_status(NodeStatus::Completed)
            .into_iter()
            .collect(),
        run,
        notes: BTreeMap::new(),
        agents: BTreeMap::new(),
        begun: BTreeSet::new(),
        merged: BTreeSet::new(),
        heard: BTreeMap::new(),
        landing: false,
        starts_max: rules.breakers.starts_per_hour,
        starts: Vec::new(),
        count: 0,
        wrong: Vec::new(),
    };
    let mut conductor = Conductor::new(rules.clone());
    conductor.resume(&mut world)?;
    let (mut crashes, mut events) = (0, 0);
    let ended = loop {
        if let Some(ended) = conductor.ended(&world) {
            break ended;
        }
        events += 1;
        if events > EVENTS_MAX {
            world.wrong.push("it never ends".into());
            break Ended::Left;
        }
        if world.chance.one_in_thousand(odds.crash) {
            crashes += 1;
            // Operations in progress end without an event; agents that live are found again.
            world.heard.clear();
            world.landing = false;
            conductor = Conductor::new(rules.clone());
            conductor.resume(&mut world)?;
            continue;
        }
        let next = world.heard.first_key_value().map(|((at, _), _)| *at);
        match (next, conductor.wakes_ms()) {
            (Some(at), wake) if wake.is_none_or(|wake| at <= wake) => {
                world.now = world.now.max(at);
                if let Some((_, event)) = world.heard.pop_first() {
                    if let Event::Attempt { id, life, .. } = &event
                        && !matches!(life, Life::Running | Life::Said(_))
                    {
                        world.agents.remove(id);
                    }
                    if let Event::Landed { .. } = &event {
                        world.landing = false;
                    }
                    conductor.hear(&mut world, event)?;
                }
            }
            (_, Some(wake)) => {
                world.now = world.now.max(wake);
                conductor.tick(&mut world)?;
            }
            (_, None) => {
                world.wrong.push("it waits for nobody".into());
                break Ended::Left;
            }
        }
    };
    let violations = OrchestrateMachine::violations(&world.run);
    let broken = violations
        .iter()
        .map(|it| format!("{}: {}", it.rule, it.detail));
    world.wrong.extend(broken);
    for id in world.run.ids_with_status(NodeStatus::Completed) {
        if !world.acknowledged.contains(&id) {
            world.wrong.push(format!("{id} is done and nobody said so"));
        }
    }
    Ok(Rehearsed {
        ended,
        took_ms: world.now - BEGIN_MS,
        run: world.run,
        crashes,
        attempts: world.begun.len() as u64,
        wrong: world.wrong,
    })
}
