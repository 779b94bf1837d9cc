//! Rules for agent output and processes: markers in stream order, process exits, and verification
//! of phases.

use super::step::Outcome;
use super::turn::Turn;
use super::{
    Dependency, DependencyStatus, Effect, Event, Fact, FailureCode, Kind, Life,
    MARKERS_WAITING_MAX, Marker, Message, PausedBy, Question, QuestionStatus, Refusal, Review,
    ReviewStatus, SnapshotReason, TimerKind, Trigger, Value,
};
use crate::kernel::Timestamp;

impl Turn {
    /// Handles a marker of an attempt: at once while the agent runs, otherwise queued until it runs
    /// again.
    pub(super) fn said(mut self, attempt: u32, marker: Marker) -> Outcome {
        self.fence(attempt)?;
        if let Marker::Withdrawn { request } = &marker {
            self.withdrawn(request);
            return self.done();
        }
        if self.at_work()? {
            self.act(marker);
        } else {
            self.hear_stopped(marker)?;
        }
        self.done()
    }

    fn hear_stopped(&mut self, marker: Marker) -> Result<(), Refusal> {
        let none_before = self.job.waiting.is_empty();
        match (marker, &self.job.life) {
            // A fatal error is not queued: the agent will not run again. Only a review goes on,
            // because the phase under review was finished before the error.
            (fatal @ Marker::ErrorFatal { .. }, life) if *life != Life::Reviewing => {
                self.act(fatal);
            }
            // Further questions are shown with the first, so that a person can answer all of them
            // together.
            (Marker::Question(question), Life::Asking) if none_before => self.ask(question),
            (Marker::DependencyRequest(needed), Life::Needing) if none_before => self.need(needed),
            (Marker::Permission(wanted), Life::Permitting) if none_before => {
                self.want_permission(wanted);
            }
            // The turn ended because the agent was stopped, or after the marker that stopped it.
            (Marker::TurnEnded { .. }, _) => {}
            // Any other reason for the stop ends with a message to the agent, which starts its next
            // turn.
            (Marker::TurnLimited, life) => {
                if matches!(life, Life::Paused(_)) {
                    self.remind();
                }
            }
            (marker, _) => {
                // Only the last of several steps in a row matters, and an agent may print many.
                let steps = (self.job.waiting.back(), &marker);
                if let (Some(Marker::Step(_)), Marker::Step(_)) = steps {
                    self.job.waiting.pop_back();
                }
                if self.job.waiting.len() >= MARKERS_WAITING_MAX {
                    return Err(Refusal::TooManyWaiting);
                }
                self.job.waiting.push_back(marker);
            }
        }
        Ok(())
    }

    /// Applies a marker to a running agent.
    pub(super) fn act(&mut self, marker: Marker) {
        match marker {
            Marker::PhaseComplete {
                phase,
                deliverables,
            } => self.complete_phase(phase, deliverables),
            Marker::CustomComplete => match self.job.kind {
                Some(Kind::Custom) => self.complete(Trigger::PhaseComplete, vec![]),
                Some(Kind::Phased { .. }) | None => self.say(Message::ProtocolError {
                    details: format!(
                        "this task has phases: write '=== PHASE {} COMPLETE ==='",
                        self.job.phase
                    ),
                }),
            },
            Marker::Question(question) => self.ask(question),
            Marker::DependencyRequest(needed) => self.need(needed),
            Marker::RateLimit { until } => self.rate_limited(until),
            Marker::ErrorFatal { message, details } => self.fail(
                FailureCode::AgentFatal,
                message,
                details,
                Trigger::ErrorFatal,
            ),
            Marker::ErrorNotify { message } => self.notify(Event::AgentError { message }),
            Marker::Step(step) => {
                // `Step 7/5` in a log line is no step.
                if step.number <= step.of && step.of > 0 && self.reach(step) {
                    self.progressed();
                }
            }
            Marker::Permission(wanted) => self.want_permission(wanted),
            Marker::Withdrawn { request } => self.withdrawn(&request),
            Marker::TurnEnded { question } => self.turn_ended(question),
            Marker::TurnLimited => self.remind(),
            Marker::Malformed { details } => self.say(Message::ProtocolError { details }),
        }
    }

