//! Recovery and operation of a running agent: checkpoints, lost and stuck processes, a person's
//! messages, tool permissions.

use super::step::Outcome;
use super::transition::{Transition, TransitionFacts};
use super::{
    AgentQuestion, Effect, JobCheckpoint, JobNotification, JobRefusalSubject, JobState,
    MessageToAgent, PauseCause, PermissionRequest, ProcessState, Refusal, SnapshotReason,
    SpawnFrom, TimerKind, TransitionFact, TransitionTrigger, UNNUMBERED,
};
use crate::kernel::Timestamp;

/// Delay in seconds before the second lost process is replaced; it doubles with every further one.
const BACKOFF_S: i64 = 10;

impl Transition {
    /// Saves the regular checkpoint of a running agent and starts the timer of the next.
    pub(super) fn checkpoint_due(mut self) -> Outcome {
        self.require_running()?;
        self.save_snapshot(SnapshotReason::Interval);
        self.checkpoint_timer();
        self.finish_transition()
    }

    pub(super) fn checkpoint_timer(&mut self) {
        let at = self.seconds_from_now(self.job.limits.checkpoint_s);
        let kind = TimerKind::Checkpoint;
        self.push_effect(Effect::Timer { at, kind });
    }

    pub(super) fn save_checkpoint(mut self) -> Outcome {
        self.at_work()?;
        self.save_snapshot(SnapshotReason::Manual);
        self.finish_transition()
    }

    /// Begins at a checkpoint: the present process ends, the next one continues from there.
    pub(super) fn begin_at_checkpoint(&mut self, checkpoint: JobCheckpoint) -> Result<(), Refusal> {
        let JobCheckpoint { id, phase, step } = checkpoint;
        let total = self.job.total_phases();
        if phase == 0 || phase > total {
            return Err(Refusal::NoSuchPhase { phase, total });
        }
        self.end_process();
        self.from = SpawnFrom::Checkpoint(id);
        self.begin_phase(phase);
        if let Some(step) = step.filter(|step| step.of > 0 && step.number <= step.of) {
            self.reach_step(step);
        }
        Ok(())
    }

    /// Replaces a lost process, because the agent itself did not fail. Each replacement waits
    /// longer, so that a process that is always killed is not started for ever; at last a person
    /// decides.
    pub(super) fn replace_lost_process(&mut self, attempt: u32) {
        self.job.losses += 1;
        let losses = self.job.losses;
        let facts = vec![
            ("lost", TransitionFact::Number(attempt.into())),
            ("losses", TransitionFact::Number(losses.into())),
        ];
        if losses <= 1 {
            self.replace_process(TransitionTrigger::Recover, facts);
            return;
        }
        self.mark_process_gone();
        let reason = format!("the agent was lost {losses} times without progress");
        let doubled = BACKOFF_S << (losses - 2).min(10);
        let until = (losses <= self.job.limits.losses_max).then(|| self.seconds_from_now(doubled));
        self.pause_by_breaker(reason, until, TransitionTrigger::Recover, facts);
    }

    /// Replaces the process of a silent agent once; the next time a person decides.
    pub(super) fn on_stuck_agent(mut self, attempt: u32) -> Outcome {
        self.require_live_attempt(attempt)?;
        self.require_running()?;
        let seconds = self.job.limits.silence_s;
        let facts = vec![(
            "silentSeconds",
            TransitionFact::Number(seconds.unsigned_abs()),
        )];
        if self.job.stuck {
            let reason = format!("no output for {seconds} seconds");
            self.pause_by_breaker(reason, None, TransitionTrigger::Pause, facts);
        } else {
            self.job.stuck = true;
            self.save_snapshot(SnapshotReason::Error);
            self.end_process();
            self.replace_process(TransitionTrigger::Recover, facts);
        }
        self.finish_transition()
    }

    /// Pauses a running agent until a person decides, or until `until`.
    pub(super) fn pause_by_breaker(
        &mut self,
        reason: String,
        until: Option<Timestamp>,
        trigger: TransitionTrigger,
        mut facts: TransitionFacts,
    ) {
        facts.push(("pausedBy", TransitionFact::Text("breaker".into())));
        facts.push(("reason", TransitionFact::Text(reason.clone())));
        let paused = PauseCause::Breaker {
            reason: reason.clone(),
            until,
        };
        self.enter_state(JobState::Paused(paused), trigger, facts);
        self.save_snapshot(SnapshotReason::Error);
        match until {
            Some(at) => {
                let kind = TimerKind::RateLimitReset;
                self.push_effect(Effect::Timer { at, kind });
            }
            None => self.notify_people(JobNotification::BreakerTripped { reason }),
        }
    }

    /// Ends the process of a stopped agent to free its place; resuming starts another.
    pub(super) fn evict_stopped_agent(mut self, attempt: u32) -> Outcome {
        self.require_live_attempt(attempt)?;
        match self.job.state {
            JobState::Paused(_) | JobState::Asking | JobState::Needing | JobState::Reviewing => {
                self.end_process();
                self.finish_transition()
            }
            JobState::Draft
            | JobState::Pending
            | JobState::Running
            | JobState::Permitting
            | JobState::Verifying { .. }
            | JobState::Completed { .. }
            | JobState::Failed(_) => Err(Refusal::not_allowed(&self.job)),
        }
    }

    pub(super) fn send_user_message(mut self, id: String, text: String) -> Outcome {
        self.at_work()?;
        if text.trim().is_empty() {
            return Err(Refusal::Empty {
                what: JobRefusalSubject::Message,
            });
        }
        self.queue_message(MessageToAgent::UserMessage { id, text });
        self.finish_transition()
    }

