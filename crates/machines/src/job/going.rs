//! Recovery and operation of a running agent: checkpoints, lost and stuck processes, a person's
//! messages, tool permissions.

use super::step::Outcome;
use super::turn::{Facts, Turn};
use super::{
    Checkpoint, Effect, Event, Fact, JobRefusalSubject, Life, Message, PausedBy, Permission,
    Process, Question, Refusal, SnapshotReason, SpawnFrom, TimerKind, Trigger, UNNUMBERED,
};
use crate::kernel::Timestamp;

/// Delay in seconds before the second lost process is replaced; it doubles with every further one.
const BACKOFF_S: i64 = 10;

impl Turn {
    /// Saves the regular checkpoint of a running agent and starts the timer of the next.
    pub(super) fn checkpoint_due(mut self) -> Outcome {
        self.running()?;
        self.snapshot(SnapshotReason::Interval);
        self.checkpoint_timer();
        self.done()
    }

    pub(super) fn checkpoint_timer(&mut self) {
        let at = self.after(self.job.limits.checkpoint_s);
        let kind = TimerKind::Checkpoint;
        self.push(Effect::Timer { at, kind });
    }

    pub(super) fn save_checkpoint(mut self) -> Outcome {
        self.at_work()?;
        self.snapshot(SnapshotReason::Manual);
        self.done()
    }

    /// Begins at a checkpoint: the present process ends, the next one continues from there.
    pub(super) fn begin_at(&mut self, checkpoint: Checkpoint) -> Result<(), Refusal> {
        let Checkpoint { id, phase, step } = checkpoint;
        let total = self.job.total_phases();
        if phase == 0 || phase > total {
            return Err(Refusal::NoSuchPhase { phase, total });
        }
        self.end_process();
        self.from = SpawnFrom::Checkpoint(id);
        self.begin_phase(phase);
        if let Some(step) = step.filter(|step| step.of > 0 && step.number <= step.of) {
            self.reach(step);
        }
        Ok(())
    }

    /// Replaces a lost process, because the agent itself did not fail. Each replacement waits
    /// longer, so that a process that is always killed is not started for ever; at last a person
    /// decides.
    pub(super) fn lost(&mut self, attempt: u32) {
        self.job.losses += 1;
        let losses = self.job.losses;
        let facts = vec![
            ("lost", Fact::Number(attempt.into())),
            ("losses", Fact::Number(losses.into())),
        ];
        if losses <= 1 {
            self.replace_process(Trigger::Recover, facts);
            return;
        }
        self.process_gone();
        let reason = format!("the agent was lost {losses} times without progress");
        let doubled = BACKOFF_S << (losses - 2).min(10);
        let until = (losses <= self.job.limits.losses_max).then(|| self.after(doubled));
        self.broken(reason, until, Trigger::Recover, facts);
    }

    /// Replaces the process of a silent agent once; the next time a person decides.
    pub(super) fn stuck(mut self, attempt: u32) -> Outcome {
        self.present(attempt)?;
        self.running()?;
        let seconds = self.job.limits.silence_s;
        let facts = vec![("silentSeconds", Fact::Number(seconds.unsigned_abs()))];
        if self.job.stuck {
            let reason = format!("no output for {seconds} seconds");
            self.broken(reason, None, Trigger::Pause, facts);
        } else {
            self.job.stuck = true;
            self.snapshot(SnapshotReason::Error);
            self.end_process();
            self.replace_process(Trigger::Recover, facts);
        }
        self.done()
    }

    /// Pauses a running agent until a person decides, or until `until`.
    pub(super) fn broken(
        &mut self,
        reason: String,
        until: Option<Timestamp>,
        trigger: Trigger,
        mut facts: Facts,
    ) {
        facts.push(("pausedBy", Fact::Text("breaker".into())));
        facts.push(("reason", Fact::Text(reason.clone())));
        let paused = PausedBy::Breaker {
            reason: reason.clone(),
            until,
        };
        self.enter(Life::Paused(paused), trigger, facts);
        self.snapshot(SnapshotReason::Error);
        match until {
            Some(at) => {
                let kind = TimerKind::RateLimitReset;
                self.push(Effect::Timer { at, kind });
            }
            None => self.notify(Event::BreakerTripped { reason }),
        }
    }

    /// Ends the process of a stopped agent to free its place; resuming starts another.
    pub(super) fn shed(mut self, attempt: u32) -> Outcome {
        self.present(attempt)?;
        match self.job.life {
            Life::Paused(_) | Life::Asking | Life::Needing | Life::Reviewing => {
                self.end_process();
                self.done()
            }
            Life::Draft
            | Life::Pending
            | Life::Running
            | Life::Permitting
            | Life::Verifying { .. }
            | Life::Completed { .. }
            | Life::Failed(_) => Err(Refusal::not_allowed(&self.job)),
        }
    }

    pub(super) fn say_to_agent(mut self, id: String, text: String) -> Outcome {
        self.at_work()?;
        if text.trim().is_empty() {
            return Err(Refusal::Empty {
                what: JobRefusalSubject::Message,
            });
        }
        self.say(Message::Said { id, text });
        self.done()
    }

