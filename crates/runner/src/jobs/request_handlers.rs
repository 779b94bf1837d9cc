//! Decides requests of people and typed reports of agents.

use super::commit_queue::{AfterCommit, PendingReply};
use super::dispatcher::{JobDispatcher, resolve_workspace};
use super::named_workspace::check_workspace;
use super::permissions::PERSON;
use super::request::{
    DraftEdit, JobRequest, RequestError, SubmittedRequest, record_of, record_thing,
};
use super::{Outage, ReplyCallback, prompt, workspace_metadata};
use bowline_formats::markers::check::{AnswerError, check_answer, check_value, is_protected};
use bowline_machines::Machine as _;
use bowline_machines::Timestamp;
use bowline_machines::job::{self, AgentMarker, Command, Job, JobKind, JobMachine, MessageStatus};
use bowline_store::{
    CommitOutcome, EventKind, IdempotentRequest, JobAttributes, JobChange, JobRecord, JobRow,
    MessageRow, NewEvent, NextJobState, RecordBody, RecordKind, Store as _, StoreStep,
    random_token,
};
use bowline_words::message::ServerThing;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Random letters in an id.
const ID_LETTERS: usize = 12;
/// Wrong answers that are counted on a question.
const TRIES_MAX: u32 = 3;

pub(super) fn new_id(kind: &str) -> String {
    #[cfg(test)]
    if let Some(number) = super::simulation::next_id() {
        return format!("{kind}_{number:012}");
    }
    format!("{kind}_{}", &random_token()[..ID_LETTERS])
}

/// Result of a decision: the changes, and what the response is about.
pub(super) struct RequestDecision {
    pub(super) changes: Vec<JobChange>,
    pub(super) job: Option<String>,
    pub(super) made: Option<String>,
}

impl RequestDecision {
    pub(super) fn for_change(change: JobChange) -> RequestDecision {
        RequestDecision {
            job: Some(change.job.clone()),
            changes: vec![change],
            made: None,
        }
    }
}

impl JobDispatcher {
    /// Decides a request; the reply follows the commit.
    pub(super) fn on_request(&mut self, submitted: SubmittedRequest, reply: ReplyCallback) {
        let SubmittedRequest {
            key,
            version,
            request,
        } = submitted;
        if let Some(id) = &key {
            if self.is_staged(id) {
                self.commit_and_wait();
            }
            if let Some(answered) = self.earlier_response(id, &request) {
                reply(answered);
                return;
            }
        }
        if let JobRequest::Settle(settled) = request {
            let mut advance = StoreStep::empty_at(self.now());
            advance.settled.push(settled);
            self.stage_step(advance, AfterCommit::Reply(reply, PendingReply::default()));
            return;
        }
        let verb = request.verb();
        let keyed = key.map(|id| (id, request.fingerprint()));
        let deleted = match &request {
            JobRequest::Delete(task) => self.row(task).ok().map(Box::new),
            _ => None,
        };
        match self.decide_request(request, version) {
            Err(refused) => reply(Err(refused)),
            Ok(decided) => {
                // Without the note a crash after the commit would leave the files behind.
                let noted = deleted.as_ref().map_or(Ok(()), |row| {
                    workspace_metadata::note_removal(&self.config, row)
                });
                if let Err(error) = noted {
                    reply(Err(Outage::from_error(&error).into()));
                    return;
                }
                let mut advance = StoreStep::empty_at(self.now());
                advance.changes = decided.changes;
                let silent = advance.changes.iter_mut();
                for change in silent.filter(|it| it.events.is_empty()) {
                    change.events.push(changed_event(verb));
                }
                let (job, made) = (decided.job, decided.made);
                advance.request = keyed.map(|(id, print)| IdempotentRequest {
                    id,
                    print,
                    answer: json!({ "job": job, "made": made }),
                });
                let after = match deleted {
                    Some(row) => AfterCommit::Remove(reply, row),
                    None => {
                        let row = None;
                        AfterCommit::Reply(reply, PendingReply { job, made, row })
                    }
                };
                self.stage_step(advance, after);
            }
        }
    }

