//! `bowline memory`.

use crate::args::memory::{
    ContextVerb, MemoryAgentVerb, MemoryArgs, MemoryTaskVerb, MemoryVerb, SessionVerb, StepVerb,
};
use crate::commands::memory_input::{parse_artifact, parse_step, read_plan, value_argument};
use crate::commands::{resolve_dir_option, runs, status};
use crate::output::CommandOutput;
use bowline_engine::kinds::{FileKind, MEMORY_FOLDER};
use bowline_engine::operations::memory::{FinishReport, MemoryFolder, NewTask, Request, TRIES_MAX};
use bowline_engine::{Context, Error, workspace};
use bowline_words::message::Confirmation;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    args: &MemoryArgs,
) -> Result<ExitCode, Error> {
    let memory = MemoryFolder::in_folder(context, &memory_folder(context, folder, args)?);
    match &args.verb {
        MemoryVerb::Init => init_memory(context, output, &memory),
        MemoryVerb::Task(verb) => run_task_verb(context, output, folder, &memory, verb),
        MemoryVerb::Step(verb) => run_step_verb(context, output, &memory, verb),
        MemoryVerb::Context(verb) => run_context_verb(context, output, &memory, verb),
        MemoryVerb::Agent(verb) => run_agent_verb(context, output, &memory, verb),
        MemoryVerb::Run { parallel, agent } => {
            runs::run_memory(context, output, &memory, agent.as_ref(), Some(*parallel))
        }
        MemoryVerb::History => status::print_view(
            context,
            output,
            &memory.history_file().view_or_empty(context)?,
        ),
        MemoryVerb::Status => status::print_view(
            context,
            output,
            &memory.state_file().view_or_empty(context)?,
        ),
        MemoryVerb::Prune => prune_memory(context, output, &memory),
        MemoryVerb::Backup => {
            let copies = memory.back_up(context)?;
            let lines: Vec<String> = copies
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            output.print_outcome(json!({ "copies": copies }), &lines);
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
            Ok(output.print_change(context, &changed, &did))
        }
    }
}

fn run_context_verb(
    context: &Context,
    output: &CommandOutput,
    memory: &MemoryFolder,
    verb: &ContextVerb,
) -> Result<ExitCode, Error> {
    let (changed, did) = match verb {
        ContextVerb::Get { path } => {
            output.print_line(&format_value(
                &memory.context_get(context, path)?,
                output.json,
            ));
            return Ok(ExitCode::SUCCESS);
        }
        ContextVerb::Set { path, value } => {
            let changed = memory.context_set(context, path, &value_argument(value)?)?;
            (changed, Confirmation::ValueSet { path: path.clone() })
        }
        ContextVerb::Append { path, value } => {
            let changed = memory.context_append(context, path, &value_argument(value)?)?;
            (changed, Confirmation::ValueAppended { path: path.clone() })
        }
        ContextVerb::Session(SessionVerb::New) => {
            let changed = memory.session_new(context)?;
            let id = changed.state.clone();
            return Ok(output.print_change(
                context,
                &changed,
                &Confirmation::SessionStarted { id },
            ));
        }
    };
    Ok(output.print_change(context, &changed, &did))
}

fn run_agent_verb(
    context: &Context,
    output: &CommandOutput,
    memory: &MemoryFolder,
    verb: &MemoryAgentVerb,
) -> Result<ExitCode, Error> {
    let (changed, did) = match verb {
        MemoryAgentVerb::Get { name, path } => {
            output.print_line(&format_value(
                &memory.agent_get(context, name, path)?,
                output.json,
            ));
            return Ok(ExitCode::SUCCESS);
        }
        MemoryAgentVerb::Set { name, path, value } => {
            let changed = memory.agent_set(context, name, path, &value_argument(value)?)?;
            (changed, Confirmation::ValueSet { path: path.clone() })
        }
        MemoryAgentVerb::Append { name, path, value } => {
            let changed = memory.agent_append(context, name, path, &value_argument(value)?)?;
            (changed, Confirmation::ValueAppended { path: path.clone() })
        }
    };
    Ok(output.print_change(context, &changed, &did))
}

