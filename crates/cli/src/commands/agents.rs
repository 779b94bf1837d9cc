//! `bowline run-agent` and `bowline attach`.

use crate::args::Lang;
use crate::args::agents::{AttachArgs, CgroupMode, RunAgentArgs, SandboxMode};
use crate::korean;
use crate::output::{Output, Tone};
use bowline_engine::agents::{Agents, GroupMode, GroupWish, Listed, NewAgent, Watched};
use bowline_engine::supervisor::{
    Attempt, CgroupSupport, Condition, Exit, Sandbox, SandboxSupport, Stream, Want,
};
use bowline_engine::{Context, Error};
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// A shell's way to say that a signal ended a program.
const SIGNAL_BASE: i32 = 128;
/// Nobody knows how a lost agent ended.
const LOST_CODE: u8 = 70;

pub(crate) fn run_agent(
    context: &Context,
    output: &Output,
    folder: &Path,
    args: &RunAgentArgs,
) -> Result<ExitCode, Error> {
    if args.sandbox_report {
        report(output);
        return Ok(ExitCode::SUCCESS);
    }
    let whole = |path: &Path| folder.join(path);
    let at = args.dir.as_deref().map_or(folder.to_owned(), whole);
    let sandbox = args.sandbox.map(|mode| {
        let mut write = vec![at.clone()];
        write.extend(args.write.iter().map(|path| whole(path)));
        let mut sandbox = Sandbox::around(write);
        sandbox
            .read
            .extend(args.read.iter().map(|path| whole(path)));
        sandbox.connect = (!args.connect.is_empty()).then(|| args.connect.clone());
        sandbox.listen = (!args.listen.is_empty()).then(|| args.listen.clone());
        sandbox.best_effort = mode == SandboxMode::BestEffort;
        sandbox
    });
    let program = args.command.first().cloned().unwrap_or_default();
    if context.dry_run {
        let words = args.command.join(" ");
        let text = match output.lang {
            Lang::Ko => format!("(시험 실행) {}에서 실행: {words}", at.display()),
            Lang::En => format!("(dry run) would run in {}: {words}", at.display()),
        };
        if output.json {
            let body = json!({ "dryRun": true, "folder": at, "command": args.command });
            output.line(&body.to_string());
        } else {
            output.line(&text);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let agents = Agents::here();
    let new = NewAgent {
        name: args.name.clone().unwrap_or(program),
        folder: at,
        command: args.command.clone(),
        sandbox,
        group: wish(args)?,
        open_input: args.open_input,
    };
    let (attempt, handle) = agents.start(context, new)?;
    let id = attempt.id();
    drop(handle);
    if args.detach {
        if output.json {
            output.line(&listed_json(&agents.look(&attempt)?).to_string());
        } else {
            output.line(id);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if output.json {
        output.line(&json!({ "attempt": id, "event": "started" }).to_string());
    } else {
        let hint = output.say(
            "it outlives this command; come back with",
            "이 명령이 끝나도 계속 돕니다. 다시 보려면",
        );
        let line = format!(
            "{} {id}: {hint} 'bowline attach {id}'",
            output.say("attempt", "실행")
        );
        output.talk(&output.tone(Tone::Faint, &line));
    }
    watch(output, &agents, &attempt, None)
}

/// The control group that is asked for.
fn wish(args: &RunAgentArgs) -> Result<GroupWish, Error> {
    let wish = GroupWish {
        mode: match args.cgroup {
            CgroupMode::Auto => GroupMode::Auto,
            CgroupMode::Off => GroupMode::Off,
            CgroupMode::Require => GroupMode::Require,
        },
        memory_bytes: args.memory_max,
        processes: args.pids_max,
        cpu_percent: args.cpu_max,
    };
    if wish.limits() && wish.mode == GroupMode::Off {
        return Err(Error::BadInput {
            message: "a limit needs a control group, and '--cgroup off' wants none".into(),
            hint: "leave one of the two away".into(),
        });
    }
    Ok(wish)
}

pub(crate) fn attach(output: &Output, args: &AttachArgs) -> Result<ExitCode, Error> {
    let agents = Agents::here();
    let Some(id) = &args.id else {
        list(output, &agents.list()?);
        return Ok(ExitCode::SUCCESS);
    };
    let attempt = agents.find(id)?;
    if output.dry_run {
        // What would be done is what was said; nothing else is known before it is tried.
        tell(output, &agents.look(&attempt)?);
        return Ok(ExitCode::SUCCESS);
    }
    if args.send.is_some() || args.close_input {
        let text = args.send.as_ref().map(|text| format!("{text}\n"));
        let bytes = text.unwrap_or_default().into_bytes();
        agents.send(&attempt, &bytes, args.close_input)?;
        tell(output, &agents.look(&attempt)?);
        return Ok(ExitCode::SUCCESS);
    }
    if args.interrupt {
        agents.interrupt(&attempt)?;
        tell(output, &agents.look(&attempt)?);
        return Ok(ExitCode::SUCCESS);
    }
    let want = [
        (args.pause, Want::Paused),
        (args.resume, Want::Running),
        (args.end, Want::Ended),
    ];
    match want.into_iter().find(|(asked, _)| *asked) {
        Some((_, want)) => {
            tell(output, &agents.order(&attempt, want)?);
            Ok(ExitCode::SUCCESS)
        }
        None => watch(output, &agents, &attempt, args.from),
    }
}

/// Shows output until the end; the exit code is the agent's.
fn watch(
    output: &Output,
    agents: &Agents,
    attempt: &Attempt,
    from: Option<u64>,
) -> Result<ExitCode, Error> {
    let id = attempt.id();
    let watched = agents.watch(attempt, from, |stream, offset, bytes| {
        if output.json {
            let name = match stream {
                Stream::Out => "out",
                Stream::Err => "err",
            };
            let text = String::from_utf8_lossy(bytes);
            let body = json!({ "attempt": id, "event": name, "offset": offset, "bytes": bytes.len(), "text": text });
            writeln!(io::stdout(), "{body}")?;
            return io::stdout().flush();
        }
        match stream {
            Stream::Out => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            Stream::Err => io::stderr().write_all(bytes),
        }
    })?;
    match watched {
        Watched::Ended(exit) => ended(output, id, &exit),
        Watched::Lost(swept) => {
            if output.json {
                let body = json!({ "attempt": id, "event": "lost", "killed": swept.killed, "left": swept.left });
                output.line(&body.to_string());
            } else {
                let count = swept.killed.len();
                output.talk(&match output.lang {
                    Lang::Ko => format!("실행 {id}을(를) 잃었습니다. 남은 프로세스 {count}개를 끝냈습니다"),
                    Lang::En => format!("attempt {id} was lost; {count} of its processes were left and have been killed"),
                });
            }
            Ok(ExitCode::from(LOST_CODE))
        }
    }
}

fn ended(output: &Output, id: &str, exit: &Exit) -> Result<ExitCode, Error> {
    if let Some(message) = &exit.start_error {
        return Err(Error::AgentNotStarted {
            id: id.to_owned(),
            message: message.clone(),
        });
    }
    if output.json {
        output.line(&json!({ "attempt": id, "event": "ended", "exit": exit }).to_string());
    }
    let code = exit
        .code
        .unwrap_or_else(|| SIGNAL_BASE + exit.signal.unwrap_or_default());
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

fn list(output: &Output, all: &[Listed]) {
    if output.json {
        let attempts: Vec<Value> = all.iter().map(listed_json).collect();
        output.line(&json!({ "attempts": attempts }).to_string());
        return;
    }
    if all.is_empty() {
        output.line(output.say(
            "no attempts; 'bowline run-agent -- CMD' makes one",
            "실행이 없습니다. 'bowline run-agent -- CMD'로 시작하세요",
        ));
    }
    for one in all {
        tell(output, one);
    }
}

/// One attempt in one line.
fn tell(output: &Output, one: &Listed) {
    if output.json {
        output.line(&listed_json(one).to_string());
        return;
    }
    let tone = match &one.condition {
        Condition::Alive => Tone::Busy,
        Condition::Lost => Tone::Bad,
        Condition::Ended(exit) if exit.code == Some(0) => Tone::Good,
        Condition::Ended(_) | Condition::Intended => Tone::Faint,
    };
    let word = match output.lang {
        Lang::Ko => korean::agent_state(one.word()),
        Lang::En => one.word(),
    };
    let more = match &one.condition {
        Condition::Ended(exit) => match (exit.code, exit.signal) {
            (Some(code), _) => format!(" ({code})"),
            (None, Some(signal)) => format!(" ({} {signal})", output.say("signal", "시그널")),
            (None, None) => format!(" ({})", output.say("not started", "시작 안 됨")),
        },
        Condition::Alive | Condition::Lost | Condition::Intended => String::new(),
    };
    output.line(&format!(
        "{}  {}{more}  {}",
        one.attempt.id(),
        output.tone(tone, word),
        one.attempt.spec().name
    ));
}

fn listed_json(one: &Listed) -> Value {
    let spec = one.attempt.spec();
    let exit = match &one.condition {
        Condition::Ended(exit) => Some(exit),
        Condition::Alive | Condition::Lost | Condition::Intended => None,
    };
    json!({
        "attempt": one.attempt.id(),
        "name": spec.name,
        "state": one.word(),
        "command": spec.command,
        "folder": spec.folder,
        "status": one.status,
        "exit": exit,
    })
}

/// What this kernel enforces.
fn report(output: &Output) {
    let support = SandboxSupport::here();
    let groups = CgroupSupport::here();
    if output.json {
        let parts: serde_json::Map<String, Value> = support
            .rows()
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
                "reason": groups.reason,
            },
        });
        output.line(&body.to_string());
        return;
    }
    let yes = |there: bool| match there {
        true => output.tone(Tone::Good, output.say("yes", "가능")),
        false => output.tone(Tone::Bad, output.say("no", "불가")),
    };
    output.line(output.say("sandbox (Landlock)", "샌드박스 (Landlock)"));
    for (name, since, there) in support.rows() {
        let since = format!("Linux {since}");
        output.line(&format!("  {name:<12}{since:<12}{}", yes(there)));
    }
    output.line(output.say("control groups", "컨트롤 그룹"));
    for (name, there) in groups.rows() {
        output.line(&format!("  {name:<24}{}", yes(there)));
    }
    if let Some(reason) = groups.reason {
        output.line(&format!("  {reason}"));
    }
}
