//! Decisions that tasks need from people: reviews, questions, dependencies, permissions; and the
//! records of a task.

use crate::error::ApiError;
use crate::http_request::{ApiRequest, HandlerResult, respond_json};
use crate::job_service::{JobRequest, JobService, record_thing};
use crate::scope::TaskScope;
use crate::serve::SharedState;
use crate::tasks::{
    TEXT_CHARS_MAX, TITLE_CHARS_MAX, TaskRenderer, check_length, job_in_path, submit_and_respond,
    submit_request,
};
use crate::view;
use bowline_engine::formats::time::format_utc;
use bowline_engine::machines::Timestamp;
use bowline_engine::machines::job::{Command, ForkOptions, JobState, PauseCause};
use bowline_formats::rest::{
    AnswerRequest, Approval, ChangeRequest, ForkRequest, InboxItem, InboxKind, Nothing, Page,
    ProvideRequest, RejectRequest,
};
use bowline_store::{FileCommentRow, JobRecord, JobRow, RecordBody, RecordKind, RecordQuery};
use bowline_words::Lang;
use bowline_words::message::{ServerThing, WebForms};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the records of one kind for the task of a call.
fn list_task_records<T: Serialize>(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
    kind: RecordKind,
    shown: fn(&JobRecord) -> Option<T>,
) -> HandlerResult {
    let (work, row) = job_in_path(shared, call)?;
    let mut records = work.store().list_records(&RecordQuery {
        job: Some(row.id),
        kind: Some(kind),
        open: false,
    })?;
    // People look for the newest checkpoint.
    if kind == RecordKind::Checkpoint {
        records.reverse();
    }
    let items: Vec<T> = records.iter().filter_map(shown).collect();
    respond_json(call, &Page::single_page(items))
}

pub(crate) fn list_reviews(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    list_task_records(shared, call, RecordKind::Review, view::review_view)
}

pub(crate) fn list_questions(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    list_task_records(shared, call, RecordKind::Question, view::question_view)
}

pub(crate) fn list_dependencies(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    list_task_records(shared, call, RecordKind::Dependency, view::dependency_view)
}

pub(crate) fn list_permissions(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    list_task_records(shared, call, RecordKind::Permission, view::permission_view)
}

pub(crate) fn list_verifications(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    list_task_records(
        shared,
        call,
        RecordKind::Verification,
        view::verification_view,
    )
}

pub(crate) fn list_messages(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    list_task_records(shared, call, RecordKind::Said, view::message_view)
}

pub(crate) fn list_checkpoints(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    list_task_records(shared, call, RecordKind::Checkpoint, view::checkpoint_view)
}

/// Returns the record with this id, if it is of this kind.
pub(crate) fn record_of_kind(
    work: &dyn JobService,
    id: &str,
    kind: RecordKind,
) -> Result<JobRecord, ApiError> {
    let found = work.store().find_record(id)?;
    found
        .filter(|record| record.body.kind() == kind)
        .ok_or_else(|| ApiError::no_such(record_thing(kind), id))
}

/// Returns the record that the path of a call names.
fn record_in_path(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
    kind: RecordKind,
) -> Result<JobRecord, ApiError> {
    record_of_kind(shared.job_service()?, call.path_param("id"), kind)
}

pub(crate) fn get_review(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let record = record_in_path(shared, call, RecordKind::Review)?;
    respond_json(call, &view::review_view(&record))
}

/// Submits a person's command about the record that it names.
fn decide(shared: &Arc<SharedState>, call: &ApiRequest, command: Command) -> HandlerResult {
    submit_and_respond(shared, call, JobRequest::RecordCommand(command))
}

pub(crate) fn approve_review(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let review = record_in_path(shared, call, RecordKind::Review)?.id;
    let asked: Approval = call.parse_body()?;
    let comment = asked.comment;
    decide(shared, call, Command::Approve { review, comment })
}

pub(crate) fn request_review_changes(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
) -> HandlerResult {
    let review = record_in_path(shared, call, RecordKind::Review)?.id;
    let (feedback, comments) = parse_change_request(call)?;
    let request = JobRequest::RequestChanges {
        review,
        feedback,
        comments,
    };
    submit_and_respond(shared, call, request)
}

