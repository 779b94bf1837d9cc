//! What the conductor makes of what attempts and landings come to.

use super::super::note::{Note, Stage};
use super::super::ports::{Job, Landed, PhaseEnded, Ports, Told, Trouble, Word};
use super::*;

impl Conductor {
    pub(super) fn said(
        &mut self,
        ports: &mut impl Ports,
        id: &Id,
        words: Vec<Word>,
    ) -> Result<(), Trouble> {
        let now = ports.now_ms();
        let rules = self.rules.clone();
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        let (mut learnt, mut turned) = (false, false);
        for word in words {
            match word {
                Word::Something => {}
                Word::Done => flight.done = true,
                Word::Fail(reason) => flight.failed = Some(reason),
                Word::Promise => flight.promised = true,
                Word::Session(session) => {
                    learnt |= flight.note.session.as_ref() != Some(&session);
                    flight.note.session = Some(session);
                }
                Word::LimitFor { .. } | Word::Limit { .. } => {
                    let until_ms = match word {
                        Word::LimitFor { seconds } => Some(now + seconds.saturating_mul(1_000)),
                        Word::Limit { until_ms } => until_ms,
                        _ => None,
                    };
                    let until = until_ms.unwrap_or(now + rules.retry_after_ms);
                    let known = flight.limited.unwrap_or(until);
                    // One without a time never shortens one with a time.
                    flight.limited = Some(if until_ms.is_some() { until } else { known });
                    ports.want(id, flight.note.attempt, Want::Ended);
                }
                Word::Used { tokens, usd } => {
                    flight.note.used.tokens += tokens;
                    flight.note.used.usd += (usd - flight.usd).max(0.0);
                    flight.usd = flight.usd.max(usd);
                }
                Word::TurnEnded => {
                    flight.note.used.turns += 1;
                    (learnt, turned) = (true, true);
                    let number = flight.note.attempt;
                    let open = rules.ralph && !flight.promised && flight.failed.is_none();
                    let more = flight.note.iterations + 1 < rules.iterations_max;
                    if open && more && tripped(&rules, &flight.note).is_none() {
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
        if let Some(why) = tripped(&rules, &flight.note)
            && flight.ended.is_none()
            && !flight.done
        {
            flight.ended = Some(why);
            ports.want(id, flight.note.attempt, Want::Ended);
        }
        if turned {
            self.look_ahead(ports, id);
        }
        Ok(())
    }

    pub(super) fn exited(
        &mut self,
        ports: &mut impl Ports,
        id: &Id,
        code: Option<i32>,
        asked: bool,
        tail: &str,
    ) -> Result<(), Trouble> {
        if self.came_to_nothing(ports, id) {
            return self.recall(ports, id);
        }
        let now = ports.now_ms();
        let ralph = self.rules.ralph;
        let Some(flight) = self.flights.get_mut(id) else {
            return Ok(());
        };
        if let Some(until) = flight.limited.filter(|_| !flight.done) {
            flight.note.stage = Stage::Room;
            flight.note.parked_until_ms = Some(until);
            let note = flight.note.clone();
            ports.remember(id, &note)?;
            let agent = ports.agent_of(id);
            self.limits.insert(agent, until);
            ports.tell(Told::Parked {
                id: id.clone(),
                seconds: (until - now).max(0) / 1_000,
            });
            return Ok(());
        }
        if let Some(why) = flight.ended.take() {
            let final_ = why.starts_with("breaker");
            return self.fail(ports, id, &why, final_);
        }
        if let Some(why) = flight.failed.take() {
            return self.fail(ports, id, &why, false);
        }
        if asked && !flight.done {
            // A person ended it, and not because of the task: it is begun anew when the run goes on.
            flight.note.stage = Stage::Room;
            let note = flight.note.clone();
            ports.remember(id, &note)?;
            if !self.leaving {
                self.room(ports, id, &note);
            }
            return Ok(());
        }
        if code != Some(0) && !(asked && flight.done) {
            let how = match code {
                Some(code) => format!("exit code {code}"),
                None => "ended by a signal".to_owned(),
            };
            let why = match tail.trim() {
                "" => how,
                tail => format!("{how}\n{tail}"),
            };
            return self.fail(ports, id, &why, false);
        }
        if ralph && !flight.promised {
            flight.note.iterations += 1;
            if flight.note.iterations >= self.rules.iterations_max {
                let why = format!("no promise after {} repetitions", flight.note.iterations);
                return self.fail(ports, id, &why, true);
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
        id: &Id,
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
            Landed::Conflict { paths, hunks } => {
                let Some(flight) = self.flights.get_mut(id) else {
                    return Ok(());
                };
                flight.note.conflicts += 1;
                flight.note.hunks = Some(hunks);
                flight.note.merge = true;
                let why = format!("conflict in {}", paths.join(", "));
                let person = flight.note.conflicts >= CONFLICTS_MAX;
                self.fail(ports, id, &why, person)
            }
            Landed::Red { tail } => {
                self.fits(id);
                self.fail(
                    ports,
                    id,
                    &format!("the evidence command failed\n{tail}"),
                    false,
                )
            }
            Landed::SentBack { why } => {
                self.fits(id);
                self.fail(ports, id, &why, false)
            }
            Landed::Declined { why } => self.fail(ports, id, &why, true),
            Landed::Unfit { why } => self.fail(ports, id, &why, false),
            Landed::Proposed { url } => {
                let at = ports.now_ms() + self.rules.proposal_ms;
                let Some(flight) = self.flights.get_mut(id) else {
                    return Ok(());
                };
                // However long others take, nothing is in the way.
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
                    // It stays where it is, and lands when the run goes on.
                    self.comes_down(id);
                    self.stuck = Some(why);
                }
                Ok(())
            }
        }
    }

    /// Green alone may be red together: it met no conflict, and the next attempt sees what landed before it.
    fn fits(&mut self, id: &Id) {
        if let Some(flight) = self.flights.get_mut(id) {
            flight.note.merge = true;
            flight.note.conflicts = 0;
            flight.note.hunks = None;
        }
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
            PhaseEnded::Ended { end, why } => {
                self.finishing = None;
                self.phase_blocked = None;
                let landed = match &end {
                    PhaseEnd::Merged { .. } | PhaseEnd::NoGit => true,
                    PhaseEnd::ChecksRed | PhaseEnd::Conflict => false,
                };
                let phases = ports.run().graph().phases();
                let following = phases.iter().copied().find(|it| *it > phase);
                let worktree = following.and_then(|next| ports.worktree_of(next));
                ports.commit(Command::PhaseFinish {
                    phase,
                    end,
                    worktree,
                })?;
                let why = why.unwrap_or_default();
                match landed {
                    true => ports.tell(Told::PhaseDone { phase }),
                    false => {
                        ports.tell(Told::PhaseNotLanded {
                            phase,
                            why: why.clone(),
                        });
                        self.stuck = Some(format!("phase {phase} did not land: {why}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// One failed attempt: tried again as the ladder says, or failed for good.
    pub(super) fn fail(
        &mut self,
        ports: &mut impl Ports,
        id: &Id,
        error: &str,
        for_good: bool,
    ) -> Result<(), Trouble> {
        let now = ports.now_ms();
        let Some(flight) = self.comes_down(id) else {
            return Ok(());
        };
        let mut note = flight.note;
        note.failed(error);
        note.stage = Stage::Room;
        note.iterations = 0;
        let errors = note.failures.iter().map(|failure| failure.error.as_str());
        let retry = !for_good && climb(errors) != Verdict::GiveUp;
        let tries = ports.run().node(id).map_or(0, |node| node.attempts);
        let wait = self.rules.backoff_ms.saturating_mul(1 << tries.min(16));
        // What landed meanwhile is no reason to wait.
        let wait = if note.merge {
            0
        } else {
            wait.min(BACKOFF_MS_MAX)
        };
        note.not_before_ms = now + wait;
        ports.remember(id, &note)?;
        let reason = one_line(error);
        ports.commit(Command::Fail {
            id: id.clone(),
            reason: Some(reason.as_str().into()),
            retry,
        })?;
        let again = ports.run().node(id).map(|node| node.status) != Some(Status::Failed);
        if again && wait > 0 {
            self.resting.insert(id.clone(), note.not_before_ms);
        }
        ports.tell(Told::Failed {
            id: id.clone(),
            error: reason,
            again,
        });
        Ok(())
    }
}

/// Why no further attempt may be made, if a limit of the task is reached.
pub(super) fn tripped(rules: &Rules, note: &Note) -> Option<String> {
    let turns = rules.turns_max.filter(|max| note.used.turns >= *max);
    let tokens = rules.tokens_max.filter(|max| note.used.tokens >= *max);
    let usd = rules.usd_max.filter(|max| note.used.usd >= *max);
    let worked = rules.worked_ms_max.filter(|max| note.worked_ms >= *max);
    turns
        .map(|max| format!("breaker: {max} turns"))
        .or(tokens.map(|max| format!("breaker: {max} tokens")))
        .or(usd.map(|max| format!("breaker: {max} dollars")))
        .or(worked.map(|max| format!("breaker: longer than {} s", max / 1_000)))
}

/// What is kept of an error in the state file: its first line and its last.
fn one_line(error: &str) -> String {
    let mut lines = error.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("failed");
    let text = match lines.next_back() {
        Some(last) => format!("{first}: {last}"),
        None => first.to_owned(),
    };
    bowline_engine::formats::tasks_md::wire::OneLine::new(
        &text,
        bowline_engine::formats::tasks_md::wire::DETAIL_CHARS_MAX,
    )
    .as_str()
    .to_owned()
}
