//! Handles the outcomes of attempts, landings and phases.

use super::super::note::{Note, Stage};
use super::super::ports::{Job, Landed, PhaseEnded, Ports, Told, Trouble};
use super::*;
use crate::core::hearing::Word;
use bowline_words::Lang;

impl Conductor {
    pub(super) fn said(
        &mut self,
        ports: &mut impl Ports,
        id: &NodeId,
        words: Vec<Word>,
    ) -> Result<(), Trouble> {
        let now = ports.now_ms();
        let (ralph, iterations_max) = (self.rules.ralph, self.rules.iterations_max);
        let breakers = self.rules.breakers.clone();
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        let (mut learnt, mut turned) = (false, false);
        for word in words {
            match word {
                Word::Something | Word::Line(_) => {}
                Word::Valid => flight.first_message = FirstMessage::arrived(),
                Word::Complete => flight.done = true,
                Word::Failed(reason) => flight.failed = Some(Why::said(&reason)),
                Word::Promise => flight.promised = true,
                Word::Session(session) => {
                    learnt |= flight.note.session.as_ref() != Some(&session);
                    flight.note.session = Some(session);
                }
                Word::Limit(lifted) => {
                    let until = lifted.ms(now, flight.limited, breakers.retry_after_ms);
                    flight.limited = Some(until);
                    ports.want(id, flight.note.attempt, WantedState::Ended);
                }
                Word::Used { tokens, usd } => {
                    flight.note.used.add(tokens, usd, &mut flight.usd);
                }
                Word::TurnEnded => {
                    flight.note.used.turns += 1;
                    (learnt, turned) = (true, true);
                    let number = flight.note.attempt;
                    let open = ralph && !flight.promised && flight.failed.is_none();
                    let more = flight.note.iterations + 1 < iterations_max;
                    if open && more && tripped(&breakers, &flight.note).is_none() {
                        flight.note.iterations += 1;
                        if ports.repeat(id, number) {
                            continue;
                        }
                    }
                    ports.hang_up(id, number);
                }
            }
        }
        if learnt {
            let note = flight.note.clone();
            ports.remember(id, &note)?;
        }
        if let Some(why) = tripped(&breakers, &flight.note)
            && flight.ended.is_none()
            && !flight.done
        {
            flight.ended = Some(why);
            ports.want(id, flight.note.attempt, WantedState::Ended);
        }
        if turned {
            self.look_ahead(ports, id);
        }
        Ok(())
    }

    pub(super) fn exited(
        &mut self,
        ports: &mut impl Ports,
        id: &NodeId,
        code: Option<i32>,
        asked: bool,
        tail: &str,
    ) -> Result<(), Trouble> {
        if self.came_to_nothing(ports, id) {
            return self.recall(ports, id);
        }
        let ralph = self.rules.ralph;
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        if let Some(until) = flight.limited.filter(|_| !flight.done) {
            let agent = ports.agent_of(id);
            self.limits.insert(agent, until);
            return self.park(ports, id, until);
        }
        if let Some(why) = flight.ended.take() {
            let final_ = why.is_breaker() || flight.given_up;
            return self.fail(ports, id, why, final_);
        }
        if let Some(why) = flight.failed.take() {
            return self.fail(ports, id, why, false);
        }
        if asked && !flight.done {
            // A person ended it, and not because of the task: it starts again when the run
            // continues.
            flight.note.stage = Stage::Room;
            let note = flight.note.clone();
            ports.remember(id, &note)?;
            if self.leaving.is_none() {
                self.room(ports, id, &note);
            }
            return Ok(());
        }
        if code != Some(0) && !(asked && flight.done) {
            let how = match code {
                Some(code) => Reason::ExitCode { code },
                None => Reason::Signal,
            };
            return self.fail(ports, id, Why::with(how, tail), false);
        }
        if ralph && !flight.promised {
            flight.note.iterations += 1;
            if flight.note.iterations >= self.rules.iterations_max {
                let times = flight.note.iterations;
                return self.fail(ports, id, Reason::NoPromise { times }.into(), true);
            }
            flight.note.stage = Stage::Room;
            return self.begin(ports, id);
        }
        flight.note.stage = Stage::Landing;
        let note = flight.note.clone();
        ports.remember(id, &note)?;
        self.look_ahead(ports, id);
        self.line_up(ports, id);
        Ok(())
    }

