//! Verbs by which the agent of a task reports on it with structured data.

use crate::answer::Done;
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::table::Kind::{self, Flag, Number, Text, Texts};
use crate::table::{Arg, Verb};
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

pub(crate) static VERBS: &[Verb] = &[
    Verb::new(
        "agent_phase_complete",
        SessionRole::Agent,
        "Your task: a phase is done",
        &[Arg::need("phase", Number), Arg::may("files", Texts)],
        |desk, given| report(desk, given, report_phase_complete),
    )
    .of_task(),
    Verb::new(
        "agent_ask",
        SessionRole::Agent,
        "Your task: ask a person; the answer comes by message",
        &[
            Arg::need("question", Text),
            Arg::may("options", Texts),
            Arg::may("default", Text),
            Arg::may("required", Flag),
        ],
        |desk, given| report(desk, given, report_ask),
    )
    .of_task(),
    Verb::new(
        "agent_need",
        SessionRole::Agent,
        "Your task: request a value you lack",
        &[
            Arg::need("type", Kind::Word(NEEDS)),
            Arg::need("name", Text),
            Arg::may("description", Text),
            Arg::may("default", Text),
            Arg::may("required", Flag),
        ],
        |desk, given| report(desk, given, report_need),
    )
    .of_task(),
    Verb::new(
        "agent_step",
        SessionRole::Agent,
        "Your task: step k of n begins",
        &[
            Arg::need("step", Number),
            Arg::need("of", Number),
            Arg::need("name", Text),
        ],
        |desk, given| report(desk, given, report_step),
    )
    .of_task(),
    Verb::new(
        "agent_error",
        SessionRole::Agent,
        "Your task: report an error",
        &[
            Arg::need("message", Text),
            Arg::may("fatal", Flag),
            Arg::may("retryAfter", Number).about("seconds"),
        ],
        error,
    )
    .of_task(),
    Verb::new(
        "agent_done",
        SessionRole::Agent,
        "Your task: done, where it has no phases",
        &[],
        |desk, _| desk.ask(&report_done()),
    )
    .of_task(),
    Verb::new(
        "agent_tokens",
        SessionRole::Agent,
        "Your task: count tokens",
        &[Arg::need("used", Number)],
        |desk, given| report(desk, given, report_tokens),
    )
    .rare(),
];

fn report<B: DeserializeOwned>(
    desk: &ToolSession,
    given: &ToolArguments,
    request: fn(&B) -> TypedRequest<Reported>,
) -> Done {
    desk.ask(&request(&given.body(desk.lang)?))
}

fn error(desk: &ToolSession, given: &ToolArguments) -> Done {
    let retry_after = given.number("retryAfter");
    desk.ask(&report_error(&ErrorReport {
        message: given.required_text("message").to_owned(),
        details: None,
        recovery: Recovery::of_report(given.is_set("fatal"), retry_after),
        retry_after,
    }))
}
