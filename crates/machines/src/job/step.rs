//! The transition rules of jobs: the dispatch of commands, and the rules of drafts, the queue,
//! pauses and the end.

use super::transition::Transition;
use super::{
    Command, DraftChanges, Effect, FailureCode, Job, JobCheckpoint, JobNotification,
    JobRefusalSubject, JobState, ProcessState, Refusal, StepProgress, TimerKind, TransitionFact,
    TransitionTrigger, allowed_actions, violations,
};
use crate::kernel::{CommandAdvice, Machine, MachineStep, Timestamp, Violation};
use std::collections::BTreeSet;

/// The state machine of jobs.
#[derive(Debug, Clone, Copy)]
pub struct JobMachine;

pub(super) type Outcome = Result<MachineStep<Job, Effect>, Refusal>;

impl Machine for JobMachine {
    type State = Job;
    type Command = Command;
    type Effect = Effect;
    type Refusal = Refusal;

    fn step(job: &Job, command: Command, at: Timestamp) -> Outcome {
        let name = command.name();
        let turn = Transition::new(job, at);
        match command {
            Command::Edit(change) => edit_draft(turn, change),
            Command::Submit => submit_draft(turn),
            Command::Assign { completed, held_by } => assign_agent(turn, &completed, held_by),
            Command::Redirect { from, to } => redirect_dependency(turn, &from, to),
            Command::MarkerRead { attempt, marker } => turn.on_marker(attempt, marker),
            Command::CountTokens { attempt, used } => turn.count_tokens(attempt, used),
            Command::AgentExit { attempt, code } => turn.agent_exit(attempt, code),
            Command::SpawnFailed { attempt, message } => turn.spawn_failed(attempt, message),
            Command::Recover { attempt } => turn.on_process_lost(attempt),
            Command::VerificationPassed {
                verification,
                review,
                deliverables,
            } => turn.verification_passed(verification, review, deliverables),
            Command::VerificationFailed {
                verification,
                issues,
            } => turn.verification_failed(verification, issues),
            Command::Approve { review, comment } => turn.approve_phase(&review, comment),
            Command::RequestChanges { review, feedback } => turn.request_changes(&review, feedback),
            Command::Answer { question, text } => turn.answer_question(&question, &text),
            Command::Skip { question } => turn.skip_question(&question),
            Command::QuestionTimeout { question } => turn.question_timeout(&question),
            Command::Provide { dependency } => turn.provide_dependency(&dependency),
            Command::Reject { dependency, reason } => turn.reject_dependency(&dependency, reason),
            Command::DependencyTimeout { dependency } => turn.dependency_timeout(&dependency),
            Command::Pause => turn.pause_agent(),
            Command::Resume => turn.resume_agent(),
            Command::RateLimitReset => turn.rate_limit_reset(),
            Command::CheckpointDue => turn.checkpoint_due(),
            Command::SaveCheckpoint => turn.save_checkpoint(),
            Command::Stuck { attempt } => turn.on_stuck_agent(attempt),
            Command::EvictStoppedAgent { attempt } => turn.evict_stopped_agent(attempt),
            Command::SendMessage { id, text } => turn.send_user_message(id, text),
            Command::WithdrawMessage { id } => turn.withdraw_message(&id),
            Command::Interrupt => turn.interrupt_agent(),
            Command::Permit { permission } => turn.permit_tool(permission),
            Command::Deny { permission, reason } => turn.deny_tool(permission, reason),
            Command::Breaker {
                reason,
                ends,
                until,
            } => turn.on_breaker(reason, ends, until),
            Command::Cancel => cancel_task(turn),
            Command::Restore {
                checkpoint,
                held_by,
            } => restore_checkpoint(turn, checkpoint, held_by),
            Command::Retry { new } => retry_task(turn, new),
            Command::Fork { new, checkpoint } => fork_task(turn, new, checkpoint),
            Command::Archive => archive_task(turn),
            Command::Delete { dependents } => delete_task(turn, dependents),
        }
        .map_err(|refusal| refusal.for_command(name))
    }

    fn status_name(job: &Job) -> &'static str {
        job.task_status().name()
    }

    fn violations(job: &Job) -> Vec<Violation> {
        violations::find_violations(job)
    }

    fn advice(job: &Job) -> Vec<CommandAdvice> {
        let target = |action: super::JobAction| match action {
            super::JobAction::Approve | super::JobAction::RequestChanges => {
                job.open_review().map(|review| review.id.clone())
            }
            super::JobAction::Answer | super::JobAction::Skip => {
                job.open_question().map(|question| question.id.clone())
            }
            super::JobAction::Provide | super::JobAction::Reject => {
                job.open_dependency().map(|needed| needed.id.clone())
            }
            super::JobAction::Permit | super::JobAction::Deny => {
                job.permissions.first().map(|wanted| wanted.id.clone())
            }
            super::JobAction::Edit
            | super::JobAction::Checkpoint
            | super::JobAction::Restore
            | super::JobAction::Fork
            | super::JobAction::Say
            | super::JobAction::Interrupt
            | super::JobAction::Submit
            | super::JobAction::Delete
            | super::JobAction::Cancel
            | super::JobAction::Pause
            | super::JobAction::Resume
            | super::JobAction::Archive
            | super::JobAction::Retry => None,
        };
        let advice = |action: super::JobAction| CommandAdvice {
            target: target(action),
            ..CommandAdvice::without_target(action.name())
        };
        allowed_actions(job).into_iter().map(advice).collect()
    }
}

