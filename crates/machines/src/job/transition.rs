//! The builder for one transition: the next state and its effects.
//!
//! Signals, messages and new processes are derived once, at the end, from the state before and
//! after: a transition that passes through `running` between two stops does not wake the agent.

use super::step::Outcome;
use super::{
    DependencyStatus, Effect, FailureCode, Job, JobFailure, JobNotification, JobState,
    MessageToAgent, ProcessLevel, ProcessState, QuestionStatus, ReportedStep, ReviewStatus,
    SnapshotReason, SpawnFrom, StepProgress, TimerKind, TransitionEntity, TransitionEntry,
    TransitionFact, TransitionTrigger, UNNUMBERED,
};
use crate::kernel::{MachineStep, Timestamp};

pub(super) type TransitionFacts = Vec<(&'static str, TransitionFact)>;

pub(super) struct Transition {
    pub(super) job: Job,
    pub(super) at: Timestamp,
    effects: Vec<Effect>,
    wanted: Option<ProcessLevel>,
    pub(super) from: SpawnFrom,
}

impl Transition {
    pub(super) fn new(job: &Job, at: Timestamp) -> Self {
        Transition {
            job: job.clone(),
            at,
            effects: Vec::new(),
            wanted: wanted_level(&job.state),
            from: if job.attempt == 0 {
                SpawnFrom::Start
            } else {
                SpawnFrom::Latest
            },
        }
    }

    pub(super) fn push_effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(super) fn notify_people(&mut self, event: JobNotification) {
        self.push_effect(Effect::Notify(event));
    }

    pub(super) fn save_snapshot(&mut self, reason: SnapshotReason) {
        self.push_effect(Effect::Snapshot(reason));
    }

    /// Queues a message for the agent; it is sent with this transition if the agent runs at its
    /// end.
    pub(super) fn queue_message(&mut self, message: MessageToAgent) {
        self.job.queued_messages.push(message);
    }

    /// Enters a state and logs the changes of status, the task's first.
    pub(super) fn enter_state(
        &mut self,
        life: JobState,
        trigger: TransitionTrigger,
        facts: TransitionFacts,
    ) {
        let (task, agent) = (self.job.task_status(), self.job.agent_status());
        self.job.state = life;
        let (task_now, agent_now) = (self.job.task_status(), self.job.agent_status());
        if task != task_now {
            let names = (task.name(), task_now.name());
            self.log_transition(TransitionEntity::Task, names, trigger, facts.clone());
        }
        if agent != agent_now {
            let names = (agent.name(), agent_now.name());
            self.log_transition(TransitionEntity::Agent, names, trigger, facts);
        }
    }

    fn log_transition(
        &mut self,
        entity: TransitionEntity,
        (from, to): (&'static str, &'static str),
        trigger: TransitionTrigger,
        metadata: TransitionFacts,
    ) {
        self.push_effect(Effect::Log(TransitionEntry {
            entity,
            from,
            to,
            trigger,
            metadata,
        }));
    }

    /// Marks the process as gone so that a new one starts; logged, although no status changes.
    pub(super) fn replace_process(&mut self, trigger: TransitionTrigger, facts: TransitionFacts) {
        self.job.process = ProcessState::Gone;
        let name = self.job.agent_status().name();
        self.log_transition(TransitionEntity::Agent, (name, name), trigger, facts);
    }

    /// Resumes the agent, then applies queued markers until one of them stops it again.
    pub(super) fn resume_running(&mut self, trigger: TransitionTrigger, facts: TransitionFacts) {
        self.enter_state(JobState::Running, trigger, facts);
        self.apply_queued_markers();
    }

    /// Applies queued markers until one of them stops the agent.
    pub(super) fn apply_queued_markers(&mut self) {
        while self.job.state == JobState::Running {
            let Some(marker) = self.job.queued_markers.pop_front() else {
                return;
            };
            self.apply_marker(marker);
        }
    }

    /// Begins a phase: progress and reworks of the last one do not count for it.
    pub(super) fn begin_phase(&mut self, phase: u32) {
        self.job.phase = phase;
        self.job.step = None;
        self.job.reached = StepProgress::START;
        self.job.reworks = 0;
        self.queue_message(MessageToAgent::PhaseStart { phase });
    }

    /// Sets the agent's step; returns true if it is further than any before in this phase.
    pub(super) fn reach_step(&mut self, step: ReportedStep) -> bool {
        let reached = StepProgress {
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
    pub(super) fn advance_phase(&mut self, trigger: TransitionTrigger, facts: TransitionFacts) {
        if self.job.phase < self.job.total_phases() {
            let next = self.job.phase + 1;
            self.begin_phase(next);
            self.resume_running(trigger, facts);
        } else {
            self.complete_task(trigger, facts);
        }
    }

    /// Completes the task by way of `running`: a task is completed from `in_progress`, never from
    /// `review`.
    pub(super) fn complete_task(&mut self, trigger: TransitionTrigger, facts: TransitionFacts) {
        self.enter_state(JobState::Running, trigger, facts.clone());
        self.job.reached = StepProgress::END;
        self.close_requests();
        self.enter_state(JobState::Completed { at: self.at }, trigger, facts);
        self.save_snapshot(SnapshotReason::Completed);
        self.push_effect(Effect::ZipArtifacts);
        self.notify_people(JobNotification::TaskCompleted);
    }

    pub(super) fn fail_task(
        &mut self,
        code: FailureCode,
        message: String,
        details: Option<String>,
        trigger: TransitionTrigger,
    ) {
        let begun = self.job.attempt > 0;
        self.close_requests();
        let failure = JobFailure {
            code,
            message,
            details,
            at: self.at,
        };
        let facts = vec![("code", TransitionFact::Text(code.name().into()))];
        self.enter_state(JobState::Failed(failure), trigger, facts);
        if begun {
            self.save_snapshot(SnapshotReason::Failed);
            self.push_effect(Effect::SaveErrorLog);
        }
        self.notify_people(JobNotification::TaskFailed);
    }

    /// Closes all open requests to people, because they end with the process that made them.
    pub(super) fn close_requests(&mut self) {
        self.job.queued_markers.clear();
        self.job.queued_messages.clear();
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
        if self.job.process == ProcessState::Live {
            self.job.process = ProcessState::Gone;
            self.signal_first(ProcessLevel::Ended);
        }
    }

    /// Puts a signal before all other effects: a checkpoint is saved of a stopped agent.
    fn signal_first(&mut self, want: ProcessLevel) {
        let attempt = self.job.attempt;
        self.effects.insert(0, Effect::Signal { attempt, want });
    }

    /// Finishes the transition with the effects that the process needs.
    pub(super) fn finish_transition(mut self) -> Outcome {
        let stops =
            self.wanted == Some(ProcessLevel::Running) && self.job.process == ProcessState::Live;
        match wanted_level(&self.job.state) {
            Some(ProcessLevel::Paused) if stops => self.signal_first(ProcessLevel::Paused),
            None | Some(ProcessLevel::Paused) => {}
            Some(ProcessLevel::Ended) => self.end_process(),
            Some(ProcessLevel::Running) => {
                if !stops {
                    self.start_running_timers();
                }
                let say = std::mem::take(&mut self.job.queued_messages);
                match self.job.process {
                    ProcessState::Gone => {
                        self.job.attempt += 1;
                        self.job.process = ProcessState::Live;
                        let (attempt, from) = (self.job.attempt, self.from.clone());
                        self.push_effect(Effect::Spawn { attempt, from });
                        self.tell(say);
                    }
                    ProcessState::Live => {
                        let attempt = self.job.attempt;
                        // Sent before the agent wakes, so that the first thing it reads is the
                        // answer.
                        if !say.is_empty() {
                            self.tell(say);
                        }
                        if self.wanted != Some(ProcessLevel::Running) {
                            let want = ProcessLevel::Running;
                            self.push_effect(Effect::Signal { attempt, want });
                        }
                    }
                }
            }
        }
        Ok(MachineStep {
            next: self.job,
            effects: self.effects,
        })
    }

    fn tell(&mut self, say: Vec<MessageToAgent>) {
        self.push_effect(Effect::SendMessage {
            attempt: self.job.attempt,
            number: UNNUMBERED,
            messages: say,
        });
    }

    /// Starts the timers that a running agent needs.
    fn start_running_timers(&mut self) {
        self.checkpoint_timer();
        let silence = self.job.limits.silence_s;
        if silence > 0 {
            let at = self.seconds_from_now(silence);
            let kind = TimerKind::Silence;
            self.push_effect(Effect::Timer { at, kind });
        }
    }
}

fn wanted_level(life: &JobState) -> Option<ProcessLevel> {
    match life {
        JobState::Draft | JobState::Pending => None,
        JobState::Running => Some(ProcessLevel::Running),
        JobState::Paused(_)
        | JobState::Asking
        | JobState::Needing
        | JobState::Permitting
        | JobState::Verifying { .. }
        | JobState::Reviewing => Some(ProcessLevel::Paused),
        JobState::Completed { .. } | JobState::Failed(_) => Some(ProcessLevel::Ended),
    }
}