/// Parses feedback and comments on files from the body.
fn parse_change_request(call: &ApiRequest) -> Result<(String, Vec<FileCommentRow>), ApiError> {
    let asked: ChangeRequest = call.parse_body()?;
    let comments = asked.comments.into_iter().map(|it| FileCommentRow {
        file: it.file,
        line: it.line,
        comment: it.comment,
    });
    Ok((asked.feedback, comments.collect()))
}

pub(crate) fn approve_task(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let asked: Approval = call.parse_body()?;
    let (task, comment) = (call.path_param("id").to_owned(), asked.comment);
    submit_and_respond(shared, call, JobRequest::ApproveTask { task, comment })
}

pub(crate) fn request_task_changes(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let (feedback, comments) = parse_change_request(call)?;
    let request = JobRequest::RequestTaskChanges {
        task: call.path_param("id").to_owned(),
        feedback,
        comments,
    };
    submit_and_respond(shared, call, request)
}

pub(crate) fn answer_question(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let question = record_in_path(shared, call, RecordKind::Question)?.id;
    let asked: AnswerRequest = call.parse_body()?;
    let text = asked.answer;
    decide(shared, call, Command::Answer { question, text })
}

pub(crate) fn skip_question(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let question = record_in_path(shared, call, RecordKind::Question)?.id;
    let _: Nothing = call.parse_body()?;
    decide(shared, call, Command::Skip { question })
}

pub(crate) fn provide_dependency(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let dependency = record_in_path(shared, call, RecordKind::Dependency)?.id;
    let asked: ProvideRequest = call.parse_body()?;
    let value = asked.value;
    submit_and_respond(shared, call, JobRequest::Provide { dependency, value })
}

pub(crate) fn reject_dependency(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let dependency = record_in_path(shared, call, RecordKind::Dependency)?.id;
    let asked: RejectRequest = call.parse_body()?;
    let reason = asked.reason;
    decide(shared, call, Command::Reject { dependency, reason })
}

pub(crate) fn permit_tool(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let permission = record_in_path(shared, call, RecordKind::Permission)?.id;
    let _: Nothing = call.parse_body()?;
    decide(shared, call, Command::Permit { permission })
}

pub(crate) fn deny_tool(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let permission = record_in_path(shared, call, RecordKind::Permission)?.id;
    let asked: RejectRequest = call.parse_body()?;
    let reason = asked.reason;
    decide(shared, call, Command::Deny { permission, reason })
}

pub(crate) fn withdraw_message(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let work = shared.job_service()?;
    let said = record_of_kind(work, call.path_param("id"), RecordKind::Said)?.id;
    let _: Nothing = call.parse_body()?;
    let request = JobRequest::RecordCommand(Command::WithdrawMessage { id: said.clone() });
    submit_request(work, call, request)?;
    let record = record_of_kind(work, &said, RecordKind::Said)?;
    respond_json(call, &view::message_view(&record))
}

pub(crate) fn fork_checkpoint(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let record = record_in_path(shared, call, RecordKind::Checkpoint)?;
    let asked: ForkRequest = call.parse_body()?;
    let work = shared.job_service()?;
    let row = work.store().find_job(&record.job)?;
    let row = row.ok_or_else(|| ApiError::no_such(ServerThing::Task, &record.job))?;
    let phase = match &record.body {
        RecordBody::Checkpoint(at) => at.phase,
        _ => 0,
    };
    let fork = ForkOptions {
        title: match asked.title.filter(|title| !title.trim().is_empty()) {
            Some(title) => title,
            None => fork_title(&row.job.title, phase, call.lang),
        },
        instructions: asked.instructions.unwrap_or_default(),
        submit: asked.submit.unwrap_or(true),
    };
    check_length(&fork.title, TITLE_CHARS_MAX, "title")?;
    // Both are joined into the description.
    let length_max = TEXT_CHARS_MAX.saturating_sub(row.job.description.chars().count());
    check_length(&fork.instructions, length_max, "instructions")?;
    let checkpoint = record.id;
    submit_and_respond(shared, call, JobRequest::Fork { checkpoint, fork })
}

