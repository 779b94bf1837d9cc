//! Decisions that tasks need from people: reviews, questions, dependencies, permissions; and the
//! records of a task.

use crate::call::{Call, Reply, json};
use crate::problem::Problem;
use crate::scope::TaskScope;
use crate::serve::Shared;
use crate::tasks::{TEXT_MAX, TITLE_MAX, Waiting, ask, decided, of_task, within};
use crate::view;
use crate::work::{JobRequest, Work, record_thing};
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
fn records<T: Serialize>(
    shared: &Arc<Shared>,
    call: &Call,
    kind: RecordKind,
    shown: fn(&JobRecord) -> Option<T>,
) -> Reply {
    let (work, row) = of_task(shared, call)?;
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
    json(call, &Page::whole(items))
}

pub(crate) fn reviews(shared: &Arc<Shared>, call: &Call) -> Reply {
    records(shared, call, RecordKind::Review, view::review)
}

pub(crate) fn questions(shared: &Arc<Shared>, call: &Call) -> Reply {
    records(shared, call, RecordKind::Question, view::question)
}

pub(crate) fn dependencies(shared: &Arc<Shared>, call: &Call) -> Reply {
    records(shared, call, RecordKind::Dependency, view::dependency)
}

pub(crate) fn permissions(shared: &Arc<Shared>, call: &Call) -> Reply {
    records(shared, call, RecordKind::Permission, view::permission)
}

pub(crate) fn verifications(shared: &Arc<Shared>, call: &Call) -> Reply {
    records(shared, call, RecordKind::Verification, view::verification)
}

pub(crate) fn sayings(shared: &Arc<Shared>, call: &Call) -> Reply {
    records(shared, call, RecordKind::Said, view::saying)
}

pub(crate) fn checkpoints(shared: &Arc<Shared>, call: &Call) -> Reply {
    records(shared, call, RecordKind::Checkpoint, view::checkpoint)
}

/// Returns the record with this id, if it is of this kind.
pub(crate) fn record(work: &dyn Work, id: &str, kind: RecordKind) -> Result<JobRecord, Problem> {
    let found = work.store().find_record(id)?;
    found
        .filter(|record| record.body.kind() == kind)
        .ok_or_else(|| Problem::no_such(record_thing(kind), id))
}

/// Returns the record that the path of a call names.
fn named(shared: &Arc<Shared>, call: &Call, kind: RecordKind) -> Result<JobRecord, Problem> {
    record(shared.work()?, call.param("id"), kind)
}

pub(crate) fn review(shared: &Arc<Shared>, call: &Call) -> Reply {
    let record = named(shared, call, RecordKind::Review)?;
    json(call, &view::review(&record))
}

/// Submits a person's command about the record that it names.
fn decide(shared: &Arc<Shared>, call: &Call, command: Command) -> Reply {
    decided(shared, call, JobRequest::RecordCommand(command))
}

pub(crate) fn approve(shared: &Arc<Shared>, call: &Call) -> Reply {
    let review = named(shared, call, RecordKind::Review)?.id;
    let asked: Approval = call.body()?;
    let comment = asked.comment;
    decide(shared, call, Command::Approve { review, comment })
}

pub(crate) fn request_changes(shared: &Arc<Shared>, call: &Call) -> Reply {
    let review = named(shared, call, RecordKind::Review)?.id;
    let (feedback, comments) = change_request(call)?;
    let request = JobRequest::RequestChanges {
        review,
        feedback,
        comments,
    };
    decided(shared, call, request)
}

/// Parses feedback and comments on files from the body.
fn change_request(call: &Call) -> Result<(String, Vec<FileCommentRow>), Problem> {
    let asked: ChangeRequest = call.body()?;
    let comments = asked.comments.into_iter().map(|it| FileCommentRow {
        file: it.file,
        line: it.line,
        comment: it.comment,
    });
    Ok((asked.feedback, comments.collect()))
}

pub(crate) fn approve_task(shared: &Arc<Shared>, call: &Call) -> Reply {
    let asked: Approval = call.body()?;
    let (task, comment) = (call.param("id").to_owned(), asked.comment);
    decided(shared, call, JobRequest::ApproveTask { task, comment })
}

pub(crate) fn request_task_changes(shared: &Arc<Shared>, call: &Call) -> Reply {
    let (feedback, comments) = change_request(call)?;
    let request = JobRequest::RequestTaskChanges {
        task: call.param("id").to_owned(),
        feedback,
        comments,
    };
    decided(shared, call, request)
}

pub(crate) fn answer(shared: &Arc<Shared>, call: &Call) -> Reply {
    let question = named(shared, call, RecordKind::Question)?.id;
    let asked: AnswerRequest = call.body()?;
    let text = asked.answer;
    decide(shared, call, Command::Answer { question, text })
}