fn memory_folder(context: &Context, folder: &Path, args: &MemoryArgs) -> Result<PathBuf, Error> {
    match &args.dir {
        Some(dir) => resolve_dir_option(folder, dir),
        None => {
            let path = workspace::locate_file(context, FileKind::TaskState, folder);
            let parent = path.parent().map(Path::to_owned);
            Ok(parent.unwrap_or_else(|| folder.join(MEMORY_FOLDER)))
        }
    }
}

fn init_memory(
    context: &Context,
    output: &CommandOutput,
    memory: &MemoryFolder,
) -> Result<ExitCode, Error> {
    let made = memory.create_files(context)?;
    let kinds: Vec<&str> = made.iter().map(|kind| kind.name()).collect();
    let did = match made.is_empty() {
        true => Confirmation::MemoryThere,
        false => Confirmation::MemoryMade,
    };
    let body = json!({ "created": kinds, "path": memory.state_file().path });
    output.print_outcome(body, &[did.say(output.lang)]);
    Ok(ExitCode::SUCCESS)
}

fn run_task_verb(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    memory: &MemoryFolder,
    verb: &MemoryTaskVerb,
) -> Result<ExitCode, Error> {
    let (changed, did) = match verb {
        MemoryTaskVerb::New {
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
                    .map(|text| parse_step(text))
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
            return Ok(output.print_change(context, &changed, &did));
        }
        MemoryTaskVerb::Pause => (memory.task_pause(context)?, Confirmation::TaskPaused),
        MemoryTaskVerb::Resume => (memory.task_resume(context)?, Confirmation::TaskResumed),
        MemoryTaskVerb::Cancel => (memory.task_cancel(context)?, Confirmation::TaskCancelled),
        MemoryTaskVerb::Finish {
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
        MemoryTaskVerb::Recover { reason } => {
            let changed = memory.task_recover(context, reason.as_deref())?;
            (changed, Confirmation::TaskRecovered)
        }
        MemoryTaskVerb::Drop { id } => {
            let changed = memory.task_drop(context, id)?;
            let id = changed.state.clone();
            return Ok(output.print_change(context, &changed, &Confirmation::TaskDropped { id }));
        }
    };
    Ok(output.print_change(context, &changed, &did))
}

fn run_step_verb(
    context: &Context,
    output: &CommandOutput,
    memory: &MemoryFolder,
    verb: &StepVerb,
) -> Result<ExitCode, Error> {
    let (changed, did) = match verb {
        StepVerb::Add { step } => {
            let new = parse_step(step)?;
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
            let result = result.as_deref().map(value_argument).transpose()?;
            let files = artifacts.iter().map(|text| parse_artifact("file", text));
            let data = data.iter().map(|text| parse_artifact("data", text));
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
            return Ok(output.print_change(context, &changed, &did));
        }
    };
    Ok(output.print_change(context, &changed, &did))
}

fn prune_memory(
    context: &Context,
    output: &CommandOutput,
    memory: &MemoryFolder,
) -> Result<ExitCode, Error> {
    let report = memory.prune_files(context)?;
    let body = json!({
        "removed": report.removed, "summarised": report.summarised, "agents": report.agents,
    });
    let did = Confirmation::Pruned {
        removed: report.removed.len(),
        summarised: report.summarised.len(),
        agents: report.agents.len(),
    };
    output.print_outcome(body, &[did.say(output.lang)]);
    Ok(ExitCode::SUCCESS)
}

/// Formats a value for people, or exactly as JSON.
fn format_value(value: &Value, json: bool) -> String {
    match value {
        Value::String(text) if !json => text.clone(),
        other => other.to_string(),
    }
}