    /// Returns the response to a request that was carried out before.
    fn earlier_response(
        &self,
        id: &str,
        request: &JobRequest,
    ) -> Option<Result<super::JobResponse, RequestError>> {
        let known = self.store.stored_response(id).ok().flatten()?;
        // Submitted again as it is: the store compares the fingerprints.
        let again = StoreStep {
            request: Some(IdempotentRequest {
                id: id.into(),
                print: request.fingerprint(),
                answer: Value::Null,
            }),
            ..StoreStep::empty_at(self.now())
        };
        match self.store.commit_steps(vec![again]) {
            Ok(outcomes) if outcomes.first() == Some(&CommitOutcome::RequestReused) => {
                return Some(Err(RequestError::RequestReused));
            }
            Ok(_) => {}
            Err(error) => return Some(Err(error.into())),
        }
        let text = |key: &str| known[key].as_str().map(str::to_owned);
        // Read from the store: what is decided here may not be durable yet.
        let row = text("job").and_then(|job| self.store.find_job(&job).ok().flatten());
        let made = text("made");
        Some(Ok(super::JobResponse { row, made }))
    }

    fn decide_request(
        &mut self,
        request: JobRequest,
        version: Option<u64>,
    ) -> Result<RequestDecision, RequestError> {
        let (task, command) = match request {
            // An agent reports on its attempt, whatever the version of the job.
            JobRequest::Command(task, Command::MarkerRead { attempt, marker }) => {
                return self.exact_answer(&self.row(&task)?, attempt, marker);
            }
            JobRequest::Command(task, command) => (task, command),
            JobRequest::RecordCommand(command) => {
                let (kind, id) = record_of(&command).ok_or_else(|| no_request(&command))?;
                (self.job_of_record(kind, id)?, command)
            }
            JobRequest::Create {
                title,
                description,
                depends_on,
                scheduled_for,
                about,
                submit,
            } => {
                let edit = job::DraftChanges {
                    title: Some(title),
                    description: Some(description),
                    depends_on: Some(depends_on),
                    scheduled_for: Some(scheduled_for.map(Timestamp)),
                    kind: None,
                };
                return self.create_job(edit, *about, submit);
            }
            JobRequest::Edit { task, edit } => return self.edit_draft(&task, *edit, version),
            JobRequest::Retry(task) => return self.retry_job(&task, version),
            JobRequest::Delete(task) => return self.delete_job(&task, version),
            JobRequest::Fork { checkpoint, fork } => {
                return self.fork_checkpoint(&checkpoint, fork);
            }
            JobRequest::Restore { task, checkpoint } => {
                let (job, at) = self.checkpoint_record(&checkpoint)?;
                if job != task {
                    return Err(not_found(ServerThing::Checkpoint, &checkpoint));
                }
                let mut row = self.row_at_version(&task, version)?;
                resolve_workspace(&mut row);
                let shares = row.about.share_workspace;
                let held_by = self.index.claims().current_holder(&row).filter(|_| !shares);
                let command = Command::Restore {
                    checkpoint: at,
                    held_by,
                };
                return Ok(RequestDecision::for_change(self.step(&row, command)?));
            }
            JobRequest::SendMessage { task, text } => {
                return self.send_message(&task, text, version);
            }
            JobRequest::RequestChanges {
                review,
                feedback,
                comments,
            } => return self.request_changes(review, &feedback, comments, version),
            JobRequest::RequestTaskChanges {
                task,
                feedback,
                comments,
            } => {
                let review = self.open_review(&task, "request changes")?;
                return self.request_changes(review, &feedback, comments, version);
            }
            JobRequest::ApproveTask { task, comment } => {
                let review = self.open_review(&task, "approve")?;
                (task, Command::Approve { review, comment })
            }
            JobRequest::Provide { dependency, value } => {
                return self.provide_dependency(dependency, &value, version);
            }
            JobRequest::Decide {
                permissions,
                denied,
            } => return self.decide_permissions(&permissions, denied.as_ref()),
            JobRequest::AddRule(rule) => return self.add_rule(*rule),
            JobRequest::RemoveRule(rule) => return self.remove_rule(&rule),
            JobRequest::Tokens {
                task,
                attempt,
                used,
                usd,
            } => {
                let mut row = self.row_at_version(&task, version)?;
                row.attributes_mut().cost_before_usd += usd.max(0.0);
                let change = self.step(&row, Command::CountTokens { attempt, used })?;
                return Ok(RequestDecision::for_change(change));
            }
            JobRequest::Settle(_) => return Err(RequestError::Failed("settled before".into())),
        };
        let row = self.row_at_version(&task, version)?;
        self.command(&row, command)
    }

