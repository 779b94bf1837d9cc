//! `bowline memory`.

use crate::args::memory::{
    AgentVerb, ContextVerb, FailureName, MemoryArgs, MemoryVerb, ResultName, SessionVerb, StepVerb,
    TaskVerb,
};
use crate::commands::here;
use crate::output::Output;
use bowline_engine::files::Changed;
use bowline_engine::formats::memory::path::value_of;
use bowline_engine::kinds::{FileKind, MEMORY_FOLDER};
use bowline_engine::machines::plan::{
    self, Artifact, Command, FailureKind, NewStep, NewTask, TRIES_MAX, TaskResult,
};
use bowline_engine::operations::memory::MemoryFolder;
use bowline_engine::{Context, Error, workspace};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &Output,
    folder: &Path,
    args: &MemoryArgs,
) -> Result<ExitCode, Error> {
    let memory = MemoryFolder::at(context, &memory_folder(folder, args));
    let done = |changed: Changed, text: String| {
        let view = here::reachable(changed.view);
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
            let changed = memory.context_set(context, path, &value_of(value))?;
            done(changed, set(output, path))
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
            let changed = memory.agent_set(context, name, path, &value_of(value))?;
            done(changed, set(output, path))
        }
        MemoryVerb::History => here::status_of(output, &memory.history().view_or_empty(context)?),
        MemoryVerb::Status => here::status_of(
            output,
            &here::reachable(memory.state().view_or_empty(context)?),
        ),
        MemoryVerb::Prune => prune(context, output, &memory),
        MemoryVerb::Backup => {
            let copies = memory.backup(context)?;
            if output.json {
                output.line(&json!({ "copies": copies }).to_string());
            } else {
                for path in copies {
                    output.line(&path.display().to_string());
                }
            }
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

fn memory_folder(folder: &Path, args: &MemoryArgs) -> PathBuf {
    match &args.dir {
        Some(dir) => folder.join(dir),
        None => {
            let path = workspace::locate(FileKind::TaskState, folder);
            path.parent()
                .map_or_else(|| folder.join(MEMORY_FOLDER), Path::to_owned)
        }
    }
}

fn init(context: &Context, output: &Output, memory: &MemoryFolder) -> Result<ExitCode, Error> {
    let made = memory.init(context)?;
    if output.json {
        let kinds: Vec<&str> = made.iter().map(|kind| kind.name()).collect();
        output.line(&json!({ "created": kinds, "path": memory.state().path }).to_string());
    } else if made.is_empty() {
        output.line(output.say("✓ Memory is there already", "✓ 메모리가 이미 있습니다"));
    } else {
        output.line(output.say("✓ Memory initialised", "✓ 메모리를 초기화했습니다"));
    }
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
            let changed = memory.task_new(context, &new)?;
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
                output: result.as_deref().map(|text| value_of(text).to_string()),
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
    if output.json {
        let body = json!({
            "removed": report.removed, "summarised": report.summarised, "agents": report.agents,
        });
        output.line(&body.to_string());
    } else {
        let text = output.say(
            "✓ {r} tasks removed, {s} summarised, {a} caches cut",
            "✓ 작업 {r}개 삭제, {s}개 요약, 캐시 {a}개 정리",
        );
        let text = text.replace("{r}", &report.removed.len().to_string());
        let text = text.replace("{s}", &report.summarised.len().to_string());
        output.line(&text.replace("{a}", &report.agents.len().to_string()));
    }
    Ok(ExitCode::SUCCESS)
}

/// `name=…,agent=…,cluster=…,deps=1+2`.
fn new_step(given: &str) -> Result<NewStep, Error> {
    let bad = |message: String| Error::BadInput {
        message,
        hint: "for instance 'name=draft,agent=writer,deps=1+2'".into(),
    };
    let mut step = NewStep::default();
    for part in given.split(',') {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| bad(format!("'{part}' is not KEY=VALUE")))?;
        let value = value.trim();
        match key.trim() {
            "name" => step.name = value.to_owned(),
            "agent" => step.agent = value.to_owned(),
            "cluster" => step.cluster = value.to_owned(),
            "id" => {
                step.id = Some(
                    value
                        .parse()
                        .map_err(|_| bad(format!("'{value}' is not a step number")))?,
                )
            }
            "deps" => {
                for number in value.split('+').filter(|number| !number.is_empty()) {
                    let id = number
                        .trim()
                        .parse()
                        .map_err(|_| bad(format!("'{number}' is not a step number")))?;
                    step.dependencies.push(id);
                }
            }
            other => return Err(bad(format!("a step has no '{other}'"))),
        }
    }
    Ok(step)
}

/// A plan file: `goal`, `success_criteria` and `steps` as in the state file.
fn read_plan(path: &Path, new: &mut NewTask) -> Result<(), Error> {
    let bad = |message: String| {
        Error::BadInput {
        message: format!("{}: {message}", path.display()),
        hint: "a plan is {\"goal\": …, \"success_criteria\": […], \"steps\": [{\"name\": …, \"agent\": …, \"dependencies\": […]}]}".into(),
    }
    };
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    if new.goal.is_empty() {
        new.goal = text_of(&value, "goal");
    }
    let criteria = value["success_criteria"].as_array().into_iter().flatten();
    new.success_criteria
        .extend(criteria.filter_map(Value::as_str).map(str::to_owned));
    let steps = value["steps"]
        .as_array()
        .ok_or_else(|| bad("there are no steps".into()))?;
    for step in steps {
        let number = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
        let dependencies = step["dependencies"].as_array().into_iter().flatten();
        new.steps.push(NewStep {
            id: number(&step["id"]),
            name: text_of(step, "name"),
            agent: text_of(step, "agent"),
            cluster: text_of(step, "cluster"),
            dependencies: dependencies
                .map(|id| number(id).ok_or_else(|| bad(format!("{id} is not a step number"))))
                .collect::<Result<_, _>>()?,
        });
    }
    Ok(())
}

fn artifact(given: &str) -> Artifact {
    let (path, description) = given.split_once(':').unwrap_or((given, ""));
    Artifact {
        kind: "file".into(),
        path: path.to_owned(),
        description: description.to_owned(),
    }
}

fn set(output: &Output, path: &str) -> String {
    output
        .say("✓ {} set", "✓ {}을(를) 저장했습니다")
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

fn text_of(value: &Value, key: &str) -> String {
    text(&value[key]).to_owned()
}

impl From<ResultName> for TaskResult {
    fn from(name: ResultName) -> Self {
        match name {
            ResultName::Success => TaskResult::Success,
            ResultName::Failure => TaskResult::Failure,
            ResultName::Partial => TaskResult::Partial,
        }
    }
}

impl From<FailureName> for FailureKind {
    fn from(name: FailureName) -> Self {
        match name {
            FailureName::Transient => FailureKind::Transient,
            FailureName::Validation => FailureKind::Validation,
            FailureName::Dependency => FailureKind::Dependency,
            FailureName::Resource => FailureKind::Resource,
            FailureName::Structural => FailureKind::Structural,
            FailureName::Critical => FailureKind::Critical,
        }
    }
}
