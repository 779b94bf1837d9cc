//! Routes of tasks: listing, creating, editing and changing their state.

use crate::call::{Call, Reply, empty, json, set};
use crate::problem::Problem;
use crate::scope::TaskScope;
use crate::serve::Shared;
use crate::view;
use crate::work::{
    DraftEdit, JobRequest, JobResponse, RequestError, SubmittedRequest, Work, WorkspaceFault,
};
use axum::http::HeaderName;
use bowline_engine::formats::time;
use bowline_engine::machines::Timestamp;
use bowline_engine::machines::job::{Command, TaskStatus};
use bowline_formats::rest::{
    self, Delivery, EditTask, NewTask, Nothing, Page, RestoreRequest, SayRequest, Task, WaitReason,
};
use bowline_store::{
    EventKind, EventQuery, JobAttributes, JobBudget, JobQuery, JobRow, RecordQuery, Resource,
    SpendQuery, Store, StoreError,
};
use bowline_words::message::{BodyFault, ServerNo, ServerThing};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of one page: the default and the maximum.
const PAGE_USUAL: usize = 100;
const PAGE_MAX: usize = 1_000;
/// Maximum length of the texts of a task, in characters.
pub(crate) const TITLE_MAX: usize = 500;
pub(crate) const TEXT_MAX: usize = 200_000;

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Exhausted { resource, .. } => outage(Some(resource)),
            error => Problem::internal(&error),
        }
    }
}

/// Returns the error of a store that cannot be written at the moment.
fn outage(lacking: Option<Resource>) -> Problem {
    Problem::No(match lacking {
        Some(Resource::Disk) => ServerNo::DiskFull,
        Some(Resource::Descriptors | Resource::Memory) => ServerNo::Exhausted,
        None => ServerNo::StoreDown,
    })
}

pub(crate) fn list(shared: &Arc<Shared>, call: &Call) -> Reply {
    // Read before the rows: a change in between is sent twice rather than never.
    let sequence = shared.feed.latest();
    let work = shared.work()?;
    let limit = limit(call)?;
    let status = match call.query("status") {
        None => None,
        Some(name) => {
            let found = TaskStatus::from_name(name);
            Some(found.ok_or_else(|| in_query("status", name))?)
        }
    };
    let after = match call.query("cursor") {
        None => None,
        Some(cursor) => {
            let parts = cursor.split_once('.');
            let found =
                parts.and_then(|(at, id)| Some((Timestamp(at.parse().ok()?), id.to_owned())));
            Some(found.ok_or_else(|| in_query("cursor", cursor))?)
        }
    };
    let store = work.store();
    let scope = TaskScope::of(shared, &call.caller)?;
    let mut rows = store.list_jobs(&JobQuery {
        status,
        type_name: call.query("type").map(str::to_owned),
        text: call.query("q").map(str::to_owned),
        label: call.query("label").map(str::to_owned),
        archived: call.query("archived") == Some("true"),
        after,
        limit: scope.rows_read(limit + 1),
    })?;
    rows.retain(|row| scope.has(&row.id));
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = rows
        .last()
        .filter(|_| more)
        .map(|row| format!("{}.{}", row.about.created_at, row.id));
    let mut waiting = Waiting::new(&*store, work.now());
    let mut items = Vec::with_capacity(rows.len());
    for row in &rows {
        items.push(waiting.task(row, work)?);
    }
    let mut response = json(call, &Page { items, next_cursor })?;
    let name = HeaderName::from_static("x-sequence");
    set(&mut response, name, &sequence.to_string());
    Ok(response)
}

/// Converts rows to tasks and looks up their dependencies, each once.
pub(crate) struct Waiting<'s> {
    store: &'s dyn Store,
    now: Timestamp,
    known: HashMap<String, Option<TaskStatus>>,
}

impl<'s> Waiting<'s> {
    pub(crate) fn new(store: &'s dyn Store, now: Timestamp) -> Self {
        Waiting {
            store,
            now,
            known: HashMap::new(),
        }
    }

