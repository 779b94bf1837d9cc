//! The transition rules of orchestrations.

use super::run::Changes;
use super::{
    COMMIT_CHARS, Command, Effect, Event, Id, Landing, Next, PhaseEnd, Refusal, Run, Status, check,
    next,
};
use crate::kernel::{Actor, Advice, Machine, RefusalSubject, Step, Timestamp, Violation};
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
    type State = Run;
    type Command = Command;
    type Effect = Effect;
    type Refusal = Refusal;

    fn step(run: &Run, command: Command, at: Timestamp) -> Result<Step<Run, Effect>, Refusal> {
        let mut next = run.clone();
        let effects = Self::advance(&mut next, command, at)?;
        Ok(Step { next, effects })
    }

    fn advance(run: &mut Run, command: Command, at: Timestamp) -> Outcome {
        match command {
            Command::Start { id } => start(run, &id, false, at),
            Command::StartAhead { id } => start(run, &id, true, at),
            Command::Recall { id } => recall(run, &id, at),
            Command::Complete { id } => complete(run, &id, at),
            Command::Fail { id, reason, retry } => fail(run, &id, reason, retry, at),
            Command::ForceComplete { id, by, reason } => {
                force_complete(run, &id, by, reason.as_deref(), at)
            }
            Command::Retry { id } => retry(run, &id, at),
            Command::Lost { gone } => lost(run, &gone, at),
            Command::PhaseFinish {
                phase,
                end,
                worktree,
            } => phase_finish(run, phase, end, worktree, at),
            Command::SetWorktree { path } => set_worktree(run, path, at),
        }
    }

    fn status(run: &Run) -> &'static str {
        let untouched = run.count(Status::Pending) + run.count(Status::Ready);
        if run.all_done() {
            "completed"
        } else if run.stalled() {
            "stalled"
        } else if untouched == run.graph.len() {
            "pending"
        } else {
            "in_progress"
        }
    }

    fn violations(run: &Run) -> Vec<Violation> {
        check::violations(run)
    }

    fn advice(run: &Run) -> Vec<Advice> {
        let on = |verb, ids: &mut dyn Iterator<Item = &u32>, advice: &mut Vec<Advice>| {
            let ids = ids.take(ADVICE_MAX - advice.len());
            advice.extend(ids.map(|&node| Advice::on(verb, run.graph.id(node).as_ref())));
        };
        let mut advice = Vec::new();
        match next(run) {
            Next::AllDone => {}
            Next::PhaseDone(phase) => advice.push(Advice::on("phase finish", phase.to_string())),
            Next::Stalled(_) => on("retry", &mut run.failed.iter(), &mut advice),
            Next::Ready(ids) => {
                on("start", &mut run.ready.iter().take(ids.len()), &mut advice);
                on("complete", &mut run.running.iter(), &mut advice);
            }
            Next::Wait => on("complete", &mut run.running.iter(), &mut advice),
        }
        advice
    }
}

fn start(run: &mut Run, id: &Id, ahead: bool, at: Timestamp) -> Outcome {
    let node = find(run, id)?;
    match run.at(node).status {
        Status::Ready => {}
        Status::Pending if ahead && in_hand(run, node) => {}
        Status::Pending => {
            let (own, current) = (run.graph.place(node), run.current);
            let phases = run.graph.phases();
            return Err(Refusal::NotReady {
                id: id.clone(),
                waits_for: run.awaited(node, |status| status != Status::Completed),
                phase: (own != current).then(|| (phases[own], run.current_phase())),
            });
        }
        Status::Blocked => {
            return Err(Refusal::Blocked {
                id: id.clone(),
                by: run.awaited(node, Status::obstructs),
            });
        }
        status @ (Status::InProgress | Status::Completed | Status::Failed) => {
            return Err(wrong_state(id, status, "start"));
        }
    }
    if run.free_places() == Some(0) {
        return Err(Refusal::NoFreePlace {
            max: run.config.max_parallel,
        });
    }
    let place = run.graph.place(node);
    let mut draft = Draft::of(run, at);
    draft.run.at_mut(node).started_at = Some(at);
    draft.put(node, Status::InProgress);
    draft.run.phases[place].started_at.get_or_insert(at);
    Ok(draft.done())
}

