//! The transition rules of jobs: the dispatch of commands, and the rules of drafts, the queue,
//! pauses and the end.

use super::turn::Turn;
use super::{
    Checkpoint, Command, Edit, Effect, Event, Fact, FailureCode, Job, JobRefusalSubject, Life,
    Process, Reached, Refusal, TimerKind, Trigger, allowed_actions, violations,
};
use crate::kernel::{Advice, Machine, Step, Timestamp, Violation};
use std::collections::BTreeSet;

/// The state machine of jobs.
#[derive(Debug, Clone, Copy)]
pub struct JobMachine;

pub(super) type Outcome = Result<Step<Job, Effect>, Refusal>;

impl Machine for JobMachine {
    type State = Job;
    type Command = Command;
    type Effect = Effect;
    type Refusal = Refusal;

    fn step(job: &Job, command: Command, at: Timestamp) -> Outcome {
        let name = command.name();
        let turn = Turn::new(job, at);
        match command {
            Command::Edit(change) => edit(turn, change),
            Command::Submit => submit(turn),
            Command::Assign { completed, held_by } => assign(turn, &completed, held_by),
            Command::Redirect { from, to } => redirect(turn, &from, to),
            Command::Said { attempt, marker } => turn.said(attempt, marker),
            Command::Tokens { attempt, used } => turn.tokens(attempt, used),
            Command::AgentExit { attempt, code } => turn.agent_exit(attempt, code),
            Command::SpawnFailed { attempt, message } => turn.spawn_failed(attempt, message),
            Command::Recover { attempt } => turn.recover(attempt),
            Command::VerificationPassed {
                verification,
                review,
                deliverables,
            } => turn.verification_passed(verification, review, deliverables),
            Command::VerificationFailed {
                verification,
                issues,
            } => turn.verification_failed(verification, issues),
            Command::Approve { review, comment } => turn.approve(&review, comment),
            Command::RequestChanges { review, feedback } => turn.request_changes(&review, feedback),
            Command::Answer { question, text } => turn.answer(&question, &text),
            Command::Skip { question } => turn.skip(&question),
            Command::QuestionTimeout { question } => turn.question_timeout(&question),
            Command::Provide { dependency } => turn.provide(&dependency),
            Command::Reject { dependency, reason } => turn.reject(&dependency, reason),
            Command::DependencyTimeout { dependency } => turn.dependency_timeout(&dependency),
            Command::Pause => turn.pause(),
            Command::Resume => turn.resume(),
            Command::RateLimitReset => turn.rate_limit_reset(),
            Command::CheckpointDue => turn.checkpoint_due(),
            Command::SaveCheckpoint => turn.save_checkpoint(),
            Command::Stuck { attempt } => turn.stuck(attempt),
            Command::Shed { attempt } => turn.shed(attempt),
            Command::Say { id, text } => turn.say_to_agent(id, text),
            Command::Unsay { id } => turn.unsay(&id),
            Command::Interrupt => turn.interrupt(),
            Command::Permit { permission } => turn.permit(permission),
            Command::Deny { permission, reason } => turn.deny(permission, reason),
            Command::Breaker {
                reason,
                ends,
                until,
            } => turn.breaker(reason, ends, until),
            Command::Cancel => cancel(turn),
            Command::Restore {
                checkpoint,
                held_by,
            } => restore(turn, checkpoint, held_by),
            Command::Retry { new } => retry(turn, new),
            Command::Fork { new, checkpoint } => fork(turn, new, checkpoint),
            Command::Archive => archive(turn),
            Command::Delete { dependents } => delete(turn, dependents),
        }
        .map_err(|refusal| refusal.of(name))
    }

