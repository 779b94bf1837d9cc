//! Reports on runs, real and simulated, in plain words and numbers, so that displays need no rules.

use super::conductor::RunOutcome;
use super::repo::KeptWorktree;
use super::run::{RunOptions, read_settings, run_rules};
use super::run_simulation::{FailureOdds, simulate_from};
use crate::core::failure::FailureReason;
use bowline_engine::formats::orchestrate::RunMode;
use bowline_engine::machines::orchestrate::{
    NextWork, NodeId, NodeStatus, OrchestrationLimits, OrchestrationState, next_work,
};
use bowline_engine::operations::orchestrate::Orchestration;
use bowline_engine::{Context, Error};
use std::collections::{BTreeSet, HashMap};

const MINUTE_MS: i64 = 60_000;
/// Maximum number of most blocking tasks that a simulation names.
const WORST_MAX: usize = 5;

/// Completed tasks of all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanProgress {
    pub done: usize,
    pub total: usize,
}

impl PlanProgress {
    pub(super) fn from_run(run: &OrchestrationState) -> PlanProgress {
        PlanProgress {
            done: run.count_status(NodeStatus::Completed),
            total: run.graph().len(),
        }
    }
}

/// State of a run as it is shown while the run goes on.
#[derive(Debug, Clone)]
pub struct RunView(OrchestrationState);

/// Progress of one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseProgress {
    pub number: u32,
    pub progress: PlanProgress,
}

impl RunView {
    pub(super) fn new(run: OrchestrationState) -> RunView {
        RunView(run)
    }

    /// Returns the progress of the whole run.
    pub fn progress(&self) -> PlanProgress {
        PlanProgress::from_run(&self.0)
    }

    /// Returns the unfinished phases in order.
    pub fn open_phases(&self) -> impl Iterator<Item = PhaseProgress> {
        let open = self.0.phases().filter(|phase| !phase.is_finished());
        open.map(|phase| PhaseProgress {
            number: phase.number,
            progress: PlanProgress {
                done: phase.completed,
                total: phase.total,
            },
        })
    }

    /// Returns the ids of the tasks in progress.
    pub fn running_tasks(&self) -> Vec<String> {
        id_strings(&self.0.ids_with_status(NodeStatus::InProgress))
    }

    /// Estimates the remaining seconds from the average time of a task: at least the longest chain
    /// of open tasks, and at least all open tasks divided by the parallel limit. None while no task
    /// was timed.
    pub fn expected_seconds(&self) -> Option<i64> {
        let run = &self.0;
        let average = run.metrics().average_task_time_seconds;
        if average <= 0 {
            return None;
        }
        let open = |id: &NodeId| {
            run.find_node(id)
                .is_some_and(|node| node.status != NodeStatus::Completed)
        };
        let graph = run.graph();
        let mut depth: HashMap<NodeId, i64> = HashMap::new();
        let mut chain = 0;
        for &phase in graph.phase_numbers() {
            let base = chain;
            for id in graph.tasks_of(phase).iter().filter(|id| open(id)) {
                // Tasks listed before what they need are underestimated a little.
                let needs = graph.dependencies_of(id);
                let behind = needs.iter().filter_map(|need| depth.get(need)).max();
                let mine = behind.copied().unwrap_or(base).max(base) + 1;
                depth.insert(id.clone(), mine);
                chain = chain.max(mine);
            }
        }
        let at_once = match run.run_limits().max_parallel {
            0 => run.count_status(NodeStatus::InProgress).max(1),
            limit => usize::try_from(limit).unwrap_or(1),
        };
        let shared = depth.len().div_ceil(at_once);
        let shared = i64::try_from(shared).unwrap_or(i64::MAX);
        Some(chain.max(shared).saturating_mul(average))
    }
}

/// Report on a run that has ended.
#[derive(Debug)]
pub struct RunReport {
    pub ended: RunOutcome,
    pub progress: PlanProgress,
    /// The current phase.
    pub phase: u32,
    pub failed: Vec<FailedTask>,
    /// Ids of all tasks that wait for failed ones.
    pub blocked: Vec<String>,
    /// Ids of tasks whose agents continue.
    pub going_on: Vec<String>,
    /// Branch that phases are merged into; none outside of git.
    pub target: Option<String>,
    /// Phases are checked by a command.
    pub checked: bool,
    /// Worktrees that still exist.
    pub kept: Vec<KeptWorktree>,
}

/// A task that failed for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTask {
    pub id: String,
    /// The reason in the state file.
    pub error: Option<String>,
    /// The reason, if the task failed in this run.
    pub why: Option<FailureReason>,
    /// Ids of tasks that depend on it, directly or not.
    pub blocks: Vec<String>,
}

