//! The transition rules of orchestrations.

use super::run::StatusChanges;
use super::{
    COMMIT_CHARS, Command, Effect, LandingOutcome, NextWork, NodeId, NodeStatus,
    OrchestrationEvent, OrchestrationState, PhaseEnd, Refusal, check, next_work,
};
use crate::kernel::{
    Actor, CommandAdvice, Machine, MachineStep, RefusalSubject, Timestamp, Violation,
};
use std::sync::Arc;

/// The state machine of orchestrations.
#[derive(Debug, Clone, Copy)]
pub struct OrchestrateMachine;

/// Number of pieces of advice given at once: a run may have thousands of ready tasks.
const ADVICE_MAX: usize = 6;

/// The effects, or the refusal. Every rule checks first and changes the run only when the command
/// is legal.
type Outcome = Result<Vec<Effect>, Refusal>;

impl Machine for OrchestrateMachine {
    type State = OrchestrationState;
    type Command = Command;
    type Effect = Effect;
    type Refusal = Refusal;

    fn step(
        run: &OrchestrationState,
        command: Command,
        at: Timestamp,
    ) -> Result<MachineStep<OrchestrationState, Effect>, Refusal> {
        let mut next = run.clone();
        let effects = Self::advance(&mut next, command, at)?;
        Ok(MachineStep { next, effects })
    }

    fn advance(run: &mut OrchestrationState, command: Command, at: Timestamp) -> Outcome {
        match command {
            Command::Start { id } => start_task(run, &id, false, at),
            Command::StartAhead { id } => start_task(run, &id, true, at),
            Command::Recall { id } => recall_task(run, &id, at),
            Command::Complete { id } => complete_task(run, &id, at),
            Command::Fail { id, reason, retry } => fail_task(run, &id, reason, retry, at),
            Command::ForceComplete { id, by, reason } => {
                force_complete(run, &id, by, reason.as_deref(), at)
            }
            Command::Retry { id } => retry_task(run, &id, at),
            Command::Lost { gone } => fail_lost_tasks(run, &gone, at),
            Command::PhaseFinish {
                phase,
                end,
                worktree,
            } => phase_finish(run, phase, end, worktree, at),
            Command::SetWorktree { path } => set_worktree(run, path, at),
        }
    }

    fn status_name(run: &OrchestrationState) -> &'static str {
        let untouched = run.count_status(NodeStatus::Pending) + run.count_status(NodeStatus::Ready);
        if run.all_done() {
            "completed"
        } else if run.is_stalled() {
            "stalled"
        } else if untouched == run.graph.len() {
            "pending"
        } else {
            "in_progress"
        }
    }

    fn violations(run: &OrchestrationState) -> Vec<Violation> {
        check::find_violations(run)
    }

    fn advice(run: &OrchestrationState) -> Vec<CommandAdvice> {
        let on = |verb, ids: &mut dyn Iterator<Item = &u32>, advice: &mut Vec<CommandAdvice>| {
            let ids = ids.take(ADVICE_MAX - advice.len());
            advice.extend(
                ids.map(|&node| CommandAdvice::with_target(verb, run.graph.id_at(node).as_ref())),
            );
        };
        let mut advice = Vec::new();
        match next_work(run) {
            NextWork::AllDone => {}
            NextWork::PhaseDone(phase) => advice.push(CommandAdvice::with_target(
                "phase finish",
                phase.to_string(),
            )),
            NextWork::Stalled(_) => on("retry", &mut run.failed.iter(), &mut advice),
            NextWork::Ready(ids) => {
                on("start", &mut run.ready.iter().take(ids.len()), &mut advice);
                on("complete", &mut run.running.iter(), &mut advice);
            }
            NextWork::Wait => on("complete", &mut run.running.iter(), &mut advice),
        }
        advice
    }
}

