//! Permission requests of clients: decisions on several at once, and rules.

use crate::decisions::record_of_kind;
use crate::error::ApiError;
use crate::http_request::{ApiRequest, HandlerResult, respond_empty, respond_json};
use crate::job_service::{JobRequest, JobService};
use crate::serve::SharedState;
use crate::tasks::{check_length, submit_request};
use crate::view;
use bowline_engine::formats::permission_rule::ToolPermissionRule;
use bowline_engine::machines::job::{Command, PermissionStatus};
use bowline_formats::rest::{
    NewPermissionRule, Page, Permission, PermissionBatch, PermissionDecision, RuleTrial,
};
use bowline_store::{JobRecord, NO_JOB, RecordBody, RecordKind, RecordQuery};
use bowline_words::message::{BodyFault, ServerNo, ServerThing};
use std::sync::Arc;

/// Maximum number of requests decided at once.
const BATCH_MAX: usize = 1_000;
/// Maximum number of past requests shown for a rule.
const TRIAL_ITEMS_MAX: usize = 50;
/// Maximum number of fields of a rule, and their length in characters.
const RULE_FIELDS_MAX: usize = 20;
const FIELD_CHARS_MAX: usize = 2_000;

pub(crate) fn permit_tools(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let asked: PermissionBatch = call.parse_body()?;
    decide_permissions(shared, call, asked.ids, None)
}

pub(crate) fn deny_tools(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let asked: PermissionBatch = call.parse_body()?;
    decide_permissions(shared, call, asked.ids, Some(asked.reason))
}

fn decide_permissions(
    shared: &Arc<SharedState>,
    call: &ApiRequest,
    ids: Vec<String>,
    denied: Option<String>,
) -> HandlerResult {
    let work = shared.job_service()?;
    if ids.is_empty() || ids.len() > BATCH_MAX {
        let fault = BodyFault::Count {
            name: "ids".into(),
            count: ids.len(),
            max: BATCH_MAX,
        };
        return Err(ServerNo::BadBody { fault }.into());
    }
    for id in &ids {
        record_of_kind(work, id, RecordKind::Permission)?;
    }
    let permissions = ids.clone();
    let request = JobRequest::Decide {
        permissions,
        denied,
    };
    submit_request(work, call, request)?;
    let mut items = Vec::with_capacity(ids.len());
    for id in &ids {
        let now = record_of_kind(work, id, RecordKind::Permission)?;
        items.extend(view::permission_view(&now));
    }
    respond_json(call, &Page::single_page(items))
}

/// Carries out the action of a sealed token. The token itself authorises the caller.
pub(crate) fn run_sealed_action(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let work = shared.job_service()?;
    let word = call.path_param("word");
    let opened = work.open_action(word);
    let asked = opened.as_deref().and_then(|it| it.split_once(' '));
    let Some((verb, id)) = asked else {
        return Err(ApiError::no_such(ServerThing::Action, "…"));
    };
    let id = id.to_owned();
    let command = match verb {
        "approve" => Command::Approve {
            review: id,
            comment: None,
        },
        "permit" => Command::Permit { permission: id },
        "deny" => Command::Deny {
            permission: id,
            reason: String::new(),
        },
        _ => return Err(ApiError::no_such(ServerThing::Action, "…")),
    };
    submit_request(work, call, JobRequest::RecordCommand(command))?;
    respond_empty(call)
}

fn query_records(
    work: &dyn JobService,
    job: Option<&str>,
    kind: RecordKind,
    open: bool,
) -> Result<Vec<JobRecord>, ApiError> {
    Ok(work.store().list_records(&RecordQuery {
        job: job.map(str::to_owned),
        kind: Some(kind),
        open,
    })?)
}

pub(crate) fn list_rules(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let rules = query_records(shared.job_service()?, Some(NO_JOB), RecordKind::Rule, true)?;
    let items: Vec<_> = rules.iter().filter_map(view::rule_view).collect();
    respond_json(call, &Page::single_page(items))
}

fn parse_rule(call: &ApiRequest) -> Result<ToolPermissionRule, ApiError> {
    let new: NewPermissionRule = call.parse_body()?;
    if new.tool.trim().is_empty() || new.input.len() > RULE_FIELDS_MAX {
        let fault = BodyFault::RuleShape {
            max: RULE_FIELDS_MAX,
        };
        return Err(ServerNo::BadBody { fault }.into());
    }
    check_length(&new.tool, FIELD_CHARS_MAX, "tool")?;
    check_length(&new.reason, FIELD_CHARS_MAX, "reason")?;
    for text in new.input.values() {
        check_length(text, FIELD_CHARS_MAX, "input")?;
    }
    Ok(ToolPermissionRule {
        tool: new.tool,
        input: new.input,
        denies: new.decision == PermissionDecision::Deny,
        reason: new.reason,
        task: new.task_id,
    })
}

pub(crate) fn add_rule(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let work = shared.job_service()?;
    let rule = Box::new(parse_rule(call)?);
    let made = submit_request(work, call, JobRequest::AddRule(rule))?.made;
    let made = record_of_kind(work, &made.unwrap_or_default(), RecordKind::Rule)?;
    respond_json(call, &view::rule_view(&made))
}

pub(crate) fn remove_rule(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let work = shared.job_service()?;
    let rule = record_of_kind(work, call.path_param("id"), RecordKind::Rule)?.id;
    submit_request(work, call, JobRequest::RemoveRule(rule))?;
    respond_empty(call)
}

pub(crate) fn try_rule(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let rule = parse_rule(call)?;
    let past = query_records(shared.job_service()?, None, RecordKind::Permission, false)?;
    let mut trial = RuleTrial {
        asked: past.len() as u64,
        answers: 0,
        differs: 0,
        waiting: 0,
        items: Vec::new(),
    };
    for record in past.iter().rev() {
        let RecordBody::Permission(row) = &record.body else {
            continue;
        };
        if !rule.applies_to(&record.job, &row.tool, &row.input) {
            continue;
        }
        trial.answers += 1;
        let otherwise = match rule.denies {
            true => PermissionStatus::Permitted,
            false => PermissionStatus::Denied,
        };
        trial.differs += u64::from(row.status == otherwise && row.by.as_deref() == Some("person"));
        trial.waiting += u64::from(record.open);
        if trial.items.len() < TRIAL_ITEMS_MAX {
            let shown: Option<Permission> = view::permission_view(record);
            trial.items.extend(shown);
        }
    }
    respond_json(call, &trial)
}