impl RunReport {
    pub(super) fn from_run(
        run: &OrchestrationState,
        ended: RunOutcome,
        why: impl Fn(&NodeId) -> Option<FailureReason>,
    ) -> RunReport {
        let failed = run
            .nodes()
            .filter(|(_, node)| node.status == NodeStatus::Failed);
        RunReport {
            ended,
            progress: PlanProgress::from_run(run),
            phase: run.current_phase(),
            failed: failed
                .map(|(id, node)| FailedTask {
                    id: id.to_string(),
                    error: node.error.as_deref().map(str::to_owned),
                    why: why(id),
                    blocks: blocked_by(run, id),
                })
                .collect(),
            blocked: id_strings(&run.ids_with_status(NodeStatus::Blocked)),
            going_on: Vec::new(),
            target: None,
            checked: false,
            kept: Vec::new(),
        }
    }
}

pub(super) fn id_strings(ids: &[NodeId]) -> Vec<String> {
    ids.iter().map(|id| id.to_string()).collect()
}

/// Returns the blocked tasks that depend on a task, directly or not, in the order of the plan.
fn blocked_by(run: &OrchestrationState, id: &NodeId) -> Vec<String> {
    let blocked = |id: &NodeId| {
        let node = run.find_node(id);
        node.is_some_and(|node| node.status == NodeStatus::Blocked)
    };
    let found = dependents_reached_through(run, id, blocked);
    let ids = run.graph().ids().iter();
    ids.filter(|id| found.contains(*id))
        .map(|id| id.to_string())
        .collect()
}

/// Returns the wanted tasks that depend on one. Tasks behind an unwanted one are not reached.
fn dependents_reached_through(
    run: &OrchestrationState,
    id: &NodeId,
    wanted: impl Fn(&NodeId) -> bool,
) -> BTreeSet<NodeId> {
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

/// Returns the ids of the tasks that a run would start first.
pub fn ready_tasks(context: &Context, orchestration: &Orchestration) -> Result<Vec<String>, Error> {
    let (_, run) = orchestration.read_run(context)?;
    Ok(match next_work(&run) {
        NextWork::Ready(ids) => id_strings(&ids),
        NextWork::Wait | NextWork::PhaseDone(_) | NextWork::AllDone | NextWork::Stalled(_) => {
            Vec::new()
        }
    })
}

/// Options of a simulation.
#[derive(Debug, Clone, Copy)]
pub struct SimulationOptions {
    /// Number of simulated runs.
    pub seeds: u64,
    /// Minimum and maximum time of a task.
    pub minutes: (u32, u32),
    /// Percentage of attempts that fail.
    pub failing: u32,
    /// Tasks at once; none for the limit of the state file.
    pub parallel: Option<u32>,
}

/// Summary of simulated runs.
#[derive(Debug, Clone)]
pub struct SimulationSummary {
    /// Number of simulated runs.
    pub runs: u64,
    /// Durations of the runs that finished, in milliseconds, shortest first.
    pub took_ms: Vec<i64>,
    /// Seeds of the runs that did not finish.
    pub stalled: Vec<u64>,
    /// Tasks whose failure would block most others, each with the number of tasks blocked.
    pub worst: Vec<(String, usize)>,
}

/// Simulates runs of a plan and summarises them.
pub fn simulate_runs(
    context: &Context,
    orchestration: &Orchestration,
    options: &SimulationOptions,
) -> Result<SimulationSummary, Error> {
    let run = orchestration.prospective_run(context)?;
    let settings = read_settings(orchestration.root())?;
    let config = run.run_limits();
    let run = run.with_limits(OrchestrationLimits {
        max_parallel: options.parallel.unwrap_or(config.max_parallel),
        ..config
    });
    let rules = run_rules(&RunOptions::default(), &settings, RunMode::Normal);
    let odds = FailureOdds {
        fails: u64::from(options.failing.min(100)) * 10,
        ..FailureOdds::NONE
    };
    let (from, to) = (options.minutes.0.min(options.minutes.1), options.minutes.1);
    let takes = (i64::from(from) * MINUTE_MS, i64::from(to) * MINUTE_MS + 1);
    let mut prospect = SimulationSummary {
        runs: options.seeds.max(1),
        took_ms: Vec::new(),
        stalled: Vec::new(),
        worst: most_blocking(&run),
    };
    for seed in 0..prospect.runs {
        let outcome = simulate_from(run.clone(), &rules, odds, takes, seed)?;
        match outcome.ended {
            RunOutcome::AllDone => prospect.took_ms.push(outcome.took_ms),
            RunOutcome::Stalled | RunOutcome::Stuck { .. } | RunOutcome::Left => {
                prospect.stalled.push(seed)
            }
        }
    }
    prospect.took_ms.sort_unstable();
    Ok(prospect)
}

/// Returns the tasks whose failure would block most others.
fn most_blocking(run: &OrchestrationState) -> Vec<(String, usize)> {
    let open = run
        .nodes()
        .filter(|(_, node)| node.status != NodeStatus::Completed);
    let mut all: Vec<(String, usize)> = open
        .map(|(id, _)| {
            (
                id.to_string(),
                dependents_reached_through(run, id, |_| true).len(),
            )
        })
        .filter(|(_, count)| *count > 0)
        .collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.truncate(WORST_MAX);
    all
}