fn start_task(run: &mut OrchestrationState, id: &NodeId, ahead: bool, at: Timestamp) -> Outcome {
    let node = require_task(run, id)?;
    match run.node_at(node).status {
        NodeStatus::Ready => {}
        NodeStatus::Pending if ahead && is_startable_ahead(run, node) => {}
        NodeStatus::Pending => {
            let (own, current) = (run.graph.phase_index(node), run.current);
            let phases = run.graph.phase_numbers();
            return Err(Refusal::NotReady {
                id: id.clone(),
                waits_for: run.awaited_tasks(node, |status| status != NodeStatus::Completed),
                phase: (own != current).then(|| (phases[own], run.current_phase())),
            });
        }
        NodeStatus::Blocked => {
            return Err(Refusal::Blocked {
                id: id.clone(),
                by: run.awaited_tasks(node, NodeStatus::obstructs_dependents),
            });
        }
        status @ (NodeStatus::InProgress | NodeStatus::Completed | NodeStatus::Failed) => {
            return Err(wrong_state(id, status, "start"));
        }
    }
    if run.free_places() == Some(0) {
        return Err(Refusal::NoFreePlace {
            max: run.config.max_parallel,
        });
    }
    let place = run.graph.phase_index(node);
    let mut draft = RunUpdate::new(run, at);
    draft.run.node_at_mut(node).started_at = Some(at);
    draft.set_status(node, NodeStatus::InProgress);
    draft.run.phases[place].started_at.get_or_insert(at);
    Ok(draft.into_effects())
}

/// True if the task is of the current phase and everything it still needs is in progress or
/// completed.
fn is_startable_ahead(run: &OrchestrationState, node: u32) -> bool {
    let idle = |status| !matches!(status, NodeStatus::InProgress | NodeStatus::Completed);
    run.graph.phase_index(node) == run.current && run.awaited_tasks(node, idle).is_empty()
}

fn recall_task(run: &mut OrchestrationState, id: &NodeId, at: Timestamp) -> Outcome {
    let node = require_in_progress(run, id, "recall")?;
    if run.node_at(node).open_needs == 0 {
        return Err(wrong_state(id, NodeStatus::InProgress, "recall"));
    }
    let rest = run.derived_status(node);
    let mut draft = RunUpdate::new(run, at);
    draft.run.node_at_mut(node).started_at = None;
    draft.set_status(node, rest);
    Ok(draft.into_effects())
}

fn complete_task(run: &mut OrchestrationState, id: &NodeId, at: Timestamp) -> Outcome {
    let node = require_in_progress(run, id, "complete")?;
    let started = run.node_at(node).started_at;
    let mut draft = RunUpdate::new(run, at);
    if let Some(started) = started {
        let time = &mut draft.run.time;
        time.seconds = time.seconds.saturating_add(at.seconds_since(started));
        time.tasks = time.tasks.saturating_add(1);
    }
    draft.complete_node(node);
    Ok(draft.into_effects())
}

fn fail_task(
    run: &mut OrchestrationState,
    id: &NodeId,
    reason: Option<Arc<str>>,
    retry: bool,
    at: Timestamp,
) -> Outcome {
    let node = require_in_progress(run, id, "fail")?;
    let mut draft = RunUpdate::new(run, at);
    draft.run.node_at_mut(node).error = reason;
    draft.count_failed_run(node, retry);
    Ok(draft.into_effects())
}

fn force_complete(
    run: &mut OrchestrationState,
    id: &NodeId,
    by: Actor,
    reason: Option<&str>,
    at: Timestamp,
) -> Outcome {
    let node = require_task(run, id)?;
    match by {
        Actor::Agent => return Err(Refusal::NeedsPerson { id: id.clone() }),
        Actor::Person => {}
    }
    if reason.is_some_and(|reason| reason.trim().is_empty()) {
        return Err(Refusal::Empty {
            what: RefusalSubject::Reason,
        });
    }
    match run.node_at(node).status {
        status @ NodeStatus::Completed => return Err(wrong_state(id, status, "force")),
        NodeStatus::Pending
        | NodeStatus::Ready
        | NodeStatus::InProgress
        | NodeStatus::Failed
        | NodeStatus::Blocked => {}
    }
    let mut draft = RunUpdate::new(run, at);
    draft.complete_node(node);
    Ok(draft.into_effects())
}