    pub(super) fn landed(
        &mut self,
        ports: &mut impl Ports,
        id: &NodeId,
        outcome: Landed,
    ) -> Result<(), Trouble> {
        if !self.flies(id, Stage::Landing) {
            return Ok(());
        }
        match outcome {
            Landed::Done => {
                ports.commit(Command::Complete { id: id.clone() })?;
                self.comes_down(id);
                ports.tell(Told::Done { id: id.clone() });
                ports.ask(Job::Clean { id: id.clone() });
                Ok(())
            }
            Landed::Conflict { paths, hunks, base } => {
                let Some(flight) = self.flights.get_mut(id) else {
                    return Ok(());
                };
                let reason = Reason::Conflict {
                    paths: paths.join(", "),
                };
                // The work contains the commits it conflicted with before: this conflict is with
                // newer landings.
                let headway = flight.note.conflict_base.as_ref() != Some(&base);
                flight.note.hunks = Some(hunks);
                flight.note.merge = true;
                flight.note.conflict_paths = paths;
                flight.note.conflict_base = Some(base);
                if headway {
                    flight.note.conflicts = 0;
                    return self.resolve(ports, id, reason.into());
                }
                flight.note.conflicts += 1;
                let person = flight.note.conflicts >= CONFLICTS_MAX;
                self.fail(ports, id, reason.into(), person)
            }
            Landed::Held { by } => {
                self.hold(ports, id, by);
                Ok(())
            }
            Landed::Red { why } | Landed::SentBack { why } => {
                self.fits(id);
                self.fail(ports, id, why, false)
            }
            Landed::Declined { why } => self.fail(ports, id, why, true),
            Landed::Unfit { why } => self.fail(ports, id, why, false),
            Landed::Broken { why } => self.broken(ports, id, why),
            Landed::Proposed { url } => {
                let at = ports.now_ms() + self.rules.proposal_ms;
                let Some(flight) = self.flights.get_mut(id) else {
                    return Ok(());
                };
                // A review may take any time; the landing is not blocked.
                flight.blocked = Some((at, 0));
                if flight.note.proposed.as_ref() != Some(&url) {
                    flight.note.proposed = Some(url.clone());
                    let note = flight.note.clone();
                    ports.remember(id, &note)?;
                    let id = id.clone();
                    ports.tell(Told::Proposed { id, url });
                }
                Ok(())
            }
            Landed::Blocked { why } => {
                let now = ports.now_ms();
                let Some(flight) = self.flights.get_mut(id) else {
                    return Ok(());
                };
                let tries = flight.blocked.map_or(0, |(_, tries)| tries) + 1;
                flight.blocked = Some((now + BLOCKED_MS, tries));
                if tries == 1 {
                    ports.tell(Told::Waits { why: why.clone() });
                }
                if tries >= BLOCKED_TRIES_MAX {
                    // The task keeps its state and lands when the run continues.
                    self.comes_down(id);
                    self.stuck = Some(why);
                }
                Ok(())
            }
        }
    }

    /// Fails an attempt whose worktree git cannot use. Its agent learns of it; after some errors
    /// the worktree is recreated.
    pub(super) fn broken(
        &mut self,
        ports: &mut impl Ports,
        id: &NodeId,
        why: Why,
    ) -> Result<(), Trouble> {
        if let Some(flight) = self.flights.get_mut(id) {
            flight.note.git_errors += 1;
            if flight.note.git_errors >= GIT_ERRORS_MAX {
                flight.note.git_errors = 0;
                flight.note.fresh = true;
            }
        }
        self.fail(ports, id, why, false)
    }

    /// Has the agent of a task resolve a conflict. This counts as no failure, and the task keeps
    /// its place.
    fn resolve(&mut self, ports: &mut impl Ports, id: &NodeId, why: Why) -> Result<(), Trouble> {
        self.reserve(id);
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        flight.note.stage = Stage::Room;
        flight.note.iterations = 0;
        let note = flight.note.clone();
        ports.remember(id, &note)?;
        ports.tell(Told::Failed {
            id: id.clone(),
            why,
            again: true,
        });
        if self.leaving.is_none() {
            self.room(ports, id, &note);
        }
        Ok(())
    }

    /// Clears the conflict state after a landing without a conflict whose evidence is red. Tasks
    /// that pass alone may fail together, so the next attempt sees what landed before it.
    fn fits(&mut self, id: &NodeId) {
        if let Some(flight) = self.flights.get_mut(id) {
            flight.note.merge = true;
            flight.note.no_conflict();
            flight.note.hunks = None;
        }
        self.unreserve(id);
    }