    fn complete_phase(&mut self, phase: u32, deliverables: Vec<String>) {
        match self.job.kind {
            Some(Kind::Phased { .. }) => {}
            Some(Kind::Custom) | None => {
                let details = "this task has no phases: write '=== CUSTOM TASK COMPLETE ==='";
                self.say(Message::ProtocolError {
                    details: details.into(),
                });
                return;
            }
        }
        if phase != self.job.phase {
            let details = format!(
                "phase {phase} cannot be complete: the current phase is {}",
                self.job.phase
            );
            self.say(Message::ProtocolError { details });
            return;
        }
        self.progressed();
        self.reach_end();
        self.job.verifications += 1;
        let verification = self.job.verifications;
        // The deliverables that the agent reports are not facts: files are counted after the
        // verification.
        let facts = vec![("phase", Fact::Number(phase.into()))];
        let verifying = Life::Verifying { deliverables };
        self.enter(verifying, Trigger::PhaseComplete, facts);
        self.snapshot(SnapshotReason::PhaseComplete);
        self.push(Effect::Verify {
            verification,
            phase,
        });
    }

    fn ask(&mut self, question: Question) {
        // Output may be read twice after a crash; a known id is ignored.
        if self
            .job
            .questions
            .iter()
            .any(|known| known.id == question.id)
        {
            return;
        }
        let same = |known: &&Question| known.text.trim() == question.text.trim();
        let known = self
            .job
            .questions
            .iter()
            .filter(same)
            .find_map(|known| match &known.status {
                QuestionStatus::Answered(answer) => Some((known.id.clone(), answer.clone())),
                QuestionStatus::Pending | QuestionStatus::Skipped | QuestionStatus::Timeout => None,
            });
        if let Some((question, answer)) = known {
            self.say(Message::QuestionAnswer { question, answer });
            return;
        }
        self.progressed();
        self.put(question);
    }

    /// Opens a question and stops the agent until it is answered.
    pub(super) fn put(&mut self, question: Question) {
        let id = question.id.clone();
        self.job.questions.push(Question {
            status: QuestionStatus::Pending,
            ..question
        });
        let facts = vec![("questionId", Fact::Text(id.clone()))];
        self.enter(Life::Asking, Trigger::UserQuestion, facts);
        self.snapshot(SnapshotReason::UserQuestion);
        self.notify(Event::QuestionAsked { id: id.clone() });
        let at = self.after(self.job.limits.question_timeout_s);
        let kind = TimerKind::Question { id };
        self.push(Effect::Timer { at, kind });
    }

    fn need(&mut self, needed: Dependency) {
        // Output may be read twice after a crash; a known id is ignored.
        if self
            .job
            .dependencies
            .iter()
            .any(|known| known.id == needed.id)
        {
            return;
        }
        let provided = |known: &Dependency| {
            known.name == needed.name && known.status == DependencyStatus::Provided
        };
        if self.job.dependencies.iter().any(provided) {
            self.say(Message::DependencyProvided {
                name: needed.name,
                value: Value::Kept,
            });
            return;
        }
        self.progressed();
        let id = needed.id.clone();
        let facts = vec![
            ("dependencyId", Fact::Text(id.clone())),
            ("name", Fact::Text(needed.name.clone())),
        ];
        self.job.dependencies.push(Dependency {
            status: DependencyStatus::Pending,
            ..needed
        });
        self.enter(Life::Needing, Trigger::DependencyRequest, facts);
        self.snapshot(SnapshotReason::DependencyRequest);
        self.notify(Event::DependencyRequested { id: id.clone() });
        let at = self.after(self.job.limits.dependency_timeout_s);
        let kind = TimerKind::Dependency { id };
        self.push(Effect::Timer { at, kind });
    }

    fn rate_limited(&mut self, until: Timestamp) {
        // A limit that was read while the agent was stopped for another reason may be over by now.
        if until <= self.at {
            return;
        }
        let facts = vec![("pausedBy", Fact::Text("rate_limit".into()))];
        let paused = PausedBy::RateLimit { until };
        self.enter(Life::Paused(paused), Trigger::RateLimit, facts);
        self.snapshot(SnapshotReason::RateLimit);
        let kind = TimerKind::RateLimitReset;
        self.push(Effect::Timer { at: until, kind });
    }

    pub(super) fn after(&self, seconds: i64) -> Timestamp {
        Timestamp(self.at.0.saturating_add(seconds))
    }