    fn status(job: &Job) -> &'static str {
        job.task_status().name()
    }

    fn violations(job: &Job) -> Vec<Violation> {
        violations::violations(job)
    }

    fn advice(job: &Job) -> Vec<Advice> {
        let target = |action: super::Action| match action {
            super::Action::Approve | super::Action::RequestChanges => {
                job.open_review().map(|review| review.id.clone())
            }
            super::Action::Answer | super::Action::Skip => {
                job.open_question().map(|question| question.id.clone())
            }
            super::Action::Provide | super::Action::Reject => {
                job.open_dependency().map(|needed| needed.id.clone())
            }
            super::Action::Permit | super::Action::Deny => {
                job.permissions.first().map(|wanted| wanted.id.clone())
            }
            super::Action::Edit
            | super::Action::Checkpoint
            | super::Action::Restore
            | super::Action::Fork
            | super::Action::Say
            | super::Action::Interrupt
            | super::Action::Submit
            | super::Action::Delete
            | super::Action::Cancel
            | super::Action::Pause
            | super::Action::Resume
            | super::Action::Archive
            | super::Action::Retry => None,
        };
        let advice = |action: super::Action| Advice {
            target: target(action),
            ..Advice::verb(action.name())
        };
        allowed_actions(job).into_iter().map(advice).collect()
    }
}

fn edit(mut turn: Turn, change: Edit) -> Outcome {
    if turn.job.life != Life::Draft {
        return Err(Refusal::not_allowed(&turn.job));
    }
    let Edit {
        title,
        description,
        kind,
        depends_on,
        scheduled_for,
    } = change;
    let job = &mut turn.job;
    if let Some(kind) = kind {
        if kind.total_phases() == 0 {
            return Err(Refusal::Empty {
                what: JobRefusalSubject::PhaseList,
            });
        }
        let (phase, total) = (
            job.begins_at.as_ref().map_or(1, |at| at.phase),
            kind.total_phases(),
        );
        if phase > total {
            return Err(Refusal::NoSuchPhase { phase, total });
        }
        job.kind = Some(kind);
    }
    if let Some(title) = title {
        job.title = title;
    }
    if let Some(description) = description {
        job.description = description;
    }
    if let Some(depends_on) = depends_on {
        job.depends_on = depends_on;
    }
    if let Some(scheduled_for) = scheduled_for {
        job.scheduled_for = scheduled_for;
    }
    turn.done()
}

fn submit(mut turn: Turn) -> Outcome {
    if turn.job.life != Life::Draft {
        return Err(Refusal::not_allowed(&turn.job));
    }
    let job = &turn.job;
    let missing: Vec<&'static str> = [
        ("title", job.title.trim().is_empty()),
        ("type", job.kind.is_none()),
        ("description", job.description.trim().is_empty()),
    ]
    .into_iter()
    .filter_map(|(what, missing)| missing.then_some(what))
    .collect();
    if !missing.is_empty() {
        return Err(Refusal::Incomplete { missing });
    }
    turn.enter(Life::Pending, Trigger::Submit, vec![]);
    turn.push(Effect::Enqueue);
    if let Some(at) = turn.job.scheduled_for {
        let kind = TimerKind::Scheduled;
        turn.push(Effect::Timer { at, kind });
    }
    turn.done()
}

fn assign(mut turn: Turn, completed: &BTreeSet<String>, held_by: Option<String>) -> Outcome {
    if turn.job.life != Life::Pending {
        return Err(Refusal::not_allowed(&turn.job));
    }
    if let Some(scheduled_for) = turn.job.scheduled_for
        && turn.at < scheduled_for
    {
        return Err(Refusal::ScheduledLater { scheduled_for });
    }
    let unmet: Vec<String> = turn
        .job
        .depends_on
        .iter()
        .filter(|id| !completed.contains(*id))
        .cloned()
        .collect();
    if !unmet.is_empty() {
        return Err(Refusal::WaitingForTasks { tasks: unmet });
    }
    if let Some(by) = held_by {
        return Err(Refusal::WorkspaceBusy { by });
    }
    turn.job.started_at = Some(turn.at);
    match turn.job.begins_at.clone() {
        None => turn.begin_phase(1),
        Some(checkpoint) => turn.begin_at(checkpoint)?,
    }
    turn.enter(Life::Running, Trigger::Assign, vec![]);
    turn.notify(Event::TaskStarted);
    turn.done()
}

