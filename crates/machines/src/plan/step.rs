//! The transition rules of tasks and their steps.

use super::check;
use super::{
    ActiveTask, Command, DefaultSummary, Effect, FailureKind, HistoryDetails, HistoryEntry,
    HistoryMetrics, IssueResolution, NewStep, NewTask, ORCHESTRATOR_DEFAULT, PlanStep,
    PlanTaskStatus, QUEUE_MAX, QueuedTask, RETRY_BASE_SECONDS, Refusal, STEPS_MAX, StepError,
    StepIssue, StepStatus, TRIES_MAX, TaskArtifact, TaskMemory, TaskPlan, TaskResult,
};
use crate::kernel::{
    Actor, CommandAdvice, Machine, MachineStep, RefusalSubject, Timestamp, Violation,
};

/// The state machine of tasks and their steps.
#[derive(Debug, Clone, Copy)]
pub struct PlanMachine;

type Outcome = Result<MachineStep<TaskMemory, Effect>, Refusal>;

impl Machine for PlanMachine {
    type State = TaskMemory;
    type Command = Command;
    type Effect = Effect;
    type Refusal = Refusal;

    fn step(memory: &TaskMemory, command: Command, at: Timestamp) -> Outcome {
        match command {
            Command::NewTask(new) => new_task(memory, new, at),
            Command::StepAdd(new) => step_add(memory, new, at),
            Command::StepStart { id } => step_start(memory, id, at),
            Command::StepComplete {
                id,
                output,
                artifacts,
            } => step_complete(memory, id, output, artifacts, at),
            Command::StepFail { id, kind, message } => step_fail(memory, id, kind, message, at),
            Command::TaskPause => task_pause(memory, at),
            Command::TaskResume => task_resume(memory, at),
            Command::TaskCancel => task_cancel(memory, at),
            Command::TaskFinish {
                result,
                summary,
                lessons,
                tokens,
            } => task_finish(memory, result, summary, lessons, tokens, at),
            Command::TaskRecover { by, reason } => task_recover(memory, by, reason.as_deref(), at),
            Command::TaskDrop { id } => task_drop(memory, &id),
        }
    }

    fn status_name(memory: &TaskMemory) -> &'static str {
        memory
            .current
            .as_ref()
            .map_or("idle", |task| task.status.name())
    }

    fn violations(memory: &TaskMemory) -> Vec<Violation> {
        check::find_violations(memory)
    }

    fn advice(memory: &TaskMemory) -> Vec<CommandAdvice> {
        let Some(task) = &memory.current else {
            return vec![CommandAdvice::without_target("task new")];
        };
        match task.status {
            PlanTaskStatus::Pending | PlanTaskStatus::InProgress => {
                let mut advice = Vec::new();
                for step in &task.plan.steps {
                    if step.status == StepStatus::InProgress {
                        advice.push(CommandAdvice::with_target(
                            "step complete",
                            step.id.to_string(),
                        ));
                        advice.push(CommandAdvice::with_target("step fail", step.id.to_string()));
                    }
                }
                let ready = task.plan.ready_steps().into_iter();
                advice.extend(
                    ready.map(|id| CommandAdvice::with_target("step start", id.to_string())),
                );
                if advice.is_empty() {
                    advice.push(CommandAdvice::without_target("task finish"));
                    advice.push(CommandAdvice::without_target("step add"));
                }
                advice
            }
            PlanTaskStatus::Paused => vec![
                CommandAdvice::without_target("task resume"),
                CommandAdvice::without_target("task cancel"),
            ],
            PlanTaskStatus::Failed => vec![
                CommandAdvice::without_target("task recover"),
                CommandAdvice::without_target("task cancel"),
            ],
            PlanTaskStatus::Completed | PlanTaskStatus::Cancelled => {
                vec![CommandAdvice::without_target("task finish")]
            }
        }
    }
}

