//! Routes of tasks: listing, creating, editing and changing their state.

use crate::error::ApiError;
use crate::http_request::{ApiRequest, HandlerResult, respond_empty, respond_json, set_header};
use crate::job_service::{
    DraftEdit, JobRequest, JobResponse, JobService, RequestError, SubmittedRequest, WorkspaceFault,
};
use crate::scope::TaskScope;
use crate::serve::SharedState;
use crate::view;
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
const PAGE_ITEMS_DEFAULT: usize = 100;
const PAGE_ITEMS_MAX: usize = 1_000;
/// Maximum length of the texts of a task, in characters.
pub(crate) const TITLE_CHARS_MAX: usize = 500;
pub(crate) const TEXT_CHARS_MAX: usize = 200_000;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Exhausted { resource, .. } => outage_error(Some(resource)),
            error => ApiError::internal(&error),
        }
    }
}

/// Returns the error of a store that cannot be written at the moment.
fn outage_error(lacking: Option<Resource>) -> ApiError {
    ApiError::Server(match lacking {
        Some(Resource::Disk) => ServerNo::DiskFull,
        Some(Resource::Descriptors | Resource::Memory) => ServerNo::Exhausted,
        None => ServerNo::StoreDown,
    })
}

pub(crate) fn list_tasks(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    // Read before the rows: a change in between is sent twice rather than never.
    let sequence = shared.events.latest_sequence();
    let work = shared.job_service()?;
    let limit = page_limit(call)?;
    let status = match call.query_param("status") {
        None => None,
        Some(name) => {
            let found = TaskStatus::from_name(name);
            Some(found.ok_or_else(|| bad_query_value("status", name))?)
        }
    };
    let after = match call.query_param("cursor") {
        None => None,
        Some(cursor) => {
            let parts = cursor.split_once('.');
            let found =
                parts.and_then(|(at, id)| Some((Timestamp(at.parse().ok()?), id.to_owned())));
            Some(found.ok_or_else(|| bad_query_value("cursor", cursor))?)
        }
    };
    let store = work.store();
    let scope = TaskScope::for_caller(shared, &call.caller)?;
    let mut rows = store.list_jobs(&JobQuery {
        status,
        type_name: call.query_param("type").map(str::to_owned),
        text: call.query_param("q").map(str::to_owned),
        label: call.query_param("label").map(str::to_owned),
        archived: call.query_param("archived") == Some("true"),
        after,
        limit: scope.row_limit(limit + 1),
    })?;
    rows.retain(|row| scope.contains(&row.id));
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = rows
        .last()
        .filter(|_| more)
        .map(|row| format!("{}.{}", row.about.created_at, row.id));
    let mut waiting = TaskRenderer::new(&*store, work.current_time());
    let mut items = Vec::with_capacity(rows.len());
    for row in &rows {
        items.push(waiting.render_task(row, work)?);
    }
    let mut response = respond_json(call, &Page { items, next_cursor })?;
    let name = HeaderName::from_static("x-sequence");
    set_header(&mut response, name, &sequence.to_string());
    Ok(response)
}

/// Converts rows to tasks and looks up their dependencies, each once.
pub(crate) struct TaskRenderer<'s> {
    store: &'s dyn Store,
    now: Timestamp,
    known: HashMap<String, Option<TaskStatus>>,
}

impl<'s> TaskRenderer<'s> {
    pub(crate) fn new(store: &'s dyn Store, now: Timestamp) -> Self {
        TaskRenderer {
            store,
            now,
            known: HashMap::new(),
        }
    }

    pub(crate) fn render_task(
        &mut self,
        row: &JobRow,
        work: &dyn JobService,
    ) -> Result<Task, ApiError> {
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
        Ok(view::task_view(row, work, waiting_for, reason, stuck))
    }
}

pub(crate) fn page_limit(call: &ApiRequest) -> Result<usize, ApiError> {
    match call.query_number::<usize>("limit")? {
        None => Ok(PAGE_ITEMS_DEFAULT),
        Some(limit @ 1..=PAGE_ITEMS_MAX) => Ok(limit),
        Some(other) => Err(bad_query_value("limit", &other.to_string())),
    }
}

pub(crate) fn bad_query_value(name: &'static str, value: &str) -> ApiError {
    let value = value.chars().take(80).collect();
    ApiError::Server(ServerNo::NotInQuery { name, value })
}

/// Returns the job with this id.
pub(crate) fn find_job(work: &dyn JobService, id: &str) -> Result<JobRow, ApiError> {
    let found = work.store().find_job(id)?;
    found.ok_or_else(|| ApiError::no_such(ServerThing::Task, id))
}