    /// Decides a command as it was requested.
    fn command(&mut self, row: &JobRow, command: Command) -> Result<RequestDecision, RequestError> {
        match command {
            Command::Submit
            | Command::Cancel
            | Command::Pause
            | Command::Resume
            | Command::Archive
            | Command::SaveCheckpoint
            | Command::Interrupt
            | Command::WithdrawMessage { .. }
            | Command::Approve { .. }
            | Command::Skip { .. } => Ok(RequestDecision::for_change(self.step(row, command)?)),
            Command::Answer { question, text } => self.answer_question(row, question, text),
            Command::Reject { dependency, reason } => {
                self.reject_dependency(row, dependency, reason)
            }
            Command::Permit { permission } => self.decide_permission(row, permission, None, PERSON),
            Command::Deny { permission, reason } => {
                self.decide_permission(row, permission, Some(reason), PERSON)
            }
            // The dispatcher gives the others itself, or makes them of a request with other facts.
            other => Err(no_request(&other)),
        }
    }

    /// Returns the open review of a task.
    fn open_review(&self, task: &str, command: &'static str) -> Result<String, RequestError> {
        let job = self.row(task)?.job;
        let open = job.open_review().map(|review| review.id.clone());
        open.ok_or_else(|| {
            RequestError::Rule(job::Refusal::NotAllowed {
                command,
                task: job.task_status(),
                agent: job.agent_status(),
                allowed: job::allowed_actions(&job),
            })
        })
    }

    /// Returns a job if it is at the expected version.
    pub(super) fn row_at_version(
        &self,
        task: &str,
        version: Option<u64>,
    ) -> Result<JobRow, RequestError> {
        let row = self.row(task)?;
        match version {
            Some(wanted) if wanted != row.version => Err(RequestError::Changed {
                version: row.version,
            }),
            _ => Ok(row),
        }
    }

    /// Returns the job that a record belongs to.
    pub(super) fn job_of_record(&self, kind: RecordKind, id: &str) -> Result<String, RequestError> {
        let record = self.record(id).filter(|it| it.body.kind() == kind);
        let record = record.ok_or_else(|| not_found(record_thing(kind), id))?;
        Ok(record.job)
    }

    fn check_type(&self, name: Option<&String>) -> Result<Option<JobKind>, RequestError> {
        let Some(name) = name else { return Ok(None) };
        let spec = self.config.types.get(name);
        let spec = spec.ok_or_else(|| RequestError::UnknownType { name: name.clone() })?;
        Ok(Some(spec.kind()))
    }