fn edit_draft(mut turn: Transition, change: DraftChanges) -> Outcome {
    if turn.job.state != JobState::Draft {
        return Err(Refusal::not_allowed(&turn.job));
    }
    let DraftChanges {
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
    turn.finish_transition()
}

fn submit_draft(mut turn: Transition) -> Outcome {
    if turn.job.state != JobState::Draft {
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
    turn.enter_state(JobState::Pending, TransitionTrigger::Submit, vec![]);
    turn.push_effect(Effect::Enqueue);
    if let Some(at) = turn.job.scheduled_for {
        let kind = TimerKind::Scheduled;
        turn.push_effect(Effect::Timer { at, kind });
    }
    turn.finish_transition()
}

fn assign_agent(
    mut turn: Transition,
    completed: &BTreeSet<String>,
    held_by: Option<String>,
) -> Outcome {
    if turn.job.state != JobState::Pending {
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
        Some(checkpoint) => turn.begin_at_checkpoint(checkpoint)?,
    }
    turn.enter_state(JobState::Running, TransitionTrigger::Assign, vec![]);
    turn.notify_people(JobNotification::TaskStarted);
    turn.finish_transition()
}

fn redirect_dependency(mut turn: Transition, from: &str, to: String) -> Outcome {
    match turn.job.state {
        JobState::Draft | JobState::Pending => {}
        JobState::Running
        | JobState::Paused(_)
        | JobState::Asking
        | JobState::Needing
        | JobState::Permitting
        | JobState::Verifying { .. }
        | JobState::Reviewing
        | JobState::Completed { .. }
        | JobState::Failed(_) => return Err(Refusal::not_allowed(&turn.job)),
    }
    for id in &mut turn.job.depends_on {
        if id == from {
            id.clone_from(&to);
        }
    }
    turn.finish_transition()
}

fn cancel_task(mut turn: Transition) -> Outcome {
    let queued = turn.job.state == JobState::Pending;
    if !queued {
        turn.may_fail()?;
    }
    let message = "cancelled by a person".to_owned();
    turn.fail_task(
        FailureCode::Cancelled,
        message,
        None,
        TransitionTrigger::Cancel,
    );
    if queued {
        turn.push_effect(Effect::RemoveFromQueue);
    }
    turn.finish_transition()
}

fn restore_checkpoint(
    mut turn: Transition,
    checkpoint: JobCheckpoint,
    held_by: Option<String>,
) -> Outcome {
    match turn.job.state {
        JobState::Paused(_)
        | JobState::Asking
        | JobState::Needing
        | JobState::Permitting
        | JobState::Verifying { .. }
        | JobState::Reviewing => {}
        JobState::Failed(_) => {
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
        JobState::Draft | JobState::Pending | JobState::Running | JobState::Completed { .. } => {
            return Err(Refusal::not_allowed(&turn.job));
        }
    }
    let id = checkpoint.id.clone();
    turn.close_requests();
    turn.begin_at_checkpoint(checkpoint)?;
    turn.reset_failure_counts();
    turn.enter_state(
        JobState::Running,
        TransitionTrigger::Restore,
        vec![("checkpointId", TransitionFact::Text(id))],
    );
    turn.finish_transition()
}

fn retry_task(mut turn: Transition, new: String) -> Outcome {
    match (&turn.job.state, &turn.job.retried_by) {
        (JobState::Failed(_), None) => {}
        (JobState::Failed(_), Some(by)) => return Err(Refusal::AlreadyRetried { by: by.clone() }),
        (
            JobState::Draft
            | JobState::Pending
            | JobState::Running
            | JobState::Paused(_)
            | JobState::Asking
            | JobState::Needing
            | JobState::Permitting
            | JobState::Verifying { .. }
            | JobState::Reviewing
            | JobState::Completed { .. },
            _,
        ) => return Err(Refusal::not_allowed(&turn.job)),
    }
    turn.job.retried_by = Some(new.clone());
    turn.push_effect(Effect::CreateRetry { id: new });
    turn.finish_transition()
}

/// Creates a fork; the job itself does not change.
fn fork_task(mut turn: Transition, new: String, checkpoint: JobCheckpoint) -> Outcome {
    if turn.job.attempt == 0 {
        return Err(Refusal::not_allowed(&turn.job));
    }
    let (phase, total) = (checkpoint.phase, turn.job.total_phases());
    if phase == 0 || phase > total {
        return Err(Refusal::NoSuchPhase { phase, total });
    }
    turn.push_effect(Effect::CreateFork {
        id: new,
        checkpoint,
    });
    turn.finish_transition()
}

fn archive_task(mut turn: Transition) -> Outcome {
    match turn.job.state {
        JobState::Completed { .. } if !turn.job.archived => {
            turn.job.archived = true;
            turn.finish_transition()
        }
        JobState::Completed { .. }
        | JobState::Draft
        | JobState::Pending
        | JobState::Running
        | JobState::Paused(_)
        | JobState::Asking
        | JobState::Needing
        | JobState::Permitting
        | JobState::Verifying { .. }
        | JobState::Reviewing
        | JobState::Failed(_) => Err(Refusal::not_allowed(&turn.job)),
    }
}

/// Deletes the job by an effect of the store; the state does not change.
fn delete_task(mut turn: Transition, dependents: Vec<String>) -> Outcome {
    match turn.job.state {
        JobState::Draft | JobState::Completed { .. } | JobState::Failed(_) => {}
        JobState::Pending
        | JobState::Running
        | JobState::Paused(_)
        | JobState::Asking
        | JobState::Needing
        | JobState::Permitting
        | JobState::Verifying { .. }
        | JobState::Reviewing => return Err(Refusal::not_allowed(&turn.job)),
    }
    if !dependents.is_empty() {
        return Err(Refusal::DependedOn { tasks: dependents });
    }
    turn.push_effect(Effect::Remove);
    turn.finish_transition()
}

impl Transition {
    /// Pauses the agent for a person. Only a running one: in any other state it is stopped already.
    fn pause_agent(mut self) -> Outcome {
        self.require_running()?;
        self.enter_state(
            JobState::Paused(super::PauseCause::Person),
            TransitionTrigger::Pause,
            vec![("pausedBy", TransitionFact::Text("user".into()))],
        );
        self.save_snapshot(super::SnapshotReason::UserPause);
        self.finish_transition()
    }

    fn resume_agent(mut self) -> Outcome {
        match self.job.state {
            JobState::Paused(_) => {
                self.resume_running(TransitionTrigger::Resume, vec![]);
                self.finish_transition()
            }
            JobState::Draft
            | JobState::Pending
            | JobState::Running
            | JobState::Asking
            | JobState::Needing
            | JobState::Permitting
            | JobState::Verifying { .. }
            | JobState::Reviewing
            | JobState::Completed { .. }
            | JobState::Failed(_) => Err(Refusal::not_allowed(&self.job)),
        }
    }

    /// Ends a pause that ends by itself, and no other.
    fn rate_limit_reset(mut self) -> Outcome {
        let JobState::Paused(by) = &self.job.state else {
            return Err(Refusal::not_allowed(&self.job));
        };
        let Some(until) = by.ends_at() else {
            return Err(Refusal::not_allowed(&self.job));
        };
        if self.at < until {
            return Err(Refusal::NotDue { until });
        }
        self.resume_running(TransitionTrigger::RateLimitReset, vec![]);
        self.finish_transition()
    }

    fn on_breaker(mut self, reason: String, ends: bool, until: Option<Timestamp>) -> Outcome {
        if ends {
            self.may_fail()?;
            self.fail_task(
                FailureCode::Breaker,
                reason,
                None,
                TransitionTrigger::ErrorFatal,
            );
            return self.finish_transition();
        }
        self.require_running()?;
        self.pause_by_breaker(reason, until, TransitionTrigger::Pause, vec![]);
        self.finish_transition()
    }

    pub(super) fn require_running(&self) -> Result<(), Refusal> {
        if self.job.state == JobState::Running {
            Ok(())
        } else {
            Err(Refusal::not_allowed(&self.job))
        }
    }

    /// Refuses the reports of an attempt that is not the current one.
    pub(super) fn require_current_attempt(&self, attempt: u32) -> Result<(), Refusal> {
        let current = self.job.attempt;
        if attempt == current && attempt > 0 {
            Ok(())
        } else {
            Err(Refusal::StaleAttempt { attempt, current })
        }
    }

    /// Resets the counts of failed processes after a sign of progress.
    pub(super) fn reset_failure_counts(&mut self) {
        self.job.exits = 0;
        self.job.losses = 0;
        self.job.stuck = false;
        self.job.reminded = false;
    }

    /// Marks the phase as reached in full, by the agent's own report.
    pub(super) fn mark_phase_reached(&mut self) {
        self.job.reached = StepProgress::END;
    }

    pub(super) fn mark_process_gone(&mut self) {
        self.job.process = ProcessState::Gone;
    }
}
