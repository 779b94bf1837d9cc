//! `bowline memory`.

use crate::args::memory::{
    AgentVerb, ContextVerb, MemoryArgs, MemoryVerb, SessionVerb, StepVerb, TaskVerb,
};
use crate::commands::memory_input::{artifact, given, new_step, read_plan};
use crate::commands::{here, named_folder, runs};
use crate::output::Output;
use bowline_engine::kinds::{FileKind, MEMORY_FOLDER};
use bowline_engine::operations::memory::{
    FinishReport, MemoryFolder, NewTask, Request, TRIES_MAX, parse_value,
};
use bowline_engine::{Context, Error, workspace};
use bowline_words::message::Confirmation;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &Output,
    folder: &Path,
    args: &MemoryArgs,
) -> Result<ExitCode, Error> {
    let memory = MemoryFolder::in_folder(context, &memory_folder(context, folder, args)?);
    match &args.verb {
        MemoryVerb::Init => init(context, output, &memory),
        MemoryVerb::Task(verb) => task(context, output, folder, &memory, verb),
        MemoryVerb::Step(verb) => step(context, output, &memory, verb),
        MemoryVerb::Context(verb) => shared(context, output, &memory, verb),
        MemoryVerb::Agent(verb) => agent(context, output, &memory, verb),
        MemoryVerb::Run { parallel, agent } => {
            runs::memory(context, output, &memory, agent.as_ref(), Some(*parallel))
        }
        MemoryVerb::History => here::status_of(
            context,
            output,
            &memory.history_file().view_or_empty(context)?,
        ),
        MemoryVerb::Status => here::status_of(
            context,
            output,
            &memory.state_file().view_or_empty(context)?,
        ),
        MemoryVerb::Prune => prune(context, output, &memory),
        MemoryVerb::Backup => {
            let copies = memory.back_up(context)?;
            let lines: Vec<String> = copies
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            output.done(json!({ "copies": copies }), &lines);
            Ok(ExitCode::SUCCESS)
        }
        MemoryVerb::Restore { which } => {
            let changed = memory.restore_copy(context, which.as_deref(), None)?;
            let did = match changed.state.is_empty() {
                true => Confirmation::Restored,
                false => Confirmation::RestoredFrom {
                    copy: changed.state.clone(),
                },
            };
            Ok(output.changed(context, &changed, &did))
        }
    }
}

fn shared(
    context: &Context,
    output: &Output,
    memory: &MemoryFolder,
    verb: &ContextVerb,
) -> Result<ExitCode, Error> {
    let (changed, did) = match verb {
        ContextVerb::Get { path } => {
            output.line(&shown(&memory.context_get(context, path)?, output.json));
            return Ok(ExitCode::SUCCESS);
        }
        ContextVerb::Set { path, value } => {
            let changed = memory.context_set(context, path, &given(value)?)?;
            (changed, Confirmation::ValueSet { path: path.clone() })
        }
        ContextVerb::Append { path, value } => {
            let changed = memory.context_append(context, path, &given(value)?)?;
            (changed, Confirmation::ValueAppended { path: path.clone() })
        }
        ContextVerb::Session(SessionVerb::New) => {
            let changed = memory.session_new(context)?;
            let id = changed.state.clone();
            return Ok(output.changed(context, &changed, &Confirmation::SessionStarted { id }));
        }
    };
    Ok(output.changed(context, &changed, &did))
}

fn agent(
    context: &Context,
    output: &Output,
    memory: &MemoryFolder,
    verb: &AgentVerb,
) -> Result<ExitCode, Error> {
    let (changed, did) = match verb {
        AgentVerb::Get { name, path } => {
            output.line(&shown(&memory.agent_get(context, name, path)?, output.json));
            return Ok(ExitCode::SUCCESS);
        }
        AgentVerb::Set { name, path, value } => {
            let changed = memory.agent_set(context, name, path, &given(value)?)?;
            (changed, Confirmation::ValueSet { path: path.clone() })
        }
        AgentVerb::Append { name, path, value } => {
            let changed = memory.agent_append(context, name, path, &given(value)?)?;
            (changed, Confirmation::ValueAppended { path: path.clone() })
        }
    };
    Ok(output.changed(context, &changed, &did))
}

fn memory_folder(context: &Context, folder: &Path, args: &MemoryArgs) -> Result<PathBuf, Error> {
    match &args.dir {
        Some(dir) => named_folder(folder, dir),
        None => {
            let path = workspace::locate_file(context, FileKind::TaskState, folder);
            let parent = path.parent().map(Path::to_owned);
            Ok(parent.unwrap_or_else(|| folder.join(MEMORY_FOLDER)))
        }
    }
}

