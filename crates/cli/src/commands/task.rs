//! `bowline task`: every action of a person on tasks, through the server.

use super::remote::{PAGE_ITEMS, RemoteResult, RemoteServer, find_server, write_new};
use super::{task_permits, task_view};
use crate::args::task::{NewTaskArgs, RuleVerb, TaskArgs, TaskVerb};
use crate::output::CommandOutput;
use bowline_engine::formats::rest::routes::{
    EventQuery, LogQuery, TaskQuery, TypedRequest, answer_question, approve_task, archive_task,
    cancel_task, create_checkpoint, create_task, delete_task, fork_checkpoint, get_artifacts_zip,
    get_logs, get_task, interrupt_agent, list_tasks, pause_task, provide_dependency,
    reject_dependency, request_task_changes, restore_task, resume_task, retry_task, say_to_agent,
    skip_question, submit_task, task_events, withdraw_saying,
};
use bowline_engine::formats::rest::{
    AnswerRequest, Approval, Budget, ChangeRequest, ForkRequest, NewTask, ProvideRequest,
    RejectRequest, RestoreRequest, SayRequest, Saying, Task,
};
use bowline_engine::formats::rest::{Priority, TaskStatus};
use bowline_engine::formats::terminal::TerminalFilter;
use bowline_engine::{Context, Error};
use bowline_words::message::TaskOutput;
use serde_json::json;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// Largest size of a provided value.
const VALUE_BYTES_MAX: u64 = 64 * 1024;
/// Bytes of output per request.
const LOG_BYTES: i64 = 1 << 20;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    args: &TaskArgs,
) -> Result<ExitCode, Error> {
    let done = find_server(context, output, &args.place).and_then(|remote| {
        if output.dry_run && !is_read_only(&args.verb) {
            return print_dry_run(&remote, &args.verb);
        }
        run_verb(&remote, folder, &args.verb)
    });
    Ok(done.unwrap_or_else(|code| code))
}

/// True if a verb changes nothing.
fn is_read_only(verb: &TaskVerb) -> bool {
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
            | TaskVerb::Messages(_)
            // In a dry run it shows what the rule would have answered.
            | TaskVerb::Rule(RuleVerb::List | RuleVerb::Add { .. })
    )
}

/// Prints what a verb would request for its task; sends nothing that changes the task.
fn print_dry_run(remote: &RemoteServer<'_>, verb: &TaskVerb) -> RemoteResult<ExitCode> {
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
        TaskVerb::WithdrawMessage { id } => (id, "unsay"),
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
        | TaskVerb::Messages(_)
        | TaskVerb::Rule(_) => {
            let said = TaskOutput::WouldMakeTask.say(remote.output.lang);
            remote
                .output
                .print_outcome(json!({ "action": "new" }), &[said]);
            return Ok(ExitCode::SUCCESS);
        }
    };
    let task = remote.client.call(&get_task(given)).ok();
    let allowed = task.map(|task| task.allowed_actions);
    let would = TaskOutput::WouldDo {
        action: action.to_owned(),
        task: given.to_owned(),
    };
    let line = would.say(remote.output.lang);
    let body = json!({ "action": action, "id": given, "allowedActions": allowed });
    remote.output.print_outcome(body, &[line]);
    Ok(ExitCode::SUCCESS)
}