    pub(crate) fn task(&mut self, row: &JobRow, work: &dyn Work) -> Result<Task, Problem> {
        let mut waiting_for = Vec::new();
        let mut stuck = false;
        let before = [TaskStatus::Draft, TaskStatus::Pending];
        if before.contains(&row.job.task_status()) {
            for id in &row.job.depends_on {
                let status = match self.known.get(id) {
                    Some(status) => *status,
                    None => {
                        let status = self.store.find_job(id)?.map(|row| row.job.task_status());
                        self.known.insert(id.clone(), status);
                        status
                    }
                };
                if status != Some(TaskStatus::Completed) {
                    waiting_for.push(id.clone());
                    stuck |= status.is_none_or(|it| it == TaskStatus::Failed);
                }
            }
        }
        let mut reason = (!waiting_for.is_empty()).then_some(WaitReason::WaitingForTasks);
        let now = self.now;
        if row.job.scheduled_for.is_some_and(|at| now < at) {
            reason = Some(WaitReason::ScheduledLater);
        } else if reason.is_none()
            && row.job.task_status() == TaskStatus::Pending
            && let Some(holder) = work.workspace_held_by(row)
        {
            waiting_for.push(holder);
            reason = Some(WaitReason::WorkspaceBusy);
        }
        let reason = reason.filter(|_| row.job.task_status() == TaskStatus::Pending);
        Ok(view::task(row, work, waiting_for, reason, stuck))
    }
}

pub(crate) fn limit(call: &Call) -> Result<usize, Problem> {
    match call.number::<usize>("limit")? {
        None => Ok(PAGE_USUAL),
        Some(limit @ 1..=PAGE_MAX) => Ok(limit),
        Some(other) => Err(in_query("limit", &other.to_string())),
    }
}

pub(crate) fn in_query(name: &'static str, value: &str) -> Problem {
    let value = value.chars().take(80).collect();
    Problem::No(ServerNo::NotInQuery { name, value })
}

/// Returns the job with this id.
pub(crate) fn row(work: &dyn Work, id: &str) -> Result<JobRow, Problem> {
    let found = work.store().find_job(id)?;
    found.ok_or_else(|| Problem::no_such(ServerThing::Task, id))
}

/// Returns the job that the path of a call names.
pub(crate) fn of_task<'s>(
    shared: &'s Shared,
    call: &Call,
) -> Result<(&'s dyn Work, JobRow), Problem> {
    let work = shared.work()?;
    Ok((work, row(work, call.param("id"))?))
}

/// Responds with the current state of a task.
pub(crate) fn told(call: &Call, work: &dyn Work, row: &JobRow) -> Reply {
    let store = work.store();
    json(call, &Waiting::new(&*store, work.now()).task(row, work)?)
}

/// Submits a request to the dispatcher and waits for the result.
pub(crate) fn ask(
    work: &dyn Work,
    call: &Call,
    request: JobRequest,
) -> Result<JobResponse, Problem> {
    let asked = SubmittedRequest {
        key: call.request_id()?,
        version: call.version()?,
        request,
    };
    work.ask(asked).map_err(|refused| told_no(work, refused))
}

/// Converts a refusal of the dispatcher to an error.
fn told_no(work: &dyn Work, refused: RequestError) -> Problem {
    match refused {
        RequestError::Rule(refusal) => Problem::Refused(refusal),
        RequestError::NoSuch { what, id } => Problem::no_such(what, &id),
        RequestError::Changed { version } => ServerNo::Changed { version }.into(),
        RequestError::RequestReused => ServerNo::RequestReused.into(),
        RequestError::UnknownType { name } => {
            let known: Vec<String> = work.types().into_iter().map(|it| it.name).collect();
            let known = known.join(", ");
            let name = name.chars().take(80).collect();
            ServerNo::UnknownType { name, known }.into()
        }
        RequestError::UnknownAgent { name } => {
            let known: Vec<String> = work.agents().into_iter().map(|it| it.name).collect();
            let known = known.join(", ");
            let name = name.chars().take(80).collect();
            ServerNo::UnknownAgent { name, known }.into()
        }
        RequestError::Cycle { tasks } => ServerNo::Cycle {
            path: tasks.join(" -> "),
        }
        .into(),
        RequestError::BadValue { fault } => ServerNo::BadValue { fault }.into(),
        RequestError::BadWorkspace { path, fault } => match fault {
            WorkspaceFault::Missing => ServerNo::WorkspaceMissing { path },
            WorkspaceFault::NotAFolder => ServerNo::WorkspaceNotAFolder { path },
            WorkspaceFault::HoldsData => ServerNo::WorkspaceHoldsData { path },
            WorkspaceFault::InsideData => ServerNo::WorkspaceInsideData { path },
        }
        .into(),
        RequestError::ProtectedName { name } => ServerNo::ProtectedName { name }.into(),
        RequestError::NearMiss { answer, suggestion } => {
            ServerNo::NearMiss { answer, suggestion }.into()
        }
        RequestError::Draining => ServerNo::Draining.into(),
        RequestError::Unavailable(it) => outage(it.resource),
        RequestError::Store(error) => error.into(),
        RequestError::Failed(error) => Problem::internal(&error),
    }
}

