//! Rules for agent output and processes: markers in stream order, process exits, and verification
//! of phases.

use super::step::Outcome;
use super::transition::Transition;
use super::{
    AgentDependency, AgentMarker, AgentQuestion, DependencyStatus, DependencyValue, Effect,
    FailureCode, JobKind, JobNotification, JobState, MARKERS_WAITING_MAX, MessageToAgent,
    PauseCause, PhaseReview, QuestionStatus, Refusal, ReviewStatus, SnapshotReason, TimerKind,
    TransitionFact, TransitionTrigger,
};
use crate::kernel::Timestamp;

impl Transition {
    /// Handles a marker of an attempt: at once while the agent runs, otherwise queued until it runs
    /// again.
    pub(super) fn on_marker(mut self, attempt: u32, marker: AgentMarker) -> Outcome {
        self.require_current_attempt(attempt)?;
        if let AgentMarker::Withdrawn { request } = &marker {
            self.drop_withdrawn_request(request);
            return self.finish_transition();
        }
        if self.at_work()? {
            self.apply_marker(marker);
        } else {
            self.on_marker_while_stopped(marker)?;
        }
        self.finish_transition()
    }

    fn on_marker_while_stopped(&mut self, marker: AgentMarker) -> Result<(), Refusal> {
        let none_before = self.job.queued_markers.is_empty();
        match (marker, &self.job.state) {
            // A fatal error is not queued: the agent will not run again. Only a review goes on,
            // because the phase under review was finished before the error.
            (fatal @ AgentMarker::ErrorFatal { .. }, life) if *life != JobState::Reviewing => {
                self.apply_marker(fatal);
            }
            // Further questions are shown with the first, so that a person can answer all of them
            // together.
            (AgentMarker::Question(question), JobState::Asking) if none_before => {
                self.on_question(question)
            }
            (AgentMarker::DependencyRequest(needed), JobState::Needing) if none_before => {
                self.request_dependency(needed)
            }
            (AgentMarker::Permission(wanted), JobState::Permitting) if none_before => {
                self.request_permission(wanted);
            }
            // The turn ended because the agent was stopped, or after the marker that stopped it.
            (AgentMarker::TurnEnded { .. }, _) => {}
            // Any other reason for the stop ends with a message to the agent, which starts its next
            // turn.
            (AgentMarker::TurnLimited, life) => {
                if matches!(life, JobState::Paused(_)) {
                    self.queue_reminder();
                }
            }
            (marker, _) => {
                // Only the last of several steps in a row matters, and an agent may print many.
                let steps = (self.job.queued_markers.back(), &marker);
                if let (Some(AgentMarker::Step(_)), AgentMarker::Step(_)) = steps {
                    self.job.queued_markers.pop_back();
                }
                if self.job.queued_markers.len() >= MARKERS_WAITING_MAX {
                    return Err(Refusal::TooManyWaiting);
                }
                self.job.queued_markers.push_back(marker);
            }
        }
        Ok(())
    }

    /// Applies a marker to a running agent.
    pub(super) fn apply_marker(&mut self, marker: AgentMarker) {
        match marker {
            AgentMarker::PhaseComplete {
                phase,
                deliverables,
            } => self.complete_phase(phase, deliverables),
            AgentMarker::CustomComplete => match self.job.kind {
                Some(JobKind::Custom) => {
                    self.complete_task(TransitionTrigger::PhaseComplete, vec![])
                }
                Some(JobKind::Phased { .. }) | None => {
                    self.queue_message(MessageToAgent::ProtocolError {
                        details: format!(
                            "this task has phases: write '=== PHASE {} COMPLETE ==='",
                            self.job.phase
                        ),
                    })
                }
            },
            AgentMarker::Question(question) => self.on_question(question),
            AgentMarker::DependencyRequest(needed) => self.request_dependency(needed),
            AgentMarker::RateLimit { until } => self.rate_limited(until),
            AgentMarker::ErrorFatal { message, details } => self.fail_task(
                FailureCode::AgentFatal,
                message,
                details,
                TransitionTrigger::ErrorFatal,
            ),
            AgentMarker::ErrorNotify { message } => {
                self.notify_people(JobNotification::AgentError { message })
            }
            AgentMarker::Step(step) => {
                // `Step 7/5` in a log line is no step.
                if step.number <= step.of && step.of > 0 && self.reach_step(step) {
                    self.reset_failure_counts();
                }
            }
            AgentMarker::Permission(wanted) => self.request_permission(wanted),
            AgentMarker::Withdrawn { request } => self.drop_withdrawn_request(&request),
            AgentMarker::TurnEnded { question } => self.on_turn_ended(question),
            AgentMarker::TurnLimited => self.queue_reminder(),
            AgentMarker::Malformed { details } => {
                self.queue_message(MessageToAgent::ProtocolError { details })
            }
        }
    }