fn run_verb(remote: &RemoteServer<'_>, folder: &Path, verb: &TaskVerb) -> RemoteResult<ExitCode> {
    let simple = |given: &str, request: fn(&str) -> TypedRequest<Task>| {
        let task = remote.resolve_task(given)?;
        send_decision(remote, &request(&task))
    };
    match verb {
        TaskVerb::New(new) => {
            create_and_print(remote, &create_task(&new_body(remote, folder, new)?))
        }
        TaskVerb::List {
            status,
            task_type,
            search,
            archived,
        } => {
            let query = TaskQuery {
                status: status.clone(),
                task_type: task_type.clone(),
                q: search.clone(),
                archived: archived.then_some(true),
                limit: Some(PAGE_ITEMS),
                cursor: None,
            };
            task_view::print_tasks(remote, &list_tasks(&query))
        }
        TaskVerb::Show(one) => task_view::print_task(remote, &remote.resolve_task(&one.task)?),
        TaskVerb::Inbox => task_view::print_inbox(remote),
        TaskVerb::Submit(one) => simple(&one.task, submit_task),
        TaskVerb::Cancel(one) => simple(&one.task, cancel_task),
        TaskVerb::Pause(one) => simple(&one.task, pause_task),
        TaskVerb::Resume(one) => simple(&one.task, resume_task),
        TaskVerb::Archive(one) => simple(&one.task, archive_task),
        TaskVerb::Checkpoint(one) => simple(&one.task, create_checkpoint),
        TaskVerb::Interrupt(one) => simple(&one.task, interrupt_agent),
        TaskVerb::Retry(one) => {
            let task = remote.resolve_task(&one.task)?;
            create_and_print(remote, &retry_task(&task))
        }
        TaskVerb::Delete(one) => {
            let task = remote.resolve_task(&one.task)?;
            remote.fetch(&delete_task(&task).request)?;
            let line = format!("✓ {task} {}", TaskOutput::Removed.say(remote.output.lang));
            remote
                .output
                .print_outcome(json!({ "id": task, "deleted": true }), &[line]);
            Ok(ExitCode::SUCCESS)
        }
        TaskVerb::Approve { task, comment } => {
            let comment = comment.clone();
            let task = remote.resolve_task(task)?;
            send_decision(remote, &approve_task(&task, &Approval { comment }))
        }
        TaskVerb::RequestChanges { task, feedback } => {
            let request = ChangeRequest {
                feedback: feedback.clone(),
                comments: Vec::new(),
            };
            let task = remote.resolve_task(task)?;
            send_decision(remote, &request_task_changes(&task, &request))
        }
        TaskVerb::Answer { id, text } => {
            let answer = text.clone();
            let question = remote.resolve_question(id)?;
            send_decision(
                remote,
                &answer_question(&question, &AnswerRequest { answer }),
            )
        }
        TaskVerb::Skip { id } => {
            send_decision(remote, &skip_question(&remote.resolve_question(id)?))
        }
        TaskVerb::Provide { id, name } => {
            let needed = remote.resolve_dependency(id, name.as_deref())?;
            let value = read_secret_value(remote.output)?;
            send_decision(
                remote,
                &provide_dependency(&needed, &ProvideRequest { value }),
            )
        }
        TaskVerb::Reject { id, reason } => {
            let reason = reason.clone();
            let needed = remote.resolve_dependency(id, None)?;
            send_decision(
                remote,
                &reject_dependency(&needed, &RejectRequest { reason }),
            )
        }
        TaskVerb::Permit { ids } => task_permits::decide_permissions(remote, ids, None),
        TaskVerb::Deny { ids, reason } => {
            task_permits::decide_permissions(remote, ids, Some(reason))
        }
        TaskVerb::Rule(verb) => task_permits::run_rule_verb(remote, verb),
        TaskVerb::Logs {
            task,
            follow,
            last,
            raw,
        } => {
            let mut filter = (!raw).then(TerminalFilter::default);
            let done = print_logs(remote, task, *follow, *last, &mut filter);
            if let Some(filter) = &mut filter {
                remote.output.print_raw(&filter.finish());
            }
            done
        }
        TaskVerb::Watch => task_view::watch_tasks(remote),
        TaskVerb::Transitions(one) => {
            task_view::print_transitions(remote, &remote.resolve_task(&one.task)?)
        }
        TaskVerb::Checkpoints(one) => {
            task_view::print_checkpoints(remote, &remote.resolve_task(&one.task)?)
        }
        TaskVerb::Restore { task, checkpoint } => {
            let checkpoint_id = checkpoint.clone();
            let task = remote.resolve_task(task)?;
            send_decision(
                remote,
                &restore_task(&task, &RestoreRequest { checkpoint_id }),
            )
        }
        TaskVerb::Fork {
            checkpoint,
            title,
            message,
            draft,
        } => {
            let request = ForkRequest {
                title: title.clone(),
                instructions: message.clone(),
                submit: Some(!draft),
            };
            create_and_print(remote, &fork_checkpoint(checkpoint, &request))
        }
        TaskVerb::Artifacts { task, zip } => {
            list_or_save_artifacts(remote, folder, task, zip.as_deref())
        }
        TaskVerb::Say { task, text } => {
            let text = text.clone();
            let task = remote.resolve_task(task)?;
            said(remote, &say_to_agent(&task, &SayRequest { text }))
        }
        TaskVerb::WithdrawMessage { id } => said(remote, &withdraw_saying(id)),
        TaskVerb::Messages(one) => {
            task_view::print_messages(remote, &remote.resolve_task(&one.task)?)
        }
    }
}

fn said(remote: &RemoteServer<'_>, request: &TypedRequest<Saying>) -> RemoteResult<ExitCode> {
    remote.done(request, |said| {
        vec![format!("✓ {}: {}", said.id, said.status.name())]
    })
}

fn new_body(remote: &RemoteServer<'_>, folder: &Path, new: &NewTaskArgs) -> RemoteResult<NewTask> {
    let workspace = new.workspace.as_ref();
    let depends_on = new
        .depends_on
        .iter()
        .map(|given| remote.resolve_task(given));
    Ok(NewTask {
        title: new.title.clone(),
        task_type: new.task_type.clone(),
        description: new.description.clone(),
        priority: new.priority.map(Priority::from).unwrap_or_default(),
        depends_on: depends_on.collect::<RemoteResult<_>>()?,
        agent: new.agent.clone(),
        workspace: workspace.map(|it| folder.join(it).to_string_lossy().into_owned()),
        share_workspace: new.share_workspace,
        scheduled_for: new.at.clone(),
        label: new.label.clone(),
        budget: match &new.budget {
            Some(text) => Some(parse_budget(remote.output, text)?),
            None => None,
        },
        submit: new.submit,
    })
}