    pub(super) fn tokens(mut self, attempt: u32, used: u64) -> Outcome {
        self.fence(attempt)?;
        self.job.tokens = self.job.tokens.saturating_add(used);
        self.done()
    }

    /// Handles the exit of a process. An exit is normal while the agent is stopped; otherwise the
    /// agent gets a second process, but no third one without progress.
    pub(super) fn agent_exit(mut self, attempt: u32, code: Option<i32>) -> Outcome {
        self.present(attempt)?;
        self.permissions_die(Trigger::AgentExit);
        let runs = self.at_work()?;
        let completes = self.job.kind.as_ref().is_some_and(Kind::completes_on_exit);
        if !runs {
            self.process_gone();
        } else if completes && code == Some(0) {
            self.process_gone();
            self.complete_phase(self.job.phase, vec![]);
        } else if self.job.exits > 0 {
            self.process_gone();
            let message = format!("the agent ended twice without progress, {}", ended(code));
            self.fail(FailureCode::AgentExited, message, None, Trigger::AgentExit);
        } else {
            self.job.exits += 1;
            let facts = vec![("exit", Fact::Text(ended(code)))];
            self.replace_process(Trigger::AgentExit, facts);
        }
        self.hear_waiting();
        self.done()
    }

    pub(super) fn spawn_failed(mut self, attempt: u32, message: String) -> Outcome {
        self.present(attempt)?;
        self.may_fail()?;
        self.process_gone();
        self.fail(FailureCode::SpawnFailed, message, None, Trigger::AgentExit);
        self.done()
    }

    /// Handles a process that was lost through no fault of its own.
    pub(super) fn recover(mut self, attempt: u32) -> Outcome {
        self.present(attempt)?;
        self.permissions_die(Trigger::Recover);
        if self.at_work()? {
            self.lost(attempt);
        } else {
            self.process_gone();
        }
        self.hear_waiting();
        self.done()
    }

    pub(super) fn verification_passed(
        mut self,
        verification: u32,
        review: String,
        files: u64,
    ) -> Outcome {
        let deliverables = self.awaited(verification)?;
        let phase = self.job.phase;
        let facts = vec![
            ("phase", Fact::Number(phase.into())),
            ("deliverables", Fact::Number(files)),
        ];
        self.notify(Event::PhaseCompleted { phase });
        if self
            .job
            .kind
            .as_ref()
            .is_some_and(|kind| kind.reviews(phase))
        {
            self.job.reviews.push(Review {
                id: review.clone(),
                phase,
                status: ReviewStatus::Pending,
                deliverables,
                comment: None,
                created_at: self.at,
                reviewed_at: None,
            });
            self.enter(Life::Reviewing, Trigger::PhaseComplete, facts);
            self.notify(Event::ReviewCreated { id: review });
        } else {
            self.phase_done(Trigger::PhaseComplete, facts);
        }
        self.done()
    }

    pub(super) fn verification_failed(mut self, verification: u32, issues: Vec<String>) -> Outcome {
        self.awaited(verification)?;
        let (phase, of) = (self.job.phase, self.job.limits.reworks_max);
        if self.job.reworks >= of {
            let message = format!("verification of phase {phase} failed after {of} reworks");
            let details = Some(issues.join("\n"));
            let trigger = Trigger::VerificationFailed;
            self.fail(FailureCode::VerificationFailed, message, details, trigger);
            return self.done();
        }
        self.job.reworks += 1;
        let attempt = self.job.reworks;
        self.say(Message::Rework {
            phase,
            attempt,
            of,
            issues,
        });
        let facts = vec![
            ("phase", Fact::Number(phase.into())),
            ("rework", Fact::Number(attempt.into())),
        ];
        self.go_on(Trigger::VerificationFailed, facts);
        self.done()
    }

    /// Returns the reported deliverables if this is the verification that is awaited.
    fn awaited(&self, verification: u32) -> Result<Vec<String>, Refusal> {
        let Life::Verifying { deliverables } = &self.job.life else {
            return Err(Refusal::not_allowed(&self.job));
        };
        let current = self.job.verifications;
        if verification != current {
            return Err(Refusal::StaleVerification {
                verification,
                current,
            });
        }
        Ok(deliverables.clone())
    }
}

fn ended(code: Option<i32>) -> String {
    code.map_or_else(|| "by a signal".into(), |code| format!("with code {code}"))
}
