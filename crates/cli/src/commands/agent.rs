//! `bowline agent`: structured reports from the agent of a task, instead of markers in its output.

use super::remote::find_as_agent;
use crate::args::task::AgentReportVerb;
use crate::output::CommandOutput;
use bowline_engine::formats::rest::routes::{
    TypedRequest, report_ask, report_done, report_error, report_need, report_phase_complete,
    report_step, report_tokens,
};
use bowline_engine::formats::rest::{
    AskReport, ErrorReport, PhaseCompleteReport, Recovery, Reported, StepReport, TokensReport,
    read_body,
};
use bowline_engine::{Context, Error};
use bowline_words::message::{ServerNo, Wrong};
use serde_json::json;
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    verb: &AgentReportVerb,
) -> Result<ExitCode, Error> {
    let report = match build_request(output, verb) {
        Ok(report) => report,
        Err(code) => return Ok(code),
    };
    if output.dry_run {
        let path = report.request.route.path.rsplit('/').next();
        let path = path.unwrap_or_default();
        let body = report.request.body.unwrap_or_default();
        output.print_outcome(
            json!({ "path": path, "body": body }),
            &[format!("(dry run) {path} {body}")],
        );
        return Ok(ExitCode::SUCCESS);
    }
    let done = find_as_agent(context, output).and_then(|remote| {
        remote.done(&report, |reported| {
            let made = reported.id.as_ref();
            vec![made.map_or_else(|| "✓".to_owned(), |id| format!("✓ {id}"))]
        })
    });
    Ok(done.unwrap_or_else(|code| code))
}

fn build_request(
    output: &CommandOutput,
    verb: &AgentReportVerb,
) -> Result<TypedRequest<Reported>, ExitCode> {
    Ok(match verb {
        AgentReportVerb::PhaseComplete { phase, files } => {
            report_phase_complete(&PhaseCompleteReport {
                phase: *phase,
                files: files.clone(),
            })
        }
        AgentReportVerb::Ask {
            question,
            options,
            default,
            required,
        } => report_ask(&AskReport {
            question: question.clone(),
            category: None,
            options: options.clone(),
            default: default.clone(),
            required: *required,
        }),
        AgentReportVerb::Need {
            kind,
            name,
            description,
            default,
            required,
        } => {
            // An unknown type is refused in the words of the server.
            let body = json!({ "type": kind, "name": name, "description": description, "default": default, "required": required });
            let report = read_body(body.to_string().as_bytes()).map_err(|fault| {
                let (message, hint) = ServerNo::BadBody { fault }.say(output.lang);
                output.print_error_texts("bad_input", &message, &hint, 2)
            })?;
            report_need(&report)
        }
        AgentReportVerb::Error {
            message,
            fatal,
            retry_after,
        } => report_error(&ErrorReport {
            message: message.clone(),
            details: None,
            recovery: Recovery::of_report(*fatal, *retry_after),
            retry_after: *retry_after,
        }),
        AgentReportVerb::Step { step, name } => {
            let parts = step.split_once('/');
            let numbers =
                parts.and_then(|(k, n)| Some((k.parse::<u32>().ok()?, n.parse::<u32>().ok()?)));
            let Some((step, of)) = numbers else {
                let wrong = Wrong::NotAStepNumber { text: step.clone() };
                let message = wrong.say(output.lang);
                return Err(output.print_error_texts(
                    "bad_input",
                    &message,
                    "bowline agent step 3/9 NAME",
                    2,
                ));
            };
            report_step(&StepReport {
                step,
                of,
                name: name.clone(),
            })
        }
        AgentReportVerb::Tokens { used, usd } => report_tokens(&TokensReport {
            used: *used,
            cost_usd: *usd,
        }),
        AgentReportVerb::Done => report_done(),
    })
}
