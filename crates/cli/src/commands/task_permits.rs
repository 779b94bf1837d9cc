//! `bowline task permit`, `deny` and `rule`: tool calls that agents ask permission for.

use super::remote::{Remote, Told, items, text};
use crate::args::task::RuleVerb;
use bowline_engine::formats::visible;
use bowline_engine::webhook::encode_segment;
use bowline_words::message::{Desk, ServerThing};
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// Permits or denies the named permissions and all pending ones of named tasks: all of them, or
/// none.
pub(super) fn decide(
    remote: &Remote<'_>,
    given: &[String],
    denied: Option<&String>,
) -> Told<ExitCode> {
    let mut ids: Vec<String> = Vec::new();
    for given in given {
        if given.starts_with("perm_") {
            ids.push(given.clone());
            continue;
        }
        let waiting = remote.pending(&remote.task(given)?, "permissions")?;
        if waiting.is_empty() {
            return Err(remote.none(ServerThing::Permission, given));
        }
        ids.extend(waiting.iter().map(|it| text(it, "id").to_owned()));
    }
    let (verb, body) = match denied {
        None => ("permit", json!({ "ids": ids })),
        Some(reason) => ("deny", json!({ "ids": ids, "reason": reason })),
    };
    let page = remote.post(&format!("/api/permissions/{verb}"), &body)?;
    let line = |it: &Value| {
        format!(
            "✓ {}: {} {}",
            text(it, "id"),
            text(it, "status"),
            visible::name(text(it, "tool"))
        )
    };
    let lines: Vec<String> = items(&page).map(line).collect();
    remote.output.done(page.clone(), &lines);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn rule(remote: &Remote<'_>, verb: &RuleVerb) -> Told<ExitCode> {
    let output = remote.output;
    match verb {
        RuleVerb::List => {
            let page = remote.get("/api/permission-rules")?;
            let mut lines: Vec<String> = items(&page).map(line).collect();
            if lines.is_empty() {
                lines.push(Desk::NoRules.say(output.lang));
            }
            output.done(page.clone(), &lines);
        }
        RuleVerb::Add {
            tool,
            input,
            deny,
            reason,
            task,
        } => {
            let mut fields = Map::new();
            for given in input {
                let Some((name, pattern)) = given.split_once('=') else {
                    let text = given.clone();
                    let message = Desk::BadField { text }.say(output.lang);
                    return Err(output.told(
                        "bad_input",
                        &message,
                        "--input 'command=cargo test*'",
                        2,
                    ));
                };
                fields.insert(name.to_owned(), pattern.into());
            }
            let decision = if *deny { "deny" } else { "permit" };
            let mut body =
                json!({ "tool": tool, "input": fields, "decision": decision, "reason": reason });
            if let Some(task) = task {
                body["taskId"] = remote.task(task)?.into();
            }
            // Shows first what the rule would have answered so far.
            let trial = remote.post("/api/permission-rules/try", &body)?;
            let count = |name: &str| trial[name].as_u64().unwrap_or(0);
            let past = Desk::RulePast {
                answers: count("answers"),
                asked: count("asked"),
                differs: count("differs"),
                waiting: count("waiting"),
            };
            let past = past.say(output.lang);
            if output.dry_run {
                let mut lines = vec![past];
                lines.extend(items(&trial).map(|it| {
                    let (id, status) = (text(it, "id"), text(it, "status"));
                    let call = format!("{} {}", text(it, "tool"), it["input"]);
                    format!("  {id}  {status:<9}  {}", visible::name(&call))
                }));
                output.done(trial.clone(), &lines);
                return Ok(ExitCode::SUCCESS);
            }
            let made = remote.post("/api/permission-rules", &body)?;
            output.done(made.clone(), &[format!("✓ {}", line(&made)), past]);
        }
        RuleVerb::Remove { id } => {
            remote.ask(
                "DELETE",
                &format!("/api/permission-rules/{}", encode_segment(id)),
                None,
            )?;
            let line = format!("✓ {id} {}", Desk::Removed.say(output.lang));
            output.done(json!({ "id": id, "deleted": true }), &[line]);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats a rule on one line.
fn line(rule: &Value) -> String {
    let fields = rule["input"].as_object().into_iter().flatten();
    let fields: Vec<String> = fields
        .map(|(name, pattern)| format!("{name}={}", pattern.as_str().unwrap_or_default()))
        .collect();
    let parts = [
        text(rule, "id").to_owned(),
        text(rule, "decision").to_owned(),
        visible::name(text(rule, "tool")),
        visible::name(&fields.join(" ")),
        text(rule, "taskId").to_owned(),
        format!("({})", rule["uses"]),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
    parts.join("  ")
}
