//! Decides which tasks start, when and in which order.

use super::super::ports::{ConductorPorts, FileOverlap, GitJob, RunError, RunNotice};
use super::super::task_record::{TaskRecord, TaskStage};
use super::*;
use std::path::Path;

impl Conductor {
    /// Starts the tasks that may start.
    pub(super) fn start_ready_tasks(
        &mut self,
        ports: &mut impl ConductorPorts,
    ) -> Result<(), RunError> {
        self.land_next(ports);
        if self.leaving.is_some() || self.paused || self.stuck.is_some() {
            return Ok(());
        }
        let now = ports.now_ms();
        let current = ports.run_state().current_phase();
        if self.rules.last_phase.is_some_and(|last| current > last) {
            return Ok(());
        }
        if let Some(phase) = ports.run_state().phase_done() {
            if self.finishing.is_none() {
                self.finishing = Some(phase);
                ports.request_job(GitJob::FinishPhase { phase });
            }
            return Ok(());
        }
        self.recall_all(ports)?;
        // Tasks that would change the same files as a running task start after those that would
        // not.
        let mut later = Vec::new();
        let mut after: Option<NodeId> = None;
        while self.has_free_slot(ports, now) {
            let Some(id) = ports.run_state().ready_after(after.as_ref()) else {
                break;
            };
            after = Some(id.clone());
            if !self.may_start(ports, &id, now) {
                continue;
            }
            let met = self.running_overlaps(ports, &id);
            if !met.is_empty() {
                later.push((id, met));
                continue;
            }
            if self.is_short(ports, now) {
                return Ok(());
            }
            self.start_ready_task(ports, &id)?;
        }
        for (id, met) in later {
            if !self.has_free_slot(ports, now) || self.is_short(ports, now) {
                return Ok(());
            }
            self.start_ready_task(ports, &id)?;
            for overlap in met {
                let id = id.clone();
                ports.queue_notice(RunNotice::Overlap { id, overlap });
            }
        }
        match self.rules.stack {
            true => self.start_ahead(ports, now),
            false => Ok(()),
        }
    }

    /// Starts tasks on work that is done but has not landed, if they need nothing else.
    fn start_ahead(&mut self, ports: &mut impl ConductorPorts, now: i64) -> Result<(), RunError> {
        let done = self.running.iter();
        let done = done.filter(|(_, task)| task.note.stage == TaskStage::Landing);
        let done: Vec<NodeId> = done.map(|(id, _)| id.clone()).collect();
        for on in done {
            for id in ports.run_state().graph().dependents_of(&on) {
                let (run, current) = (ports.run_state(), ports.run_state().current_phase());
                let pending =
                    run.find_node(&id).map(|node| node.status) == Some(NodeStatus::Pending);
                let here = run.graph().phase_of(&id) == Some(current);
                let alone = run.waits_for(&id) == [on.clone()];
                if !pending || !here || !alone || !self.may_start(ports, &id, now) {
                    continue;
                }
                if !self.has_free_slot(ports, now) || self.is_short(ports, now) {
                    return Ok(());
                }
                // Recorded before the start: its worktree is created from the other task's work.
                let mut note = ports.task_record(&id);
                note.on = Some(on.to_string());
                ports.store_record(&id, &note)?;
                ports.apply_command(Command::StartAhead { id: id.clone() })?;
                self.start_task(ports, &id, note)?;
            }
        }
        Ok(())
    }

    /// True if a task was started on the work of a task that failed.
    pub(super) fn base_task_failed(&self, ports: &impl ConductorPorts, id: &NodeId) -> bool {
        let task = self.running.get(id);
        task.is_some_and(|task| task.note.on.is_some()) && ports.run_state().is_obstructed(id)
    }

    /// Recalls the tasks that were started on the work of a failed task; a running agent is ended
    /// first.
    fn recall_all(&mut self, ports: &mut impl ConductorPorts) -> Result<(), RunError> {
        let ids: Vec<NodeId> = self.running.keys().cloned().collect();
        for id in ids {
            if !self.base_task_failed(ports, &id) {
                continue;
            }
            let Some(task) = self.running.get_mut(&id) else {
                continue;
            };
            if task.note.stage != TaskStage::Running {
                self.recall_task(ports, &id)?;
            } else if task.end_reason.is_none() {
                task.end_reason = Some(Reason::Nothing.into());
                ports.request_state(&id, task.note.attempt, WantedState::Ended);
            }
        }
        Ok(())
    }

