//! `bowline orchestrate run`, and the verbs that reach a run from outside.

use crate::args::orchestrate::{OrchestrateVerb, RunArgs};
use crate::output::{Output, Tone};
use bowline_engine::formats::orchestrate::Mode;
use bowline_engine::machines::Actor;
use bowline_engine::machines::orchestrate::{Id, Next, Run, Status, next};
use bowline_engine::operations::orchestrate::{Begin, Orchestration};
use bowline_engine::{Context, Error};
use bowline_runner::orchestrate::door::{self, Answer, Request};
use bowline_runner::orchestrate::{Ended, Options, Report, Screen, Stopper, Told};
use nix::sys::signal::{SigSet, Signal};
use serde_json::json;
use std::process::ExitCode;

/// The signals by which a person or a system asks a run to leave.
const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
/// Blocked tasks named behind a failed one.
const NAMED_MAX: usize = 8;

pub(crate) fn run(
    context: &Context,
    output: &Output,
    orchestration: &Orchestration,
    args: &RunArgs,
) -> Result<ExitCode, Error> {
    let mode = match args.ultra_thin {
        true => Some(Mode::UltraThin),
        false => args.mode.map(Mode::from),
    };
    let there = orchestration
        .file()
        .kind
        .is_there(&orchestration.file().path);
    if !there {
        if args.resume {
            return Err(Error::NoFile {
                kind: orchestration.file().kind,
                path: orchestration.file().path.clone(),
            });
        }
        let begin = Begin {
            plan: args.file.clone(),
            mode: mode.unwrap_or(Mode::Normal),
            parallel: args.parallel.unwrap_or(0),
            project: None,
        };
        let changed = orchestration.init(context, &begin)?;
        if context.dry_run {
            output.line(&super::orchestrate_words::begun(output, &changed));
            return Ok(ExitCode::SUCCESS);
        }
    }
    if context.dry_run {
        let (_, run) = orchestration.run(context)?;
        return Ok(dry(output, &run));
    }
    let options = Options {
        phase: args.phase,
        parallel: args.parallel,
        agent: args.agent.clone(),
        mode,
        promise: args.completion_promise.clone(),
        iterations: args.max_iterations,
    };
    let mut screen = Lines { output };
    let signals = block();
    let begun = |stopper: Stopper| listen(signals, stopper);
    let report =
        bowline_runner::orchestrate::run(context, orchestration, &options, &mut screen, begun)?;
    Ok(told(output, &report))
}

/// What would be started first.
fn dry(output: &Output, run: &Run) -> ExitCode {
    let ids = match next(run) {
        Next::Ready(ids) => ids,
        Next::Wait | Next::PhaseDone(_) | Next::AllDone | Next::Stalled(_) => Vec::new(),
    };
    let ids: Vec<&str> = ids.iter().map(|id| &**id).collect();
    output.line(&format!(
        "{}: {}",
        output.say("would start", "시작할 작업"),
        ids.join(" ")
    ));
    ExitCode::SUCCESS
}

/// Signals are heard by a thread of their own. Threads begin with what this one blocks.
fn block() -> SigSet {
    let mut signals = SigSet::empty();
    for signal in SIGNALS {
        signals.add(signal);
    }
    let _ = signals.thread_block();
    signals
}

/// The first leaves agents alone, the second ends them.
fn listen(signals: SigSet, stopper: Stopper) {
    let spawned = std::thread::Builder::new().spawn(move || {
        let mut first = true;
        while signals.wait().is_ok() {
            match std::mem::replace(&mut first, false) {
                true => stopper.leave(),
                false => stopper.stop(),
            }
        }
    });
    // Without the thread a signal waits for the end of the run.
    drop(spawned);
}

/// One line for everything that happens.
struct Lines<'o> {
    output: &'o Output,
}