    pub(super) fn phase_ended(
        &mut self,
        ports: &mut impl Ports,
        phase: u32,
        outcome: PhaseEnded,
    ) -> Result<(), Trouble> {
        if self.finishing != Some(phase) {
            return Ok(());
        }
        match outcome {
            PhaseEnded::Blocked { why } => {
                let tries = self.phase_blocked.map_or(0, |(_, tries)| tries) + 1;
                self.phase_blocked = Some((ports.now_ms() + BLOCKED_MS, tries));
                if tries == 1 {
                    ports.tell(Told::Waits { why: why.clone() });
                }
                if tries >= BLOCKED_TRIES_MAX {
                    self.finishing = None;
                    self.phase_blocked = None;
                    self.stuck = Some(why);
                }
            }
            PhaseEnded::LandingsGone { why } => {
                self.finishing = None;
                self.phase_blocked = None;
                self.stuck = Some(why.clone());
                ports.tell(Told::PhaseNotLanded { phase, why });
            }
            PhaseEnded::Ended { end, why } => {
                self.finishing = None;
                self.phase_blocked = None;
                let landed = match &end {
                    PhaseEnd::Merged { .. } | PhaseEnd::NoGit => true,
                    PhaseEnd::ChecksRed | PhaseEnd::Conflict => false,
                };
                let phases = ports.run().graph().phase_numbers();
                let following = phases.iter().copied().find(|it| *it > phase);
                let worktree = following.and_then(|next| ports.worktree_of(next));
                ports.commit(Command::PhaseFinish {
                    phase,
                    end,
                    worktree,
                })?;
                match landed {
                    true => ports.tell(Told::PhaseDone { phase }),
                    false => {
                        let why = why.unwrap_or_else(|| Reason::Nothing.into());
                        self.stuck = Some(Why::with(
                            Reason::PhaseNotLanded {
                                phase,
                                why: Box::new(why.reason.clone()),
                            },
                            &why.words,
                        ));
                        ports.tell(Told::PhaseNotLanded { phase, why });
                    }
                }
            }
        }
        Ok(())
    }

    /// Fails an attempt; the task is retried as the retry policy allows, or fails for good.
    pub(super) fn fail(
        &mut self,
        ports: &mut impl Ports,
        id: &NodeId,
        why: Why,
        for_good: bool,
    ) -> Result<(), Trouble> {
        let now = ports.now_ms();
        let Some(flight) = self.comes_down(id) else {
            return Ok(());
        };
        let mut note = flight.note;
        note.failed(&why.to_string());
        note.stage = Stage::Room;
        note.iterations = 0;
        let errors = note.failures.iter().map(|failure| failure.error.as_str());
        let retry = !for_good && climb(errors) != Verdict::GiveUp;
        let tries = ports.run().find_node(id).map_or(0, |node| node.attempts);
        let wait = self.rules.backoff_ms.saturating_mul(1 << tries.min(16));
        // No need to wait: what landed meanwhile changes the outcome.
        let wait = if note.merge {
            0
        } else {
            wait.min(BACKOFF_MS_MAX)
        };
        note.not_before_ms = now + wait;
        ports.remember(id, &note)?;
        ports.commit(Command::Fail {
            id: id.clone(),
            reason: Some(why.line(Lang::En).into()),
            retry,
        })?;
        let again = self.tell_failed(ports, id, why);
        if again && wait > 0 {
            self.resting.insert(id.clone(), note.not_before_ms);
        }
        Ok(())
    }

    /// Reports a failure that is in the state file; returns true if the task is retried.
    pub(super) fn tell_failed(&mut self, ports: &mut impl Ports, id: &NodeId, why: Why) -> bool {
        let again = ports.run().find_node(id).map(|node| node.status) != Some(NodeStatus::Failed);
        match again {
            true => self.lost.remove(id),
            false => self.lost.insert(id.clone(), why.clone()),
        };
        let id = id.clone();
        ports.tell(Told::Failed { id, why, again });
        again
    }

    /// Holds a task until a limit is lifted.
    pub(super) fn park(
        &mut self,
        ports: &mut impl Ports,
        id: &NodeId,
        until: i64,
    ) -> Result<(), Trouble> {
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        flight.note.stage = Stage::Room;
        flight.note.parked_until_ms = Some(until);
        let note = flight.note.clone();
        self.unreserve(id);
        ports.remember(id, &note)?;
        let seconds = (until - ports.now_ms()).max(0) / 1_000;
        ports.tell(Told::Parked {
            id: id.clone(),
            seconds,
        });
        Ok(())
    }
}

/// Returns why no further attempt is allowed, if a budget of the task is used up.
pub(super) fn tripped(breakers: &Breakers, note: &Note) -> Option<Why> {
    let spent = breakers.tripped(&note.used, note.worked_ms)?;
    Some(Reason::Breaker { spent }.into())
}