    pub(super) fn unsay(mut self, id: &str) -> Outcome {
        self.at_work()?;
        let before = self.job.unsaid.len();
        self.job
            .unsaid
            .retain(|message| !matches!(message, Message::Said { id: said, .. } if said == id));
        if self.job.unsaid.len() == before {
            return Err(Refusal::Settled {
                what: JobRefusalSubject::Message,
                id: id.into(),
                status: "sent",
            });
        }
        self.done()
    }

    pub(super) fn interrupt(mut self) -> Outcome {
        self.running()?;
        self.job.interrupts += 1;
        let attempt = self.job.attempt;
        let number = UNNUMBERED;
        self.push(Effect::Interrupt { attempt, number });
        self.done()
    }

    pub(super) fn want_permission(&mut self, wanted: Permission) {
        // Output may be read twice after a crash; a known id is ignored.
        if self.job.permissions.iter().any(|it| it.id == wanted.id) {
            return;
        }
        let id = wanted.id.clone();
        let facts = vec![
            ("permissionId", Fact::Text(id.clone())),
            ("tool", Fact::Text(wanted.tool.clone())),
        ];
        self.job.permissions.push(wanted);
        self.enter(Life::Permitting, Trigger::UserQuestion, facts);
        self.notify(Event::PermissionWanted { id });
    }

    pub(super) fn permit(self, permission: String) -> Outcome {
        let message = Message::Permitted {
            permission: permission.clone(),
        };
        self.permission_settled(&permission, message)
    }

    pub(super) fn deny(self, permission: String, reason: String) -> Outcome {
        let message = Message::Denied {
            permission: permission.clone(),
            reason,
        };
        self.permission_settled(&permission, message)
    }

    fn permission_settled(mut self, id: &str, message: Message) -> Outcome {
        let before = self.job.permissions.len();
        self.job.permissions.retain(|wanted| wanted.id != id);
        if self.job.permissions.len() == before {
            return Err(self.unknown(JobRefusalSubject::Permission, id, &Life::Permitting));
        }
        self.say(message);
        let facts = vec![("permissionId", Fact::Text(id.into()))];
        self.permissions_answered(facts);
        self.done()
    }

    /// Removes a permission request that the client withdrew, whether it is open or still queued.
    pub(super) fn withdrawn(&mut self, request: &str) {
        let of = |wanted: &Permission| wanted.request == request;
        self.job.permissions.retain(|wanted| !of(wanted));
        self.job
            .waiting
            .retain(|marker| !matches!(marker, super::Marker::Permission(wanted) if of(wanted)));
        let facts = vec![("withdrawn", Fact::Text(request.into()))];
        self.permissions_answered(facts);
    }

    fn permissions_answered(&mut self, facts: Facts) {
        if self.job.life == Life::Permitting && self.job.permissions.is_empty() {
            self.go_on(Trigger::Answer, facts);
        }
    }

    /// Drops all permission requests, because the client that waited for them is gone.
    pub(super) fn permissions_die(&mut self, trigger: Trigger) {
        self.job.permissions.clear();
        self.job
            .waiting
            .retain(|marker| !matches!(marker, super::Marker::Permission(_)));
        if self.job.life == Life::Permitting {
            self.enter(Life::Running, trigger, vec![]);
        }
    }

    /// Handles the end of a turn, which says nothing of how the work stands: the agent is reminded
    /// once, then a person is asked.
    pub(super) fn turn_ended(&mut self, question: String) {
        let phase = self.job.phase;
        if !self.job.reminded {
            self.job.reminded = true;
            self.remind();
            return;
        }
        if self.job.questions.iter().any(|it| it.id == question) {
            return;
        }
        let text = format!(
            "The agent ended its turn in phase {phase} and said nothing of how it stands. What shall it do?"
        );
        self.put(Question::asked(question, text, true));
    }

    /// Queues a reminder, because a client that has ended its turn does nothing more by itself.
    pub(super) fn remind(&mut self) {
        let phase = self.job.phase;
        self.say(Message::Reminder { phase });
    }

    /// Returns true if the agent runs, false if it is stopped; refuses unless the job was assigned
    /// and is not ended.
    pub(super) fn at_work(&self) -> Result<bool, Refusal> {
        match self.job.life {
            Life::Running => Ok(true),
            Life::Paused(_)
            | Life::Asking
            | Life::Needing
            | Life::Permitting
            | Life::Verifying { .. }
            | Life::Reviewing => Ok(false),
            Life::Draft | Life::Pending | Life::Completed { .. } | Life::Failed(_) => {
                Err(Refusal::not_allowed(&self.job))
            }
        }
    }

    /// Refuses unless the job may fail now: it is assigned and not under review, because a phase
    /// that was finished before is still good.
    pub(super) fn may_fail(&self) -> Result<(), Refusal> {
        if self.job.life == Life::Reviewing {
            return Err(Refusal::not_allowed(&self.job));
        }
        self.at_work().map(drop)
    }

    /// Refuses unless the attempt is the latest one and its process has not ended.
    pub(super) fn present(&self, attempt: u32) -> Result<(), Refusal> {
        self.fence(attempt)?;
        match self.job.process {
            Process::Live => Ok(()),
            Process::Gone => Err(Refusal::not_allowed(&self.job)),
        }
    }
}