    fn check_agent(&self, name: Option<&String>) -> Result<(), RequestError> {
        match name {
            Some(name) if !self.config.agents.contains_key(name) => {
                Err(RequestError::UnknownAgent { name: name.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the dependencies of a task exist and form no cycle.
    fn check_dependencies(&self, id: &str, needed: &[String]) -> Result<(), RequestError> {
        let mut open: Vec<Vec<String>> = needed.iter().map(|it| vec![it.clone()]).collect();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(path) = open.pop() {
            let Some(last) = path.last() else { continue };
            if last == id {
                return Err(RequestError::Cycle { tasks: path });
            }
            if !seen.insert(last.clone()) {
                continue;
            }
            for next in &self.row(last)?.job.depends_on {
                let mut longer = path.clone();
                longer.push(next.clone());
                open.push(longer);
            }
        }
        Ok(())
    }

    fn create_job(
        &mut self,
        edit: job::DraftChanges,
        mut about: JobAttributes,
        submit: bool,
    ) -> Result<RequestDecision, RequestError> {
        let at = self.now();
        let id = new_id("task");
        let edit = job::DraftChanges {
            kind: self.check_type(about.type_name.as_ref())?,
            ..edit
        };
        self.check_agent(about.agent.as_ref())?;
        if let Some(path) = &about.workspace {
            let checked = check_workspace(&self.config.data, Path::new(path));
            checked.map_err(|fault| RequestError::BadWorkspace {
                path: path.clone(),
                fault,
            })?;
        }
        self.check_dependencies(&id, edit.depends_on.as_deref().unwrap_or_default())?;
        about.created_at = at.0;
        about.real_workspace = None;
        let draft = Job {
            limits: self.config.limits,
            ..Job::draft()
        };
        let mut next = JobMachine::step(&draft, Command::Edit(edit), at)?.next;
        let mut effects = Vec::new();
        if submit {
            let step = JobMachine::step(&next, Command::Submit, at)?;
            (next, effects) = (step.next, step.effects);
        }
        let mut row = JobRow {
            id,
            version: 0,
            job: draft.into(),
            about: about.into(),
        };
        resolve_workspace(&mut row);
        let about = JobAttributes::clone(&row.about);
        Ok(RequestDecision::for_change(
            self.build_store_change(&row, next, about, effects, at),
        ))
    }

    fn edit_draft(
        &mut self,
        task: &str,
        edit: DraftEdit,
        version: Option<u64>,
    ) -> Result<RequestDecision, RequestError> {
        let row = self.row_at_version(task, version)?;
        let changes = job::DraftChanges {
            title: edit.title,
            description: edit.description,
            kind: self.check_type(edit.type_name.as_ref())?,
            depends_on: edit.depends_on,
            scheduled_for: edit.scheduled_for.map(|at| at.map(Timestamp)),
        };
        self.check_agent(edit.agent.as_ref())?;
        self.check_dependencies(task, changes.depends_on.as_deref().unwrap_or_default())?;
        let mut change = self.step(&row, Command::Edit(changes))?;
        if let NextJobState::Is(_, about) = &mut change.next {
            let about = Arc::make_mut(about);
            about.type_name = edit.type_name.or(about.type_name.take());
            about.priority = edit.priority.unwrap_or(about.priority);
            about.agent = edit.agent.or(about.agent.take());
            about.label = edit.label.unwrap_or(about.label.take());
            about.budget = edit.budget.unwrap_or(about.budget);
        }
        Ok(RequestDecision::for_change(change))
    }

    fn send_message(
        &mut self,
        task: &str,
        text: String,
        version: Option<u64>,
    ) -> Result<RequestDecision, RequestError> {
        let row = self.row_at_version(task, version)?;
        let id = new_id("say");
        let command = Command::SendMessage {
            id: id.clone(),
            text: text.clone(),
        };
        let mut change = self.step(&row, command)?;
        // The message stays queued until a process has read it.
        let body = RecordBody::Said(MessageRow {
            text,
            status: MessageStatus::Queued,
            settled_at: None,
        });
        let record = JobRecord {
            id: id.clone(),
            job: task.into(),
            open: false,
            at: self.now(),
            body,
        };
        JobDispatcher::add_record(&mut change, record);
        let mut decided = RequestDecision::for_change(change);
        decided.made = Some(id);
        Ok(decided)
    }

    fn request_changes(
        &mut self,
        review: String,
        feedback: &str,
        comments: Vec<bowline_store::FileCommentRow>,
        version: Option<u64>,
    ) -> Result<RequestDecision, RequestError> {
        let row =
            self.row_at_version(&self.job_of_record(RecordKind::Review, &review)?, version)?;
        let mut whole = feedback.to_owned();
        for said in &comments {
            let line = said.line.map(|line| format!(":{line}")).unwrap_or_default();
            whole.push_str(&format!("\n{}{line}: {}", said.file, said.comment));
        }
        let command = Command::RequestChanges {
            review,
            feedback: whole,
        };
        let mut change = self.step(&row, command)?;
        for record in &mut change.records {
            if let RecordBody::Review(row) = &mut record.body {
                row.comments = comments.clone();
                row.comment = Some(feedback.to_owned());
            }
        }
        Ok(RequestDecision::for_change(change))
    }

    fn answer_question(
        &mut self,
        row: &JobRow,
        question: String,
        text: String,
    ) -> Result<RequestDecision, RequestError> {
        let known = row.job.questions.iter().find(|it| it.id == question);
        if let Some(known) = known.filter(|it| it.is_open())
            && let Err(AnswerError::NotAnOption {
                suggestion: Some(suggestion),
            }) = check_answer(&known.options, &text)
        {
            self.count_wrong_answer(&question);
            return Err(RequestError::NearMiss {
                answer: text,
                suggestion,
            });
        }
        let id = question.clone();
        match self.step(row, Command::Answer { question, text }) {
            Ok(change) => Ok(RequestDecision::for_change(change)),
            Err(refused) => {
                if matches!(
                    &refused,
                    RequestError::Rule(job::Refusal::NotAnOption { .. })
                ) {
                    self.count_wrong_answer(&id);
                }
                Err(refused)
            }
        }
    }

    /// Counts an answer that is no option, where the person sees it.
    fn count_wrong_answer(&mut self, question: &str) {
        let Some(mut record) = self.record(question) else {
            return;
        };
        let RecordBody::Question(row) = &mut record.body else {
            return;
        };
        if row.tries >= TRIES_MAX {
            return;
        }
        row.tries += 1;
        let Ok(job) = self.row(&record.job) else {
            return;
        };
        let mut change = JobChange::keep_state(&job.id, job.version);
        change.records.push(record);
        self.stage_change(change);
    }

    fn provide_dependency(
        &mut self,
        dependency: String,
        value: &str,
        version: Option<u64>,
    ) -> Result<RequestDecision, RequestError> {
        let row = self.row_at_version(
            &self.job_of_record(RecordKind::Dependency, &dependency)?,
            version,
        )?;
        let needed = row.job.dependencies.iter().find(|it| it.id == dependency);
        let name = needed.map(|it| it.name.clone()).unwrap_or_default();
        if let Some(needed) = needed.filter(|it| it.is_open()) {
            check_value(needed.kind, value).map_err(|fault| RequestError::BadValue { fault })?;
        }
        let id = dependency.clone();
        let mut change = self.step(&row, Command::Provide { dependency })?;
        let sealed = self
            .key
            .seal(&prompt::value_purpose(&row.id, &name), value.as_bytes())
            .map_err(|error| RequestError::Failed(error.to_string()))?;
        for record in change.records.iter_mut().filter(|it| it.id == id) {
            if let RecordBody::Dependency(row) = &mut record.body {
                row.sealed = Some(sealed.clone());
            }
        }
        Ok(RequestDecision::for_change(change))
    }

    fn reject_dependency(
        &mut self,
        row: &JobRow,
        dependency: String,
        reason: String,
    ) -> Result<RequestDecision, RequestError> {
        let (id, why) = (dependency.clone(), Some(reason.clone()));
        let mut change = self.step(row, Command::Reject { dependency, reason })?;
        for record in change.records.iter_mut().filter(|it| it.id == id) {
            if let RecordBody::Dependency(row) = &mut record.body {
                row.reason = why.clone();
            }
        }
        Ok(RequestDecision::for_change(change))
    }

    fn exact_answer(
        &mut self,
        row: &JobRow,
        attempt: u32,
        marker: AgentMarker,
    ) -> Result<RequestDecision, RequestError> {
        let (marker, made) = match marker {
            AgentMarker::Question(mut question) => {
                question.id = new_id("q");
                let id = question.id.clone();
                (AgentMarker::Question(question), Some(id))
            }
            AgentMarker::DependencyRequest(needed) if is_protected(&needed.name) => {
                return Err(RequestError::ProtectedName { name: needed.name });
            }
            AgentMarker::DependencyRequest(mut needed) => {
                needed.id = new_id("dep");
                let id = needed.id.clone();
                (AgentMarker::DependencyRequest(needed), Some(id))
            }
            other => (other, None),
        };
        let change = self.step(row, Command::MarkerRead { attempt, marker })?;
        let mut decided = RequestDecision::for_change(change);
        decided.made = made;
        Ok(decided)
    }

    fn delete_job(
        &mut self,
        task: &str,
        version: Option<u64>,
    ) -> Result<RequestDecision, RequestError> {
        let row = self.row_at_version(task, version)?;
        let dependents = self.waiting_dependents(task)?;
        let mut change = self.step(&row, Command::Delete { dependents })?;
        change.next = NextJobState::Gone;
        change.effects.clear();
        change.timers.clear();
        change.records.clear();
        Ok(RequestDecision {
            changes: vec![change],
            job: None,
            made: None,
        })
    }
}

pub(super) fn not_found(what: ServerThing, id: &str) -> RequestError {
    RequestError::NoSuch {
        what,
        id: id.into(),
    }
}

/// Returns the error for a command that nobody may request.
fn no_request(command: &Command) -> RequestError {
    RequestError::Failed(format!("no request can be to {}", command.name()))
}

/// Returns an event for a request without a transition, such as an edited draft: clients that show
/// a task must learn of every request about it.
fn changed_event(verb: &str) -> NewEvent {
    NewEvent {
        kind: EventKind::Agent,
        body: json!({ "changed": verb }),
    }
}
