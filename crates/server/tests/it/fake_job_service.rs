//! A fake job service: it decides with the real state machine and keeps jobs in the real store, but
//! runs no agents. Tests report in their place.

use bowline_engine::actor::ProcessAncestry;
use bowline_engine::formats::time::format_utc;
use bowline_engine::machines::job::{
    Command, Effect, Job, JobKind, JobMachine, MessageStatus, PermissionStatus, QuestionStatus,
    Refusal, TaskStatus, TransitionEntry, TransitionFact,
};
use bowline_engine::machines::table::MachineCatalogue as _;
use bowline_engine::machines::{Machine as _, Timestamp};
use bowline_formats::rest::{AgentPreset, FileChange, FileDiff, TaskType, TypePhase, Utterance};
use bowline_server::client::{ApiClient, HttpResponse};
use bowline_server::job_service::ReviewChanges;
use bowline_server::job_service::{
    DispatcherHealth, JobRequest, JobResponse, JobService, RequestError, SubmittedRequest, TaskApp,
};
use bowline_server::{EventPublisher, Server, ServerOptions, ServerStopHandle};
use bowline_store::{
    CheckpointRow, CommitOutcome, DependencyRow, EventKind, JobAttributes, JobChange, JobRecord,
    JobRow, MemoryStore, MessageRow, NewEvent, NextJobState, PermissionRow, QuestionRow,
    RecordBody, ReviewRow, Store, StoreStep,
};
use bowline_words::Lang;
use bowline_words::message::ServerThing;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

pub(crate) const NOW: Timestamp = Timestamp(1_700_000_000);
pub(crate) const AGENT_TOKEN: &str = "token-of-attempt-1";

/// Job service without agents.
pub(crate) struct FakeJobService {
    store: Arc<MemoryStore>,
    publisher: Mutex<Option<EventPublisher>>,
    count: AtomicU64,
    folder: PathBuf,
    /// Values that were given.
    pub(crate) values: Mutex<Vec<String>>,
    pub(crate) health: Mutex<DispatcherHealth>,
}

impl FakeJobService {
    fn id(&self, kind: &str) -> String {
        format!("{kind}_{}", self.count.fetch_add(1, Ordering::Relaxed))
    }

    /// Puts a job there as it is.
    pub(crate) fn put(&self, id: &str, job: &Job) -> JobRow {
        let about = JobAttributes {
            type_name: job.kind.as_ref().map(|kind| match kind {
                JobKind::Custom => "custom".to_owned(),
                _ => "two".to_owned(),
            }),
            created_at: NOW.0,
            updated_at: NOW.0,
            ..JobAttributes::default()
        };
        self.advance(JobChange::replace_state(id, 0, job.clone(), about));
        let row = self.store.find_job(id).unwrap().unwrap();
        self.advance(JobChange {
            records: records(id, job),
            ..JobChange::keep_state(id, row.version)
        });
        self.store.find_job(id).unwrap().unwrap()
    }

    /// The same without what it asks for: ids of several may be the same.
    pub(crate) fn put_alone(&self, id: &str, job: &Job) {
        self.advance(JobChange::replace_state(
            id,
            0,
            job.clone(),
            JobAttributes::default(),
        ));
    }

    /// Puts one there whose agent works.
    pub(crate) fn put_running(&self, id: &str) {
        let mut states = JobMachine::sample_states().into_iter();
        let (_, job) = states.find(|(name, _)| *name == "running").unwrap();
        self.put(id, &job);
    }

    /// A checkpoint of its first phase.
    pub(crate) fn put_checkpoint(&self, id: &str, checkpoint: &str) {
        let row = self.store.find_job(id).unwrap().unwrap();
        self.advance(JobChange {
            records: vec![JobRecord {
                id: checkpoint.into(),
                job: id.into(),
                open: false,
                at: NOW,
                body: RecordBody::Checkpoint(CheckpointRow {
                    created_by: "user".into(),
                    reason: "interval".into(),
                    phase: 1,
                    status: TaskStatus::InProgress,
                    ..CheckpointRow::default()
                }),
            }],
            ..JobChange::keep_state(id, row.version)
        });
    }