fn new_task(memory: &TaskMemory, new: NewTask, at: Timestamp) -> Outcome {
    require_filled(RefusalSubject::TaskId, &new.id)?;
    require_filled(RefusalSubject::TaskName, &new.name)?;
    let current = memory.current.as_ref().map(|task| &task.id);
    let mut known = memory.queue.iter().map(|queued| &queued.id).chain(current);
    if known.any(|id| *id == new.id) {
        return Err(Refusal::DuplicateId {
            what: RefusalSubject::Task,
            id: new.id,
        });
    }
    let mut plan = TaskPlan {
        goal: new.goal,
        success_criteria: new.success_criteria,
        steps: Vec::with_capacity(new.steps.len()),
    };
    for step in new.steps {
        append_step(&mut plan, step)?;
    }
    check::check_dependencies(&plan.steps)?;
    let orchestrator = new
        .orchestrator
        .unwrap_or_else(|| ORCHESTRATOR_DEFAULT.into());
    let queued = QueuedTask {
        id: new.id,
        name: new.name,
        orchestrator,
        plan,
        context: new.context,
        created_at: at,
    };
    let mut next = memory.clone();
    if next.current.is_none() {
        next.current = Some(begin_queued(queued, at));
        return Ok(with_backup(next));
    }
    if next.queue.len() >= QUEUE_MAX {
        return Err(Refusal::TooMany {
            what: RefusalSubject::WaitingTasks,
            max: QUEUE_MAX,
        });
    }
    next.queue.push(queued);
    Ok(MachineStep::without_effects(next))
}

fn step_add(memory: &TaskMemory, new: NewStep, at: Timestamp) -> Outcome {
    let mut next = memory.clone();
    let task = startable_task(&mut next, "add a step")?;
    append_step(&mut task.plan, new)?;
    check::check_dependencies(&task.plan.steps)?;
    touch_task(task, at);
    Ok(MachineStep::without_effects(next))
}

fn step_start(memory: &TaskMemory, id: u32, at: Timestamp) -> Outcome {
    let mut next = memory.clone();
    let task = startable_task(&mut next, "start a step")?;
    match require_step(task, id)?.status {
        StepStatus::Pending | StepStatus::Failed => may_start(task, id, "start a step")?,
        status @ (StepStatus::InProgress | StepStatus::Completed) => {
            return Err(Refusal::StepState {
                id,
                status,
                verb: "start",
            });
        }
    }
    task.status = PlanTaskStatus::InProgress;
    touch_task(task, at);
    let step = require_step_mut(task, id)?;
    step.status = StepStatus::InProgress;
    step.started_at = Some(at);
    step.error = None;
    Ok(with_backup(next))
}

fn step_complete(
    memory: &TaskMemory,
    id: u32,
    output: Option<String>,
    artifacts: Vec<TaskArtifact>,
    at: Timestamp,
) -> Outcome {
    let mut next = memory.clone();
    let task = reportable_task(&mut next, id, "complete")?;
    for artifact in artifacts {
        require_filled(RefusalSubject::ArtifactPath, &artifact.path)?;
        if !task.artifacts.contains(&artifact) {
            task.artifacts.push(artifact);
        }
    }
    touch_task(task, at);
    let step = require_step_mut(task, id)?;
    step.status = StepStatus::Completed;
    // A clock that was set back must not make a step end before it began.
    step.completed_at = Some(step.started_at.map_or(at, |started| at.max(started)));
    step.output = output;
    Ok(with_backup(next))
}

fn step_fail(
    memory: &TaskMemory,
    id: u32,
    kind: FailureKind,
    message: String,
    at: Timestamp,
) -> Outcome {
    let mut next = memory.clone();
    let task = reportable_task(&mut next, id, "fail")?;
    require_filled(RefusalSubject::Message, &message)?;
    touch_task(task, at);
    let step = require_step_mut(task, id)?;
    step.status = StepStatus::Failed;
    step.retries = step.retries.saturating_add(1);
    let retries = step.retries;
    step.error = Some(StepError {
        kind,
        message: message.clone(),
        at,
        retries,
    });
    let mut effects = vec![Effect::Backup];
    if let Some(resolution) = needed_escalation(kind, retries) {
        task.status = PlanTaskStatus::Failed;
        task.issues.push(StepIssue {
            step_id: id,
            kind,
            message,
            resolution,
            resolved: false,
            resolved_at: None,
        });
        effects.push(Effect::Escalate {
            step: id,
            resolution,
        });
    } else if task.status == PlanTaskStatus::InProgress {
        // Another step may have failed the task meanwhile; then no step is retried until a person
        // recovers it.
        effects.push(Effect::RetryAfter {
            step: id,
            seconds: RETRY_BASE_SECONDS << (retries - 1),
        });
    }
    Ok(MachineStep { next, effects })
}

