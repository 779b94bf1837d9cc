//! Tool permissions that clients request: answered by a person, several at once, or by a rule.

use super::dispatcher::JobDispatcher;
use super::request::RequestError;
use super::request_handlers::{RequestDecision, new_id, not_found};
use bowline_formats::permission_rule::{ToolPermissionRule, deciding_rule};
use bowline_machines::job::{AgentMarker, Command, Job, PermissionStatus};
use bowline_store::{
    JobChange, JobRecord, JobRow, NO_JOB, PermissionRow, RecordBody, RecordKind, RuleRow,
};
use bowline_words::message::ServerThing;

/// Name of the answerer in a record if it was a person.
pub(super) const PERSON: &str = "person";

/// Returns the ids of all permissions a job's client requests, including those that wait their
/// turn.
pub(super) fn requested_permissions(job: &Job) -> impl Iterator<Item = &str> {
    let waiting = job.queued_markers.iter().filter_map(|marker| match marker {
        AgentMarker::Permission(wanted) => Some(wanted.id.as_str()),
        _ => None,
    });
    let open = job.permissions.iter().map(|wanted| wanted.id.as_str());
    open.chain(waiting)
}

impl JobDispatcher {
    /// Answers one permission, by a person or by the rule with that id.
    pub(super) fn decide_permission(
        &mut self,
        row: &JobRow,
        permission: String,
        denied: Option<String>,
        by: &str,
    ) -> Result<RequestDecision, RequestError> {
        let status = match denied {
            Some(_) => PermissionStatus::Denied,
            None => PermissionStatus::Permitted,
        };
        let settled = self.settled_permission(&permission, status, denied.clone(), self.now());
        let command = match denied {
            Some(reason) => Command::Deny { permission, reason },
            None => Command::Permit { permission },
        };
        let mut change = self.step(row, command)?;
        if let Some(mut record) = settled {
            if let RecordBody::Permission(row) = &mut record.body {
                row.by = Some(by.into());
            }
            JobDispatcher::add_record(&mut change, record);
        }
        Ok(RequestDecision::for_change(change))
    }

    /// Answers several permissions alike, of one task or of many.
    pub(super) fn decide_permissions(
        &mut self,
        ids: &[String],
        denied: Option<&String>,
    ) -> Result<RequestDecision, RequestError> {
        let mut seen = std::collections::BTreeSet::new();
        for id in ids {
            let row = self.row(&self.job_of_record(RecordKind::Permission, id)?)?;
            let open = row.job.permissions.iter().any(|it| it.id == *id);
            if !open || !seen.insert(id) {
                // The state machine builds the refusal, and has changed nothing.
                self.decide_permission(&row, id.clone(), denied.cloned(), PERSON)?;
                return Err(not_found(ServerThing::Permission, id));
            }
        }
        let mut last = RequestDecision {
            changes: Vec::new(),
            job: None,
            made: None,
        };
        for id in ids {
            // A step moves a job once; all of them are committed together.
            for change in std::mem::take(&mut last.changes) {
                self.stage_change(change);
            }
            let row = self.row(&self.job_of_record(RecordKind::Permission, id)?)?;
            last = self.decide_permission(&row, id.clone(), denied.cloned(), PERSON)?;
        }
        Ok(last)
    }

    pub(super) fn add_rule(
        &mut self,
        rule: ToolPermissionRule,
    ) -> Result<RequestDecision, RequestError> {
        if let Some(task) = &rule.task {
            self.row(task)?;
        }
        let id = new_id("rule");
        let row = RuleRow {
            rule,
            ..RuleRow::default()
        };
        let record = JobRecord {
            id: id.clone(),
            job: NO_JOB.into(),
            open: true,
            at: self.now(),
            body: RecordBody::Rule(row),
        };
        let waits = |row: &&JobRow| !row.job.permissions.is_empty();
        let waiting = self.rows.values().filter(waits);
        self.asking.extend(waiting.map(|row| row.id.clone()));
        Ok(RequestDecision {
            changes: vec![rule_change(record)],
            job: None,
            made: Some(id),
        })
    }

    pub(super) fn remove_rule(&mut self, id: &str) -> Result<RequestDecision, RequestError> {
        self.job_of_record(RecordKind::Rule, id)?;
        let mut record = self
            .record(id)
            .ok_or_else(|| not_found(ServerThing::Rule, id))?;
        let at = self.now().0;
        if let RecordBody::Rule(row) = &mut record.body {
            row.removed_at.get_or_insert(at);
        }
        record.open = false;
        Ok(RequestDecision {
            changes: vec![rule_change(record)],
            job: None,
            made: Some(id.into()),
        })
    }

    /// Applies rules to permissions of jobs that requested one since the last call.
    pub(super) fn apply_rules(&mut self) {
        for job in std::mem::take(&mut self.asking) {
            let Ok(row) = self.row(&job) else { continue };
            for wanted in &row.job.permissions {
                self.apply_rule(&job, &wanted.id);
            }
        }
    }

    fn apply_rule(&mut self, job: &str, permission: &str) {
        let Some(RecordBody::Permission(PermissionRow { tool, input, .. })) =
            self.record(permission).map(|it| it.body)
        else {
            return;
        };
        let rules = self.open.values().filter_map(|record| match &record.body {
            RecordBody::Rule(row) if record.open => Some((record.id.clone(), &row.rule)),
            _ => None,
        });
        let Some((id, rule)) = deciding_rule(rules, (job, &tool, &input)) else {
            return;
        };
        let denied = rule.denies.then(|| rule.reason.clone());
        let row = self.row(job);
        let decided =
            row.and_then(|row| self.decide_permission(&row, permission.into(), denied, &id));
        let Ok(decided) = decided else { return };
        for change in decided.changes {
            self.stage_change(change);
        }
        if let Some(mut record) = self.record(&id) {
            if let RecordBody::Rule(row) = &mut record.body {
                row.uses += 1;
            }
            self.stage_change(rule_change(record));
        }
    }
}

/// Returns a change with a record that belongs to no job.
fn rule_change(record: JobRecord) -> JobChange {
    JobChange {
        records: vec![record],
        ..JobChange::keep_state(NO_JOB, 0)
    }
}
