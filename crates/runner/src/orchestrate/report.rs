//! What is told of runs, real and rehearsed, in plain words and numbers: whoever shows it needs no rule.

use super::conductor::Ended;
use super::rehearsal::{Odds, rehearse_from};
use super::repo::Kept;
use super::run::{Options, rules, settings_of};
use crate::core::why::Why;
use bowline_engine::formats::orchestrate::Mode;
use bowline_engine::machines::orchestrate::{Config, Id, Next, Run, Status, next};
use bowline_engine::operations::orchestrate::Orchestration;
use bowline_engine::{Context, Error};
use std::collections::{BTreeSet, HashMap};

const MINUTE_MS: i64 = 60_000;
/// Tasks named whose failure would block most.
const WORST_MAX: usize = 5;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Tasks that are done.
    pub done: usize,
    /// Of so many.
    pub total: usize,
}

impl Progress {
    pub(super) fn of(run: &Run) -> Progress {
        Progress {
            done: run.count(Status::Completed),
            total: run.graph().len(),
        }
    }
}

/// A run as it is shown while it goes on.
#[derive(Debug, Clone)]
pub struct View(Run);

/// A phase of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseView {
    /// Its number.
    pub number: u32,
    /// How far it is.
    pub progress: Progress,
}

impl View {
    pub(super) fn of(run: Run) -> View {
        View(run)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress::of(&self.0)
    }

    /// The phases that are not finished, in their order.
    pub fn open_phases(&self) -> impl Iterator<Item = PhaseView> {
        let open = self.0.phases().filter(|phase| !phase.finished());
        open.map(|phase| PhaseView {
            number: phase.number,
            progress: Progress {
                done: phase.completed,
                total: phase.total,
            },
        })
    }

    /// Tasks that are worked on.
    pub fn running(&self) -> Vec<String> {
        names(&self.0.ids(Status::InProgress))
    }

    /// Seconds that the rest may take, by the average so far: no less than its longest chain, and than all of it shared by
    /// those who can work at once. Nothing while no task was timed.
    pub fn expected_seconds(&self) -> Option<i64> {
        let run = &self.0;
        let average = run.metrics().average_task_time_seconds;
        if average <= 0 {
            return None;
        }
        let open = |id: &Id| {
            run.node(id)
                .is_some_and(|node| node.status != Status::Completed)
        };
        let graph = run.graph();
        let mut depth: HashMap<Id, i64> = HashMap::new();
        let mut chain = 0;
        for &phase in graph.phases() {
            let base = chain;
            for id in graph.tasks_of(phase).iter().filter(|id| open(id)) {
                // Those that stand before what they need are counted a little short: it is an estimate.
                let needs = graph.dependencies_of(id);
                let behind = needs.iter().filter_map(|need| depth.get(need)).max();
                let mine = behind.copied().unwrap_or(base).max(base) + 1;
                depth.insert(id.clone(), mine);
                chain = chain.max(mine);
            }
        }
        let at_once = match run.config().max_parallel {
            0 => run.count(Status::InProgress).max(1),
            limit => usize::try_from(limit).unwrap_or(1),
        };
        let shared = depth.len().div_ceil(at_once);
        let shared = i64::try_from(shared).unwrap_or(i64::MAX);
        Some(chain.max(shared).saturating_mul(average))
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// How it ended.
    pub ended: Ended,
    /// How far it is.
    pub progress: Progress,
    /// The phase it is at.
    pub phase: u32,
    /// What failed.
    pub failed: Vec<FailedTask>,
    /// Everything that waits for what failed.
    pub blocked: Vec<String>,
    /// Tasks whose agents go on.
    pub going_on: Vec<String>,
    /// The branch that phases are merged into, where there is git.
    pub target: Option<String>,
    /// Whether phases were checked by a command.
    pub checked: bool,
    /// Worktrees that are still there.
    pub kept: Vec<Kept>,
}

/// A task that failed for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTask {
    /// Which.
    pub id: String,
    /// Why, as the state file has it.
    pub error: Option<String>,
    /// Why, where it was in this run.
    pub why: Option<Why>,
    /// What waits for it, directly or not.
    pub blocks: Vec<String>,
}