/// Returns the resolution that a person is asked for after a failure, if one is needed.
fn needed_escalation(kind: FailureKind, retries: u32) -> Option<IssueResolution> {
    match kind {
        FailureKind::Critical => Some(IssueResolution::Escalate),
        FailureKind::Structural => Some(IssueResolution::Replan),
        FailureKind::Transient
        | FailureKind::Validation
        | FailureKind::Dependency
        | FailureKind::Resource => (retries >= TRIES_MAX).then_some(IssueResolution::Escalate),
    }
}

fn task_pause(memory: &TaskMemory, at: Timestamp) -> Outcome {
    let mut next = memory.clone();
    let task = current_mut(&mut next)?;
    match task.status {
        PlanTaskStatus::InProgress => {}
        PlanTaskStatus::Pending
        | PlanTaskStatus::Completed
        | PlanTaskStatus::Failed
        | PlanTaskStatus::Paused
        | PlanTaskStatus::Cancelled => return Err(wrong_state(task, "pause")),
    }
    task.status = PlanTaskStatus::Paused;
    touch_task(task, at);
    Ok(with_backup(next))
}

fn task_resume(memory: &TaskMemory, at: Timestamp) -> Outcome {
    let mut next = memory.clone();
    let task = current_mut(&mut next)?;
    match task.status {
        PlanTaskStatus::Paused => {}
        PlanTaskStatus::Pending
        | PlanTaskStatus::InProgress
        | PlanTaskStatus::Completed
        | PlanTaskStatus::Failed
        | PlanTaskStatus::Cancelled => return Err(wrong_state(task, "resume")),
    }
    task.status = PlanTaskStatus::InProgress;
    touch_task(task, at);
    Ok(with_backup(next))
}

fn task_cancel(memory: &TaskMemory, at: Timestamp) -> Outcome {
    let task = memory.current.as_ref().ok_or(Refusal::NoTask)?;
    match task.status {
        PlanTaskStatus::Pending
        | PlanTaskStatus::InProgress
        | PlanTaskStatus::Failed
        | PlanTaskStatus::Paused => {}
        PlanTaskStatus::Completed | PlanTaskStatus::Cancelled => {
            return Err(wrong_state(task, "cancel"));
        }
    }
    let result = if task.plan.completed_steps() > 0 {
        TaskResult::Partial
    } else {
        TaskResult::Failure
    };
    let summary = DefaultSummary::Cancelled.to_string();
    let entry = history_entry(task, result, summary, vec![], None, at);
    Ok(finish_current(memory, entry, at))
}

fn task_finish(
    memory: &TaskMemory,
    result: Option<TaskResult>,
    summary: Option<String>,
    lessons: Vec<String>,
    tokens: Option<u64>,
    at: Timestamp,
) -> Outcome {
    let task = memory.current.as_ref().ok_or(Refusal::NoTask)?;
    let (completed, total) = (task.plan.completed_steps(), task.plan.steps.len());
    let result = result.unwrap_or(TaskResult::of_steps(completed, total));
    let waiting = task.issues.iter().find(|issue| issue.waits_for_person());
    if let (TaskResult::Success, Some(issue)) = (result, waiting) {
        return Err(Refusal::UnresolvedIssue {
            id: task.id.clone(),
            step: issue.step_id,
        });
    }
    let own = DefaultSummary::Steps { completed, total };
    let summary = summary.unwrap_or_else(|| own.to_string());
    let entry = history_entry(task, result, summary, lessons, tokens, at);
    Ok(finish_current(memory, entry, at))
}