fn init(context: &Context, output: &Output, memory: &MemoryFolder) -> Result<ExitCode, Error> {
    let made = memory.create_files(context)?;
    let kinds: Vec<&str> = made.iter().map(|kind| kind.name()).collect();
    let did = match made.is_empty() {
        true => Confirmation::MemoryThere,
        false => Confirmation::MemoryMade,
    };
    let body = json!({ "created": kinds, "path": memory.state_file().path });
    output.done(body, &[did.say(output.lang)]);
    Ok(ExitCode::SUCCESS)
}

fn task(
    context: &Context,
    output: &Output,
    folder: &Path,
    memory: &MemoryFolder,
    verb: &TaskVerb,
) -> Result<ExitCode, Error> {
    let (changed, did) = match verb {
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
                context: Request {
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
            let id = changed.state.id.clone();
            let did = match changed.state.queued {
                true => Confirmation::TaskQueued { id },
                false => Confirmation::TaskCreated { id },
            };
            return Ok(output.changed(context, &changed, &did));
        }
        TaskVerb::Pause => (memory.task_pause(context)?, Confirmation::TaskPaused),
        TaskVerb::Resume => (memory.task_resume(context)?, Confirmation::TaskResumed),
        TaskVerb::Cancel => (memory.task_cancel(context)?, Confirmation::TaskCancelled),
        TaskVerb::Finish {
            result,
            summary,
            lessons,
            tokens,
        } => {
            let finish = FinishReport {
                result: *result,
                summary: summary.clone(),
                lessons: lessons.clone(),
                tokens: *tokens,
            };
            (
                memory.task_finish(context, finish)?,
                Confirmation::TaskFinished,
            )
        }
        TaskVerb::Recover { reason } => {
            let changed = memory.task_recover(context, reason.as_deref())?;
            (changed, Confirmation::TaskRecovered)
        }
        TaskVerb::Drop { id } => {
            let changed = memory.task_drop(context, id)?;
            let id = changed.state.clone();
            return Ok(output.changed(context, &changed, &Confirmation::TaskDropped { id }));
        }
    };
    Ok(output.changed(context, &changed, &did))
}

fn step(
    context: &Context,
    output: &Output,
    memory: &MemoryFolder,
    verb: &StepVerb,
) -> Result<ExitCode, Error> {
    let (changed, did) = match verb {
        StepVerb::Add { step } => {
            let new = new_step(step)?;
            let name = new.name.clone();
            (
                memory.step_add(context, new)?,
                Confirmation::StepAdded { name },
            )
        }
        StepVerb::Start { id } => (
            memory.step_start(context, *id)?,
            Confirmation::StepStarted { id: *id },
        ),
        StepVerb::Complete {
            id,
            output: result,
            artifacts,
            data,
        } => {
            let result = result.as_deref().map(parse_value).transpose()?;
            let files = artifacts.iter().map(|text| artifact("file", text));
            let data = data.iter().map(|text| artifact("data", text));
            let made = files.chain(data).collect();
            let changed = memory.step_complete(context, *id, result.as_ref(), made)?;
            (changed, Confirmation::StepCompleted { id: *id })
        }
        StepVerb::Fail { id, kind, message } => {
            let id = *id;
            let changed = memory.step_fail(context, id, *kind, message)?;
            let did = match changed.state.escalated {
                true => Confirmation::StepEscalated { id },
                false => Confirmation::StepFailed {
                    id,
                    tries: changed.state.tries,
                    max: TRIES_MAX,
                },
            };
            return Ok(output.changed(context, &changed, &did));
        }
    };
    Ok(output.changed(context, &changed, &did))
}

fn prune(context: &Context, output: &Output, memory: &MemoryFolder) -> Result<ExitCode, Error> {
    let report = memory.prune_files(context)?;
    let body = json!({
        "removed": report.removed, "summarised": report.summarised, "agents": report.agents,
    });
    let did = Confirmation::Pruned {
        removed: report.removed.len(),
        summarised: report.summarised.len(),
        agents: report.agents.len(),
    };
    output.done(body, &[did.say(output.lang)]);
    Ok(ExitCode::SUCCESS)
}

/// Formats a value for people, or exactly as JSON.
fn shown(value: &Value, json: bool) -> String {
    match value {
        Value::String(text) if !json => text.clone(),
        other => other.to_string(),
    }
}