fn redirect(mut turn: Turn, from: &str, to: String) -> Outcome {
    match turn.job.life {
        Life::Draft | Life::Pending => {}
        Life::Running
        | Life::Paused(_)
        | Life::Asking
        | Life::Needing
        | Life::Permitting
        | Life::Verifying { .. }
        | Life::Reviewing
        | Life::Completed { .. }
        | Life::Failed(_) => return Err(Refusal::not_allowed(&turn.job)),
    }
    for id in &mut turn.job.depends_on {
        if id == from {
            id.clone_from(&to);
        }
    }
    turn.done()
}

fn cancel(mut turn: Turn) -> Outcome {
    let queued = turn.job.life == Life::Pending;
    if !queued {
        turn.may_fail()?;
    }
    let message = "cancelled by a person".to_owned();
    turn.fail(FailureCode::Cancelled, message, None, Trigger::Cancel);
    if queued {
        turn.push(Effect::RemoveFromQueue);
    }
    turn.done()
}

fn restore(mut turn: Turn, checkpoint: Checkpoint, held_by: Option<String>) -> Outcome {
    match turn.job.life {
        Life::Paused(_)
        | Life::Asking
        | Life::Needing
        | Life::Permitting
        | Life::Verifying { .. }
        | Life::Reviewing => {}
        Life::Failed(_) => {
            if let Some(by) = &turn.job.retried_by {
                return Err(Refusal::AlreadyRetried { by: by.clone() });
            }
            if turn.job.attempt == 0 {
                return Err(Refusal::not_allowed(&turn.job));
            }
            // A failed task no longer holds its workspace.
            if let Some(by) = held_by {
                return Err(Refusal::WorkspaceBusy { by });
            }
        }
        Life::Draft | Life::Pending | Life::Running | Life::Completed { .. } => {
            return Err(Refusal::not_allowed(&turn.job));
        }
    }
    let id = checkpoint.id.clone();
    turn.close();
    turn.begin_at(checkpoint)?;
    turn.progressed();
    turn.enter(
        Life::Running,
        Trigger::Restore,
        vec![("checkpointId", Fact::Text(id))],
    );
    turn.done()
}

fn retry(mut turn: Turn, new: String) -> Outcome {
    match (&turn.job.life, &turn.job.retried_by) {
        (Life::Failed(_), None) => {}
        (Life::Failed(_), Some(by)) => return Err(Refusal::AlreadyRetried { by: by.clone() }),
        (
            Life::Draft
            | Life::Pending
            | Life::Running
            | Life::Paused(_)
            | Life::Asking
            | Life::Needing
            | Life::Permitting
            | Life::Verifying { .. }
            | Life::Reviewing
            | Life::Completed { .. },
            _,
        ) => return Err(Refusal::not_allowed(&turn.job)),
    }
    turn.job.retried_by = Some(new.clone());
    turn.push(Effect::CreateRetry { id: new });
    turn.done()
}

/// Creates a fork; the job itself does not change.
fn fork(mut turn: Turn, new: String, checkpoint: Checkpoint) -> Outcome {
    if turn.job.attempt == 0 {
        return Err(Refusal::not_allowed(&turn.job));
    }
    let (phase, total) = (checkpoint.phase, turn.job.total_phases());
    if phase == 0 || phase > total {
        return Err(Refusal::NoSuchPhase { phase, total });
    }
    turn.push(Effect::CreateFork {
        id: new,
        checkpoint,
    });
    turn.done()
}