/// Parses `tokens=N,usd=N,minutes=N`.
fn parse_budget(output: &CommandOutput, text: &str) -> RemoteResult<Budget> {
    let mut budget = Budget::default();
    for part in text.split(',') {
        let limit = part.split_once('=');
        let known = limit.is_some_and(|(name, value)| match name {
            "tokens" => value.parse().map(|it| budget.tokens = Some(it)).is_ok(),
            "minutes" => value.parse().map(|it| budget.minutes = Some(it)).is_ok(),
            "usd" => value.parse().map(|it| budget.usd = Some(it)).is_ok(),
            _ => false,
        });
        if !known {
            let part = part.to_owned();
            let message = TaskOutput::NoLimit { part }.say(output.lang);
            return Err(output.print_error_texts(
                "bad_input",
                &message,
                "--budget tokens=100000,usd=5,minutes=30",
                2,
            ));
        }
    }
    Ok(budget)
}

/// Creates a task and prints its id, and nothing else.
fn create_and_print(
    remote: &RemoteServer<'_>,
    request: &TypedRequest<Task>,
) -> RemoteResult<ExitCode> {
    remote.done(request, |task| vec![task.id.clone()])
}

/// Sends a decision about a task and prints where the task stands.
fn send_decision(
    remote: &RemoteServer<'_>,
    request: &TypedRequest<Task>,
) -> RemoteResult<ExitCode> {
    remote.done(request, |task| {
        let (status, agent) = (task.status.name(), task.agent_state.status.name());
        vec![format!("✓ {}: {status} ({agent})", task.id)]
    })
}

/// Reads a value from standard input, or asks for it without showing it. Never from the arguments:
/// others can read those.
fn read_secret_value(output: &CommandOutput) -> RemoteResult<String> {
    let mut text = String::new();
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let _ = write!(
            std::io::stderr(),
            "{}",
            TaskOutput::ValueUnseen.say(output.lang)
        );
        let hidden = HiddenInput::new();
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
            let message = TaskOutput::NoValue.say(output.lang);
            let hint = TaskOutput::ValueByInput.say(output.lang);
            Err(output.print_error_texts("bad_value", &message, &hint, 2))
        }
        false => Ok(value),
    }
}

/// Keeps what is typed from being shown until dropped.
struct HiddenInput(Option<rustix::termios::Termios>);

impl HiddenInput {
    fn new() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let stdin = std::io::stdin();
        let Ok(before) = tcgetattr(&stdin) else {
            return HiddenInput(None);
        };
        let mut without = before.clone();
        without.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(&stdin, OptionalActions::Now, &without);
        HiddenInput(Some(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn print_logs(
    remote: &RemoteServer<'_>,
    given: &str,
    follow: bool,
    last: Option<u32>,
    filter: &mut Option<TerminalFilter>,
) -> RemoteResult<ExitCode> {
    let task = remote.resolve_task(given)?;
    let mut offset = last.map_or(0, |last| -i64::from(last));
    loop {
        offset = print_from(remote, &task, offset, filter)?;
        if !follow || is_over(remote, &task)? {
            // Output printed between the last request and the end.
            print_from(remote, &task, offset, filter)?;
            return Ok(ExitCode::SUCCESS);
        }
        // Returns at an event, or after a while without one.
        let events = task_events(&task, &EventQuery::default());
        let waited = remote
            .client
            .follow(&events, None, |name, _, _| name == "hello");
        waited.map_err(|error| remote.failed(error))?;
    }
}

/// Prints all output from an offset on, through a filter if there is one; returns the offset of its
/// end.
fn print_from(
    remote: &RemoteServer<'_>,
    task: &str,
    mut offset: i64,
    filter: &mut Option<TerminalFilter>,
) -> RemoteResult<i64> {
    loop {
        let range = LogQuery {
            offset: Some(offset),
            limit: Some(LOG_BYTES),
        };
        let answer = remote.fetch(&get_logs(task, &range).request)?;
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
                .print_line(&json!({ "offset": from, "text": text }).to_string());
        } else {
            let shown = match filter {
                Some(filter) => filter.filter_chunk(&answer.body).into_bytes(),
                None => answer.body,
            };
            crate::output::record_stdout_result(std::io::stdout().write_all(&shown));
            crate::output::record_stdout_result(std::io::stdout().flush());
        }
        offset = next;
    }
}

fn is_over(remote: &RemoteServer<'_>, task: &str) -> RemoteResult<bool> {
    let task = remote.get(&get_task(task))?;
    Ok(matches!(
        task.status,
        TaskStatus::Completed | TaskStatus::Failed
    ))
}

fn list_or_save_artifacts(
    remote: &RemoteServer<'_>,
    folder: &Path,
    given: &str,
    zip: Option<&Path>,
) -> RemoteResult<ExitCode> {
    let task = remote.resolve_task(given)?;
    let Some(zip) = zip else {
        return task_view::print_artifacts(remote, &task);
    };
    let bytes = remote.fetch(&get_artifacts_zip(&task).request)?.body;
    let path = folder.join(zip);
    write_new(remote.output, &path, &bytes)?;
    let shown = path.display().to_string();
    remote.output.print_outcome(
        json!({ "path": shown, "bytes": bytes.len() }),
        &[format!("✓ {shown}")],
    );
    Ok(ExitCode::SUCCESS)
}