    fn advance(&self, change: JobChange) -> Vec<bowline_store::EventRow> {
        let mut step = StoreStep::empty_at(NOW);
        step.changes.push(change);
        match self.store.commit_steps(vec![step]).unwrap().remove(0) {
            CommitOutcome::Applied { events, .. } => {
                if let Some(publisher) = self.publisher.lock().unwrap().as_ref() {
                    for event in &events {
                        publisher.publish_event(event);
                    }
                }
                events
            }
            other => panic!("not applied: {other:?}"),
        }
    }

    /// One command to a job, as the loop would decide it.
    pub(crate) fn decide(&self, id: &str, command: Command) -> Result<Option<JobRow>, Refusal> {
        let row = self.store.find_job(id).unwrap().unwrap();
        let step = JobMachine::step(&row.job, command, NOW)?;
        let mut change =
            JobChange::replace_state(id, row.version, step.next.clone(), row.about.clone());
        change.records = records(id, &step.next);
        let mut made = None;
        for effect in &step.effects {
            match effect {
                Effect::Log(moved) => change.events.push(event(id, moved)),
                Effect::Snapshot(reason) => {
                    let checkpoint = self.id("cp");
                    change.records.push(JobRecord {
                        id: checkpoint,
                        job: id.into(),
                        open: false,
                        at: NOW,
                        body: RecordBody::Checkpoint(CheckpointRow {
                            created_by: "system".into(),
                            reason: reason.name().into(),
                            phase: step.next.phase,
                            status: step.next.task_status(),
                            ..CheckpointRow::default()
                        }),
                    });
                }
                Effect::CreateRetry { id: new } => made = Some(new.clone()),
                Effect::Remove => change.next = NextJobState::Gone,
                _ => {}
            }
        }
        let gone = change.next == NextJobState::Gone;
        self.advance(change);
        if let Some(new) = made {
            return Ok(Some(self.put(&new, &step.next.new_retry(id))));
        }
        Ok((!gone).then(|| self.store.find_job(id).unwrap().unwrap()))
    }

    /// The open review of a task; without one an id that no review has.
    fn open_review(&self, task: &str) -> Result<String, RequestError> {
        let row = self
            .store
            .find_job(task)
            .unwrap()
            .ok_or_else(|| RequestError::NoSuch {
                what: ServerThing::Task,
                id: task.into(),
            })?;
        let open = row.job.open_review().map(|it| it.id.clone());
        Ok(open.unwrap_or_else(|| "rev_none".into()))
    }

    fn of_record(&self, id: &str) -> Result<String, RequestError> {
        let found = self.store.find_record(id).unwrap();
        let lost = || RequestError::NoSuch {
            what: ServerThing::Checkpoint,
            id: id.into(),
        };
        found.map(|record| record.job).ok_or_else(lost)
    }
}

fn event(id: &str, moved: &TransitionEntry) -> NewEvent {
    let metadata: Value = moved
        .metadata
        .iter()
        .map(|(name, fact)| {
            let value = match fact {
                TransitionFact::Number(number) => json!(number),
                TransitionFact::Text(text) => json!(text),
            };
            ((*name).to_owned(), value)
        })
        .collect();
    NewEvent {
        kind: EventKind::Transition,
        body: json!({
            "timestamp": format_utc(NOW), "taskId": id, "type": "state_transition", "entity": moved.entity.name(),
            "from": moved.from, "to": moved.to, "trigger": moved.trigger.name(), "metadata": metadata,
        }),
    }
}

fn records(id: &str, job: &Job) -> Vec<JobRecord> {
    let record = |record: &str, open: bool, body: RecordBody| JobRecord {
        id: record.to_owned(),
        job: id.to_owned(),
        open,
        at: NOW,
        body,
    };
    let mut all = Vec::new();
    for review in &job.reviews {
        let body = RecordBody::Review(ReviewRow {
            phase: review.phase,
            status: review.status,
            deliverables: review.deliverables.clone(),
            comment: review.comment.clone(),
            ..ReviewRow::default()
        });
        all.push(record(&review.id, review.is_open(), body));
    }
    for question in &job.questions {
        let answer = match &question.status {
            QuestionStatus::Answered(text) => Some(text.clone()),
            _ => None,
        };
        let body = RecordBody::Question(QuestionRow {
            question: question.text.clone(),
            options: question.options.clone(),
            required: question.required,
            status: question.status.kind(),
            answer,
            ..QuestionRow::default()
        });
        all.push(record(&question.id, question.is_open(), body));
    }
    for needed in &job.dependencies {
        let body = RecordBody::Dependency(DependencyRow {
            kind: needed.kind,
            name: needed.name.clone(),
            required: needed.required,
            status: needed.status,
            ..DependencyRow::default()
        });
        all.push(record(&needed.id, needed.is_open(), body));
    }
    for permission in &job.permissions {
        let body = RecordBody::Permission(PermissionRow {
            attempt: job.attempt,
            tool: permission.tool.clone(),
            input: "{}".into(),
            status: PermissionStatus::Pending,
            ..PermissionRow::default()
        });
        all.push(record(&permission.id, true, body));
    }
    all
}