fn task_recover(memory: &TaskMemory, by: Actor, reason: Option<&str>, at: Timestamp) -> Outcome {
    let mut next = memory.clone();
    let task = current_mut(&mut next)?;
    match by {
        Actor::Agent => {
            return Err(Refusal::NeedsPerson {
                id: task.id.clone(),
            });
        }
        Actor::Person => {}
    }
    if let Some(reason) = reason {
        require_filled(RefusalSubject::Reason, reason)?;
    }
    match task.status {
        PlanTaskStatus::Failed => {}
        PlanTaskStatus::Pending
        | PlanTaskStatus::InProgress
        | PlanTaskStatus::Completed
        | PlanTaskStatus::Paused
        | PlanTaskStatus::Cancelled => return Err(wrong_state(task, "recover")),
    }
    let issues = &mut task.issues;
    for step in &mut task.plan.steps {
        let escalated = issues
            .iter()
            .any(|issue| issue.waits_for_person() && issue.step_id == step.id);
        if step.status == StepStatus::Failed && (escalated || step.retries >= TRIES_MAX) {
            step.status = StepStatus::Pending;
            step.earlier_retries = step.earlier_retries.saturating_add(step.retries);
            step.retries = 0;
            step.started_at = None;
            step.error = None;
        }
    }
    for issue in issues.iter_mut().filter(|issue| issue.waits_for_person()) {
        issue.resolved = true;
        issue.resolved_at = Some(at);
    }
    task.status = PlanTaskStatus::InProgress;
    touch_task(task, at);
    Ok(with_backup(next))
}

fn task_drop(memory: &TaskMemory, id: &str) -> Outcome {
    let mut next = memory.clone();
    next.queue.retain(|queued| queued.id != id);
    if next.queue.len() == memory.queue.len() {
        return Err(Refusal::NotQueued { id: id.into() });
    }
    Ok(MachineStep::without_effects(next))
}

/// Returns the memory with its current task removed and the first queued one in its place.
pub(super) fn promote_next(memory: &TaskMemory, at: Timestamp) -> TaskMemory {
    let mut next = memory.clone();
    next.current = None;
    if !next.queue.is_empty() {
        next.current = Some(begin_queued(next.queue.remove(0), at));
    }
    next
}

fn begin_queued(queued: QueuedTask, at: Timestamp) -> ActiveTask {
    ActiveTask {
        id: queued.id,
        name: queued.name,
        status: PlanTaskStatus::Pending,
        started_at: at,
        updated_at: at,
        orchestrator: queued.orchestrator,
        plan: queued.plan,
        context: queued.context,
        artifacts: Vec::new(),
        issues: Vec::new(),
    }
}

fn finish_current(
    memory: &TaskMemory,
    entry: HistoryEntry,
    at: Timestamp,
) -> MachineStep<TaskMemory, Effect> {
    MachineStep {
        next: promote_next(memory, at),
        effects: vec![Effect::Backup, Effect::PushHistory(Box::new(entry))],
    }
}

fn history_entry(
    task: &ActiveTask,
    result: TaskResult,
    summary: String,
    lessons: Vec<String>,
    tokens: Option<u64>,
    at: Timestamp,
) -> HistoryEntry {
    let tries = |step: &PlanStep| step.retries.saturating_add(step.earlier_retries);
    let retries = task.plan.steps.iter().map(tries);
    HistoryEntry {
        id: task.id.clone(),
        name: task.name.clone(),
        result,
        started_at: task.started_at,
        completed_at: at.max(task.started_at),
        duration_seconds: at.seconds_since(task.started_at),
        summary,
        details: Some(HistoryDetails {
            artifacts: task.artifacts.clone(),
            metrics: HistoryMetrics {
                steps_total: task.plan.steps.len(),
                steps_completed: task.plan.completed_steps(),
                retries: retries.fold(0, u32::saturating_add),
                tokens_used: tokens,
            },
            lessons,
        }),
    }
}

fn append_step(plan: &mut TaskPlan, new: NewStep) -> Result<(), Refusal> {
    require_filled(RefusalSubject::StepName, &new.name)?;
    let full = Refusal::TooMany {
        what: RefusalSubject::Steps,
        max: STEPS_MAX,
    };
    if plan.steps.len() >= STEPS_MAX {
        return Err(full);
    }
    let highest = plan.steps.iter().map(|step| step.id).max().unwrap_or(0);
    let id = match new.id {
        Some(id) => id,
        None => highest.checked_add(1).ok_or(full)?,
    };
    let mut dependencies = Vec::with_capacity(new.dependencies.len());
    for dependency in new.dependencies {
        if !dependencies.contains(&dependency) {
            dependencies.push(dependency);
        }
    }
    plan.steps.push(PlanStep {
        id,
        name: new.name,
        agent: new.agent,
        cluster: new.cluster,
        status: StepStatus::Pending,
        dependencies,
        started_at: None,
        completed_at: None,
        output: None,
        error: None,
        retries: 0,
        earlier_retries: 0,
    });
    Ok(())
}

