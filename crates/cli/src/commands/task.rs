//! `bowline task`: every action of a person on tasks, through the server.

use super::remote::{Remote, Told, find, tell, text, write_new};
use super::{task_permits, task_view};
use crate::args::task::{NewArgs, RuleVerb, TaskArgs, TaskVerb};
use crate::output::Output;
use bowline_engine::formats::terminal::TerminalFilter;
use bowline_engine::webhook::encode_segment;
use bowline_engine::{Context, Error};
use bowline_words::message::Desk;
use serde_json::{Map, Value, json};
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// Largest size of a provided value.
const VALUE_BYTES_MAX: u64 = 64 * 1024;
/// Bytes of output per request.
const LOG_BYTES: u64 = 1 << 20;

pub(crate) fn run(
    context: &Context,
    output: &Output,
    folder: &Path,
    args: &TaskArgs,
) -> Result<ExitCode, Error> {
    let done = find(context, output, &args.place).and_then(|remote| {
        if output.dry_run && !reads(&args.verb) {
            return dry(&remote, &args.verb);
        }
        carry_out(&remote, folder, &args.verb)
    });
    Ok(done.unwrap_or_else(|code| code))
}

/// True if a verb changes nothing.
fn reads(verb: &TaskVerb) -> bool {
    matches!(
        verb,
        TaskVerb::List { .. }
            | TaskVerb::Show(_)
            | TaskVerb::Inbox
            | TaskVerb::Logs { .. }
            | TaskVerb::Watch
            | TaskVerb::Transitions(_)
            | TaskVerb::Checkpoints(_)
            | TaskVerb::Artifacts { .. }
            | TaskVerb::Sayings(_)
            // In a dry run it shows what the rule would have answered.
            | TaskVerb::Rule(RuleVerb::List | RuleVerb::Add { .. })
    )
}

/// Prints what a verb would request for its task; sends nothing that changes the task.
fn dry(remote: &Remote<'_>, verb: &TaskVerb) -> Told<ExitCode> {
    let (given, action) = match verb {
        TaskVerb::Submit(one) => (&one.task, "submit"),
        TaskVerb::Cancel(one) => (&one.task, "cancel"),
        TaskVerb::Pause(one) => (&one.task, "pause"),
        TaskVerb::Resume(one) => (&one.task, "resume"),
        TaskVerb::Retry(one) => (&one.task, "retry"),
        TaskVerb::Archive(one) => (&one.task, "archive"),
        TaskVerb::Delete(one) => (&one.task, "delete"),
        TaskVerb::Checkpoint(one) => (&one.task, "checkpoint"),
        TaskVerb::Interrupt(one) => (&one.task, "interrupt"),
        TaskVerb::Approve { task, .. } => (task, "approve"),
        TaskVerb::RequestChanges { task, .. } => (task, "request-changes"),
        TaskVerb::Restore { task, .. } => (task, "restore"),
        TaskVerb::Say { task, .. } => (task, "say"),
        TaskVerb::Answer { id, .. } => (id, "answer"),
        TaskVerb::Skip { id } => (id, "skip"),
        TaskVerb::Provide { id, .. } => (id, "provide"),
        TaskVerb::Reject { id, .. } => (id, "reject"),
        TaskVerb::Permit { ids } => (&ids.join(" "), "permit"),
        TaskVerb::Deny { ids, .. } => (&ids.join(" "), "deny"),
        TaskVerb::Rule(RuleVerb::Remove { id }) => (id, "rule remove"),
        TaskVerb::Unsay { id } => (id, "unsay"),
        TaskVerb::Fork { checkpoint, .. } => (checkpoint, "fork"),
        TaskVerb::New(_)
        | TaskVerb::List { .. }
        | TaskVerb::Show(_)
        | TaskVerb::Inbox
        | TaskVerb::Logs { .. }
        | TaskVerb::Watch
        | TaskVerb::Transitions(_)
        | TaskVerb::Checkpoints(_)
        | TaskVerb::Artifacts { .. }
        | TaskVerb::Sayings(_)
        | TaskVerb::Rule(_) => {
            let said = Desk::WouldMakeTask.say(remote.output.lang);
            remote.output.done(json!({ "action": "new" }), &[said]);
            return Ok(ExitCode::SUCCESS);
        }
    };
    let allowed = match remote.client.ask(
        "GET",
        &format!("/api/tasks/{}", encode_segment(given)),
        None,
        &[],
    ) {
        Ok(answer) if answer.status == 200 => Some(answer.json()["allowedActions"].clone()),
        Ok(_) | Err(_) => None,
    };
    let would = Desk::WouldDo {
        action: action.to_owned(),
        task: given.to_owned(),
    };
    let line = would.say(remote.output.lang);
    let body = json!({ "action": action, "id": given, "allowedActions": allowed });
    remote.output.done(body, &[line]);
    Ok(ExitCode::SUCCESS)
}