impl JobService for FakeJobService {
    fn control_app(&self, row: &JobRow, _order: Option<bool>) -> Result<TaskApp, RequestError> {
        let id = row.id.clone();
        Err(RequestError::NoSuch {
            what: ServerThing::App,
            id,
        })
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    fn submit_request(&self, asked: SubmittedRequest) -> Result<JobResponse, RequestError> {
        let only = |id: String, command: Command| (id, command);
        let at = |checkpoint: &str| -> Result<_, RequestError> {
            let record = self.store.find_record(checkpoint).unwrap();
            let lost = || RequestError::NoSuch {
                what: ServerThing::Checkpoint,
                id: checkpoint.into(),
            };
            let RecordBody::Checkpoint(row) = record.ok_or_else(lost)?.body else {
                return Err(lost());
            };
            Ok(bowline_engine::machines::job::JobCheckpoint {
                id: checkpoint.into(),
                phase: row.phase.max(1),
                step: None,
            })
        };
        let (id, command) = match asked.request {
            JobRequest::Create {
                title,
                description,
                depends_on,
                about,
                submit,
                ..
            } => {
                let kind = match about.type_name.as_deref() {
                    None => None,
                    Some("two") => Some(JobKind::with_reviewed_phases(["Planning", "Design"])),
                    Some("custom") => Some(JobKind::Custom),
                    Some(name) => return Err(RequestError::UnknownType { name: name.into() }),
                };
                let job = Job {
                    title,
                    description,
                    depends_on,
                    kind,
                    ..Job::draft()
                };
                let id = self.id("task");
                let row = self.put(&id, &job);
                let row = match submit {
                    true => self
                        .decide(&id, Command::Submit)
                        .map_err(RequestError::Rule)?,
                    false => Some(row),
                };
                return Ok(JobResponse { row, made: None });
            }
            JobRequest::Edit { task, edit } => {
                let edit = bowline_engine::machines::job::DraftChanges {
                    title: edit.title,
                    description: edit.description,
                    ..Default::default()
                };
                only(task, Command::Edit(edit))
            }
            JobRequest::Command(task, command) => only(task, command),
            JobRequest::RecordCommand(command) => {
                let record = match &command {
                    Command::Approve { review: id, .. }
                    | Command::Answer { question: id, .. }
                    | Command::Skip { question: id }
                    | Command::Reject { dependency: id, .. }
                    | Command::Permit { permission: id }
                    | Command::Deny { permission: id, .. }
                    | Command::WithdrawMessage { id } => id,
                    other => panic!("{other:?}"),
                };
                only(self.of_record(record)?, command)
            }
            JobRequest::Retry(task) => only(
                task,
                Command::Retry {
                    new: self.id("task"),
                },
            ),
            JobRequest::Delete(task) => {
                let dependents = self.store.dependents_of(&task).unwrap();
                only(task, Command::Delete { dependents })
            }
            JobRequest::Restore { task, checkpoint } => {
                let checkpoint = at(&checkpoint)?;
                let held_by = None;
                only(
                    task,
                    Command::Restore {
                        checkpoint,
                        held_by,
                    },
                )
            }
            JobRequest::Fork { checkpoint, .. } => {
                let task = self.of_record(&checkpoint)?;
                let new = self.id("task");
                let checkpoint = at(&checkpoint)?;
                only(task, Command::Fork { new, checkpoint })
            }
            JobRequest::SendMessage { task, text } => {
                if self.store.find_job(&task).unwrap().is_none() {
                    return Err(RequestError::NoSuch {
                        what: ServerThing::Task,
                        id: task,
                    });
                }
                let id = self.id("say");
                let command = Command::SendMessage {
                    id: id.clone(),
                    text: text.clone(),
                };
                let row = self.decide(&task, command).map_err(RequestError::Rule)?;
                let version = row.as_ref().unwrap().version;
                self.advance(JobChange {
                    records: vec![JobRecord {
                        id: id.clone(),
                        job: task.clone(),
                        open: false,
                        at: NOW,
                        body: RecordBody::Said(MessageRow {
                            text,
                            status: MessageStatus::Queued,
                            settled_at: None,
                        }),
                    }],
                    ..JobChange::keep_state(&task, version)
                });
                return Ok(JobResponse {
                    row,
                    made: Some(id),
                });
            }
            JobRequest::Settle(_) => {
                return Err(RequestError::Failed(
                    "the fake job service has no outbox".into(),
                ));
            }
            JobRequest::RequestChanges {
                review, feedback, ..
            } => only(
                self.of_record(&review)?,
                Command::RequestChanges { review, feedback },
            ),
            JobRequest::ApproveTask { task, comment } => {
                let review = self.open_review(&task)?;
                only(task, Command::Approve { review, comment })
            }
            JobRequest::RequestTaskChanges { task, feedback, .. } => {
                let review = self.open_review(&task)?;
                only(task, Command::RequestChanges { review, feedback })
            }
            JobRequest::Provide { dependency, value } => {
                self.values.lock().unwrap().push(value);
                only(
                    self.of_record(&dependency)?,
                    Command::Provide { dependency },
                )
            }
            JobRequest::Tokens {
                task,
                attempt,
                used,
                ..
            } => only(task, Command::CountTokens { attempt, used }),
            JobRequest::Decide { .. }
            | JobRequest::AddRule { .. }
            | JobRequest::RemoveRule { .. } => {
                return Err(RequestError::Failed("only the loop has rules".into()));
            }
        };
        let Some(row) = self.store.find_job(&id).unwrap() else {
            return Err(RequestError::NoSuch {
                what: ServerThing::Task,
                id,
            });
        };
        if asked.version.is_some_and(|version| version != row.version) {
            let version = row.version;
            return Err(RequestError::Changed { version });
        }
        let row = self.decide(&id, command).map_err(RequestError::Rule)?;
        Ok(JobResponse { row, made: None })
    }

    fn agent_token(&self, text: &str) -> Option<(String, u32)> {
        (text == AGENT_TOKEN).then(|| ("task_agent".to_owned(), 1))
    }

    fn dispatcher_health(&self) -> DispatcherHealth {
        self.health.lock().unwrap().clone()
    }

    /// Taken at its word: real shims are in the tests of the command line.
    fn task_of_agent(&self, descent: &ProcessAncestry) -> Option<String> {
        let (task, _) = descent.attempts.first()?.rsplit_once('-')?;
        Some(task.to_owned())
    }

    fn workspace_folder(&self, row: &JobRow) -> Option<PathBuf> {
        Some(self.folder.join("workspaces").join(&row.id))
    }

    fn log_files(&self, row: &JobRow) -> Vec<PathBuf> {
        vec![self.folder.join(format!("{}.log", row.id))]
    }

    fn error_log(&self, row: &JobRow) -> Option<PathBuf> {
        let file = self.folder.join("archives").join(&row.id).join("error.log");
        file.is_file().then_some(file)
    }

    fn is_alive(&self, _: &JobRow) -> bool {
        false
    }

    fn conversation_entries(&self, _: &JobRow, from: u64, limit: usize) -> Vec<Utterance> {
        let all = (0..5).map(|index| Utterance {
            index,
            role: "assistant".into(),
            content: format!("word {index}"),
            timestamp: Some(format_utc(NOW)),
            phase: Some(1),
            about: None,
            tool: None,
        });
        all.skip_while(|it| it.index < from).take(limit).collect()
    }

    fn secret_values(&self, _: &JobRow) -> Vec<String> {
        self.values.lock().unwrap().clone()
    }

    fn review_changes(&self, _: &JobRow, _: &ReviewRow) -> Result<ReviewChanges, String> {
        let file = FileDiff {
            path: "a.md".into(),
            change: FileChange::Added,
            old_mode: None,
            new_mode: Some("100644".into()),
            diff: "@@ -0,0 +1 @@\n+a\n".into(),
            binary: false,
            added: Some(1),
            removed: Some(0),
            hash: "1".into(),
            truncated: false,
        };
        Ok(ReviewChanges {
            from: None,
            files: vec![file],
            files_total: 1,
            added: 1,
            removed: 0,
        })
    }

    fn task_types(&self) -> Vec<TaskType> {
        let phase = |name: &str| TypePhase {
            name: name.into(),
            steps: vec!["one".into(), "two".into()],
            review: true,
        };
        vec![
            TaskType {
                name: "two".into(),
                phases: vec![phase("Planning"), phase("Design")],
                app: false,
            },
            TaskType {
                name: "custom".into(),
                phases: vec![],
                app: false,
            },
        ]
    }

    fn agent_presets(&self) -> Vec<AgentPreset> {
        Vec::new()
    }

    fn current_time(&self) -> Timestamp {
        NOW
    }

    fn slot_counts(&self) -> (u32, u32) {
        (3, 0)
    }
}

/// A server on a loopback port of its own.
pub(crate) struct World {
    pub(crate) job_service: Arc<FakeJobService>,
    pub(crate) url: String,
    pub(crate) link: String,
    pub(crate) folder: tempfile::TempDir,
    stopper: ServerStopHandle,
    served: Option<JoinHandle<()>>,
}

impl World {
    pub(crate) fn new() -> World {
        World::with(|_| Vec::new())
    }

