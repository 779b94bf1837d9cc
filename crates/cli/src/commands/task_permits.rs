//! `bowline task permit`, `deny` and `rule`: tool calls that agents ask permission for.

use super::remote::{RemoteResult, RemoteServer};
use crate::args::task::RuleVerb;
use bowline_engine::formats::rest::routes::{
    add_permission_rule, deny_tools, list_permission_rules, permit_tools, remove_permission_rule,
    try_permission_rule,
};
use bowline_engine::formats::rest::{
    NewPermissionRule, Permission, PermissionBatch, PermissionDecision, PermissionRule, RuleTrial,
    sent_name,
};
use bowline_engine::formats::visible;
use bowline_words::message::{ServerThing, TaskOutput};
use serde_json::json;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Permits or denies the named permissions and all pending ones of named tasks: all of them, or
/// none.
pub(super) fn decide_permissions(
    remote: &RemoteServer<'_>,
    given: &[String],
    denied: Option<&String>,
) -> RemoteResult<ExitCode> {
    let mut ids: Vec<String> = Vec::new();
    for given in given {
        if given.starts_with("perm_") {
            ids.push(given.clone());
            continue;
        }
        let waiting = remote.open_permissions(&remote.resolve_task(given)?)?;
        if waiting.is_empty() {
            return Err(remote.print_no_match(ServerThing::Permission, given));
        }
        ids.extend(waiting.into_iter().map(|it| it.id));
    }
    let reason = denied.cloned().unwrap_or_default();
    let batch = PermissionBatch { ids, reason };
    let request = match denied {
        None => permit_tools(&batch),
        Some(_) => deny_tools(&batch),
    };
    remote.done(&request, |page| {
        let line = |it: &Permission| {
            let (status, tool) = (it.status.name(), visible::escape_name(&it.tool));
            format!("✓ {}: {status} {tool}", it.id)
        };
        page.items.iter().map(line).collect()
    })
}

pub(super) fn run_rule_verb(remote: &RemoteServer<'_>, verb: &RuleVerb) -> RemoteResult<ExitCode> {
    let output = remote.output;
    match verb {
        RuleVerb::List => {
            return remote.done(&list_permission_rules(), |page| {
                let mut lines: Vec<String> = page.items.iter().map(rule_line).collect();
                if lines.is_empty() {
                    lines.push(TaskOutput::NoRules.say(output.lang));
                }
                lines
            });
        }
        RuleVerb::Add {
            tool,
            input,
            deny,
            reason,
            task,
        } => {
            let mut fields = BTreeMap::new();
            for given in input {
                let Some((name, pattern)) = given.split_once('=') else {
                    let text = given.clone();
                    let message = TaskOutput::BadField { text }.say(output.lang);
                    return Err(output.print_error_texts(
                        "bad_input",
                        &message,
                        "--input 'command=cargo test*'",
                        2,
                    ));
                };
                fields.insert(name.to_owned(), pattern.to_owned());
            }
            let task_id = match task {
                Some(task) => Some(remote.resolve_task(task)?),
                None => None,
            };
            let rule = NewPermissionRule {
                tool: tool.clone(),
                input: fields,
                decision: match deny {
                    true => PermissionDecision::Deny,
                    false => PermissionDecision::Permit,
                },
                reason: reason.clone(),
                task_id,
            };
            // Shows first what the rule would have answered so far.
            let json = remote.json(&try_permission_rule(&rule))?;
            let trial: RuleTrial = remote.read(&json)?;
            let past = TaskOutput::RulePast {
                answers: trial.answers,
                asked: trial.asked,
                differs: trial.differs,
                waiting: trial.waiting,
            };
            let past = past.say(output.lang);
            if output.dry_run {
                let mut lines = vec![past];
                lines.extend(trial.items.iter().map(|it| {
                    let call = visible::escape_name(&format!("{} {}", it.tool, it.input));
                    format!("  {}  {:<9}  {call}", it.id, it.status.name())
                }));
                output.print_outcome(json, &lines);
                return Ok(ExitCode::SUCCESS);
            }
            return remote.done(&add_permission_rule(&rule), |made| {
                vec![format!("✓ {}", rule_line(made)), past]
            });
        }
        RuleVerb::Remove { id } => {
            remote.fetch(&remove_permission_rule(id).request)?;
            let line = format!("✓ {id} {}", TaskOutput::Removed.say(output.lang));
            output.print_outcome(json!({ "id": id, "deleted": true }), &[line]);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats a rule on one line.
fn rule_line(rule: &PermissionRule) -> String {
    let fields = rule.input.iter();
    let fields: Vec<String> = fields
        .map(|(name, pattern)| format!("{name}={pattern}"))
        .collect();
    let parts = [
        rule.id.clone(),
        sent_name(&rule.decision),
        visible::escape_name(&rule.tool),
        visible::escape_name(&fields.join(" ")),
        rule.task_id.clone().unwrap_or_default(),
        format!("({})", rule.uses),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
    parts.join("  ")
}
