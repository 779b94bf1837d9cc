//! Sends verbs of a develop run out of a sandbox: inside, the run's files can be read but not
//! written. The shim runs the command outside, with the agent's rights; its answer is the same.

use crate::answer::{ToolError, ToolRefusal, ToolResult};
use crate::arguments::ToolArguments;
use crate::session::{SessionRole, ToolSession};
use crate::table::ToolVerb;
use bowline_engine::Error;
use bowline_engine::supervisor::RELAY_VARIABLE;
use bowline_engine::supervisor::relay::{self, RelayRequest, RelayStream};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Runs a verb outside, if this process is in a sandbox and the verb changes a develop run. `None`
/// otherwise.
pub(crate) fn run_outside(
    session: &ToolSession,
    verb: &ToolVerb,
    given: &ToolArguments,
) -> Option<ToolResult> {
    let socket = session.context.variables.get(RELAY_VARIABLE)?;
    let for_it = verb.name.starts_with("develop_") && verb.role > SessionRole::ReadOnly;
    for_it.then(|| {
        relay_command(
            session,
            verb.name,
            Path::new(socket),
            command_line(session, verb, given),
        )
    })
}

/// Builds the command line of a call: options first, so that no argument can be taken for an
/// option.
fn command_line(session: &ToolSession, verb: &ToolVerb, given: &ToolArguments) -> Vec<String> {
    let mut words = vec![
        "--json".to_owned(),
        format!("--lang={}", session.lang.name()),
    ];
    words.extend(verb.name.split('_').map(str::to_owned));
    let mut named = Vec::new();
    for arg in verb.takes {
        let option = match arg.name {
            "checkpoints" => "--checkpoint".to_owned(),
            name => format!("--{}", name.replace('_', "-")),
        };
        match given.value(arg.name) {
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => words.push(option),
            Some(Value::Array(items)) => {
                let items = items.iter().filter_map(Value::as_str);
                words.extend(items.map(|item| format!("{option}={item}")));
            }
            Some(value) => {
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                match arg.needed {
                    true => named.push(text),
                    false => words.push(format!("{option}={text}")),
                }
            }
        }
    }
    if !named.is_empty() {
        words.push("--".to_owned());
        words.extend(named);
    }
    words
}

fn relay_command(
    session: &ToolSession,
    verb: &str,
    socket: &Path,
    words: Vec<String>,
) -> ToolResult {
    let mut printed = Vec::new();
    let folder = session.folder.clone();
    let asked = RelayRequest::new(words, folder, String::new());
    let keep_output = |what, bytes: &[u8]| match what {
        RelayStream::Out => printed.extend_from_slice(bytes),
        RelayStream::Err => {}
    };
    let reported = AtomicU64::new(0);
    let goes_on = |elapsed: Duration| {
        if elapsed.as_secs() > reported.fetch_max(elapsed.as_secs(), Ordering::Relaxed) {
            session.call.report_progress(elapsed, verb);
        }
        !session.call.is_cancelled()
    };
    match relay::run_outside_while(socket, &asked, keep_output, goes_on) {
        Ok(_) => {}
        Err(_) if session.call.is_cancelled() => {
            let what = verb.to_owned();
            return Err(Error::CallCancelled { what }.into());
        }
        Err(error) => return Err(Error::from(error).into()),
    }
    let mut answer: Map<String, Value> = serde_json::from_slice(&printed).unwrap_or_default();
    if let Some(error) = answer.get("error") {
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        return Err(ToolError::Rendered(ToolRefusal {
            code: text("code"),
            message: text("message"),
            hint: text("hint"),
        }));
    }
    // The whole document is more than was asked for.
    answer.remove("state");
    Ok(answer.into())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use super::*;
    use crate::table;
    use crate::verbs::tests::test_session;
    use serde_json::json;

    #[test]
    fn a_call_is_a_command_line_that_cannot_be_misread() {
        let session = test_session(Path::new("/"));
        let line = |name: &str, args: Value| {
            let verb = table::find_tool(name).unwrap();
            let given =
                ToolArguments::from_call(verb, args.as_object().unwrap().clone(), session.lang);
            let given = given.unwrap_or_else(|_| panic!("{name}"));
            command_line(&session, verb, &given)[2..].join(" ")
        };
        assert_eq!(
            line(
                "develop_gate_pass",
                json!({ "gate": "architect_verified", "run": "make -k" })
            ),
            "develop gate pass --run=make -k -- architect_verified"
        );
        assert_eq!(
            line("develop_review", json!({ "checkpoints": ["a", "--b"] })),
            "develop review --checkpoint=a --checkpoint=--b"
        );
        assert_eq!(
            line("develop_start", json!({ "feature": "--fresh" })),
            "develop start -- --fresh"
        );
        assert_eq!(line("develop_pr", json!({})), "develop pr");
    }
}