    /// Returns a task to the pending ones, as the task it was started on failed.
    pub(super) fn recall_task(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
    ) -> Result<(), RunError> {
        let Some(task) = self.remove_task(id) else {
            return Ok(());
        };
        let mut note = task.note;
        let on = note.on.take().unwrap_or_default();
        note.stage = TaskStage::Room;
        note.parked_until_ms = None;
        // Its worktree may hold work that will never land: merge what has landed.
        note.merge = true;
        note.recalled = true;
        ports.store_record(id, &note)?;
        ports.apply_command(Command::Recall { id: id.clone() })?;
        ports.queue_notice(RunNotice::Recalled {
            id: id.clone(),
            on: on.as_str().into(),
        });
        Ok(())
    }

    fn may_start(&self, ports: &impl ConductorPorts, id: &NodeId, now: i64) -> bool {
        if self.resting.contains_key(id) {
            return false;
        }
        self.limits.is_empty() || {
            let limit = self.limits.get(&ports.agent_name(id));
            limit.is_none_or(|until| *until <= now)
        }
    }

    fn start_ready_task(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
    ) -> Result<(), RunError> {
        ports.apply_command(Command::Start { id: id.clone() })?;
        let mut note = ports.task_record(id);
        note.on = None;
        self.start_task(ports, id, note)
    }

    /// Returns the running tasks that declare to change the same paths as this one.
    fn running_overlaps(&self, ports: &impl ConductorPorts, id: &NodeId) -> Vec<FileOverlap> {
        if self.touching.is_empty() {
            return Vec::new();
        }
        let own = ports.declared_paths(id);
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
            .map(|(other, theirs)| FileOverlap {
                with: other.clone(),
                paths: both(theirs),
            })
            .filter(|overlap| !overlap.paths.is_empty())
            .collect()
    }

    /// Records the paths that a running task declares to change.
    pub(super) fn record_declared_paths(&mut self, ports: &impl ConductorPorts, id: &NodeId) {
        let paths = ports.declared_paths(id);
        if !paths.is_empty() {
            self.touching.insert(id.clone(), paths);
        }
    }

    fn has_free_slot(&mut self, ports: &impl ConductorPorts, now: i64) -> bool {
        // Tasks whose worktrees are being prepared start before this one.
        let due = match self.rules.breakers.starts_per_hour {
            Some(_) => self.running.values().filter(|it| it.is_due()).count(),
            None => 0,
        };
        let free = ports.run_state().free_places() != Some(0);
        free && self.running.len() < self.rules.tasks_max
            && self.starts.full_until(now, due).is_none()
    }

    /// True if the machine is short of a resource for one more agent. It is checked again after
    /// [`SHORT_MS`].
    pub(super) fn is_short(&mut self, ports: &mut impl ConductorPorts, now: i64) -> bool {
        if self.short_until.is_some() {
            return true;
        }
        let Some(shortage) = ports.resource_shortage() else {
            self.shortage_reported = false;
            return false;
        };
        self.short_until = Some(now + SHORT_MS);
        if !std::mem::replace(&mut self.shortage_reported, true) {
            ports.queue_notice(RunNotice::Short(shortage));
        }
        true
    }

    pub(super) fn start_task(
        &mut self,
        ports: &mut impl ConductorPorts,
        id: &NodeId,
        mut note: TaskRecord,
    ) -> Result<(), RunError> {
        // A person may have reset it while no run was active.
        let first = ports
            .run_state()
            .find_node(id)
            .is_some_and(|node| node.attempts == 0);
        note.stage = TaskStage::Room;
        if first && (note.attempt > 0 || !note.failures.is_empty()) {
            note.reset_for_retry();
            note.fresh |= !note.recalled;
            ports.store_record(id, &note)?;
        }
        self.running
            .insert(id.clone(), RunningTask::new(note.clone(), ports.now_ms()));
        self.record_declared_paths(ports, id);
        self.reserve_paths(id);
        self.request_worktree(ports, id, &note);
        Ok(())
    }
}