    /// With the workspaces that are made in its folder.
    pub(crate) fn with(workspaces: impl FnOnce(&Path) -> Vec<PathBuf>) -> World {
        let folder = tempfile::tempdir().unwrap();
        let options = ServerOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            data: folder.path().join("data"),
            hosts: Vec::new(),
            workspaces: workspaces(folder.path()),
            public_url: None,
        };
        let server = Server::bind(&options).unwrap();
        let job_service = Arc::new(FakeJobService {
            store: Arc::new(MemoryStore::default()),
            publisher: Mutex::new(None),
            count: AtomicU64::new(1),
            folder: folder.path().to_owned(),
            values: Mutex::default(),
            health: Mutex::new(DispatcherHealth::Ready),
        });
        let (url, link) = (server.url().to_owned(), server.sign_in_link().unwrap());
        let stopper = server.stop_handle();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let work = Arc::clone(&job_service);
        let served = std::thread::spawn(move || {
            let begin = |publisher| {
                *work.publisher.lock().unwrap() = Some(publisher);
                Ok(Arc::clone(&work) as Arc<dyn JobService>)
            };
            server.run(begin, move || ready.send(()).unwrap()).unwrap();
            // The job service and the server refer to each other.
            *work.publisher.lock().unwrap() = None;
        });
        is_ready.recv().unwrap();
        World {
            job_service,
            url,
            link,
            folder,
            stopper,
            served: Some(served),
        }
    }