    pub(super) fn withdraw_message(mut self, id: &str) -> Outcome {
        self.at_work()?;
        let before = self.job.queued_messages.len();
        self.job
            .queued_messages
            .retain(|message| !matches!(message, MessageToAgent::UserMessage { id: said, .. } if said == id));
        if self.job.queued_messages.len() == before {
            return Err(Refusal::Settled {
                what: JobRefusalSubject::Message,
                id: id.into(),
                status: "sent",
            });
        }
        self.finish_transition()
    }

    pub(super) fn interrupt_agent(mut self) -> Outcome {
        self.require_running()?;
        self.job.interrupts += 1;
        let attempt = self.job.attempt;
        let number = UNNUMBERED;
        self.push_effect(Effect::Interrupt { attempt, number });
        self.finish_transition()
    }

    pub(super) fn request_permission(&mut self, wanted: PermissionRequest) {
        // Output may be read twice after a crash; a known id is ignored.
        if self.job.permissions.iter().any(|it| it.id == wanted.id) {
            return;
        }
        let id = wanted.id.clone();
        let facts = vec![
            ("permissionId", TransitionFact::Text(id.clone())),
            ("tool", TransitionFact::Text(wanted.tool.clone())),
        ];
        self.job.permissions.push(wanted);
        self.enter_state(JobState::Permitting, TransitionTrigger::UserQuestion, facts);
        self.notify_people(JobNotification::PermissionWanted { id });
    }

    pub(super) fn permit_tool(self, permission: String) -> Outcome {
        let message = MessageToAgent::Permitted {
            permission: permission.clone(),
        };
        self.permission_settled(&permission, message)
    }

    pub(super) fn deny_tool(self, permission: String, reason: String) -> Outcome {
        let message = MessageToAgent::Denied {
            permission: permission.clone(),
            reason,
        };
        self.permission_settled(&permission, message)
    }

    fn permission_settled(mut self, id: &str, message: MessageToAgent) -> Outcome {
        let before = self.job.permissions.len();
        self.job.permissions.retain(|wanted| wanted.id != id);
        if self.job.permissions.len() == before {
            return Err(self.unknown_id(JobRefusalSubject::Permission, id, &JobState::Permitting));
        }
        self.queue_message(message);
        let facts = vec![("permissionId", TransitionFact::Text(id.into()))];
        self.permissions_answered(facts);
        self.finish_transition()
    }

    /// Removes a permission request that the client withdrew, whether it is open or still queued.
    pub(super) fn drop_withdrawn_request(&mut self, request: &str) {
        let of = |wanted: &PermissionRequest| wanted.request == request;
        self.job.permissions.retain(|wanted| !of(wanted));
        self.job.queued_markers.retain(
            |marker| !matches!(marker, super::AgentMarker::Permission(wanted) if of(wanted)),
        );
        let facts = vec![("withdrawn", TransitionFact::Text(request.into()))];
        self.permissions_answered(facts);
    }

    fn permissions_answered(&mut self, facts: TransitionFacts) {
        if self.job.state == JobState::Permitting && self.job.permissions.is_empty() {
            self.resume_running(TransitionTrigger::Answer, facts);
        }
    }

    /// Drops all permission requests, because the client that waited for them is gone.
    pub(super) fn drop_permissions(&mut self, trigger: TransitionTrigger) {
        self.job.permissions.clear();
        self.job
            .queued_markers
            .retain(|marker| !matches!(marker, super::AgentMarker::Permission(_)));
        if self.job.state == JobState::Permitting {
            self.enter_state(JobState::Running, trigger, vec![]);
        }
    }

    /// Handles the end of a turn, which says nothing of how the work stands: the agent is reminded
    /// once, then a person is asked.
    pub(super) fn on_turn_ended(&mut self, question: String) {
        let phase = self.job.phase;
        if !self.job.reminded {
            self.job.reminded = true;
            self.queue_reminder();
            return;
        }
        if self.job.questions.iter().any(|it| it.id == question) {
            return;
        }
        let text = format!(
            "The agent ended its turn in phase {phase} and said nothing of how it stands. What shall it do?"
        );
        self.ask_person(AgentQuestion::without_options(question, text, true));
    }

    /// Queues a reminder, because a client that has ended its turn does nothing more by itself.
    pub(super) fn queue_reminder(&mut self) {
        let phase = self.job.phase;
        self.queue_message(MessageToAgent::Reminder { phase });
    }

    /// Returns true if the agent runs, false if it is stopped; refuses unless the job was assigned
    /// and is not ended.
    pub(super) fn at_work(&self) -> Result<bool, Refusal> {
        match self.job.state {
            JobState::Running => Ok(true),
            JobState::Paused(_)
            | JobState::Asking
            | JobState::Needing
            | JobState::Permitting
            | JobState::Verifying { .. }
            | JobState::Reviewing => Ok(false),
            JobState::Draft
            | JobState::Pending
            | JobState::Completed { .. }
            | JobState::Failed(_) => Err(Refusal::not_allowed(&self.job)),
        }
    }

    /// Refuses unless the job may fail now: it is assigned and not under review, because a phase
    /// that was finished before is still good.
    pub(super) fn may_fail(&self) -> Result<(), Refusal> {
        if self.job.state == JobState::Reviewing {
            return Err(Refusal::not_allowed(&self.job));
        }
        self.at_work().map(drop)
    }

    /// Refuses unless the attempt is the latest one and its process has not ended.
    pub(super) fn require_live_attempt(&self, attempt: u32) -> Result<(), Refusal> {
        self.require_current_attempt(attempt)?;
        match self.job.process {
            ProcessState::Live => Ok(()),
            ProcessState::Gone => Err(Refusal::not_allowed(&self.job)),
        }
    }
}
