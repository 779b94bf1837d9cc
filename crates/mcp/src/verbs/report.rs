//! Verbs by which the agent of a task reports on it with structured data.

use crate::answer::ToolResult;
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::table::ParameterType::{self, Flag, Number, Text, Texts};
use crate::table::{ToolParameter, ToolVerb};
use bowline_formats::rest::routes::{
    TypedRequest, report_ask, report_done, report_error, report_need, report_phase_complete,
    report_step, report_tokens,
};
use bowline_formats::rest::{ErrorReport, Recovery, Reported};
use serde::de::DeserializeOwned;

/// Kinds of value an agent can request.
const NEEDS: &[&str] = &[
    "api_key",
    "env_variable",
    "service",
    "file",
    "permission",
    "package",
];

pub(crate) static VERBS: &[ToolVerb] = &[
    ToolVerb::new(
        "agent_phase_complete",
        SessionRole::Agent,
        "Your task: a phase is done",
        &[
            ToolParameter::required("phase", Number),
            ToolParameter::optional("files", Texts),
        ],
        |session, given| send_report(session, given, report_phase_complete),
    )
    .listed_for_task_agent(),
    ToolVerb::new(
        "agent_ask",
        SessionRole::Agent,
        "Your task: ask a person; the answer comes by message",
        &[
            ToolParameter::required("question", Text),
            ToolParameter::optional("options", Texts),
            ToolParameter::optional("default", Text),
            ToolParameter::optional("required", Flag),
        ],
        |session, given| send_report(session, given, report_ask),
    )
    .listed_for_task_agent(),
    ToolVerb::new(
        "agent_need",
        SessionRole::Agent,
        "Your task: request a value you lack",
        &[
            ToolParameter::required("type", ParameterType::Word(NEEDS)),
            ToolParameter::required("name", Text),
            ToolParameter::optional("description", Text),
            ToolParameter::optional("default", Text),
            ToolParameter::optional("required", Flag),
        ],
        |session, given| send_report(session, given, report_need),
    )
    .listed_for_task_agent(),
    ToolVerb::new(
        "agent_step",
        SessionRole::Agent,
        "Your task: step k of n begins",
        &[
            ToolParameter::required("step", Number),
            ToolParameter::required("of", Number),
            ToolParameter::required("name", Text),
        ],
        |session, given| send_report(session, given, report_step),
    )
    .listed_for_task_agent(),
    ToolVerb::new(
        "agent_error",
        SessionRole::Agent,
        "Your task: report an error",
        &[
            ToolParameter::required("message", Text),
            ToolParameter::optional("fatal", Flag),
            ToolParameter::optional("retryAfter", Number).with_description("seconds"),
        ],
        report_task_error,
    )
    .listed_for_task_agent(),
    ToolVerb::new(
        "agent_done",
        SessionRole::Agent,
        "Your task: done, where it has no phases",
        &[],
        |session, _| session.ask(&report_done()),
    )
    .listed_for_task_agent(),
    ToolVerb::new(
        "agent_tokens",
        SessionRole::Agent,
        "Your task: count tokens",
        &[ToolParameter::required("used", Number)],
        |session, given| send_report(session, given, report_tokens),
    )
    .mark_rare(),
];

fn send_report<B: DeserializeOwned>(
    session: &ToolSession,
    given: &ToolArguments,
    request: fn(&B) -> TypedRequest<Reported>,
) -> ToolResult {
    session.ask(&request(&given.body(session.lang)?))
}

fn report_task_error(session: &ToolSession, given: &ToolArguments) -> ToolResult {
    let retry_after = given.number("retryAfter");
    session.ask(&report_error(&ErrorReport {
        message: given.required_text("message").to_owned(),
        details: None,
        recovery: Recovery::of_report(given.is_set("fatal"), retry_after),
        retry_after,
    }))
}
