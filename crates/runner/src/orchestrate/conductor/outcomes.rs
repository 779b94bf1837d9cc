//! Handles the outcomes of attempts, landings and phases.

use super::super::ports::{ConductorPorts, GitJob, LandOutcome, PhaseOutcome, RunError, RunNotice};
use super::super::task_record::{TaskRecord, TaskStage};
use super::*;
use crate::core::output_parser::OutputSignal;
use bowline_words::Lang;

impl Conductor {
    pub(super) fn on_signals(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        words: Vec<OutputSignal>,
    ) -> Result<(), RunError> {
        let now = ports.now_ms();
        let (ralph, iterations_max) = (self.rules.ralph, self.rules.iterations_max);
        let breakers = self.rules.breakers.clone();
        let Some(task) = self.running.get_mut(id) else {
            return Ok(());
        };
        let (mut learnt, mut turned) = (false, false);
        for word in words {
            match word {
                OutputSignal::AnyOutput | OutputSignal::Line(_) => {}
                OutputSignal::ValidMessage => task.first_message = FirstMessage::already_received(),
                OutputSignal::Complete => task.done = true,
                OutputSignal::Failed(reason) => {
                    task.failed = Some(FailureReason::from_text(&reason))
                }
                OutputSignal::Promise => task.promised = true,
                OutputSignal::Session(session) => {
                    learnt |= task.note.session.as_ref() != Some(&session);
                    task.note.session = Some(session);
                }
                OutputSignal::RateLimited(lifted) => {
                    let until = lifted.end_ms(now, task.limited, breakers.retry_after_ms);
                    task.limited = Some(until);
                    ports.request_state(id, task.note.attempt, WantedState::Ended);
                }
                OutputSignal::UsageReported { tokens, usd } => {
                    task.note.used.add_reported(tokens, usd, &mut task.usd);
                }
                OutputSignal::TurnEnded => {
                    task.note.used.turns += 1;
                    (learnt, turned) = (true, true);
                    let number = task.note.attempt;
                    let open = ralph && !task.promised && task.failed.is_none();
                    let more = task.note.iterations + 1 < iterations_max;
                    if open && more && exhausted_limit(&breakers, &task.note).is_none() {
                        task.note.iterations += 1;
                        if ports.request_repeat(id, number) {
                            continue;
                        }
                    }
                    ports.request_input_close(id, number);
                }
            }
        }
        if learnt {
            let note = task.note.clone();
            ports.store_record(id, &note)?;
        }
        if let Some(why) = exhausted_limit(&breakers, &task.note)
            && task.end_reason.is_none()
            && !task.done
        {
            task.end_reason = Some(why);
            ports.request_state(id, task.note.attempt, WantedState::Ended);
        }
        if turned {
            self.request_forecast(ports, id);
        }
        Ok(())
    }

    pub(super) fn on_exit(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        code: Option<i32>,
        asked: bool,
        tail: &str,
    ) -> Result<(), RunError> {
        if self.base_task_failed(ports, id) {
            return self.recall_task(ports, id);
        }
        let ralph = self.rules.ralph;
        let Some(task) = self.running.get_mut(id) else {
            return Ok(());
        };
        if let Some(until) = task.limited.filter(|_| !task.done) {
            let agent = ports.agent_name(id);
            self.limits.insert(agent, until);
            return self.park_task(ports, id, until);
        }
        if let Some(why) = task.end_reason.take() {
            let final_ = why.is_exhausted_limit() || task.given_up;
            return self.fail_attempt(ports, id, why, final_);
        }
        if let Some(why) = task.failed.take() {
            return self.fail_attempt(ports, id, why, false);
        }
        if asked && !task.done {
            // A person ended it, and not because of the task: it starts again when the run
            // continues.
            task.note.stage = TaskStage::Room;
            let note = task.note.clone();
            ports.store_record(id, &note)?;
            if self.leaving.is_none() {
                self.request_worktree(ports, id, &note);
            }
            return Ok(());
        }
        if code != Some(0) && !(asked && task.done) {
            let how = match code {
                Some(code) => Reason::ExitCode { code },
                None => Reason::Signal,
            };
            return self.fail_attempt(ports, id, FailureReason::with_detail(how, tail), false);
        }
        if ralph && !task.promised {
            task.note.iterations += 1;
            if task.note.iterations >= self.rules.iterations_max {
                let times = task.note.iterations;
                return self.fail_attempt(ports, id, Reason::NoPromise { times }.into(), true);
            }
            task.note.stage = TaskStage::Room;
            return self.start_attempt(ports, id);
        }
        task.note.stage = TaskStage::Landing;
        let note = task.note.clone();
        ports.store_record(id, &note)?;
        self.request_forecast(ports, id);
        self.queue_landing(ports, id);
        Ok(())
    }