/// Returns the job that the path of a call names.
pub(crate) fn job_in_path<'s>(
    shared: &'s SharedState,
    call: &ApiRequest,
) -> Result<(&'s dyn JobService, JobRow), ApiError> {
    let work = shared.job_service()?;
    Ok((work, find_job(work, call.path_param("id"))?))
}

/// Responds with the current state of a task.
pub(crate) fn respond_with_task(
    call: &ApiRequest,
    work: &dyn JobService,
    row: &JobRow,
) -> HandlerResult {
    let store = work.store();
    respond_json(
        call,
        &TaskRenderer::new(&*store, work.current_time()).render_task(row, work)?,
    )
}

/// Submits a request to the dispatcher and waits for the result.
pub(crate) fn submit_request(
    work: &dyn JobService,
    call: &ApiRequest,
    request: JobRequest,
) -> Result<JobResponse, ApiError> {
    let asked = SubmittedRequest {
        key: call.idempotency_key()?,
        version: call.expected_version()?,
        request,
    };
    work.submit_request(asked)
        .map_err(|refused| to_api_error(work, refused))
}

/// Converts a refusal of the dispatcher to an error.
fn to_api_error(work: &dyn JobService, refused: RequestError) -> ApiError {
    match refused {
        RequestError::Rule(refusal) => ApiError::JobRefusal(refusal),
        RequestError::NoSuch { what, id } => ApiError::no_such(what, &id),
        RequestError::Changed { version } => ServerNo::Changed { version }.into(),
        RequestError::RequestReused => ServerNo::RequestReused.into(),
        RequestError::UnknownType { name } => {
            let known: Vec<String> = work.task_types().into_iter().map(|it| it.name).collect();
            let known = known.join(", ");
            let name = name.chars().take(80).collect();
            ServerNo::UnknownType { name, known }.into()
        }
        RequestError::UnknownAgent { name } => {
            let known: Vec<String> = work.agent_presets().into_iter().map(|it| it.name).collect();
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
        RequestError::Unavailable(it) => outage_error(it.resource),
        RequestError::Store(error) => error.into(),
        RequestError::Failed(error) => ApiError::internal(&error),
    }
}

/// Submits a request and responds with the task it is about.
pub(crate) fn submit_and_respond(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
    request: JobRequest,
) -> HandlerResult {
    let work = shared.job_service()?;
    let answered = submit_request(work, call, request)?;
    match answered.row {
        Some(row) => respond_with_task(call, work, &row),
        None => respond_empty(call),
    }
}

pub(crate) fn create_task(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let new: NewTask = call.parse_body()?;
    check_length(&new.title, TITLE_CHARS_MAX, "title")?;
    check_length(&new.description, TEXT_CHARS_MAX, "description")?;
    let about = JobAttributes {
        type_name: new.task_type,
        priority: new.priority,
        agent: new.agent,
        workspace: new.workspace,
        share_workspace: new.share_workspace,
        label: new.label.filter(|label| !label.is_empty()),
        budget: job_budget(new.budget),
        ..JobAttributes::default()
    };
    let request = JobRequest::Create {
        title: new.title,
        description: new.description,
        depends_on: new.depends_on,
        scheduled_for: new.scheduled_for.as_deref().map(parse_time).transpose()?,
        about: Box::new(about),
        submit: new.submit,
    };
    submit_and_respond(shared, call, request)
}

pub(crate) fn get_task(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    respond_with_task(call, work, &row)
}

pub(crate) fn edit_task(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let asked: EditTask = call.parse_body()?;
    check_length(
        asked.title.as_deref().unwrap_or_default(),
        TITLE_CHARS_MAX,
        "title",
    )?;
    let text = asked.description.as_deref().unwrap_or_default();
    check_length(text, TEXT_CHARS_MAX, "description")?;
    let scheduled_for = match asked.scheduled_for.as_deref() {
        None => None,
        Some("") => Some(None),
        Some(text) => Some(Some(parse_time(text)?)),
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
        budget: asked.budget.map(|it| job_budget(Some(it))),
    };
    let task = call.path_param("id").to_owned();
    submit_and_respond(
        shared,
        call,
        JobRequest::Edit {
            task,
            edit: Box::new(edit),
        },
    )
}

pub(crate) fn delete_task(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    submit_verb(shared, call, JobRequest::Delete)?;
    respond_empty(call)
}

/// Handles a verb of a task that takes no arguments.
pub(crate) fn submit_verb(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
    request: impl FnOnce(String) -> JobRequest,
) -> HandlerResult {
    let _: Nothing = call.parse_body()?;
    submit_and_respond(shared, call, request(call.path_param("id").to_owned()))
}

/// Handles a verb of a task that is a command without arguments.
pub(crate) fn command(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
    command: Command,
) -> HandlerResult {
    submit_verb(shared, call, |task| JobRequest::Command(task, command))
}

pub(crate) fn restore_task(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let asked: RestoreRequest = call.parse_body()?;
    let request = JobRequest::Restore {
        task: call.path_param("id").to_owned(),
        checkpoint: asked.checkpoint_id,
    };
    submit_and_respond(shared, call, request)
}

pub(crate) fn send_message(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let asked: SayRequest = call.parse_body()?;
    check_length(&asked.text, TEXT_CHARS_MAX, "text")?;
    let work = shared.job_service()?;
    let request = JobRequest::SendMessage {
        task: call.path_param("id").to_owned(),
        text: asked.text,
    };
    let made = submit_request(work, call, request)?
        .made
        .unwrap_or_default();
    let record = work.store().find_record(&made)?;
    match record.as_ref().and_then(view::message_view) {
        Some(saying) => respond_json(call, &saying),
        None => Err(ApiError::internal(&"a saying was made and is not there")),
    }
}

pub(crate) fn get_agent(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    respond_json(call, &view::agent_view(&row, work))
}

pub(crate) fn list_spend(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    let rows = work.store().list_spend(&SpendQuery {
        job: Some(row.id.clone()),
        from_day: None,
    })?;
    respond_json(
        call,
        &Page::single_page(view::spend_view(&rows, Some(&row.id))),
    )
}

pub(crate) fn list_deliveries(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    let deliveries = work.store().deliveries_of(&row.id)?;
    let of_notices = deliveries.into_iter().filter(|it| it.kind == "notify");
    let items = of_notices.map(|it| Delivery {
        notice: it.effect,
        attempt: it.try_number,
        at: time::format_utc(it.at),
        note: it.note,
    });
    respond_json(call, &Page::single_page(items.collect::<Vec<_>>()))
}

/// Responds with the app of a task, after starting or stopping it if `order` says so.
pub(crate) fn respond_with_app(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
    order: Option<bool>,
) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    let app = work.control_app(&row, order);
    let app = app.map_err(|refused| to_api_error(work, refused))?;
    let url = (app.running && app.port > 0).then(|| format!("http://127.0.0.1:{}/", app.port));
    let app = rest::App {
        task_id: row.id,
        running: app.running,
        url,
        command: app.command,
        output: app.output,
        exit_code: app.exit_code,
    };
    respond_json(call, &app)
}