/// Builds the title of a fork without one: the task's title, cut to fit, and the phase it starts
/// from.
fn fork_title(title: &str, phase: u32, lang: Lang) -> String {
    let pattern = WebForms::ForkTitle.say(lang);
    let pattern = pattern.replace("{n}", &phase.to_string());
    let room = TITLE_CHARS_MAX.saturating_sub(pattern.chars().count());
    let title: String = title.chars().take(room).collect();
    pattern.replace("{title}", &title)
}

pub(crate) fn get_inbox(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let scope = TaskScope::for_caller(shared, &call.caller)?;
    let mut items = inbox_items(shared.job_service()?)?;
    items.retain(|item| scope.contains(&item.task_id));
    respond_json(call, &Page::single_page(items))
}

/// Returns all items that wait for a person, the oldest first.
pub(crate) fn inbox_items(work: &dyn JobService) -> Result<Vec<InboxItem>, ApiError> {
    let store = work.store();
    let open = store.list_records(&RecordQuery {
        open: true,
        ..RecordQuery::default()
    })?;
    let rows = store.open_jobs()?;
    let by_id: HashMap<&str, &JobRow> = rows.iter().map(|row| (row.id.as_str(), row)).collect();
    let default_agent = std::cell::LazyCell::new(|| default_agent(work));
    let item = |row: &JobRow, id: &str, since: Timestamp| {
        let agent = row.about.agent.clone();
        new_inbox_item(
            row,
            id,
            since,
            agent.unwrap_or_else(|| default_agent.clone()),
        )
    };
    let mut items: Vec<(Timestamp, InboxItem)> = Vec::new();
    for record in &open {
        let Some(row) = by_id.get(record.job.as_str()) else {
            continue;
        };
        let mut item = item(row, &record.id, record.at);
        match &record.body {
            RecordBody::Review(_) => {
                item.kind = InboxKind::Review;
                item.review = view::review_view(record);
            }
            RecordBody::Question(_) => {
                item.kind = InboxKind::Question;
                item.question = view::question_view(record);
            }
            RecordBody::Dependency(_) => {
                item.kind = InboxKind::Dependency;
                item.dependency = view::dependency_view(record);
            }
            RecordBody::Permission(_) => {
                item.kind = InboxKind::Permission;
                item.permission = view::permission_view(record);
            }
            RecordBody::Checkpoint(_)
            | RecordBody::Verification(_)
            | RecordBody::Said(_)
            | RecordBody::Rule(_) => continue,
        }
        items.push((record.at, item));
    }
    let mut waits = TaskRenderer::new(&*store, work.current_time());
    for row in &rows {
        let reason = match &row.job.state {
            JobState::Paused(PauseCause::Breaker { reason, .. }) => Some(reason.clone()),
            JobState::Pending => {
                let task = waits.render_task(row, work)?;
                task.needs_you.then(|| task.waiting_for.join(", "))
            }
            _ => None,
        };
        if let Some(reason) = reason {
            let at = Timestamp(row.about.updated_at);
            let mut item = item(row, &row.id, at);
            item.reason = Some(reason);
            items.push((at, item));
        }
    }
    items.sort_by_key(|(at, _)| *at);
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

/// Returns the agent of tasks that name none.
fn default_agent(work: &dyn JobService) -> String {
    let mut agents = work.agent_presets().into_iter();
    let found = agents.find(|agent| agent.is_default);
    found.map(|agent| agent.name).unwrap_or_default()
}

/// Builds an inbox item of a task that has waited since a time.
fn new_inbox_item(row: &JobRow, id: &str, since: Timestamp, agent: String) -> InboxItem {
    InboxItem {
        kind: InboxKind::Task,
        id: id.to_owned(),
        task_id: row.id.clone(),
        title: row.job.title.clone(),
        agent,
        version: row.version,
        since: format_utc(since),
        review: None,
        question: None,
        dependency: None,
        permission: None,
        reason: None,
    }
}
