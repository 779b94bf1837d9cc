//! Copies of a task: its retry, and forks of a checkpoint.

use super::dispatcher::JobDispatcher;
use super::request::RequestError;
use super::request_handlers::{RequestDecision, new_id, not_found};
use bowline_machines::job::{Command, ForkOptions, Job, JobCheckpoint, ReportedStep};
use bowline_store::{JobAttributes, JobChange, JobRow, RecordBody, Store as _};
use bowline_words::message::ServerThing;

impl JobDispatcher {
    pub(super) fn retry_job(
        &mut self,
        task: &str,
        version: Option<u64>,
    ) -> Result<RequestDecision, RequestError> {
        let row = self.row_at_version(task, version)?;
        let new = new_id("task");
        let change = self.step(&row, Command::Retry { new: new.clone() })?;
        let made = self.create_copy(&new, row.job.new_retry(task), &row, None);
        let mut changes = vec![change, made];
        // Tasks that depend on the failed one depend on the new one from now on.
        for dependent in self.waiting_dependents(task)? {
            let (from, to) = (task.to_owned(), new.clone());
            let waiting = self.row(&dependent)?;
            if let Ok(change) = self.step(&waiting, Command::Redirect { from, to }) {
                changes.push(change);
            }
        }
        Ok(RequestDecision {
            changes,
            job: Some(new),
            made: None,
        })
    }

    /// Returns the jobs that depend on a job, read after everything is committed.
    pub(super) fn waiting_dependents(&mut self, task: &str) -> Result<Vec<String>, RequestError> {
        self.commit_and_wait();
        Ok(self.store.dependents_of(task)?)
    }

    /// Creates a job with the settings of another one.
    fn create_copy(
        &self,
        id: &str,
        job: Job,
        like: &JobRow,
        forked_from: Option<(String, String)>,
    ) -> JobChange {
        let at = self.now().0;
        let like = &like.about;
        let about = JobAttributes {
            type_name: like.type_name.clone(),
            priority: like.priority,
            agent: like.agent.clone(),
            // A fork has a folder of its own; a retry reuses the folder that a person named.
            workspace: like.workspace.clone().filter(|_| forked_from.is_none()),
            real_workspace: like
                .real_workspace
                .clone()
                .filter(|_| forked_from.is_none()),
            share_workspace: like.share_workspace && forked_from.is_none(),
            label: like.label.clone(),
            budget: like.budget,
            created_at: at,
            updated_at: at,
            forked_from,
            ..JobAttributes::default()
        };
        JobChange::replace_state(id, 0, job, about)
    }

    /// Returns a checkpoint with its job.
    pub(super) fn checkpoint_record(
        &self,
        id: &str,
    ) -> Result<(String, JobCheckpoint), RequestError> {
        let record = self
            .record(id)
            .ok_or_else(|| not_found(ServerThing::Checkpoint, id))?;
        let RecordBody::Checkpoint(row) = record.body else {
            return Err(not_found(ServerThing::Checkpoint, id));
        };
        let step = row
            .step
            .map(|(number, of, name)| ReportedStep { number, of, name });
        let checkpoint = JobCheckpoint {
            id: id.into(),
            phase: row.phase,
            step,
        };
        Ok((record.job, checkpoint))
    }

    pub(super) fn fork_checkpoint(
        &mut self,
        id: &str,
        fork: ForkOptions,
    ) -> Result<RequestDecision, RequestError> {
        let (task, checkpoint) = self.checkpoint_record(id)?;
        let row = self.row(&task)?;
        let new = new_id("task");
        let command = Command::Fork {
            new: new.clone(),
            checkpoint: checkpoint.clone(),
        };
        let change = self.step(&row, command)?;
        let from = Some((task, id.to_owned()));
        let made = self.create_copy(&new, row.job.new_fork(checkpoint, fork), &row, from);
        Ok(RequestDecision {
            changes: vec![change, made],
            job: Some(new),
            made: None,
        })
    }
}