/// Submits a request and responds with the task it is about.
pub(crate) fn decided(shared: &Arc<Shared>, call: &Call, request: JobRequest) -> Reply {
    let work = shared.work()?;
    let answered = ask(work, call, request)?;
    match answered.row {
        Some(row) => told(call, work, &row),
        None => empty(call),
    }
}

pub(crate) fn create(shared: &Arc<Shared>, call: &Call) -> Reply {
    let new: NewTask = call.body()?;
    within(&new.title, TITLE_MAX, "title")?;
    within(&new.description, TEXT_MAX, "description")?;
    let about = JobAttributes {
        type_name: new.task_type,
        priority: new.priority,
        agent: new.agent,
        workspace: new.workspace,
        share_workspace: new.share_workspace,
        label: new.label.filter(|label| !label.is_empty()),
        budget: budget(new.budget),
        ..JobAttributes::default()
    };
    let request = JobRequest::Create {
        title: new.title,
        description: new.description,
        depends_on: new.depends_on,
        scheduled_for: new.scheduled_for.as_deref().map(at).transpose()?,
        about: Box::new(about),
        submit: new.submit,
    };
    decided(shared, call, request)
}

pub(crate) fn get(shared: &Arc<Shared>, call: &Call) -> Reply {
    let (work, row) = of_task(shared, call)?;
    told(call, work, &row)
}

pub(crate) fn edit(shared: &Arc<Shared>, call: &Call) -> Reply {
    let asked: EditTask = call.body()?;
    within(
        asked.title.as_deref().unwrap_or_default(),
        TITLE_MAX,
        "title",
    )?;
    let text = asked.description.as_deref().unwrap_or_default();
    within(text, TEXT_MAX, "description")?;
    let scheduled_for = match asked.scheduled_for.as_deref() {
        None => None,
        Some("") => Some(None),
        Some(text) => Some(Some(at(text)?)),
    };
    let edit = DraftEdit {
        title: asked.title,
        description: asked.description,
        type_name: asked.task_type,
        priority: asked.priority,
        depends_on: asked.depends_on,
        agent: asked.agent,
        scheduled_for,
        label: asked
            .label
            .map(|label| Some(label).filter(|it| !it.is_empty())),
        budget: asked.budget.map(|it| budget(Some(it))),
    };
    let task = call.param("id").to_owned();
    decided(
        shared,
        call,
        JobRequest::Edit {
            task,
            edit: Box::new(edit),
        },
    )
}

pub(crate) fn delete(shared: &Arc<Shared>, call: &Call) -> Reply {
    moved(shared, call, JobRequest::Delete)?;
    empty(call)
}

/// Handles a verb of a task that takes no arguments.
pub(crate) fn moved(
    shared: &Arc<Shared>,
    call: &Call,
    request: impl FnOnce(String) -> JobRequest,
) -> Reply {
    let _: Nothing = call.body()?;
    decided(shared, call, request(call.param("id").to_owned()))
}

/// Handles a verb of a task that is a command without arguments.
pub(crate) fn command(shared: &Arc<Shared>, call: &Call, command: Command) -> Reply {
    moved(shared, call, |task| JobRequest::Command(task, command))
}

pub(crate) fn restore(shared: &Arc<Shared>, call: &Call) -> Reply {
    let asked: RestoreRequest = call.body()?;
    let request = JobRequest::Restore {
        task: call.param("id").to_owned(),
        checkpoint: asked.checkpoint_id,
    };
    decided(shared, call, request)
}

pub(crate) fn say(shared: &Arc<Shared>, call: &Call) -> Reply {
    let asked: SayRequest = call.body()?;
    within(&asked.text, TEXT_MAX, "text")?;
    let work = shared.work()?;
    let request = JobRequest::SendMessage {
        task: call.param("id").to_owned(),
        text: asked.text,
    };
    let made = ask(work, call, request)?.made.unwrap_or_default();
    let record = work.store().find_record(&made)?;
    match record.as_ref().and_then(view::saying) {
        Some(saying) => json(call, &saying),
        None => Err(Problem::internal(&"a saying was made and is not there")),
    }
}

