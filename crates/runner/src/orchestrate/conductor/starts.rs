//! Decides which tasks start, when and in which order.

use super::super::note::{Note, Stage};
use super::super::ports::{Job, Overlap, Ports, Told, Trouble};
use super::*;
use std::path::Path;

impl Conductor {
    /// Starts the tasks that may start.
    pub(super) fn advance(&mut self, ports: &mut impl Ports) -> Result<(), Trouble> {
        self.land_next(ports);
        if self.leaving.is_some() || self.paused || self.stuck.is_some() {
            return Ok(());
        }
        let now = ports.now_ms();
        let current = ports.run().current_phase();
        if self.rules.last_phase.is_some_and(|last| current > last) {
            return Ok(());
        }
        if let Some(phase) = ports.run().phase_done() {
            if self.finishing.is_none() {
                self.finishing = Some(phase);
                ports.ask(Job::FinishPhase { phase });
            }
            return Ok(());
        }
        self.recall_all(ports)?;
        // Tasks that would change the same files as a running task start after those that would
        // not.
        let mut later = Vec::new();
        let mut after: Option<NodeId> = None;
        while self.room_for_one_more(ports, now) {
            let Some(id) = ports.run().ready_after(after.as_ref()) else {
                break;
            };
            after = Some(id.clone());
            if !self.may_start(ports, &id, now) {
                continue;
            }
            let met = self.meets(ports, &id);
            if !met.is_empty() {
                later.push((id, met));
                continue;
            }
            if self.is_short(ports, now) {
                return Ok(());
            }
            self.start(ports, &id)?;
        }
        for (id, met) in later {
            if !self.room_for_one_more(ports, now) || self.is_short(ports, now) {
                return Ok(());
            }
            self.start(ports, &id)?;
            for overlap in met {
                let id = id.clone();
                ports.tell(Told::Overlap { id, overlap });
            }
        }
        match self.rules.stack {
            true => self.start_ahead(ports, now),
            false => Ok(()),
        }
    }

    /// Starts tasks on work that is done but has not landed, if they need nothing else.
    fn start_ahead(&mut self, ports: &mut impl Ports, now: i64) -> Result<(), Trouble> {
        let done = self.flights.iter();
        let done = done.filter(|(_, flight)| flight.note.stage == Stage::Landing);
        let done: Vec<NodeId> = done.map(|(id, _)| id.clone()).collect();
        for on in done {
            for id in ports.run().graph().dependents_of(&on) {
                let (run, current) = (ports.run(), ports.run().current_phase());
                let pending =
                    run.find_node(&id).map(|node| node.status) == Some(NodeStatus::Pending);
                let here = run.graph().phase_of(&id) == Some(current);
                let alone = run.waits_for(&id) == [on.clone()];
                if !pending || !here || !alone || !self.may_start(ports, &id, now) {
                    continue;
                }
                if !self.room_for_one_more(ports, now) || self.is_short(ports, now) {
                    return Ok(());
                }
                // Recorded before the start: its worktree is created from the other task's work.
                let mut note = ports.note(&id);
                note.on = Some(on.to_string());
                ports.remember(&id, &note)?;
                ports.commit(Command::StartAhead { id: id.clone() })?;
                self.take_off(ports, &id, note)?;
            }
        }
        Ok(())
    }

    /// True if a task was started on the work of a task that failed.
    pub(super) fn came_to_nothing(&self, ports: &impl Ports, id: &NodeId) -> bool {
        let flight = self.flights.get(id);
        flight.is_some_and(|flight| flight.note.on.is_some()) && ports.run().is_obstructed(id)
    }

    /// Recalls the tasks that were started on the work of a failed task; a running agent is ended
    /// first.
    fn recall_all(&mut self, ports: &mut impl Ports) -> Result<(), Trouble> {
        let ids: Vec<NodeId> = self.flights.keys().cloned().collect();
        for id in ids {
            if !self.came_to_nothing(ports, &id) {
                continue;
            }
            let Some(flight) = self.flights.get_mut(&id) else {
                continue;
            };
            if flight.note.stage != Stage::Running {
                self.recall(ports, &id)?;
            } else if flight.ended.is_none() {
                flight.ended = Some(Reason::Nothing.into());
                ports.want(&id, flight.note.attempt, WantedState::Ended);
            }
        }
        Ok(())
    }

