//! Reports of an agent through the interface, instead of markers in its output.

use crate::auth::Caller;
use crate::call::{Call, Reply, json};
use crate::problem::Problem;
use crate::serve::Shared;
use crate::tasks::ask as decide;
use crate::work::JobRequest;
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
const RETRY_AFTER_S: u64 = 60;
/// Maximum delay in seconds that is accepted.
const RETRY_AFTER_MAX_S: u64 = 7 * 24 * 60 * 60;

/// Returns task and attempt of the caller; only an agent of an attempt may report.
fn attempt(call: &Call) -> Result<(String, u32), Problem> {
    match &call.caller {
        Caller::Agent { task, attempt } => Ok((task.clone(), *attempt)),
        Caller::Nobody | Caller::Person | Caller::Reader | Caller::AgentReader(_) => {
            Err(ServerNo::NeedsAgent.into())
        }
    }
}

/// Submits a report of an attempt to the dispatcher.
fn reported(
    shared: &Shared,
    call: &Call,
    request: impl FnOnce(String, u32) -> JobRequest,
) -> Reply {
    let (task, attempt) = attempt(call)?;
    let answered = decide(shared.work()?, call, request(task.clone(), attempt))?;
    let reported = Reported {
        task_id: task,
        id: answered.made,
        answer: None,
    };
    json(call, &reported)
}

fn said(shared: &Shared, call: &Call, marker: AgentMarker) -> Reply {
    reported(shared, call, |task, attempt| {
        JobRequest::Command(task, Command::MarkerRead { attempt, marker })
    })
}

pub(crate) fn phase_complete(shared: &Arc<Shared>, call: &Call) -> Reply {
    let report: PhaseCompleteReport = call.body()?;
    let marker = AgentMarker::PhaseComplete {
        phase: report.phase,
        deliverables: report.files,
    };
    said(shared, call, marker)
}

pub(crate) fn done(shared: &Arc<Shared>, call: &Call) -> Reply {
    let _: Nothing = call.body()?;
    said(shared, call, AgentMarker::CustomComplete)
}

pub(crate) fn ask(shared: &Arc<Shared>, call: &Call) -> Reply {
    let report: AskReport = call.body()?;
    let question = AgentQuestion {
        options: report.options,
        default: report.default,
        // The dispatcher assigns the id.
        ..AgentQuestion::without_options("", report.question, report.required)
    };
    said(shared, call, AgentMarker::Question(question))
}

pub(crate) fn need(shared: &Arc<Shared>, call: &Call) -> Reply {
    let report: NeedReport = call.body()?;
    let needed = AgentDependency {
        kind: report.dependency_type,
        description: report.description,
        default: report.default,
        ..AgentDependency::on_env_variable("", report.name, report.required)
    };
    said(shared, call, AgentMarker::DependencyRequest(needed))
}

pub(crate) fn error(shared: &Arc<Shared>, call: &Call) -> Reply {
    let report: ErrorReport = call.body()?;
    let marker = match report.recovery {
        Recovery::PauseAndRetry => {
            let wait = report.retry_after.unwrap_or(RETRY_AFTER_S);
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
    said(shared, call, marker)
}

pub(crate) fn step(shared: &Arc<Shared>, call: &Call) -> Reply {
    let report: StepReport = call.body()?;
    let step = ReportedStep {
        number: report.step,
        of: report.of,
        name: report.name,
    };
    said(shared, call, AgentMarker::Step(step))
}

pub(crate) fn tokens(shared: &Arc<Shared>, call: &Call) -> Reply {
    let report: TokensReport = call.body()?;
    reported(shared, call, |task, attempt| JobRequest::Tokens {
        task,
        attempt,
        used: report.used,
        usd: report.cost_usd.unwrap_or(0.0),
    })
}