    /// With one workspace, in which something is made first.
    pub(crate) fn with_project(make: impl FnOnce(&Path)) -> World {
        World::with(|folder| {
            let root = folder.join("project");
            std::fs::create_dir_all(&root).unwrap();
            make(&root);
            vec![root]
        })
    }

    /// The folder of its one workspace.
    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// The address of its one workspace.
    pub(crate) fn workspace(&self) -> String {
        let list = self.get("/api/workspaces").json();
        format!(
            "/api/workspaces/{}",
            list["items"][0]["id"].as_str().unwrap()
        )
    }

    pub(crate) fn token(&self) -> String {
        let path = self.folder.path().join("data/token");
        bowline_server::read_secret(&path).unwrap()
    }

    /// A person over TCP.
    pub(crate) fn person(&self) -> ApiClient {
        ApiClient::for_url(&self.url, Some(self.token()), Lang::En).unwrap()
    }

    pub(crate) fn with_token(&self, token: &str) -> ApiClient {
        ApiClient::for_url(&self.url, Some(token.into()), Lang::En).unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> HttpResponse {
        self.person().send_request("GET", path, None, &[]).unwrap()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> HttpResponse {
        self.person()
            .send_request("POST", path, Some(body), &[])
            .unwrap()
    }
}

/// The status and the code of an answer that is a refusal.
pub(crate) fn refusal(answer: &HttpResponse) -> (u16, String) {
    let code = answer.json()["error"]["code"].clone();
    (answer.status, code.as_str().unwrap_or_default().to_owned())
}

impl Drop for World {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(served) = self.served.take() {
            let ended = served.join();
            if !std::thread::panicking() {
                ended.unwrap();
            }
        }
    }
}