    /// Returns a task to the pending ones, as the task it was started on failed.
    pub(super) fn recall(&mut self, ports: &mut impl Ports, id: &NodeId) -> Result<(), Trouble> {
        let Some(flight) = self.comes_down(id) else {
            return Ok(());
        };
        let mut note = flight.note;
        let on = note.on.take().unwrap_or_default();
        note.stage = Stage::Room;
        note.parked_until_ms = None;
        // Its worktree may hold work that will never land: merge what has landed.
        note.merge = true;
        note.recalled = true;
        ports.remember(id, &note)?;
        ports.commit(Command::Recall { id: id.clone() })?;
        ports.tell(Told::Recalled {
            id: id.clone(),
            on: on.as_str().into(),
        });
        Ok(())
    }

    fn may_start(&self, ports: &impl Ports, id: &NodeId, now: i64) -> bool {
        if self.resting.contains_key(id) {
            return false;
        }
        self.limits.is_empty() || {
            let limit = self.limits.get(&ports.agent_of(id));
            limit.is_none_or(|until| *until <= now)
        }
    }

    fn start(&mut self, ports: &mut impl Ports, id: &NodeId) -> Result<(), Trouble> {
        ports.commit(Command::Start { id: id.clone() })?;
        let mut note = ports.note(id);
        note.on = None;
        self.take_off(ports, id, note)
    }

    /// Returns the running tasks that declare to change the same paths as this one.
    fn meets(&self, ports: &impl Ports, id: &NodeId) -> Vec<Overlap> {
        if self.touching.is_empty() {
            return Vec::new();
        }
        let own = ports.touches(id);
        let both = |theirs: &[String]| -> Vec<String> {
            let touched = own.iter().filter(|path| {
                let within = |other: &String| {
                    Path::new(path).starts_with(other) || Path::new(other).starts_with(path)
                };
                theirs.iter().any(within)
            });
            touched.cloned().collect()
        };
        let others = self.touching.iter().filter(|(other, _)| *other != id);
        others
            .map(|(other, theirs)| Overlap {
                with: other.clone(),
                paths: both(theirs),
            })
            .filter(|overlap| !overlap.paths.is_empty())
            .collect()
    }

    /// Records the paths that a running task declares to change.
    pub(super) fn touch(&mut self, ports: &impl Ports, id: &NodeId) {
        let paths = ports.touches(id);
        if !paths.is_empty() {
            self.touching.insert(id.clone(), paths);
        }
    }

    fn room_for_one_more(&mut self, ports: &impl Ports, now: i64) -> bool {
        // Tasks whose worktrees are being prepared start before this one.
        let due = match self.rules.breakers.starts_per_hour {
            Some(_) => self.flights.values().filter(|it| it.is_due()).count(),
            None => 0,
        };
        let free = ports.run().free_places() != Some(0);
        free && self.flights.len() < self.rules.flights_max
            && self.starts.full_until(now, due).is_none()
    }

    /// True if the machine is short of a resource for one more agent. It is checked again after
    /// [`SHORT_MS`].
    pub(super) fn is_short(&mut self, ports: &mut impl Ports, now: i64) -> bool {
        if self.short.is_some() {
            return true;
        }
        let Some(shortage) = ports.shortage() else {
            self.told_short = false;
            return false;
        };
        self.short = Some(now + SHORT_MS);
        if !std::mem::replace(&mut self.told_short, true) {
            ports.tell(Told::Short(shortage));
        }
        true
    }

    pub(super) fn take_off(
        &mut self,
        ports: &mut impl Ports,
        id: &NodeId,
        mut note: Note,
    ) -> Result<(), Trouble> {
        // A person may have reset it while no run was active.
        let first = ports
            .run()
            .find_node(id)
            .is_some_and(|node| node.attempts == 0);
        note.stage = Stage::Room;
        if first && (note.attempt > 0 || !note.failures.is_empty()) {
            note.forgive();
            note.fresh |= !note.recalled;
            ports.remember(id, &note)?;
        }
        self.flights
            .insert(id.clone(), Flight::of(note.clone(), ports.now_ms()));
        self.touch(ports, id);
        self.reserve(id);
        self.room(ports, id, &note);
        Ok(())
    }
}