impl Report {
    pub(super) fn of(run: &Run, ended: Ended, why: impl Fn(&Id) -> Option<Why>) -> Report {
        let failed = run
            .nodes()
            .filter(|(_, node)| node.status == Status::Failed);
        Report {
            ended,
            progress: Progress::of(run),
            phase: run.current_phase(),
            failed: failed
                .map(|(id, node)| FailedTask {
                    id: id.to_string(),
                    error: node.error.as_deref().map(str::to_owned),
                    why: why(id),
                    blocks: blocked_by(run, id),
                })
                .collect(),
            blocked: names(&run.ids(Status::Blocked)),
            going_on: Vec::new(),
            target: None,
            checked: false,
            kept: Vec::new(),
        }
    }
}

pub(super) fn names(ids: &[Id]) -> Vec<String> {
    ids.iter().map(|id| id.to_string()).collect()
}

/// Everything that waits for a task, directly or not, in the order of the plan.
fn blocked_by(run: &Run, id: &Id) -> Vec<String> {
    let blocked = |id: &Id| {
        let node = run.node(id);
        node.is_some_and(|node| node.status == Status::Blocked)
    };
    let found = behind(run, id, blocked);
    let ids = run.graph().ids().iter();
    ids.filter(|id| found.contains(*id))
        .map(|id| id.to_string())
        .collect()
}

fn behind(run: &Run, id: &Id, wanted: impl Fn(&Id) -> bool) -> BTreeSet<Id> {
    let graph = run.graph();
    let mut found = BTreeSet::new();
    let mut open = graph.dependents_of(id);
    while let Some(id) = open.pop() {
        if wanted(&id) && found.insert(id.clone()) {
            open.extend(graph.dependents_of(&id));
        }
    }
    found
}

/// What a run would start first.
pub fn would_start(context: &Context, orchestration: &Orchestration) -> Result<Vec<String>, Error> {
    let (_, run) = orchestration.run(context)?;
    Ok(match next(&run) {
        Next::Ready(ids) => names(&ids),
        Next::Wait | Next::PhaseDone(_) | Next::AllDone | Next::Stalled(_) => Vec::new(),
    })
}

/// What is asked of a rehearsal.
#[derive(Debug, Clone, Copy)]
pub struct Rehearsal {
    /// Simulated runs.
    pub seeds: u64,
    /// How long a task takes, at the least and at the most.
    pub minutes: (u32, u32),
    /// Attempts that fail, of a hundred.
    pub failing: u32,
    /// Tasks at once, where it is not as the state file says.
    pub parallel: Option<u32>,
}

/// What simulated runs came to.
#[derive(Debug, Clone)]
pub struct Prospect {
    /// The runs.
    pub runs: u64,
    /// How long those took that came to their end, in milliseconds, the shortest first.
    pub took_ms: Vec<i64>,
    /// The seeds of the others.
    pub stalled: Vec<u64>,
    /// Tasks whose failure would block most, each with how many.
    pub worst: Vec<(String, usize)>,
}

/// Runs a plan over simulated time and agents.
pub fn prospect(
    context: &Context,
    orchestration: &Orchestration,
    wish: &Rehearsal,
) -> Result<Prospect, Error> {
    let run = orchestration.prospect(context)?;
    let settings = settings_of(orchestration.root())?;
    let config = run.config();
    let run = run.with_config(Config {
        max_parallel: wish.parallel.unwrap_or(config.max_parallel),
        ..config
    });
    let rules = rules(&Options::default(), &settings, Mode::Normal);
    let odds = Odds {
        fails: u64::from(wish.failing.min(100)) * 10,
        ..Odds::NONE
    };
    let (from, to) = (wish.minutes.0.min(wish.minutes.1), wish.minutes.1);
    let takes = (i64::from(from) * MINUTE_MS, i64::from(to) * MINUTE_MS + 1);
    let mut prospect = Prospect {
        runs: wish.seeds.max(1),
        took_ms: Vec::new(),
        stalled: Vec::new(),
        worst: worst(&run),
    };
    for seed in 0..prospect.runs {
        let outcome = rehearse_from(run.clone(), &rules, odds, takes, seed)?;
        match outcome.ended {
            Ended::AllDone => prospect.took_ms.push(outcome.took_ms),
            Ended::Stalled | Ended::Stuck { .. } | Ended::Left => prospect.stalled.push(seed),
        }
    }
    prospect.took_ms.sort_unstable();
    Ok(prospect)
}

/// The tasks whose failure would block most others.
fn worst(run: &Run) -> Vec<(String, usize)> {
    let open = run
        .nodes()
        .filter(|(_, node)| node.status != Status::Completed);
    let mut all: Vec<(String, usize)> = open
        .map(|(id, _)| (id.to_string(), behind(run, id, |_| true).len()))
        .filter(|(_, count)| *count > 0)
        .collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.truncate(WORST_MAX);
    all
}
