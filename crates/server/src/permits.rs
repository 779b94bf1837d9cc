//! Permission requests of clients: decisions on several at once, and rules.

use crate::asks::record;
use crate::call::{Call, Reply, empty, json};
use crate::problem::Problem;
use crate::serve::Shared;
use crate::tasks::{ask, within};
use crate::view;
use crate::work::{JobRequest, Work};
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
const SHOWN_MAX: usize = 50;
/// Maximum number of fields of a rule, and their length in characters.
const FIELDS_MAX: usize = 20;
const FIELD_MAX: usize = 2_000;

pub(crate) fn permit(shared: &Arc<Shared>, call: &Call) -> Reply {
    let asked: PermissionBatch = call.body()?;
    decide(shared, call, asked.ids, None)
}

pub(crate) fn deny(shared: &Arc<Shared>, call: &Call) -> Reply {
    let asked: PermissionBatch = call.body()?;
    decide(shared, call, asked.ids, Some(asked.reason))
}

fn decide(shared: &Arc<Shared>, call: &Call, ids: Vec<String>, denied: Option<String>) -> Reply {
    let work = shared.work()?;
    if ids.is_empty() || ids.len() > BATCH_MAX {
        let fault = BodyFault::Count {
            name: "ids".into(),
            count: ids.len(),
            max: BATCH_MAX,
        };
        return Err(ServerNo::BadBody { fault }.into());
    }
    for id in &ids {
        record(work, id, RecordKind::Permission)?;
    }
    let permissions = ids.clone();
    let request = JobRequest::Decide {
        permissions,
        denied,
    };
    ask(work, call, request)?;
    let mut items = Vec::with_capacity(ids.len());
    for id in &ids {
        let now = record(work, id, RecordKind::Permission)?;
        items.extend(view::permission(&now));
    }
    json(call, &Page::whole(items))
}

/// Carries out the action of a sealed token. The token itself authorises the caller.
pub(crate) fn act(shared: &Arc<Shared>, call: &Call) -> Reply {
    let work = shared.work()?;
    let word = call.param("word");
    let opened = work.open_action(word);
    let asked = opened.as_deref().and_then(|it| it.split_once(' '));
    let Some((verb, id)) = asked else {
        return Err(Problem::no_such(ServerThing::Action, "…"));
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
        _ => return Err(Problem::no_such(ServerThing::Action, "…")),
    };
    ask(work, call, JobRequest::RecordCommand(command))?;
    empty(call)
}

fn all(
    work: &dyn Work,
    job: Option<&str>,
    kind: RecordKind,
    open: bool,
) -> Result<Vec<JobRecord>, Problem> {
    Ok(work.store().list_records(&RecordQuery {
        job: job.map(str::to_owned),
        kind: Some(kind),
        open,
    })?)
}

pub(crate) fn rules(shared: &Arc<Shared>, call: &Call) -> Reply {
    let rules = all(shared.work()?, Some(NO_JOB), RecordKind::Rule, true)?;
    let items: Vec<_> = rules.iter().filter_map(view::rule).collect();
    json(call, &Page::whole(items))
}

fn asked(call: &Call) -> Result<ToolPermissionRule, Problem> {
    let new: NewPermissionRule = call.body()?;
    if new.tool.trim().is_empty() || new.input.len() > FIELDS_MAX {
        let fault = BodyFault::RuleShape { max: FIELDS_MAX };
        return Err(ServerNo::BadBody { fault }.into());
    }
    within(&new.tool, FIELD_MAX, "tool")?;
    within(&new.reason, FIELD_MAX, "reason")?;
    for text in new.input.values() {
        within(text, FIELD_MAX, "input")?;
    }
    Ok(ToolPermissionRule {
        tool: new.tool,
        input: new.input,
        denies: new.decision == PermissionDecision::Deny,
        reason: new.reason,
        task: new.task_id,
    })
}

pub(crate) fn add_rule(shared: &Arc<Shared>, call: &Call) -> Reply {
    let work = shared.work()?;
    let rule = Box::new(asked(call)?);
    let made = ask(work, call, JobRequest::AddRule(rule))?.made;
    let made = record(work, &made.unwrap_or_default(), RecordKind::Rule)?;
    json(call, &view::rule(&made))
}

pub(crate) fn remove_rule(shared: &Arc<Shared>, call: &Call) -> Reply {
    let work = shared.work()?;
    let rule = record(work, call.param("id"), RecordKind::Rule)?.id;
    ask(work, call, JobRequest::RemoveRule(rule))?;
    empty(call)
}

pub(crate) fn try_rule(shared: &Arc<Shared>, call: &Call) -> Reply {
    let rule = asked(call)?;
    let past = all(shared.work()?, None, RecordKind::Permission, false)?;
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
        if trial.items.len() < SHOWN_MAX {
            let shown: Option<Permission> = view::permission(record);
            trial.items.extend(shown);
        }
    }
    json(call, &trial)
}