impl Screen for Lines<'_> {
    fn told(&mut self, told: &Told, run: &Run) {
        let output = self.output;
        let say = |english: &str, korean: &str, pairs: &[(&str, &str)]| {
            let mut text = output.say(english, korean).to_owned();
            for (name, value) in pairs {
                text = text.replace(name, value);
            }
            text
        };
        let count = format!("{}/{}", run.count(Status::Completed), run.graph().len());
        let (tone, line) = match told {
            Told::Begun { id, attempt } => (
                Tone::Faint,
                say(
                    "▸ {id} started (attempt {n})",
                    "▸ {id} 시작 ({n}번째 시도)",
                    &[("{id}", id), ("{n}", &attempt.to_string())],
                ),
            ),
            Told::Found { id } => (
                Tone::Faint,
                say("▸ {id} goes on", "▸ {id} 이어 감", &[("{id}", id)]),
            ),
            Told::Done { id } => (
                Tone::Good,
                say(
                    "✓ {id} done ({count})",
                    "✓ {id} 완료 ({count})",
                    &[("{id}", id), ("{count}", &count)],
                ),
            ),
            Told::Failed { id, error, again } => (
                Tone::Bad,
                match again {
                    true => say(
                        "✗ {id} failed and is tried again: {error}",
                        "✗ {id} 실패, 다시 시도합니다: {error}",
                        &[("{id}", id), ("{error}", error)],
                    ),
                    false => say(
                        "✗ {id} failed: {error}",
                        "✗ {id} 실패: {error}",
                        &[("{id}", id), ("{error}", error)],
                    ),
                },
            ),
            Told::Parked { id, seconds } => (
                Tone::Busy,
                say(
                    "⏸ {id} waits {n} s for a limit to be lifted",
                    "⏸ {id}: 한도가 풀릴 때까지 {n}초 기다립니다",
                    &[("{id}", id), ("{n}", &seconds.to_string())],
                ),
            ),
            Told::Waits { why } => (
                Tone::Busy,
                say("⏸ waits: {why}", "⏸ 기다립니다: {why}", &[("{why}", why)]),
            ),
            Told::PhaseDone { phase } => (
                Tone::Good,
                say(
                    "✓ phase {n} is done ({count})",
                    "✓ 단계 {n} 완료 ({count})",
                    &[("{n}", &phase.to_string()), ("{count}", &count)],
                ),
            ),
            Told::PhaseNotLanded { phase, why } => (
                Tone::Bad,
                say(
                    "✗ phase {n} did not land: {why}",
                    "✗ 단계 {n}을 합치지 못했습니다: {why}",
                    &[("{n}", &phase.to_string()), ("{why}", why)],
                ),
            ),
        };
        output.talk(&output.tone(tone, &line));
    }

    fn plan_changed(&mut self, run: &Run) {
        let text = self.output.say(
            "the plan was changed: {n} tasks now",
            "계획이 바뀌었습니다: 이제 작업 {n}개",
        );
        self.output
            .talk(&text.replace("{n}", &run.graph().len().to_string()));
    }
}

/// What a run came to. Whoever waits for a task that failed is named behind it.
fn told(output: &Output, report: &Report) -> ExitCode {
    let run = &report.run;
    let done = run.count(Status::Completed);
    let total = run.graph().len();
    let (word, code) = match &report.ended {
        Ended::AllDone => ("done", 0),
        Ended::Stalled => ("stalled", 1),
        Ended::Stuck { .. } => ("stuck", 1),
        Ended::Left => ("left", 0),
    };
    let failed: Vec<(&Id, Option<&str>, Vec<Id>)> = run
        .nodes()
        .filter(|(_, node)| node.status == Status::Failed)
        .map(|(id, node)| (id, node.error.as_deref(), blocked_by(run, id)))
        .collect();
    if output.json {
        let failed = failed
            .iter()
            .map(|(id, error, blocked)| json!({ "id": &***id, "error": error, "blocks": blocked }));
        let why = match &report.ended {
            Ended::Stuck { why } => Some(why),
            Ended::AllDone | Ended::Stalled | Ended::Left => None,
        };
        let body = json!({
            "kind": "orchestrate",
            "ended": word,
            "done": done,
            "total": total,
            "phase": run.current_phase(),
            "failed": failed.collect::<Vec<_>>(),
            "goingOn": report.going_on,
            "why": why,
        });
        output.line(&body.to_string());
        return ExitCode::from(code);
    }
    match &report.ended {
        Ended::AllDone => {
            let text = output.say("✓ {d}/{t} tasks are done", "✓ 작업 {d}/{t}개 완료");
            let text = text
                .replace("{d}", &done.to_string())
                .replace("{t}", &total.to_string());
            output.line(&output.tone(Tone::Good, &text));
            if !report.checked && report.target.is_some() {
                output.talk(output.say(
                    "no checks ran before the merges: set [orchestrate] checks= in bowline.toml",
                    "병합 전에 검사가 없었습니다. bowline.toml에 [orchestrate] checks=를 정하세요",
                ));
            }
        }
        Ended::Stalled | Ended::Stuck { .. } => {
            let mut ids = run.ids(Status::Failed);
            ids.extend(run.ids(Status::Blocked));
            let ids: Vec<&str> = ids.iter().map(|id| &**id).collect();
            output.line(&format!("STALLED:{}", ids.join(",")));
            if let Ended::Stuck { why } = &report.ended {
                output.line(&output.tone(Tone::Bad, &format!("✗ {why}")));
            }
            for (id, error, blocked) in &failed {
                let line = format!("✗ {id}: {}", error.unwrap_or(""));
                output.line(&output.tone(Tone::Bad, line.trim_end_matches([':', ' '])));
                if !blocked.is_empty() {
                    let named: Vec<&str> = blocked.iter().take(NAMED_MAX).map(|id| &**id).collect();
                    let more = match blocked.len() > NAMED_MAX {
                        true => format!(" … ({})", blocked.len()),
                        false => String::new(),
                    };
                    let word = output.say("blocks", "막힌 작업");
                    output.line(&format!("  {word} {}{more}", named.join(" ")));
                }
            }
            let text = output.say(
                "{d}/{t} tasks are done and kept; mend it, 'bowline orchestrate retry ID', then 'bowline orchestrate run --resume'",
                "작업 {d}/{t}개는 끝나 그대로 있습니다. 고친 뒤 'bowline orchestrate retry ID', 그다음 'bowline orchestrate run --resume'",
            );
            output.line(
                &text
                    .replace("{d}", &done.to_string())
                    .replace("{t}", &total.to_string()),
            );
        }
        Ended::Left => {
            let text = output.say(
                "left with {d}/{t} tasks done; 'bowline orchestrate run --resume' goes on",
                "작업 {d}/{t}개를 마치고 나갑니다. 'bowline orchestrate run --resume'으로 이어 갑니다",
            );
            output.line(
                &text
                    .replace("{d}", &done.to_string())
                    .replace("{t}", &total.to_string()),
            );
            if !report.going_on.is_empty() {
                let ids: Vec<&str> = report.going_on.iter().map(|id| &**id).collect();
                let word = output.say("agents go on with", "에이전트가 계속하는 작업");
                output.line(&format!("{word} {}", ids.join(" ")));
            }
        }
    }
    ExitCode::from(code)
}