pub(crate) fn agent(shared: &Arc<Shared>, call: &Call) -> Reply {
    let (work, row) = of_task(shared, call)?;
    json(call, &view::agent(&row, work))
}

pub(crate) fn spend(shared: &Arc<Shared>, call: &Call) -> Reply {
    let (work, row) = of_task(shared, call)?;
    let rows = work.store().list_spend(&SpendQuery {
        job: Some(row.id.clone()),
        from_day: None,
    })?;
    json(call, &Page::whole(view::spend(&rows, Some(&row.id))))
}

pub(crate) fn deliveries(shared: &Arc<Shared>, call: &Call) -> Reply {
    let (work, row) = of_task(shared, call)?;
    let told = work.store().deliveries_of(&row.id)?;
    let of_notices = told.into_iter().filter(|it| it.kind == "notify");
    let items = of_notices.map(|it| Delivery {
        notice: it.effect,
        attempt: it.try_number,
        at: time::format_utc(it.at),
        note: it.note,
    });
    json(call, &Page::whole(items.collect::<Vec<_>>()))
}

/// Responds with the app of a task, after starting or stopping it if `order` says so.
pub(crate) fn app(shared: &Arc<Shared>, call: &Call, order: Option<bool>) -> Reply {
    let (work, row) = of_task(shared, call)?;
    let app = work.app(&row, order);
    let app = app.map_err(|refused| told_no(work, refused))?;
    let url = (app.running && app.port > 0).then(|| format!("http://127.0.0.1:{}/", app.port));
    let app = rest::App {
        task_id: row.id,
        running: app.running,
        url,
        command: app.command,
        output: app.output,
        exit_code: app.exit_code,
    };
    json(call, &app)
}

pub(crate) fn phases(shared: &Arc<Shared>, call: &Call) -> Reply {
    let (work, row) = of_task(shared, call)?;
    let types = work.types();
    let found = types
        .into_iter()
        .find(|it| Some(&it.name) == row.about.type_name.as_ref());
    let steps: Vec<Vec<String>> = found
        .into_iter()
        .flat_map(|it| it.phases)
        .map(|phase| phase.steps)
        .collect();
    let records = work.store().list_records(&RecordQuery {
        job: Some(row.id.clone()),
        ..RecordQuery::default()
    })?;
    json(call, &Page::whole(view::phases(&row, &steps, &records)))
}

pub(crate) fn transitions(shared: &Arc<Shared>, call: &Call) -> Reply {
    let (work, row) = of_task(shared, call)?;
    let limit = limit(call)?;
    let mut rows = work.store().list_events(&EventQuery {
        job: Some(row.id),
        kind: Some(EventKind::Transition),
        after: call.number("cursor")?.unwrap_or(0),
        limit: limit + 1,
    })?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = rows
        .last()
        .filter(|_| more)
        .map(|row| row.sequence.to_string());
    let lines = rows.into_iter().map(|row| {
        let mut line = row.body;
        if let Some(object) = line.as_object_mut() {
            object.insert("sequence".into(), row.sequence.into());
        }
        line
    });
    let items: Vec<Value> = lines.collect();
    json(call, &Page { items, next_cursor })
}

pub(crate) fn conversation(shared: &Arc<Shared>, call: &Call) -> Reply {
    let (work, row) = of_task(shared, call)?;
    let limit = limit(call)?;
    let from = call.number("cursor")?.unwrap_or(0);
    let mut items = work.conversation(&row, from, limit + 1);
    let next_cursor = items.get(limit).map(|it| it.index.to_string());
    items.truncate(limit);
    json(call, &Page { items, next_cursor })
}

fn budget(budget: Option<bowline_formats::rest::Budget>) -> JobBudget {
    let budget = budget.unwrap_or_default();
    JobBudget {
        tokens: budget.tokens,
        usd: budget.usd,
        minutes: budget.minutes,
    }
}

fn at(text: &str) -> Result<i64, Problem> {
    let wrong = || ServerNo::BadTime {
        text: text.chars().take(80).collect(),
    };
    Ok(time::parse_time(text).ok_or_else(wrong)?.0)
}

pub(crate) fn within(text: &str, max: usize, name: &'static str) -> Result<(), Problem> {
    match text.chars().count() > max {
        true => {
            let name = name.to_owned();
            let fault = BodyFault::TooLong { name, max };
            Err(ServerNo::BadBody { fault }.into())
        }
        false => Ok(()),
    }
}