/// True if the task is of the current phase and everything it still needs is in progress or
/// completed.
fn in_hand(run: &Run, node: u32) -> bool {
    let idle = |status| !matches!(status, Status::InProgress | Status::Completed);
    run.graph.place(node) == run.current && run.awaited(node, idle).is_empty()
}

fn recall(run: &mut Run, id: &Id, at: Timestamp) -> Outcome {
    let node = in_progress(run, id, "recall")?;
    if run.at(node).open_needs == 0 {
        return Err(wrong_state(id, Status::InProgress, "recall"));
    }
    let rest = run.derived(node);
    let mut draft = Draft::of(run, at);
    draft.run.at_mut(node).started_at = None;
    draft.put(node, rest);
    Ok(draft.done())
}

fn complete(run: &mut Run, id: &Id, at: Timestamp) -> Outcome {
    let node = in_progress(run, id, "complete")?;
    let started = run.at(node).started_at;
    let mut draft = Draft::of(run, at);
    if let Some(started) = started {
        let time = &mut draft.run.time;
        time.seconds = time.seconds.saturating_add(at.seconds_since(started));
        time.tasks = time.tasks.saturating_add(1);
    }
    draft.complete(node);
    Ok(draft.done())
}

fn fail(run: &mut Run, id: &Id, reason: Option<Arc<str>>, retry: bool, at: Timestamp) -> Outcome {
    let node = in_progress(run, id, "fail")?;
    let mut draft = Draft::of(run, at);
    draft.run.at_mut(node).error = reason;
    draft.failed_run(node, retry);
    Ok(draft.done())
}

fn force_complete(
    run: &mut Run,
    id: &Id,
    by: Actor,
    reason: Option<&str>,
    at: Timestamp,
) -> Outcome {
    let node = find(run, id)?;
    match by {
        Actor::Agent => return Err(Refusal::NeedsPerson { id: id.clone() }),
        Actor::Person => {}
    }
    if reason.is_some_and(|reason| reason.trim().is_empty()) {
        return Err(Refusal::Empty {
            what: RefusalSubject::Reason,
        });
    }
    match run.at(node).status {
        status @ Status::Completed => return Err(wrong_state(id, status, "force")),
        Status::Pending | Status::Ready | Status::InProgress | Status::Failed | Status::Blocked => {
        }
    }
    let mut draft = Draft::of(run, at);
    draft.complete(node);
    Ok(draft.done())
}

fn retry(run: &mut Run, id: &Id, at: Timestamp) -> Outcome {
    let node = find(run, id)?;
    match run.at(node).status {
        Status::Failed => {}
        status @ (Status::Pending
        | Status::Ready
        | Status::InProgress
        | Status::Completed
        | Status::Blocked) => {
            let id = id.clone();
            return Err(Refusal::NotFailed { id, status });
        }
    }
    let rest = run.derived(node);
    let mut draft = Draft::of(run, at);
    let state = draft.run.at_mut(node);
    state.attempts = 0;
    state.error = None;
    draft.put(node, rest);
    Ok(draft.done())
}

/// Ends the run of every task whose process is gone. It counts as a failed run, so that a task that
/// is lost again and again comes to an end.
fn lost(run: &mut Run, gone: &[Id], at: Timestamp) -> Outcome {
    let gone = gone.iter().map(|id| find(run, id));
    let gone = gone.collect::<Result<Vec<_>, _>>()?;
    let mut draft = Draft::of(run, at);
    for node in gone {
        if draft.run.at(node).status == Status::InProgress {
            draft.failed_run(node, true);
        }
    }
    Ok(draft.done())
}