/// Everything that waits for a task, directly or not.
fn blocked_by(run: &Run, id: &Id) -> Vec<Id> {
    let graph = run.graph();
    let mut found = Vec::new();
    let mut open = graph.dependents_of(id);
    while let Some(id) = open.pop() {
        let blocked = run
            .node(&id)
            .is_some_and(|node| node.status == Status::Blocked);
        if blocked && !found.contains(&id) {
            open.extend(graph.dependents_of(&id));
            found.push(id);
        }
    }
    found.sort_by_key(|id| graph.ids().iter().position(|it| it == id));
    found
}

/// Hands a verb to the run that owns the file, where one does: it decides.
pub(crate) fn ask_instead(
    context: &Context,
    output: &Output,
    orchestration: &Orchestration,
    verb: &OrchestrateVerb,
) -> Option<Result<ExitCode, Error>> {
    let request = match verb {
        OrchestrateVerb::Start { id, .. } => Request::Start { id: id.clone() },
        OrchestrateVerb::Complete { id } => Request::Complete { id: id.clone() },
        OrchestrateVerb::Fail { id, reason, retry } => Request::Fail {
            id: id.clone(),
            reason: reason.clone(),
            retry: *retry,
        },
        OrchestrateVerb::Retry { id } => Request::Retry { id: id.clone() },
        OrchestrateVerb::ForceComplete { id, reason } => Request::ForceComplete {
            id: id.clone(),
            reason: reason.clone(),
            person: context.actor() == Actor::Person,
        },
        _ => return None,
    };
    if context.dry_run {
        return None;
    }
    let answer = door::ask(&orchestration.file().path, &request)?;
    Some(Ok(answered(output, &answer)))
}

/// Asks the run that owns the file.
pub(crate) fn ask(
    output: &Output,
    orchestration: &Orchestration,
    request: &Request,
) -> Result<ExitCode, Error> {
    match door::ask(&orchestration.file().path, request) {
        Some(answer) => Ok(answered(output, &answer)),
        None => Err(Error::NobodyRuns {
            path: orchestration.file().path.clone(),
        }),
    }
}

fn answered(output: &Output, answer: &Answer) -> ExitCode {
    match (&answer.error, &answer.task) {
        (Some(error), _) => {
            if output.json {
                output.line(&json!({ "error": error }).to_string());
            } else {
                let head = output.tone(Tone::Bad, &format!("error[{}]", error.code));
                output.talk(&format!("{head}: {}", error.message));
                output.talk(&format!("{}: {}", output.say("hint", "도움말"), error.hint));
            }
            ExitCode::from(1)
        }
        (None, _) if output.json => {
            output.line(&json!({ "kind": "orchestrate", "task": answer.task }).to_string());
            ExitCode::SUCCESS
        }
        (None, Some((id, status))) => {
            let text = output.say(
                "✓ told the run: '{id}' is {status}",
                "✓ 실행 중인 명령에 전했습니다: '{id}' {status}",
            );
            output.line(&text.replace("{id}", id).replace("{status}", status));
            ExitCode::SUCCESS
        }
        (None, None) => {
            output.line(output.say("✓ told the run", "✓ 실행 중인 명령에 전했습니다"));
            ExitCode::SUCCESS
        }
    }
}
