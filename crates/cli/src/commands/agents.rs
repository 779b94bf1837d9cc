//! `bowline run-agent` and `bowline attach`.

use super::agents_signals::TerminationSignals;
use super::agents_watch::{AgentOutputPrinter, blocked_label};
use crate::args::agents::{AttachArgs, CgroupMode, RunAgentArgs, SandboxMode};
use crate::output::{CommandOutput, TextTone};
use bowline_engine::agents::{
    AgentAttempts, AttemptList, ControlGroupRequest, ENDED_MAX, GroupMode, ListedAttempt, NewAgent,
    SandboxGrant, SandboxRequest, ShimSilence, UNSHOWN_MAX, WatchOutcome,
};
use bowline_engine::supervisor::{
    Attempt, AttemptCondition, AttemptExit, CgroupSupport, SandboxSupport, SweepReport, WantedState,
};
use bowline_engine::words::{no_group, not_run};
use bowline_engine::{Context, Error};
use bowline_words::message::{Advice, AgentState, Confirmation, Label, OutputNote, Wrong};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Base of the exit code for a program that a signal ended, as in shells.
const SIGNAL_BASE: i32 = 128;
/// Exit code for a lost agent, whose own exit code is unknown.
const LOST_CODE: u8 = 70;

pub(crate) fn run_agent(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    args: &RunAgentArgs,
) -> Result<ExitCode, Error> {
    if args.sandbox_report && args.command.is_empty() {
        print_support(output);
        return Ok(ExitCode::SUCCESS);
    }
    let whole = |path: &PathBuf| folder.join(path);
    let at = args.dir.as_ref().map_or(folder.to_owned(), whole);
    let mode = args
        .sandbox
        .or(args.sandbox_report.then_some(SandboxMode::Strict));
    let sandbox = mode.map(|mode| SandboxRequest {
        here: folder.to_owned(),
        read: args.read.iter().map(whole).collect(),
        write: args.write.iter().map(whole).collect(),
        connect: (!args.connect.is_empty()).then(|| args.connect.clone()),
        listen: (!args.listen.is_empty()).then(|| args.listen.clone()),
        best_effort: mode == SandboxMode::BestEffort,
    });
    let program = args.command.first().cloned().unwrap_or_default();
    let agents = AgentAttempts::of_user(context);
    let new = NewAgent {
        name: args.name.clone().unwrap_or(program),
        folder: at.clone(),
        command: args.command.clone(),
        sandbox,
        group: requested_group(args)?,
        open_input: args.open_input,
    };
    let grant = agents.resolve_grant(context, &new)?;
    if let Some(grant) = grant.as_ref().filter(|_| args.sandbox_report) {
        print_grant(output, grant);
        return Ok(ExitCode::SUCCESS);
    }
    if context.dry_run {
        let words = args.command.join(" ");
        let did = Confirmation::WouldRun {
            folder: at.display().to_string(),
            command: words,
        };
        let body = json!({ "dryRun": true, "folder": at, "command": args.command });
        output.print_outcome(body, &[did.say(output.lang)]);
        return Ok(ExitCode::SUCCESS);
    }
    if !args.detach {
        require_open_stdout()?;
    }
    let (attempt, handle) = agents.start_agent(context, new)?;
    let id = attempt.id();
    drop(handle);
    if args.detach {
        if output.json {
            output.print_line(&listed_json(&agents.inspect_attempt(&attempt)?).to_string());
        } else {
            output.print_line(id);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if output.json {
        output.print_line(&json!({ "attempt": id, "event": "started" }).to_string());
    } else {
        if let Some(grant) = &grant {
            print_missing_tools(output, grant);
        }
        let client = grant.and_then(|grant| grant.client);
        let granted = client.map(|client| Confirmation::ClientGranted {
            client: client.to_string(),
        });
        let started = Confirmation::AttemptStarted { id: id.to_owned() };
        for did in [started].into_iter().chain(granted) {
            output.print_stderr(&output.colour_text(TextTone::Faint, &did.say(output.lang)));
        }
    }
    watch_agent(output, &agents, &attempt, None)
}

/// Reads the requested control group and its limits from the arguments.
fn requested_group(args: &RunAgentArgs) -> Result<ControlGroupRequest, Error> {
    let group = ControlGroupRequest {
        mode: match args.cgroup {
            CgroupMode::Auto => GroupMode::Auto,
            CgroupMode::Off => GroupMode::Off,
            CgroupMode::Require => GroupMode::Require,
        },
        memory_bytes: args.memory_max,
        processes: args.pids_max,
        cpu_percent: args.cpu_max,
    };
    if group.has_limits() && group.mode == GroupMode::Off {
        return Err(Error::BadInput {
            message: Wrong::LimitWithoutGroup,
            hint: Advice::LeaveOneAway,
        });
    }
    Ok(group)
}

pub(crate) fn attach_agent(
    context: &Context,
    output: &CommandOutput,
    args: &AttachArgs,
) -> Result<ExitCode, Error> {
    let agents = AgentAttempts::of_user(context);
    let Some(id) = &args.id else {
        print_attempts(output, &agents.list_attempts());
        return Ok(ExitCode::SUCCESS);
    };
    let attempt = agents.find_attempt(id)?;
    if output.dry_run {
        print_dry_run(output, args, &agents.inspect_attempt(&attempt)?);
        return Ok(ExitCode::SUCCESS);
    }
    if args.send.is_some() || args.close_input {
        let text = args.send.as_ref().map(|text| format!("{text}\n"));
        let bytes = text.unwrap_or_default().into_bytes();
        agents.send_message(&attempt, &bytes, args.close_input)?;
        print_attempt(output, &agents.inspect_attempt(&attempt)?);
        return Ok(ExitCode::SUCCESS);
    }
    if args.interrupt {
        agents.interrupt_agent(&attempt)?;
        print_attempt(output, &agents.inspect_attempt(&attempt)?);
        return Ok(ExitCode::SUCCESS);
    }
    let want = [
        (args.pause, WantedState::Paused),
        (args.resume, WantedState::Running),
        (args.end, WantedState::Ended),
    ];
    match want.into_iter().find(|(asked, _)| *asked) {
        Some((_, want)) => {
            let ordered = agents.change_level(&attempt, want)?;
            print_attempt(output, &ordered.listed);
            if let Some(swept) = &ordered.swept {
                warn_of_leftovers(output, swept);
            }
            Ok(ExitCode::SUCCESS)
        }
        None => {
            require_open_stdout()?;
            watch_agent(output, &agents, &attempt, args.from)
        }
    }
}

/// Prints the action that a dry run leaves out, and the attempt it is for.
fn print_dry_run(output: &CommandOutput, args: &AttachArgs, one: &ListedAttempt) {
    let (word, did) = match args {
        _ if args.send.is_some() => ("send", Confirmation::WouldSend),
        _ if args.close_input => ("close_input", Confirmation::WouldCloseInput),
        _ if args.interrupt => ("interrupt", Confirmation::WouldInterrupt),
        _ if args.pause => ("pause", Confirmation::WouldPause),
        _ if args.resume => ("resume", Confirmation::WouldResume),
        _ if args.end && one.condition == AttemptCondition::Lost => {
            ("end", Confirmation::WouldSweep)
        }
        _ if args.end => ("end", Confirmation::WouldEnd),
        _ => ("show", Confirmation::WouldShow),
    };
    if output.json {
        let mut body = listed_json(one);
        body["dryRun"] = json!(true);
        body["would"] = json!(word);
        output.print_line(&body.to_string());
        return;
    }
    let line = format!("{}: {}", attempt_line(output, one), did.say(output.lang));
    output.print_line(&output.mark_dry_run(&line));
}

/// Warns about processes that a sweep could not end.
fn warn_of_leftovers(output: &CommandOutput, swept: &SweepReport) {
    if swept.restless {
        output.print_remark(Label::Warning, &OutputNote::Restless);
    }
    if swept.left.is_empty() {
        return;
    }
    let left: Vec<String> = swept.left.iter().map(i32::to_string).collect();
    let pids = left.join(", ");
    output.print_remark(Label::Warning, &OutputNote::LeftProcesses { pids });
}

/// Fails if standard output is closed: output that is not shown must not be acknowledged. A closed
/// one looks to a program like `/dev/null` opened for reading and writing.
fn require_open_stdout() -> Result<(), Error> {
    let fd = rustix::stdio::stdout();
    let null = rustix::fs::fstat(fd).is_ok_and(|it| {
        rustix::fs::FileType::from_raw_mode(it.st_mode) == rustix::fs::FileType::CharacterDevice
            && it.st_rdev == rustix::fs::makedev(1, 3)
    });
    let both = rustix::fs::fcntl_getfl(fd)
        .is_ok_and(|flags| flags & rustix::fs::OFlags::RWMODE == rustix::fs::OFlags::RDWR);
    if null && both {
        return Err(Error::Output {
            source: std::io::Error::other(
                "standard output is closed; to throw the output away, say '> /dev/null'",
            ),
            over: false,
        });
    }
    Ok(())
}

/// Shows output until the agent ends, and returns the agent's exit code.
fn watch_agent(
    output: &CommandOutput,
    agents: &AgentAttempts,
    attempt: &Attempt,
    from: Option<u64>,
) -> Result<ExitCode, Error> {
    let id = attempt.id();
    let leave = TerminationSignals::start_waiting().map_err(|source| Error::Output {
        source,
        over: false,
    })?;
    let mut screen = AgentOutputPrinter { output, id };
    let watched = agents.watch_output(attempt, from, leave.wake_descriptor(), &mut screen)?;
    match watched {
        WatchOutcome::Ended(exit) => agent_exit_code(output, id, &exit),
        WatchOutcome::Left => {
            let over = attempt.condition()? != AttemptCondition::Alive;
            if output.json {
                output.print_line(&json!({ "attempt": id, "event": "left" }).to_string());
            } else {
                let id = id.to_owned();
                let did = match over {
                    true => Confirmation::LeftOver { id },
                    false => Confirmation::LeftRunning { id },
                };
                output.print_stderr(&did.say(output.lang));
            }
            let code = SIGNAL_BASE + leave.signal_number();
            Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
        }
        WatchOutcome::Lost(swept) => {
            if output.json {
                let body = json!({ "attempt": id, "event": "lost", "killed": swept.killed, "left": swept.left });
                output.print_line(&body.to_string());
            } else {
                let did = Confirmation::AttemptLost {
                    id: id.to_owned(),
                    killed: swept.killed.len(),
                };
                output.print_stderr(&did.say(output.lang));
                warn_of_leftovers(output, &swept);
            }
            Ok(ExitCode::from(LOST_CODE))
        }
    }
}

fn agent_exit_code(
    output: &CommandOutput,
    id: &str,
    exit: &AttemptExit,
) -> Result<ExitCode, Error> {
    if let Some(message) = &exit.start_error {
        return Err(Error::AgentNotStarted {
            id: id.to_owned(),
            why: Box::new(not_run(message)),
        });
    }
    if output.json {
        output.print_line(&json!({ "attempt": id, "event": "ended", "exit": exit }).to_string());
    }
    let code = exit
        .code
        .unwrap_or_else(|| SIGNAL_BASE + exit.signal.unwrap_or_default());
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

fn print_attempts(output: &CommandOutput, list: &AttemptList) {
    let all = &list.attempts;
    if output.json {
        let attempts: Vec<Value> = all.iter().map(listed_json).collect();
        let mut body = json!({ "attempts": attempts });
        if !list.unreadable.is_empty() {
            let unreadable = list.unreadable.iter();
            body["unreadable"] = unreadable
                .map(|(folder, reason)| json!({ "folder": folder, "reason": reason }))
                .collect();
        }
        output.print_line(&body.to_string());
        return;
    }
    if all.is_empty() && list.unreadable.is_empty() {
        output.print_line(&OutputNote::NoAttempts.say(output.lang));
    }
    for (folder, reason) in &list.unreadable {
        let id = folder.file_name().unwrap_or_default().to_string_lossy();
        let word = output.colour_text(TextTone::Bad, &output.label(Label::CannotBeRead));
        output.print_line(&format!("{id}  {word}: {reason}"));
    }
    for one in all {
        print_attempt(output, one);
    }
    let unshown = all.iter().filter(|one| one.unshown).count();
    if unshown > ENDED_MAX {
        let note = OutputNote::Unshown {
            count: unshown,
            max: UNSHOWN_MAX,
        };
        output.print_stderr(&note.say(output.lang));
    }
}

/// Prints one attempt on one line.
fn print_attempt(output: &CommandOutput, one: &ListedAttempt) {
    if output.json {
        output.print_line(&listed_json(one).to_string());
        return;
    }
    output.print_line(&attempt_line(output, one));
}

fn attempt_line(output: &CommandOutput, one: &ListedAttempt) -> String {
    let tone = match &one.condition {
        AttemptCondition::Alive => TextTone::Busy,
        AttemptCondition::Lost => TextTone::Bad,
        AttemptCondition::Ended(exit) if exit.code == Some(0) => TextTone::Good,
        AttemptCondition::Ended(_) | AttemptCondition::Intended => TextTone::Faint,
    };
    let word = AgentState::from_word(one.state_word()).say(output.lang);
    let mut more = match &one.condition {
        AttemptCondition::Ended(exit) => match (exit.code, exit.signal) {
            (Some(code), _) => format!(" ({code})"),
            (None, Some(number)) => format!(" ({})", output.label(Label::Signal { number })),
            (None, None) => format!(" ({})", output.label(Label::NotStarted)),
        },
        AttemptCondition::Alive => match one.status.as_ref().and_then(|status| status.blocked) {
            Some(why) => format!(", {}", output.label(blocked_label(why))),
            None => silence_advice(output, one),
        },
        AttemptCondition::Lost | AttemptCondition::Intended => String::new(),
    };
    if one.unshown {
        more.push_str(&format!(", {}", output.label(Label::OutputNotShown)));
    }
    format!(
        "{}  {}{more}  {}",
        one.attempt.id(),
        output.colour_text(tone, &word),
        escape_name(&one.attempt.spec().name)
    )
}

/// Returns advice about a shim that does not answer; empty if it does.
fn silence_advice(output: &CommandOutput, one: &ListedAttempt) -> String {
    let label = match one.silent {
        Some(ShimSilence {
            pid: Some(pid),
            stopped: true,
        }) => Label::ShimStopped { pid },
        Some(_) => Label::SeeAttempt {
            id: one.attempt.id().to_owned(),
        },
        None => return String::new(),
    };
    format!(" ({})", output.label(label))
}

/// Escapes every control character of a name.
fn escape_name(name: &str) -> String {
    let letters = name.chars().map(|letter| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    });
    letters.collect()
}

fn listed_json(one: &ListedAttempt) -> Value {
    let spec = one.attempt.spec();
    let exit = match &one.condition {
        AttemptCondition::Ended(exit) => Some(exit),
        AttemptCondition::Alive | AttemptCondition::Lost | AttemptCondition::Intended => None,
    };
    json!({
        "attempt": one.attempt.id(),
        "name": spec.name,
        "state": one.state_word(),
        "command": spec.command,
        "folder": spec.folder,
        "status": one.status,
        "exit": exit,
        "unshown": one.unshown,
    })
}

/// Prints the folders that a sandbox would grant.
fn print_grant(output: &CommandOutput, grant: &SandboxGrant) {
    let sandbox = &grant.sandbox;
    if output.json {
        let body = json!({ "client": grant.client, "read": sandbox.read, "write": sandbox.write, "missing": grant.missing });
        output.print_line(&body.to_string());
        return;
    }
    let parts = [
        (Label::MayRead, &sandbox.read),
        (Label::MayWrite, &sandbox.write),
    ];
    for (title, roots) in parts {
        output.print_line(&output.label(title));
        for root in roots {
            output.print_line(&format!("  {}", root.display()));
        }
    }
    print_missing_tools(output, grant);
}

/// Names the toolchains that are not granted, with the options that grant them.
fn print_missing_tools(output: &CommandOutput, grant: &SandboxGrant) {
    let roots = grant.missing.iter();
    let flags: Vec<String> = roots.map(|it| format!("--read {}", it.display())).collect();
    if !flags.is_empty() {
        let flags = flags.join(" ");
        output.print_remark(Label::Note, &OutputNote::ToolsNotGranted { flags });
    }
}

/// Prints which sandbox and control-group features this kernel enforces.
fn print_support(output: &CommandOutput) {
    let support = SandboxSupport::detect_features();
    let groups = CgroupSupport::detect_features();
    if output.json {
        let parts: serde_json::Map<String, Value> = support
            .feature_rows()
            .into_iter()
            .map(|(name, _, there)| (name.to_owned(), json!(there)))
            .collect();
        let body = json!({
            "sandbox": parts,
            "cgroup": {
                "parent": groups.parent,
                "limiting": groups.limiting,
                "freeze": groups.freeze,
                "kill": groups.kill,
                "memory": groups.memory,
                "processes": groups.processes,
                "cpu": groups.cpu,
                "reason": groups.reason.as_ref().map(ToString::to_string),
            },
        });
        output.print_line(&body.to_string());
        return;
    }
    let yes = |there: bool| match there {
        true => output.colour_text(TextTone::Good, &output.label(Label::Yes)),
        false => output.colour_text(TextTone::Bad, &output.label(Label::No)),
    };
    output.print_line(&output.label(Label::Sandbox));
    for (name, since, there) in support.feature_rows() {
        let since = format!("Linux {since}");
        output.print_line(&format!("  {name:<12}{since:<12}{}", yes(there)));
    }
    output.print_line(&output.label(Label::ControlGroups));
    for (name, there) in groups.feature_rows() {
        output.print_line(&format!("  {name:<24}{}", yes(there)));
    }
    if let Some(reason) = groups.reason.as_ref().map(no_group) {
        output.print_line(&format!("  {}", output.label(Label::NoGroup { reason })));
    }
}