    pub(super) fn on_land_outcome(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        outcome: LandOutcome,
    ) -> Result<(), RunError> {
        if !self.is_in_stage(id, TaskStage::Landing) {
            return Ok(());
        }
        match outcome {
            LandOutcome::Done => {
                ports.apply_command(Command::Complete { id: id.clone() })?;
                self.remove_task(id);
                ports.queue_notice(RunNotice::Done { id: id.clone() });
                ports.request_job(GitJob::Clean { id: id.clone() });
                Ok(())
            }
            LandOutcome::Conflict { paths, hunks, base } => {
                let Some(task) = self.running.get_mut(id) else {
                    return Ok(());
                };
                let reason = Reason::Conflict {
                    paths: paths.join(", "),
                };
                // The work contains the commits it conflicted with before: this conflict is with
                // newer landings.
                let headway = task.note.conflict_base.as_ref() != Some(&base);
                task.note.hunks = Some(hunks);
                task.note.merge = true;
                task.note.conflict_paths = paths;
                task.note.conflict_base = Some(base);
                if headway {
                    task.note.conflicts = 0;
                    return self.request_resolution(ports, id, reason.into());
                }
                task.note.conflicts += 1;
                let person = task.note.conflicts >= CONFLICTS_MAX;
                self.fail_attempt(ports, id, reason.into(), person)
            }
            LandOutcome::Held { by } => {
                self.hold_landing(ports, id, by);
                Ok(())
            }
            LandOutcome::Red { why } | LandOutcome::SentBack { why } => {
                self.clear_conflict(id);
                self.fail_attempt(ports, id, why, false)
            }
            LandOutcome::Declined { why } => self.fail_attempt(ports, id, why, true),
            LandOutcome::Unfit { why } => self.fail_attempt(ports, id, why, false),
            LandOutcome::Broken { why } => self.fail_broken_worktree(ports, id, why),
            LandOutcome::Proposed { url } => {
                let at = ports.now_ms() + self.rules.proposal_ms;
                let Some(task) = self.running.get_mut(id) else {
                    return Ok(());
                };
                // A review may take any time; the landing is not blocked.
                task.blocked = Some((at, 0));
                if task.note.proposed.as_ref() != Some(&url) {
                    task.note.proposed = Some(url.clone());
                    let note = task.note.clone();
                    ports.store_record(id, &note)?;
                    let id = id.clone();
                    ports.queue_notice(RunNotice::Proposed { id, url });
                }
                Ok(())
            }
            LandOutcome::Blocked { why } => {
                let now = ports.now_ms();
                let Some(task) = self.running.get_mut(id) else {
                    return Ok(());
                };
                let tries = task.blocked.map_or(0, |(_, tries)| tries) + 1;
                task.blocked = Some((now + BLOCKED_MS, tries));
                if tries == 1 {
                    ports.queue_notice(RunNotice::Waits { why: why.clone() });
                }
                if tries >= BLOCKED_TRIES_MAX {
                    // The task keeps its state and lands when the run continues.
                    self.remove_task(id);
                    self.stuck = Some(why);
                }
                Ok(())
            }
        }
    }

    /// Fails an attempt whose worktree git cannot use. Its agent learns of it; after some errors
    /// the worktree is recreated.
    pub(super) fn fail_broken_worktree(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        why: FailureReason,
    ) -> Result<(), RunError> {
        if let Some(task) = self.running.get_mut(id) {
            task.note.git_errors += 1;
            if task.note.git_errors >= GIT_ERRORS_MAX {
                task.note.git_errors = 0;
                task.note.fresh = true;
            }
        }
        self.fail_attempt(ports, id, why, false)
    }

    /// Has the agent of a task resolve a conflict. This counts as no failure, and the task keeps
    /// its place.
    fn request_resolution(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        why: FailureReason,
    ) -> Result<(), RunError> {
        self.reserve_paths(id);
        let Some(task) = self.running.get_mut(id) else {
            return Ok(());
        };
        task.note.stage = TaskStage::Room;
        task.note.iterations = 0;
        let note = task.note.clone();
        ports.store_record(id, &note)?;
        ports.queue_notice(RunNotice::Failed {
            id: id.clone(),
            why,
            again: true,
        });
        if self.leaving.is_none() {
            self.request_worktree(ports, id, &note);
        }
        Ok(())
    }

    /// Clears the conflict state after a landing without a conflict whose evidence is red. Tasks
    /// that pass alone may fail together, so the next attempt sees what landed before it.
    fn clear_conflict(&mut self, id: &NodeId) {
        if let Some(task) = self.running.get_mut(id) {
            task.note.merge = true;
            task.note.clear_conflict();
            task.note.hunks = None;
        }
        self.release_paths(id);
    }