fn retry_task(run: &mut OrchestrationState, id: &NodeId, at: Timestamp) -> Outcome {
    let node = require_task(run, id)?;
    match run.node_at(node).status {
        NodeStatus::Failed => {}
        status @ (NodeStatus::Pending
        | NodeStatus::Ready
        | NodeStatus::InProgress
        | NodeStatus::Completed
        | NodeStatus::Blocked) => {
            let id = id.clone();
            return Err(Refusal::NotFailed { id, status });
        }
    }
    let rest = run.derived_status(node);
    let mut draft = RunUpdate::new(run, at);
    let state = draft.run.node_at_mut(node);
    state.attempts = 0;
    state.error = None;
    draft.set_status(node, rest);
    Ok(draft.into_effects())
}

/// Ends the run of every task whose process is gone. It counts as a failed run, so that a task that
/// is lost again and again comes to an end.
fn fail_lost_tasks(run: &mut OrchestrationState, gone: &[NodeId], at: Timestamp) -> Outcome {
    let gone = gone.iter().map(|id| require_task(run, id));
    let gone = gone.collect::<Result<Vec<_>, _>>()?;
    let mut draft = RunUpdate::new(run, at);
    for node in gone {
        if draft.run.node_at(node).status == NodeStatus::InProgress {
            draft.count_failed_run(node, true);
        }
    }
    Ok(draft.into_effects())
}

fn phase_finish(
    run: &mut OrchestrationState,
    phase: u32,
    end: PhaseEnd,
    worktree: Option<Arc<str>>,
    at: Timestamp,
) -> Outcome {
    let known = run.graph.phase_numbers().binary_search(&phase);
    let place = known.map_err(|_| Refusal::NoPhase { phase })?;
    let state = &run.phases[place];
    if state.is_finished() {
        return Err(Refusal::PhaseFinished { phase });
    }
    if place != run.current {
        return Err(Refusal::PhaseNotCurrent {
            phase,
            current: run.current_phase(),
        });
    }
    if !state.is_complete() {
        return Err(Refusal::PhaseIncomplete {
            phase,
            open: state.total - state.completed,
            total: state.total,
        });
    }
    let landing = match end {
        PhaseEnd::Merged { commit } => {
            let digits = commit
                .bytes()
                .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
            if !digits || commit.len() != COMMIT_CHARS {
                return Err(Refusal::BadCommit { commit });
            }
            LandingOutcome::Merged { commit }
        }
        PhaseEnd::NoGit => LandingOutcome::WithoutMerge,
        PhaseEnd::ChecksRed | PhaseEnd::Conflict => LandingOutcome::Unmerged,
    };
    let mut draft = RunUpdate::new(run, at);
    let landed = landing.has_landed();
    let ended = &mut draft.run.phases[place];
    ended.landing = Some(landing);
    if !landed {
        draft.notify_people(OrchestrationEvent::PhaseNotLanded(phase));
        return Ok(draft.into_effects());
    }
    // A clock that was set back must not make a phase end before it began.
    ended.completed_at = Some(ended.started_at.map_or(at, |started| at.max(started)));
    draft.notify_people(OrchestrationEvent::PhaseDone(phase));
    draft.run.find_current();
    if draft.run.all_done() {
        draft.run.worktree = None;
        draft.notify_people(OrchestrationEvent::AllDone);
    } else {
        draft.run.worktree = worktree;
        let reached = draft.run.current_phase();
        draft.effects.push(Effect::PhaseReached(reached));
        draft.run.enter_phase(&mut draft.changes);
    }
    Ok(draft.into_effects())
}