fn phase_finish(
    run: &mut Run,
    phase: u32,
    end: PhaseEnd,
    worktree: Option<Arc<str>>,
    at: Timestamp,
) -> Outcome {
    let known = run.graph.phases().binary_search(&phase);
    let place = known.map_err(|_| Refusal::NoPhase { phase })?;
    let state = &run.phases[place];
    if state.finished() {
        return Err(Refusal::PhaseFinished { phase });
    }
    if place != run.current {
        return Err(Refusal::PhaseNotCurrent {
            phase,
            current: run.current_phase(),
        });
    }
    if !state.complete() {
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
            Landing::Merged { commit }
        }
        PhaseEnd::NoGit => Landing::WithoutMerge,
        PhaseEnd::ChecksRed | PhaseEnd::Conflict => Landing::Unmerged,
    };
    let mut draft = Draft::of(run, at);
    let landed = landing.landed();
    let ended = &mut draft.run.phases[place];
    ended.landing = Some(landing);
    if !landed {
        draft.notify(Event::PhaseNotLanded(phase));
        return Ok(draft.done());
    }
    // A clock that was set back must not make a phase end before it began.
    ended.completed_at = Some(ended.started_at.map_or(at, |started| at.max(started)));
    draft.notify(Event::PhaseDone(phase));
    draft.run.find_current();
    if draft.run.all_done() {
        draft.run.worktree = None;
        draft.notify(Event::AllDone);
    } else {
        draft.run.worktree = worktree;
        let reached = draft.run.current_phase();
        draft.effects.push(Effect::PhaseReached(reached));
        draft.run.enter_phase(&mut draft.changes);
    }
    Ok(draft.done())
}

fn set_worktree(run: &mut Run, path: Option<Arc<str>>, at: Timestamp) -> Outcome {
    if path.as_deref().is_some_and(|path| path.trim().is_empty()) {
        return Err(Refusal::Empty {
            what: RefusalSubject::Worktree,
        });
    }
    let draft = Draft::of(run, at);
    draft.run.worktree = path;
    Ok(draft.done())
}

/// A command being applied.
struct Draft<'r> {
    run: &'r mut Run,
    was_stalled: bool,
    changes: Changes,
    effects: Vec<Effect>,
}

impl<'r> Draft<'r> {
    fn of(run: &'r mut Run, at: Timestamp) -> Self {
        run.updated_at = run.updated_at.max(at);
        Draft {
            was_stalled: run.stalled(),
            run,
            changes: Changes::default(),
            effects: Vec::new(),
        }
    }

    fn put(&mut self, node: u32, to: Status) {
        self.run.put(node, to, &mut self.changes);
    }

    fn complete(&mut self, node: u32) {
        let state = self.run.at_mut(node);
        state.started_at = None;
        state.error = None;
        self.put(node, Status::Completed);
        let id = self.run.graph.id(node).clone();
        self.effects.push(Effect::TickTask(id.clone()));
        self.notify(Event::TaskDone(id));
    }

    /// Counts a failed run. The task is tried again if `retry` is set and the limit allows;
    /// otherwise it fails for good.
    fn failed_run(&mut self, node: u32, retry: bool) {
        let (limit, rest) = (self.run.config.retry_limit.max(1), self.run.derived(node));
        let state = self.run.at_mut(node);
        state.attempts = state.attempts.saturating_add(1).min(limit);
        state.started_at = None;
        if retry && state.attempts < limit {
            self.put(node, rest);
        } else {
            self.put(node, Status::Failed);
            let id = self.run.graph.id(node).clone();
            self.notify(Event::TaskFailed(id));
        }
    }

    fn notify(&mut self, event: Event) {
        self.effects.push(Effect::Notify(event));
    }

    fn done(mut self) -> Vec<Effect> {
        let graph = &self.run.graph;
        let names = |mut nodes: Vec<u32>| {
            nodes.sort_unstable();
            graph.names(&nodes)
        };
        let Changes { ready, blocked } = self.changes;
        if !ready.is_empty() {
            self.effects.push(Effect::BecameReady(names(ready)));
        }
        if !blocked.is_empty() {
            self.effects.push(Effect::Blocked(names(blocked)));
        }
        if self.run.stalled() && !self.was_stalled {
            self.effects.push(Effect::Notify(Event::Stalled));
        }
        self.effects
    }
}

fn find(run: &Run, id: &Id) -> Result<u32, Refusal> {
    let found = run.graph.find(id);
    found.ok_or_else(|| Refusal::NoTask { id: id.clone() })
}

fn in_progress(run: &Run, id: &Id, verb: &'static str) -> Result<u32, Refusal> {
    let node = find(run, id)?;
    match run.at(node).status {
        Status::InProgress => Ok(node),
        status @ (Status::Pending
        | Status::Ready
        | Status::Completed
        | Status::Failed
        | Status::Blocked) => Err(wrong_state(id, status, verb)),
    }
}

fn wrong_state(id: &Id, status: Status, verb: &'static str) -> Refusal {
    Refusal::TaskState {
        id: id.clone(),
        status,
        verb,
    }
}