fn archive(mut turn: Turn) -> Outcome {
    match turn.job.life {
        Life::Completed { .. } if !turn.job.archived => {
            turn.job.archived = true;
            turn.done()
        }
        Life::Completed { .. }
        | Life::Draft
        | Life::Pending
        | Life::Running
        | Life::Paused(_)
        | Life::Asking
        | Life::Needing
        | Life::Permitting
        | Life::Verifying { .. }
        | Life::Reviewing
        | Life::Failed(_) => Err(Refusal::not_allowed(&turn.job)),
    }
}

/// Deletes the job by an effect of the store; the state does not change.
fn delete(mut turn: Turn, dependents: Vec<String>) -> Outcome {
    match turn.job.life {
        Life::Draft | Life::Completed { .. } | Life::Failed(_) => {}
        Life::Pending
        | Life::Running
        | Life::Paused(_)
        | Life::Asking
        | Life::Needing
        | Life::Permitting
        | Life::Verifying { .. }
        | Life::Reviewing => return Err(Refusal::not_allowed(&turn.job)),
    }
    if !dependents.is_empty() {
        return Err(Refusal::DependedOn { tasks: dependents });
    }
    turn.push(Effect::Remove);
    turn.done()
}

impl Turn {
    /// Pauses the agent for a person. Only a running one: in any other state it is stopped already.
    fn pause(mut self) -> Outcome {
        self.running()?;
        self.enter(
            Life::Paused(super::PausedBy::Person),
            Trigger::Pause,
            vec![("pausedBy", Fact::Text("user".into()))],
        );
        self.snapshot(super::SnapshotReason::UserPause);
        self.done()
    }

    fn resume(mut self) -> Outcome {
        match self.job.life {
            Life::Paused(_) => {
                self.go_on(Trigger::Resume, vec![]);
                self.done()
            }
            Life::Draft
            | Life::Pending
            | Life::Running
            | Life::Asking
            | Life::Needing
            | Life::Permitting
            | Life::Verifying { .. }
            | Life::Reviewing
            | Life::Completed { .. }
            | Life::Failed(_) => Err(Refusal::not_allowed(&self.job)),
        }
    }

    /// Ends a pause that ends by itself, and no other.
    fn rate_limit_reset(mut self) -> Outcome {
        let Life::Paused(by) = &self.job.life else {
            return Err(Refusal::not_allowed(&self.job));
        };
        let Some(until) = by.until() else {
            return Err(Refusal::not_allowed(&self.job));
        };
        if self.at < until {
            return Err(Refusal::NotDue { until });
        }
        self.go_on(Trigger::RateLimitReset, vec![]);
        self.done()
    }

    fn breaker(mut self, reason: String, ends: bool, until: Option<Timestamp>) -> Outcome {
        if ends {
            self.may_fail()?;
            self.fail(FailureCode::Breaker, reason, None, Trigger::ErrorFatal);
            return self.done();
        }
        self.running()?;
        self.broken(reason, until, Trigger::Pause, vec![]);
        self.done()
    }

    pub(super) fn running(&self) -> Result<(), Refusal> {
        if self.job.life == Life::Running {
            Ok(())
        } else {
            Err(Refusal::not_allowed(&self.job))
        }
    }

    /// Refuses the reports of an attempt that is not the current one.
    pub(super) fn fence(&self, attempt: u32) -> Result<(), Refusal> {
        let current = self.job.attempt;
        if attempt == current && attempt > 0 {
            Ok(())
        } else {
            Err(Refusal::StaleAttempt { attempt, current })
        }
    }

    /// Resets the counts of failed processes after a sign of progress.
    pub(super) fn progressed(&mut self) {
        self.job.exits = 0;
        self.job.losses = 0;
        self.job.stuck = false;
        self.job.reminded = false;
    }

    /// Marks the phase as reached in full, by the agent's own report.
    pub(super) fn reach_end(&mut self) {
        self.job.reached = Reached::END;
    }

    pub(super) fn process_gone(&mut self) {
        self.job.process = Process::Gone;
    }
}