fn carry_out(remote: &Remote<'_>, folder: &Path, verb: &TaskVerb) -> Told<ExitCode> {
    let simple = |given: &str, verb: &str| moved(remote, given, verb, &json!({}));
    match verb {
        TaskVerb::New(new) => made(remote, "/api/tasks", &new_body(remote, folder, new)?),
        TaskVerb::List {
            status,
            task_type,
            search,
            archived,
        } => {
            let mut query = String::from("limit=1000");
            for (name, value) in [("status", status), ("type", task_type), ("q", search)] {
                if let Some(value) = value {
                    query.push_str(&format!("&{name}={}", encode_segment(value)));
                }
            }
            if *archived {
                query.push_str("&archived=true");
            }
            let page = remote.get(&format!("/api/tasks?{query}"))?;
            task_view::list(remote.output, &page);
            Ok(ExitCode::SUCCESS)
        }
        TaskVerb::Show(one) => task_view::show(remote, &remote.task(&one.task)?),
        TaskVerb::Inbox => {
            task_view::inbox(remote, &remote.get("/api/inbox")?);
            Ok(ExitCode::SUCCESS)
        }
        TaskVerb::Submit(one) => simple(&one.task, "submit"),
        TaskVerb::Cancel(one) => simple(&one.task, "cancel"),
        TaskVerb::Pause(one) => simple(&one.task, "pause"),
        TaskVerb::Resume(one) => simple(&one.task, "resume"),
        TaskVerb::Archive(one) => simple(&one.task, "archive"),
        TaskVerb::Checkpoint(one) => simple(&one.task, "checkpoints"),
        TaskVerb::Interrupt(one) => simple(&one.task, "interrupt"),
        TaskVerb::Retry(one) => {
            let task = remote.task(&one.task)?;
            made(remote, &format!("/api/tasks/{task}/retry"), &json!({}))
        }
        TaskVerb::Delete(one) => {
            let task = remote.task(&one.task)?;
            remote.ask("DELETE", &format!("/api/tasks/{task}"), None)?;
            let line = format!("✓ {task} {}", Desk::Removed.say(remote.output.lang));
            remote
                .output
                .done(json!({ "id": task, "deleted": true }), &[line]);
            Ok(ExitCode::SUCCESS)
        }
        TaskVerb::Approve { task, comment } => {
            let body = comment
                .as_ref()
                .map_or(json!({}), |it| json!({ "comment": it }));
            moved(remote, task, "approve", &body)
        }
        TaskVerb::RequestChanges { task, feedback } => moved(
            remote,
            task,
            "request-changes",
            &json!({ "feedback": feedback }),
        ),
        TaskVerb::Answer { id, text } => {
            let path = format!("/api/questions/{}/answer", remote.question(id)?);
            decided(remote, &path, &json!({ "answer": text }))
        }
        TaskVerb::Skip { id } => {
            let path = format!("/api/questions/{}/skip", remote.question(id)?);
            decided(remote, &path, &json!({}))
        }
        TaskVerb::Provide { id, name } => {
            let needed = remote.needed(id, name.as_deref())?;
            let path = format!("/api/dependencies/{needed}/provide");
            let value = value(remote.output)?;
            decided(remote, &path, &json!({ "value": value }))
        }
        TaskVerb::Reject { id, reason } => {
            let path = format!("/api/dependencies/{}/reject", remote.needed(id, None)?);
            decided(remote, &path, &json!({ "reason": reason }))
        }
        TaskVerb::Permit { ids } => task_permits::decide(remote, ids, None),
        TaskVerb::Deny { ids, reason } => task_permits::decide(remote, ids, Some(reason)),
        TaskVerb::Rule(verb) => task_permits::rule(remote, verb),
        TaskVerb::Logs {
            task,
            follow,
            last,
            raw,
        } => {
            let mut filter = (!raw).then(TerminalFilter::default);
            let done = logs(remote, task, *follow, *last, &mut filter);
            if let Some(filter) = &mut filter {
                remote.output.raw(&filter.finish());
            }
            done
        }
        TaskVerb::Watch => task_view::watch(remote),
        TaskVerb::Transitions(one) => {
            let task = remote.task(&one.task)?;
            let mut cursor = String::new();
            loop {
                let page =
                    remote.get(&format!("/api/tasks/{task}/transitions?limit=1000{cursor}"))?;
                task_view::transitions(remote.output, &page);
                match page["nextCursor"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => return Ok(ExitCode::SUCCESS),
                }
            }
        }
        TaskVerb::Checkpoints(one) => {
            let task = remote.task(&one.task)?;
            let page = remote.get(&format!("/api/tasks/{task}/checkpoints"))?;
            task_view::checkpoints(remote.output, &page);
            Ok(ExitCode::SUCCESS)
        }
        TaskVerb::Restore { task, checkpoint } => moved(
            remote,
            task,
            "restore",
            &json!({ "checkpointId": checkpoint }),
        ),
        TaskVerb::Fork {
            checkpoint,
            title,
            message,
            draft,
        } => {
            let path = format!("/api/checkpoints/{}/fork", encode_segment(checkpoint));
            let body = json!({ "title": title, "instructions": message, "submit": !draft });
            made(remote, &path, &body)
        }
        TaskVerb::Artifacts { task, zip } => artifacts(remote, folder, task, zip.as_deref()),
        TaskVerb::Say { task, text } => {
            let task = remote.task(task)?;
            let said = remote.post(&format!("/api/tasks/{task}/say"), &json!({ "text": text }))?;
            Ok(said_now(remote, &said))
        }
        TaskVerb::Unsay { id } => {
            let path = format!("/api/sayings/{}/withdraw", encode_segment(id));
            Ok(said_now(remote, &remote.post(&path, &json!({}))?))
        }
        TaskVerb::Sayings(one) => {
            let task = remote.task(&one.task)?;
            let page = remote.get(&format!("/api/tasks/{task}/sayings"))?;
            task_view::sayings(remote.output, &page);
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn said_now(remote: &Remote<'_>, said: &Value) -> ExitCode {
    let line = format!("✓ {}: {}", text(said, "id"), text(said, "status"));
    remote.output.done(said.clone(), &[line]);
    ExitCode::SUCCESS
}

fn new_body(remote: &Remote<'_>, folder: &Path, new: &NewArgs) -> Told<Value> {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.into(), value);
    put("title", new.title.clone().into());
    put("description", new.description.clone().into());
    put("submit", new.submit.into());
    let texts = [
        ("type", &new.task_type),
        ("agent", &new.agent),
        ("scheduledFor", &new.at),
        ("label", &new.label),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            put(name, value.clone().into());
        }
    }
    if let Some(priority) = new.priority {
        put("priority", priority.name().into());
    }
    if let Some(workspace) = &new.workspace {
        put("workspace", folder.join(workspace).to_string_lossy().into());
    }
    if new.share_workspace {
        put("shareWorkspace", true.into());
    }
    let mut before = Vec::new();
    for given in &new.depends_on {
        before.push(Value::from(remote.task(given)?));
    }
    put("dependsOn", before.into());
    if let Some(budget) = &new.budget {
        put("budget", self::budget(remote.output, budget)?);
    }
    Ok(body.into())
}

/// Parses `tokens=N,usd=N,minutes=N`.
fn budget(output: &Output, text: &str) -> Told<Value> {
    let mut limits = Map::new();
    for part in text.split(',') {
        let parsed = part.split_once('=').and_then(|(name, value)| {
            let value = match name {
                "tokens" | "minutes" => Value::from(value.parse::<u64>().ok()?),
                "usd" => Value::from(value.parse::<f64>().ok()?),
                _ => return None,
            };
            Some((name.to_owned(), value))
        });
        match parsed {
            Some((name, value)) => limits.insert(name, value),
            None => {
                let part = part.to_owned();
                let message = Desk::NoLimit { part }.say(output.lang);
                return Err(output.told(
                    "bad_input",
                    &message,
                    "--budget tokens=100000,usd=5,minutes=30",
                    2,
                ));
            }
        };
    }
    Ok(limits.into())
}

/// Creates a task and prints its id, and nothing else.
fn made(remote: &Remote<'_>, path: &str, body: &Value) -> Told<ExitCode> {
    let task = remote.post(path, body)?;
    let line = text(&task, "id").to_owned();
    remote.output.done(task, &[line]);
    Ok(ExitCode::SUCCESS)
}

/// Sends a verb for a task that is named by the beginning of its id.
fn moved(remote: &Remote<'_>, given: &str, verb: &str, body: &Value) -> Told<ExitCode> {
    let task = remote.task(given)?;
    decided(
        remote,
        &format!("/api/tasks/{}/{verb}", encode_segment(&task)),
        body,
    )
}

fn decided(remote: &Remote<'_>, path: &str, body: &Value) -> Told<ExitCode> {
    let task = remote.post(path, body)?;
    let (id, status) = (text(&task, "id"), text(&task, "status"));
    let line = format!("✓ {id}: {status} ({})", text(&task["agentState"], "status"));
    remote.output.done(task, &[line]);
    Ok(ExitCode::SUCCESS)
}

/// Reads a value from standard input, or asks for it without showing it. Never from the arguments:
/// others can read those.
fn value(output: &Output) -> Told<String> {
    let mut text = String::new();
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let _ = write!(std::io::stderr(), "{}", Desk::ValueUnseen.say(output.lang));
        let hidden = Hidden::new();
        let read = stdin.read_line(&mut text);
        drop(hidden);
        let _ = writeln!(std::io::stderr());
        if read.is_err() {
            text.clear();
        }
    } else if stdin
        .take(VALUE_BYTES_MAX)
        .read_to_string(&mut text)
        .is_err()
    {
        text.clear();
    }
    let value = text.trim_end_matches(['\n', '\r']).to_owned();
    match value.is_empty() {
        true => {
            let message = Desk::NoValue.say(output.lang);
            let hint = Desk::ValueByInput.say(output.lang);
            Err(output.told("bad_value", &message, &hint, 2))
        }
        false => Ok(value),
    }
}

/// Keeps what is typed from being shown until dropped.
struct Hidden(Option<rustix::termios::Termios>);

impl Hidden {
    fn new() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let stdin = std::io::stdin();
        let Ok(before) = tcgetattr(&stdin) else {
            return Hidden(None);
        };
        let mut without = before.clone();
        without.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(&stdin, OptionalActions::Now, &without);
        Hidden(Some(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn logs(
    remote: &Remote<'_>,
    given: &str,
    follow: bool,
    last: Option<u32>,
    filter: &mut Option<TerminalFilter>,
) -> Told<ExitCode> {
    let task = remote.task(given)?;
    let mut offset = last.map_or(0, |last| -i64::from(last));
    loop {
        offset = print_from(remote, &task, offset, filter)?;
        if !follow || is_over(remote, &task)? {
            // Output printed between the last request and the end.
            print_from(remote, &task, offset, filter)?;
            return Ok(ExitCode::SUCCESS);
        }
        // Returns at an event, or after a while without one.
        let path = format!("/api/tasks/{}/events", encode_segment(&task));
        let waited = remote
            .client
            .events(&path, None, |name, _, _| name == "hello");
        match waited {
            Ok(None) => {}
            Ok(Some(answer)) => return Err(remote.refused(&answer)),
            Err(trouble) => return Err(tell(remote.output, &trouble)),
        }
    }
}

/// Prints all output from an offset on, through a filter if there is one; returns the offset of its
/// end.
fn print_from(
    remote: &Remote<'_>,
    task: &str,
    mut offset: i64,
    filter: &mut Option<TerminalFilter>,
) -> Told<i64> {
    loop {
        let path = format!(
            "/api/tasks/{}/logs?offset={offset}&limit={LOG_BYTES}",
            encode_segment(task)
        );
        let answer = remote.ask("GET", &path, None)?;
        let next = answer
            .header("x-next-offset")
            .and_then(|it| it.parse().ok());
        let next = next.unwrap_or(offset);
        if answer.body.is_empty() {
            return Ok(next);
        }
        if remote.output.json {
            let text = String::from_utf8_lossy(&answer.body);
            let from = next - i64::try_from(answer.body.len()).unwrap_or(0);
            remote
                .output
                .line(&json!({ "offset": from, "text": text }).to_string());
        } else {
            let shown = match filter {
                Some(filter) => filter.filter(&answer.body).into_bytes(),
                None => answer.body,
            };
            crate::output::printed(std::io::stdout().write_all(&shown));
            crate::output::printed(std::io::stdout().flush());
        }
        offset = next;
    }
}

fn is_over(remote: &Remote<'_>, task: &str) -> Told<bool> {
    let task = remote.get(&format!("/api/tasks/{}", encode_segment(task)))?;
    Ok(task["status"] == "completed" || task["status"] == "failed")
}

fn artifacts(
    remote: &Remote<'_>,
    folder: &Path,
    given: &str,
    zip: Option<&Path>,
) -> Told<ExitCode> {
    let task = remote.task(given)?;
    let Some(zip) = zip else {
        task_view::artifacts(
            remote.output,
            &remote.get(&format!("/api/tasks/{task}/artifacts"))?,
        );
        return Ok(ExitCode::SUCCESS);
    };
    let bytes = remote
        .ask("GET", &format!("/api/tasks/{task}/artifacts.zip"), None)?
        .body;
    let path = folder.join(zip);
    write_new(remote.output, &path, &bytes)?;
    let shown = path.display().to_string();
    remote.output.done(
        json!({ "path": shown, "bytes": bytes.len() }),
        &[format!("✓ {shown}")],
    );
    Ok(ExitCode::SUCCESS)
}
