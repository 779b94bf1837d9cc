//! Simulates a run from a seed: time, agents, landings and disk are simulated, the conductor and
//! the rules are real.
//!
//! What the real ports make durable survives a simulated crash; all else is forgotten, and a new
//! conductor continues.

use super::conductor::{Conductor, RunOutcome, RunRules};
use super::ports::{
    ConductorEvent, ConductorPorts, FileOverlap, GitJob, LandOutcome, PhaseOutcome,
    ResourceShortage, RunError, RunNotice, TaskAgentEvent,
};
use super::repo::WorktreeOutcome;
use super::task_record::TaskRecord;
use crate::core::breakers::add_start;
use crate::core::failure::FailureReason;
use crate::core::output_parser::{LimitEnd, OutputSignal};
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
pub struct FailureOdds {
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

impl FailureOdds {
    /// Nothing fails.
    pub const NONE: FailureOdds = FailureOdds {
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
    pub const BAD: FailureOdds = FailureOdds {
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
pub struct SimulatedRun {
    pub ended: RunOutcome,
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
struct SeededRandom(u64);

impl SeededRandom {
    fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn one_in_thousand(&mut self, odds: u64) -> bool {
        self.next_number() % 1_000 < odds
    }

    fn number_between(&mut self, from: i64, to: i64) -> i64 {
        let span = to.saturating_sub(from).max(1).unsigned_abs();
        from + i64::try_from(self.next_number() % span).unwrap_or(0)
    }
}

/// A simulated agent, which survives a crash of the conductor.
#[derive(Debug, Clone)]
struct SimulatedAgent {
    number: u32,
    /// Time of its end, at which its events occur.
    ends_ms: i64,
    fate: Vec<TaskAgentEvent>,
}

#[derive(Debug)]
struct SimulatedWorld {
    now: i64,
    chance: SeededRandom,
    odds: FailureOdds,
    /// Minimum and maximum time that a task takes.
    takes_ms: (i64, i64),
    run: OrchestrationState,
    notes: BTreeMap<NodeId, TaskRecord>,
    agents: BTreeMap<NodeId, SimulatedAgent>,
    /// All attempts ever started.
    begun: BTreeSet<(NodeId, u32)>,
    /// Tasks whose work is on a branch.
    landed: BTreeSet<NodeId>,
    /// Tasks that were completed in the state file.
    acknowledged: BTreeSet<NodeId>,
    merged: BTreeSet<u32>,
    /// Future events by time; forgotten at a crash.
    future_events: BTreeMap<(i64, u64), ConductorEvent>,
    /// A landing is in progress; there must be one at a time.
    landing: bool,
    /// Agents that may start within an hour, and the latest starts.
    starts_max: Option<usize>,
    starts: Vec<i64>,
    count: u64,
    wrong: Vec<String>,
}

impl SimulatedWorld {
    fn schedule_event(&mut self, after: i64, event: ConductorEvent) {
        self.count += 1;
        self.future_events
            .insert((self.now + after, self.count), event);
    }

    /// Schedules the events of an agent's end.
    fn schedule_end(&mut self, id: &NodeId) {
        let Some(agent) = self.agents.get(id).cloned() else {
            return;
        };
        let after = (agent.ends_ms - self.now).max(1);
        for life in agent.fate {
            let (id, number) = (id.clone(), agent.number);
            self.schedule_event(
                after,
                ConductorEvent::Attempt {
                    id,
                    number,
                    event: life,
                },
            );
        }
    }

    fn draw_fate(&mut self) -> Vec<TaskAgentEvent> {
        let odds = self.odds;
        let exit = |code| TaskAgentEvent::Exited {
            code: Some(code),
            asked: false,
            tail: String::new(),
        };
        if self.chance.one_in_thousand(odds.lost) {
            return vec![TaskAgentEvent::Lost];
        }
        if self.chance.one_in_thousand(odds.limited) {
            let seconds = self.chance.number_between(1, 3_600);
            return vec![
                TaskAgentEvent::Signals(vec![OutputSignal::RateLimited(LimitEnd::After(seconds))]),
                exit(1),
            ];
        }
        if self.chance.one_in_thousand(odds.fails) {
            let why = format!("error of kind {}", self.chance.next_number() % 3);
            return vec![
                TaskAgentEvent::Signals(vec![OutputSignal::Failed(why)]),
                exit(0),
            ];
        }
        vec![
            TaskAgentEvent::Running,
            TaskAgentEvent::Signals(vec![OutputSignal::Complete]),
            exit(0),
        ]
    }
}

impl ConductorPorts for SimulatedWorld {
    fn now_ms(&self) -> i64 {
        self.now
    }

    fn run_state(&self) -> &OrchestrationState {
        &self.run
    }

    fn apply_command(&mut self, command: Command) -> Result<Vec<Effect>, RunError> {
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

    fn resource_shortage(&mut self) -> Option<ResourceShortage> {
        let short = self.chance.one_in_thousand(self.odds.short);
        short.then_some(ResourceShortage::Disk { free: 0, wanted: 1 })
    }

    /// Lets every third task declare to change one of two folders.
    fn declared_paths(&self, id: &NodeId) -> Vec<String> {
        let sum: u32 = id.bytes().map(u32::from).sum();
        match sum % 3 {
            0 => vec![format!("part-{}", sum % 2)],
            _ => Vec::new(),
        }
    }

    fn task_record(&mut self, id: &NodeId) -> TaskRecord {
        self.notes.get(id).cloned().unwrap_or_default()
    }

    fn recorded_starts(&self) -> Vec<i64> {
        let notes = self.notes.values();
        notes.flat_map(|note| note.starts.clone()).collect()
    }

    fn store_record(&mut self, id: &NodeId, note: &TaskRecord) -> Result<(), RunError> {
        self.notes.insert(id.clone(), note.clone());
        Ok(())
    }

    fn request_job(&mut self, job: GitJob) {
        let after = self.chance.number_between(1, 2_000);
        match job {
            GitJob::PrepareWorktree { id, .. } => self.schedule_event(
                after,
                ConductorEvent::WorktreePrepared {
                    id,
                    prepared: WorktreeOutcome::Ready { renewed: false },
                },
            ),
            GitJob::Clean { .. } => {}
            GitJob::Forecast { id, others } => {
                let odds = self.odds.overlap;
                let mut overlaps = Vec::new();
                for with in others {
                    if self.chance.one_in_thousand(odds) {
                        let paths = vec!["shared".into()];
                        overlaps.push(FileOverlap { with, paths });
                    }
                }
                self.schedule_event(after, ConductorEvent::Forecast { id, overlaps });
            }
            GitJob::Land { id, reserved } => {
                let odds = self.odds;
                if !self.run.open_needs(&id).is_empty() {
                    self.wrong.push(format!("{id} lands before what it needs"));
                }
                if std::mem::replace(&mut self.landing, true) {
                    self.wrong.push(format!("{id} lands beside another"));
                }
                let outcome = if self.landed.contains(&id) {
                    LandOutcome::Done
                } else if !reserved.is_empty() && self.chance.one_in_thousand(500) {
                    LandOutcome::Held { by: reserved }
                } else if self.chance.one_in_thousand(odds.proposed) {
                    match self.chance.next_number() % 8 {
                        0 => LandOutcome::SentBack {
                            why: FailureReason::from_text(&format!(
                                "reviewer {} says no",
                                self.chance.next_number() % 9
                            )),
                        },
                        _ => LandOutcome::Proposed {
                            url: "http://localhost/1".into(),
                        },
                    }
                } else if self.chance.one_in_thousand(odds.conflict) {
                    LandOutcome::Conflict {
                        paths: vec!["shared".into()],
                        hunks: String::new(),
                        base: self.landed.len().to_string(),
                    }
                } else if self.chance.one_in_thousand(odds.red) {
                    LandOutcome::Red {
                        why: FailureReason::from_text(&format!(
                            "test {} failed",
                            self.chance.next_number() % 4
                        )),
                    }
                } else {
                    // On the branch from now on, even if the conductor crashes before it learns of
                    // it.
                    self.landed.insert(id.clone());
                    LandOutcome::Done
                };
                self.schedule_event(after, ConductorEvent::Landed { id, outcome });
            }
            GitJob::FinishPhase { phase } => {
                self.merged.insert(phase);
                let end = PhaseEnd::Merged {
                    commit: "0123456".into(),
                };
                let outcome = PhaseOutcome::Ended { end, why: None };
                self.schedule_event(after, ConductorEvent::PhaseEnded { phase, outcome });
            }
        }
    }

    fn request_start(&mut self, id: &NodeId, note: &TaskRecord) {
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
        add_start(&mut self.starts, self.now);
        if self.starts_max.is_some_and(|max| self.starts.len() > max) {
            let count = self.starts.len();
            self.wrong
                .push(format!("{count} agents were begun within an hour"));
        }
        let takes = self.chance.number_between(self.takes_ms.0, self.takes_ms.1);
        let fate = self.draw_fate();
        self.agents.insert(
            id.clone(),
            SimulatedAgent {
                number,
                ends_ms: self.now + takes,
                fate,
            },
        );
        self.schedule_end(id);
    }

    fn request_attach(&mut self, id: &NodeId, note: &TaskRecord) {
        match self.agents.get(id) {
            Some(agent) if agent.number == note.attempt => self.schedule_end(id),
            Some(_) | None => {
                let (id, number) = (id.clone(), note.attempt);
                let life = TaskAgentEvent::NeverStarted { why: None };
                self.schedule_event(
                    1,
                    ConductorEvent::Attempt {
                        id,
                        number,
                        event: life,
                    },
                );
            }
        }
    }

    fn request_state(&mut self, id: &NodeId, number: u32, want: WantedState) {
        let lives = self
            .agents
            .get(id)
            .is_some_and(|agent| agent.number == number);
        let limited =
            |life: &TaskAgentEvent| matches!(life, TaskAgentEvent::Exited { code: Some(1), .. });
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
        let life = TaskAgentEvent::Exited {
            code: None,
            asked: true,
            tail: String::new(),
        };
        let id = id.clone();
        self.schedule_event(
            10,
            ConductorEvent::Attempt {
                id,
                number,
                event: life,
            },
        );
    }

    fn request_repeat(&mut self, _id: &NodeId, _number: u32) -> bool {
        false
    }

    fn request_input_close(&mut self, _id: &NodeId, _number: u32) {}

    fn phase_worktree(&self, _phase: u32) -> Option<Arc<str>> {
        None
    }

    fn agent_name(&self, _id: &NodeId) -> String {
        "simulated".into()
    }

    fn speaks_protocol(&self, _id: &NodeId) -> bool {
        true
    }

    fn queue_notice(&mut self, _notice: RunNotice) {}
}

/// Runs a graph of tasks through the real conductor over simulated time.
pub fn simulate_run(
    graph: Arc<TaskGraph>,
    config: OrchestrationLimits,
    rules: &RunRules,
    odds: FailureOdds,
    takes_ms: (i64, i64),
    seed: u64,
) -> Result<SimulatedRun, Error> {
    let run = OrchestrationState::new(graph, config, Timestamp(BEGIN_MS / 1_000));
    simulate_from(run, rules, odds, takes_ms, seed)
}

/// Simulates a run from its current state; tasks in progress are started again.
pub fn simulate_from(
    run: OrchestrationState,
    rules: &RunRules,
    odds: FailureOdds,
    takes_ms: (i64, i64),
    seed: u64,
) -> Result<SimulatedRun, Error> {
    let mut world = SimulatedWorld {
        now: BEGIN_MS,
        chance: SeededRandom(seed),
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
        future_events: BTreeMap::new(),
        landing: false,
        starts_max: rules.breakers.starts_per_hour,
        starts: Vec::new(),
        count: 0,
        wrong: Vec::new(),
    };
    let mut conductor = Conductor::new(rules.clone());
    conductor.resume_run(&mut world)?;
    let (mut crashes, mut events) = (0, 0);
    let ended = loop {
        if let Some(ended) = conductor.run_outcome(&world) {
            break ended;
        }
        events += 1;
        if events > EVENTS_MAX {
            world.wrong.push("it never ends".into());
            break RunOutcome::Left;
        }
        if world.chance.one_in_thousand(odds.crash) {
            crashes += 1;
            // Operations in progress end without an event; agents that live are found again.
            world.future_events.clear();
            world.landing = false;
            conductor = Conductor::new(rules.clone());
            conductor.resume_run(&mut world)?;
            continue;
        }
        let next = world
            .future_events
            .first_key_value()
            .map(|((at, _), _)| *at);
        match (next, conductor.next_wake_ms()) {
            (Some(at), wake) if wake.is_none_or(|wake| at <= wake) => {
                world.now = world.now.max(at);
                if let Some((_, event)) = world.future_events.pop_first() {
                    if let ConductorEvent::Attempt {
                        id, event: life, ..
                    } = &event
                        && !matches!(life, TaskAgentEvent::Running | TaskAgentEvent::Signals(_))
                    {
                        world.agents.remove(id);
                    }
                    if let ConductorEvent::Landed { .. } = &event {
                        world.landing = false;
                    }
                    conductor.on_event(&mut world, event)?;
                }
            }
            (_, Some(wake)) => {
                world.now = world.now.max(wake);
                conductor.on_timer(&mut world)?;
            }
            (_, None) => {
                world.wrong.push("it waits for nobody".into());
                break RunOutcome::Left;
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
    Ok(SimulatedRun {
        ended,
        took_ms: world.now - BEGIN_MS,
        run: world.run,
        crashes,
        attempts: world.begun.len() as u64,
        wrong: world.wrong,
    })
}