    fn complete_phase(&mut self, phase: u32, deliverables: Vec<String>) {
        match self.job.kind {
            Some(JobKind::Phased { .. }) => {}
            Some(JobKind::Custom) | None => {
                let details = "this task has no phases: write '=== CUSTOM TASK COMPLETE ==='";
                self.queue_message(MessageToAgent::ProtocolError {
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
            self.queue_message(MessageToAgent::ProtocolError { details });
            return;
        }
        self.reset_failure_counts();
        self.mark_phase_reached();
        self.job.verifications += 1;
        let verification = self.job.verifications;
        // The deliverables that the agent reports are not facts: files are counted after the
        // verification.
        let facts = vec![("phase", TransitionFact::Number(phase.into()))];
        let verifying = JobState::Verifying { deliverables };
        self.enter_state(verifying, TransitionTrigger::PhaseComplete, facts);
        self.save_snapshot(SnapshotReason::PhaseComplete);
        self.push_effect(Effect::Verify {
            verification,
            phase,
        });
    }

    fn on_question(&mut self, question: AgentQuestion) {
        // Output may be read twice after a crash; a known id is ignored.
        if self
            .job
            .questions
            .iter()
            .any(|known| known.id == question.id)
        {
            return;
        }
        let same = |known: &&AgentQuestion| known.text.trim() == question.text.trim();
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
            self.queue_message(MessageToAgent::QuestionAnswer { question, answer });
            return;
        }
        self.reset_failure_counts();
        self.ask_person(question);
    }

    /// Opens a question and stops the agent until it is answered.
    pub(super) fn ask_person(&mut self, question: AgentQuestion) {
        let id = question.id.clone();
        self.job.questions.push(AgentQuestion {
            status: QuestionStatus::Pending,
            ..question
        });
        let facts = vec![("questionId", TransitionFact::Text(id.clone()))];
        self.enter_state(JobState::Asking, TransitionTrigger::UserQuestion, facts);
        self.save_snapshot(SnapshotReason::UserQuestion);
        self.notify_people(JobNotification::QuestionAsked { id: id.clone() });
        let at = self.seconds_from_now(self.job.limits.question_timeout_s);
        let kind = TimerKind::Question { id };
        self.push_effect(Effect::Timer { at, kind });
    }

    fn request_dependency(&mut self, needed: AgentDependency) {
        // Output may be read twice after a crash; a known id is ignored.
        if self
            .job
            .dependencies
            .iter()
            .any(|known| known.id == needed.id)
        {
            return;
        }
        let provided = |known: &AgentDependency| {
            known.name == needed.name && known.status == DependencyStatus::Provided
        };
        if self.job.dependencies.iter().any(provided) {
            self.queue_message(MessageToAgent::DependencyProvided {
                name: needed.name,
                value: DependencyValue::Kept,
            });
            return;
        }
        self.reset_failure_counts();
        let id = needed.id.clone();
        let facts = vec![
            ("dependencyId", TransitionFact::Text(id.clone())),
            ("name", TransitionFact::Text(needed.name.clone())),
        ];
        self.job.dependencies.push(AgentDependency {
            status: DependencyStatus::Pending,
            ..needed
        });
        self.enter_state(
            JobState::Needing,
            TransitionTrigger::DependencyRequest,
            facts,
        );
        self.save_snapshot(SnapshotReason::DependencyRequest);
        self.notify_people(JobNotification::DependencyRequested { id: id.clone() });
        let at = self.seconds_from_now(self.job.limits.dependency_timeout_s);
        let kind = TimerKind::Dependency { id };
        self.push_effect(Effect::Timer { at, kind });
    }

    fn rate_limited(&mut self, until: Timestamp) {
        // A limit that was read while the agent was stopped for another reason may be over by now.
        if until <= self.at {
            return;
        }
        let facts = vec![("pausedBy", TransitionFact::Text("rate_limit".into()))];
        let paused = PauseCause::RateLimit { until };
        self.enter_state(
            JobState::Paused(paused),
            TransitionTrigger::RateLimit,
            facts,
        );
        self.save_snapshot(SnapshotReason::RateLimit);
        let kind = TimerKind::RateLimitReset;
        self.push_effect(Effect::Timer { at: until, kind });
    }

    pub(super) fn seconds_from_now(&self, seconds: i64) -> Timestamp {
        Timestamp(self.at.0.saturating_add(seconds))
    }

    pub(super) fn count_tokens(mut self, attempt: u32, used: u64) -> Outcome {
        self.require_current_attempt(attempt)?;
        self.job.tokens = self.job.tokens.saturating_add(used);
        self.finish_transition()
    }

    /// Handles the exit of a process. An exit is normal while the agent is stopped; otherwise the
    /// agent gets a second process, but no third one without progress.
    pub(super) fn agent_exit(mut self, attempt: u32, code: Option<i32>) -> Outcome {
        self.require_live_attempt(attempt)?;
        self.drop_permissions(TransitionTrigger::AgentExit);
        let runs = self.at_work()?;
        let completes = self
            .job
            .kind
            .as_ref()
            .is_some_and(JobKind::completes_on_exit);
        if !runs {
            self.mark_process_gone();
        } else if completes && code == Some(0) {
            self.mark_process_gone();
            self.complete_phase(self.job.phase, vec![]);
        } else if self.job.exits > 0 {
            self.mark_process_gone();
            let message = format!(
                "the agent ended twice without progress, {}",
                describe_exit(code)
            );
            self.fail_task(
                FailureCode::AgentExited,
                message,
                None,
                TransitionTrigger::AgentExit,
            );
        } else {
            self.job.exits += 1;
            let facts = vec![("exit", TransitionFact::Text(describe_exit(code)))];
            self.replace_process(TransitionTrigger::AgentExit, facts);
        }
        self.apply_queued_markers();
        self.finish_transition()
    }

    pub(super) fn spawn_failed(mut self, attempt: u32, message: String) -> Outcome {
        self.require_live_attempt(attempt)?;
        self.may_fail()?;
        self.mark_process_gone();
        self.fail_task(
            FailureCode::SpawnFailed,
            message,
            None,
            TransitionTrigger::AgentExit,
        );
        self.finish_transition()
    }

    /// Handles a process that was lost through no fault of its own.
    pub(super) fn on_process_lost(mut self, attempt: u32) -> Outcome {
        self.require_live_attempt(attempt)?;
        self.drop_permissions(TransitionTrigger::Recover);
        if self.at_work()? {
            self.replace_lost_process(attempt);
        } else {
            self.mark_process_gone();
        }
        self.apply_queued_markers();
        self.finish_transition()
    }

    pub(super) fn verification_passed(
        mut self,
        verification: u32,
        review: String,
        files: u64,
    ) -> Outcome {
        let deliverables = self.awaited_deliverables(verification)?;
        let phase = self.job.phase;
        let facts = vec![
            ("phase", TransitionFact::Number(phase.into())),
            ("deliverables", TransitionFact::Number(files)),
        ];
        self.notify_people(JobNotification::PhaseCompleted { phase });
        if self
            .job
            .kind
            .as_ref()
            .is_some_and(|kind| kind.requires_review(phase))
        {
            self.job.reviews.push(PhaseReview {
                id: review.clone(),
                phase,
                status: ReviewStatus::Pending,
                deliverables,
                comment: None,
                created_at: self.at,
                reviewed_at: None,
            });
            self.enter_state(JobState::Reviewing, TransitionTrigger::PhaseComplete, facts);
            self.notify_people(JobNotification::ReviewCreated { id: review });
        } else {
            self.advance_phase(TransitionTrigger::PhaseComplete, facts);
        }
        self.finish_transition()
    }

    pub(super) fn verification_failed(mut self, verification: u32, issues: Vec<String>) -> Outcome {
        self.awaited_deliverables(verification)?;
        let (phase, of) = (self.job.phase, self.job.limits.reworks_max);
        if self.job.reworks >= of {
            let message = format!("verification of phase {phase} failed after {of} reworks");
            let details = Some(issues.join("\n"));
            let trigger = TransitionTrigger::VerificationFailed;
            self.fail_task(FailureCode::VerificationFailed, message, details, trigger);
            return self.finish_transition();
        }
        self.job.reworks += 1;
        let attempt = self.job.reworks;
        self.queue_message(MessageToAgent::Rework {
            phase,
            attempt,
            of,
            issues,
        });
        let facts = vec![
            ("phase", TransitionFact::Number(phase.into())),
            ("rework", TransitionFact::Number(attempt.into())),
        ];
        self.resume_running(TransitionTrigger::VerificationFailed, facts);
        self.finish_transition()
    }

    /// Returns the reported deliverables if this is the verification that is awaited.
    fn awaited_deliverables(&self, verification: u32) -> Result<Vec<String>, Refusal> {
        let JobState::Verifying { deliverables } = &self.job.state else {
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

fn describe_exit(code: Option<i32>) -> String {
    code.map_or_else(|| "by a signal".into(), |code| format!("with code {code}"))
}
