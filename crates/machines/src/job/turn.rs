//! The builder for one transition: the next state and its effects.
//!
//! Signals, messages and new processes are derived once, at the end, from the state before and
//! after: a transition that passes through `running` between two stops does not wake the agent.

use super::step::Outcome;
use super::{
    DependencyStatus, Effect, Entity, Event, Fact, Failure, FailureCode, Job, JobTransition, Level,
    Life, Message, Process, QuestionStatus, Reached, ReviewStatus, SnapshotReason, SpawnFrom,
    StepAt, TimerKind, Trigger, UNNUMBERED,
};
use crate::kernel::{Step, Timestamp};

pub(super) type Facts = Vec<(&'static str, Fact)>;

pub(super) struct Turn {
    pub(super) job: Job,
    pub(super) at: Timestamp,
    effects: Vec<Effect>,
    wanted: Option<Level>,
    pub(super) from: SpawnFrom,
}

impl Turn {
    pub(super) fn new(job: &Job, at: Timestamp) -> Self {
        Turn {
            job: job.clone(),
            at,
            effects: Vec::new(),
            wanted: wanted(&job.life),
            from: if job.attempt == 0 {
                SpawnFrom::Start
            } else {
                SpawnFrom::Latest
            },
        }
    }

    pub(super) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(super) fn notify(&mut self, event: Event) {
        self.push(Effect::Notify(event));
    }

    pub(super) fn snapshot(&mut self, reason: SnapshotReason) {
        self.push(Effect::Snapshot(reason));
    }

    /// Queues a message for the agent; it is sent with this transition if the agent runs at its
    /// end.
    pub(super) fn say(&mut self, message: Message) {
        self.job.unsaid.push(message);
    }

    /// Enters a state and logs the changes of status, the task's first.
    pub(super) fn enter(&mut self, life: Life, trigger: Trigger, facts: Facts) {
        let (task, agent) = (self.job.task_status(), self.job.agent_status());
        self.job.life = life;
        let (task_now, agent_now) = (self.job.task_status(), self.job.agent_status());
        if task != task_now {
            let names = (task.name(), task_now.name());
            self.log(Entity::Task, names, trigger, facts.clone());
        }
        if agent != agent_now {
            let names = (agent.name(), agent_now.name());
            self.log(Entity::Agent, names, trigger, facts);
        }
    }

    fn log(
        &mut self,
        entity: Entity,
        (from, to): (&'static str, &'static str),
        trigger: Trigger,
        metadata: Facts,
    ) {
        self.push(Effect::Log(JobTransition {
            entity,
            from,
            to,
            trigger,
            metadata,
        }));
    }

    /// Marks the process as gone so that a new one starts; logged, although no status changes.
    pub(super) fn replace_process(&mut self, trigger: Trigger, facts: Facts) {
        self.job.process = Process::Gone;
        let name = self.job.agent_status().name();
        self.log(Entity::Agent, (name, name), trigger, facts);
    }

    /// Resumes the agent, then applies queued markers until one of them stops it again.
    pub(super) fn go_on(&mut self, trigger: Trigger, facts: Facts) {
        self.enter(Life::Running, trigger, facts);
        self.hear_waiting();
    }

    /// Applies queued markers until one of them stops the agent.
    pub(super) fn hear_waiting(&mut self) {
        while self.job.life == Life::Running {
            let Some(marker) = self.job.waiting.pop_front() else {
                return;
            };
            self.act(marker);
        }
    }

    /// Begins a phase: progress and reworks of the last one do not count for it.
    pub(super) fn begin_phase(&mut self, phase: u32) {
        self.job.phase = phase;
        self.job.step = None;
        self.job.reached = Reached::START;
        self.job.reworks = 0;
        self.say(Message::PhaseStart { phase });
    }

    /// Sets the agent's step; returns true if it is further than any before in this phase.
    pub(super) fn reach(&mut self, step: StepAt) -> bool {
        let reached = Reached {
            done: step.number,
            of: step.of,
        };
        let further = reached.is_beyond(self.job.reached);
        if further {
            self.job.reached = reached;
        }
        self.job.step = Some(step);
        further
    }

    /// Moves on from a phase that needs no further review: to the next one, or to the end.
    pub(super) fn phase_done(&mut self, trigger: Trigger, facts: Facts) {
        if self.job.phase < self.job.total_phases() {
            let next = self.job.phase + 1;
            self.begin_phase(next);
            self.go_on(trigger, facts);
        } else {
            self.complete(trigger, facts);
        }
    }

    /// Completes the task by way of `running`: a task is completed from `in_progress`, never from
    /// `review`.
    pub(super) fn complete(&mut self, trigger: Trigger, facts: Facts) {
        self.enter(Life::Running, trigger, facts.clone());
        self.job.reached = Reached::END;
        self.close();
        self.enter(Life::Completed { at: self.at }, trigger, facts);
        self.snapshot(SnapshotReason::Completed);
        self.push(Effect::ZipArtifacts);
        self.notify(Event::TaskCompleted);
    }

    pub(super) fn fail(
        &mut self,
        code: FailureCode,
        message: String,
        details: Option<String>,
        trigger: Trigger,
    ) {
        let begun = self.job.attempt > 0;
        self.close();
        let failure = Failure {
            code,
            message,
            details,
            at: self.at,
        };
        let facts = vec![("code", Fact::Text(code.name().into()))];
        self.enter(Life::Failed(failure), trigger, facts);
        if begun {
            self.snapshot(SnapshotReason::Failed);
            self.push(Effect::SaveErrorLog);
        }
        self.notify(Event::TaskFailed);
    }

    /// Closes all open requests to people, because they end with the process that made them.
    pub(super) fn close(&mut self) {
        self.job.waiting.clear();
        self.job.unsaid.clear();
        self.job.permissions.clear();
        for question in &mut self.job.questions {
            if question.is_open() {
                question.status = QuestionStatus::Skipped;
            }
        }
        for needed in &mut self.job.dependencies {
            if needed.is_open() {
                needed.status = DependencyStatus::Rejected;
            }
        }
        for review in &mut self.job.reviews {
            if review.is_open() {
                review.status = ReviewStatus::ChangesRequested;
                review.reviewed_at = Some(self.at);
            }
        }
    }

    pub(super) fn end_process(&mut self) {
        if self.job.process == Process::Live {
            self.job.process = Process::Gone;
            self.signal_first(Level::Ended);
        }
    }

    /// Puts a signal before all other effects: a checkpoint is saved of a stopped agent.
    fn signal_first(&mut self, want: Level) {
        let attempt = self.job.attempt;
        self.effects.insert(0, Effect::Signal { attempt, want });
    }

    /// Finishes the transition with the effects that the process needs.
    pub(super) fn done(mut self) -> Outcome {
        let stops = self.wanted == Some(Level::Running) && self.job.process == Process::Live;
        match wanted(&self.job.life) {
            Some(Level::Paused) if stops => self.signal_first(Level::Paused),
            None | Some(Level::Paused) => {}
            Some(Level::Ended) => self.end_process(),
            Some(Level::Running) => {
                if !stops {
                    self.going_timers();
                }
                let say = std::mem::take(&mut self.job.unsaid);
                match self.job.process {
                    Process::Gone => {
                        self.job.attempt += 1;
                        self.job.process = Process::Live;
                        let (attempt, from) = (self.job.attempt, self.from.clone());
                        self.push(Effect::Spawn { attempt, from });
                        self.tell(say);
                    }
                    Process::Live => {
                        let attempt = self.job.attempt;
                        // Sent before the agent wakes, so that the first thing it reads is the
                        // answer.
                        if !say.is_empty() {
                            self.tell(say);
                        }
                        if self.wanted != Some(Level::Running) {
                            let want = Level::Running;
                            self.push(Effect::Signal { attempt, want });
                        }
                    }
                }
            }
        }
        Ok(Step {
            next: self.job,
            effects: self.effects,
        })
    }

    fn tell(&mut self, say: Vec<Message>) {
        self.push(Effect::Tell {
            attempt: self.job.attempt,
            number: UNNUMBERED,
            say,
        });
    }

    /// Starts the timers that a running agent needs.
    fn going_timers(&mut self) {
        self.checkpoint_timer();
        let silence = self.job.limits.silence_s;
        if silence > 0 {
            let at = self.after(silence);
            let kind = TimerKind::Silence;
            self.push(Effect::Timer { at, kind });
        }
    }
}

fn wanted(life: &Life) -> Option<Level> {
    match life {
        Life::Draft | Life::Pending => None,
        Life::Running => Some(Level::Running),
        Life::Paused(_)
        | Life::Asking
        | Life::Needing
        | Life::Permitting
        | Life::Verifying { .. }
        | Life::Reviewing => Some(Level::Paused),
        Life::Completed { .. } | Life::Failed(_) => Some(Level::Ended),
    }
}