/// Returns the current task if work on it may begin.
fn startable_task<'a>(
    memory: &'a mut TaskMemory,
    verb: &'static str,
) -> Result<&'a mut ActiveTask, Refusal> {
    let task = current_mut(memory)?;
    match task.status {
        PlanTaskStatus::Pending | PlanTaskStatus::InProgress => Ok(task),
        PlanTaskStatus::Completed
        | PlanTaskStatus::Failed
        | PlanTaskStatus::Paused
        | PlanTaskStatus::Cancelled => Err(wrong_state(task, verb)),
    }
}

/// Returns the current task if the end of a step in progress may be reported. That is allowed even
/// when another step has failed the task: work that ran beside it is not lost.
fn reportable_task<'a>(
    memory: &'a mut TaskMemory,
    id: u32,
    verb: &'static str,
) -> Result<&'a mut ActiveTask, Refusal> {
    let task = current_mut(memory)?;
    match task.status {
        PlanTaskStatus::Pending | PlanTaskStatus::InProgress | PlanTaskStatus::Failed => {}
        PlanTaskStatus::Completed | PlanTaskStatus::Paused | PlanTaskStatus::Cancelled => {
            return Err(wrong_state(task, verb));
        }
    }
    match require_step(task, id)?.status {
        StepStatus::InProgress => Ok(task),
        status @ StepStatus::Completed => Err(Refusal::StepState { id, status, verb }),
        status @ (StepStatus::Pending | StepStatus::Failed) => {
            // Checked first, so that the advice to start the step is given only if it can be
            // started.
            may_start(task, id, verb)?;
            Err(Refusal::StepState { id, status, verb })
        }
    }
}

/// Refuses unless a step that is not in progress could be started now.
fn may_start(task: &ActiveTask, id: u32, verb: &'static str) -> Result<(), Refusal> {
    let step = require_step(task, id)?;
    if task.status == PlanTaskStatus::Failed {
        return Err(wrong_state(task, verb));
    }
    if step.status == StepStatus::Failed && step.retries >= TRIES_MAX {
        return Err(Refusal::RetriesExhausted { id });
    }
    let missing = task.plan.missing_dependencies(step);
    if !missing.is_empty() {
        return Err(Refusal::DependencyNotCompleted { id, missing });
    }
    Ok(())
}

fn current_mut(memory: &mut TaskMemory) -> Result<&mut ActiveTask, Refusal> {
    memory.current.as_mut().ok_or(Refusal::NoTask)
}

fn require_step(task: &ActiveTask, id: u32) -> Result<&PlanStep, Refusal> {
    task.plan.find_step(id).ok_or_else(|| Refusal::NoStep {
        task: task.id.clone(),
        id,
    })
}

fn require_step_mut(task: &mut ActiveTask, id: u32) -> Result<&mut PlanStep, Refusal> {
    let ActiveTask { plan, id: name, .. } = task;
    let found = plan.steps.iter_mut().find(|step| step.id == id);
    found.ok_or_else(|| Refusal::NoStep {
        task: name.clone(),
        id,
    })
}

fn touch_task(task: &mut ActiveTask, at: Timestamp) {
    task.updated_at = task.updated_at.max(at);
}

fn with_backup(next: TaskMemory) -> MachineStep<TaskMemory, Effect> {
    MachineStep {
        next,
        effects: vec![Effect::Backup],
    }
}

fn wrong_state(task: &ActiveTask, verb: &'static str) -> Refusal {
    Refusal::TaskState {
        id: task.id.clone(),
        status: task.status,
        verb,
    }
}

fn require_filled(what: RefusalSubject, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Empty { what });
    }
    Ok(())
}
