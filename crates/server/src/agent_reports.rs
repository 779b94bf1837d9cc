//! Reports of an agent through the interface, instead of markers in its output.

use crate::auth::Caller;
use crate::error::ApiError;
use crate::http_request::{ApiRequest, HandlerResult, respond_json};
use crate::job_service::JobRequest;
use crate::serve::SharedState;
use crate::tasks::submit_request;
use bowline_engine::machines::Timestamp;
use bowline_engine::machines::job::{
    AgentDependency, AgentMarker, AgentQuestion, Command, ReportedStep,
};
use bowline_formats::rest::{
    AskReport, ErrorReport, NeedReport, Nothing, PhaseCompleteReport, Recovery, Reported,
    StepReport, TokensReport,
};
use bowline_words::message::ServerNo;
use std::sync::Arc;

/// Delay in seconds after a rate limit without a given time.
const DEFAULT_RETRY_AFTER_S: u64 = 60;
/// Maximum delay in seconds that is accepted.
const RETRY_AFTER_MAX_S: u64 = 7 * 24 * 60 * 60;

/// Returns task and attempt of the caller; only an agent of an attempt may report.
fn reporting_attempt(call: &ApiRequest) -> Result<(String, u32), ApiError> {
    match &call.caller {
        Caller::Agent { task, attempt } => Ok((task.clone(), *attempt)),
        Caller::Nobody | Caller::Person | Caller::Reader | Caller::AgentReader(_) => {
            Err(ServerNo::NeedsAgent.into())
        }
    }
}

/// Submits a report of an attempt to the dispatcher.
fn submit_report(
    shared: &SharedState,
    call: &ApiRequest,
    request: impl FnOnce(String, u32) -> JobRequest,
) -> HandlerResult {
    let (task, attempt) = reporting_attempt(call)?;
    let answered = submit_request(shared.job_service()?, call, request(task.clone(), attempt))?;
    let reported = Reported {
        task_id: task,
        id: answered.made,
        answer: None,
    };
    respond_json(call, &reported)
}

fn submit_marker(shared: &SharedState, call: &ApiRequest, marker: AgentMarker) -> HandlerResult {
    submit_report(shared, call, |task, attempt| {
        JobRequest::Command(task, Command::MarkerRead { attempt, marker })
    })
}

pub(crate) fn report_phase_complete(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let report: PhaseCompleteReport = call.parse_body()?;
    let marker = AgentMarker::PhaseComplete {
        phase: report.phase,
        deliverables: report.files,
    };
    submit_marker(shared, call, marker)
}

pub(crate) fn report_done(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let _: Nothing = call.parse_body()?;
    submit_marker(shared, call, AgentMarker::CustomComplete)
}

pub(crate) fn report_question(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let report: AskReport = call.parse_body()?;
    let question = AgentQuestion {
        options: report.options,
        default: report.default,
        // The dispatcher assigns the id.
        ..AgentQuestion::without_options("", report.question, report.required)
    };
    submit_marker(shared, call, AgentMarker::Question(question))
}

pub(crate) fn report_dependency(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let report: NeedReport = call.parse_body()?;
    let needed = AgentDependency {
        kind: report.dependency_type,
        description: report.description,
        default: report.default,
        ..AgentDependency::on_env_variable("", report.name, report.required)
    };
    submit_marker(shared, call, AgentMarker::DependencyRequest(needed))
}

pub(crate) fn report_error(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let report: ErrorReport = call.parse_body()?;
    let marker = match report.recovery {
        Recovery::PauseAndRetry => {
            let wait = report.retry_after.unwrap_or(DEFAULT_RETRY_AFTER_S);
            let wait = wait.clamp(1, RETRY_AFTER_MAX_S);
            let now = shared.clock.now().0;
            AgentMarker::RateLimit {
                until: Timestamp(now.saturating_add_unsigned(wait)),
            }
        }
        Recovery::CheckpointAndFail => AgentMarker::ErrorFatal {
            message: report.message,
            details: report.details,
        },
        Recovery::NotifyUser => AgentMarker::ErrorNotify {
            message: report.message,
        },
    };
    submit_marker(shared, call, marker)
}

pub(crate) fn report_step(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let report: StepReport = call.parse_body()?;
    let step = ReportedStep {
        number: report.step,
        of: report.of,
        name: report.name,
    };
    submit_marker(shared, call, AgentMarker::Step(step))
}

pub(crate) fn report_tokens(shared: &Arc<SharedState>, call: &ApiRequest) -> HandlerResult {
    let report: TokensReport = call.parse_body()?;
    submit_report(shared, call, |task, attempt| JobRequest::Tokens {
        task,
        attempt,
        used: report.used,
        usd: report.cost_usd.unwrap_or(0.0),
    })
}
