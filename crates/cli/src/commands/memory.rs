//! `bowline memory`.

use crate::args::memory::{
    AgentVerb, ContextVerb, MemoryArgs, MemoryVerb, SessionVerb, StepVerb, TaskVerb,
};
use crate::commands::memory_input::{artifact, exact, given, new_step, read_plan};
use crate::commands::{here, named_folder};
use crate::output::Output;
use bowline_engine::files::Changed;
use bowline_engine::kinds::{FileKind, MEMORY_FOLDER};
use bowline_engine::machines::plan::{self, Command, FailureKind, NewTask, TRIES_MAX};
use bowline_engine::operations::memory::MemoryFolder;
use bowline_engine::{Context, Error, workspace};
use bowline_words::message::{Advice, Wrong};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &Output,
    folder: &Path,
    args: &MemoryArgs,
) -> Result<ExitCode, Error> {
    let memory = MemoryFolder::at(context, &memory_folder(context, folder, args)?);
    let done = |changed: Changed, text: String| {
        let view = here::reachable(context, changed.view);
        output.changed(&Changed { view, ..changed }, &text);
        Ok(ExitCode::SUCCESS)
    };
    match &args.verb {
        MemoryVerb::Init => init(context, output, &memory),
        MemoryVerb::Task(verb) => {
            let (changed, text) = task(context, output, folder, &memory, verb)?;
            done(changed, text)
        }
        MemoryVerb::Step(verb) => {
            let (changed, text) = step(context, output, &memory, verb)?;
            done(changed, text)
        }
        MemoryVerb::Context(ContextVerb::Get { path }) => {
            output.line(&shown(&memory.context_get(context, path)?, output.json));
            Ok(ExitCode::SUCCESS)
        }
        MemoryVerb::Context(ContextVerb::Set { path, value }) => {
            let changed = memory.context_set(context, path, &given(value)?)?;
            done(changed, set(output, path))
        }
        MemoryVerb::Context(ContextVerb::Append { path, value }) => {
            let changed = memory.context_append(context, path, &given(value)?)?;
            done(changed, appended(output, path))
        }
        MemoryVerb::Context(ContextVerb::Session(SessionVerb::New)) => {
            let changed = memory.session_new(context)?;
            let id = changed.view.examined.status.clone();
            done(
                changed,
                output
                    .say("✓ Session {} started", "✓ 세션 {}을(를) 시작했습니다")
                    .replace("{}", &id),
            )
        }
        MemoryVerb::Agent(AgentVerb::Get { name, path }) => {
            output.line(&shown(&memory.agent_get(context, name, path)?, output.json));
            Ok(ExitCode::SUCCESS)
        }
        MemoryVerb::Agent(AgentVerb::Set { name, path, value }) => {
            let changed = memory.agent_set(context, name, path, &given(value)?)?;
            done(changed, set(output, path))
        }
        MemoryVerb::Agent(AgentVerb::Append { name, path, value }) => {
            let changed = memory.agent_append(context, name, path, &given(value)?)?;
            done(changed, appended(output, path))
        }
        MemoryVerb::History => here::status_of(output, &memory.history().view_or_empty(context)?),
        MemoryVerb::Status => here::status_of(
            output,
            &here::reachable(context, memory.state().view_or_empty(context)?),
        ),
        MemoryVerb::Prune => prune(context, output, &memory),
        MemoryVerb::Backup => {
            let copies = memory.backup(context)?;
            let lines: Vec<String> = copies
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            output.done(json!({ "copies": copies }), &lines);
            Ok(ExitCode::SUCCESS)
        }
        MemoryVerb::Restore { which } => {
            let changed = memory.restore(context, which.as_deref())?;
            let copy = changed.moved.metadata["copy"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            done(
                changed,
                output
                    .say("✓ Restored from {}", "✓ {}에서 복원했습니다")
                    .replace("{}", &copy),
            )
        }
    }
}

fn memory_folder(context: &Context, folder: &Path, args: &MemoryArgs) -> Result<PathBuf, Error> {
    match &args.dir {
        Some(dir) => named_folder(folder, dir),
        None => {
            let path = workspace::locate(context, FileKind::TaskState, folder);
            let parent = path.parent().map(Path::to_owned);
            Ok(parent.unwrap_or_else(|| folder.join(MEMORY_FOLDER)))
        }
    }
}

fn init(context: &Context, output: &Output, memory: &MemoryFolder) -> Result<ExitCode, Error> {
    let made = memory.init(context)?;
    let kinds: Vec<&str> = made.iter().map(|kind| kind.name()).collect();
    let text = if made.is_empty() {
        output.say("✓ Memory is there already", "✓ 메모리가 이미 있습니다")
    } else {
        output.say("✓ Memory initialised", "✓ 메모리를 초기화했습니다")
    };
    let body = json!({ "created": kinds, "path": memory.state().path });
    output.done(body, &[text.to_owned()]);
    Ok(ExitCode::SUCCESS)
}

fn task(
    context: &Context,
    output: &Output,
    folder: &Path,
    memory: &MemoryFolder,
    verb: &TaskVerb,
) -> Result<(Changed, String), Error> {
    let simple = |trigger, command: Command, english: &str, korean: &str| {
        let changed = memory.command(context, "task", trigger, json!({}), &command)?;
        Ok((changed, output.say(english, korean).to_owned()))
    };
    match verb {
        TaskVerb::New {
            name,
            goal,
            criteria,
            request,
            constraints,
            resources,
            orchestrator,
            steps,
            plan,
        } => {
            let mut new = NewTask {
                name: name.clone(),
                goal: goal.clone(),
                success_criteria: criteria.clone(),
                orchestrator: orchestrator.clone(),
                steps: steps
                    .iter()
                    .map(|text| new_step(text))
                    .collect::<Result<_, _>>()?,
                context: plan::Context {
                    user_request: request.clone(),
                    constraints: constraints.clone(),
                    resources: resources.clone(),
                },
                ..NewTask::default()
            };
            if let Some(plan) = plan {
                read_plan(&folder.join(plan), &mut new)?;
            }
            let mut changed = memory.task_new(context, &new)?;
            let value = changed.view.document.value();
            let queued = value["pending_tasks"]
                .as_array()
                .and_then(|tasks| tasks.last());
            let current = &value["current_task"];
            let text = if current["name"] == name.as_str()
                && queued.is_none_or(|task| task["name"] != name.as_str())
            {
                output
                    .say("✓ Task {} created", "✓ 작업 {}을(를) 만들었습니다")
                    .replace("{}", text(&current["id"]))
            } else {
                let id = queued.map_or("", |task| text(&task["id"]));
                output
                    .say("✓ Task {} queued", "✓ 작업 {}을(를) 대기열에 넣었습니다")
                    .replace("{}", id)
            };
            // The task is new; that another one is current says nothing of it.
            changed.moved.from = None;
            Ok((changed, text))
        }
        TaskVerb::Pause => simple(
            "PAUSE",
            Command::TaskPause,
            "✓ Task paused",
            "✓ 작업을 일시 중지했습니다",
        ),
        TaskVerb::Resume => simple(
            "RESUME",
            Command::TaskResume,
            "✓ Task resumed",
            "✓ 작업을 재개했습니다",
        ),
        TaskVerb::Cancel => simple(
            "CANCEL",
            Command::TaskCancel,
            "✓ Task cancelled",
            "✓ 작업을 취소했습니다",
        ),
        TaskVerb::Finish {
            result,
            summary,
            lessons,
            tokens,
        } => {
            let command = Command::TaskFinish {
                result: result.map(Into::into),
                summary: summary.clone(),
                lessons: lessons.clone(),
                tokens: *tokens,
            };
            simple("FINISH", command, "✓ Task finished", "✓ 작업을 끝냈습니다")
        }
        TaskVerb::Recover { reason } => {
            let command = Command::TaskRecover {
                by: context.actor(),
                reason: reason.clone(),
            };
            let changed = memory.command(
                context,
                "task",
                "RECOVER",
                json!({ "reason": reason }),
                &command,
            )?;
            Ok((
                changed,
                output
                    .say("✓ Task recovered", "✓ 작업을 복구했습니다")
                    .to_owned(),
            ))
        }
        TaskVerb::Drop { id } => {
            let id = &waiting(context, memory, id)?;
            let changed = memory.command(
                context,
                "queue",
                "DROP",
                json!({ "task": id }),
                &Command::TaskDrop { id: id.clone() },
            )?;
            Ok((
                changed,
                output
                    .say("✓ Task {} dropped", "✓ 작업 {}을(를) 대기열에서 뺐습니다")
                    .replace("{}", id),
            ))
        }
    }
}

/// The id of the one waiting task whose id begins so. What no task has is left for the rules to refuse.
fn waiting(context: &Context, memory: &MemoryFolder, given: &str) -> Result<String, Error> {
    let view = memory.state().view_or_empty(context)?;
    let tasks = view.document.value()["pending_tasks"].as_array();
    let ids = tasks.into_iter().flatten().map(|task| text(&task["id"]));
    let ids: Vec<&str> = ids.filter(|id| id.starts_with(given)).collect();
    match ids.as_slice() {
        _ if ids.contains(&given) => Ok(given.to_owned()),
        [] => Ok(given.to_owned()),
        [id] => Ok((*id).to_owned()),
        [_, ..] => Err(Error::BadInput {
            message: Wrong::SeveralIds {
                given: given.into(),
                ids: ids.join(", "),
            },
            hint: Advice::MoreLetters,
        }),
    }
}

fn step(
    context: &Context,
    output: &Output,
    memory: &MemoryFolder,
    verb: &StepVerb,
) -> Result<(Changed, String), Error> {
    let on = |trigger, id: u32, command: Command, mut facts: Value| {
        facts["step"] = json!(id);
        memory.command(context, "step", trigger, facts, &command)
    };
    match verb {
        StepVerb::Add { step } => {
            let new = new_step(step)?;
            let name = new.name.clone();
            let changed = memory.command(
                context,
                "plan",
                "STEP_ADD",
                json!({ "name": name }),
                &Command::StepAdd(new),
            )?;
            Ok((
                changed,
                output
                    .say("✓ Step '{}' added", "✓ 단계 '{}'을(를) 추가했습니다")
                    .replace("{}", &name),
            ))
        }
        StepVerb::Start { id } => {
            let changed = on("STEP_START", *id, Command::StepStart { id: *id }, json!({}))?;
            Ok((
                changed,
                output
                    .say("✓ Step {} started", "✓ {}번 단계를 시작했습니다")
                    .replace("{}", &id.to_string()),
            ))
        }
        StepVerb::Complete {
            id,
            output: result,
            artifacts,
        } => {
            let command = Command::StepComplete {
                id: *id,
                output: match result {
                    Some(text) => Some(exact(text)?.to_string()),
                    None => None,
                },
                artifacts: artifacts.iter().map(|text| artifact(text)).collect(),
            };
            let changed = on("STEP_COMPLETE", *id, command, json!({}))?;
            Ok((
                changed,
                output
                    .say("✓ Step {} completed", "✓ {}번 단계를 완료했습니다")
                    .replace("{}", &id.to_string()),
            ))
        }
        StepVerb::Fail { id, kind, message } => {
            let kind = FailureKind::from(*kind);
            let command = Command::StepFail {
                id: *id,
                kind,
                message: message.clone(),
            };
            let changed = on("STEP_FAIL", *id, command, json!({ "type": kind.name() }))?;
            let text = failed(output, *id, &changed);
            Ok((changed, text))
        }
    }
}

fn failed(output: &Output, id: u32, changed: &Changed) -> String {
    let task = &changed.view.document.value()["current_task"];
    let steps = task["plan"]["steps"].as_array().into_iter().flatten();
    let step = steps.into_iter().find(|step| step["id"] == id);
    let tries = step
        .and_then(|step| step["error"]["retries"].as_u64())
        .unwrap_or(0);
    let text = if task["status"] == "failed" {
        output.say(
            "✗ Step {} failed (escalated to a person)",
            "✗ {}번 단계가 실패했습니다 (사람에게 넘김)",
        )
    } else {
        output.say(
            "✗ Step {} failed (retry {n}/{max})",
            "✗ {}번 단계가 실패했습니다 (재시도 {n}/{max})",
        )
    };
    text.replace("{}", &id.to_string())
        .replace("{n}", &tries.to_string())
        .replace("{max}", &TRIES_MAX.to_string())
}

fn prune(context: &Context, output: &Output, memory: &MemoryFolder) -> Result<ExitCode, Error> {
    let report = memory.prune(context)?;
    let body = json!({
        "removed": report.removed, "summarised": report.summarised, "agents": report.agents,
    });
    let text = output.say(
        "✓ {r} tasks removed, {s} summarised, {a} caches cut",
        "✓ 작업 {r}개 삭제, {s}개 요약, 캐시 {a}개 정리",
    );
    let text = text.replace("{r}", &report.removed.len().to_string());
    let text = text.replace("{s}", &report.summarised.len().to_string());
    output.done(
        body,
        &[text.replace("{a}", &report.agents.len().to_string())],
    );
    Ok(ExitCode::SUCCESS)
}

fn set(output: &Output, path: &str) -> String {
    output
        .say("✓ {} set", "✓ {}을(를) 저장했습니다")
        .replace("{}", path)
}

fn appended(output: &Output, path: &str) -> String {
    output
        .say("✓ Appended to {}", "✓ {}에 추가했습니다")
        .replace("{}", path)
}

/// A value for people, or exactly as JSON.
fn shown(value: &Value, json: bool) -> String {
    match value {
        Value::String(text) if !json => text.clone(),
        other => other.to_string(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
