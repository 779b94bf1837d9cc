//! Verbs by which the agent of a task reports on it with structured data.

use crate::answer::Done;
use crate::desk::{Desk, Role};
use crate::given::Given;
use crate::table::Kind::{self, Flag, Number, Text, Texts};
use crate::table::{Arg, Verb};
use serde_json::{Value, json};

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
        Role::Agent,
        "Your task: a phase is done",
        &[Arg::need("phase", Number), Arg::may("files", Texts)],
        |desk, given| report(desk, given, "phase-complete"),
    )
    .of_task(),
    Verb::new(
        "agent_ask",
        Role::Agent,
        "Your task: ask a person; the answer comes by message",
        &[
            Arg::need("question", Text),
            Arg::may("options", Texts),
            Arg::may("default", Text),
            Arg::may("required", Flag),
        ],
        |desk, given| report(desk, given, "ask"),
    )
    .of_task(),
    Verb::new(
        "agent_need",
        Role::Agent,
        "Your task: request a value you lack",
        &[
            Arg::need("type", Kind::Word(NEEDS)),
            Arg::need("name", Text),
            Arg::may("description", Text),
            Arg::may("default", Text),
            Arg::may("required", Flag),
        ],
        |desk, given| report(desk, given, "need"),
    )
    .of_task(),
    Verb::new(
        "agent_step",
        Role::Agent,
        "Your task: step k of n begins",
        &[
            Arg::need("step", Number),
            Arg::need("of", Number),
            Arg::need("name", Text),
        ],
        |desk, given| report(desk, given, "step"),
    )
    .of_task(),
    Verb::new(
        "agent_error",
        Role::Agent,
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
        Role::Agent,
        "Your task: done, where it has no phases",
        &[],
        |desk, given| report(desk, given, "done"),
    )
    .of_task(),
    Verb::new(
        "agent_tokens",
        Role::Agent,
        "Your task: count tokens",
        &[Arg::need("used", Number)],
        |desk, given| report(desk, given, "tokens"),
    )
    .rare(),
];

fn report(desk: &Desk, given: &Given, what: &str) -> Done {
    let body = Value::Object(given.all().clone());
    desk.post(&format!("/api/agent/{what}"), body)
}

fn error(desk: &Desk, given: &Given) -> Done {
    let retry = given.number("retryAfter");
    let recovery = match (given.is("fatal"), retry) {
        (true, _) => "checkpoint_and_fail",
        (false, Some(_)) => "pause_and_retry",
        (false, None) => "notify_user",
    };
    let body =
        json!({ "message": given.word("message"), "recovery": recovery, "retryAfter": retry });
    desk.post("/api/agent/error", body)
}