pub(crate) fn list_phases(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    let types = work.task_types();
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
    respond_json(
        call,
        &Page::single_page(view::phase_views(&row, &steps, &records)),
    )
}

pub(crate) fn list_transitions(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    let limit = page_limit(call)?;
    let mut rows = work.store().list_events(&EventQuery {
        job: Some(row.id),
        kind: Some(EventKind::Transition),
        after: call.query_number("cursor")?.unwrap_or(0),
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
    respond_json(call, &Page { items, next_cursor })
}

pub(crate) fn get_conversation(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    let limit = page_limit(call)?;
    let from = call.query_number("cursor")?.unwrap_or(0);
    let mut items = work.conversation_entries(&row, from, limit + 1);
    let next_cursor = items.get(limit).map(|it| it.index.to_string());
    items.truncate(limit);
    respond_json(call, &Page { items, next_cursor })
}

fn job_budget(budget: Option<bowline_formats::rest::Budget>) -> JobBudget {
    let budget = budget.unwrap_or_default();
    JobBudget {
        tokens: budget.tokens,
        usd: budget.usd,
        minutes: budget.minutes,
    }
}

fn parse_time(text: &str) -> Result<i64, ApiError> {
    let wrong = || ServerNo::BadTime {
        text: text.chars().take(80).collect(),
    };
    Ok(time::parse_time(text).ok_or_else(wrong)?.0)
}

pub(crate) fn check_length(text: &str, max: usize, name: &'static str) -> Result<(), ApiError> {
    match text.chars().count() > max {
        true => {
            let name = name.to_owned();
            let fault = BodyFault::TooLong { name, max };
            Err(ServerNo::BadBody { fault }.into())
        }
        false => Ok(()),
    }
}