pub(crate) fn skip(shared: &Arc<Shared>, call: &Call) -> Reply {
    let question = named(shared, call, RecordKind::Question)?.id;
    let _: Nothing = call.body()?;
    decide(shared, call, Command::Skip { question })
}

pub(crate) fn provide(shared: &Arc<Shared>, call: &Call) -> Reply {
    let dependency = named(shared, call, RecordKind::Dependency)?.id;
    let asked: ProvideRequest = call.body()?;
    let value = asked.value;
    decided(shared, call, JobRequest::Provide { dependency, value })
}

pub(crate) fn reject(shared: &Arc<Shared>, call: &Call) -> Reply {
    let dependency = named(shared, call, RecordKind::Dependency)?.id;
    let asked: RejectRequest = call.body()?;
    let reason = asked.reason;
    decide(shared, call, Command::Reject { dependency, reason })
}

pub(crate) fn permit(shared: &Arc<Shared>, call: &Call) -> Reply {
    let permission = named(shared, call, RecordKind::Permission)?.id;
    let _: Nothing = call.body()?;
    decide(shared, call, Command::Permit { permission })
}

pub(crate) fn deny(shared: &Arc<Shared>, call: &Call) -> Reply {
    let permission = named(shared, call, RecordKind::Permission)?.id;
    let asked: RejectRequest = call.body()?;
    let reason = asked.reason;
    decide(shared, call, Command::Deny { permission, reason })
}

pub(crate) fn withdraw(shared: &Arc<Shared>, call: &Call) -> Reply {
    let work = shared.work()?;
    let said = record(work, call.param("id"), RecordKind::Said)?.id;
    let _: Nothing = call.body()?;
    let request = JobRequest::RecordCommand(Command::WithdrawMessage { id: said.clone() });
    ask(work, call, request)?;
    let record = record(work, &said, RecordKind::Said)?;
    json(call, &view::saying(&record))
}

pub(crate) fn fork(shared: &Arc<Shared>, call: &Call) -> Reply {
    let record = named(shared, call, RecordKind::Checkpoint)?;
    let asked: ForkRequest = call.body()?;
    let work = shared.work()?;
    let row = work.store().find_job(&record.job)?;
    let row = row.ok_or_else(|| Problem::no_such(ServerThing::Task, &record.job))?;
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
    within(&fork.title, TITLE_MAX, "title")?;
    // Both are joined into the description.
    let length_max = TEXT_MAX.saturating_sub(row.job.description.chars().count());
    within(&fork.instructions, length_max, "instructions")?;
    let checkpoint = record.id;
    decided(shared, call, JobRequest::Fork { checkpoint, fork })
}

/// Builds the title of a fork without one: the task's title, cut to fit, and the phase it starts
/// from.
fn fork_title(title: &str, phase: u32, lang: Lang) -> String {
    let pattern = WebForms::ForkTitle.say(lang);
    let pattern = pattern.replace("{n}", &phase.to_string());
    let room = TITLE_MAX.saturating_sub(pattern.chars().count());
    let title: String = title.chars().take(room).collect();
    pattern.replace("{title}", &title)
}

pub(crate) fn inbox(shared: &Arc<Shared>, call: &Call) -> Reply {
    let scope = TaskScope::of(shared, &call.caller)?;
    let mut items = waiting(shared.work()?)?;
    items.retain(|item| scope.has(&item.task_id));
    json(call, &Page::whole(items))
}

/// Returns all items that wait for a person, the oldest first.
pub(crate) fn waiting(work: &dyn Work) -> Result<Vec<InboxItem>, Problem> {
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
        item(
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
                item.review = view::review(record);
            }
            RecordBody::Question(_) => {
                item.kind = InboxKind::Question;
                item.question = view::question(record);
            }
            RecordBody::Dependency(_) => {
                item.kind = InboxKind::Dependency;
                item.dependency = view::dependency(record);
            }
            RecordBody::Permission(_) => {
                item.kind = InboxKind::Permission;
                item.permission = view::permission(record);
            }
            RecordBody::Checkpoint(_)
            | RecordBody::Verification(_)
            | RecordBody::Said(_)
            | RecordBody::Rule(_) => continue,
        }
        items.push((record.at, item));
    }
    let mut waits = Waiting::new(&*store, work.now());
    for row in &rows {
        let reason = match &row.job.state {
            JobState::Paused(PauseCause::Breaker { reason, .. }) => Some(reason.clone()),
            JobState::Pending => {
                let task = waits.task(row, work)?;
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
fn default_agent(work: &dyn Work) -> String {
    let mut agents = work.agents().into_iter();
    let found = agents.find(|agent| agent.is_default);
    found.map(|agent| agent.name).unwrap_or_default()
}

/// Builds an inbox item of a task that has waited since a time.
fn item(row: &JobRow, id: &str, since: Timestamp, agent: String) -> InboxItem {
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
