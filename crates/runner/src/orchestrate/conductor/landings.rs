//! Serialises landings; tasks with fewer predicted conflicts land first. Predictions never keep a
//! task from being worked on.

use super::super::ports::{ConductorPorts, FileOverlap, GitJob, RunNotice};
use super::super::task_record::TaskStage;
use super::*;

impl Conductor {
    /// Queues a task that is ready to land.
    pub(super) fn queue_landing(&mut self, ports: &mut impl ConductorPorts, id: &NodeId) {
        if !self.queue.contains(id) {
            self.queue.push(id.clone());
        }
        self.land_next(ports);
    }

    /// Starts the landings that overlap with the fewest other tasks; ties go to the task that was
    /// queued first.
    pub(super) fn land_next(&mut self, ports: &mut impl ConductorPorts) {
        let running = &self.running;
        self.queue.retain(|id| {
            let task = running.get(id);
            task.is_some_and(|task| task.note.stage == TaskStage::Landing)
        });
        while self.landing.len() < self.rules.landings_max {
            let meets = |id: &NodeId| {
                let with = |(one, other): &&(NodeId, NodeId)| one == id || other == id;
                self.overlaps.iter().filter(with).count()
            };
            // A task lands after the task it was started on, and never while an earlier landing of
            // its own is still running.
            let may = |id: &NodeId| {
                let free = !self.landing.contains(id) && !self.is_held(id);
                free && ports.run_state().open_needs(id).is_empty()
            };
            let first = self.queue.iter().enumerate().filter(|(_, id)| may(id));
            let Some((at, _)) = first.min_by_key(|(_, id)| meets(id)) else {
                return;
            };
            let id = self.queue.remove(at);
            self.landing.insert(id.clone());
            let earlier = self.reserved.iter().take_while(|it| it.with != id);
            let reserved = earlier.cloned().collect();
            ports.request_job(GitJob::Land { id, reserved });
        }
    }

    /// Reserves the files in which a task met a conflict, until it has landed or is no longer
    /// worked on.
    pub(super) fn reserve_paths(&mut self, id: &NodeId) {
        let Some(task) = self.running.get(id) else {
            return;
        };
        let note = &task.note;
        if note.conflict_paths.is_empty() || note.parked_until_ms.is_some() {
            return;
        }
        let paths = note.conflict_paths.clone();
        match self.reserved.iter_mut().find(|it| it.with == *id) {
            Some(known) => known.paths = paths,
            None => self.reserved.push(FileOverlap {
                with: id.clone(),
                paths,
            }),
        }
    }

    pub(super) fn release_paths(&mut self, id: &NodeId) {
        self.reserved.retain(|it| it.with != *id);
    }

    /// Keeps a task in the queue until the tasks that reserved files it changes have landed.
    pub(super) fn hold_landing(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        by: Vec<FileOverlap>,
    ) {
        let holders = by.iter().map(|overlap| overlap.with.clone()).collect();
        self.held.insert(id.clone(), holders);
        if !self.queue.contains(id) {
            self.queue.push(id.clone());
        }
        for overlap in by {
            if self.overlaps.insert(ordered_pair(id, &overlap.with)) {
                let id = id.clone();
                ports.queue_notice(RunNotice::Overlap { id, overlap });
            }
        }
    }

    fn is_held(&self, id: &NodeId) -> bool {
        let held = self.held.get(id);
        held.is_some_and(|by| self.reserved.iter().any(|it| by.contains(&it.with)))
    }

    /// Requests an overlap forecast for a task if other tasks are being worked on too.
    pub(super) fn request_forecast(&self, ports: &mut impl ConductorPorts, id: &NodeId) {
        let worked = |task: &RunningTask| task.note.attempt > 0;
        let others = self.running.iter().filter(|(_, task)| worked(task));
        let others = others.map(|(other, _)| other).filter(|other| *other != id);
        let others: Vec<NodeId> = others.cloned().collect();
        if !others.is_empty() {
            let id = id.clone();
            ports.request_job(GitJob::Forecast { id, others });
        }
    }

    pub(super) fn apply_forecast(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        overlaps: Vec<FileOverlap>,
    ) {
        let known = self.overlaps_of(id);
        self.overlaps
            .retain(|(one, other)| one != id && other != id);
        for overlap in overlaps {
            // Either task may have landed or failed since the forecast was requested.
            if !self.running.contains_key(id) || !self.running.contains_key(&overlap.with) {
                continue;
            }
            let news = !known.contains(&overlap.with);
            self.overlaps.insert(ordered_pair(id, &overlap.with));
            if news {
                let id = id.clone();
                ports.queue_notice(RunNotice::Overlap { id, overlap });
            }
        }
    }

    fn overlaps_of(&self, id: &NodeId) -> BTreeSet<NodeId> {
        let of = |(one, other): &(NodeId, NodeId)| {
            if one == id {
                return Some(other.clone());
            }
            (other == id).then(|| one.clone())
        };
        self.overlaps.iter().filter_map(of).collect()
    }

    /// Removes a task from those being worked on, with its reservations and overlaps.
    pub(super) fn remove_task(&mut self, id: &NodeId) -> Option<RunningTask> {
        self.touching.remove(id);
        self.release_paths(id);
        self.held.remove(id);
        self.overlaps
            .retain(|(one, other)| one != id && other != id);
        self.running.remove(id)
    }
}

fn ordered_pair(one: &NodeId, other: &NodeId) -> (NodeId, NodeId) {
    match one <= other {
        true => (one.clone(), other.clone()),
        false => (other.clone(), one.clone()),
    }
}