    pub(super) fn on_phase_outcome(
        &mut self,
        ports: &mut impl ConductorPorts,
        phase: u32,
        outcome: PhaseOutcome,
    ) -> Result<(), RunError> {
        if self.finishing != Some(phase) {
            return Ok(());
        }
        match outcome {
            PhaseOutcome::Blocked { why } => {
                let tries = self.phase_blocked.map_or(0, |(_, tries)| tries) + 1;
                self.phase_blocked = Some((ports.now_ms() + BLOCKED_MS, tries));
                if tries == 1 {
                    ports.queue_notice(RunNotice::Waits { why: why.clone() });
                }
                if tries >= BLOCKED_TRIES_MAX {
                    self.finishing = None;
                    self.phase_blocked = None;
                    self.stuck = Some(why);
                }
            }
            PhaseOutcome::LandingsGone { why } => {
                self.finishing = None;
                self.phase_blocked = None;
                self.stuck = Some(why.clone());
                ports.queue_notice(RunNotice::PhaseNotLanded { phase, why });
            }
            PhaseOutcome::Ended { end, why } => {
                self.finishing = None;
                self.phase_blocked = None;
                let landed = match &end {
                    PhaseEnd::Merged { .. } | PhaseEnd::NoGit => true,
                    PhaseEnd::ChecksRed | PhaseEnd::Conflict => false,
                };
                let phases = ports.run_state().graph().phase_numbers();
                let following = phases.iter().copied().find(|it| *it > phase);
                let worktree = following.and_then(|next| ports.phase_worktree(next));
                ports.apply_command(Command::PhaseFinish {
                    phase,
                    end,
                    worktree,
                })?;
                match landed {
                    true => ports.queue_notice(RunNotice::PhaseDone { phase }),
                    false => {
                        let why = why.unwrap_or_else(|| Reason::Nothing.into());
                        self.stuck = Some(FailureReason::with_detail(
                            Reason::PhaseNotLanded {
                                phase,
                                why: Box::new(why.reason.clone()),
                            },
                            &why.detail,
                        ));
                        ports.queue_notice(RunNotice::PhaseNotLanded { phase, why });
                    }
                }
            }
        }
        Ok(())
    }

    /// Fails an attempt; the task is retried as the retry policy allows, or fails for good.
    pub(super) fn fail_attempt(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        why: FailureReason,
        for_good: bool,
    ) -> Result<(), RunError> {
        let now = ports.now_ms();
        let Some(task) = self.remove_task(id) else {
            return Ok(());
        };
        let mut note = task.note;
        note.record_failure(&why.to_string());
        note.stage = TaskStage::Room;
        note.iterations = 0;
        let errors = note.failures.iter().map(|failure| failure.error.as_str());
        let retry = !for_good && next_attempt(errors) != RetryDecision::GiveUp;
        let tries = ports
            .run_state()
            .find_node(id)
            .map_or(0, |node| node.attempts);
        let wait = self.rules.backoff_ms.saturating_mul(1 << tries.min(16));
        // No need to wait: what landed meanwhile changes the outcome.
        let wait = if note.merge {
            0
        } else {
            wait.min(BACKOFF_MS_MAX)
        };
        note.not_before_ms = now + wait;
        ports.store_record(id, &note)?;
        ports.apply_command(Command::Fail {
            id: id.clone(),
            reason: Some(why.render_line(Lang::En).into()),
            retry,
        })?;
        let again = self.report_failure(ports, id, why);
        if again && wait > 0 {
            self.resting.insert(id.clone(), note.not_before_ms);
        }
        Ok(())
    }

    /// Reports a failure that is in the state file; returns true if the task is retried.
    pub(super) fn report_failure(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        why: FailureReason,
    ) -> bool {
        let again =
            ports.run_state().find_node(id).map(|node| node.status) != Some(NodeStatus::Failed);
        match again {
            true => self.failure_reasons.remove(id),
            false => self.failure_reasons.insert(id.clone(), why.clone()),
        };
        let id = id.clone();
        ports.queue_notice(RunNotice::Failed { id, why, again });
        again
    }

    /// Holds a task until a limit is lifted.
    pub(super) fn park_task(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        until: i64,
    ) -> Result<(), RunError> {
        let Some(task) = self.running.get_mut(id) else {
            return Ok(());
        };
        task.note.stage = TaskStage::Room;
        task.note.parked_until_ms = Some(until);
        let note = task.note.clone();
        self.release_paths(id);
        ports.store_record(id, &note)?;
        let seconds = (until - ports.now_ms()).max(0) / 1_000;
        ports.queue_notice(RunNotice::Parked {
            id: id.clone(),
            seconds,
        });
        Ok(())
    }
}

/// Returns why no further attempt is allowed, if a budget of the task is used up.
pub(super) fn exhausted_limit(
    breakers: &CircuitBreakers,
    note: &TaskRecord,
) -> Option<FailureReason> {
    let spent = breakers.exceeded_limit(&note.used, note.worked_ms)?;
    Some(Reason::Breaker { spent }.into())
}
