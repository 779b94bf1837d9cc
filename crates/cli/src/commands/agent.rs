//! `bowline agent`: structured reports from the agent of a task, instead of markers in its output.

use super::remote::find_as_agent;
use crate::args::task::AgentVerb;
use crate::output::Output;
use bowline_engine::{Context, Error};
use bowline_words::message::Wrong;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn run(context: &Context, output: &Output, verb: &AgentVerb) -> Result<ExitCode, Error> {
    let (path, body) = match request(output, verb) {
        Ok(request) => request,
        Err(code) => return Ok(code),
    };
    if output.dry_run {
        output.done(
            json!({ "path": path, "body": body }),
            &[format!("(dry run) {path} {body}")],
        );
        return Ok(ExitCode::SUCCESS);
    }
    let done = find_as_agent(context, output)
        .and_then(|remote| remote.post(&format!("/api/agent/{path}"), &body));
    Ok(match done {
        Ok(reported) => {
            let made = reported["id"].as_str();
            let line = made.map_or_else(|| "✓".to_owned(), |id| format!("✓ {id}"));
            output.done(reported.clone(), &[line]);
            ExitCode::SUCCESS
        }
        Err(code) => code,
    })
}

fn request(output: &Output, verb: &AgentVerb) -> Result<(&'static str, Value), ExitCode> {
    Ok(match verb {
        AgentVerb::PhaseComplete { phase, files } => {
            ("phase-complete", json!({ "phase": phase, "files": files }))
        }
        AgentVerb::Ask {
            question,
            options,
            default,
            required,
        } => {
            let body = json!({ "question": question, "options": options, "default": default, "required": required });
            ("ask", body)
        }
        AgentVerb::Need {
            kind,
            name,
            description,
            default,
            required,
        } => {
            let body = json!({ "type": kind, "name": name, "description": description, "default": default, "required": required });
            ("need", body)
        }
        AgentVerb::Error {
            message,
            fatal,
            retry_after,
        } => {
            let recovery = match (fatal, retry_after) {
                (true, _) => "checkpoint_and_fail",
                (false, Some(_)) => "pause_and_retry",
                (false, None) => "notify_user",
            };
            let body =
                json!({ "message": message, "recovery": recovery, "retryAfter": retry_after });
            ("error", body)
        }
        AgentVerb::Step { step, name } => {
            let parts = step.split_once('/');
            let numbers =
                parts.and_then(|(k, n)| Some((k.parse::<u32>().ok()?, n.parse::<u32>().ok()?)));
            let Some((k, n)) = numbers else {
                let wrong = Wrong::NotAStepNumber { text: step.clone() };
                let message = wrong.say(output.lang);
                return Err(output.told("bad_input", &message, "bowline agent step 3/9 NAME", 2));
            };
            ("step", json!({ "step": k, "of": n, "name": name }))
        }
        AgentVerb::Tokens { used, usd } => {
            let mut body = json!({ "used": used });
            if let Some(usd) = usd {
                body["costUsd"] = (*usd).into();
            }
            ("tokens", body)
        }
        AgentVerb::Done => ("done", json!({})),
    })
}