fn set_worktree(run: &mut OrchestrationState, path: Option<Arc<str>>, at: Timestamp) -> Outcome {
    if path.as_deref().is_some_and(|path| path.trim().is_empty()) {
        return Err(Refusal::Empty {
            what: RefusalSubject::Worktree,
        });
    }
    let draft = RunUpdate::new(run, at);
    draft.run.worktree = path;
    Ok(draft.into_effects())
}

/// A command being applied.
struct RunUpdate<'r> {
    run: &'r mut OrchestrationState,
    was_stalled: bool,
    changes: StatusChanges,
    effects: Vec<Effect>,
}

impl<'r> RunUpdate<'r> {
    fn new(run: &'r mut OrchestrationState, at: Timestamp) -> Self {
        run.updated_at = run.updated_at.max(at);
        RunUpdate {
            was_stalled: run.is_stalled(),
            run,
            changes: StatusChanges::default(),
            effects: Vec::new(),
        }
    }

    fn set_status(&mut self, node: u32, to: NodeStatus) {
        self.run.set_status(node, to, &mut self.changes);
    }

    fn complete_node(&mut self, node: u32) {
        let state = self.run.node_at_mut(node);
        state.started_at = None;
        state.error = None;
        self.set_status(node, NodeStatus::Completed);
        let id = self.run.graph.id_at(node).clone();
        self.effects.push(Effect::TickTask(id.clone()));
        self.notify_people(OrchestrationEvent::TaskDone(id));
    }

    /// Counts a failed run. The task is tried again if `retry` is set and the limit allows;
    /// otherwise it fails for good.
    fn count_failed_run(&mut self, node: u32, retry: bool) {
        let (limit, rest) = (
            self.run.config.retry_limit.max(1),
            self.run.derived_status(node),
        );
        let state = self.run.node_at_mut(node);
        state.attempts = state.attempts.saturating_add(1).min(limit);
        state.started_at = None;
        if retry && state.attempts < limit {
            self.set_status(node, rest);
        } else {
            self.set_status(node, NodeStatus::Failed);
            let id = self.run.graph.id_at(node).clone();
            self.notify_people(OrchestrationEvent::TaskFailed(id));
        }
    }

    fn notify_people(&mut self, event: OrchestrationEvent) {
        self.effects.push(Effect::Notify(event));
    }

    fn into_effects(mut self) -> Vec<Effect> {
        let graph = &self.run.graph;
        let names = |mut nodes: Vec<u32>| {
            nodes.sort_unstable();
            graph.ids_of(&nodes)
        };
        let StatusChanges { ready, blocked } = self.changes;
        if !ready.is_empty() {
            self.effects.push(Effect::BecameReady(names(ready)));
        }
        if !blocked.is_empty() {
            self.effects.push(Effect::Blocked(names(blocked)));
        }
        if self.run.is_stalled() && !self.was_stalled {
            self.effects
                .push(Effect::Notify(OrchestrationEvent::Stalled));
        }
        self.effects
    }
}

fn require_task(run: &OrchestrationState, id: &NodeId) -> Result<u32, Refusal> {
    let found = run.graph.index_of(id);
    found.ok_or_else(|| Refusal::NoTask { id: id.clone() })
}

fn require_in_progress(
    run: &OrchestrationState,
    id: &NodeId,
    verb: &'static str,
) -> Result<u32, Refusal> {
    let node = require_task(run, id)?;
    match run.node_at(node).status {
        NodeStatus::InProgress => Ok(node),
        status @ (NodeStatus::Pending
        | NodeStatus::Ready
        | NodeStatus::Completed
        | NodeStatus::Failed
        | NodeStatus::Blocked) => Err(wrong_state(id, status, verb)),
    }
}

fn wrong_state(id: &NodeId, status: NodeStatus, verb: &'static str) -> Refusal {
    Refusal::TaskState {
        id: id.clone(),
        status,
        verb,
    }
}
